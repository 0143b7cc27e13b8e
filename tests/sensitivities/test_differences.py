"""Derivatives of fourteen mechanisms against extrapolated differences of tight runs: some 380 values."""

import pytest

from derivative_cases import CASES, compare

# others take seconds, most of them to compile for loads in extended precision
FAST = ("double_pendulum", "bricard")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=case.build.__name__,
            marks=[] if case.build.__name__ in FAST else [pytest.mark.soak],
        )
        for case in CASES
    ],
)
def test_derivatives_are_those_of_neighbouring_runs(case):
    """To 1e-8 of each derivative at the default tolerance, by dimensions, masses, gravity, springs and speeds."""
    assert len(compare(case)) >= 25
