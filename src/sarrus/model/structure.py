"""Structure and numbers: the model of a topology seen before is computed from the numbers alone.

`describe` splits a mechanism into its topology (names, kinds, which bodies are connected) and a row of all
its numbers. Models of a topology whose numbers lead to the same decisions share a `Structure`: the integer
tables, and a tape that records how the numbers of a mechanism become the arrays of its model (`trace`). If
numbers lead to another decision (coincident points, parallel axes, pivots, zeros), the replay notices it,
and the model is built from scratch. Both ways give the same bits. The tape also records the check of a
mechanism: a mechanism that can be replayed is valid.

A tape of a large mechanism would take longer than building many. Its last model is cached instead, together
with its numbers, because callers often rerun the same mechanism, for longer or from another velocity.

This module loads neither SciPy nor the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from ..mechanism.check import check_mechanism, check_velocities, find_gaps, find_problems
from ..mechanism.forces import LOADS
from ..mechanism.motion import DriveMotion, Polynomial, Sine, SmoothStep, Table
from ..mechanism.part_arrays import PartArrays, read_parts, take_array
from ..tracing import Replay, Scalar, Tape, TracedNumber, UntracedError

if TYPE_CHECKING:
    from .blueprint import Blueprint
    from .model import Model

# cached topologies, large ones among them, and structures of each
MOST_KEPT, MOST_LARGE, MOST_STRUCTURES = 64, 2, 8
# number of bodies and joints up to which a tape is worthwhile: it takes about four times as long as building
# without it
MOST_PARTS = 200
# number of mechanisms per structure that are remembered as mobile
MOST_MOVING = 64

Key = tuple[Any, ...]
Build = Callable[[Mechanism, PartArrays], tuple["Blueprint", Any]]


class Structure:
    """A model without its numbers, and how they follow from those of a mechanism.

    replay: of the tape, if there is one; is_sound: whether it includes the check; last: numbers of the
    mechanism seen last, and of its model; moving: numbers of mechanisms that are mobile without a change of
    dimensions; codes: kernels specialised for it (kernels/specialise.py), made by the first run; facts: what
    runs found out from its tables alone, by name; start: what determines the initial velocity of the mechanism
    seen last without and with its masses, and that velocity; spare: memory of finished runs
    (kernels/layout.py), for later ones; drawn: limit of linear relations and geometry of the model read last, and
    what its readings share (readings.py).
    """

    def __init__(
        self, blueprint: Blueprint, replay: Replay | None = None, is_sound: bool = False
    ) -> None:
        self.blueprint, self.replay, self.is_sound = blueprint, replay, is_sound
        self.last: tuple[bytes, Floats] | None = None
        self.moving: dict[bytes, None] = {}
        self.codes: Any = None
        self.facts: dict[str, Any] = {}
        self.start: tuple[Any, bytes, Any] | None = None
        self.spare: dict[Any, list[Any]] = {}
        self.drawn: tuple[float, bytes, dict[str, Any]] | None = None

    def fact(self, name: str, find: Callable[[], Any]) -> Any:
        """What follows from its tables alone: found once."""
        if name not in self.facts:
            self.facts[name] = find()
        return self.facts[name]

    def follow(self, numbers: Floats) -> Any:
        """The numbers of the model for those of a mechanism; None if they lead to another decision."""
        if self.last is not None and self.last[0] == numbers.tobytes():
            return self.last[1]
        if self.replay is None:
            return None
        values = self.replay.one(numbers)
        if values is None or not np.isfinite(values).all():
            return None
        # callers often rerun the same mechanism, for longer or with another tolerance
        self.last = numbers.tobytes(), values
        return values

    def take(self, other: Structure) -> None:
        """Copy the tape of the same structure."""
        self.replay, self.is_sound = other.replay, other.is_sound

    def make(self, mechanism: Mechanism, values: Any) -> Model:
        """The model with these numbers."""
        return self.blueprint.make(mechanism, values, self)

    def moves(self, numbers: Floats) -> bool:
        """Whether a mechanism with these numbers is known to be mobile."""
        return numbers.tobytes() in self.moving

    def remember_moving(self, numbers: Floats) -> None:
        """Remember that it is mobile: this check takes ten times as long as a run if it is overconstrained."""
        if not len(numbers):
            # the mechanism has no description
            return
        while len(self.moving) >= MOST_MOVING:
            self.moving.pop(next(iter(self.moving)), None)
        self.moving[numbers.tobytes()] = None


@dataclass
class Topology:
    """Cached data of a topology: how often it was seen, and its structures, the last used one first."""

    is_large: bool
    seen: int = 0
    structures: tuple[Structure, ...] = ()


_KEPT: dict[Key, Topology] = {}
_KEEPING = Lock()


@dataclass(frozen=True)
class Lookup:
    """Cached data of a mechanism: its topology, its numbers, and a structure with the numbers of its model.

    All are None if the mechanism cannot be described; structure and values are None if no structure can be
    replayed.
    """

    topology: Topology | None = None
    numbers: Floats = field(default_factory=lambda: np.zeros(0))
    structure: Structure | None = None
    values: Any = None

    @property
    def is_sound(self) -> bool:
        """Whether the mechanism was checked by replaying a structure."""
        return self.structure is not None and self.structure.is_sound

    @property
    def is_worth_a_trace(self) -> bool:
        """Whether the topology was seen before, is not large, and does not have too many structures."""
        t = self.topology
        return (
            t is not None
            and not t.is_large
            and t.seen > 1
            and len([s for s in t.structures if s.replay is not None]) < MOST_STRUCTURES
        )

    def keep(self, new: Structure, values: Floats) -> Structure:
        """Cache a structure with its topology; returns the equal one, if there already is one.

        values: numbers of the model, which are cached for large mechanisms.
        """
        t = self.topology
        if t is None:
            return new
        if t.is_large:
            new.last = self.numbers.tobytes(), values
            t.structures = (new,)
            return new
        with _KEEPING:
            same = [s for s in t.structures if s.blueprint.digest == new.blueprint.digest]
            if same and new.replay is not None:
                same[0].take(new)
            others = [s for s in t.structures if s not in same]
            t.structures = (*(same or [new]), *others)[:MOST_STRUCTURES]
        return t.structures[0]


def check_for_run(mechanism: Mechanism, assembles: bool) -> Lookup:
    """Raise MechanismError if a mechanism cannot be simulated; returns its cached data.

    assembles: whether open joints will be closed first, which changes the mechanism.
    """
    if assembles:
        check_mechanism(mechanism, closed=False)
        return Lookup()
    known = look_up(mechanism)
    if known.is_sound:
        check_velocities(mechanism)
    else:
        check_mechanism(mechanism)
    return known


def look_up(mechanism: Mechanism) -> Lookup:
    """Cached data of a mechanism, found by its description."""
    described = describe(mechanism)
    if described is None or not np.isfinite(described.numbers).all():
        return Lookup()
    topology = _remember(described.key, is_large(mechanism))
    for structure in topology.structures:
        values = structure.follow(described.numbers)
        if values is not None:
            if structure is not topology.structures[0]:
                others = (x for x in topology.structures if x is not structure)
                topology.structures = (structure, *others)
            return Lookup(topology, described.numbers, structure, values)
    return Lookup(topology, described.numbers)


def forget() -> None:
    """Clear the cache of structures."""
    with _KEEPING:
        _KEPT.clear()


def is_large(m: Mechanism) -> bool:
    """Whether the mechanism is too large for a tape to be worthwhile."""
    return len(m.bodies) + len(m.joints) > MOST_PARTS


def _remember(key: Key, is_large: bool) -> Topology:
    """Cached data of a topology; the least recently used one is dropped first."""
    with _KEEPING:
        found = _KEPT.pop(key, None) or Topology(is_large)
        found.seen += 1
        while len(_KEPT) >= MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        large = [old for old, t in _KEPT.items() if t.is_large] if is_large else []
        if len(large) >= MOST_LARGE:
            del _KEPT[large[0]]
        _KEPT[key] = found
    return found


def trace(mechanism: Mechanism, build: Build) -> Structure:
    """Check and build once more, and record how the numbers of the model follow from those of the mechanism."""
    tape, described = Tape(), describe(mechanism)
    assert described is not None
    traced = with_numbers(mechanism, iter([tape.number(x) for x in described.numbers.tolist()]))
    try:
        is_sound = not (find_problems(traced) or find_gaps(traced))
    except UntracedError:
        is_sound = False
    blueprint, values = build(traced, read_parts(traced))
    return Structure(blueprint, tape.replay(values.tolist()), is_sound)


class Description(NamedTuple):
    """A mechanism without its numbers, and its numbers in a row: an array, or a list of traced numbers."""

    key: Key
    numbers: Any


def describe(m: Mechanism) -> Description | None:
    """A mechanism as topology and numbers; None if mechanisms may differ by more than numbers.

    Mechanisms with user functions are not described; the numbers of a table are part of the topology.
    """
    parts = read_parts(m)
    topology = parts.topology
    if topology is None or m.user_forces:
        return None
    key: list[Any] = [topology, *(name for name, _ in m.angular_velocities), *m.lockable]
    numbers: list[Scalar] = m.gravity.tolist()
    for marker in m.markers:
        key += (marker.name, marker.body, len(marker.at))
        numbers += marker.at.tolist()
    for load in m.loads():
        key.append(type(load))
        for name, value in vars(load).items():
            _describe_value(value, name in load.decides, key, numbers)
    if parts.is_traced or any(type(x) is TracedNumber for x in numbers):
        return Description(tuple(key), [*parts.numbers, *numbers])
    return Description(tuple(key), np.concatenate([parts.numbers, np.array(numbers, dtype=float)]))


def _describe_value(value: Any, decides: bool, key: list[Any], numbers: list[Scalar]) -> None:
    """Append the kind of a load's value to `key` and its numbers to `numbers`; decides: not a quantity."""
    if isinstance(value, DriveMotion):
        own = [x for part in vars(value).values() for x in np.ravel(part).tolist()]
        key += (type(value), len(own))
        # a spline depends on all its numbers
        for x in own:
            _describe_value(x, isinstance(value, Table), key, numbers)
    elif decides or isinstance(value, str | bool | None):
        if isinstance(value, TracedNumber):
            raise UntracedError("it decides the equations of the model")
        key.append(value)
    elif isinstance(value, np.ndarray | np.generic):
        key.append(value.shape)
        numbers += value.ravel().tolist()
    elif isinstance(value, float | int | TracedNumber):
        numbers.append(value)  # type: ignore[arg-type]
    elif isinstance(value, tuple):
        key.append(len(value))
        for x in value:
            _describe_value(x, decides, key, numbers)
    else:
        key.append(value)


def with_numbers(mechanism: Mechanism, numbers: Iterator[Any]) -> Mechanism:
    """The same mechanism with other numbers, in the order in which `describe` lists them."""
    new = mechanism.copy()
    new.bodies, new.joints = read_parts(mechanism).with_numbers(numbers)
    new.gravity = take_array(mechanism.gravity, numbers)
    new.markers = [replace(m, at=take_array(m.at, numbers)) for m in mechanism.markers]
    for block in LOADS:
        loads = []
        for load in getattr(mechanism, block):
            values = {
                name: _value_with(value, name in load.decides, numbers)
                for name, value in vars(load).items()
            }
            loads.append(replace(load, **values))
        setattr(new, block, loads)
    return new


def _value_with(value: Any, decides: bool, numbers: Iterator[Any]) -> Any:
    """The same value of a load with the next numbers, as `_describe_value` lists them."""
    if decides or isinstance(value, str | bool | Table | None):
        return value
    if isinstance(value, Polynomial):
        return Polynomial(tuple(next(numbers) for _ in value.coefficients))
    if isinstance(value, Sine | SmoothStep):
        return type(value)(*(next(numbers) for _ in vars(value)))
    if isinstance(value, np.ndarray | np.generic):
        return take_array(value, numbers)
    if isinstance(value, tuple):
        return tuple(_value_with(x, decides, numbers) for x in value)
    return next(numbers)
