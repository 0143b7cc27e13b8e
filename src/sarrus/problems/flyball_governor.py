"""Stiff flyball governor: IFToMM (10 s) and MBS Benchmark A05 (350 s).

The sources do not state whether rods and shaft have the inertia of full prisms or of thin rods, and the published
curve does not decide it. Both variants are provided as named problems: `section` 0.01 m (the default) and 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..mechanism import Mechanism
from .problem import SECTION, Figure, Limits, Panel, Problem, with_options
from .references.flyball_governor import (
    DAMPING,
    FREE_LENGTH,
    OFFSET,
    ROD_MASS,
    SLIDER_INERTIA,
    SLIDER_MASS,
    SPEED,
    START,
    STIFFNESS,
    TIP_MASS,
    governor_reference,
    read_inertia,
)

COLUMNS = ("t", "z", "energy")
PRISMS = replace(SECTION, default=0.01)


def make_mechanism(section: float, name: str) -> Mechanism:
    """Make a spinning shaft with two rods and balls, a slider on it, and two stiff spring-dampers."""
    beta, height = START
    m = Mechanism(name, gravity=(0.0, 0.0, -9.81))
    # As heavy as a rod, but with hinges at an offset.
    own = read_inertia(section)
    shaft = m.body("shaft", ROD_MASS, (0, 0, 0.5), (own.across, own.across, own.shaft))
    slider = m.body("slider", SLIDER_MASS, (0, 0, height), (SLIDER_INERTIA,) * 3)
    m.point("S", slider, at=(0, 0, height))
    m.revolute("foot", m.ground, shaft, at=(0, 0, 0), axis=(0, 0, 1))
    m.prismatic("guide", shaft, slider, at=(0, 0, height), axis=(0, 0, 1))
    spin = (0.0, 0.0, SPEED)
    for word, side in (("right", 1.0), ("left", -1.0)):
        hinge = np.array([side * OFFSET, 0.0, 1.0])
        along = np.array([side * np.cos(beta), 0.0, -np.sin(beta)])
        rod = m.rod(f"{word} rod", hinge, hinge + along, mass=ROD_MASS, section=section)
        ball = m.body(f"{word} ball", TIP_MASS, hinge + along)
        m.weld(f"{word} tip", rod, ball, at=hinge + along)
        m.revolute(f"{word} hinge", shaft, rod, at=hinge, axis=(0, 1, 0))
        m.spring(
            f"{word} spring",
            slider,
            rod,
            start=(side * OFFSET, 0, height),
            end=hinge + 0.5 * along,
            stiffness=STIFFNESS,
            damping=DAMPING,
            free_length=FREE_LENGTH,
        )
        m.set_angular_velocity(rod, spin)
    m.set_angular_velocity(shaft, spin)
    m.set_velocity("S", (0, 0, 0))
    return m


@with_options(PRISMS)
def make_flyball_governor(section: float) -> Problem:
    """Make the stiff flyball governor of the IFToMM library, rods and shaft as full prisms."""
    return _problem("flyball-governor", "Flyball governor", section, a05=False)


@with_options(SECTION)
def make_flyball_governor_thin(section: float) -> Problem:
    """Make the same governor with the inertia of thin rods and a thin shaft."""
    return _problem("flyball-governor-thin", "Flyball governor, thin rods", section, a05=False)


@with_options(PRISMS)
def make_flyball_governor_a05(section: float) -> Problem:
    """Make problem A05 of the MBS Benchmark library: 350 s."""
    return _problem("flyball-governor-a05", "Flyball governor, A05", section, a05=True)


def _problem(name: str, title: str, section: float, a05: bool) -> Problem:
    if a05:
        library = "MBS Benchmark A05"
        source = "MBS Benchmark library, problem A05; Gonzalez, Dopico, Lugris, Cuadrado 2006"
    else:
        library, source = "IFToMM", "IFToMM benchmark library, Stiff flyball governor"
    return Problem(
        id=name,
        title=title,
        library=library,
        source=source,
        note="stiff: dampers with rates of 8000 1/s and oscillations of a second; limit set by Sarrus",
        version=1,
        duration=350.0 if a05 else 10.0,
        output_step=0.1,
        limits=Limits(end_error=1e-5 if a05 else 1e-6, path=0.02),
        observed="S",
        columns=COLUMNS,
        figures=(
            Figure(
                "figure-1-slider", "Height of the slider", (Panel("s [m]", ("z",)),), until=10.0
            ),
            Figure(
                "figure-2-energy",
                "Energy balance",
                (Panel("T + V - W [J]", ("energy",)),),
            ),
        ),
        build=lambda: make_mechanism(section, title),
        exact=lambda times: governor_reference(times, section),
    )
