"""A table of a paper for comparison with ours: a small YAML file.

    title: Doe and Roe 2021, table 3
    source: https://doi.org/...
    rows:
      - {problem: double-four-bar, method: ali3, cpu: 0.35, drift: 0.09, note: h = 10 ms}

`method` and `class` may be left out: the row is then matched with all rows of its problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..mechanism.files.model_reader import load_document

# keys of a row: heading of the column, and unit
VALUES = {
    "cpu": ("CPU", "s"),
    "drift": ("drift", "J"),
    "error": ("error", "m"),
    "note": ("note", ""),
}
Word = Annotated[str, Field(min_length=1, max_length=500)]
Size = Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | None


class PaperError(ValueError):
    """A file is not a valid table of a paper; the message states file, line and key."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    problem: Word
    method: Word | None = None
    grade: Word | None = Field(default=None, alias="class")
    cpu: Size = None
    drift: Size = None
    error: Size = None
    note: Word | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Word
    source: Annotated[str, Field(max_length=2000)] = ""
    rows: Annotated[list[_Row], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class Paper:
    """A table of a paper: its title, its source, and rows by the keys of `VALUES`."""

    title: str
    source: str
    rows: list[dict[str, Any]]


def load_paper(path: str | Path) -> Paper:
    """Read the file of a paper's table; raises PaperError or MechanismError with file, line and key."""
    document = load_document(path)
    try:
        file = _File.model_validate(document.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = first["loc"]
        known = _Row if len(where) > 2 else _File
        names = ", ".join(f.alias or n for n, f in known.model_fields.items())
        why = f"unknown; known: {names}" if first["type"] == "extra_forbidden" else first["msg"]
        raise PaperError(document.message(where, why)) from error
    return Paper(file.title, file.source, [row.model_dump(by_alias=True) for row in file.rows])
