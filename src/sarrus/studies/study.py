"""A study as the rest of this room sees it: parameters, changes, records, settings; all plain and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Number = float | str


class ChangeKind(Enum):
    """What a value changes."""

    PATH = "path"
    OPTION = "option of the problem"
    SETTING = "setting"
    LENGTH = "length of a rod"
    TILT = "tilt"


@dataclass(frozen=True)
class Parameter:
    """One column of values over the runs, in SI.

    values: given ones, or None for a random parameter with its distribution and two numbers, which may be
    names of other columns; same: the column that this one repeats.
    """

    column: str
    values: tuple[Any, ...] | None = None
    distribution: str = ""
    numbers: tuple[Number, Number] = (0.0, 0.0)
    same: str = ""


@dataclass(frozen=True)
class Change:
    """What the values of some columns do to the mechanism or its settings.

    about: axis of a tilt; else its direction is the second column (in space).
    """

    kind: ChangeKind
    path: str
    columns: tuple[str, ...]
    about: tuple[float, ...] | None = None


@dataclass(frozen=True)
class StudyRecord:
    """One thing that is kept of a run: its columns, what it is, and its argument.

    text: source of a function of a file; call: a function given in Python.
    """

    columns: tuple[str, ...]
    what: str
    argument: Any = None
    text: str = ""
    call: Callable[..., Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Base:
    """The mechanism that is varied: a problem with its options, or the data of a model file."""

    problem: str
    options: dict[str, float]
    data: dict[str, Any] | None
    source: str


@dataclass(frozen=True)
class Plan:
    """All that a worker needs for any run of a study.

    settings: of `simulate`, None for verdicts only; trajectory: points to keep, () for all joints, None for
    nothing; time_limit [s]; digest: of the configuration without the values.
    """

    base: Base
    changes: tuple[Change, ...]
    columns: tuple[str, ...]
    settings: dict[str, Any] | None
    records: tuple[StudyRecord, ...]
    trajectory: tuple[str, ...] | None
    time_limit: float | None
    digest: str


@dataclass(frozen=True)
class Study:
    """A study that was read and checked.

    identity: everything that decides its table, as plain data; remarks: what a user should know.
    """

    name: str
    plan: Plan
    parameters: tuple[Parameter, ...]
    combine: str
    sampling: str
    samples: int
    seed: int
    attempts: int
    identity: dict[str, Any]
    remarks: tuple[str, ...] = ()
