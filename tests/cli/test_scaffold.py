"""`sarrus new method`, `check-method`, `problem`, and `bench` with methods and problems of users."""

import json

import pytest
from typer.testing import CliRunner

from sarrus.bench.method_check import _four_bar as four_bar
from sarrus.bench.method_check import _measure_order
from sarrus.cli import app
from sarrus.methods import get_method
from sarrus.outputs import LIST

runner = CliRunner()


def call(*words):
    """A command as a function."""
    return runner.invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The method to start from."""
    path = tmp_path_factory.mktemp("own") / "my_alpha.py"
    answer = call("new", "method", path)
    assert answer.exit_code == 0, answer.output
    return path


@pytest.mark.slow
def test_the_template_has_its_order(template):
    """Generalized-alpha in forty lines, of order two; it is not written over."""
    method = get_method(f"{template}:step")
    assert method.id == "my-alpha"
    finding, order = _measure_order(method, "four-bar", four_bar(), 0.5, "B", 2)
    assert finding.good, finding.sentence
    assert order == pytest.approx(2.0, abs=0.05)
    body = template.read_text().split("@sarrus.method")[1]
    assert len(body.splitlines()) <= 40
    assert "is there already" in str(call("new", "method", template).exception)
    assert "ends in .py" in str(call("new", "method", "my_alpha").exception)


@pytest.mark.slow
def test_check_method_prints_a_page(template):
    """Order, energy, crossings, redundant equations and drives, each with a sentence."""
    answer = call("check-method", template)
    assert answer.exit_code == 0, answer.output
    for what in ("order, four-bar", "energy", "crossings", "redundant", "drives"):
        assert what in answer.output
    assert "FAIL" not in answer.output
    assert "those of Python" in answer.output


def test_an_order_that_is_not_kept_is_reported(tmp_path):
    """A method of order one that promises three."""
    path = tmp_path / "euler.py"
    path.write_text(
        "import sarrus\n\n\n@sarrus.method('my-euler', order=3)\ndef step(system, state, h):\n"
        "    a, _ = system.accelerations(state.q, state.v, state.t)\n"
        "    return system.project(state.q + h * state.v, state.v + h * a, state.t + h)\n"
    )
    finding, order = _measure_order(get_method(str(path)), "four-bar", four_bar(), 0.5, "B", 3)
    assert not finding.good
    assert "promised 3" in finding.sentence
    assert order == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_bench_with_both_of_one_s_own(template, tmp_path, monkeypatch):
    """A model file as a problem, a file as a method: judged, timed, reported as Python; changed text runs
    again.
    """
    monkeypatch.chdir(tmp_path)
    four_bar().save("mine.yaml")
    words = (
        "bench", "mine.yaml", "--duration", "0.2", "--method", f"{template}:step", "--method", "series",
        "--tolerances", "1e-8", "--steps", "0.0005", "--repeat", "1", "--out", "b",
    )  # fmt: skip
    answer = call(*words)
    assert answer.exit_code == 0, answer.output
    assert "reference: converged" in answer.output
    assert "my-alpha (Python)" in answer.output
    record = json.loads(next((tmp_path / "b").rglob("my-alpha/*.json")).read_text())
    assert record["compiled"] is False
    assert record["fingerprint"] == get_method(f"{template}:step").fingerprint


def test_problem_is_packed(tmp_path, monkeypatch):
    """A folder with the model, its numbers, its reference and what an installer needs; it can be judged with."""
    monkeypatch.chdir(tmp_path)
    four_bar().save("mine.yaml")
    answer = call(
        "problem", "mine.yaml", "--out", "p", "--duration", "0.2", "--output-step", "0.01"
    )
    assert answer.exit_code == 0, answer.output
    folder = tmp_path / "p" / "src" / "sarrus_problem_mine"
    names = {path.name for path in folder.iterdir()}
    assert names == {LIST, "__init__.py", "model.yaml", "problem.json", "reference.csv"}
    judged = call("judge", folder / "reference.csv", "--problem", folder)
    assert judged.exit_code == 0, judged.output
    assert "how long?" in str(call("problem", "mine.yaml", "--out", "q").exception)
