"""Judging and timing of runs: the judge, the clock, the suite, submissions."""

from .judge import Check, Judgement, judge, judge_columns
from .result_file import ResultFileError, load_columns
from .runner import run_problem, save_run

__all__ = [
    "Check",
    "Judgement",
    "ResultFileError",
    "judge",
    "judge_columns",
    "load_columns",
    "run_problem",
    "save_run",
]
