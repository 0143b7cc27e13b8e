"""A mechanism as a kinematic tree for other engines: links connected by joints, and points that close loops.

All tree-based engines share this translation. Bodies welded together are one link. A link is connected to its
parent by a sequence of hinges, sliders and balls, all located at the joint. At the start all frames are aligned
with the world, so that positions and axes keep their values. A joint that closes a loop becomes one point shared
by two links (a ball, a pin in the plane) or two points on its axis (a hinge in space: one equation more than it
has, never one less). For any other joint, a body is cut into two halves that points hold together: this is exact,
and every engine supports point constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from ..arrays import Flags, Floats, Ints, plain_sum
from ..kinematics.configuration import LINK, in_space, measure_length, turn_matrices, unit
from ..mechanism import Body, Mechanism, MechanismError
from ..mechanism.forces import BODY
from ..mechanism.joints import Joint
from ..mechanism.motion import MotionPieces, make_pieces
from ..names import pick
from ..thresholds import SLIM

GROUND = -1
# Which joints close loops.
LAST, INSIDE, NONE = CUTS = ("last", "inside", "none")
Z = np.array([0.0, 0.0, 1.0])
# Kinds and axes of hinges, sliders and balls.
Row = tuple[tuple[str, Floats], ...]


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """One hinge, slider or ball of a sequence; axis: a world direction at the start."""

    kind: Literal["hinge", "slide", "ball"]
    axis: Floats
    q: int
    v: int


@dataclass(eq=False)
class TreeLink:
    """Bodies welded together, or half of one; origin: the position of its joint, where its frame is [m]."""

    name: str
    parent: int
    origin: Floats
    steps: list[TreeJoint]
    bodies: list[str]
    mass: float = 0.0
    center: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    # For half a body: the link that is the other half.
    whole: int = GROUND

    @property
    def arm(self) -> Floats:
        """The position of the centre of mass relative to the frame [m]."""
        return self.center - self.origin


@dataclass(frozen=True, eq=False)
class Closure:
    """A point that two links share; place: its position at the start [m]."""

    name: str
    first: int
    second: int
    place: Floats


@dataclass(frozen=True, eq=False)
class TreeConnection:
    """A joint between two links, for engines without a tree: kinds and axes of the motions that it allows."""

    name: str
    first: int
    second: int
    place: Floats
    row: Row


@dataclass(frozen=True, eq=False)
class PointForce:
    """A force [N] and a torque [N m] on a link, at a point [m]; turns: whether they rotate with the link."""

    link: int
    place: Floats
    force: Floats
    torque: Floats
    turns: bool


@dataclass(frozen=True, eq=False)
class Pull:
    """A spring-damper between points of two links; its tension is k (l - free) + c l' + preload [N]."""

    links: tuple[int, int]
    places: tuple[Floats, Floats]
    stiffness: float
    damping: float
    free: float
    preload: float


@dataclass(frozen=True, eq=False)
class Turn:
    """A torsional spring-damper on the hinge with the coordinates q, v: torque - k (angle - free) - c rate."""

    q: int
    v: int
    stiffness: float
    damping: float
    free: float
    torque: float


@dataclass(frozen=True, eq=False)
class DampedBall:
    """A damper at a ball with the rates v, v + 1, v + 2: moment - c times the relative angular velocity."""

    joint: str
    v: int
    damping: float


@dataclass(frozen=True, eq=False)
class DrivenJoint:
    """A hinge or slider whose coordinate is prescribed."""

    name: str
    q: int
    v: int
    motion: MotionPieces


@dataclass(frozen=True, eq=False)
class Spinning:
    """A rotor: inertia [kg m^2] or mass [kg] on the rates v of a hinge, slider or ball."""

    name: str
    v: tuple[int, ...]
    inertia: float


@dataclass(frozen=True, eq=False)
class Tied:
    """Two proportional hinges or sliders: the first one's coordinate is `ratio` times the second one's."""

    name: str
    q: tuple[int, int]
    v: tuple[int, int]
    ratio: float


@dataclass(frozen=True, eq=False)
class Segment:
    """One step of a sequence and the frame after it; above: the parent segment, GROUND for none.

    offset: its position in the parent frame [m]; link: the link it carries, GROUND if it only leads to the next
    step.
    """

    above: int
    offset: Floats
    step: TreeJoint
    link: int


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in depth-first order, parents first; coordinates are numbered in the same order.

    A hinge and a slider have one coordinate, a ball a quaternion (w, x, y, z) and the angular velocity in its
    child's frame. size: size of a typical link [m].
    """

    name: str
    planar: bool
    gravity: Floats
    size: float
    links: list[TreeLink]
    closures: list[Closure]
    forces: list[PointForce]
    pulls: list[Pull]
    turns: list[Turn]
    damped: list[DampedBall]
    driven: list[DrivenJoint]
    spinning: list[Spinning]
    tied: list[Tied]
    joints: list[TreeConnection]
    # The link of each body, in the mechanism's order, and its centre of mass at the start.
    owner: Ints
    centers: Floats

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return plain_sum(4 if s.kind == "ball" else 1 for link in self.links for s in link.steps)

    @property
    def nv(self) -> int:
        """Number of rates."""
        return plain_sum(3 if s.kind == "ball" else 1 for link in self.links for s in link.steps)

    @property
    def balls(self) -> list[TreeJoint]:
        """The ball joints of the tree."""
        return [s for link in self.links for s in link.steps if s.kind == "ball"]

    def ball_damping(self) -> dict[int, float]:
        """Return the damping of all dampers at each damped ball, by its first rate [N m s]."""
        out: dict[int, float] = {}
        for d in self.damped:
            out[d.v] = out.get(d.v, 0.0) + d.damping
        return out

    def start(self) -> Floats:
        """The coordinates at the start: zero, and identity quaternions."""
        q = np.zeros(self.nq)
        q[[s.q for s in self.balls]] = 1.0
        return q

    def place(self, link: int, place: Floats) -> Floats:
        """Return a point in the frame of a link; for the ground, in the world frame."""
        return place if link == GROUND else place - self.links[link].origin

    def segments(self) -> Iterator[Segment]:
        """Yield single steps, for engines with one joint per body; all but the last of a link carry no mass."""
        last: dict[int, int] = {GROUND: GROUND}
        count = 0
        for i, link in enumerate(self.links):
            above = last[link.parent]
            base = np.zeros(3) if link.parent == GROUND else self.links[link.parent].origin
            offset = link.origin - base
            for n, step in enumerate(link.steps):
                owner = i if n == len(link.steps) - 1 else GROUND
                yield Segment(above, offset, step, owner)
                above, offset = count, np.zeros(3)
                count += 1
            last[i] = above

    def rates(self, velocities: Floats, spins: Floats) -> Floats:
        """Return the initial rates from velocities of the bodies' centres and angular velocities, (bodies, 3)."""
        out = np.zeros(self.nv)
        spin, speed = np.zeros((len(self.links) + 1, 3)), np.zeros((len(self.links) + 1, 3))
        # The last row, index -1, is the ground's.
        for i, owner in enumerate(self.owner):
            if owner != GROUND:
                at = self.links[owner].origin
                spin[owner] = spins[i]
                speed[owner] = velocities[i] + np.cross(spins[i], at - self.centers[i])
        for i, link in enumerate(self.links):
            if link.whole != GROUND:
                arm = link.origin - self.links[link.whole].origin
                spin[i] = spin[link.whole]
                speed[i] = speed[link.whole] + np.cross(spin[i], arm)
        for i, link in enumerate(self.links):
            above = link.parent
            base = np.zeros(3) if above == GROUND else self.links[above].origin
            turning = spin[i] - spin[above]
            moving = speed[i] - speed[above] - np.cross(spin[above], link.origin - base)
            row = tuple((s.kind, s.axis) for s in link.steps)
            for s, rate in zip(link.steps, find_rates(row, moving, turning), strict=True):
                out[s.v : s.v + len(rate)] = rate
        return out

    def link_motion(self, velocities: Floats, spins: Floats) -> tuple[Floats, Floats]:
        """Return velocities of the links' centres and angular velocities from those of the bodies, all (n, 3)."""
        speed, spin = np.zeros((2, len(self.links), 3))
        for i, owner in enumerate(self.owner):
            if owner != GROUND:
                arm = self.links[owner].center - self.centers[i]
                spin[owner] = spins[i]
                speed[owner] = velocities[i] + np.cross(spin[owner], arm)
        return speed, spin

    def poses(self, q: Floats, v: Floats) -> Poses:
        """Return the poses of all bodies at coordinates (n, nq) and rates (n, nv)."""
        n, count = len(q), len(self.links)
        turns = np.tile(np.eye(3), (count + 1, n, 1, 1))
        places, spins, speeds = (np.zeros((count + 1, n, 3)) for _ in range(3))
        for i, link in enumerate(self.links):
            above = link.parent
            base = np.zeros(3) if above == GROUND else self.links[above].origin
            R, w = turns[above], spins[above].copy()
            arm = R @ (link.origin - base)
            x = places[above] + arm
            dx = speeds[above] + np.cross(w, arm)
            for s in link.steps:
                if s.kind == "ball":
                    R = R @ turns_of(q[:, s.q : s.q + 4])
                    w = w + np.einsum("tij,tj->ti", R, v[:, s.v : s.v + 3])
                elif s.kind == "hinge":
                    w = w + (R @ s.axis) * v[:, s.v, None]
                    R = R @ turn_matrices(q[:, s.q, None] * s.axis)
                else:
                    along = R @ s.axis
                    x = x + along * q[:, s.q, None]
                    dx = dx + along * v[:, s.v, None] + np.cross(w, along * q[:, s.q, None])
            turns[i], places[i], spins[i], speeds[i] = R, x, w, dx
        return self.body_poses(turns[:-1], places[:-1], spins[:-1], speeds[:-1])

    def body_poses(self, turns: Floats, places: Floats, spins: Floats, speeds: Floats) -> Poses:
        """Return the poses of the bodies from those of the links' frames: (links, n, 3, 3) and (links, n, 3)."""
        n = turns.shape[1]
        out = Poses.still(self.centers, n)
        for i, owner in enumerate(self.owner):
            if owner != GROUND:
                arm = turns[owner] @ (self.centers[i] - self.links[owner].origin)
                out.turns[:, i] = turns[owner]
                out.centers[:, i] = places[owner] + arm
                out.spins[:, i] = spins[owner]
                out.velocities[:, i] = speeds[owner] + np.cross(spins[owner], arm)
        return out


@dataclass(frozen=True, eq=False)
class Poses:
    """Centres of mass [m], velocities, (n, nb, 3), rotations from the start (n, nb, 3, 3), angular velocities."""

    centers: Floats
    turns: Floats
    velocities: Floats
    spins: Floats

    @classmethod
    def still(cls, centers: Floats, n: int) -> Poses:
        """Return n copies of the poses of bodies at rest."""
        turns = np.tile(np.eye(3), (n, len(centers), 1, 1))
        zero = np.zeros((n, len(centers), 3))
        return cls(np.tile(centers, (n, 1, 1)), turns, zero, zero.copy())

    def __getitem__(self, rows: slice) -> Poses:
        parts = (self.centers, self.turns, self.velocities, self.spins)
        return Poses(*(part[rows] for part in parts))

    @property
    def finite(self) -> Flags:
        """Whether each output is a finite pose, (n,)."""
        flat = (x.reshape(len(x), -1) for x in (self.centers, self.turns, self.velocities))
        return np.asarray(np.all([np.isfinite(x).all(axis=1) for x in flat], axis=0))


def turns_of(quaternions: Floats) -> Floats:
    """Return the rotation matrices of quaternions (w, x, y, z), (n, 4), of any norm."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def quaternions(vectors: Floats) -> Floats:
    """Return the quaternions (w, x, y, z) of rotation vectors, (n, 3) to (n, 4)."""
    half = 0.5 * np.linalg.norm(vectors, axis=1, keepdims=True)
    # sin(x) / x, smooth at zero
    return np.hstack([np.cos(half), 0.5 * np.sinc(half / np.pi) * vectors])


def quaternions_of_angles(angles: Floats) -> Floats:
    """Return the quaternions of roll, pitch and yaw, about fixed x, then y, then z."""
    x, y, z = (quaternions(angles[:, k, None] * np.eye(3)[k]) for k in range(3))
    return _times(z, _times(y, x))


def _times(a: Floats, b: Floats) -> Floats:
    w = a[:, :1] * b[:, :1] - np.sum(a[:, 1:] * b[:, 1:], axis=1, keepdims=True)
    u = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.hstack([w, u])


@dataclass(frozen=True, eq=False)
class _Pair:
    """A joint between two groups of welded bodies, and the sequence of steps from the first to the second.

    points: the points that close a loop if the joint can do so without a cut, else empty.
    """

    name: str
    first: int
    second: int
    place: Floats
    row: Row
    points: tuple[Floats, ...]

    @property
    def turned(self) -> _Pair:
        """The joint seen from its second group; the coordinates are the same."""
        back = turn_row(self.row)
        return _Pair(self.name, self.second, self.first, self.place, back, self.points)


def turn_row(row: Row) -> Row:
    """Return a sequence of steps seen from its other end; the coordinates are the same."""
    return tuple((kind, -axis) for kind, axis in reversed(row))


def find_rates(row: Row, moving: Floats, turning: Floats) -> list[Floats]:
    """Return the rates of hinges, sliders and balls at one point, one or three each, from their relative motion.

    moving, turning: velocity and angular velocity of the body after them relative to the body before, at that
    point [m/s, rad/s].
    """
    out = [turning if kind == "ball" else np.zeros(1) for kind, _ in row]
    for kind, whole_rate in (("hinge", turning), ("slide", moving)):
        own = [k for k, step in enumerate(row) if step[0] == kind]
        if own:
            axes = np.column_stack([row[k][1] for k in own])
            for k, rate in zip(own, np.linalg.lstsq(axes, whole_rate, rcond=None)[0], strict=True):
                out[k] = np.array([rate])
    return out


def find_steps(joint: Joint, planar: bool = False) -> Iterator[tuple[str, Floats]]:
    """Yield a sequence of hinges, sliders and balls equivalent to the joint, with their axes."""
    row = joint.kind.row
    axis = Z if joint.axis is None else unit(in_space(joint.axis))
    across = np.linalg.svd(axis[None])[2][1:]
    if row.on_plane:
        yield "slide", across[0]
        yield "slide", across[1]
    elif row.on_line:
        yield "slide", axis
    if "axis" in row.shares:
        yield "hinge", axis
    elif row.axis == "each":
        yield "hinge", axis
        yield "hinge", unit(in_space(_known(joint.ends[1].axis)))
    elif "directions" not in row.shares:
        yield ("hinge", Z) if planar else ("ball", Z)


class Joining(Protocol):
    """A connection between two links or bodies."""

    @property
    def first(self) -> Any:
        """The first one."""

    @property
    def second(self) -> Any:
        """The second one."""


Joined = TypeVar("Joined", bound=Joining)


def split_loops(joints: Iterable[Joined]) -> tuple[list[Joined], list[Joined]]:
    """Return the joints that span a tree, in the given order, and those that close loops in it."""
    top: dict[Any, Any] = {}

    def root(x: Any) -> Any:
        while x in top:
            x = top[x]
        return x

    inner: list[Joined] = []
    closing: list[Joined] = []
    for joint in joints:
        a, b = root(joint.first), root(joint.second)
        (closing if a == b else inner).append(joint)
        if a != b:
            top[a] = b
    return inner, closing


def make_tree(mechanism: Mechanism, cut: str = LAST) -> Tree:
    """Translate a mechanism to a tree; raise MechanismError if a tree cannot represent it.

    cut: which joints close loops: the "last" ones defined, or those "inside", away from the ground; with "none"
    every joint is left to the engine, which has no tree.
    """
    if cut not in CUTS:
        raise ValueError(f"cut = {cut!r}; give {' or '.join(repr(c) for c in CUTS)}")
    return _Maker(mechanism, cut).tree()


class _Maker:
    def __init__(self, mechanism: Mechanism, cut: str) -> None:
        self.m, self.cut = mechanism, cut
        self.planar = mechanism.dimension == 2
        self.size = LINK * measure_length(mechanism)
        self.group = self._groups()
        # A coordinate on which something acts must be one of the tree's.
        m = mechanism
        self.needed = {
            *(t.joint for t in m.torsions),
            *(d.joint for d in m.ball_dampers),
            *(d.joint for d in m.drives),
            *(r.joint for r in m.rotors),
            *(name for c in m.couplings for name in (c.joint, c.other)),
        }
        self.links: list[TreeLink] = []
        self.link_of = {0: GROUND}
        self.step_of: dict[str, TreeJoint] = {}
        self.nq = self.nv = 0

    def tree(self) -> Tree:
        """Build the whole tree."""
        m = self.m
        pairs = [pair for j in m.joints for pair in self._pairs(j)]
        inner, closing = self._choose(pairs)
        if self.cut == NONE:
            closing = []
        # The ground cannot be cut.
        cut = [p if p.second else p.turned for p in closing if not p.points]
        self.shares = {g: 1 + plain_sum(p.second == g for p in cut) for g in self.group.values()}
        self.below: dict[int, list[tuple[_Pair, bool]]] = {g: [] for g in self.group.values()}
        for p in inner:
            self.below[p.first].append((p, False))
            self.below[p.second].append((p.turned, False))
        for p in cut:
            self.below[p.first].append((p, True))
        halves: list[tuple[int, _Pair]] = []
        for g in dict.fromkeys(self.group.values()):
            if g not in self.link_of:
                at = in_space(self._bodies(g)[0].center)
                self.link_of[g] = self._add(g, GROUND, at, self._free(), "")
            elif g:
                continue
            self._hang(g, halves)
        for i, p in halves:
            self.links[i].whole = self.link_of[p.second]
        closures = [
            Closure(p.name, self.link_of[p.first], self.link_of[p.second], at)
            for p in closing
            for at in p.points
        ]
        closures += [
            Closure(p.name, i, self.links[i].whole, at)
            for i, p in halves
            for at in self._frame_points(p.place)
        ]
        return Tree(
            m.name, self.planar, in_space(m.gravity), self.size, self.links, closures,
            list(self._forces()), list(self._pulls()), list(self._turns()), list(self._damped()),
            list(self._driven()), list(self._spinning()), list(self._tied()),
            [TreeConnection(p.name, self.link_of[p.first], self.link_of[p.second], p.place, p.row) for p in pairs],
            np.array([self._link(b.name) for b in m.bodies]),
            np.array([in_space(b.center) for b in m.bodies]),
        )  # fmt: skip

    def _groups(self) -> dict[str, int]:
        """Return the number of the group of welded bodies of each body; 0 is the ground's."""
        names = [self.m.GROUND, *(b.name for b in self.m.bodies)]
        group = {name: i for i, name in enumerate(names)}
        for joint in self.m.joints:
            if joint.kind.row.is_rigid:
                for name in joint.bodies[1:]:
                    low, high = sorted((group[joint.bodies[0]], group[name]))
                    group = {n: low if g == high else g for n, g in group.items()}
        return group

    def _link(self, body: str) -> int:
        return self.link_of[self.group[body]]

    def _bodies(self, group: int) -> list[Body]:
        return [b for b in self.m.bodies if self.group[b.name] == group]

    def _pairs(self, joint: Joint) -> Iterator[_Pair]:
        """Yield the pairs of a joint; a joint of three bodies gives two."""
        if joint.kind.row.is_rigid:
            return
        for end in joint.ends[1:]:
            first, second = self.group[joint.ends[0].body], self.group[end.body]
            if first == second:
                continue
            if joint.kind.row.is_link:
                raise MechanismError(
                    f"joint '{joint.name}' (distance) is a link without mass, which a tree of bodies "
                    "cannot contain; "
                    "make it a light rod on two joints"
                )
            place = in_space(_known(end.place))
            row = tuple(find_steps(joint, self.planar))
            yield _Pair(joint.name, first, second, place, row, self._points(joint, place, row))

    def _points(self, joint: Joint, place: Floats, row: Row) -> tuple[Floats, ...]:
        if joint.name in self.needed or len(row) != 1 or row[0][0] == "slide":
            return ()
        if row[0][0] == "ball" or self.planar:
            return (place,)
        arm = 0.5 * self.size * row[0][1]
        return (place - arm, place + arm)

    def _frame_points(self, place: Floats) -> list[Floats]:
        """Return points that hold two halves of a body together."""
        count = 1 if self.planar else 2
        return [place, *(place + self.size * e for e in np.eye(3)[:count])]

    def _choose(self, pairs: list[_Pair]) -> tuple[list[_Pair], list[_Pair]]:
        """Return the joints that span the tree and those that close loops, choosing simple ones to close loops."""
        # In the Bricard linkage an inside cut costs Runge-Kutta 4 two digits; in other mechanisms it gains digits.
        inside = self.cut == INSIDE
        return split_loops(
            sorted(pairs, key=lambda p: (bool(p.points), inside and bool(p.first and p.second)))
        )

    def _free(self) -> Row:
        x, y, z = (("slide", e) for e in np.eye(3))
        return (x, y, ("hinge", Z)) if self.planar else (x, y, z, ("ball", Z))

    def _hang(self, group: int, halves: list[tuple[int, _Pair]]) -> None:
        """Add everything below a group, depth first."""
        waiting = [(self.link_of[group], pair, half) for pair, half in self.below[group][::-1]]
        while waiting:
            parent, pair, half = waiting.pop()
            if half:
                here = self._add(pair.second, parent, pair.place, pair.row, pair.name, half=True)
                halves.append((here, pair))
            elif pair.second not in self.link_of:
                here = self._add(pair.second, parent, pair.place, pair.row, pair.name)
                self.link_of[pair.second] = here
                waiting += [(here, p, h) for p, h in self.below[pair.second][::-1]]

    def _add(
        self,
        group: int,
        parent: int,
        origin: Floats,
        row: Row,
        joint: str,
        half: bool = False,
    ) -> int:
        steps = []
        for kind, axis in row:
            step = TreeJoint(kind, axis, self.nq, self.nv)  # type: ignore[arg-type]
            self.nq += 4 if kind == "ball" else 1
            self.nv += 3 if kind == "ball" else 1
            steps.append(step)
        if joint in self.needed:
            words = {"angle": "hinge", "travel": "slide", "": "ball"}
            found = next(j for j in self.m.joints if j.name == joint)
            word = words[found.kind.row.coordinate]
            self.step_of[joint] = next(s for s in steps if s.kind == word)
        bodies = self._bodies(group)
        name = f"{bodies[0].name}, half at {joint}" if half else bodies[0].name
        link = TreeLink(name, parent, origin, steps, [] if half else [b.name for b in bodies])
        link.mass, link.center, link.inertia = self._mass(bodies, 1.0 / self.shares[group])
        self.links.append(link)
        return len(self.links) - 1

    def _mass(self, bodies: list[Body], share: float) -> tuple[float, Floats, Floats]:
        """Return mass, centre of mass and inertia about it of some bodies, times a share between 0 and 1."""
        mass = plain_sum(b.mass for b in bodies)
        center = plain_sum((b.mass * in_space(b.center) for b in bodies), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for b in bodies:
            arm = in_space(b.center) - center
            # The inertia of a planar body about other axes has no effect, but must be physically possible.
            own = b.inertia if b.inertia.ndim else float(b.inertia) * np.eye(3)
            inertia += own + b.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return share * mass, center, share * raise_inertia(inertia, mass, self.size)

    def _forces(self) -> Iterator[PointForce]:
        none = np.zeros(3)
        for f in self.m.forces:
            turns = f.fixed_in == BODY
            yield PointForce(self._link(f.body), in_space(f.at), in_space(f.vector), none, turns)
        centers = {b.name: in_space(b.center) for b in self.m.bodies}
        for t in self.m.torques:
            vector = t.vector if t.vector.ndim else float(t.vector) * Z
            turns = t.fixed_in == BODY
            place = centers.get(t.body, none)
            yield PointForce(self._link(t.body), place, none, vector, turns)

    def _pulls(self) -> Iterator[Pull]:
        for s in self.m.springs:
            first, second = (self._link(b) for b in s.bodies)
            places = (in_space(s.ends[0]), in_space(s.ends[1]))
            numbers = (s.stiffness, s.damping, s.free_length, s.preload)
            if first != second:
                yield Pull((first, second), places, *numbers)

    def _turns(self) -> Iterator[Turn]:
        for t in self.m.torsions:
            step = pick(self.step_of, t.joint, "hinge of the tree")
            yield Turn(step.q, step.v, t.stiffness, t.damping, t.free_angle, t.torque)

    def _damped(self) -> Iterator[DampedBall]:
        for d in self.m.ball_dampers:
            step = pick(self.step_of, d.joint, "ball of the tree")
            yield DampedBall(d.joint, step.v, d.damping)

    def _driven(self) -> Iterator[DrivenJoint]:
        for d in self.m.drives:
            step = pick(self.step_of, d.joint, "joint of the tree")
            yield DrivenJoint(d.name, step.q, step.v, make_pieces(d.motion))

    def _spinning(self) -> Iterator[Spinning]:
        for r in self.m.rotors:
            step = pick(self.step_of, r.joint, "joint of the tree")
            rates = range(step.v, step.v + (3 if step.kind == "ball" else 1))
            yield Spinning(r.name, tuple(rates), r.inertia or r.mass)

    def _tied(self) -> Iterator[Tied]:
        for c in self.m.couplings:
            a, b = (pick(self.step_of, n, "joint of the tree") for n in (c.joint, c.other))
            yield Tied(c.name, (a.q, b.q), (a.v, b.v), c.ratio)


def _known(values: Floats | None) -> Floats:
    assert values is not None
    return values


def raise_inertia(inertia: Floats, mass: float, size: float, least: float = 0.0) -> Floats:
    """Return an inertia with positive principal values, as other programs require.

    Zero values of thin rods and point masses are raised to a small fraction of the largest one, or of mass times
    size squared if all vanish, and at least to `least` [kg m^2]; all others are unchanged to the last bit.
    """
    values, vectors = np.linalg.eigh(0.5 * (inertia + inertia.T))
    least = max(least, SLIM * (values[-1] if values[-1] > 0 else mass * size**2))
    if values[0] >= least:
        return inertia
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
