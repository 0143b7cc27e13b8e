"""`sarrus sweep` and `sarrus schema --study`: words on the command line, and what is rejected before any
worker.
"""

import json
import socket
import sys

import pytest
from typer.testing import CliRunner

from sarrus.cli import app, main

runner = CliRunner()

STUDY = """\
sarrus_study: 1
problem: double-four-bar
vary: {windows: [1, 2]}
simulate: {duration: 0.1 s}
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def rejected(monkeypatch, capsys, *words):
    """The message of a command that ends with status 2."""
    monkeypatch.setattr(sys, "argv", ["sarrus", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_the_schema_of_studies():
    """JSON on the screen, another one than that of model files."""
    schema = json.loads(runner.invoke(app, ["schema", "--study"]).stdout)
    assert "sarrus_study" in schema["properties"]
    assert "sarrus_study" not in json.loads(runner.invoke(app, ["schema"]).stdout)["properties"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "0 workers; give a number from 1 to 1000"),
        (["--limit", "0"], "at most 0 runs"),
        (["--workers", "1", "--scheduler", "tcp://x:1"], "leave --workers out"),
    ],
)
def test_words_that_make_no_sense(study, tmp_path, monkeypatch, capsys, words, message):
    """Rejected with a message."""
    assert message in rejected(monkeypatch, capsys, "sweep", study, "--out", tmp_path / "o", *words)


@pytest.mark.slow
def test_nobody_at_the_address(study, tmp_path, monkeypatch, capsys):
    """Rejected with a message, at once."""
    monkeypatch.setattr("sarrus.studies.cluster.PATIENCE", 2.0)
    with socket.socket() as silent:
        # a port of our own that does not listen
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        words = ["sweep", study, "--out", tmp_path / "o", "--scheduler", address]
        assert f"no scheduler answers at {address}" in rejected(monkeypatch, capsys, *words)


def test_slips_in_the_file(study, tmp_path, monkeypatch, capsys):
    """File, line, key."""
    study.write_text(STUDY.replace("windows", "window"), encoding="utf-8")
    reported = rejected(monkeypatch, capsys, "sweep", study, "--out", tmp_path / "o")
    assert "study.yaml:3: vary.window: problem 'double-four-bar' has no option 'window'" in reported
    assert not (tmp_path / "o").exists()


def test_a_folder_of_something_else(study, tmp_path, monkeypatch, capsys):
    """It is left as it is."""
    reported = rejected(monkeypatch, capsys, "sweep", study, "--out", tmp_path)
    assert "is not empty (study.yaml) and holds no study" in reported


def test_a_missing_extra_says_what_to_install(study, tmp_path, monkeypatch, capsys):
    """Instead of a traceback."""
    monkeypatch.setattr("sarrus.studies.session.NEEDED", ("dask", "no_such_package"))
    reported = rejected(monkeypatch, capsys, "sweep", study, "--out", tmp_path / "o")
    assert "studies need no_such_package: install them with `pip install '.[sweep]'`" in reported
