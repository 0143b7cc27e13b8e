"""The runs of a study on Dask: sends batches, receives rows, and survives the loss of workers."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import queue
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import Any

import cloudpickle
import dask
from distributed import Client, Future, KilledWorker, LocalCluster
from distributed.client import FutureCancelledError
from distributed.security import Security

from ..arrays import plain_sum
from .runs import (
    OUT_OF_MEMORY,
    TIME_LIMIT,
    WORKER_DIED,
    BatchOutcome,
    Row,
    describe_worker,
    failed_row,
    run_batch,
)
from .sampling import Samples
from .study import Study, StudyError

# Target duration of a batch [s]: long compared with the scheduler's millisecond, short for a person who waits.
BATCH_SECONDS = 1.0
FIRST_BATCH, LARGEST_BATCH = 4, 500
# Largest number of trajectory values in a batch.
MOST_NUMBERS = 2_000_000
# Batches queued per worker.
WAITING = 2
# How long to wait for a first worker, and for one to come back [s].
PATIENCE = 60.0
# How often to try to start the workers of this machine before the study ends.
START_ATTEMPTS = 2
# Interval between counts of the workers [s].
COUNT_SECONDS = 2.0
MEMORY_EVENTS = "worker-restart-memory"
# Errors among workers are handled here, not logged.
QUIET = logging.CRITICAL


@dataclass
class Batch:
    """Runs that are sent together.

    alone: the batch has its worker to itself, because a worker died with these runs, or with others queued next to
    them; deaths: number of workers that died with this run; worker: the address it is bound to, if it is alone.
    """

    numbers: list[int]
    alone: bool = False
    deaths: int = 0
    worker: str = ""

    def halves(self) -> list[Batch]:
        """Split the runs into two batches."""
        middle = len(self.numbers) // 2
        return [Batch(part, True) for part in (self.numbers[:middle], self.numbers[middle:])]


@dataclass
class Work:
    """The state of a study while it runs.

    seconds: time spent inside runs; restarts: number of restarted workers that exceeded the time limit; remarks:
    messages for the user.
    """

    study: Study
    samples: Samples
    pending: Iterator[int]
    write: Callable[[list[Row], list[dict[str, Any]]], None]
    seconds: float = 0.0
    deaths: int = 0
    restarts: int = 0
    remarks: list[str] = field(default_factory=list)


@contextmanager
def connect(scheduler: str | None, workers: int) -> Iterator[Client]:
    """Connect to the scheduler at an address, or to a cluster on this machine that ends with the client."""
    if scheduler is None:
        with _local_cluster(workers) as cluster, Client(cluster) as client:
            yield client
        return
    for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
        logging.getLogger(name).setLevel(QUIET)
    try:
        client = Client(scheduler, timeout=PATIENCE / 4)
    except (OSError, TimeoutError, ValueError) as error:
        raise StudyError(
            f"no scheduler answers at {scheduler}: {error}; check address and network"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise StudyError(
                f"the scheduler at {scheduler} has no workers; start some with "
                f"`dask worker {scheduler} --nthreads 1`"
            ) from None
        yield client


@contextmanager
def _local_cluster(workers: int) -> Iterator[LocalCluster]:
    """Worker processes that only this program can talk to: the keys are created now and stored nowhere."""
    settings = {
        # This program handles the death of a worker; only the run in progress is suspect.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.worker-saturation": 1.0,
        # Otherwise a worker that dies twice within this time would never be replaced.
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # The profiler keeps an hour of samples, so its memory grows with the study.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.log-length": 60,
        # Otherwise any user of this machine could read these pages.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings), _start_workers(workers) as cluster:
        yield cluster


def _start_workers(workers: int) -> LocalCluster:
    """Start the cluster; one worker that dies while starting is tolerated, two in a row are not."""
    failed: Exception | None = None
    for _ in range(START_ATTEMPTS):
        try:
            with _deaf_to_interrupts():
                return LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    # Without keys any user of this machine could run code as this user.
                    security=Security.temporary(),
                    dashboard_address=None,
                    # No fixed port, so that two studies can run at the same time.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    silence_logs=QUIET,
                )
        except (RuntimeError, OSError, TimeoutError) as error:
            failed = error
    assert failed is not None
    raise StudyError(
        f"the workers on this machine did not start, {START_ATTEMPTS} times in a row ({_first_line(failed)}); "
        "finished runs are kept, and the same command resumes it"
    ) from failed


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Threads and processes started inside ignore Ctrl-C; this program handles it afterwards.

    A terminal sends Ctrl-C to all processes, but only this one knows how to end the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Otherwise it would unblock the signal in the thread that starts it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_study(client: Client, work: Work, local: bool) -> None:
    """Run all pending runs; rows are written as they arrive."""
    try:
        _Loop(client, work, local).run()
    except OSError as error:
        raise StudyError(
            f"the connection to the scheduler was lost ({_first_line(error)}); finished runs are kept, and the "
            "same command resumes it"
        ) from error


class _Loop:
    """Sends batches to workers and receives rows.

    again: batches that were not started; suspects: batches whose worker was lost, which run at the end, each
    alone on its worker; dead: workers that died; restarted: addresses of workers that were ended because of the
    time limit.
    """

    def __init__(self, client: Client, work: Work, local: bool) -> None:
        self.client = client
        self.work = work
        self.plan = work.study.plan
        self.payload = cloudpickle.dumps(self.plan)
        self.digest = hashlib.sha256(self.payload).hexdigest()
        self.local = local
        self.flying: dict[Future, Batch] = {}
        self.again: deque[Batch] = deque()
        self.suspects: deque[Batch] = deque()
        self.completed: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.size = FIRST_BATCH
        self.versions = describe_worker()
        self.reported_versions: set[str] = set()
        self.dead: set[str] = set()
        self.restarted: set[str] = set()
        self.left = True
        self.workers, self.counted, self.seen = 1, -math.inf, time.monotonic()

    def run(self) -> None:
        self.fill()
        while self.flying or self.suspects:
            try:
                future = self.completed.get(timeout=COUNT_SECONDS)
            except queue.Empty:
                self.look_after()
            else:
                batch = self.flying.pop(future, None)
                if batch is not None:
                    self.receive(future, batch)
                    future.release()
            self.fill()

    def look_after(self) -> None:
        """Detect what no future reports: that no worker is left, or that the worker of a batch is gone."""
        workers = self.list_workers()
        if not workers and time.monotonic() > self.seen + PATIENCE:
            raise StudyError(
                f"no worker is left, and none came back within {PATIENCE:g} s; finished runs are kept, and the "
                "same command resumes it"
            )
        for future, batch in list(self.flying.items()):
            if batch.worker and batch.worker not in workers and future.status == "pending":
                # The batch never started, so it did not cause the loss.
                del self.flying[future]
                future.release()
                self.suspects.append(batch)

    def list_workers(self) -> list[str]:
        """Return the addresses of the current workers; raises OSError if no scheduler answers."""
        try:
            found = list(self.client.nthreads())
        except (RuntimeError, ValueError, TimeoutError) as error:
            # The client has given up.
            raise OSError(str(error) or "no answer") from error
        self.workers, self.counted = max(len(found), 1), time.monotonic()
        if found:
            self.seen = self.counted
        return found

    def fill(self) -> None:
        """Keep every worker busy, but queue no more than needed, because queued batches cost memory."""
        workers = self.count_workers()
        while len(self.flying) < WAITING * workers:
            batch = self.next()
            if batch is None:
                break
            self.submit(batch)
        if self.suspects and not self.left and not self.again:
            self.fill_alone()

    def fill_alone(self) -> None:
        """At the end, run one batch per worker, so that a run that kills its worker affects no other."""
        if not all(batch.alone for batch in self.flying.values()):
            return
        if not self.local:
            # Workers of an external cluster come and go: run one batch at a time, on any worker.
            if not self.flying:
                self.submit(self.suspects.popleft())
            return
        taken = {batch.worker for batch in self.flying.values()}
        for worker in self.list_workers():
            if self.suspects and worker not in taken:
                batch = self.suspects.popleft()
                batch.worker = worker
                self.submit(batch)

    def count_workers(self) -> int:
        """Return the current number of workers, which may change; it is not queried for every batch."""
        if time.monotonic() > self.counted + COUNT_SECONDS:
            self.list_workers()
        return self.workers

    def next(self) -> Batch | None:
        if self.again:
            return self.again.popleft()
        numbers = []
        for number in self.work.pending:
            numbers.append(number)
            if len(numbers) == self.size:
                return Batch(numbers)
        self.left = False
        return Batch(numbers) if numbers else None

    def submit(self, batch: Batch) -> None:
        values = [self.work.samples.row(self.plan.columns, number) for number in batch.numbers]
        future = self.client.submit(
            run_batch, self.payload, self.digest, batch.numbers, values,
            pure=False, workers=[batch.worker] if batch.worker else None,
        )  # fmt: skip
        self.flying[future] = batch
        future.add_done_callback(self.completed.put)

    def receive(self, future: Future, batch: Batch) -> None:
        error: BaseException | None = None
        if future.status == "finished":
            try:
                # The rows are still on their worker and can be lost with it even now.
                outcome = future.result(timeout=PATIENCE)
            except (KilledWorker, FutureCancelledError, OSError, TimeoutError) as lost:
                error = lost
            else:
                self.accept(outcome, batch)
                return
        elif future.status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                # A worker that cannot start: the package is missing there, or has another version.
                raise StudyError(
                    f"a worker failed outside of a run: {type(error).__name__}: {error}"
                )
        if not isinstance(error, KilledWorker):
            # Lost rows are run again; without a scheduler this raises.
            self.list_workers()
        self.lost(batch, error)

    def accept(self, outcome: BatchOutcome, batch: Batch) -> None:
        self.work.write(outcome.rows, outcome.trajectories)
        self.work.seconds += outcome.seconds
        if outcome.versions != self.versions:
            self.remark_versions(outcome)
        if outcome.left or any(row["status"] == TIME_LIMIT for row in outcome.rows):
            if outcome.left:
                (self.suspects if batch.alone else self.again).append(
                    Batch(outcome.left, batch.alone)
                )
            self.restart(outcome.worker)
        elif not batch.alone:
            each = outcome.seconds / max(len(outcome.rows), 1)
            numbers = plain_sum(len(t["t"]) * len(t) for t in outcome.trajectories)
            fits = MOST_NUMBERS * len(outcome.rows) / max(numbers, 1)
            wanted = min(BATCH_SECONDS / max(each, 1e-9), fits, LARGEST_BATCH, 2 * self.size)
            self.size = max(int(wanted), 1)

    def restart(self, worker: str) -> None:
        """End a worker that hangs in a run; its other batches are lost and run again."""
        self.work.restarts += 1
        self.restarted.add(worker)
        # The worker does not answer now, and its nanny starts another. A graceful restart could end the nanny as
        # well.
        with suppress(ValueError, KeyError, OSError, TimeoutError):
            self.client.run(os._exit, 1, workers=[worker], on_error="ignore")

    def lost(self, batch: Batch, error: BaseException | None) -> None:
        """Handle the loss of a worker: retry the runs of its batch alone, and halve it until one run is left.

        Only a run that was alone on its worker each time is the cause; it is given up after some deaths.
        """
        gone = getattr(error, "last_worker", None)
        address = str(getattr(gone, "address", ""))
        if gone is not None and address not in self.restarted:
            # All batches that were on this worker report the same death.
            self.dead.add(getattr(gone, "server_id", ""))
            self.work.deaths = len(self.dead)
        batch.worker = ""
        if not batch.alone:
            # The run that caused it is unknown: others may just have been queued there.
            self.suspects.append(Batch(batch.numbers, True))
            return
        if len(batch.numbers) > 1:
            self.suspects.extend(batch.halves())
            return
        batch.deaths += 1
        if batch.deaths < self.work.study.attempts:
            self.suspects.append(batch)
            return
        number = batch.numbers[0]
        values = self.work.samples.row(self.plan.columns, number)
        status, message = self.why(batch.deaths, address)
        self.work.write([failed_row(self.plan, number, values, status, message)], [])

    def why(self, deaths: int, worker: str) -> tuple[str, str]:
        times = "once" if deaths == 1 else f"{deaths} times"
        events = self.client.get_events(MEMORY_EVENTS)
        if any(event.get("worker") == worker for _, event in events if isinstance(event, dict)):
            return OUT_OF_MEMORY, (
                f"the worker was ended {times} because this run took more memory than a worker has; request fewer "
                "outputs, or give workers more memory"
            )
        return WORKER_DIED, (
            f"the worker died {times} during this run: killed from outside, by lack of memory, or by a crash"
        )

    def remark_versions(self, outcome: BatchOutcome) -> None:
        other = {k: v for k, v in outcome.versions.items() if self.versions.get(k) != v}
        differences = ", ".join(
            f"{k} {v} instead of {self.versions.get(k)}" for k, v in other.items()
        )
        if differences not in self.reported_versions:
            self.reported_versions.add(differences)
            self.work.remarks.append(
                f"worker {outcome.worker} computes with {differences}; last digits may differ "
                "from those of other workers"
            )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


__all__ = ["Work", "connect", "run_study"]
