"""Loads and drives at a state, against slow references: virtual work, differences, NumPy."""

import numpy as np
import pytest
from scipy import sparse

from builders import rotation
from dense_series import dense_rows
from sarrus import Mechanism, Polynomial, Sine, SmoothStep
from sarrus.kernels import applied_forces as kernels
from sarrus.kernels.applied_forces import make_loads
from sarrus.kernels.compiler import entry
from sarrus.kernels.elements.drive import eval_drives
from sarrus.mechanism.motion import make_pieces
from sarrus.model import make_model

# wrappers are compiled in every run of the tests
pytestmark = pytest.mark.slow


@entry
def call_loads(form, loads, t, q, v, Q):
    """Call the kernel of that name."""
    kernels.eval_loads(form, loads, t, q, v, Q)


@entry
def call_derivatives(loads, t, q, v, A, B):
    """Call the kernel of that name."""
    kernels.eval_load_derivatives(loads, t, q, v, A, B)


@entry
def call_drives(loads, t):
    """Call the kernel of that name."""
    eval_drives(loads, t)


@entry
def call_energy(loads):
    """Potential of the springs and power of the rest, after eval_loads."""
    potential = kernels.eval_load_energy(loads, loads.theta)
    return potential, kernels.eval_load_power(loads)


def law(t, position, velocity):
    """A user force that depends on everything."""
    return np.sin(t) - 3.0 * position * position - 0.3 * velocity


def loaded(seed=1):
    """Two bodies in space with every kind of load, turned at random."""
    R = rotation(seed)
    m = Mechanism("loaded", gravity=R @ (0, 0, -9.81))
    for name, center in (("a", (0.3, 0.1, -0.2)), ("b", (0.9, 0.1, -0.4))):
        m.body(name, 1.5, R @ center, R @ np.diag([0.1, 0.12, 0.15]) @ R.T)
    m.spherical("S", m.ground, "a", at=R @ (0, 0, 0))
    m.revolute("H", "a", "b", at=R @ (0.6, 0.2, -0.3), axis=R @ (0.3, 1, 0.2))
    m.point("tip", "b", R @ (1.2, 0.3, -0.5))
    m.spring(
        "k", m.ground, "b", start=R @ (1, 1, 1), end=R @ (1.2, 0.3, -0.5),
        stiffness=30, damping=2, free_length=0.7, preload=3,
    )  # fmt: skip
    m.torsion("coil", "H", stiffness=4, damping=0.5, free_angle=0.2, torque=0.7)
    m.force("turning", "b", at=R @ (1, 0, -0.4), vector=R @ (1, 2, 3), fixed_in="body")
    m.torque("world", "a", R @ (1, 2, 0.5))
    m.torque("body", "b", R @ (1, 2, 0.5), fixed_in="body")
    m.user_force("law", ["tip", "H"], law)
    return m


@pytest.fixture(scope="module")
def case():
    """The model with a random state that need not obey the constraints."""
    model = make_model(loaded())
    rng = np.random.default_rng(0)
    nq = model.coordinates
    return model, make_loads(model.loads, 0), 0.05 * rng.normal(size=nq), rng.normal(size=nq)


def total_force(case, q, v, t=0.3):
    """Q_total by the kernel."""
    model, loads, _, _ = case
    Q = np.zeros(model.coordinates)
    call_loads(model.form, loads, t, q, v, Q)
    return Q


def test_derivatives_are_those_of_the_forces(case):
    """F^T (dw/df) F and F^T (dw/df') F against central differences of Q_total."""
    model, loads, q, v = case
    nl, nq = len(loads.f0), model.coordinates
    F = dense_rows(loads.F_start, loads.F_col, loads.F_val, (nl, nq))
    A, B = np.zeros(len(loads.G_row)), np.zeros(len(loads.G_row))
    call_derivatives(loads, 0.3, q, v, A, B)
    h = 1e-6
    for found, moved in ((A, lambda e: (q + e, v)), (B, lambda e: (q, v + e))):
        dense = sparse.coo_array((found, (loads.G_row, loads.G_col)), shape=(nl, nl)).toarray()
        differences = np.array(
            [
                (total_force(case, *moved(h * e)) - total_force(case, *moved(-h * e))) / (2 * h)
                for e in np.eye(nq)
            ]
        ).T
        # differences of numbers of order ten lose half of their digits
        np.testing.assert_allclose(F.T @ dense @ F, differences, atol=1e-7)


def test_power_is_that_of_the_forces(case):
    """Q_total . v = power without potential - rate of the potential of springs and weights."""
    model, loads, q, v = case
    power = total_force(case, q, v) @ v
    _, rest = call_energy(loads)
    h = 1e-6
    ends = []
    for sign in (1.0, -1.0):
        total_force(case, q + sign * h * v, v)
        ends.append(call_energy(loads)[0])
    stored = (ends[0] - ends[1]) / (2 * h) - model.form.Q @ v
    # the state is not on the constraints: u and u' are unit vectors only up to q, so theta' = c s' - s c'
    # is the rate of atan2(s, c) times c^2 + s^2
    f, df, n = loads.f, loads.df, loads.torsions.first[0]
    total_force(case, q, v)
    c, s = f[n : n + 3] @ f[n + 6 : n + 9], f[n + 3 : n + 6] @ f[n + 6 : n + 9]
    k, _, free, _ = loads.torsions.numbers[0]
    turn = k * (np.arctan2(s, c) - free)
    rate = (c * (df[n + 3 : n + 6] @ f[n + 6 : n + 9] + f[n + 3 : n + 6] @ df[n + 6 : n + 9])) - (
        s * (df[n : n + 3] @ f[n + 6 : n + 9] + f[n : n + 3] @ df[n + 6 : n + 9])
    )
    off_unit = turn * rate * (1.0 - 1.0 / (c * c + s * s))
    np.testing.assert_allclose(power, rest - stored - off_unit, atol=1e-7)


def test_right_sides_of_drives_and_their_rates():
    """cos, sin, square and travel of every motion against NumPy and differences."""
    m = Mechanism("driven", gravity=(0, 0))
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.body("c", 1.0, (3, 0), inertia=1.0)
    m.revolute("O", m.ground, "a", at=(0, 0))
    m.prismatic("rail", m.ground, "c", at=(3, 0), axis=(1, 1))
    m.distance("link", "a", "c", start=(1, 0), end=(3, 0))
    m.drive("turn", "O", Sine(0.7, 1.1))
    m.drive("slide", "rail", SmoothStep(0, 0.4, 0.1, 0.5))
    m.drive("reach", "link", Polynomial((2.0, 0.3, -0.1)))
    model = make_model(m)
    form, loads, unit = model.form, make_loads(model.loads, 0), model.units.length

    def driven(t):
        call_drives(loads, t)
        return loads.drives.driven.copy()

    h = 1e-5
    for t in (0.0, 0.2, 0.45, 0.9):
        values = [driven(at) for at in (t, t + h, t - h)]
        angle, travel, length = (make_pieces(d.motion).value(t) for d in m.drives)
        expected = [np.cos(angle), np.sin(angle), travel / unit, 0.5 * (length / unit) ** 2]
        # right sides are scaled, and constant parts left out: compare what changes
        start = driven(0.0)
        rest = [1.0, 0.0, 0.0, 0.5 * (2.0 / unit) ** 2]
        change = loads.drives.factor * (np.array(expected) - rest)
        np.testing.assert_allclose(values[0][0] - start[0], change, atol=1e-14)
        np.testing.assert_allclose(start[0], form.phi0[loads.drives.equations[:, 0]], atol=1e-15)
        rates = (values[1][:2] - values[2][:2]) / (2 * h)
        np.testing.assert_allclose(values[0][1:], rates, atol=1e-7)
