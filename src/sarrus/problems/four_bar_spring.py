"""Four-bar with a diagonal spring (IFToMM): an equilibrium and the small motions about it.

The library requires statics and eigenvalues only. To be simulated and checked like the others, the problem here is
an oscillation about that equilibrium, released at rest near it; initial angle, duration and limits are our own.
The free length is not published either; the published equilibrium angle requires sqrt(2) m.
"""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from .problem import Figure, Limits, Option, Panel, Problem, SmallMotion, with_options
from .references.four_bar_spring import (
    FREE_LENGTH,
    GRAVITY,
    STIFFNESS,
    equilibrium_angle,
    four_bar_spring_reference,
    small_eigenvalues,
)

# [rad]; our own choice
START = 2.0
DAMPING = Option(
    "damping",
    default=1.0,
    unit="N s/m",
    meaning="damper of the four-bar with spring",
    wanted="at least 0",
    least=0.0,
)


def make_mechanism(damping: float, angle: float, name: str) -> Mechanism:
    """Make three thin bars of 1 m and 1 kg, cranks at an angle [rad], a spring-damper from A to C."""
    arm = np.array([np.cos(angle), np.sin(angle)])
    A, D = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    m = Mechanism(name, gravity=(0.0, -GRAVITY))
    m.rod("bar 1", A, A + arm, mass=1)
    m.rod("bar 2", A + arm, D + arm, mass=1)
    m.rod("bar 3", D, D + arm, mass=1)
    m.revolute("A", m.ground, "bar 1", at=A)
    m.revolute("B", "bar 1", "bar 2", at=A + arm)
    m.revolute("C", "bar 2", "bar 3", at=D + arm)
    m.revolute("D", m.ground, "bar 3", at=D)
    m.spring(
        "diagonal",
        m.ground,
        "bar 3",
        start=A,
        end=D + arm,
        stiffness=STIFFNESS,
        damping=damping,
        free_length=FREE_LENGTH,
    )
    return m


@with_options(DAMPING)
def make_four_bar_spring(damping: float) -> Problem:
    """Make the four-bar linkage with diagonal spring of the IFToMM library; damping [N s/m]."""
    phi = equilibrium_angle()
    return Problem(
        id="four-bar-spring",
        title="Four-bar with diagonal spring",
        library="IFToMM",
        source="IFToMM benchmark library, Fourbar linkage with diagonal spring; B. Minaker, EoM",
        note="equilibrium and eigenvalues; the run from rest at 2 rad and its limit are set by Sarrus",
        version=1,
        duration=10.0,
        output_step=0.01,
        limits=Limits(end_error=1e-8, path=0.05),
        observed="C",
        columns=("t", "x", "y", "energy"),
        figures=(
            Figure(
                "figure-1-c", "Coordinates of C", (Panel("x [m]", ("x",)), Panel("y [m]", ("y",)))
            ),
            Figure("figure-2-energy", "Energy balance", (Panel("T + V - W [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism(damping, START, "four-bar with diagonal spring"),
        exact=lambda times: four_bar_spring_reference(times, START, damping),
        small=SmallMotion(
            place=(1.0 + float(np.cos(phi)), float(np.sin(phi))),
            eigenvalues=small_eigenvalues(damping),
        ),
    )
