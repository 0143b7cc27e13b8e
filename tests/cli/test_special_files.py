"""Pipes, devices and folders where a file is expected: one sentence, and nobody waits for their other end."""

import os
import signal
import sys

import pytest

from sarrus.cli import main

STUDY = """\
sarrus_study: 1
problem: double-four-bar
vary: {speed: [1, 2]}
simulate: {duration: 0.1}
record: [{function: FILE.py:f}]
"""
# ends a test that hangs [s]
PATIENCE = 300
# the last word is a file whose name ends like this
COMMANDS = [
    *(("inspect", ending) for ending in (".xml", ".mjcf", ".urdf", ".asmt", ".yaml", ".json")),
    *((word, ".xml") for word in ("run", "simulate", "modes", "problem --out new")),
    *(("view --no-browser --port 0", ending) for ending in (".xml", ".yaml")),
    *(("judge --problem simple-pendulum", ending) for ending in (".txt", ".csv", ".parquet")),
    *(("judge --problem FILE.yaml", ".txt"), ("judge x.txt --problem", ".yaml")),
    *(("run simple-pendulum --step 0.1 --method", ".py"), ("check-method", ".py")),
    *(("sweep --out new", ".yaml"), ("sweep study.yaml --out new --workers 1", ".py")),
    *(("import", ".urdf"), ("spec show", ".xml"), ("board", ".zip"), ("movie FILE new.gif", "")),
    *(("report", ""), ("submit", "")),
]


def make(path, kind):
    """Something that is not a plain file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


def give_up(*_):
    raise TimeoutError("the command waits")


@pytest.fixture
def patience():
    """A command that waits for a pipe is ended by an error."""
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize(("words", "ending"), COMMANDS, ids=str)
def test_no_command_waits(tmp_path, monkeypatch, capsys, patience, words, ending, kind):
    """Status 2 and a sentence, or a row of a board with its reason."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path / f"FILE{ending}", kind)
    (tmp_path / "study.yaml").write_text(STUDY)
    last = () if "study.yaml" in words or "movie" in words else (f"FILE{ending}",)
    monkeypatch.setattr(sys, "argv", ["sarrus", *words.split(), *last])
    with pytest.raises(SystemExit) as ended:
        main()
    said = "".join(capsys.readouterr())
    assert ended.value.code == (1 if words == "board" else 2), said
    assert "fault of the program" not in said
    assert "waits" not in said
    # of a link some readers name the target
    assert "FILE" in said or "zero" in said
