"""Linkages of the literature: mobility, redundancy, what their motion keeps, and where motions meet.

Dimensions are drawn, so each test holds a class, not an instance; the keys in `linkages` say where it is
described. Bodies have no part in it: what moves does not depend on masses.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import linkages
from linkages import (
    bennett,
    bricard_by_symmetry,
    dixon_lines,
    dixon_rectangles,
    double_watt,
    flat_parallelograms,
    flexible_octahedron,
    goldberg,
    griffis_duffy,
    myard,
    sarrus_stack,
    schatz,
    schmidt,
    scissors,
    spherical_chain,
    three_upu,
    trihedral,
    waldron,
    watt_in_slots,
    wunderlich,
)
from sarrus import inspect, simulate
from sarrus.kinematics.configuration import read_poses
from sarrus.model import make_model
from sarrus.verdict.branches import find_branches
from sarrus.verdict.joint_equations import make_joint_equations
from verdict_checks import numbers

# together they take half a minute
pytestmark = pytest.mark.slow

# count, mobility
PARADOXICAL = {
    "bennett": (lambda rng: bennett(rng.uniform(0.6, 2.4)), -2, 1),
    "goldberg": (lambda rng: goldberg(*rng.uniform(0.8, 2.0, 2)), -1, 1),
    "myard": (myard, -1, 1),
    "waldron": (waldron, 0, 1),
    "schatz": (schatz, 0, 1),
    "bricard, a line": (lambda rng: bricard_by_symmetry(rng, plane=False), 0, 1),
    "bricard, a plane": (lambda rng: bricard_by_symmetry(rng, plane=True), 0, 1),
    "bricard, trihedral": (trihedral, 0, 1),
    "octahedron, a line": (lambda rng: flexible_octahedron(rng, plane=False), -18, 1),
    "octahedron, a plane": (lambda rng: flexible_octahedron(rng, plane=True), -18, 1),
    "sarrus, two": (lambda rng: sarrus_stack(2, rng.uniform(-0.7, 0.7)), 0, 2),
    "sarrus, three": (lambda rng: sarrus_stack(3, rng.uniform(-0.7, 0.7)), 0, 3),
    "schmidt": (schmidt, -1, 1),
    "dixon, lines": (dixon_lines, 0, 1),
    "dixon, rectangles": (dixon_rectangles, -3, 1),
    "griffis-duffy": (lambda rng: griffis_duffy(rng.uniform(-1, 1)), 0, 1),
    "spherical 5R": (lambda rng: spherical_chain(5, rng), -1, 2),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", PARADOXICAL)
def test_mobility_and_redundancy(name, seed):
    """They move against the count, with as many redundant equations as that takes, here and nearby."""
    build, count, mobility = PARADOXICAL[name]
    found = inspect(build(np.random.default_rng(seed)))
    redundant = mobility - count
    words = ("permanently redundant",)
    assert numbers(found) == (count, mobility, mobility, redundant, redundant, words)
    # exact to rounding: nothing between it and the values that count
    assert found.mobility.rank.below[0] < 1e-14
    assert found.locked is None


def test_platforms_on_crosses():
    """Tsai's has three degrees of freedom; that of Seoul five where it stands level, and three near it."""
    assert numbers(inspect(three_upu(radial=False))) == (3, 3, 3, 0, 0, ("regular",))
    assert numbers(inspect(three_upu(radial=True))) == (3, 5, 3, 2, 0, ("crossing",))
    assert numbers(inspect(three_upu(radial=True, shift=(0.1, 0.2))))[:5] == (3, 3, 3, 0, 0)


def test_locked_legs_do_not_hold_a_level_platform():
    """The robot of Seoul with its legs locked keeps two degrees of freedom where it stands level; near it none."""
    for shift, here in (((0.0, 0.0), 2), ((0.1, 0.2), 0)):
        m = three_upu(radial=True, shift=shift)
        for i in range(3):
            m.drive(f"leg{i}", f"P{i}", 0.0)
        found = inspect(m)
        assert (found.driven.free_here, found.driven.free_motion) == (here, 0)
        assert ("leave 2 degrees of freedom" in str(found)) == bool(here)


def test_as_many_degrees_of_freedom_more_in_a_run_as_in_an_inspection():
    """The branches of the robot of Seoul at its level position know that its motion has three degrees of
    freedom.
    """
    m = three_upu(radial=True)
    model = make_model(m)
    found = find_branches(model, make_joint_equations(m), np.zeros(model.coordinates))
    assert found.dof == 5
    assert found.dimensions == (3,)


@pytest.mark.parametrize("units", [2, 6, 15, 30])
def test_scissors(units):
    """One degree of freedom, nothing redundant, however long."""
    assert numbers(inspect(scissors(units))) == (1, 1, 1, 0, 0, ("regular",))


@pytest.mark.parametrize("units", [2, 6, 10, pytest.param(20, marks=pytest.mark.soak)])
def test_folded_scissors(units):
    """On one line pairs of bars may turn as one, a degree of freedom a unit; opening is the motion with one."""
    found = inspect(scissors(units, 0.0))
    assert numbers(found) == (1, units + 1, 1, units, 0, ("crossing",))
    assert found.mobility.dimensions == (1, units)
    # closed the other way, the slide holds the pairs apart
    found = inspect(scissors(units, np.pi / 2))
    assert numbers(found) == (1, units, 1, units - 1, 0, ("crossing",))
    assert found.mobility.dimensions == (1,)


@pytest.mark.parametrize("windows", [3, 9, 16])
def test_parallelograms_in_line(windows):
    """Each of them may go on crossed or not: all motions have 1 degree of freedom, however small a part of
    them is.
    """
    rng = np.random.default_rng(windows)
    found = inspect(flat_parallelograms(rng.uniform(0.5, 1.6, windows), rng.uniform(0.6, 1.2)))
    assert numbers(found) == (1, windows + 1, 1, windows, 0, ("crossing",))
    assert found.mobility.dimensions == (1,)


def test_what_is_too_large_for_branches_is_reported():
    """A hundred and one units have more columns than are analysed."""
    found = inspect(scissors(101, 0.0))
    assert found.branches is None
    assert "further branches are not ruled out" in str(found)


def poses_of(m, duration=1.0):
    """Joint places and axes along a simulated motion, (n, joints, 3) each."""
    result = simulate(m, duration, duration / 10)
    assert result.status == "done", result.message
    e = result.joint_equations
    poses = read_poses(e.centers, result.model.body_rows, result.coordinates)
    seen = [e.at(pose) for pose in poses]
    moved = max(poses[0].distance(p, e.length) for p in poses)
    assert moved > 0.05
    return np.array([x.places[0] for x in seen]), np.array([x.axes for x in seen])


# a run at the tolerance 1e-10 of a link
RIGHT = 1e-8


def apart(places, i, j):
    """The distance of two joints along a motion."""
    return np.linalg.norm(places[:, i] - places[:, j], axis=1)


@pytest.mark.parametrize(
    ("plane", "same"), [(False, ((0, 2), (3, 5))), (True, ((0, 2), (0, 4)))], ids=["line", "plane"]
)
def test_bricard_keeps_its_symmetry(plane, same):
    """Joints that are images of each other stay as far from others that are."""
    places, _ = poses_of(bricard_by_symmetry(np.random.default_rng(3), plane))
    one, other = (apart(places, *pair) for pair in same)
    assert np.ptp(one) > 1e-3
    np.testing.assert_allclose(one, other, atol=RIGHT)


def test_every_other_axis_of_a_trihedral_bricard_meets():
    """Axes 1, 3 and 5 meet in one point, 2, 4 and 6 in another, at every position [Baker1980]."""
    places, axes = poses_of(trihedral(np.random.default_rng(2)))
    for first in (0, 1):
        for p, u in zip(places[:, first::2], axes[:, first::2], strict=True):
            # the point of least distance from three lines lies on all of them
            across = np.eye(3) - u[:, :, None] * u[:, None, :]
            x = np.linalg.solve(across.sum(axis=0), np.einsum("nij,nj->i", across, p))
            assert np.abs(np.einsum("nij,nj->ni", across, x - p)).max() < RIGHT


def test_bennett_angles():
    """tan(t1/2) tan(t2/2) is constant: opposite angles are equal, and neighbours follow from each other."""
    m = bennett(1.1)
    places, axes = poses_of(m)
    a, b = (np.linalg.norm(places[0, i] - places[0, i + 1]) for i in (0, 1))
    angles = []
    for j in (0, 1):
        before, behind = places[:, j] - places[:, j - 1], places[:, (j + 1) % 4] - places[:, j]
        sine = np.einsum("ti,ti->t", np.cross(before, behind), axes[:, j])
        angles.append(np.arctan2(sine, np.einsum("ti,ti->t", before, behind)))
    product = np.tan(angles[0] / 2) * np.tan(angles[1] / 2)
    assert np.ptp(angles[0]) > 0.1
    assert a != b
    # the product of sizes 0.3 to 3 of angles right to RIGHT
    np.testing.assert_allclose(product, product[0], rtol=1e-6)


def test_dixon_lines_stay_square():
    """Nodes stay on two lines at a right angle, and squares along them change by one number [Dixon1899]."""
    result = simulate(dixon_lines(np.random.default_rng(1)), 1.0, 0.1)
    assert result.status == "done", result.message
    nodes = np.array([result.position(f"N{k}") for k in range(6)])
    x, y = nodes[1] - nodes[0], nodes[4] - nodes[3]
    assert np.abs(np.einsum("ti,ti->t", x, y)).max() < RIGHT
    for line in (nodes[:3], nodes[3:]):
        a, b = line[1] - line[0], line[2] - line[0]
        flat = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        assert np.abs(flat).max() < RIGHT
    assert np.ptp(np.linalg.norm(x, axis=1)) > 1e-3


def test_schmidt_transmits_the_angle():
    """Discs stay parallel: the outgoing shaft turns as the incoming one."""
    m = schmidt(np.random.default_rng(4))
    m.set_angular_velocity("disc0", 2.0)
    result = simulate(m, 0.5, 0.05)
    assert result.status == "done", result.message
    spokes = [result.position(f"L0{k}") - result.position("in") for k in range(3)]
    far = [result.position(f"R1{k}") - result.position("out") for k in range(3)]
    assert np.abs(spokes[0][-1] - spokes[0][0]).max() > 0.1
    np.testing.assert_allclose(far, spokes, atol=RIGHT)


def test_stacked_platforms_rise_straight():
    """All platforms move along z only."""
    result = simulate(sarrus_stack(2), 0.3, 0.03)
    assert result.status == "done", result.message
    for s in range(2):
        place = result.position(f"platform{s}")
        assert np.abs(place[:, :2]).max() < RIGHT
        assert np.ptp(place[:, 2]) > 1e-2


def test_wunderlich_whichever_bar_is_held():
    """In line the instantaneous mobility is six, and branches of mobility one and two meet; upright it is two.

    It is the same linkage whichever bar is the ground.
    """
    rng = np.random.default_rng(6)
    lengths = rng.uniform(0.5, 1.5, 3)
    for held in range(0, 12, 2):
        found = inspect(wunderlich(lengths, np.zeros(3), held))
        assert numbers(found) == (1, 6, 1, 5, 0, ("crossing",)), held
        assert found.mobility.dimensions == (1, 2)
        assert sorted(b.dimension for b in found.branches) == [1] * 8 + [2] * 5
        box = inspect(wunderlich(lengths, (0.1, 0.9, 2.0), held))
        assert numbers(box) == (1, 2, 2, 1, 1, ("permanently redundant",)), held


def middle_path(places, y):
    """x of the coupler's point of the bar at a height, from circles alone; by bisection in a rocker's angle."""
    A, P, B, Q, M = places
    share = np.hypot(*(M - P)) / np.hypot(*(Q - P))

    def middle(angle):
        p = A + rotated(P - A, angle)
        # the right pin: on its circle about B, a coupler away from p
        d = B - p
        size, r, c = np.hypot(*d), np.hypot(*(Q - B)), np.hypot(*(Q - P))
        along = (size**2 + c**2 - r**2) / (2 * size)
        up = np.sqrt(c**2 - along**2)
        sides = [p + (along * d + s * up * np.array([-d[1], d[0]])) / size for s in (1, -1)]
        q = min(sides, key=lambda z: np.hypot(*(z - Q)))
        return p + share * (q - p)

    low, high = (s * 0.5 * np.sign((P - A)[0]) for s in (-1, 1))
    for _ in range(60):
        mid = 0.5 * (low + high)
        low, high = (mid, high) if middle(mid)[1] < y else (low, mid)
    return middle(mid)[0]


def rotated(v, angle):
    """A vector of the plane turned."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])


def count_by_hand(m, y):
    """How many places there are for the second middle near the height y of the first: roots of the bar's."""
    at = {j.name: j.at for j in m.joints}
    paths = [[at[f"{letter}{k}"] for letter in "APBQM"] for k in (0, 1)]
    bar = at["M1"][0] - at["M0"][0]
    x = middle_path(paths[0], y)
    # roots lie close to y itself: steps are finest there
    steps = np.geomspace(1e-6, 0.4 * abs(y), 80)
    heights = y + np.concatenate([-steps[::-1], steps])
    misses = [np.hypot(middle_path(paths[1], z) - x, z - y) - bar for z in heights]
    return int(np.sum(np.diff(np.sign(misses)) != 0))


@pytest.mark.parametrize("kind", ["tangency", "cusp"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_double_watt(kind, seed):
    """Branches with a common tangent are two; a cusp is one, one-sided: as the paths of the midpoints show."""
    m = double_watt(np.random.default_rng(seed), kind)
    found = inspect(m)
    assert numbers(found) == (1, 2, 1, 1, 0, ("crossing",))
    model = make_model(m)
    branches = find_branches(model, make_joint_equations(m), np.zeros(model.coordinates))
    sides = sorted(count_by_hand(m, s * 0.1) for s in (1, -1))
    assert sides == ([2, 2] if kind == "tangency" else [0, 2])
    assert len(branches) == (2 if kind == "tangency" else 1)
    assert {b.two_sided for b in branches} == {kind == "tangency"}
    assert branches.classification == ("tangential bifurcation" if kind == "tangency" else "cusp")
    if kind == "cusp":
        # it is the side on which there are two
        up = branches[0].velocities["M0"][1] > 0
        assert count_by_hand(m, 0.1 if up else -0.1) == 2


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_uneven_double_watt(seed):
    """Rigid or mobile, with the fourth power of the distance: what the paths of the middles say."""
    m = double_watt(np.random.default_rng(seed), "uneven")
    sides = [count_by_hand(m, s * 0.1) for s in (1, -1)]
    assert sides in ([0, 0], [2, 2])
    model = make_model(m)
    branches = find_branches(model, make_joint_equations(m), np.zeros(model.coordinates))
    assert len(branches) == sides[0]
    found = inspect(m)
    assert (found.mobility_here, found.mobility_motion) == (2, 1 if sides[0] else 0)
    assert found.classes == (("crossing",) if sides[0] else ("locked", "over-constrained"))


@pytest.mark.parametrize("slots", [1, 2])
def test_shaky_to_a_high_order(slots):
    """A point that leaves its slot with the fifth power of its travel is locked, but shaky."""
    found = inspect(watt_in_slots(np.random.default_rng(slots), slots))
    assert (found.mobility_here, found.mobility_motion, found.redundant_here) == (1, 0, slots)
    assert tuple(w for w in found.classes if w != "near-singular") == ("locked", "over-constrained")


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("off", [1e-10, 1e-7])
def test_almost_two_degrees_of_freedom(off, axes):
    """A spherical 5R with axes that miss the point: 1 degree of freedom is left, or none; the rest is play,
    and reported.
    """
    found = inspect(spherical_chain(5, np.random.default_rng(axes), off, axes))
    assert found.locked is not None
    assert (found.locked.dof, found.locked.exact) == (axes, 2 - axes)
    # gaps are as large as what the axes miss by, over links of a metre
    assert 0.01 * off < found.locked.misfit < 10 * off
    within = off < 1e-8
    assert (found.classification == "mobile within tolerance") == within
    assert found.mobility_motion == (2 if within else 2 - axes)
    assert ("more only with joint play" if axes == 1 else "Strictly, it is locked") in str(found)


def test_sources_are_in_the_bibliography():
    """Every key named next to a linkage is an entry."""
    root = Path(__file__).parents[2]
    entries = set(re.findall(r"@\w+\{(\w+),", (root / "docs/references.bib").read_text()))
    text = Path(linkages.__file__).read_text()
    named = {
        key
        for group in re.findall(r"\[([^\]\n]*\d{4}[^\]\n]*)\]", text)
        for key in group.split(", ")
    }
    assert len(named) >= 12
    assert named <= entries
