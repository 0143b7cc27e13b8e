"""Runs of a problem, timed."""

from __future__ import annotations

from ..problems import Problem
from ..result import Result
from ..simulate import CONTINUE, simulate
from .clock import REPEATS, Timing, time_solve


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
) -> tuple[Result, Timing]:
    """Simulate a problem with a tolerance or a step; returns the result and the times of its solve."""
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

    return time_solve(once, repeats, patience)
