"""Andrews' squeezer: IFToMM (0.05 s), MBS Benchmark A03 (0.5 s) and IVP test set (0.03 s).

The three differ in the initial configuration: both libraries start with the crank at -0.0620 rad, the test set at
-0.06171389..., where crank and first link are in line.
"""

from __future__ import annotations

from ..arrays import Complex
from ..mechanism import Mechanism
from .problem import Figure, Limits, Panel, Problem, with_options
from .references.andrews_squeezer import (
    FREE_LENGTH,
    INERTIAS,
    MASSES,
    STIFFNESS,
    TORQUE,
    A,
    B,
    C,
    squeezer_pose,
    squeezer_reference,
)

START, START_IVP = -0.0620, -0.0617138900142764496358948458001
COLUMNS = ("t", "x", "y", "energy")
BODIES = ("OF", "EF", "BDE", "EG", "AG", "EH", "AH")


def make_mechanism(beta0: float, name: str) -> Mechanism:
    """Make seven bodies at rest, the crank O F at beta0 [rad]; no gravity, a motor and a spring."""
    pose = squeezer_pose(beta0)
    m = Mechanism(name, gravity=(0.0, 0.0))
    for body, mass, inertia, center in zip(BODIES, MASSES, INERTIAS, pose.centers, strict=True):
        m.body(body, mass, _place(center), inertia)
    m.revolute("O", m.ground, "OF", at=(0, 0))
    m.revolute("A", m.ground, "AG", "AH", at=_place(A))
    m.revolute("B", m.ground, "BDE", at=_place(B))
    m.revolute("E", "EF", "BDE", "EG", "EH", at=_place(pose.E))
    m.revolute("F", "OF", "EF", at=_place(pose.F))
    m.revolute("G", "AG", "EG", at=_place(pose.G))
    m.revolute("H", "AH", "EH", at=_place(pose.H))
    m.spring(
        "spring",
        m.ground,
        "BDE",
        start=_place(C),
        end=_place(pose.D),
        stiffness=STIFFNESS,
        free_length=FREE_LENGTH,
    )
    m.torque("motor", "OF", TORQUE)
    return m


@with_options()
def make_andrews_squeezer() -> Problem:
    """Make Andrews' squeezer mechanism of the IFToMM library."""
    return _problem(
        "andrews-squeezer",
        "Andrews' squeezer",
        "IFToMM",
        "IFToMM benchmark library, Andrews' squeezer mechanism",
        START,
        duration=0.05,
        output_step=0.00025,
        # Our own limit: none is published for its energy balance.
        end_error=1e-8,
    )


@with_options()
def make_andrews_squeezer_a03() -> Problem:
    """Make problem A03 of the MBS Benchmark library, which is ten times as long."""
    return _problem(
        "andrews-squeezer-a03",
        "Andrews' squeezer, A03",
        "MBS Benchmark A03",
        "MBS Benchmark library, problem A03; Gonzalez, Dopico, Lugris, Cuadrado 2006",
        START,
        duration=0.5,
        output_step=0.00025,
        end_error=1e-6,
    )


@with_options()
def make_andrews_squeezer_ivp() -> Problem:
    """Make Andrews' squeezer with the initial configuration and duration of the IVP test set."""
    return _problem(
        "andrews-squeezer-ivp",
        "Andrews' squeezer, IVP start",
        "IVP test set",
        "Test set for IVP solvers, Andrews' squeezing mechanism; Mazzia, Magherini 2008",
        START_IVP,
        duration=0.03,
        output_step=0.00025,
        end_error=1e-8,
    )


def _problem(
    name: str,
    title: str,
    library: str,
    source: str,
    beta0: float,
    *,
    duration: float,
    output_step: float,
    end_error: float,
) -> Problem:
    return Problem(
        id=name,
        title=title,
        library=library,
        source=source,
        note="7 bodies, 1 degree of freedom; energy is T + V less the motor's work; limit set by Sarrus",
        version=1,
        duration=duration,
        output_step=output_step,
        limits=Limits(end_error=end_error, path=1e-3),
        observed="F",
        columns=COLUMNS,
        figures=(
            Figure(
                "figure-1-f",
                "Coordinates of F",
                (Panel("x [m]", ("x",)), Panel("y [m]", ("y",))),
                until=0.05,
            ),
            Figure("figure-2-energy", "Energy balance", (Panel("T + V - W [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism(beta0, title),
        exact=lambda times: squeezer_reference(times, beta0),
    )


def _place(point: complex | Complex) -> tuple[float, float]:
    return float(point.real), float(point.imag)
