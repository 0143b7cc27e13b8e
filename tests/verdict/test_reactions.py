"""Reactions: hand calculations, balance of every body, what is unique and what is shared."""

import numpy as np
import pytest

from builders import bricard, in_plane_of, n_four_bar, pendulum, rotation
from linkages import bennett, copy_of, door, goldberg, stewart, triangle
from random_mechanisms import random_mechanism
from sarrus import Mechanism, simulate

# accelerations carry the rounding of a solve; reactions that of one more
ROUND_OFF = 1e-11


@pytest.mark.parametrize("inertia", [0.0, 0.4])
def test_pendulum_pin(inertia):
    """Pin force along the arm = m g cos(angle) + m w^2 r; across it as the angular acceleration says."""
    mass, length, g = 1.3, 0.9, 9.81
    m = pendulum(0.7, mass, length, inertia)
    m.set_angular_velocity("bob", 2.0)
    result = simulate(m, 2.0, 0.05)
    reaction = result.reaction("pin")
    bob = result.position("bob")
    angle = np.arctan2(bob[:, 0], -bob[:, 1])
    speed2 = np.sum(result.velocity("bob") ** 2, axis=1)
    inward = -bob / length
    along = np.sum(reaction.force * inward, axis=1)
    assert np.allclose(along, mass * g * np.cos(angle) + mass * speed2 / length, rtol=0, atol=1e-11)
    across = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turn = -mass * g * length * np.sin(angle) / (inertia + mass * length**2)
    expected = mass * length * turn + mass * g * np.sin(angle)
    assert np.allclose(np.sum(reaction.force * across, axis=1), expected, rtol=0, atol=1e-11)
    assert reaction.force_unique.all()
    assert reaction.body == "bob"
    assert np.allclose(result.reaction("pin", "ground").force, -reaction.force, rtol=0, atol=0)


def test_spatial_pendulum_about_a_tilted_hinge():
    """A rod turning about a fixed hinge: the joint carries its weight and its inertia."""
    R = rotation(5)
    m = Mechanism("hinged", gravity=R @ (0.0, -9.81, 0.0))
    m.body("plate", 2.0, R @ (0.5, 0.2, 0.1), R @ np.diag([0.3, 0.2, 0.4]) @ R.T)
    m.revolute("hinge", m.ground, "plate", at=(0, 0, 0), axis=R @ (0.0, 0.0, 1.0))
    m.set_angular_velocity("plate", 3.0 * R[:, 2])
    result = simulate(m, 1.0, 0.1)
    reaction = result.reaction("hinge")
    expected = 2.0 * (result.acceleration("plate") - m.gravity)
    assert np.allclose(reaction.force, expected, rtol=0, atol=1e-10)
    # nothing about the axis of the hinge
    assert np.abs(reaction.moment @ R[:, 2]).max() < 1e-10
    # about the others the rate of the angular momentum, minus the moment of the weight
    p, v, a = (getattr(result, k)("plate") @ R for k in ("position", "velocity", "acceleration"))
    radius2 = 0.5**2 + 0.2**2
    turned = np.arctan2(p[:, 1], p[:, 0]) - np.arctan2(0.2, 0.5)
    w = (p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0]) / radius2
    w1 = (p[:, 0] * a[:, 1] - p[:, 1] * a[:, 0]) / radius2
    arm = np.array([0.5, 0.2, 0.1])
    about_joint = np.diag([0.3, 0.2, 0.4]) + 2.0 * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    for t, angle in enumerate(turned):
        c, s = np.cos(angle), np.sin(angle)
        Z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        I = Z @ about_joint @ Z.T  # noqa: E741
        spin = np.array([0.0, 0.0, w[t]])
        rate = I @ (0.0, 0.0, w1[t]) + np.cross(spin, I @ spin)
        expected = rate - np.cross(p[t], 2.0 * np.array([0.0, -9.81, 0.0]))
        assert np.allclose(reaction.moment[t] @ R, expected, rtol=0, atol=1e-10)
    assert reaction.force_unique.all()
    assert reaction.moment_unique.all()
    assert [c.kind for c in reaction.components] == ["along"] * 3 + ["about"] * 2


def test_triangle_by_hand():
    """Two rods leaning on each other: each foot carries a rod, and thrusts with half its weight."""
    result = simulate(triangle(), 0.1, 0.1)
    weight = 9.81
    assert np.allclose(result.reaction("A").force, (0.5 * weight, weight), rtol=0, atol=1e-12)
    assert np.allclose(result.reaction("C").force, (-0.5 * weight, weight), rtol=0, atol=1e-12)
    assert np.allclose(result.reaction("B", "right").force, (0.5 * weight, 0), rtol=0, atol=1e-12)
    assert result.reaction("B").force_unique.all()


def test_four_bar_by_hand():
    """Parallelogram: both cranks carry half of the coupler, F = m (a - g) / 2 at each end."""
    m = n_four_bar(1, speed=2.0)
    result = simulate(m, 2.0, 0.01)
    coupler = 0.5 * (result.acceleration("coupler0") - m.gravity)
    crank = result.acceleration("crank0") - m.gravity
    # towards the flat configuration reactions grow like one over the distance from it, and so does rounding
    far = np.abs(result.position("B0")[:, 1]) > 0.05
    for joint in ("B0", "B1"):
        force = result.reaction(joint, "coupler0").force
        assert np.allclose(force[far], coupler[far], rtol=0, atol=1e-9)
    foot = result.reaction("A0").force
    assert np.allclose(foot[far], (coupler + crank)[far], rtol=0, atol=1e-9)


def test_joint_of_three_bodies():
    """At a pin of three bodies the forces on them sum to zero."""
    result = simulate(n_four_bar(2), 0.5, 0.1)
    parts = [result.reaction("B1", b).force for b in ("crank1", "coupler0", "coupler1")]
    assert np.abs(sum(parts)).max() < 1e-12
    assert np.array_equal(result.reaction("B1").force, parts[1])


@pytest.mark.parametrize("R", [np.eye(3), rotation(4)])
def test_door_on_three_hinges(R):
    """The sum along the hinge line is the weight, each single axial force is shared."""
    m = door(R=R)
    result = simulate(m, 0.5, 0.1)
    up = R[:, 2]
    hinges = [result.reaction(f"H{i}") for i in range(3)]
    total = sum(h.force for h in hinges)
    assert np.allclose(total @ up, 20.0 * 9.81, rtol=1e-12)
    for h in hinges:
        assert h.components[0].kind == "along"
        # an axis is written with its largest part positive
        upwards = h.components[0].directions @ up
        assert np.allclose(np.abs(upwards), 1.0)
        assert not h.components[0].unique.any()
        # of least norm: the weight is spread evenly
        assert np.allclose(h.components[0].values * upwards, 20.0 * 9.81 / 3, rtol=1e-10)


def test_door_on_two_balls():
    """On two balls only the axial forces are shared: the side forces follow from the moments."""
    result = simulate(door((0.2, 1.8), kind="spherical"), 0.5, 0.1)
    low, high = result.reaction("H0"), result.reaction("H1")
    for h in (low, high):
        assert h.force_unique[:, :2].all()
        assert not h.force_unique[:, 2].any()
        assert "force z up to 98.1 N, shared" in str(h)
    # at rest the weight at 0.4 m is balanced by a couple over 1.6 m
    assert np.isclose(high.force[0, 0], -20.0 * 9.81 * 0.4 / 1.6, rtol=1e-12)
    assert np.isclose(low.force[0, 0], 20.0 * 9.81 * 0.4 / 1.6, rtol=1e-12)
    assert np.allclose(low.force[:, 2] + high.force[:, 2], 20.0 * 9.81)


def test_planar_mechanism_in_space():
    """In space the forces in the plane stay unique and the same; those across it are shared."""
    flat = simulate(n_four_bar(2), 1.0, 0.1)
    deep = simulate(n_four_bar(2, plane_to_space=in_plane_of()), 1.0, 0.1)
    for joint in ("A0", "A1", "B0", "B2"):
        a, b = flat.reaction(joint), deep.reaction(joint)
        assert np.allclose(a.force, b.force[:, :2], rtol=0, atol=1e-9)
        assert b.force_unique[:, :2].all()
        assert not b.force_unique[:, 2].any()
        assert not b.moment_unique[:, :2].any()
        # nothing acts across the plane: of least norm is nothing
        assert np.abs(b.force[:, 2]).max() < 1e-9


@pytest.mark.parametrize("build", [bricard, bennett, goldberg, door, lambda: bricard(0.0)])
def test_reactions_in_other_units(build):
    """Millimetres and tonnes: the same forces, moments times 1000, the same flags; shared or not."""
    m = build()
    one = simulate(m, 0.4, 0.1)
    other = simulate(copy_of(m, length=1000.0, mass=1e-3), 0.4, 0.1)
    for joint in one.joint_equations.joints:
        a, b = one.reaction(joint), other.reaction(joint)
        size = np.abs(a.force).max() + np.abs(a.moment).max()
        assert np.allclose(a.force, b.force, rtol=0, atol=1e-8 * size)
        assert np.allclose(a.moment, b.moment / 1000.0, rtol=0, atol=1e-8 * size)
        assert np.array_equal(a.force_unique, b.force_unique)
        assert np.array_equal(a.moment_unique, b.moment_unique)


@pytest.mark.parametrize("build", [bricard, bennett, door, lambda: stewart(0.3)])
def test_every_body_is_balanced(build):
    """Newton and Euler hold for every body to rounding, also with dependent equations."""
    result = simulate(build(), 1.0, 0.05)
    assert result.reactions.imbalance.max() < ROUND_OFF


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_mechanisms_are_balanced(dimension):
    """The same for random trees and loops of rods, plates, points and welds."""
    for seed in range(40):
        result = simulate(random_mechanism(seed, dimension, crowded=seed % 2 == 0), 0.2, 0.1)
        assert result.reactions.imbalance.max(initial=0.0) < 1e-9, f"seed {seed}"


@pytest.mark.slow
def test_dense_and_sparse_reactions(monkeypatch):
    """The two ways to solve give the same reactions and flags."""
    from sarrus.verdict import joint_wrenches

    for build in (lambda: n_four_bar(3), bricard, bennett, door):
        found = []
        for limit in (10_000, 0):
            monkeypatch.setattr(joint_wrenches, "SPARSE", limit)
            found.append(simulate(build(), 0.3, 0.1))
            # solved here, under this limit
            assert len(found[-1].reactions.values)
        for joint in found[0].joint_equations.joints:
            a, b = (result.reaction(joint) for result in found)
            # the smallest value is an estimate, over rows that are not orthonormal
            assert np.abs(np.log10(a.smallest / b.smallest)).max() < 1
            assert np.allclose(a.force, b.force, rtol=0, atol=1e-9)
            assert np.allclose(a.moment, b.moment, rtol=0, atol=1e-9)
            assert np.array_equal(a.force_unique, b.force_unique)


def test_large_mechanism():
    """N = 100 has the reactions of a row of parallelograms: its middle feet are alike."""
    result = simulate(n_four_bar(100), 0.3, 0.1)
    assert result.reactions.imbalance.max() < 1e-9
    a, b = result.reaction("A40"), result.reaction("A60")
    assert np.allclose(a.force, b.force, rtol=0, atol=1e-7)
    assert a.force_unique.all()


def test_bodies_without_joints():
    """Nothing holds them: there are no reactions, and nothing is left, in a fall or in a free spin."""
    for gravity in (0.0, 9.81):
        m = Mechanism("free", gravity=(0.0, 0.0, -gravity))
        m.body("racket", 1.0, (0.0, 0.0, 0.0), (0.1, 0.2, 0.25))
        m.set_angular_velocity("racket", (0.1, 3.0, 0.2))
        found = simulate(m, 3.0, 0.1).reactions
        assert found.values.shape == (31, 0)
        # rounding of moments that cancel
        assert found.imbalance.max() < 1e-13


def test_unknown_names():
    """A wrong name is answered with the names there are."""
    result = simulate(pendulum(), 0.1, 0.1)
    with pytest.raises(KeyError, match="no joint is called 'nail'; known: 'pin'"):
        result.reaction("nail")
    with pytest.raises(KeyError, match="known: 'ground', 'bob'"):
        result.reaction("pin", "clock")
