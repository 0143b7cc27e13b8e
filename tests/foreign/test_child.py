"""Foreign parsers in a child process: ended by their limits and by Ctrl-C, with one sentence."""

import ast
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cpu_time import least
from format_files import block, mjcf
from sarrus import foreign, problems
from sarrus.bench.result_file import ResultFileError, read_result_file
from sarrus.foreign import ForeignError, ProcessLimits, request
from sarrus.formats import read
from sarrus.formats.parts import FormatError

# ends a test that hangs [s]
PATIENCE = 600
FOLDER = Path(foreign.__file__).parent
BUSY = "<size nkey='2000000'/>"


@pytest.fixture
def bomb(tmp_path):
    """An MJCF file of some hundred bytes that keeps MuJoCo's compiler busy for a minute."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    return mjcf(tmp_path, block("a"), head=BUSY)


def test_children_import_nothing_of_this_package():
    """Their start takes as long as the library's, since programs know the standard library and it alone."""
    for path in FOLDER.glob("*.py"):
        if path.name == "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert not node.level, path
                names = [node.module]
            assert not any(name.partition(".")[0] == "sarrus" for name in names), path


@pytest.mark.slow
def test_cpu_time_is_limited(bomb, monkeypatch):
    """A file that would take minutes is rejected by its name, the limit and what to do."""
    monkeypatch.setattr(foreign, "ProcessLimits", partial(ProcessLimits, cpu=1.0))
    with pytest.raises(FormatError, match=r"^model\.xml: .*more than 1 s of CPU time; make"):
        read(bomb)


def test_time_on_the_clock_is_limited(bomb):
    """A child that waits takes no CPU time, and is ended all the same."""
    with pytest.raises(ForeignError, match=r"more than 0\.01 s"):
        request("mjcf_compiler", {"path": str(bomb), "keyframe": None}, ProcessLimits(wall=0.01))


@pytest.mark.slow
def test_memory_is_limited(tmp_path):
    """Some kilobytes of Parquet that become gigabytes: one sentence."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra data)")
    from pyarrow import parquet

    path, most = tmp_path / "bomb.parquet", 10**9
    part = pa.table({"t": np.zeros(1_000_000)})
    with parquet.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(60):
            writer.write_table(part)
    assert path.stat().st_size < 500_000
    question = {"path": str(path), "most_rows": most}
    with pytest.raises(ForeignError, match=r"more than 0\.4 GB of memory"):
        request("parquet", question, ProcessLimits(memory=400_000_000))
    with pytest.raises(ForeignError, match=r"more than 0\.4 GB of memory"):
        request("parquet", {"tried": [str(path)]}, ProcessLimits(memory=400_000_000))


@pytest.mark.slow
def test_too_many_rows_are_not_read(tmp_path):
    """What a Parquet file says of its length is compared before it is read."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra data)")
    from pyarrow import parquet

    path = tmp_path / "long.parquet"
    table = pa.table({"t": np.zeros(6_000_000)})
    parquet.write_table(table, path, compression="zstd")
    with pytest.raises(ResultFileError, match="6000000 rows; at most 5000000"):
        read_result_file(path, problems.get("double-four-bar"))


def test_a_crash_is_a_sentence(bomb):
    """A child without memory to load anything dies; the message states how."""
    with pytest.raises(ForeignError, match=r"its reader crashed|of memory"):
        request(
            "mjcf_compiler", {"path": str(bomb), "keyframe": None}, ProcessLimits(memory=1 << 20)
        )


def busy_children(pid):
    """The processes that a process has started and that have computed for a while, beyond loading a library."""
    found = []
    with suppress(OSError, IndexError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            # after the name: fields 14 and 15 of the line are its CPU time
            spent = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
            if sum(map(int, spent)) > 3 * os.sysconf("SC_CLK_TCK"):
                found.append(child)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="/proc lists children")
def test_ctrl_c_stops_the_compiler(bomb):
    """SIGINT while the child is busy: status 130, and no process is left."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from sarrus.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "inspect", str(bomb)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (found := busy_children(process.pid)) and process.poll() is None:
            # it yields the processor, and synchronises nothing
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said.strip() == "stopped"
    assert found
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


@pytest.mark.slow
def test_nothing_is_left_behind(tmp_path, monkeypatch, bomb):
    """Libraries that write logs where they run do so in a scratch folder."""
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    with pytest.raises(FormatError, match="cannot compile"):
        read(mjcf(tmp_path, "<body><joint type='none'/></body>", name="model"))
    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_child_starts_quickly(tmp_path):
    """Its CPU time is little more than that of a Python that only loads the library."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    path = mjcf(tmp_path, block("a"))

    def spent(run):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def load():
        subprocess.run([sys.executable, "-c", "import mujoco"], check=True)

    library = least(lambda: spent(load), 0.0)
    # without graphics it even loads faster; the compiler and the answer take milliseconds
    bound = 1.3 * library
    assert (
        least(
            lambda: spent(lambda: request("mjcf_compiler", {"path": str(path), "keyframe": None})),
            bound,
        )
        < bound
    )
