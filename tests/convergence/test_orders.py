"""The fitted slope of the error equals the order, before and across a singular configuration."""

import numpy as np
import pytest

from builders import bricard, n_four_bar
from sarrus import simulate
from sarrus.problems.references.bricard import bricard_reference
from sarrus.problems.references.n_four_bar import four_bar_reference

# method, options, order
METHODS = [
    ("energy-momentum", {}, 2),
    ("ali3", {}, 2),
    ("generalized-alpha", {"spectral_radius": 0.8}, 2),
    ("generalized-alpha", {"spectral_radius": 0.3}, 2),
    ("generalized-alpha", {"index": 2.0}, 2),
    ("multipliers", {}, 4),
    ("null-space", {"project": 1.0}, 4),
    ("null-space", {"project": 0.0}, 4),
]
IDS = [f"{m} {o}" if o else m for m, o, _ in METHODS]
CASES = pytest.mark.parametrize(("method", "options", "order"), METHODS, ids=IDS)


def largest_errors(make, point, reference, duration, steps, method, options):
    """Largest errors of position and velocity of a point over ten outputs, for each step."""
    errors = []
    for step in steps:
        r = simulate(make(), duration, duration / 10, method=method, step=step, **options)
        assert r.status == "done", r.message
        found = np.hstack([r.position(point), r.velocity(point)])
        error = np.abs(found - reference(r.times))
        half = error.shape[1] // 2
        errors.append([error[:, :half].max(), error[:, half:].max()])
    return np.array(errors)


def fitted_order(steps, errors):
    """Slope of log error over log step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# all steps divide the outputs: no interpolation in what is measured
@CASES
@pytest.mark.parametrize("windows", [1, 3])
def test_order_before_the_flat_position(method, options, order, windows):
    """Four-bars for 0.6 s; they are flat at 0.71 s."""
    steps = [0.02, 0.01, 0.005, 0.0025]
    errors = largest_errors(
        lambda: n_four_bar(windows), "B0", lambda t: four_bar_reference(t, windows),
        0.6, steps, method, options,
    )  # fmt: skip
    # the third-order term of the trapezoidal rule still shows in velocities at 0.02 s
    assert fitted_order(steps, errors[:, 0]) == pytest.approx(order, abs=0.05 * order)
    assert fitted_order(steps, errors[:, 1]) == pytest.approx(order, abs=0.05 * order)


@CASES
def test_order_across_the_flat_position(method, options, order):
    """The double four-bar for 1 s, once flat: the motion is smooth there, and so are these."""
    steps = [0.02, 0.01, 0.005, 0.0025]
    errors = largest_errors(
        lambda: n_four_bar(2), "B0", lambda t: four_bar_reference(t, 2),
        1.0, steps, method, options,
    )  # fmt: skip
    # how near a step lands to the position differs from step to step
    assert fitted_order(steps, errors[:, 0]) == pytest.approx(order, abs=0.1 * (order - 1))


@pytest.mark.slow
@CASES
def test_order_with_dependent_equations(method, options, order):
    """Bricard's mechanism for 2 s: one equation too many at every position."""
    # rounding over the small pivots ends the fourth order below 1e-9
    steps = [0.04, 0.02, 0.01, 0.005] if order == 4 else [0.02, 0.01, 0.005, 0.0025]
    errors = largest_errors(bricard, "P2", bricard_reference, 2.0, steps, method, options)
    assert fitted_order(steps, errors[:, 0]) == pytest.approx(order, abs=0.1 * (order - 1))


def test_penalty_order_down_to_its_softness():
    """Fourth order until what the penalty leaves soft shows."""
    steps = [0.04, 0.02, 0.01]
    errors = largest_errors(
        lambda: n_four_bar(1), "B0", lambda t: four_bar_reference(t, 1), 0.6, steps, "penalty", {}
    )
    assert fitted_order(steps, errors[:, 0]) == pytest.approx(4, abs=0.2)
    # ten times the penalty, a tenth of the softness: lam / penalty is the error of accelerations
    soft = [
        largest_errors(
            lambda: n_four_bar(1), "B0", lambda t: four_bar_reference(t, 1),
            0.6, [0.002], "penalty", {"penalty": p},
        )[0, 0]
        for p in (1e5, 1e6)
    ]  # fmt: skip
    assert soft[0] / soft[1] == pytest.approx(10, rel=0.1)


def test_dop853_follows_its_tolerance():
    """Before the flat configuration the error falls with the tolerance, nearly in proportion."""
    errors = []
    for tolerance in (1e-5, 1e-7, 1e-9, 1e-11):
        r = simulate(n_four_bar(1), 0.6, 0.06, method="multipliers-dop853", tolerance=tolerance)
        assert r.status == "done"
        error = r.position("B0") - four_bar_reference(r.times, 1)[:, :2]
        errors.append(np.abs(error).max())
    slope = np.polyfit(np.log([1e-5, 1e-7, 1e-9, 1e-11]), np.log(errors), 1)[0]
    assert 0.8 < slope < 1.2
    assert errors[-1] < 1e-10
