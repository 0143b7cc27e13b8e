"""`sarrus report`, `sarrus movie` and `sarrus view`: a run as a page, as a film, and live."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import problems
from ..mechanism import Mechanism
from ..problems import Problem
from .model_files import is_model_file, load_model
from .options import Duration
from .screen import Screen
from .spec import is_specification, load_problem

REPORT = "report.html"
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
) -> None:
    """Write one self-contained HTML page about a run, several runs, or a benchmark."""
    from ..report.benchmark import save_bench_report
    from ..report.run_page import save_report
    from ..runs.benchmark import is_benchmark
    from ..runs.folder import RunFolderError, find_runs

    screen = Screen(soft_wrap=True)
    if len(folders) == 1 and is_benchmark(folders[0]):
        path = save_bench_report(folders[0], out or folders[0] / REPORT)
    else:
        runs = [run for folder in folders for run in find_runs(folder)]
        if not runs:
            raise RunFolderError(
                f"{folders[0]} holds no run and no benchmark; make one with `sarrus run` or `sarrus bench`"
            )
        single = len(runs) == 1 or len(folders) == 1
        with Screen(stderr=True).status(f"a page of {len(runs)} run{'s' * (len(runs) > 1)}"):
            path = save_report(runs, out or (folders[0] / REPORT if single else Path(REPORT)))
    screen.print(f"report: {path}", highlight=False)


def movie(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    out: Annotated[
        Path, typer.Argument(help="File .mp4, .avi or .gif; .png or a folder: a picture a frame.")
    ],
    speed: Annotated[float, typer.Option(help="1 is real time, 0.5 half as fast.")] = 1.0,
    size: Annotated[str, typer.Option(help="Width x height in pixels.")] = "1280x720",
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 30.0,
    until: Annotated[
        float | None, typer.Option(help="Simulated time that is shown [s]; all if left out.")
    ] = None,
) -> None:
    """Film a run: the mechanism with its trace and a clock, in real time."""
    from ..report.movie import Film, parse_size, save_movie
    from ..runs.folder import load_run

    film = Film(parse_size(size), fps, speed, until)
    scene = load_run(folder).scene
    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("frames", total=None)
        path = save_movie(
            scene, out, film, lambda done, total: progress.update(task, completed=done, total=total)
        )
    Screen(soft_wrap=True).print(f"movie: {path}", highlight=False)


if TYPE_CHECKING:
    from ..scene import Scene


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar="DIR|PROBLEM|FILE", help="Folder of a run, id of a problem, or a model file."
        ),
    ],
    duration: Duration = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = PORT,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Look at a mechanism live: turn it, drag the time, change numbers and run it again."""
    from ..report.viewer import Viewer, factor_controls, option_controls, vary_by

    screen = Screen(stderr=True, soft_wrap=True)
    subject = _find(target, screen)
    if duration is not None:
        subject.settings["duration"] = duration
        subject.scene = None
    if "duration" not in subject.settings:
        raise ValueError(
            f"how long? Give --duration, or write `simulate: {{duration: 10 s}}` into {target}"
        )
    options = option_controls(subject.options)

    def rerun(values: dict[str, float]) -> Scene:
        chosen = {c.name: values[c.name] for c in options}
        return subject.simulate(vary_by(subject.build(chosen), values))

    mechanism = subject.build(subject.options)
    scene = subject.scene or subject.simulate(mechanism)
    viewer = Viewer(scene, [*options, *factor_controls(mechanism)], rerun, port)
    screen.print(f"viewer: {viewer.address} (ctrl-c ends it)", highlight=False)
    if browser:
        webbrowser.open(viewer.address)
    try:
        viewer.play()
    except KeyboardInterrupt:
        viewer.stop()


@dataclass
class _Subject:
    """What is looked at: how it is built from its options, simulated and observed; its scene, if it has
    been run.
    """

    build: Callable[[dict[str, float]], Mechanism]
    options: dict[str, float]
    settings: dict[str, Any]
    observed: str = ""
    scene: Scene | None = None

    def simulate(self, mechanism: Mechanism) -> Scene:
        from ..simulate import simulate

        result = simulate(mechanism, **self.settings)
        return result.scene.observing(self.observed) if self.observed else result.animate().scene


def _find(target: str, screen: Screen) -> _Subject:
    """The subject behind a word on the command line."""
    if Path(target).is_dir():
        return _of_run(Path(target), screen)
    if is_model_file(target):
        return _of_model(load_model(target, screen))
    if is_specification(target):
        return _of_problem(load_problem(target, screen))
    return _of_problem(problems.get(target))


def _of_run(folder: Path, screen: Screen) -> _Subject:
    from ..runs.folder import load_run

    run = load_run(folder)
    record = run.record
    if "model" in record:
        subject = _of_model(load_model(str(folder / "model.yaml"), screen))
    else:
        subject = _of_problem(problems.get(run.id, **record["problem"]["options"]))
    names = ("method", "tolerance", "step", "duration")
    subject.settings |= {name: record[name] for name in names if record[name] is not None}
    subject.observed, subject.scene = run.scene.observed_name, run.scene
    return subject


def _of_problem(problem: Problem) -> _Subject:
    settings = {
        "duration": problem.duration,
        "output_step": min(problem.output_step, problem.duration),
    }
    if problem.id not in problems.names():
        return _Subject(lambda values: problem.mechanism(), {}, settings, problem.observed)

    def build(values: dict[str, float]) -> Mechanism:
        return problems.get(problem.id, **values).mechanism()

    return _Subject(build, problem.options, settings, problem.observed)


def _of_model(mechanism: Mechanism) -> _Subject:
    return _Subject(lambda values: mechanism, {}, dict(mechanism.defaults))
