"""Runs a study in its folder: samples, cluster, parts, table and overview, with progress reports."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import studies
from ..arrays import plain_sum
from ..disk import Directory
from ..lazy import module_on_use
from ..memory import count_cores
from ..names import short
from ..runs.provenance import command_line
from .study import StudyError, StudyStopped

pyarrow = module_on_use("pyarrow")
parquet = module_on_use("pyarrow.parquet")

if TYPE_CHECKING:
    import pandas as pd

    from .study import Study
    from .study_folder import Folder

# Largest number of failure reasons that a session reports.
MOST_REASONS = 5
# Largest number of worker processes; each takes some 200 MB.
MOST_WORKERS = 1000
NEEDED = ("cryptography", "dask", "distributed", "pandas", "pyarrow")


@dataclass(frozen=True)
class Progress:
    """Progress of a study.

    runs: total number; before: finished by earlier sessions; done: finished so far, including earlier sessions;
    failed: number of failed runs among these; seconds: since this session started; deaths: number of workers that
    died; remarks: new remarks.
    """

    runs: int
    before: int
    done: int
    failed: int
    seconds: float
    deaths: int
    remarks: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Runs per second in this session."""
        return (self.done - self.before) / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class SessionSummary:
    """Summary of a session.

    overhead [s]: time per run in addition to the run itself, over all workers; reasons: why runs of the study
    failed: number of runs, status and an example of the message, most frequent first.
    """

    folder: Path
    runs: int
    done: int
    failed: int
    ran: int
    seconds: float
    overhead: float
    remarks: tuple[str, ...]
    reasons: tuple[tuple[int, str, str], ...] = ()

    @property
    def finished(self) -> bool:
        """Whether every run is done."""
        return self.done == self.runs


def check_extra() -> None:
    """Raise an error that names the extra to install if it is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise StudyError(
            f"studies need {', '.join(missing)}: install them with `pip install '.[sweep]'`"
        )


def run_to_table(given: str | Path | dict[str, Any], out: Path, **options: Any) -> pd.DataFrame:
    """Run a study and return its table."""
    run_in_folder(read(given), out, **options)
    return read_table(out)


def read_table(out: Path) -> pd.DataFrame:
    """Return the rows of a study's finished runs, in order."""
    with Directory(out) as place:
        if place.status(studies.study_folder.RESULTS) is not None:
            contents = [place.read(studies.study_folder.RESULTS)]
        else:
            with place.child(studies.study_folder.PARTS) as parts:
                contents = [parts.read(name) for name in studies.study_folder.part_names(parts)]
    tables = [parquet.read_table(pyarrow.BufferReader(content)) for content in contents]
    return pyarrow.concat_tables(tables).sort_by("run").to_pandas()


def read(given: str | Path | dict[str, Any]) -> Study:
    """Read a study from its file or keys."""
    return (
        studies.study_reader.make_study(given)
        if isinstance(given, dict)
        else studies.study_reader.load_study(given)
    )


def run_in_folder(
    study: Study,
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    limit: int | None = None,
    fresh: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SessionSummary:
    """Run the remaining runs of a study; finished runs stay in the folder whatever happens."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise StudyError(f"{short(workers)} workers; give a number from 1 to {MOST_WORKERS}")
    if limit is not None and limit < 1:
        raise StudyError(f"at most {short(limit)} runs; give at least 1")
    if workers is not None and scheduler is not None:
        raise StudyError(
            "the cluster at the scheduler's address has its own workers; leave --workers out"
        )
    samples = studies.sampling.draw_samples(study)
    with studies.study_folder.open_folder(out, study, samples, command_line(), fresh) as folder:
        session = _Session(folder, study, progress)
        left = samples.runs - session.before
        try:
            if left:
                session.run(samples, workers or count_cores(), scheduler, limit)
        except KeyboardInterrupt:
            folder.save_manifest("stopped")
            done = int(folder.done.sum())
            raise StudyStopped(
                f"stopped: {done} of {samples.runs} runs are done and kept in {out}; the same command resumes it",
                done,
                samples.runs,
            ) from None
        return session.close()


class _Session:
    """One call: the folder, its remarks, and its clock."""

    def __init__(
        self, folder: Folder, study: Study, progress: Callable[[Progress], None] | None
    ) -> None:
        self.folder = folder
        self.study = study
        self.progress = progress
        self.before = int(folder.done.sum())
        self.begin = time.perf_counter()
        self.spent = 0.0
        self.capacity = 0.0
        self.deaths = 0
        self.remarks = [*study.remarks, *folder.remarks]
        self.remarks_shown = 0
        self.report()

    def run(self, samples: Any, workers: int, scheduler: str | None, limit: int | None) -> None:
        self.folder.save_manifest("running")
        # Compile kernels once here, before workers share them.
        studies.runs.warm_up(self.study.plan)
        pending: Iterator[int] = (i for i in range(samples.runs) if not self.folder.done[i])
        most = samples.runs if limit is None else min(limit, samples.runs)
        work = studies.cluster.Work(self.study, samples, islice(pending, most), self.write)
        with studies.cluster.connect(scheduler, workers) as client:
            threads = plain_sum(client.nthreads().values())
            begin = time.perf_counter()
            try:
                self.work = work
                studies.cluster.run_study(client, work, scheduler is None)
            finally:
                self.spent = work.seconds
                self.capacity = threads * (time.perf_counter() - begin)
                self.deaths = work.deaths

    def write(self, rows: list[dict[str, Any]], trajectories: list[dict[str, Any]]) -> None:
        self.folder.write_part(rows, trajectories)
        self.deaths = self.work.deaths
        if self.work.remarks:
            self.remarks += self.work.remarks
            self.work.remarks.clear()
        self.report()

    def report(self) -> None:
        if self.progress is None:
            return
        seconds = time.perf_counter() - self.begin
        new, self.remarks_shown = tuple(self.remarks[self.remarks_shown :]), len(self.remarks)
        self.progress(
            Progress(
                len(self.folder.done),
                self.before,
                int(self.folder.done.sum()),
                self.folder.failed,
                seconds,
                self.deaths,
                new,
            )
        )

    def close(self) -> SessionSummary:
        """Write the table and the overview if all runs are done; return the summary."""
        folder = self.folder
        done = int(folder.done.sum())
        ran = done - self.before
        overhead = max(self.capacity - self.spent, 0.0) / ran if ran else 0.0
        folder.session |= {
            "ran": ran,
            "seconds": time.perf_counter() - self.begin,
            "worker_deaths": self.deaths,
            "overhead": overhead,
            "remarks": self.remarks,
        }
        if done == len(folder.done):
            table = folder.finish()
            studies.overview.save_overview(folder, table)
            folder.save_manifest("finished")
        else:
            folder.save_manifest("stopped")
        self.report()
        return SessionSummary(
            folder.path,
            len(folder.done),
            done,
            folder.failed,
            ran,
            folder.session["seconds"],
            overhead,
            tuple(self.remarks),
            tuple(folder.most_frequent(MOST_REASONS)),
        )
