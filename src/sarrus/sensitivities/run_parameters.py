"""Parameters of a run: numbers, points and directions of a mechanism, or arguments of a user's recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files import from_data, to_data
from ..mechanism.files.model_writer import build_plainly, exchange_parts, part_data
from ..mechanism.files.paths import get_value, join_path, set_value, split_path
from ..mechanism.mechanism import PARTS
from ..tangent_numbers import TangentTape
from ..tracing import UntracedError

# a path, or a direction: a rate for each path
Wrt = str | Mapping[str, float | Sequence[float]]
# blocks of a definition whose numbers the motion depends on
BLOCKS = ("gravity", *PARTS.values(), "velocities", "angular_velocities")
# keys whose numbers are world coordinates of points
PLACES = ("at", "rod", "center", "start", "end")
# share of the mechanism's size: points this close coincide
SAME_PLACE = 1e-9


@dataclass(frozen=True)
class RunParameter:
    """One parameter: its name, and a sentence on what stays fixed.

    rates: rates of the numbers of a definition, keyed by path.
    """

    name: str
    convention: str
    rates: dict[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def is_place(self) -> bool:
        """Whether it moves points of the definition."""
        return any(set(split_path(path)[2:]).intersection(PLACES) for path in self.rates)


class DrawnParameters:
    """Parameters that are numbers of a mechanism's definition."""

    def __init__(self, mechanism: Mechanism, wanted: Sequence[Wrt]) -> None:
        if mechanism.user_forces:
            raise MechanismError(
                "forces given as Python functions have no derivatives; remove "
                f"{', '.join(repr(f.name) for f in mechanism.user_forces)} for sensitivities"
            )
        self._name, self._mechanism = mechanism.name, mechanism
        self._size = mechanism.size
        self.parameters = [self._read(wrt) for wrt in wanted]
        self._paths = {wrt for wrt in wanted if isinstance(wrt, str)}

    @cached_property
    def data(self) -> dict[str, Any]:
        """The definition of the mechanism."""
        # velocities are omitted from the data of a mechanism at rest
        return {"velocities": {}, "angular_velocities": {}} | to_data(self._mechanism)

    def trace(self, lanes: Sequence[int]) -> tuple[Mechanism, int]:
        """The mechanism with derivatives by some of the parameters."""
        tape = TangentTape(len(lanes))
        rates: dict[str, Floats] = {}
        for lane, p in enumerate(lanes):
            for path, rate in self.parameters[p].rates.items():
                rows = rates.setdefault(path, np.zeros((len(lanes), *rate.shape)))
                rows[lane] += rate
        changed: dict[str, Any] = {}
        for path, rows in rates.items():
            entry = self._part(path)
            value = np.asarray(get_value(entry, path), dtype=float)
            numbers = [
                tape.make(x, r)
                for x, r in zip(value.ravel(), rows.reshape(len(lanes), -1).T, strict=True)
            ]
            block, *names = split_path(path)
            if isinstance(entry[block], dict):
                changed.setdefault(block, {}).setdefault(names[0], entry[block][names[0]])
            else:
                changed.setdefault(block, entry[block])
            changed = set_value(changed, path, numbers if value.ndim else numbers[0])
        return exchange_parts(self._mechanism, changed), len(lanes)

    def _part(self, path: str) -> dict[str, Any]:
        """Data that contain the part of a path: of this part alone, or of the whole mechanism."""
        if "data" in vars(self):
            return self.data
        return part_data(self._mechanism, split_path(path)) or self.data

    def neighbour(self, p: int, step: float) -> Mechanism:
        """The mechanism with one parameter increased by a step; raises MechanismError if there is none."""
        return from_data(self._increased({p: step}), self._name)

    def value(self, p: int) -> float:
        """The number of a parameter that is a path; of a direction 0."""
        wanted = self.parameters[p].name
        return float(self._numbers(wanted)) if wanted in self._paths else 0.0

    def moved(self, steps: Sequence[float]) -> DrawnParameters:
        """The same parameters of a mechanism in which each is increased by a step."""
        out = copy(self)
        out.data = self._increased(dict(enumerate(steps)))
        out._mechanism = build_plainly(out.data)
        return out

    def build(self) -> Mechanism:
        """The mechanism of the definition; raises MechanismError if there is none."""
        return from_data(self.data, self._name)

    def _increased(self, steps: Mapping[int, float]) -> dict[str, Any]:
        """The data with some parameters increased."""
        data = self.data
        for p, step in steps.items():
            for path, rate in self.parameters[p].rates.items():
                value = np.asarray(get_value(data, path), dtype=float)
                data = set_value(data, path, np.asarray(value + step * rate))
        return data

    def _read(self, wrt: Wrt) -> RunParameter:
        if isinstance(wrt, str):
            value = self._numbers(wrt)
            if value.ndim:
                entries = ", ".join(f"'{wrt}.{i}'" for i in range(len(value)))
                raise ValueError(
                    f"wrt = '{wrt}' is {value.shape} numbers; give one of {entries}, or a direction: "
                    f"{{'{wrt}': [...]}}"
                )
            paths, places = self._spread(wrt, np.ones(()))
            if places:
                what = f"everything drawn at {self._shown(places)} moves, all other places stay"
            else:
                what = f"{wrt} changes alone"
            return RunParameter(wrt, _sentence(what), paths)
        if not isinstance(wrt, Mapping) or not wrt:
            raise ValueError(f"wrt = {wrt!r}; give a path, or a direction {{path: rate}}")
        rates: dict[str, Floats] = {}
        for path, rate in wrt.items():
            value, given = self._numbers(path), np.asarray(rate, dtype=float)
            if given.shape != value.shape or not np.isfinite(given).all():
                raise ValueError(
                    f"wrt['{path}'] = {rate!r}; give finite rates of the shape {value.shape} of its numbers"
                )
            for at, own in self._spread(path, given)[0].items():
                rates[at] = rates.get(at, 0.0) + own
        name = ", ".join(f"{path}: {np.asarray(rate).tolist()}" for path, rate in wrt.items())
        what = "the numbers named change at the rates given, with everything drawn at a joint that is named"
        return RunParameter(f"{{{name}}}", _sentence(what), rates)

    def _numbers(self, path: str) -> Floats:
        """The numbers at a path; raises UnknownNameError or MechanismError if there are none."""
        found = get_value(self._part(path), path)
        if split_path(path)[0] not in BLOCKS:
            raise MechanismError(
                f"wrt = '{path}' is not a number of a part: the motion does not depend on it; give a number of "
                f"{', '.join(BLOCKS)}"
            )
        if split_path(path)[2:3] == ["plate"]:
            raise MechanismError(
                f"wrt = '{path}': corners of plates have no derivatives; use body() with centre and inertia"
            )
        try:
            array = np.asarray(found, dtype=float)
        except (TypeError, ValueError):
            array = np.asarray(None)
        if isinstance(found, bool | str | None) or array.dtype.kind != "f":
            raise ValueError(f"wrt = '{path}' is {found!r}, not a number; give the path of one")
        return array

    def _spread(self, path: str, rate: Floats) -> tuple[dict[str, Floats], list[float]]:
        """Paths and rates of everything that moves with a number, and the position if it belongs to a joint."""
        parts = split_path(path)
        if parts[0] != "joints" or "at" not in parts:
            return {path: rate}, []
        here = parts.index("at") + 1
        place = np.asarray(get_value(self._part(path), join_path(parts[:here])), dtype=float)
        if place.ndim == 2 and len(parts) > here:
            # one of several points of the joint
            place, here = place[int(parts[here])], here + 1
        if place.ndim != 1:
            return {path: rate}, []
        moved = np.zeros(len(place))
        moved[int(parts[here]) if len(parts) > here else slice(None)] = rate
        found = {at: moved for at in self._drawn_at(place)}
        return found, place.tolist()

    def _drawn_at(self, place: Floats) -> Iterator[str]:
        """Paths of all coincident points of the definition."""
        for path, value in _places(self.data):
            if len(value) == len(place) and np.abs(value - place).max() <= SAME_PLACE * self._size:
                yield join_path(path)

    @staticmethod
    def _shown(place: list[float]) -> str:
        return "(" + ", ".join(f"{x:g}" for x in place) + ") m"


class RecipeParameters:
    """Parameters of a user's function that returns a mechanism."""

    def __init__(self, build: Callable[..., Mechanism], values: Mapping[str, float]) -> None:
        self._build = build
        self._values = {name: float(x) for name, x in values.items()}
        what = (
            "the other arguments of the function stay, and all that it does not make depend on {}"
        )
        self.parameters = [
            RunParameter(name, _sentence(what.format(name))) for name in self._values
        ]

    def build(self, **changed: Any) -> Mechanism:
        """The mechanism, with some arguments changed."""
        made = self._build(**{**self._values, **changed})
        if not isinstance(made, Mechanism):
            raise MechanismError(f"the function returned {made!r}; it has to return a Mechanism")
        return made

    def trace(self, lanes: Sequence[int]) -> tuple[Mechanism, int]:
        """The mechanism with derivatives by some of the parameters."""
        tape, unit = TangentTape(len(lanes)), np.eye(len(lanes))
        names = list(self._values)
        given = {
            names[p]: tape.make(self._values[names[p]], unit[lane]) for lane, p in enumerate(lanes)
        }
        try:
            return self.build(**given), len(lanes)
        except UntracedError as error:
            raise MechanismError(
                f"the function cannot be differentiated ({error}): use NumPy's functions (np.sin, np.sqrt, "
                "np.hypot) instead of math and float(), and body() with centre and inertia instead of plates"
            ) from error

    def moved(self, steps: Sequence[float]) -> RecipeParameters:
        """The same function, with each argument increased by a step."""
        both = zip(self._values.items(), steps, strict=True)
        return RecipeParameters(self._build, {name: x + step for (name, x), step in both})

    def value(self, p: int) -> float:
        """The value of an argument."""
        return self._values[self.parameters[p].name]

    def neighbour(self, p: int, step: float) -> Mechanism:
        """The mechanism with one parameter increased by a step."""
        name = self.parameters[p].name
        return self.build(**{name: self._values[name] + step})


def _sentence(what: str) -> str:
    return f"{what}; given velocities stay as given, and velocities that follow from them follow"


def _places(data: dict[str, Any]) -> Iterator[tuple[list[str], Floats]]:
    """Paths and coordinates of all points."""
    for block, parts in data.items():
        if not isinstance(parts, dict) or block in ("velocities", "angular_velocities"):
            continue
        for name, entry in parts.items():
            for key, value in entry.items() if isinstance(entry, dict) else ():
                if key in PLACES:
                    yield from _vectors([block, name, key], value)


def _vectors(path: list[str], value: Any) -> Iterator[tuple[list[str], Floats]]:
    if isinstance(value, list) and value and all(isinstance(x, int | float) for x in value):
        yield path, np.asarray(value, dtype=float)
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield from _vectors([*path, str(i)], inside)
