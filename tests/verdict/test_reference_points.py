"""The point that reactions are stated about: `position(joint)`, whichever body is named second."""

import numpy as np
import pytest

import sarrus
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, simulate

KINDS = ("prismatic", "cylindrical", "planar", "rectangular", "point_on_line", "point_on_plane")


@pytest.mark.parametrize("dimension", [2, 3])
def test_block_on_a_level_rail(dimension):
    """A block that slides on a level rail presses on it by its weight, without a moment, wherever it is."""
    flat = dimension == 2
    m = Mechanism("rail", gravity=(0.0, -9.81) if flat else (0.0, 0.0, -9.81))
    at = (0.0,) * dimension
    m.body("block", 2.0, at, 0.1 if flat else 0.1 * np.eye(3))
    m.prismatic("rail", "block", m.ground, at=at, axis=(1.0, *at[1:]))
    m.set_velocity("rail", (2.0, *at[1:]))
    result = simulate(m, 1.0, 0.25)
    for body, sign in (("block", 1.0), ("ground", -1.0)):
        reaction = result.reaction("rail", body)
        np.testing.assert_allclose(reaction.force[:, -1], sign * 19.62, rtol=1e-12)
        np.testing.assert_allclose(reaction.moment, 0.0, atol=1e-11)
    assert all(
        np.abs(c.values).max() < 1e-11
        for c in result.reaction("rail").components
        if c.kind == "about"
    )


def guided(kind, rng, ground_second):
    """A body on one joint to the ground, with a velocity that it allows."""
    m = Mechanism(kind, gravity=(0.0, 0.0, -9.81))
    at, axis = rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    m.body("body", 1.5, rng.uniform(-0.5, 0.5, 3), turn @ np.diag([0.2, 0.25, 0.3]) @ turn.T)
    bodies = ("body", m.ground) if ground_second else (m.ground, "body")
    flat = kind in ("planar", "rectangular", "point_on_plane")
    getattr(m, kind)("joint", *bodies, at=at, **{"normal" if flat else "axis": axis})
    return m


@pytest.mark.parametrize("kind", KINDS)
def test_reactions_on_sliding_bodies(kind):
    """Newton and Euler about the joint's point: the moment there turns the body, whoever is named second."""
    for seed in range(4):
        for second in (False, True):
            m = guided(kind, np.random.default_rng(seed), second)
            result = simulate(m, 0.5, 0.1)
            reaction = result.reaction("joint", "body")
            force, moment = reaction.force, reaction.moment
            body = m.bodies[0]
            R = result.orientation("body")
            inertia = R @ body.inertia @ np.swapaxes(R, 1, 2)
            w, w1 = result.angular_velocity("body"), result.angular_acceleration("body")
            spin = np.einsum("tij,tj->ti", inertia, w)
            turning = np.einsum("tij,tj->ti", inertia, w1) + np.cross(w, spin)
            arm = result.position("joint") - result.position("body")
            pushed = body.mass * (result.acceleration("body") - m.gravity)
            size = np.abs(pushed).max()
            np.testing.assert_allclose(force, pushed, atol=1e-9 * size)
            np.testing.assert_allclose(moment + np.cross(arm, force), turning, atol=1e-9 * size)


@pytest.mark.slow
def test_random_linkages_are_balanced_by_public_reactions():
    """Forces at the joints' points and moments about them balance every body of random linkages with sliders."""
    rejected, moved = {}, 0
    for seed in range(100, 150):
        try:
            result = simulate(random_mechanism(seed, 3, sliding=True), 0.3, 0.1)
        except MechanismError as error:
            rejected[seed] = str(error)
            continue
        check = sarrus.audit(result).checks[0]
        assert check.name == "Newton-Euler"
        assert check.holds, f"seed {seed}: {check}"
        # the equations refer to another point than the reactions: only such linkages can fail
        moved += bool(np.abs(result.reactions.offsets).max() > 1e-3)
    assert moved >= 5
    assert len(rejected) <= 5, rejected
