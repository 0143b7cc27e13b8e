"""Runs one parameter set and returns one row; every failure becomes a status and a message."""

from __future__ import annotations

import hashlib
import json
import platform
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from .. import kernels
from ..assembly import AssemblyError
from ..lazy import module_on_use
from ..mechanism import LockedError, Mechanism, MechanismError
from ..result import Result
from ..runs.columns import trajectory_columns
from ..runs.provenance import describe_versions
from ..simulate import simulate
from . import changes
from .batching import BatchRunner, prepare_batch_runner
from .records import (
    MOST_CHARACTERS,
    QUANTITIES,
    RecordError,
    RecordSource,
    load_function,
    read_record,
    read_text,
)
from .study import StudyPlan

cloudpickle = module_on_use("cloudpickle")

DONE = "done"
REJECTED = "rejected"
CANNOT_ASSEMBLE = "cannot-assemble"
LOCKED = "locked"
RECORD_FAILED = "record-failed"
OUT_OF_MEMORY = "out-of-memory"
TIME_LIMIT = "time-limit"
WORKER_DIED = "worker-died"
ERROR = "error"

Row = dict[str, Any]
# Columns of every table, in addition to parameters and records.
FIRST_COLUMNS = ("run", "key")
LAST_COLUMNS = ("status", "message", "notes")


@dataclass
class BatchOutcome:
    """What a worker returns for several runs.

    left: runs that were not started, because the worker is stuck in one that exceeded the time limit;
    seconds: time spent in the runs; worker: its address; versions: versions of the software it used.
    """

    rows: list[Row]
    trajectories: list[dict[str, Any]]
    left: list[int] = field(default_factory=list)
    seconds: float = 0.0
    worker: str = ""
    versions: dict[str, str] = field(default_factory=dict)


def run_key(plan: StudyPlan, values: list[Any]) -> str:
    """Return the hash of the plan and the parameter values of this run."""
    text = json.dumps([plan.digest, values], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def start_row(plan: StudyPlan, number: int, values: list[Any]) -> Row:
    """Return a row with number, key and parameters, without results."""
    row: Row = {"run": number, "key": run_key(plan, values)}
    for column, value in zip(plan.columns, values, strict=True):
        row |= spread_value(column, value)
    return row


def spread_value(column: str, value: Any) -> Row:
    """Return a value as columns; a vector has one column per component."""
    if isinstance(value, list):
        out: Row = {}
        for i, entry in enumerate(value):
            out |= spread_value(f"{column}.{i}", entry)
        return out
    return {column: value}


def failed_row(plan: StudyPlan, number: int, values: list[Any], status: str, message: str) -> Row:
    """Return the row of a run without a result."""
    return {**start_row(plan, number, values), "status": status, "message": message, "notes": ""}


def run_together(plan: StudyPlan, numbers: list[int], values: list[list[Any]]) -> dict[int, Row]:
    """Return the rows, by number, of those runs of a batch that can be vectorised."""
    if plan.digest not in _TOGETHER:
        _TOGETHER.clear()
        _TOGETHER[plan.digest] = prepare_batch_runner(plan)
    lanes = _TOGETHER[plan.digest]
    runs = lanes.run(values) if lanes is not None else None
    rows: dict[int, Row] = {}
    for i, (number, row_values) in enumerate(zip(numbers, values, strict=True)):
        if runs is not None and runs.status[i]:
            one = runs.of(i)
            # Records of such a plan read only what the SIMD lanes compute, and nothing of the mechanism.
            source = RecordSource(Mechanism(""), cast(Result, one))
            rows[number] = _row(
                plan, number, row_values, source, one.status, one.message, one.notes
            )
    return rows


# The batch runner of a worker for each plan, None if the plan cannot be vectorised.
_TOGETHER: dict[str, BatchRunner | None] = {}


def run_one(plan: StudyPlan, number: int, values: list[Any]) -> tuple[Row, dict[str, Any] | None]:
    """Execute one run; return its row, and its trajectory if that is kept."""
    notes: list[str] = []
    run: RecordSource | None = None
    trajectory = None
    status, message = DONE, "inspected, not simulated"
    try:
        mechanism, settings = changes.build_mechanism(
            plan.base, plan.changes, dict(zip(plan.columns, values, strict=True))
        )
        run = RecordSource(mechanism)
        if plan.settings is not None:
            result = simulate(mechanism, **{**plan.settings, **settings})
            run.result = result
            status, message = result.status, result.message
            # Crossings are separate records, if requested: locating them takes longer than a run.
            notes += result.outcome.notes
            trajectory = _trajectory(plan, number, result, mechanism)
    except BaseException as error:
        # Also catches what is not an Exception: Ctrl-C never reaches a worker, so the run itself raised it.
        status, message = describe_failure(error)
    return _row(plan, number, values, run, status, message, notes), trajectory


def _row(
    plan: StudyPlan,
    number: int,
    values: list[Any],
    run: RecordSource | None,
    status: str,
    message: str,
    notes: list[str],
) -> Row:
    """Return the row of a run: parameters, records, and how it ended."""
    row, notes = start_row(plan, number, values), list(notes)
    row |= _records(plan, run, notes, status == DONE)
    failed = row.pop("failed", None)
    if failed and status == DONE:
        status, message = failed
    row |= {"status": status, "message": message[:MOST_CHARACTERS]}
    row["notes"] = "; ".join(notes)[:MOST_CHARACTERS]
    return row


def describe_failure(error: BaseException) -> tuple[str, str]:
    """Return status and message for an exception."""
    text = read_text(error)
    if isinstance(error, AssemblyError):
        return CANNOT_ASSEMBLE, text
    if isinstance(error, LockedError):
        return LOCKED, text
    if isinstance(error, MechanismError | ValueError):
        return REJECTED, text
    if isinstance(error, MemoryError):
        return (
            OUT_OF_MEMORY,
            f"out of memory: {text or 'no more is available'}; request fewer outputs",
        )
    return ERROR, f"{type(error).__name__}: {text}"


def _records(plan: StudyPlan, run: RecordSource | None, notes: list[str], done: bool) -> Row:
    """Return the values of all records; for a failed run only those that need no simulation."""
    row: Row = {}
    for record in plan.records:
        needs_result = record.what == "function" or QUANTITIES[record.what].simulated
        if run is None or (needs_result and run.result is None and plan.settings is not None):
            continue
        try:
            row |= read_record(record, run)
        except MechanismError as error:
            # Nothing is simulated, so the first record is where an invalid mechanism shows up.
            row.setdefault("failed", describe_failure(error))
        except BaseException as error:
            status = OUT_OF_MEMORY if isinstance(error, MemoryError) else RECORD_FAILED
            what = record.argument if record.what == "function" else record.what
            text = read_text(error)
            why = text if isinstance(error, RecordError) else f"{type(error).__name__}: {text}"
            sentence = f"record '{record.columns[0]}' ({what}) failed: {why}"
            # A failed run already has its reason; records that could not be read become notes.
            if done:
                row.setdefault("failed", (status, sentence))
            else:
                notes.append(sentence)
    return row


def _trajectory(
    plan: StudyPlan, number: int, result: Result, mechanism: Mechanism
) -> dict[str, Any] | None:
    """Return the columns of a complete run: time, positions and velocities of points, energy."""
    if plan.trajectory is None:
        return None
    names = plan.trajectory or tuple(j.name for j in mechanism.joints if j.name in result.points)
    return {"run": np.full(len(result.times), number), **trajectory_columns(result, names)}


# Batches, as run by a worker.


def run_batch(
    payload: bytes, digest: str, numbers: list[int], values: list[list[Any]]
) -> BatchOutcome:
    """Execute several runs on a worker; payload: the pickled plan, which a worker loads once; digest: its hash."""
    plan = _read_plan(payload, digest)
    begin = time.perf_counter()
    outcome = BatchOutcome([], [], worker=_address(), versions=describe_worker())
    together = run_together(plan, numbers, values)
    watched = None if plan.time_limit is None else _Watched(plan)
    for i, (number, row_values) in enumerate(zip(numbers, values, strict=True)):
        if number in together:
            outcome.rows.append(together[number])
            continue
        if watched is None:
            found = run_one(plan, number, row_values)
        else:
            answer = watched.run(number, row_values)
            if answer is None:
                sentence = f"stopped: it took longer than the time limit, {plan.time_limit:g} s"
                outcome.rows.append(failed_row(plan, number, row_values, TIME_LIMIT, sentence))
                outcome.left = list(numbers[i + 1 :])
                outcome.seconds = time.perf_counter() - begin
                # Compiled code cannot be stopped; the caller restarts the worker.
                return outcome
            found = answer
        outcome.rows.append(found[0])
        if found[1] is not None:
            outcome.trajectories.append(found[1])
    if watched is not None:
        watched.close()
    outcome.seconds = time.perf_counter() - begin
    return outcome


class _Watched:
    """Executes runs in a separate thread, so that the time limit is detected while compiled code runs."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self.wanted: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.found: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def run(self, number: int, values: list[Any]) -> tuple[Row, dict[str, Any] | None] | None:
        """Return the row of a run, or None if it takes too long."""
        self.wanted.put((number, values))
        try:
            return self.found.get(timeout=self.plan.time_limit)
        except queue.Empty:
            return None

    def close(self) -> None:
        self.wanted.put(None)

    def _work(self) -> None:
        while (given := self.wanted.get()) is not None:
            self.found.put(run_one(self.plan, *given))


def warm_up(plan: StudyPlan) -> None:
    """Compile or load all kernels that the runs of a plan need, and load the functions of its records."""
    for record in plan.records:
        if record.what == "function":
            load_function(record)
    if plan.settings is None:
        return
    tiny = Mechanism("warm-up")
    tiny.rod("rod", (0, 0), (1, 0), mass=1)
    tiny.revolute("pin", tiny.ground, "rod", at=(0, 0))
    method = plan.settings.get("method")
    result = simulate(tiny, 1e-3, **({} if method is None else {"method": method}))
    if result.outcome.watch is not None and any(
        r.what.startswith("crossing") for r in plan.records
    ):
        _ = result.crossings


def describe_worker() -> dict[str, str]:
    """Return what a row depends on apart from its parameters: versions, and the digest of the kernels."""
    if not _VERSIONS:
        named = describe_versions()
        _VERSIONS.update({name: named[name] for name in ("sarrus", "numpy", "scipy", "llvmlite")})
        _VERSIONS["python"] = platform.python_version()
        _VERSIONS["kernels"] = kernels.compiler.DIGEST
    return dict(_VERSIONS)


_VERSIONS: dict[str, str] = {}
# The plan of this process, by the hash of its payload.
_PLANS: dict[str, StudyPlan] = {}


def _read_plan(payload: bytes, digest: str) -> StudyPlan:
    if digest not in _PLANS:
        plan = cloudpickle.loads(payload)
        # The kernels are loaded before the clock of a run starts.
        warm_up(plan)
        _PLANS.clear()
        _PLANS[digest] = plan
    return _PLANS[digest]


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""
