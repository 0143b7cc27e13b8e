"""Bodies moved with all that belongs to them; joints whose places are apart."""

import numpy as np
import pytest

from builders import rotation
from sarrus import Mechanism
from sarrus.mechanism import Move, find_gaps, measure_apart, move_bodies


def everything():
    """A mechanism with every kind of joint and load, bodies a and b moving."""
    m = Mechanism("all", gravity=(0, 0, -9.81))
    m.rod("a", (0, 0, 0), (1, 0, 0), mass=1, section=0.1)
    m.body("b", 2.0, (1, 1, 0.2), np.diag([0.3, 0.4, 0.5]))
    m.point("tip", "a", (0.7, 0, 0))
    m.revolute("R", "a", "b", at=(1, 0, 0), axis=(0, 0, 2))
    m.spherical("S", "a", "b", at=(0.5, 0, 0))
    m.weld("W", "a", "b", at=(1, 0, 0))
    m.weld("V", "a", "b")
    m.prismatic("P", "a", "b", at=(0.2, 0, 0), axis=(1, 0, 0))
    m.cylindrical("C", "a", "b", at=(0.2, 0, 0), axis=(1, 0, 0))
    m.universal("U", "a", "b", at=(1, 0, 0), axis=(0, 1, 0), second_axis=(0, 0, 1))
    m.planar("F", "a", "b", at=(1, 0, 0), normal=(0, 0, 1))
    m.rectangular("X", "a", "b", at=(1, 0, 0), normal=(0, 0, 1))
    m.point_on_line("L", "a", "b", at=(1, 0, 0), axis=(1, 0, 0))
    m.point_on_plane("Q", "a", "b", at=(1, 0, 0), normal=(1, 0, 1))
    m.distance("D", "a", "b", start=(0, 0, 0), end=(1, 1, 0))
    m.force("f", "a", at=(1, 0, 0), vector=(0, 1, 0), fixed_in="body")
    m.torque("t", "b", (0, 1, 0), fixed_in="body")
    m.spring("s", "a", "b", start=(0, 0, 0), end=(1, 1, 1), stiffness=1.0)
    return m


@pytest.mark.parametrize("closed", [True, False])
def test_one_motion_for_all(closed):
    """All bodies moved by one rigid motion / the mechanism written there."""
    m = everything()
    T, d = rotation(5), np.array([0.3, -2.0, 1.0])

    def place(p):
        return T @ p + d

    moves = {b.name: Move(b.center, T, place(b.center)) for b in m.bodies}
    moved = move_bodies(m, moves, closed=closed)
    for a, b in zip(m.joints, moved.joints, strict=True):
        if a.at is not None:
            assert np.allclose(b.at, place(a.at), atol=1e-15)
        for one, other in zip(a.ends, b.ends, strict=True):
            assert one.body == other.body
            assert (one.axis is None) == (other.axis is None)
            assert one.axis is None or np.allclose(other.axis, T @ one.axis, atol=1e-15)
        assert measure_apart(b).metres < 1e-15
        assert measure_apart(b).radians < 1e-15
    assert np.allclose(moved.joints[-1].places, [place(p) for p in m.joints[-1].places])
    for a, b in zip(m.bodies, moved.bodies, strict=True):
        assert np.allclose(b.center, place(a.center), atol=1e-15)
        assert np.allclose(b.inertia, T @ a.inertia @ T.T, atol=1e-15)
    assert np.allclose(moved.bodies[0].ends, [place(e) for e in m.bodies[0].ends], atol=1e-15)
    assert np.allclose(moved.markers[0].at, place(m.markers[0].at), atol=1e-15)
    assert np.allclose(moved.forces[0].at, place(m.forces[0].at), atol=1e-15)
    assert np.allclose(moved.forces[0].vector, T @ m.forces[0].vector, atol=1e-15)
    assert np.allclose(moved.torques[0].vector, T @ m.torques[0].vector, atol=1e-15)
    assert np.allclose(moved.springs[0].ends, [place(e) for e in m.springs[0].ends], atol=1e-15)
    # bodies of the new mechanism belong to it
    moved.point("more", moved.bodies[0], moved.bodies[0].center)


def test_gaps_of_sliding_joints():
    """Along a line or plane places may be apart; across it they are open by that distance."""
    offset = np.array([0.3, 0.4, 1.2])
    for kind, gap in (
        ("revolute", 1.3),
        ("prismatic", np.hypot(0.4, 1.2)),
        ("cylindrical", np.hypot(0.4, 1.2)),
        ("point_on_line", np.hypot(0.4, 1.2)),
        ("planar", 0.3),
        ("rectangular", 0.3),
        ("point_on_plane", 0.3),
    ):
        m = Mechanism("sliding", gravity=(0, 0, -9.81))
        m.body("b", 1.0, (0, 0, 0), (1, 1, 1))
        word = "normal" if "plan" in kind or kind == "rectangular" else "axis"
        join = getattr(m, kind)
        join("J", m.ground, "b", at=[np.zeros(3), offset], **{word: (2.0, 0, 0)})
        assert np.isclose(measure_apart(m.joints[0]).metres, gap)
        assert f"by {gap:.6g} m" in find_gaps(m)[0]
        # what is left along the line or in the plane is no gap
        along = offset * (0, 1, 1) if gap == 0.3 else offset * (1, 0, 0)
        m.joints.clear()
        join("J", m.ground, "b", at=[np.zeros(3), along], **{word: (2.0, 0, 0)})
        assert bool(find_gaps(m)) == (kind == "revolute")


def test_rounding_is_no_gap():
    """Places that differ by rounding, near and far from the origin, are one place."""
    for far in (0.0, 1e6):
        m = Mechanism("pin")
        at = np.array([0.1 + far, 0.2])
        m.rod("r", at, at + np.array([1.0, 0.0]), mass=1)
        m.revolute("A", m.ground, "r", at=[at, at + 2e-16 * (1 + far)])
        m.check()
        m.joints.clear()
        m.revolute("A", m.ground, "r", at=[at + 1e-8, at])
        assert "'A'" in find_gaps(m)[0]
