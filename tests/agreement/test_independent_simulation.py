"""Random mechanisms against a simulation in absolute coordinates that shares no code with them."""

import numpy as np
import pytest

from absolute_coordinates import AbsoluteMechanism
from random_mechanisms import random_mechanism
from sarrus import Mechanism, simulate

DURATION = 0.3
# Runge-Kutta at 1e-11 in both position and velocity, with constraint drift over 0.3 s and mass
# matrices of condition up to 1e4; the package runs at 1e-11
SAME = 1e-7


def seeds(count):
    """The first seeds, and the others as slow tests."""
    return [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, count))]


def with_random_start(m, seed):
    """Give every body its part of a random possible motion; the twists, or None if locked."""
    absolute = AbsoluteMechanism(m)
    basis = absolute.possible_twists()
    if basis.shape[1] == 0:
        return absolute, None
    twists = basis @ np.random.default_rng(seed).normal(size=basis.shape[1])
    # at most 2 m/s or rad/s; what is left of zeros by rounding is zero
    twists /= max(1.0, np.abs(twists).max() / 2.0)
    twists[np.abs(twists) < 1e-13] = 0.0
    twists = twists.reshape(-1, 6)
    for body, twist in zip(m.bodies, twists, strict=True):
        m.point(f"centre of {body.name}", body, body.center)
        m.set_velocity(f"centre of {body.name}", twist[: m.dimension])
        m.set_angular_velocity(body, twist[5] if m.dimension == 2 else twist[3:])
    return absolute, twists


def check_same_motion(seed, m):
    """Simulate in both ways and compare centres and velocities."""
    dimension = m.dimension
    absolute, twists = with_random_start(m, seed)
    if twists is None:
        twists = np.zeros((absolute.n, 6))
    # what cannot move is meant to be a structure, however near it is to moving
    result = simulate(m, DURATION, DURATION / 6, tolerance=1e-11, misfit=0.0)
    x, _, v = absolute.run(twists, np.linspace(0.0, DURATION, 7))
    # thin rods have no inertia about themselves: where all of a motion comes to that it ends, in any coordinates
    assert len(x) == len(result.times), result.message
    assert result.status == "done" or len(x) < 7, result.message
    for i, body in enumerate(m.bodies):
        found = result.position(body.name)
        np.testing.assert_allclose(found, x[:, i, :dimension], atol=SAME, rtol=0)
        # rates of up to ten per second
        np.testing.assert_allclose(
            result.velocity(body.name), v[:, i, :dimension], atol=10 * SAME, rtol=0
        )


@pytest.mark.parametrize("seed", seeds(24))
def test_random_planar_mechanism(seed):
    """A random planar mechanism moves as in absolute coordinates."""
    check_same_motion(seed, random_mechanism(seed, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(40))
def test_random_spatial_mechanism(seed):
    """A random spatial mechanism moves as in absolute coordinates."""
    check_same_motion(seed, random_mechanism(seed, 3))


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_random_mechanism_of_crowded_joints(seed, dimension):
    """Joints of many bodies, and several joints at one point, move as in absolute coordinates."""
    check_same_motion(seed, random_mechanism(seed, dimension, crowded=True))


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_random_mechanism_with_every_joint(seed, dimension):
    """Sliders, lines, planes, crosses and links move as in absolute coordinates."""
    check_same_motion(seed, random_mechanism(seed, dimension, sliding=True))


@pytest.mark.parametrize("speed", [1e-6, 1.0, 1e6])
def test_spin_of_a_thin_body_is_no_velocity_of_its_points(speed):
    """A spin about the line between two balls: its points' velocities are rounding, at any speed."""
    m = Mechanism("link", gravity=(0.0, 0.0, 0.0))
    ends = np.array([[0.1, 0.2, 0.3], [1.3, -0.4, 0.9]])
    m.rod("link", *ends, 1.0)
    m.spherical("a", "ground", "link", at=ends[0])
    m.spherical("b", "ground", "link", at=ends[1])
    # rounding of the direction is as large as that of any number that is typed
    m.set_angular_velocity("link", speed * (ends[1] - ends[0]))
    result = simulate(m, 1.0, 0.5)
    assert result.status == "done", result.message
    assert np.abs(result.velocity("link")).max() <= 1e-14 * speed


def test_a_structure_with_a_slider_that_depends():
    """No degree of freedom and a dependent equation: a sentence, no error from inside."""
    m = random_mechanism(5080, 2, sliding=True)
    result = simulate(m, DURATION, DURATION / 6)
    assert "Nothing can move" in result.message
