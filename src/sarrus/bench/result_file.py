"""Result files of any program: generous in format, strict in content.

A row is t and what the problem's source asks for, in its order. Blanks, tabs, commas or semicolons
between numbers, decimal points or commas, Fortran exponents, header and comment lines, any usual text
encoding: all are read. What the numbers say must be right: every column, every row from 0 to the
duration at the step of the source, all finite.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from .. import problems
from ..arrays import Floats
from ..problems import Problem

LARGEST = 200_000_000  # bytes
MOST_ROWS = 5_000_000
LONGEST_LINE = 10_000  # characters
MOST_HEADER_LINES = 200
# of a step: beyond the rounding of printed times, far below what an error is worth
TIME_TOLERANCE = 1e-4

# not inside a field: "-1.#IND" is a number that broke down, not a comment
COMMENT = re.compile(r"(?:^|(?<=[\s,;]))(?:[#%!]|//)")
NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdDqQ][+-]?\d{1,4})?|(?:\d+\.\d*|\.\d+)[+-]\d{3})", re.ASCII
)
# Fortran leaves the letter out before an exponent of three digits
BARE_EXPONENT = re.compile(r"(?<=[\d.])([+-]\d{3})$", re.ASCII)
# not-a-number and overflow, as C, Fortran, MATLAB and older Microsoft libraries print them
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?|1\.#\w+|\*+)", re.IGNORECASE)


class ResultFileError(ValueError):
    """A result file cannot be judged; the message has file, line, and what to do."""


@dataclass(frozen=True)
class Layout:
    """How numbers stand in a line."""

    separator: str | None
    decimal_comma: bool = False

    def fields(self, line: str) -> list[str]:
        """The fields of a line; a separator at its end opens none."""
        fields = [field.strip() for field in line.split(self.separator)]
        if len(fields) > 1 and not fields[-1]:
            fields.pop()
        return [f.replace(",", ".") for f in fields] if self.decimal_comma else fields


LAYOUTS = (
    Layout(None),
    Layout(","),
    Layout(";"),
    Layout(";", decimal_comma=True),
    Layout(None, decimal_comma=True),
)


def load_columns(path: str | Path, problem: Problem) -> dict[str, Floats]:
    """Read the columns of a problem; raises ResultFileError and nothing else.

    returns: by name, in the order of the problem, each of shape (rows,)
    """
    path = Path(path)
    try:
        if path.is_dir():
            _refuse(path, None, "is a folder; name the result file in it")
        if not path.exists():
            _refuse(path, None, "there is no such file")
        if not path.is_file():
            _refuse(path, None, "is not a regular file; write the results to one")
        size = path.stat().st_size
        if size > LARGEST:
            _refuse(path, None, f"has {size / 1e6:.0f} MB; at most {LARGEST / 1e6:.0f} MB are read")
        if size == 0:
            _refuse(path, None, "is empty")
        with path.open("rb") as stream:
            rows = _read(path, stream, problem)
    except ResultFileError:
        raise
    except (OSError, ValueError) as error:
        # ValueError: a path with a zero character
        reason = getattr(error, "strerror", None) or str(error)
        raise ResultFileError(f"{_name(path)}: cannot be read ({reason})") from error
    table = np.frombuffer(rows, dtype=np.float64).reshape(-1, len(problem.columns))
    return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(problem.columns)}


def _read(path: Path, stream: BinaryIO, problem: Problem) -> array[float]:
    """All rows after one another, each checked as it comes: a wrong file is left early."""
    width = len(problem.columns)
    if problem.duration / _step(problem) >= MOST_ROWS:
        _refuse(path, None, f"{problem.duration:g} s are more than {MOST_ROWS} rows; judge less")
    layout = None
    rows = array("d")
    for number, raw in _lines(path, stream):
        line = COMMENT.split(raw, maxsplit=1)[0].replace('"', "").strip().strip("\x1a")
        if not line:
            continue
        if layout is None:
            layout = _recognise(line, width)
            if layout is None:
                if _looks_like_row(line):
                    _refuse_field(path, number, line, Layout(None), problem)
                if number > MOST_HEADER_LINES:
                    _refuse(path, number, "no row of numbers up to here; write one row a line")
                continue
        row = [_number(field) for field in layout.fields(line)]
        if None in row:
            _refuse_field(path, number, line, layout, problem)
        values = [value for value in row if value is not None]
        if len(values) != width:
            _refuse(path, number, _wrong_width(len(values), problem))
        for name, value in zip(problem.columns, values, strict=True):
            if not math.isfinite(value):
                _refuse(
                    path,
                    number,
                    f"'{name}' (column {problem.columns.index(name) + 1}) is not a finite number; "
                    "a run that broke down cannot be judged",
                )
        previous = rows[-width] if rows else 0.0
        _check_time(path, number, values[0], len(rows) // width, previous, problem)
        rows.extend(values)
    if not rows:
        _refuse(path, None, f"has no row of numbers; {_wanted(problem)}")
    last, step = rows[-width], _step(problem)
    if last + step < problem.duration + TIME_TOLERANCE * step:
        _refuse(
            path,
            number,
            f"the file ends at t = {last:g} s, the problem at {problem.duration:g} s; run it to "
            f"the end, or judge this part with --duration {last:g}",
        )
    return rows


def _lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Numbered lines of text, whatever the encoding and the line ends."""
    head = stream.read(4096)
    stream.seek(0)
    encoding = _encoding(head)
    if encoding is None:
        _refuse(path, None, "is a binary file; write the columns as text")
    text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)
    number, length = 0, 0
    while line := text.readline(LONGEST_LINE):
        number, length = number + 1, length + len(line)
        if length > LARGEST:
            # whatever the system said of its size
            _refuse(path, number, f"more than {LARGEST / 1e6:.0f} MB are not read")
        if len(line) == LONGEST_LINE:
            _refuse(path, number, f"is longer than {LONGEST_LINE} characters; write one row a line")
        yield number, line


def _encoding(head: bytes) -> str | None:
    """Text encoding by the first bytes; None for a binary file."""
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if head.startswith(mark):
            return name
    # without a mark: every second byte of plain numbers in UTF-16 is zero
    for name, zeros, letters in (
        ("utf-16-le", head[1::2], head[0::2]),
        ("utf-16-be", head[0::2], head[1::2]),
    ):
        if len(head) >= 4 and not any(zeros) and 0 not in letters:
            return None if _has_control(letters) else name
    return None if _has_control(head) else "utf-8"


def _has_control(head: bytes) -> bool:
    # tab, line ends, form feed and the end mark of old systems are text
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1a" for byte in head)


def _recognise(line: str, width: int) -> Layout | None:
    """The layout in which a line is a row, best one of the right width; None for a header."""
    found = None
    for layout in LAYOUTS:
        fields = layout.fields(line)
        if all(_number(field) is not None for field in fields):
            if len(fields) == width:
                return layout
            found = found or layout
    return found


def _looks_like_row(line: str) -> bool:
    """Whether a line that cannot be read was meant as numbers: it begins so, and half of it is."""
    fields = [f for f in re.split(r"[\s,;]+", line) if f]
    numbers = [_number(f) is not None for f in fields]
    return len(fields) > 1 and numbers[0] and 2 * sum(numbers) >= len(fields)


def _number(field: str) -> float | None:
    """The number a field stands for, nan for all that is not finite, None if it is no number."""
    if NUMBER.fullmatch(field):
        plain = field.translate(EXPONENT_LETTERS)
        return float(plain if "e" in plain else BARE_EXPONENT.sub(r"e\1", plain))
    return math.nan if NOT_FINITE.fullmatch(field) else None


EXPONENT_LETTERS = str.maketrans("EdDqQ", "eeeee")


def _check_time(
    path: Path, number: int, t: float, count: int, previous: float, problem: Problem
) -> None:
    """The time of a row must be its count times the step, up to the duration."""
    step = _step(problem)
    if count * step > problem.duration + TIME_TOLERANCE * step:
        _refuse(
            path,
            number,
            f"t = {t:g} s is beyond the end, {problem.duration:g} s; cut the file there, or give "
            "the longer --duration if the problem was run so",
        )
    # not <= : a time too large to subtract is wrong as well
    if not abs(t - count * step) <= TIME_TOLERANCE * step:
        _refuse(path, number, _wrong_time(t, count, previous, problem))


def _wrong_time(t: float, count: int, previous: float, problem: Problem) -> str:
    step = _step(problem)
    if count == 0:
        return (
            f"the first row is at t = {t:g} s, not at 0; the times are shifted, the start is missing, "
            f"or column 1 is not the time; write rows at 0, {step:g}, {2 * step:g}, ..."
        )
    if t == previous:
        return f"t = {t:g} s stands twice; write each time once"
    if t < previous:
        return f"the time runs back from {previous:g} to {t:g} s; write the rows in order, once"
    if count == 1:
        others = [
            f"{other.id} has {other.output_step:g} s"
            for other in map(problems.get, problems.names())
            if other.id != problem.id and abs(other.output_step - t) <= TIME_TOLERANCE * t
        ]
        hint = f" ({'; '.join(others)})" if others else ""
        return f"the step is {t - previous:g} s, the problem asks for {step:g} s{hint}"
    return (
        f"t = {t:.10g} s where {count * step:.10g} s is due; write all rows, {step:g} s apart, "
        "with all digits of the time"
    )


def _wrong_width(found: int, problem: Problem) -> str:
    sentence = f"{found} column{'s' * (found != 1)}; {_wanted(problem)}"
    if found == 2 * len(problem.columns):
        sentence += "; decimal commas cannot be told from separating ones: write decimal points"
    others = [
        other.id for other in map(problems.get, problems.names()) if len(other.columns) == found
    ]
    return sentence + (f"; a file of {' or '.join(others)} has {found}" if others else "")


def _wanted(problem: Problem) -> str:
    return f"'{problem.id}' has {len(problem.columns)}: {' '.join(problem.columns)}"


def _step(problem: Problem) -> float:
    return min(problem.output_step, problem.duration)


def _refuse_field(path: Path, number: int, line: str, layout: Layout, problem: Problem) -> NoReturn:
    """Name the first field that is no number."""
    fields = layout.fields(line)
    position = next((i for i, f in enumerate(fields) if _number(f) is None), 0)
    names = problem.columns
    name = f", '{names[position]}'" if position < len(names) else ""
    shown = ascii(fields[position][:30])
    _refuse(
        path, number, f"{shown} (column {position + 1}{name}) is not a number; {_wanted(problem)}"
    )


def _refuse(path: Path, number: int | None, what: str) -> NoReturn:
    where = f"{_name(path)}:" if number is None else f"{_name(path)}, line {number}:"
    raise ResultFileError(f"{where} {what}")


def _name(path: Path) -> str:
    """The path in one printable line."""
    return "".join(c if c.isprintable() else "?" for c in str(path))
