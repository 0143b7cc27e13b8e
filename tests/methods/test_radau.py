"""Radau IIA: its constants, order, constraints at outputs, stiff problems with known answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from builders import bricard, n_four_bar
from sarrus import Mechanism, problems, simulate
from sarrus.assembly import solve_start_velocity
from sarrus.kernels import forms, polynomials, radau_dof, radau_newton, solve
from sarrus.kernels import radau_step as kernels
from sarrus.kernels.applied_forces import make_loads
from sarrus.kernels.compiler import entry
from sarrus.kernels.layout import make_workspace
from sarrus.kernels.simd import fill_lanes
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


def governor():
    """Two stiff dampers that go round."""
    return problems.get("flyball-governor", section=0.01).mechanism()


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


@pytest.mark.parametrize("stages", [3, 5, 7])
def test_constants_are_those_of_collocation(stages):
    """A integrates all powers below s over each stage exactly, the last row up to 2 s - 2 (order 2 s - 1)."""
    rule = radau_newton.make_rule(stages)
    nodes = rule.nodes
    for power in range(stages):
        exact = nodes ** (power + 1) / (power + 1)
        assert np.abs(rule.A @ nodes**power - exact).max() < 2e-15
    for power in range(2 * stages - 1):
        assert rule.A[-1] @ nodes**power == pytest.approx(1 / (power + 1), abs=2e-15)
    assert np.abs(rule.W @ rule.A - np.eye(stages)).max() < 1e-12
    assert np.linalg.det(rule.W - rule.mu * np.eye(stages)) == pytest.approx(
        0.0, abs=1e-10 * np.linalg.det(rule.W)
    )
    # the estimate of the error vanishes for motions whose velocity is a polynomial of degree s
    for power in range(1, stages + 1):
        slope = 1.0 if power == 1 else 0.0
        assert slope + rule.weights @ nodes**power == pytest.approx(0.0, abs=1e-12)


def test_three_stages_are_those_of_the_book():
    """[HairerWanner1996] table IV.5.6 and eq. (IV.8.20)."""
    r, rule = np.sqrt(6.0), radau_newton.make_rule(3)
    assert rule.nodes == pytest.approx([(4 - r) / 10, (4 + r) / 10, 1.0], rel=1e-15)
    assert rule.A[0] == pytest.approx(
        [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225]
    )
    assert 3 * rule.weights == pytest.approx([-13 - 7 * r, -13 + 7 * r, -1.0])


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
def test_fifth_order(make, point, reference, duration, steps, monkeypatch):
    """Positions and velocities of fixed steps of three stages, also with dependent equations: slope 5."""
    monkeypatch.setattr(radau, "choose_stages", lambda *_: 3)
    errors = []
    for step in steps:
        # the step is at its limit: the tolerance would allow longer ones, the iteration is exact
        r = run_fixed(make(), duration, step)
        found = np.hstack([r.position(point), r.velocity(point)])
        error = np.abs(found - reference(r.times))
        # at the end of the last step: between steps the interpolation shows
        errors.append(error[-1].max())
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    # terms of sixth order still show at these steps
    assert slopes == pytest.approx(5.0, abs=0.4)


@pytest.mark.parametrize("windows", [1, 3])
def test_ninth_order(windows, monkeypatch):
    """The end of fixed steps of five stages: slope 9."""
    monkeypatch.setattr(radau, "choose_stages", lambda *_: 5)
    steps, errors = (0.06, 0.05, 0.04), []
    for step in steps:
        r = run_fixed(n_four_bar(windows), 0.6, step, 1e-11, 1e4)
        found = np.hstack([r.position("B0"), r.velocity("B0")])
        errors.append(np.abs(found - four_bar_reference(r.times, windows))[-1].max())
    # the first and the last step are shorter, by different parts
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(9.0, abs=1.0)


def run_fixed(mechanism, duration, step, tolerance=1e-9, loose=1e3):
    """Steps of the given length: a loose bound of the error, but a tight iteration."""
    share = radau.SHARE
    radau.SHARE = loose
    try:
        r = simulate(
            mechanism,
            duration,
            duration / 10,
            method="radau",
            tolerance=tolerance,
            longest_step=step,
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


def follower(damping, stiffness=1e4, rate=3.0, amplitude=0.1):
    """Prothero and Robinson: a damped spring pulls a mass after a driven one; and the mass's exact motion.

    x'' = -k (x - s) - c (x' - s'), s = a sin(w t), from x = 0 with the velocity of the steady motion.
    """
    m = Mechanism("follower", gravity=(0, 0))
    m.body("cart", 1.0, (0, 0), inertia=1.0)
    m.body("mass", 1.0, (1, 0), inertia=1.0)
    m.prismatic("rail", m.ground, "cart", at=(0, 0), axis=(1, 0))
    m.prismatic("slot", m.ground, "mass", at=(1, 0), axis=(1, 0))
    m.drive("shake", "rail", Sine(amplitude, rate / (2 * np.pi)))
    m.spring("pull", "cart", "mass", start=(0, 0), end=(1, 0), stiffness=stiffness, damping=damping)
    pull = stiffness + 1j * rate * damping
    steady = -1j * amplitude * pull / (pull - rate**2)
    m.point("bob", "mass", (1, 0))
    m.set_velocity("bob", ((1j * rate * steady).real, 0.0))
    # the small offset of the start from the steady motion decays with both roots
    slow, fast = np.roots([1.0, damping, stiffness])[::-1]
    part = fast * steady.real / (slow - fast)

    def exact(t):
        free = part * np.exp(slow * t) - (part + steady.real) * np.exp(fast * t)
        return (steady * np.exp(1j * rate * t) + free).real

    return m, exact


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("damping", [1e2, 1e4, 1e6, 1e8])
def test_stiff_damper_on_a_driven_point(damping, tolerance):
    """A mass after a driven damper of any strength: the error is below the tolerance, in few steps."""
    m, exact = follower(damping)
    r = simulate(m, 3.0, 0.1, method="radau", tolerance=tolerance)
    assert r.status == "done", r.message
    found = r.position("bob")[:, 0] - 1.0
    # rounding: 1e-16 of a velocity of 0.3 m/s in each of some hundred steps
    assert np.abs(found - exact(r.times)).max() < tolerance + 1e-13
    # up to 1e8 per second; a method that had to follow it would need as many steps
    assert r.counters["steps"] < 200


def test_newton_converges_however_stiff():
    """Derivatives are exact: about two iterations a step, whatever the damper."""
    for damping in (1e2, 1e4, 1e6, 1e8):
        for make in (lambda c=damping: follower(c)[0], lambda c=damping: elbow(10.0 * c, c)):
            r = simulate(make(), 1.0, 0.1, method="radau", tolerance=1e-8)
            assert r.status == "done"
            assert r.counters["iterations"] < 3.0 * (r.counters["steps"] + r.counters["rejected"])


def crank(seed, stiffest=5):
    """A driven crank pulls a block on a rail by a stiff damped spring; and the block's equation by hand."""
    rng = np.random.default_rng(seed)
    radius, rate, swing = rng.uniform(0.2, 0.4), rng.uniform(2.0, 6.0), rng.uniform(0.3, 1.2)
    stiffness, damping = 10.0 ** rng.uniform(2, 5), 10.0 ** rng.uniform(1, stiffest)
    mass, place = rng.uniform(0.5, 3.0), rng.uniform(1.0, 1.6)
    m = Mechanism("crank", gravity=(0, 0))
    m.rod("crank", (0, 0), (radius, 0), mass=1.0)
    m.revolute("pin", m.ground, "crank", at=(0, 0))
    m.drive("turn", "pin", Sine(swing, rate / (2 * np.pi)))
    m.body("block", mass, (place, 0), inertia=1.0)
    m.prismatic("slot", m.ground, "block", at=(place, 0), axis=(1, 0))
    m.spring(
        "link", "crank", "block", start=(radius, 0), end=(place, 0), stiffness=stiffness, damping=damping
    )  # fmt: skip

    def rates(t, y):
        angle, turning = swing * np.sin(rate * t), swing * rate * np.cos(rate * t)
        tip = radius * np.array([np.cos(angle), np.sin(angle)])
        apart = np.array([y[0], 0.0]) - tip
        length = np.hypot(*apart)
        speed = apart @ (np.array([y[1], 0.0]) - turning * np.array([-tip[1], tip[0]])) / length
        force = stiffness * (length - (place - radius)) + damping * speed
        return [y[1], -force * apart[0] / length / mass]

    return m, rates, place


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_driven_cranks_with_stiff_dampers(seed):
    """Dampers that turn with what drives them, against SciPy's Radau in the one degree of freedom."""
    m, rates, place = crank(seed)
    r = simulate(m, 1.0, 0.05, method="radau", tolerance=1e-7)
    assert r.status == "done", r.message
    start = [place, r.velocity("block")[0, 0]]
    twin = solve_ivp(rates, (0, 1), start, "Radau", r.times, rtol=1e-9, atol=1e-11)
    # the tolerance, and what the reference leaves
    assert np.abs(r.position("block")[:, 0] - twin.y[0]).max() < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "auto"])
def test_work_of_drives_on_stiff_dampers(method):
    """However loose the tolerance, no right run is ended by the judge of energy, and the work is right.

    It is damping, up to 1e8, times a small velocity, times that of the drive: what interpolation errs did work of
    kilojoules where one joule is right, and runs ended. Measured over 30 seeds: up to 6 tolerances.
    """
    for seed in range(10):
        m, _, _ = crank(seed, 8)
        exact = simulate(m, 1.0, 0.05, method="radau", tolerance=1e-11)
        exchanged = max(exact.kinetic_energy.max(), np.abs(exact.work).max())
        for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
            r = simulate(m, 1.0, 0.05, method=method, tolerance=tolerance)
            name = f"seed {seed}, tolerance {tolerance:g}"
            assert r.status == "done", f"{name}: {r.message}"
            assert np.abs(r.coordinates - exact.coordinates).max() < tolerance, name
            assert np.abs(r.work - exact.work).max() < 20.0 * tolerance * exchanged, name
            assert r.energy_drift < 20.0 * tolerance * exchanged, name


def moved_acceleration(model, t, q, v):
    """Projected state and acceleration, by a dense solve that knows no degrees of freedom."""
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    q, v, a, lam = q.copy(), v.copy(), np.zeros_like(q), np.zeros(model.equations)
    project(model.form, ws, loads, t, q, v, a, lam)
    return q, v, a, lam


@entry
def project(form, ws, loads, t, q, v, a, lam):
    """The kernel, as the time loop calls it."""
    kernels.project_and_accelerate(form, ws, loads, t, 0.0, q, v, a, lam)


@entry
def turn_and_derive(form, tangent, ws, stages, loads, t):
    """Motions and derivatives of all stages."""
    for k in range(len(stages.q)):
        q, v = stages.q[k], stages.v[k]
        forms.eval_forms(form, q, ws.e)
        forms.eval_jacobian(form, ws.e, ws.J)
        solve.factorise(form, ws.J, stages.L[k])
        radau_newton.eval_tangents(form, tangent, ws, stages, loads, k, t, 0.0, q, v, stages.lam[k])
    radau_dof.eval_dof_basis(form, tangent, stages)


@pytest.mark.parametrize("make", [lambda: elbow(3e2, 7.0), lambda: crank(1)[0], governor])
def test_degrees_of_freedom_give_the_derivative_of_the_projected_acceleration(make):
    """T (x, w) against central differences of the whole evaluation, in random directions, at all stages."""
    mechanism, t = make(), 0.3
    model = make_model(mechanism)
    rng = np.random.default_rng(5)
    nq = model.coordinates
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    tangent = radau.make_tangent(model.form, model.loads)
    stages = None
    for k in range(3):
        scratch = rng.normal(size=(2, nq)) * 0.05
        q, v = scratch[0], 20.0 * scratch[1]
        # onto the constraints to rounding: from as far as that once is not enough
        for _ in range(4):
            q, v, a, lam = moved_acceleration(model, t, q, v)
        if stages is None:
            motions = radau.find_motions(model, q)
            stages = radau.make_stages(model.form, model.loads, tangent, 3, motions)
        stages.q[k], stages.v[k], stages.a[k], stages.lam[k] = q, v, a, lam
    turn_and_derive(model.form, tangent, ws, stages, loads, t)
    free = stages.dof
    for k in range(3):
        q, v = stages.q[k], stages.v[k]
        dq, dv = rng.normal(size=(2, nq))
        change = free.T[k] @ np.concatenate([free.MN[k].T @ dq, free.MN[k].T @ dv])
        # differences of second order, and rounding: both measured below 1e-9
        e = 1e-5
        ends = [moved_acceleration(model, t, q + s * e * dq, v + s * e * dv)[2] for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * e)
        assert np.abs(change - expected).max() < 1e-8 * np.abs(expected).max()


@entry
def solve_densely(matrix, lower, order, x):
    """Factorise and solve."""
    radau_dof.factorise_dense(matrix, lower, order)
    radau_dof.solve_with_dense(matrix, lower, order, x)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
def test_dense_factor(n):
    """L U in lanes / NumPy's solve, with rows that have to be exchanged; what fills up the lanes is not read."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else 2.0
    matrix = np.full((n, fill_lanes(n)), 1e3)
    matrix[:, :n] = A
    x = b.copy()
    solve_densely(matrix, np.zeros((n, n)), np.zeros(n, np.int64), x)
    # rounding by the condition, which is below 1e4 here
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-11)


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
            dense[rows, cols] = radau_newton.W[k, m] * M - h * h * radau_newton.A[k, m] * S
            dense[rows, cols] -= h * G * (k == m)
            dense[equations, cols] = radau_newton.W[k, m] * J
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
    """Hermite's polynomials of degree 3 and 5 give back theirs."""
    rng = np.random.default_rng(1)
    times = np.array([0.1, 0.3, 0.7, 0.8])
    for degree, fill in ((3, polynomials.fill_cubics), (5, polynomials.fill_quintics)):
        exact = np.polynomial.Polynomial(rng.normal(size=degree + 1))
        states = np.array([[[exact.deriv(k)(t)] for k in range(3)] for t in times])
        rows = np.zeros((3, degree + 1, 1))
        fill(times, states, rows)
        for row, start in zip(rows, times, strict=False):
            found = np.polynomial.Polynomial(row[:, 0])
            for k in range(3):
                # three orders of differences over steps of a tenth
                assert found.deriv(k)(0.05) == pytest.approx(exact.deriv(k)(start + 0.05), rel=1e-9)


@pytest.mark.slow
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
    start = radau.Start(0.3, whole.q[0], whole.v[0], np.append(whole.angles[0], 0.0))
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
    assert make_workspace(make_model(n_four_bar(2)).form, 0).reference_pivots.size == 5


@pytest.mark.slow
@pytest.mark.parametrize("damping", [1.0, 1e3, 1e5, 1e8])
def test_forces_that_stiff_dampers_spoil_are_reported(damping):
    """A link dragged by a damper: where a drive's force is off by a twentieth of the weight, a note says so."""
    m = Mechanism("dragged", gravity=(0.0, -9.81))
    m.rod("a", (0, 0), (0.3, 0.4), 1.0)
    m.rod("b", (0.3, 0.4), (1.0, 0.2), 1.0)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(0.3, 0.4))
    m.torsion("drag", "B", damping=damping)
    m.drive("motor", "A", Sine(0.2, 1.0))
    exact = simulate(m, 1.0, 0.01, tolerance=1e-11, method="radau").drive_force("motor")
    reported = 0
    for tolerance in (1e-4, 1e-6, 1e-8):
        result = simulate(m, 1.0, 0.01, tolerance=tolerance, method="radau")
        noted = any("stiff damper" in note for note in result.notes)
        # after the first instant, in which the damper stops what has another velocity
        off = np.abs(result.drive_force("motor") - exact)[10:].max()
        assert noted or off < 0.05 * 2 * 9.81
        reported += noted
    assert reported >= 1 if damping > 1e6 else reported == 0 or damping > 1e4
