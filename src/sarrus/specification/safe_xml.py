"""A small XML reader for untrusted files: no DTD, no entities, nothing fetched, all sizes limited.

The tree records the line of every element and of every piece of text. Processing instructions and comments are
ignored. Any error of a file raises one `SpecificationError`.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

MAX_BYTES = 2_000_000
MAX_DEPTH = 64
MAX_ELEMENTS = 20_000

ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "latin1": "iso-8859-1",
    "latin-1": "iso-8859-1",
}
# The first bytes of UTF-16 and UTF-32 encodings, with and without a byte order mark.
WIDE = (b"\xfe\xff", b"\xff\xfe", b"\x00<", b"<\x00", b"\x00\x00\xfe\xff", b"\x00\x00\x00<")


class SpecificationError(ValueError):
    """The file cannot be read as a specification; the message gives its name and, if known, the line."""


@dataclass
class Node:
    """An element: its name as 'prefix:local' or '{namespace}local', its line, and its content."""

    name: str
    line: int
    attributes: dict[str, str]
    content: list[Node | tuple[str, int]] = field(default_factory=list)

    @property
    def children(self) -> list[Node]:
        """The direct child elements."""
        return [item for item in self.content if isinstance(item, Node)]

    def walk(self) -> Iterator[Node]:
        """Yield the element and all its descendants, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def outermost(self, name: str) -> Iterator[Node]:
        """Yield descendants with this name, without those nested in another of them."""
        for child in self.children:
            if child.name == name:
                yield child
            else:
                yield from child.outermost(name)

    @property
    def text(self) -> str:
        """All text inside, in one line."""
        return one_line("".join(self._pieces()))

    def _pieces(self) -> Iterator[str]:
        for item in self.content:
            if isinstance(item, Node):
                yield from item._pieces()
            else:
                yield item[0]


@dataclass
class XmlDocument:
    """A loaded file: its root, and notes on decisions made while reading it."""

    name: str
    root: Node
    notes: list[str] = field(default_factory=list)

    def reject(self, line: int | None, why: str) -> NoReturn:
        """Raise an error for this file."""
        reject(self.name, line, why)


def reject(name: str, line: int | None, why: str) -> NoReturn:
    """Raise a SpecificationError that names the file and the line."""
    place = name if line is None else f"{name}, line {line}"
    raise SpecificationError(f"{clip(place, 150)}: {clip(why, 200)}")


def one_line(text: str) -> str:
    """Return the text without line breaks, repeated spaces and terminal control characters."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "?" for c in words)


def clip(text: str, size: int) -> str:
    """Return one line of at most this many characters."""
    line = one_line(text)
    return line if len(line) <= size else line[: size - 3] + "..."


def load_xml(path: str | Path, prefixes: dict[str, str]) -> XmlDocument:
    """Read an XML file; `prefixes` maps known namespaces to their names."""
    name = one_line(Path(path).name or str(path))
    data = _read(path, name)
    if not data.strip():
        reject(name, None, "the file is empty")
    text, notes = _decode(data, name)
    return XmlDocument(name, _parse(text, name, prefixes), notes)


def _read(path: str | Path, name: str) -> bytes:
    try:
        # A pipe or a device might never end.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            reject(name, None, "this is not a file")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except SpecificationError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reject(name, None, f"cannot be read: {why}")
    if len(data) > MAX_BYTES:
        reject(name, None, f"the file is larger than {MAX_BYTES} bytes")
    return data


def _decode(data: bytes, name: str) -> tuple[str, list[str]]:
    """Return the text of a UTF-8 or ISO-8859-1 file, and a note if its declared encoding is wrong."""
    if data.startswith(WIDE):
        reject(name, 1, "the encoding is UTF-16 or UTF-32; save the file as UTF-8")
    marked = data.startswith(b"\xef\xbb\xbf")
    data = data[3:] if marked else data
    declared = re.match(rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([^\"'>]{0,40})[\"']", data)
    said = declared[1].decode("ascii", "replace") if declared else "UTF-8"
    encoding = ENCODINGS.get(said.lower())
    if encoding is None:
        reject(name, 1, f"the encoding '{said}' is not read; save the file as UTF-8 or ISO-8859-1")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if encoding == "iso-8859-1" and not marked:
            return data.decode("iso-8859-1"), []
        line = data.count(b"\n", 0, error.start) + 1
        reject(name, line, f"byte {data[error.start]:#04x} is not UTF-8, the encoding of this file")
    if encoding == "iso-8859-1" and not text.isascii():
        # ISO-8859-1 text is hardly ever valid UTF-8 by chance.
        return text, [f"the file says {said} but is UTF-8; it was read as UTF-8"]
    return text, []


def _parse(text: str, name: str, prefixes: dict[str, str]) -> Node:
    parser = expat.ParserCreate(namespace_separator=" ")
    open_elements: list[Node] = []
    roots: list[Node] = []
    count = 0

    def short(qualified: str) -> str:
        namespace, _, local = qualified.rpartition(" ")
        prefix = prefixes.get(namespace)
        if prefix is None:
            return f"{{{namespace}}}{local}"
        return f"{prefix}:{local}" if prefix else local

    def start(qualified: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if count > MAX_ELEMENTS:
            reject(name, line, f"the file has more than {MAX_ELEMENTS} elements")
        if len(open_elements) >= MAX_DEPTH:
            reject(name, line, f"elements are nested more than {MAX_DEPTH} deep")
        node = Node(short(qualified), line, {short(k): v for k, v in attributes.items()})
        if open_elements:
            open_elements[-1].content.append(node)
        else:
            roots.append(node)
        open_elements.append(node)

    def end(_: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        open_elements[-1].content.append((data, parser.CurrentLineNumber))

    def no_document_type(*_: object) -> NoReturn:
        line = parser.CurrentLineNumber
        reject(name, line, "a document type or entity is declared, which is not allowed here")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = no_document_type
    parser.EntityDeclHandler = no_document_type
    parser.ExternalEntityRefHandler = no_document_type
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        why = expat.errors.messages.get(error.code, "not well formed")
        reject(name, error.lineno, f"this is not XML: {why}")
    return roots[0]
