"""Random degenerate configurations of many kinds: what is known by hand, and that copies do not differ."""

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from degenerate_linkages import (
    FAMILIES,
    concentric,
    copies_of,
    disturbed,
    doubled,
    parallelogram_in_space,
    platform,
    rrr_held,
    sarrus_of_legs,
    summary,
)

NAMES = [family.__name__ for family in FAMILIES]
# seconds each: large models, or a search for directions
LARGE = (
    "regular_overconstrained",
    "boxes",
    "seoul",
    "tsai",
    "flat_spherical",
    "folded_sarrus",
    "sarrus_of_legs",
)


def check_member(family, seed):
    """Compare a member with what is known of it, and its copies with it."""
    m, known = family(np.random.default_rng(seed))
    held = family is rrr_held
    b = sarrus.branches(m, hold_drives=held)
    assert b.decided, str(b)
    if known.dimensions is not None:
        assert sorted(x.dimension for x in b) == sorted(known.dimensions)
    assert known.word is None or known.word in b.classes
    assert known.gap is None or known.gap == b.gap
    for name, copy in copies_of(m, seed).items():
        other = sarrus.branches(copy, hold_drives=held)
        assert summary(other) == summary(b), name
        # the misfit of the copy is within the limit that is stated
        assert other.misfit < other.holds_within, name
    return m, b


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in NAMES]
)
def test_a_member_and_its_copies(name):
    """Known branches; units, directions, the order of parts and errors of 1e-12 change nothing."""
    check_member(FAMILIES[NAMES.index(name)], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [2])
def test_more_members(name, seed):
    """The same of other members, and two copies side by side have every pair of branches."""
    m, b = check_member(FAMILIES[NAMES.index(name)], seed)
    if 0 < b.count <= 8 and not m.drives:
        both = sarrus.branches(doubled(m))
        assert (both.classes, both.order, both.gap) == (b.classes, b.order, b.gap)
        expected = sorted(x.dimension + y.dimension for x in b for y in b)
        assert sorted(x.dimension for x in both) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [("bottom", "bottom", "fold", "bottom"), ("top", "slope", "fold", "slope")],
    ids=" ".join,
)
def test_small_multiples_of_an_equation_do_not_contradict_it(kinds):
    """With axes off by 1e-12 the legs have more redundant equations, some of them 1e-4 of others."""
    m, known = sarrus_of_legs(np.random.default_rng(7), list(kinds))
    exact = summary(sarrus.branches(m))
    assert sorted(x[0] for x in exact[-1]) == sorted(known.dimensions)
    for seed in range(2):
        assert summary(sarrus.branches(disturbed(m, 1e-12, seed))) == exact


def test_a_single_loop_of_folded_legs_is_kinematotropic():
    """Two chains of three parallel hinges: both rise together with one degree of freedom, or swing with two.

    In closed form: the planar motions of the legs have only the translations along z in common. A folded leg has
    links of one length at the angles a, b with cos a + cos b = 0: b = pi - a, which lifts the platform, or
    b = pi + a, which does not. So z is zero for both legs or for none.
    """
    m, _ = sarrus_of_legs(np.random.default_rng(3), ["fold", "fold"])
    found = sarrus.branches(m)
    assert (found.classes, found.dof, found.order) == (("transversal crossing",), 3, 2)
    rising, swinging = sorted(found, key=lambda b: b.dimension)
    assert (rising.dimension, swinging.dimension) == (1, 2)
    lift = rising.velocities["B0"]
    assert abs(lift[2]) > 0.1
    for i in range(2):
        # to rounding: the platform translates along z, and every knee by half of it
        assert np.abs(rising.velocities[f"B{i}"] - (0.0, 0.0, lift[2])).max() < 1e-10
        assert np.abs(rising.velocities[f"K{i}"] - 0.5 * lift).max() < 1e-10
        assert not np.any(swinging.velocities[f"B{i}"])


@pytest.mark.parametrize("tilt", [2e-12, 1e-10])
def test_axes_of_the_ground_that_are_almost_parallel(tilt):
    """Hinges of the ground whose axes differ by rounding do not hold a crank that has both directions."""
    m, known = parallelogram_in_space(np.random.default_rng(1))
    first = m.joints[0]
    ends = tuple(replace(e, axis=np.array([tilt, 0.0, 1.0])) for e in first.ends)
    m.joints[0] = replace(first, ends=ends)
    found = sarrus.branches(m)
    assert tuple(b.dimension for b in found) == known.dimensions
    assert found.decided


def half_branches_on_circle(distance, size, count=20000):
    """How often a function of two parameters changes sign on a small circle about the origin."""
    t = 2.0 * np.pi * (np.arange(count) + 0.5) / count
    signs = np.sign(distance(size * np.cos(t), size * np.sin(t)))
    return int(np.sum(signs != np.roll(signs, 1)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("even", [True, False])
def test_two_paths_with_one_centre_of_curvature(seed, even):
    """A crank and a trammel on a bar: the length of the bar changes sign on a circle once for each half-branch."""
    m, _ = concentric(np.random.default_rng(seed), even)
    place = {j.name: np.asarray(j.at) for j in m.joints}
    P, Q, C = place["P"], place["Q"], place["C"]
    # the bar of the trammel from X on the x axis to Y on the y axis carries P
    X, Y = place["X"], place["Y"]
    length = np.linalg.norm(Y - X)
    direction = np.arctan2(*(Y - X)[::-1])
    local = (
        np.array([(P - X) @ (Y - X), (Y - X)[0] * (P - X)[1] - (Y - X)[1] * (P - X)[0]]) / length
    )

    def gap(u, v):
        c, s = np.cos(direction + u), np.sin(direction + u)
        # X = (x, 0) with Y on the y axis: x = -length cos
        px = -length * c + local[0] * c - local[1] * s
        py = local[0] * s + local[1] * c
        cv, sv = np.cos(v), np.sin(v)
        d = Q - C
        qx, qy = C[0] + d[0] * cv - d[1] * sv, C[1] + d[0] * sv + d[1] * cv
        return (px - qx) ** 2 + (py - qy) ** 2 - (P - Q) @ (P - Q)

    b = sarrus.branches(m)
    assert b.decided
    assert half_branches_on_circle(gap, 0.1) == 2 * b.count


@pytest.mark.parametrize("seed", range(4))
def test_a_plate_on_bars_with_affine_inverse_lengths(seed):
    """1 / length affine across parallel bars: the plate turns with s^2, and the joints open with a higher power.

    The joints close to second order, so the gap is found by a fit of the residual after closing the first orders.
    """
    m, _ = platform(np.random.default_rng(seed), "affine")
    b = sarrus.branches(m)
    assert b.decided
    assert b.gap > 2
    assert b.classification == "infinitesimally mobile"
