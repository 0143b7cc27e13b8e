"""Each kernel against a slow and obvious reference with dense matrices.

Kernels that call no other run as plain Python here; the others through a small compiled wrapper.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from builders import bricard, dense_jacobian, in_plane_of, n_four_bar, rotation
from dense_series import (
    dense_constraints,
    dense_forms,
    dense_hessians,
    dense_mass,
    dense_series,
)
from random_mechanisms import random_mechanism
from sarrus import problems
from sarrus.kernels import coefficients, forms, polynomials, series_step, solve
from sarrus.kernels.compiler import entry
from sarrus.kernels.layout import make_workspace
from sarrus.kernels.simd import rows_of_lanes
from sarrus.model import make_model
from sarrus.thresholds import EPS, LOWERED_PIVOT, PERMANENT_PIVOT, SINGULAR_STEP_END

# sums of at most some ten products of order one
ROUNDING = 1e-14

MODELS = {
    "four-bar": lambda: n_four_bar(3),
    "turned four-bar": lambda: n_four_bar(2, plane_to_space=in_plane_of(rotation(0))),
    "bricard": lambda: bricard(0.1),
    "thin bricard": lambda: bricard(0.0),
    "random plane": lambda: random_mechanism(4, 2),
    "random space": lambda: random_mechanism(9, 3),
}


def plain(kernel):
    """The Python function after a kernel (itself, if compiling is switched off)."""
    return getattr(kernel, "py_func", kernel)


@entry
def factorise(form, J, L):
    """Call the kernel of that name."""
    solve.factorise(form, J, L)


@entry
def call_solve_factored(form, L, x):
    """Call the kernel of that name."""
    solve.solve_factored(form, L, x)


@entry
def call_solve_refined(form, J, L, b, refinements, r, x):
    """Call the kernel of that name."""
    solve.solve_refined(form, J, L, b, refinements, r, x)


@entry
def call_sum_products(form, ws, k, apart):
    """Call the kernel of that name."""
    coefficients.sum_products(form, ws, k, apart)


@entry
def call_next_coefficient(form, ws, k, refinements, qc):
    """Call the kernel of that name."""
    return coefficients.next_coefficient(form, ws, None, k, refinements, qc)


@entry
def call_make_coefficients(form, ws, refinements, first, last, qc):
    """Call the kernel of that name."""
    coefficients.make_coefficients(form, ws, None, refinements, first, last, qc)


@entry
def call_spread_forms(form, ws):
    """Call the kernel of that name."""
    coefficients.spread_forms(form, ws)


@entry
def call_is_regular(form, L):
    """Call the kernel of that name."""
    return solve.is_regular(form, L)


@entry
def call_log_sizes(size, log_size):
    """Call `np.log` for a row."""
    for t in range(len(rows_of_lanes(size))):
        rows_of_lanes(log_size)[t] = np.log(rows_of_lanes(size)[t] + 1e-300)


@entry
def call_project_position(form, ws, iterations, q):
    """Call the kernel of that name."""
    return solve.project_position(form, ws, None, iterations, False, q)


@entry
def call_project_velocity(form, ws, refinements, v):
    """Call the kernel of that name."""
    return solve.project_velocity(form, ws, None, refinements, v)


class Case:
    """A model with random coordinates and velocities; q need not obey the constraints."""

    def __init__(self, mechanism):
        self.model = make_model(mechanism)
        self.form = self.model.form
        self.rng = np.random.default_rng(0)
        self.nq, self.nc = len(self.form.Q), len(self.form.phi0)
        self.q = 0.1 * self.rng.normal(size=self.nq)
        self.v = self.rng.normal(size=self.nq)
        self.ws = make_workspace(self.form, 30)
        self.ws.e[:] = self.form.e0 + dense_forms(self.form) @ self.q
        self.ws.de[:] = dense_forms(self.form) @ self.v
        self.J = dense_jacobian(self.form, self.q)

    def entries(self, J):
        """The stored entries of a dense J."""
        return J[self.form.J_eq, self.form.J_col].copy()

    def dense_K(self, J):
        """K = [M + rho J^T J, J^T; J, -eps] in the order of the coordinates and equations."""
        f = self.form
        block = dense_mass(f) + J.T @ np.diag(f.rho) @ J
        return np.block([[block, J.T], [J, -np.diag(f.eps)]])

    def scatter(self, b):
        """A right side in elimination order."""
        out = np.zeros(self.nq + self.nc)
        out[self.form.pos_q], out[self.form.pos_c] = b[: self.nq], b[self.nq :]
        return out

    def gather(self, x):
        """A solution back in the order of the coordinates and equations."""
        return np.concatenate([x[self.form.pos_q], x[self.form.pos_c]])


@pytest.fixture(params=MODELS)
def case(request):
    """A model and random numbers for it."""
    return Case(MODELS[request.param]())


def test_eval_forms_is_d_q_plus_e0(case):
    """Forms are D q + e0, their rates D v."""
    e, de = np.zeros_like(case.ws.e), np.zeros_like(case.ws.e)
    plain(forms.eval_forms)(case.form, case.q, e)
    plain(forms.eval_form_rates)(case.form, case.v, de)
    D = dense_forms(case.form)
    np.testing.assert_allclose(e, case.form.e0 + D @ case.q, atol=ROUNDING)
    np.testing.assert_allclose(de, D @ case.v, atol=10 * ROUNDING)


def test_eval_constraints_is_the_sum_of_products(case):
    """Constraints are the sum of their products, zero at the start; the largest is returned."""
    phi = np.zeros(case.nc)
    largest = plain(forms.eval_constraints)(case.form, case.ws.e, phi)
    np.testing.assert_allclose(phi, dense_constraints(case.form, case.q), atol=ROUNDING)
    assert largest == np.abs(phi).max(initial=0.0)
    plain(forms.eval_constraints)(case.form, case.form.e0, phi)
    np.testing.assert_allclose(phi, 0.0, atol=1e-15)


def test_constraint_jacobian_is_the_derivative(case):
    """The entries of J are the derivative of Phi by a complex step, and lie where J says."""
    J = np.zeros(len(case.form.J_eq))
    plain(forms.eval_jacobian)(case.form, case.ws.e, J)
    dense = np.zeros((case.nc, case.nq))
    dense[case.form.J_eq, case.form.J_col] = J
    # a complex step has no cancellation: exact to rounding for any small h
    h, D = 1e-30, dense_forms(case.form)
    for i in range(case.nq):
        e = case.ws.e + 1j * h * D[:, i]
        phi = np.zeros(case.nc, dtype=complex)
        for f, k, c in zip(case.form.sq_form, case.form.sq_eq, case.form.sq_c, strict=True):
            phi[k] += 0.5 * c * e[f] ** 2
        f = case.form
        for a, b, k, c in zip(f.bl_a, f.bl_b, f.bl_eq, f.bl_c, strict=True):
            phi[k] += c * e[a] * e[b]
        np.testing.assert_allclose(dense[:, i], phi.imag / h, atol=ROUNDING)


def test_constraint_rates_and_curvature(case):
    """Phi' is J v and the rest of Phi'' is v^T A v."""
    phi = np.ones(case.nc)
    # the wrapper only clears what this one adds to
    phi[:] = 0.0
    plain(forms.add_constraint_rates)(case.form, case.ws.e, case.ws.de, phi)
    np.testing.assert_allclose(phi, case.J @ case.v, atol=10 * ROUNDING)
    plain(forms.eval_curvature)(case.form, case.ws.de, phi)
    expected = np.einsum("kab,a,b->k", dense_hessians(case.form), case.v, case.v)
    # squares of velocities of about three
    np.testing.assert_allclose(phi, expected, atol=100 * ROUNDING)


def test_energy_is_kinetic_minus_weight(case):
    """Total energy is v^T M v / 2 - Q^T q."""
    kinetic, potential = plain(forms.eval_energy)(case.form, case.q, case.v)
    expected = 0.5 * case.v @ dense_mass(case.form) @ case.v
    assert kinetic == pytest.approx(expected, rel=1e-13)
    # the weight may nearly cancel the kinetic energy
    scale = abs(expected) + np.abs(case.form.Q * case.q).sum()
    assert abs(kinetic + potential - (expected - case.form.Q @ case.q)) < 1e-13 * scale


@pytest.mark.slow
def test_factorise_and_solve_equals_dense_solve(case):
    """L D L^T in the static order solves the dense K."""
    J = dense_jacobian(case.form, np.zeros(case.nq))
    factorise(case.form, case.entries(J), case.ws.L)
    b = case.rng.normal(size=case.nq + case.nc)
    x = case.scatter(b)
    call_solve_factored(case.form, case.ws.L, x)
    found, K = case.gather(x), case.dense_K(J)
    # backward error: the residual is rounding of K times x, x itself may be huge along a
    # dependent equation
    scale = np.abs(K) @ np.abs(found) + np.abs(b)
    assert np.abs(K @ found - b).max() < 1e-12 * scale.max()
    if np.linalg.cond(K) < 1e6:
        np.testing.assert_allclose(found, np.linalg.solve(K, b), rtol=1e-9, atol=1e-9)


def test_factor_multiplies_back_to_k(case):
    """L D L^T multiplied out is K, entry by entry."""
    J = dense_jacobian(case.form, np.zeros(case.nq))
    factorise(case.form, case.entries(J), case.ws.L)
    n = case.nq + case.nc
    L = np.eye(n)
    for j in range(n):
        for a in range(case.form.L_start[j], case.form.L_start[j + 1]):
            L[case.form.L_row[a], j] = case.ws.L[n + a]
    product = L @ np.diag(1.0 / case.ws.L[:n]) @ L.T
    order = np.concatenate([case.form.pos_q, case.form.pos_c])
    K = np.zeros((n, n))
    K[np.ix_(order, order)] = case.dense_K(J)
    # growth in a quasi-definite factorisation is bounded by the inverse pivots, of order 1e2 here
    np.testing.assert_allclose(product, K, atol=1e-11 * np.abs(K).max())


def test_factor_order_puts_equations_after_their_coordinates(case):
    """Every equation is eliminated after all coordinates it touches."""
    f = case.form
    assert np.all(f.pos_c[f.J_eq] > f.pos_q[f.J_col])


@pytest.mark.slow
def test_solve_refined_equals_dense_kkt(case):
    """With refinements the factor solves [M J^T; J 0]: the accelerations equal least squares."""
    J = dense_jacobian(case.form, np.zeros(case.nq))
    entries = case.entries(J)
    factorise(case.form, entries, case.ws.L)
    # a right side that dependent equations allow: J times something
    b = np.concatenate([case.rng.normal(size=case.nq), J @ case.rng.normal(size=case.nq)])
    ws = case.ws
    call_solve_refined(case.form, entries, ws.L, case.scatter(b), 2, ws.r, ws.x)
    found = case.gather(ws.x)
    zero = np.zeros((case.nc, case.nc))
    K = np.block([[dense_mass(case.form), J.T], [J, zero]])
    expected = np.linalg.lstsq(K, b, rcond=1e-11)[0]
    # multipliers are not unique where equations depend; accelerations are, to the condition 1e4
    np.testing.assert_allclose(found[: case.nq], expected[: case.nq], atol=1e-10)
    np.testing.assert_allclose(K @ found, b, atol=1e-10)


@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize("name", ["random space", "thin bricard"])
def test_sums_of_products(name, apart):
    """The sums of coefficient k + 2 as they are written, with and without the newest coefficients."""
    form = make_model(MODELS[name]()).form
    ws = make_workspace(form, 12)
    rng = np.random.default_rng(1)
    ns, nb = len(form.sq_c), len(form.bl_c)
    for table, count in zip(
        (ws.sq_e, ws.sq_l, ws.bl_ea, ws.bl_eb, ws.bl_l), (ns, ns, nb, nb, nb), strict=True
    ):
        table[:, :count] = rng.normal(size=(13, count))
    for k in range(1, 11):
        m = k + 2
        call_sum_products(form, ws, k, apart)
        inner, before = range(1 + apart, m - apart), range(k - apart)
        for found, expected in (
            (ws.acc_sq, 0.5 * sum((ws.sq_e[j] * ws.sq_e[m - j] for j in inner), ws.sq_e[0] * 0.0)),
            (ws.acc_bl, sum((ws.bl_ea[j] * ws.bl_eb[m - j] for j in inner), ws.bl_l[0] * 0.0)),
            (ws.acc_sl, sum((ws.sq_l[j] * ws.sq_e[k - j] for j in before), ws.sq_e[0] * 0.0)),
            (ws.acc_al, sum((ws.bl_l[j] * ws.bl_eb[k - j] for j in before), ws.bl_l[0] * 0.0)),
            (ws.acc_lb, sum((ws.bl_l[j] * ws.bl_ea[k - j] for j in before), ws.bl_l[0] * 0.0)),
        ):
            np.testing.assert_allclose(found, expected, atol=10 * ROUNDING)


def begin_series(case, q, v):
    """Coefficients 0 and 1 and what the kernels need of them, as make_series begins."""
    form, ws = case.form, case.ws
    qc = np.zeros((13, case.nq))
    qc[0], qc[1] = q, v
    D = dense_forms(form)
    ws.e[:] = form.e0 + D @ q
    J = case.entries(dense_jacobian(form, q))
    ws.J[:] = J
    factorise(form, ws.J, ws.L)
    plain(coefficients.gather)(form, ws, 0, ws.e)
    plain(coefficients.gather)(form, ws, 1, D @ v)
    ws.J1[:] = case.entries(dense_jacobian(form, q + v) - dense_jacobian(form, q))
    return qc


def start_series(case, q, v):
    """Coefficients by the kernel from q, v on: the steps of make_series, one by one."""
    form, ws = case.form, case.ws
    qc = begin_series(case, q, v)
    for k in range(11):
        largest = call_next_coefficient(form, ws, k, 2, qc)
        assert largest == np.abs(qc[k + 2]).max()
    return qc


@pytest.mark.slow
def test_next_coefficient_equals_dense_recursion(case):
    """The coefficients equal those of the recursion written with dense matrices."""
    J = dense_jacobian(case.form, np.zeros(case.nq))
    # a velocity that the constraints allow
    v = case.v - np.linalg.pinv(J, rcond=1e-10) @ (J @ case.v)
    found = start_series(case, np.zeros(case.nq), v)
    expected, _ = dense_series(case.form, np.zeros(case.nq), v, 12)
    for k in range(13):
        # every coefficient is one solve (condition 1e4) on top of the lower ones
        scale = np.abs(expected[k]).max() + 1e-300
        np.testing.assert_allclose(found[k] / scale, expected[k] / scale, atol=1e-8)


@pytest.mark.slow
def test_series_satisfies_the_constraints(case):
    """Put into the constraints, the polynomial leaves only powers beyond its order."""
    J = dense_jacobian(case.form, np.zeros(case.nq))
    v = case.v - np.linalg.pinv(J, rcond=1e-10) @ (J @ case.v)
    qc = start_series(case, np.zeros(case.nq), v)
    A, b = dense_hessians(case.form), J
    # coefficient m of Phi(q(s)), with q_0 = 0
    for m in range(1, 13):
        rest = b @ qc[m] + 0.5 * sum(
            np.einsum("kab,a,b->k", A, qc[j], qc[m - j]) for j in range(1, m)
        )
        scale = np.abs(qc[m]).max() + 1.0
        # one solve a coefficient, its residual refined to rounding
        assert np.abs(rest).max(initial=0.0) < 1e-10 * scale


def test_eval_polynomial_is_numpy_polynomial(case):
    """Horner's rule gives the value and the derivative of the polynomial."""
    order, s = 9, 0.37
    qc = case.rng.normal(size=(12, case.nq))
    q, v = np.zeros(case.nq), np.zeros(case.nq)
    plain(polynomials.eval_polynomial)(qc, order, s, 1, q, v)
    P = np.polynomial.polynomial
    np.testing.assert_allclose(q, P.polyval(s, qc[: order + 1]), atol=10 * ROUNDING)
    np.testing.assert_allclose(v, P.polyval(s, P.polyder(qc[: order + 1])), atol=100 * ROUNDING)


@pytest.mark.slow
def test_projection_lands_on_the_constraints(case):
    """Newton with the factor at hand ends on Phi = 0 and J v = 0, and reports how far it moved."""
    form, ws = case.form, case.ws
    q = 1e-4 * case.rng.normal(size=case.nq)
    before = q.copy()
    ws.e[:] = form.e0 + dense_forms(form) @ q
    ws.J[:] = case.entries(dense_jacobian(form, q))
    factorise(form, ws.J, ws.L)
    moved = call_project_position(form, ws, 8, q)
    # with a frozen factor the error falls by 1e-4 an iteration: rounding after four
    np.testing.assert_allclose(dense_constraints(form, q), 0.0, atol=1e-13)
    # Newton's steps add up, so they are no shorter than the way
    assert moved >= 0.999 * np.abs(q - before).max()
    ws.J[:] = case.entries(dense_jacobian(form, q))
    factorise(form, ws.J, ws.L)
    v = case.v.copy()
    call_project_velocity(form, ws, 2, v)
    np.testing.assert_allclose(dense_jacobian(form, q) @ v, 0.0, atol=1e-11)
    # mass-orthogonal: the correction is M^-1 J^T y, so M dv lies in the range of J^T
    force = dense_mass(form) @ (v - case.v)
    J = dense_jacobian(form, q)
    rest = force - J.T @ np.linalg.lstsq(J.T, force, rcond=1e-10)[0]
    np.testing.assert_allclose(rest, 0.0, atol=1e-9)


class Pivots(NamedTuple):
    """What of a form says how large pivots are."""

    pos_c: np.ndarray
    eps: np.ndarray


@entry
def learn_pivots(form, L, reference_pivots):
    """The kernel, compiled."""
    solve.learn_pivots(form, L, reference_pivots)


def learn_one_by_one(pivots, reference_pivots):
    """Every equation that rises above the permanent looks at all others for the one that fell most.

    No more of them than have fallen. What others lost together by less may be what it rose by: then it stays
    redundant.
    """
    bound = np.maximum(SINGULAR_STEP_END * reference_pivots, PERMANENT_PIVOT)
    left = np.sum((reference_pivots > PERMANENT_PIVOT) & (pivots < bound))
    lowered = (reference_pivots > PERMANENT_PIVOT) & (pivots < LOWERED_PIVOT * reference_pivots)
    lost = np.prod(pivots[lowered] / reference_pivots[lowered])
    for k, pivot in enumerate(pivots):
        regular = reference_pivots[k] > PERMANENT_PIVOT
        if not regular and pivot > PERMANENT_PIVOT and left > 0:
            low = np.maximum(SINGULAR_STEP_END * reference_pivots, PERMANENT_PIVOT)
            fallen = np.flatnonzero(
                (reference_pivots > PERMANENT_PIVOT) & (pivots < low) & (pivots < reference_pivots)
            )
            if len(fallen):
                reference_pivots[
                    fallen[np.argmin(pivots[fallen] / reference_pivots[fallen])]
                ] *= -1.0
                left -= 1
                regular = True
        if regular or pivot * lost > PERMANENT_PIVOT:
            reference_pivots[k] = min(max(abs(reference_pivots[k]), pivot), 1.0)


def test_pivots_are_learnt_as_one_by_one():
    """Equations that rise and fall at random: the same are redundant from there on."""
    rng = np.random.default_rng(3)
    changed = 0
    for _ in range(300):
        n = int(rng.integers(1, 9))
        # far below what is permanent, near it, between, and large
        sizes = np.array([0.0, 1e-12, 1e-9, 0.9e-6, 1.1e-6, 1e-5, 1e-3, 0.5, 1.0])
        pivots, reference_pivots = rng.choice(sizes[1:], n), rng.choice([*sizes, -1e-3, -0.5], n)
        form = Pivots(np.arange(n), np.full(n, EPS))
        expected, found = reference_pivots.copy(), reference_pivots.copy()
        learn_one_by_one(pivots, expected)
        learn_pivots(form, -1.0 / pivots, found)
        # a pivot goes through its inverse
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        changed += bool((expected < reference_pivots).any())
    assert changed > 30


def test_reaches_are_those_of_place_or_velocity():
    """A term is as small as the tolerance in place, and in velocity next to the largest; below STILL is none."""
    rng = np.random.default_rng(3)
    ws = SimpleNamespace(log_size=rng.uniform(-60.0, 20.0, 32), reach=np.zeros(32))
    m = np.arange(2, 31)
    for log_speed in (-np.inf, -40.0, -20.0, -3.0, 0.5, 4.0, np.inf):
        plain(series_step.eval_step_limits)(ws, 2, 30, -28.0, log_speed)
        left = -28.0 - ws.log_size[2:31]
        swift = (left + log_speed) / (m - 1.0)
        swift = np.where(
            swift + log_speed < series_step.LOG_STILL, (left + series_step.LOG_STILL) / m, swift
        )
        expected = np.where(left >= -m * log_speed, left / m, swift)
        np.testing.assert_allclose(ws.reach[2:31], expected, rtol=1e-13)


def test_logarithm_in_lanes():
    """Of the sizes that coefficients may have."""
    ws = SimpleNamespace(size=10.0 ** np.linspace(-290.0, 290.0, 32), log_size=np.zeros(32))
    ws.size[:3] = 1.0, np.sqrt(0.5), 0.0
    call_log_sizes(ws.size, ws.log_size)
    np.testing.assert_allclose(ws.log_size, np.log(ws.size + 1e-300), rtol=1e-12, atol=1e-12)


def test_norm_is_euclidean():
    """The norm is the root of the sum of squares."""
    x = np.array([3.0, -4.0, 12.0])
    assert plain(forms.norm)(x) == 13.0


@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_choose_step_of_a_geometric_series(radius):
    """For coefficients r^-m the last two terms at the chosen step are as small as the tolerance."""
    known, tolerance = 30, 1e-12
    log_size = -np.arange(32.0) * np.log(radius)
    log_cost = np.log(4.0 + np.arange(known + 1.0))
    ws = SimpleNamespace(log_size=log_size, reach=np.zeros(32))

    def choose(log_speed):
        plain(series_step.eval_step_limits)(ws, 2, known, np.log(tolerance), log_speed)
        order, log_step = plain(series_step.choose_step)(ws, 3, known, log_cost)
        return plain(series_step.raise_order)(
            ws, order, known, log_step, np.log(tolerance)
        ), log_step

    order, log_step = choose(np.inf)
    assert 3 <= order <= known
    terms = np.exp(log_size[order - 1 : order + 1] + np.array([order - 1, order]) * log_step)
    # the chosen order's own step makes the larger of its last two terms equal to the tolerance;
    # orders added for free only have smaller last terms
    assert terms[1] <= tolerance * (1 + 1e-9)
    assert np.exp(log_step) < radius
    # with a velocity in view the last term is also that small next to the way it makes in the step
    speed = 1e-3
    order, short = choose(np.log(speed))
    assert short < log_step
    assert np.exp(log_size[order] + (order - 1) * short) <= tolerance * speed * (1 + 1e-9)


def few_unknowns():
    """Random mechanisms that move, of up to eight unknowns; one has no inertia in a direction."""
    cases = [Case(problems.get("light-cart-pole").mechanism())]
    for seed in range(120):
        for dimension in (2, 3):
            case = Case(random_mechanism(seed, dimension, sliding=seed % 4 > 1))
            if len(case.ws.inverse) > 0 and case.nq > case.nc:
                cases.append(case)
    return cases


@pytest.mark.slow
def test_few_unknowns_by_the_inverse():
    """K^-1 is that of NumPy, and coefficients by it are those of the dense recursion; ahead or one by one."""
    taken, paired = 0, 0
    for case in few_unknowns():
        form, ws = case.form, case.ws
        q, J = np.zeros(case.nq), dense_jacobian(case.form, np.zeros(case.nq))
        v = case.v - np.linalg.pinv(J) @ (J @ case.v)
        qc = begin_series(case, q, v)
        if not call_is_regular(form, ws.L):
            continue
        taken += 1
        paired += len(form.bl_c) > 0
        call_spread_forms(form, ws)
        call_make_coefficients(form, ws, 0, 2, 12, qc)
        K = np.block([[dense_mass(form), J.T], [J, -np.diag(form.eps)]])
        rounding = 1e-15 * np.linalg.cond(K)
        order = np.concatenate([form.pos_q, form.pos_c])
        inverse = np.linalg.inv(K)
        # sides that are augmented leave one part in 1 / (rho eps) of the multipliers
        bound = (10 * rounding + (form.rho * form.eps).max(initial=0.0)) * np.abs(inverse).max()
        np.testing.assert_allclose(ws.inverse[np.ix_(order, order)], inverse, rtol=0, atol=bound)
        np.testing.assert_array_equal(ws.size[2:13], np.abs(qc[2:]).max(axis=1))
        by_steps = begin_series(case, q, v)
        for first, last in ((2, 2), (3, 6), (7, 7), (8, 12)):
            call_make_coefficients(form, ws, 0, first, last, by_steps)
        np.testing.assert_array_equal(qc, by_steps)
        by_factor = begin_series(case, q, v)
        for k in range(11):
            call_next_coefficient(form, ws, k, 0, by_factor)
        expected, _ = dense_series(form, q, v, 12)
        size = np.abs(expected).max(axis=1) + 1e-300
        error = np.abs(qc - expected).max(axis=1) / size
        # each is one solve on top of the lower ones (eps, condition 700), and no worse than by the factor
        assert error.max() < 1e-8
        lost = np.abs(by_factor - expected).max(axis=1) / size + rounding
        assert np.all(error < 10 * lost)
    assert taken > 30
    assert paired > 2
