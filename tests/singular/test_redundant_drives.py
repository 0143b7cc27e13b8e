"""Driven linkages that are redundant and regular throughout: which equation depends on the others may change.

Such a change is no singular configuration: every output is projected and has its drive's force.
"""

import numpy as np
import pytest

from builders import bricard, rotation
from linkages import bennett, copy_of, goldberg, myard, sarrus_linkage
from random_mechanisms import random_mechanism
from sarrus import Mechanism, Polynomial, Sine, simulate

CASES = {
    **{
        f"Myard {seed} {joint}": (
            lambda seed=seed: myard(np.random.default_rng(seed)), joint, Sine(0.5, 0.3), 4.0
        )
        for seed in range(3) for joint in ("J0", "J2")
    },
    "Bennett": (bennett, "J0", Polynomial((0.0, 1.0)), 6.0),
    "Goldberg": (goldberg, "J0", Sine(0.3, 0.4), 1.2),
    "Goldberg with a joint twice": (lambda: copy_of(goldberg(), double="J2"), "J0", Sine(0.3, 0.4), 1.2),
    "Sarrus": (sarrus_linkage, "A0", Sine(0.3, 0.4), 3.0),
    "Sarrus with a joint twice": (lambda: copy_of(sarrus_linkage(), double="B1"), "A0", Sine(0.3, 0.4), 3.0),
    "Bricard": (lambda: bricard(0.1), "P0", Sine(0.3, 0.4), 3.0),
}  # fmt: skip


@pytest.mark.slow
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


# random mechanisms of which one joint is driven: equations of its angle and of the bodies' own shape depend on
# each other, and give each other their parts several times
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "sliding", "joint", "motion"),
    [
        (1025, False, "j3", (0.0, -0.9, -0.72)),
        (2189, False, "j4", (0.0, -0.1, 0.175)),
        (2367, True, "j0", (0.0, 0.43, -0.8)),
        (2397, False, "j2", (0.0, -1.26, -0.022)),
    ],
)
def test_parts_that_are_given_back(seed, sliding, joint, motion):
    """An equation that was independent for a moment is not missed afterwards: no output counts as singular."""
    m = random_mechanism(seed, 3, sliding=sliding)
    m.drive("motor", joint, Polynomial(motion))
    for turn in (0, 4, seed):
        result = simulate(copy_of(m, R=rotation(turn)), 1.5, 0.05)
        assert result.status == "done", result.message
        assert not np.isnan(result.record.drive_forces).any()


@pytest.mark.parametrize("seed", range(3))
def test_drives_that_share_a_load(seed):
    """Equal cranks driven alike: their torques sum up to what the weight requires, in equal parts, as flagged."""
    rng = np.random.default_rng(seed)
    cranks, angle, rate = int(rng.integers(2, 5)), rng.uniform(0, 6), rng.uniform(0.5, 2)
    top, out = np.array([np.cos(angle), np.sin(angle)]), np.array([1.0, 0.0])
    m = Mechanism("cranks")
    m.rod("top", top, top + cranks * out, mass=2.0)
    for k in range(cranks):
        m.rod(f"crank{k}", (k, 0), top + k * out, mass=1.0)
        m.revolute(f"A{k}", m.ground, f"crank{k}", at=(k, 0))
        m.revolute(f"B{k}", f"crank{k}", "top", at=top + k * out)
        m.drive(f"motor{k}", f"A{k}", Polynomial((0.0, rate * (1 + 1e-13 * k))))
    result = simulate(m, 3.0, 0.01)
    assert result.status == "done", result.message
    torques = np.array([result.drive_force(f"motor{k}") for k in range(cranks)])
    wanted = (0.5 * cranks + 2.0) * 9.81 * np.cos(angle + rate * result.times)
    # at an even rate inertia requires nothing; some 50 N m
    np.testing.assert_allclose(torques.sum(axis=0), wanted, atol=1e-9)
    for k in range(cranks):
        share = result.reaction(f"motor{k}").components[0]
        assert not share.unique.any()
        np.testing.assert_array_equal(torques[k], share.values)
