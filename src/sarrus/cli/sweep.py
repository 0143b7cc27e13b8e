"""`sarrus sweep`: runs a study on this machine or on a cluster, in a folder from which it can be resumed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from .. import studies
from ..studies import StudyStopped
from .errors import STOPPED
from .screen import Screen

# Largest number of characters of a reason on the screen; the table contains all.
MOST_SHOWN = 300


def sweep(
    study: Annotated[str, typer.Argument(help="Study file (YAML; see `sarrus schema --study`).")],
    out: Annotated[Path, typer.Option(help="Folder of the results; a study in it is resumed.")],
    workers: Annotated[
        int | None, typer.Option(help="Worker processes on this machine; one per core by default.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, like tcp://host:8786.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Do at most this many runs now.")] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Move earlier results in the folder away and begin again."),
    ] = False,
) -> None:
    """Run the study of a file; write Parquet parts, results.parquet and overview.html.

    Exit status 0 if a run succeeded, 1 if none did, 2 if it cannot continue, 130 if it was stopped.
    """
    studies.session.check_extra()
    screen = Screen(stderr=True)
    loaded = studies.session.read(study)
    signal.signal(signal.SIGTERM, _interrupt)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        _State(),
        console=screen,
        refresh_per_second=2,
    ) as bar:
        task = bar.add_task(Path(study).name, total=None)

        def show(state: studies.session.Progress) -> None:
            for line in state.remarks:
                bar.console.print(Text(line), soft_wrap=True)
            bar.update(task, total=state.runs, completed=state.done, state=state)

        try:
            outcome = studies.session.run_in_folder(
                loaded,
                out,
                workers=workers,
                scheduler=scheduler,
                limit=limit,
                fresh=fresh,
                progress=show,
            )
        except StudyStopped as stopped:
            bar.stop()
            screen.print(Text(str(stopped)), soft_wrap=True)
            # The message has already been printed.
            sys.exit(STOPPED)
    console = Screen()
    rest = f" in {outcome.seconds:.1f} s" if outcome.ran else ""
    console.print(
        Text(
            f"{outcome.ran} runs{rest}; {outcome.done} of {outcome.runs} done, {outcome.failed} failed"
        ),
        soft_wrap=True,
    )
    for runs, status, message in outcome.reasons:
        console.print(Text(f"{runs} x {status}: {message[:MOST_SHOWN]}"), soft_wrap=True)
    if outcome.finished:
        console.print(Text(f"files: {out}/results.parquet, {out}/overview.html"), soft_wrap=True)
    else:
        console.print(Text(f"files: {out}/; the same command resumes it"), soft_wrap=True)
    if outcome.failed and outcome.failed == outcome.done:
        # No run succeeded, which counts as a failure.
        raise typer.Exit(1)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


class _State(ProgressColumn):
    """Number of runs, rate, remaining time and failures, as far as available."""

    def render(self, task: Task) -> Text:
        state: Any = task.fields.get("state")
        if state is None:
            return Text("starting")
        text = Text(f"{state.done}/{state.runs}")
        if state.done > state.before:
            text.append(f"  {state.rate:.3g} runs/s")
            left = (state.runs - state.done) / state.rate
            text.append(f"  {_clock(left)} left")
        if state.failed:
            text.append(f"  {state.failed} failed", style="red")
        if state.deaths:
            text.append(f"  {state.deaths} workers replaced", style="yellow")
        return text


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
