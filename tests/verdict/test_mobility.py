"""Mobility: known linkages, singular configurations, other units and orders."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest

from builders import bricard, in_plane_of, n_four_bar, rotation
from cpu_time import least
from linkages import bennett, copy_of, door, goldberg, sarrus_linkage, stewart, triangle
from sarrus import Mechanism, MechanismError, inspect, simulate
from sarrus.kinematics.configuration import Pose, read_poses
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.mobility import measure_mobility
from sarrus.verdict.nearby_configurations import solve_closed
from verdict_checks import numbers

# together they take several seconds
pytestmark = pytest.mark.slow

FLAT = np.pi / 2


def test_double_four_bar():
    """Count, mobility and mobility of the motion are 1 away from the flat configuration."""
    for lean in (0.0, 0.4, -1.2):
        assert numbers(inspect(n_four_bar(2, lean=lean))) == (1, 1, 1, 0, 0, ("regular",))


@pytest.mark.parametrize("windows", [1, 2, 3, 10, 40])
def test_flat_four_bar_has_one_degree_of_freedom_for_each_crank(windows):
    """At the flat configuration the N four-bar has N + 1 degrees of freedom, on its motion 1."""
    found = inspect(n_four_bar(windows, lean=FLAT))
    assert numbers(found) == (1, windows + 1, 1, windows, 0, ("crossing",))
    # the pose has the rounding of cos(pi/2) only
    assert found.mobility.rank.below[0] < 1e-14
    assert found.mobility.rank.smallest > 0.4


@pytest.mark.parametrize("distance", [1e-5, 1e-7])
def test_close_to_the_flat_position(distance):
    """A position close to the flat one is called near-singular; its smallest value is its distance."""
    found = inspect(n_four_bar(2, lean=FLAT - distance))
    assert numbers(found) == (1, 1, 1, 0, 0, ("near-singular",))
    assert 0.1 * distance < found.mobility.rank.smallest < distance


@pytest.mark.parametrize("windows", [1, 2, 5])
def test_planar_mechanism_in_space(windows):
    """In space each loop of a planar mechanism is redundant by 3, and it moves all the same."""
    m = n_four_bar(windows, plane_to_space=in_plane_of(rotation(3), (0.3, -1.0, 2.0)))
    redundant = 3 * windows
    expected = (1 - redundant, 1, 1, redundant, redundant, ("permanently redundant",))
    assert numbers(inspect(m)) == expected
    flat = n_four_bar(windows, lean=FLAT, plane_to_space=in_plane_of(rotation(3)))
    words = ("crossing", "permanently redundant")
    expected = (1 - redundant, windows + 1, 1, redundant + windows, redundant, words)
    assert numbers(inspect(flat)) == expected


@pytest.mark.parametrize("section", [0.0, 0.1])
def test_bricard_along_its_motion(section):
    """Count 0, mobility 1, one redundant equation, at every pose of a simulated motion."""
    result = simulate(bricard(section), 4.0, 0.4)
    equations = result.joint_equations
    poses = read_poses(equations.centers, result.model.body_rows, result.coordinates)
    assert len(poses) == 11
    for pose in poses:
        found = measure_mobility(equations, pose)
        words = (found.count, found.here, found.motion, found.redundant_here, found.classes)
        assert words == (0, 1, 1, 1, ("permanently redundant",))
        assert found.rank.below[0] < 1e-13


@pytest.mark.parametrize(
    ("build", "count"),
    [
        (bennett, -2),
        (lambda: bennett(2.3), -2),
        (goldberg, -1),
        (lambda: goldberg(0.8, 1.7), -1),
        (sarrus_linkage, 0),
        (lambda: sarrus_linkage(-0.3), 0),
        (bricard, 0),
    ],
)
def test_paradoxical_linkages_move(build, count):
    """Bennett's, Goldberg's, Sarrus' and Bricard's linkages have mobility 1 against the count."""
    assert numbers(inspect(build())) == (
        count, 1, 1, 1 - count, 1 - count, ("permanently redundant",),
    )  # fmt: skip


def test_straight_sarrus_linkage():
    """With straight legs the two motions of Sarrus' linkage meet."""
    words = ("crossing", "permanently redundant")
    assert numbers(inspect(sarrus_linkage(0.0))) == (0, 2, 1, 2, 1, words)


def test_stewart_platform():
    """Six leg spins and nothing else; one shaky degree of freedom at a quarter turn, three if similar."""
    found = inspect(stewart(0.3))
    assert numbers(found) == (6, 6, 6, 0, 0, ("locked",))
    assert found.mobility.idle_spins == tuple(f"leg{i}" for i in range(6))
    found = inspect(stewart(np.pi / 2))
    assert (found.mobility_here, found.mobility_motion, found.redundant_here) == (7, 6, 1)
    assert found.classification == "locked"
    assert "shaky" in str(found)
    assert "near-singular" in inspect(stewart(np.pi / 2 + 1e-6)).classes
    # similar hexagons: the legs are of rank 3, and there is a true motion
    similar = inspect(stewart(0.3, top=0.25))
    assert (similar.mobility_here, similar.mobility_motion, similar.redundant_here) == (9, 7, 3)


def test_structures_and_free_bodies():
    """A triangle, a welded body, a free body, two rods in line: a verdict each, no exception."""
    assert numbers(inspect(triangle())) == (0, 0, 0, 0, 0, ("locked",))
    free = Mechanism("free", gravity=(0, 0, -9.81))
    free.body("stone", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    found = inspect(free)
    assert numbers(found) == (6, 6, 6, 0, 0, ("regular",))
    assert found.mobility.free_bodies == ("stone",)
    free.weld("held", free.ground, "stone")
    assert numbers(inspect(free)) == (0, 0, 0, 0, 0, ("locked",))
    free.weld("held again", "stone", free.ground, at=(1.0, 0.0, 0.0))
    assert numbers(inspect(free)) == (-6, 0, 0, 6, 6, ("locked", "over-constrained"))
    line = Mechanism("line")
    line.rod("a", (0, 0), (1, 0), mass=1)
    line.rod("b", (1, 0), (2, 0), mass=1)
    line.revolute("A", line.ground, "a", at=(0, 0))
    line.revolute("B", "a", "b", at=(1, 0))
    line.revolute("C", "b", line.ground, at=(2, 0))
    found = inspect(line)
    assert (found.count, found.mobility_here, found.mobility_motion) == (0, 1, 0)
    assert found.classification == "locked"
    assert "infinitesimal" in str(found)


def test_point_masses_and_other_bodies_without_extent():
    """Point masses and joints at the centre leave a verdict, in the plane and in space."""
    for dimension in (2, 3):
        m = Mechanism("points", gravity=np.zeros(dimension))
        zero, one = np.zeros(dimension), np.eye(dimension)[0]
        m.body("a", 1.0, zero)
        m.body("b", 1.0, one)
        join = m.revolute if dimension == 2 else m.spherical
        join("A", m.ground, "a", at=zero)
        join("B", "a", "b", at=one)
        expected = 2 if dimension == 2 else 6
        assert inspect(m).mobility_here == inspect(m).count == expected


def test_errors_are_those_of_the_mechanism():
    """What cannot be simulated is rejected with the same message."""
    with pytest.raises(MechanismError, match="no bodies"):
        inspect(Mechanism("bad"))
    with pytest.raises(MechanismError, match="not a mechanism"):
        inspect("bad")


BUILDS = {
    "four-bar": lambda: n_four_bar(2, lean=0.3),
    "flat": lambda: n_four_bar(3, lean=FLAT),
    "in space": lambda: n_four_bar(1, plane_to_space=in_plane_of()),
    "bricard": bricard,
    "thin bricard": lambda: bricard(0.0),
    "bennett": bennett,
    "sarrus": lambda: sarrus_linkage(0.0),
    "stewart": lambda: stewart(np.pi / 2),
    "door": door,
}


def values(found):
    """The values around the gap that count."""
    return np.array(found.mobility.rank.above)


@pytest.mark.parametrize("name", BUILDS)
def test_verdict_in_other_units(name):
    """Metres to millimetres, kilograms to tonnes: the same words, and the same values to rounding."""
    m = BUILDS[name]()
    found, other = inspect(m), inspect(copy_of(m, length=1000.0, mass=1e-3))
    assert numbers(other) == numbers(found)
    assert np.allclose(values(other), values(found), rtol=1e-9)
    assert [str(s) for s in other.redundancy.sets] == [str(s) for s in found.redundancy.sets]


@pytest.mark.parametrize("name", BUILDS)
def test_verdict_turned_and_moved(name):
    """Turned and moved, the mechanism has the same words and values."""
    m = BUILDS[name]()
    R = rotation(8) if m.dimension == 3 else np.array([[0.6, -0.8], [0.8, 0.6]])
    found, other = inspect(m), inspect(copy_of(m, R=R, offset=0.7))
    assert numbers(other) == numbers(found)
    assert np.allclose(values(other), values(found), rtol=1e-9)
    assert len(other.redundancy.sets) == len(found.redundancy.sets)


@pytest.mark.parametrize("name", ["four-bar", "flat", "in space", "bricard"])
def test_verdict_far_from_the_origin(name):
    """A thousand kilometres away the words are the same; the tolerance knows the lost digits."""
    m = BUILDS[name]()
    found, other = inspect(m), inspect(copy_of(m, offset=1e6))
    assert numbers(other) == numbers(found)
    assert found.mobility.rank.tolerance == 1e-9
    assert 1e-9 < other.mobility.rank.tolerance < 1e-7


@pytest.mark.parametrize("ratio", [1e-3, 1e-6, 1e6])
def test_masses_far_apart(ratio):
    """One body much lighter or heavier than the others: the same verdict."""
    for name in ("four-bar", "bricard", "sarrus"):
        m = BUILDS[name]()
        found = numbers(inspect(m))
        body = m.bodies[1]
        m.bodies[1] = replace(body, mass=ratio * body.mass, inertia=ratio * body.inertia)
        assert numbers(inspect(m)) == found


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_verdict_in_another_order(name, seed):
    """Bodies, joints and the bodies of each joint in another order: the same words."""
    m = BUILDS[name]()
    found, other = inspect(m), inspect(copy_of(m, seed=seed))
    assert numbers(other) == numbers(found)
    assert len(other.redundancy.sets) == found.redundant_here


@pytest.mark.parametrize(
    ("name", "joint", "rows"),
    [("four-bar", "B1", 4), ("bricard", "P2", 5), ("bennett", "J0", 5), ("stewart", "L0", 3)],
)
def test_doubled_joint(name, joint, rows):
    """A joint written twice adds its equations to the redundancy and changes no mobility."""
    m = BUILDS[name]()
    found, other = inspect(m), inspect(copy_of(m, double=joint))
    assert other.redundant_here == found.redundant_here + rows
    assert other.redundant_motion == found.redundant_motion + rows
    assert (other.mobility_here, other.mobility_motion) == (
        found.mobility_here,
        found.mobility_motion,
    )
    assert other.count == found.count - rows


def test_rows_are_the_rates_of_the_gaps():
    """W twist / rate of the gaps along the twist, by central differences, for all kinds of joint."""
    m = Mechanism("all kinds", gravity=(0, 0, 0))
    rng = np.random.default_rng(2)
    for i in range(4):
        m.body(f"b{i}", 1.0 + i, rng.normal(size=3), rng.uniform(1.0, 1.5, 3))
    m.revolute("R", m.ground, "b0", at=rng.normal(size=3), axis=rng.normal(size=3))
    m.spherical("S", "b0", "b1", "b2", at=rng.normal(size=3))
    m.weld("W", "b2", "b3")
    m.revolute("Q", "b3", "b1", at=rng.normal(size=3), axis=(0, 0, 2))
    equations = make_joint_equations(m)
    assert (equations.rows, equations.columns) == (5 + 6 + 6 + 5, 24)
    pose = equations.start()
    assert np.abs(equations.gaps(pose)).max() < 1e-15
    twists = rng.normal(size=(4, 6))
    h = 1e-5
    rate = (equations.gaps(pose.moved(h * twists)) - equations.gaps(pose.moved(-h * twists))) / (
        2 * h
    )
    # differences of second order: h^2
    assert np.allclose(equations.matrix(pose) @ twists.ravel(), rate, atol=1e-8)
    # the same rows over scaled twists
    x = equations.scaled_twists(pose, twists)
    assert np.allclose(equations.twists(pose, x), twists)
    assert np.allclose(equations.weighted(pose) @ x, equations.matrix(pose) @ twists.ravel())
    power = equations.scaled_forces(pose, twists) @ x
    assert np.isclose(power, np.sum(twists * twists))
    words = [str(e) for e in equations.equations(pose)]
    assert words[-5:] == [
        "along z at Q",
        "along x at Q",
        "along y at Q",
        "about x at Q",
        "about y at Q",
    ]


def test_closing_an_opened_loop():
    """A loop opened by a small displacement is closed again to rounding."""
    equations = make_joint_equations(bricard())
    rng = np.random.default_rng(0)
    pose = equations.start().moved(0.01 * rng.normal(size=(5, 6)))
    closed = solve_closed(equations, pose)
    assert isinstance(closed, Pose)
    assert np.abs(equations.gaps(closed)).max() < 1e-14


def measure_inspection(windows, **options):
    m = n_four_bar(windows, **options)
    begin = time.process_time()
    found = inspect(m)
    return found, time.process_time() - begin


def test_large_mechanism_is_swept():
    """N = 300 is decided body by body, with the same answers."""
    found, _ = measure_inspection(300, lean=FLAT)
    assert numbers(found) == (1, 301, 1, 300, 0, ("crossing",))
    assert "body by body" in found.mobility.rank.how
    assert len(found.redundancy.sets) == 300
    assert numbers(measure_inspection(300)[0]) == (1, 1, 1, 0, 0, ("regular",))


@pytest.mark.soak
def test_thousand_windows():
    """N = 1000 and 4000, flat and upright, in the plane and in space: the time is linear in N."""

    def measure(windows):
        found, seconds = measure_inspection(windows, lean=FLAT)
        assert numbers(found) == (1, windows + 1, 1, windows, 0, ("crossing",))
        return seconds

    bound = 8 * measure(1000)
    assert least(lambda: measure(4000), bound) < bound
    found, _ = measure_inspection(1000, plane_to_space=in_plane_of())
    assert numbers(found) == (1 - 3000, 1, 1, 3000, 3000, ("permanently redundant",))
    assert found.redundancy.unnamed == 0


def rods_in_a_loop(points, R=None):
    """Rods from point to point, pinned to each other and at both ends to the ground; with R in space."""
    place = (lambda p: np.array(p, dtype=float)) if R is None else in_plane_of(R)
    axis = {} if R is None else {"axis": R[:, 2]}
    m = Mechanism("loop", gravity=np.zeros(2 if R is None else 3))
    for i, (a, b) in enumerate(itertools.pairwise(points)):
        m.rod(f"rod{i}", place(a), place(b), mass=1.0)
    chain = [m.ground, *m.bodies, m.ground]
    for i, p in enumerate(points):
        m.revolute(f"J{i}", chain[i], chain[i + 1], at=place(p), **axis)
    return m


@pytest.mark.parametrize("short", [1e-4, 1e-6])
def test_an_almost_stretched_linkage_moves_a_little(short):
    """Three rods of 1 m between supports almost 3 m apart: a mechanism, in the plane and in space."""
    rise = np.sqrt(1 - (1 - short / 2) ** 2)
    points = [(0, 0), (1, 0), (2 - short / 2, rise), (3 - short, 0)]
    for R in (None, rotation(5)):
        found = inspect(rods_in_a_loop(points, R))
        assert (found.mobility_here, found.mobility_motion) == (1, 1)


def test_a_linkage_assembled_to_its_full_stretch_is_locked():
    """Closing finds a double root to half the digits: the rank is full, and yet nothing leads on."""
    m = Mechanism("stretched")
    for i in range(3):
        m.rod(f"rod{i}", (i, 0.1 * i), (i + 1, 0.1 * i), mass=1.0)
    m.revolute("J0", m.ground, "rod0", at=(0, 0))
    m.revolute("J1", "rod0", "rod1", at=[(1, 0), (1, 0.1)])
    m.revolute("J2", "rod1", "rod2", at=[(2, 0.1), (2, 0.2)])
    m.revolute("J3", "rod2", m.ground, at=[(3, 0.2), (3, 0)])
    found = inspect(m)
    assert found.mobility_motion == 0
    assert found.classification == "locked"


@pytest.mark.parametrize("light", [1e-6, 1e-9, 1e-12])
def test_very_light_links_do_not_change_the_verdict(light):
    """A flat rhombus, one rod of which weighs almost nothing, in the plane and in space."""
    for R, redundant in ((None, 0), (rotation(2), 3)):
        for i in range(3):
            m = rods_in_a_loop([(0, 0), (1, 0), (2, 0), (1, 0)], R)
            b = m.bodies[i]
            m.bodies[i] = replace(b, mass=light * b.mass, inertia=light * b.inertia)
            found = inspect(m)
            assert (found.mobility_here, found.mobility_motion) == (2, 1)
            assert found.redundant_motion == redundant
            assert found.classification == "crossing"
