"""Events that a run locates: a quantity reaches a value, or has an extreme. `when` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..names import describe_known
from ..quantity_units import unit_of_quantity
from .actions import Action, read_actions
from .elements import GROUND, MechanismError, as_number, as_word, load_units

if TYPE_CHECKING:
    from .mechanism import Mechanism

# quantities an event can read, and SI units of their values; of two, the mechanism decides
FORCES = ("N", "N m")
READINGS: dict[str, tuple[str, ...]] = {
    "angle": ("rad",),
    "travel": ("m",),
    "distance": ("m",),
    "coordinate": (),
    "speed": ("m/s",),
    "force": FORCES,
    "drive": FORCES,
    "energy": ("J",),
    "quantity": (),
    "function": ("",),
}
ENERGIES = ("kinetic", "potential", "total")
ANY, MAXIMUM, MINIMUM = "any", "maximum", "minimum"
EXTREMES = {True: ANY, ANY: ANY, MAXIMUM: MAXIMUM, MINIMUM: MINIMUM}


@dataclass(frozen=True, eq=False)
class Event:
    """An event that a run locates.

    name: its name in reports; reading: one of READINGS, of: the names or the function that it reads; equals: the
    value (SI), None for extremes; direction: 1 rising, -1 falling, 0 both; extreme: which ones; terminal: whether
    the run ends there; count: how many occurrences are of interest, None for all; then: what it does to the
    mechanism at each occurrence; unit: in which the value was given, if the mechanism decides whether it fits.
    """

    name: str
    reading: str
    of: Any
    equals: float | None
    direction: int
    extreme: str
    terminal: bool
    count: int | None
    then: tuple[Action, ...] = ()
    unit: str = ""

    def __repr__(self) -> str:
        return f"<Event '{self.name}'{', terminal' if self.terminal else ''}>"

    def data(self) -> dict[str, Any]:
        """The contents of its entry in a file, numbers in SI."""
        if self.reading == "function":
            raise MechanismError(
                f"event '{self.name}' is a Python function; a file cannot hold it: give it to simulate instead"
            )
        of = self.of if isinstance(self.of, str | dict) else [*self.of]
        entry: dict[str, Any] = {self.reading: of}
        if self.equals is not None:
            entry["equals"] = self.equals
        else:
            entry["extreme"] = self.extreme
        if self.direction:
            entry["rising" if self.direction > 0 else "falling"] = True
        if self.terminal:
            entry["terminal"] = True
        if self.count is not None:
            entry["count"] = self.count
        if self.then:
            entry["then"] = [action.data() for action in self.then]
        return entry

    def problems(self, m: Mechanism) -> Iterator[str]:
        """Problems of unknown names; only a run can check quantities and functions."""
        for action in self.then:
            yield from (f"event '{self.name}': {line}" for line in action.problems(m))
        points = [
            *(j.name for j in m.joints),
            *(p.name for p in m.markers),
            *(b.name for b in m.bodies),
        ]
        arms = [*(s.name for s in m.springs), *(j.name for j in m.joints)]
        known: dict[str, list[str]] = {
            "angle": [*(j.name for j in m.joints), *(b.name for b in m.bodies), GROUND],
            "travel": [j.name for j in m.joints],
            "distance": arms if isinstance(self.of, str) else points,
            "speed": points,
            "force": [*(s.name for s in m.springs), *(t.name for t in m.torsions)],
            "drive": [*m.prescribers],
        }
        names = self.of if isinstance(self.of, tuple) else [self.of]
        if self.unit and self.of in known[self.reading]:
            yield from self.unit_problems(_unit_of_force(m, self.reading, self.of))
        for name in names if self.reading in known else []:
            if name not in known[self.reading]:
                near = describe_known(name, known[self.reading])
                yield f"event '{self.name}': nothing of which a {self.reading} is read is called '{name}'; {near}"

    def unit_problems(self, unit: str) -> Iterator[str]:
        """Problems of the unit in which the value was given, if the quantity has this one [SI]."""
        if self.unit and self.unit != unit:
            units = load_units()
            given, expected = units.kind_of_unit(self.unit), units.kind_of_unit(unit)
            yield f"event '{self.name}', equals: given is {given.name}; {units.wanted(expected)}"


def _unit_of_force(m: Mechanism, reading: str, name: str) -> str:
    """Unit of a spring, torsion, drive, stop or lock of a mechanism."""
    if reading == "force":
        return "N m" if any(torsion.name == name for torsion in m.torsions) else "N"
    turned = {j.name for j in m.joints if j.kind.row.coordinate == "angle"}
    return "N m" if m.prescribers[name] in turned else "N"


def when(
    quantity: str | Mapping[str, float] | Callable[..., Any] | None = None,
    *,
    equals: float | str | None = None,
    rising: bool = False,
    falling: bool = False,
    extreme: bool | str = False,
    terminal: bool = False,
    count: int | None = None,
    then: Action | Sequence[Action | Mapping[str, Any]] = (),
    name: str = "",
    **reading: Any,
) -> Event:
    """An event for `simulate(..., events=[...])`: a quantity reaches a value, or has an extreme.

    Parameters
    ----------
    quantity
        Any name that `result.quantity` accepts; a weighted sum {"B0.x": 1.0, "C.x": -1.0} of such quantities; or
        a smooth function that gets a result with n states and returns n numbers, like
        `lambda r: r.position("B0")[:, 0] * r.velocity("C")[:, 1]`.
    **reading
        Instead of `quantity` one of: angle="B0" of a joint of two bodies or of a planar body, or
        angle=("B", "crank", "rocker") between two bodies of a joint; travel="slider"; distance=("A", "C") between
        two points, or the name of a spring or distance joint; coordinate="B0.x" (also "B0.vx"); speed="B0";
        force="spring"; drive="motor", its force or torque; energy="kinetic", "potential" or "total". The quantity
        "time" is the time itself.
    equals
        The value to reach, in SI, or with a unit of the quantity like "30 deg" or "30 N m".
    rising, falling
        Only where the quantity rises or falls through the value. Default: both directions.
    extreme
        True, "maximum" or "minimum" instead of a value.
    terminal
        Whether the run ends there.
    count
        A terminal event ends the run at this occurrence (default: the first). Other events are recorded up to this
        occurrence (default: all). Actions happen at each occurrence that is recorded.
    then
        What the event does to the mechanism, one or several actions: `sarrus.release("motor")`,
        `sarrus.engage("motor")`, `sarrus.lock("B0")`, `sarrus.switch_off("s1")`, `sarrus.switch_on("s1")`,
        `sarrus.set_number("springs.s1.stiffness", 0)`. The run then goes on.
    name
        Its name in reports. Default: made from the quantity.

    Returns
    -------
    Event
        The event.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum")
    >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
    >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
    >>> _ = m.point("tip", "rod", (1, 0))
    >>> low = sarrus.when(angle="A", equals="-90 deg", name="lowest")
    >>> [event.name for event in sarrus.simulate(m, 1.0, events=[low]).events]
    ['lowest']
    """
    if quantity is not None:
        reading["function" if callable(quantity) else "quantity"] = quantity
    what = f"event '{name}'" if name else "event"
    kind, of = _reading(reading, what)
    extremes = _extreme(extreme, what)
    if (equals is None) == (not extremes):
        raise MechanismError(f"{what}: give either equals=, the value, or extreme=True")
    if rising and falling:
        raise MechanismError(f"{what}: give rising or falling; leave out both for both directions")
    if extremes and (rising or falling):
        raise MechanismError(
            f"{what}: extremes have no direction; give extreme='maximum' or 'minimum'"
        )
    value, unit = (None, "") if equals is None else _value(equals, kind, of, what)
    title = _title(kind, of) + (f" {extremes} extreme" if extremes == ANY else f" {extremes}")
    if value is not None:
        title = f"{_title(kind, of)} = {value:g}"
    return Event(
        name=as_word(name, "name of an event") if name else title.replace("any extreme", "extreme"),
        reading=kind,
        of=of,
        equals=value,
        direction=int(bool(rising)) - int(bool(falling)),
        extreme=extremes,
        terminal=bool(terminal),
        count=_count(count, bool(terminal), what),
        then=read_actions(then, what),
        unit=unit,
    )


def _reading(given: dict[str, Any], what: str) -> tuple[str, Any]:
    """The quantity to read, and the names it is read of."""
    for key in given:
        if key not in READINGS:
            known = describe_known(key, [k for k in READINGS if k != "function"])
            raise MechanismError(f"{what}: there is no '{key}' to read; {known}")
    if len(given) != 1:
        words = ", ".join(k for k in READINGS if k != "function")
        why = f"{' and '.join(given)} are given" if given else "nothing is read"
        raise MechanismError(f"{what}: {why}; give one of {words}")
    [(kind, of)] = given.items()
    if kind == "energy" and of not in ENERGIES:
        raise MechanismError(
            f"{what}: '{of}' is not an energy; {describe_known(str(of), ENERGIES)}"
        )
    if kind == "function":
        return kind, of
    if kind == "quantity" and isinstance(of, Mapping):
        parts = {
            str(key): as_number(x, f"{what}, factor of '{key}'", "NUMBER") for key, x in of.items()
        }
        if not parts:
            raise MechanismError(f"{what}: the sum is empty; give quantities with factors")
        return kind, parts
    several = {"angle": 3, "distance": 2}.get(kind, 0)
    if isinstance(of, list | tuple) and several and len(of) == several:
        return kind, tuple(str(word) for word in of)
    if not isinstance(of, str):
        raise MechanismError(
            f"{what}: {kind} = {of!r}; give a name{f' or {several} names' * bool(several)}"
        )
    return kind, of


def _title(kind: str, of: Any) -> str:
    if kind == "function":
        return str(getattr(of, "__name__", "function")).replace("<lambda>", "function")
    if isinstance(of, dict):
        return " + ".join(f"{factor:g} {key}" for key, factor in of.items())
    names = of if isinstance(of, str) else ", ".join(of)
    return names if kind in ("quantity", "coordinate") else f"{kind} {names}"


def _value(given: float | str, kind: str, of: Any, what: str) -> tuple[float, str]:
    """The value in SI; and its unit, if one is given and only the mechanism decides whether it fits."""
    possible = READINGS[kind] or _units_of_words(of)
    value, unit = _in_si(given, possible, what) if isinstance(given, str) else (given, "")
    number = as_number(value, f"{what}, equals")
    if not np.isfinite(number):
        raise MechanismError(f"{what}: equals = {number:g}; give a finite number")
    if kind in ("distance", "speed") and number < 0:
        raise MechanismError(f"{what}: equals = {number:g}, but a {kind} is never negative")
    return float(number), unit if len(possible) > 1 else ""


def _units_of_words(of: Any) -> tuple[str, ...]:
    """The unit of a quantity or of a sum, none if its words are unknown; an empty one if the parts differ."""
    found = {unit_of_quantity(name) for name in (of if isinstance(of, dict) else [of])}
    if "" in found:
        # the run names what is unknown
        return ()
    return tuple(found) if len(found) == 1 else ("",)


def _in_si(given: str, possible: tuple[str, ...], what: str) -> tuple[float, str]:
    """The number in SI of a text such as "30 N m", and the SI unit of its dimension; possible: any if empty."""
    units = load_units()
    kinds = [units.kind_of_unit(unit) for unit in possible] or [units.NUMBER]
    try:
        found = units.parse_for(given, kinds[0])
        fits = [kind for kind in kinds if kind.dimension == found.dimension]
        if possible and not fits:
            return units.as_kind(found, kinds[0]), ""
    except units.UnitError as error:
        others = "".join(f"; or {units.wanted(kind)}" for kind in kinds[1:])
        raise MechanismError(f"{what}, equals: {error}{others}") from None
    return found.value, fits[0].unit if fits else ""


def _extreme(given: bool | str, what: str) -> str:
    if given is False or given is None:
        return ""
    if given not in EXTREMES:
        raise MechanismError(f"{what}: extreme = {given!r}; give True, '{MAXIMUM}' or '{MINIMUM}'")
    return EXTREMES[given]


def _count(given: int | None, terminal: bool, what: str) -> int | None:
    if given is None:
        return 1 if terminal else None
    if isinstance(given, bool) or int(given) != given or given < 1:
        raise MechanismError(f"{what}: count = {given!r}; give a whole number from 1 on")
    return int(given)


def check_events(events: Any) -> list[Event]:
    """A list of events; raises an error for anything else."""
    given = [events] if isinstance(events, Event) else events
    try:
        found = list(given)
    except TypeError:
        found = [given]
    for event in found:
        if not isinstance(event, Event):
            raise MechanismError(
                f"events: {event!r} is not an event; make events by sarrus.when(angle='A', equals=1.2)"
            )
    return found
