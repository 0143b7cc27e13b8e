"""Taylor coefficients at the start of a run, from the compiled time loop."""

import numpy as np

from sarrus.assembly import solve_start_velocity
from sarrus.kernels.applied_forces import make_loads
from sarrus.kernels.layout import StepPolynomials, make_workspace
from sarrus.kernels.series_step import SEEN, StepRules, advance, make_state
from sarrus.model import make_model


def point_series(m, name, order):
    """Taylor coefficients of the place of a point at the start."""
    model = make_model(m)
    form, nq = model.form, model.coordinates
    v, _ = solve_start_velocity(model, m)
    nearby = len(model.loads.torsions.first) + 1 if model.loaded else 0
    # one tiny step; a cost that falls steeply with the order makes it compute every coefficient
    coefficients = np.zeros((1, order + 1, nq))
    sides = np.zeros((1, nearby, 2 * order + 2))
    kept = make_state(nq, nearby, 1e-13)
    kept.state[1] = v
    rules = StepRules(1e-9, 1e-13, False, 1000, False, False, -50.0 * np.arange(order + 1.0))
    advance(
        form, make_workspace(form, order), make_loads(model.loads, order), rules, 0.0, kept,
        StepPolynomials(np.zeros(2), np.zeros(1, np.int64), coefficients, sides),
        np.zeros((1, SEEN)),
    )  # fmt: skip
    rows = model.point_rows(name).toarray()
    series = coefficients[0] @ rows.T
    series[0] += model.origins[model.points[name]]
    return series
