"""Driven linkages that are redundant and regular throughout: which equation depends on the others may change.

Such a change is no singular position: every output is projected and has its drive's force.
"""

import numpy as np
import pytest

from builders import bricard
from linkages import bennett, copy_of, goldberg, myard, sarrus_linkage
from sarrus import Polynomial, Sine, simulate

CASES = {
    **{f"Myard {twist} {joint}": (lambda twist=twist: myard(twist), joint, Polynomial((0.0, 1.0)), 6.0)
       for twist in (0.7, 1.0, 1.2) for joint in ("J0", "J2")},
    "Bennett": (bennett, "J0", Polynomial((0.0, 1.0)), 6.0),
    "Goldberg": (goldberg, "J0", Sine(0.3, 0.4), 3.0),
    "Goldberg with a joint twice": (lambda: copy_of(goldberg(), double="J2"), "J0", Sine(0.3, 0.4), 3.0),
    "Sarrus": (sarrus_linkage, "A0", Sine(0.3, 0.4), 3.0),
    "Sarrus with a joint twice": (lambda: copy_of(sarrus_linkage(), double="B1"), "A0", Sine(0.3, 0.4), 3.0),
    "Bricard": (lambda: bricard(0.1), "P0", Sine(0.3, 0.4), 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_output_has_its_force(name):
    """No force is missing, loops are closed, and the power of the drive is what the energy gains."""
    build, joint, motion, duration = CASES[name]
    m = build()
    m.drive("motor", joint, motion)
    result = simulate(m, duration, 0.01)
    assert result.status == "done", result.message
    assert np.all(np.isfinite(result.drive_force("motor")))
    assert result.crossings == result.near_singular == ()
    # projected to rounding, some lengths of 1 m
    assert result.violation().max() < 1e-14
    # the tolerance, and energies of up to 100 J
    assert result.energy_drift < 1e-8
