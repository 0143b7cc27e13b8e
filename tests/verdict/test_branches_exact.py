"""Tangents of branches against exact arithmetic: bars between nodes with rational coordinates.

The equations are written again, as squared lengths of bars in the coordinates of the nodes. Null spaces are found
over the rationals, and the real common roots of the quadratic equations are counted by Sturm's theorem.
"""

from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np
import pytest
import sympy as sp

import sarrus
from branch_cases import bars_in_line, isosceles_slider_crank, kite
from linkages import double_watt, flat_parallelograms, watt, wunderlich

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


def face_modes(speed, place, corners):
    """The modes of a flat parallelogram, each as linear forms that vanish; corners in the order of the loop.

    With opposite sides p, q and turning speeds w, closure to second order is p (w1 - w3) = q (w4 - w2) and
    p (w1 - w3) (w1 + w3) = q (w4 - w2) (w4 + w2): w1 = w3 and w2 = w4, or w1 + w3 = w2 + w4.
    """
    w = []
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        w.append((speed(b) - speed(a)) / (place(b) - place(a)))
    return [w[0] - w[2], w[1] - w[3]], [w[0] + w[2] - w[1] - w[3]]


def maximal_spaces(unknowns, faces):
    """The maximal linear spaces on which every face is in one of its modes, as columns over the rationals."""
    spaces = [sp.eye(len(unknowns))]
    for modes in faces:
        found = []
        for space, mode in product(spaces, modes):
            rows = sp.Matrix([[sp.diff(form, a) for a in unknowns] for form in mode]) * space
            null = rows.nullspace()
            if null:
                found.append(space * sp.Matrix.hstack(*null))
        spaces = []
        for x in sorted(found, key=lambda x: -x.shape[1]):
            if not any(sp.Matrix.hstack(y, x).rank() == y.shape[1] for y in spaces):
                spaces.append(x)
    return spaces


def check_against_spaces(m, loops):
    """The branches have the tangent spaces that exact arithmetic finds, one each; loops: corners of the faces."""
    moving, N, unknowns, quadrics = exact_tangents(m)
    row = {n: 2 * i + 1 for i, n in enumerate(moving)}
    place = {j.name: exact(j.at[0]) for j in m.joints}
    velocity = N * sp.Matrix(unknowns)

    def speed(n):
        return velocity[row[n]] if n in row else sp.Integer(0)

    faces = [face_modes(speed, place.get, corners) for corners in loops]
    # each face is a quadric of the list, and together they are all of them
    products = [sp.expand(mode[0] * other[0]) for mode, other in faces]
    monomials = sorted({k for q in quadrics for k in sp.Poly(q, *unknowns).monoms()})
    as_rows = [[sp.Poly(q, *unknowns).coeff_monomial(k) for k in monomials] for q in quadrics]
    own = [[sp.Poly(q, *unknowns).coeff_monomial(k) for k in monomials] for q in products]
    rank = sp.Matrix(as_rows).rank()
    assert sp.Matrix(own).rank() == sp.Matrix(as_rows + own).rank() == rank
    spaces = maximal_spaces(unknowns, faces)
    found = sarrus.branches(m)
    assert sorted(b.dimension for b in found) == sorted(x.shape[1] for x in spaces)
    basis = [np.linalg.qr(np.array((N * x).tolist(), dtype=float))[0] for x in spaces]
    for b in found:
        moved = [found.model.point_rows(n).toarray() @ b.tangent for n in moving]
        T = np.linalg.qr(np.vstack(moved))[0]
        # directions are accurate to rounding
        same = [x for x in basis if x.shape == T.shape and np.abs(x @ (x.T @ T) - T).max() < 1e-9]
        assert len(same) == 1


@pytest.mark.slow
@pytest.mark.parametrize("sides", [(9.0, 6.0, 3.0), (5.0, 4.0, 1.0)])
def test_wunderlich_by_exact_arithmetic(sides):
    """Twelve bars in line are six flat parallelograms, each in one of two modes: 8 lines and 5 planes."""
    loops = [
        [f"N{n}" for n in (base, base + x, base + x + y, base + y)]
        for x, y, z in ((1, 2, 4), (1, 4, 2), (2, 4, 1))
        for base in (0, z)
    ]
    check_against_spaces(wunderlich(sides, np.zeros(3)), loops)


@pytest.mark.parametrize("widths", [(2.0, 1.5), (2.0, 1.5, 2.4, 1.7), (2.0, 1.0, 2.0)])
def test_rows_of_windows_by_exact_arithmetic(widths):
    """Each window is a parallelogram or an antiparallelogram: the maximal spaces are the branches."""
    n = len(widths)
    loops = [[f"A{i}", f"B{i}", f"B{i + 1}", f"A{i + 1}"] for i in range(n)]
    check_against_spaces(flat_parallelograms(widths, 1.0), loops)


@pytest.mark.slow
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


def times(a, b):
    """The product of two series with rational coefficients, to their order."""
    return [sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))]


def compose(coefficients, a):
    """The series of coefficients at a, a series without a constant term."""
    out = [Fraction(0)] * len(a)
    for c in reversed(coefficients):
        out = times(out, a)
        out[0] += c
    return out


def path_of_watt(r, half, order=5):
    """The first coefficients of x(y) of the middle of a Watt coupler, over the rationals; half: of the coupler."""
    sine = [Fraction(0 if k % 2 == 0 else (-1) ** (k // 2), factorial(k)) for k in range(order)]
    cosine = [Fraction(0 if k % 2 else (-1) ** (k // 2), factorial(k)) for k in range(order)]
    t = [Fraction(int(k == 1)) for k in range(order)]
    # the second rocker turns so that the coupler keeps its length: each coefficient enters linearly
    beta = [Fraction(0)] * order
    for k in range(1, order):
        across = [
            r * (x + y) for x, y in zip(compose(cosine, t), compose(cosine, beta), strict=True)
        ]
        up = [r * (x + y) for x, y in zip(compose(sine, t), compose(sine, beta), strict=True)]
        across[0] += 2 * half[0] - 2 * r
        up[0] += 2 * half[1]
        beta[k] = -(times(across, across)[k] + times(up, up)[k]) / (4 * half[1] * r)
    x, y = (
        [r / 2 * (a - b) for a, b in zip(compose(f, t), compose(f, beta), strict=True)]
        for f in (cosine, sine)
    )
    out, power = [], y
    for k in range(1, order - 1):
        c = x[k] / power[k]
        out.append(c)
        x = [a - c * b for a, b in zip(x, power, strict=True)]
        power = times(power, y)
    return out


def test_two_watt_linkages_part_as_their_exact_paths_do():
    """Middles on x = c y^3, joined by a bar of length l: y1 = y0, or y1 - y0 = -6 l c y0^2 + ..."""
    r, half, length = Fraction(1), (Fraction(1, 5), Fraction(1, 2)), Fraction(2, 5)
    first, second, third = path_of_watt(r, half)
    assert first == second == 0
    ends = [np.zeros(2), np.array([float(length), 0.0])]
    m = sarrus.Mechanism("double Watt")
    for k in (0, 1):
        watt(m, k, ends[k], float(r), [float(x) for x in half])
    m.rod("bar", *ends, mass=1.0)
    for k in (0, 1):
        m.revolute(f"M{k}", f"coupler {k}", "bar", at=ends[k])
    found = sarrus.branches(m)
    assert [b.contact for b in found] == [2.0, 2.0]
    ratios = []
    for branch in found:
        # a row close to the configuration: the next term of the ratio is of its size
        x = found.path(branch, 100)[101]
        y = [(x @ found.model.point_rows(n).toarray().T)[1] for n in ("M0", "M1")]
        ratios.append((y[1] - y[0]) / y[0] ** 2)
    expected = sorted([0.0, float(-6 * length * third)])
    np.testing.assert_allclose(sorted(ratios), expected, atol=0.02 * abs(expected[0] + expected[1]))


def couplers_between_cranks(width, ends):
    """Two cranks in line with the line of their axes, and couplers between points of that line."""
    m = sarrus.Mechanism("couplers")
    for name, at in (("left", 0.0), ("right", float(width))):
        m.body(name, 1.0, (at + 0.1, 0.0), 0.1)
        m.revolute(f"axis of {name}", m.ground, name, at=(at, 0.0))
    for k, (a, b) in enumerate(ends):
        m.rod(f"coupler{k}", (float(a), 0.0), (float(width + b), 0.0), mass=1.0)
        m.revolute(f"B{k}", "left", f"coupler{k}", at=(float(a), 0.0))
        m.revolute(f"C{k}", "right", f"coupler{k}", at=(float(width + b), 0.0))
    return m


def half_branches_of_couplers(width, ends, radius=Fraction(1, 1000)):
    """The number of half-branches, by the real roots of a rational polynomial on a small circle.

    In u, v, the tangents of the half angles, every coupler is a polynomial; their greatest common divisor is the
    curve of configurations. With u, v = radius (1 - w^2, 2 w) / (1 + w^2) its roots are counted by Sturm's chains.
    """
    u, v, w = sp.symbols("u v w")
    curve = 0
    for a, b in ends:
        U, V = 1 + u**2, 1 + v**2
        X = width * U * V + b * (1 - v**2) * U - a * (1 - u**2) * V
        Y = 2 * b * v * U - 2 * a * u * V
        curve = sp.gcd(curve, sp.cancel(X**2 + Y**2 - (width + b - a) ** 2 * U**2 * V**2))
    through = [f for f, _ in sp.factor_list(curve, u, v)[1] if f.subs({u: 0, v: 0}) == 0]
    out = 0
    for f in through:
        d = sp.Poly(f, u, v).total_degree()
        r = sp.Rational(radius)
        on_circle = sp.Poly(
            sum(
                c * (r * (1 - w**2)) ** i * (2 * r * w) ** j * (1 + w**2) ** (d - i - j)
                for (i, j), c in sp.Poly(f, u, v).terms()
            ),
            w,
        )
        # w = infinity is a point of the circle, too
        out += on_circle.count_roots() + (on_circle.degree() < 2 * d)
    return out


@pytest.mark.parametrize(
    ("width", "ends"),
    [
        (2, [(1, 1)]),
        (2, [(1, 1), (3, 3)]),
        (2, [(1, 1), (-3, 3)]),
        (3, [(1, 2)]),
        (3, [(2, 1)]),
        (1, [(2, -2), (-3, 3)]),
        (4, [(1, -1), (3, -3)]),
        (3, [(1, 2), (2, 4)]),
    ],
    ids=str,
)
def test_couplers_between_two_cranks_by_exact_arithmetic(width, ends):
    """As many half-branches as real roots of the common curve on a small circle."""
    count = half_branches_of_couplers(width, ends)
    found = sarrus.branches(couplers_between_cranks(width, ends))
    assert found.decided
    assert 2 * len(found) == count
    assert all(b.dimension == 1 for b in found)
