"""The motion through a singular configuration, on both sides of it, from position and velocity there.

The equations of motion leave accelerations open where J loses rank, but not next to it. So with nodes s_j on both
sides, none of them at the configuration itself, Picard's iteration

    q <- q0 + v0 s + twice the integral of the polynomial through a(s_j),

a from the equations of motion at the nodes after projection onto the constraints, converges to the branch that q0
and v0 belong to.
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

# iterations at most; two that differ by less, over the mechanism's length, are one
MOST_ITERATIONS = 24
SAME_MOTION = 1e-13
# one that does not come closer by this factor does not converge, or what is left is rounding: up to this
CONTRACTION = 0.7
ROUNDED_MOTION = 1e-11
# states are always projected; none is that of the start, so that times before it are read, too; work is left out
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
    """The motion on both sides of a time [s], half_width [s] wide; None if the iteration does not converge.

    guess: coordinates in powers of t - time, (terms, nq), at least position and velocity, which are kept; angles:
    of torsions at that time [rad].
    """
    rows = np.zeros((NODES + 2, model.coordinates))
    used = min(len(guess), len(rows))
    rows[:used] = guess[:used]
    start = rows[:2].copy()
    # powers of s from those of the acceleration in half widths
    k = np.arange(NODES)
    integrals = half_width ** -k.astype(float) / ((k + 1.0) * (k + 2.0))
    before = np.inf
    for _ in range(MOST_ITERATIONS):
        nodes = _sample(model, time, half_width, rows, angles)
        powers = to_powers(fit_nodes(nodes.a)) * integrals[:, None]
        new = np.concatenate([start, powers])
        change = float(np.abs((new - rows).T @ half_width ** np.arange(len(rows))).max(initial=0.0))
        rows = new
        # written so that nan ends it
        contracts = change < CONTRACTION * before
        if change <= SAME_MOTION or (change <= ROUNDED_MOTION and not contracts):
            return LocalMotion(half_width, nodes, 2.0 * rows[2])
        if not contracts:
            return None
        before = change
    return None


def _sample(model: Model, time: float, half_width: float, rows: Floats, angles: Floats) -> Record:
    """States at the nodes of a polynomial about a time, projected onto the constraints."""
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
