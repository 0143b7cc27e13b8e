"""The format of a study file as pydantic models: what is checked, and what `sarrus schema --study` prints."""

# mypy: disable-error-code="valid-type"
# types of quantities are made by functions, which mypy cannot follow

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, StrictBool, StrictInt, Tag, WithJsonSchema

from ..mechanism.files.schema import SCHEMA_ID, Block, Length, Name, Number, Time

VERSION = 1
LATIN_HYPERCUBE, SOBOL = "latin-hypercube", "sobol"
GRID, LIST = "grid", "list"

# a number, a quantity such as "10 mm", or the name of a variable
_VALUE = {
    "title": "number, quantity or name of a variable",
    "anyOf": [{"type": "number"}, {"type": "string"}],
    "examples": [0.5, "10 mm", "error"],
}
Value = Annotated[Any, WithJsonSchema(_VALUE)]
# what may stand at a path of a model file
_ANYTHING = {"description": "a value as a model file has it", "examples": ["2 kg", [0, 0, 1]]}
Anything = Annotated[Any, WithJsonSchema(_ANYTHING)]


class RangeNumbers(Block):
    """Evenly spaced values: a count of them, or a step between them."""

    first: Value = Field(alias="from", description="first value", examples=["100 mm"])
    last: Value = Field(alias="to", description="last value", examples=["200 mm"])
    count: StrictInt | None = Field(default=None, description="number of values", examples=[11])
    step: Value | None = Field(default=None, description="step between values", examples=["10 mm"])
    spacing: Literal["linear", "log"] = Field(
        default="linear", description="log: equal factors instead of equal steps"
    )


class ListEntry(Block):
    """Given values: `[1 kg, 2 kg]` or `{list: [1 kg, 2 kg]}`."""

    values: list[Anything] = Field(
        alias="list", min_length=1, description="the values", examples=[["1 kg", "2 kg"]]
    )


class RangeEntry(Block):
    """Evenly spaced values: `{range: {from: 0.1, to: 0.5, count: 9}}`."""

    range: RangeNumbers = Field(
        description="from, to, and count or step", examples=[{"from": 0, "to": 1, "count": 5}]
    )


class UniformEntry(Block):
    """Random between two bounds: `{uniform: [0.9 kg, 1.1 kg]}`."""

    uniform: Annotated[list[Value], Field(min_length=2, max_length=2)] = Field(
        description="lowest and highest value", examples=[["0.9 kg", "1.1 kg"]]
    )


class NormalEntry(Block):
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


class TiltEntry(Block):
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


class SettingsEntry(Block):
    """How each run is simulated; what is left out is said by the model file or the problem."""

    duration: Time | None = Field(default=None, description="simulated time", examples=["10 s"])
    output_step: Time | None = Field(default=None, description="time between outputs")
    tolerance: Number | None = Field(
        default=None, description="error aimed at, relative to the mechanism's size"
    )
    method: Name | None = Field(default=None, description="the method", examples=["series"])
    step: Time | None = Field(default=None, description="step of a method with a fixed step")
    max_steps: StrictInt | None = Field(default=None, description="most steps of a run")
    assemble: StrictBool | None = Field(default=None, description="true: close the loops first")
    misfit: Length | None = Field(
        default=None, description="play that a locked linkage may be given", examples=["0.01 mm"]
    )


class TrajectoryEntry(Block):
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


class StudyFile(Block):
    """A study: many runs of one mechanism, and what is kept of them."""

    model_config = ConfigDict(extra="forbid", title="Sarrus study file")
    sarrus_study: Literal[1] = Field(description="version of the format", examples=[1])
    name: Name = Field(default="study", description="name of the study")
    mechanism: Any = Field(
        default=None,
        description="model file, beside the study file; or what one holds",
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
    """The JSON Schema of a study file, for editors and other programs."""
    return {"$schema": SCHEMA_ID, **StudyFile.model_json_schema()}
