"""Equations as products of linear forms, linear relations, and the whole model against its own Jacobian."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError
from sarrus.model import make_model
from sarrus.model.quadratic import Equations
from sarrus.model.reduce import Reduction, drop_fixed
from sarrus.model.vectors import cleaned


def evaluate(equations, q):
    """All equations at q, forms and products by hand."""
    e = [sum(c * q[i] for i, c in row.items()) + start for row, start in equations.forms.values()]
    return np.array(
        [sum(c * e[a] * e[b] for (a, b), c in p.items()) for p in equations.products.values()]
    )


def random_vector(rng, nq):
    """Three rows over q and their start."""
    rows = [
        {int(i): float(rng.normal()) for i in rng.choice(nq, rng.integers(0, 3), replace=False)}
        for _ in range(3)
    ]
    return rows, rng.normal(size=3)


def at(rows, start, q):
    """A vector of three rows at q."""
    return np.array([sum(c * q[i] for i, c in row.items()) for row in rows]) + start


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**6))
def test_an_equation_is_the_scalar_product(seed):
    """Phi_k + phi0_k = x a . b - y for any q, as add() promises; at q = 0 it is its stored value."""
    rng = np.random.default_rng(seed)
    nq = 6
    equations = Equations()
    made = []
    for _ in range(4):
        a, b = random_vector(rng, nq), random_vector(rng, nq)
        square = bool(rng.integers(2))
        b = a if square else b
        made.append((equations.add(*a, *b, square), a, b))
    q = rng.normal(size=nq)
    found = evaluate(equations, q)
    for (k, x, y), a, b in made:
        if k < 0:
            assert not any(a[0]) | any(b[0])
            continue
        assert found[k] == pytest.approx(x * at(*a, q) @ at(*b, q) - y, abs=1e-12)
    np.testing.assert_allclose(
        evaluate(equations, np.zeros(nq)), list(equations.values.values()), atol=1e-12
    )


def test_the_same_equation_stands_once():
    """The norm of a shared axis, also of its opposite and of its double; a driven one always again."""
    equations = Equations()
    rows, start = [{0: 1.0}, {1: 1.0}, {2: 1.0}], np.array([0.6, 0.0, 0.8])
    first, x, _ = equations.add(rows, start, rows, start, True)
    for factor in (1.0, -1.0, 2.0):
        again = [{i: factor * c for i, c in row.items()} for row in rows]
        k, x2, _ = equations.add(again, factor * start, again, factor * start, True)
        assert k == first
        # x a . a is one and the same number
        assert x2 * factor**2 == pytest.approx(x)
    assert equations.add(rows, start, rows, start, True, driven=True)[0] == 1
    assert len(equations.products) == 2


def test_a_product_of_constants_is_no_equation():
    """Nothing moves: number -1."""
    equations = Equations()
    still = [{}, {}, {}]
    assert equations.add(still, np.ones(3), still, np.ones(3), False) == (-1, 0.0, 0.0)
    assert not equations.products


def test_a_preferred_variable_is_eliminated_unless_it_is_tiny():
    """x0 + 0.3 x1 = 0 solves for the preferred x1; x0 + 0.01 x1 = 0 does not."""
    for coefficient, gone in ((0.3, 1), (0.01, 0)):
        reduction = Reduction(2)
        reduction.eliminate({0: 1.0, 1: coefficient}, prefer=(1,))
        reduction.number({0, 1})
        assert list(reduction.columns) == [1 - gone]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_a_linear_form_means_the_same_after_substitution(seed):
    """c . x = c' . q for every solution x of the relations."""
    rng = np.random.default_rng(seed)
    n, m = 7, int(rng.integers(1, 5))
    A = rng.integers(-2, 3, (m, n)).astype(float)
    reduction = Reduction(n)
    for row in A:
        reduction.eliminate({i: c for i, c in enumerate(row) if c}, prefer=())
    free = reduction.number(range(n))
    x = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T @ rng.normal(size=free)
    q = np.zeros(free)
    for i, column in reduction.columns.items():
        q[column] = x[i]
    c = rng.normal(size=n)
    form = reduction.coordinates(dict(enumerate(c)))
    assert sum(v * q[i] for i, v in form.items()) == pytest.approx(c @ x, abs=1e-10)


def test_rows_of_a_form_of_features():
    """Feature k owns variables 3k, 3k + 1, 3k + 2; rounding left of a zero is a zero."""
    rows = [{6: 1.0, 7: 1e-17}, {7: 2.0}, {8: 3.0}]
    assert cleaned(rows) == [{6: 1.0}, {7: 2.0}, {8: 3.0}]
    assert drop_fixed({6: 1.0, 7: 2.0, 8: 0.0}, {7}) == {6: 1.0}


def model_of(mechanism):
    """Its model; where a thin rod may spin freely there is none, rightly, and another example is taken."""
    try:
        return make_model(mechanism)
    except MechanismError as error:
        assume("without moving any mass" not in str(error))
        raise


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**4), st.sampled_from([2, 3]))
def test_constraints_hold_at_the_start_and_j_is_their_derivative(seed, dimension):
    """Phi(0) = 0 exactly but for rounding; J(0) / central differences of the quadratic form."""
    model = model_of(random_mechanism(seed, dimension, sliding=seed % 2 == 0))
    f, nq = model.form, model.coordinates

    def phi(q):
        e = f.e0.copy()
        for n in range(len(e)):
            span = slice(f.D_start[n], f.D_start[n + 1])
            e[n] += f.D_val[span] @ q[f.D_col[span]]
        out = -f.phi0.copy()
        np.add.at(out, f.sq_eq, 0.5 * f.sq_c * e[f.sq_form] ** 2)
        np.add.at(out, f.bl_eq, f.bl_c * e[f.bl_a] * e[f.bl_b])
        return out

    assert np.abs(phi(np.zeros(nq))).max(initial=0.0) < 1e-13
    J = model.jacobian().toarray()
    h = 1e-3
    # central differences of a quadratic are exact
    for i in range(nq):
        step = h * np.eye(nq)[i]
        np.testing.assert_allclose((phi(step) - phi(-step)) / (2 * h), J[:, i], atol=1e-11)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**4), st.sampled_from([2, 3]))
def test_points_stay_in_their_bodies(seed, dimension):
    """Along a motion tangent to the constraints distances within a body change by second order only."""
    m = random_mechanism(seed, dimension)
    for body in m.bodies:
        if body.ends:
            m.point(f"{body.name} 0", body, body.ends[0])
            m.point(f"{body.name} 1", body, body.ends[1])
    model = model_of(m)
    J = model.jacobian().toarray()
    null = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :]
    for body in m.bodies:
        if not body.ends:
            continue
        a, b = (model.point_rows(f"{body.name} {k}").toarray() for k in (0, 1))
        arm = body.ends[1] - body.ends[0]
        for v in null:
            assert abs(arm @ ((b - a) @ v)) < 1e-9


@pytest.mark.parametrize("kind", ["prismatic", "rectangular"])
def test_sliding_on_the_ground_is_linear(kind):
    """As many coordinates as degrees of freedom, no equation: the ground holds all that is kept."""
    m = Mechanism("table", gravity=(0, 0, -9.81))
    m.body("b", 2.0, (1, 2, 3), (1, 2, 2.5))
    if kind == "prismatic":
        m.prismatic("P", m.ground, "b", at=(1, 0, 3), axis=(1, 1, 0))
    else:
        m.rectangular("P", m.ground, "b", at=(1, 0, 3), normal=(1, 1, 0))
    model = make_model(m)
    assert (model.coordinates, model.equations) == (1 if kind == "prismatic" else 2, 0)
