"""Branches of c1 x1^p1 = c2 x2^p2 = ...: every degenerate crossing, tangency, cusp and gap, built of linkages.

The real solutions are known by hand. Their number is counted a second way: points of the configuration space on a
small sphere, found by Newton's steps from many starts, two for each branch of one dimension.
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import sarrus
from branch_cases import (
    bent,
    isosceles_slider_crank,
    kite,
    polygon_in_line,
    powers,
    seesaw,
    two_beams,
)
from linkages import copy_of
from sarrus.kinematics.constraints import Constraints
from sarrus.mechanism.mechanism import vary
from sarrus.model import make_model
from sarrus.verdict.local.analysis import contacts

CROSSING, TANGENTIAL, CUSP, SHAKY = (
    "transversal crossing", "tangential bifurcation", "cusp", "infinitesimally mobile",
)  # fmt: skip
LINE, CUSPED = (1, 1, True, 0.0), (1, 1, False, 0.0)
# classes, order, gap, and of every branch dimension, instantaneous mobility, two-sided, contact
KNOWN = {
    (1, 2): (("regular",), 1, 0, [LINE]),
    (2, 2): ((CROSSING,), 2, 0, [LINE] * 2),
    (2, -2): ((SHAKY,), 2, 2, []),
    # x1 = +- x2^(3/2)
    (2, 3): ((CUSP,), 3, 0, [CUSPED]),
    # one curve, x1 = k x2, of a cubic; other velocities open like s^3
    (3, 3): ((SHAKY,), 3, 3, [LINE]),
    (3, -3): ((SHAKY,), 3, 3, [LINE]),
    # x1 = x2^(4/3) goes both ways
    (3, 4): ((SHAKY,), 4, 3, [LINE]),
    # x1 = +- x2^2, x1 = +- x2^4
    (2, 4): ((TANGENTIAL,), 4, 0, [(1, 1, True, 2.0)] * 2),
    (2, 8): ((TANGENTIAL,), 8, 0, [(1, 1, True, 4.0)] * 2),
    (2, -4): ((SHAKY,), 4, 4, []),
    (4, 4): ((CROSSING,), 4, 0, [LINE] * 2),
    (4, -4): ((SHAKY,), 4, 4, []),
    (8, 8): ((CROSSING,), 8, 0, [LINE] * 2),
    (8, -8): ((SHAKY,), 8, 8, []),
    (2, 2, 2): ((CROSSING,), 2, 0, [LINE] * 4),
    # simple roots of quartic forms: smooth branches in any number of degrees of freedom
    (4, 4, 4, 4, 4): ((CROSSING,), 4, 0, [LINE] * 16),
    # x2 = +- k x3 and x1 = +- x3^4 or +- x3^2: the second condition is hidden by powers of x1
    (2, 8, 8): ((TANGENTIAL, CROSSING), 8, 0, [(1, 1, True, 4.0)] * 4),
    (4, 8, 8): ((TANGENTIAL, CROSSING), 8, 0, [(1, 1, True, 2.0)] * 4),
    # x1, x2, x3 in proportion, and another one = +- s^(3/2)
    (3, 3, 3, 2): ((CUSP,), 3, 0, [CUSPED]),
    (3, 3, 3, 3, 3, 2): ((CUSP,), 3, 0, [CUSPED]),
    # x1 = +- x4^4, x2 = x4^(8/3), x3 = +- x4^2
    (2, 3, 4, 8): ((TANGENTIAL,), 8, 0, [(1, 1, True, 4.0)] * 4),
    (2, 2, -2): ((SHAKY,), 2, 2, []),
    # x1 and x2 = +- x3^(3/2): two cusps with one tangent
    (2, 2, 3): ((CUSP, TANGENTIAL), 3, 0, [(1, 1, False, 1.5)] * 2),
    (2, 2, 2, 2, 3): ((CUSP, TANGENTIAL), 3, 0, [(1, 1, False, 1.5)] * 8),
    # x2 = k x3, then x1 = +- x3^(3/2)
    (2, 3, 3): ((CUSP,), 3, 0, [CUSPED]),
    # x2 = x3^(4/3) and x1 = +- x3^2: degrees of freedom with different exponents
    (2, 3, 4): ((TANGENTIAL,), 4, 0, [(1, 1, True, 2.0)] * 2),
    (2, 2, 4): ((TANGENTIAL,), 4, 0, [(1, 1, True, 2.0)] * 4),
    (2, 4, 4): ((TANGENTIAL, CROSSING), 4, 0, [(1, 1, True, 2.0)] * 4),
    (2, 4, 8): ((TANGENTIAL,), 8, 0, [(1, 1, True, 4.0)] * 4),
}  # fmt: skip


def summary(b):
    """What copies of a mechanism have in common."""
    return (
        b.classes,
        b.order,
        b.gap,
        sorted((x.dimension, x.instantaneous, x.two_sided, x.contact) for x in b),
    )


@pytest.mark.slow
@pytest.mark.parametrize("exponents", KNOWN, ids=str)
def test_branches_of_powers(exponents):
    """Classes, order, gap, and dimension, sides and contact of every branch, as they are by hand."""
    b = sarrus.branches(powers(*exponents))
    assert summary(b) == KNOWN[exponents]
    assert b.decided
    assert b.complete
    assert all(x.decided and x.residual < 1e-13 for x in b)


def points_on_sphere(m, radius, starts):
    """How many configurations have degrees of freedom of one size, by Levenberg-Marquardt steps from random
    starts.
    """
    model = make_model(m)
    joints = Constraints(model.form, joints=True)
    _, values, V = np.linalg.svd(joints.jacobian(np.zeros(model.coordinates)))
    N = V[int(np.sum(values > 1e-7)) :].T
    rng, found = np.random.default_rng(4), []

    def gaps(x):
        return np.append(joints.phi(x), 0.5 * ((N.T @ x) @ (N.T @ x) / radius - radius))

    for _ in range(starts):
        a = rng.normal(size=N.shape[1]) * 10.0 ** rng.uniform(-3.0, 0.0, N.shape[1])
        x, damping = N @ a * (radius / np.linalg.norm(a)), 1e-3
        f = gaps(x)
        for _ in range(60):
            A = np.vstack([joints.jacobian(x), N @ (N.T @ x) / radius])
            U, s, V = np.linalg.svd(A, full_matrices=False)
            new = x - V.T @ (s * (U.T @ f) / (s * s + damping**2))
            if gaps(new) @ gaps(new) < f @ f:
                x, f, damping = new, gaps(new), max(0.3 * damping, 1e-9)
            else:
                damping *= 4.0
            if f @ f < 1e-26:
                break
        # another configuration of the linkage, far from this one, has degrees of freedom of that size too
        near = f @ f < 1e-24 and np.abs(x).max() < 5.0 * radius
        if near and all(np.abs(x - y).max() > 1e-4 * radius for y in found):
            found.append(x)
    return len(found)


@pytest.mark.slow
@pytest.mark.parametrize("exponents", [(2, 3), (2, 4), (3, 4), (2, 2, 3), (2, 3, 4), (2, 4, 4)])
def test_a_small_sphere_meets_every_branch_twice(exponents):
    """The second way of counting, which knows nothing of Taylor series."""
    count = points_on_sphere(powers(*exponents), 0.2, 100)
    assert count == 2 * sarrus.branches(powers(*exponents)).count


@pytest.mark.parametrize("exponents", [(2, 3), (3, 4), (2, 8), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("change", ["rounded", "units", "turned", "other order"])
def test_copies_have_the_same_branches(exponents, change):
    """Dimensions off by 1e-12, units, directions and the order of parts change nothing."""
    m = powers(*exponents)
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    copy = {
        "rounded": lambda: bent(m, 1e-12, 1),
        "units": lambda: copy_of(m, length=1e3, mass=1e-3),
        "turned": lambda: copy_of(m, R=turned),
        "other order": lambda: copy_of(m, seed=3),
    }[change]()
    b = sarrus.branches(copy)
    assert summary(b) == KNOWN[exponents]
    assert b.misfit < b.holds_within


@pytest.mark.parametrize("exponents", [(2, 3), (3, 4), (2, 4, 8), (8, 8)], ids=str)
def test_paths_and_runs_along_degenerate_branches(exponents):
    """Rows of a path close though exponents are fractions or high, and every branch can be followed."""
    m = vary(powers(*exponents), gravity=0.0)
    found = sarrus.branches(m)
    joints = Constraints(found.model.form, joints=True)
    for branch in found:
        path = found.path(branch, 10)
        # rounding of sums of products of order one
        assert max(np.abs(joints.phi(x)).max() for x in path) < 1e-13
        assert np.abs(np.diff(path, axis=0)).max() < 0.3 * np.abs(path).max()
    run = sarrus.simulate(m, 0.1, 0.05, follow=found[0])
    assert run.status == "done", run.message


def branches_by_height(exponents):
    """Half-branches for a small height above and below zero: 2 ways of an even leg, or none, 1 of an odd one."""
    total = 0
    for side in (1, -1):
        ways = [1 if p % 2 else 1 + side * int(np.sign(p)) for p in exponents]
        total += int(np.prod(ways))
    return total // 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_powers_have_as_many_branches_as_heights(seed):
    """The common height of the legs parametrises every half-branch."""
    rng = np.random.default_rng(seed)
    exponents = tuple(int(p) for p in rng.choice((2, -2, 3, -3, 4, -4), rng.integers(2, 4)))
    b = sarrus.branches(powers(*exponents))
    assert b.decided
    assert b.count == branches_by_height(exponents), exponents


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_chains_in_line(seed):
    """The quadric of p sides to the right and q to the left has p - 1 and q - 1 signs [MilgramTrinkle2004]."""
    rng = np.random.default_rng(seed)
    right, left = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    a, b = rng.uniform(0.5, 2.0, right), rng.uniform(0.5, 2.0, left)
    sides = rng.permutation([*a, *(-b * a.sum() / b.sum())])
    found = sarrus.branches(polygon_in_line(*sides))
    count = 0 if left == 1 else 2 if (right, left) == (2, 2) else 1
    assert found.decided
    assert [x.dimension for x in found] == [right + left - 3] * count
    assert all(x.conical == (count == 1) for x in found)


CONES = {
    "five bars": (polygon_in_line(1.0, 2.0, 1.5, -2.5, -2.0), 3),
    "five other bars": (polygon_in_line(1.0, 2.0, 1.5, -4.0, -0.5), 3),
    "six bars": (polygon_in_line(1.0, 1.3, -1.0, 0.8, -1.2, -0.9), 4),
}


@pytest.mark.parametrize("name", CONES)
def test_closed_chains_in_line_have_a_conical_point(name):
    """One quadric of mixed signs in three or more degrees of freedom is one cone: one branch, which crosses
    itself.
    """
    m, dof = CONES[name]
    b = sarrus.branches(m)
    assert (b.dof, b.classes, b.order) == (dof, (CROSSING,), 2)
    assert [(x.dimension, x.conical, x.decided) for x in b] == [(dof - 1, True, True)]
    assert "form a cone" in str(b)


def test_a_stretched_chain_is_isolated():
    """Four bars that span a fifth: the quadric has one sign."""
    b = sarrus.branches(polygon_in_line(1.0, 1.0, 1.0, 1.0, -4.0))
    assert (b.classes, b.gap, b.count) == ((SHAKY,), 2, 0)
    assert b.self_stress.stiffens


@pytest.mark.parametrize("make", [kite, isosceles_slider_crank])
def test_planes_are_not_cones(make):
    """Branches of one dimension have a tangent line."""
    assert not any(x.conical for x in sarrus.branches(make()))


def test_the_figure_shows_the_cusp():
    """The travel of one leg against that of the other: y^2 = x^3, so both ends lie on one side."""
    panel = sarrus.branches(powers(2, 3)).plot("H0", "H1").axes[-1]
    y, x = panel.lines[0].get_data()
    ends = [0, -1]
    assert x[0] * x[-1] > 0.0
    assert y[0] * y[-1] < 0.0
    # up to the next terms of the series, which are a quarter of a link away
    ratio = np.abs(np.asarray(y)[ends]) / np.abs(np.asarray(y)[[5, -6]])
    steps = np.abs(np.asarray(x)[ends]) / np.abs(np.asarray(x)[[5, -6]])
    np.testing.assert_allclose(np.log(ratio) / np.log(steps), 1.5, atol=0.05)


# c1 x1^p1 - 2 c2 x2^p2 + c3 x3^p3 = 0: classes, and of every branch dimension, two-sided, contact, conical
SURFACES = {
    # a cone, and two planes that the cubic or quartic term joins into one surface
    (2, 2, 2): ((CROSSING,), [(2, True, 0.0, True)]),
    (2, 2, 3): ((CROSSING,), [(2, True, 0.0, True)]),
    (2, 2, 4): ((CROSSING,), [(2, True, 0.0, True)]),
    (2, 2, 8): ((CROSSING,), [(2, True, 0.0, True)]),
    # a horn, x1^2 + x2^2 = x3^3
    (2, -2, 3): ((CUSP, CROSSING), [(2, False, 0.0, True)]),
    # folds, x1^2 = x2^3 - x3^3 and x1^2 = x2^3 - x3^4, on one side of a curve
    (2, 3, 3): ((CUSP,), [(2, False, 0.0, False)]),
    (2, 3, 4): ((CUSP,), [(2, False, 0.0, False)]),
    # x1^2 = x2^4 - x3^4: two opposite sectors of folded sheets are one branch
    (2, 4, 4): ((SHAKY,), [(2, True, 0.0, False)]),
    # x1^2 = x2^4 + x3^4: two sheets that touch
    (2, 4, -4): ((TANGENTIAL,), [(2, True, 2.0, False)] * 2),
    (2, -4, 4): ((SHAKY,), []),
    (2, -2, 4): ((SHAKY,), []),
    # the real plane of x1^3 = x2^3 and the surface about the axis that it contains are one
    (3, 3, 4): ((CROSSING,), [(2, True, 0.0, True)]),
    (3, 3, 3): ((CROSSING,), [(2, True, 0.0, True)]),
}  # fmt: skip


@pytest.mark.parametrize("exponents", SURFACES, ids=str)
def test_surfaces_of_powers(exponents):
    """Surfaces that fold back, join planes of directions, or touch, by hand; also rounded and turned."""
    classes, branches = SURFACES[exponents]
    m = seesaw(*exponents)
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    for one in (m, bent(m, 1e-12, 1), copy_of(m, R=turned, seed=2)):
        b = sarrus.branches(one)
        assert b.decided, str(b)
        assert b.classes == classes
        assert [(x.dimension, x.two_sided, x.contact, x.conical) for x in b] == branches


# c1 x1^p1 + c2 x2^p2 = c3 x3^p3 + c4 x4^p4, three-dimensional: two-sided, contact, conical of every branch
SOLIDS = {
    # two planes that the cubic terms join
    (2, 3, 3, 2): [(True, 0.0, True)],
    # x1^2 + x2^2 = x3^3 + x4^3: over a half plane a circle, which shrinks to a point on its edge
    (2, 2, 3, 3): [(False, 0.0, True)],
    # x1^2 = x3^4 + x4^4 - x2^4: both sheets meet in the edge of one connected region
    (2, 4, 4, 4): [(True, 0.0, False)],
    (2, -4, -4, 4): [(True, 0.0, False)],
    # x1^2 = x2^4 + x3^4 + x4^4: two sheets that touch
    (2, -4, 4, 4): [(True, 2.0, False)] * 2,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("exponents", SOLIDS, ids=str)
def test_folds_of_three_dimensions(exponents):
    """Sheets found along different directions are united where curves on them connect them, by hand."""
    b = sarrus.branches(two_beams(*exponents))
    assert b.decided, str(b)
    assert [(x.dimension, x.two_sided, x.contact, x.conical) for x in b] == [
        (3, *known) for known in SOLIDS[exponents]
    ]


@pytest.mark.slow
def test_seven_squares_and_a_cube():
    """x1^2 = ... = x7^2 = x8^3: one half-branch for each choice of signs, two of which form a cusp."""
    b = sarrus.branches(powers(2, 2, 2, 2, 2, 2, 2, 3))
    assert (b.count, b.decided, b.complete) == (64, True, True)
    assert all(x.contact == 1.5 and not x.two_sided for x in b)


@pytest.mark.slow
def test_five_squares_and_five_cubes():
    """Ten degrees of freedom: the cubes are in proportion, and the squares have all signs."""
    b = sarrus.branches(powers(2, 2, 2, 2, 2, 3, 3, 3, 3, 3))
    assert (b.count, b.decided, b.complete, b.order) == (16, True, True, 3)
    assert all(x.contact == 1.5 and not x.two_sided for x in b)


def test_contact_is_that_of_the_closest_branch():
    """Of four curves with a common tangent two part late, and the others at the first term; another is apart."""
    first, second = Fraction(1), Fraction(2)
    curves = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (2.0, 1.0)]
    terms = [((first, np.array([a])), (second, np.array([b]))) for a, b in curves]
    germs = [SimpleNamespace(ray=0, terms=t) for t in terms]
    assert contacts([*germs, SimpleNamespace(ray=1, terms=terms[0])]) == [3.0, 3.0, 2.0, 2.0, 0.0]
