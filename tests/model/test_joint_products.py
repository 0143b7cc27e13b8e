"""What joints add to the model: shared directions, and products that stay along every motion they allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import rotation
from joint_motions import AT, SPATIAL, two_bodies
from sarrus import Mechanism
from sarrus.mechanism import JointKind
from sarrus.model.joint_constraints import (
    Direction,
    carrier,
    directions_across,
    kept_products,
    own_axes,
    shared_axes,
)

WORDS = [kind for kind in SPATIAL if kind not in ("weld",)]


def joint_of(kind):
    """A joint of two bodies in space."""
    return two_bodies(3, kind).joints[0]


def factor_value(factor, place, turned):
    """A factor after each body has moved: its points and its directions by name."""
    if isinstance(factor, Direction):
        return turned[factor.body] @ factor.start
    return place[factor.second](factor.second_at) - place[factor.first](factor.first_at)


@pytest.mark.parametrize("kind", WORDS)
def test_products_stay_along_the_motions_of_the_joint(kind):
    """Kept products and shared directions / the relative motions written by hand for the judge."""
    joint = joint_of(kind)
    count, motion = SPATIAL[kind]
    rng = np.random.default_rng(7)
    products = kept_products(joint)
    start = joint.places[1]
    identity = {"a": np.eye(3), "b": np.eye(3)}
    at_rest = {name: (lambda p: p) for name in identity}
    for _ in range(5):
        point, R = motion(*rng.uniform(-0.7, 0.7, count))
        whole, shift = rotation(11), np.array([0.4, -2.0, 0.3])

        def first(p, whole=whole, shift=shift):
            return whole @ p + shift

        def second(p, whole=whole, shift=shift, point=point, R=R):
            return whole @ (point + R @ (p - start)) + shift

        place, turned = {"a": first, "b": second}, {"a": whole, "b": whole @ R}
        for one, other in products:
            before = factor_value(one, at_rest, identity) @ factor_value(other, at_rest, identity)
            after = factor_value(one, place, turned) @ factor_value(other, place, turned)
            assert after == pytest.approx(before, abs=1e-14)
        for axis in shared_axes(joint):
            np.testing.assert_allclose(turned["a"] @ axis, turned["b"] @ axis, atol=1e-14)
        if "point" in joint.kind.row.shares:
            np.testing.assert_allclose(first(joint.at), second(joint.at), atol=1e-14)


@pytest.mark.parametrize("kind", WORDS)
def test_products_change_with_what_the_joint_forbids(kind):
    """As many independent rates as the kind keeps: no equation is empty or said twice."""
    joint = joint_of(kind)
    products = kept_products(joint)
    rates = []
    for k in range(6):
        # a unit twist of the second body, by central differences
        values = []
        for h in (-1e-6, 1e-6):
            w, v = np.zeros(3), np.zeros(3)
            (w if k < 3 else v)[k % 3] = h
            K = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
            R = np.eye(3) + K
            place = {"a": lambda p: p, "b": lambda p, R=R, v=v: AT + R @ (p - AT) + v}
            turned = {"a": np.eye(3), "b": R}
            values.append(
                [
                    factor_value(a, place, turned) @ factor_value(b, place, turned)
                    for a, b in products
                ]
            )
        rates.append((np.array(values[1]) - values[0]) / 2e-6)
    assert np.linalg.matrix_rank(np.array(rates), tol=1e-6) == len(products)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]))
def test_directions_across_complete_a_frame(seed, dimension):
    """Orthonormal, right-handed in space."""
    z = np.random.default_rng(seed).normal(size=dimension)
    z /= np.linalg.norm(z)
    frame = np.array([z, *directions_across(z)])
    np.testing.assert_allclose(frame @ frame.T, np.eye(dimension), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1.0)


@pytest.mark.parametrize("k", range(3))
def test_directions_across_a_coordinate_axis_are_coordinate_axes(k):
    """Equations then have few terms."""
    across = np.array(directions_across(np.eye(3)[k]))
    assert sorted(np.abs(across).ravel()) == [0, 0, 0, 0, 1, 1]


def test_the_ground_carries_what_both_bodies_share():
    """Directions that bodies have in common are written in the ground, if it is one: linear equations."""
    m = Mechanism("sliding", gravity=(0, 0, -9.81))
    m.body("a", 1.0, (0, 0, 0), (1, 1, 1))
    at = (0.0, 0.0, 0.0)
    made = [
        m.prismatic("P", "a", m.ground, at=at, axis=(1, 0, 0)),
        m.planar("F", "a", m.ground, at=at, normal=(1, 0, 0)),
        m.rectangular("X", "a", m.ground, at=at, normal=(1, 0, 0)),
        m.cylindrical("C", "a", m.ground, at=at, axis=(1, 0, 0)),
        m.point_on_line("L", "a", m.ground, at=at, axis=(1, 0, 0)),
        m.point_on_plane("Q", "a", m.ground, at=at, normal=(1, 0, 0)),
    ]
    assert [carrier(j) for j in made] == ["ground", "ground", "ground", "a", "a", "a"]


def test_a_cross_has_an_axis_in_each_body():
    """They are no common axes, but good vectors for the frames."""
    joint = joint_of("universal")
    assert shared_axes(joint) == []
    (a, u), (b, w) = own_axes(joint)
    assert (a, b) == ("a", "b")
    np.testing.assert_allclose(np.cross(u, joint.ends[0].axis), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.cross(w, joint.ends[1].axis), 0.0, atol=1e-15)
    assert [k for k in WORDS if own_axes(joint_of(k))] == ["universal"]


def test_a_square_is_known_as_one():
    """The two factors of a link's product are one vector: its equation is a square."""
    ((one, other),) = kept_products(joint_of("distance"))
    assert one is other


def test_every_word_of_a_row_is_understood():
    """No kind keeps or shares what the model does not read."""
    words = {word for kind in JointKind for pair in kind.row.keeps for word in pair}
    shares = {word for kind in JointKind for word in kind.row.shares}
    assert words == {"arm", "axis", "second axis", "across"}
    assert shares == {"point", "axis", "directions", "everything"}
