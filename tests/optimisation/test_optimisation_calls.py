"""Files, resumed searches, pages, many starts, and what is rejected."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import sarrus
from linkages_to_optimise import four_bar, pendulum
from sarrus import cli
from sarrus.optimisation.optimisation_file import make_optimisation_schema

BALANCE = Path(__file__).parents[2] / "examples" / "balance.yaml"


class StoppedError(Exception):
    """Raised by a test in the middle of an optimisation."""


@pytest.mark.slow
def test_interrupted_optimisation_is_resumed(tmp_path):
    """A call that stops in its second search goes on there, with the same optimum and without the first again."""
    state, seen = tmp_path / "state.json", []

    def stop(progress):
        seen.append(progress)
        if progress.search == 2 and progress.evaluations % 5 == 0:
            raise StoppedError

    def run(progress=None, state=None):
        return sarrus.optimize(
            pendulum(3.0), {"velocities.tip.0": (1.0, 6.0)}, {"difference": "tip.x", "to": 0.5},
            duration=0.6, starts=3, state=state, progress=progress,
        )  # fmt: skip

    whole = run()
    with pytest.raises(StoppedError):
        run(stop, state)
    first = json.loads(state.read_text())
    assert len(first["ends"]) == 1
    again = run(lambda p: seen.append(p), state)
    assert again.searches[0].objective == first["ends"][0]["objective"]
    assert len(again.searches) == 3
    # the search from the middle forgets the curvature, so it ends elsewhere by rounding
    assert again.objective == pytest.approx(whole.objective, rel=1e-9)
    assert run(state=state).evaluations == again.evaluations
    with pytest.raises(ValueError, match="another optimisation"):
        sarrus.optimize(
            pendulum(3.0), {"velocities.tip.0": (1.0, 6.0)}, {"mean": "tip.x"}, duration=0.6, state=state
        )  # fmt: skip


@pytest.mark.parametrize(
    "damage", ["[]", '{"version": 1}', '{"current": []}', "[[[", '{"ends": [3]}']
)
def test_damaged_state_is_rejected_in_words(tmp_path, damage):
    """A file that is not a state, or lost a part of it, gives a sentence and stays as it is."""
    state = tmp_path / "state.json"
    arguments = (pendulum(3.0), {"velocities.tip.0": (1.0, 6.0)}, {"final": "tip.x"})
    sarrus.optimize(*arguments, duration=0.2, state=state)
    whole = json.loads(state.read_text())
    text = json.dumps(whole | json.loads(damage)) if damage.startswith('{"c') else damage
    state.write_text(text)
    with pytest.raises(ValueError, match="not the state of an optimisation"):
        sarrus.optimize(*arguments, duration=0.2, state=state)
    assert state.read_text() == text


@pytest.mark.slow
def test_command_writes_model_and_page(tmp_path):
    """The optimum of a file as a model that runs, and as a page without markup of its names."""
    out = tmp_path / "out"
    cli.app(["optimize", str(BALANCE), "--out", str(out)], standalone_mode=False)
    best = sarrus.load(out / "best.yaml")
    [weight] = [b for b in best.bodies if b.name == "counterweight"]
    assert weight.mass == pytest.approx(1.96875, rel=1e-7)
    page = (out / "optimum.html").read_text()
    assert "converged" in page
    assert "bodies.counterweight.mass" in page
    assert len(json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["scenes"]) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rms: shaking force", "rms: shakin force"), "shaking force"),
        (("from: 100 g", "from: 100 mm"), "another unit than kg"),
        (("minimise:", "minimize:"), "minimise"),
        (("{rms: shaking force}", "{rsm: shaking force}"), "rms"),
        (("bodies.counterweight.mass", "bodies.counterwight.mass"), "counterweight"),
        (("to: 5 kg", "to: 50 g"), "lowest, highest"),
    ],
)
def test_slips_of_files_are_named(tmp_path, change, words):
    """A slip gives a sentence that names what was probably meant."""
    text = BALANCE.read_text()
    assert change[0] in text
    (tmp_path / "balanced_slider_crank.yaml").write_text(
        BALANCE.with_name("balanced_slider_crank.yaml").read_text()
    )
    (tmp_path / "bad.yaml").write_text(text.replace(*change))
    with pytest.raises(ValueError, match=words):
        cli.app(
            ["optimize", str(tmp_path / "bad.yaml"), "--out", str(tmp_path / "out")],
            standalone_mode=False,
        )


def test_schema_accepts_the_example():
    """The schema for editors has every key of the example."""
    import jsonschema
    import yaml

    jsonschema.validate(yaml.safe_load(BALANCE.read_text()), make_optimisation_schema())


def test_infeasible_constraints_are_reported():
    """A pendulum of 1 m cannot stay below 2 m."""
    found = sarrus.optimize(
        pendulum(4.0), {"velocities.tip.0": (1.0, 6.0)}, {"value": "tip.vx", "at": 0.0},
        [{"maximum": "tip.y", "at_most": -2.0}], duration=0.5,
    )  # fmt: skip
    assert found.status == "infeasible"
    assert "not met" in found.message
    assert not found.success


@pytest.mark.slow
def test_many_starts_find_the_better_of_two_optima():
    """Speeds that bring a pendulum to an angle at a time, directly and after a swing back: the cheaper wins."""
    angle = 0.3
    wanted = [
        {"value": "tip.vx", "at": 0.0, "weight": 1e-3},
        {"difference": "tip.x", "to": [angle], "at": [1.2]},
    ]
    one = sarrus.optimize(pendulum(6.2), {"velocities.tip.0": (-7.0, 7.0)}, wanted, duration=1.3)
    many = sarrus.optimize(
        pendulum(6.2), {"velocities.tip.0": (-7.0, 7.0)}, wanted, duration=1.3, starts=6
    )  # fmt: skip
    assert many.objective <= one.objective
    assert len(many.searches) == 6
    assert "of 6 starts" in many.message or many.status != "converged"


@pytest.mark.slow
def test_designs_without_a_run_are_stepped_over():
    """Bounds that contain links which do not close: the search turns back and converges."""
    run = sarrus.kinematics(four_bar(4.0, 1.5, 3.5, 3.0, 2.0, 1.2), np.linspace(0.0, 2.0, 9))
    wanted = {"distance": "P", "to": run.position("P").tolist(), "at": run.times.tolist()}
    found = sarrus.optimize(
        lambda r3, r4: four_bar(4.0 + 0.0 * r3, 1.5 + 0.0 * r3, r3, r4, 2.0 + 0.0 * r3, 1.2 + 0.0 * r3),
        {"r3": (0.5, 6.0, 4.5), "r4": (0.5, 6.0, 2.2)}, wanted, duration=2.0, starts=3,
    )  # fmt: skip
    assert found.success
    assert found.values["r3"] == pytest.approx(3.5, abs=1e-5)
    assert found.values["r4"] == pytest.approx(3.0, abs=1e-5)


@pytest.mark.slow
def test_gradients_agree_with_differences():
    """Derivatives of every kind of measure by two variables, against central differences of whole runs."""
    m = pendulum(3.0)
    event = {"quantity": "A.angle", "equals": 0.4}
    measures = [
        {"value": "tip.x", "at": 0.3}, {"value": "tip.vy", "when": event}, {"final": "tip.ax"},
        {"maximum": "tip.x"}, {"minimum": "kinetic energy"}, {"largest": "tip.vy"}, {"mean": "tip.y"},
        {"rms": "A.F"}, {"difference": "tip.x", "to": np.sin}, {"distance": "tip", "to": [[0.2, -0.7]]},
        {"time": event},
    ]  # fmt: skip
    from sarrus.optimisation.optimisation_problem import make_problem

    problem = make_problem(
        m, {"velocities.tip.0": (1.0, 6.0), "gravity.1": (-12.0, -5.0)}, measures, [], duration=0.7,
        output_step=0.01, maximise=False, settings={"tolerance": 1e-12},
    )  # fmt: skip
    x, h = problem.start, 1e-4
    found = problem.evaluate(x)
    for k, measure in enumerate(problem.measures):
        got = measure.gradient(found.components[k], found.slopes[k])
        for p in range(2):
            step = h * np.eye(2)[p]
            values = [problem.evaluate(x + s * step).values[k] for s in (1.0, -1.0)]
            expected = (values[0] - values[1]) / (2 * h)
            # differences of whole runs are exact to h^2 times the third derivative
            assert got[p] == pytest.approx(expected, rel=1e-5, abs=1e-6), (measure.text, p)
