"""A joint: its kind, and its point and axis on each body. The rows of `joint_kinds` describe the kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..thresholds import JOINT_GAP
from ..tracing import largest, length_of
from .elements import (
    GROUND,
    Element,
    Moves,
    NameRegistry,
    moved_direction,
    moved_place,
    plain,
    same_bits,
    show,
)
from .joint_kinds import JointKind


@dataclass(frozen=True, eq=False, slots=True)
class End:
    """A joint on one of its bodies: point [m], and axis, if the kind has an axis on this body.

    axis: of a hinge or slider, direction of a line, normal of a plane; of any length.
    """

    body: str
    place: Floats | None = None
    axis: Floats | None = None


@dataclass(frozen=True)
class Gap:
    """How far a joint is open: distance of its points [m] and angle of its directions [rad], at its worst body."""

    metres: float
    radians: float

    def __str__(self) -> str:
        return f"{self.metres:.6g} m" + (f" and {self.radians:.6g} rad" if self.radians else "")


@dataclass(frozen=True, eq=False)
class Joint(Element):
    """A joint of two or more bodies; its name is the name of its point.

    ends: one per body. Points and common axes are the same on all of them, unless `assemble` has to bring
    them together; those of a distance joint are its two ends.
    """

    kind: JointKind
    ends: tuple[End, ...]

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of its bodies."""
        return tuple(e.body for e in self.ends)

    @property
    def places(self) -> tuple[Floats, ...]:
        """Its point on each body; empty for a weld without a point."""
        return tuple(e.place for e in self.ends if e.place is not None)

    @property
    def at(self) -> Floats | None:
        """Its point on its first body; a distance joint has none."""
        return None if self.kind.row.is_link or not self.ends else self.ends[0].place

    def carrier(self, ground: str) -> End:
        """The end whose point has the joint's name: that of the second body, of the first if that is the ground.

        The points of a slider and of its guide may differ along the axis.
        """
        return self.ends[0 if self.ends[1].body == ground else 1]

    @property
    def axis(self) -> Floats | None:
        """The axis on its first body."""
        return self.ends[0].axis if self.ends else None

    def moved(self, moves: Moves, closed: bool) -> Joint:
        """Moved with its bodies; closed: they meet, so there is one point, and one axis if it is common."""
        if not moves.keys() & set(self.bodies):
            return self
        ends = [
            End(
                e.body,
                None if e.place is None else moved_place(moves, e.body, e.place),
                None if e.axis is None else moved_direction(moves, e.body, e.axis),
            )
            for e in self.ends
        ]
        row = self.kind.row
        if closed and not row.is_link:
            # the ground does not move, so its numbers are exactly the user's
            owner = self.bodies.index(GROUND) if GROUND in self.bodies else 0
            # for sliding joints, the point is that of the second body
            place = ends[1 if row.slides else owner].place
            common = row.axis == "common"
            ends = [End(e.body, place, ends[owner].axis if common else e.axis) for e in ends]
        return replace(self, ends=tuple(ends))

    def scaled(self, size: float) -> Joint:
        """With its points scaled."""
        ends = (e if e.place is None else replace(e, place=size * e.place) for e in self.ends)
        return replace(self, ends=tuple(ends))

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its bodies, points and axes."""
        what, row = f"joint '{self.name}' ({self.kind.value})", self.kind.row
        if len(self.ends) < 2:
            yield f"{what} has {len(self.ends)} bodies; a joint connects two or more"
            return
        bodies = self.bodies
        for name in dict.fromkeys(bodies):
            if bodies.count(name) > 1:
                yield f"{what} connects body '{name}' with itself; name two different bodies"
            yield from known.body(name, what)
        if known.dimension == 2 and row.in_plane:
            yield f"{what} needs a spatial mechanism; in the plane {row.in_plane}"
        if not self.places:
            if not row.is_rigid:
                yield f"{what} has no place; give at=, the point where the bodies meet"
            return
        places = self.places if row.is_link else one_or_each(self.places)
        where = f"{what}, {'place' if row.is_link else 'at'}"
        bad = [line for place in places for line in known.vector(place, where)]
        yield from bad
        if not bad:
            # for sliding joints, only the second body has its point there
            for end in self.ends[1:] if row.slides else self.ends:
                if end.place is not None:
                    yield from known.on_body(end.body, end.place, what)
        if not bad and row.is_link and self._length() <= 1e-12 * self._largest():
            yield (
                f"{what}: length zero, both ends at {show(places[0])}; use a joint that shares a point"
            )
        yield from self._axis_problems(known, what)

    def _length(self) -> float:
        return length_of(*(p.tolist() for p in self.places))

    def _largest(self) -> float:
        return largest((abs(x) for p in self.places for x in p.tolist()), 1e-300)

    def _axis_problems(self, known: NameRegistry, what: str) -> Iterator[str]:
        role = self.kind.row.axis
        if role == "common" and known.dimension == 2:
            if self.axis is not None:
                yield f"{what}: in the plane a hinge turns about the normal; leave the axis out"
            return
        if not role:
            return
        words = ["axis", "second_axis"] if role == "each" else ["axis"]
        found = []
        for word, end in zip(words, self.ends, strict=False):
            if end.axis is None:
                wanted = "(x, y)" if known.dimension == 2 else "(x, y, z)"
                found.append(f"{what} has no {word}; give {word}={wanted}")
                continue
            zero = f"{what}: its {word} has length zero; give a direction"
            found += known.direction(end.axis, f"{what}, {word}", zero)
        yield from found
        axes = [e.axis for e in self.ends if e.axis is not None]
        if role == "each" and not found:
            a, b = (axis / length_of(axis.tolist(), [0.0] * 3) for axis in axes)
            if length_of(np.cross(a, b).tolist(), [0.0] * 3) < 1e-6:
                yield (
                    f"{what}: its axes {show(a)} and {show(b)} are parallel; a cross needs two directions"
                )
        elif role == "common":
            zero = f"{what}: an axis has length zero; give a direction"
            for axis in one_or_each(axes)[1:]:
                yield from known.direction(axis, f"{what}, axis", zero)

    def data(self) -> dict[str, Any]:
        """Bodies, point and axis: one for all, or one per body where they do not meet yet."""
        row = self.kind.row
        entry: dict[str, Any] = {self.kind.value: list(self.bodies)}
        if row.is_link:
            entry["start"], entry["end"] = (plain(place) for place in self.places)
        elif self.places:
            entry["at"] = _plain_each(self.places)
        axes = [e.axis for e in self.ends if e.axis is not None]
        if row.axis == "each":
            names = [row.key, f"second_{row.key}"]
            entry |= {name: plain(axis) for name, axis in zip(names, axes, strict=True)}
        elif axes:
            entry[row.key] = _plain_each(axes)
        return entry


def one_or_each(values: Sequence[Floats]) -> Sequence[Floats]:
    """A single value if all are bit-identical, otherwise all of them."""
    same = all(v is values[0] or same_bits(v, values[0]) for v in values)
    return values[:1] if same else values


def _plain_each(values: Sequence[Floats]) -> Any:
    found = one_or_each(values)
    return plain(found[0] if len(found) == 1 else np.array(found))


def measure_apart(joint: Joint) -> Gap:
    """Gap between the points and axes of a joint at the start."""
    far = wide = 0.0
    row, places = joint.kind.row, joint.places
    if places and not row.is_link:
        far = largest(_size_apart(joint, p) for p in places if p is not places[0])
    axes = [e.axis for e in joint.ends if e.axis is not None]
    if row.axis == "common" and any(axis is not axes[0] for axis in axes):
        units = np.array([axis / np.linalg.norm(axis) for axis in axes], dtype=float)
        sines = np.linalg.norm(np.cross(units, units[0]), axis=1)
        wide = float(np.arctan2(sines, units @ units[0]).max())
    return Gap(far, wide)


def _size_apart(joint: Joint, place: Floats) -> float:
    """Distance of a point of a joint from the first one; for sliding joints, distance from the line or plane."""
    apart = [a - b for a, b in zip(place.tolist(), joint.places[0].tolist(), strict=True)]
    if joint.axis is not None and joint.kind.row.slides:
        axis = joint.axis.tolist()
        share = plain_sum(a * b for a, b in zip(apart, axis, strict=True)) / plain_sum(
            b * b for b in axis
        )
        along = [share * b for b in axis]
        off = [a - b for a, b in zip(apart, along, strict=True)]
        apart = along if joint.kind.row.on_plane else off
    return length_of(apart, [0.0] * len(apart))


def find_gap(joint: Joint, known: NameRegistry) -> Iterator[str]:
    """The problem of a joint whose bodies do not meet at the start: it cannot be modelled."""
    first, places = joint.ends[0], joint.places
    if all(e.place is first.place and e.axis is first.axis for e in joint.ends):
        return
    gap = measure_apart(joint)
    size = largest(
        length_of(e.place.tolist(), p.tolist())
        for e in joint.ends
        if e.place is not None and e.body in known.bodies
        for p in (known.bodies[e.body].center, *(known.bodies[e.body].ends or ()))
    )
    # points far from the origin carry rounding errors of their magnitude
    far = largest(abs(x) for p in places for x in p.tolist())
    parts = []
    if gap.metres > JOINT_GAP * size + 8e-16 * far:
        parts.append(f"the places of its bodies by {gap.metres:.6g} m")
    if gap.radians > JOINT_GAP:
        parts.append(f"their axes by {gap.radians:.6g} rad")
    if parts:
        yield (
            f"joint '{joint.name}' ({joint.kind.value}) of {', '.join(joint.bodies)} is apart: "
            f"{' and '.join(parts)}; give one place and axis, or close it with sarrus.assemble() or "
            "simulate(..., assemble=True)"
        )
