"""Applied loads: their power against the change of their energy, and angles beyond a turn."""

import numpy as np
import pytest

from builders import rotation
from sarrus import Mechanism, MechanismError
from sarrus.kinematics.configuration import Pose
from sarrus.verdict.applied_wrenches import BodyMotion, make_body_loads
from sarrus.verdict.joint_equations import make_joint_equations

H = 1e-5


def mechanism(dimension):
    """Two bodies joined to each other and the ground by hinges about one direction, far from the origin."""
    d = dimension
    m = Mechanism("loaded", gravity=np.zeros(d))
    inertia = [0.4, (0.4, 0.5, 0.6)][d - 2]
    m.body("a", 1.3, np.array([3.2, 0.1, -0.4])[:d], inertia)
    m.body("b", 0.8, np.array([2.9, 0.7, 0.2])[:d], inertia)
    axis = {} if d == 2 else {"axis": (0.5, -1.0, 2.0)}
    m.revolute("A", m.ground, "a", at=np.array([3.0, 0.2, 0.1])[:d], **axis)
    m.revolute("B", "a", "b", at=np.array([2.5, 0.5, -0.3])[:d], **axis)
    return m


def still(equations, pose, velocities=None):
    """One output at a pose, with these twists."""
    n = len(equations.bodies)
    twists = np.zeros((n, 6)) if velocities is None else velocities
    none = np.zeros((1, n, 3))
    v, w = twists[None, :, :3], twists[None, :, 3:]
    return BodyMotion(np.zeros(1), pose.centers[None], pose.turns[None], v, none, w, none)


def some_pose(equations):
    """Bodies anywhere, in the plane if the mechanism is planar."""
    if equations.dimension == 2:
        c, s = np.cos(0.8), np.sin(0.8)
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return Pose(equations.centers @ R.T + (0.1, 0.2, 0.0), np.array([R, R @ R]))
    turns = np.array([rotation(1), rotation(2)])
    return Pose(equations.centers + 0.3 * rotation(3)[:2], turns)


def some_twists(equations, seed=0):
    """Random velocities that the dimension has."""
    twists = np.zeros((len(equations.bodies), 6))
    rng = np.random.default_rng(seed)
    twists[:, equations.used] = rng.normal(size=(len(twists), len(equations.used)))
    return twists


def body_point(equations, pose, body, at):
    """World place of a point of a body, given at the start."""
    at = np.append(at, np.zeros(3 - len(at)))
    if body == "ground":
        return at
    i = equations.bodies.index(body)
    start = at - equations.origin - equations.centers[i]
    return equations.origin + pose.centers[i] + pose.turns[i] @ start


def check_power(m, energy):
    """Power of the loads / fall of their energy along a random velocity."""
    equations = make_joint_equations(m)
    loads = make_body_loads(m, equations)
    pose, twists = some_pose(equations), some_twists(equations)
    wrenches = loads.wrenches(still(equations, pose))
    assert wrenches.shape == (1, len(equations.bodies), 6)
    sides = [energy(equations, pose.moved(s * H * twists)) for s in (-1, 1)]
    # central differences: H^2 times the size of the energies
    assert np.isclose(np.sum(wrenches[0] * twists), -(sides[1] - sides[0]) / (2 * H), rtol=1e-7)


@pytest.mark.parametrize("dimension", [2, 3])
def test_force_of_fixed_direction(dimension):
    """Power of a constant force / rate of its work."""
    m = mechanism(dimension)
    at, vector = np.array([2.0, 1.0, 0.5])[:dimension], np.array([3.0, -4.0, 2.0])[:dimension]
    m.force("push", "b", at=at, vector=vector)
    # what acts on the ground moves nothing
    m.force("idle", m.ground, at=at, vector=vector)
    check_power(m, lambda e, pose: -vector @ body_point(e, pose, "b", at)[:dimension])


@pytest.mark.parametrize("dimension", [2, 3])
def test_spring_between_two_bodies_and_to_the_ground(dimension):
    """Power of two springs / fall of their energy."""
    m = mechanism(dimension)
    p, q = np.array([3.0, 1.0, 0.5])[:dimension], np.array([2.2, -0.4, 0.3])[:dimension]
    m.spring("s", "a", "b", start=p, end=q, stiffness=30.0, free_length=0.4, preload=2.0)
    m.spring("g", "b", m.ground, start=q, end=p, stiffness=12.0)

    def energy(e, pose):
        ends = [body_point(e, pose, *at) for at in (("a", p), ("b", q), ("ground", p))]
        one, other = (np.linalg.norm(ends[1] - ends[i]) for i in (0, 2))
        free = np.linalg.norm(q - p)
        return 15.0 * (one - 0.4) ** 2 + 2.0 * one + 6.0 * (other - free) ** 2

    check_power(m, energy)


@pytest.mark.parametrize("dimension", [2, 3])
def test_damper(dimension):
    """A damper takes c times the square of the rate of its length."""
    m = mechanism(dimension)
    p, q = np.array([3.0, 1.0, 0.5])[:dimension], np.array([2.2, -0.4, 0.3])[:dimension]
    m.spring("d", "a", "b", start=p, end=q, damping=3.0)
    equations = make_joint_equations(m)
    pose, twists = some_pose(equations), some_twists(equations)

    def length(there):
        return np.linalg.norm(
            body_point(equations, there, "b", q) - body_point(equations, there, "a", p)
        )

    rate = (length(pose.moved(H * twists)) - length(pose.moved(-H * twists))) / (2 * H)
    wrenches = make_body_loads(m, equations).wrenches(still(equations, pose, twists))
    assert np.isclose(np.sum(wrenches * twists), -3.0 * rate**2, rtol=1e-7)
    assert not make_body_loads(m, equations).wrenches(still(equations, pose)).any()


@pytest.mark.parametrize("dimension", [2, 3])
def test_loads_fixed_in_a_body(dimension):
    """They are those fixed in the world, turned with the body."""
    at, vector = np.array([2.0, 1.0, 0.5])[:dimension], np.array([3.0, -4.0, 2.0])[:dimension]
    moment = 1.7 if dimension == 2 else np.array([0.3, 0.5, -0.9])
    found = []
    for fixed_in in ("body", "world"):
        m = mechanism(dimension)
        equations = make_joint_equations(m)
        pose = some_pose(equations)
        R = np.eye(dimension) if fixed_in == "body" else pose.turns[1][:dimension, :dimension]
        m.force("push", "b", at=at, vector=R @ vector, fixed_in=fixed_in)
        m.torque("twist", "b", moment if dimension == 2 else R @ moment, fixed_in=fixed_in)
        found.append(make_body_loads(m, equations).wrenches(still(equations, pose)))
    assert np.allclose(*found, rtol=1e-13)
    assert not found[0][0, 0].any()
    force = pose.turns[1] @ np.append(vector, np.zeros(3 - dimension))
    assert np.allclose(found[0][0, 1, :3], force, rtol=1e-13)


@pytest.mark.parametrize("dimension", [2, 3])
def test_torsion(dimension):
    """torque - k (angle - free) - c rate about the axis on the second body, the opposite on the first."""
    m = mechanism(dimension)
    m.torsion("t", "B", stiffness=3.0, damping=0.5, free_angle=0.2, torque=1.1)
    m.joint_torque("u", "A", 0.7)
    equations = make_joint_equations(m)
    axis = equations.pair_axis[1]
    first, second, w = 0.6, 2.5, (1.5, -0.8)
    twists = np.zeros((2, 6))
    twists[:, 3:] = np.outer(w, axis)
    start = equations.start()
    turned = start.moved(np.hstack([np.zeros((2, 3)), np.outer((first, second), axis)]))
    wrenches = make_body_loads(m, equations).wrenches(still(equations, turned, twists))[0]
    expected = 1.1 - 3.0 * (second - first - 0.2) - 0.5 * (w[1] - w[0])
    assert np.allclose(wrenches[1, 3:], expected * axis, rtol=1e-13)
    assert np.allclose(wrenches[0, 3:], (0.7 - expected) * axis, rtol=1e-13)
    assert not wrenches[:, :3].any()


def test_angle_goes_on_beyond_a_turn():
    """Outputs every six turns: the turns are counted from rates and accelerations."""
    m = mechanism(3)
    m.torsion("t", "A", stiffness=1.0)
    equations = make_joint_equations(m)
    loads = make_body_loads(m, equations)
    times = np.arange(0.0, 8.0, 1.0)
    angle = 40.0 * times + 30.0 * np.sin(1.3 * times)
    rate = 40.0 + 39.0 * np.cos(1.3 * times)
    rise = -1.3 * 39.0 * np.sin(1.3 * times)
    axis = equations.pair_axis[0]
    start = equations.start()
    poses = [start.moved(np.array([[0, 0, 0, *(a * axis)], np.zeros(6)])) for a in angle]
    spins, rates, none = (np.zeros((len(times), 2, 3)) for _ in range(3))
    spins[:, 0], rates[:, 0] = np.outer(rate, axis), np.outer(rise, axis)
    centers, turns = (np.array([getattr(p, k) for p in poses]) for k in ("centers", "turns"))
    motion = BodyMotion(times, centers, turns, none, none, spins, rates)
    # cosines and sines of up to 320 rad
    assert np.allclose(loads.angles(times, *loads.look(motion))[:, 0], angle, rtol=0, atol=1e-12)
    moment = loads.wrenches(motion)[:, 0, 3:] @ axis
    assert np.allclose(moment, -angle, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_user_force(dimension):
    """A user's function sees world places and velocities of its points; its forces act there."""
    m = mechanism(dimension)
    at = np.array([2.0, 1.0, 0.5])[:dimension]
    m.point("tip", "b", at)
    seen = []

    def pull(t, position, velocity):
        seen.append((t, position.copy(), velocity.copy()))
        position[:] = 0.0
        return -2.0 * velocity

    m.user_force("own", ["tip", "B"], pull)
    equations = make_joint_equations(m)
    pose, twists = some_pose(equations), some_twists(equations)
    wrenches = make_body_loads(m, equations).wrenches(still(equations, pose, twists))[0]
    ((t, position, velocity),) = seen
    assert (t, position.shape) == (0.0, (2, dimension))
    tip = body_point(equations, pose, "b", at)
    assert np.allclose(position[0], tip[:dimension], rtol=1e-14)
    there, back = (
        body_point(equations, pose.moved(s * H * twists), "b", at)[:dimension] for s in (1, -1)
    )
    assert np.allclose(velocity[0], (there - back) / (2 * H), atol=1e-8)
    # both points are of body b: the place of a joint is that of its second body
    force = -2.0 * velocity
    assert np.allclose(wrenches[1, :dimension], force.sum(axis=0), rtol=1e-13)
    power = np.sum(force * velocity)
    assert np.isclose(np.sum(wrenches * twists), power, rtol=1e-13)
    assert not wrenches[0].any()


def test_user_force_at_the_centre_of_a_body():
    """The name of a body is that of its centre: a force there has no moment about it."""
    m = mechanism(3)
    m.user_force("own", ["b"], lambda t, x, v: np.ones_like(x))
    equations = make_joint_equations(m)
    wrenches = make_body_loads(m, equations).wrenches(still(equations, some_pose(equations)))[0]
    assert wrenches[1].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_user_force_of_a_wrong_shape():
    """The message names the force and both shapes."""
    m = mechanism(2)
    m.user_force("own", ["B"], lambda t, position, velocity: [1.0, 2.0])
    equations = make_joint_equations(m)
    with pytest.raises(MechanismError, match=r"'own' at .* returned shape \(2,\).*shape \(1, 2\)"):
        make_body_loads(m, equations).wrenches(still(equations, equations.start()))
