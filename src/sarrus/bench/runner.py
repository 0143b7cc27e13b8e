"""Runs of a problem: timed, and saved in a folder with results.txt in the columns of the problem's source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..outputs import new_outputs
from ..problems import Problem
from ..result import Result
from ..runs.columns import unit_of
from ..runs.provenance import describe_origin
from ..runs.run_folder import describe_result, describe_verdict, finite, save_motion, save_record
from ..simulate import CONTINUE, simulate
from .clock import REPEATS, Timing, time_solve
from .judge import Judgement

RESULTS = "results.txt"


def run_problem(
    problem: Problem,
    *,
    method: str,
    tolerance: float | None = None,
    step: float | None = None,
    duration: float | None = None,
    at_crossing: str = CONTINUE,
    repeats: int = REPEATS,
    patience: float = 2.0,
    specialised: bool = False,
) -> tuple[Result, Timing]:
    """Simulate a problem with a tolerance or a step; returns the result and the times of its solve.

    specialised: compile specialised code before the clock starts, as needed for comparing times.
    """
    seconds = problem.duration if duration is None else duration
    mechanism = problem.mechanism()

    def once() -> Result:
        every = min(problem.output_step, seconds)
        return simulate(
            mechanism,
            seconds,
            every,
            method=method,
            step=step,
            tolerance=tolerance,
            at_crossing=at_crossing,
        )

    return time_solve(once, repeats, patience, specialised)


def save_run(
    folder: Path,
    problem: Problem,
    result: Result,
    judgement: Judgement,
    timing: Timing,
    command: str,
) -> dict[str, Any]:
    """Write results.txt, result.h5 and run.json; returns the content of run.json.

    A problem that is a folder is copied there as well, so that the run can be judged where it is not installed.
    """
    columns = problem.result_columns(result)
    header = " ".join(f"{name}[{unit_of(name)}]" for name in problem.columns)
    table = np.column_stack([columns[name] for name in problem.columns])
    exact = problem.reference_columns(result.times)
    record = describe_run(problem, result, judgement, timing, command) | describe_verdict(result)
    with new_outputs(folder) as stage:
        np.savetxt(stage / RESULTS, table, fmt="%.14e", header=header, comments="# ")
        save_motion(stage, result, columns, exact, problem.figures, problem.observed)
        saved = save_record(stage, record)
    if problem.save is not None:
        problem.save(folder)
    return saved


def describe_run(
    problem: Problem, result: Result, judgement: Judgement, timing: Timing, command: str
) -> dict[str, Any]:
    """Return everything about a run except its columns and its verdict, for run.json."""
    record = {
        "schema": 1,
        "problem": {
            "id": problem.id,
            "version": problem.version,
            "title": problem.title,
            "source": problem.source,
            "note": problem.note,
            "options": problem.options,
            "observed": problem.observed,
            "limits": {k: v for k, v in vars(problem.limits).items() if v is not None},
            "columns": [f"{c} [{unit_of(c)}]" for c in problem.columns],
        },
        **describe_result(result),
        "judgement": judgement.as_dict(),
        "counters": result.counters,
        "timings": timing.as_dict(),
        **describe_origin(command),
    }
    return dict(finite(record))
