"""Tangents of branches against exact arithmetic: bars between nodes with rational coordinates.

The equations are written again, as squared lengths of bars in the coordinates of the nodes. Null spaces are found
over the rationals, and the real common roots of the quadratic equations are counted by Sturm's theorem.
"""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import sarrus
from branch_cases import bars_in_line, isosceles_slider_crank, kite
from linkages import double_watt, flat_parallelograms, wunderlich

# a linear form that is one on each ray: no ray of these cases is perpendicular to it
SLICE = (3, 7, -5, 11, 13, -17)


def exact(x):
    """A coordinate as a rational number, which it is to rounding."""
    return sp.Rational(str(Fraction(float(x)).limit_denominator(1000)))


def exact_tangents(m):
    """Names of the moving nodes, the null space of J and the quadrics of the branches, over the rationals."""
    fixed = {j.name for j in m.joints if m.GROUND in j.bodies}
    place = {j.name: [exact(x) for x in j.at] for j in m.joints}
    moving = [n for n in place if n not in fixed]
    column = {n: 2 * i for i, n in enumerate(moving)}
    bars = []
    for body in m.bodies:
        ends = [j.name for j in m.joints if body.name in j.bodies]
        assert len(ends) == 2
        bars.append(ends)
    J = sp.zeros(len(bars), 2 * len(moving))
    for row, (a, b) in enumerate(bars):
        for x in range(2):
            d = place[b][x] - place[a][x]
            for n, sign in ((a, -1), (b, 1)):
                if n in column:
                    J[row, column[n] + x] += sign * d
    N = sp.Matrix.hstack(*J.nullspace())
    unknowns = sp.symbols(f"a0:{N.shape[1]}")
    v = N * sp.Matrix(unknowns)

    def velocity(n, x):
        return v[column[n] + x] if n in column else sp.Integer(0)

    stretch = [sum((velocity(b, x) - velocity(a, x)) ** 2 for x in range(2)) for a, b in bars]
    quadrics = [sp.expand((u.T * sp.Matrix(stretch))[0]) for u in J.T.nullspace()]
    return moving, N, unknowns, quadrics


def count_rays(unknowns, quadrics):
    """How many different real rays there are at which all quadrics vanish."""
    section = sum(c * a for c, a in zip(SLICE, unknowns, strict=False)) - 1
    basis = sp.groebner([*quadrics, section], *unknowns, order="lex", domain="QQ")
    last = sp.Poly(basis.exprs[-1], unknowns[-1])
    return sp.count_roots(sp.sqf_part(last))


WINDOWS = {
    "kite": lambda: kite(1.0, 2.0),
    "other kite": lambda: kite(3.0, 2.0),
    "one window": lambda: flat_parallelograms([1.3], 1.0),
    "two windows": lambda: flat_parallelograms([2.0, 1.5], 1.0),
    "three windows": lambda: flat_parallelograms([2.0, 1.5, 2.4], 1.0),
    "equal windows": lambda: flat_parallelograms([1.0, 1.0], 1.0),
    "couplers 2, 1, 2": lambda: flat_parallelograms([2.0, 1.0, 2.0], 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WINDOWS)
def test_as_many_branches_as_real_rays(name):
    """Each ray of these belongs to one branch, also double ones; and every direction is one of the rays."""
    m = WINDOWS[name]()
    moving, N, unknowns, quadrics = exact_tangents(m)
    found = sarrus.branches(m)
    assert found.count == count_rays(unknowns, quadrics)
    check_directions(found, moving, N, unknowns, quadrics)


def check_directions(found, moving, N, unknowns, quadrics):
    """The velocities of branches satisfy the exact equations, to rounding."""
    basis = np.array(N.tolist(), dtype=float)
    forms = sp.lambdify(unknowns, quadrics)
    for branch in found:
        v = np.concatenate([branch.velocities[n] for n in moving])
        a, left = np.linalg.lstsq(basis, v, rcond=None)[:2]
        assert np.abs(basis @ a - v).max() < 1e-10, left
        # quadrics have coefficients of order ten
        assert np.abs(forms(*a)).max() < 1e-8


def test_directions_of_wunderlich():
    """The thirteen directions of twelve bars with sides 9, 6, 3 in line satisfy the exact equations."""
    m = wunderlich((9.0, 6.0, 3.0), np.zeros(3))
    found = sarrus.branches(m)
    assert len(found) == 13
    check_directions(found, *exact_tangents(m))


@pytest.mark.parametrize("stages", [2, 3])
def test_bars_in_line_in_exact_series(stages):
    """Each stage turns s into 1 - sqrt(1 - s^2): the gap has the lowest power of the composition."""
    s = sp.symbols("s")
    gap = s
    for _ in range(stages):
        gap = sp.series(1 - sp.sqrt(1 - gap**2), s, 0, 2**stages + 2).removeO()
    lowest = min(monomial[0] for monomial in sp.Poly(gap, s).monoms())
    assert sarrus.branches(bars_in_line(stages)).gap == lowest


@pytest.mark.parametrize("seed", range(3))
def test_the_cusp_of_two_watt_linkages_opens_to_one_side(seed):
    """Middles on x = c y^3 and x = -c y^3 with a bar of length l: the cusp is where they come nearer."""
    m = double_watt(np.random.default_rng(seed), "cusp")
    found = sarrus.branches(m)
    (branch,) = found
    model = found.model
    x, y = (branch.ahead @ model.point_rows("M0").toarray()[i] for i in range(2))
    u, w = (branch.ahead @ model.point_rows("M1").toarray()[i] for i in range(2))
    # the ends lie where the paths are nearer to each other than at the singular configuration
    assert u - x < 0.0
    length = float(np.linalg.norm(np.subtract(*(j.at for j in m.joints if j.name in ("M0", "M1")))))
    assert (length + u - x) ** 2 + (w - y) ** 2 == pytest.approx(length**2, abs=1e-12)


def test_the_slider_crank_has_two_tangents():
    """Upright, crank and rod of one length: the slider moves with the crank or stays, by hand."""
    found = sarrus.branches(isosceles_slider_crank())
    speeds = sorted(abs(b.velocities["C"][0]) for b in found)
    assert speeds[0] == 0.0
    assert speeds[1] > 0.1
