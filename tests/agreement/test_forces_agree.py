"""Forces by two routes: minimal coordinates with SciPy, other methods, the same mechanism in space."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from builders import in_plane_of, rotation
from sarrus import Mechanism, MechanismError, simulate

G = 9.81
STIFF, DAMP, FREE = 60.0, 1.5, 0.9
COIL, COIL_DAMP = 4.0, 0.3


def double_pendulum(plane_to_space=None):
    """Two thin rods of 1 m and 1 kg from the horizontal, a spring and damper to the ground, a coil."""
    place = plane_to_space or (lambda p: np.array(p, dtype=float))
    down = place((0, -G)) - place((0, 0))
    m = Mechanism("double pendulum", gravity=down)
    more = {}
    if plane_to_space is not None:
        x, y = (place(d) - place((0, 0)) for d in ((1, 0), (0, 1)))
        more = {"axis": np.cross(x, y)}
    m.rod("a", place((0, 0)), place((1, 0)), mass=1)
    m.rod("b", place((1, 0)), place((2, 0)), mass=1)
    m.revolute("O", m.ground, "a", at=place((0, 0)), **more)
    m.revolute("P", "a", "b", at=place((1, 0)), **more)
    m.point("tip", "b", place((2, 0)))
    m.spring(
        "s", m.ground, "b", start=place((0.5, 1.0)), end=place((2, 0)),
        stiffness=STIFF, damping=DAMP, free_length=FREE,
    )  # fmt: skip
    m.torsion("coil", "P", stiffness=COIL, damping=COIL_DAMP, free_angle=0.4)
    return m


def minimal_rates(_, y):
    """Rates of (th1, th2, w1, w2), angles from the x axis, by Lagrange's equations."""
    th, w = y[:2], y[2:]
    c, s = np.cos(th[0] - th[1]), np.sin(th[0] - th[1])
    M = np.array([[1 / 3 + 1, c / 2], [c / 2, 1 / 3]])
    # centrifugal terms and weights
    Q = np.array([-s / 2 * w[1] ** 2, s / 2 * w[0] ** 2])
    Q -= G * np.array([1.5 * np.cos(th[0]), 0.5 * np.cos(th[1])])
    tip = np.array([np.cos(th).sum(), np.sin(th).sum()])
    J = np.array([-np.sin(th), np.cos(th)])
    d = tip - (0.5, 1.0)
    length = np.linalg.norm(d)
    pull = STIFF * (length - FREE) + DAMP * (d @ J @ w) / length
    Q -= J.T @ d * pull / length
    moment = -COIL * (th[1] - th[0] - 0.4) - COIL_DAMP * (w[1] - w[0])
    Q += np.array([-moment, moment])
    return np.concatenate([w, np.linalg.solve(M, Q)])


@pytest.fixture(scope="module")
def reference():
    """Tip of the double pendulum over 3 s, by SciPy at its tightest tolerance."""
    times = np.arange(151) * 0.02
    s = solve_ivp(
        minimal_rates, (0, 3), np.zeros(4), method="DOP853", rtol=3e-14, atol=1e-14, t_eval=times
    )  # fmt: skip
    return np.column_stack([np.cos(s.y[:2]).sum(axis=0), np.sin(s.y[:2]).sum(axis=0)])


def test_double_pendulum_with_spring_and_coil(reference):
    """Natural coordinates and series against minimal coordinates and Runge-Kutta."""
    r = simulate(double_pendulum(), 3.0, 0.02)
    assert r.status == "done", r.message
    # tolerance 1e-10, errors grow some hundred times over 3 s of a mildly chaotic motion
    np.testing.assert_allclose(r.position("tip"), reference, atol=1e-8)
    assert r.energy_drift < 1e-8
    assert r.work[-1] < 0


def test_double_pendulum_turned_in_space(reference):
    """The same linkage modelled in space, in any plane."""
    place = in_plane_of(rotation(3), (0.3, -0.2, 0.5))
    r = simulate(double_pendulum(place), 3.0, 0.02)
    expected = np.array([place(p) for p in reference])
    np.testing.assert_allclose(r.position("tip"), expected, atol=1e-8)


def test_error_falls_with_the_tolerance(reference):
    """Ten times less tolerance, ten times less error: springs and dampers keep the order."""
    tolerances = np.logspace(-4, -9, 6)
    errors = [
        np.abs(
            simulate(double_pendulum(), 3.0, 0.02, tolerance=t).position("tip") - reference
        ).max()
        for t in tolerances
    ]
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    # single errors scatter because steps fall differently
    assert 0.6 < slope < 1.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "setting", "close"),
    [
        # fourth order at steps of 1 ms; Baumgarte's terms and the penalty cost some digits
        ("multipliers", {"step": 1e-3}, 1e-6),
        ("null-space", {"step": 1e-3}, 1e-6),
        ("penalty", {"step": 1e-3}, 1e-4),
        ("multipliers-dop853", {"tolerance": 1e-11}, 1e-8),
    ],
)
def test_explicit_methods_agree(reference, method, setting, close):
    """The explicit methods take the same loads pointwise; their energy balance holds as well."""
    r = simulate(double_pendulum(), 3.0, 0.02, method=method, **setting)
    assert r.status == "done", r.message
    np.testing.assert_allclose(r.position("tip"), reference, atol=close)
    assert r.energy_drift < 100 * close


@pytest.mark.parametrize("method", ["energy-momentum", "ali3", "generalized-alpha"])
def test_methods_that_cannot_say_so(method):
    """A method without loads skips with a sentence that names others; nothing is computed."""
    r = simulate(double_pendulum(), 1.0, method=method)
    assert r.status == "skipped"
    assert f"'{method}' cannot do springs" in r.message
    assert "'series'" in r.message
    assert len(r.times) == 0


# user forces


def spring_law(t, position, velocity):
    """A spring to the origin with damping, of one or more points."""
    return -4.0 * position - 0.2 * velocity


CALLS = []


def logging_law(t, position, velocity):
    """The same law, which no compiler takes: it keeps a list."""
    CALLS.append(t)
    return -4.0 * position - 0.2 * velocity


def failing_law(t, position, velocity):
    """A law that breaks down after a second."""
    if t > 1.0:
        raise RuntimeError("the rope has snapped")
    return -4.0 * position


def particle(law):
    """A particle 1 m from the origin, under a user's force."""
    m = Mechanism("particle", gravity=(0, 0))
    m.body("p", 1.0, (1.0, 0.0))
    m.user_force("law", ["p"], law)
    return m


@pytest.mark.slow
@pytest.mark.parametrize(("law", "word"), [(spring_law, "compiled"), (logging_law, "plain Python")])
def test_user_force_is_what_it_says(law, word):
    """A user's spring law gives the damped oscillation, compiled or not; the notes say which."""
    r = simulate(particle(law), 3.0, 0.05, method="multipliers-dop853")
    assert r.status == "done", r.message
    assert any(word in note for note in r.notes)
    w = np.sqrt(4 - 0.01)
    exact = np.exp(-0.1 * r.times) * (np.cos(w * r.times) + 0.1 / w * np.sin(w * r.times))
    np.testing.assert_allclose(r.position("p")[:, 0], exact, atol=1e-8)
    # the whole force is a user's, so all its work is work
    kinetic = 0.5 * r.velocity("p")[:, 0] ** 2
    np.testing.assert_allclose(r.work, kinetic, atol=1e-7)


@pytest.mark.slow
def test_user_force_that_fails_stops_the_run():
    """The exception is named, and the results before it are kept."""
    r = simulate(particle(failing_law), 3.0, 0.1, method="multipliers-dop853")
    assert r.status == "error"
    assert "user force 'law'" in r.message
    assert "RuntimeError: the rope has snapped" in r.message
    assert 0.5 < r.times[-1] <= 1.0
    np.testing.assert_allclose(r.position("p")[:, 0], np.cos(2 * r.times), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda t, x, v: x[0], r"shape \(2,\)"),
        (lambda t, x, v: np.full_like(x, np.nan), "not finite"),
        (lambda t, x: x, "raised TypeError"),
        (lambda t, x, v: "pull", "raised ValueError"),
    ],
)
def test_user_force_that_is_wrong_at_the_start(law, words):
    """Shape, numbers and exceptions are found before the run."""
    with pytest.raises(MechanismError, match=f"user force 'law' .*{words}"):
        simulate(particle(law), 1.0, method="multipliers-dop853")


@pytest.mark.slow
def test_series_rejects_user_forces():
    """Series need derivatives that a function does not give: it says so and names others."""
    r = simulate(particle(spring_law), 1.0, method="series")
    assert r.status == "skipped"
    assert "cannot do user forces" in r.message
