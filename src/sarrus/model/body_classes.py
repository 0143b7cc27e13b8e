"""Classes of bodies: a long chain repeats the same body many times.

Groups of bodies with equal numbers of joint points, axes and required points, fixed in the same way, form a
class. The code that makes a frame and everything that follows from it runs once, vectorised over all groups
of the class (`tracing.VectorTrace`). If the groups decide differently (other arms are longer, terms vanish)
the class is split. Small classes become classes of one with plain numbers: floats or traced numbers. The
bits are the same either way.

A batched class ("of many") numbers its features itself: those that its groups share, in their order, then
those that frames add. A class of one uses the numbers of the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import Body
from ..mechanism.part_arrays import PartArrays
from ..tracing import (
    PartedError,
    Scalar,
    TracedNumber,
    UntracedError,
    VectorTrace,
    vector_arithmetic,
)
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joint_constraints import FEW, Feature, Group, Sharing, as_rows
from .points import Wants
from .vectors import ZERO, Vector

# fewer groups become classes of one; this is about the overhead of a batched class
LEAST = 16


@dataclass(eq=False)
class BodyClass:
    """A class: its groups in order, and their common frame.

    places: linear forms of the points that are read by name. For a batched class, features: its own;
    numbers: their numbers in the mechanism, (n, features).
    """

    groups: Ints
    frame: Frame
    places: list[Linear]
    numbers: Ints | None = None
    features: list[Feature] | None = None

    @property
    def is_many(self) -> bool:
        """Whether the class is batched: scalars are vectors over its groups, and it numbers its features."""
        return self.numbers is not None

    @property
    def added(self) -> int:
        """Number of features that the frame of a batched class adds to the shared ones."""
        assert self.numbers is not None
        assert self.features is not None
        return len(self.features) - self.numbers.shape[1]

    def add_numbers(self, first: Ints) -> None:
        """Number the features that its frame adds; first: that of each group."""
        assert self.numbers is not None
        self.numbers = np.hstack([self.numbers, first[:, None] + np.arange(self.added)])

    def split(self) -> list[BodyClass]:
        """The groups of a batched class as classes of one."""
        return [self.member(m) for m in range(len(self.groups))]

    def part(self, which: Ints) -> BodyClass:
        """A subset of the groups of a batched class, by their indices in it."""

        def some(x: Any) -> Any:
            return TracedNumber(x.tape, "", x.value[which]) if isinstance(x, TracedNumber) else x

        assert self.numbers is not None
        assert self.features is not None
        features = [Feature(_changed(f.start, some), f.fixed) for f in self.features]
        frame = _renumbered(self.frame, some, int)
        places = [_changed(x, some) for x in self.places]
        return BodyClass(self.groups[which], frame, places, self.numbers[which], features)

    def one(self, m: int) -> Frame:
        """The frame of its m-th group, with plain numbers and the mechanism's features."""
        return self.frame if self.numbers is None else _renumbered(self.frame, *self._plain(m))

    def relations(self, m: int) -> list[tuple[Linear, int]]:
        """The linear relations of its m-th group."""
        return (
            self.frame.relations
            if self.numbers is None
            else _relations(self.frame, *self._plain(m))
        )

    def variables(self, own: list[int]) -> Ints:
        """The numbers that some of its variables have in the mechanism, for each group: (n, variables)."""
        at = np.array(own, dtype=np.int64)
        return at[None] if self.numbers is None else 3 * self.numbers[:, at // 3] + at % 3

    def floats(self, x: Scalar) -> Floats:
        """The values of a scalar of a batched class in each group."""
        return x.value if isinstance(x, TracedNumber) else np.full(len(self.groups), float(x))

    def _plain(self, m: int) -> tuple[Callable[[Any], Any], Callable[[int], int]]:
        """Functions that give the scalars and features of the m-th group."""
        assert self.numbers is not None
        numbers = self.numbers[m].tolist()
        return (
            lambda x: float(x.value[m]) if isinstance(x, TracedNumber) else x,
            numbers.__getitem__,
        )

    def member(self, m: int) -> BodyClass:
        """A group of a batched class as a class of one."""
        change, number = self._plain(m)
        places = [_renumbered_rows(rows, change, number) for rows in self.places]
        return BodyClass(self.groups[m : m + 1], self.one(m), places)


def _changed(x: Any, change: Callable[[Any], Any]) -> Any:
    """The same lists, tuples and rows with other scalars."""
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


class ClassMaker:
    """Makes all classes; place, direction, mass: convert a point [m], a direction, a group to the model."""

    def __init__(
        self,
        sharing: Sharing,
        wanted: Wants,
        parts: PartArrays,
        place: Callable[[Any], Vector],
        direction: Callable[[Any], Vector],
        mass: Callable[[Group], Mass],
    ) -> None:
        self.sharing, self.wanted, self.parts = sharing, wanted, parts
        self.place, self.direction, self.mass = place, direction, mass

    def classes(self) -> list[BodyClass]:
        """All classes, batched ones first; each group except the ground is in one of them."""
        sharing, count = self.sharing, len(self.sharing.groups)
        many = self._classes_of_many()
        # number of features that each group adds; -1 if it is in none of these classes
        added, first = np.full((2, count), -1)
        for c in many:
            added[c.groups] = c.added
        ones = []
        for i, more in enumerate(added[1:].tolist(), start=1):
            if more < 0:
                ones.append(self._class_of_one(i))
            elif more:
                first[i] = len(sharing.features)
                # their values stay in the class
                sharing.features += [Feature(ZERO, False)] * more
        for c in many:
            c.add_numbers(first[c.groups])
        return many + ones

    def _class_of_one(self, i: int) -> BodyClass:
        group, wanted = self.sharing.groups[i], self.wanted[i]
        return self._framed(np.array([i]), self.sharing, group, wanted)

    def _framed(self, groups: Ints, sharing: Sharing, group: Group, wanted: Wanted) -> BodyClass:
        """A class, from one of its groups."""
        wanted.find(self.place, self.direction)
        frame = make_frame(sharing, group, self.mass(group), wanted)
        places = [frame.point(p) for p in wanted.points[: wanted.read]]
        return BodyClass(groups, frame, places)

    def _classes_of_many(self) -> list[BodyClass]:
        # a tape records the operations of each body; unchecked parts may have inertias of several shapes
        each = self.parts.is_traced or not isinstance(self.parts.inertia, np.ndarray)
        if each or len(self.sharing.groups) <= LEAST:
            return []
        try:
            starts = as_rows([f.start for f in self.sharing.features])
            with vector_arithmetic():
                return [c for kind in self._kinds() for c in self._parts(*kind, starts)]
        except UntracedError:
            # the required points or directions are traced
            return []

    def _kinds(self) -> list[tuple[Ints, Ints]]:
        """Groups with equal numbers of bodies, features and required points, fixed alike; with the features."""
        sharing = self.sharing
        alone = np.bincount(sharing.turning_with)[sharing.turning_with] == 1
        # bodies that rotate as one have one rigid frame; the ground has none
        alone[0] = False
        points, axes, bodies = (
            np.array([len(getattr(g, name)) for g in sharing.groups])
            for name in ("points", "axes", "bodies")
        )
        fixed = np.array([f.fixed for f in sharing.features], dtype=bool)
        found: list[tuple[Ints, Ints]] = []
        for count in np.unique((points + axes)[alone & (points + axes <= FEW)]).tolist():
            groups = np.flatnonzero(alone & (points + axes == count))
            ids = self._features_of(groups, count)
            order = np.argsort(ids, axis=1, kind="stable")
            rank, ids = np.argsort(order, axis=1), np.take_along_axis(ids, order, axis=1)
            sizes = [points[groups], bodies[groups], self.wanted.sizes[groups], rank, fixed[ids]]
            kinds = np.column_stack(sizes)
            order = np.lexsort(kinds.T)
            cuts = 1 + np.flatnonzero((kinds[order][1:] != kinds[order][:-1]).any(axis=1))
            found += zip(*(np.split(x[order], cuts) for x in (groups, ids)), strict=True)
        return sorted(found, key=lambda kind: kind[0][0])

    def _features_of(self, groups: Ints, count: int) -> Ints:
        """Features of groups that have `count` of them, points before axes, (n, count)."""
        members = [self.sharing.groups[i] for i in groups.tolist()]
        each = chain.from_iterable(chain(g.points, g.axes) for g in members)
        return np.fromiter(each, np.int64, count * len(members)).reshape(len(members), count)

    def _parts(self, groups: Ints, ids: Ints, starts: Floats) -> Iterator[BodyClass]:
        """Classes of groups of a kind that decide alike; ids: their features, in order."""
        if len(groups) < LEAST:
            return
        try:
            yield self._class_of_many(groups, ids, starts)
        except PartedError as parted:
            for some in (parted.args[0], ~parted.args[0]):
                yield from self._parts(groups[some], ids[some], starts)
        except FloatingPointError:
            # the error is reported when the groups are processed one by one
            return

    def _class_of_many(self, groups: Ints, ids: Ints, starts: Floats) -> BodyClass:
        side, first = VectorTrace(), self.sharing.groups[groups[0]]
        place = {k: n for n, k in enumerate(ids[0].tolist())}
        features = [
            Feature(tuple(side.values(starts[ids[:, n]])), self.sharing.features[k].fixed)
            for k, n in place.items()
        ]
        bodies = [self._body_of(side, groups, n) for n in range(len(first.bodies))]
        group = Group(bodies, [place[k] for k in first.points], [place[k] for k in first.axes])
        places, directions = (
            [side.values(x) for x in column] for column in self.wanted.stacked(groups)
        )
        wanted = Wanted(places, directions, int(self.wanted.sizes[groups[0], 0]))
        sharing = Sharing([Group(), group], {}, features, [0, 1])
        return replace(
            self._framed(groups, sharing, group, wanted), numbers=ids, features=sharing.features
        )

    def _body_of(self, side: VectorTrace, groups: Ints, n: int) -> Body:
        """The n-th bodies of several groups as one vectorised body."""
        parts, order, first = self.parts, *self.sharing.members
        which = order[first[groups] + n]
        columns = parts.mass[which], parts.center.rows[which], parts.inertia[which]
        mass, center, inertia = (side.values(x) for x in columns)
        return Body("", mass.item(), center, inertia)
