"""How the series method chooses and judges its steps: numbers and costs, for all who make such steps."""

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
# a step holds this share of the tolerance, so that a whole run comes near to it; above 1e-6 the share
# falls to a tenth: errors of loose steps add up over many periods
SHARE = 0.05
# what double precision gives in a step
FLOOR = 1e-13
# a run of more steps shares what this many may lose, down to the rounding of a step (a pendulum over 1e4 s is off
# by as much with a tenth of it); how many there will be is asked first after ASKED_AFTER. Those that will end
# within the first memory, FIRST_STEPS, go on without: most do
MANY_STEPS = 80
LONG_FLOOR = 1e-16
ASKED_AFTER = 96
FIRST_STEPS = 192
# A landing that the projections move by more than SLACK tolerances is refused: truncation moves it by
# about one, another branch of the motion by far more. NOISE is what rounding may do to a long chain.
SLACK = 4.0
NOISE = 1e-9
# energy may change in a step by this many tolerances (of the largest kinetic energy)
ENERGY_SLACK = 1e3
# and in a run by so many times that
DRIFT_SLACK = 100.0
# the last terms of a step stay below a tolerance of the way that the fastest point moves in it, times this: else
# what short steps leave out of the velocity adds up. An order is chosen with both in view: of 1000 runs of random
# mechanisms 99 % of the errors fall to a fifth at 3 % more cost, and steps past a spring of almost no length to a
# fifth of those that a limit set afterwards needs
SWIFT = 0.25
# but a way below this (of a link) is none: at rest in an equilibrium only rounding moves
STILL = 1e-12
# beside a singular position (a pivot below this share of what is usual) steps of this order or less are exempt
# from that: rounding makes higher orders useless there, and shorter steps would crawl into it (with 12 some runs
# at 1e-13 did; with 20 steps past a real near miss are exempt too)
BESIDE = 1e-2
NOISY_ORDER = 14
# a step of higher order has a series without noise: it may land on this side of a singular position
LOW_ORDER = 12
# behind a step the energy is put back where the kinetic energy is at least this share of the largest so far: there
# a small change of the velocity does it; about a turn of the motion it would be a large one
MOVES = 1e-2
# of all that an energy is a difference of: places meet their constraints to some roundings, and weights do work on
# that. Where this counts beside the tolerance of what moves nothing is put back: slow motions beside heavy
# weights that balance each other would be scaled by noise
ENERGY_NOISE = 100.0 * np.finfo(float).eps
# energies that differ by less than this, of all that they are differences of, are the same
SAME_ENERGY = 4.0 * ROUND_OFF
# steps tried for one tolerance, and the loosest that is tried where rounding forbids the wanted one
TRIES = 4
LOOSEST = 1e-5

# memory for the coefficients between two recordings: small enough to stay in a core's cache
BUFFER_BYTES = 2_000_000
# stiffness may limit a step of a series if it is this long, in decay times of the fastest part; shorter ones are
# short for another reason. While that part is alive, a series of order K takes (tolerance K!)^(1/K), 0.5 to 2
STIFF = 0.5
# fewer steps that are left are not worth a trial of another method, which costs as much as some hundred to a
# thousand of them
LEFT = 2000

# Newton's steps back onto the constraints: a landing is near
CORRECTIONS = 3
# those of wide numbers, which go on to twice as many digits, and refinements of a solve with them at most
WIDE_CORRECTIONS = 6
MOST_REFINEMENTS = 8

# a landing moved by so many tolerances has lost something. What a solve leaves open of the accelerations, over
# the multipliers, is eps, if it is refined REFINED: in a rest or a dwell terms of the series set no limit to a
# step, and this would grow with its square to such a loss
LOST = 10.0 * SLACK
REFINED = 1e-15

# from a landing at a singular position: land so much further
BEYOND = 1.1
# and try so often: twice further, then nearer or looser; the last is the second again
ELSEWHERE = 6


def local_tolerance(tolerance: float) -> tuple[float, bool]:
    """The tolerance of a step, and whether double precision keeps it above what is wanted."""
    wanted = SHARE * tolerance * min(max((1e-6 / tolerance) ** (1 / 3), 0.1), 1.0)
    return max(wanted, FLOOR), wanted < FLOOR


def buffer_steps(coordinates: int) -> int:
    """Steps between two recordings: as many as stay in the cache (A01 takes a twentieth longer with 1000)."""
    return min(max(BUFFER_BYTES // (8 * (HIGHEST_ORDER + 1) * max(coordinates, 1)), 16), 4096)


@cache
def log_cost() -> Floats:
    """Log of the cost of a step of each order, in units of one coefficient.

    A step costs about four coefficients besides its own (two factorisations, projections); the
    Cauchy products grow with the order. Measured; the optimum is flat, so one law serves all models.
    """
    p = np.arange(HIGHEST_ORDER + 1.0)
    return np.log(4.0 + p + 0.015 * p**2)


@formula
def noted_drift(tolerance: float) -> float:
    """Share of the energy exchanged above which a note states the energy error of a run."""
    return DRIFT_NOTED * max(tolerance, SMALLEST_TOLERANCE)


@formula
def drift_at_rest(tolerance: float, held: float) -> float:
    """Energy error of a run that hardly moves: rounding, and configurations that are off by the tolerance.

    held: the largest term of the energy so far.
    """
    return max(DRIFT_AT_REST * max(tolerance, SMALLEST_TOLERANCE), DRIFT_ROUNDING) * held
