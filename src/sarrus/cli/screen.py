"""The terminal: what is printed there is shown, never obeyed.

Names, messages and paths come from files of strangers: brackets in them are no markup, and control characters,
which steer a terminal, are shown as their codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from ..names import shown


class Screen(Console):
    """A console without markup; styles are given as `Text`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Pieces of text as they are written: the one place that all of it passes."""
        for segment in super().render(renderable, options):
            if segment.control is None and not segment.text.isprintable():
                lines = "\n".join(map(shown, segment.text.split("\n")))
                segment = Segment(lines, segment.style)
            yield segment

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A line while something runs."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)
