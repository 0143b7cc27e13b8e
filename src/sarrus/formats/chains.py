"""Replace chains of joints through massless links by one equivalent joint.

A massless link that only transmits loads from one joint to the next cannot be a body here, and need not be one:
three hinges through one point are equivalent to a spherical joint, two intersecting hinges to a universal joint,
and a slider with a hinge along it to a cylindrical joint. Chains without an equivalent are rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..mechanism import DriveMotion, Polynomial, Sine, SmoothStep, Table
from ..thresholds import ROUGHLY_PARALLEL
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    ON_LINE,
    ON_PLANE,
    PLANAR,
    PRISMATIC,
    RECTANGULAR,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    Connection,
    Placement,
    frame_along,
)


@dataclass(frozen=True, eq=False)
class Same:
    """A joint equivalent to a chain: its kind, its frames in both links, and whether the links are swapped.

    `length` is the length of a distance constraint [m] or the angle between the axes of a universal joint [rad];
    `motion` is the motion of a driven distance.
    """

    kind: str
    frames: tuple[Placement, Placement]
    swapped: bool = False
    length: float = 0.0
    motion: DriveMotion | None = None


@dataclass(frozen=True, eq=False)
class _Line:
    axis: Floats
    point: Floats
    number: int
    joint: Connection


def reduce_chain(steps: list[Connection], size: float) -> list[Same] | None:
    """Return the joints equivalent to a chain of joints; None if there is no equivalent.

    Each joint starts at the second link of the previous one. All lines are expressed in the frame of the first
    link, with all joint coordinates at zero.
    """
    hinges: list[_Line] = []
    slides: list[_Line] = []
    balls: list[_Line] = []
    pose = Placement()
    for number, step in enumerate(steps):
        frame = pose @ step.frames[0]
        line = _Line(frame.axis, frame.place, number, step)
        if step.kind in (REVOLUTE, CYLINDRICAL):
            hinges.append(line)
        if step.kind in (PRISMATIC, CYLINDRICAL):
            slides.append(line)
        if step.kind == SPHERICAL:
            balls.append(line)
        if step.kind not in (REVOLUTE, CYLINDRICAL, PRISMATIC, SPHERICAL):
            return None
        pose = frame @ step.frames[1].inverse
    return _Chain(hinges, slides, balls, pose, len(steps), size).same()


def are_independent(steps: list[Connection], size: float) -> bool:
    """Return whether hinges and sliders in a chain contribute independent motions of the last link, at zero."""
    pose, columns = Placement(), []
    for step in steps:
        frame = pose @ step.frames[0]
        if step.kind == REVOLUTE:
            columns.append(np.concatenate([frame.axis, np.cross(frame.place, frame.axis) / size]))
        elif step.kind == PRISMATIC:
            columns.append(np.concatenate([np.zeros(3), frame.axis]))
        else:
            return False
        pose = frame @ step.frames[1].inverse
    return int(np.linalg.matrix_rank(np.array(columns), tol=ROUGHLY_PARALLEL)) == len(columns)


class _Chain:
    def __init__(
        self,
        hinges: list[_Line],
        slides: list[_Line],
        balls: list[_Line],
        end: Placement,
        count: int,
        size: float,
    ) -> None:
        self.hinges, self.slides, self.balls = hinges, slides, balls
        self.end, self.count, self.near = end, count, ROUGHLY_PARALLEL * size

    def same(self) -> list[Same] | None:
        ways = _rank([s.axis for s in self.slides])
        centre = self.centre()
        if centre is not None:
            return self.about(centre, ways)
        if not self.hinges:
            if ways == 1:
                return [self.one(PRISMATIC, self.slides[0].axis, self.slides[0].point)]
            if ways == 2:
                normal = np.cross(*_two([s.axis for s in self.slides]))
                return [self.one(RECTANGULAR, normal, self.slides[0].point)]
            return None
        axis = self.hinges[0].axis
        if _rank([h.axis for h in self.hinges]) > 1:
            return self.cross() if not self.slides and len(self.hinges) == 2 else None
        return self.parallel(axis, ways)

    def centre(self) -> Floats | None:
        """Return the common point of all rotation axes, or None."""
        if self.balls:
            point = self.balls[0].point
            lines = self.hinges + self.balls[1:]
            return point if all(_off(h, point) <= self.near for h in lines) else None
        if len(self.hinges) < 3 or _rank([h.axis for h in self.hinges]) < 2:
            return None
        pairs = list(zip(self.hinges, self.hinges[1:], strict=False))
        if any(np.linalg.norm(np.cross(a.axis, b.axis)) < ROUGHLY_PARALLEL for a, b in pairs):
            return None
        point = _meeting(self.hinges[0], self.hinges[1])
        return point if all(_off(h, point) <= self.near for h in self.hinges) else None

    def about(self, centre: Floats, ways: int) -> list[Same] | None:
        """Reduce a chain that rotates about a centre; sliders before or after all rotations move the centre."""
        turning = [line.number for line in (*self.hinges, *self.balls)]
        sliding = [line.number for line in self.slides]
        if not ways:
            return [self.one(SPHERICAL, np.array([0.0, 0.0, 1.0]), centre)]
        slides_last = min(sliding) > max(turning)
        if not slides_last and max(sliding) > min(turning):
            return None
        if ways == 3:
            return []
        if ways == 1:
            return [self.one(ON_LINE, self.slides[0].axis, centre, swapped=slides_last)]
        a, b = _two([s.axis for s in self.slides])
        return [self.one(ON_PLANE, np.cross(a, b), centre, swapped=slides_last)]

    def cross(self) -> list[Same] | None:
        """Reduce two hinges whose axes are not parallel."""
        a, b = self.hinges
        point = _meeting(a, b)
        if max(_off(a, point), _off(b, point)) > self.near:
            return None
        first, second = frame_along(a.axis, point), frame_along(b.axis, point)
        spread = float(np.arctan2(np.linalg.norm(np.cross(a.axis, b.axis)), a.axis @ b.axis))
        return [Same(UNIVERSAL, (first, self.end.inverse @ second), length=spread)]

    def parallel(self, axis: Floats, ways: int) -> list[Same] | None:
        """Reduce hinges with parallel axes."""
        lines = [self.hinges[0]]
        for h in self.hinges[1:]:
            if all(_off(k, h.point) > self.near for k in lines):
                lines.append(h)
        along = [
            s for s in self.slides if np.linalg.norm(np.cross(s.axis, axis)) < ROUGHLY_PARALLEL
        ]
        across = [s for s in self.slides if abs(float(s.axis @ axis)) < ROUGHLY_PARALLEL]
        if len(along) + len(across) < len(self.slides) or (along and across):
            return None
        start = self.hinges[0].point
        if any(s.joint.motion for s in self.slides):
            return self.cylinder(axis, across)
        if along:
            return [self.one(CYLINDRICAL, axis, start)] if len(lines) == 1 else None
        if ways + len(lines) == 3:
            return [self.one(PLANAR, axis, self.hinges[-1].point)]
        if ways + len(lines) > 3:
            return None
        if ways == 0 and len(lines) == 1:
            return [self.one(REVOLUTE, axis, start)]
        plane = self.one(PLANAR, axis, start)
        if ways == 1:
            slides_last = self.slides[0].number > self.hinges[0].number
            return [plane, self.one(ON_LINE, self.slides[0].axis, start, swapped=slides_last)]
        other = lines[1].point - axis * float(axis @ (lines[1].point - start))
        ends = (
            frame_along(axis, start),
            self.end.inverse @ frame_along(axis, other),
        )
        return [plane, Same(DISTANCE, ends, length=float(np.linalg.norm(other - start)))]

    def cylinder(self, axis: Floats, across: list[_Line]) -> list[Same] | None:
        """Reduce a driven slider between two parallel hinges, on the line between them, to a driven distance."""
        if len(self.hinges) != 2 or len(across) != 1 or len(self.slides) != 1:
            return None
        slide, (first, last) = across[0], self.hinges
        if not first.number < slide.number < last.number:
            return None
        span = last.point - first.point
        span = span - axis * float(axis @ span)
        along = float(span @ slide.axis)
        offset = slide.point - first.point - axis * float(axis @ (slide.point - first.point))
        off = np.linalg.norm(span - along * slide.axis) + np.linalg.norm(
            offset - slide.axis * float(slide.axis @ offset)
        )
        joint = slide.joint
        if off > self.near or joint.motion is None or joint.start is None:
            return None
        way = -1.0 if joint.backwards else 1.0
        now = along + way * joint.start
        # The length is the distance between the hinges at zero plus the travel, whatever the sign of the
        # coordinate.
        sign = 1.0 if now > 0 else -1.0
        motion = change_motion(joint.motion, sign * way, sign * along)
        ends = (
            frame_along(axis, first.point),
            self.end.inverse @ frame_along(axis, first.point + span),
        )
        length = Same(DISTANCE, ends, length=abs(now), motion=motion)
        return [self.one(PLANAR, axis, first.point), length]

    def one(self, kind: str, axis: Floats, point: Floats, swapped: bool = False) -> Same:
        frame = frame_along(axis, point)
        ends = (frame, self.end.inverse @ frame)
        return Same(kind, ends[::-1] if swapped else ends, swapped)


def change_motion(motion: DriveMotion, factor: float, offset: float) -> DriveMotion:
    """Return the motion multiplied by a factor, plus an offset."""
    if isinstance(motion, Polynomial):
        first, *rest = (factor * c for c in motion.coefficients)
        return Polynomial((first + offset, *rest))
    if isinstance(motion, Sine):
        moved = factor * motion.offset + offset
        return replace(motion, amplitude=factor * motion.amplitude, offset=moved)
    if isinstance(motion, SmoothStep):
        ends = (factor * motion.first + offset, factor * motion.last + offset)
        return replace(motion, first=ends[0], last=ends[1])
    return Table(motion.times, tuple(factor * v + offset for v in motion.values))


def _rank(axes: list[Floats]) -> int:
    return int(np.linalg.matrix_rank(np.array(axes), tol=ROUGHLY_PARALLEL)) if axes else 0


def _two(axes: list[Floats]) -> tuple[Floats, Floats]:
    """Return two of the directions that are not parallel."""
    others = [b for b in axes[1:] if np.linalg.norm(np.cross(axes[0], b)) > ROUGHLY_PARALLEL]
    return axes[0], others[0]


def _off(line: _Line, point: Floats) -> float:
    """Return the distance of a point from a line."""
    return float(np.linalg.norm(np.cross(line.axis, point - line.point)))


def _meeting(a: _Line, b: _Line) -> Floats:
    """Return the point nearest to two lines."""
    A = np.array([[1.0, -float(a.axis @ b.axis)], [float(a.axis @ b.axis), -1.0]])
    d = b.point - a.point
    s, t = np.linalg.solve(A, [float(a.axis @ d), float(b.axis @ d)])
    return 0.5 * (a.point + s * a.axis + b.point + t * b.axis)
