"""Joint reactions and driving forces by Newton and Euler for each body, and which can be trusted.

With f the forces and moments that each joint exerts on the second body of a pair (the first feels the
opposite), in the directions of the joint equations, and F, T what loads exert on a body,

    W^T f = (m (a - g) - F,  I w' + w x I w - T)        for all bodies.

The equations are those of W transposed, so nothing depends on the coordinates of the simulation. A
component is unique if no self-stress (W^T y = 0) has a part in it, else it is shared [Wojtyra2005]:
only sums over a dependent set are then determined by rigid bodies. Shared values are those of least
norm, moments being divided by the mechanism's length, so that they do not depend on units; or, with
joint stiffnesses k, those of least elastic energy, sum f^2 / k. A component that is shared at a single
output and unique before and after is undetermined there: the motion passes a singular position.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Flags, Floats, Ints, Words
from ..kinematics.pose import Pose
from ..names import unknown
from ..notebook import Sentences, html_table
from ..thresholds import NEAR_VALUE, NO_PART_IN_STRESS
from .joint_equations import JointEquations
from .loads import BodyLoads
from .wrenches import (
    Stiffness,
    inertia_forces,
    read_motion,
    row_stiffness,
    solve_wrenches,
)

if TYPE_CHECKING:
    from ..kinematics.pose import BodyRows

UNIQUE, SHARED, UNDETERMINED = "unique", "shared", "undetermined"
LEAST_NORM, ELASTIC = "least norm", "stiffness"

# rows of outputs treated at once: enough to be quick, few enough for the caches
ROWS_AT_ONCE = 16_000


@dataclass(frozen=True)
class Component:
    """One component of a reaction: along or about a direction, over time."""

    kind: str
    directions: Floats
    values: Floats
    unique: Flags
    undetermined: Flags

    @property
    def words(self) -> Words:
        """The word "unique", "shared" or "undetermined" at each output."""
        return _words(self.unique, self.undetermined)


@dataclass(frozen=True)
class Reaction(Sentences):
    """What a joint or drive exerts on one of its bodies, over time.

    force [N], (n, dimension), and moment about the joint's place [N m], (n, 3), in the plane (n,), in
    world directions (where a joint slides, its place is the point of the second body); force_unique,
    moment_unique: flags of the same shapes, and those undetermined; components: the same by the
    directions of the joint (a hinge: its axis first; a drive: its axis), each with flags. Where a flag is
    not unique rigid bodies do not determine the value, and the one by `sharing` is given: "least norm"
    over all joints, or by "stiffness". smallest: singular value of W that counts, at each output.
    largest_on: where three or more bodies share a pin, the largest force on each [N], by name.
    """

    joint: str
    body: str
    force: Floats
    moment: Floats
    force_unique: Flags
    moment_unique: Flags
    force_undetermined: Flags
    moment_undetermined: Flags
    components: tuple[Component, ...]
    smallest: Floats
    sharing: str = LEAST_NORM
    largest_on: dict[str, float] = field(default_factory=dict)

    @property
    def sizes(self) -> Floats:
        """Magnitude of the force at each output [N], shape (n,)."""
        return np.asarray(np.linalg.norm(self.force, axis=1))

    @property
    def force_words(self) -> Words:
        """The word "unique", "shared" or "undetermined" for each entry of the force."""
        return _words(self.force_unique, self.force_undetermined)

    @property
    def moment_words(self) -> Words:
        """The word "unique", "shared" or "undetermined" for each entry of the moment."""
        return _words(self.moment_unique, self.moment_undetermined)

    def __str__(self) -> str:
        parts = []
        for values, words, unit in (
            (self.force, self.force_words, "N"),
            (self.moment, self.moment_words, "N m"),
        ):
            what = "force" if unit == "N" else "moment"
            for name, v, w in zip(_letters(values), _columns(values), _columns(words), strict=True):
                if np.any(v) or not np.all(w == UNIQUE):
                    largest = float(np.abs(v).max(initial=0.0))
                    parts.append(f"{what} {name} up to {largest:.6g} {unit}, {_summary(w)}")
        near = int(np.sum(self.smallest < NEAR_VALUE))
        if near:
            parts.append(
                f"close to a singular position at {near} of {len(self.smallest)} outputs (smallest value "
                f"{self.smallest.min():.1e}), where reactions grow with its inverse"
            )
        if self.largest_on:
            # magnitudes differ from body to body: one of them alone would mislead
            each = ", ".join(f"{size:.6g} N on {body}" for body, size in self.largest_on.items())
            parts.append(f"the pin joins {len(self.largest_on)} bodies: up to {each}")
        return f"{self.joint} on {self.body}: " + ("; ".join(parts) or "nothing")


@dataclass(frozen=True)
class Reactions:
    """All joint reactions and driving forces at all outputs.

    values: components of every row of W, (n, rows); directions: of the rows, (n, rows, 3); self_stress:
    of each output, unit columns (rows, k); smallest: singular value of W that counts (beyond 200 columns
    an estimate, which does not fall below 1e-5), (n,); imbalance: largest force (or moment over the
    length) that is left on a body, over the largest one on any body, (n,); sharing: what shared values
    go by.
    """

    equations: JointEquations
    values: Floats
    directions: Floats
    self_stress: list[Floats]
    smallest: Floats
    imbalance: Floats
    sharing: str = LEAST_NORM

    def _repr_html_(self) -> str:
        """A row for each joint and body: largest force and moment, and whether they are unique."""
        rows = []
        for name in (*self.equations.joints, *self.equations.drives):
            for r in self.on_each(name):
                force = float(r.sizes.max(initial=0.0))
                turning = (
                    np.abs(r.moment) if r.moment.ndim == 1 else np.linalg.norm(r.moment, axis=1)
                )
                words = _summary(
                    np.concatenate([w.ravel() for w in (r.force_words, r.moment_words)])
                )
                moment = float(turning.max(initial=0.0))
                rows.append((name, r.body, f"{force:.6g}", f"{moment:.6g}", words))
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
        """The reaction of a joint or drive on a body, the second one of the joint if left out.

        What a drive exerts is not part of its joint's reaction.
        """
        bodies = self.bodies(name)
        body = bodies[1] if body is None else body
        if body not in bodies:
            what = "joint" if name in self.equations.joints else "drive"
            raise unknown(f"{what} '{name}' has no body '{body}'", body, bodies)
        found = self._on(name, body)
        if len(bodies) < 3:
            return found
        sizes = {r.body: float(r.sizes.max(initial=0.0)) for r in self.on_each(name)}
        return replace(found, largest_on=sizes)

    def _rows_of(self, name: str) -> tuple[Flags, Ints]:
        """Which rows of W belong to a joint or drive, and the pairs of bodies it acts between."""
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
        # the first body feels the opposite of all others
        sign = -1.0 if body == first else 1.0
        mine = pairs if body == first else pairs[[others.index(body)]]
        rows = np.array([np.flatnonzero((e.row_pair == p) & wanted) for p in mine])
        n, k = len(self.values), rows.shape[1]
        values = sign * self.values[:, rows].sum(axis=1)
        about = e.row_about[rows[0]]
        directions = self.directions[:, rows[0]]
        # a row of its own for each component, and for each world direction of force and moment
        world = np.zeros((n, 6, k))
        world[:, :3][:, :, ~about] = np.swapaxes(directions[:, ~about], 1, 2)
        world[:, 3:][:, :, about] = np.swapaxes(directions[:, about], 1, 2)
        unique = np.ones((n, k), dtype=bool)
        world_unique = np.ones((n, 6), dtype=bool)
        for at, stress in self._stresses:
            part = stress[:, rows].sum(axis=1)
            unique[at] = np.linalg.norm(part, axis=2) <= NO_PART_IN_STRESS
            seen = np.linalg.norm(world[at] @ part, axis=2)
            world_unique[at] = seen <= NO_PART_IN_STRESS
        lost, world_lost = _find_alone(unique), _find_alone(world_unique)
        wrench = np.einsum("tik,tk->ti", world, values)
        force, moment = slice(e.dimension), 5 if e.dimension == 2 else slice(3, 6)
        return Reaction(
            joint=name,
            body=body,
            force=wrench[:, force],
            moment=wrench[:, moment],
            force_unique=world_unique[:, force],
            moment_unique=world_unique[:, moment],
            force_undetermined=world_lost[:, force],
            moment_undetermined=world_lost[:, moment],
            components=tuple(
                Component(
                    "about" if about[i] else "along",
                    directions[:, i],
                    values[:, i],
                    unique[:, i],
                    lost[:, i],
                )
                for i in range(k)
            ),
            smallest=self.smallest,
            sharing=self.sharing,
        )


def solve_reactions(
    equations: JointEquations,
    bodies: BodyRows,
    loads: BodyLoads,
    times: Floats,
    states: tuple[Floats, Floats, Floats],
    stiffness: Stiffness | None = None,
) -> Reactions:
    """Reactions of all joints from coordinates, rates and accelerations of a result, (n, nq) each.

    stiffness: of joints by name, (force [N/m], moment [N m/rad]); joints not named are rigid.
    """
    n = len(times)
    stiff = None if stiffness is None else row_stiffness(equations, stiffness)
    values = np.zeros((n, equations.rows))
    directions = np.zeros((n, equations.rows, 3))
    stress: list[Floats] = []
    smallest, imbalance = np.ones(n), np.zeros(n)
    size = max(8, ROWS_AT_ONCE // max(equations.rows, 1))
    chunks = [slice(k, min(k + size, n)) for k in range(0, n, size)]
    angles = np.zeros((n, len(loads.torsions[0])))
    if angles.size:
        # turns are counted from output to output: over all chunks
        looks = [
            loads.look(read_motion(equations, bodies, times[c], *(x[c] for x in states)))
            for c in chunks
        ]
        angles = loads.angles(times, *(np.concatenate(x) for x in zip(*looks, strict=True)))
    arms = np.array([1.0] * 3 + [equations.length] * 3)
    for chunk in chunks:
        motion = read_motion(equations, bodies, times[chunk], *(x[chunk] for x in states))
        inertia = inertia_forces(equations, motion)
        applied = loads.wrenches(motion, angles[chunk])
        # of a body that spins freely I w' and w x I w cancel
        spun = np.sum(motion.spins**2, axis=2) @ np.trace(equations.inertias, axis1=1, axis2=2)
        sizes = np.abs(applied / arms).max(axis=(1, 2), initial=0.0)
        sizes = np.maximum(sizes, spun / equations.length)
        poses = Pose(motion.centers, motion.turns)
        found = solve_wrenches(equations, poses, inertia - applied, stiff, sizes)
        directions[chunk] = found.directions
        values[chunk], stress = found.values, stress + found.self_stress
        smallest[chunk], imbalance[chunk] = found.smallest, found.imbalance
    sharing = LEAST_NORM if stiff is None else ELASTIC
    return Reactions(equations, values, directions, stress, smallest, imbalance, sharing)


def _find_alone(unique: Flags) -> Flags:
    """Where a component is shared at one output, but unique at the ones before and after."""
    if len(unique) < 2:
        return np.zeros_like(unique)
    # beyond the ends the only neighbour counts
    before = np.concatenate([unique[1:2], unique[:-1]])
    after = np.concatenate([unique[1:], unique[-2:-1]])
    return ~unique & before & after


def _words(unique: Flags, undetermined: Flags) -> Words:
    return np.where(unique, UNIQUE, np.where(undetermined, UNDETERMINED, SHARED))


def _columns(values: NDArray) -> NDArray:
    return np.atleast_2d(values.T)


def _letters(values: Floats) -> str:
    return "z" if values.ndim == 1 else "xyz"[: values.shape[1]]


def _summary(words: Words) -> str:
    """Such as "unique" or "shared at 3 of 10 outputs"."""
    if np.all(words == UNIQUE):
        return UNIQUE
    parts = []
    for word in (SHARED, UNDETERMINED):
        count = int(np.sum(words == word))
        if count == len(words):
            return word
        if count:
            parts.append(f"{word} at {count} of {len(words)} outputs")
    return " and ".join(parts)
