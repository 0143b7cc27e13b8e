"""The inspection as record and sentences, and the command."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from builders import bricard, in_plane_of, n_four_bar
from linkages import triangle
from sarrus import inspect
from sarrus.cli import app, main

runner = CliRunner()


@pytest.mark.slow
def test_sentences_have_the_numbers():
    """The text names count, mobilities, words, tolerance and the values around the gap."""
    text = str(inspect(bricard()))
    assert "Mobility 0 by the Gruebler-Kutzbach formula, 1 instantaneous, 1 finite" in text
    assert "permanently redundant" in text
    assert "1 of the 30 joint equations is redundant" in text
    assert "Rank 29 of 30 columns, by singular values" in text
    assert "the tolerance 1e-09" in text
    assert "loop P0-P1-P2-P3-P4-P5" in text
    text = str(inspect(n_four_bar(2, lean=np.pi / 2)))
    assert "the instantaneous mobility is 3, that of the branches through it 1" in text
    assert "3 branches meet here: transversal crossing" in text
    text = str(inspect(triangle()))
    assert "Nothing can move" in text
    text = str(inspect(n_four_bar(10, plane_to_space=in_plane_of())))
    assert "and 18 more" in text


@pytest.mark.slow
def test_record_is_plain():
    """The record goes through JSON and holds what the sentences say."""
    found = inspect(bricard())
    record = json.loads(json.dumps(found.as_dict()))
    assert record["count"] == found.count == 0
    assert record["mobility_here"] == record["mobility_motion"] == 1
    assert record["redundant_here"] == record["redundant_motion"] == 1
    assert record["rank"]["tolerance"] == 1e-9
    assert record["rank"]["below"][0] < 1e-14 < 1e-2 < record["rank"]["above"][-1]
    assert record["dependent_sets"][0]["permanent"]
    assert len(record["dependent_sets"][0]["equations"]) == 30
    assert record["sentences"] == found.sentences
    assert repr(found) == "<Inspection 'Bricard': permanently redundant>"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "word"),
    [
        ("double-four-bar", "regular"),
        ("n-four-bar", "regular"),
        ("rectangular-bricard", "permanently redundant"),
        ("a04-bricard", "permanently redundant"),
    ],
)
def test_command(problem, word):
    """`sarrus inspect` prints sentences, and with --json the record."""
    answer = runner.invoke(app, ["inspect", problem])
    assert answer.exit_code == 0, answer.output
    assert f"1 finite: {word}." in answer.output
    answer = runner.invoke(app, ["inspect", problem, "--json"])
    assert json.loads(answer.output)["classification"] == word


def test_command_options_and_errors(monkeypatch, capsys):
    """Options of the problem are taken; a wrong id is one message."""
    answer = runner.invoke(app, ["inspect", "n-four-bar", "--windows", "3", "--json"])
    assert json.loads(answer.output)["bodies"] == 7
    monkeypatch.setattr(sys, "argv", ["sarrus", "inspect", "nothing"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "no problem is called 'nothing'" in capsys.readouterr().err


@pytest.mark.slow
def test_inspection_needs_no_compiler():
    """A verdict on a mechanism loads neither the compiler nor what builds models."""
    code = (
        "import sys, sarrus; sarrus.inspect(sarrus.problems.get('double-four-bar').mechanism()); "
        "print('llvmlite' in sys.modules, 'sarrus.model.build' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
