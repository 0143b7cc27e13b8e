"""The runs of a study on Dask: batches out, rows in, whatever happens to the workers."""

from __future__ import annotations

import hashlib
import logging
import math
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import Any

import cloudpickle
import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.client import FutureCancelledError

from .runs import (
    OUT_OF_MEMORY,
    WORKER_DIED,
    BatchOutcome,
    Row,
    describe_worker,
    failed_row,
    run_batch,
)
from .sampling import Samples
from .study import Study, StudyError

# what a batch should take [s]: long against the scheduler's millisecond, short against a person's patience
BATCH_SECONDS = 1.0
FIRST_BATCH, LARGEST_BATCH = 4, 500
# numbers of trajectories that a batch may carry
MOST_NUMBERS = 2_000_000
# batches that wait for each worker
WAITING = 2
# how long to wait for a first worker, and for one to come back [s]
PATIENCE = 60.0
# how often workers are counted [s]
COUNT_SECONDS = 2.0
MEMORY_EVENTS = "worker-restart-memory"


@dataclass
class Batch:
    """Runs that travel together.

    alone: one run, and nothing else on its worker, because a worker died with it before; deaths: of workers
    since then.
    """

    numbers: list[int]
    alone: bool = False
    deaths: int = 0


@dataclass
class Work:
    """The state of a study while it runs.

    seconds: spent inside runs; restarts: of workers that exceeded the time limit; remarks: what a user should
    know.
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
    """A client of the scheduler at an address, or of a cluster on this machine that ends with it."""
    quiet = logging.CRITICAL
    if scheduler is None:
        settings = {
            # a worker's death is this program's to judge, and only the run it was in is suspect
            "distributed.scheduler.allowed-failures": 0,
            "distributed.scheduler.worker-saturation": 1.0,
            # it keeps what it saw for an hour: memory that grows with the study
            "distributed.worker.profile.enabled": False,
            "distributed.admin.system-monitor.log-length": 60,
        }
        with dask.config.set(settings):
            with _deaf_to_interrupts():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    # no fixed port: two studies may run side by side
                    dashboard_address="127.0.0.1:0",
                    silence_logs=quiet,
                )
            with cluster, Client(cluster) as client:
                yield client
        return
    logging.getLogger("distributed").setLevel(quiet)
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
def _deaf_to_interrupts() -> Iterator[None]:
    """Threads and processes that start meanwhile never hear Ctrl-C; this program hears it afterwards.

    A terminal sends Ctrl-C to all processes, but only this one knows how to end the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # it would open the ears of the thread that starts it
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_study(client: Client, work: Work, local: bool) -> None:
    """Run all pending runs; rows are written as they come in."""
    try:
        _Loop(client, work, local).run()
    except (OSError, FutureCancelledError) as error:
        if isinstance(error, StudyError):
            raise
        raise StudyError(
            f"the connection to the scheduler was lost ({error}); finished runs are kept, and the same "
            "command goes on"
        ) from error


class _Loop:
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
        self.completed = as_completed(loop=client.loop)
        self.size = FIRST_BATCH
        self.versions = describe_worker()
        self.told: set[str] = set()
        self.dead: set[str] = set()
        self.left = True
        self.workers, self.counted = 1, -math.inf

    def run(self) -> None:
        self.fill()
        for future in self.completed:
            batch = self.flying.pop(future)
            self.receive(future, batch)
            future.release()
            self.fill()

    def fill(self) -> None:
        """Keep every worker busy, and no more: what waits here costs memory."""
        workers = self.count_workers()
        while len(self.flying) < WAITING * workers:
            batch = self.next()
            if batch is None:
                break
            self.submit(batch)
        if self.suspects and not self.left and not self.again:
            self.fill_alone()

    def fill_alone(self) -> None:
        """At the end, one run a worker: none is to suffer from a run that kills its worker."""
        if not all(batch.alone for batch in self.flying.values()):
            return
        # counted now: a worker that just died is not back yet, and two runs would meet on another
        places = max(len(self.client.nthreads()), 1) if self.local else 1
        while self.suspects and len(self.flying) < places:
            self.submit(self.suspects.popleft())

    def count_workers(self) -> int:
        """Workers there are now: some may join or leave, which need not be asked for every batch."""
        if time.monotonic() > self.counted + COUNT_SECONDS:
            self.workers = max(len(self.client.nthreads()), 1)
            self.counted = time.monotonic()
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
            run_batch, self.payload, self.digest, batch.numbers, values, pure=False
        )
        self.flying[future] = batch
        self.completed.add(future)

    def receive(self, future: Future, batch: Batch) -> None:
        if future.status == "finished":
            self.accept(future.result(), batch)
            return
        if future.status in ("cancelled", "lost"):
            raise OSError("tasks were cancelled")
        error = future.exception()
        if isinstance(error, KilledWorker):
            self.died(batch, error)
            return
        # a worker that cannot even begin: no other package there, or another version
        raise StudyError(f"a worker failed outside of a run: {type(error).__name__}: {error}")

    def accept(self, outcome: BatchOutcome, batch: Batch) -> None:
        self.work.write(outcome.rows, outcome.trajectories)
        self.work.seconds += outcome.seconds
        if outcome.versions != self.versions:
            self.remark_versions(outcome)
        if outcome.left or any(row["status"] == "time-limit" for row in outcome.rows):
            if outcome.left:
                self.again.append(Batch(outcome.left))
            self.work.restarts += 1
            self.client.restart_workers([outcome.worker], timeout=PATIENCE, raise_for_error=False)
        elif not batch.alone:
            each = outcome.seconds / max(len(outcome.rows), 1)
            numbers = sum(len(t["t"]) * len(t) for t in outcome.trajectories)
            fits = MOST_NUMBERS * len(outcome.rows) / max(numbers, 1)
            wanted = min(BATCH_SECONDS / max(each, 1e-9), fits, LARGEST_BATCH, 2 * self.size)
            self.size = max(int(wanted), 1)

    def died(self, batch: Batch, error: KilledWorker) -> None:
        """A worker died: its runs are tried again alone, and given up after some deaths of their own."""
        # all batches that were on it tell of the same death
        self.dead.add(getattr(error.last_worker, "server_id", ""))
        self.work.deaths = len(self.dead)
        if not batch.alone:
            # whose run it was is not known: others may just have waited there
            self.suspects.extend(Batch([number], alone=True) for number in batch.numbers)
            return
        batch.deaths += 1
        if batch.deaths < self.work.study.attempts:
            self.suspects.append(batch)
            return
        number = batch.numbers[0]
        values = self.work.samples.row(self.plan.columns, number)
        status, message = self.why(batch.deaths, str(getattr(error.last_worker, "address", "")))
        self.work.write([failed_row(self.plan, number, values, status, message)], [])

    def why(self, deaths: int, worker: str) -> tuple[str, str]:
        times = "once" if deaths == 1 else f"{deaths} times"
        events = self.client.get_events(MEMORY_EVENTS)
        if any(event.get("worker") == worker for _, event in events if isinstance(event, dict)):
            return OUT_OF_MEMORY, (
                f"the worker was ended {times} because this run took more memory than a worker has; ask for fewer "
                "outputs, or give workers more memory"
            )
        return WORKER_DIED, (
            f"the worker died {times} during this run: killed from outside, by lack of memory, or by a crash"
        )

    def remark_versions(self, outcome: BatchOutcome) -> None:
        other = {k: v for k, v in outcome.versions.items() if self.versions.get(k) != v}
        told = ", ".join(f"{k} {v} instead of {self.versions.get(k)}" for k, v in other.items())
        if told not in self.told:
            self.told.add(told)
            self.work.remarks.append(
                f"worker {outcome.worker} computes with {told}; last digits may differ from those of other workers"
            )


__all__ = ["Work", "connect", "run_study"]
