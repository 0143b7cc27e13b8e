"""The benchmark of engines: runs each engine's settings on every problem in a separate process, judged and timed.

A setting competes in every class whose limits it satisfies. The fastest setting may succeed by luck: it is
dependable only if it still satisfies the limits when its step changes by 2 and 5 %. Both settings are found and
reported.
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

from ..engines import known_engines
from ..problems import Problem
from ..runs.benchmark_records import (
    OURS,
    SKIPPED,
    Record,
    classes,
    ranked_seconds,
    write_cell,
)
from ..runs.provenance import THREAD_SETTINGS
from ..runs.run_records import EngineCellRecord as CellRecord
from .cells import FIRST_LOOK, BenchCell

ENGINE_CELLS = "engine-cells"
# Changes of the step under which a dependable setting still satisfies its limits.
CHANGES = (0.95, 0.98, 1.02, 1.05)
# Number of settings of an engine whose step is changed, fastest first, until one is dependable.
MOST_CANDIDATES = 8
# CPU time [s], on top of a multiple of the budget, after which a run is too slow; the first run may have to
# compile.
PATIENCE, FIRST_RUN = 10.0, 120.0
# Relative to the CPU time: a process with a longer wall time hangs, however busy the machine is.
HANGS = 20.0
TOO_SLOW = "too-slow"
# After so many runs that are too slow, an engine that has finished none is left out for a problem.
MOST_SLOW = 2
OUR_TOLERANCES = tuple(10.0**-n for n in range(1, 13))
OUR_METHOD = {"method": "series"}


@dataclass(frozen=True, eq=False)
class EngineCell(BenchCell):
    """One setting of one engine on one problem; setting: its step [s], for our own methods the tolerance.

    change: factor on the setting, 1 for a rung of the ladder; why: the reason for the trial.
    """

    settings: dict[str, Any]
    why: str
    change: float = 1.0

    @property
    def kind(self) -> str:
        """What the setting is: step or tolerance."""
        return "tolerance" if self.method == OURS else "step"

    def path(self, folder: Path) -> Path:
        """Return the path of its record; the name contains all settings."""
        identity = json.dumps([self.settings, self.setting, self.change], sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
        path = super().path(folder / ENGINE_CELLS)
        return path.with_name(f"{path.stem}-{digest}.json")

    def about(self) -> Record:
        """Return the engine and its settings."""
        fields = ("settings", "setting", "change", "why")
        return {"engine": {"id": self.method, **{name: getattr(self, name) for name in fields}}}

    def question(self, repeats: int, patience: float, command: str, folder: Path) -> dict[str, Any]:
        """Return the request to a process; folder: where a user's problem is stored for it."""
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
            "engine": self.method,
            "settings": self.settings,
            "setting": self.setting,
            "repeats": repeats,
            "patience": patience,
            "command": command,
        }


def make_engine_cells(problems: Iterable[Problem], engines: Iterable[str]) -> list[EngineCell]:
    """Return the ladders of engines on problems, coarse settings of each trial first."""
    cells = []
    names = list(engines)
    for problem in problems:
        for name in names:
            if name == OURS:
                why = "our own series, by its tolerance"
                cells += [EngineCell(problem, name, x, OUR_METHOD, why) for x in OUR_TOLERANCES]
                continue
            for trial in known_engines()[name].ladder:
                settings = dict(trial.settings)
                cells += [
                    EngineCell(problem, name, problem.duration / n, settings, trial.why)
                    for n in trial.steps
                ]
    return cells


class EngineProcess:
    """A separate single-threaded process for one engine, started on first use and again after a crash."""

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

    def request(self, question: dict[str, Any], patience: float) -> dict[str, Any]:
        """Return the answer, or a message under "too-slow" or, if the process died or hangs, "crashed".

        patience [s]: allowed CPU time, which does not depend on the load of the machine.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        limit = patience + (FIRST_RUN if self._fresh else 0.0)
        wait = HANGS * limit
        try:
            process.stdin.write(json.dumps({**question, "cpu_limit": limit}) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], wait)
            line = process.stdout.readline() if ready else ""
        except OSError:
            ready, line = [process.stdout], ""
        self._fresh = False
        if line:
            return dict(json.loads(line))
        if not ready:
            self.stop()
            return {"crashed": f"hangs: no answer within {wait:.0f} s"}
        code = process.wait()
        self.stop()
        if code == -getattr(signal, "SIGXCPU", 0):
            return {TOO_SLOW: f"took more than {limit:.0f} s of CPU time and was ended"}
        return {"crashed": self._obituary(code)}

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def command(self) -> list[str]:
        """Command that starts the process."""
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
        """Temporary folder of the process, which exists until the process is closed."""
        return Path(self._folder.name)

    @property
    def _log(self) -> Path:
        return self.folder / "printed.txt"

    def _obituary(self, code: int) -> str:
        """Return why a process died, in a sentence, with the last line it printed."""
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
    """Run missing cells, vary the steps of the fastest, time the winners; returns all records."""
    records: list[Record] = []
    for _, group in groupby(cells, key=lambda c: (id(c.problem), c.method)):
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
            slow = _count_slow(before, [r for _, r in found])
            found.append((cell, self._first_look(cell, before, slow)))
        for _, record in found:
            record["changed"] = record.get("changed", {})
        for kind in dict.fromkeys(k for _, r in found for k in classes(r)):
            self._find_dependable(kind, found)
        return [record for _, record in found]

    def _first_look(self, cell: EngineCell, before: list[Record], slow: int = 0) -> Record:
        self.on_cell(cell)

        def run() -> Record:
            skipped = cell.skip(before, self.budget, self.command)
            if slow:
                message = f"left out: {slow} earlier runs exceeded the limit of CPU time"
                skipped = cell.empty(SKIPPED, message, self.command)
            return skipped or self._request(cell, FIRST_LOOK, 0.5)

        path = cell.path(self.folder)
        return cell.take(path, _load(path, cell), run)

    def _request(self, cell: EngineCell, repeats: int, patience: float) -> Record:
        question = cell.question(repeats, patience, self.command, self.process.folder)
        limit = PATIENCE * self.budget + 2.0 * patience
        answer = self.process.request(question, limit)
        for status in ("crashed", TOO_SLOW, "rejected"):
            if status in answer:
                return cell.empty(status, answer[status], self.command)
        return {**answer, "method": cell.method, **cell.about()}

    def _find_dependable(self, kind: str, found: list[tuple[EngineCell, Record]]) -> None:
        """Vary the steps of the fastest settings of a class until one is dependable; time them fully."""
        able = [(c, r) for c, r in found if kind in classes(r)]
        able.sort(key=lambda pair: ranked_seconds(pair[1]))
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
            kept = [kind in change["classes"] for change in record["changed"].values()]
            if n == 0 or all(kept):
                self._time(cell, record)
            write_cell(cell.path(self.folder), record)
            if all(kept):
                return

    def _time(self, cell: EngineCell, record: Record) -> None:
        if record["timings"]["repeats"] < self.repeats:
            again = self._request(cell, self.repeats, 20.0)
            if again["timings"]["repeats"]:
                record["timings"] = again["timings"]


def _count_slow(same: list[Record], all_before: list[Record]) -> int:
    """Return the number of too slow runs that rule out the next one; 0 if it may be fast enough.

    same: runs with its settings and longer steps; all_before: those of all settings. If the runs with the first
    settings do not end, building the model takes too long, whatever the step is.
    """
    slow = [r for r in same if r["status"] == TOO_SLOW]
    if slow:
        return len(slow)
    slow = [r for r in all_before if r["status"] == TOO_SLOW]
    ended = any(r["timings"]["repeats"] for r in all_before)
    return len(slow) if len(slow) >= MOST_SLOW and not ended else 0


def _load(path: Path, cell: EngineCell) -> Record | None:
    """Return the stored record if it is valid and matches this cell and the current versions; otherwise None."""
    record = cell.load(path, CellRecord)
    if record is None or cell.method == OURS or not record["timings"]["repeats"]:
        return record
    engine = known_engines()[cell.method]
    return record if record["versions"].get(engine.package) == engine.version else None
