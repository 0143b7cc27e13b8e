"""A YAML file from a stranger as plain data, with the line of every key.

A small part of YAML: mappings, lists, numbers, text, true, false, null. No anchors and aliases (a short
file could hold billions of values), no tags (they make objects), no merge keys, no second document, every
key once. Plain words are read by the rules of YAML 1.2: `no` and `on` are text, `1e3` is a number, and what
the versions of YAML read differently (`010`) is rejected. Sizes are limited before large data can do harm.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from ..elements import ModelFileError
from .paths import join_path
from .units import shorten

MOST_BYTES = 10_000_000
MOST_VALUES = 500_000
MOST_DEPTH = 24
MOST_CHARACTERS = 1000

Where = tuple[str | int, ...]

# the compiled parser is ten times faster; both give the same events
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"[-+]?0[0-9]+")
_WORDS = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# what YAML calls printable
_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass
class Document:
    """What a file holds; lines: of each key or list entry that does not stand on the line of its parent."""

    source: str
    data: Any = None
    lines: dict[Where, int] = field(default_factory=dict)

    def line(self, where: Where) -> int | None:
        """The line of a key, or of the nearest key above it."""
        while where not in self.lines and where:
            where = where[:-1]
        return self.lines.get(where)

    def message(self, where: Where, why: str, line: int | None = None) -> str:
        """`file:line: key: why`."""
        line = self.line(where) if line is None else line
        place = self.source if line is None else f"{self.source}:{line}"
        return _one_line(f"{place}: {join_path(where)}: {why}" if where else f"{place}: {why}")


def show_source(path: object) -> str:
    """The name of a file as one printable line."""
    text = _one_line(str(path))
    return text if len(text) <= 200 else f"...{text[-197:]}"


def read_text(path: str | Path) -> str:
    """The text of a file of a stranger: regular, not too large, UTF-8; else a ModelFileError."""
    source = show_source(path)
    return _decode(_read(path, source), source)


def load_document(path: str | Path) -> Document:
    """Read a file; whatever is wrong with it is one ModelFileError."""
    return read_document(read_text(path), show_source(path))


def read_document(text: str, source: str) -> Document:
    """Read the text of a file."""
    line: int | None
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        code = ord(found[0])
        what = "this is not a text file" if code == 0 else "remove it"
        _reject(source, line, f"character {code:#04x} cannot stand in a model file; {what}")
    reader = _Reader(Document(source))
    try:
        events = yaml.parse(text, Loader=_LOADER)
        reader.read(iter(events))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        _reject(source, line, f"this is not YAML: {_why(error, text, line)}")
    except (yaml.YAMLError, RecursionError) as error:
        _reject(source, None, f"this is not YAML: {str(error).splitlines()[0]}")
    if reader.problems:
        raise ModelFileError(source, reader.problems)
    if reader.document.data is None:
        _reject(source, None, "the file is empty; see docs/model-files.md for an example")
    return reader.document


class _Reader:
    """Builds data from the events of the parser; without recursion, so no depth can hurt."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[str] = []
        # open containers: data, path, line
        self.open: list[tuple[Any, Where, int]] = []
        # and in each mapping the key that waits for its value
        self.keys: list[str | None] = []
        # each is reported once
        self.anchors: set[str | None] = set()
        self.values = 0
        self.documents = 0

    def read(self, events: Iterator[Any]) -> None:
        for event in events:
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self.stop(line, "a second document begins; a file holds one mechanism")
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in self.anchors:
                    self.anchors.add(event.anchor)
                    why = f"alias *{event.anchor}: aliases are not read; write the value out"
                    self.problem(line, why)
                self.put(None, line, is_text=True)
            elif isinstance(event, yaml.NodeEvent):
                self.node(event, line)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.open.pop()
                self.keys.pop()

    def node(self, event: Any, line: int) -> None:
        self.values += 1
        if self.values > MOST_VALUES:
            self.stop(line, f"the file holds more than {MOST_VALUES} values; make it smaller")
        if event.anchor is not None:
            self.anchors.add(event.anchor)
            self.problem(line, f"anchor &{event.anchor}: anchors are not read; write the value out")
        if event.tag is not None and event.tag != "!":
            self.problem(line, f"tag {shorten(event.tag)}: tags are not read; leave it out")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style in (None, "")
            waits_for_key = self.waits_for_key()
            value = event.value if waits_for_key or not plain else self.resolve(event.value, line)
            if waits_for_key and plain and value in ("", "<<"):
                self.problem(
                    line,
                    "a key is missing before the colon"
                    if not value
                    else "merge keys << are not read; write the values out",
                )
            self.put(value, line, is_text=True)
            return
        if self.waits_for_key():
            self.problem(line, "a list or mapping cannot be a key; give a name")
        if len(self.open) >= MOST_DEPTH:
            self.stop(
                line, f"values are nested more than {MOST_DEPTH} deep; no mechanism needs that"
            )
        container: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        where = self.put(container, line, is_text=False)
        self.open.append((container, where, line))
        self.keys.append(None)

    def waits_for_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1][0], dict) and self.keys[-1] is None

    def put(self, value: Any, line: int, is_text: bool) -> Where:
        """Put a value where it belongs; returns its path."""
        if not self.open:
            self.document.data = value
            self.document.lines[()] = line
            return ()
        parent, where, parent_line = self.open[-1]
        if isinstance(parent, list):
            parent.append(value)
            path = (*where, len(parent) - 1)
            if line != parent_line:
                self.document.lines[path] = line
            return path
        key = self.keys[-1]
        if key is None:
            self.keys[-1] = word = value if is_text and isinstance(value, str) else "?"
            path = (*where, word)
            if word in parent:
                first = self.document.line(path)
                self.problem(
                    line, f"this key stands on line {first} already; remove one or rename it", path
                )
            else:
                self.document.lines[path] = line
            return path
        self.keys[-1] = None
        parent.setdefault(key, value)
        return (*where, key)

    def resolve(self, text: str, line: int) -> Any:
        """The value of a plain word."""
        if text in _WORDS:
            return _WORDS[text]
        if _OCTAL.fullmatch(text):
            self.problem(
                line,
                f"{shorten(text)} is read as decimal by some and as octal by others; write it "
                "without leading zeros, or in quotes if it is a name",
            )
        # a whole number with hundreds of digits is slow to read and no use
        if len(text) <= 18 and _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def problem(self, line: int, why: str, where: Where | None = None) -> None:
        if where is None:
            where = self.open[-1][1] if self.open else ()
            if self.open and isinstance(self.open[-1][0], dict) and self.keys[-1] is not None:
                where = (*where, self.keys[-1])
        self.problems.append(self.document.message(where, why, line))

    def stop(self, line: int, why: str) -> NoReturn:
        _reject(self.document.source, line, why)


def _one_line(text: str) -> str:
    """Text that a terminal shows as it is, in one line of a readable length."""
    line = "".join(c if c.isprintable() else "?" for c in text)
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 3]}..."


def _read(path: str | Path, source: str) -> bytes:
    try:
        found = Path(path).stat()
        if stat.S_ISDIR(found.st_mode):
            _reject(source, None, "this is a folder; give a model file")
        if not stat.S_ISREG(found.st_mode):
            # a pipe or a device might never end
            _reject(source, None, "this is not a regular file; give a model file")
        if found.st_size > MOST_BYTES:
            _reject_size(source, found.st_size)
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        _reject(source, None, f"cannot be read: {error.strerror or error}; check the path")
    except (ValueError, TypeError) as error:
        if isinstance(error, ModelFileError):
            raise
        _reject(source, None, f"cannot be read: {error}; check the path")
    if len(data) > MOST_BYTES:
        _reject_size(source, len(data))
    return data


def _reject_size(source: str, size: int) -> NoReturn:
    _reject(
        source,
        None,
        f"the file has {size / 1e6:.0f} MB; at most {MOST_BYTES / 1e6:.0f} MB are read, and a "
        "mechanism of a thousand bodies has less than 1 MB",
    )


def _decode(data: bytes, source: str) -> str:
    if data.startswith(_WIDE) or data[:2].find(b"\x00") >= 0:
        _reject(source, 1, "this is UTF-16, UTF-32 or no text; save the file as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _reject(
            source, line, f"byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8 text"
        )


def _why(error: yaml.MarkedYAMLError, text: str, line: int | None) -> str:
    problem = " ".join(str(error.problem or error.context or error).split())
    lines = text.splitlines()
    here = lines[line - 1] if line is not None and 0 < line <= len(lines) else ""
    if re.search(r"\]\s*[A-Za-z°µ]", here):
        return f'{problem}; put a list with a unit into quotes, like "[10, 20] mm"'
    if "\t" in here:
        return f"{problem}; use blanks instead of tabs"
    return f"{problem}; check brackets, quotes, colons and indentation here and above"


def _reject(source: str, line: int | None, why: str) -> NoReturn:
    place = source if line is None else f"{source}:{line}"
    raise ModelFileError(source, [f"{place}: {why}"])
