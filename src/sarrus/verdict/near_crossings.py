"""Reactions at crossings: their limit along the motion, or how they grow without bound.

At a crossing W^T f = w has no solution, or more than one. Along the motion f is analytic except for a pole there,

    f = sum over k >= -p of f_k s^k,      s = t - tc,

so the values before and after determine it. The coefficients are those of the polynomial through s^p f at
Chebyshev nodes on both sides of the crossing (methods/local_motion.py), where the equations are regular.
Components without negative powers have the limit f_0; the others are unbounded, and grow as f_-p / s^p. p is the
order with which the smallest singular value of W vanishes. Vectors are interpolated in world directions, because
frames of joints may jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..kinematics.configuration import read_poses
from ..kinematics.nodes import AT, NODES, fit_nodes, to_powers
from ..thresholds import AT_MOMENT, NO_POLE, UNRESOLVED_POLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..methods.local_motion import LocalMotion
    from ..methods.monitor import Candidate
    from ..model import Model
    from .crossings import Crossing, NearMiss
    from .joint_equations import JointEquations
    from .reactions import OutputAngles, ReactionSolver

# half widths of the nodes, as a fraction of the time in which points move by the mechanism's length, and of the
# time to the next singular moment; they are halved up to this many times until the series converges
SHARE_OF_MOTION, FREE_SHARE = 0.25, 0.3
HALVINGS = 12
# outputs this close, in half widths, are read from the series: the nodes next to the crossing are at 0.13
READ_WITHIN = 0.05
# the last terms estimate the error of the polynomial through the nodes; in powers it is this many times larger
LAST_TERMS, NOISE_SHARE = 3, 100.0
# largest order of a pole: it covers branches that separate as s^2 or s^3
HIGHEST_POLE = 4


@dataclass(frozen=True, eq=False)
class Pole:
    """Where reactions are unbounded.

    time [s], order p; values: coefficients of 1/(t - time)^p of all rows of W [N s^p or N m s^p], along directions
    (rows, 3); those below `least` [N s^p] are zero; offsets: as those of `Wrenches`, (pairs, 3).
    """

    time: float
    order: int
    values: Floats
    directions: Floats
    offsets: Floats
    least: float


class SeriesValues(NamedTuple):
    """Values of a series at one time: all rows of W, self-stresses, smallest singular value, imbalance."""

    values: Floats
    self_stress: Floats
    smallest: float
    imbalance: float


@dataclass(frozen=True, eq=False)
class ReactionSeries:
    """The reactions about one crossing as a Laurent series in x = (t - time) / half_width.

    forces: coefficients of x^(k - order), (terms, groups, 3), in world directions; stress: of self-stresses, in
    powers of x, (terms, groups, 3, count); slope: of the smallest singular value; imbalance: the largest at the
    nodes; same: outputs this close [s] are at the crossing.
    """

    time: float
    half_width: float
    same: float
    order: int
    groups: Ints
    forces: Floats
    stress: Floats
    slope: float
    imbalance: float

    def holds(self, times: Floats) -> Flags:
        """Which times are read from the series."""
        return np.abs(times - self.time) <= max(READ_WITHIN * self.half_width, self.same)

    def at_crossing(self, time: float) -> bool:
        """Whether a time is that of the crossing, up to the accuracy of the run."""
        return abs(time - self.time) <= self.same

    def read(self, time: float, directions: Floats) -> SeriesValues:
        """The reactions at a time; at the crossing itself their finite part. directions: of the rows then."""
        x = (time - self.time) / self.half_width
        if self.at_crossing(time):
            x, forces = 0.0, self.forces[self.order]
        else:
            powers = x ** (np.arange(len(self.forces)) - float(self.order))
            forces = np.tensordot(powers, self.forces, 1)
        stress = np.tensordot(x ** np.arange(len(self.stress)), self.stress, 1)
        along = np.einsum("rik,ri->rk", stress[self.groups], directions)
        return SeriesValues(
            values=np.einsum("ri,ri->r", forces[self.groups], directions),
            self_stress=np.linalg.qr(along)[0] if along.shape[1] else along,
            smallest=self.slope * abs(x) ** self.order,
            imbalance=self.imbalance,
        )

    def pole(self, directions: Floats, offsets: Floats, least: float) -> Pole | None:
        """The term that grows fastest, if any does. directions: of the rows at the crossing; offsets: of pairs."""
        for k in range(self.order):
            values = np.einsum("ri,ri->r", self.forces[k][self.groups], directions)
            if values.any():
                p = self.order - k
                scale = self.half_width**p
                return Pole(self.time, p, values * scale, directions, offsets, least * scale)
        return None


class CrossingContext:
    """Data of a run near its crossings, and the motion through them.

    candidates: with the polynomials of the steps; singular_times: of all crossings and near misses [s]; tolerance:
    of the run; until: its end [s].
    """

    def __init__(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        moments: tuple[Sequence[Crossing], Sequence[NearMiss]],
        tolerance: float,
        until: float,
    ) -> None:
        self.crossings, misses = moments
        self.tolerance, self.until = tolerance, until
        self._model, self._candidates = model, candidates
        self._singular_times = np.array([m.time for m in (*self.crossings, *misses)])
        self._local: dict[tuple[float, int], LocalMotion | None] = {}
        self._series: tuple[list[ReactionSeries], list[Pole]] | None = None

    def are_near(self, times: Floats) -> Flags:
        """Which times may be read from series about crossings."""
        out = np.zeros(len(times), dtype=bool)
        for crossing in self.crossings:
            reach = READ_WITHIN * self.widest(crossing)
            out |= np.abs(times - crossing.time) <= reach
        return out

    def widest(self, crossing: Crossing) -> float:
        """The half width that is tried first [s]; 0 at rest."""
        fastest = float(np.abs(crossing.rates).max(initial=0.0))
        away = np.abs(self._singular_times - crossing.time)
        free = FREE_SHARE * away[away > AT_MOMENT * self.until].min(initial=np.inf)
        return float(min(SHARE_OF_MOTION / fastest, free)) if fastest else 0.0

    def motions(self, crossing: Crossing, angles: Floats) -> Iterator[LocalMotion]:
        """The motion through a crossing, at nodes that come closer; angles: of torsions there [rad]."""
        # imported here because methods load the compiler, which inspections do not need
        from ..methods import local_motion

        widest = self.widest(crossing)
        for k in range(HALVINGS if widest else 0):
            key = crossing.time, k
            if key not in self._local:
                self._local[key] = local_motion.expand_motion(
                    self._model, crossing.time, self._guess(crossing), 0.5**k * widest, angles
                )
            found = self._local[key]
            if found is not None:
                yield found

    def acceleration(self, time: float, angles: Floats) -> Floats | None:
        """Accelerations of the coordinates at a crossing; None without one, or if the motion is unknown."""
        for crossing in self.crossings:
            if abs(time - crossing.time) <= AT_MOMENT * self.until:
                for motion in self.motions(crossing, angles):
                    return motion.acceleration
        return None

    def series(
        self, solver: ReactionSolver, angles: OutputAngles
    ) -> tuple[list[ReactionSeries], list[Pole]]:
        """Series of the reactions at all crossings at which they converge, and where reactions are unbounded."""
        if solver.stiffness is not None:
            return self._expand_all(solver, angles)
        # cached: they do not depend on the outputs
        if self._series is None:
            self._series = self._expand_all(solver, angles)
        return self._series

    def _expand_all(
        self, solver: ReactionSolver, angles: OutputAngles
    ) -> tuple[list[ReactionSeries], list[Pole]]:
        series, poles = [], []
        for crossing in self.crossings:
            state = crossing.coordinates[None], crossing.rates[None]
            turned = angles.at(crossing.time, (*state, np.zeros_like(state[0])))
            if turned is None:
                continue
            found = (
                _expand(solver, crossing, motion, self.tolerance, self.until)
                for motion in self.motions(crossing, turned)
            )
            one, least = next((x for x in found if x is not None), (None, 0.0))
            if one is not None:
                series.append(one)
                pole = one.pole(*_frames_at(solver.equations, self._model, crossing), least)
                poles += [] if pole is None else [pole]
        return series, poles

    def _guess(self, crossing: Crossing) -> Floats:
        """Powers of the time since a crossing: from the polynomial of its step, if that is known."""
        holding = [c for c in self._candidates if c.pieces and c.low <= crossing.time <= c.high]
        start = np.array([crossing.coordinates, crossing.rates])
        if not holding:
            return start
        nearest = min(holding, key=lambda c: abs(c.time - crossing.time))
        return np.concatenate([start, nearest.piece(crossing.time).powers_about(crossing.time)[2:]])


def _expand(
    solver: ReactionSolver, crossing: Crossing, motion: LocalMotion, tolerance: float, until: float
) -> tuple[ReactionSeries, float] | None:
    """The series from nodes on both sides, and the limit for zero coefficients; None if it does not converge."""
    e, x, nodes, half = solver.equations, AT, motion.nodes, motion.half_width
    found = solver.solve(nodes.times, (nodes.q, nodes.v, nodes.a), nodes.angles)
    # the order of the pole from the singular values at the two nodes closest to the crossing
    near, next_one = NODES // 2, NODES // 2 + 1
    ratio = found.smallest[next_one] / found.smallest[near]
    order = int(np.clip(np.rint(np.log(ratio) / np.log(x[next_one] / x[near])), 1, HIGHEST_POLE))
    groups = _groups(e)
    world = _in_world(found.values, found.directions, groups)
    arms = np.where(e.row_about, e.length, 1.0)
    size = float(np.abs(found.values / arms).max(initial=0.0))
    terms = fit_nodes(world * (x**order)[:, None, None])
    # written so that NaN is rejected too
    left = float(np.abs(terms[-LAST_TERMS:]).max(initial=0.0))
    if not left <= UNRESOLVED_POLE * size:
        return None
    forces = to_powers(terms)
    # numerical remainder of powers that vanish
    least = max(NO_POLE * size, NOISE_SHARE * left)
    forces[:order][np.abs(forces[:order]) <= least * _group_arms(e, groups)[:, None]] = 0.0
    series = ReactionSeries(
        time=crossing.time,
        half_width=half,
        same=max(AT_MOMENT * until, tolerance * half),
        order=order,
        groups=groups,
        forces=forces,
        stress=_fit_stress(found.self_stress, found.directions, groups),
        slope=float(found.smallest[near] / x[near] ** order),
        imbalance=float(found.imbalance.max(initial=0.0)),
    )
    return series, least


def _groups(e: JointEquations) -> Ints:
    """Group number of each row; components of one vector share it: of a pair, along or about, of one drive."""
    keys = np.stack([e.row_pair, e.row_about, e.row_drive, e.row_other], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)


def _group_arms(e: JointEquations, groups: Ints) -> Floats:
    """The mechanism's length for moments, 1 for forces."""
    arms = np.ones(groups.max(initial=-1) + 1)
    arms[groups[e.row_about]] = e.length
    return arms


def _in_world(values: Floats, directions: Floats, groups: Ints) -> Floats:
    """Components of rows, (n, rows), as vectors of groups, (n, groups, 3)."""
    out = np.zeros((groups.max(initial=-1) + 1, len(values), 3))
    np.add.at(out, groups, np.swapaxes(values[:, :, None] * directions, 0, 1))
    return np.swapaxes(out, 0, 1)


def _fit_stress(stress: list[Floats], directions: Floats, groups: Ints) -> Floats:
    """Self-stresses in powers of x, (NODES, groups, 3, count): those of one node, projected at the others."""
    middle = NODES // 2
    count = stress[middle].shape[1]
    if any(s.shape[1] != count for s in stress) or not count:
        return np.zeros((1, groups.max(initial=-1) + 1, 3, 0))
    world = [
        np.stack([_in_world(y[None], d[None], groups)[0] for y in s.T], axis=2)
        for s, d in zip(stress, directions, strict=True)
    ]
    flat = [w.reshape(-1, count) for w in world]
    projected = np.array([own @ (np.linalg.pinv(own) @ flat[middle]) for own in flat])
    return to_powers(fit_nodes(projected)).reshape(NODES, *world[middle].shape)


def _frames_at(e: JointEquations, model: Model, crossing: Crossing) -> tuple[Floats, Floats]:
    """Directions of the rows and offsets of the pairs at a crossing."""
    pose = read_poses(e.centers, model.body_rows, crossing.coordinates[None])[0]
    return e.directions(pose), e.at(pose).offsets
