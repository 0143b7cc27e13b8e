"""Bodies that are alike, built side by side: a long chain is many times the same.

Groups of bodies that have as many joint points, axes and wanted places as each other, held in the same way, go
through the text that makes a frame and what follows from it once, over numbers of all of them (`tape.Abreast`).
Where they decide differently (arms that are longer, parts that vanish) they part, and each part goes on alone; few
of a kind are built one by one. Every number has the bits it would have alone.

A class numbers its features on its own: those that its groups share, in their order, then those that frames add.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import Body
from ..mechanism.columns import Columns
from ..tape import Abreast, Number, PartedError, Scalar, UntracedError, abreast, stacked
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joints import FEW, Feature, Group, Sharing, as_rows
from .points import Wants
from .vectors import Vector

# fewer are built one by one: about what a class costs
LEAST = 16
# features of a group up to which its kind is told by a row of numbers
FEATURES = 8


@dataclass
class Alike:
    """A class: its groups in order, their features by number (n, features), and the frame that all of them have.

    places: linear forms of the places that are read by name.
    """

    groups: Ints
    ids: Ints
    sharing: Sharing
    frame: Frame
    places: list[Linear]

    @property
    def added(self) -> int:
        """How many features its frame adds to those that are shared."""
        return len(self.sharing.features) - self.ids.shape[1]

    def part(self, which: Ints) -> Alike:
        """Some of its groups; which: their places in it."""

        def some(x: Any) -> Any:
            return Number(x.tape, "", x.value[which]) if isinstance(x, Number) else x

        features = [Feature(_changed(f.start, some), f.fixed) for f in self.sharing.features]
        return Alike(
            self.groups[which],
            self.ids[which],
            replace(self.sharing, features=features),
            _renumbered(self.frame, some, int),
            [_changed(x, some) for x in self.places],
        )

    def one(self, m: int) -> Frame:
        """The frame of one of its groups, over floats."""
        ids = self.ids[m].tolist()
        return _renumbered(self.frame, lambda x: value_of(x, m), ids.__getitem__)

    def relations(self, m: int) -> list[tuple[Linear, int]]:
        """The linear relations of one of its groups."""
        ids = self.ids[m].tolist()
        return _relations(self.frame, lambda x: value_of(x, m), ids.__getitem__)

    def variables(self, local: list[int]) -> Ints:
        """The numbers that some of its variables have in each group, (n, variables)."""
        at = np.array(local, dtype=np.int64)
        return 3 * self.ids[:, at // 3] + at % 3

    def floats(self, x: Scalar) -> Floats:
        """A scalar in each group."""
        return x.value if isinstance(x, Number) else np.full(len(self.groups), float(x))


def value_of(x: Scalar, m: int) -> float:
    """One of the numbers that are side by side."""
    return float(x.value[m]) if isinstance(x, Number) else x


def _changed(x: Any, change: Callable[[Any], Any]) -> Any:
    """The same lists, tuples and rows of other scalars."""
    if isinstance(x, dict):
        return {i: change(c) for i, c in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(_changed(y, change) for y in x)
    return change(x)


def _renumbered(frame: Frame, change: Callable[[Any], Any], number: Callable[[int], int]) -> Frame:
    """The same frame with other scalars and other numbers of features."""

    def linear(rows: Linear) -> Linear:
        return _renumbered_rows(rows, change, number)

    return Frame(
        origin=number(frame.origin),
        vectors=[FrameVector(linear(v.linear), _changed(v.start, change)) for v in frame.vectors],
        directions=_changed(frame.directions, change),
        origin_start=_changed(frame.origin_start, change),
        gram=_changed(frame.gram, change),
        products=list(frame.products),
        relations=_relations(frame, change, number),
        duals=_changed(frame.duals, change),
    )


def _relations(
    frame: Frame, change: Callable[[Any], Any], number: Callable[[int], int]
) -> list[tuple[Linear, int]]:
    return [(_renumbered_rows(rows, change, number), number(k)) for rows, k in frame.relations]


def _renumbered_rows(
    rows: Linear, change: Callable[[Any], Any], number: Callable[[int], int]
) -> Linear:
    return [{3 * number(i // 3) + i % 3: change(c) for i, c in row.items()} for row in rows]


@dataclass(frozen=True)
class Workshop:
    """What classes are made of; place, direction, mass: of a place [m], a direction, bodies in the model.

    columns: bodies as arrays, if each is a group of its own, in their order, and they were read so.
    """

    sharing: Sharing
    wanted: Wants
    place: Callable[[Any], Vector]
    direction: Callable[[Any], Vector]
    mass: Callable[[Group], Mass]
    columns: Columns | None

    def classes(self) -> list[Alike]:
        """All classes of many; what is of its own kind is in none of them."""
        if len(self.sharing.groups) <= LEAST:
            return []
        try:
            starts = as_rows([f.start for f in self.sharing.features])
            with abreast():
                return [alike for kind in self._kinds() for alike in self._parts(*kind, starts)]
        except UntracedError:
            # a tape writes down what each of them does
            return []

    def _kinds(self) -> list[tuple[Ints, Ints]]:
        """Groups of as many bodies, features and wanted places as each other, held alike; with these features."""
        sharing = self.sharing
        alone = np.bincount(sharing.turning_with)[sharing.turning_with] == 1
        # bodies that turn as one have one frame to keep them rigid; the ground has none
        alone[0] = False
        points = np.array([len(g.points) for g in sharing.groups])
        axes = np.array([len(g.axes) for g in sharing.groups])
        bodies = np.array([len(g.bodies) for g in sharing.groups])
        usual = alone & (points + axes <= FEATURES) & (bodies == 1)
        kinds: dict[tuple, list[int]] = defaultdict(list)
        for i in np.flatnonzero(alone & ~usual & (points <= FEW)).tolist():
            kinds[self._kind(i, sharing.groups[i])].append(i)
        few = [np.array(groups) for groups in kinds.values()]
        counts = points + axes
        found = [(groups, np.sort(self._ids(groups, counts[groups]), axis=1)) for groups in few]
        if usual.any():
            found += self._usual_kinds(np.flatnonzero(usual), points, axes)
        return sorted(found, key=lambda kind: kind[0][0])

    def _usual_kinds(self, groups: Ints, points: Ints, axes: Ints) -> list[tuple[Ints, Ints]]:
        """The same of groups of one body with few features, by a row of numbers for each."""
        counts = points[groups] + axes[groups]
        ids = self._ids(groups, counts)
        order = np.argsort(ids, axis=1, kind="stable")
        rank = np.argsort(order, axis=1)
        ids = np.take_along_axis(ids, order, axis=1)
        fixed = np.array([*(f.fixed for f in self.sharing.features), False])
        # what is beyond their number is the same for all
        held = fixed[np.minimum(ids, len(fixed) - 1)]
        rows = np.column_stack(
            [
                points[groups],
                axes[groups],
                self._shapes(groups),
                self.wanted.sizes[groups],
                rank,
                held,
            ]
        )
        order = np.lexsort(rows.T)
        begins = np.append(True, (rows[order][1:] != rows[order][:-1]).any(axis=1))
        cuts = np.flatnonzero(begins)[1:]
        parts = (np.split(x[order], cuts) for x in (groups, ids, counts))
        return [(own, found[:, : count[0]]) for own, found, count in zip(*parts, strict=True)]

    def _shapes(self, groups: Ints) -> Ints:
        """How many dimensions the inertias of groups of one body have."""
        if self.columns is not None and self.columns.inertia is not None:
            return np.zeros_like(groups)
        members = [self.sharing.groups[i] for i in groups.tolist()]
        return np.array([g.bodies[0].inertia.ndim for g in members])

    def _ids(self, groups: Ints, counts: Ints) -> Ints:
        """Features of groups, points before axes, (n, features); behind the last of a group large numbers."""
        members = [self.sharing.groups[i] for i in groups.tolist()]
        points = [g.points for g in members]
        out = np.full((len(members), counts.max(initial=0)), np.iinfo(np.int64).max)
        place = np.arange(out.shape[1])
        first = np.fromiter(map(len, points), np.int64, len(members))[:, None]
        is_axis = (place >= first) & (place < counts[:, None])
        out[place < first] = [*chain.from_iterable(points)]
        out[is_axis] = [*chain.from_iterable([g.axes for g in members])]
        return out

    def _kind(self, i: int, group: Group) -> tuple:
        """What groups of a class have in common."""
        features, wanted = self.sharing.features, self.wanted[i]
        ids = sorted((*group.points, *group.axes))
        place = {k: n for n, k in enumerate(ids)}
        return (
            tuple(b.inertia.ndim for b in group.bodies),
            tuple([place[k] for k in group.points]),
            tuple([place[k] for k in group.axes]),
            tuple([features[k].fixed for k in ids]),
            wanted.read,
            len(wanted.places),
            len(wanted.directions),
        )

    def _parts(self, groups: Ints, ids: Ints, starts: Floats) -> Iterator[Alike]:
        """Classes of groups of a kind: those that decide alike; ids: their features, in order."""
        if len(groups) < LEAST:
            return
        try:
            yield self._make(groups, ids, starts)
        except PartedError as parted:
            for some in (parted.args[0], ~parted.args[0]):
                yield from self._parts(groups[some], ids[some], starts)
        except FloatingPointError:
            # whatever it is, one by one it is told as it is
            return

    def _make(self, groups: Ints, ids: Ints, starts: Floats) -> Alike:
        side, first = Abreast(), self.sharing.groups[groups[0]]
        place = {k: n for n, k in enumerate(ids[0].tolist())}
        features = [
            Feature(tuple(side.values(starts[ids[:, n]])), self.sharing.features[k].fixed)
            for k, n in place.items()
        ]
        bodies = [self._body_of(side, groups, n) for n in range(len(first.bodies))]
        group = Group(bodies, [place[k] for k in first.points], [place[k] for k in first.axes])
        columns = self.wanted.stacked(groups)
        places, directions = ([side.values(x) for x in column] for column in columns)
        wanted = Wanted(places, directions, int(self.wanted.sizes[groups[0], 0]))
        sharing = Sharing([Group(), group], {}, features, [0, 1])
        wanted.find(self.place, self.direction)
        frame = make_frame(sharing, group, self.mass(group), wanted)
        places = [frame.point(p) for p in wanted.points[: wanted.read]]
        return Alike(groups, ids, sharing, frame, places)

    def _body_of(self, side: Abreast, groups: Ints, n: int) -> Body:
        """The n-th bodies of groups side by side as one."""
        c = self.columns
        if c is not None and c.inertia is not None:
            own = groups - 1
            columns: tuple[Any, ...] = c.mass[own], c.center.rows[own], c.inertia[own]
        else:
            bodies = [self.sharing.groups[i].bodies[n] for i in groups.tolist()]
            columns = (
                [b.mass for b in bodies],
                [b.center for b in bodies],
                [b.inertia for b in bodies],
            )
        mass, center, inertia = (side.values(stacked(x)) for x in columns)
        return Body("", mass.item(), center, inertia)
