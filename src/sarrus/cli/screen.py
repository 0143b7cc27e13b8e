"""The terminal: what is printed there is shown, never obeyed.

Names, messages and paths come from files of strangers: brackets in them are no markup, and control characters,
which steer a terminal, are shown as their codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from ..names import shown
from ..progress import listening


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

    @contextmanager
    def progress(self, told: str) -> Iterator[None]:
        """A line while a run is made, with how much of it is done and the time left, where a terminal shows it."""
        parts = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
        quiet = not self.is_terminal
        with Progress(
            *parts, TimeRemainingColumn(), console=self, transient=True, disable=quiet
        ) as bar:
            task = bar.add_task(told, total=None)

            def show(done: float, total: float) -> None:
                bar.update(task, completed=done, total=total)

            with listening(show):
                yield

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A line while something runs."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)
