"""Double four-bar (IFToMM) and N four-bar (MBS Benchmark A02): one mechanism, two sets of numbers."""

from __future__ import annotations

from dataclasses import replace

from ...mechanism import Mechanism
from ..options import Option, with_options
from ..problem import Figure, Limits, Panel, Problem
from .branch import make_branch
from .reference import four_bar_reference

# 10,000 windows take minutes to set up; beyond that a number is rather wrong than large
WINDOWS = Option(
    "windows",
    default=2,
    unit="",
    meaning="windows N of a four-bar",
    wanted="a whole number from 1 to 10000",
    least=1,
    most=10_000,
    whole=True,
)
SPEED = Option("speed", default=1.0, unit="m/s", meaning="start speed of a four-bar")


def make_mechanism(windows: int, speed: float, name: str) -> Mechanism:
    """2N + 1 thin links of 1 m and 1 kg; cranks A_i B_i stand upright, couplers join the B_i."""
    m = Mechanism(name, gravity=(0.0, -9.81))
    cranks = [m.rod(f"crank {i}", (i, 0), (i, 1), mass=1) for i in range(windows + 1)]
    couplers = [m.rod(f"coupler {i}", (i, 1), (i + 1, 1), mass=1) for i in range(windows)]
    for i, crank in enumerate(cranks):
        m.revolute(f"A{i}", m.ground, crank, at=(i, 0))
        m.revolute(f"B{i}", crank, *couplers[max(i - 1, 0) : i + 1], at=(i, 1))
    m.set_velocity("B0", (speed, 0))
    return m


@with_options(WINDOWS, SPEED)
def make_double_four_bar(windows: int, speed: float) -> Problem:
    """The double four-bar mechanism of the IFToMM library."""
    return Problem(
        id="double-four-bar",
        title="Double four-bar mechanism",
        library="IFToMM",
        source="IFToMM benchmark library; J. Cuadrado, after Bayo & Avello 1994",
        note="1 degree of freedom becomes 3 whenever the mechanism is flat: ten times in 10 s",
        version=1,
        duration=10.0,
        output_step=0.01,
        limits=Limits(energy_drift=0.1, path=0.5),
        observed="B0",
        columns=("t", "x", "vx", "energy", "position", "velocity", "acceleration"),
        figures=(
            Figure(
                "figure-1-x1",
                "Point 1: x and its derivative",
                (Panel("x1 [m]", ("x",)), Panel("dx1/dt [m/s]", ("vx",))),
            ),
            Figure(
                "figure-2-energy-and-violations",
                "Total energy and constraint violation",
                (
                    Panel("energy [J]", ("energy",)),
                    Panel("position [m]", ("position",), log=True),
                    Panel("velocity [m/s]", ("velocity",), log=True),
                    Panel("acceleration [m/s^2]", ("acceleration",), log=True),
                ),
            ),
        ),
        build=lambda: make_mechanism(windows, speed, "double four-bar"),
        exact=lambda times: four_bar_reference(times, windows, speed),
        branch=make_branch(windows, speed),
    )


@with_options(replace(WINDOWS, default=40), SPEED)
def make_n_four_bar(windows: int, speed: float) -> Problem:
    """Problem A02 of the MBS Benchmark library."""
    return Problem(
        id="n-four-bar",
        title=f"N four-bar mechanism, N = {windows}",
        library="MBS Benchmark A02",
        source="MBS Benchmark library, problem A02; Gonzalez, Dopico, Lugris, Cuadrado 2006",
        note=f"1 degree of freedom becomes {windows + 1} whenever the mechanism is flat",
        version=1,
        duration=20.0,
        output_step=0.05,
        limits=Limits(low=1e-1, high=1e-3, threshold=1e-3, path=0.5),
        observed="B0",
        columns=("t", "x", "y", "vx", "vy", "energy"),
        figures=(
            Figure(
                "figure-1-b0-displacement",
                "Displacement of B0 (first 10 s)",
                (Panel("x [m]", ("x",)), Panel("y [m]", ("y",))),
                until=10.0,
            ),
            Figure(
                "figure-2-b0-velocity",
                "Velocity of B0 (first 10 s)",
                (Panel("vx [m/s]", ("vx",)), Panel("vy [m/s]", ("vy",))),
                until=10.0,
            ),
            Figure("figure-3-energy", "Total energy", (Panel("energy [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism(windows, speed, f"{windows} four-bar"),
        exact=lambda times: four_bar_reference(times, windows, speed),
        branch=make_branch(windows, speed),
    )
