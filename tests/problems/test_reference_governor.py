"""Collocation of the governor against an independent derivation, other integrators and published rows."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sarrus.problems.references import flyball_governor as governor
from sarrus.problems.references.flyball_governor import (
    governor_accelerations,
    governor_reference,
    read_inertia,
)

# rows t, s of the published A05 curve, recovered from the markers of a figure, six digits
A05_ROWS = np.array([[0.1, 0.523836], [2.5, 0.735602], [2.7, 0.705002], [3.0, 0.513246]])
# s at 0.1, 0.5, 1, 3, 5 and 10 s by an independent calculation, thin rods (benchmark atlas, section 6)
TIMES = (0.1, 0.5, 1.0, 3.0, 5.0, 10.0)
THIN = (0.523836512, 0.743249509, 0.501420861, 0.513245543, 0.535561728, 0.619619134)


def test_atlas_thin_rods():
    """Nine decimals of an independent calculation come out."""
    assert np.abs(governor_reference(TIMES, 0.0)[:, 2] - THIN).max() < 1e-8


def test_full_prisms_at_ten_seconds():
    """Of two published-by-hand values for full prisms, 0.6196217 and 0.6196229, the second holds."""
    assert governor_reference([10.0], 0.01)[0, 2] == pytest.approx(0.6196229, abs=5e-8)


@pytest.mark.parametrize("section", [0.0, 0.01])
def test_published_a05_curve(section):
    """Both readings stay within 2.1e-6 m of the published curve: it does not decide."""
    rows = governor_reference(A05_ROWS[:, 0], section)
    assert np.abs(rows[:, 2] - A05_ROWS[:, 1]).max() < 2.1e-6


def lagrange_accelerations(section):
    """(phi'', beta'', s'') from T, V and the dissipation of rigid bodies in space, by computer algebra."""
    import sympy as sp

    t = sp.symbols("t")
    phi, b, s = (sp.Function(name)(t) for name in ("phi", "b", "s"))
    w = sp.Matrix([0, 0, phi.diff(t)])
    turn = sp.rot_axis3(-phi)
    K, C = 800000, 40000
    m, p, M = (sp.Rational(x) for x in ("3/10", "5", "3"))
    h = sp.Rational(section).limit_denominator(1000)
    across, about = m * (1 + h**2) / 12, m * h**2 / 6
    g = sp.Float(9.81, 30)
    T = about * w.dot(w) / 2 + M * s.diff(t) ** 2 / 2 + M * sp.Rational(1, 100) / 6 * w.dot(w) / 2
    V, R = M * g * s, 0
    for side in (1, -1):
        hinge = turn * sp.Matrix([side * sp.Rational(1, 20), 0, 1])
        r = turn * sp.Matrix([side * sp.cos(b), 0, -sp.sin(b)])
        # the hinge turns a rod about the shaft's y; downwards is positive about y on the right
        spin = w + turn * sp.Matrix([0, side * b.diff(t), 0])
        center, tip = (hinge + r / 2).diff(t), (hinge + r).diff(t)
        along = spin.dot(r)
        T += m * center.dot(center) / 2 + p * tip.dot(tip) / 2
        T += (across * (spin.dot(spin) - along**2) + about * along**2) / 2
        V += g * (m * (hinge + r / 2)[2] + p * (hinge + r)[2])
        way = hinge + r / 2 - turn * sp.Matrix([side * sp.Rational(1, 20), 0, s])
        length = sp.sqrt(sp.simplify(way.dot(way)))
        V += K * (length - sp.Rational(1, 2)) ** 2 / 2
        R += C * length.diff(t) ** 2 / 2
    T = sp.simplify(T)
    q = sp.Matrix([phi, b, s])
    v = q.diff(t)
    plain = dict(zip([*v, *q], sp.symbols("w bd sd f b0 s0"), strict=True))
    T, V, R = (sp.sympify(x).subs(plain) for x in (T, V, R))
    vs, qs = list(plain.values())[:3], list(plain.values())[3:]
    mass = sp.hessian(T, vs)
    momentum = sp.Matrix([T]).jacobian(vs)
    load = sp.Matrix([T - V]).jacobian(qs).T - sp.Matrix([R]).jacobian(vs).T
    load -= momentum.jacobian(qs) * sp.Matrix(vs)
    return sp.lambdify([qs, vs], [mass, load], cse=True)


@pytest.mark.slow
@pytest.mark.parametrize("section", [0.0, 0.01])
def test_equations_by_computer_algebra(section):
    """Three-coordinate equations of rigid bodies in space equal the reduced ones, with H kept."""
    equations = lagrange_accelerations(section)
    inertia = read_inertia(section)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = [rng.uniform(0.2, 0.8), rng.uniform(0.4, 0.7)], list(rng.normal(size=2))
        H = governor.spin_inertia(governor.START[:1], inertia)[0][0] * governor.SPEED
        spin = H / governor.spin_inertia(np.array(q[:1]), inertia)[0][0]
        mass, load = equations([0.3, *q], [spin, *v])
        expected = np.linalg.solve(mass, np.ravel(load))
        a, _, _ = governor_accelerations(np.array([q]), np.array([v]), inertia)
        # spring forces of 1e5 N are a difference of lengths
        np.testing.assert_allclose(a[0], expected[1:], rtol=1e-9, atol=1e-6)


def test_derivatives():
    """Derivatives of the accelerations against central differences."""
    inertia = read_inertia(0.01)
    q, v, h = np.array([[0.4, 0.55]]), np.array([[0.3, -0.2]]), 1e-5
    _, by_q, by_v = governor_accelerations(q, v, inertia)
    for k in range(2):
        step = h * np.eye(2)[k]
        for found, moved in ((by_q, (step, 0.0)), (by_v, (0.0, step))):
            up, _, _ = governor_accelerations(q + moved[0], v + moved[1], inertia)
            down, _, _ = governor_accelerations(q - moved[0], v - moved[1], inertia)
            # rounding of 1e4 m/s^2 over 1e-5
            np.testing.assert_allclose(found[0, :, k], (up - down)[0] / (2 * h), rtol=1e-7)


@pytest.mark.slow
def test_other_integrator():
    """SciPy's Radau at 1e-9 agrees over half a second."""
    inertia = read_inertia(0.01)

    def rates(_, y):
        return np.concatenate(
            [y[2:], governor_accelerations(y[None, :2], y[None, 2:], inertia)[0][0]]
        )

    def slopes(_, y):
        _, by_q, by_v = governor_accelerations(y[None, :2], y[None, 2:], inertia)
        return np.block([[np.zeros((2, 2)), np.eye(2)], [by_q[0], by_v[0]]])

    start = np.concatenate([governor.START, np.zeros(2)])
    done = solve_ivp(rates, (0, 0.5), start, "Radau", [0.1, 0.5], jac=slopes, rtol=1e-9, atol=1e-11)
    # its global error is some hundred tolerances
    assert np.abs(done.y[1] - governor_reference([0.1, 0.5])[:, 2]).max() < 1e-7


def test_panels_have_converged(monkeypatch):
    """Panels of a third of the length change nothing over 10 s."""
    t = np.linspace(0.0, 10.0, 101)
    coarse = governor_reference(t)
    monkeypatch.setattr(governor, "LONGEST", governor.LONGEST / 3)
    governor._motion.cache_clear()
    fine = governor_reference(t)
    governor._motion.cache_clear()
    # requested: 1e-7
    assert np.abs(coarse - fine).max() < 1e-11


def test_too_far_is_rejected():
    """A reference that would run for hours says where it ends."""
    with pytest.raises(ValueError, match="1000 s"):
        governor_reference([1e5])
