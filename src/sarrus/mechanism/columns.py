"""Bodies and joints of a large mechanism as arrays, read once: to read objects takes longer than to reckon.

They stay with the mechanism and its copies, and hold while its parts are the same objects with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..tape import UntracedError
from .elements import GROUND
from .joint_kinds import JointKind, Row

if TYPE_CHECKING:
    from .joints import Joint
    from .mechanism import Mechanism

# bodies or joints from which on they are read so: fewer are asked one by one
MANY = 64
FLOAT = np.dtype(np.float64)
# of kinds by their ids: to hash one takes longer
_NUMBERS = {id(kind): n for n, kind in enumerate(JointKind)}


class Vectors(NamedTuple):
    """Vectors as rows, and which of them have as many numbers as they should, all finite; zeros for others."""

    rows: Floats
    good: Flags


def read_columns(m: Mechanism) -> Columns | None:
    """The columns of a mechanism; None where it has few parts, or numbers of a tape."""
    if max(len(m.bodies), len(m.joints)) < MANY:
        return None
    known = m.columns
    if known is None or not known.are_of(m):
        try:
            known = Columns(m)
        except UntracedError:
            known = None
        m.columns = known
    return known


def parts_of(m: Mechanism) -> Columns | None:
    """The columns that were read last, if bodies and joints are still the same objects, whatever their numbers."""
    known = m.columns
    return known if known is not None and known.have_parts_of(m) else None


class Columns:
    """What is read of bodies and joints.

    Bodies: names, number (of each name; the ground is behind all), mass, section, is_rod, center, start, end.
    Joints: joint_names, kind, counts (of their ends), is_one (whether all ends have the place and axis of the
    first). Ends of joints, one after the other: joint, body (-1 if there is none of that name), place and axis, by
    their rows in `places` and `axes`: those of first ends of joints, behind them what others have of their own.
    bits: all numbers, to compare.
    """

    def __init__(self, m: Mechanism) -> None:
        bodies, joints, self.dimension = list(m.bodies), list(m.joints), m.dimension
        self.bodies, self.joints = bodies, joints
        self.names = [b.name for b in bodies]
        self.number = {name: n for n, name in enumerate(self.names)}
        self.number.setdefault(GROUND, len(bodies))
        self.mass, self.has_mass = read_numbers([b.mass for b in bodies])
        self.section, self.has_section = read_numbers([b.section for b in bodies])
        self.is_rod = np.array([b.ends is not None for b in bodies], dtype=bool)
        centers, inertias = [b.center for b in bodies], [b.inertia for b in bodies]
        rods = [b.ends or (None, None) for b in bodies]
        starts, ends = [a for a, _ in rods], [b for _, b in rods]
        self._read_joints()
        self._arrays = centers, inertias, starts, ends, self._places, self._axes
        self.bits = [_bits_of(x) for x in self._arrays]
        self.center, self.start, self.end, self.places, self.axes = (
            read_vectors(self._arrays[i], m.dimension, self.bits[i]) for i in (0, 2, 3, 4, 5)
        )

    def _read_joints(self) -> None:
        joints = self.joints
        self.joint_names = [j.name for j in joints]
        self.kind = np.array([_NUMBERS[id(j.kind)] for j in joints], dtype=np.int64)
        each = [j.ends for j in joints]
        ends = [end for own in each for end in own]
        self.counts = np.fromiter(map(len, each), np.int64, len(joints))
        self.joint = np.repeat(np.arange(len(joints)), self.counts)
        number = self.number
        self.body = np.array([number.get(e.body, -1) for e in ends], dtype=np.int64)
        self._places, self.place = self._distinct([e.place for e in ends])
        self._axes, self.axis = self._distinct([e.axis for e in ends])
        self.has_place = np.array([x is not None for x in self._places], dtype=bool)
        self.has_axis = np.array([x is not None for x in self._axes], dtype=bool)
        own = np.maximum(self.place, self.axis) >= len(joints)
        self.is_one = np.bincount(self.joint[own], minlength=len(joints)) == 0

    def _distinct(self, values: list[Any]) -> tuple[list[Any], Ints]:
        """What the first ends of joints have, then what others have of their own; and which each end has."""
        n = len(self.joints)
        first = np.cumsum(self.counts) - self.counts
        ids = np.fromiter(map(id, values), np.int64, len(values))
        # a joint without bodies has nothing
        some = self.counts > 0
        firsts = [
            values[i] if has else None for i, has in zip(first.tolist(), some.tolist(), strict=True)
        ]
        row = self.joint.copy()
        own = np.flatnonzero(ids != np.repeat(ids[first[some]], self.counts[some]))
        row[own] = n + np.arange(len(own))
        return firsts + [values[i] for i in own.tolist()], row

    def have_parts_of(self, m: Mechanism) -> bool:
        """Whether a mechanism has the same bodies and joints, whatever their numbers are by now."""
        return self.bodies == m.bodies and self.joints == m.joints and self.dimension == m.dimension

    def are_of(self, m: Mechanism) -> bool:
        """Whether they are those of a mechanism as it is now: parts never change, but numbers in arrays may."""
        return self.have_parts_of(m) and self.bits == [_bits_of(x) for x in self._arrays]

    @property
    def points(self) -> list[Any]:
        """Places of the first ends of joints, as they are."""
        return self._places[: len(self.joints)]

    @cached_property
    def inertia(self) -> Floats | None:
        """Inertias of all bodies, (n,) or (n, 3, 3); None if they are of several shapes."""
        inertias, bits = self._arrays[1], self.bits[1]
        shapes, kinds = {x.shape for x in inertias}, {x.dtype for x in inertias}
        if len(shapes) != 1 or kinds != {FLOAT}:
            return None
        return np.frombuffer(bits).reshape(-1, *shapes.pop())

    def are(self, is_so: Callable[[Row], bool]) -> Flags:
        """Whether something holds for the kind of each joint."""
        return np.array([is_so(kind.row) for kind in JointKind])[self.kind]


def joints_that(m: Mechanism, columns: Columns | None, are: Callable[[Row], bool]) -> list[Joint]:
    """Joints of kinds for which something holds; columns: those of the mechanism, if they were read."""
    if columns is None:
        return [joint for joint in m.joints if are(joint.kind.row)]
    return [m.joints[i] for i in np.flatnonzero(columns.are(are)).tolist()]


def read_numbers(values: list[Any]) -> tuple[Floats, Flags]:
    """Floats or arrays of one number, and which of them are finite."""
    if set(map(type, values)) <= {float}:
        found = np.array(values, dtype=float)
        return found, np.isfinite(found)
    good = np.array([type(x) is float or getattr(x, "shape", None) == () for x in values])
    found = np.zeros(len(values))
    found[good] = [float(x) for x, is_good in zip(values, good.tolist(), strict=True) if is_good]
    return found, good & np.isfinite(found)


def read_vectors(values: list[Any], width: int, bits: bytes) -> Vectors:
    """Vectors of floats, or None, as rows; bits: theirs."""
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
    # what is no number would only make noise
    rows[~good] = 0.0
    return Vectors(rows, good)


def _bits_of(arrays: Sequence[Any]) -> bytes:
    given = [x for x in arrays if x is not None]
    try:
        return b"".join(given)
    except (BufferError, TypeError, ValueError):
        # not in a row in memory
        return b"".join([x.tobytes() for x in given])
