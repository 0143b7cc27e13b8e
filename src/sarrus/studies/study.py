"""A study after reading: parameters, changes, records, settings; all plain and frozen.

The identity of a study is everything that determines its table, as plain data. It is used for a digest, and for
listing the differences of two studies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import problems

if TYPE_CHECKING:
    from .study_schema import StudyFile

Number = float | str


class StudyError(ValueError):
    """A study cannot be run or continued; the message says why and what to do."""


class StudyStopped(KeyboardInterrupt):
    """Ctrl-C stopped a study before its end; its finished runs are kept.

    done: number of finished runs.
    """

    def __init__(self, message: str, done: int, runs: int) -> None:
        super().__init__(message)
        self.done = done
        self.runs = runs


class ChangeKind(Enum):
    """What a value changes."""

    PATH = "path"
    OPTION = "option of the problem"
    SETTING = "setting"
    LENGTH = "length of a rod"
    SIDE = "length of a side"
    ALONG = "place along a rod"
    TILT = "tilt"


@dataclass(frozen=True)
class StudyParameter:
    """One column of values over the runs, in SI.

    values: given values, or None for a random parameter with its distribution and two numbers, which may be
    names of other columns; same: the column that this one repeats.
    """

    column: str
    values: tuple[Any, ...] | None = None
    distribution: str = ""
    numbers: tuple[Number, Number] = (0.0, 0.0)
    same: str = ""


@dataclass(frozen=True)
class Change:
    """How the values of some columns change the mechanism or its settings.

    about: axis of a tilt; without it the second column gives the direction (in space).
    """

    kind: ChangeKind
    path: str
    columns: tuple[str, ...]
    about: tuple[float, ...] | None = None


@dataclass(frozen=True)
class StudyRecord:
    """One record of a run: its columns, its kind, and its argument.

    text: source of a function in a file; call: a function given in Python.
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
class StudyPlan:
    """Everything a worker needs for any run of a study.

    settings: settings of `simulate`, None for verdicts only; trajectory: points to keep, () for all joints, None
    for nothing; time_limit [s]; digest: digest of the plan without the values.
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

    identity: everything that determines its table, as plain data; remarks: messages for the user.
    """

    name: str
    plan: StudyPlan
    parameters: tuple[StudyParameter, ...]
    combine: str
    sampling: str
    samples: int
    seed: int
    attempts: int
    identity: dict[str, Any]
    remarks: tuple[str, ...] = ()


def make_identity(
    given: Any, file: StudyFile, base: Base, changes: list[Change], records: tuple[StudyRecord, ...]
) -> dict[str, Any]:
    """Return everything that determines the table, in parts that a message can name; given: the file as read."""
    data = plain(given)
    if file.mechanism is not None and not isinstance(file.mechanism, str):
        data.pop("mechanism")
    chosen = ("vary", "variables", "combine", "sampling", "samples", "seed")
    study = {k: v for k, v in data.items() if k not in ("name", "attempts", *chosen)}
    out: dict[str, Any] = {
        "study": study,
        "sampling": {k: data[k] for k in chosen if k in data},
    }
    # The mechanism itself, not the name of its file.
    if base.data is not None:
        out["mechanism"] = plain(base.data)
    if base.problem:
        out["problem version"] = problems.get(base.problem).version
    texts = {str(r.argument): r.text for r in records if r.what == "function"}
    if texts:
        out["functions"] = texts
    out["changes"] = [plain(vars(c) | {"kind": c.kind.value}) for c in changes]
    return out


def digest(value: Any) -> str:
    """Return a hash of plain data."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def plain(value: Any) -> Any:
    """Return plain data: no tuples, NumPy numbers or functions."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if callable(value):
        return f"function {getattr(value, '__name__', '')}"
    return str(value) if isinstance(value, Path) else value


def differences(old: Any, new: Any, where: tuple[str, ...]) -> Iterator[str]:
    """Yield the differences between two plain values, by path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            place = (*where, str(key))
            if key not in new:
                yield f"{'.'.join(place)} is gone (was {_show(old[key])})"
            elif key not in old:
                yield f"{'.'.join(place)} is new ({_show(new[key])})"
            else:
                yield from differences(old[key], new[key], place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, (*where, str(i)))
    elif old != new and where[:1] == ("functions",):
        yield f"the text of {where[1]} changed"
    elif old != new:
        yield f"{'.'.join(where)} was {_show(old)} and is {_show(new)}"


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
