"""Runs of a problem: once to warm up, then several timed ones; the best time counts."""

from __future__ import annotations

import statistics
import time
from typing import Any

from ..problems import Problem
from ..result import Result
from ..simulate import simulate

REPEATS = 5
# a run that takes longer than this is not repeated so often
PATIENCE = 2.0


def run_problem(
    problem: Problem, *, tolerance: float, method: str, duration: float | None = None
) -> tuple[Result, dict[str, Any]]:
    """Simulate a problem; returns the result and its timings [s].

    The solve alone competes; import, compilation, set-up and recording are shown beside it.
    """
    seconds = problem.duration if duration is None else duration
    step = min(problem.output_step, seconds)
    begin = time.perf_counter()
    solves: list[float] = []
    while len(solves) < REPEATS and (not solves or time.perf_counter() - begin < PATIENCE):
        result = simulate(problem.mechanism(), seconds, step, tolerance=tolerance, method=method)
        if not solves:
            first = result.timings
        solves.append(result.cpu_seconds)
    timings = {
        "import": first["import"],
        "compile": first["compile"],
        "set_up": result.timings["set_up"],
        "solve": min(solves),
        "solve_median": statistics.median(solves),
        "solve_repeats": len(solves),
        "record": result.timings["record_cpu"],
    }
    return result, timings
