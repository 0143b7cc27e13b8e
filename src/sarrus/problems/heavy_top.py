"""Heavy top: a spinning symmetric body on a ball joint, as in papers on Lie-group integrators."""

from __future__ import annotations

from ..mechanism import Mechanism
from .problem import Figure, Limits, Panel, Problem, with_options
from .references.heavy_top import (
    ABOUT,
    ACROSS,
    GRAVITY,
    MASS,
    START_AXIS,
    START_SPIN,
    top_reference,
)


def make_mechanism(name: str) -> Mechanism:
    """Make a top of 15 kg with its centre of mass 1 m from the fixed point along y, spinning about y."""
    m = Mechanism(name, gravity=(0.0, 0.0, -GRAVITY))
    top = m.body("top", MASS, START_AXIS, (ACROSS, ABOUT, ACROSS))
    m.point("C", top, at=START_AXIS)
    m.spherical("O", m.ground, top, at=(0, 0, 0))
    m.set_angular_velocity(top, START_SPIN)
    return m


@with_options()
def make_heavy_top() -> Problem:
    """Make the heavy top."""
    return Problem(
        id="heavy-top",
        title="Heavy top",
        library="literature",
        source="test of Lie-group integrators; Arnold, Bruls, Cardona 2015 and papers before it",
        note="48 turns of spin in 2 s, one of precession; limit set by Sarrus",
        version=1,
        duration=2.0,
        output_step=0.002,
        limits=Limits(end_error=1e-8, path=0.01),
        observed="C",
        columns=("t", "x", "y", "z", "energy"),
        figures=(
            Figure("figure-1-centre", "Centre of mass", (Panel("C [m]", ("x", "y", "z")),)),
            Figure("figure-2-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism("heavy top"),
        exact=top_reference,
    )
