"""Points that can be read by name, and the points and directions that the frame of each group must express."""

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
    """Body and initial coordinates [m] of all readable points, keyed by name; number: in their order."""

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
        """The groups of the points' bodies."""
        return np.array([group_of[body] for body in self.owners], dtype=np.int64)


def readable_points(mechanism: Mechanism) -> Points:
    """Joints, markers and centres of mass; the name of a joint takes precedence over that of a body."""
    return points_of_parts(mechanism, read_parts(mechanism))


def points_of_parts(mechanism: Mechanism, c: PartArrays) -> Points:
    """The same from parts that were read before."""
    markers = mechanism.markers
    joints, joint_owners, joint_places = _placed_joints(c)
    names = [*c.names, *(x.name for x in markers), *joints]
    owners = [*c.names, *(x.body for x in markers), *joint_owners]
    marks = [np.array([x.at for x in markers])] if markers else []
    places = np.concatenate([c.center.rows, *marks, joint_places])
    # for equal names the last point, at the position of the first
    last = dict(zip(names, range(len(names)), strict=True))
    if len(last) == len(names):
        return Points(names, owners, places)
    which = list(last.values())
    return Points(list(last), [owners[i] for i in which], places[which])


def _placed_joints(c: PartArrays) -> tuple[list[str], list[str], Floats]:
    """Joints that have a point: names, owners and coordinates.

    The point belongs to the ground if the ground has it. For sliding bodies it belongs to the second body,
    unless that is the ground.
    """
    n, ground = len(c.joints), len(c.bodies)
    slides = c.are(lambda row: row.slides)
    first = np.cumsum(c.counts) - c.counts
    # a slider and its guide may have different points: it is read at its own
    second = slides & (c.body[first + slides] != ground)
    owner = c.body[first + second]
    owner[c.joint[(c.body == ground) & ~slides[c.joint]]] = ground
    which = np.flatnonzero(c.has_place[:n] & ~c.are(lambda row: row.is_link))
    names = [*c.names, Mechanism.GROUND]
    return (
        [c.joint_names[i] for i in which.tolist()],
        [names[k] for k in owner[which].tolist()],
        c.places.rows[c.place[(first + second)[which]]],
    )


class Wants:
    """Requirements of each group: first the points that are read by name, then all others.

    Groups without other requirements are stored as counts only, because there may be many.
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
        """For each group the numbers of points read, of points required, and of directions, (n, 3)."""
        out = np.stack([self._read, self._read, np.zeros_like(self._read)], axis=1)
        for group, own in self._own.items():
            out[group] = own.read, len(own.places), len(own.directions)
        return out

    def stacked(self, groups: Ints) -> tuple[list[Floats], list[Floats]]:
        """Points and directions of groups with equal numbers of both, stacked over the groups."""
        read, places, directions = self.sizes[groups[0]].tolist()
        rows = [self._order[self._first[groups] + n] for n in range(read)]
        found = [stacked(self._places[row]) for row in rows]
        # only groups that require more than the points read have a list
        more = [self[i] for i in groups.tolist()] if places > read or directions else []
        found += [stacked([own.places[n] for own in more]) for n in range(read, places)]
        return found, [stacked([own.directions[n] for own in more]) for n in range(directions)]
