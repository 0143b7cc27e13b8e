"""problem.json of a user-defined problem as a pydantic model, which validates it completely when it is read."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from ..names import pick
from ..runs.run_records import Name, Positive, RecordPart, Text, read_json, validate
from .problem import Limits

# The id is used in names of folders and packages.
Id = Annotated[str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
KNOWN_LIMITS = {field.name: field for field in fields(Limits)}


class PackedNumbers(RecordPart):
    """The content of problem.json."""

    id: Id
    title: Text
    observed: Name
    duration: Positive
    output_step: Positive
    limits: dict[Name, Positive]
    library: Text = "own"
    source: Text = ""
    note: Text = ""

    @field_validator("limits")
    @classmethod
    def _check_known(cls, limits: dict[str, float]) -> dict[str, float]:
        for name in limits:
            pick(KNOWN_LIMITS, name, "limit")
        return limits


def load_numbers(path: Path) -> dict[str, Any]:
    """Return the numbers of problem.json exactly as written; raises OSError or RecordError."""
    numbers: dict[str, Any] = read_json(path)
    validate(numbers, PackedNumbers)
    # A problem's version is a checksum of these numbers, so nothing is added.
    return numbers
