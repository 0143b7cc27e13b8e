"""The terminal: printed text is shown literally, never interpreted.

Names, messages and paths come from untrusted files: brackets in them are not markup, and control characters, which
would act on a terminal, are shown as their codes.
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

# Below this width [columns] a progress bar would leave no room for numbers.
NARROW = 60


class _Outlet(io.FileIO):
    """A pipe whose reader may close early, as in `| head -1`, or a file on a disk that fills up.

    Output that cannot be written is dropped, and the command continues; failed: the reason, unless the
    reader closed.
    """

    failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write, or discard after a failure."""
        if self.failed is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                pass
            except OSError as error:
                self.failed = error
        return memoryview(data).nbytes


def outlive_readers() -> None:
    """Let the command finish with its own exit status even if the reader of its output has closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # Tests and notebooks replace the streams; terminals do not close.
        if stream is None or stream is not getattr(sys, f"__{name}__") or stream.isatty():
            continue
        stream.flush()
        outlet = io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False))
        settings = (stream.encoding, stream.errors, None, stream.line_buffering)
        setattr(sys, name, io.TextIOWrapper(outlet, *settings))


def find_lost_output() -> OSError | None:
    """Return why some output could not be written; None if all was written, or if the reader closed."""
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
        """Return the segments of text to print; all output passes through here."""
        for segment in super().render(renderable, options):
            if segment.control is None and not segment.text.isprintable():
                lines = "\n".join(map(shown, segment.text.split("\n")))
                segment = Segment(lines, segment.style)
            yield segment

    def show_table(self, table: Table) -> None:
        """Print one line per row; in a narrower terminal several lines per row; in a file lines of any length."""
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
    def progress(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show progress and the remaining time in one line while something is computed, if there is a terminal.

        Yields a function that is called with a description of the next item.
        """
        # In a narrow terminal, numbers take precedence over the bar.
        lines = [BarColumn()] if self.width >= NARROW else []
        parts = (TextColumn("{task.description}", markup=False), *lines, TaskProgressColumn())
        quiet = not self.is_terminal
        with Progress(
            *parts, TimeRemainingColumn(), console=self, transient=True, disable=quiet
        ) as bar:
            task = bar.add_task(text, total=None)
            before = [0.0, 0.0]

            def show(done: float, total: float) -> None:
                # A different total means the next task, with a new remaining time.
                if total != before[1] or done < before[0]:
                    bar.reset(task, total=total)
                before[:] = done, total
                bar.update(task, completed=done, total=total)

            def turn_to(text: str) -> None:
                before[:] = 0.0, 0.0
                bar.reset(task, total=None, description=text)

            with listening(show):
                yield turn_to

    def status(self, status: RenderableType, **options: Any) -> Status:
        """Show a line while something runs."""
        return super().status(Text(status) if isinstance(status, str) else status, **options)
