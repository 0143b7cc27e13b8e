"""Every engine converges to our solution on random chains and loops with oblique inertias, at its order."""

from functools import partial

import pytest

from engines.random_machines import chain, loop
from engines.test_agreement import ROWS, check_order, needs
from sarrus.engines import ENGINES

# kinds of joint that an adapter does not have: sentences, which test_agreement.py checks
WITHOUT = {"newton": ("revolute", "prismatic", "cylindrical", "spherical")}
# formulas of more coordinates take SymPy minutes
DERIVED = {"sympy": ("revolute", "prismatic")}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ROWS)
def test_random_chains(engine):
    """Chains of hinges, sliders, cylinders, crosses and balls, whose bodies have no axis in common."""
    row = needs(engine)
    kinds = {**WITHOUT, **DERIVED}.get(engine)
    for seed in range(1 if engine in DERIVED else 4):
        make = partial(chain, seed, kinds) if kinds else partial(chain, seed)
        check_order(row, make, row.order)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in DERIVED])
def test_random_loops(engine):
    """Loops of two hinges and two balls in general position."""
    row = needs(engine)
    for seed in range(3):
        check_order(row, partial(loop, seed), row.loop_order)
