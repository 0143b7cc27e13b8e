"""Step selection and acceptance of the series method: constants and cost model, shared by all its steppers."""

from functools import cache

import numpy as np

from ..arrays import Floats
from ..thresholds import (
    DRIFT_AT_REST,
    DRIFT_NOTED,
    DRIFT_ROUNDING,
    ROUND_OFF,
    SMALLEST_TOLERANCE,
)
from .compiler import formula

HIGHEST_ORDER = 30
# The error of a step is limited to this share of the tolerance, so that the error of a whole run is close to the
# tolerance. For tolerances above 1e-6 the share decreases to a tenth of this value, because the errors of loose
# steps add up over many periods.
SHARE = 0.05
# Smallest relative error of a step in double precision.
FLOOR = 1e-13
# A run of more steps shares the error that this many steps may have, down to the rounding error of a step (a
# pendulum over 1e4 s is off by as much with a tenth of it). The number of steps is first estimated after
# CHECKED_AFTER steps. Runs that will end within the first buffer, FIRST_STEPS, keep their tolerance: most do.
MANY_STEPS = 80
LONG_FLOOR = 1e-16
CHECKED_AFTER = 96
FIRST_STEPS = 192
# The end of a step is rejected if the projections move it by more than SLACK tolerances: truncation moves it by
# about one, another branch of the motion by far more. NOISE is the possible effect of rounding in a long chain.
SLACK = 4.0
NOISE = 1e-9
# Largest energy change in a step, in tolerances (relative to the largest kinetic energy).
ENERGY_SLACK = 1e3
# Largest energy change in a run, as a multiple of that of a step.
DRIFT_SLACK = 100.0
# The last terms of a step stay below the tolerance times the displacement of the fastest point in it, times this
# factor. Otherwise the truncation errors of the velocity in short steps add up. The order is chosen with both
# criteria: in 1000 runs of random mechanisms 99 % of the errors decrease to a fifth at 3 % more cost, and steps
# past a spring of almost zero length decrease to a fifth of the number that a limit set afterwards needs.
SWIFT = 0.25
# Displacements below this (relative to a link) count as zero: at rest in an equilibrium only rounding moves.
STILL = 1e-12
# Near a singular configuration (a pivot below this share of its reference value) steps of this order or less are
# exempt from that criterion: rounding makes higher orders useless there, and steps would become ever smaller. With
# 12 some runs at 1e-13 did so; with 20 steps past a real near miss are exempt too.
NEAR_SINGULAR_RATIO = 1e-2
NOISY_ORDER = 14
# A step of higher order has a series without noise: it may end before a singular configuration.
LOW_ORDER = 12
# After a step the energy is corrected if the kinetic energy is at least this share of its largest value so far.
# The correction is then a small change of the velocity; where the motion reverses it would be a large one.
MOVES = 1e-2
# Noise of an energy, relative to the terms whose difference it is: configurations satisfy their constraints to a
# few rounding errors, and gravity does work on that. No correction is made where this noise is not small compared
# with the tolerance on the kinetic energy: noise would scale slow motions of heavy, balanced masses.
ENERGY_NOISE = 100.0 * np.finfo(float).eps
# Energies that differ by less than this, relative to the terms whose difference they are, count as equal.
SAME_ENERGY = 4.0 * ROUND_OFF
# Steps tried for one tolerance, and the loosest tolerance that is tried where rounding prevents the requested one.
TRIES = 4
LOOSEST = 1e-5

# Memory for the coefficients between two recordings: small enough for a core's cache.
BUFFER_BYTES = 2_000_000
# Stiffness may limit the step of a series if the step is this long, in decay times of the fastest component;
# shorter steps have another cause. While that component is active, a series of order K takes steps of (tolerance
# K!)^(1/K), 0.5 to 2.
STIFF = 0.5
# If fewer steps are left, a trial of another method is not worthwhile: it costs as much as some hundred to a
# thousand steps.
LEFT = 2000

# Newton corrections of a projection onto the constraints: the end of a step is near them.
CORRECTIONS = 3
# The same at an output: all corrections use one factor, so each reduces the violation only in proportion to the
# distance moved, which is large at loose tolerances. They end at rounding.
OUTPUT_CORRECTIONS = 8
# Newton corrections in double-double arithmetic, which continues to twice as many digits, and largest number of
# refinements of a solve in it.
WIDE_CORRECTIONS = 6
MOST_REFINEMENTS = 8

# The end of a step that is moved by this many tolerances has lost accuracy. The residual of a solve in the
# accelerations, relative to the multipliers, is eps, or REFINED after refinement. During rest or a dwell the terms
# of the series do not limit a step, and this residual would grow with its square to such a loss.
LOST = 10.0 * SLACK
REFINED = 1e-15

# If a step ends at a singular configuration, lengthen it by this factor.
BEYOND = 1.1
# Number of such attempts: two longer steps, then a shorter or looser one; the last repeats the second.
ELSEWHERE = 6


def local_tolerance(tolerance: float) -> tuple[float, bool]:
    """Tolerance of a step, and whether double precision limits it to more than was requested."""
    wanted = SHARE * tolerance * min(max((1e-6 / tolerance) ** (1 / 3), 0.1), 1.0)
    return max(wanted, FLOOR), wanted < FLOOR


def buffer_steps(coordinates: int) -> int:
    """Number of steps between two recordings: as many as fit into the cache.

    A01 takes a twentieth longer with 1000.
    """
    return min(max(BUFFER_BYTES // (8 * (HIGHEST_ORDER + 1) * max(coordinates, 1)), 16), 4096)


@cache
def log_cost() -> Floats:
    """Log of the cost of a step of each order, in units of one coefficient.

    Besides its coefficients a step costs about four more (two factorisations, projections). The cost of the Cauchy
    products grows with the order. Measured; the optimum is flat, so one formula serves all models.
    """
    p = np.arange(HIGHEST_ORDER + 1.0)
    return np.log(4.0 + p + 0.015 * p**2)


@formula
def noted_drift(tolerance: float) -> float:
    """Share of the energy exchanged above which a note states the energy error of a run."""
    return DRIFT_NOTED * max(tolerance, SMALLEST_TOLERANCE)


@formula
def drift_at_rest(tolerance: float, largest: float) -> float:
    """Energy error of a run that hardly moves: rounding, and configurations that are off by the tolerance.

    largest: the largest term of the energy so far.
    """
    return max(DRIFT_AT_REST * max(tolerance, SMALLEST_TOLERANCE), DRIFT_ROUNDING) * largest
