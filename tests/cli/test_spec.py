"""`sarrus spec` and `sarrus run` of a file, in a temporary folder."""

import json
import sys

import pytest
from typer.testing import CliRunner

from sarrus import problems
from sarrus.cli import app, main
from sarrus.specification import load_specification, write_specification

runner = CliRunner()


def call(*words):
    """The answer of the command line."""
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path):
    """A short A02 with three windows, and one number that nobody understands."""
    path = tmp_path / "short.xml"
    text = write_specification(problems.get("n-four-bar", windows=3))
    text = text.replace("duration of 20.0 s", "duration of 2 s").replace("400 output", "40 output")
    path.write_text(text.replace("At any", "13 is a number. At any"))
    return path


def test_show_lists_what_was_understood_and_what_was_not(file):
    """Each fact in a line with its place; then the rest, the notes and the problem."""
    answer = call("spec", "show", file)
    assert answer.exit_code == 0, answer.output
    lines = answer.output.splitlines()
    for what, value in (("duration", "2.0 s"), ("windows N", "3"), ("output steps", "40")):
        assert any(what in line and value in line and ", line " in line for line in lines)
    assert "not understood:" in answer.output
    assert "13 in '13 is a number.'" in answer.output
    assert "problem: n-four-bar, N four-bar mechanism, N = 3, 2 s" in answer.output


def test_show_of_an_unknown_problem_names_the_known_ones(file):
    """The table is shown all the same."""
    file.write_text(file.read_text().replace('id="A02"', 'id="B7"'))
    answer = call("spec", "show", file)
    assert answer.exit_code == 0
    assert "duration" in answer.output
    assert "'B7'" in answer.output
    assert "A01, A02, A03, A04, A05" in answer.output


def test_show_prints_brackets_as_they_are(file):
    """Text of a file is no markup."""
    file.write_text(file.read_text().replace("<dc:title>", "<dc:title>[red]bold[/] [/nonsense] "))
    answer = call("spec", "show", file)
    assert answer.exit_code == 0, answer.output
    assert "[red]bold[/] [/nonsense]" in answer.output


@pytest.mark.slow
@pytest.mark.parametrize("name", [*problems.names(), "A02"])
def test_write_to_screen_and_to_a_file(tmp_path, name):
    """The same text both ways, and it can be read."""
    path = tmp_path / "out.xml"
    assert call("spec", "write", name, "--out", path).exit_code == 0
    assert call("spec", "write", name).stdout == path.read_text(encoding="utf-8")
    assert load_specification(path).duration is not None


@pytest.mark.slow
def test_run_takes_a_file(file, tmp_path):
    """The run has the numbers of the file, and the notes are printed next to the record."""
    file.write_text(file.read_text().replace("At any time it is at most 0.5 m", "It is near"))
    answer = call("run", file, "--json", "--out", tmp_path / "runs")
    assert answer.exit_code == 0, answer.output
    record = json.loads(answer.stdout)
    assert record["problem"]["options"] == {"windows": 3, "speed": 1.0}
    assert (record["duration"], record["outputs"]) == (2.0, 41)
    assert "distance from the path: not in the file" in answer.stderr.replace("\n", " ")
    assert (tmp_path / "runs" / "n-four-bar" / "results.txt").exists()


@pytest.mark.slow
def test_a_file_needs_no_ending(file, tmp_path):
    """Any existing file is taken as a specification."""
    other = file.rename(tmp_path / "short.txt")
    assert call("run", other, "--out", tmp_path / "runs").exit_code == 0


@pytest.mark.parametrize(
    ("words", "content", "expected"),
    [
        (("spec", "show", "FILE"), "<a>", "line 1: this is not XML"),
        (("run", "FILE"), "", "empty"),
        (("run", "FILE", "--windows", "3"), "", "--windows"),
        (("run", "missing.xml"), "", "missing.xml: cannot be read"),
        (("spec", "write", "no-such"), "", "double-four-bar"),
    ],
)
def test_wrong_files_give_one_message(words, content, expected, tmp_path, capsys, monkeypatch):
    """Errors of the user end with status 2 and one line, without a traceback."""
    path = tmp_path / "wrong.xml"
    path.write_text(content)
    words = [str(path) if word == "FILE" else word for word in words]
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert "Traceback" not in shown
