"""Derivatives of the initial velocity by parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..model import Model
from ..tangent_numbers import split_tangents
from ..thresholds import TYPED_VELOCITY
from .dual_model import DualModel

# regularisation of redundant equations, over the inverse of the largest mass, and refinements that remove it
REGULARISED, REFINEMENTS = 1e-10, 3


def find_start_rates(dual: DualModel, names: list[str], velocity: Floats) -> Floats:
    """Derivatives of the initial velocity (count, nq), in model units; names: of the parameters.

    The velocity v minimises v^T M v subject to A v = b, which contains the constraints and the given velocities.
    With multipliers y,

        M v + A^T y = 0,   A v = b      =>      M w + A^T y' = -M' v - A'^T y,   A w = b' - A' v.

    Raises MechanismError if the last equation has no solution: the constraints forbid this derivative.
    """
    count = len(names)
    out = np.zeros((count, dual.model.coordinates))
    M, (A, labels) = dual.model.dense_mass(), _rows(dual.model, dual.model)
    if not len(labels) or not (velocity.any() or _is_given(dual)):
        return out
    solve, y = _make_solver(M, A), None
    scales = dual.find_scales(out)
    for p, (rates, name) in enumerate(zip(dual.rates, names, strict=True)):
        side, force = _side_rates(dual, rates, p, count), np.zeros(len(velocity))
        if dual.slopes[:, p].any():
            dA, force = _rows(dual.model, rates)[0], -rates.times_mass(velocity)
            if dA.any():
                y = solve(-M @ velocity, np.zeros(len(A)))[len(velocity) :] if y is None else y
                side, force = side - dA @ velocity, force - dA.T @ y
        if not (side.any() or force.any()):
            continue
        w = solve(force, side)[: len(velocity)]
        missed = np.abs(A @ w - side)
        size = np.abs(side).max(initial=0.0)
        # least squares divides a contradiction equally, so rounding decides ties: a given velocity is named first
        given = missed * (np.arange(len(missed)) >= dual.model.equations)
        worst = int(np.argmax(given if 2 * given.max() > missed.max() else missed))
        # rounding of the velocity itself, for a parameter change of its own scale
        noise = TYPED_VELOCITY * np.abs(velocity).max(initial=0.0) / scales[p]
        if missed[worst] > np.sqrt(TYPED_VELOCITY) * size + noise:
            raise MechanismError(
                f"wrt {name}: {labels[worst]} cannot change so: the constraints miss it by "
                f"{missed[worst] / size:.2g} of its rate. Give a direction along a possible motion, or let the "
                "given velocities change with it"
            )
        out[p] = w
    return out


def _make_solver(M: Floats, A: Floats) -> Callable[[Floats, Floats], Floats]:
    """Solves M x + A^T y = f, A x = g for (x, y), also with redundant rows of A or massless coordinates."""
    n = len(M)
    K = np.zeros((n + len(A), n + len(A)))
    K[:n, :n], K[:n, n:], K[n:, :n] = M, A.T, A
    # as in kernels/solve.py: the rows of A stiffen massless coordinates, and redundant rows become solvable
    stiff = np.abs(M).max(initial=0.0) * A.T
    regular = K.copy()
    regular[:n, :n] += stiff @ A
    regular[n:, n:] -= REGULARISED / max(np.abs(M).max(initial=0.0), 1e-300) * np.eye(len(A))
    inverse: Any = None

    def solve(f: Floats, g: Floats) -> Floats:
        nonlocal inverse
        inverse = np.asarray(np.linalg.inv(regular)) if inverse is None else inverse
        side = np.concatenate([f, g])
        x, left = np.zeros(len(K)), side.copy()
        for _ in range(1 + REFINEMENTS):
            left[:n] += stiff @ left[n:]
            x += inverse @ left
            left = side - K @ x
        return x

    return solve


def _is_given(dual: DualModel) -> bool:
    m = dual.mechanism
    return bool(
        m.velocities or m.angular_velocities or any(r.drive_rates.any() for r in dual.rates)
    )


def _rows(model: Model, rates: Model) -> tuple[Floats, list[str]]:
    """Rows of constraints and given velocities, or their derivatives, and a description of each."""
    m = model.mechanism
    J = model.start_jacobian() if rates is model else _jacobian_rates(model, rates)
    parts, labels = [J], ["the motion that the joints allow"] * len(J)
    for name, v in m.velocities:
        parts.append(rates.rows_of(name).dense())
        labels += [f"the velocity of '{name}'"] * len(v)
    for name, _ in m.angular_velocities:
        rows = rates.spun[name][0].dense()
        parts.append(rows)
        labels += [f"the angular velocity of '{name}'"] * len(rows)
    return np.vstack(parts), labels


def _jacobian_rates(model: Model, rates: Model) -> Floats:
    """Derivative of J at the start: its entries are sums of products C_val e0."""
    f, g = model.form, rates.form
    out = np.zeros((model.equations, model.coordinates))
    entry = np.repeat(np.arange(len(f.J_eq)), np.diff(f.C_start))
    terms = g.C_val * f.e0[f.C_form] + f.C_val * g.e0[f.C_form]
    out[f.J_eq, f.J_col] = np.bincount(entry, terms, len(f.J_eq))
    return out


def _side_rates(dual: DualModel, rates: Model, p: int, count: int) -> Floats:
    """Derivatives of the right-hand sides: of drives and of given velocities."""
    parts = [rates.drive_rates]
    traced: Mechanism = dual.mechanism
    for _, v in traced.velocities:
        parts.append(split_tangents(v, count)[1][:, p])
    for name, given in traced.angular_velocities:
        value, change = (_spin(x) for x in _both(given, count, p))
        starts, moved = dual.model.spun[name][1], rates.spun[name][1]
        parts.append((np.cross(change, starts) + np.cross(value, moved)).ravel())
    return np.concatenate(parts)


def _both(given: object, count: int, p: int) -> tuple[Floats, Floats]:
    values, rates = split_tangents(given, count)
    return values, rates[:, p]


def _spin(x: Floats) -> Floats:
    out = np.zeros(3)
    out[3 - len(x) :] = x
    return out
