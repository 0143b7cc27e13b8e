"""The degrees of freedom are stated once, and in the same words by all pages."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli import app
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation
from sarrus.workbench.answers import mobility

EXAMPLES = Path(__file__).parents[2] / "examples"
runner = CliRunner()


def four_bar():
    """A crank-rocker without a drive."""
    m = sarrus.Mechanism("crank-rocker", gravity=(0, -9.81))
    m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    return m


def jansen():
    """The leg of Jansen, whose crank is driven."""
    m = sarrus.load(EXAMPLES / "jansen_leg.yaml")
    assert [drive.name for drive in m.drives] == ["motor"]
    return m


def rssr(speed=None):
    """Two hinges and two balls: the coupler, a thin rod, may spin about itself."""
    m = sarrus.Mechanism("RSSR", gravity=(0, 0, -9.81))
    m.rod("crank", (0, 0, 0), (1, 0, 0.2), mass=1)
    m.rod("coupler", (1, 0, 0.2), (3, 1, 1), mass=1)
    m.rod("rocker", (3, 1, 1), (3, -1, 0), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=(0, 0, 1))
    m.spherical("B", "crank", "coupler", at=(1, 0, 0.2))
    m.spherical("C", "coupler", "rocker", at=(3, 1, 1))
    m.revolute("D", m.ground, "rocker", at=(3, -1, 0), axis=(1, 0, 0))
    if speed:
        m.drive("motor", "A", sarrus.Polynomial([0, speed]))
    return m


SPIN = "plus the idle spin of 'coupler' about its axis"
REST = "no redundant constraints; not singular here"
SUMMARIES = [
    (four_bar, f"1 degree of freedom; {REST}"),
    (jansen, f"1 degree of freedom, driven by 'motor'; {REST}"),
    (rssr, f"1 degree of freedom, {SPIN}; {REST}"),
    (lambda: rssr(1.0), f"1 degree of freedom, driven by 'motor', {SPIN}; {REST}"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "words"), SUMMARIES)
def test_all_pages_state_the_same(tmp_path, make, words):
    """Inspection, its record, workbench, result, report: each begins with the same sentence."""
    m = make()
    found = sarrus.inspect(m)
    assert found.summary == found.as_dict()["summary"] == words
    assert str(found).startswith(f"{words}.\n")
    assert mobility(m)[0] == f"{words}."
    result = sarrus.simulate(m, 0.1)
    assert str(result.verdict).startswith(f"{words}.\n")
    save_simulation(tmp_path / "run", m, result, ["B"], "model", "a script")
    page = make_report([load_run(tmp_path / "run")])
    assert f"{words}; no crossing met.".replace("'", "&#x27;") in page


def test_both_commands_print_it(tmp_path):
    """`inspect` begins with it, `simulate` prints it after the table of the run."""
    words = SUMMARIES[1][1]
    path = str(EXAMPLES / "jansen_leg.yaml")
    answer = runner.invoke(app, ["inspect", path])
    assert " ".join(answer.output.split()).startswith(f"{words}. Jansen leg: planar")
    answer = runner.invoke(app, ["simulate", path, "--out", str(tmp_path), "--no-figure"])
    assert f"\n{words}.\ndone: " in answer.output


def in_line():
    """A parallelogram of which all rods lie in one line."""
    m = sarrus.Mechanism("in line")
    m.rod("left", (0, 0), (1, 0), mass=1)
    m.rod("coupler", (1, 0), (3, 0), mass=1)
    m.rod("right", (2, 0), (3, 0), mass=1)
    m.revolute("A", m.ground, "left", at=(0, 0))
    m.revolute("B", "left", "coupler", at=(1, 0))
    m.revolute("C", "coupler", "right", at=(3, 0))
    m.revolute("D", m.ground, "right", at=(2, 0))
    return m


@pytest.mark.slow
def test_other_numbers_are_named():
    """Redundant constraints, several degrees of freedom, a singular configuration, a shaky structure."""
    bricard = sarrus.problems.get("rectangular-bricard").mechanism()
    assert sarrus.inspect(bricard).summary == (
        "1 degree of freedom; 1 redundant constraint; not singular here"
    )
    arm = sarrus.Mechanism("arm", gravity=(0, -9.81))
    arm.rod("upper", (0, 0), (1, 0), mass=1)
    arm.rod("lower", (1, 0), (2, 1), mass=1)
    arm.revolute("A", arm.ground, "upper", at=(0, 0))
    arm.revolute("B", "upper", "lower", at=(1, 0))
    arm.drive("motor", "A", sarrus.Polynomial([0, 1.0]))
    assert sarrus.inspect(arm).summary == (
        f"2 degrees of freedom, 1 of them driven by 'motor'; {REST}"
    )
    assert sarrus.inspect(in_line()).summary == (
        "1 degree of freedom (2 instantaneously); 1 redundant constraint here, none nearby; singular here"
    )
    two = sarrus.Mechanism("two rods in line")
    two.rod("a", (0, 0), (1, 0), mass=1)
    two.rod("b", (1, 0), (2, 0), mass=1)
    two.revolute("A", two.ground, "a", at=(0, 0))
    two.revolute("B", "a", "b", at=(1, 0))
    two.revolute("C", two.ground, "b", at=(2, 0))
    assert sarrus.inspect(two).summary == (
        "0 degrees of freedom (1 instantaneously); 1 redundant constraint; locked"
    )


def test_contradicting_drives_are_named_with_their_rates():
    """Rates in the units of their joints, and those that are possible together: in the ratio of the linkage."""
    m = sarrus.Mechanism("engine")
    m.slider_crank(crank=0.04, rod=0.14, angle=0.5)
    m.drive("motor", "O", sarrus.Polynomial([0, 6.28]))
    ratio = sarrus.simulate(m, 0.01).velocity("slider")[0, 0] / 6.28
    m.drive("push", "guide", sarrus.Polynomial([0, 0.001]))
    with pytest.raises(sarrus.MechanismError) as raised:
        sarrus.simulate(m, 0.1)
    text = str(raised.value)
    assert "'motor' 6.28 rad/s" in text
    assert "'push' 0.001 m/s" in text
    turn, push = (float(part.partition(")")[0]) for part in text.split("(possible: ")[1:])
    # four digits are printed
    assert push / turn == pytest.approx(ratio, rel=1e-3)
