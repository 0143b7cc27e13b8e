"""Optimisation files: variables, objective, constraints and settings of `sarrus optimize`, in YAML.

Numbers may have units, which are checked against those of the variable or quantity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt, ValidationError, WithJsonSchema

from ..formats.formulas import parse
from ..formats.parts import FormatError
from ..mechanism import MechanismError, ModelFileError, load_data, to_data
from ..mechanism.files import from_data, units
from ..mechanism.files.model_reader import Document, Where, load_document
from ..mechanism.files.model_schema import SCHEMA_ID, Section, known_keys
from ..mechanism.files.paths import nearest, split_path, unit_at
from ..mechanism.files.schema_values import Name, Number, Time
from ..mechanism.files.units import UnitError, shorten
from ..quantity_units import unit_of_quantity
from .measures import WORDS
from .optimisation_problem import BOUNDS, OptimisationProblem, make_problem
from .search import METHODS

VERSION = 1
Value = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}], "examples": ["10 mm"]})
]
_MEASURE = {
    "type": "object",
    "properties": {
        **{word: {"description": text} for word, text in WORDS.items()},
        "at": {"description": "time or times [s]"},
        "to": {"description": "values, points, or a formula of time"},
        "when": {"description": "an event: {quantity: crank angle, equals: 30 deg}"},
        "weight": {"type": "number", "description": "factor in a sum"},
        **{word: {"description": "a bound, of constraints"} for word in BOUNDS},
    },
    "additionalProperties": False,
}
MeasureEntry = Annotated[dict[str, Any], WithJsonSchema(_MEASURE)]


class VariableEntry(Section):
    """Bounds of a variable, and where the first search starts."""

    low: Value = Field(alias="from", description="lowest value", examples=["0.5 kg"])
    high: Value = Field(alias="to", description="highest value", examples=["2 kg"])
    start: Value | None = Field(
        default=None, description="first value; left out: that of the model", examples=["1 kg"]
    )


class OptimisationFile(Section):
    """An optimisation of a mechanism: variables, what is minimised, constraints."""

    model_config = ConfigDict(extra="forbid", title="Sarrus optimisation file")
    sarrus_optimize: Literal[1] = Field(description="version of the format", examples=[1])
    name: Name | None = Field(default=None, description="name of the optimisation")
    mechanism: Name = Field(
        description="model file, next to this file", examples=["slider_crank.yaml"]
    )
    variables: dict[str, VariableEntry] = Field(
        min_length=1,
        description="bounds by path",
        examples=[{"bodies.weight.mass": {"from": "0.1 kg", "to": "5 kg"}}],
    )
    minimise: MeasureEntry | list[MeasureEntry] | None = Field(
        default=None,
        description="measure, or list of them, which are added",
        examples=[{"rms": "shaking force"}],
    )
    maximise: MeasureEntry | list[MeasureEntry] | None = Field(
        default=None, description="instead of minimise", examples=[{"minimum": "P.y"}]
    )
    constraints: list[MeasureEntry] = Field(
        default_factory=list,
        description="measures with a bound each",
        examples=[[{"largest": "motor torque", "at_most": "5 N m"}]],
    )
    duration: Time | None = Field(
        default=None, description="simulated time; left out: one cycle of the drive"
    )
    output_step: Time | None = Field(default=None, description="time between outputs")
    tolerance: Number | None = Field(default=None, description="tolerance of the runs")
    starts: StrictInt = Field(default=1, description="number of searches", ge=1, le=10_000)
    seed: StrictInt = Field(default=0, description="start of the random numbers", ge=0)
    method: Literal["slsqp", "trust-constr"] = Field(
        default="slsqp", description="algorithm of SciPy"
    )
    max_iterations: StrictInt = Field(
        default=200, description="most iterations of a search", ge=1, le=1_000_000
    )


assert set(OptimisationFile.model_fields["method"].annotation.__args__) == set(METHODS)  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class LoadedOptimisation:
    """An optimisation file that was read: its problem, and how it is searched."""

    problem: OptimisationProblem
    name: str
    starts: int
    seed: int
    method: str
    most_iterations: int


def make_optimisation_schema() -> dict[str, Any]:
    """Return the JSON Schema of an optimisation file."""
    return {"$schema": SCHEMA_ID, **OptimisationFile.model_json_schema()}


def load_optimisation(path: str | Path) -> LoadedOptimisation:
    """Read and check an optimisation file; all errors raise ModelFileError with their lines."""
    document = load_document(path)
    file = _validate(document)
    reader = _Reader(document, file, Path(path).parent)
    return reader.read()


def _validate(document: Document) -> OptimisationFile:
    data = document.data
    if not isinstance(data, dict) or data.get("sarrus_optimize") != VERSION:
        why = f"is this an optimisation file? Begin it with 'sarrus_optimize: {VERSION}'"
        raise ModelFileError(document.source, [document.message((), why)])
    try:
        return OptimisationFile.model_validate(data)
    except ValidationError as error:
        found = [document.message(*_translate(item)) for item in error.errors()]
        raise ModelFileError(document.source, list(dict.fromkeys(found))) from None


def _translate(error: Any) -> tuple[Where, str]:
    """Return path and message of one error of pydantic."""
    kind, where = error["type"], tuple(x for x in error["loc"] if not str(x).startswith("list["))
    if where and where[0] in ("minimise", "maximise"):
        where = where[:1]
    if kind == "extra_forbidden":
        keys = known_keys(OptimisationFile if len(where) == 1 else VariableEntry)
        return where, f"unknown key; {nearest(str(where[-1]), keys)}"
    if kind == "missing":
        return where[:-1], f"'{where[-1]}' is missing"
    if kind == "value_error":
        return where, str(error["ctx"]["error"])
    message = str(error["msg"]).replace("Input should be", "it should be")
    return where, f"{shorten(error['input'])} cannot be used: {message[0].lower()}{message[1:]}"


class _Reader:
    """Builds the problem of a validated file."""

    def __init__(self, document: Document, file: OptimisationFile, folder: Path) -> None:
        self.document, self.file, self.folder = document, file, folder

    def fail(self, where: Where, why: object) -> ModelFileError:
        return ModelFileError(self.document.source, [self.document.message(where, str(why))])

    def read(self) -> LoadedOptimisation:
        file = self.file
        if (file.minimise is None) == (file.maximise is None):
            raise self.fail((), "give either 'minimise' or 'maximise'")
        try:
            data = load_data(self.folder / file.mechanism)
            mechanism = from_data(data, Path(file.mechanism).name)
        except MechanismError as error:
            raise self.fail(("mechanism",), error) from None
        si = to_data(mechanism)
        variables = {}
        for path, entry in file.variables.items():
            where: Where = ("variables", path)
            unit = unit_at(si, split_path(path))
            bounds = [self.number(x, unit, where) for x in (entry.low, entry.high)]
            first = [] if entry.start is None else [self.number(entry.start, unit, where)]
            variables[path] = (*bounds, *first)
        word = "minimise" if file.maximise is None else "maximise"
        given = getattr(file, word)
        terms = given if isinstance(given, list) else [given]
        objective = [self.measure(term, (word,)) for term in terms]
        limits = [self.measure(x, ("constraints", i)) for i, x in enumerate(file.constraints)]
        try:
            problem = make_problem(
                mechanism, variables, objective, limits, duration=file.duration, output_step=file.output_step,
                maximise=file.maximise is not None,
                settings={} if file.tolerance is None else {"tolerance": file.tolerance},
            )  # fmt: skip
        except (MechanismError, ValueError) as error:
            raise self.fail((), error) from None
        return LoadedOptimisation(
            problem, file.name or mechanism.name, file.starts, file.seed, file.method, file.max_iterations
        )  # fmt: skip

    def number(self, given: Any, unit: str, where: Where) -> float:
        """A number in SI; its unit, if it has one, must be that of the quantity."""
        try:
            found = units.parse_for(given, units.NUMBER)
            expected = units.parse_quantity(f"1 {unit}").dimension if unit else None
        except UnitError as error:
            raise self.fail(where, error) from None
        if found.dimension is not None and unit and found.dimension != expected:
            raise self.fail(where, f"{found.text} has another unit than {unit}")
        return float(found.value)

    def measure(self, given: Mapping[str, Any], where: Where) -> dict[str, Any]:
        """A measure with all numbers in SI, and formulas as functions of time."""
        word = next((w for w in WORDS if w in given), "")
        of = given.get(word)
        unit = unit_of_quantity(of) if isinstance(of, str) else "s" if word == "time" else ""
        out = dict(given)
        for key in BOUNDS:
            if key in given:
                out[key] = self.number(given[key], "m" if word == "distance" else unit, where)
        if "at" in given:
            out["at"] = self.numbers(given["at"], "s", where)
        event = given.get("when") if word == "value" else of if word == "time" else None
        if isinstance(event, Mapping) and "equals" in event:
            own = unit_of_quantity(str(event.get("quantity", "")))
            read = {**event, "equals": self.number(event["equals"], own, where)}
            out["when" if word == "value" else word] = read
        if "to" in given and word == "difference":
            out["to"] = self.target(given["to"], unit, where)
        elif "to" in given and isinstance(given["to"], list):
            out["to"] = [self.place(p, where) for p in given["to"]]
        return out

    def numbers(self, given: Any, unit: str, where: Where) -> Any:
        if isinstance(given, list):
            return [self.number(x, unit, where) for x in given]
        return self.number(given, unit, where)

    def place(self, given: Any, where: Where) -> list[float]:
        try:
            return units.vector_in_si(given, units.LENGTH)
        except UnitError as error:
            raise self.fail(where, error) from None

    def target(self, given: Any, unit: str, where: Where) -> Any:
        """Values, or a formula of time."""
        if not isinstance(given, str):
            return self.numbers(given, unit, where)
        try:
            return self.numbers(given, unit, where)
        except ModelFileError:
            pass
        try:
            formula = parse(given)
        except FormatError as error:
            raise self.fail(
                where, f"{error}; give values, or a formula like 0.4*sin(2*pi*time)"
            ) from None
        return lambda times: formula.at(time=times)
