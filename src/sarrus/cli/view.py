"""`sarrus view`: a live page on this machine to turn a mechanism around and run it again."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from .. import problems
from ..mechanism import Mechanism
from ..problems import Problem
from .spec import is_specification, load_problem

if TYPE_CHECKING:
    from ..scene import Scene

PORT = 8080


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar="DIR|PROBLEM|FILE", help="Folder of a run, id of a problem, or a file."
        ),
    ],
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = PORT,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Look at a mechanism live: turn it, drag the time, change numbers and run it again."""
    from ..report.viewer import Viewer, factor_controls, option_controls, vary_by

    screen = Console(stderr=True, soft_wrap=True)
    problem, scene, settings = _open(target, screen)
    options = option_controls(problem.options) if problem.id in problems.names() else []
    factors = factor_controls(problem.mechanism())

    def rerun(values: dict[str, float]) -> Scene:
        chosen = {c.name: values[c.name] for c in options}
        varied = (
            replace(problems.get(problem.id, **chosen), duration=problem.duration)
            if options
            else problem
        )
        return _simulate(varied, vary_by(varied.mechanism(), values), settings)

    first = scene or _simulate(problem, problem.mechanism(), settings)
    viewer = Viewer(first, [*options, *factors], rerun, port)
    screen.print(f"viewer: {viewer.address} (ctrl-c ends it)", highlight=False)
    if browser:
        webbrowser.open(viewer.address)
    try:
        viewer.play()
    except KeyboardInterrupt:
        viewer.stop()


def _open(target: str, screen: Console) -> tuple[Problem, Scene | None, dict[str, float | str]]:
    """The problem behind a word, its scene if it has been run, and the method's setting."""
    from ..bench.run_folder import load_run

    if Path(target).is_dir():
        run = load_run(Path(target))
        record = run.record
        problem = problems.get(record["problem"]["id"], **record["problem"]["options"])
        settings = {k: record[k] for k in ("method", "tolerance", "step") if record[k] is not None}
        return replace(problem, duration=record["duration"]), run.scene, settings
    if is_specification(target):
        return load_problem(target, screen), None, {}
    return problems.get(target), None, {}


def _simulate(problem: Problem, mechanism: Mechanism, settings: dict[str, float | str]) -> Scene:
    from ..simulate import simulate

    every = min(problem.output_step, problem.duration)
    result = simulate(mechanism, problem.duration, every, **settings)  # type: ignore[arg-type]
    return result.scene.observing(problem.observed)
