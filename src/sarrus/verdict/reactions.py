"""Joint reactions and driving forces from the Newton-Euler equations of each body, and which are unique.

Let f be the forces and moments that each joint exerts on the second body of a pair (the opposite acts on the
first), in the directions of the joint equations, and F, T the applied forces and torques on a body. Then

    W^T f = (m (a - g) - F,  I w' + w x I w - T)        for all bodies.

The matrix is the transpose of W, so nothing depends on the coordinates of the simulation. A component is unique if
no self-stress (W^T y = 0) contributes to it, else it is shared (statically indeterminate) [Wojtyra2005]: rigid
bodies then determine only sums over a dependent set. Shared values are those of least norm, with moments divided
by the mechanism's length so that they do not depend on units; or, with joint stiffnesses k, those of least elastic
energy, sum f^2 / k.

At a crossing the values are limits along the motion, or components are unbounded (near_crossings.py). If no limit
is known, a component that is shared at a single output and unique before and after is undetermined. All components
are undetermined where the residual of the equations exceeds rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Flags, Floats, Ints, Words
from ..kinematics.configuration import Pose, next_to, unwrap
from ..names import unknown
from ..notebook_display import Sentences, html_table
from ..thresholds import BLURRED_REACTION, NEAR_VALUE, NO_PART_IN_STRESS, UNBALANCED
from .applied_wrenches import BodyLoads
from .joint_equations import JointEquations
from .joint_wrenches import (
    Stiffness,
    Wrenches,
    inertia_forces,
    read_motion,
    row_stiffness,
    solve_wrenches,
)
from .near_crossings import CrossingContext, Pole

if TYPE_CHECKING:
    from ..kinematics.configuration import BodyRows

# coordinates, rates and accelerations at some times, (n, nq) each
States = tuple[Floats, Floats, Floats]

UNIQUE, SHARED, UNDETERMINED, UNBOUNDED = "unique", "shared", "undetermined", "unbounded"
LEAST_NORM, ELASTIC = "least norm", "stiffness"

# rows of outputs processed at once: enough for speed, few enough for the caches
ROWS_AT_ONCE = 16_000


@dataclass(frozen=True)
class Component:
    """One component of a reaction: along or about a direction, over time; NaN where it is unbounded."""

    kind: str
    directions: Floats
    values: Floats
    unique: Flags
    undetermined: Flags
    unbounded: Flags

    @property
    def words(self) -> Words:
        """The word "unique", "shared", "undetermined" or "unbounded" at each output."""
        return _words(self.unique, self.undetermined, self.unbounded)


@dataclass(frozen=True)
class UnboundedReaction:
    """Growth of a reaction at a crossing: the force is approximately `force / (t - time)**order`, and so on.

    time [s]; force [N s^order], (dimension,), and moment [N m s^order], (3,), in the plane a number: zero in
    directions in which the reaction is bounded.
    """

    time: float
    order: int
    force: Floats
    moment: Floats

    def __str__(self) -> str:
        unit = "s" if self.order == 1 else f"s^{self.order}"
        power = "" if self.order == 1 else f"^{self.order}"
        parts = [
            f"{word} {float(np.linalg.norm(values)):.4g} {kind} {unit} / |t - tc|{power}"
            for word, values, kind in (("force", self.force, "N"), ("moment", self.moment, "N m"))
            if np.any(values)
        ]
        return f"unbounded at tc = {self.time:.6g} s ({', '.join(parts)})"


@dataclass(frozen=True)
class Reaction(Sentences):
    """What a joint or drive exerts on one of its bodies, over time.

    Attributes
    ----------
    force : array, shape (n, dimension)
        Force [N] in world directions.
    moment : array, shape (n, 3), in the plane (n,)
        Moment about the joint's point [N m] in world directions. The joint's point is that of
        `result.position(joint)`: in a sliding joint that of the second body, or of the first if the second is the
        ground.
    force_unique, moment_unique : arrays of bool
        Flags of the same shapes; further flags mark undetermined entries. Rigid bodies do not determine a value
        that is not unique; the one by `sharing` is given.
    components : tuple of Component
        The reaction in the directions of the joint (a hinge: its axis first; a drive: its axis), each with flags.
    sharing : str
        "least norm" over all joints, or by "stiffness".
    smallest : array, shape (n,)
        Smallest nonzero singular value of W at each output.
    unbounded : tuple of UnboundedReaction
        The crossings at which the reaction grows without bound, with coefficients, whether or not an output falls
        on them. At such an output, components that grow are NaN (force_unbounded, moment_unbounded), and the
        others have their limit along the motion.
    largest_on : dict
        If three or more bodies share a pin, the largest force on each [N], by name.
    """

    joint: str
    body: str
    force: Floats
    moment: Floats
    force_unique: Flags
    moment_unique: Flags
    force_undetermined: Flags
    moment_undetermined: Flags
    force_unbounded: Flags
    moment_unbounded: Flags
    components: tuple[Component, ...]
    smallest: Floats
    sharing: str = LEAST_NORM
    unbounded: tuple[UnboundedReaction, ...] = ()
    largest_on: dict[str, float] = field(default_factory=dict)

    @property
    def sizes(self) -> Floats:
        """Magnitude of the force at each output [N], shape (n,); NaN where it is unbounded."""
        return np.asarray(np.linalg.norm(self.force, axis=1))

    @property
    def largest(self) -> float:
        """Largest magnitude of the force at the outputs [N]; infinite if it is unbounded at a crossing."""
        if any(np.any(u.force) for u in self.unbounded):
            return np.inf
        return float(np.nanmax(self.sizes, initial=0.0))

    @property
    def force_words(self) -> Words:
        """The word "unique", "shared", "undetermined" or "unbounded" for each entry of the force."""
        return _words(self.force_unique, self.force_undetermined, self.force_unbounded)

    @property
    def moment_words(self) -> Words:
        """The word "unique", "shared", "undetermined" or "unbounded" for each entry of the moment."""
        return _words(self.moment_unique, self.moment_undetermined, self.moment_unbounded)

    def __repr__(self) -> str:
        return f"<Reaction of {self}>"

    def __str__(self) -> str:
        parts = []
        for values, words, unit, what in (
            (self.force, self.force_words, "N", "force"),
            (self.moment, self.moment_words, "N m", "moment"),
        ):
            grows = np.any([getattr(u, what) for u in self.unbounded], axis=0)
            grows = np.broadcast_to(grows, values.shape[1:])
            for name, v, w, g in zip(
                _letters(values),
                _columns(values),
                _columns(words),
                np.atleast_1d(grows),
                strict=True,
            ):
                if g:
                    parts.append(f"{what} {name} unbounded, {_summary(w)}")
                elif np.any(v) or not np.all(w == UNIQUE):
                    largest = float(np.abs(v).max(initial=0.0))
                    parts.append(f"{what} {name} up to {largest:.6g} {unit}, {_summary(w)}")
        parts += [str(u) for u in self.unbounded]
        near = int(np.sum(self.smallest < NEAR_VALUE))
        if near:
            parts.append(
                f"close to a singular configuration at {near} of {len(self.smallest)} outputs (smallest value "
                f"{self.smallest.min():.1e}), where reactions grow with its inverse"
            )
        if self.largest_on:
            # magnitudes differ from body to body: only one of them would be misleading
            each = [
                f"{_shown(size)}{' N' if np.isfinite(size) else ''} on {body}"
                for body, size in self.largest_on.items()
            ]
            parts.append(f"the pin joins {len(self.largest_on)} bodies: up to {', '.join(each)}")
        return f"{self.joint} on {self.body}: " + ("; ".join(parts) or "nothing")


@dataclass(frozen=True)
class Reactions:
    """All joint reactions and driving forces at all outputs.

    values: components of every row of W, (n, rows); directions: of the rows, (n, rows, 3); offsets: from the
    joints' points to those that the rows refer to (`PairsAt.offsets`), (n, pairs, 3); self_stress: of each output,
    unit columns (rows, k); smallest: smallest nonzero singular value of W (above 200 columns an estimate, which
    does not fall below 1e-5), (n,); imbalance: largest residual force (or moment over the length) on a body,
    relative to the largest force on any body, (n,); sharing: how shared values are chosen; unresolved: where the
    run does not determine the reactions, because the residual of the equations exceeds rounding, or its errors
    divided by the smallest singular value are no longer small; poles: where reactions are unbounded; at_pole: the
    number of the pole that each output falls on, or -1: there `values` are the finite parts.
    """

    equations: JointEquations
    values: Floats
    directions: Floats
    offsets: Floats
    self_stress: list[Floats]
    smallest: Floats
    imbalance: Floats
    sharing: str
    unresolved: Flags
    poles: tuple[Pole, ...]
    at_pole: Ints

    def __repr__(self) -> str:
        e = self.equations
        return (
            f"<Reactions of {len(e.joints)} joints and {len(e.drives)} drives at {len(self.values)} "
            "outputs; print it for the largest>"
        )

    def __str__(self) -> str:
        """One line per joint and drive."""
        e = self.equations
        return "\n".join(str(self.of(name)) for name in (*e.joints, *e.drives))

    def _repr_html_(self) -> str:
        """One row per joint and body: largest force and moment, and whether they are unique."""
        rows = []
        for name in (*self.equations.joints, *self.equations.drives):
            for r in self.on_each(name):
                turning = (
                    np.abs(r.moment) if r.moment.ndim == 1 else np.linalg.norm(r.moment, axis=1)
                )
                words = _summary(
                    np.concatenate([w.ravel() for w in (r.force_words, r.moment_words)])
                )
                moment = float(np.nanmax(turning, initial=0.0))
                rows.append((name, r.body, _shown(r.largest), f"{moment:.6g}", words))
        heads = ("joint", "on", "largest force [N]", "largest moment [N m]", "")
        return html_table(f"Reactions at {len(self.values)} outputs", heads, rows)

    @cached_property
    def _stresses(self) -> list[tuple[Ints, Floats]]:
        """Outputs with the same number of self-stresses, and these, (outputs, rows, k)."""
        counts = np.array([stress.shape[1] for stress in self.self_stress])
        groups = [np.flatnonzero(counts == k) for k in np.unique(counts) if k]
        return [(at, np.stack([self.self_stress[t] for t in at])) for at in groups]

    def bodies(self, name: str) -> tuple[str, ...]:
        """Names of the bodies that a joint or drive acts on, in the order of the model."""
        e, (_, pairs) = self.equations, self._rows_of(name)
        return tuple(e.body_name(b) for b in (e.pair_bodies[pairs[0], 0], *e.pair_bodies[pairs, 1]))

    def on_each(self, name: str) -> tuple[Reaction, ...]:
        """The reactions of a joint or drive on each of its bodies, in the order of the model."""
        return tuple(self._on(name, body) for body in self.bodies(name))

    def of(self, name: str, body: str | None = None) -> Reaction:
        """The reaction of a joint or drive on a body, by default the second one of the joint.

        The force of a drive is not part of its joint's reaction.
        """
        bodies = self.bodies(name)
        body = bodies[1] if body is None else body
        if body not in bodies:
            what = "joint" if name in self.equations.joints else "drive"
            raise unknown(f"{what} '{name}' has no body '{body}'", body, bodies)
        found = self._on(name, body)
        if len(bodies) < 3:
            return found
        sizes = {r.body: r.largest for r in self.on_each(name)}
        return replace(found, largest_on=sizes)

    def _rows_of(self, name: str) -> tuple[Flags, Ints]:
        """The rows of W that belong to a joint or drive, and the pairs of bodies it acts between."""
        e = self.equations
        if name in e.joints:
            return e.row_drive < 0, np.flatnonzero(e.pair_joint == e.joints.index(name))
        if name in e.drives:
            wanted = e.row_drive == e.drives.index(name)
            return wanted, e.row_pair[wanted]
        kinds = "joint or drive" if e.drives else "joint"
        raise unknown(f"no {kinds} is called '{name}'", name, (*e.joints, *e.drives))

    def _on(self, name: str, body: str) -> Reaction:
        """The reaction of a joint or drive on one of its bodies."""
        e, (wanted, pairs) = self.equations, self._rows_of(name)
        first, *others = self.bodies(name)
        # the reaction on the first body is opposite to that on all others
        sign = -1.0 if body == first else 1.0
        mine = pairs if body == first else pairs[[others.index(body)]]
        rows = np.array([np.flatnonzero((e.row_pair == p) & wanted) for p in mine])
        # joints of several pairs do not slide, so their offsets vanish
        return self._sum_up(name, body, rows, int(mine[0]), sign)

    def _sum_up(self, name: str, body: str, rows: Ints, pair: int, sign: float) -> Reaction:
        """The reaction from its rows, one line of rows per pair; pair: the one whose offset applies."""
        e = self.equations
        n, k = len(self.values), rows.shape[1]
        about = e.row_about[rows[0]]
        directions = self.directions[:, rows[0]]
        shift = _shifts(directions, about, self.offsets[:, pair])
        values = np.einsum("tij,tj->ti", shift, sign * self.values[:, rows].sum(axis=1))
        world = _world_rows(directions, about, self.offsets[:, pair])
        unique = np.ones((n, k), dtype=bool)
        world_unique = np.ones((n, 6), dtype=bool)
        for at, stress in self._stresses:
            part = stress[:, rows].sum(axis=1)
            unique[at] = np.linalg.norm(shift[at] @ part, axis=2) <= NO_PART_IN_STRESS
            seen = np.linalg.norm(world[at] @ part, axis=2)
            world_unique[at] = seen <= NO_PART_IN_STRESS
        unresolved = self.unresolved[:, None]
        lost = _find_alone(unique) | unresolved
        world_lost = _find_alone(world_unique) | unresolved
        wrench = np.einsum("tik,tk->ti", world, sign * self.values[:, rows].sum(axis=1))
        grows, world_grows = np.zeros((n, k), dtype=bool), np.zeros((n, 6), dtype=bool)
        unbounded = []
        force, moment = slice(e.dimension), 5 if e.dimension == 2 else slice(3, 6)
        for number, pole in enumerate(self.poles):
            own = sign * pole.values[rows].sum(axis=0)
            frame = pole.directions[None, rows[0]], about, pole.offsets[None, pair]
            whole, own = _world_rows(*frame)[0] @ own, _shifts(*frame)[0] @ own
            least = pole.least * np.array([1.0] * 3 + [e.length] * 3)
            whole[np.abs(whole) <= least] = 0.0
            at = self.at_pole == number
            grows[at] = np.abs(own) > pole.least * np.where(about, e.length, 1.0)
            world_grows[at] = whole != 0.0
            if whole.any():
                unbounded.append(
                    UnboundedReaction(pole.time, pole.order, whole[force], whole[moment])
                )
        values, wrench = np.where(grows, np.nan, values), np.where(world_grows, np.nan, wrench)
        unique &= ~(unresolved | grows)
        world_unique &= ~(unresolved | world_grows)
        return Reaction(
            joint=name,
            body=body,
            force=wrench[:, force],
            moment=wrench[:, moment],
            force_unique=world_unique[:, force],
            moment_unique=world_unique[:, moment],
            force_undetermined=world_lost[:, force],
            moment_undetermined=world_lost[:, moment],
            force_unbounded=world_grows[:, force],
            moment_unbounded=world_grows[:, moment],
            components=tuple(
                Component(
                    "about" if about[i] else "along",
                    directions[:, i],
                    values[:, i],
                    unique[:, i],
                    lost[:, i],
                    grows[:, i],
                )
                for i in range(k)
            ),
            smallest=self.smallest,
            sharing=self.sharing,
            unbounded=tuple(unbounded),
        )


def _world_rows(directions: Floats, about: Flags, offsets: Floats) -> Floats:
    """Matrices from rows to world force and moment about the joint's point, (n, 6, rows).

    directions: (n, rows, 3); offsets: from the joint's point to where the forces of the rows act, (n, 3).
    """
    out = np.zeros((len(directions), 6, len(about)))
    along = directions[:, ~about]
    out[:, :3][:, :, ~about] = np.swapaxes(along, 1, 2)
    out[:, 3:][:, :, ~about] = np.swapaxes(np.cross(offsets[:, None], along), 1, 2)
    out[:, 3:][:, :, about] = np.swapaxes(directions[:, about], 1, 2)
    return out


def _shifts(directions: Floats, about: Flags, offsets: Floats) -> Floats:
    """Matrices from rows to components about the joint's point, (n, rows, rows), including moments of forces."""
    out = np.zeros((len(directions), len(about), len(about)))
    out[:] = np.eye(len(about))
    moments = np.cross(offsets[:, None], directions[:, ~about])
    out[:, np.ix_(about, ~about)[0], np.ix_(about, ~about)[1]] = np.einsum(
        "tri,tsi->trs", directions[:, about], moments
    )
    return out


class ReactionSolver:
    """Solves W^T f = w of one mechanism for states along a motion.

    stiffness: of joints by name, (force [N/m], moment [N m/rad]); joints not named are rigid.
    """

    def __init__(
        self,
        equations: JointEquations,
        bodies: BodyRows,
        loads: BodyLoads,
        stiffness: Stiffness | None = None,
    ) -> None:
        self.equations, self.bodies, self.loads = equations, bodies, loads
        self.stiffness = None if stiffness is None else row_stiffness(equations, stiffness)

    @property
    def sharing(self) -> str:
        """How statically indeterminate reactions are shared."""
        return LEAST_NORM if self.stiffness is None else ELASTIC

    @property
    def rows_at_once(self) -> int:
        """Number of states solved together."""
        return max(8, ROWS_AT_ONCE // max(self.equations.rows, 1))

    def solve(self, times: Floats, states: States, angles: Floats) -> Wrenches:
        """Components of all rows; states: coordinates, rates and accelerations, (n, nq); angles: of torsions."""
        e = self.equations
        motion = read_motion(e, self.bodies, times, *states)
        inertia = inertia_forces(e, motion)
        applied = self.loads.wrenches(motion, angles)
        # for a freely spinning body I w' and w x I w cancel
        spun = np.sum(motion.spins**2, axis=2) @ np.trace(e.inertias, axis1=1, axis2=2)
        arms = np.array([1.0] * 3 + [e.length] * 3)
        sizes = np.abs(applied / arms).max(axis=(1, 2), initial=0.0)
        sizes = np.maximum(sizes, spun / e.length)
        poses = Pose(motion.centers, motion.turns)
        return solve_wrenches(e, poses, inertia - applied, self.stiffness, sizes)


class OutputAngles:
    """Angles of torsions at the outputs of a run; counted: those recorded by the run, with their full turns."""

    def __init__(
        self, solver: ReactionSolver, times: Floats, states: States, counted: Floats
    ) -> None:
        self._solver, self._times = solver, times
        self._count = len(solver.loads.torsions[0])
        self._shown = self._look(times, states)
        self.values = next_to(self._shown[0], counted)

    def at(self, time: float, states: States) -> Floats | None:
        """The angles at a time between outputs; None if outputs are too far apart to count turns that matter.

        Full turns are counted from the nearest output if it is less than a radian away, else from the outputs
        before and after, which must agree.
        """
        if not self._count or not len(self._times):
            return np.zeros(self._count)
        shown = self._look(np.array([time]), states)
        k = int(np.searchsorted(self._times, time, "right"))
        around = {max(k - 1, 0), min(k, len(self._times) - 1)}
        found = []
        for j in sorted(around, key=lambda j: abs(float(self._times[j]) - time)):
            ends = [
                np.append(x[j : j + 1], y, axis=0) for x, y in zip(self._shown, shown, strict=True)
            ]
            # backward in time all rates are opposite
            sign = 1.0 if self._times[j] <= time else -1.0
            away = abs(time - float(self._times[j]))
            whole, doubtful = unwrap(np.array([0.0, away]), ends[0], sign * ends[1], ends[2])
            found.append(self.values[j] + whole[1] - whole[0])
            if (away * np.abs(ends[1]) < 1.0).all():
                return found[-1]
        same = (np.abs(found[0] - found[-1]) < 1.0) & ~doubtful[0]
        stiffness = self._solver.loads.torsions[1][:, 0]
        return found[0] if np.all(same | (stiffness == 0.0)) else None

    def _look(self, times: Floats, states: States) -> tuple[Floats, ...]:
        """Angles up to whole turns, their rates and accelerations, (n, torsions) each."""
        # a segment between two events may have no output
        if not self._count or not len(times):
            return (np.zeros((len(times), self._count)),) * 3
        solver, size = self._solver, self._solver.rows_at_once
        looks = [
            solver.loads.look(
                read_motion(
                    solver.equations,
                    solver.bodies,
                    times[k : k + size],
                    *(x[k : k + size] for x in states),
                )
            )
            for k in range(0, len(times), size)
        ]
        return tuple(np.concatenate(x) for x in zip(*looks, strict=True))


def solve_reactions(
    solver: ReactionSolver,
    times: Floats,
    states: States,
    counted: Floats,
    tolerance: float,
    context: CrossingContext | None = None,
) -> Reactions:
    """Reactions of all joints from coordinates, rates and accelerations of a result, (n, nq) each.

    counted: angles of the torsions with their full turns [rad], (n, torsions); tolerance: of the run; context: its
    crossings, if it was monitored and has any: there, reactions are limits along the motion.
    """
    equations, n = solver.equations, len(times)
    values = np.zeros((n, equations.rows))
    directions = np.zeros((n, equations.rows, 3))
    offsets = np.zeros((n, len(equations.pair_joint), 3))
    stress: list[Floats] = []
    smallest, imbalance = np.ones(n), np.zeros(n)
    angles = OutputAngles(solver, times, states, counted)
    for k in range(0, n, solver.rows_at_once):
        chunk = slice(k, min(k + solver.rows_at_once, n))
        found = solver.solve(times[chunk], cut(states, chunk), angles.values[chunk])
        directions[chunk], offsets[chunk] = found.directions, found.offsets
        values[chunk], stress = found.values, stress + found.self_stress
        smallest[chunk], imbalance[chunk] = found.smallest, found.imbalance
    # written so that NaN is unresolved
    unresolved = ~((smallest >= BLURRED_REACTION * tolerance) & (imbalance <= UNBALANCED))
    series, poles = ([], []) if context is None else context.series(solver, angles)
    at_pole = np.full(n, -1)
    for one in series:
        for t in np.flatnonzero(one.holds(times)):
            values[t], stress[t], smallest[t], imbalance[t] = one.read(times[t], directions[t])
            unresolved[t] = not imbalance[t] <= UNBALANCED
            if one.at_crossing(times[t]):
                at_pole[t] = next((i for i, p in enumerate(poles) if p.time == one.time), -1)
    return Reactions(
        equations=equations,
        values=values,
        directions=directions,
        offsets=offsets,
        self_stress=stress,
        smallest=smallest,
        imbalance=imbalance,
        sharing=solver.sharing,
        unresolved=unresolved,
        poles=tuple(poles),
        at_pole=at_pole,
    )


def cut(states: States, rows: slice) -> States:
    """Some of the states."""
    q, v, a = (x[rows] for x in states)
    return q, v, a


def _shown(size: float) -> str:
    """A force formatted for a table."""
    return f"{size:.6g}" if np.isfinite(size) else "unbounded"


def _find_alone(unique: Flags) -> Flags:
    """Where a component is shared at one output, but unique at the outputs before and after."""
    if len(unique) < 2:
        return np.zeros_like(unique)
    # at the ends only one neighbour exists
    before = np.concatenate([unique[1:2], unique[:-1]])
    after = np.concatenate([unique[1:], unique[-2:-1]])
    return ~unique & before & after


def _words(unique: Flags, undetermined: Flags, unbounded: Flags) -> Words:
    other = np.where(unbounded, UNBOUNDED, np.where(undetermined, UNDETERMINED, SHARED))
    return np.where(unique, UNIQUE, other)


def _columns(values: NDArray) -> NDArray:
    return np.atleast_2d(values.T)


def _letters(values: Floats) -> str:
    return "z" if values.ndim == 1 else "xyz"[: values.shape[1]]


def _summary(words: Words) -> str:
    """Such as "unique" or "shared at 3 of 10 outputs"."""
    if np.all(words == UNIQUE):
        return UNIQUE
    parts = []
    for word in (SHARED, UNDETERMINED, UNBOUNDED):
        count = int(np.sum(words == word))
        if count == len(words):
            return word
        if count:
            parts.append(f"{word} at {count} of {len(words)} outputs")
    return " and ".join(parts)
