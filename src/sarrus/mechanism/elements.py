"""Base class of all parts of a mechanism (moving, scaling, checking, writing to files), and their errors.

A mechanism only iterates over its parts; each new kind of part implements these methods in its own dataclass.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..names import describe_known
from ..thresholds import TYPED_GAP
from ..tracing import UNUSABLE, TracedNumber, UntracedError, is_usable, largest

if TYPE_CHECKING:
    from .bodies import Body
    from .joints import Joint
    from .mechanism import Mechanism

# most problems that are listed: a file may have thousands
MOST_PROBLEMS = 50


class MechanismError(ValueError):
    """The mechanism cannot be simulated; the message says why and what to do."""


class LockedError(MechanismError):
    """The mechanism is locked: no motion keeps all joints closed."""


class ModelFileError(MechanismError):
    """A model file or its data cannot be read; `problems` has a line for each reason.

    The format of each line is `file:line: key: what is wrong; what to do`.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(self.problems[0])
            return
        shown = [f"  {line}" for line in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            shown.append(f"  and {len(self.problems) - MOST_PROBLEMS} more")
        super().__init__(f"{len(self.problems)} problems in {source}:\n" + "\n".join(shown))


# the name of the fixed frame
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Move:
    """A rigid displacement: a point p goes to center + turn (p - start); start, center in metres."""

    start: Floats
    turn: Floats
    center: Floats

    def place(self, p: Floats) -> Floats:
        """The displaced position of a point of the body."""
        return self.center + self.turn @ (p - self.start)

    def direction(self, d: Floats) -> Floats:
        """The rotated direction; a number (a planar rotation) stays the same."""
        return self.turn @ d if d.ndim else d


Moves = Mapping[str, Move]


def moved_place(moves: Moves, body: str, p: Floats) -> Floats:
    """The position of a point of a body after the body has moved, if it moves."""
    return moves[body].place(p) if body in moves else p


def moved_direction(moves: Moves, body: str, d: Floats) -> Floats:
    """A direction fixed in a body after the body has moved, if it moves."""
    return moves[body].direction(d) if body in moves else d


@dataclass(frozen=True, eq=False)
class Element:
    """A named part of a mechanism.

    decides: names of those numbers that select the kind of part instead of being quantities.
    """

    decides: ClassVar[tuple[str, ...]] = ()
    name: str

    def moved(self, moves: Moves, closed: bool) -> Self:
        """The same part after bodies have moved, by name; closed: the bodies meet in their joints."""
        return self

    def scaled(self, size: float) -> Self:
        """The same part with all lengths times `size`."""
        return self

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Every reason why the part cannot be simulated, as sentences."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        """The contents of its entry in a file, numbers in SI."""
        raise NotImplementedError


# any kind of part
Part = TypeVar("Part", bound=Element)


class NameRegistry:
    """The parts of a mechanism by name, and the error messages that all parts share."""

    def __init__(self, m: Mechanism, moves_typed: bool = False) -> None:
        self.dimension = m.dimension
        # whether points that are off their rod by a typing error of few digits are moved onto it
        self.moves_typed = moves_typed
        self.typed: list[str] = []
        self._bodies, self._joints = m.bodies, m.joints
        self.drives: dict[str, list[str]] = {}
        self._named: dict[str, None] = dict.fromkeys(p.name for p in m.markers)
        for drive in m.drives:
            self.add("drives", drive)

    # tables are built on first use

    @cached_property
    def bodies(self) -> dict[str, Body]:
        """Bodies by name."""
        return {b.name: b for b in self._bodies}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Indices of the bodies in their list, by name."""
        return {b.name: n for n, b in enumerate(self._bodies)}

    @cached_property
    def joints(self) -> dict[str, Joint]:
        """Joints by name."""
        return {j.name: j for j in self._joints}

    @cached_property
    def _placed(self) -> dict[str, None]:
        return {j.name: None for j in self._joints if j.at is not None}

    def add(self, block: str, part: Any) -> None:
        """Register one more part."""
        if block == "bodies":
            self.bodies[part.name] = part
            # it may already be in the list
            self.numbers.setdefault(part.name, len(self.numbers))
        elif block == "joints":
            self.joints[part.name] = part
            if part.at is not None:
                self._placed[part.name] = None
        elif block == "markers":
            self._named[part.name] = None
        elif block == "drives":
            self.drives.setdefault(part.joint, []).append(part.name)

    def has_point(self, name: str) -> bool:
        """Whether there is a joint or point of this name that has coordinates."""
        joint = self.joints.get(name)
        return name in self._named or (joint is not None and joint.at is not None)

    @property
    def points(self) -> Collection[str]:
        """Names that accept a velocity: joints and points."""
        return ChainMap[str, Any](self._named, self._placed)

    @property
    def holds(self) -> Collection[str]:
        """Names on which a user force may act: joints, points and bodies."""
        return ChainMap[str, Any](self._placed, self._named, self.bodies)

    def vector(self, values: Floats, what: str) -> Iterator[str]:
        """The problem of an invalid point or direction."""
        if values.shape != (self.dimension,):
            kind = "planar" if self.dimension == 2 else "spatial"
            yield (
                f"{what}: {show(values.ravel())} has {values.size} coordinates; "
                f"a {kind} mechanism needs {self.dimension}"
            )
        elif not all(map(is_usable, values.tolist())):
            yield f"{what}: {show(values)} {UNUSABLE}; give finite numbers"

    def direction(self, values: Floats, what: str, zero: str) -> Iterator[str]:
        """The problem of an invalid direction; zero: the sentence for a direction of zero length."""
        bad = list(self.vector(values, what))
        yield from bad
        if not bad and not largest(abs(x) for x in values.tolist()) > 0:
            yield zero

    def body(self, name: str, what: str) -> Iterator[str]:
        """The problem of an unknown body."""
        if name not in self.bodies and name != GROUND:
            yield f"{what}: there is no body '{name}'; {describe_known(name, self.bodies)}"

    def on_body(self, name: str, at: Floats, what: str) -> Iterator[str]:
        """The problem of a valid point that is not on its body: a rod is the segment between its ends."""
        if name not in self.bodies:
            return
        gap, nearest = self.bodies[name].measure_off_rod(at)
        if gap and self.moves_typed and gap <= TYPED_GAP * self.bodies[name].length:
            # the point is moved onto the rod, with a note
            self.typed.append(what)
            return
        if gap:
            here, there = show_apart(at, nearest)
            yield (
                f"{what} at {here} and rod '{name}' are apart by {gap:.6g} m (nearest "
                f"point of the rod: {there}); move one of them, or use body() for another shape"
            )

    def point(self, name: str, at: Floats, what: str, where: str) -> Iterator[str]:
        """Problems of a point of application on a body; where: what its coordinates are called."""
        yield from self.body(name, what)
        bad = list(self.vector(at, where))
        yield from bad
        if not bad:
            yield from self.on_body(name, at, what)


def gravity_problems(name: str, gravity: Floats) -> Iterator[str]:
    """Problems of the gravity vector of a mechanism, which sets its dimension."""
    if gravity.shape not in ((2,), (3,)):
        yield (
            f"mechanism '{name}': gravity has {gravity.size} numbers; "
            "give 2 for a planar, 3 for a spatial mechanism"
        )
    elif not all(map(is_usable, gravity.tolist())):
        yield f"mechanism '{name}': gravity {show(gravity)} {UNUSABLE}; give finite numbers"


def velocity_problems(given: tuple[str, Floats], known: NameRegistry) -> Iterator[str]:
    """Problems of the initial velocity of a point."""
    name, velocity = given
    if not known.has_point(name):
        yield (
            f"velocity given for '{name}', but no joint or point has that name; "
            f"{describe_known(name, known.points)}"
        )
    yield from known.vector(velocity, f"velocity of point '{name}'")


def turning_problems(given: tuple[str, Floats], known: NameRegistry) -> Iterator[str]:
    """Problems of the initial angular velocity of a body."""
    name, rate = given
    what = f"angular velocity of body '{name}'"
    if name not in known.bodies:
        yield f"{what}: there is no such body; {describe_known(name, known.bodies)}"
    if rate.shape != (() if known.dimension == 2 else (3,)):
        need = "one number" if known.dimension == 2 else "3 numbers"
        yield f"{what}: {rate.size} numbers of shape {rate.shape}; this mechanism needs {need}"
    elif not all(map(is_usable, rate.ravel().tolist())):
        yield f"{what}: {show(rate.ravel())} {UNUSABLE}; give finite numbers"


def as_word(name: object, what: str) -> str:
    """A name as a string, or an error; what: which name it is."""
    if not isinstance(name, str):
        raise MechanismError(f"{what}: {name!r} is not a name; give a string")
    return name


def as_number(value: Any, what: str, kind: str = "") -> float:
    """A plain number, or an error; kind: quantity of text with a unit, as in `mechanism.files.units`: "LENGTH"."""
    if isinstance(value, TracedNumber):
        return value  # type: ignore[return-value]
    if isinstance(value, str) and kind:
        return float(_with_units(value, what, kind))
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {value!r} is not a number; give a plain number") from error


def as_vector(values: Any, what: str, kind: str = "") -> Floats:
    """A private float copy, or an error that states which entry is not numeric; kind: as for `as_number`."""
    if kind and _has_text(values):
        return np.array(_with_units(values, what, kind), dtype=np.float64)
    try:
        # None would silently become NaN
        if values is None:
            raise TypeError("None")
        return np.array(values, dtype=np.float64)
    except UntracedError:
        return np.array(values, dtype=object)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {values!r} is not numeric; give plain numbers") from error


def load_units() -> Any:
    """The module that reads units; its package builds mechanisms, so it cannot be imported before this one."""
    from .files import units

    return units


def _has_text(values: Any) -> bool:
    """Whether numbers are given as text, such as "[10, 20] mm" or ["10 mm", 0]."""
    if isinstance(values, list | tuple):
        return any(_has_text(value) for value in values)
    return isinstance(values, str)


def _with_units(values: Any, what: str, kind: str) -> Any:
    """Numbers in SI, from text with units as in model files."""
    units = load_units()
    try:
        if isinstance(values, str) and not values.lstrip().startswith("["):
            return units.in_si(values, getattr(units, kind))
        if not isinstance(values, str) and any(_is_row(value) for value in values):
            return [_with_units(value, what, kind) for value in values]
        given = values if isinstance(values, str) else list(values)
        return units.vector_in_si(given, getattr(units, kind))
    except units.UnitError as error:
        raise MechanismError(f"{what}: {error}") from None


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or str(value).lstrip().startswith("[")


def show(values: ArrayLike) -> str:
    """Numbers formatted for a message."""
    return "(" + ", ".join(f"{v:.6g}" for v in np.atleast_1d(values)) + ")"


def show_apart(first: ArrayLike, second: ArrayLike) -> tuple[str, str]:
    """Two points with as many digits as show their difference, at least six."""
    for digits in range(6, 18):
        texts = [
            "(" + ", ".join(f"{v:.{digits}g}" for v in np.atleast_1d(values)) + ")"
            for values in (first, second)
        ]
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def plain(values: ArrayLike) -> Any:
    """Numbers as plain floats or lists, for files."""
    return np.asarray(values, dtype=float).tolist()


def same_bits(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two arrays have the same bits: -0.0 is not 0.0. Traced numbers differ unless they are the same."""
    if object in (getattr(a, "dtype", None), getattr(b, "dtype", None)):
        both = zip(np.ravel(a).tolist(), np.ravel(b).tolist(), strict=False)
        return np.shape(a) == np.shape(b) and all(x is y for x, y in both)
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return x.shape == y.shape and x.tobytes() == y.tobytes()
