"""The command `judge`: exit status 0, 1 or 2, a table, sentences, JSON."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from result_files import exact_columns, on_another_branch, problem_cases, write
from sarrus import problems
from sarrus.cli import app, main

runner = CliRunner()


def call(*words):
    """The command as a function."""
    return runner.invoke(app, ["judge", *map(str, words)])


@pytest.mark.slow
@pytest.mark.parametrize("name", problem_cases())
def test_the_exact_motion_passes(tmp_path, name):
    """Status 0, a line for each limit."""
    path = write(tmp_path / "r.txt", exact_columns(problems.get(name)))
    answer = call(path, "--problem", name)
    assert answer.exit_code == 0, answer.output
    assert "FAIL" not in answer.output
    # every limit and the last line
    assert answer.output.count("PASS") >= 3
    assert max(map(len, answer.output.splitlines())) <= 80


@pytest.mark.slow
def test_our_own_file_passes(tmp_path):
    """What `run` writes, `judge` accepts."""
    runner.invoke(app, ["run", "double-four-bar", "--duration", "3", "--out", str(tmp_path)])
    path = tmp_path / "double-four-bar" / "results.txt"
    assert call(path, "--problem", "double-four-bar", "--duration", 3).exit_code == 0


@pytest.mark.slow
def test_another_branch_fails_with_a_sentence(tmp_path):
    """Status 1; the branch and the time are in the output."""
    columns, _ = on_another_branch(problems.get("double-four-bar"), 1)
    answer = call(write(tmp_path / "r.txt", columns), "--problem", "double-four-bar")
    assert answer.exit_code == 1
    assert "left the parallelogram branch at the flat configuration at t = 1.228 s" in answer.output
    assert "FAIL: 1001 rows" in answer.output


@pytest.mark.slow
def test_json_is_one_document(tmp_path):
    """With --json: the checks with measure, limit and verdict; strict JSON also for huge numbers."""
    columns = exact_columns(problems.get("n-four-bar"))
    columns["vx"] = np.full(401, 1e200)
    answer = call(write(tmp_path / "r.txt", columns), "--problem", "n-four-bar", "--json")
    assert answer.exit_code == 1
    record = json.loads(answer.stdout, parse_constant=lambda word: pytest.fail(word))
    judged = record["judgement"]
    assert record["problem"]["options"] == {"windows": 40, "speed": 1.0}
    assert record["rows"] == 401
    assert judged["passed"] is False
    assert judged["complete"] is True
    keys = {"what", "value", "limit", "unit", "time", "ours", "blur", "passed"}
    assert keys == set(judged["checks"][0])


@pytest.mark.slow
def test_options_choose_the_problem(tmp_path):
    """Data of five windows pass as five windows and fail as two, with the way out."""
    path = write(tmp_path / "r.txt", exact_columns(problems.get("double-four-bar", windows=5)))
    assert call(path, "--problem", "double-four-bar", "--windows", 5).exit_code == 0
    answer = call(path, "--problem", "double-four-bar")
    assert answer.exit_code == 1
    assert "--windows 5" in answer.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--problem", "no-such"), "double-four-bar"),
        (("--problem", "a04-bricard", "--windows", "2"), "has no option 'windows'"),
        (("--problem", "double-four-bar", "--duration", "-1"), "duration = -1 s"),
        (("--problem", "double-four-bar", "--duration", "nan"), "duration = nan s"),
        (("--problem", "double-four-bar", "--duration", "1e300"), "rows"),
        (("--problem", "double-four-bar"), "r.txt, line 2: the step is 0.05 s"),
        (("--problem", "n-four-bar"), "r.txt, line 1: 7 columns; 'n-four-bar' has 6"),
    ],
)
def test_what_cannot_be_judged_ends_with_status_2(tmp_path, words, expected, capsys, monkeypatch):
    """One message, no traceback."""
    path = tmp_path / "r.txt"
    path.write_text("0 0 1 0 0 0 0\n0.05 0.05 1 0 0 0 0\n")
    monkeypatch.setattr(sys, "argv", ["sarrus", "judge", str(path), *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert "Traceback" not in shown
