"""Radau IIA: its constants, order, constraints at outputs, stiff problems with known answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from builders import bricard, n_four_bar
from sarrus import Mechanism, simulate
from sarrus.assembly import solve_start_velocity
from sarrus.kernels import polynomials, radau_newton
from sarrus.kernels import radau as kernels
from sarrus.kernels.compiler import entry
from sarrus.kernels.layout import make_workspace
from sarrus.mechanism.motion import Sine
from sarrus.methods import Run, radau
from sarrus.methods.time_loop import run_steps
from sarrus.model import make_model
from sarrus.problems.references.bricard import bricard_reference
from sarrus.problems.references.n_four_bar import four_bar_reference

G = 9.81


def elbow(stiffness, damping):
    """Two rods of 1 m and 1 kg, level at the start, with a torsional spring and damper between them."""
    m = Mechanism("elbow", gravity=(0, -G))
    m.rod("a", (0, 0), (1, 0), mass=1.0)
    m.rod("b", (1, 0), (2, 0), mass=1.0)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    m.torsion("t", "B", stiffness=stiffness, damping=damping)
    m.point("tip", "b", (2, 0))
    return m


def elbow_rates(stiffness, damping):
    """The same in the angles x, y of the rods: Lagrange's equations by hand."""

    def rates(_, s):
        x, y, u, w = s
        c, d = 0.5 * np.cos(x - y), 0.5 * np.sin(x - y)
        torque = -stiffness * (y - x) - damping * (w - u)
        f = -d * w * w - 1.5 * G * np.cos(x) - torque
        g = d * u * u - 0.5 * G * np.cos(y) + torque
        det = (4 / 3) * (1 / 3) - c * c
        return [u, w, (f / 3 - c * g) / det, (4 / 3 * g - c * f) / det]

    return rates


def test_constants_are_those_of_collocation():
    """A integrates 1, s, s^2 over each stage exactly, the last row s^4 too (order 5)."""
    for power in range(3):
        exact = kernels.STAGES ** (power + 1) / (power + 1)
        assert np.abs(kernels.A @ kernels.STAGES**power - exact).max() < 1e-15
    for power in range(5):
        assert kernels.A[2] @ kernels.STAGES**power == pytest.approx(1 / (power + 1), abs=1e-15)
    # the estimate of the error vanishes for motions whose velocity is a polynomial of third degree
    for power in (1, 2, 3):
        slope = 1.0 if power == 1 else 0.0
        assert slope + kernels.WEIGHTS @ kernels.STAGES**power == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize(
    ("make", "point", "reference", "duration", "steps"),
    [
        (lambda: n_four_bar(1), "B0", lambda t: four_bar_reference(t, 1), 0.6, (0.03, 0.02, 0.015)),
        (lambda: n_four_bar(3), "B0", lambda t: four_bar_reference(t, 3), 0.6, (0.03, 0.02, 0.015)),
        # one equation too many at every position
        (bricard, "P2", bricard_reference, 1.2, (0.04, 0.03, 0.02)),
    ],
    ids=["four-bar", "three windows", "Bricard"],
)
def test_fifth_order(make, point, reference, duration, steps):
    """Positions and velocities of fixed steps, also with dependent equations: slope 5."""
    errors = []
    for step in steps:
        # the step is held by its limit: the tolerance would allow longer ones, the iteration is exact
        r = run_fixed(make(), duration, step)
        found = np.hstack([r.position(point), r.velocity(point)])
        error = np.abs(found - reference(r.times))
        half = error.shape[1] // 2
        # velocities at the end of the last step: between steps the interpolation shows
        errors.append([error[:, :half].max(), error[-1, half:].max()])
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    # terms of sixth order still show at these steps
    assert slopes == pytest.approx(5.0, abs=0.4)


def run_fixed(mechanism, duration, step):
    """Steps of the given length: a loose bound of the error, but a tight iteration."""
    share = radau.SHARE
    radau.SHARE = 1e3
    try:
        r = simulate(
            mechanism, duration, duration / 10, method="radau", tolerance=1e-9, longest_step=step
        )
    finally:
        radau.SHARE = share
    assert r.status == "done", r.message
    # the first step may be shorter
    assert np.diff(r.step_times)[1:-2] == pytest.approx(step, rel=1e-9)
    return r


@pytest.mark.parametrize("make", [lambda: n_four_bar(2), bricard, lambda: elbow(1e4, 1e3)])
def test_constraints_at_all_outputs(make):
    """Position, velocity and acceleration constraints hold to rounding, between steps too."""
    r = simulate(make(), 1.0, 0.01, method="radau", tolerance=1e-6)
    assert r.status == "done"
    assert r.counters["steps"] < 100
    # rounding: a few units of 1e-16, times accelerations of up to 100
    assert r.norms[:, :2].max() < 5e-15
    assert r.norms[:, 2].max() < 1e-12


def test_tolerance_is_the_error():
    """The double four-bar for 2 s, once flat: the error follows the tolerance."""
    tolerances = np.array([1e-4, 1e-6, 1e-8])
    errors = []
    for tolerance in tolerances:
        r = simulate(n_four_bar(2), 2.0, 0.02, method="radau", tolerance=tolerance)
        assert r.status == "done"
        errors.append(np.abs(r.position("B0") - four_bar_reference(r.times, 2)[:, :2]).max())
    # of the same size, over four decades
    assert np.all(np.array(errors) < 20 * tolerances)
    assert np.all(np.array(errors) > 1e-3 * tolerances)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e2, 1.0), (1e4, 1e3), (1e6, 1e4)])
def test_agrees_with_scipy_on_the_reduced_model(stiffness, damping):
    """Soft and stiff elbows against SciPy's Radau in two angles, outputs between steps included."""
    times = np.linspace(0, 1, 21)
    reference = solve_ivp(
        elbow_rates(stiffness, damping), (0, 1), np.zeros(4), "Radau", times, rtol=1e-9, atol=1e-10
    )
    x, y = reference.y[:2]
    tip = np.stack([np.cos(x) + np.cos(y), np.sin(x) + np.sin(y)], axis=1)
    r = simulate(elbow(stiffness, damping), 1.0, 0.05, method="radau", tolerance=1e-7)
    assert r.status == "done"
    assert np.abs(r.position("tip") - tip).max() < 2e-7
    # stiff or not, as many steps: the motion is the same
    assert r.counters["steps"] < 200


def test_stiff_damper_on_a_driven_point():
    """Prothero and Robinson: a damped spring pulls a mass after a driven one; the exact answer is known.

    m x'' = -k (x - s) - c (x' - s'), s = a sin(w t): amplitude and phase of the steady motion.
    """
    k, c, w, a = 1e4, 1e6, 3.0, 0.1
    m = Mechanism("follower", gravity=(0, 0))
    m.body("cart", 1.0, (0, 0), inertia=1.0)
    m.body("mass", 1.0, (1, 0), inertia=1.0)
    m.prismatic("rail", m.ground, "cart", at=(0, 0), axis=(1, 0))
    m.prismatic("slot", m.ground, "mass", at=(1, 0), axis=(1, 0))
    m.drive("shake", "rail", Sine(a, w / (2 * np.pi)))
    m.spring("pull", "cart", "mass", start=(0, 0), end=(1, 0), stiffness=k, damping=c)
    # started on the steady motion: no transient
    steady = (k + 1j * w * c) / (k + 1j * w * c - w * w)
    m.point("bob", "mass", (1, 0))
    m.set_velocity("bob", ((1j * w * a * steady * -1j).real, 0.0))
    r = simulate(m, 3.0, 0.1, method="radau", tolerance=1e-8)
    assert r.status == "done", r.message
    exact = (a * steady * -1j * np.exp(1j * w * r.times)).real
    found = r.position("bob")[:, 0] - 1.0
    # the start may be off the steady motion by its own small offset, which the damper forgets slowly
    assert np.abs(found - found[0] - (exact - exact[0])).max() < 3e-8
    # c / m = 1e6 per second; a method that had to follow it would need a million steps
    assert r.counters["steps"] < 400


def test_newton_matrix_is_the_derivative_of_the_stages():
    """The block factor against a dense solve of the same equations, on random numbers."""
    mechanism = elbow(3e2, 7.0)
    model = make_model(mechanism)
    form = model.form
    nq, nc = model.coordinates, model.equations
    tangent = radau.make_tangent(form, model.loads)
    stages = radau.make_stages(form, model.loads, tangent)
    rng = np.random.default_rng(3)
    for values in (stages.J, stages.S, stages.G, stages.dz):
        values[...] = rng.normal(size=values.shape)
    h = 0.1
    rest = stages.dz[1].copy()
    dense = np.zeros((3 * (nq + nc), 3 * (nq + nc)))
    right = np.zeros(3 * (nq + nc))
    M = model.mass_matrix().toarray()
    for k in range(3):
        rows = slice(k * nq, (k + 1) * nq)
        equations = slice(3 * nq + k * nc, 3 * nq + (k + 1) * nc)
        J, S, G = np.zeros((nc, nq)), np.zeros((nq, nq)), np.zeros((nq, nq))
        J[form.J_eq, form.J_col] = stages.J[k]
        S[tangent.S_row, tangent.S_col] = stages.S[k]
        G[tangent.S_row, tangent.S_col] = stages.G[k]
        for m in range(3):
            cols = slice(m * nq, (m + 1) * nq)
            dense[rows, cols] = kernels.W[k, m] * M - h * h * kernels.A[k, m] * S
            dense[rows, cols] -= h * G * (k == m)
            dense[equations, cols] = kernels.W[k, m] * J
        dense[rows, equations] = J.T
        dense[equations, equations] = -np.diag(form.eps)
        right[rows] = h * M @ rest[k]
        right[equations] = h * J @ rest[k]
    expected = np.linalg.solve(dense, right)[: 3 * nq].reshape(3, nq)
    factor_and_solve(form, tangent, stages, h)
    assert np.abs(stages.dz[1] - expected).max() < 1e-9 * np.abs(expected).max()


@entry
def factor_and_solve(form, tangent, stages, h):
    """The two kernels, as the time loop calls them."""
    radau_newton.factorise_stages(form, tangent, stages, h)
    radau_newton.solve_stages(form, tangent, stages, h)


def test_polynomials_from_states_are_exact():
    """Hermite's polynomials of degree 3 and 5, over one step and over two unequal ones, give back theirs."""
    rng = np.random.default_rng(1)
    times = np.array([0.1, 0.3, 0.7, 0.8])
    for degree, fill, first in (
        (3, polynomials.fill_cubics, 0),
        (5, polynomials.fill_quintics, 0),
        (5, polynomials.fill_quintics_over_two, 1),
    ):
        exact = np.polynomial.Polynomial(rng.normal(size=degree + 1))
        states = np.array([[[exact.deriv(k)(t)] for k in range(3)] for t in times])
        rows = np.zeros((3 - first, degree + 1, 1))
        fill(times, states, rows)
        for row, start in zip(rows, times[first:], strict=False):
            found = np.polynomial.Polynomial(row[:, 0])
            for k in range(3):
                # three orders of differences over steps of a tenth
                assert found.deriv(k)(0.05) == pytest.approx(exact.deriv(k)(start + 0.05), rel=1e-9)


def test_user_force_in_plain_python():
    """A pendulum pulled by a function that only Python can compute: its work is in the balance."""
    tables = {"soft": 3.0}

    def pull(t, position, velocity):
        # a dictionary of Python: not compiled
        return -tables["soft"] * position - 0.5 * velocity

    m = Mechanism("pendulum", gravity=(0, -G))
    m.rod("rod", (0, 0), (1, 0), mass=1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (1, 0))
    m.user_force("pull", ["tip"], pull)
    r = simulate(m, 0.5, 0.1, method="radau", tolerance=1e-8)
    assert r.status == "done", r.message
    # power of the force: kinetic and potential energy minus its work stays
    assert np.abs(r.energy_balance).max() < 1e-6


def test_same_start_later_is_the_same_motion():
    """Going on from a state gives what the whole run gives."""
    m = elbow(1e4, 1e3)
    model = make_model(m)
    velocity, _ = solve_start_velocity(model, m)
    times = np.array([0.3, 0.6])
    problem = Run(model, velocity, times, 0.6, 1e-9)
    whole = radau.run(problem).record
    start = radau.Start(0.3, whole.q[0], whole.v[0], whole.angles[0])
    second = run_steps(replace(problem, times=times[1:]), radau.Radau(problem, start)).record
    assert np.abs(second.q[0] - whole.q[1]).max() < 1e-8
    assert second.angles[0] == pytest.approx(whole.angles[1], abs=1e-8)
    # its work counts from where it starts
    assert second.energy[0] - whole.work[0] == pytest.approx(whole.energy[1], abs=1e-5)


def test_workspace_of_a_chain_stays_sparse():
    """The Newton matrix of N = 40 has a number of entries linear in N."""
    models = [make_model(n_four_bar(n)) for n in (20, 40)]
    sizes = [len(radau.make_tangent(m.form, m.loads).L_row) for m in models]
    assert sizes[1] < 2.2 * sizes[0]
    assert make_workspace(make_model(n_four_bar(2)).form, 0).usual.size == 5
