"""W: the joint equations written against the twists of the bodies, at any pose.

With v the velocity of a body's centre of mass and w its angular velocity, a joint of body b with body a
at the point p (arms r from the centres) keeps, for each of its directions u,

    along u:    u . (v_b + w_b x r_b) - u . (v_a + w_a x r_a) = 0
    about u:    u . w_b - u . w_a = 0

`joint_frames` says which ones each kind of joint has. A joint of more than two bodies is its first body
paired with each other one. Where a joint slides, its directions are those of the first body, and p is
the point of the second: what the joint exerts acts there. A drive adds one equation to its joint: about
the axis of a hinge, along that of a slider, along a link (whose length is then the drive's affair alone).
Nothing here knows of natural coordinates: these are the equations an engineer counts.

Scaled, all numbers are pure: with D = diag(L sqrt(mu/m), L sqrt(mu/I)) of each body (its mass m and
principal inertias I; L and mu a length and a mass of the mechanism), the rows of W D that belong to one
pair of bodies are made orthonormal. Where an inertia vanishes, m l^2 / 100 stands for it, l being the
body's own length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..arrays import Flags, Floats, Ints
from ..mechanism import Joint, JointKind, Mechanism
from .joint_frames import CROSS, JOINT_FRAMES, LINK, WORLD, JointFrame, axis_frames, name_direction

GROUND = -1
# an inertia below this share of m l^2 counts as this share
LEAST_INERTIA = 0.01
# a mass further than this from the mean counts as this: what can move does not depend on masses, and weights
# of very light and very heavy bodies would leave no digits between zeros and the other values
SPREAD = 1e3

# scaled singular values are of order one; joints typed to 12 digits leave zeros of about 1e-12
TOLERANCE = 1e-9

ALONG, ABOUT = "along", "about"


@dataclass(frozen=True)
class Pose:
    """Where all bodies are: centres of mass [m], (nb, 3), and turns from the start, (nb, 3, 3)."""

    centers: Floats
    turns: Floats

    def moved(self, twists: Floats) -> Pose:
        """The pose after a finite displacement (dx, turn vector) of each body, shape (nb, 6)."""
        return Pose(self.centers + twists[:, :3], _turns(twists[:, 3:]) @ self.turns)


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
        """The joint, or the drive with the word before it."""
        return f"drive {self.joint}" if self.drive else self.joint

    def __str__(self) -> str:
        return f"{self.words} at {self.where}"


@dataclass(frozen=True, eq=False)
class Scaled:
    """The scaled joint equations at a pose: pure numbers, the rows of each pair orthonormal.

    Their singular values depend neither on units nor on the directions in which a joint's rows are
    written. blocks: rows of pairs and the triangle R that turns scaled rows into named ones, row = R^T
    scaled.
    """

    matrix: sparse.csr_array
    blocks: tuple[tuple[Ints, Floats], ...]

    def gaps(self, gaps: Floats) -> Floats:
        """Gaps of the named rows as gaps of the scaled ones."""
        out = np.zeros_like(gaps)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(np.swapaxes(R, 1, 2), gaps[rows][:, :, None])[:, :, 0]
        return out

    def named(self, left: Floats) -> Floats:
        """Combinations of the scaled rows, (rows, k), as combinations of the named rows."""
        out = np.zeros_like(left)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(R, left[rows])
        return out


@dataclass(frozen=True, eq=False)
class JointEquations:
    """The joints of a mechanism as equations for the twists of its bodies.

    bodies, masses [kg], centers [m], inertias [kg m^2] (nb, 3, 3), at the start; pairs: each joint's
    first body with each other one: number of the joint, bodies, place and axis at the start (zero: no
    axis) on the first body and on the other one; row_pair, row_about, row_direction: what each row is;
    row_drive: the number of its drive, or -1. The rows of a pair stand together, those of drives last.
    Planar mechanisms lie in z = 0. All places are counted from `origin`, the mean of the centres.
    length: of the mechanism, reach: of each body [m].
    """

    dimension: int
    gravity: Floats
    origin: Floats
    bodies: tuple[str, ...]
    masses: Floats
    centers: Floats
    inertias: Floats
    joints: tuple[str, ...]
    kinds: tuple[JointKind, ...]
    drives: tuple[str, ...]
    pair_joint: Ints
    pair_bodies: Ints
    pair_place: Floats
    pair_axis: Floats
    pair_other_place: Floats
    pair_other_axis: Floats
    row_pair: Ints
    row_about: Flags
    row_direction: Ints
    row_drive: Ints
    length: float
    reach: Floats
    _weights: tuple[Floats, Floats]

    @property
    def columns_a_body(self) -> int:
        """3 in the plane, 6 in space."""
        return 3 if self.dimension == 2 else 6

    @property
    def columns(self) -> int:
        """Numbers in the twists of all bodies."""
        return self.columns_a_body * len(self.bodies)

    @property
    def rows(self) -> int:
        """How many joint equations there are."""
        return len(self.row_pair)

    @property
    def tolerance(self) -> float:
        """Scaled values below this are zero: TOLERANCE, or what rounding of far places leaves."""
        far = float(np.abs(self.origin).max()) + float(np.abs(self.centers).max())
        return max(TOLERANCE, 100 * float(np.finfo(float).eps) * far / self.length)

    @property
    def count(self) -> int:
        """Gruebler's count: columns minus rows."""
        return self.columns - self.rows

    def start(self) -> Pose:
        """The pose in which the mechanism was written."""
        return Pose(self.centers, np.tile(np.eye(3), (len(self.bodies), 1, 1)))

    def body_name(self, index: int) -> str:
        """Name of a body by number; -1 is the ground."""
        return Mechanism.GROUND if index == GROUND else self.bodies[index]

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
        )

    def axes(self, pose: Pose) -> Floats:
        """First direction of each pair's frame as it is now, (np, 3): of links from first to second."""
        out = self._turned(pose, 0, self.pair_axis)
        link, cross = self._frame == LINK, self._frame == CROSS
        if link.any():
            out[link] = _unit((self._places(pose, 1) - self._places(pose, 0))[link])
        if cross.any():
            second = self._turned(pose, 1, self.pair_other_axis)
            out[cross] = _unit(np.cross(out[cross], second[cross]))
        return out

    def directions(self, pose: Pose) -> Floats:
        """Direction of each row, (rows, 3); drives count along their axis as it was given."""
        axes = self.axes(pose)
        frames = np.tile(np.eye(3), (len(axes), 1, 1))
        framed = self._frame != WORLD
        if framed.any():
            frames[framed] = axis_frames(axes[framed], self.dimension == 2)
        out = frames[self.row_pair, :, self.row_direction]
        driven = self.row_drive >= 0
        out[driven] = axes[self.row_pair[driven]]
        return out

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
        """W: twists (v, w) of the bodies [m/s, rad/s] to relative velocities in the joints."""
        return self._assemble(self._entries(pose))

    def scaled(self, pose: Pose) -> Scaled:
        """W D, the rows of each pair of bodies made orthonormal."""
        weighted = self._weighted(pose)
        blocks = []
        for rows in self._pairs_of_equal_size:
            Q, R = np.linalg.qr(np.swapaxes(weighted[rows].reshape(*rows.shape, 12), 1, 2))
            weighted[rows] = np.swapaxes(Q, 1, 2).reshape(*rows.shape, 2, 6)
            blocks.append((rows, R))
        return Scaled(self._assemble(weighted), tuple(blocks))

    def weighted(self, pose: Pose) -> sparse.csr_array:
        """W D: the named rows over scaled twists."""
        return self._assemble(self._weighted(pose))

    def twists(self, pose: Pose, scaled: Floats) -> Floats:
        """Twists D x of all bodies, shape (nb, 6), from scaled numbers x."""
        linear, angular = self._weights
        full = np.zeros((len(self.bodies), 6))
        full[:, self.used] = scaled.reshape(len(self.bodies), -1)
        full[:, :3] *= linear[:-1, None]
        full[:, 3:] = np.einsum(
            "bij,bjk,bk->bi", pose.turns, angular[: len(self.bodies)], full[:, 3:]
        )
        return full

    def scaled_twists(self, pose: Pose, twists: Floats) -> Floats:
        """The scaled numbers of given twists, shape (nb, 6)."""
        linear, angular = self._weights
        full = np.array(twists)
        full[:, :3] /= linear[:-1, None]
        back = np.linalg.inv(angular[: len(self.bodies)])
        full[:, 3:] = np.einsum("bij,bkj,bk->bi", back, pose.turns, full[:, 3:])
        return full[:, self.used].ravel()

    def scaled_forces(self, pose: Pose, forces: Floats) -> Floats:
        """D^T F of forces and moments about the centres, (nb, 6): what they do to scaled twists."""
        linear, angular = self._weights
        full = np.array(forces)
        full[:, :3] *= linear[:-1, None]
        full[:, 3:] = np.einsum(
            "bki,blk,bl->bi", angular[: len(self.bodies)], pose.turns, full[:, 3:]
        )
        return full[:, self.used].ravel()

    def gaps(self, pose: Pose) -> Floats:
        """How far each equation is from being met [m or rad], (rows,); drives stand as at the start."""
        u = self.directions(pose)
        apart = (self._places(pose, 1) - self._places(pose, 0))[self.row_pair]
        gaps = np.einsum("ri,ri->r", apart, u)
        gaps -= np.sign(gaps) * self._link_lengths[self.row_pair]
        about, driven = self.row_about, self.row_about & (self.row_drive >= 0)
        if about.any():
            turns = self._turn_gaps(pose)[self.row_pair[about]]
            gaps[about] = np.einsum("ri,ri->r", turns, u[about])
        if driven.any():
            turns = turn_vectors(self._relative_turns(pose, self.row_pair[driven]))
            gaps[driven] = np.einsum("ri,ri->r", turns, u[driven])
        return gaps

    def _turn_gaps(self, pose: Pose) -> Floats:
        """How far the second body of each pair is turned from where its joint wants it, (np, 3)."""
        out = np.zeros((len(self.pair_joint), 3))
        one, cross = self._one_axis, self._frame == CROSS
        rest = np.flatnonzero(~(one | cross))
        if len(rest):
            out[rest] = turn_vectors(self._relative_turns(pose, rest))
        if len(rest) < len(out):
            a = self._turned(pose, 0, self.pair_axis)
            b = self._turned(pose, 1, self.pair_other_axis)
            out[one] = turns_between(a[one], b[one])
            out[cross] = self._cross_gaps(a[cross], b[cross], cross)
        return out

    def _cross_gaps(self, a: Floats, b: Floats, which: Flags) -> Floats:
        """How far the angle between the axes of crosses is from that at the start, about their normal."""
        start = np.einsum("pi,pi->p", self.pair_axis[which], self.pair_other_axis[which])
        normal = np.cross(a, b)
        square = np.einsum("pi,pi->p", normal, normal)
        more = np.einsum("pi,pi->p", a, b) - start
        return -(more / np.where(square > 0, square, 1.0))[:, None] * normal

    @cached_property
    def _pairs_of_equal_size(self) -> list[Ints]:
        """Row numbers of the pairs with the same number of rows, shape (pairs, rows of each)."""
        first, size = np.unique(self.row_pair, return_index=True, return_counts=True)[1:]
        return [first[size == k][:, None] + np.arange(k) for k in np.unique(size)]

    @cached_property
    def _frame(self) -> Ints:
        """Which frame the joint of each pair has."""
        of_joint = np.array([JOINT_FRAMES[self.dimension, k].frame for k in self.kinds], dtype=int)
        return of_joint[self.pair_joint]

    @cached_property
    def _one_axis(self) -> Flags:
        """Pairs that turn about one common axis of both bodies only."""
        about = [self.dimension == 3 and JOINT_FRAMES[3, k].about == (1, 2) for k in self.kinds]
        return np.array(about, dtype=bool)[self.pair_joint]

    @cached_property
    def _slides(self) -> Flags:
        """Pairs whose second body's point may leave the first body's."""
        along = [len(JOINT_FRAMES[self.dimension, k].along) for k in self.kinds]
        return (np.array(along, dtype=int) < self.dimension)[self.pair_joint]

    @cached_property
    def _link_lengths(self) -> Floats:
        length = np.linalg.norm(self.pair_other_place - self.pair_place, axis=1)
        return np.where(self._frame == LINK, length, 0.0)

    @cached_property
    def used(self) -> list[int]:
        """Which of (v, w) a body of this mechanism has: in the plane vx, vy, wz."""
        return [0, 1, 5] if self.dimension == 2 else [0, 1, 2, 3, 4, 5]

    def _pair_turns(self, pose: Pose, side: int) -> Floats:
        turns = np.concatenate([pose.turns, np.eye(3)[None]])
        return turns[self.pair_bodies[:, side]]

    def _relative_turns(self, pose: Pose, pairs: Ints) -> Floats:
        first, second = (self._pair_turns(pose, side)[pairs] for side in (0, 1))
        return second @ np.swapaxes(first, 1, 2)

    def _turned(self, pose: Pose, side: int, vectors: Floats) -> Floats:
        return np.einsum("pij,pj->pi", self._pair_turns(pose, side), vectors)

    def _pair_centers(self, centers: Floats, side: int) -> Floats:
        """Centres of the bodies on one side of each pair; of the ground the origin."""
        return np.concatenate([centers, np.zeros((1, 3))])[self.pair_bodies[:, side]]

    def _arms(self, pose: Pose, side: int) -> Floats:
        """From the centre of a body to its joint point; for the ground from the origin."""
        place = self.pair_other_place if side else self.pair_place
        return self._turned(pose, side, place - self._pair_centers(self.centers, side))

    def _places(self, pose: Pose, side: int) -> Floats:
        return self._pair_centers(pose.centers, side) + self._arms(pose, side)

    def _entries(self, pose: Pose) -> Floats:
        """Coefficients of (v, w) of both bodies in each row, shape (rows, 2, 6); zero for the ground."""
        u = self.directions(pose)
        out = np.zeros((self.rows, 2, 6))
        for side, sign in ((0, -1.0), (1, 1.0)):
            held = self.pair_bodies[self.row_pair, side] != GROUND
            along = held & ~self.row_about
            about = held & self.row_about
            out[along, side, :3] = sign * u[along]
            arms = self._arms(pose, side)
            if side == 0:
                reach = self._places(pose, 1) - self._pair_centers(pose.centers, 0)
                arms = np.where(self._slides[:, None], reach, arms)
            arms = arms[self.row_pair]
            out[along, side, 3:] = sign * np.cross(arms[along], u[along])
            out[about, side, 3:] = sign * u[about]
        return out

    def _weighted(self, pose: Pose) -> Floats:
        """The coefficients of scaled twists, shape (rows, 2, 6)."""
        entries = self._entries(pose)
        linear, angular = self._weights
        turned = np.concatenate([pose.turns, np.eye(3)[None]]) @ angular
        weighted = np.empty_like(entries)
        for side in (0, 1):
            body = self.pair_bodies[self.row_pair, side]
            weighted[:, side, :3] = entries[:, side, :3] * linear[body, None]
            weighted[:, side, 3:] = np.einsum("ri,rij->rj", entries[:, side, 3:], turned[body])
        if self.dimension == 2:
            weighted[:, :, 2:5] = 0.0
        return weighted

    def _assemble(self, entries: Floats) -> sparse.csr_array:
        values = entries[:, :, self.used]
        width = self.columns_a_body
        body = self.pair_bodies[self.row_pair]
        col = width * body[:, :, None] + np.arange(width)
        row = np.broadcast_to(np.arange(self.rows)[:, None, None], col.shape)
        keep = (body[:, :, None] != GROUND) & (values != 0.0)
        shape = (self.rows, self.columns)
        return sparse.csr_array((values[keep], (row[keep], col[keep])), shape=shape)


def make_joint_equations(mechanism: Mechanism) -> JointEquations:
    """The joint equations of a checked mechanism."""
    names = tuple(b.name for b in mechanism.bodies)
    # places are counted from the mechanism itself: far from the world's origin they lose no digits
    origin = np.mean([_in_space(b.center) for b in mechanism.bodies], axis=0)
    number = {name: i for i, name in enumerate(names)} | {mechanism.GROUND: GROUND}
    masses = np.array([b.mass for b in mechanism.bodies])
    centers = np.array([_in_space(b.center) for b in mechanism.bodies]) - origin
    inertias = np.array(
        [
            float(b.inertia) * np.eye(3) if b.inertia.ndim == 0 else b.inertia
            for b in mechanism.bodies
        ]
    )
    pair_joint: list[int] = []
    pair_bodies, places, axes = [], [], []
    row_pair, row_about, row_direction, row_drive = [], [], [], []
    driven: dict[str, list[int]] = {}
    for d, drive in enumerate(mechanism.drives):
        driven.setdefault(drive.joint, []).append(d)
    for j, joint in enumerate(mechanism.joints):
        first, *others = (number[name] for name in joint.bodies)
        for k, other in enumerate(others):
            rows = [(about, u, -1) for about, u in _frame_of(joint, mechanism).rows]
            # a drive moves the second body named from the first
            for d in driven.get(joint.name, []) if k == 0 else ():
                # the one equation of a driven length is that of its drive
                if joint.kind.row.coordinate == "length":
                    rows = [row for row in rows if row[2] >= 0]
                rows.append((joint.kind.row.coordinate == "angle", 0, d))
            row_pair += [len(pair_joint)] * len(rows)
            row_about += [about for about, _, _ in rows]
            row_direction += [direction for _, direction, _ in rows]
            row_drive += [d for _, _, d in rows]
            pair_joint.append(j)
            pair_bodies.append((first, other))
            places.append(_places(joint, k + 1, origin, centers, first, other))
            axes.append([_axis(joint, i, mechanism.dimension) for i in (0, k + 1)])
    pairs = np.array(pair_bodies, dtype=np.int64).reshape(-1, 2)
    where = np.array(places, dtype=float).reshape(-1, 2, 3)
    directions = np.array(axes, dtype=float).reshape(-1, 2, 3)
    own, length = _lengths(masses, centers, inertias, pairs, where)
    return JointEquations(
        dimension=mechanism.dimension,
        gravity=_in_space(mechanism.gravity),
        origin=origin,
        bodies=names,
        masses=masses,
        centers=centers,
        inertias=inertias,
        joints=tuple(j.name for j in mechanism.joints),
        kinds=tuple(j.kind for j in mechanism.joints),
        drives=tuple(d.name for d in mechanism.drives),
        pair_joint=np.array(pair_joint, dtype=np.int64),
        pair_bodies=pairs,
        pair_place=where[:, 0],
        pair_axis=directions[:, 0],
        pair_other_place=where[:, 1],
        pair_other_axis=directions[:, 1],
        row_pair=np.array(row_pair, dtype=np.int64),
        row_about=np.array(row_about, dtype=bool),
        row_direction=np.array(row_direction, dtype=np.int64),
        row_drive=np.array(row_drive, dtype=np.int64),
        length=length,
        reach=own,
        _weights=_weights(masses, inertias, own, length),
    )


def _frame_of(joint: Joint, mechanism: Mechanism) -> JointFrame:
    return JOINT_FRAMES[mechanism.dimension, joint.kind]


def _places(
    joint: Joint, second: int, origin: Floats, centers: Floats, first: int, other: int
) -> tuple[Floats, Floats]:
    """Where the first body and another one have the joint."""
    if joint.places:
        a, b = (_in_space(joint.places[i]) - origin for i in (0, second))
        return a, b
    # a weld without a place holds anywhere: the centre of the second body
    at = np.array(centers[other if other != GROUND else first])
    return at, at


def _axis(joint: Joint, k: int, dimension: int) -> Floats:
    """Unit axis on the k-th body of a joint, zero if it has none; in the plane a pin has the normal."""
    if dimension == 2 and joint.kind.row.axis == "common":
        return np.eye(3)[2]
    # an axis of the first body alone is compared with nothing: it stands for both
    given = joint.axis if joint.ends[k].axis is None else joint.ends[k].axis
    return np.zeros(3) if given is None else _unit(_in_space(given))


def _lengths(
    masses: Floats, centers: Floats, inertias: Floats, pairs: Ints, places: Floats
) -> tuple[Floats, float]:
    """Each body's own length, and the mechanism's: typical distance from a centre to a joint."""
    gyration = np.sqrt(np.clip(np.trace(inertias, axis1=1, axis2=2), 0.0, None) / masses)
    reach = gyration.copy()
    arms = []
    for side in (0, 1):
        held = pairs[:, side] != GROUND
        body = pairs[held, side]
        arm = np.linalg.norm(places[held, side] - centers[body], axis=1)
        np.maximum.at(reach, body, arm)
        arms.append(arm)
    arms_all = np.concatenate(arms)
    top = max(float(reach.max()), float(arms_all.max(initial=0.0)))
    some = arms_all[arms_all > 1e-9 * top]
    length = float(np.mean(some)) if some.size else (float(np.mean(reach)) or 1.0)
    # a body without extent takes the length of the mechanism
    reach[reach <= 1e-9 * top] = length
    return reach, length


def _weights(masses: Floats, inertias: Floats, own: Floats, length: float) -> tuple[Floats, Floats]:
    """D of each body: L sqrt(mu/m), and L sqrt(mu) V I^-1/2, V its principal axes; 1 for the ground."""
    mu = float(np.exp(np.mean(np.log(masses))))
    sizes, axes = np.linalg.eigh(inertias)
    bounded = np.clip(masses, mu / SPREAD, mu * SPREAD)
    sizes, masses = sizes * (bounded / masses)[:, None], bounded
    # a body that is the same about all axes keeps the world's
    round_body = sizes[:, 2] - sizes[:, 0] <= 1e-12 * sizes[:, 2]
    axes[round_body] = np.eye(3)
    sizes = np.maximum(sizes, LEAST_INERTIA * (masses * own**2)[:, None])
    angular = axes * (length * np.sqrt(mu / sizes))[:, None, :]
    linear = length * np.sqrt(mu / masses)
    return np.append(linear, 1.0), np.concatenate([angular, np.eye(3)[None]])


def _unit(vectors: Floats) -> Floats:
    """Vectors of length one; zero stays zero."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0, size, 1.0))


def _in_space(vector: Floats) -> Floats:
    return np.append(vector, 0.0) if len(vector) == 2 else np.array(vector, dtype=float)


def turns_between(e_a: Floats, e_b: Floats) -> Floats:
    """Shortest turn vectors that bring unit vectors e_a to e_b, (n, 3); their length is the angle.

    Not the sine of the angle: an axis that stands upside down is far from closed.
    """
    cross = np.cross(e_a, e_b)
    sine = np.linalg.norm(cross, axis=1)
    cosine = np.einsum("ni,ni->n", e_a, e_b)
    angle = np.arctan2(sine, cosine)
    opposite = (sine < 1e-9) & (cosine < 0)
    # a turn to the exact opposite goes about any perpendicular
    cross[opposite] = axis_frames(e_a[opposite])[:, :, 1]
    sine[opposite] = 1.0
    # for small angles the quotient is one
    factor = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 1.0)
    return cross * factor[:, None]


def turn_vectors(R: Floats) -> Floats:
    """Turn vectors (axis times angle) of rotation matrices, (n, 3, 3) to (n, 3)."""
    sines = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    sine = np.linalg.norm(sines, axis=1)
    angle = np.arctan2(sine, cosine)
    factor = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 1.0)
    out = sines * factor[:, None]
    # close to half a turn the sines are lost: the axis is in the symmetric part, R + 1 = 2 n n^T
    for i in np.flatnonzero((sine < 1e-3) & (cosine < 0)):
        column = R[i] + R[i].T + (1.0 - np.trace(R[i])) * np.eye(3)
        n = column[:, int(np.argmax(np.diagonal(column)))]
        n = n / np.linalg.norm(n)
        out[i] = angle[i] * n * (1.0 if n @ sines[i] >= 0 else -1.0)
    return out


def _turns(vectors: Floats) -> Floats:
    """Rotation matrices of turn vectors, (n, 3) to (n, 3, 3) (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    K = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -z, y, -x
    K -= np.swapaxes(K, 1, 2)
    small = angle < 1e-6
    safe = np.where(small, 1.0, angle)
    s = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    c = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    return np.eye(3) + s * K + c * (K @ K)
