"""`sarrus modes`, called as a function."""

import json

import pytest
from typer.testing import CliRunner

from sarrus.cli import app

runner = CliRunner()


def call(*words):
    return runner.invoke(app, ["modes", *words])


def test_problem_of_statics_is_compared():
    """The four-bar with spring: its eigenvalues and a verdict on each figure."""
    answer = call("four-bar-spring")
    assert answer.exit_code == 0, answer.output
    assert "-0.242385809311 +- 2.13395502835 i" in answer.output
    assert answer.output.count("PASS") == 2


def test_json():
    """Without the damper, as one document."""
    record = json.loads(call("four-bar-spring", "--damping", "0", "--json").output)
    assert record["stable"]
    (mode,) = record["modes"]
    assert mode["eigenvalue"] == [0.0, pytest.approx(2.147676638502, abs=1e-12)]
    assert [check["passed"] for check in record["checks"]] == [True, True]


def test_any_problem():
    """The pendulum swings with sqrt(g / l) / (2 pi)."""
    answer = call("simple-pendulum")
    assert answer.exit_code == 0, answer.output
    assert "0.49848792" in answer.output


def test_no_rest_sets_the_exit_status():
    """The heavy top of the problem hangs, but indifferent about its axis: reported, not an error."""
    answer = call("heavy-top")
    assert answer.exit_code == 0
    assert "indifferent in 1 of 3 degrees of freedom, not stable" in answer.output


def test_model_file(tmp_path):
    """A model file that falls: status 1 and the reason."""
    path = tmp_path / "stone.yaml"
    path.write_text(MODEL, encoding="utf-8")
    answer = call(str(path))
    assert answer.exit_code == 1
    assert "falls forever" in answer.output
    assert "leave it out" in str(call(str(path), "--damping", "1").exception)


MODEL = """\
sarrus: 1
name: stone
gravity: [0, -9.81]
bodies:
  stone: {mass: 1, center: [0, 0], inertia: 0.1}
"""
