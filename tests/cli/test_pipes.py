"""The reader of what a command prints may leave early, or a disk be full: the command does its work."""

import json
import os
import subprocess
import sys

import pytest

# ends a test that hangs [s]
PATIENCE = 600

pytestmark = pytest.mark.slow


def call(*words, reads=1):
    """Status and errors of a command whose output is read for some bytes before the pipe is closed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sarrus", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    if reads:
        process.stdout.read(reads)
    process.stdout.close()
    said = process.stderr.read().decode()
    return process.wait(PATIENCE), said


@pytest.mark.parametrize("reads", [0, 1])
@pytest.mark.parametrize(("tolerance", "status"), [("1e-9", 0), ("1e-2", 1)])
def test_the_status_is_that_of_the_run(tmp_path, reads, tolerance, status):
    """0 where limits are kept, 1 where not, `| head -1` or not; all files are written."""
    words = ("run", "n-four-bar", "--tolerance", tolerance, "--out", tmp_path)
    code, said = call(*words, reads=reads)
    assert code == status, said
    assert "roken" not in said
    record = json.loads((tmp_path / "n-four-bar" / "run.json").read_text())
    assert record["judgement"]["passed"] == (status == 0)
    assert list((tmp_path / "n-four-bar").glob("*.png"))


@pytest.mark.parametrize("words", [("list",), ("schema",), ("run", "simple-pendulum", "--json")])
def test_tables_and_json_end_quietly(tmp_path, monkeypatch, words):
    """Printed by the library of tables or plainly: no message, status 0."""
    monkeypatch.chdir(tmp_path)
    assert call(*words) == (0, "")


@pytest.mark.parametrize(
    "words",
    [("list",), ("schema",), ("--version",), ("--help",), ("run", "simple-pendulum", "--json")],
)
def test_output_on_a_full_disk_is_an_error(tmp_path, monkeypatch, words):
    """`> file` without room: one sentence and status 2, whatever the size of the output; files are written."""
    monkeypatch.chdir(tmp_path)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sarrus", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "error: what was printed could not be written: No space left on device\n"
    assert words[0] != "run" or (tmp_path / "runs" / "simple-pendulum" / "run.json").exists()


def test_errors_on_a_full_disk_keep_their_status():
    """Where the sentence cannot be written, the status still says how the command ended."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sarrus", "run", "no-such"],
            stdout=subprocess.DEVNULL,
            stderr=full,
        )
    assert done.returncode == 2


def test_both_streams_may_be_left(tmp_path):
    """`2>&1 | head -0`: an error is still an error."""
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "sarrus", "run", "no-such"], stdout=writer, stderr=writer
    )
    os.close(writer)
    assert process.wait(PATIENCE) == 2
