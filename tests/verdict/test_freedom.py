"""The degrees of freedom are stated once, and in the same words by all pages."""

import pytest

import sarrus
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation
from sarrus.workbench.answers import mobility


def four_bar(speed=None):
    """A crank-rocker, driven or not."""
    m = sarrus.Mechanism("crank-rocker", gravity=(0, -9.81))
    m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    if speed:
        m.drive("motor", "A", sarrus.Polynomial([0, speed]))
    return m


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (None, "1 degree of freedom; not singular"),
        (10.0, "1 degree of freedom, driven by 'motor'; not singular"),
    ],
)
def test_pages_say_the_same(tmp_path, speed, words):
    """Inspection, workbench and report; a drive does not take the freedom of the joints away."""
    m = four_bar(speed)
    assert sarrus.inspect(m).freedom == words
    assert mobility(m)[0] == f"{words}."
    save_simulation(tmp_path / "run", m, sarrus.simulate(m, 0.1), ["B"], "model", "a script")
    page = make_report([load_run(tmp_path / "run")])
    assert f"{words}; no crossing met.".replace("'", "&#x27;") in page


def test_other_numbers_are_named():
    """Redundant constraints, several freedoms, idle spins, and more at this very configuration."""
    bricard = sarrus.problems.get("rectangular-bricard").mechanism()
    assert sarrus.inspect(bricard).freedom == "1 degree of freedom; permanently redundant"
    arm = sarrus.Mechanism("arm", gravity=(0, -9.81))
    arm.rod("upper", (0, 0), (1, 0), mass=1)
    arm.rod("lower", (1, 0), (2, 1), mass=1)
    arm.revolute("A", arm.ground, "upper", at=(0, 0))
    arm.revolute("B", "upper", "lower", at=(1, 0))
    arm.drive("motor", "A", sarrus.Polynomial([0, 1.0]))
    assert (
        sarrus.inspect(arm).freedom
        == "2 degrees of freedom, 1 of them driven by 'motor'; not singular"
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
