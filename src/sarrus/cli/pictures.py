"""`sarrus report`, `sarrus movie` and `sarrus view`: a run as a page, as a film, and live."""

from __future__ import annotations

import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import problems, workbench
from .. import report as report_package
from .. import runs as runs_package
from ..mechanism import to_data
from ..mechanism.files.model_reader import read_text
from ..outputs import new_output
from ..report.html_page import REPORT
from .model_files import ENDINGS, is_model_file, load_model
from .options import Duration, Force, Values, check_free, reject_options, with_problem_options
from .screen import Screen
from .spec import is_specification, load_problem

PORT = 8080


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folder of a run, several to put side by side, or the folder of a benchmark.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file; report.html in the folder (of several: here) if left out."),
    ] = None,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page about a run, several runs, or a benchmark."""
    screen = Screen(soft_wrap=True)
    if out is not None:
        check_free(out, force)
    # A file name chosen by the user, or one of ours, which replaces only our own files.
    begin = new_output if out is None else nullcontext
    if len(folders) == 1 and runs_package.benchmark_records.is_benchmark(folders[0]):
        path = out or folders[0] / REPORT
        with Screen(stderr=True).progress("a page of the benchmark"), begin(path) as half:
            bad = report_package.benchmark_page.save_bench_report(folders[0], half)
    else:
        runs = [run for folder in folders for run in runs_package.run_folder.find_runs(folder)]
        if not runs:
            raise runs_package.run_folder.RunFolderError(
                f"{folders[0]} contains no run and no benchmark; make one with `sarrus run` or `sarrus bench`"
            )
        single = len(runs) == 1 or len(folders) == 1
        path = out or (folders[0] / REPORT if single else Path(REPORT))
        title = f"a page of {len(runs)} run{'s' * (len(runs) > 1)}"
        with Screen(stderr=True).progress(title), begin(path) as half:
            bad = report_package.run_page.save_report(runs, half)
    for place, why in bad:
        screen.print(f"left out: {place}: {why}", highlight=False)
    screen.print(f"report: {path}", highlight=False)


def movie(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    out: Annotated[
        Path,
        typer.Argument(help="File .mp4, .avi or .gif; .png or a folder: one picture per frame."),
    ],
    speed: Annotated[float, typer.Option(help="1 is real time, 0.5 half as fast.")] = 1.0,
    size: Annotated[str, typer.Option(help="Width x height in pixels.")] = "1280x720",
    fps: Annotated[float, typer.Option(help="Frames per second.")] = 30.0,
    until: Annotated[
        float | None, typer.Option(help="Simulated time that is shown [s]; all if left out.")
    ] = None,
    force: Force = False,
) -> None:
    """Film a run: the mechanism with its trace and a clock, in real time."""
    film = report_package.movie.Film(report_package.movie.parse_size(size), fps, speed, until)
    if out.suffix.lower() in report_package.movie.FILMS:
        check_free(out, force)
    scene = runs_package.run_folder.load_run(folder).scene
    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("frames", total=None)
        path = report_package.movie.save_movie(
            scene, out, film, lambda done, total: progress.update(task, completed=done, total=total)
        )
    Screen(soft_wrap=True).print(f"movie: {path}", highlight=False)


@with_problem_options
def view(
    options: Values,
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|PROBLEM|DIR",
            help="Model file, id of a problem, or folder of a run; an empty plane if left out with --new.",
        ),
    ] = "",
    new: Annotated[
        bool, typer.Option("--new", help="Begin with an empty plane; FILE is what Save writes.")
    ] = False,
    duration: Duration = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = PORT,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Change a mechanism with sliders, by dragging and by drawing, while it is solved continuously."""
    screen = Screen(stderr=True, soft_wrap=True)
    data, opened, given = _new_document(target) if new else _document(target, options, screen)
    problem = (target, options) if not new and target in problems.names() else None
    bench = workbench.server.Workbench(
        data, opened, given if duration is None else duration, port, problem
    )
    page = bench.opening.path.as_uri()
    screen.print(f"workbench: {page} (ctrl-c ends it)", highlight=False)
    try:
        if browser:
            # Every user of the machine can read command lines, so this address contains no secret.
            webbrowser.open(page)
        elif screen.is_terminal:
            # For a browser on another machine, through a tunnel; not where output may be logged.
            screen.print(f"or once: {bench.guard.make_address()}", highlight=False)
        bench.serve()
    except KeyboardInterrupt:
        pass
    finally:
        bench.close()


if TYPE_CHECKING:
    from ..workbench.saving import OpenedFile

# Data of a model file, the file to write, and the duration [s], None for the duration in the data.
_Document = tuple[dict[str, Any], "OpenedFile", float | None]


def _new_document(target: str) -> _Document:
    """Return an empty plane, to be saved to a file that does not exist yet."""
    path = Path(target) if target else None
    if path is not None and path.exists() and path.stat().st_size:
        raise ValueError(
            f"{target} is there already; leave out --new to open it, or give another name"
        )
    return workbench.edit.EMPTY, workbench.saving.OpenedFile(path), None


def _document(target: str, options: dict[str, float], screen: Screen) -> _Document:
    """Return the document that an argument of the command line names, as data with numbers in SI."""
    if not target:
        raise ValueError("nothing to show; give a model file, a problem or a run, or --new to draw")
    path = Path(target)
    if path.is_dir():
        reject_options(options, target)
        return _document_of_run(path, screen)
    if is_model_file(target):
        reject_options(options, target)
        own = target.lower().endswith(ENDINGS)
        if own and path.is_file() and not path.stat().st_size:
            return _new_document(target)
        data = to_data(load_model(target, screen))
        return (
            data,
            workbench.saving.OpenedFile(path, read_text(path), data)
            if own
            else workbench.saving.OpenedFile(None),
            None,
        )
    problem = (
        load_problem(target, screen)
        if is_specification(target)
        else problems.get(target, **options)
    )
    return to_data(problem.mechanism()), workbench.saving.OpenedFile(None), problem.duration


def _document_of_run(folder: Path, screen: Screen) -> _Document:
    """Return the mechanism of a run with the run's duration; runs are records and are not overwritten."""
    run = runs_package.run_folder.load_run(folder)
    record = run.record
    if "model" in record:
        mechanism = load_model(str(folder / "model.yaml"), screen)
    else:
        mechanism = problems.get(run.id, **record["problem"]["options"]).mechanism()
    return to_data(mechanism), workbench.saving.OpenedFile(None), float(record["duration"])
