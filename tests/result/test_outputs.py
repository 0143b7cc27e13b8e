"""Outputs at any times, and the motion between them: `outputs=` of simulate, `result.at`."""

import numpy as np
import pytest

import sarrus
from sarrus import Mechanism, simulate
from sarrus.methods import CHOICES

ARRAYS = ("times", "coordinates", "rates", "accelerations", "norms", "work", "energy_balance")
ARRAYS += ("kinetic_energy", "potential_energy")


def same(one, two):
    """Every array of two results is the same, bit for bit, and so are all readings."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    mine, others = one.readings(), two.readings()
    assert list(mine) == list(others)
    for name, values in mine.items():
        np.testing.assert_array_equal(values, others[name], err_msg=name)


def disc():
    """A disc of 2 kg m^2 on a hinge with a constant torque: angle = t^2 (0.7 / 2) / 2."""
    m = Mechanism("disc", gravity=(0, 0))
    m.body("disc", 1.0, (0, 0), inertia=2.0)
    m.revolute("hinge", m.ground, "disc", at=(0, 0))
    m.joint_torque("motor", "hinge", 0.7)
    return m


def stiff():
    """A pendulum whose hinge has a spring and a strong damper: `auto` moves on to radau."""
    m = Mechanism("stiff")
    m.rod("upper", (0, 0), (1, 0), mass=1.0)
    m.rod("lower", (1, 0), (2, 0), mass=1.0)
    m.revolute("pin", m.ground, "upper", at=(0, 0))
    m.revolute("elbow", "upper", "lower", at=(1, 0))
    m.torsion("joint", "elbow", stiffness=1e3, damping=1e3)
    return m


def four_bar(**options):
    """The double four-bar for 0.3 s, before it is flat."""
    problem = sarrus.problems.get("double-four-bar")
    return simulate(problem.mechanism(), 0.3, **options)


# outputs


def test_outputs_at_any_times_are_those_of_regular_ones():
    """A time has the same bits, whichever outputs surround it."""
    regular = four_bar(output_step=0.01)
    chosen = regular.times[[0, 3, 4, 11, 29, 30]]
    same(four_bar(outputs=chosen), four_bar(outputs=list(chosen)))
    some = four_bar(outputs=chosen)
    np.testing.assert_array_equal(some.times, chosen)
    np.testing.assert_array_equal(some.coordinates, regular.coordinates[[0, 3, 4, 11, 29, 30]])
    np.testing.assert_array_equal(some.accelerations, regular.accelerations[[0, 3, 4, 11, 29, 30]])


def test_outputs_need_not_begin_at_the_start_nor_reach_the_end():
    """One output in the middle is enough; the run goes to its end nevertheless."""
    r = four_bar(outputs=[0.123])
    assert r.times == [0.123]
    assert r.step_times[-1] == 0.3
    np.testing.assert_array_equal(r.coordinates, four_bar(dense=True).at(0.123).coordinates)


WRONG = [
    ([], "give a list of times"),
    (0.1, "give a list of times"),
    ([[0.1], [0.2]], "give a list of times"),
    (["soon"], "give times in seconds"),
    ([0.1, np.nan], "outputs contains nan"),
    ([0.0, 0.2, 0.1], "outputs: 0.2 s is followed by 0.1 s; give increasing times"),
    ([0.1, 0.1], "0.1 s is followed by 0.1 s"),
    ([-0.1, 0.2], "outputs = -0.1 s: it begins at 0, and the duration is 0.3 s"),
    ([0.1, 0.4], "outputs = 0.4 s: it begins at 0, and the duration is 0.3 s"),
]


@pytest.mark.parametrize(("outputs", "sentence"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_wrong_outputs_are_reported_in_a_sentence(outputs, sentence):
    """What is wrong, with the number, and what to give."""
    with pytest.raises(ValueError, match="outputs") as caught:
        four_bar(outputs=outputs)
    assert sentence in str(caught.value)


def test_outputs_and_output_step_exclude_each_other():
    """Both say when to record."""
    with pytest.raises(ValueError, match="output_step and outputs both say when"):
        four_bar(output_step=0.1, outputs=[0.1])


# between the outputs


@pytest.mark.parametrize("method", list(CHOICES))
def test_at_the_outputs_is_the_outputs(method):
    """The polynomials are sampled as the run sampled them, with every method."""
    r = four_bar(output_step=0.01, method=method, dense=True)
    assert r.success
    same(r.at(r.times), r)
    same(r.at(r.times[::7]), r.at(list(r.times[::7])))


@pytest.mark.parametrize("problem", ["simple-pendulum", "double-four-bar", "rectangular-bricard"])
def test_between_outputs_it_is_the_exact_motion(problem):
    """At times that are no outputs the motion agrees with the exact one as well as at outputs."""
    p = sarrus.problems.get(problem)
    r = simulate(p.mechanism(), 2.0, 1.0, dense=True)
    times = np.linspace(0.0, 2.0, 173)
    found, exact = r.at(times), p.reference_columns(times)
    place = np.array([exact[c] for c in "xyz" if c in exact]).T
    # tolerance 1e-10 of lengths of a metre, some times that over two seconds
    assert np.abs(found.position(p.observed)[:, : place.shape[1]] - place).max() < 1e-8
    assert found.violation("position").max() < 1e-12
    assert found.violation("velocity").max() < 1e-11
    assert found.energy_drift < 1e-7


def test_angles_and_work_between_outputs():
    """A constant torque: angle (beyond a turn), torque, work and kinetic energy in closed form."""
    r = simulate(disc(), 10.0, 10.0, dense=True)
    t = np.array([0.1, 1.7, 5.3, 7.77, 9.9])
    at = r.at(t)
    angle = 0.25 * 0.7 * t**2
    np.testing.assert_allclose(at.angle("hinge"), angle, atol=1e-9)
    np.testing.assert_allclose(at.work, 0.7 * angle, atol=1e-9)
    np.testing.assert_allclose(at.kinetic_energy, 0.7 * angle, atol=1e-9)
    np.testing.assert_array_equal(at.torque("motor"), np.full(5, 0.7))


def test_a_run_of_two_methods_is_one_motion():
    """Behind and before the time at which `auto` moves on to radau."""
    r = simulate(stiff(), 2.0, 0.02, dense=True, tolerance=1e-7)
    assert r.method == "radau"
    same(r.at(r.times), r)
    # central differences across the seam: the velocity is the rate of the place
    seam = float(next(note for note in r.notes if "from t" in note).split("t = ")[1].split(" s")[0])
    h = 1e-4
    around = r.at(seam + h * np.arange(-10, 11))
    x, v = around.position("elbow"), around.velocity("elbow")
    np.testing.assert_allclose((x[2:] - x[:-2]) / (2 * h), v[1:-1], atol=1e-4)


def test_one_time_is_a_result_of_one_output():
    """A number is as good as a list."""
    r = four_bar(dense=True)
    one = r.at(0.2)
    assert one.times.tolist() == [0.2]
    assert one.position("B0").shape == (1, 2)
    assert one.status == r.status
    assert one.reaction("B0").force.shape == (1, 2)


def test_outside_the_motion_is_reported_in_a_sentence():
    """Before the start, after the end, and after the crossing where the run stopped."""
    r = four_bar(dense=True)
    for t in (-0.1, 0.31):
        with pytest.raises(
            ValueError, match=f"t = {t} s: it begins at 0, and the motion ends at 0.3 s"
        ):
            r.at(t)
    p = sarrus.problems.get("double-four-bar")
    stopped = simulate(p.mechanism(), 1.0, at_crossing="stop", dense=True)
    end = stopped.crossings[-1].time
    same(stopped.at(stopped.times), stopped)
    assert stopped.at(end).times == [end]
    with pytest.raises(ValueError, match=r"the motion ends at 0\.714"):
        stopped.at(0.8)


def test_without_the_polynomials_it_says_how_to_keep_them():
    """They take memory, so they are kept on request."""
    with pytest.raises(ValueError, match="dense=True"):
        four_bar().at(0.1)


def test_result_does_not_follow_later_changes_of_its_mechanism():
    """The mechanism of a result is its own: what is built later is built from what was simulated."""
    m = disc()
    r = simulate(m, 1.0, 0.5)
    m.body("another", 1.0, (5, 0))
    m.revolute("more", m.ground, "another", at=(5, 0))
    assert [b.name for b in r.mechanism.bodies] == ["disc"]
    assert r.reaction("hinge").force.shape == (3, 2)
    assert r.mechanism is not m
    assert r.mechanism.name == r.name == "disc"
