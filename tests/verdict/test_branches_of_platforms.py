"""Branches of parallel platforms against closed forms and exact series: 3-UPU, 3-URU, Wren's, 3-RRR in type II."""

from fractions import Fraction

import numpy as np
import pytest

import sarrus
from linkages import three_upu
from sarrus import Mechanism, Polynomial

UP = np.array([0.0, 0.0, 1.0])


def wren_platform(legs, height=1.0):
    """A platform on equal parallel bars with ball ends, on a circle."""
    m = Mechanism("Wren", gravity=(0.0, 0.0, -9.81))
    m.body("platform", 1.0, (0.0, 0.0, height), (0.1, 0.1, 0.2))
    for i, t in enumerate(np.arange(legs) * 2.0 * np.pi / legs):
        foot = np.array([np.cos(t), np.sin(t), 0.0])
        m.distance(f"L{i}", m.ground, "platform", start=foot, end=foot + height * UP)
    return m


def three_uru(base, top, height, elbow):
    """As the 3-UPU platform of Seoul type, with a hinge between the crosses of each leg in place of the slider."""
    m = Mechanism("3-URU", gravity=(0.0, 0.0, -9.81))
    m.body("platform", 1.0, (0.0, 0.0, height), (0.1, 0.1, 0.2))
    for i, t in enumerate(np.arange(3) * 2 * np.pi / 3):
        r, inner = np.array([np.cos(t), np.sin(t), 0.0]), np.array([-np.sin(t), np.cos(t), 0.0])
        low, high = base * r, top * r + height * UP
        knee = 0.5 * (low + high) + elbow * np.cross(inner, high - low)
        m.body(f"lower{i}", 0.3, 0.5 * (low + knee), (0.05, 0.05, 0.03))
        m.body(f"upper{i}", 0.3, 0.5 * (high + knee), (0.05, 0.05, 0.03))
        m.universal(f"B{i}", m.ground, f"lower{i}", at=low, axis=r, second_axis=inner)
        m.revolute(f"K{i}", f"lower{i}", f"upper{i}", at=knee, axis=inner)
        m.universal(f"T{i}", f"upper{i}", "platform", at=high, axis=inner, second_axis=r)
    return m


PLATFORMS = {
    "3-UPU": (lambda h: three_upu(True, height=h), 1.0),
    "flat 3-UPU": (lambda h: three_upu(True, base=1.2, top=0.5, height=h), 0.7),
    "3-URU": (lambda h: three_uru(1.0, 0.6, h, 0.7), 1.3),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_modes_of_platforms_with_radial_axes(name):
    """Two modes of three dimensions, with the tangents of the closed form.

    Each leg keeps the outer axes r and R r and the displacement T of the platform's centre in a plane. With the
    quaternion (e, w, c) of R, T = (t, z) and J the quarter turn, the three legs together require
    sym(w u^T) = e (t . w + z c) I with u = e t - z J w - c J t. The left side has eigenvalues of opposite sign,
    so w = 0 or u = 0: the platform translates (w = c = 0), or it turns with t = h J w, c = 0 in first order.
    """
    make, height = PLATFORMS[name]
    found = sarrus.branches(make(height))
    assert (found.classes, found.decided) == (("transversal crossing",), True)
    assert [b.dimension for b in found] == [3, 3]
    turning = []
    for b in found:
        # the centre is the mean of the platform's joints
        centre = np.mean([b.velocities[f"T{i}"] for i in range(3)], axis=0)
        turn = b.turning["platform"]
        turning.append(bool(np.any(turn)))
        if turning[-1]:
            assert abs(turn[2]) < 1e-10
            assert abs(turn[:2] @ centre[:2]) < 1e-10
            # an angular velocity is twice the rate of the quaternion
            assert np.linalg.norm(turn) * height == pytest.approx(
                2.0 * np.linalg.norm(centre[:2]), rel=1e-9
            )
    assert sorted(turning) == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("legs", "known"),
    [
        (3, [(3, 3)]),
        (4, [(2, 2), (2, 2), (2, 3)]),
        (5, [(1, 3), (2, 3)]),
        (6, [(1, 3), (2, 3)]),
    ],
)
def test_the_modes_of_a_platform_on_equal_parallel_bars(legs, known):
    """Wren's platform is kinematotropic: it translates, or it twists about its axis.

    |T + (R - 1) r| is the same for all joints r. So T is perpendicular to (R - 1) r, and |(R - 1) r| is constant.
    With four joints on two diameters this is a^2 = b^2 for the quaternion (e, a, b, c): next to the translations
    (c = 0) there are two modes with c and T along a bisector of the diameters. With more joints a = b = 0: either
    c or the translation is zero. These satisfy the equations with squares, so the bars stay dependent.
    """
    found = sarrus.branches(wren_platform(legs))
    assert found.decided
    assert sorted((b.dimension, b.instantaneous) for b in found) == known
    assert not any(b.conical for b in found)
    if legs > 3:
        still = [b for b in found if not np.any(b.turning["platform"])]
        assert [(b.dimension, b.instantaneous) for b in still] == [(2, 3)]


def three_rrr_at(elbows, corners):
    """A 3-RRR platform with given elbows and corners; its cranks are at right angles to the outer links."""
    m = Mechanism("3-RRR")
    m.body("platform", 1.0, np.mean(corners, axis=0), 0.1)
    for k, (elbow, corner) in enumerate(zip(elbows, corners, strict=True)):
        foot = elbow + 0.5 * np.array([elbow[1] - corner[1], corner[0] - elbow[0]])
        m.rod(f"crank{k}", foot, elbow, mass=1.0)
        m.rod(f"outer{k}", elbow, corner, mass=1.0)
        m.revolute(f"A{k}", m.ground, f"crank{k}", at=foot)
        m.revolute(f"B{k}", f"crank{k}", f"outer{k}", at=elbow)
        m.revolute(f"C{k}", f"outer{k}", "platform", at=corner)
        m.drive(f"motor{k}", f"A{k}", Polynomial((0.0, 0.0)))
    return m


# directions with rational cosines and sines
RAYS = [
    (Fraction(3, 5), Fraction(4, 5)),
    (Fraction(-12, 13), Fraction(5, 13)),
    (Fraction(8, 17), Fraction(-15, 17)),
]


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def gap_of_concurrent_legs(elbows, corners, order=6):
    """The first power of the platform's turn with which the outer links open, in rational series.

    With t = tan(angle / 2) and the displacement p(t) of the point in which the links meet, the origin,
    f_k = |R b_k + p - a_k|^2 - |b_k - a_k|^2 = 2 (p - a_k) . R b_k - 2 p . a_k + p . p + 2 a_k . b_k.
    """
    cosine = [Fraction(1)] + [
        Fraction(0 if n % 2 else 2 * (-1) ** (n // 2)) for n in range(1, order + 1)
    ]
    sine = [Fraction(2 * (-1) ** (n // 2) if n % 2 else 0) for n in range(order + 1)]
    rows = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(elbows, corners, strict=True)]
    stress = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])]
    p = [(Fraction(0), Fraction(0))] * (order + 1)
    for n in range(1, order + 1):
        f = []
        for a, b in zip(elbows, corners, strict=True):
            turned = [
                (c * b[0] - s * b[1], s * b[0] + c * b[1])
                for c, s in zip(cosine, sine, strict=True)
            ]
            value = -2 * dot(a, turned[n]) - 2 * dot(p[n], a)
            value += sum(2 * dot(p[i], turned[n - i]) + dot(p[i], p[n - i]) for i in range(n + 1))
            f.append(value)
        if sum(s * x for s, x in zip(stress, f, strict=True)):
            return n
        # the first two links determine p_n
        d = 2 * stress[2]
        p[n] = (
            -(f[0] * rows[1][1] - f[1] * rows[0][1]) / d,
            -(rows[0][0] * f[1] - rows[1][0] * f[0]) / d,
        )
    return 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("balanced", [False, True])
def test_a_type_two_singularity_of_three_rrr_by_rational_series(seed, balanced):
    """Outer links that meet in a point open with s^2, or at a cusp of the direct kinematics with s^3.

    With corners rho_k u_k, elbows sigma_k u_k and sum lambda_k u_k = 0 the terms of second order cancel if
    sum lambda_k m_k = 0, 1 / m_k = 1 / sigma_k - 1 / rho_k. Prestress stiffens only the former.
    """
    rng = np.random.default_rng(seed)
    weights = [cross(RAYS[1], RAYS[2]), cross(RAYS[2], RAYS[0]), cross(RAYS[0], RAYS[1])]
    m = [Fraction(int(x), 10) for x in rng.integers(5, 30, 3)]
    if balanced:
        m[2] = -(weights[0] * m[0] + weights[1] * m[1]) / weights[2]
    rho = [x * Fraction(int(k), 10) for x, k in zip(m, rng.integers(-9, -4, 3), strict=True)]
    sigma = [1 / (1 / r + 1 / x) for r, x in zip(rho, m, strict=True)]
    corners = [(r * u[0], r * u[1]) for r, u in zip(rho, RAYS, strict=True)]
    elbows = [(s * u[0], s * u[1]) for s, u in zip(sigma, RAYS, strict=True)]
    order = gap_of_concurrent_legs(elbows, corners)
    assert order == (3 if balanced else 2)
    driven = three_rrr_at(np.array(elbows, dtype=float), np.array(corners, dtype=float))
    free, held = sarrus.branches(driven), sarrus.branches(driven, hold_drives=True)
    assert (free.classification, free.dimensions) == ("regular", (3,))
    assert (held.classification, held.count, held.gap) == ("infinitesimally mobile", 0, order)
    assert held.order == order
    assert held.self_stress.count == 1
    assert held.self_stress.stiffens is not balanced
