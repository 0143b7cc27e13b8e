"""Judging and timing of runs, and the folder a run is kept in."""

from .judge import Check, Judgement, judge
from .store import columns_of, save_run

__all__ = ["Check", "Judgement", "columns_of", "judge", "save_run"]
