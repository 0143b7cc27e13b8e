"""Statics by hand: slider-crank, truss with a tie and a spring, doors on elastic hinges."""

import numpy as np
import pytest

from builders import bricard, rotation
from linkages import copy_of, door, slider_crank
from sarrus import Mechanism
from sarrus.kinematics.configuration import Pose
from sarrus.verdict.applied_wrenches import BodyMotion, make_body_loads
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.joint_wrenches import row_stiffness, solve_wrenches
from sarrus.verdict.reactions import SHARED, UNBOUNDED, UNDETERMINED, UNIQUE, Reactions


def statics(m, stiffness=None):
    """Reactions of a mechanism at rest in its start position."""
    equations = make_joint_equations(m)
    pose, n = equations.start(), len(m.bodies)
    none = np.zeros((1, n, 3))
    motion = BodyMotion(np.zeros(1), pose.centers[None], pose.turns[None], none, none, none, none)
    forces = -make_body_loads(m, equations).wrenches(motion)[0]
    forces[:, :3] -= equations.masses[:, None] * equations.gravity
    stiff = None if stiffness is None else row_stiffness(equations, stiffness)
    found = solve_wrenches(equations, alone(pose), forces[None], stiff)
    return Reactions(
        equations,
        found.values,
        equations.directions(pose)[None],
        found.offsets,
        found.self_stress,
        found.smallest,
        found.imbalance,
        sharing="least norm" if stiff is None else "stiffness",
        unresolved=np.zeros(1, dtype=bool),
        poles=(),
        at_pole=np.array([-1]),
    )


def alone(pose):
    """One pose as a stack of one."""
    return Pose(pose.centers[None], pose.turns[None])


@pytest.mark.parametrize("angle", [0.4, 1.2, 2.5, -1.9])
def test_slider_crank_by_hand(angle):
    """Force on the piston / torque of the drive, side force, force along the rod."""
    m = slider_crank(angle)
    push = 50.0
    m.force("gas", "piston", at=m.bodies[2].center, vector=(-push, 0.0))
    found = statics(m)
    lean = np.arcsin(0.3 * np.sin(angle) / 1.0)
    # virtual work: T d(angle) = F dx, dx/d(angle) = -r sin(angle + lean) / cos(lean)
    torque = -push * 0.3 * np.sin(angle + lean) / np.cos(lean)
    motor = found.of("motor")
    assert motor.body == "crank"
    assert np.isclose(motor.moment[0], torque, rtol=1e-13)
    assert np.isclose(motor.components[0].values[0], torque, rtol=1e-13)
    assert not motor.force.any()
    assert np.isclose(found.of("motor", "ground").moment[0], -torque, rtol=1e-13)
    # the rod pushes along itself; the guide holds the piston across
    along = push / np.cos(lean) * np.array([np.cos(lean), -np.sin(lean)])
    assert np.allclose(found.of("C").force[0], along, rtol=1e-12)
    assert np.allclose(found.of("P").force[0], (0.0, push * np.tan(lean)), atol=1e-12)
    assert np.isclose(found.of("P").moment[0], 0.0, atol=1e-12)
    # the hinge of the drive carries the rod's force, and no moment
    assert np.allclose(found.of("A").force[0], along, rtol=1e-12)
    assert found.of("A").moment[0] == 0.0
    assert found.imbalance[0] < 1e-14


def test_driven_piston():
    """The same driven at the piston: the torque on the crank is balanced by the force of the drive."""
    m = slider_crank(0.9)
    m.drives.clear()
    m.drive("ram", "P", 0.0)
    m.torque("load", "crank", 4.0)
    found = statics(m)
    lean = np.arcsin(0.3 * np.sin(0.9))
    force = 4.0 / (0.3 * np.sin(0.9 + lean) / np.cos(lean))
    ram = found.of("ram")
    # its axis points to -x
    assert np.isclose(ram.components[0].values[0], -force, rtol=1e-13)
    assert np.allclose(ram.force[0], (force, 0.0), rtol=1e-13)
    assert ram.components[0].kind == "along"


@pytest.mark.parametrize("preload", [0.0, 30.0])
def test_truss_with_tie_and_spring(preload):
    """Two bars leaning on each other over a roller, connected by a tie: thrust = tie + spring."""
    m = Mechanism("truss", gravity=(0.0, 0.0))
    m.rod("left", (0, 0), (1, 1), mass=1)
    m.rod("right", (1, 1), (2, 0), mass=1)
    m.revolute("A", m.ground, "left", at=(0, 0))
    m.revolute("B", "left", "right", at=(1, 1))
    m.point_on_line("C", m.ground, "right", at=(2, 0), axis=(1, 0))
    m.distance("tie", "left", "right", start=(0, 0), end=(2, 0))
    m.spring("spring", "left", "right", start=(0, 0), end=(2, 0), stiffness=7.0, preload=preload)
    m.force("load", "right", at=(1, 1), vector=(0.0, -100.0))
    found = statics(m)
    assert found.equations.count == 0
    tie = found.of("tie")
    # on the second body, towards the first
    assert np.allclose(tie.force[0], (-(50.0 - preload), 0.0), atol=1e-12)
    assert np.allclose(found.of("A").force[0], (0.0, 50.0), atol=1e-12)
    assert np.allclose(found.of("C").force[0], (0.0, 50.0), atol=1e-12)
    # the bar is pressed with 50 sqrt(2) along itself
    assert np.allclose(found.of("B", "left").force[0], (-50.0, -50.0), atol=1e-12)
    assert found.of("tie").force_unique.all()


def test_driven_link_in_place_of_the_tie():
    """A jack in place of the tie gives the same force as that of a drive."""
    m = Mechanism("jack", gravity=(0.0, -10.0))
    m.rod("left", (0, 0), (1, 1), mass=1)
    m.rod("right", (1, 1), (2, 0), mass=1)
    m.revolute("A", m.ground, "left", at=(0, 0))
    m.revolute("B", "left", "right", at=(1, 1))
    m.point_on_line("C", m.ground, "right", at=(2, 0), axis=(1, 0))
    m.distance("tie", "left", "right", start=(0, 0), end=(2, 0))
    m.drive("jack", "tie", 2.0)
    found = statics(m)
    # half the weight of both over a slope of one
    assert np.isclose(found.of("jack").components[0].values[0], -5.0, rtol=1e-13)
    assert np.allclose(found.of("jack").force[0], (-5.0, 0.0), atol=1e-13)
    assert not found.of("tie").force.any()


HEIGHTS = (0.2, 1.0, 1.8)


def elastic_door(force, moment):
    """Axial forces, side forces and side moments of a door by displacements, as in a textbook.

    It sinks by w and leans by a and u: f = k (u + a z) at each hinge, M = kappa a.
    """
    k, kappa, z = np.array(force), np.array(moment), np.array(HEIGHTS)
    weight = 20.0 * 9.81
    axial = weight * k / k.sum()
    stiff = np.array([[k.sum(), k @ z], [k @ z, k @ z**2 + kappa.sum()]])
    u, a = np.linalg.solve(stiff, (0.0, 0.4 * weight))
    # the weight turns the door outwards: the upper hinges pull it back
    return axial, -k * (u + a * z), -kappa * a


@pytest.mark.parametrize("R", [np.eye(3), rotation(4)])
@pytest.mark.parametrize(
    ("force", "moment"),
    [
        ((1e6, 1e6, 1e6), (1e3, 1e3, 1e3)),
        ((1e6, 3e6, 2e6), (1e3, 5e3, 1e2)),
        ((1e6, 1e6, 1e2), (1e-3, 1e-3, 1e-3)),
    ],
)
def test_door_on_elastic_hinges(force, moment, R):
    """Shares of three hinges by their stiffness / a hand calculation with displacements."""
    stiffness = {f"H{i}": (force[i], moment[i]) for i in range(3)}
    found = statics(door(HEIGHTS, R=R), stiffness)
    axial, side, about = elastic_door(force, moment)
    for i in range(3):
        h = found.of(f"H{i}")
        world, turning = R.T @ h.force[0], R.T @ h.moment[0]
        assert np.allclose(world, (side[i], 0.0, axial[i]), rtol=0, atol=1e-9)
        assert np.allclose(turning, (0.0, about[i], 0.0), rtol=0, atol=1e-9)
        # stiffness decides, but rigid bodies still do not
        assert not h.components[0].unique[0]
        assert h.components[0].words[0] == SHARED
    assert found.imbalance[0] < 1e-13


def test_rigid_hinges_among_elastic_ones():
    """A joint without a stiffness is rigid and takes all; inf says the same; two rigid ones share."""
    soft = {"H0": (1e6, 1e3), "H1": (2e6, 1e3)}
    for stiffness in (soft, soft | {"H2": (np.inf, np.inf)}):
        found = statics(door(HEIGHTS), stiffness)
        forces = np.array([found.of(f"H{i}").force[0] for i in range(3)])
        # a rigid hinge holds the door alone, moments too
        assert np.allclose(forces, [(0, 0, 0), (0, 0, 0), (0, 0, 20 * 9.81)], atol=1e-9)
    found = statics(door(HEIGHTS), {"H1": (1e6, 1e3)})
    forces = np.array([found.of(f"H{i}").force[0] for i in range(3)])
    assert np.allclose(forces[:, 2], (10 * 9.81, 0.0, 10 * 9.81), atol=1e-9)


def test_elastic_sharing_by_displacements():
    """f = K W x with W^T K W x = F: the displacement method, on doubled joints of random stiffness."""
    for build, seed in ((lambda: copy_of(bricard(), double="P2"), 1), (door, 2)):
        m = build()
        equations = make_joint_equations(m)
        rng = np.random.default_rng(seed)
        stiffness = {j: tuple(10.0 ** rng.uniform(3, 6, 2)) for j in equations.joints}
        pose = equations.start()
        W = equations.matrix(pose).toarray()
        k = row_stiffness(equations, stiffness)
        # forces that a mechanism at rest can bear
        F = W.T @ rng.normal(size=equations.rows)
        x = np.linalg.pinv(W.T @ (k[:, None] * W), rcond=1e-11, hermitian=True) @ F
        expected = k * (W @ x)
        found = solve_wrenches(equations, alone(pose), F.reshape(1, -1, 6), k)
        assert np.allclose(W.T @ expected, F, atol=1e-6)
        assert np.allclose(found.values[0], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_elastic_sharing_dense_and_sparse(monkeypatch):
    """Both ways to solve share alike; rigid joints are ten to the eight times stiffer in one of them."""
    from sarrus.verdict import joint_wrenches

    for stiffness in (
        {"H0": (1e6, 1e3), "H1": (2e6, 2e3), "H2": (5e5, 1e3)},
        {"H0": (1e6, 1e3), "H1": (2e6, 2e3)},
    ):
        values = []
        for limit in (10_000, 0):
            monkeypatch.setattr(joint_wrenches, "SPARSE", limit)
            values.append(statics(door(HEIGHTS), stiffness).values)
        assert np.allclose(*values, rtol=0, atol=1e-5)


@pytest.mark.parametrize("elastic", [False, True])
def test_sharing_in_other_units(elastic):
    """In millimetres the same forces, and moments a thousand times larger, shared or elastic."""
    one = {f"H{i}": (1e6 * (i + 1), 2e3 * (3 - i)) for i in range(3)}
    other = {name: (k / 1000.0, kappa * 1000.0) for name, (k, kappa) in one.items()}
    m = door(HEIGHTS, R=rotation(6))
    a = statics(m, one if elastic else None)
    # mass in tonnes keeps the newton
    b = statics(copy_of(m, length=1000.0, mass=1e-3), other if elastic else None)
    for i in range(3):
        x, y = a.of(f"H{i}"), b.of(f"H{i}")
        assert np.allclose(x.force, y.force, rtol=0, atol=1e-9)
        assert np.allclose(1000.0 * x.moment, y.moment, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("stiffness", "error", "message"),
    [
        ({"H9": (1.0, 1.0)}, KeyError, "stiffness of 'H9'.*known: 'H0'"),
        ({"H0": (1.0, -1.0)}, ValueError, "'H0' is \\(1, -1\\); both must be positive"),
        ({"H0": (np.nan, 1.0)}, ValueError, "both must be positive"),
        ({"H0": 5.0}, ValueError, "'H0' is 5.0; give two numbers"),
        ({"H0": ("stiff", 1.0)}, ValueError, "give two numbers"),
    ],
)
def test_bad_stiffness(stiffness, error, message):
    """Each message names the joint and says what to give."""
    with pytest.raises(error, match=message):
        statics(door(), stiffness)


def test_unknown_drive():
    """Known joints and drives are listed."""
    with pytest.raises(KeyError, match=r"no joint or drive is called 'engine'; known: .*'motor'"):
        statics(slider_crank(0.5)).of("engine")


def test_words():
    """One word a component: alone among unique neighbours it is undetermined, else shared."""
    from sarrus.verdict.reactions import _find_alone, _words

    unique = np.array([[0, 1, 0, 1, 0, 0, 1], [1] * 7], dtype=bool).T
    bounded = np.zeros_like(unique)
    words = _words(unique, _find_alone(unique), bounded)
    lost, shared = UNDETERMINED, SHARED
    assert words[:, 0].tolist() == [lost, UNIQUE, lost, UNIQUE, shared, shared, UNIQUE]
    assert set(words[:, 1]) == {UNIQUE}
    single = np.zeros((1, 2), dtype=bool)
    assert set(_words(single, _find_alone(single), single).ravel()) == {SHARED}
    assert set(_words(single, single, ~single).ravel()) == {UNBOUNDED}
