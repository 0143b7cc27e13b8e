"""What the loop of a study does about workers that die, hang or never come back; with a cluster made of words.

The real processes are in test_processes.py. Here every order of events can be had, and at once.
"""

import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError
from distributed.security import Security

from sarrus.studies import cluster
from sarrus.studies.cluster import Work, connect, run_study
from sarrus.studies.runs import TIME_LIMIT, BatchOutcome, describe_worker, failed_row, start_row
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study import StudyError
from sarrus.studies.study_reader import make_study


class Worker:
    """A worker as the scheduler states of it."""

    def __init__(self, number):
        self.address = f"tls://127.0.0.1:{number}"
        self.server_id = f"Worker-{number}"


class FakeFuture:
    """A batch on its way; it states its end when it is requested to."""

    def __init__(self, numbers, worker):
        self.numbers, self.worker = numbers, worker
        self.status, self.answer, self.reported = "pending", None, None

    def add_done_callback(self, tell):
        self.reported = tell
        if self.status != "pending":
            tell(self)

    def end(self, status, answer=None):
        if self.status == "pending":
            self.status, self.answer = status, answer
            if self.reported is not None:
                self.reported(self)

    def result(self, timeout=None):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def exception(self):
        return self.answer

    def release(self):
        pass


class FakeCluster:
    """Workers that take batches two at a time, and do with a run what `fates` says.

    fates: of a run, "kill" or "hang"; rng: which of the workers goes on next.
    """

    def __init__(self, plan, fates, workers=3, seed=0):
        self.plan, self.fates = plan, fates
        self.rng = np.random.default_rng(seed)
        self.count = workers
        self.workers = {w.address: w for w in map(Worker, range(workers))}
        self.waiting = {address: [] for address in self.workers}
        self.finished = {address: [] for address in self.workers}
        self.ran = Counter()

    def nthreads(self):
        # requested all the time: something goes on
        self.go_on()
        return dict.fromkeys(self.workers, 1)

    def submit(self, function, payload, digest, numbers, values, pure, workers):
        place = workers[0] if workers else str(self.rng.choice(list(self.workers)))
        future = FakeFuture(numbers, place)
        future.values = values
        if place in self.workers:
            self.waiting[place].append(future)
        return future

    def run(self, function, code, workers, on_error):
        for address in workers:
            self.lose(address)

    def get_events(self, topic):
        return ()

    def lose(self, address):
        """A worker is gone, with all it has; another comes."""
        gone = self.workers.pop(address)
        for future in self.waiting.pop(address):
            future.end("error", KilledWorker("run_batch", gone, 0))
        for future in self.finished.pop(address):
            # its rows were not fetched yet
            future.status = "lost"
        self.count += 1
        new = Worker(self.count)
        self.workers[new.address] = new
        self.waiting[new.address], self.finished[new.address] = [], []

    def go_on(self):
        for address in self.rng.permutation(list(self.workers)):
            if address not in self.workers or not self.waiting[address]:
                continue
            future = self.waiting[address][0]
            rows, left = [], []
            for i, (number, values) in enumerate(zip(future.numbers, future.values, strict=True)):
                self.ran[number] += 1
                fate = self.fates.get(number)
                if fate == "kill":
                    self.lose(address)
                    break
                row = start_row(self.plan, number, values)
                if fate == "hang":
                    rows.append(failed_row(self.plan, number, values, TIME_LIMIT, "hangs"))
                    left = future.numbers[i + 1 :]
                    break
                rows.append(row | {"status": "done", "message": "", "notes": ""})
            else:
                fate = None
            if fate == "kill":
                continue
            self.waiting[address].pop(0)
            self.finished[address].append(future)
            future.end(
                "finished",
                BatchOutcome(rows, [], list(left), 0.001, address, describe_worker()),
            )


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No waiting: nothing here happens by itself."""
    monkeypatch.setattr(cluster, "COUNT_SECONDS", 0.0)


def study_of(runs, attempts=2):
    return make_study(
        {
            "problem": "double-four-bar",
            "vary": {"speed": {"range": {"from": 1, "to": 2, "count": runs}}},
            "simulate": {"duration": 0.1},
            "attempts": attempts,
        }
    )


def run_with(client, study):
    rows = []
    samples = draw_samples(study)
    work = Work(study, samples, iter(range(samples.runs)), lambda new, _: rows.extend(new))
    run_study(client, work, local=True)
    return sorted(rows, key=lambda row: row["run"]), work


@pytest.mark.parametrize("seed", range(40))
def test_the_table_does_not_depend_on_what_happened(seed):
    """Some runs kill their worker, some hang, the others suffer from it: each run has its own row, once."""
    rng = np.random.default_rng(seed)
    runs = int(rng.integers(1, 120))
    study = study_of(runs)
    chosen = rng.permutation(runs)[: int(rng.integers(0, 6))]
    fates = {int(i): str(rng.choice(["kill", "hang"])) for i in chosen}
    client = FakeCluster(study.plan, fates, int(rng.integers(1, 5)), seed)
    rows, work = run_with(client, study)
    words = {"kill": "worker-died", "hang": "time-limit", None: "done"}
    assert [row["run"] for row in rows] == list(range(runs))
    assert [row["status"] for row in rows] == [words[fates.get(i)] for i in range(runs)]
    for i, fate in fates.items():
        if fate == "kill":
            assert rows[i]["message"].startswith("the worker died 2 times")
    assert work.restarts == sum(fate == "hang" for fate in fates.values())


def test_a_suspect_batch_is_halved():
    """One bad run among many is found in about as many tries as its number has digits in base two."""
    study = study_of(1000)
    client = FakeCluster(study.plan, {700: "kill"}, workers=2)
    rows, _ = run_with(client, study)
    assert [row["run"] for row in rows if row["status"] != "done"] == [700]
    assert client.ran[700] < 20
    assert max(n for i, n in client.ran.items() if i != 700) < 20


def test_rows_that_are_lost_while_they_are_fetched_are_run_again():
    """The worker dies between the end of a batch and its rows."""
    study = study_of(30)

    class Fragile(FakeCluster):
        lost = 0

        def go_on(self):
            before = {f for futures in self.finished.values() for f in futures}
            super().go_on()
            for futures in self.finished.values():
                for future in futures:
                    if future not in before and self.lost < 3:
                        self.lost += 1
                        future.answer = FutureCancelledError("run_batch", "lost")

    client = Fragile(study.plan, {})
    rows, work = run_with(client, study)
    assert [row["status"] for row in rows] == ["done"] * 30
    assert client.lost == 3
    assert work.deaths == 0


def test_a_batch_bound_to_a_worker_that_is_gone_goes_to_another():
    """Nobody is blamed for a run that never began."""
    study = study_of(8, attempts=1)

    class Late(FakeCluster):
        moved = 0

        def submit(self, *given, workers, **more):
            if workers and not self.moved:
                # it was there when it was chosen
                self.moved += 1
                workers = ["tls://127.0.0.1:999"]
            return super().submit(*given, workers=workers, **more)

    client = Late(study.plan, {3: "kill"}, workers=1)
    loop = cluster._Loop
    bound = loop.submit

    def submit(self, batch):
        bound(self, batch)
        if client.moved == 1 and batch.worker:
            client.moved, batch.worker = 2, "tls://127.0.0.1:999"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "submit", submit)
        rows, _ = run_with(client, study)
    assert client.moved == 2
    assert [row["run"] for row in rows if row["status"] != "done"] == [3]


@pytest.mark.parametrize("how", ["no worker", "no scheduler", "a worker that cannot begin"])
def test_what_stops_a_study_is_a_sentence(how, monkeypatch):
    """No worker comes back, no scheduler answers, or none of the workers has the package."""
    study = study_of(8)
    client = FakeCluster(study.plan, {})
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    if how == "no worker":
        client.nthreads = dict
        why = "no worker is left"
    elif how == "no scheduler":

        def gone():
            raise OSError("Timed out trying to connect")

        client.nthreads = gone
        why = r"the connection to the scheduler was lost \(Timed out"
    else:

        def fail():
            for futures in client.waiting.values():
                for future in futures:
                    future.end("error", ModuleNotFoundError("No module named 'sarrus'"))
            return dict.fromkeys(client.workers, 1)

        client.nthreads = fail
        why = "a worker failed outside of a run: ModuleNotFoundError"
    with pytest.raises(StudyError, match=why):
        run_with(client, study)


@contextmanager
def nobody():
    # a client without any key does not even try: a TypeError
    with pytest.raises((OSError, TimeoutError, TypeError)):
        yield


@pytest.mark.slow
def test_the_local_cluster_lets_nobody_in():
    """Without its key nobody talks to it, nor with another one; it has no pages."""
    with connect(None, 1) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1")
        assert client.submit(time.time, pure=False).result(timeout=600) > 0
        port = client.scheduler_info()["services"]["dashboard"]
        for page in ("", "status", "health", "info/main/workers.html", "json/counts.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=600)
        # a loop of its own would have ten seconds to start, which a busy machine does not promise
        for other, key in (
            (address, None),
            (address.replace("tls", "tcp"), None),
            (address, Security.temporary()),
        ):
            with nobody():
                Client(other, security=key, timeout=1, loop=client.loop)
