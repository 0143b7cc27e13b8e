"""Points that can be read by name, and all that is wanted of the frame of each group of bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import Joint, Mechanism
from ..mechanism.columns import Columns
from ..tape import stacked
from .frames import Wanted


class Points(Mapping[str, tuple[str, Any]]):
    """Body and place at the start [m] of all points that can be read, by name; number: in their order."""

    def __init__(self, names: list[str], owners: list[str], places: Sequence[Any] | Floats) -> None:
        self.number = dict(zip(names, range(len(names)), strict=True))
        self.owners, self.places = owners, places

    def __getitem__(self, name: str) -> tuple[str, Any]:
        n = self.number[name]
        return self.owners[n], self.places[n]

    def __iter__(self) -> Iterator[str]:
        return iter(self.number)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def flat(self) -> Any:
        """All places, one after the other."""
        given = self.places
        return given.ravel() if isinstance(given, np.ndarray) else np.concatenate(given)

    def groups(self, group_of: dict[str, int]) -> Ints:
        """The groups of their bodies."""
        return np.array([group_of[body] for body in self.owners], dtype=np.int64)


def readable_points(mechanism: Mechanism, columns: Columns | None = None) -> Points:
    """Joints, markers, centres of bodies; a joint's name wins over a body's; columns: if they were read."""
    bodies, markers = mechanism.bodies, mechanism.markers
    if columns is not None:
        joints, owners, rows = _placed_in(columns)
        names = [*columns.names, *(x.name for x in markers), *joints]
        if len(set(names)) == len(names):
            marks = [x.at for x in markers]
            return Points(
                names,
                [*columns.names, *(x.body for x in markers), *owners],
                np.concatenate([columns.center.rows, *([marks] if marks else []), rows]),
            )
    points = {b.name: (b.name, b.center) for b in bodies}
    points |= {x.name: (x.body, x.at) for x in markers}
    for joint in mechanism.joints:
        at = joint.at
        if at is not None:
            points[joint.name] = (_point_owner(joint), at)
    return Points(list(points), [b for b, _ in points.values()], [p for _, p in points.values()])


def _placed_in(c: Columns) -> tuple[list[str], list[str], Floats]:
    """Joints that have a point: names, owners and places."""
    n, ground = len(c.joints), len(c.bodies)
    slides = c.are(lambda row: row.slides)
    first = np.cumsum(c.counts) - c.counts
    owner = c.body[first + slides]
    # where bodies slide the ground has no point of theirs; else the point is fixed if the ground has it
    owner = np.where(slides & (owner == ground), c.body[first], owner)
    owner[c.joint[(c.body == ground) & ~slides[c.joint]]] = ground
    which = np.flatnonzero(c.has_place[:n] & ~c.are(lambda row: row.is_link))
    names = [*c.names, Mechanism.GROUND]
    return (
        [c.joint_names[i] for i in which.tolist()],
        [names[k] for k in owner[which].tolist()],
        c.places.rows[which],
    )


def _point_owner(joint: Joint) -> str:
    """The body whose point bears the joint's name: where the bodies slide, that of the second."""
    if not joint.kind.row.slides:
        for end in joint.ends:
            if end.body == Mechanism.GROUND:
                return Mechanism.GROUND
        return joint.ends[0].body
    first, second = joint.bodies
    return first if second == Mechanism.GROUND else second


class Wants:
    """What is wanted of each group: first the places that are read by name, then whatever else is asked for.

    Groups of which nothing else is wanted are told by numbers alone: there may be many.
    """

    def __init__(self, points: Points, groups: Ints, count: int) -> None:
        self._places = points.places
        self._order = np.argsort(groups, kind="stable")
        self._read = np.bincount(groups, minlength=count)
        self._first = np.cumsum(self._read) - self._read
        self._own: dict[int, Wanted] = {}

    def __getitem__(self, group: int) -> Wanted:
        own = self._own.get(group)
        if own is None:
            first, read = int(self._first[group]), int(self._read[group])
            rows = self._order[first : first + read].tolist()
            own = self._own[group] = Wanted([self._places[i] for i in rows], [], read)
        return own

    @cached_property
    def sizes(self) -> Ints:
        """Of each group how many places are read, how many are wanted, and how many directions, (n, 3)."""
        out = np.stack([self._read, self._read, np.zeros_like(self._read)], axis=1)
        for group, own in self._own.items():
            out[group] = own.read, len(own.places), len(own.directions)
        return out

    def stacked(self, groups: Ints) -> tuple[list[Floats], list[Floats]]:
        """Places and directions of groups that want as many as each other, each of all of them side by side."""
        read, places, directions = self.sizes[groups[0]].tolist()
        rows = [self._order[self._first[groups] + n] for n in range(read)]
        found = [
            self._places[row]
            if isinstance(self._places, np.ndarray)
            else stacked([self._places[i] for i in row.tolist()])
            for row in rows
        ]
        # whoever wants more than is read has a list of its own
        more = [self[i] for i in groups.tolist()] if places > read or directions else []
        found += [stacked([own.places[n] for own in more]) for n in range(read, places)]
        return found, [stacked([own.directions[n] for own in more]) for n in range(directions)]
