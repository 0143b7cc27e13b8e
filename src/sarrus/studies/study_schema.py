"""The format of a study file as pydantic models, for validation and the schema; error messages in words."""

# mypy: disable-error-code="valid-type"
# types of quantities are made by functions, which mypy cannot follow

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    ValidationError,
    WithJsonSchema,
)

from ..mechanism import ModelFileError
from ..mechanism.files.model_reader import Document, Where
from ..mechanism.files.model_schema import SCHEMA_ID, Section, SimulateEntry, known_keys
from ..mechanism.files.paths import nearest
from ..mechanism.files.schema_values import Length, Name, Number, Time
from ..mechanism.files.units import shorten

VERSION = 1
LATIN_HYPERCUBE, SOBOL = "latin-hypercube", "sobol"
GRID, LIST = "grid", "list"

# A number, a quantity such as "10 mm", or the name of a variable.
_VALUE = {
    "title": "number, quantity or name of a variable",
    "anyOf": [{"type": "number"}, {"type": "string"}],
    "examples": [0.5, "10 mm", "error"],
}
Value = Annotated[Any, WithJsonSchema(_VALUE)]
# Any value that a path of a model file may have.
_ANYTHING = {"description": "a value as a model file has it", "examples": ["2 kg", [0, 0, 1]]}
Anything = Annotated[Any, WithJsonSchema(_ANYTHING)]


class RangeNumbers(Section):
    """Evenly spaced values: a count of them, or a step between them."""

    first: Value = Field(alias="from", description="first value", examples=["100 mm"])
    last: Value = Field(alias="to", description="last value", examples=["200 mm"])
    count: StrictInt | None = Field(default=None, description="number of values", examples=[11])
    step: Value | None = Field(default=None, description="step between values", examples=["10 mm"])
    spacing: Literal["linear", "log"] = Field(
        default="linear", description="log: equal factors instead of equal steps"
    )


class ListEntry(Section):
    """Given values: `[1 kg, 2 kg]` or `{list: [1 kg, 2 kg]}`."""

    values: list[Anything] = Field(
        alias="list", min_length=1, description="the values", examples=[["1 kg", "2 kg"]]
    )


class RangeEntry(Section):
    """Evenly spaced values: `{range: {from: 0.1, to: 0.5, count: 9}}`."""

    range: RangeNumbers = Field(
        description="from, to, and count or step", examples=[{"from": 0, "to": 1, "count": 5}]
    )


class UniformEntry(Section):
    """Random between two bounds: `{uniform: [0.9 kg, 1.1 kg]}`."""

    uniform: Annotated[list[Value], Field(min_length=2, max_length=2)] = Field(
        description="lowest and highest value", examples=[["0.9 kg", "1.1 kg"]]
    )


class NormalEntry(Section):
    """Normally distributed: `{normal: [1 kg, 10 g]}`."""

    normal: Annotated[list[Value], Field(min_length=2, max_length=2)] = Field(
        description="mean and standard deviation", examples=[["1 kg", "10 g"]]
    )


def _kind(given: object) -> str | None:
    if isinstance(given, list):
        return LIST
    if isinstance(given, str | int | float):
        return "value"
    words = given if isinstance(given, dict) else {}
    return next(
        (word for word in (LIST, "range", "uniform", "normal", "tilt") if word in words), None
    )


Values = Annotated[
    Annotated[list[Anything], Field(min_length=1), Tag("plain list")]
    | Annotated[Value, Tag("value")]
    | Annotated[ListEntry, Tag(LIST)]
    | Annotated[RangeEntry, Tag("range")]
    | Annotated[UniformEntry, Tag("uniform")]
    | Annotated[NormalEntry, Tag("normal")],
    Discriminator(lambda given: "plain list" if isinstance(given, list) else _kind(given)),
]


class TiltEntry(Section):
    """A direction turned by an angle: `{tilt: {normal: [0, 0.1 deg]}}`."""

    tilt: Values = Field(description="the angle", examples=[{"normal": [0, "0.1 deg"]}])
    about: list[Number] | None = Field(
        default=None,
        description="axis of the turn; left out: at random, square to the direction",
        examples=[[1, 0, 0]],
    )


Variation = Annotated[
    Annotated[list[Anything], Field(min_length=1), Tag("plain list")]
    | Annotated[Value, Tag("value")]
    | Annotated[ListEntry, Tag(LIST)]
    | Annotated[RangeEntry, Tag("range")]
    | Annotated[UniformEntry, Tag("uniform")]
    | Annotated[NormalEntry, Tag("normal")]
    | Annotated[TiltEntry, Tag("tilt")],
    Discriminator(lambda given: "plain list" if isinstance(given, list) else _kind(given)),
]


class SettingsEntry(SimulateEntry):
    """How each run is simulated; omitted keys have the values of the model file or the problem."""

    max_steps: StrictInt | None = Field(default=None, description="most steps of a run")
    assemble: StrictBool | None = Field(default=None, description="true: close the loops first")
    misfit: Length | None = Field(
        default=None, description="play that a locked linkage may be given", examples=["0.01 mm"]
    )


class TrajectoryEntry(Section):
    """Which points of every run are kept, output by output."""

    points: list[Name] | None = Field(
        default=None,
        description="joints, points or bodies; left out: all joints",
        examples=[["B0"]],
    )


_record = Field(
    default_factory=lambda: ["energy_drift"],
    description="what is kept of each run: names, or columns by name",
    examples=[["energy_drift", {"maximum": "B0.x"}], {"highest": {"maximum": "B0.y"}}],
)


class StudyFile(Section):
    """A study: many runs of one mechanism, and what is kept of them."""

    model_config = ConfigDict(extra="forbid", title="Sarrus study file")
    sarrus_study: Literal[1] = Field(description="version of the format", examples=[1])
    name: Name = Field(default="study", description="name of the study")
    mechanism: Any = Field(
        default=None,
        description="model file, next to the study file; or what one holds",
        examples=["four_bar.yaml"],
        json_schema_extra={"type": ["string", "object", "null"]},
    )
    problem: Name | None = Field(
        default=None, description="id of a problem", examples=["double-four-bar"]
    )
    set: dict[str, Anything] = Field(
        default_factory=dict, description="values by path, the same in all runs"
    )
    variables: dict[str, Variation] = Field(
        default_factory=dict, description="values without a path, which others may use by name"
    )
    vary: dict[str, Variation] = Field(
        default_factory=dict,
        description="values by path, different from run to run",
        examples=[{"bodies.crank.mass": {"uniform": ["1 kg", "2 kg"]}}],
    )
    combine: Literal["grid", "list"] = Field(
        default="grid", description="lists and ranges: all combinations, or row by row"
    )
    sampling: Literal["random", "latin-hypercube", "sobol"] = Field(
        default="random", description="how random values are spread"
    )
    samples: StrictInt | None = Field(
        default=None, description="random samples for each combination", examples=[1000]
    )
    seed: StrictInt = Field(default=0, description="start of the random numbers", ge=0)
    simulate: SettingsEntry | Literal[False] = Field(
        default_factory=SettingsEntry, description="settings; false: verdicts only, no simulation"
    )
    record: list[Any] | dict[str, Any] = _record
    trajectory: StrictBool | TrajectoryEntry = Field(
        default=False, description="whether whole trajectories are kept"
    )
    time_limit: Time | None = Field(default=None, description="longest time a run may take")
    attempts: StrictInt = Field(
        default=3, description="how often a run is tried whose worker dies", ge=1, le=20
    )


def make_study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file, for editors and other programs."""
    return {"$schema": SCHEMA_ID, **StudyFile.model_json_schema()}


SETTINGS = tuple(known_keys(SettingsEntry))


def validate_study(document: Document) -> StudyFile:
    """Validate a study file; raises ModelFileError with one line per error."""
    data = document.data
    version = data.get("sarrus_study") if isinstance(data, dict) else None
    if not isinstance(data, dict) or "sarrus_study" not in data:
        why = f"there is no version; is this a study file? Begin it with 'sarrus_study: {VERSION}'"
        raise ModelFileError(document.source, [document.message((), why)])
    if version != VERSION or isinstance(version, bool):
        why = f"version {shorten(version)} is not known; this program reads version {VERSION}"
        raise ModelFileError(document.source, [document.message(("sarrus_study",), why)])
    try:
        return StudyFile.model_validate(data)
    except ValidationError as error:
        slips = [(item["type"], *translate_slip(item, data)) for item in error.errors()]
        found = [
            document.message(where, why)
            for kind, where, why in slips
            # A mapping with an error in it was not meant to be `false`, the alternative at this key.
            if kind not in ("literal_error", "bool_type")
            or not any(len(w) > len(where) and w[: len(where)] == where for _, w, _ in slips)
        ]
        raise ModelFileError(document.source, list(dict.fromkeys(found))) from None


def translate_slip(error: Any, data: Any) -> tuple[Where, str]:
    """Return path and message of one error of pydantic."""
    kind, context = error["type"], error.get("ctx", {})
    *above, last = error["loc"]
    where: list[str | int] = []
    place = data
    for part in above:
        # Names of alternatives appear between the keys.
        if isinstance(place, dict | list) and _has(place, part):
            where.append(part)
            place = place[part]
    if kind == "missing":
        return tuple(where), f"'{last}' is missing"
    if kind == "extra_forbidden":
        return (*where, last), f"unknown key; {nearest(str(last), _keys(where))}"
    if isinstance(place, dict | list) and _has(place, last):
        where.append(last)
    if kind == "value_error":
        return tuple(where), str(context["error"])
    given = shorten(error["input"])
    if kind == "int_type" and isinstance(error["input"], float) and error["input"].is_integer():
        return tuple(where), f"{given} has too many digits; {_wanted(where)}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return tuple(where), (
            f"{given} is not a variation; give a list, or one of {{range: ...}}, {{uniform: [low, high]}}, "
            "{normal: [mean, deviation]}, {tilt: ...}"
        )
    if kind in ("too_short", "too_long"):
        return tuple(where), f"{context['actual_length']} entries; {_wanted(where)}"
    if kind == "literal_error":
        return tuple(where), f"{given} is not possible; give {context['expected']}"
    if kind in ("bool_type", "int_type", "list_type", "dict_type", "model_type"):
        words = {"bool_type": "neither true nor false", "int_type": "not a whole number"}
        words |= {"list_type": "no list", "dict_type": "no mapping", "model_type": "no mapping"}
        return tuple(where), f"{given} is {words[kind]}; {_wanted(where)}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return tuple(where), f"{given} is out of range; {error['msg'].lower()}"
    return tuple(where), f"{given} cannot be read: {error['msg']}"


def _has(place: Any, part: Any) -> bool:
    if isinstance(place, dict):
        return part in place
    return isinstance(part, int) and 0 <= part < len(place)


def _keys(where: list[str | int]) -> list[str]:
    """Return the keys allowed at a path of a study."""
    if not where:
        return known_keys(StudyFile)
    if where[0] == "simulate":
        return list(SETTINGS)
    if where[0] == "trajectory":
        return known_keys(TrajectoryEntry)
    if where[-1] == "range":
        return known_keys(RangeNumbers)
    return ["list", "range", "uniform", "normal", "tilt", "about"]


def _wanted(where: list[str | int]) -> str:
    """Return what to write at a path, from the example of its field."""
    models = (StudyFile, SettingsEntry, RangeNumbers, UniformEntry)
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    for model in (*models, NormalEntry, ListEntry, TiltEntry):
        for name, item in model.model_fields.items():
            if (item.alias or name) == key:
                return f"give {item.description}"
    return "see docs/sweeps.md"
