"""Spins that a mechanism cannot have: bodies without inertia about an axis that no joint fixes."""

import numpy as np
import pytest

from sarrus import Mechanism, simulate


def with_bead(inertia=None):
    """A bead on a ball joint at its centre, at the end of an arm; it is to spin."""
    m = Mechanism("bead", gravity=(0.0, 0.0, -9.81))
    m.body("arm", 1.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.1, 0.1]))
    m.revolute("A", m.ground, "arm", at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    if inertia is None:
        m.body("bead", 0.5, (1.0, 0.0, 0.0))
    else:
        m.body("bead", 0.5, (1.0, 0.0, 0.0), inertia)
    m.spherical("S", "arm", "bead", at=(1.0, 0.0, 0.0))
    m.set_angular_velocity("bead", (0.0, 0.0, 3.0))
    return m


def test_a_body_without_inertia_does_not_spin():
    """The spin given to a point mass on a ball joint is reported as without effect, and reads as zero."""
    result = simulate(with_bead(), 0.5, 0.1)
    assert any(
        "'bead'" in note and "(0, 0, 3) rad/s has no effect" in note for note in result.notes
    )
    np.testing.assert_array_equal(result.angular_velocity("bead"), np.zeros((6, 3)))
    np.testing.assert_array_equal(result.angular_acceleration("bead"), np.zeros((6, 3)))


def test_a_body_with_inertia_spins():
    """The same body with inertia has the spin, and no note."""
    result = simulate(with_bead(0.01 * np.eye(3)), 0.5, 0.1)
    np.testing.assert_allclose(result.angular_velocity("bead"), [[0.0, 0.0, 3.0]] * 6, atol=1e-9)
    assert not any("has no effect" in note for note in result.notes)


@pytest.mark.parametrize("along", [0.0, 2.0])
def test_a_thin_rod_has_no_spin_about_itself(along):
    """Of the spin of a thin rod on a ball joint the part about its own axis is reported as without effect."""
    m = Mechanism("rod", gravity=(0.0, 0.0, -9.81))
    m.rod("rod", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), mass=1.0)
    m.spherical("S", m.ground, "rod", at=(0.0, 0.0, 0.0))
    m.set_angular_velocity("rod", (along, 0.0, 1.0))
    result = simulate(m, 0.2, 0.1)
    noted = [note for note in result.notes if "has no effect" in note]
    assert len(noted) == (along != 0.0)
    np.testing.assert_allclose(result.angular_velocity("rod")[0], [0.0, 0.0, 1.0], atol=1e-12)
