"""Runs that doubles cannot take over a singular configuration are repeated in extended precision there."""

import math

import numpy as np
import pytest

from sarrus import Mechanism, Sine, simulate


def hanging(angle, width=1.0, length=1.0):
    """A parallelogram whose feet are above each other: it hangs flat, which is singular."""
    m = Mechanism("hanging parallelogram")
    feet = np.array([0.0, 0.0]), np.array([0.0, -width])
    arm = length * np.array([math.sin(angle), -math.cos(angle)])
    m.rod("crank", feet[0], feet[0] + arm, mass=1.0)
    m.rod("coupler", feet[0] + arm, feet[1] + arm, mass=1.0)
    m.rod("rocker", feet[1], feet[1] + arm, mass=1.0)
    m.revolute("A", m.ground, "crank", at=feet[0])
    m.revolute("P", "crank", "coupler", at=feet[0] + arm)
    m.revolute("Q", "coupler", "rocker", at=feet[1] + arm)
    m.revolute("B", m.ground, "rocker", at=feet[1])
    return m


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-8, 1e-10])
@pytest.mark.parametrize("amplitude", [0.03, 0.01, 0.003])
def test_driven_about_the_flat_configuration(amplitude, tolerance):
    """Driven by a small sine through the flat configuration it passes all crossings and stays a parallelogram."""
    m = hanging(amplitude)
    m.drive("motor", "A", Sine(amplitude, 0.5, phase=math.pi / 2, offset=-amplitude))
    result = simulate(m, 10.0, 0.1, tolerance=tolerance)
    assert result.status == "done", result.message
    assert len(result.crossings) == 10
    # on the other branch, an antiparallelogram, the rods would differ by about the amplitude
    coupler = result.position("Q") - result.position("P")
    np.testing.assert_allclose(coupler, [[0.0, -1.0]] * 101, atol=1e-4 * amplitude)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [1e-3, 3e-4, 1e-4, 1e-5])
def test_small_swings_at_the_default_tolerance(angle):
    """Small swings about the flat configuration pass it 11 times in 10 s, as at other tolerances."""
    result = simulate(hanging(angle), 10.0, 0.1)
    assert result.status == "done", result.message
    assert len(result.crossings) == 11
    coupler = result.position("Q") - result.position("P")
    np.testing.assert_allclose(coupler, [[0.0, -1.0]] * 101, atol=1e-3 * angle)


def test_a_note_states_that_a_run_was_repeated():
    """The run that doubles end early says so, where it ended, and at which tolerance it was repeated."""
    result = simulate(hanging(1e-3), 10.0, 0.1)
    assert result.status == "done"
    repeated = [note for note in result.notes if "repeated at 1e-12" in note]
    # whether doubles reach the end is a matter of rounding; those that do need no note
    assert repeated or result.counters["extended_steps"] == 0
