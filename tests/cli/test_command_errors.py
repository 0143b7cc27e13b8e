"""How commands end that cannot do their work: one sentence, and a report file if nobody expected it."""

import os
import stat
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from sarrus import __version__, problems
from sarrus.cli import main
from sarrus.mechanism import MechanismError


def end(monkeypatch, capsys, *words):
    """Exit status and what was said on stderr."""
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """A function after which `sarrus list` fails as it says; reports go to a folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SARRUS_DEBUG", raising=False)

    def fail_by(what):
        monkeypatch.setattr(problems, "names", what)

    return fail_by


def too_deep():
    return too_deep()


FAULTS = {
    "KeyError": lambda: {}["cpu"],
    "IndexError": lambda: [][0],
    "AttributeError": lambda: None.x,
    "ZeroDivisionError": lambda: 1 / 0,
    "RecursionError": too_deep,
    # raised by a call, not by a statement of ours
    "ValueError": lambda: np.zeros((2, 3)) @ np.zeros((2, 3)),
    "UnicodeDecodeError": lambda: b"\xff".decode(),
    "LinAlgError": lambda: np.linalg.inv(np.zeros((2, 2))),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_an_unexpected_exception_leaves_a_report(kind, broken, monkeypatch, capsys, tmp_path):
    """One sentence with the path of a private file that holds versions, command and traceback."""
    broken(FAULTS[kind])
    code, said = end(monkeypatch, capsys, "list")
    assert code == 2
    assert said.startswith(f"error: this is a fault of the program ({kind}: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    (path,) = tmp_path.iterdir()
    assert said.rstrip().endswith(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "command: sarrus list" in text
    assert f"sarrus: {__version__}" in text.replace("not installed", __version__)
    assert "Traceback (most recent call last)" in text
    assert kind in text.splitlines()[-1]


def test_messages_of_faults_are_short_and_printable(broken, monkeypatch, capsys):
    """A message of any length and any characters is one line."""
    broken(lambda: {}["\x1b[2J\n" * 10_000])
    code, said = end(monkeypatch, capsys, "list")
    assert code == 2
    assert len(said) < 500
    assert said.rstrip("\n").isprintable()


def test_debug_shows_the_traceback(broken, monkeypatch, capsys):
    """SARRUS_DEBUG=1: of faults and of errors that were expected."""
    broken(FAULTS["KeyError"])
    monkeypatch.setenv("SARRUS_DEBUG", "1")
    assert "Traceback" in end(monkeypatch, capsys, "list")[1]
    code, said = end(monkeypatch, capsys, "judge", "none.txt", "--problem", "no-such")
    assert code == 2
    assert "Traceback" in said


def reject():
    raise MechanismError("this is rejected")


def missing():
    os.stat("/no/such/file")


@pytest.mark.parametrize("expected", [reject, missing])
def test_expected_errors_leave_no_report(expected, broken, monkeypatch, capsys, tmp_path):
    """Our own errors, and what the system says of files, are sentences alone."""
    broken(expected)
    code, said = end(monkeypatch, capsys, "list")
    assert code == 2
    assert "fault of the program" not in said
    assert not list(tmp_path.iterdir())


def test_wrong_words_leave_no_report(broken, monkeypatch, capsys, tmp_path):
    """A plain ValueError that a statement of this package raises is meant for the user."""
    code, said = end(monkeypatch, capsys, "run", "--windows", "3")
    assert code == 2
    assert "--windows" in said
    assert not list(tmp_path.iterdir())


def test_without_room_for_a_report(broken, monkeypatch, capsys, tmp_path):
    """If the file cannot be written the sentence says so, and how to see the traceback."""
    broken(FAULTS["KeyError"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    code, said = end(monkeypatch, capsys, "list")
    assert code == 2
    assert "could not be written" in said
    assert "SARRUS_DEBUG=1" in said
    assert not Path(tmp_path / "nowhere").exists()
