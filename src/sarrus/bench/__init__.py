"""Judging and timing of runs, and the folder a run is kept in."""

from .columns import columns_of
from .judge import Check, Judgement, judge, judge_columns
from .result_file import ResultFileError, load_columns
from .store import save_run

__all__ = [
    "Check",
    "Judgement",
    "ResultFileError",
    "columns_of",
    "judge",
    "judge_columns",
    "load_columns",
    "save_run",
]
