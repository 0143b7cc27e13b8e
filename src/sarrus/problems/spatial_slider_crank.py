"""Spatial slider-crank (IFToMM), with both interpretations of the connecting rod's inertia.

The source gives diag(0.004, 0.0004, 0.004) without stating which axis lies along the rod. Taken literally with the
first axis along it, the library's first reference (Masoudi) is reproduced; for a slender rod, with 0.0004 about
the rod, that of F. Gonzalez. Each is a named problem.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from .problem import Angle, Figure, Limits, Panel, Problem, Read, with_options
from .references.spatial_slider_crank import (
    CRANK,
    CRANK_INERTIA,
    CRANK_MASS,
    GRAVITY,
    ROD_MASS,
    SLIDER_MASS,
    SPEED,
    A,
    slider_crank_angle,
    slider_crank_reference,
)

# Inertia of the rod about itself, about its axis in the universal joint, and about the third axis [kg m2].
SLENDER = (0.0004, 0.004, 0.004)
LITERAL = (0.004, 0.004, 0.0004)
COLUMNS = ("t", "x", "angle", "energy")


def make_mechanism(inertia: tuple[float, float, float], name: str) -> Mechanism:
    """Make an upright crank about x, a rod on a spherical and a universal joint, and a slider along x."""
    B, C = A + np.array([0.0, 0.0, CRANK]), np.array([0.2, 0.0, 0.0])
    along = (B - C) / np.linalg.norm(B - C)
    cross = np.cross((1.0, 0.0, 0.0), along)
    cross /= np.linalg.norm(cross)
    axes = np.array([along, cross, np.cross(along, cross)])
    m = Mechanism(name, gravity=(0.0, 0.0, -GRAVITY))
    m.body("crank", CRANK_MASS, 0.5 * (A + B), (CRANK_INERTIA, CRANK_INERTIA, 1e-5))
    m.body("rod", ROD_MASS, 0.5 * (B + C), axes.T @ np.diag(inertia) @ axes)
    m.body("slider", SLIDER_MASS, C, (1e-4, 1e-4, 1e-4))
    m.revolute("A", m.ground, "crank", at=A, axis=(1, 0, 0))
    m.spherical("B", "crank", "rod", at=B)
    m.universal("C", "slider", "rod", at=C, axis=(1, 0, 0), second_axis=cross)
    m.prismatic("guide", m.ground, "slider", at=C, axis=(1, 0, 0))
    m.set_angular_velocity("crank", (SPEED, 0, 0))
    return m


@with_options()
def make_spatial_slider_crank() -> Problem:
    """Make the spatial rigid slider-crank mechanism of the IFToMM library, slender rod."""
    return _problem("spatial-slider-crank", "Spatial slider-crank, slender rod", SLENDER)


@with_options()
def make_spatial_slider_crank_literal() -> Problem:
    """Make the same mechanism with the rod's inertia taken literally."""
    return _problem("spatial-slider-crank-literal", "Spatial slider-crank, literal rod", LITERAL)


def _problem(name: str, title: str, inertia: tuple[float, float, float]) -> Problem:
    return Problem(
        id=name,
        title=title,
        library="IFToMM",
        source="IFToMM benchmark library, Spatial rigid slider-crank mechanism; Haug 1989, section 12.2",
        note="ball and universal joint at the rod; the source is ambiguous about an inertia; limit set by Sarrus",
        version=2,
        duration=5.0,
        output_step=0.01,
        # Not tighter than the accuracy of the library's own published solution: 4.2e-5 m at the end.
        limits=Limits(end_error=1e-4, path=0.02),
        observed="C",
        columns=COLUMNS,
        figures=(
            Figure(
                "figure-1-slider-and-crank",
                "Slider position and crank angle",
                (Panel("x [m]", ("x",)), Panel("crank [rad]", ("angle",))),
            ),
            Figure("figure-2-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism(inertia, title),
        exact=lambda times: slider_crank_reference(times, inertia),
        angle=Angle(_read_crank, lambda times: slider_crank_angle(times, inertia)),
    )


def _read_crank(place: Read, velocity: Read) -> tuple[Floats, Floats]:
    """Return the rotation of A B about x from upright; outputs every 0.01 s are less than half a turn apart."""
    arm, rate = place("B") - A, velocity("B")
    angle = np.unwrap(np.arctan2(-arm[:, 1], arm[:, 2]))
    return angle, (arm[:, 1] * rate[:, 2] - arm[:, 2] * rate[:, 1]) / CRANK**2
