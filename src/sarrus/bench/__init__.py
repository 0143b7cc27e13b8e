"""Judging and timing of runs: the judge, the clock, the suite, submissions."""

from ..lazy import load_on_use
from .judge import Check, Judgement, judge, judge_columns
from .result_file import ResultFile, ResultFileError, load_columns, read_result_file
from .runner import run_problem, save_run

__all__ = [
    "Check",
    "Judgement",
    "ResultFile",
    "ResultFileError",
    "judge",
    "judge_columns",
    "load_columns",
    "read_result_file",
    "run_problem",
    "save_run",
]

# Modules are loaded on first use.
__getattr__ = load_on_use(__name__)
