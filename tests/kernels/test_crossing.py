"""Zeros of det K on the polynomial of a step, against dense matrices and zeros that are put there."""

import numpy as np
import pytest

from builders import bricard, n_four_bar
from sarrus import Mechanism
from sarrus.kernels import crossing as kernels
from sarrus.kernels.layout import StepPolynomials
from sarrus.kinematics.constraints import Constraints
from sarrus.model import make_model
from sarrus.model.connected_parts import find_parts


def prepare(model, rows):
    """Structure and memory of a model's eliminations."""
    tables = kernels.find_tables(model.form, find_parts(model.form))
    structure = kernels.make_structure(model.form, tables)
    return structure, kernels.make_disc(model.form, structure, rows)


def look(model, qc, h):
    """What the kernel says of one step, and the places in it."""
    structure, disc = prepare(model, len(qc))
    pieces = StepPolynomials(
        np.array([0.0, h]), np.array([len(qc) - 1]), qc[None].copy(), np.zeros((1, 0, 1))
    )
    seen, found = np.zeros((1, kernels.SEEN)), np.zeros((64, kernels.PLACE))
    middles = np.zeros((1, model.coordinates))
    done, count = kernels.look_at_steps(
        model.form, structure, disc, pieces, 0, 1, seen, middles, found
    )
    assert done == 1
    np.testing.assert_allclose(middles[0], np.polynomial.polynomial.polyval(0.5 * h, qc))
    return seen[0], found[:count]


def jacobian_at(model, qc, z):
    """J at a complex time, dense."""
    C = Constraints(model.form)
    q = np.polynomial.polynomial.polyval(z, qc)
    zero = C.jacobian(np.zeros(len(q)))
    return C.jacobian(q.real) + 1j * (C.jacobian(q.imag) - zero)


def product_at(model, qc, z):
    """The product g of the singular values of J at a time, squared: det J J^T, not conjugated."""
    J = jacobian_at(model, qc, z)
    return np.linalg.det(J @ J.T)


def random_motion(model, seed, size=0.5):
    """A polynomial of the coordinates, off the constraints."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, model.coordinates)) * size ** np.arange(6.0)[:, None]


def all_zeros(model, qc, radius):
    """Zeros of det J J^T about 0, by interpolation on a circle: a polynomial has that many coefficients."""
    degree = 2 * (len(qc) - 1) * model.equations
    nodes = np.exp(2j * np.pi * np.arange(degree + 1) / (degree + 1))
    values = [product_at(model, qc, radius * w) for w in nodes]
    coefficients = np.fft.fft(values) / (degree + 1)
    return radius * np.roots(coefficients[::-1])


@pytest.mark.parametrize("seed", range(6))
def test_the_sum_over_zeros_is_that_of_the_zeros(seed):
    """Jensen's formula at 14 nodes, against zeros of the determinant by interpolation."""
    model = make_model(n_four_bar(1, lean=0.3))
    qc, h = random_motion(model, seed), 0.4
    seen, _ = look(model, qc, h)
    # about the middle of the step
    moved = np.array([
        np.polynomial.polynomial.polyval(0.5 * h, np.polynomial.polynomial.polyder(qc, k))
        / np.prod(np.arange(1.0, k + 1.0))
        for k in range(len(qc))
    ])  # fmt: skip
    zeros = all_zeros(model, moved, 0.5 * kernels.WIDER * h)
    share = zeros / (0.5 * kernels.WIDER * h)
    inside = share[np.abs(share) < 1.0]
    # g is the root of the determinant; nodes take each zero for log|1 + a^14| / 14 more, or |1 + a^-14|
    exact = 0.5 * np.sum(np.log(1.0 / np.abs(inside)))
    exact += 0.5 * np.sum(np.log(np.abs(1.0 + inside**14))) / 14.0
    exact += 0.5 * np.sum(np.log(np.abs(1.0 + share[np.abs(share) >= 1.0] ** -14.0))) / 14.0
    # interpolation of a polynomial of this degree leaves half of the digits of its zeros
    assert seen[kernels.EXCESS] == pytest.approx(exact, abs=1e-5)


def turning(times, orders):
    """Places of a crank's end, (terms, 2), whose angle from the x-axis vanishes at given times, with given orders.

    The angle is a polynomial below 0.1 rad in a step of 1 s: so many terms of sine and cosine leave 1e-17.
    """
    angle = np.polynomial.Polynomial([0.05])
    for t, k in zip(times, orders, strict=True):
        angle *= np.polynomial.Polynomial([-t, 1.0]) ** k
    ends = [np.polynomial.Polynomial([0.0]), np.polynomial.Polynomial([0.0])]
    term = np.polynomial.Polynomial([1.0])
    for k in range(9):
        # 1, x, -x^2/2, -x^3/6, ...
        ends[k % 2] += term * (-1.0) ** (k // 2)
        term *= angle / (k + 1.0)
    rows = np.zeros((max(len(e.coef) for e in ends), 2))
    for axis, e in enumerate(ends):
        rows[: len(e.coef), axis] = e.coef
    return rows


@pytest.mark.parametrize("windows", [1, 3])
@pytest.mark.parametrize(
    ("times", "orders"),
    [
        ([0.37], [1]),
        ([0.0], [1]),
        ([1.0], [1]),
        ([0.2, 0.9], [1, 1]),
        ([0.5], [2]),
        ([0.5], [3]),
        ([0.5, 0.5001], [1, 1]),
    ],
)
def test_zeros_that_are_put_there(windows, times, orders):
    """Cranks at an angle that vanishes at given times: there are the places, with so many zeros a window."""
    model = make_model(n_four_bar(windows, lean=0.0))
    place = turning(times, orders)
    # all tops move as one, from upright
    place[0] -= (0.0, 1.0)
    tops = np.vstack([model.point_rows(f"B{i}").toarray() for i in range(windows + 1)])
    qc = np.linalg.lstsq(tops, np.tile(place, windows + 1).T, rcond=None)[0].T
    _, found = look(model, qc, 1.0)
    total = windows * sum(orders)
    assert found[:, kernels.ZEROS].sum() == total
    mean = found[:, kernels.ZEROS] @ found[:, kernels.TIME] / total
    true = np.dot(times, orders) / sum(orders)
    assert mean == pytest.approx(true, abs=1e-9)
    spread = found[:, kernels.ZEROS] @ (
        found[:, kernels.VARIANCE] + (found[:, kernels.TIME] - mean) ** 2
    )
    assert spread / total == pytest.approx(
        np.dot((np.array(times) - true) ** 2, orders) / sum(orders), abs=1e-8
    )


def test_dependent_equations_are_left_out():
    """Bricard's linkage has one equation too many where it is; nothing is singular about that."""
    model = make_model(bricard())
    structure, disc = prepare(model, 1)
    pivots = np.zeros(model.equations)
    kernels.eval_pivots_at(model.form, structure, disc, np.zeros((1, model.coordinates)), pivots)
    J = Constraints(model.form).jacobian(np.zeros(model.coordinates))
    assert np.count_nonzero(pivots) == np.linalg.matrix_rank(J, 1e-9) == model.equations - 1


def test_parts_share_no_equation():
    """Two windows and a pendulum are three parts, however they are named."""
    m = Mechanism("apart")
    for k in range(2):
        x = 5.0 * k
        for name, at in (("left", x), ("right", x + 1.0)):
            m.rod(f"{name} {k}", (at, 0.0), (at, 1.0), mass=1)
            m.revolute(f"{name} A{k}", m.ground, f"{name} {k}", at=(at, 0.0))
        m.rod(f"coupler {k}", (x, 1.0), (x + 1.0, 1.0), mass=1)
        m.revolute(f"B{k}", f"left {k}", f"coupler {k}", at=(x, 1.0))
        m.revolute(f"C{k}", f"right {k}", f"coupler {k}", at=(x + 1.0, 1.0))
    m.rod("pendulum", (20.0, 0.0), (21.0, 0.0), mass=1)
    m.revolute("P", m.ground, "pendulum", at=(20.0, 0.0))
    form = make_model(m).form
    parts = find_parts(form)
    assert set(parts.tolist()) == {0, 1, 2}
    # each equation lies in one part
    for k in range(len(form.phi0)):
        assert len(set(parts[form.J_col[form.J_eq == k]].tolist())) == 1
