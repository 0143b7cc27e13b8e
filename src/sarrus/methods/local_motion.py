"""The motion through a singular configuration, on both sides of it, from configuration and velocity there.

The equations of motion do not determine the accelerations where J loses rank, but they do next to it. With nodes
s_j on both sides, none of them at the singular configuration, Picard's iteration

    q <- q0 + v0 s + twice the integral of the polynomial through a(s_j),

with a from the equations of motion at the nodes after projection onto the constraints, converges to the branch
that q0 and v0 belong to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..kernels import recording as kernels
from ..kernels.layout import StepPolynomials
from ..kinematics.nodes import AT, NODES, fit_nodes, to_powers
from ..model import Model
from .outcome import Record

# maximum number of iterations; two iterates that differ by less than this, relative to the mechanism's length, are
# equal
MOST_ITERATIONS = 24
SAME_MOTION = 1e-13
# an iteration that contracts less than this factor diverges, or the remainder is rounding if it is below one of
# the other limits: relative to the mechanism's length, and to the travel in half_width. In small swings J is
# nearly singular at all nodes, which amplifies rounding; the reactions read there are checked again
CONTRACTION = 0.7
ROUNDED_MOTION = 1e-11
ROUNDED_TRAVEL = 1e-7
# states are always projected; none is treated as the start, so that times before it can be sampled, too; work is
# omitted
SAMPLING = kernels.Sampling(
    projects=True,
    own=False,
    same=-2.0,
    damping=0.0,
    corrections=8,
    limit=np.inf,
    near=0.0,
    nodes=np.zeros(0),
    weights=np.zeros(0),
)


@dataclass(frozen=True, eq=False)
class LocalMotion:
    """The motion about a singular configuration: states at the nodes, half_width [s], acceleration there."""

    half_width: float
    nodes: Record
    acceleration: Floats


def expand_motion(
    model: Model, time: float, guess: Floats, half_width: float, angles: Floats
) -> LocalMotion | None:
    """Return the motion within half_width [s] on both sides of a time [s]; None without convergence.

    guess: coordinates in powers of t - time, (terms, nq), at least configuration and velocity, which do not
    change; angles: of torsions at that time [rad].
    """
    rows = np.zeros((NODES + 2, model.coordinates))
    used = min(len(guess), len(rows))
    rows[:used] = guess[:used]
    start = rows[:2].copy()
    # coefficients in powers of s from those of the acceleration in units of half_width
    k = np.arange(NODES)
    integrals = half_width ** -k.astype(float) / ((k + 1.0) * (k + 2.0))
    travel = float(np.abs(start[1]).max(initial=0.0)) * half_width
    rounded = max(ROUNDED_MOTION, ROUNDED_TRAVEL * travel)
    before = np.inf
    for _ in range(MOST_ITERATIONS):
        nodes = _sample(model, time, half_width, rows, angles)
        powers = to_powers(fit_nodes(nodes.a)) * integrals[:, None]
        new = np.concatenate([start, powers])
        change = float(np.abs((new - rows).T @ half_width ** np.arange(len(rows))).max(initial=0.0))
        rows = new
        # this form of the comparison ends the iteration at nan
        contracts = change < CONTRACTION * before
        if change <= SAME_MOTION or (min(change, before) <= rounded and not contracts):
            return LocalMotion(half_width, nodes, 2.0 * rows[2])
        if not contracts:
            return None
        before = change
    return None


def _sample(model: Model, time: float, half_width: float, rows: Floats, angles: Floats) -> Record:
    """Return the states at the nodes of a polynomial about a time, projected onto the constraints."""
    pieces = StepPolynomials(
        starts=np.array([time, time + half_width]),
        orders=np.array([len(rows) - 1]),
        coefficients=np.ascontiguousarray(rows[None]),
        angle_and_work_series=np.append(angles, 0.0).reshape(1, -1, 1),
    )
    record = Record.at(model, time + half_width * AT)
    ws, loads = record.scratch
    ws.reference_pivots[:] = 1.0
    side = kernels.make_side(model.form, SAMPLING, loads)
    kernels.sample(model.form, ws, loads, side, SAMPLING, pieces, 1, record.outputs)
    return record
