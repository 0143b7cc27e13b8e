"""Bodies and joints of a mechanism as arrays, read once: reading objects takes longer than computing with them.

The arrays are shared by the mechanism and its copies, and are valid while its parts are the same objects with the
same numbers. Numbers may be traced; the arrays then contain objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..tracing import TracedNumber
from .elements import GROUND
from .joint_kinds import JointKind, Row
from .joints import End, Joint

if TYPE_CHECKING:
    from .bodies import Body
    from .mechanism import Mechanism

FLOAT, OBJECT = np.dtype(np.float64), np.dtype(object)
# kinds by their ids: hashing a kind takes longer
_NUMBERS = {id(kind): n for n, kind in enumerate(JointKind)}


class Vectors(NamedTuple):
    """Vectors as rows, and which of them are finite and of the right length; zeros for the others."""

    rows: Floats
    good: Flags


def read_parts(m: Mechanism) -> PartArrays:
    """The current parts of a mechanism."""
    known = m.part_arrays
    if known is None or not known.are_of(m):
        known = m.part_arrays = PartArrays(m)
    return known


def known_parts(m: Mechanism) -> PartArrays:
    """The same if they were just read: compares only the objects, not their numbers."""
    known = m.part_arrays
    return known if known is not None and known.have_parts_of(m) else read_parts(m)


class PartArrays:
    """Bodies, joints and ends of joints, in their order.

    Bodies: names, mass, section, is_rod, center, start, end. Joints: joint_names, kind, counts (of their ends),
    is_one (whether all ends have the point and axis of the first). Ends, joint by joint: joint, body (the ground
    comes after all bodies; -1 for an unknown name), place and axis: their rows in `places` and `axes`,
    which contain those of the first ends of all joints, then those of other ends that differ.
    bits: all numbers, to compare; is_traced: whether they are traced, in which case they are not compared.
    remarks: possible mistakes in them (check.py), once they are found.
    """

    remarks: list[str] | None = None

    def __init__(self, m: Mechanism) -> None:
        bodies, joints, self.dimension = list(m.bodies), list(m.joints), m.dimension
        self.bodies, self.joints = bodies, joints
        self.names = [b.name for b in bodies]
        self.joint_names = [j.name for j in joints]
        each = [j.ends for j in joints]
        self._ends = [end for own in each for end in own]
        self.counts = np.array([len(own) for own in each], dtype=np.int64)
        places, self.place = _distinct([[e.place for e in own] for own in each])
        axes, self.axis = _distinct([[e.axis for e in own] for own in each])
        rods = [b.ends or (None, None) for b in bodies]
        self._arrays: tuple[list[Any], ...] = (
            [b.center for b in bodies],
            [b.inertia for b in bodies],
            [a for a, _ in rods],
            [b for _, b in rods],
            places,
            axes,
        )
        # shapes and types in each list
        self._kinds = [{(x.shape, x.dtype) for x in some if x is not None} for some in self._arrays]
        scalars = {type(x) for b in bodies for x in (b.mass, b.section)}
        self.is_traced = TracedNumber in scalars or any(
            dtype == OBJECT for kinds in self._kinds for _, dtype in kinds
        )
        self.bits = [] if self.is_traced else [_bits_of(x) for x in self._arrays]

    def have_parts_of(self, m: Mechanism) -> bool:
        """Whether a mechanism has the same bodies and joints, whatever their current numbers."""
        return self.bodies == m.bodies and self.joints == m.joints and self.dimension == m.dimension

    def are_of(self, m: Mechanism) -> bool:
        """Whether they match the current mechanism: parts are immutable, but numbers in arrays may change."""
        return self.have_parts_of(m) and self.bits == [_bits_of(x) for x in self._arrays]

    # the whole mechanism

    @cached_property
    def topology(self) -> tuple[Any, ...] | None:
        """Everything except the numbers, to compare; None if an array is invalid."""
        vector, inertia = (self.dimension,), () if self.dimension == 2 else (3, 3)
        for kinds, shape in zip(self._kinds, (vector, inertia, *[vector] * 4), strict=True):
            if not kinds <= {(shape, FLOAT), (shape, OBJECT)}:
                return None
        whole = self.kind, self.counts, self.body, self.place, self.axis
        flags = self.is_rod, self.has_place, self.has_axis
        tables = [x.tobytes() for x in (*whole, *flags)]
        return self.dimension, tuple(self.names), tuple(self.joint_names), *tables

    @cached_property
    def numbers(self) -> Any:
        """All numbers in one sequence, as for `with_numbers`: floats as an array, traced numbers as a list."""
        if self.is_traced:
            given = [x for values in self._arrays for x in values if x is not None]
            scalars = [x for array in given for x in array.ravel().tolist()]
            return [*self.mass.tolist(), *(b.section for b in self.bodies), *scalars]
        return np.frombuffer(b"".join([self.mass.tobytes(), self.section[0].tobytes(), *self.bits]))

    def with_numbers(self, numbers: Iterator[Any]) -> tuple[list[Body], list[Joint]]:
        """The same bodies and joints with other numbers."""
        masses, sections = ([next(numbers) for _ in self.bodies] for _ in range(2))
        made: list[list[Any]] = [
            [None if x is None else take_array(x, numbers) for x in values]
            for values in self._arrays
        ]
        centers, inertias, starts, ends, places, axes = made
        bodies = [
            replace(
                body,
                mass=masses[n],
                section=sections[n],
                center=centers[n],
                inertia=inertias[n],
                ends=None if body.ends is None else (starts[n], ends[n]),
            )
            for n, body in enumerate(self.bodies)
        ]
        rows = zip(self._ends, self.place.tolist(), self.axis.tolist(), strict=True)
        each = (End(end.body, places[place], axes[axis]) for end, place, axis in rows)
        joints = [replace(j, ends=tuple(itertools.islice(each, len(j.ends)))) for j in self.joints]
        return bodies, joints

    # bodies

    @cached_property
    def number(self) -> dict[str, int]:
        """The index of each body in the list; the ground comes after all bodies."""
        found = {name: n for n, name in enumerate(self.names)}
        found.setdefault(GROUND, len(self.bodies))
        return found

    @cached_property
    def mass(self) -> Floats:
        """Masses [kg]; zero for invalid ones."""
        return self._masses[0]

    @property
    def has_mass(self) -> Flags:
        """Which masses are finite."""
        return self._masses[1]

    @cached_property
    def _masses(self) -> tuple[Floats, Flags]:
        return read_numbers([b.mass for b in self.bodies])

    @cached_property
    def section(self) -> tuple[Floats, Flags]:
        """Sections of rods [m], and which of them are finite."""
        return read_numbers([b.section for b in self.bodies])

    @cached_property
    def is_rod(self) -> Flags:
        """Which bodies are rods."""
        return np.array([b.ends is not None for b in self.bodies], dtype=bool)

    @cached_property
    def center(self) -> Vectors:
        """Centres of mass [m]."""
        return self._vectors(0)

    @cached_property
    def inertia(self) -> Any:
        """Inertias of all bodies, (n,) or (n, 3, 3); a list if they are traced or of several shapes."""
        inertias = self._arrays[1]
        usual = len({x.shape for x in inertias}) == 1 and {x.dtype for x in inertias} == {FLOAT}
        if self.is_traced or not usual:
            return inertias
        return np.frombuffer(self.bits[1]).reshape(-1, *inertias[0].shape)

    @cached_property
    def start(self) -> Vectors:
        """Starts of rods [m]."""
        return self._vectors(2)

    @cached_property
    def end(self) -> Vectors:
        """Ends of rods [m]."""
        return self._vectors(3)

    # joints

    @cached_property
    def joint(self) -> Ints:
        """The joint of each end."""
        return np.repeat(np.arange(len(self.joints)), self.counts)

    @cached_property
    def kind(self) -> Ints:
        """Kinds of joints by number."""
        return np.array([_NUMBERS[id(j.kind)] for j in self.joints], dtype=np.int64)

    @cached_property
    def body(self) -> Ints:
        """Bodies of the ends."""
        number = self.number
        return np.array([number.get(e.body, -1) for e in self._ends], dtype=np.int64)

    @cached_property
    def places(self) -> Vectors:
        """Points of the ends [m], once per joint if they are the same."""
        return self._vectors(4)

    @cached_property
    def axes(self) -> Vectors:
        """Axes of the ends."""
        return self._vectors(5)

    @cached_property
    def has_place(self) -> Flags:
        """Which rows of `places` exist."""
        return np.array([x is not None for x in self._arrays[4]], dtype=bool)

    @cached_property
    def has_axis(self) -> Flags:
        """Which rows of `axes` exist."""
        return np.array([x is not None for x in self._arrays[5]], dtype=bool)

    @cached_property
    def is_one(self) -> Flags:
        """Joints all of whose ends have the point and axis of the first."""
        n = len(self.joints)
        own = np.maximum(self.place, self.axis) >= n
        return np.bincount(self.joint[own], minlength=n) == 0

    def are(self, is_so: Callable[[Row], bool]) -> Flags:
        """Whether the kind of each joint satisfies a condition."""
        return np.array([is_so(kind.row) for kind in JointKind])[self.kind]

    def joints_that(self, are: Callable[[Row], bool]) -> list[Joint]:
        """Joints whose kind satisfies a condition."""
        return [self.joints[i] for i in np.flatnonzero(self.are(are)).tolist()]

    def _vectors(self, i: int) -> Vectors:
        values = self._arrays[i]
        if not self.is_traced:
            return read_vectors(values, self.dimension, self.bits[i])
        good = np.array([x is not None for x in values], dtype=bool)
        rows = np.zeros((len(values), self.dimension), dtype=object)
        for n in np.flatnonzero(good).tolist():
            rows[n] = values[n]
        return Vectors(rows, good)


def _distinct(each: list[list[Any]]) -> tuple[list[Any], Ints]:
    """Values of the first ends of joints, then those of other ends that differ; and the index for each end."""
    # a joint without bodies has no ends
    firsts = [own[0] if own else None for own in each]
    others: list[Any] = []
    rows: list[int] = []
    for joint, (first, own) in enumerate(zip(firsts, each, strict=True)):
        for value in own:
            if value is first:
                rows.append(joint)
            else:
                rows.append(len(each) + len(others))
                others.append(value)
    return firsts + others, np.array(rows, dtype=np.int64)


def take_array(like: Any, numbers: Iterator[Any]) -> Any:
    """An array of the same shape filled with the next numbers of a sequence; of objects if they are traced."""
    values = list(itertools.islice(numbers, like.size))
    out = np.empty(like.size, dtype=object if TracedNumber in set(map(type, values)) else float)
    out[:] = values
    return out.reshape(like.shape)


def read_numbers(values: list[Any]) -> tuple[Floats, Flags]:
    """Floats or arrays of one number, and which of them are finite; traced numbers unchanged."""
    kinds = set(map(type, values))
    if kinds <= {float}:
        found = np.array(values, dtype=float)
        return found, np.isfinite(found)
    if TracedNumber in kinds:
        return np.array(values, dtype=object), np.ones(len(values), bool)
    good = np.array([isinstance(x, int | float) or getattr(x, "shape", None) == () for x in values])
    found = np.zeros(len(values))
    found[good] = [float(x) for x, is_good in zip(values, good.tolist(), strict=True) if is_good]
    return found, good & np.isfinite(found)


def read_vectors(values: list[Any], width: int, bits: bytes) -> Vectors:
    """Vectors of floats, or None, as rows; bits: their bytes."""
    shape = (width,)
    given = [x for x in values if x is not None]
    usual = {x.dtype for x in given} == {FLOAT} and {x.shape for x in given} == {shape}
    if usual and len(given) == len(values):
        rows = np.frombuffer(bits).reshape(-1, width)
        if np.isfinite(rows).all():
            return Vectors(rows, np.ones(len(rows), bool))
    good = np.array([x is not None and x.shape == shape for x in values], dtype=bool)
    rows = np.zeros((len(values), width))
    if good.any():
        some = [values[i] for i in np.flatnonzero(good).tolist()]
        rows[good] = np.concatenate(some).astype(float).reshape(-1, width)
    good &= np.isfinite(rows).all(axis=1)
    # invalid values would only cause warnings
    rows[~good] = 0.0
    return Vectors(rows, good)


def _bits_of(arrays: Sequence[Any]) -> bytes:
    given = [x for x in arrays if x is not None]
    try:
        return b"".join(given)
    except (BufferError, TypeError, ValueError):
        # not contiguous in memory
        return b"".join([x.tobytes() for x in given])
