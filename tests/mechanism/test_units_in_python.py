"""Text with units in Python calls, as in model files; what has the wrong kind is named."""

import numpy as np
import pytest

import sarrus
from sarrus.mechanism import to_data


def test_units_mean_what_they_mean_in_files():
    """Every call with units gives the mechanism of plain SI numbers, to the last bit."""
    a, b = (sarrus.Mechanism("m", gravity=g) for g in ("[0, -981] cm/s^2", (0, -9.81)))
    for m, text in ((a, True), (b, False)):
        pick = lambda with_unit, plain, text=text: with_unit if text else plain  # noqa: E731
        m.rod(
            "rod",
            pick("[0, 0] mm", (0, 0)),
            pick(["1000 mm", "0 m"], (1, 0)),
            mass=pick("500 g", 0.5),
        )
        m.body(
            "block",
            mass=pick("2 kg", 2),
            center=pick("[100, 0] cm", (1, 0)),
            inertia=pick("0.1 kg m^2", 0.1),
        )
        m.revolute("A", m.ground, "rod", at=pick("[0, 0] mm", (0, 0)))
        m.revolute("B", "rod", "block", at=pick("[1, 0] m", (1, 0)))
        m.point("P", "rod", pick("[50, 0] cm", (0.5, 0)))
        m.spring(
            "coil",
            m.ground,
            "block",
            start=pick("[2, 0] m", (2, 0)),
            end=pick("[1000, 0] mm", (1, 0)),
            stiffness=pick("5 N/mm", 5000),
            damping=pick("2 N s/m", 2),
            free_length=pick("90 cm", 0.9),
            preload=pick("1 kN", 1000),
        )
        m.torsion("twist", "A", stiffness=pick("3 N m/rad", 3), torque=pick("2 N m", 2))
        m.force("push", "rod", at=pick("[1, 0] m", (1, 0)), vector=pick("[0, 5] N", (0, 5)))
        m.set_angular_velocity("rod", pick("60 rpm", 2 * np.pi))
        m.set_velocity("B", pick("[0, 1] m/s", (0, 1)))
        m.four_bar(
            ground=pick("40 cm", 0.4),
            crank=pick("100 mm", 0.1),
            coupler=pick("350 mm", 0.35),
            rocker=pick("0.3 m", 0.3),
            angle=pick("60 deg", np.radians(60)),
            at=pick("[300, 0] cm", (3, 0)),
            prefix="second ",
        )
    assert to_data(a) == to_data(b)


WRONG = [
    (lambda m: m.rod("r", (0, 0), (1, 0), mass="5 mm"), "is a length; give a mass"),
    (lambda m: m.rod("r", "[0, 0] kg", (1, 0), mass=1), "start of rod 'r'"),
    (lambda m: m.rod("r", (0, 0), (1, 0), mass="heavy"), "mass of rod 'r'"),
    (lambda m: m.four_bar(ground="1 kg", crank=1, coupler=1, rocker=1, angle=1), "ground"),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_units_of_the_wrong_kind_are_named(call, words):
    """The message names the argument and the kind that is wanted."""
    with pytest.raises(sarrus.MechanismError, match=words):
        call(sarrus.Mechanism())


def test_polynomials_are_lists():
    """A bare number could be a value or a rate: it is rejected with both spellings."""
    for wrong in (5, "5"):
        with pytest.raises(sarrus.MechanismError, match=r"constant rate"):
            sarrus.Polynomial(wrong)
    assert sarrus.Polynomial([0, 5]).coefficients == [0, 5]


def test_dir_shows_public_names_only():
    """What a notebook completes is what is documented."""
    assert set(dir(sarrus)) == {*sarrus.__all__, "__version__"}
    for module in (sarrus.problems, sarrus.formats):
        assert set(dir(module)) == set(module.__all__)


def test_misspelt_arguments_are_found():
    """`tol=` is meant to be tolerance, though it looks like an option of a method."""
    m = sarrus.Mechanism()
    m.body("bob", 1, (0, -1))
    m.revolute("A", m.ground, "bob", at=(0, 0))
    with pytest.raises(ValueError, match="did you mean 'tolerance'"):
        sarrus.simulate(m, 1, tol=1e-8)
    with pytest.raises(ValueError, match="did you mean 'output_step'"):
        sarrus.simulate(m, 1, output_stp=0.1)


def driven(motion, kind="revolute"):
    """The motion of a drive as the mechanism keeps it."""
    m = sarrus.Mechanism()
    m.body("part", 1, (0, -1), 0.1)
    axis = {} if kind == "revolute" else {"axis": (1, 0)}
    getattr(m, kind)("A", m.ground, "part", at=(0, 0), **axis)
    return m.drive("motor", "A", motion).motion


def test_motions_take_units():
    """As in files: the joint says whether an angle or a length is meant, powers of time count."""
    assert driven(sarrus.Polynomial([0, "60 rpm"])).coefficients[1] == pytest.approx(2 * np.pi)
    third = driven(sarrus.Polynomial([0, 0, 0, "2 mm/s^3"]), "prismatic").coefficients[3]
    assert third == pytest.approx(0.002)
    sine = driven(sarrus.Sine("30 deg", "2 Hz", phase="90 deg", offset="-30 deg"))
    assert (sine.amplitude, sine.phase) == pytest.approx((np.pi / 6, np.pi / 2))
    step = driven(sarrus.SmoothStep(0, "5 cm", "10 ms", "1 min"), "prismatic")
    assert (step.last, step.begin, step.end) == pytest.approx((0.05, 0.01, 60.0))
    table = driven(sarrus.Table((0, "10 ms", 0.02, 0.03), (0, "1 deg", 0, 0)))
    assert (table.times[1], table.values[1]) == pytest.approx((0.01, np.pi / 180))
    with pytest.raises(
        sarrus.MechanismError, match=r"drive 'motor', coefficient 1.*angular velocity"
    ):
        driven(sarrus.Polynomial([0, "60 mm/s"]))


MISSPELT = [
    (lambda m: m.rod("r", (0, 0), (1, 0), mas=1), "rod() has no argument 'mas'", "mass"),
    (lambda m: m.four_bar(ground=1, crank=1, coupler=1, roker=1), "'roker'", "rocker"),
    (lambda m: m.revolute("A", m.ground, "r", att=(0, 0)), "'att'", "at"),
    (lambda m: sarrus.Mechanism("a", gravty=(0, 0)), "Mechanism() has no argument", "gravity"),
    (lambda m: sarrus.design(m, sped=1), "'sped'", "speed"),
    (lambda m: sarrus.assemble(m, lenghts={}), "'lenghts'", "lengths"),
    (lambda m: sarrus.simulate_many([m], 1, tol=1), "'tol'", "tolerance"),
    (lambda m: sarrus.Sine(ampl=1), "Sine() has no argument 'ampl'", "amplitude"),
    (lambda m: sarrus.Table.from_csv("a.csv", nois=1), "from_csv() has no argument", "noise"),
    (lambda m: swinging().plot("A.x", ovr="time"), "plot() has no argument 'ovr'", "over"),
    (lambda m: sarrus.sweep("study.yaml", ot="runs"), "next to a study file", "out"),
]


def swinging():
    """The result of a short run."""
    m = sarrus.Mechanism("pendulum")
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    return sarrus.simulate(m, "10 ms", output_step="5 ms")


@pytest.mark.parametrize(("call", "words", "meant"), MISSPELT)
def test_misspelt_keywords_get_a_suggestion(call, words, meant):
    """Still a TypeError, as Python raises, with the arguments there are and the one that is nearest."""
    with pytest.raises(TypeError) as raised:
        call(sarrus.Mechanism())
    assert words in str(raised.value)
    assert f"did you mean '{meant}'" in str(raised.value)


def test_other_type_errors_are_left_alone():
    """A missing argument is Python's own error; one from inside a call is not explained away."""
    with pytest.raises(TypeError, match="missing 2 required"):
        sarrus.Mechanism().rod("r", (0, 0))
