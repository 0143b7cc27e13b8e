"""Quantities that events read from the states of a run, with the readings of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import next_to
from ..mechanism import MechanismError
from ..names import UnknownNameError
from ..quantity_units import unit_of_quantity, word_of_quantity
from ..result import Result
from .event_quantities import component

if TYPE_CHECKING:
    from ..mechanism.event_requests import Event

NOTHING: Mapping[str, str] = MappingProxyType({})
# reads n numbers from n states
Reader = Callable[[Result], Floats]
# readings and words of quantities that are norms of vectors: their squares are smooth also where they vanish
NORMS = ("distance", "speed")
NORM_WORDS = ("speed", "acceleration", "F", "shaking force")
# norms in space only; in the plane they have a sign
SPATIAL_NORM_WORDS = ("M", "angular velocity", "angular acceleration")
UNITS = {
    "angle": "rad",
    "travel": "m",
    "distance": "m",
    "speed": "m/s",
    "force": "N",
    "energy": "J",
}


class EventStates(Result):
    """States between the outputs of a run; full turns of angles are counted from the states read before.

    turns: by joint or body, times and angles of the states swept last.
    """

    turns: dict[str, tuple[Floats, Floats]]

    def _counted_angle(self, joint: str) -> Floats | None:
        # turns are counted here; evaluating the motion of a drive at every time would take longer than the run
        return None

    def _unwrapped(
        self, angle: Floats, rates: Callable[[], Any], what: str, pair: tuple[str, ...] = ()
    ) -> Floats:
        key = " ".join((what, *pair))
        before = self.turns.get(key)
        if before is not None and before[0][-1] >= self.times[0]:
            return next_to(angle, np.interp(self.times, *before))
        # states are so dense that no body makes half a turn between two of them
        counted = np.unwrap(angle)
        if before is not None:
            counted = counted + (next_to(counted[:1], before[1][-1:]) - counted[:1])
            # events of the last steps are read again
            last = max(len(before[0]) - len(angle), 0)
            both = (np.append(before[0][last:], self.times), np.append(before[1][last:], counted))
            self.turns[key] = both
        else:
            self.turns[key] = self.times, counted
        return np.asarray(counted)


def make_reader(
    event: Event, states: Result, idle: Mapping[str, str] = NOTHING
) -> tuple[Reader, str]:
    """The reader of an event, and its unit; states: test input, so that mistakes are found at once.

    idle: units of drives, locks and stops that may act in other segments of the run.

    Raises MechanismError or UnknownNameError, with the name of the event.
    """
    read, unit = _find_reader(event, states, idle)
    for problem in event.unit_problems(unit):
        raise MechanismError(problem)
    return read, unit


def _find_reader(event: Event, states: Result, idle: Mapping[str, str]) -> tuple[Reader, str]:
    idles = [name for name in idle if name not in states.model.readings.drives]
    if event.reading == "drive" and event.of in idles:
        return lambda r: np.zeros(len(r.times)), idle[event.of]
    owners = tuple(f"{name}{mark}" for name in idles for mark in " .")
    if event.reading == "quantity" and isinstance(event.of, str) and event.of.startswith(owners):
        # "motor torque", "motor.power" of a drive that is released
        return lambda r: np.zeros(len(r.times)), unit_of_quantity(event.of)
    read = bind_reader(event, states)
    try:
        read(states)
    except UnknownNameError as error:
        raise UnknownNameError(f"event '{event.name}': {error}") from None
    except MechanismError:
        raise
    except ValueError as error:
        raise ValueError(f"event '{event.name}': {error}") from None
    unit = UNITS.get(event.reading, "")
    if event.reading in ("quantity", "coordinate") and isinstance(event.of, str):
        unit = unit_of_quantity(event.of)
    if event.reading == "force" and event.of in states.model.readings.torsions:
        unit = "N m"
    if event.reading == "drive":
        unit = "N m" if states.model.readings.drives[event.of].turns else "N"
    return read, unit


def is_norm(event: Event, dimension: int) -> bool:
    """Whether an event reads the norm of a vector."""
    if event.reading in NORMS:
        return True
    if event.reading != "quantity" or not isinstance(event.of, str):
        return False
    word = word_of_quantity(event.of)
    # a negative value is never reached, but its square is
    possible = event.equals is None or event.equals >= 0.0
    return possible and word in (*NORM_WORDS, *SPATIAL_NORM_WORDS * (dimension == 3))


def bind_reader(event: Event, states: Result) -> Reader:
    """The reader of an event for states of the same model."""
    of: Any = event.of
    if event.reading == "angle":
        if isinstance(of, tuple):
            return lambda r: r.angle(*of)
        if of in {body.name for body in states.mechanism.bodies} and states.model.dimension == 2:
            return lambda r: r.orientation(of)
        return lambda r: r.angle(of)
    if event.reading == "distance":
        if isinstance(of, str):
            return lambda r: r.length(of)
        return lambda r: np.linalg.norm(r.position(of[0]) - r.position(of[1]), axis=1)
    if event.reading == "speed":
        return lambda r: np.linalg.norm(r.velocity(of), axis=1)
    if event.reading == "energy":
        return lambda r: np.asarray(getattr(r, f"{of}_energy"))
    if event.reading == "function":
        return lambda r: _call(event, r)
    if isinstance(of, dict):
        return lambda r: np.asarray(
            np.sum([x * r.quantity(key).values for key, x in of.items()], axis=0)
        )
    point = component(of, states.model)
    if point is not None:
        return _component(*point, states)
    plain: dict[str, Reader] = {
        "travel": lambda r: r.travel(of),
        "force": lambda r: r.torque(of) if of in r.model.readings.torsions else r.force(of),
        "drive": lambda r: r.drive_force(of),
    }
    return plain.get(event.reading, lambda r: r.quantity(of).values)


def _call(event: Event, states: Result) -> Floats:
    """The values that a user's function returns; raises MechanismError if they are not usable."""
    when = f"at t = {states.times[0]:.6g} s"
    try:
        values = np.asarray(event.of(states), dtype=float)
    except Exception as error:
        raise MechanismError(
            f"event '{event.name}': its function fails {when}: {type(error).__name__}: {error}"
        ) from error
    if values.shape != states.times.shape:
        raise MechanismError(
            f"event '{event.name}': its function returns the shape {values.shape} for {len(states.times)} states "
            f"{when}; return one number for each, like r.position('A')[:, 0]"
        )
    return values


def _component(name: str, level: str, axis: int, states: Result) -> Reader:
    """Reader for one component of a point's position, velocity or acceleration."""
    rows, origin = states.model.rows_of(name), states.model.origin(name)[axis]
    inside = slice(int(rows.start[axis]), int(rows.start[axis + 1]))
    columns, factors = rows.col[inside], rows.val[inside]
    if level == "position":
        return lambda r: np.asarray(r.coordinates[:, columns] @ factors + origin)
    if level == "velocity":
        return lambda r: np.asarray(r.rates[:, columns] @ factors)
    return lambda r: np.asarray(r.accelerations[:, columns] @ factors)


def usual_size(unit: str, states: Result) -> Floats | float:
    """Typical size of quantities of a unit in this motion, (n,) or a number; the scale for zero to rounding."""
    length = states.model.units.length
    plain = {"m": length, "rad": 1.0}
    if unit in plain or unit not in _SIZES:
        return plain.get(unit, 0.0)
    kind, arms = _SIZES[unit]
    if kind == "rate":
        rates = np.abs(states.rates).max(axis=1, initial=0.0)
        return np.asarray(rates ** (2 if unit.endswith("s^2") else 1) * length**arms)
    energy = np.maximum(states.kinetic_energy, np.abs(states.potential_energy))
    return np.asarray(energy * length**arms)


# units by their factors: rates of the coordinates or an energy, and powers of the length
_SIZES = {
    "m/s": ("rate", 1),
    "rad/s": ("rate", 0),
    "m/s^2": ("rate", 1),
    "rad/s^2": ("rate", 0),
    "J": ("energy", 0),
    "N m": ("energy", 0),
    "N": ("energy", -1),
}
