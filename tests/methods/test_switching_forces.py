"""Forces of users that switch with time, place or velocity, against SciPy with the switches located exactly.

A rod of 1 m and 1 kg on a pin, level at the start, a force F up or down at its tip: with its angle x,

    x'' = 3 cos(x) (F - g / 2)

The numbers of a law are the places of points on the ground: one compiled function serves all of them.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sarrus import Mechanism, simulate
from sarrus.kernels.elements.user import DIFFERENCE

G = 9.81
DURATION = 2.0


def by_time(t, x, v):
    """F between two times."""
    out = np.zeros(x.shape)
    if x[1, 0] < t <= x[1, 1]:
        out[0, 1] = x[2, 0]
    return out


def by_place(t, x, v):
    """F below a height."""
    out = np.zeros(x.shape)
    if x[0, 1] < x[1, 0]:
        out[0, 1] = x[2, 0]
    return out


def by_speed(t, x, v):
    """F where the tip falls faster than a speed."""
    out = np.zeros(x.shape)
    if v[0, 1] < x[1, 0]:
        out[0, 1] = x[2, 0]
    return out


def rod(law, first, second, force):
    """The rod with a law and its numbers."""
    m = Mechanism("switched rod", gravity=(0, -G))
    m.rod("rod", (0, 0), (1, 0), mass=1.0)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (1, 0))
    m.point("limits", m.ground, (first, second))
    m.point("strength", m.ground, (force, 0.0))
    m.user_force("law", ["tip", "limits", "strength"], law)
    return m


def advance(t, state, end, force, surface=None):
    """Angle and rate at the end, or where a surface is crossed."""

    def rates(_, s):
        return [s[1], 3.0 * np.cos(s[0]) * (force - 0.5 * G)]

    found = solve_ivp(
        rates, (t, end), state, method="DOP853", rtol=1e-13, atol=1e-14, events=surface
    )
    return found.t[-1], found.y[:, -1]


def exact(surface, force, start=(0.0, 0.0)):
    """Where the rod is at the end, and how often the force switched; it acts where the surface is below 0."""
    t, state = 0.0, np.array(start)
    acts, count = bool(surface(t, state) < 0.0), 0
    while t < DURATION:
        # a crossing that was just left does not count again
        surface.terminal, surface.direction = True, 1.0 if acts else -1.0
        t, state = advance(t, state, DURATION, force if acts else 0.0, surface)
        acts, count = not acts, count + 1
    return state, count - 1


def tip(state):
    """Its place and velocity."""
    c, s = np.cos(state[0]), np.sin(state[0])
    return np.array([c, s, -s * state[1], c * state[1]])


def check(m, state, tolerance, growth=1.0):
    """Errors at the end are ten tolerances, grown as the exact motion grows a change of its start."""
    r = simulate(m, DURATION, 0.1, tolerance=tolerance)
    assert r.status == "done", r.message
    found = np.concatenate([r.position("tip")[-1], r.velocity("tip")[-1]])
    error = np.abs(found - tip(state))
    assert error[:2].max() < 10 * tolerance * growth
    # rates of up to ten a second
    assert error[2:].max() < 100 * tolerance * growth
    # what the forces did is known as well as the motion, as the work of three points a step states it; which side
    # of a switch of the speed these fall on is rounding: 10 to 1600 tolerances for twenty such laws
    assert r.energy_drift < 1e4 * tolerance
    return r


def random_laws(kind, count=4):
    """Limits and forces."""
    rng = np.random.default_rng(3)
    for _ in range(count):
        if kind == "time":
            first, second = np.sort(rng.uniform(0.0, DURATION, 2))
            yield by_time, first, second, rng.uniform(-20, 20)
        elif kind == "place":
            yield by_place, rng.uniform(-0.9, -0.1), 0.0, rng.uniform(-10, 10)
        else:
            # downwards: upwards it would hold the tip at that speed, to and fro
            yield by_speed, rng.uniform(-3.0, -0.5), 0.0, rng.uniform(-10, -1)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
@pytest.mark.parametrize("kind", ["time", "place", "speed"])
def test_random_laws(kind, tolerance):
    """Steps end at the switches: the error is that of the smooth stretches between them."""
    for law, first, second, force in random_laws(kind):
        growth = 1.0
        if kind == "time":
            state = np.zeros(2)
            for t, end, f in ((0.0, first, 0.0), (first, second, force), (second, DURATION, 0.0)):
                _, state = advance(t, state, end, f)
        else:
            level = {
                "place": lambda t, s, y=first: np.sin(s[0]) - y,
                "speed": lambda t, s, u=first: s[1] * np.cos(s[0]) - u,
            }[kind]
            state, count = exact(level, force)
            assert count > 0
            # a switch that is crossed slowly is moved far by a small error
            moved = [exact(level, force, start)[0] for start in ((1e-7, 0.0), (0.0, 1e-7))]
            growth = max(1.0, *(np.abs(tip(x) - tip(state))[:2].max() / 1e-7 for x in moved))
        check(rod(law, first, second, force), state, tolerance, growth)


@pytest.mark.slow
def test_pulses_are_found():
    """Pulses of 1 ms between the stages of steps of 20 ms."""
    rng = np.random.default_rng(8)
    for _ in range(6):
        first = rng.uniform(0.1, DURATION - 0.1)
        second, force = first + 1e-3, rng.choice([-1.0, 1.0]) * 1e3
        state = np.zeros(2)
        for t, end, f in ((0.0, first, 0.0), (first, second, force), (second, DURATION, 0.0)):
            _, state = advance(t, state, end, f)
        r = check(rod(by_time, first, second, force), state, 1e-6)
        assert any("switches of user forces found" in note for note in r.notes)


@pytest.mark.slow
def test_outputs_near_a_switch():
    """Between the ends of steps outputs are as exact as at them: no polynomial leads over a switch."""
    first, second, force = 0.7123, 1.3, 12.0
    r = simulate(rod(by_time, first, second, force), DURATION, 2e-3, tolerance=1e-9)
    state, at = np.zeros(2), 0.0
    for end, f in ((first, 0.0), (second, force), (DURATION, 0.0)):
        for i in np.flatnonzero((r.times > at) & (r.times <= end)):
            _, there = advance(at, state, r.times[i], f)
            found = np.concatenate([r.position("tip")[i], r.velocity("tip")[i]])
            # Hermite's polynomials of a step: h^5 for velocities, with steps of 5 ms
            assert np.abs(found - tip(there)).max() < 1e-7
        _, state = advance(at, state, end, f)
        at = end


@pytest.mark.slow
def test_a_kink_is_no_switch():
    """A stop of 1e5 N/m, continuous: its kinks cost steps, no accuracy."""

    def stop(t, x, v):
        out = np.zeros(x.shape)
        out[0, 1] = 1e5 * max(0.0, x[1, 0] - x[0, 1])
        return out

    def rates(_, s):
        return [s[1], 3.0 * np.cos(s[0]) * (1e5 * max(0.0, -0.5 - np.sin(s[0])) - 0.5 * G)]

    found = solve_ivp(
        rates, (0, DURATION), (0, 0), method="DOP853", rtol=1e-13, atol=1e-14, max_step=2e-4
    )
    check(rod(stop, -0.5, 0.0, 0.0), found.y[:, -1], 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_friction_that_sticks_is_reported(tolerance):
    """sign(v) with more friction than weight has no motion: a sentence, soon."""

    def friction(t, x, v):
        out = np.zeros(x.shape)
        out[0] = -6.0 * np.sign(v[0])
        return out

    m = rod(friction, 0.0, 0.0, 0.0)
    m.set_velocity("tip", (0.0, 1.0))
    r = simulate(m, DURATION, 0.1, tolerance=tolerance)
    assert r.status == "not-converged"
    assert "switches to and fro" in r.message
    assert r.counters["steps"] < 5000


@pytest.mark.slow
def test_derivatives_near_a_jump():
    """Differences that reach over a jump are not taken for a stiffness."""
    # a rod that starts just next to the limit, within what differences reach
    m = rod(by_place, -0.5 * DIFFERENCE, 0.0, 3.0)
    r = simulate(m, 0.5, 0.1, tolerance=1e-8)
    assert r.status == "done"
    assert r.counters["steps"] < 200
