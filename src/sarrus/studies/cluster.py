"""The runs of a study on Dask: batches out, rows in, whatever happens to the workers."""

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

# what a batch should take [s]: long against the scheduler's millisecond, short against a person's patience
BATCH_SECONDS = 1.0
FIRST_BATCH, LARGEST_BATCH = 4, 500
# numbers of trajectories that a batch may carry
MOST_NUMBERS = 2_000_000
# batches that wait for each worker
WAITING = 2
# how long to wait for a first worker, and for one to come back [s]
PATIENCE = 60.0
# how often the workers of this machine are started before the study ends
START_ATTEMPTS = 2
# how often workers are counted [s]
COUNT_SECONDS = 2.0
MEMORY_EVENTS = "worker-restart-memory"
# what goes wrong among workers is judged here, not logged
QUIET = logging.CRITICAL


@dataclass
class Batch:
    """Runs that travel together.

    alone: nothing else is on its worker, because one died with these runs, or with others beside them; deaths:
    of workers with this very run; worker: the address it is bound to, if it is alone.
    """

    numbers: list[int]
    alone: bool = False
    deaths: int = 0
    worker: str = ""

    def halves(self) -> list[Batch]:
        """The same runs in two batches."""
        middle = len(self.numbers) // 2
        return [Batch(part, True) for part in (self.numbers[:middle], self.numbers[middle:])]


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
    """Worker processes that nobody but this program can talk to: keys of their own, made now and kept nowhere."""
    settings = {
        # a worker's death is this program's to judge, and only the run it was in is suspect
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.worker-saturation": 1.0,
        # a worker that dies twice within this time would never be replaced
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # it keeps what it saw for an hour: memory that grows with the study
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.log-length": 60,
        # pages that any user of this machine could read
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings), _start_workers(workers) as cluster:
        yield cluster


def _start_workers(workers: int) -> LocalCluster:
    """The cluster; a worker that dies while it starts is no reason to give up, two in a row are."""
    failed: Exception | None = None
    for _ in range(START_ATTEMPTS):
        try:
            with _deaf_to_interrupts():
                return LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    # without keys any user of this machine could run code as this one
                    security=Security.temporary(),
                    dashboard_address=None,
                    # no fixed port: two studies may run side by side
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    silence_logs=QUIET,
                )
        except (RuntimeError, OSError, TimeoutError) as error:
            failed = error
    assert failed is not None
    raise StudyError(
        f"the workers on this machine did not start, {START_ATTEMPTS} times in a row ({_first_line(failed)}); "
        "finished runs are kept, and the same command goes on"
    ) from failed


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
    except OSError as error:
        raise StudyError(
            f"the connection to the scheduler was lost ({_first_line(error)}); finished runs are kept, and the "
            "same command goes on"
        ) from error


class _Loop:
    """Batches go out to workers, and rows come in.

    again: batches that were not begun; suspects: batches that a worker was lost with, which run at the end, each
    alone on its worker; dead: workers that died; restarted: addresses of those that were ended because of the
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
        self.told: set[str] = set()
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
        """See what no future tells: that no worker is left, or that the one a batch is bound to is gone."""
        workers = self.list_workers()
        if not workers and time.monotonic() > self.seen + PATIENCE:
            raise StudyError(
                f"no worker is left, and none came back within {PATIENCE:g} s; finished runs are kept, and the "
                "same command goes on"
            )
        for future, batch in list(self.flying.items()):
            if batch.worker and batch.worker not in workers and future.status == "pending":
                # it never began: nobody is to blame
                del self.flying[future]
                future.release()
                self.suspects.append(batch)

    def list_workers(self) -> list[str]:
        """Addresses of the workers there are now; raises OSError if no scheduler answers."""
        try:
            found = list(self.client.nthreads())
        except (RuntimeError, ValueError, TimeoutError) as error:
            # the client has given up
            raise OSError(str(error) or "no answer") from error
        self.workers, self.counted = max(len(found), 1), time.monotonic()
        if found:
            self.seen = self.counted
        return found

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
        """At the end, one batch a worker: none is to suffer from a run that kills its worker."""
        if not all(batch.alone for batch in self.flying.values()):
            return
        if not self.local:
            # workers of others come and go: one batch at a time, wherever it is
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
        """Workers there are now: some may join or leave, which need not be asked for every batch."""
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
                # the rows are on their worker, and may be lost with it even now
                outcome = future.result(timeout=PATIENCE)
            except (KilledWorker, FutureCancelledError, OSError, TimeoutError) as lost:
                error = lost
            else:
                self.accept(outcome, batch)
                return
        elif future.status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                # a worker that cannot even begin: no other package there, or another version
                raise StudyError(
                    f"a worker failed outside of a run: {type(error).__name__}: {error}"
                )
        if not isinstance(error, KilledWorker):
            # lost rows are run again; without a scheduler this raises
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
        """End a worker that hangs in a run; what else it has is lost, and run again."""
        self.work.restarts += 1
        self.restarted.add(worker)
        # it does not answer then; its nanny starts another. A polite restart may end the nanny as well
        with suppress(ValueError, KeyError, OSError, TimeoutError):
            self.client.run(os._exit, 1, workers=[worker], on_error="ignore")

    def lost(self, batch: Batch, error: BaseException | None) -> None:
        """A worker is gone and with it a batch: its runs are tried again alone, and halved until one is left.

        Only a run that was alone on its worker each time is to blame, and given up after some deaths.
        """
        gone = getattr(error, "last_worker", None)
        address = str(getattr(gone, "address", ""))
        if gone is not None and address not in self.restarted:
            # all batches that were on it tell of the same death
            self.dead.add(getattr(gone, "server_id", ""))
            self.work.deaths = len(self.dead)
        batch.worker = ""
        if not batch.alone:
            # whose run it was is not known: others may just have waited there
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


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


__all__ = ["Work", "connect", "run_study"]
