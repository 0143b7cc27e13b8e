"""Two descriptions of one mechanism, one motion: turned, moved, other units, other order."""

import numpy as np
import pytest

from builders import bricard, ends_of, in_plane_of, n_four_bar, pendulum, rotation
from sarrus import Mechanism, simulate
from sarrus.mechanism import Body, Joint, Marker

# Two descriptions differ in rounding, hence in steps; both are within about a hundred tolerances
# (1e-10) of the exact motion while no crossing has been passed.
SAME = 1e-8
# four-bars pass flat configurations, where rounding costs up to three digits more
SAME_ACROSS = 2e-6

TIMES = {"duration": 2.0, "output_step": 0.05}


def arm():
    """A spatial chain of every kind of joint, with a loop: plate, rods, weld, ball, hinges."""
    m = Mechanism("arm", gravity=(1.0, -9.0, 2.0))
    A = rotation(21)
    m.body("plate", 2.0, (0.3, 0.2, 0.1), A @ np.diag([0.2, 0.3, 0.4]) @ A.T)
    m.rod("rod", (0.6, 0.5, 0.0), (1.2, 0.4, 0.5), mass=1.0, section=0.2)
    m.body("lump", 0.6, (1.2, 0.4, 0.7), (0.05, 0.06, 0.07))
    m.rod("strut", (1.3, 0.3, 0.7), (1.5, -0.5, 0.2), mass=0.5, section=0.0)
    m.revolute("A", m.ground, "plate", at=(0, 0, 0), axis=(1, 1, 0.5))
    m.revolute("B", "plate", "rod", at=(0.6, 0.5, 0.0), axis=(0, 1, 1))
    m.revolute("C", "rod", "lump", at=(1.2, 0.4, 0.5), axis=(1, 0, 0))
    m.spherical("D", "lump", "strut", at=(1.3, 0.3, 0.7))
    m.spherical("E", "strut", m.ground, at=(1.5, -0.5, 0.2))
    m.point("tip", "lump", (1.1, 0.2, 0.9))
    m.set_angular_velocity("plate", (0.5 / 2.25**0.5, 0.5 / 2.25**0.5, 0.25 / 2.25**0.5))
    return m


def transformed(m, R, offset=None, length=1.0, mass=1.0, axis_sign=1.0):
    """The same mechanism turned by R, moved, in units of 1/length metres and 1/mass kilograms."""
    offset = np.zeros(m.dimension) if offset is None else np.asarray(offset)

    def place(p):
        return length * (R @ p) + offset

    new = Mechanism(m.name, gravity=length * (R @ m.gravity))
    for b in m.bodies:
        inertia = b.inertia if b.inertia.ndim == 0 else R @ b.inertia @ R.T
        ends = None if b.ends is None else tuple(place(e) for e in b.ends)
        new.bodies.append(
            Body(
                b.name, mass * b.mass, place(b.center), mass * length**2 * inertia, ends,
                length * b.section,
            )
        )  # fmt: skip
    for j in m.joints:
        axis = None if j.axis is None else axis_sign * (R @ j.axis)
        at = None if j.at is None else place(j.at)
        new.joints.append(Joint(j.name, j.kind, ends_of(j.bodies, at, axis)))
    for p in m.markers:
        new.markers.append(Marker(p.name, p.body, place(p.at)))
    new.velocities = [(n, length * (R @ v)) for n, v in m.velocities]
    new.angular_velocities = [(n, R @ w if w.ndim else w) for n, w in m.angular_velocities]
    return new


def assert_same(a, b, names, R, tolerance, offset=0.0, length=1.0):
    """Positions and velocities of the named points agree after undoing the transformation."""
    assert a.status == b.status == "done"
    for name in names:
        back = (b.position(name) - offset) @ R / length
        np.testing.assert_allclose(back, a.position(name), atol=tolerance)
        # velocities here are up to ten times the positions
        np.testing.assert_allclose(
            b.velocity(name) @ R / length, a.velocity(name), atol=10 * tolerance
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("build", "names"),
    [(arm, ["tip", "strut"]), (bricard, ["P1", "P2"]), (lambda: bricard(0.0), ["P2", "rod3"])],
    ids=["arm", "bricard", "thin bricard"],
)
def test_turned_world_same_motion(build, names, seed):
    """A mechanism turned with its gravity moves the same way, whatever its axes point to."""
    R = rotation(seed)
    a, b = simulate(build(), **TIMES), simulate(transformed(build(), R), **TIMES)
    assert_same(a, b, names, R, SAME)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_planar_four_bar_equals_spatial(seed):
    """The planar four-bar and the same in space, upright or tilted, move the same way."""
    R = np.eye(3) if seed is None else rotation(seed)
    a = simulate(n_four_bar(2), **TIMES)
    b = simulate(n_four_bar(2, plane_to_space=in_plane_of(R, (1.0, 2.0, 3.0))), **TIMES)
    back = (b.position("B1") - (1.0, 2.0, 3.0)) @ R
    np.testing.assert_allclose(back[:, :2], a.position("B1"), atol=SAME_ACROSS)
    # it cannot leave the plane: places of a few metres carry that many roundings
    np.testing.assert_allclose(back[:, 2], 0.0, atol=1e-14 * 10)


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize(
    ("build", "names"),
    [(arm, ["tip"]), (bricard, ["P2"]), (lambda: pendulum(2.0), ["bob"])],
    ids=["arm", "bricard", "pendulum"],
)
def test_moved_world_same_motion(build, names, offset):
    """A mechanism far from the origin moves the same way, up to the rounding of its places."""
    m = build()
    far = offset * np.array([1.0, -2.0, 0.5])[: m.dimension]
    R = np.eye(m.dimension)
    a, b = simulate(m, **TIMES), simulate(transformed(build(), R, far), **TIMES)
    # places are rounded by eps * offset; that moves joints and so the motion, ten times at most
    assert_same(a, b, names, R, SAME + 100 * 2.2e-16 * offset * 2, far)


@pytest.mark.parametrize(
    ("build", "names"),
    [(arm, ["tip"]), (bricard, ["P2"]), (lambda: n_four_bar(1), ["B0"])],
    ids=["arm", "bricard", "four-bar"],
)
@pytest.mark.parametrize(("length", "mass"), [(1000.0, 1.0), (1.0, 1e-3), (1e-3, 1e3)])
def test_units_change_nothing(build, names, length, mass):
    """In millimetres, tonnes or kilometres and grams the motion is the same number of lengths."""
    R = np.eye(build().dimension)
    a = simulate(build(), **TIMES)
    b = simulate(transformed(build(), R, length=length, mass=mass), **TIMES)
    assert_same(a, b, names, R, SAME_ACROSS, length=length)


@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e6])
def test_masses_scaled_same_motion(factor):
    """Gravity alone drives, so all masses may be scaled."""
    R = np.eye(3)
    a, b = simulate(arm(), **TIMES), simulate(transformed(arm(), R, mass=factor), **TIMES)
    assert_same(a, b, ["tip", "strut"], R, SAME)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("build", "names"),
    [(arm, ["tip", "strut"]), (bricard, ["P2"]), (lambda: n_four_bar(3), ["B3"])],
    ids=["arm", "bricard", "four-bar"],
)
def test_order_changes_nothing(build, names, seed):
    """Bodies, joints, the bodies in a joint and the sign of an axis may be written in any order."""
    rng = np.random.default_rng(seed)
    m = transformed(build(), np.eye(build().dimension), axis_sign=-2.0)
    m.bodies = [m.bodies[i] for i in rng.permutation(len(m.bodies))]
    joints = [m.joints[i] for i in rng.permutation(len(m.joints))]
    m.joints = [
        Joint(j.name, j.kind, ends_of(rng.permutation(j.bodies).tolist(), j.at, j.axis))
        for j in joints
    ]
    a, b = simulate(build(), **TIMES), simulate(m, **TIMES)
    assert_same(a, b, names, np.eye(m.dimension), SAME_ACROSS)


def test_reversed_time_pendulum_returns():
    """A pendulum rebuilt at its end with its velocity reversed returns to its start."""
    there = simulate(pendulum(2.0), 3.0, 0.1)
    x, v = there.position("bob")[-1], there.velocity("bob")[-1]
    m = Mechanism("back")
    m.body("bob", 1.3, x)
    m.revolute("pin", m.ground, "bob", at=(0, 0))
    m.point("mark", "bob", x)
    m.set_velocity("mark", -v)
    back = simulate(m, 3.0, 0.1)
    np.testing.assert_allclose(back.position("bob"), there.position("bob")[::-1], atol=SAME)
    np.testing.assert_allclose(back.velocity("bob"), -there.velocity("bob")[::-1], atol=10 * SAME)


@pytest.mark.parametrize("windows", [1, 3])
def test_reversed_time_four_bar_returns(windows):
    """A four-bar rebuilt at its end with its velocity reversed goes back through the crossings."""
    there = simulate(n_four_bar(windows), 3.0, 0.1)
    x, v = there.position("B0")[-1], there.velocity("B0")[-1]
    lean = np.arctan2(x[0], x[1])
    speed = v @ (np.cos(lean), -np.sin(lean))
    back = simulate(n_four_bar(windows, -speed, lean=lean), 3.0, 0.1)
    for name in ("B0", f"B{windows}"):
        np.testing.assert_allclose(
            back.position(name), there.position(name)[::-1], atol=SAME_ACROSS
        )


PAIRINGS = {
    "one joint": [("crank1", "coupler0", "coupler1")],
    "at the crank": [("crank1", "coupler0"), ("crank1", "coupler1")],
    "in a chain": [("crank1", "coupler0"), ("coupler0", "coupler1")],
    "other chain": [("coupler1", "crank1"), ("coupler0", "coupler1")],
    "one too many": [("crank1", "coupler0"), ("coupler0", "coupler1"), ("coupler1", "crank1")],
}


@pytest.mark.parametrize("space", [False, True], ids=["planar", "spatial"])
@pytest.mark.parametrize("pairing", PAIRINGS)
def test_three_body_pin_any_pairing(pairing, space):
    """A pin of three bodies may be one joint or pairs, even with one pair too many."""
    to_space = in_plane_of(rotation(3)) if space else None
    a = simulate(n_four_bar(2, plane_to_space=to_space), **TIMES)
    m = n_four_bar(2, plane_to_space=to_space)
    old = next(j for j in m.joints if j.name == "B1")
    m.joints.remove(old)
    for k, pair in enumerate(PAIRINGS[pairing]):
        name = "B1" if k == 0 else f"pin {k}"
        m.joints.append(Joint(name, old.kind, ends_of(pair, old.at, old.axis)))
    b = simulate(m, **TIMES)
    np.testing.assert_allclose(b.position("B2"), a.position("B2"), atol=SAME_ACROSS)


@pytest.mark.parametrize(
    ("build", "joint", "point"),
    [
        (arm, "B", "tip"),
        (arm, "D", "tip"),
        (bricard, "P3", "P2"),
        (lambda: n_four_bar(2), "B1", "B2"),
    ],
    ids=["arm hinge", "arm ball", "bricard", "four-bar"],
)
def test_joint_written_twice_same_motion(build, joint, point):
    """The same joint written twice changes nothing."""
    a = simulate(build(), **TIMES)
    m = build()
    j = next(j for j in m.joints if j.name == joint)
    m.joints.append(Joint("again", j.kind, ends_of(j.bodies[::-1], j.at, j.axis)))
    b = simulate(m, **TIMES)
    assert_same(a, b, [point], np.eye(m.dimension), SAME_ACROSS)


def test_hinge_written_as_two_balls_on_its_axis():
    """Two ball joints on one line are a hinge about that line."""

    def make(as_balls):
        m = Mechanism("door", gravity=(0, 0, -9.81))
        m.body("door", 3.0, (0.5, 0.1, 0.2), (0.2, 0.3, 0.4))
        axis = np.array([0.2, 1.0, 0.3])
        if as_balls:
            m.spherical("low", m.ground, "door", at=(0, 0, 0))
            m.spherical("high", m.ground, "door", at=axis)
        else:
            m.revolute("low", m.ground, "door", at=(0, 0, 0), axis=axis)
        m.point("edge", "door", (1.0, 0.0, 0.0))
        return simulate(m, **TIMES)

    a, b = make(False), make(True)
    assert_same(a, b, ["edge"], np.eye(3), SAME)


@pytest.mark.parametrize("dimension", [2, 3])
def test_rod_split_into_welded_halves(dimension):
    """A rod and its two halves welded together move the same way."""

    def make(split):
        m = Mechanism("swing", gravity=(0, -9.81, 1.0)[:dimension])
        a, b = np.array([0.1, 0.2, 0.3])[:dimension], np.array([1.3, -0.4, 0.9])[:dimension]
        middle = 0.5 * (a + b)
        axis = {} if dimension == 2 else {"axis": (0.3, 0.2, 1.0)}
        if split:
            m.rod("first", a, middle, 1.0)
            m.rod("second", middle, b, 1.0)
            m.weld("seam", "second", "first", at=middle)
        else:
            m.rod("first", a, b, 2.0)
        far = "second" if split else "first"
        m.revolute("A", m.ground, "first", at=a, **axis)
        m.rod("tail", b, b + 0.5, 0.7)
        if dimension == 2:
            m.revolute("B", far, "tail", at=b)
        else:
            m.spherical("B", far, "tail", at=b)
        m.point("end", "tail", b + 0.5)
        return simulate(m, **TIMES)

    a, b = make(False), make(True)
    assert_same(a, b, ["B", "end"], np.eye(dimension), SAME)


def test_weld_to_the_ground_is_ground():
    """What is welded to the ground holds a pendulum as the ground does."""

    def make(welded):
        m = Mechanism("hung", gravity=(0, 0, -9.81))
        holder = m.ground
        if welded:
            holder = m.rod("wall", (0, 0, 0), (1, 0, 0), 5.0)
            m.weld("seam", m.ground, "wall")
        m.rod("rod", (1, 0, 0), (1.4, 0.3, 0.3), 1.0)
        m.revolute("A", holder, "rod", at=(1, 0, 0), axis=(1, 1, 0.1))
        m.point("tip", "rod", (1.4, 0.3, 0.3))
        return simulate(m, **TIMES)

    a, b = make(False), make(True)
    np.testing.assert_allclose(b.position("tip"), a.position("tip"), atol=SAME)
