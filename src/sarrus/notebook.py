"""How answers in sentences show themselves in a notebook."""

from __future__ import annotations

from html import escape


class Sentences:
    """Something that prints as lines of text: the first one strong, the others below."""

    def _repr_html_(self) -> str:
        first, *others = str(self).splitlines() or [""]
        lines = "".join(f"<li>{escape(line.strip())}</li>" for line in others)
        return f"<div><strong>{escape(first)}</strong>{f'<ul>{lines}</ul>' if lines else ''}</div>"
