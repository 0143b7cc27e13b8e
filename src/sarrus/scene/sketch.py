"""The sketch of a mechanism: bars, plates, joints and springs over a list of points fixed in bodies.

A sketch contains names, kinds and which points belong together, but neither time nor pixels. Every picture (page,
movie, figure, workbench) draws the same sketch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy

from ..arrays import Floats
from ..kinematics.configuration import LINK, measure_length
from ..mechanism import Body, Joint, JointKind, Mechanism
from ..mechanism.polygons import convex_hull

GROUND = -1
# fractions of the typical link: half an axis, a guide beyond its slider, half a slider, half a plane's patch
AXIS, GUIDE, BLOCK, PATCH = 0.09, 0.35, 0.12, 0.3
# a body is a plate if its centre of mass is this far from the line of its two joints
OFF_LINE = 0.05

_GLYPHS = {kind.value: kind.row.glyph for kind in JointKind}


@dataclass(frozen=True)
class Shape:
    """The shape of a body.

    A "bar" of two points, a "plate" with faces of three or more, a "mass" at a point, or a "block" that only
    slides: its joint is drawn, not the body.
    """

    name: str
    kind: str
    points: tuple[int, ...]
    faces: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Sign:
    """A joint, spring or named point.

    kind: the joint's word, "spring" or "point"; bodies: names; points: its position on each side (the two ends of
    a spring, the guide's and the slider's point); lines: pairs of points drawn with it (axes, guide, cross,
    outline of a plane); ground: whether it is fixed to the ground; driven, torsion: whether a drive or a torsional
    spring acts in it; named: index of the point that carries the name, by default the last one.
    """

    name: str
    kind: str
    bodies: tuple[str, ...]
    points: tuple[int, ...]
    lines: tuple[tuple[int, int], ...] = ()
    ground: bool = False
    driven: bool = False
    torsion: bool = False
    named: int = -1

    @property
    def glyph(self) -> str:
        """How it is drawn: a joint according to its kind, a spring or a named point as itself."""
        return _GLYPHS.get(self.kind, self.kind)

    @property
    def slides(self) -> bool:
        """Whether its first line is a guide, and the second, if there is one, the slider on it."""
        return self.glyph in ("guide", "slider")

    @property
    def point(self) -> int:
        """The point that carries the name."""
        return self.points[self.named]


@dataclass(frozen=True)
class Sketch:
    """Names and points of everything drawn.

    dimension: 2 or 3; up: unit vector against gravity; size: a typical link [m]; owners: body of each point (-1:
    ground) and its position at the start [m]; centers: of mass of the bodies there [m]; gravity [m/s^2].
    """

    name: str
    dimension: int
    up: tuple[float, ...]
    size: float
    owners: tuple[int, ...]
    places: tuple[tuple[float, ...], ...]
    centers: tuple[tuple[float, ...], ...]
    shapes: tuple[Shape, ...]
    signs: tuple[Sign, ...]
    gravity: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The sketch as a dictionary for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sketch:
        """A sketch from its dictionary; raises ValueError if a point is missing."""
        count = len(data["places"])

        def points(values: Iterable[Any]) -> tuple[int, ...]:
            found = tuple(int(v) for v in values)
            if any(not 0 <= v < count for v in found):
                raise ValueError(f"a sign refers to point {max(found)} of {count}")
            return found

        shapes = tuple(
            Shape(
                str(s["name"]),
                str(s["kind"]),
                points(s["points"]),
                tuple(points(f) for f in s["faces"]),
            )
            for s in data["shapes"]
        )
        signs = tuple(
            Sign(
                str(s["name"]),
                str(s["kind"]),
                tuple(str(b) for b in s["bodies"]),
                points(s["points"]),
                tuple((a, b) for a, b in (points(line) for line in s["lines"])),
                bool(s["ground"]),
                bool(s["driven"]),
                bool(s["torsion"]),
                0 if int(s["named"]) == 0 else -1,
            )
            for s in data["signs"]
        )
        return cls(
            name=str(data["name"]),
            dimension=int(data["dimension"]),
            up=tuple(float(x) for x in data["up"]),
            size=float(data["size"]),
            owners=tuple(int(x) for x in data["owners"]),
            places=tuple(tuple(float(x) for x in p) for p in data["places"]),
            centers=tuple(tuple(float(x) for x in p) for p in data["centers"]),
            shapes=shapes,
            signs=signs,
            gravity=float(data.get("gravity", 0.0)),
        )


def make_sketch(mechanism: Mechanism) -> Sketch:
    """The sketch of a checked mechanism."""
    return _Pencil(mechanism).draw()


@dataclass
class _Pencil:
    """Collects points and signs of one mechanism."""

    mechanism: Mechanism
    owners: list[int] = field(default_factory=list)
    places: list[tuple[float, ...]] = field(default_factory=list)
    # points of each body by position: a pin is one point of all its bodies
    known: dict[tuple[int, tuple[float, ...]], int] = field(default_factory=dict)
    blocks: dict[str, tuple[int, int]] = field(default_factory=dict)

    def draw(self) -> Sketch:
        m = self.mechanism
        self.index = {b.name: i for i, b in enumerate(m.bodies)} | {m.GROUND: GROUND}
        self.of_body: dict[str, list[int]] = {b.name: [] for b in m.bodies}
        self.size = LINK * measure_length(m)
        driven = {d.joint for d in m.drives}
        torsion = {t.joint for t in m.torsions}
        signs = []
        for joint in m.joints:
            sign = self._joint(joint)
            if sign is not None:
                signs.append(self._marked(sign, driven, torsion))
        for spring in m.springs:
            ends = [
                self._point(b, at, True) for b, at in zip(spring.bodies, spring.ends, strict=True)
            ]
            ground = m.GROUND in spring.bodies
            signs.append(Sign(spring.name, "spring", spring.bodies, tuple(ends), ground=ground))
        for marker in m.markers:
            at = self._point(marker.body, marker.at, True)
            ground = marker.body == m.GROUND
            signs.append(Sign(marker.name, "point", (marker.body,), (at,), ground=ground))
        shapes = [self._body(body) for body in m.bodies]
        weight = float(np.linalg.norm(m.gravity))
        # without gravity the last axis points up, in the plane y
        up = -m.gravity / weight if weight > 0 else np.eye(m.dimension)[-1]
        return Sketch(
            name=m.name,
            dimension=m.dimension,
            up=tuple(float(x) for x in up),
            size=self.size,
            owners=tuple(self.owners),
            places=tuple(self.places),
            centers=tuple(tuple(float(x) for x in b.center) for b in m.bodies),
            shapes=tuple(shapes),
            signs=tuple(signs),
            gravity=weight,
        )

    @staticmethod
    def _marked(sign: Sign, driven: set[str], torsion: set[str]) -> Sign:
        marks = {"driven": sign.name in driven, "torsion": sign.name in torsion}
        return Sign(**(vars(sign) | marks)) if any(marks.values()) else sign

    def _point(self, body: str, at: Floats, carries: bool = False) -> int:
        """Index of the point of a body at a position; carries: whether it shapes the body."""
        owner = self.index[body]
        key = (owner, tuple(float(x) for x in at))
        if key not in self.known:
            self.known[key] = len(self.places)
            self.owners.append(owner)
            self.places.append(key[1])
        if carries:
            self._carry(body, self.known[key])
        return self.known[key]

    def _carry(self, body: str, point: int) -> None:
        """Let a point shape a body; the ground has no shape."""
        if body != self.mechanism.GROUND and point not in self.of_body[body]:
            self.of_body[body].append(point)

    def _pin(self, joint: Joint, at: Floats) -> int:
        """One point for all bodies of a joint that share it; the ground's, if it is among them."""
        holder = self.mechanism.GROUND if self._on_ground(joint) else joint.bodies[0]
        point = self._point(holder, at)
        for body in joint.bodies:
            self.known.setdefault((self.index[body], tuple(float(x) for x in at)), point)
            self._carry(body, point)
        return point

    def _on_ground(self, joint: Joint) -> bool:
        return self.mechanism.GROUND in joint.bodies

    def _across(self, body: str, at: Floats, axis: Floats, half: float) -> tuple[int, int]:
        step = half * self.size * axis / np.linalg.norm(axis)
        return self._point(body, at - step), self._point(body, at + step)

    def _joint(self, joint: Joint) -> Sign | None:
        kind, row, ground = joint.kind.value, joint.kind.row, self._on_ground(joint)
        if row.is_link:
            ends = tuple(
                self._point(b, at, True) for b, at in zip(joint.bodies, joint.places, strict=True)
            )
            return Sign(joint.name, kind, joint.bodies, ends, ground=ground)
        if joint.at is None:
            return None
        if row.slides:
            return self._sliding(joint, ground)
        point = self._pin(joint, joint.at)
        lines = []
        if row.axis == "each":
            pairs = [(end.body, end.axis) for end in joint.ends]
        else:
            pairs = [(self.mechanism.GROUND if ground else joint.bodies[0], joint.axis)]
        for body, axis in pairs:
            if axis is not None and self.mechanism.dimension == 3:
                lines.append(self._across(body, joint.at, axis, AXIS))
        return Sign(joint.name, kind, joint.bodies, (point,), tuple(lines), ground)

    def _sliding(self, joint: Joint, ground: bool) -> Sign:
        """A line or plane of the first body, with the point of the second on it."""
        row, (first, second) = joint.kind.row, joint.bodies
        axis, guide, at = joint.axis, joint.at, joint.carrier(self.mechanism.GROUND).place
        assert axis is not None
        assert guide is not None
        assert at is not None
        if row.on_line:
            # the guide is drawn where the slider is, which may be far from the guide's own point
            apart = float((at - guide) @ axis / (axis @ axis))
            guide = guide + apart * axis if apart else guide
        ends = (self._point(first, guide), self._point(second, at, True))
        line = not row.on_plane
        lines = (
            [self._across(first, guide, axis, GUIDE)] if line else self._border(first, guide, axis)
        )
        if row.glyph == "slider":
            # the slider itself, a short piece of the axis that moves with the second body
            lines.append(self._across(second, at, axis, BLOCK))
            self.blocks[second] = lines[-1]
        if "directions" in row.shares:
            self._carry(first, ends[0])
        # a slider fixed to the ground does not move: its guide carries the name
        named = 0 if second == self.mechanism.GROUND else -1
        return Sign(
            joint.name, joint.kind.value, joint.bodies, ends, tuple(lines), ground, named=named
        )

    def _border(self, body: str, at: Floats, normal: Floats) -> list[tuple[int, int]]:
        n = normal / np.linalg.norm(normal)
        a = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        a *= PATCH * self.size / np.linalg.norm(a)
        b = np.cross(n, a)
        corners = [self._point(body, at + s * a + t * b) for s, t in _SQUARE]
        return [(corners[i], corners[(i + 1) % 4]) for i in range(4)]

    def _body(self, body: Body) -> Shape:
        points = list(self.of_body[body.name])
        if body.ends is not None:
            # a rod is straight: its other points lie on it
            ends = (self._point(body.name, body.ends[0]), self._point(body.name, body.ends[1]))
            return Shape(body.name, "bar", ends)
        places = np.array([self.places[p] for p in points]).reshape(-1, self.mechanism.dimension)
        if body.corners is not None:
            # a plate as it was given, and its joints outside of it
            hull = convex_hull(np.vstack([body.corners, places]))
            face = tuple(self._point(body.name, corner) for corner in hull)
            return Shape(body.name, "plate", tuple(dict.fromkeys([*points, *face])), (face,))
        spread = _rank(np.vstack([places, body.center]) - body.center)
        if spread == 0 and body.name in self.blocks:
            return Shape(body.name, "block", self.blocks[body.name])
        if spread == 0:
            return Shape(body.name, "mass", (self._point(body.name, body.center),))
        if spread == 1 and len(points) > 1:
            along = (places - body.center) @ _main_direction(places)
            ends = (points[int(np.argmin(along))], points[int(np.argmax(along))])
            return Shape(body.name, "bar", ends)
        if spread == 1:
            # a pendulum: the bar ends at its mass
            return Shape(body.name, "mass", (self._point(body.name, body.center), points[0]))
        # collinear joints do not span a plate: a door on three hinges
        if len(points) < 3 or _rank(places - places.mean(axis=0)) < 2:
            points.append(self._point(body.name, body.center))
            places = np.vstack([places, body.center])
        faces = _faces(places)
        return Shape(
            body.name, "plate", tuple(points), tuple(tuple(points[i] for i in f) for f in faces)
        )


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def _rank(arms: Floats) -> int:
    """The number of directions that the points visibly span: 5 percent count as zero."""
    sizes = np.linalg.svd(arms, compute_uv=False)
    return int((sizes > OFF_LINE * max(sizes.max(initial=0.0), 1e-12)).sum())


def _main_direction(places: Floats) -> Floats:
    return np.asarray(np.linalg.svd(places - places.mean(axis=0))[2][0])


def _faces(places: Floats) -> list[list[int]]:
    """Outline of points in a plane, or the triangles around points in space."""
    arms = places - places.mean(axis=0)
    axes = np.linalg.svd(arms)[2]
    if _rank(arms) < 2:
        along = arms @ axes[0]
        return [[int(np.argmin(along)), int(np.argmax(along))]]
    if _rank(arms) < 3:
        hull = scipy.spatial.ConvexHull(arms @ axes[:2].T)
        return [[int(i) for i in hull.vertices]]
    return [[int(i) for i in face] for face in scipy.spatial.ConvexHull(arms).simplices]
