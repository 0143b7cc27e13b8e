"""What B0 alone says about the parallelogram branch of the N four-bar.

While all windows are parallelograms the mechanism has one angle theta, and B0 tells its energy:

    E = I/2 (theta'^2 - w^2) - W (1 - cos(theta)),   I = (N+1)/3 + N,  W = g ((N+1)/2 + N)

for links of 1 m and 1 kg. With x, y, vx, vy this holds at every row. With x and vx alone,
cos(theta) = +-sqrt(1 - x^2) and theta' = vx / cos(theta); the sign is that of vx, because the
cranks never turn back (theta'^2 >= w^2). Near flat the quotient is of two small numbers, so rows
with |cos(theta)| < 1/2 say nothing; elsewhere an error of x counts at most four times.

A motion on another branch keeps its own energy, but not this one: B0 then no longer carries all
cranks and couplers with it.
"""

import numpy as np

from ...arrays import Floats
from ..problem import Columns, RightBranch
from .reference import flat_times

GRAVITY = 9.81
# |cos(theta)| from which on x and vx tell the energy
TELLING = 0.5
# numbers of windows that a file is tried with: small ones and those in use
WINDOWS = (*range(1, 61), 80, 100, 200, 500, 1000)


def make_branch(windows: int, speed: float) -> RightBranch | None:
    """The parallelogram branch; None at speed 0, where B0 does not move at all."""
    if speed == 0.0:
        return None
    weight = GRAVITY * ((windows + 1) / 2 + windows)
    inertia = (windows + 1) / 3 + windows
    # between 30 degrees above and below flat, slowest at its upper end; twice that is no passage
    slowest = np.sqrt(speed * speed + 2.0 * weight / inertia * (1.0 - TELLING))
    return RightBranch(
        name="parallelogram branch",
        path="circle of B0",
        distance=_distance,
        energy=lambda columns: one_angle_energy(columns, windows, speed),
        scale=inertia / 2.0 * speed * speed + 2.0 * weight,
        silence=2.0 * np.pi / 3.0 / slowest,
        singular=lambda duration: flat_times(windows, duration, speed),
        position="flat position",
        relatives=lambda columns: _relatives(columns, windows, speed),
    )


def one_angle_energy(columns: Columns, windows: int, speed: float) -> Floats:
    """Energy of the parallelogram motion that has this B0, 0 at the start [J], nan near flat."""
    x, vx = columns["x"], columns["vx"]
    if "y" in columns and "vy" in columns:
        y, vy = columns["y"], columns["vy"]
        radius = np.hypot(x, y)
        rate, height = (y * vx - x * vy) / radius**2, y / radius
    else:
        height = np.copysign(np.sqrt(np.maximum(1.0 - x * x, 0.0)), vx * speed)
        rate = vx / np.where(np.abs(height) >= TELLING, height, np.nan)
    weight = GRAVITY * ((windows + 1) / 2 + windows)
    inertia = (windows + 1) / 3 + windows
    energy: Floats = inertia / 2.0 * (rate**2 - speed * speed) - weight * (1.0 - height)
    return energy


def _distance(columns: Columns) -> Floats:
    """Distance of B0 from its circle; with x alone, how far it is beyond reach."""
    if "y" in columns:
        return np.abs(np.hypot(columns["x"], columns["y"]) - 1.0)
    return np.maximum(np.abs(columns["x"]) - 1.0, 0.0)


def _relatives(columns: Columns, windows: int, speed: float) -> list[dict[str, float]]:
    """Other numbers of windows, the start speed of the first row, and both."""
    speeds = {speed, -speed}
    # no speed that anybody would start with: not tried
    if columns["vx"].size and 1e-3 <= abs(columns["vx"][0]) <= 1e3:
        # six digits: a user's number, not a rounded one
        speeds.add(float(f"{columns['vx'][0]:.6g}"))
    return [{"windows": n, "speed": v} for v in sorted(speeds) for n in (windows, *WINDOWS)]
