"""What decides the table of a study: as plain data, its digest, and what changed between two of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import problems
from .schema import StudyFile
from .study import Base, Change, StudyRecord


def make_identity(
    given: Any, file: StudyFile, base: Base, changes: list[Change], records: tuple[StudyRecord, ...]
) -> dict[str, Any]:
    """Everything that decides the table, in parts that a message can name; given: the file as it was read."""
    data = plain(given)
    if file.mechanism is not None and not isinstance(file.mechanism, str):
        data.pop("mechanism")
    chosen = ("vary", "variables", "combine", "sampling", "samples", "seed")
    study = {k: v for k, v in data.items() if k not in ("name", "attempts", *chosen)}
    out: dict[str, Any] = {
        "study": study,
        "sampling": {k: data[k] for k in chosen if k in data},
    }
    # the mechanism itself, not the name of its file
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
    """A hash of plain data."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def plain(value: Any) -> Any:
    """Plain data: no tuples, numbers of NumPy or functions."""
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
    """What changed between two plain values, by path."""
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
