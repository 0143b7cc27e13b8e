"""Studies on real processes: workers and programs killed in the middle, full disks, clusters by address.

Whatever happens, the table in the end is that of an undisturbed study, byte by byte. Nothing here depends on who
is faster: some runs pass a gate, the others wait there for what the test does meanwhile.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

import sarrus

# one process runs them: two clusters side by side would only take longer
pytestmark = pytest.mark.slow

SOURCE = Path(sarrus.__file__).parents[1]
# background jobs and `nohup` hand down signals that are ignored: each program says what it does about SIGINT
MAIN = """
import signal
signal.signal(signal.SIGINT, signal.{interrupts})
from sarrus.cli import main
main()
"""
HEEDED, IGNORED = "default_int_handler", "SIG_IGN"
# ends a test that hangs; a loaded machine may take long for anything
PATIENCE = 600
# runs of a worker's first batches
BATCH = 4

FUNCTIONS = """\
import os, time
from pathlib import Path

def wait(result, mechanism):
    if "GATE" in os.environ:
        pass_gate(Path(os.environ["GATE"]), int(os.environ["FREE"]))
    return float(result.position("B0")[-1, 0])

def pass_gate(gate, free):
    for ticket in range(free):
        try:
            return (gate / f"ticket-{ticket}").touch(exist_ok=False)
        except FileExistsError:
            pass
    (gate / f"held-{os.getpid()}").touch()
    while not (gate / "open").exists():
        time.sleep(0.02)
"""
STUDY = """\
sarrus_study: 1
name: masses
problem: double-four-bar
vary:
  bodies.crank 0.mass: {uniform: [0.5 kg, 2 kg]}
  bodies.crank 1.mass: {normal: [1 kg, 50 g]}
samples: 40
seed: 3
simulate: {duration: 1 s, output_step: 0.1 s}
record: [energy_drift, {maximum: B0.x}, crossing_times, verdict, {function: functions.py:wait}]
trajectory: {points: [B0]}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def undisturbed(study, tmp_path_factory):
    """The table of the study, run in one go by the call in Python."""
    out = tmp_path_factory.mktemp("undisturbed")
    table = sarrus.sweep(study, out=out, workers=2)
    assert (table["status"] == "done").all()
    return out


class Gate:
    """Some runs are free to pass; then every worker waits inside a run until the gate is opened."""

    def __init__(self, folder, free):
        self.folder = folder
        folder.mkdir()
        self.environment = {"GATE": str(folder), "FREE": str(free)}

    def held(self):
        """Processes that wait inside a run."""
        return [int(p.name.removeprefix("held-")) for p in self.folder.glob("held-*")]

    def open(self):
        (self.folder / "open").touch()


def environment():
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def start(study, out, *options, gate=None, interrupts=HEEDED, **more):
    """The command, as a program of its own in a process group of its own."""
    words = ["sweep", str(study), "--out", str(out), *options]
    return subprocess.Popen(
        [sys.executable, "-c", MAIN.format(interrupts=interrupts), *words],
        env=environment() | (gate.environment if gate else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **more,
    )


@pytest.fixture
def begin(study, tmp_path):
    """Start a study in `tmp_path / "out"`, until parts are written and a worker waits inside a run."""
    programs = []

    def begin(workers, parts=1, interrupts=HEEDED):
        # enough for the parts, though every other worker is one run short of its own
        gate = Gate(tmp_path / "gate", (BATCH - 1) * (workers - 1) + BATCH * parts)
        program = start(
            study, tmp_path / "out", "--workers", str(workers), gate=gate, interrupts=interrupts
        )
        programs.append(program)
        wait_for(lambda: len(parts_of(tmp_path / "out")) >= parts and gate.held(), program)
        return program, gate

    yield begin
    for program in programs:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()


def end(program, code=0):
    text = program.communicate(timeout=PATIENCE)[0]
    assert program.returncode == code, text
    return " ".join(text.split())


def wait_for(condition, program=None):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < PATIENCE, "nothing happened"
        assert program is None or program.poll() is None, program.communicate()[0]
        time.sleep(0.05)


def parts_of(out):
    return list((out / "parts").glob("*.parquet"))


def workers_of(program):
    """Worker processes of a program that runs a cluster of its own."""
    children = psutil.Process(program.pid).children()
    return [p for p in children if "spawn_main" in " ".join(p.cmdline())]


def has_ended(process):
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def check_equal(out, undisturbed):
    """The same table to the last bit, nothing lost, nothing doubled; the same trajectories."""
    name = "results.parquet"
    assert (out / name).read_bytes() == (undisturbed / name).read_bytes()
    curves = [
        pd.concat(pd.read_parquet(p) for p in (folder / "trajectories").iterdir())
        for folder in (out, undisturbed)
    ]
    first, second = (c.sort_values(["run", "t"]).reset_index(drop=True) for c in curves)
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    assert not list(out.rglob("*.unfinished"))


def test_tables_are_read_by_others(undisturbed):
    """One row a run in order; pandas, polars and duckdb read the same numbers; the overview is there."""
    path = undisturbed / "results.parquet"
    table = pd.read_parquet(path)
    assert table["run"].tolist() == list(range(40))
    assert table["key"].is_unique
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(polars.read_parquet(path)["energy_drift"], table["energy_drift"])
    duckdb = pytest.importorskip("duckdb")
    question = f"select count(*), sum(\"maximum B0.x\") from '{undisturbed}/parts/*.parquet'"
    runs, total = duckdb.connect().execute(question).fetchone()
    assert runs == 40
    assert total == pytest.approx(table["maximum B0.x"].sum())
    page = (undisturbed / "overview.html").read_text(encoding="utf-8")
    assert "parcoords" in page
    assert "http-equiv" in page
    assert "Every run succeeded" in page


def test_a_killed_worker_is_replaced(begin, undisturbed, tmp_path):
    """kill -9 of a worker inside a run: its runs are run again, and it counts once."""
    program, gate = begin(workers=2)
    os.kill(gate.held()[0], signal.SIGKILL)
    gate.open()
    text = end(program)
    assert "40 of 40 done, 0 failed" in text
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    assert record["sessions"][-1]["worker_deaths"] == 1
    check_equal(tmp_path / "out", undisturbed)


def test_a_killed_program_goes_on(begin, study, undisturbed, tmp_path):
    """kill -9 of the whole program, a damaged and a half-written part; a second program in between."""
    program, _ = begin(workers=2, parts=2)
    out = tmp_path / "out"
    second = end(start(study, out), code=2)
    assert f"in use by process {program.pid} on" in second
    workers = workers_of(program)
    assert len(workers) == 2
    program.kill()
    program.communicate(timeout=PATIENCE)
    # workers notice that they are alone
    wait_for(lambda: all(has_ended(p) for p in workers))
    assert not (out / "results.parquet").exists()
    finished = parts_of(out)
    assert sum(int(p.name.split("-")[2]) for p in finished) < 40
    finished[0].write_bytes(finished[0].read_bytes()[:-7])
    (out / "parts" / "run-00000039-1-0123456789abcdef.parquet.0123456789ab.unfinished").write_bytes(
        b"PAR1"
    )
    text = end(start(study, out, "--workers", "1"))
    assert f"part {finished[0].name} is damaged" in text
    check_equal(out, undisturbed)
    # once more: nothing is left to do
    assert "0 runs; 40 of 40 done" in end(start(study, out))
    check_equal(out, undisturbed)


@pytest.mark.parametrize(
    ("send", "number"),
    # a terminal sends Ctrl-C to all processes
    [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)],
    ids=["Ctrl-C", "terminated"],
)
def test_a_stopped_program_goes_on(begin, study, undisturbed, tmp_path, send, number):
    """Ctrl-C, or a word of the system, ends with 130 and a sentence; what is done is kept."""
    program, _ = begin(workers=1)
    send(program.pid, number)
    text = end(program, code=130)
    assert re.search(r"stopped: \d+ of 40 runs are done and kept", text)
    assert "Traceback" not in text
    assert parts_of(tmp_path / "out")
    end(start(study, tmp_path / "out", "--workers", "2"))
    check_equal(tmp_path / "out", undisturbed)


def test_ignored_interrupts_stay_ignored(begin, undisturbed, tmp_path):
    """In the background of a shell Ctrl-C is meant for others: the study goes on to its end."""
    program, gate = begin(workers=1, interrupts=IGNORED)
    os.killpg(program.pid, signal.SIGINT)
    gate.open()
    assert "40 of 40 done, 0 failed" in end(program)
    check_equal(tmp_path / "out", undisturbed)


def test_a_full_disk(study, undisturbed, tmp_path):
    """A disk without room ends with 2 and a sentence, and finished runs are kept; it goes on."""
    end(start(study, tmp_path, "--workers", "1", "--limit", str(BATCH)))
    before = parts_of(tmp_path)
    assert before

    def small():
        # files of this program may not grow beyond this, as on a disk that is full
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    text = end(start(study, tmp_path, "--workers", "1", preexec_fn=small), code=2)
    assert "cannot be written" in text
    assert "finished runs are kept" in text
    assert "Traceback" not in text
    assert set(before) <= set(parts_of(tmp_path))
    end(start(study, tmp_path, "--workers", "2"))
    check_equal(tmp_path, undisturbed)


def test_a_cluster_by_address(study, undisturbed, tmp_path):
    """A scheduler and two workers as processes of their own on loopback."""
    file = tmp_path / "scheduler.json"
    common = {"env": environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    place = ["--scheduler-file", str(file)]
    processes = [
        subprocess.Popen(
            [*scheduler, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *place], **common
        )
    ]
    try:
        processes += [
            subprocess.Popen([*worker, "--nthreads", "1", "--no-dashboard", *place], **common)
            for _ in range(2)
        ]
        wait_for(file.exists)
        wait_for(lambda: file.read_text().strip().endswith("}"))
        address = json.loads(file.read_text())["address"]
        out = tmp_path / "out"
        text = end(start(study, out, "--scheduler", address))
        assert "40 of 40 done" in text
        check_equal(out, undisturbed)
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(timeout=PATIENCE)


HARM = """\
import os, time

def harm(result, mechanism):
    what = round(mechanism.velocities[0][1][0] * 10)
    if what == 12:
        os.kill(os.getpid(), 9)
    if what == 14:
        time.sleep(600)
    if what == 16:
        raise RuntimeError("broken")
    if what == 18:
        raise MemoryError
    return what
"""


def test_every_failure_is_a_row(tmp_path):
    """Runs that kill their worker, hang, raise, cannot be built: the others are done all the same."""
    (tmp_path / "harm.py").write_text(HARM, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(
        "sarrus_study: 1\nproblem: double-four-bar\n"
        "vary: {speed: [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9]}\n"
        "simulate: {duration: 0.1 s}\nrecord: {mine: {function: harm.py:harm}}\n"
        "time_limit: 20 s\nattempts: 2\n",
        encoding="utf-8",
    )
    table = sarrus.sweep(tmp_path / "study.yaml", out=tmp_path / "out", workers=2)
    wrong = {2: "worker-died", 4: "time-limit", 6: "record-failed", 8: "out-of-memory"}
    assert table["run"].tolist() == list(range(10))
    assert table["status"].tolist() == [wrong.get(i, "done") for i in range(10)]
    assert table["message"][2].startswith("the worker died 2 times")
    assert "time limit, 20 s" in table["message"][4]
    assert "RuntimeError: broken" in table["message"][6]
    good = table[table["status"] == "done"]
    np.testing.assert_array_equal(good["mine"], 10 + good["run"])


# what Dask runs in a worker before it begins: it ends some of them
KILLER = """\
import os
from pathlib import Path

def dask_setup(worker):
    for ticket in range(int(os.environ["KILLS"])):
        try:
            Path(os.environ["TICKETS"], str(ticket)).touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("kills", "code"), [(1, 0), (1000, 2)])
def test_a_worker_killed_while_it_starts(study, undisturbed, tmp_path, monkeypatch, kills, code):
    """Once, the workers are started again and the table is the same; always, the study ends with a sentence."""
    (tmp_path / "killer.py").write_text(KILLER, encoding="utf-8")
    (tmp_path / "tickets").mkdir()
    monkeypatch.setenv(
        "DASK_DISTRIBUTED__WORKER__PRELOAD", json.dumps([str(tmp_path / "killer.py")])
    )
    monkeypatch.setenv("TICKETS", str(tmp_path / "tickets"))
    monkeypatch.setenv("KILLS", str(kills))
    program = start(study, tmp_path / "out", "--workers", "1")
    said, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == code, said
    if code:
        assert "did not start, 2 times in a row" in said
    else:
        same = [p / "results.parquet" for p in (tmp_path / "out", undisturbed)]
        assert same[0].read_bytes() == same[1].read_bytes()
