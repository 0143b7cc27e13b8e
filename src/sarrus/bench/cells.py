"""Cells of a benchmark of methods or engines: where they are stored, whether they exist, and which are skipped.

A cell is one setting of one method or engine on one problem, stored as one file, written atomically; a stopped
benchmark can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..outputs import check_outputs
from ..problems import Problem
from ..runs.benchmark_records import SKIPPED, Record, write_cell
from ..runs.provenance import describe_origin
from ..runs.run_records import CellRecord as CellRecord
from ..runs.run_records import InvalidRecordError, read_record

# Repeats of a first timing, if it is short.
FIRST_LOOK = 3


@dataclass(frozen=True, eq=False)
class BenchCell:
    """One setting of one method or engine on one problem."""

    problem: Problem
    method: str
    setting: float

    @property
    def kind(self) -> str:
        """What the setting is: "tolerance" or "step"."""
        raise NotImplementedError

    def path(self, folder: Path) -> Path:
        """Return the path of its record; options and duration are part of the name."""
        options = "-".join(f"{k}{v:g}" for k, v in self.problem.options.items())
        name = f"{self.problem.id}-{options}-{self.problem.duration:g}s"
        return folder / name / self.method / f"{self.kind}-{self.setting:.3e}.json"

    def about(self) -> Record:
        """Return the fields of its record in addition to those of a run: what it was made with."""
        raise NotImplementedError

    def load(self, path: Path, kind: type[CellRecord]) -> Record | None:
        """Return its stored record if it ran and is of this problem, method, setting and version; else None."""
        try:
            record = read_record(path, kind)
        except (OSError, InvalidRecordError):
            return None
        problem = self.problem
        wanted = {"method": self.method, self.kind: self.setting, **self.about()}
        same = {"id": problem.id, "version": problem.version, "options": problem.options}
        fits = (
            record["versions"].get("sarrus") == __version__
            and same.items() <= record["problem"].items()
            and wanted.items() <= record.items()
        )
        # with another budget a cell may run that was left out before
        return record if fits and record["status"] != SKIPPED else None

    def take(self, path: Path, found: Record | None, run: Callable[[], Record]) -> Record:
        """Return the record that was found, or run the cell and store its record."""
        if found is None:
            check_outputs(path.parent, [path.name])
            found = run()
            write_cell(path, found)
        return found

    def skip(self, before: Sequence[Record], budget: float, command: str) -> Record | None:
        """Return a "skipped" record if the last run with a longer step shows that this exceeds the budget [s]."""
        done = [r for r in before if r["timings"]["repeats"] and r["step"]]
        if self.kind != "step" or not done:
            return None
        guess = done[-1]["timings"]["solve"] * done[-1]["step"] / self.setting
        message = f"left out: would take about {guess:.0f} s, more than the budget of {budget:g} s"
        return self.empty(SKIPPED, message, command) if guess > budget else None

    def empty(self, status: str, message: str, command: str) -> Record:
        """Return the record of a run without a result, with the reason."""
        problem = self.problem
        return {
            "schema": 1,
            "problem": {
                "id": problem.id,
                "version": problem.version,
                "title": problem.title,
                "options": problem.options,
                "limits": {k: v for k, v in vars(problem.limits).items() if v is not None},
            },
            "method": self.method,
            "tolerance": self.setting if self.kind == "tolerance" else None,
            "step": self.setting if self.kind == "step" else None,
            "status": status,
            "message": message,
            "notes": [],
            "judgement": {"passed": False, "complete": False, "checks": [], "energy_drift": None,
                          "position_error": None, "violation": None, "branch": None},
            "timings": {"solve": 0.0, "cpu": 0.0, "repeats": 0, "busy": False, "calibration": 1.0},
            **self.about(),
            **describe_origin(command),
        }  # fmt: skip
