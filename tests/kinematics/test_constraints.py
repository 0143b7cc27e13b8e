"""Phi, J and curvature in NumPy: derivatives of each other, and the same as the kernels'."""

import numpy as np
import pytest

from builders import bricard
from random_mechanisms import random_mechanism
from sarrus import Mechanism, Sine
from sarrus.kernels.forms import eval_forms, eval_jacobian
from sarrus.kinematics.constraints import Constraints
from sarrus.model import make_model

MODELS = [
    *(make_model(random_mechanism(seed, d)) for seed, d in ((1, 2), (2, 3), (3, 3))),
    make_model(bricard()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_closed_at_the_start(model):
    """Phi vanishes where the mechanism was written."""
    phi = Constraints(model.form).phi(np.zeros(model.coordinates))
    assert np.abs(phi).max() < 1e-14


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_taylor_series_ends_with_the_second_term(model):
    """Phi(q + x) = Phi(q) + J(q) x + B(x, x) / 2, exactly: the constraints are quadratic."""
    rng = np.random.default_rng(4)
    q, x = 0.3 * rng.normal(size=(2, model.coordinates))
    c = Constraints(model.form)
    whole = c.phi(q) + c.jacobian(q) @ x + 0.5 * c.bend(x)
    assert c.phi(q + x) == pytest.approx(whole, abs=1e-13)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_curvature_is_the_weighted_sum_of_what_bends(model):
    """lam . B(N a, N a) = a . curvature(lam, N) a, and curvature is symmetric."""
    rng = np.random.default_rng(5)
    N = rng.normal(size=(model.coordinates, 3))
    a, lam = rng.normal(size=3), rng.normal(size=model.equations)
    c = Constraints(model.form)
    H = c.curvature(lam, N)
    assert pytest.approx(H.T, abs=1e-12) == H
    assert a @ H @ a == pytest.approx(lam @ c.bend(N @ a))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_kernels_have_the_same_jacobian(model):
    """The compiled loop over products, entry by entry."""
    f, q = model.form, 0.2 * np.random.default_rng(6).normal(size=model.coordinates)
    e, J = np.zeros(len(f.e0)), np.zeros(len(f.J_eq))
    forms = getattr(eval_forms, "py_func", eval_forms)
    jacobian = getattr(eval_jacobian, "py_func", eval_jacobian)
    forms(f, q, e)
    jacobian(f, e, J)
    dense = np.zeros((model.equations, model.coordinates))
    np.add.at(dense, (f.J_eq, f.J_col), J)
    assert Constraints(f).jacobian(q) == pytest.approx(dense, abs=1e-14)


def test_equations_of_drives_can_be_left_out():
    """A driven pendulum: next to the length of its rod, the two parts of its direction are prescribed."""
    m = Mechanism("driven", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (1, 0), mass=1.0)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.drive("motor", "A", Sine(0.5, 1.0))
    form = make_model(m).form
    whole, joints = Constraints(form), Constraints(form, joints=True)
    q = np.zeros(len(form.Q))
    assert len(joints.phi(q)) == len(whole.phi(q)) - 2
    assert np.array_equal(joints.jacobian(q), whole.jacobian(q)[joints.kept])
    assert np.array_equal(joints.start_jacobian().toarray(), joints.jacobian(q))
    assert np.array_equal(joints.bend(q + 1.0), whole.bend(q + 1.0)[joints.kept])
