"""The terminal: what is printed there is shown, never obeyed.

Names, messages and paths come from files of strangers: brackets in them are no markup, and control characters,
which steer a terminal, are shown as their codes.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ..names import shown
from ..progress import listening

# columns beneath which a bar would leave no room for numbers
NARROW = 60


class _Outlet(io.FileIO):
    """A pipe whose reader may leave early, as in `| head -1`, or a file on a disk that fills up.

    What cannot be written is dropped, and the command goes on; failed: the reason, if it was not the reader.
    """

    failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write, or pretend to."""
        if self.failed is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                pass
            except OSError as error:
                self.failed = error
        return memoryview(data).nbytes


def outlive_readers() -> None:
    """Let the command do all of its work, and end with its own status, though nobody reads what it prints."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # tests and notebooks have streams of their own; terminals do not leave
        if stream is None or stream is not getattr(sys, f"__{name}__") or stream.isatty():
            continue
        stream.flush()
        outlet = io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False))
        settings = (stream.encoding, stream.errors, None, stream.line_buffering)
        setattr(sys, name, io.TextIOWrapper(outlet, *settings))


def find_lost_output() -> OSError | None:
    """Why something that was printed could not be written; None if all was, or if its reader left."""
    if sys.stdout is None:
        return None
    sys.stdout.flush()
    outlet = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return outlet.failed if isinstance(outlet, _Outlet) else None


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

    def show_table(self, table: Table) -> None:
        """A line a row; in a terminal that is narrower a stack of lines a row; a file gets lines of any length."""
        wide = Screen(width=1000).measure(table).maximum
        if not self.is_terminal or wide <= self.width:
            self.width = max(self.width, wide)
            self.print(table)
            return
        heads = [str(column.header) for column in table.columns]
        for first, *others in zip(*(column.cells for column in table.columns), strict=True):
            self.print(Text(str(first), style="bold"))
            for head, cell in zip(heads[1:], others, strict=True):
                if str(cell):
                    self.print(Padding(Text(f"{head}: {cell}".removeprefix(": ")), (0, 0, 0, 2)))

    @contextmanager
    def progress(self, told: str) -> Iterator[Callable[[str], None]]:
        """A line while something is made, with how much is done and the time left, where a terminal shows it.

        What it yields is called with what is made next.
        """
        # where there is little room, numbers before the bar
        lines = [BarColumn()] if self.width >= NARROW else []
        parts = (TextColumn("{task.description}", markup=False), *lines, TaskProgressColumn())
        quiet = not self.is_terminal
        with Progress(
            *parts, TimeRemainingColumn(), console=self, transient=True, disable=quiet
        ) as bar:
            task = bar.add_task(told, total=None)
            before = [0.0, 0.0]

            def show(done: float, total: float) -> None:
                # what counts otherwise is the next thing, whose time left is its own
                if total != before[1] or done < before[0]:
                    bar.reset(task, total=total)
                before[:] = done, total
                bar.update(task, completed=done, total=total)

            def turn_to(told: str) -> None:
                before[:] = 0.0, 0.0
                bar.reset(task, total=None, description=told)

            with listening(show):
                yield turn_to

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A line while something runs."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)
