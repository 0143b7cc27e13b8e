"""Reads result files of any program: tolerant of the format, strict about the content.

A row contains t and the quantities that the problem's source requires. Columns are identified by the source's
order, by their headers, or by the user (`column_headers.py`). The reader accepts blanks, tabs, commas or
semicolons between numbers, decimal points or commas, Fortran exponents, header and comment lines, any common text
encoding, gzipped text, OpenSim's .sto and .mot, Parquet, and NumPy's .npz and .npy. The content must be right: one
row per step of the source from 0 to the duration, all values finite. Columns may be missing; the judge reports
what cannot be checked without them.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import math
import re
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from .. import problems
from ..arrays import Floats, plain_sum
from ..disk import read_file
from ..foreign import ForeignError, request
from ..problems import Problem
from .column_headers import HeadError, Meaning, find_meaning

LARGEST = 200_000_000  # bytes
MOST_ROWS = 5_000_000
LONGEST_LINE = 10_000  # characters
MOST_HEADER_LINES, MOST_BLANK_LINES = 200, 10_000
MOST_LINES = 2 * MOST_ROWS
# Rows read one by one before the rest is read in blocks; lines per block.
SLOW_ROWS, BLOCK = 2000, 20_000
# Relative to a step: larger than the rounding of printed times, far smaller than any error that matters.
TIME_TOLERANCE = 1e-4

# A comment does not start inside a field: "-1.#IND" is an invalid number, not a comment.
COMMENT = re.compile(r"(?:^|(?<=[\s,;]))(?:[#%!]|//)")
NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdDqQ][+-]?\d{1,4})?|(?:\d+\.\d*|\.\d+)[+-]\d{3})", re.ASCII
)
# Characters of a block of lines that a library can parse at once.
PLAIN = re.compile(r"[0-9eE+\-.,; \t\r\n]*", re.ASCII)
# Fortran omits the letter before a three-digit exponent.
BARE_EXPONENT = re.compile(r"(?<=[\d.])([+-]\d{3})$", re.ASCII)
# Integer digits, decimals, exponent.
WRITTEN = re.compile(r"[+-]?(\d*)\.?(\d*)(?:[eEdDqQ]?([+-]?\d+))?$", re.ASCII)
PARQUET = (".parquet", ".pq")
ARRAYS = (".npz", ".npy")
# NaN and overflow as printed by C, Fortran, MATLAB and older Microsoft libraries.
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?|1\.#\w+|\*+)", re.IGNORECASE)


class ResultFileError(ValueError):
    """A result file cannot be judged; the message names the file, the line and the remedy."""


@dataclass(frozen=True)
class LineLayout:
    """How numbers are written and separated in a line."""

    separator: str | None
    decimal_comma: bool = False

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line; a trailing separator does not start another field."""
        fields = [field.strip() for field in line.split(self.separator)]
        if len(fields) > 1 and not fields[-1]:
            fields.pop()
        return [f.replace(",", ".") for f in fields] if self.decimal_comma else fields


LAYOUTS = (
    LineLayout(None),
    LineLayout(","),
    LineLayout(";"),
    LineLayout(";", decimal_comma=True),
    LineLayout(None, decimal_comma=True),
)


@dataclass(frozen=True)
class ResultFile:
    """Content of a result file: columns by name, each of shape (rows,), their identification and rounding.

    rounding: largest rounding error of the written numbers, by column.
    """

    columns: dict[str, Floats]
    notes: tuple[str, ...] = ()
    rounding: dict[str, float] = field(default_factory=dict)


def load_columns(path: str | Path, problem: Problem) -> dict[str, Floats]:
    """Return the columns of a file by name, each of shape (rows,); raises ResultFileError and nothing else."""
    return read_result_file(path, problem).columns


def read_result_file(
    path: str | Path, problem: Problem, given: str | None = None, sparse: bool = False
) -> ResultFile:
    """Read a file; given: the user's column names, otherwise headers or the source's order define the columns.

    sparse: accept rows at any increasing times. Raises ResultFileError and nothing else.
    """
    path = Path(path)
    try:
        if path.is_dir():
            _reject(path, None, "is a folder; name the result file in it")
        if not path.exists():
            _reject(path, None, "there is no such file")
        if not path.is_file():
            _reject(path, None, "is not a regular file; write the results to one")
        size = path.stat().st_size
        if size > LARGEST:
            _reject(path, None, f"has {size / 1e6:.0f} MB; at most {LARGEST / 1e6:.0f} MB are read")
        if size == 0:
            _reject(path, None, "is empty")
        table = _Table(path, problem, given, sparse)
        ending = path.suffix.lower()
        if ending in PARQUET:
            table.read_parquet()
        elif ending in ARRAYS:
            table.read_arrays()
        else:
            with path.open("rb") as file, _unpacked(file, ending) as stream:
                table.read_text(stream)
    except ResultFileError:
        raise
    except (OSError, ValueError, EOFError, zlib.error) as error:
        # ValueError: a path with a null character; EOFError and zlib.error: a damaged gzip file.
        reason = getattr(error, "strerror", None) or str(error)
        raise ResultFileError(f"{_name(path)}: cannot be read ({reason})") from error
    return table.result()


class _Table:
    """Rows of a file, each checked as it is read, so that an invalid file is abandoned early."""

    def __init__(self, path: Path, problem: Problem, given: str | None, sparse: bool) -> None:
        self._path, self._problem, self._given, self._sparse = path, problem, given, sparse
        self._rows: array[float] = array("d")
        self._count = 0
        self._previous = 0.0
        self._meaning: Meaning | None = None
        # Per field: largest number of significant digits, largest number of decimals.
        self._digits: list[list[int]] = []
        if problem.duration / _step(problem) >= MOST_ROWS:
            _reject(
                path, None, f"{problem.duration:g} s are more than {MOST_ROWS} rows; judge less"
            )

    def read_text(self, stream: BinaryIO) -> None:
        """Read all rows of a text file."""
        path, layout, number = self._path, None, 0
        before: list[str] = []
        lines = _lines(path, stream)
        for number, raw in lines:
            line = _plain(raw)
            if layout is None:
                layout = _recognise(line, self._widths(before)) if line else None
                if layout is None:
                    if line and _looks_like_row(line):
                        _reject_field(path, number, line, LineLayout(None), self._problem.columns)
                    if number > (MOST_HEADER_LINES if line else MOST_BLANK_LINES):
                        _reject(
                            path, number, "no row of numbers up to here; write one row per line"
                        )
                    before = [*before[1 - MOST_HEADER_LINES :], raw.strip().lstrip("#%!/ ")]
                    continue
                self._find_meaning(number, layout, line, before)
            if line:
                self._take_line(number, line, layout, lines)
            if self._count >= SLOW_ROWS:
                number = self._take_blocks(number, layout, lines)
        self._finish(number)

    def _take_blocks(
        self, number: int, layout: LineLayout, lines: Iterator[tuple[int, str]]
    ) -> int:
        """Read the rest of a long file in blocks of lines; return the number of the last line."""
        while block := list(islice(lines, BLOCK)):
            texts = [raw for _, raw in block]
            if not self._take_rows(_parse(texts, layout)):
                # Something in this block must be checked line by line.
                rest = iter(block)
                for number, raw in rest:
                    if line := _plain(raw):
                        self._take_line(number, line, layout, chain(rest, lines))
            else:
                for raw in texts[::16]:
                    for text, digits in zip(layout.fields(raw), self._digits, strict=False):
                        _count_digits(text, digits)
            number = block[-1][0]
        return number

    def _take_rows(self, rows: Floats | None) -> bool:
        """Append many rows if all of them are valid; return whether they were appended."""
        assert self._meaning is not None
        kept = [i for i, name in enumerate(self._names) if name is not None]
        if rows is None or not len(rows) or rows.shape[1] != len(self._names):
            return False
        at = self._names.index("t") if "t" in self._names else None
        if at is None or not np.isfinite(rows[:, kept]).all():
            return False
        times, step = rows[:, at] * self._meaning.factors[at], _step(self._problem)
        due = (self._count + np.arange(len(rows))) * step
        early = np.diff(times, prepend=self._previous if self._count else -np.inf) <= 0.0
        off = early if self._sparse else np.abs(times - due) > TIME_TOLERANCE * step
        late = (times if self._sparse else due) > self._problem.duration + TIME_TOLERANCE * step
        first = not self._count and abs(times[0]) > TIME_TOLERANCE * step
        if off.any() or late.any() or first:
            return False
        self._rows.frombytes(np.ascontiguousarray(rows[:, kept]).tobytes())
        self._count, self._previous = self._count + len(rows), float(times[-1])
        return True

    def read_parquet(self) -> None:
        """Read all rows of a Parquet file."""
        if importlib.util.find_spec("pyarrow") is None:
            _reject(self._path, None, "is Parquet; install what reads it: pip install '.[data]'")
        question = {"path": str(self._path.resolve()), "most_rows": MOST_ROWS}
        try:
            words, arrays = request("parquet", question)
        except ForeignError as error:
            raise ResultFileError(f"{_name(self._path)}: cannot be read: {error}") from error
        if "error" in words:
            _reject(self._path, None, words["error"])
        names = words["names"]
        values = [arrays[f"column_{k}"] for k in range(len(names))]
        if not values or not len(values[0]):
            _reject(self._path, None, f"has no row of numbers; {_wanted(self._problem)}")
        self._mean(1, [names], len(names))
        self._take_arrays(values)

    def read_arrays(self) -> None:
        """Read all rows of an .npz with one array per column, or of the single table of an .npz or .npy file."""
        names, values = _load_arrays(self._path)
        if not values or not len(values[0]):
            _reject(self._path, None, f"has no row of numbers; {_wanted(self._problem)}")
        self._mean(1, [names] if names else [], len(values))
        self._take_arrays(values)

    def _take_arrays(self, values: list[Floats]) -> None:
        """Append columns unchanged; errors in them are located row by row."""
        if not self._take_rows(np.column_stack(values)):
            for n, row in enumerate(zip(*values, strict=True)):
                self._take(n + 1, [float(value) for value in row])
        self._finish(len(values[0]))

    def result(self) -> ResultFile:
        """Return the content read so far."""
        assert self._meaning is not None
        kept = [(n, f) for n, f in zip(self._names, self._meaning.factors, strict=True) if n]
        table = np.frombuffer(self._rows, dtype=np.float64).reshape(-1, len(kept))
        columns = {name: table[:, i] * factor for i, (name, factor) in enumerate(kept)}
        order = [*self._problem.columns, *columns]
        columns = {name: columns[name] for name in dict.fromkeys(order) if name in columns}
        notes = [*self._meaning.notes]
        if self._sparse:
            outputs = round(self._problem.duration / _step(self._problem)) + 1
            notes.append(
                f"{self._count} rows where the source requires {outputs}: the motion between them is not known"
            )
        return ResultFile(columns, tuple(notes), self._rounding(columns))

    @property
    def _names(self) -> tuple[str | None, ...]:
        assert self._meaning is not None
        return self._meaning.names

    def _rounding(self, columns: dict[str, Floats]) -> dict[str, float]:
        """Return half of the last written digit of the largest number of each column."""
        found: dict[str, float] = {}
        for name, digits in zip(self._names, self._digits, strict=False):
            if name is None or not digits[0]:
                continue
            largest = float(np.abs(columns[name]).max(initial=0.0))
            # Numbers are written with a fixed number of decimals or with a fixed number of digits; both are
            # considered. A largest value of exactly 1 does not raise the power: the values below it have a finer
            # last digit.
            power = np.ceil(np.log10(largest) - 1e-6) if largest else -np.inf
            by_digits = 10.0 ** (power - digits[0])
            found[name] = 0.5 * float(max(by_digits, 10.0 ** -float(min(digits[1], 300))))
        return found

    def _widths(self, before: list[str]) -> list[int]:
        """Return likely numbers of fields per row: by the user, the source, and the last lines before the rows."""
        given = [] if self._given is None or "=" in self._given else [self._given.count(",") + 1]
        heads = [len(layout.fields(line)) for line in before[-3:][::-1] for layout in LAYOUTS[:3]]
        return [*given, len(self._problem.columns), *heads]

    def _find_meaning(self, number: int, layout: LineLayout, line: str, before: list[str]) -> None:
        degrees = any(re.match(r"inDegrees\s*=\s*yes", b, re.IGNORECASE) for b in before)
        # Text may follow the headers after a semicolon.
        lines = [
            _head_fields(layout, part)
            for b in before
            for part in dict.fromkeys((b.split(";")[0] if layout.separator != ";" else b, b))
        ]
        self._mean(number, lines, len(layout.fields(line)), degrees)

    def _mean(self, number: int, lines: list[list[str]], width: int, degrees: bool = False) -> None:
        try:
            self._meaning = find_meaning(lines, width, self._problem, self._given, degrees)
        except HeadError as error:
            _reject(self._path, number, str(error) or _wrong_width(width, self._problem))
        self._digits = [[0, 0] for _ in range(width)]

    def _take_line(
        self, number: int, line: str, layout: LineLayout, following: Iterator[tuple[int, str]]
    ) -> None:
        """Append one row; following: the lines after it."""
        fields = layout.fields(line)
        row = [_number(f) for f in fields]
        wrong = None in row or len(row) != len(self._names)
        if wrong and self._count and len(row) <= len(self._names) and next(following, None) is None:
            good = plain_sum(value is not None for value in row)
            _reject(
                self._path,
                number,
                f"the last line is cut off, {good} of {len(self._names)} numbers are there: the file was not "
                "written to its end; write it again, or delete that line",
            )
        if None in row:
            _reject_field(self._path, number, line, layout, self._names)
        if len(row) != len(self._names):
            _reject(self._path, number, _wrong_width(len(row), self._problem))
        # The number of digits does not change within a file, so a sample of the rows of a long file is enough.
        if self._count < 2000 or self._count % 16 == 0:
            for text, digits in zip(fields, self._digits, strict=True):
                _count_digits(text, digits)
        self._take(number, [value for value in row if value is not None])

    def _take(self, number: int, values: list[float]) -> None:
        assert self._meaning is not None
        t = 0.0
        for i, (name, value) in enumerate(zip(self._names, values, strict=True)):
            if name is None:
                continue
            if not math.isfinite(value):
                _reject(
                    self._path,
                    number,
                    f"'{name}' (column {i + 1}) is not a finite number; "
                    "a run that broke down cannot be judged",
                )
            if name == "t":
                t = value * self._meaning.factors[i]
        if self._sparse:
            _check_sparse(self._path, number, t, self._previous, not self._count, self._problem)
        else:
            _check_time(self._path, number, t, self._count, self._previous, self._problem)
        self._rows.extend(v for n, v in zip(self._names, values, strict=True) if n is not None)
        self._count, self._previous = self._count + 1, t

    def _finish(self, number: int) -> None:
        """Check that there are rows up to the end of the duration."""
        problem, path = self._problem, self._path
        if not self._count:
            _reject(path, None, f"has no row of numbers; {_wanted(problem)}")
        last, step = self._previous, _step(problem)
        if last + step < problem.duration + TIME_TOLERANCE * step:
            _reject(
                path,
                number,
                f"the file ends at t = {last:g} s, the problem at {problem.duration:g} s; run it to "
                f"the end, or judge this part with --duration {last:g}",
            )


def _unpacked(file: BinaryIO, ending: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, decompressed if it is packed; the reader limits the decompressed size."""
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if ending == ".gz" else nullcontext(file)


def _load_arrays(path: Path) -> tuple[list[str], list[Floats]]:
    """Return names and values of the columns of a NumPy file; no names if it contains a single table."""
    try:
        if path.suffix.lower() == ".npy":
            found = {"": _read_array(read_file(path, LARGEST))}
        else:
            with zipfile.ZipFile(io.BytesIO(read_file(path, LARGEST))) as archive:
                size = plain_sum(entry.file_size for entry in archive.infolist())
                if size > LARGEST:
                    _reject(path, None, f"unpacked it has more than {LARGEST / 1e6:.0f} MB")
                found = {
                    entry.filename.removesuffix(".npy"): _read_array(_unpack(archive, entry))
                    for entry in archive.infolist()
                }
    except ResultFileError:
        raise
    except Exception as error:
        # For a damaged archive the libraries raise almost any exception.
        _reject(path, None, f"cannot be read as NumPy's arrays ({error})")
    return _as_columns(path, found)


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Unpack an array of an archive, at most as many bytes as the archive declares."""
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def _read_array(content: bytes) -> NDArray[Any]:
    """Read an array of numbers; object arrays, which could run code, are rejected."""
    stream = io.BytesIO(content)
    found: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return found


def _as_columns(path: Path, found: dict[str, NDArray[Any]]) -> tuple[list[str], list[Floats]]:
    """Return arrays as columns of equal length with their names, or the columns of a single table."""
    for name, values in found.items():
        if values.dtype.kind not in "fiu":
            _reject(
                path,
                None,
                f"the array {name[:30]!a} is of type {values.dtype}; write real numbers",
            )
    if len(found) == 1 and next(iter(found.values())).ndim == 2:
        table = next(iter(found.values())).astype(np.float64)
        return [], list(table.T)
    shapes = {values.shape for values in found.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        _reject(
            path,
            None,
            f"the shapes of its arrays are {', '.join(map(str, sorted(shapes)))[:80]}; write one array per "
            "column, all of the same length, or one table",
        )
    if shapes and next(iter(shapes))[0] > MOST_ROWS:
        _reject(path, None, f"more than {MOST_ROWS} rows are not read")
    return list(found), [values.astype(np.float64) for values in found.values()]


def _plain(raw: str) -> str:
    """Return a line without its comment and quotes."""
    return COMMENT.split(raw, maxsplit=1)[0].replace('"', "").strip().strip("\x1a")


def _parse(lines: list[str], layout: LineLayout) -> Floats | None:
    """Parse the numbers of many lines if all of them are in plain notation."""
    if layout.decimal_comma or not PLAIN.fullmatch("".join(lines)):
        return None
    try:
        return np.loadtxt(lines, delimiter=layout.separator, comments=None, ndmin=2)
    except ValueError:
        return None


def _count_digits(text: str, digits: list[int]) -> None:
    """Update the largest numbers of significant digits and decimals with those of a number."""
    found = WRITTEN.match(text)
    if found:
        whole, decimals = found[1], found[2] or ""
        power = int(found[3]) if found[3] else 0
        digits[0] = max(digits[0], len((whole + decimals).lstrip("0")))
        digits[1] = max(digits[1], len(decimals) - power)


def _head_fields(layout: LineLayout, line: str) -> list[str]:
    """Return the headers of a line; if blanks separate, a unit in brackets belongs to the header before it."""
    line = line.replace('"', "").strip()
    if layout.separator is None:
        return re.sub(r"\s+(?=[\[(])", "", line).split("\t" if "\t" in line else None)
    return [field.strip() for field in line.split(layout.separator)]


def _lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of text in any encoding and with any line ends."""
    head = stream.read(4096)
    stream.seek(0)
    encoding = _encoding(head)
    if encoding is None:
        _reject(path, None, "is a binary file; write the columns as text")
    text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)
    number, length = 0, 0
    while line := text.readline(LONGEST_LINE):
        number, length = number + 1, length + len(line)
        if number > MOST_LINES:
            _reject(path, number, f"more than {MOST_LINES} lines are not read")
        if length > LARGEST:
            # Regardless of the file size that the system reported.
            _reject(path, number, f"more than {LARGEST / 1e6:.0f} MB are not read")
        if len(line) == LONGEST_LINE:
            _reject(
                path, number, f"is longer than {LONGEST_LINE} characters; write one row per line"
            )
        yield number, line


def _encoding(head: bytes) -> str | None:
    """Return the text encoding from the first bytes; None for a binary file."""
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if head.startswith(mark):
            return name
    # Without a byte order mark: every second byte of plain numbers in UTF-16 is zero.
    for name, zeros, letters in (
        ("utf-16-le", head[1::2], head[0::2]),
        ("utf-16-be", head[0::2], head[1::2]),
    ):
        if len(head) >= 4 and not any(zeros) and 0 not in letters:
            return None if _has_control(letters) else name
    return None if _has_control(head) else "utf-8"


def _has_control(head: bytes) -> bool:
    # Tab, line ends, form feed and the end-of-file mark of old systems count as text.
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1a" for byte in head)


def _recognise(line: str, widths: list[int]) -> LineLayout | None:
    """Return the layout that makes a line a row, preferably of a likely width; None for a header."""
    able = []
    for layout in LAYOUTS:
        fields = layout.fields(line)
        if all(_number(field) is not None for field in fields):
            able.append(
                (widths.index(len(fields)) if len(fields) in widths else len(widths), layout)
            )
            if able[-1][0] == 0:
                break
    return min(able, key=lambda a: a[0])[1] if able else None


def _looks_like_row(line: str) -> bool:
    """Return whether an unreadable line was meant as a row: it starts with a number, and half of it is numbers."""
    fields = [f for f in re.split(r"[\s,;]+", line) if f]
    numbers = [_number(f) is not None for f in fields]
    return len(fields) > 1 and numbers[0] and 2 * plain_sum(numbers) >= len(fields)


def _number(field: str) -> float | None:
    """Return the number in a field, nan if it is not finite, None if the field is not a number."""
    if NUMBER.fullmatch(field):
        plain = field.translate(EXPONENT_LETTERS)
        return float(plain if "e" in plain else BARE_EXPONENT.sub(r"e\1", plain))
    return math.nan if NOT_FINITE.fullmatch(field) else None


EXPONENT_LETTERS = str.maketrans("EdDqQ", "eeeee")


def _check_time(
    path: Path, number: int, t: float, count: int, previous: float, problem: Problem
) -> None:
    """Check that the time of a row is its index times the step, up to the duration."""
    step = _step(problem)
    if count * step > problem.duration + TIME_TOLERANCE * step:
        _reject(
            path,
            number,
            f"t = {t:g} s is beyond the end, {problem.duration:g} s; cut the file there, or give "
            "the longer --duration if the problem was run so",
        )
    # Written as "not <=" so that a time too large to subtract is rejected as well.
    if not abs(t - count * step) <= TIME_TOLERANCE * step:
        _reject(path, number, _wrong_time(t, count, previous, problem))


def _check_sparse(
    path: Path, number: int, t: float, previous: float, first: bool, problem: Problem
) -> None:
    """Check that times start at 0 and increase up to the duration."""
    step = _step(problem)
    if first and not abs(t) <= TIME_TOLERANCE * step:
        _reject(path, number, _wrong_time(t, 0, previous, problem))
    if not first and not t > previous:
        _reject(path, number, _wrong_time(t, 1, previous, problem))
    if t > problem.duration + TIME_TOLERANCE * step:
        _reject(
            path, number, f"t = {t:g} s is beyond the end, {problem.duration:g} s; cut the file"
        )


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
        return (
            f"the step is {t - previous:g} s, the problem requires {step:g} s{hint}; judge "
            "the rows there are with --sparse"
        )
    return (
        f"t = {t:.10g} s where {count * step:.10g} s is due; write all rows, {step:g} s apart, "
        "with all digits of the time, or judge those there are with --sparse"
    )


def _wrong_width(found: int, problem: Problem) -> str:
    sentence = f"{found} column{'s' * (found != 1)}; {_wanted(problem)}"
    if found == 2 * len(problem.columns):
        sentence += (
            "; decimal commas cannot be distinguished from separating ones: write decimal points"
        )
    others = [
        other.id for other in map(problems.get, problems.names()) if len(other.columns) == found
    ]
    return sentence + (f"; a file of {' or '.join(others)} has {found}" if others else "")


def _wanted(problem: Problem) -> str:
    return (
        f"'{problem.id}' has {len(problem.columns)}: {' '.join(problem.columns)}; write headers, or say which "
        f"they are, such as --columns {','.join(problem.columns[:2])}"
    )


def _step(problem: Problem) -> float:
    return min(problem.output_step, problem.duration)


def _reject_field(
    path: Path, number: int, line: str, layout: LineLayout, names: tuple[str | None, ...]
) -> NoReturn:
    """Report the first field that is not a number."""
    fields = layout.fields(line)
    position = next((i for i, f in enumerate(fields) if _number(f) is None), 0)
    name_there = names[position] if position < len(names) else None
    name = f", '{name_there}'" if name_there else ""
    shown = ascii(fields[position][:30])
    _reject(path, number, f"{shown} (column {position + 1}{name}) is not a number")


def _reject(path: Path, number: int | None, what: str) -> NoReturn:
    where = f"{_name(path)}:" if number is None else f"{_name(path)}, line {number}:"
    raise ResultFileError(f"{where} {what}")


def _name(path: Path) -> str:
    """Return the path as one printable line."""
    return "".join(c if c.isprintable() else "?" for c in str(path))
