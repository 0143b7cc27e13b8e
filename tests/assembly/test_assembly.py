"""Assembly: nothing moves that is closed, what is open is closed by the least motion, and loops are named."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from builders import bricard, in_plane_of, n_four_bar, rotation
from cpu_time import least
from disturbed import disturbed, open_four_bar
from linkages import bennett, goldberg, sarrus_linkage, stewart
from random_mechanisms import random_mechanism
from sarrus import (
    AssemblyError,
    Mechanism,
    MechanismError,
    assemble,
    assemble_branches,
    inspect,
    problems,
    simulate,
)
from sarrus.kinematics.configuration import turn_vectors
from sarrus.mechanism import find_gaps
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.joint_frames import turns_between


def arrays(m):
    """All numbers of a mechanism, in order."""
    out = [m.gravity]
    for b in m.bodies:
        out += [np.array(b.mass), b.center, b.inertia, *(b.ends or ())]
    for j in m.joints:
        out += [x for x in (j.at, *(e.axis for e in j.ends)) if x is not None]
    out += [p.at for p in m.markers] + [v for _, v in m.velocities]
    return out


def shape_of(m, name):
    """Distances between all that belongs to a body: centre, ends, joint places, points of forces."""
    body = next(b for b in m.bodies if b.name == name)
    places = [body.center, *(body.ends or ())]
    for j in m.joints:
        if name in j.bodies and j.at is not None:
            places.append(j.places[j.bodies.index(name)])
    places += [p.at for p in m.markers if p.body == name]
    places += [f.at for f in m.forces if f.body == name]
    places += [s.ends[k] for s in m.springs for k in (0, 1) if s.bodies[k] == name]
    return np.linalg.norm(np.subtract.outer(places, places).diagonal(axis1=1, axis2=3), axis=2)


def assert_closed(opened, done, gap=1e-14):
    """Closed to rounding, no body deformed, and nothing left to do."""
    assert max(done.gap_after.metres, done.gap_after.radians) <= gap
    done.mechanism.check()
    for body in opened.bodies:
        assert np.allclose(
            shape_of(opened, body.name), shape_of(done.mechanism, body.name), atol=1e-13
        )
    assert assemble(done.mechanism).unmoved


# do no harm


@pytest.mark.parametrize("name", problems.names())
def test_problems_are_left_alone(name):
    """Assembling a closed mechanism returns the same numbers, to the last bit."""
    m = problems.get(name).mechanism()
    done = assemble(m)
    assert done.unmoved
    assert done.moved == done.turned == 0.0
    assert all(a is b for a, b in zip(arrays(done.mechanism), arrays(m), strict=True) if a.ndim)


@pytest.mark.parametrize("dimension", [2, 3])
def test_random_closed_mechanisms_are_left_alone(dimension):
    """Also where a joint's place is written once for each body, or differs by rounding."""
    for seed in range(15):
        m = random_mechanism(seed, dimension)
        before = [a.copy() for a in arrays(m)]
        # each place once for each body, one of them by a bit
        for n, j in enumerate(m.joints):
            if j.at is not None:
                nearby = [replace(e, place=np.nextafter(j.at, 9.0)) for e in j.ends[1:]]
                m.joints[n] = replace(j, ends=(j.ends[0], *nearby))
        assert find_gaps(m) == []
        done = assemble(m)
        assert done.unmoved
        assert all(
            np.array_equal(a, b) for a, b in zip(arrays(done.mechanism), before, strict=True)
        )


def test_other_loops_are_not_touched():
    """Bodies that hang only on the ground besides the open loop keep every bit."""
    m = open_four_bar()
    m.rod("pendulum", (5, 0), (5, -1), mass=1)
    # its places differ by rounding, which is no gap
    m.revolute("P", m.ground, "pendulum", at=[(5, 0), (5 + 1e-15, 0)])
    done = assemble(m)
    assert done.mechanism.bodies[-1] is m.bodies[-1]
    assert done.mechanism.joints[-1] is m.joints[-1]
    assert not np.array_equal(done.mechanism.bodies[0].center, m.bodies[0].center)


# closing


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "seeds"), [(2, range(8)), (3, range(7))])
def test_disturbed_random_mechanisms_close(dimension, seeds):
    """Random trees and loops, each body displaced by about 5 %, close to rounding."""
    for seed in seeds:
        opened = disturbed(random_mechanism(seed, dimension, crowded=seed % 2 == 1), 0.05, seed)
        assert_closed(opened, assemble(opened))


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_far_disturbed_random_mechanisms_close(dimension):
    """The same, displaced by about 30 %."""
    for seed in range(40):
        opened = disturbed(random_mechanism(seed, dimension, crowded=seed % 2 == 1), 0.3, seed)
        assert_closed(opened, assemble(opened))


@pytest.mark.parametrize(
    ("build", "count"),
    [
        (bricard, 1),
        (bennett, 1),
        pytest.param(goldberg, 1, marks=pytest.mark.slow),
        pytest.param(sarrus_linkage, 1, marks=pytest.mark.slow),
        pytest.param(lambda: stewart(0.3), 6, marks=pytest.mark.slow),
    ],
)
def test_paradoxical_linkages_close(build, count):
    """Dependent equations do no harm: closed to rounding, with the mobility they should have."""
    opened = disturbed(build(), 0.2, 3)
    done = assemble(opened)
    assert_closed(opened, done)
    assert inspect(done.mechanism).mobility_here == count


def test_planar_mechanism_in_space_closes():
    """A planar loop in space is redundant by three; it closes, and its axes become parallel."""
    opened = disturbed(n_four_bar(2, lean=0.3, plane_to_space=in_plane_of(rotation(3))), 0.1, 1)
    opened.velocities = []
    done = assemble(opened)
    assert_closed(opened, done)
    axes = np.array([j.axis / np.linalg.norm(j.axis) for j in done.mechanism.joints])
    assert np.allclose(np.abs(axes @ axes[0]), 1.0, atol=1e-14)


@pytest.mark.slow
def test_thousand_windows():
    """N = 1000 (3003 unknowns a step) is closed in seconds: the steps are sparse."""
    m = n_four_bar(1000, lean=0.3)
    m.velocities = []
    opened = disturbed(m, 0.02, 1)

    def measure():
        begin = time.process_time()
        done = assemble(opened)
        # places of up to 1000 m carry a rounding of 1e-13
        assert done.gap_after.metres < 1e-12
        return time.process_time() - begin

    assert least(measure, 30) < 30


def test_axes_of_a_hinge_are_brought_together():
    """A hinge whose axis stands in two directions: the body is turned by the angle between them."""
    m = Mechanism("door", gravity=(0, 0, -9.81))
    m.body("door", 20.0, (0.4, 0, 1), (6, 7, 1.2))
    tilt = 0.1
    axes = [(0, 0, 1), (np.sin(tilt), 0, np.cos(tilt))]
    m.revolute("hinge", m.ground, "door", at=[(0, 0, 1), (0, 0, 1)], axis=axes)
    with pytest.raises(MechanismError, match=r"'hinge'.*their axes by 0.1 rad.*assemble"):
        simulate(m, 1.0)
    done = assemble(m)
    assert_closed(m, done)
    assert np.isclose(done.turned, tilt, rtol=1e-12)
    assert np.array_equal(done.mechanism.joints[0].axis, (0, 0, 1))
    assert np.array_equal(done.mechanism.joints[0].at, (0, 0, 1))


def test_upside_down_is_not_closed():
    """A hinge at half a turn has a gap of pi, not of sin(pi): it is turned back, never flipped."""
    m = Mechanism("flag", gravity=(0, 0, -9.81))
    m.body("flag", 1.0, (0.5, 0, 0), (1, 1, 1))
    m.revolute("pole", m.ground, "flag", at=(0, 0, 0), axis=[(0, 0, 1), (0, 1e-3, -1)])
    done = assemble(m)
    assert np.isclose(done.gap_before.radians, np.pi - 1e-3, atol=1e-6)
    assert_closed(m, done)
    assert np.isclose(done.turned, np.pi - 1e-3, atol=1e-6)


def test_turn_vectors():
    """Turn vectors / rotation matrices from SciPy, up to half a turn; shortest turns between axes."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(200, 3))
    vectors *= (rng.uniform(0, np.pi, 200) / np.linalg.norm(vectors, axis=1))[:, None]
    vectors[:5] *= np.array([1e-12, 1e-8, 1e-4, 0.0, 1.0])[:, None]
    vectors[5] *= (np.pi - 1e-7) / np.linalg.norm(vectors[5])
    assert np.allclose(turn_vectors(Rotation.from_rotvec(vectors).as_matrix()), vectors, atol=1e-8)
    e = rng.normal(size=(3, 3))
    e /= np.linalg.norm(e, axis=1)[:, None]
    assert np.allclose(np.linalg.norm(turns_between(e, -e), axis=1), np.pi)
    assert np.array_equal(turns_between(e, e), np.zeros((3, 3)))


# least motion, weights, units


def pose_of(done, m):
    """Displacements (dx, dy, angle) of planar rods."""
    out = []
    for a, b in zip(m.bodies, done.mechanism.bodies, strict=True):
        u, v = a.ends[1] - a.ends[0], b.ends[1] - b.ends[0]
        out += [*(b.center - a.center), np.arctan2(u[0] * v[1] - u[1] * v[0], u @ v)]
    return np.array(out)


def test_least_motion():
    """The displacement found / the least one by SciPy's SLSQP on the same planar problem."""
    m = open_four_bar(0.3)
    equations = make_joint_equations(m)
    done = assemble(m)
    scale = np.sqrt(equations.reach / equations.length)[:, None] * np.array([1.0, 1.0, 0.0])
    scale[:, 2] = np.sqrt(equations.reach / equations.length) * equations.reach

    def place(x, i, p):
        dx, dy, angle = x[3 * i : 3 * i + 3]
        c, s = np.cos(angle), np.sin(angle)
        center = m.bodies[i].center
        return center + (dx, dy) + np.array([[c, -s], [s, c]]) @ (np.array(p) - center)

    def closure(x):
        return np.concatenate(
            [
                place(x, 0, (0, 0)),
                place(x, 0, (0, 1)) - place(x, 1, (0, 1.3)),
                place(x, 1, (2, 1.3)) - place(x, 2, (2, 1.5)),
                place(x, 2, (2, 0)) - (2, 0),
            ]
        )

    best = minimize(
        lambda x: np.sum((scale.ravel() * x) ** 2),
        pose_of(done, m) + 0.02,
        constraints={"type": "eq", "fun": closure},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 300},
    )
    assert best.success
    assert np.isclose(done.distance, np.sqrt(best.fun), rtol=1e-8)
    # the minimum is flat: SLSQP stops within the root of its tolerance
    assert np.allclose(pose_of(done, m), best.x, atol=1e-5)


def test_weights_and_fixed_bodies():
    """A reluctant body moves less, a fixed one not at all, to the last bit."""
    m = open_four_bar(0.2)
    moved = {}
    for weight in (0.01, 1.0, 100.0):
        done = assemble(m, weights={"crank": weight})
        moved[weight] = abs(pose_of(done, m)[2])
    assert moved[0.01] > moved[1.0] > 10 * moved[100.0]
    done = assemble(m, fixed=("crank",))
    assert done.mechanism.bodies[0] is m.bodies[0]
    assert_closed(m, done)
    with pytest.raises(AssemblyError, match=r"A|B|C|D"):
        assemble(m, fixed=[m.bodies[0], "rocker", "coupler"])
    with pytest.raises(
        MechanismError, match="weight of 'crunk': there is no such body; known: 'crank'"
    ):
        assemble(m, weights={"crunk": 1.0})
    with pytest.raises(MechanismError, match="at least"):
        assemble(m, weights={"crank": -1.0})


def test_other_units_and_directions():
    """In millimetres and tonnes, turned and moved: the same displacement."""
    m = open_four_bar(0.3)
    done = assemble(m)
    R, k = np.array([[0.6, -0.8], [0.8, 0.6]]), 1000.0
    other = Mechanism("four-bar", gravity=(0, -9810.0))
    for b in m.bodies:
        other.rod(b.name, *(k * (R @ e + 0.3) for e in b.ends), mass=1e-3)
    for j in m.joints:
        other.revolute(j.name, *j.bodies, at=[k * (R @ p + 0.3) for p in j.places])
    there = assemble(other)
    assert np.isclose(there.distance, k * done.distance, rtol=1e-9)
    for a, b in zip(done.mechanism.joints, there.mechanism.joints, strict=True):
        # least motion is found to 1e-8 of the motion
        assert np.allclose(k * (R @ a.at + 0.3), b.at, atol=1e-5)


# branches


def test_two_elbows_of_a_four_bar():
    """With the crank fixed, pin C is one of two intersections of circles."""
    m = open_four_bar()
    found = assemble_branches(m, 2, fixed=("crank",))
    assert len(found) == 2
    # |C - B| = 2 about B = (0, 1), |C - D| = 1.5 about D = (2, 0)
    B, D, r, s = np.array([0.0, 1.0]), np.array([2.0, 0.0]), 2.0, 1.5
    d = np.linalg.norm(D - B)
    along = (d**2 + r**2 - s**2) / (2 * d)
    across = np.sqrt(r**2 - along**2)
    u = (D - B) / d
    expected = [B + along * u + sign * across * np.array([-u[1], u[0]]) for sign in (1, -1)]
    for done, C in zip(found, expected, strict=True):
        assert_closed(m, done)
        assert np.allclose(done.mechanism.joints[2].at, C, atol=1e-13)
    assert found[0].distance < found[1].distance
    assert found[0].start == 0
    assert found[1].start > 0
    # a closed mechanism is its own first branch
    again = assemble_branches(found[0].mechanism, 2, fixed=("crank",))
    assert again[0].unmoved
    assert np.allclose(again[1].mechanism.joints[2].at, expected[1], atol=1e-13)


@pytest.mark.slow
def test_no_third_elbow():
    """Forty further starts lead to the same two positions."""
    assert len(assemble_branches(open_four_bar(), 3, fixed=("crank",))) == 2


# what cannot be closed


def impossible_triangle():
    """Bars of 1 m and 3 m between pins 5 m apart."""
    m = Mechanism("triangle")
    m.rod("short", (0, 0), (0.6, 0.8), mass=1)
    m.rod("long", (2, 0.1), (5, 0.1), mass=1)
    m.revolute("A", m.ground, "short", at=(0, 0))
    m.revolute("B", "short", "long", at=[(0.6, 0.8), (2, 0.1)])
    m.revolute("C", "long", m.ground, at=[(5, 0.1), (5, 0)])
    return m


@pytest.mark.slow
def test_triangle_that_cannot_close():
    """All bars in line, 1 m is missing and shared equally by three pins: the loop is named with that gap."""
    m = impossible_triangle()
    m.rod("pendulum", (0, 0), (0, -1), mass=1)
    m.revolute("P", m.ground, "pendulum", at=(0, 0))
    with pytest.raises(AssemblyError) as caught:
        assemble(m)
    error = caught.value
    assert isinstance(error, MechanismError)
    assert set(error.loop) == {"A", "B", "C"}
    assert "short" in str(error)
    assert "together by 1 m" in str(error)
    assert all(np.isclose(error.gaps[name].metres, 1 / 3, rtol=1e-9) for name in "ABC")
    ends = np.array([b.ends for b in error.nearest.bodies[:2]])
    assert np.allclose(ends, [[[1 / 3, 0], [4 / 3, 0]], [[5 / 3, 0], [14 / 3, 0]]], atol=1e-9)
    assert len(find_gaps(error.nearest)) == 3


@pytest.mark.slow
def test_verdict_on_open_joints():
    """What cannot be closed is inconsistent, what can is judged where it closes; both are said."""
    found = inspect(impossible_triangle())
    assert found.classification == "inconsistent"
    assert "contradict" in found.opening
    assert "loop" in found.opening
    assert found.as_dict()["opening"] == found.opening
    found = inspect(open_four_bar())
    assert found.classes == ("regular",)
    assert "can be closed" in found.opening
    assert found.opening in str(found)


@pytest.mark.slow
def test_gap_within_the_allowed_misfit():
    """Bars too short by 1e-7 m: rejected, or closed by as much if that is allowed, and said so."""
    m = Mechanism("stretched")
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (2, 0), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    m.revolute("C", "b", m.ground, at=[(2, 0), (2 + 1e-7, 0)])
    with pytest.raises(AssemblyError):
        assemble(m)
    done = assemble(m, misfit=1e-6)
    assert 1e-8 < done.gap_after.metres <= 1e-7
    done.mechanism.check()


def test_simulate_rejects_or_assembles():
    """A sentence with joint and gap; on request it is closed first, and the notes say how far it moved."""
    m = open_four_bar()
    with pytest.raises(MechanismError, match=r"joint 'B'.*by 0.1 m.*sarrus.assemble"):
        simulate(m, 0.1)
    result = simulate(m, 0.1, assemble=True)
    assert result.status == "done"
    assert any("assembled" in note and "0.4 m" in note for note in result.notes)
    m.assemble = True
    again = simulate(m, 0.1)
    exact = simulate(assemble(m).mechanism, 0.1)
    assert np.array_equal(again.position("C"), result.position("C"))
    assert np.array_equal(exact.position("C"), result.position("C"))
    # a closed mechanism needs no note
    assert simulate(n_four_bar(1), 0.1, assemble=True).notes == []


# what goes along


def test_everything_goes_along():
    """Forces, springs, points and directions fixed in a body turn with it; the world's do not."""
    m = open_four_bar(0.2)
    m.point("tip", "coupler", (0.5, 1.2))
    m.force("push", "coupler", at=(1, 1.2), vector=(0, 1.0))
    m.force("jet", "coupler", at=(2, 1.2), vector=(0, 1.0), fixed_in="body")
    m.spring("spring", m.ground, "coupler", start=(1, 3), end=(1, 1.2), stiffness=10.0)
    m.torque("motor", "crank", 2.0, fixed_in="body")
    done = assemble(m).mechanism
    turned = next(b for b in done.bodies if b.name == "coupler")
    along = (turned.ends[1] - turned.ends[0]) / 2.0
    assert abs(along[1]) > 0.01
    assert np.allclose(done.markers[0].at, turned.ends[0] + 0.5 * along, atol=1e-14)
    assert np.allclose(done.forces[0].at, turned.center, atol=1e-14)
    assert np.array_equal(done.forces[0].vector, (0, 1.0))
    assert np.allclose(done.forces[1].vector, (-along[1], along[0]), atol=1e-14)
    assert np.array_equal(done.springs[0].ends[0], (1, 3))
    assert np.allclose(done.springs[0].ends[1], turned.center, atol=1e-14)
    assert done.springs[0].free_length == m.springs[0].free_length
    assert done.torques[0].vector == m.torques[0].vector
    # the given mechanism is as it was
    assert np.array_equal(m.markers[0].at, (0.5, 1.2))


def test_inertia_turns_with_its_body():
    """Principal inertias stay, principal axes turn as the rod between the joints does."""
    opened = disturbed(bennett(), 0.2, 1)
    done = assemble(opened)
    for a, b in zip(opened.bodies, done.mechanism.bodies, strict=True):
        assert np.allclose(np.linalg.eigvalsh(a.inertia), np.linalg.eigvalsh(b.inertia), atol=1e-14)
        assert np.array_equal(b.inertia, b.inertia.T)


def test_velocities_fit_the_closed_position():
    """A velocity across the crank as written becomes the nearest one across the crank as closed."""
    m = open_four_bar(0.2)
    m.set_velocity("B", (1.0, 0.0))
    done = assemble(m)
    crank = done.mechanism.bodies[0]
    across = (crank.ends[1] - crank.ends[0])[::-1] * (1.0, -1.0)
    # unit vector across the crank; the nearest velocity along it is the projection
    expected = across * across[0]
    assert np.allclose(done.mechanism.velocities[0][1], expected, atol=1e-9)
    assert "velocity of 'B' was changed" in done.velocities[0]
    assert simulate(done.mechanism, 0.01).status == "done"
    # one that fits is kept to the last bit
    closed = n_four_bar(1, lean=0.3)
    kept = disturbed(closed, 1e-10, 1)
    assert np.array_equal(assemble(kept).mechanism.velocities[0][1], closed.velocities[0][1])


# bad input


def test_bad_places_and_axes():
    """Numbers that do not fit are named."""
    m = Mechanism("bad", gravity=(0, 0, -9.81))
    m.body("a", 1.0, (0, 0, 0), (1, 1, 1))
    with pytest.raises(MechanismError, match=r"'H'.*3 places for 2 bodies"):
        m.revolute("H", m.ground, "a", at=[(0, 0, 0)] * 3, axis=(0, 0, 1))
    with pytest.raises(MechanismError, match=r"'H'.*3 axes for 2 bodies"):
        m.revolute("H", m.ground, "a", at=(0, 0, 0), axis=[(0, 0, 1)] * 3)
    with pytest.raises(MechanismError, match=r"'H'.*belongs to one body"):
        m.prismatic("H", m.ground, "a", at=(0, 0, 0), axis=[(0, 0, 1)] * 2)
    with pytest.raises(MechanismError, match=r"'H'.*length zero"):
        m.revolute("H", m.ground, "a", at=(0, 0, 0), axis=[(0, 0, 1), (0, 0, 0)])
    with pytest.raises(MechanismError, match=r"'H'.*not finite"):
        m.revolute("H", m.ground, "a", at=[(0, 0, 0), (0, 0, np.nan)], axis=(0, 0, 1))
    assert not m.joints
    with pytest.raises(MechanismError, match="is not a mechanism"):
        assemble("bad")
    with pytest.raises(MechanismError, match="misfit"):
        assemble(open_four_bar(), misfit=-1.0)
    with pytest.raises(ValueError, match="misfit"):
        simulate(n_four_bar(1), 1.0, misfit=-1.0)
