"""The benchmark of engines: the ladder of each on every problem, each in its own process, judged and timed.

A setting competes in every class whose limits it keeps. The fastest one may be luck: it is dependable only if it
keeps them also when its step changes by 2 and 5 %. Both are found, and told.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import __version__
from ..engines import known_engines
from ..outputs import check_outputs
from ..problems import Problem
from ..runs.benchmark import Record, classes, write_cell
from ..runs.provenance import THREAD_SETTINGS, describe_origin
from ..runs.record import EngineCell as CellRecord
from ..runs.record import RecordError, read_record
from .engine_process import OURS

ENGINE_CELLS = "engine-cells"
# changes of the step under which a dependable setting still keeps its limits
CHANGES = (0.95, 0.98, 1.02, 1.05)
# settings of an engine whose step is changed, the fastest ones first, until one is dependable
MOST_CANDIDATES = 8
# [s] beyond many times the budget a process hangs; the first run may have to compile
PATIENCE, FIRST_RUN = 10.0, 120.0
FIRST_LOOK = 3
OUR_TOLERANCES = tuple(10.0**-n for n in range(1, 13))
OUR_METHOD = {"method": "series"}


@dataclass(frozen=True, eq=False)
class EngineCell:
    """One setting of one engine on one problem; setting: its step [s], of our own methods the tolerance.

    change: of the setting, 1 for a rung of the ladder; why: the reason for its trial.
    """

    problem: Problem
    engine: str
    settings: dict[str, Any]
    setting: float
    why: str
    change: float = 1.0

    @property
    def kind(self) -> str:
        """What the setting is: "tolerance" or "step"."""
        return "tolerance" if self.engine == OURS else "step"

    def path(self, folder: Path) -> Path:
        """Where its record is kept."""
        options = "-".join(f"{k}{v:g}" for k, v in self.problem.options.items())
        name = f"{self.problem.id}-{options}-{self.problem.duration:g}s"
        told = json.dumps([self.settings, self.setting, self.change], sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()[:10]
        return (
            folder
            / ENGINE_CELLS
            / name
            / self.engine
            / f"{self.kind}-{self.setting:.3e}-{digest}.json"
        )

    def question(self, repeats: int, patience: float, command: str, folder: Path) -> dict[str, Any]:
        """What a process is asked; folder: where a problem of one's own is left for it."""
        p, where = self.problem, ""
        if p.save is not None:
            where = str(folder / f"{p.id}-{p.version}")
            p.save(Path(where))
        return {
            "problem": {
                "id": p.id,
                "options": p.options,
                "duration": p.duration,
                "folder": where,
            },
            "engine": self.engine,
            "settings": self.settings,
            "setting": self.setting,
            "repeats": repeats,
            "patience": patience,
            "command": command,
        }


def make_engine_cells(problems: Iterable[Problem], engines: Iterable[str]) -> list[EngineCell]:
    """The ladders of engines on problems, coarse settings of each trial first."""
    cells = []
    names = list(engines)
    for problem in problems:
        for name in names:
            if name == OURS:
                why = "our own series, by its tolerance"
                cells += [EngineCell(problem, name, OUR_METHOD, x, why) for x in OUR_TOLERANCES]
                continue
            for trial in known_engines()[name].ladder:
                settings = dict(trial.settings)
                cells += [
                    EngineCell(problem, name, settings, problem.duration / n, trial.why)
                    for n in trial.steps
                ]
    return cells


class EngineProcess:
    """A process of its own for one engine, one thread; started when first asked, and again after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._folder = tempfile.TemporaryDirectory()
        self._fresh = True

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()

    def ask(self, question: dict[str, Any], patience: float) -> dict[str, Any]:
        """The answer; of a process that died or hangs, a sentence under "crashed"."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        wait = patience + (FIRST_RUN if self._fresh else 0.0)
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], wait)
            line = process.stdout.readline() if ready else ""
        except OSError:
            ready, line = [process.stdout], ""
        self._fresh = False
        if line:
            return dict(json.loads(line))
        sentence = self._obituary(process) if ready else f"hangs: no answer within {wait:.0f} s"
        self.stop()
        return {"crashed": sentence}

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def command(self) -> list[str]:
        """What is started."""
        return [sys.executable, "-m", "sarrus.bench.engine_process", str(self._log)]

    def _start(self) -> subprocess.Popen[str]:
        one = dict.fromkeys(THREAD_SETTINGS, "1")
        self._process = subprocess.Popen(
            self.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **one},
        )
        self._fresh = True
        return self._process

    @property
    def folder(self) -> Path:
        """Of its own, until it is left."""
        return Path(self._folder.name)

    @property
    def _log(self) -> Path:
        return self.folder / "printed.txt"

    def _obituary(self, process: subprocess.Popen[str]) -> str:
        """Why a process died, in a sentence, with the last line it printed."""
        code = process.wait()
        how = f"exit code {code}"
        if code < 0:
            how = signal.Signals(-code).name
        try:
            printed = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            printed = []
        return f"its process died ({how})" + (f": {printed[-1][:200]}" if printed else "")


def run_engine_cells(
    cells: list[EngineCell],
    folder: Path,
    repeats: int,
    command: str,
    budget: float,
    on_cell: Callable[[EngineCell], None] = lambda cell: None,
) -> list[Record]:
    """Run what is not there yet, change the steps of the fastest, time the winners; returns all records."""
    records: list[Record] = []
    for _, group in groupby(cells, key=lambda c: (id(c.problem), c.engine)):
        with EngineProcess() as process:
            bench = _Bench(process, folder, repeats, command, budget, on_cell)
            records += bench.run(list(group))
    return records


class _Bench:
    """One engine on one problem."""

    def __init__(
        self,
        process: EngineProcess,
        folder: Path,
        repeats: int,
        command: str,
        budget: float,
        on_cell: Callable[[EngineCell], None],
    ) -> None:
        self.process, self.folder, self.repeats = process, folder, repeats
        self.command, self.budget, self.on_cell = command, budget, on_cell

    def run(self, cells: list[EngineCell]) -> list[Record]:
        found: list[tuple[EngineCell, Record]] = []
        for cell in cells:
            before = [r for c, r in found if c.settings == cell.settings]
            found.append((cell, self._first_look(cell, before)))
        for _, record in found:
            record["changed"] = record.get("changed", {})
        for kind in dict.fromkeys(k for _, r in found for k in classes(r)):
            self._find_dependable(kind, found)
        return [record for _, record in found]

    def _first_look(self, cell: EngineCell, before: list[Record]) -> Record:
        self.on_cell(cell)
        path = cell.path(self.folder)
        record = _load(path, cell)
        if record is None:
            check_outputs(path.parent, [path.name])
            record = self._too_long(cell, before) or self._ask(cell, FIRST_LOOK, 0.5)
            write_cell(path, record)
        return record

    def _too_long(self, cell: EngineCell, before: list[Record]) -> Record | None:
        done = [r for r in before if r["timings"]["repeats"] and r["step"]]
        if cell.kind != "step" or not done:
            return None
        guess = done[-1]["timings"]["solve"] * done[-1]["step"] / cell.setting
        if guess <= self.budget:
            return None
        return _empty(
            cell,
            "skipped",
            f"left out: would take about {guess:.0f} s, more than the budget of {self.budget:g} s",
            self.command,
        )

    def _ask(self, cell: EngineCell, repeats: int, patience: float) -> Record:
        question = cell.question(repeats, patience, self.command, self.process.folder)
        limit = PATIENCE * self.budget + 2.0 * patience
        told = self.process.ask(question, limit)
        if "crashed" in told:
            return _empty(cell, "crashed", told["crashed"], self.command)
        if "refused" in told:
            return _empty(cell, "refused", told["refused"], self.command)
        told["method"] = cell.engine
        return {**told, "engine": _about(cell)}

    def _find_dependable(self, kind: str, found: list[tuple[EngineCell, Record]]) -> None:
        """Change the steps of the fastest settings of a class until one keeps it; time them with all repeats."""
        able = [(c, r) for c, r in found if kind in classes(r)]
        able.sort(key=lambda pair: pair[1]["timings"]["solve"])
        for n, (cell, record) in enumerate(able[:MOST_CANDIDATES]):
            for change in CHANGES:
                if f"{change:g}" not in record["changed"]:
                    other = replace(cell, setting=cell.setting * change, change=change)
                    seen = self._first_look(other, [])
                    record["changed"][f"{change:g}"] = {
                        "classes": classes(seen),
                        "status": seen["status"],
                        "message": seen["message"],
                    }
            kept = [kind in told["classes"] for told in record["changed"].values()]
            if n == 0 or all(kept):
                self._time(cell, record)
            write_cell(cell.path(self.folder), record)
            if all(kept):
                return

    def _time(self, cell: EngineCell, record: Record) -> None:
        if record["timings"]["repeats"] < self.repeats:
            again = self._ask(cell, self.repeats, 20.0)
            if again["timings"]["repeats"]:
                record["timings"] = again["timings"]


def _about(cell: EngineCell) -> dict[str, Any]:
    return {
        "id": cell.engine,
        "settings": cell.settings,
        "setting": cell.setting,
        "change": cell.change,
        "why": cell.why,
    }


def _empty(cell: EngineCell, status: str, message: str, command: str) -> Record:
    """The record of a run that gave nothing, with the sentence why."""
    problem = cell.problem
    return {
        "schema": 1,
        "problem": {
            "id": problem.id,
            "version": problem.version,
            "title": problem.title,
            "options": problem.options,
            "limits": {k: v for k, v in vars(problem.limits).items() if v is not None},
        },
        "method": cell.engine,
        "tolerance": cell.setting if cell.kind == "tolerance" else None,
        "step": cell.setting if cell.kind == "step" else None,
        "status": status,
        "message": message,
        "notes": [],
        "judgement": {"passed": False, "complete": False, "checks": [], "energy_drift": None,
                      "position_error": None, "violation": None, "branch": None},
        "timings": {"solve": 0.0, "cpu": 0.0, "repeats": 0, "busy": False, "calibration": 1.0},
        "engine": _about(cell),
        **describe_origin(command),
    }  # fmt: skip


def _load(path: Path, cell: EngineCell) -> Record | None:
    """The record of a cell if it is there, valid, and of this cell and version; else None."""
    try:
        record = read_record(path, CellRecord)
    except (OSError, RecordError):
        return None
    fits = (
        record["versions"].get("sarrus") == __version__
        and record["problem"]["id"] == cell.problem.id
        and record["problem"]["version"] == cell.problem.version
        and record["method"] == cell.engine
        and record["engine"] == _about(cell)
    )
    if cell.engine != OURS and record["timings"]["repeats"]:
        engine = known_engines()[cell.engine]
        fits = fits and record["versions"].get(engine.package) == engine.version
    return record if fits else None
