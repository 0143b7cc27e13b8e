"""Double four-bar (IFToMM) and N four-bar (MBS Benchmark A02): one mechanism, two sets of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from .problem import Columns, Figure, Limits, Option, Panel, Problem, RightBranch, with_options
from .references.n_four_bar import flat_times, four_bar_reference

# 10,000 windows take seconds to set up; a larger number is more likely a mistake.
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

GRAVITY = 9.81
# Smallest |cos(theta)| at which x and vx determine the energy.
LEAST_COSINE = 0.5
# Numbers of windows tried on a file: small ones and those in common use.
TRIED_WINDOWS = (*range(1, 61), 80, 100, 200, 500, 1000)


def make_mechanism(windows: int, speed: float, name: str) -> Mechanism:
    """Make 2N + 1 thin links of 1 m and 1 kg; the cranks A_i B_i start upright, couplers join the B_i."""
    m = Mechanism(name, gravity=(0.0, -GRAVITY))
    cranks = [m.rod(f"crank {i}", (i, 0), (i, 1), mass=1) for i in range(windows + 1)]
    couplers = [m.rod(f"coupler {i}", (i, 1), (i + 1, 1), mass=1) for i in range(windows)]
    for i, crank in enumerate(cranks):
        m.revolute(f"A{i}", m.ground, crank, at=(i, 0))
        m.revolute(f"B{i}", crank, *couplers[max(i - 1, 0) : i + 1], at=(i, 1))
    m.set_velocity("B0", (speed, 0))
    return m


@with_options(WINDOWS, SPEED)
def make_double_four_bar(windows: int, speed: float) -> Problem:
    """Make the double four-bar mechanism of the IFToMM library."""
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
                    Panel("energy drift [J]", ("energy",)),
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
    """Make problem A02 of the MBS Benchmark library."""
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
            Figure("figure-3-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism(windows, speed, f"{windows} four-bar"),
        exact=lambda times: four_bar_reference(times, windows, speed),
        branch=make_branch(windows, speed),
    )


def make_branch(windows: int, speed: float) -> RightBranch | None:
    """Return the parallelogram branch from B0 alone; None at speed 0, where B0 does not move.

    While all windows are parallelograms, the configuration has one angle theta, and B0 determines its energy:

        E = I/2 (theta'^2 - w^2) - W (1 - cos(theta)),   I = (N+1)/3 + N,  W = g ((N+1)/2 + N)

    for links of 1 m and 1 kg. With x, y, vx, vy this applies at every row. With x and vx alone,
    cos(theta) = +-sqrt(1 - x^2) and theta' = vx / cos(theta). The sign is that of vx, because the cranks never
    reverse (theta'^2 >= w^2). Near the flat configuration this is a quotient of two small numbers, so rows with
    |cos(theta)| < 1/2 are not used; elsewhere an error of x is amplified at most four times.

    A motion on another branch conserves its own energy, but not this one, because B0 then no longer moves all
    cranks and couplers with it.
    """
    if speed == 0.0:
        return None
    weight = GRAVITY * ((windows + 1) / 2 + windows)
    inertia = (windows + 1) / 3 + windows
    # Rows within 30 degrees of flat are not used. The cranks are slowest at the upper end of this range; a gap
    # longer than twice the time of passing at that speed is not a pass.
    slowest = np.sqrt(speed * speed + 2.0 * weight / inertia * (1.0 - LEAST_COSINE))
    return RightBranch(
        name="parallelogram branch",
        path="circle of B0",
        distance=_distance,
        energy=lambda columns: one_angle_energy(columns, windows, speed),
        scale=inertia / 2.0 * speed * speed + 2.0 * weight,
        silence=2.0 * np.pi / 3.0 / slowest,
        singular=lambda duration: flat_times(windows, duration, speed),
        position="flat configuration",
        relatives=lambda columns: _relatives(columns, windows, speed),
    )


def one_angle_energy(columns: Columns, windows: int, speed: float) -> Floats:
    """Return the energy of the parallelogram motion with this B0, 0 at the start [J], nan near flat."""
    x, vx = columns["x"], columns["vx"]
    if "y" in columns and "vy" in columns:
        y, vy = columns["y"], columns["vy"]
        radius = np.hypot(x, y)
        rate, height = (y * vx - x * vy) / radius**2, y / radius
    else:
        height = np.copysign(np.sqrt(np.maximum(1.0 - x * x, 0.0)), vx * speed)
        rate = vx / np.where(np.abs(height) >= LEAST_COSINE, height, np.nan)
    weight = GRAVITY * ((windows + 1) / 2 + windows)
    inertia = (windows + 1) / 3 + windows
    energy: Floats = inertia / 2.0 * (rate**2 - speed * speed) - weight * (1.0 - height)
    return energy


def _distance(columns: Columns) -> Floats:
    """Return the distance of B0 from its circle; with x alone, by how much |x| exceeds the radius."""
    if "y" in columns:
        return np.abs(np.hypot(columns["x"], columns["y"]) - 1.0)
    return np.maximum(np.abs(columns["x"]) - 1.0, 0.0)


def _relatives(columns: Columns, windows: int, speed: float) -> list[dict[str, float]]:
    """Return other options to try: other numbers of windows, the start speed of the first row, and both."""
    speeds = {speed, -speed}
    # An implausible start speed is not tried.
    first = columns["vx"][:1] if "vx" in columns else np.empty(0)
    if first.size and 1e-3 <= abs(first[0]) <= 1e3:
        # Round to six digits to recover the number that the user entered.
        speeds.add(float(f"{first[0]:.6g}"))
    return [{"windows": n, "speed": v} for v in sorted(speeds) for n in (windows, *TRIED_WINDOWS)]
