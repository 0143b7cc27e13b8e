"""Identifies the columns of a file: by the user's words, by their headers, or by the order of the source.

Headers are read as people write them: "Time", "t [s]", "DX", "B0.x [m]", "P3x", "slider x". An ambiguous header
is not resolved here: the message says what to write instead. The interpretation is always reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import plain_sum
from ..export import LEVELS
from ..problems import Problem
from ..runs.columns import unit_of

# Last words of headers, by the column they mean; DX is a displacement, as ADAMS writes it.
WORDS = {
    "t": ("t", "time"),
    "energy": ("energy", "e", "etot", "etotal"),
    "angle": ("angle", "phi", "theta"),
    "rate": ("rate", "omega"),
    **{level: (level,) for level in LEVELS},
    **{c: (c, "d" + c, "p" + c, "pos" + c) for c in "xyz"},
    **{"v" + c: ("v" + c, "vel" + c, c + "d", c + "dot", c + "'", f"d{c}dt") for c in "xyz"},
}
MEANS = {word: name for name, words in WORDS.items() for word in words}
# Words before a coordinate that say whether its position or its velocity is meant.
OF_PLACE, OF_VELOCITY = ("p", "pos", "position"), ("v", "vel", "velocity", "speed")
# Words that may precede others without changing the meaning.
QUALITIES = ("total", "mechanical", "norm", "violation", "constraint", "of", "the")
# Factors that convert a file's unit to ours.
SCALES = {
    "s": {"s": 1.0, "sec": 1.0, "ms": 1e-3},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3},
    "m/s": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3},
    "m/s^2": {"m/s^2": 1.0, "m/s2": 1.0, "mm/s^2": 1e-3, "mm/s2": 1e-3},
    "rad": {"rad": 1.0, "deg": 0.017453292519943295},
    "rad/s": {"rad/s": 1.0, "deg/s": 0.017453292519943295},
    "J": {"j": 1.0, "nm": 1.0},
}
UNITS = {unit for scales in SCALES.values() for unit in scales}
WITH_UNIT = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]$")
SKIPPED = ("", "-", "_")


class HeadError(ValueError):
    """Columns that cannot be identified; the message says why and what to write."""


@dataclass(frozen=True)
class Head:
    """A header: its text, the column that it may mean, the words before it, and its unit."""

    text: str
    name: str | None
    before: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Meaning:
    """The column of each field of a row (None: not judged), the factor for its numbers, and notes to report."""

    names: tuple[str | None, ...]
    factors: tuple[float, ...]
    notes: tuple[str, ...] = ()


def read_head(text: str) -> Head:
    """Return what a header may mean."""
    text = text.strip().strip("\"'").strip()
    found = WITH_UNIT.match(text)
    plain, unit = (found[1], found[2].strip()) if found else (text, "")
    words = [w for w in re.split(r"[\s._|:,/\\-]+", plain.lower()) if w]
    if not words:
        return Head(text, None, unit=unit)
    *before, last = words
    if words[-2:] in ([f"d{c}", "dt"] for c in "xyz"):
        return Head(text, "v" + words[-2][1], " ".join(before[:-1]), unit)
    if last in ("violation", "norm") and before and before[-1] in LEVELS:
        last = before.pop()
    if last in "xyz" and before and before[-1] in (*OF_PLACE, *OF_VELOCITY):
        last = ("v" if before.pop() in OF_VELOCITY else "") + last
    # X1, DX1: the number of a point in the source's numbering.
    name = MEANS.get(last) or MEANS.get(last.rstrip("0123456789"))
    if name is None and len(last) > 1:
        # P3x, Fx: a point and a coordinate.
        for tail in ("vx", "vy", "vz", "x", "y", "z"):
            if last.endswith(tail):
                return Head(text, tail, " ".join([*before, last.removesuffix(tail)]), unit)
    return Head(text, name, " ".join(w for w in before if w not in QUALITIES), unit)


def find_meaning(
    lines: Iterable[list[str]],
    width: int,
    problem: Problem,
    given: str | None = None,
    degrees: bool = False,
) -> Meaning:
    """Identify the fields of rows; lines: fields of the lines before the first row; given: the user's words.

    degrees: angles without a unit are in degrees. Raises HeadError.
    """
    heads, units = _find_heads(list(lines), width)
    if given is not None:
        return _as_given(given, heads, width, problem)
    if heads:
        by_heads = _by_heads(heads, units, problem, degrees)
        if by_heads is not None:
            return by_heads
    wanted = problem.columns
    if width == len(wanted):
        notes: tuple[str, ...] = ()
        if heads:
            order = " ".join(wanted)
            notes = (f"headers {_quoted(heads)} were read in the source's order: {order}",)
        return Meaning(wanted, (1.0,) * width, notes)
    places = ("t", *(c for c in problem.reference_columns(np.zeros(1)) if c in ("x", "y", "z")))
    if 1 < width < len(wanted) and wanted[:width] == places[:width]:
        note = (
            f"{width} columns without headers were read as {' '.join(wanted[:width])}, the first of the "
            "source's"
        )
        return Meaning(
            wanted[:width], (1.0,) * width, (f"{note}; if they are others, say --columns",)
        )
    raise HeadError("")


def _find_heads(lines: list[list[str]], width: int) -> tuple[list[Head], list[str]]:
    """Return the headers closest to the rows, and the units of a separate line below them."""
    units: list[str] = []
    for fields in reversed(lines):
        if len(fields) != width:
            continue
        bare = [f.strip().strip("[]()\"'").lower() for f in fields]
        if all(b in UNITS or b in ("", "-", "1") for b in bare):
            units = units or bare
            continue
        heads = [read_head(f) for f in fields]
        # Prose may have the same number of words by chance, so a time and one more column must be among them.
        names = [h.name for h in heads]
        if "t" in names and plain_sum(n is not None for n in names) > 1:
            return heads, units
    return [], units


def _by_heads(
    heads: list[Head], units: list[str], problem: Problem, degrees: bool
) -> Meaning | None:
    """Identify columns by headers; None if some are unknown and the source's order fits the others."""
    known = {*problem.columns, *problem.reference_columns(np.zeros(1))}
    chosen = {name: _choose(name, heads, problem) for name in sorted(known)}
    names: list[str | None] = [None] * len(heads)
    for name, at in chosen.items():
        if at is not None:
            names[at] = name
    if len(heads) == len(problem.columns) and None in names:
        found = [
            (mine, theirs) for mine, theirs in zip(names, problem.columns, strict=True) if mine
        ]
        if all(mine == theirs for mine, theirs in found):
            return None
    if "t" not in names or not any(n not in (None, "t") for n in names):
        raise HeadError(
            f"of the headers {_quoted(heads)} none means {' '.join(problem.columns[1:])} of "
            f"'{problem.observed}'; say what they are, such as --columns {','.join(problem.columns[:2])}"
        )
    written = [u or h.unit for u, h in zip(units or [""] * len(heads), heads, strict=True)]
    factors = [
        1.0 if n is None else _factor(h, n, u, degrees)
        for h, n, u in zip(heads, names, written, strict=True)
    ]
    read = [f"'{h.text}' as {n}" for h, n in zip(heads, names, strict=True) if n]
    notes = ["read by headers: " + ", ".join(read)]
    scaled = [
        f"{n} by {f:.6g}" for n, f in zip(names, factors, strict=True) if n is not None and f != 1.0
    ]
    if scaled:
        notes.append(f"converted by the units in the file: {', '.join(scaled)}")
    left = [h for h, n in zip(heads, names, strict=True) if n is None]
    if left:
        notes.append(f"not judged: {_quoted(left)}")
    return Meaning(tuple(names), tuple(factors), tuple(notes))


def _choose(name: str, heads: list[Head], problem: Problem) -> int | None:
    """Return the header that means a column, preferring the one of the observed point; None if there is none."""
    able = [i for i, h in enumerate(heads) if h.name == name]
    mine = [i for i in able if heads[i].before == problem.observed.lower()]
    if not mine and any(heads[i].before for i in able):
        others = {p.lower() for p in _points(problem)} - {problem.observed.lower()}
        able = [i for i in able if heads[i].before not in others]
    # A literal name takes precedence over DX and the like.
    plain = [i for i in able if heads[i].text.lower() == name and not heads[i].before]
    for found in (mine, plain, able):
        if len(found) == 1:
            return found[0]
    if not able:
        return None
    raise HeadError(
        f"the headers {_quoted([heads[i] for i in able])} may all mean {name}; say which, such as "
        f"--columns t={_first(heads, 't')},{name}={heads[able[0]].text}"
    )


def _points(problem: Problem) -> list[str]:
    mechanism = problem.mechanism()
    return [*(j.name for j in mechanism.joints), *(p.name for p in mechanism.markers)]


def _factor(head: Head, name: str, unit: str, degrees: bool) -> float:
    scales = SCALES[unit_of(name)]
    if not unit:
        return (
            scales["deg" if name == "angle" else "deg/s"]
            if degrees and name in ("angle", "rate")
            else 1.0
        )
    if unit.lower() not in scales:
        raise HeadError(
            f"'{head.text}' has the unit {unit}; {name} is read in {', '.join(scales)}: write one of them"
        )
    return scales[unit.lower()]


def _as_given(specified: str, heads: list[Head], width: int, problem: Problem) -> Meaning:
    """Apply the user's specification: names in the order of the file, or name=header."""
    known = {*problem.columns, *problem.reference_columns(np.zeros(1))}
    parts = [part.strip() for part in specified.split(",")]
    names: list[str | None] = [None] * width
    if any("=" in part for part in parts):
        texts = [h.text for h in heads]
        for part in parts:
            name, _, head = part.partition("=")
            if head not in texts:
                raise HeadError(
                    f"--columns {part}: the file has the headers {_quoted(heads) or 'none'}"
                )
            names[texts.index(head)] = name
    else:
        if len(parts) > width:
            raise HeadError(f"--columns names {len(parts)} columns, the file has {width}")
        names[: len(parts)] = [None if part in SKIPPED else part for part in parts]
    given = [n for n in names if n is not None]
    wrong = [n for n in given if n not in known]
    if wrong:
        raise HeadError(
            f"--columns: '{wrong[0]}' is none of {' '.join(sorted(known))}; write - to skip one"
        )
    twice = [n for n in given if given.count(n) > 1]
    if twice or "t" not in given or len(given) < 2:
        what = f"'{twice[0]}' stands twice" if twice else "t and one more column are needed"
        raise HeadError(f"--columns {specified}: {what}")
    return Meaning(
        tuple(names), (1.0,) * width, (f"read as given: {' '.join(n or '-' for n in names)}",)
    )


def _first(heads: list[Head], name: str) -> str:
    return next((h.text for h in heads if h.name == name), name)


def _quoted(heads: list[Head]) -> str:
    return ", ".join(f"'{h.text}'" for h in heads)
