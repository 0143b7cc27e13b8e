"""Records of runs as pydantic models: a file is validated completely when it is read, or rejected with a message.

Three kinds of files contain such a record: run.json of a problem, run.json of a user's model, and the JSON files
of a benchmark. Readers get plain dictionaries in which every key declared here is present and has its type; other
keys of a file are passed on unread.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from ..disk import read_file
from ..names import shown

# Largest size of a record [bytes].
MOST_BYTES = 100_000_000
# Largest number of errors listed per record.
MOST_LISTED = 3

Text = Annotated[str, Field(strict=True, max_length=100_000)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=1000)]
# Above 2**53 a count is not exact in programs that read JSON numbers as doubles.
Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
# JSON does not support infinite numbers; null stands for them.
Measured = Number | None
Value = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Number
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0.0)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0)]


class InvalidRecordError(ValueError):
    """A file without a valid record; the message says what is wrong with it."""


class RecordPart(BaseModel):
    """A part of a record; undeclared keys are kept."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Machine(RecordPart):
    """The machine of a run."""

    processor: Text
    cores: Count | None
    system: Text
    python: Text


class CheckRecord(RecordPart):
    """One limit and the measured value."""

    what: Text
    value: Measured
    limit: Number
    unit: Text
    passed: StrictBool
    time: Measured = None
    ours: StrictBool = False


class JudgementRecord(RecordPart):
    """Measurements of the judge; null where nothing can be measured, or where a value is infinite."""

    passed: StrictBool
    complete: StrictBool
    checks: list[CheckRecord]
    energy_drift: Measured
    position_error: Measured
    violation: Measured
    velocity_error: Measured = None
    end_error: Measured = None
    recomputed_drift: Measured = None
    violations: dict[Text, Measured] = Field(default_factory=dict)
    left_at: Measured = None
    branch: Text | None = None
    findings: list[Text] = Field(default_factory=list)
    undetermined: list[Text] = Field(
        default_factory=list, validation_alias=AliasChoices("undetermined", "untold")
    )


class ProblemRecord(RecordPart):
    """The problem that was solved."""

    id: Name
    version: Count
    title: Text
    options: dict[Name, Value]
    limits: dict[Name, Number]
    source: Text = ""
    note: Text = ""


class ModelRecord(RecordPart):
    """The model file that was simulated."""

    name: Text
    file: Text


class VerdictRecord(RecordPart):
    """The part of the verdict that the report shows."""

    text: list[Text]
    crossings: list[dict[str, Any]] | None
    near_singular: list[dict[str, Any]] | None = None
    mobility_motion: Count | None = None
    summary: Text = ""
    classes: list[Text] = Field(default_factory=list)


class Times(RecordPart):
    """Times [s] of a record; undeclared times are numbers as well."""

    __pydantic_extra__: dict[str, Seconds | None] = Field(init=False)


class SolveTimes(Times):
    """Times of a single simulation."""

    solve_cpu: Seconds
    record_cpu: Seconds


class RepeatedTimes(Times):
    """Times of a run that was repeated for timing."""

    cpu: Seconds
    solve: Seconds
    repeats: Count
    calibration: Positive
    busy: StrictBool
    spread: Seconds = 0.0
    same_bits: StrictBool = True
    calibration_version: Count = 0


class RecordBase(RecordPart):
    """Fields common to all records."""

    format: Literal[1] = Field(alias="schema")
    method: Name
    tolerance: Positive | None
    step: Positive | None
    status: Name
    message: Text
    notes: list[Text]
    machine: Machine
    versions: dict[Name, Text]
    command: Text
    date: Text

    @model_validator(mode="after")
    def _has_setting(self) -> RecordBase:
        if self.tolerance is None and self.step is None:
            raise ValueError("has no tolerance and no step")
        return self


class CellRecord(RecordBase):
    """One setting of a benchmark."""

    problem: ProblemRecord
    judgement: JudgementRecord
    timings: RepeatedTimes
    compiled: StrictBool = True
    fingerprint: Text = ""


class ChangeRecord(RecordPart):
    """Effect of a small change of an engine's step."""

    classes: list[Text]
    status: Name
    message: Text


class EngineRecord(RecordPart):
    """The engine and its settings."""

    id: Name
    settings: dict[Name, Text | Value]
    setting: Positive
    change: Positive
    why: Text


class EngineCellRecord(CellRecord):
    """One setting of a benchmark of engines."""

    engine: EngineRecord
    changed: dict[Name, ChangeRecord] = Field(default_factory=dict)


class RunRecord(RecordBase):
    """A single run of a problem or a model."""

    duration: Positive
    outputs: Count
    counters: dict[Name, Value]
    verdict: VerdictRecord
    method_options: dict[Name, Value] = Field(default_factory=dict)


class ModelRun(RunRecord):
    """run.json of a model file."""

    model: ModelRecord
    timings: SolveTimes


class ProblemRun(RunRecord):
    """run.json of a problem."""

    problem: ProblemRecord
    judgement: JudgementRecord
    timings: RepeatedTimes


def read_run(path: Path) -> dict[str, Any]:
    """Read run.json of a problem or of a model; raises OSError or InvalidRecordError."""
    data = read_json(path)
    return validate(data, ModelRun if isinstance(data, dict) and "model" in data else ProblemRun)


def read_record(path: Path, kind: type[RecordBase]) -> dict[str, Any]:
    """Read the record of a file; raises OSError or InvalidRecordError."""
    return validate(read_json(path), kind)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raises OSError or InvalidRecordError."""
    try:
        return json.loads(read_file(path, MOST_BYTES))
    except RecursionError:
        raise InvalidRecordError("it is nested too deeply") from None
    except ValueError as error:
        raise InvalidRecordError(f"it is not JSON: {error}") from None


def validate(data: Any, kind: type[RecordPart]) -> dict[str, Any]:
    """Validate data as a record of a kind and fill in defaults; raises InvalidRecordError."""
    try:
        return kind.model_validate(data).model_dump(by_alias=True)
    except ValidationError as error:
        # Every member of a union reports an error; only the last one per key is reported to the user.
        reasons = dict(map(_describe, error.errors(include_url=False)))
        found = [f"{where} {why}" for where, why in reasons.items()]
        more = f"; and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
        raise InvalidRecordError("; ".join(found[:MOST_LISTED]) + more) from None


def _describe(error: Any) -> tuple[str, str]:
    """Describe one error of pydantic: which key, and what is wrong with it."""
    # A union adds the name of its member to the path.
    keys = [key for key in error["loc"] if key not in _MEMBERS]
    where = ".".join(shown(key)[:60] for key in keys) or "the record"
    if error["type"] == "value_error":
        return where, str(error["ctx"]["error"])
    return where, _WORDS.get(error["type"]) or f"is not valid: {error['msg']}"


_MEMBERS = ("constrained-int", "constrained-float", "constrained-str", "int", "float", "str")
_WORDS = {
    "missing": "is missing",
    "literal_error": "is not a version that this program reads",
    "string_type": "is not text",
    "string_too_long": "is too long",
    "string_too_short": "is empty",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    **dict.fromkeys(("dict_type", "model_type"), "is not a mapping of keys and values"),
    **dict.fromkeys(("float_type", "finite_number"), "is not a finite number"),
    **dict.fromkeys(("int_type", "int_from_float"), "is not a whole number"),
    "greater_than": "is not positive",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
    "string_pattern_mismatch": "is not made of small letters, digits and hyphens",
}
