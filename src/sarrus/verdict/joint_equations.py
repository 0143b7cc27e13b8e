"""W: the joint equations in terms of the twists of the bodies, at any configuration.

With v the velocity of a body's centre of mass and w its angular velocity, a joint of body b with body a at the
point p (arms r from the centres) imposes, for each of its directions u,

    along u:    u . (v_b + w_b x r_b) - u . (v_a + w_a x r_a) = 0
    about u:    u . w_b - u . w_a = 0

`joint_frames` lists the equations and directions of each kind of joint. In a sliding joint, p is the point of the
second body (reactions are stated about another point if that is the ground, see `PairsAt.offsets`). A drive adds
one equation to its joint: about the axis of a hinge, along that of a slider, along a link (whose length then is
determined by the drive alone). A coupling adds one equation, the row of an additional pair: the rate of a joint's
coordinate minus the ratio times that of another joint. This module does not use natural coordinates: these are the
equations an engineer counts. After scaling (see `rank`), all numbers are dimensionless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Flags, Floats, Ints
from ..kinematics.configuration import Pose, cross, in_space, measure_length, turn_vectors, unit
from ..mechanism import Joint, JointKind, Mechanism
from ..thresholds import EXACT_MISFIT, RANK_TOLERANCE
from .joint_frames import (
    GROUND,
    JOINT_FRAMES,
    WORLD,
    JointFrame,
    JointPairs,
    PairsAt,
    axis_frames,
    name_direction,
)
from .rank import BodyScale, Scaled, make_scale, measure_reach

ALONG, ABOUT = "along", "about"


@dataclass(frozen=True)
class Equation:
    """The name of one row: joint or drive, its two bodies, and the direction in words ("along x")."""

    joint: str
    first: str
    second: str
    kind: str
    direction: tuple[float, float, float]
    drive: bool = False

    @property
    def words(self) -> str:
        """Such as "along z" or "about (0.6, 0.8, 0)"."""
        return f"{self.kind} {name_direction(self.direction)}"

    @property
    def where(self) -> str:
        """The name of the joint, or of the drive preceded by its kind."""
        return f"drive {self.joint}" if self.drive else self.joint

    def __str__(self) -> str:
        return f"{self.words} at {self.where}"


@dataclass(frozen=True, eq=False)
class JointEquations(JointPairs):
    """The joints of a mechanism as equations for the twists of its bodies.

    masses [kg], inertias [kg m^2] (nb, 3, 3), at the start; row_pair, row_about, row_direction: pair, type and
    direction of each row; row_drive: the number of its drive, or -1. The rows of a pair are contiguous, those of
    drives come last. A coupling has an additional pair after those of the joints, with the geometry of its joint,
    and its name is listed among the joints; row_other: the pair of the other joint, or -1, and row_ratio: the
    factor of its rate. length: of the mechanism, reach: of each body [m].
    """

    gravity: Floats
    masses: Floats
    inertias: Floats
    drives: tuple[str, ...]
    row_pair: Ints
    row_about: Flags
    row_direction: Ints
    row_drive: Ints
    row_other: Ints
    row_ratio: Floats
    length: float
    reach: Floats
    _scale: BodyScale

    @property
    def columns_a_body(self) -> int:
        """3 in the plane, 6 in space."""
        return 3 if self.dimension == 2 else 6

    @property
    def columns(self) -> int:
        """The number of twist components of all bodies."""
        return self.columns_a_body * len(self.bodies)

    @property
    def rows(self) -> int:
        """The number of joint equations."""
        return len(self.row_pair)

    @property
    def tolerance(self) -> float:
        """Scaled values below this are zero: RANK_TOLERANCE, or rounding errors due to large coordinates."""
        far = float(np.abs(self.origin).max()) + float(np.abs(self.centers).max())
        return max(RANK_TOLERANCE, 100 * float(np.finfo(float).eps) * far / self.length)

    @property
    def rounding(self) -> float:
        """Gaps due to rounding, relative to the mechanism's length; larger far from the origin."""
        far = float(np.abs(self.origin).max()) + float(np.abs(self.centers).max())
        return EXACT_MISFIT * (1.0 + far / self.length)

    @property
    def count(self) -> int:
        """Gruebler's count: columns minus rows."""
        return self.columns - self.rows

    @cached_property
    def undriven(self) -> JointEquations:
        """The same without the equations of drives."""
        keep = self.row_drive < 0
        if keep.all():
            return self
        return replace(
            self,
            drives=(),
            row_pair=self.row_pair[keep],
            row_about=self.row_about[keep],
            row_direction=self.row_direction[keep],
            row_drive=self.row_drive[keep],
            row_other=self.row_other[keep],
            row_ratio=self.row_ratio[keep],
        )

    def directions(self, pose: Pose) -> Floats:
        """Direction of each row, (rows, 3); drives and couplings use their axis as it was given."""
        return self._directions(self.at(pose))

    def _directions(self, at: PairsAt) -> Floats:
        axes = at.axes
        frames = np.empty((len(axes), 3, 3))
        frames[:] = np.eye(3)
        framed = self._frame != WORLD
        if framed.any():
            frames[framed] = axis_frames(axes[framed], self.dimension == 2)
        out = frames[self.row_pair, :, self.row_direction]
        counts = self._counts
        if counts.any():
            out[counts] = axes[self.row_pair[counts]]
        return out

    @cached_property
    def _counts(self) -> Flags:
        """Rows that involve a joint's own coordinate: those of drives and couplings."""
        return (self.row_drive >= 0) | (self.row_other >= 0)

    def equations(self, pose: Pose) -> list[Equation]:
        """The names of all rows."""
        out = []
        for row, u in enumerate(self.directions(pose)):
            pair = self.row_pair[row]
            a, b = self.pair_bodies[pair]
            kind = ABOUT if self.row_about[row] else ALONG
            drive = self.row_drive[row]
            name = self.joints[self.pair_joint[pair]] if drive < 0 else self.drives[drive]
            direction = (float(u[0]), float(u[1]), float(u[2]))
            bodies = self.body_name(a), self.body_name(b)
            out.append(Equation(name, *bodies, kind, direction, bool(drive >= 0)))
        return out

    def matrix(self, pose: Pose) -> sparse.csr_array:
        """W: maps twists (v, w) of the bodies [m/s, rad/s] to relative velocities in the joints."""
        at = self.at(pose)
        return self._assemble(self._entries(at, self._directions(at)))

    def look(self, pose: Pose) -> tuple[Floats, Floats]:
        """Gaps of the named rows, as in `gaps`, and their rates W D with respect to scaled twists, dense."""
        at = self.at(pose)
        u = self._directions(at)
        return self._gaps(at, u), self._dense(self._weighted(at, u))

    def scaled(self, pose: Pose) -> Scaled:
        """W D, with the rows of each pair of bodies made orthonormal."""
        entries, blocks = self._scaled(pose)
        return Scaled(self._assemble(entries), blocks)

    def scaled_dense(self, pose: Pose) -> Floats:
        """The matrix of `scaled`, dense."""
        return self._dense(self._scaled(pose)[0])

    def scaled_at(self, poses: Sequence[Pose]) -> Floats:
        """The same at several configurations, (n, rows, columns): computed as one mechanism of n copies."""
        whole = Pose(
            np.concatenate([p.centers for p in poses]), np.concatenate([p.turns for p in poses])
        )
        entries = self._copies(len(poses))._scaled(whole)[0]
        return self._dense(entries.reshape(len(poses), self.rows, -1, 6))

    def _copies(self, n: int) -> JointEquations:
        """Joint equations of n copies of the mechanism; their names are of no use."""
        bodies, pairs = len(self.bodies), len(self.pair_joint)

        def repeat(values: Any) -> Any:
            return np.tile(values, (n, *[1] * (values.ndim - 1)))

        def shifted(numbers: Ints, by: int) -> Ints:
            """Numbers of bodies or pairs of all copies; negative ones stay."""
            copy = np.arange(n).repeat(len(numbers)).reshape(-1, *[1] * (numbers.ndim - 1))
            every = repeat(numbers)
            return np.where(every < 0, every, every + by * copy)

        return replace(
            self,
            bodies=self.bodies * n,
            pair_bodies=shifted(self.pair_bodies, bodies),
            row_pair=shifted(self.row_pair, pairs),
            row_other=shifted(self.row_other, pairs),
            _scale=self._scale.repeated(n),
            **{name: repeat(getattr(self, name)) for name in _PER_COPY},
        )

    def _scaled(self, pose: Pose) -> tuple[Floats, tuple[tuple[Ints, Floats], ...]]:
        at = self.at(pose)
        weighted = self._weighted(at, self._directions(at))
        blocks = []
        for rows in self._pairs_of_equal_size:
            flat = weighted[rows].reshape(*rows.shape, -1)
            Q, R = np.linalg.qr(np.swapaxes(flat, 1, 2))
            weighted[rows] = np.swapaxes(Q, 1, 2).reshape(*rows.shape, -1, 6)
            blocks.append((rows, R))
        return weighted, tuple(blocks)

    def weighted(self, pose: Pose) -> sparse.csr_array:
        """W D: the named rows over scaled twists."""
        at = self.at(pose)
        return self._assemble(self._weighted(at, self._directions(at)))

    def twists(self, pose: Pose, scaled: Floats) -> Floats:
        """Twists D x of all bodies, shape (nb, 6), from scaled twists x."""
        full = np.zeros((len(self.bodies), 6))
        full[:, self.used] = scaled.reshape(len(self.bodies), -1)
        return self._scale.up(pose.turns, full)

    def scaled_twists(self, pose: Pose, twists: Floats) -> Floats:
        """Scaled twists from twists, shape (nb, 6)."""
        return self._scale.down(pose.turns, twists)[:, self.used].ravel()

    def scaled_forces(self, pose: Pose, forces: Floats) -> Floats:
        """D^T F of forces and moments about the centres, (nb, 6): generalised forces for scaled twists."""
        return self._scale.forces(pose.turns, forces)[:, self.used].ravel()

    def gaps(self, pose: Pose) -> Floats:
        """Residual of each equation [m or rad], (rows,); drives have their values at the start."""
        at = self.at(pose)
        return self._gaps(at, self._directions(at))

    def _gaps(self, at: PairsAt, u: Floats) -> Floats:
        gaps = np.einsum("ri,ri->r", at.apart[self.row_pair], u)
        gaps -= np.sign(gaps) * self._link_lengths[self.row_pair]
        about, counts = self.row_about, self.row_about & self._counts
        if about.any():
            turns = at.turn_gaps()[self.row_pair[about]]
            gaps[about] = np.einsum("ri,ri->r", turns, u[about])
        if counts.any():
            gaps[counts] = self._angles(at, self.row_pair[counts])
        for rows, measure in (
            (np.flatnonzero((self.row_other >= 0) & about), self._angles),
            (np.flatnonzero((self.row_other >= 0) & ~about), self._travels),
        ):
            gaps[rows] -= self.row_ratio[rows] * measure(at, self.row_other[rows])
        return gaps

    def _angles(self, at: PairsAt, pairs: Ints) -> Floats:
        """Rotation of hinges since the start, within half a turn."""
        turns = turn_vectors(at.relative_turns(pairs))
        return np.einsum("ri,ri->r", turns, at.axes[pairs])

    def _travels(self, at: PairsAt, pairs: Ints) -> Floats:
        """Displacement of sliders since the start."""
        return np.einsum("ri,ri->r", at.apart[pairs], at.axes[pairs])

    @cached_property
    def _pairs_of_equal_size(self) -> list[Ints]:
        """Row numbers of the pairs with the same number of rows, shape (pairs, rows of each)."""
        first, size = np.unique(self.row_pair, return_index=True, return_counts=True)[1:]
        return [first[size == k][:, None] + np.arange(k) for k in np.unique(size)]

    @cached_property
    def used(self) -> list[int]:
        """The components of (v, w) that a body of this mechanism has: in the plane vx, vy, wz."""
        return [0, 1, 5] if self.dimension == 2 else [0, 1, 2, 3, 4, 5]

    def pair_gaps(self, gaps: Floats) -> Floats:
        """Translational [m] and rotational [rad] gap of each pair, (2, np), from the gaps of all rows."""
        squares = np.zeros((2, len(self.pair_joint)))
        np.add.at(squares, (self.row_about.astype(int), self.row_pair), gaps**2)
        return np.sqrt(squares)

    def _entries(self, at: PairsAt, u: Floats) -> Floats:
        """Coefficients of (v, w) of its bodies in each row, (rows, 2, 6); u: directions of the rows.

        With couplings the shape is (rows, 4, 6): the bodies of the other joint follow.
        """
        out = np.zeros((*self.row_bodies.shape, 6))
        ends: list[tuple[Ints, Floats, Any]] = [(self.row_pair, u, 1.0)]
        if out.shape[1] == 4:
            ends.append((self.row_other, at.axes[self.row_other], -self.row_ratio[:, None]))
        along = ~self.row_about[:, None]
        for n, (pair, way, factor) in enumerate(ends):
            for side, sign in ((0, -factor), (1, factor)):
                arms = at.arms[side]
                if side == 0:
                    # in a sliding joint, its point is that of the other body
                    reach = at.places[1] - self._pair_centers(at.pose.centers, 0)
                    arms = np.where(self._slides[:, None], reach, arms)
                out[:, 2 * n + side, :3] = np.where(along, sign * way, 0.0)
                out[:, 2 * n + side, 3:] = sign * np.where(along, cross(arms[pair], way), way)
        # the ground does not move
        out[self.row_bodies == GROUND] = 0.0
        return out

    def _weighted(self, at: PairsAt, u: Floats) -> Floats:
        """The coefficients of scaled twists, with the shape of `_entries`."""
        return self._weigh(at, self._entries(at, u))

    def _weigh(self, at: PairsAt, entries: Floats) -> Floats:
        weighted = self._scale.columns(at.pose.turns, entries, self.row_bodies)
        if self.dimension == 2:
            weighted[:, :, 2:5] = 0.0
        return weighted

    @cached_property
    def row_bodies(self) -> Ints:
        """The two bodies of each row; with couplings four, the ground standing in for missing ones."""
        own = self.pair_bodies[self.row_pair]
        if not (self.row_other >= 0).any():
            return own
        other = np.where(self.row_other[:, None] >= 0, self.pair_bodies[self.row_other], GROUND)
        return np.hstack([own, other])

    def _dense(self, entries: Floats) -> Floats:
        """The rows (..., rows, k, 6) over all columns; the ground is an additional body, which is dropped."""
        width, n, many = self.columns_a_body, len(self.bodies), entries.shape[:-3]
        out = np.zeros((*many, self.rows, n + 1, width))
        rows, body = np.arange(self.rows), self.row_bodies % (n + 1)
        for side in range(body.shape[1]):
            out[..., rows, body[:, side], :] += entries[..., side, self.used]
        return out[..., :n, :].reshape(*many, self.rows, n * width)

    def _assemble(self, entries: Floats) -> sparse.csr_array:
        values = entries[:, :, self.used]
        width = self.columns_a_body
        body = self.row_bodies
        col = width * body[:, :, None] + np.arange(width)
        row = np.broadcast_to(np.arange(self.rows)[:, None, None], col.shape)
        keep = (body[:, :, None] != GROUND) & (values != 0.0)
        shape = (self.rows, self.columns)
        return sparse.csr_array((values[keep], (row[keep], col[keep])), shape=shape)


# fields with one row for each body, pair or row that are equal in all copies of a mechanism
_PER_COPY = (
    *("masses", "centers", "inertias", "reach", "pair_joint", "pair_place", "pair_axis"),
    *(
        "pair_other_place",
        "pair_other_axis",
        "row_about",
        "row_direction",
        "row_drive",
        "row_ratio",
    ),
)


def make_joint_equations(mechanism: Mechanism) -> JointEquations:
    """The joint equations of a checked mechanism."""
    names = tuple(b.name for b in mechanism.bodies)
    # positions are relative to the mechanism: far from the world's origin they lose no digits
    origin = np.mean([in_space(b.center) for b in mechanism.bodies], axis=0)
    number = {name: i for i, name in enumerate(names)} | {mechanism.GROUND: GROUND}
    masses = np.array([b.mass for b in mechanism.bodies])
    centers = np.array([in_space(b.center) for b in mechanism.bodies]) - origin
    inertias = np.array(
        [
            float(b.inertia) * np.eye(3) if b.inertia.ndim == 0 else b.inertia
            for b in mechanism.bodies
        ]
    )
    pair_joint: list[int] = []
    pair_bodies, places, axes = [], [], []
    # for each row: pair, whether about, direction, drive, other pair, ratio
    rows: list[tuple[int, bool, int, int, int, float]] = []
    driven: dict[str, list[int]] = {}
    for d, drive in enumerate(mechanism.drives):
        driven.setdefault(drive.joint, []).append(d)
    for j, joint in enumerate(mechanism.joints):
        first, *others = (number[name] for name in joint.bodies)
        for k, other in enumerate(others):
            kept = [(about, u, -1) for about, u in _frame_of(joint, mechanism).rows]
            # a drive moves the second body named relative to the first
            for d in driven.get(joint.name, []) if k == 0 else ():
                # the single equation of a driven length is that of its drive
                if joint.kind.row.coordinate == "length":
                    kept = [row for row in kept if row[2] >= 0]
                kept.append((joint.kind.row.coordinate == "angle", 0, d))
            rows += [(len(pair_joint), *row, -1, 0.0) for row in kept]
            pair_joint.append(j)
            pair_bodies.append((first, other))
            places.append(_places(joint, k + 1, origin, centers, first, other))
            axes.append([_axis(joint, i, mechanism.dimension) for i in (0, k + 1)])
    plain, ties = len(rows), list(_ties(mechanism, pair_joint))
    for kind, mine, other, ratio in ties:
        rows.append((len(pair_joint), kind.row.coordinate == "angle", 0, -1, other, ratio))
        pair_joint.append(len(mechanism.joints) + len(rows) - 1 - plain)
        pair_bodies.append(pair_bodies[mine])
        places.append(places[mine])
        axes.append(axes[mine])
    columns = list(zip(*rows, strict=True)) or [()] * 6
    pairs = np.array(pair_bodies, dtype=np.int64).reshape(-1, 2)
    where = np.array(places, dtype=float).reshape(-1, 2, 3)
    directions = np.array(axes, dtype=float).reshape(-1, 2, 3)
    length = measure_length(mechanism)
    reach = measure_reach(masses, centers, inertias, pairs, where, length)
    return JointEquations(
        dimension=mechanism.dimension,
        gravity=in_space(mechanism.gravity),
        origin=origin,
        bodies=names,
        masses=masses,
        centers=centers,
        inertias=inertias,
        joints=tuple(j.name for j in (*mechanism.joints, *mechanism.couplings)),
        kinds=(*(j.kind for j in mechanism.joints), *(tie[0] for tie in ties)),
        drives=tuple(d.name for d in mechanism.drives),
        pair_joint=np.array(pair_joint, dtype=np.int64),
        pair_bodies=pairs,
        pair_place=where[:, 0],
        pair_axis=directions[:, 0],
        pair_other_place=where[:, 1],
        pair_other_axis=directions[:, 1],
        row_pair=np.array(columns[0], dtype=np.int64),
        row_about=np.array(columns[1], dtype=bool),
        row_direction=np.array(columns[2], dtype=np.int64),
        row_drive=np.array(columns[3], dtype=np.int64),
        row_other=np.array(columns[4], dtype=np.int64),
        row_ratio=np.array(columns[5], dtype=float),
        length=length,
        reach=reach,
        _scale=make_scale(masses, inertias, reach, length),
    )


def _ties(
    mechanism: Mechanism, pair_joint: list[int]
) -> Iterator[tuple[JointKind, int, int, float]]:
    """Couplings: the kind of their joints, the pairs of both, the ratio."""
    number = {joint.name: j for j, joint in enumerate(mechanism.joints)}
    for c in mechanism.couplings:
        own, other = (pair_joint.index(number[name]) for name in (c.joint, c.other))
        yield mechanism.joints[number[c.joint]].kind, own, other, c.ratio


def _frame_of(joint: Joint, mechanism: Mechanism) -> JointFrame:
    return JOINT_FRAMES[mechanism.dimension, joint.kind]


def _places(
    joint: Joint, second: int, origin: Floats, centers: Floats, first: int, other: int
) -> tuple[Floats, Floats]:
    """Positions of the joint on the first body and on another one."""
    if joint.places:
        a, b = (in_space(joint.places[i]) - origin for i in (0, second))
        return a, b
    # a weld without a position may be anywhere: the centre of the second body
    at = np.array(centers[other if other != GROUND else first])
    return at, at


def _axis(joint: Joint, k: int, dimension: int) -> Floats:
    """Unit axis on the k-th body of a joint, zero if it has none; in the plane the axis of a pin is the normal."""
    if dimension == 2 and joint.kind.row.axis == "common":
        return np.eye(3)[2]
    # an axis given for the first body only applies to both
    given = joint.axis if joint.ends[k].axis is None else joint.ends[k].axis
    return np.zeros(3) if given is None else unit(in_space(given))
