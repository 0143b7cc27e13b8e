"""HTML display of results in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as HTML for a notebook; everything in it is escaped."""
    top = "".join(f'<th style="text-align:left">{escape(head)}</th>' for head in heads)
    lines = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left">{escape(str(cell))}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<div><strong>{escape(title)}</strong><table><tr>{top}</tr>{lines}</table></div>"


class Sentences:
    """Something that prints as lines of text; a notebook shows the first line bold and the others below.

    A single line is split at its colon: the subject is bold, the statement below.
    """

    def _repr_html_(self) -> str:
        first, *others = str(self).splitlines() or [""]
        if not others and ": " in first:
            first, details = first.split(": ", 1)
            others = details.split("; ")
        lines = "".join(f"<li>{escape(line.strip())}</li>" for line in others)
        return f"<div><strong>{escape(first)}</strong>{f'<ul>{lines}</ul>' if lines else ''}</div>"
