"""Turn vectors, rotation matrices, and turns counted beyond the first."""

import numpy as np
import pytest

from sarrus.kinematics.pose import next_to, turn_matrices, turn_vectors, unwrap


def test_turn_vectors_and_matrices_are_each_others_inverse():
    """Angles from rounding to almost half a turn; beside half a turn the sines are lost, the axis is not."""
    rng = np.random.default_rng(1)
    axes = rng.normal(size=(8, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = np.array([0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-9])
    vectors = angles[:, None] * axes
    R = turn_matrices(vectors)
    assert np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max() < 1e-15 * 4
    assert np.linalg.det(R) == pytest.approx(1.0)
    # the axis at half a turn comes from a square root of R + 1: half its digits times the sine
    assert np.abs(turn_vectors(R) - vectors).max() < 1e-11


def test_a_quarter_turn_about_z():
    """x goes to y, y to -x."""
    R = turn_matrices(np.array([[0.0, 0.0, np.pi / 2]]))[0]
    assert pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15) == R


def test_next_to_adds_whole_turns_only():
    """Angles land within half a turn of those they are to be next to."""
    near = np.array([0.0, 20.0, -31.0])
    angle = np.array([0.3, 0.3, 0.3])
    found = next_to(angle, near)
    assert np.abs(found - near).max() <= np.pi
    turns = (found - angle) / (2 * np.pi)
    assert np.abs(turns - np.rint(turns)).max() < 1e-15


@pytest.mark.parametrize("step", [0.05, 0.7])
def test_many_turns_are_counted_with_the_rates(step):
    """theta = 40 sin t + 9 t turns by up to 5 turns an output; counted to the last digit, in columns too."""
    t = np.arange(0.0, 60.0, step)
    theta = 40.0 * np.sin(t) + 9.0 * t
    rate, rise = 40.0 * np.cos(t) + 9.0, -40.0 * np.sin(t)
    # h^5 / 720 of the fifth derivative, 40: below half a turn
    assert step**5 / 720 * 40 < np.pi
    shown = np.angle(np.exp(1j * theta))
    counted, doubtful = unwrap(t, shown, rate, rise)
    assert not doubtful.any()
    assert np.abs(counted - theta).max() < 1e-12
    both, _ = unwrap(t, *(np.stack([x, -x], axis=1) for x in (shown, rate, rise)))
    assert np.abs(both - np.stack([theta, -theta], axis=1)).max() < 1e-12


def test_turns_that_cannot_be_counted_are_in_doubt():
    """The same motion with outputs so far apart that its rates do not tell."""
    t = np.arange(0.0, 60.0, 3.0)
    theta = 40.0 * np.sin(t) + 9.0 * t
    shown = np.angle(np.exp(1j * theta))
    assert unwrap(t, shown, 40.0 * np.cos(t) + 9.0, -40.0 * np.sin(t))[1].any()


def test_a_single_output_is_shown_as_it_is():
    """Nothing to count from."""
    one = np.array([0.4])
    counted, doubtful = unwrap(np.zeros(1), one, one, one)
    assert counted == one
    assert doubtful.shape == (0,)
