"""Points that can be read by name, and all that is wanted of the frame of each group of bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import Mechanism
from ..mechanism.part_arrays import PartArrays, read_parts
from ..tracing import stacked
from .frames import Wanted


class Points(Mapping[str, tuple[str, Any]]):
    """Body and place at the start [m] of all points that can be read, by name; number: in their order."""

    def __init__(self, names: list[str], owners: list[str], places: Floats) -> None:
        self.number = dict(zip(names, range(len(names)), strict=True))
        self.owners, self.places = owners, places

    def __getitem__(self, name: str) -> tuple[str, Any]:
        n = self.number[name]
        return self.owners[n], self.places[n]

    def __iter__(self) -> Iterator[str]:
        return iter(self.number)

    def __len__(self) -> int:
        return len(self.number)

    def groups(self, group_of: dict[str, int]) -> Ints:
        """The groups of their bodies."""
        return np.array([group_of[body] for body in self.owners], dtype=np.int64)


def readable_points(mechanism: Mechanism) -> Points:
    """Joints, markers, centres of bodies; a joint's name wins over a body's."""
    return points_of_parts(mechanism, read_parts(mechanism))


def points_of_parts(mechanism: Mechanism, c: PartArrays) -> Points:
    """The same by parts that were read before."""
    markers = mechanism.markers
    joints, joint_owners, joint_places = _placed_joints(c)
    names = [*c.names, *(x.name for x in markers), *joints]
    owners = [*c.names, *(x.body for x in markers), *joint_owners]
    marks = [np.array([x.at for x in markers])] if markers else []
    places = np.concatenate([c.center.rows, *marks, joint_places])
    # the last of a name, where its first is
    last = dict(zip(names, range(len(names)), strict=True))
    if len(last) == len(names):
        return Points(names, owners, places)
    which = list(last.values())
    return Points(list(last), [owners[i] for i in which], places[which])


def _placed_joints(c: PartArrays) -> tuple[list[str], list[str], Floats]:
    """Joints that have a point: names, owners and places.

    The point is fixed if the ground has it; where the bodies slide it is that of the second, unless that is the
    ground.
    """
    n, ground = len(c.joints), len(c.bodies)
    slides = c.are(lambda row: row.slides)
    first = np.cumsum(c.counts) - c.counts
    owner = c.body[first + slides]
    owner = np.where(slides & (owner == ground), c.body[first], owner)
    owner[c.joint[(c.body == ground) & ~slides[c.joint]]] = ground
    which = np.flatnonzero(c.has_place[:n] & ~c.are(lambda row: row.is_link))
    names = [*c.names, Mechanism.GROUND]
    return (
        [c.joint_names[i] for i in which.tolist()],
        [names[k] for k in owner[which].tolist()],
        c.places.rows[which],
    )


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
        found = [stacked(self._places[row]) for row in rows]
        # whoever wants more than is read has a list of its own
        more = [self[i] for i in groups.tolist()] if places > read or directions else []
        found += [stacked([own.places[n] for own in more]) for n in range(read, places)]
        return found, [stacked([own.directions[n] for own in more]) for n in range(directions)]
