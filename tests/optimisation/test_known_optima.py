"""Optima that are known in closed form, by an independent program, or from the literature."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import ellipj

import sarrus
from linkages_to_optimise import four_bar, pendulum, slider_crank


def test_counterweight_of_a_slider_crank():
    """The RMS shaking force is least if the rotating masses and half of the reciprocating ones are balanced.

    x = r cos a + (l^2 - r^2 sin^2 a)^(1/2): the root has even harmonics only.
    """
    best = sarrus.optimize(
        slider_crank(), {"bodies.counterweight.mass": (0.1, 5.0)}, {"rms": "shaking force"}
    )
    half = 0.5 * 0.6 + 0.5 * 0.9 + 0.5 * (0.5 * 0.9 + 1.2)
    assert best.status == "converged"
    # the objective is quadratic, and the derivative of its reading is exact to 1e-9
    assert best.values["bodies.counterweight.mass"] == pytest.approx(half * 0.1 / 0.08, rel=1e-7)
    assert best.objective < 0.7 * best.objective_before


def arrival():
    """Speed at the bottom, angle and time of a pendulum: sin(a / 2) = k sn(w t, k), v = 2 k w."""
    k, w, t = np.sin(0.6), np.sqrt(9.81), 0.4
    return 2 * k * w, float(2 * np.arcsin(k * ellipj(w * t, k * k)[0])), t


@pytest.mark.slow
@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_pendulum_at_an_angle_at_a_time(method):
    """The start speed that brings a pendulum to an angle at a time, by both algorithms."""
    v, angle, t = arrival()
    wanted = {"difference": "A.angle", "to": [angle], "at": [t]}
    best = sarrus.optimize(
        pendulum(4.0), {"velocities.tip.0": (1.0, 6.0)}, wanted, duration=1.0, method=method
    )
    assert best.success
    # trust-constr ends where the square of the difference is 1e-16
    assert best.values["velocities.tip.0"] == pytest.approx(v, abs=1e-6)


@pytest.mark.slow
def test_slowest_start_that_arrives_in_time():
    """The time of an event as a constraint: the slowest start arrives at the latest time."""
    v, angle, t = arrival()
    best = sarrus.optimize(
        pendulum(5.0), {"velocities.tip.0": (1.0, 6.0)}, {"value": "tip.vx", "at": 0.0},
        [{"time": {"quantity": "A.angle", "equals": angle}, "at_most": t}], duration=1.0,
    )  # fmt: skip
    assert best.success
    assert best.objective == pytest.approx(v, abs=1e-8)
    assert best.constraints[0][2] == pytest.approx(t, abs=1e-9)


@pytest.mark.slow
def test_least_peak_torque_is_a_chebyshev_approximation():
    """A spring that helps a motor to lower an arm: the best line for cos on [0, pi/2] leaves equal extremes."""
    m = sarrus.Mechanism("arm", gravity=(0, -9.81))
    arm = m.rod("arm", (0, 0), (1, 0), mass=2.0)
    m.revolute("A", m.ground, arm, at=(0, 0))
    m.torsion("spring", "A", stiffness=3.0, free_angle=1.0)
    m.drive("motor", "A", sarrus.Polynomial((0, 1.0)))
    variables = {"torsions.spring.stiffness": (0.5, 20.0), "torsions.spring.free_angle": (0.1, 3.0)}
    best = sarrus.optimize(
        m, variables, {"largest": "motor torque"}, duration=np.pi / 2, output_step=np.pi / 800
    )
    at = np.arcsin(2 / np.pi)
    least = 0.5 * (np.cos(at) - 1 + 2 * at / np.pi)
    assert best.success
    # the extreme lies up to half an output step from an output: 9.81 (pi / 1600)^2 / 8 N m
    assert best.objective == pytest.approx(9.81 * least, abs=5e-6)
    assert best.values["torsions.spring.stiffness"] == pytest.approx(9.81 * 2 / np.pi, rel=1e-5)


TRUE = {"r1": 4.0, "r2": 1.5, "r3": 3.5, "r4": 3.0, "px": 2.0, "py": 1.2}


@pytest.mark.slow
@pytest.mark.parametrize("timed", [True, False])
def test_coupler_point_through_given_points(timed):
    """A four-bar is found again from nine points of its coupler curve, with and without their times."""
    run = sarrus.kinematics(four_bar(**TRUE), np.linspace(0.0, 2 * np.pi, 10))
    wanted = {"distance": "P", "to": run.position("P")[:9].tolist()}
    wanted |= {"at": run.times[:9].tolist()} if timed else {}
    bounds = {name: (0.7 * x, 1.4 * x, 1.1 * x) for name, x in TRUE.items()}
    best = sarrus.optimize(
        lambda r1, r2, r3, r4, px, py: four_bar(r1, r2, r3, r4, px, py),
        bounds, wanted, duration=2 * np.pi, output_step=2 * np.pi / 72,
    )  # fmt: skip
    assert best.success
    assert best.objective_before > 0.1
    # squares of distances are resolved to 1e-16 of those at the start
    assert best.objective < 1e-6
    for name, x in TRUE.items():
        assert best.values[name] == pytest.approx(x, rel=1e-5)


def hoeken(ground, coupler, level):
    """Hoeken's linkage, crank 1 m: both pins and the coupler point are in line, at equal distances."""
    one = 1.0 + 0.0 * ground
    return four_bar(ground, one, coupler, coupler, 2.0 * coupler, 0.0 * one, np.pi / 2, level)


@pytest.mark.slow
def test_straightest_hoeken_linkage():
    """Over half a turn of the crank: near the published proportions 2.25 and 2.875, and straighter.

    They are those of R. L. Norton, Design of Machinery, table of Hoeken linkages of least error in straightness.
    """
    times = np.linspace(0.0, np.pi, 121)
    table = sarrus.kinematics(hoeken(2.25, 2.875, 0.0), times).position("P")
    best = sarrus.optimize(
        hoeken,
        {"ground": (1.8, 2.8, 2.4), "coupler": (2.4, 3.4, 3.1), "level": (4.0, 6.0, 5.0)},
        {"largest": "P.y"}, duration=np.pi, output_step=np.pi / 120,
    )  # fmt: skip
    path = best.result.position("P")
    assert best.success
    # the first and the last extremes are equal: that is what makes a minimax
    assert path[:, 1].max() == pytest.approx(-path[:, 1].min(), rel=1e-4)
    assert np.ptp(path[:, 1]) < np.ptp(table[:, 1])
    # the table is in steps of 0.025 cranks, and its error is a share of the stroke
    assert best.values["ground"] == pytest.approx(2.25, abs=0.1)
    assert best.values["coupler"] == pytest.approx(2.875, abs=0.1)


def rocker_angle(lengths, crank):
    """Direction of the rocker of a four-bar for crank angles from the ground line, by the law of cosines."""
    d, a, b, c = lengths
    x, y = a * np.cos(crank) - d, a * np.sin(crank)
    z = np.hypot(x, y)
    return np.arctan2(y, x) - np.arccos((z**2 + c**2 - b**2) / (2 * z * c))


@pytest.mark.slow
def test_rocker_follows_a_function():
    """The best four-bar for a given rocker angle is that of least squares on the closed form."""
    times = np.linspace(0.0, 1.0, 21)

    def function(t):
        return 0.4 * t**1.5

    def off(x):
        angle = rocker_angle((4.0, *x), np.pi / 6 + times)
        return angle - angle[0] - function(times)

    start = [1.8, 3.2, 2.6]
    expected = least_squares(
        off, start, bounds=([1.0, 2.0, 1.5], [3.0, 5.0, 4.5]), xtol=1e-14, ftol=1e-14
    )
    best = sarrus.optimize(
        lambda r2, r3, r4: four_bar(4.0 + 0.0 * r2, r2, r3, r4, 1.0, 0.5),
        {"r2": (1.0, 3.0, start[0]), "r3": (2.0, 5.0, start[1]), "r4": (1.5, 4.5, start[2])},
        {"difference": "D.angle", "to": function(times).tolist(), "at": times.tolist()},
        duration=1.0,
    )
    assert best.success
    assert best.objective == pytest.approx(np.sqrt(2 * expected.cost / 21), rel=1e-3, abs=1e-8)
