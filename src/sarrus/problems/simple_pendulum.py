"""Simple pendulum: IFToMM (10 s) and MBS Benchmark A01 (2000 s), one mechanism."""

from __future__ import annotations

from ..mechanism import Mechanism
from .problem import Figure, Limits, Panel, Problem, with_options
from .references.simple_pendulum import pendulum_reference

COLUMNS = ("t", "x", "y", "energy")
FIGURES = (
    Figure(
        "figure-1-p1",
        "Coordinates of P1",
        (Panel("x [m]", ("x",)), Panel("y [m]", ("y",))),
        until=10.0,
    ),
    Figure("figure-2-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)),
)


def make_mechanism(name: str) -> Mechanism:
    """Make a point mass of 1 kg on a massless bar of 1 m, horizontal, at rest."""
    m = Mechanism(name, gravity=(0.0, -9.81))
    bob = m.body("bob", mass=1, center=(-1, 0))
    m.revolute("P0", m.ground, bob, at=(0, 0))
    m.point("P1", bob, at=(-1, 0))
    return m


@with_options()
def make_simple_pendulum() -> Problem:
    """Make the planar simple pendulum of the IFToMM library."""
    return Problem(
        id="simple-pendulum",
        title="Simple pendulum",
        library="IFToMM",
        source="IFToMM benchmark library, Planar simple pendulum",
        note="a point mass on a massless bar; no inertia about the mass itself",
        version=1,
        duration=10.0,
        output_step=0.01,
        limits=Limits(energy_drift=5e-5, path=0.5),
        observed="P1",
        columns=COLUMNS,
        figures=FIGURES,
        build=lambda: make_mechanism("simple pendulum"),
        exact=pendulum_reference,
    )


@with_options()
def make_simple_pendulum_a01() -> Problem:
    """Make problem A01 of the MBS Benchmark library: 845 oscillations."""
    return Problem(
        id="simple-pendulum-a01",
        title="Simple pendulum, A01",
        library="MBS Benchmark A01",
        source="MBS Benchmark library, problem A01; Gonzalez, Dopico, Lugris, Cuadrado 2006",
        note="845 swings; the limits of the library were not found, that at the end is set by Sarrus",
        version=1,
        duration=2000.0,
        output_step=0.5,
        limits=Limits(end_error=1e-6, path=0.5),
        observed="P1",
        columns=COLUMNS,
        figures=FIGURES,
        build=lambda: make_mechanism("A01 pendulum"),
        exact=pendulum_reference,
    )
