"""Split prose into sentences; every character keeps its line number in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .safe_xml import Node, XmlDocument

MAX_PROSE = 100_000
MAX_SENTENCE = 2_000

BLOCKS = {"p", "div", "center", "blockquote", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6"}
BLOCKS |= {"ol", "ul", "li", "dl", "dt", "dd"}
BLOCKS |= {"table", "thead", "tbody", "tr", "td", "th", "caption"}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


@dataclass(frozen=True)
class Sentence:
    """A sentence: its section, whether it is in a list, and the line of each character."""

    section: str
    listed: bool
    text: str
    lines: tuple[int, ...] = field(repr=False)

    def line(self, at: int) -> int:
        """Return the line of the file that contains a character."""
        return self.lines[min(at, len(self.lines) - 1)]


def sentences_of(document: XmlDocument, sections: dict[str, list[Node]]) -> list[Sentence]:
    """Return all prose of the named sections, split into sentences."""
    found: list[Sentence] = []
    size = 0
    for section, nodes in sections.items():
        for node in nodes:
            for listed, characters, lines in _blocks(node):
                size += len(characters)
                if size > MAX_PROSE:
                    document.reject(lines[-1], f"more than {MAX_PROSE} characters of prose")
                found += _split(document, section, listed, characters, lines)
    return found


def _blocks(top: Node) -> Iterator[tuple[bool, str, list[int]]]:
    """Yield the blocks of text below an element, white space collapsed, with the line of each character."""
    characters: list[str] = []
    lines: list[int] = []

    def add(text: str, line: int) -> None:
        for c in text:
            if c.isspace():
                if characters and characters[-1] != " ":
                    characters.append(" ")
                    lines.append(line)
                line += c == "\n"
            else:
                characters.append(c if c.isprintable() else "?")
                lines.append(line)

    def flush(listed: bool) -> Iterator[tuple[bool, str, list[int]]]:
        if any(c != " " for c in characters):
            yield listed, "".join(characters), list(lines)
        characters.clear()
        lines.clear()

    def visit(node: Node, listed: bool) -> Iterator[tuple[bool, str, list[int]]]:
        for item in node.content:
            if not isinstance(item, Node):
                add(*item)
                continue
            # The name of a linked file is not a sentence.
            if item.name == "a" and "href" in item.attributes:
                continue
            inside = listed or item.name == "li"
            if item.name in BLOCKS:
                yield from flush(listed)
                yield from visit(item, inside)
                yield from flush(inside)
            elif item.name == "br":
                add(" ", item.line)
            elif item.name == "sup":
                add("^", item.line)
                yield from visit(item, inside)
            else:
                yield from visit(item, inside)

    yield from visit(top, False)
    yield from flush(False)


def _split(
    document: XmlDocument, section: str, listed: bool, characters: str, lines: list[int]
) -> Iterator[Sentence]:
    # Use one kind of dash and one notation for powers, character by character.
    text = characters.translate({0x2212: "-", 0x2010: "-", 0x2011: "-", 0x2013: "-"})
    starts = [0, *(m.end() for m in re.finditer(r"[.;!?]\s+(?=[^a-z])", text)), len(text)]
    for begin, end in pairwise(starts):
        if not text[begin:end].strip():
            continue
        if end - begin > MAX_SENTENCE:
            document.reject(lines[begin], f"a sentence is longer than {MAX_SENTENCE} characters")
        piece, places = _plain_powers(text[begin:end].rstrip(), lines[begin:end])
        yield Sentence(section, listed, piece, tuple(places))


def _plain_powers(text: str, lines: list[int]) -> tuple[str, list[int]]:
    """Write superscript digits as ^digits, so that 10⁻³ is not read as 10."""
    pieces: list[str] = []
    places: list[int] = []
    raised = False
    for c, line in zip(text, lines, strict=False):
        plain = c.translate(SUPERSCRIPTS)
        if plain != c and not raised and (not pieces or pieces[-1] != "^"):
            pieces.append("^")
            places.append(line)
        raised = plain != c
        pieces.append(plain)
        places.append(line)
    return "".join(pieces), places
