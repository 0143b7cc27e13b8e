"""Kinematics of mechanisms with a drive for every degree of freedom.

The constraints alone, with the prescribed motions of the drives on their right-hand side, determine positions,
velocities and accelerations at every time. Taylor series follow them from the start, also through singular
configurations, and the result is projected onto the constraints to rounding at each requested time. Masses and
forces only affect reactions and drive torques. A compiled kernel computes all times in one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..inspect import inspect
from ..mechanism import Mechanism, MechanismError, Polynomial, Sine, SmoothStep, Table
from ..names import suggests
from ..settings import read_times
from ..simulate import simulate

if TYPE_CHECKING:
    from ..result import Result

# number of configurations over a cycle if no times are given: every half degree, both ends included
POSITIONS = 721


@suggests
def kinematics(mechanism: Mechanism, times: ArrayLike | None = None) -> Result:
    """Positions, velocities, accelerations, reactions and drive torques of a driven mechanism.

    Parameters
    ----------
    mechanism
        A mechanism with as many drives as degrees of freedom.
    times
        Increasing times [s] starting at 0; by default one cycle of the drive in steps of half a degree, or of
        a motion without a cycle all of it: up to the end of a smooth step or table, else for the duration in the
        model file.

    Returns
    -------
    Result
        As from `simulate`: `position`, `velocity`, `acceleration`, `reaction`, `drive_force`, ... at these times.
        If a drive reaches a dead centre, the result ends there, `status` is "blocked" and `message` states where.
        Joint limits, and events that change the mechanism or end a run, are ignored, with a note.

    Raises
    ------
    MechanismError
        If there are degrees of freedom without a drive, or if the drive has no known cycle.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> _ = m.drive("motor", "A", sarrus.Polynomial([0, "60 rpm"]))
    >>> sarrus.kinematics(m, [0.0, 0.1, 0.2]).position("C").shape
    (3, 2)
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    if not mechanism.drives:
        _reject(mechanism, count_free(mechanism))
    moments = cycle_times(mechanism) if times is None else np.atleast_1d(read_times("times", times))
    if not len(moments):
        raise ValueError("there are no times; give one at least")
    # a run needs a positive duration, also for the single time 0
    duration = float(moments[-1]) if moments[-1] > 0 else 1.0
    driven, notes = _driven_alone(mechanism)
    result = simulate(driven, duration, outputs=moments, dense=True)
    result.outcome.notes[:0] = notes
    # SciPy and the compiler are already loaded here
    from ..run_single import is_immobile

    if not is_immobile(result.model):
        _reject(mechanism, count_free(mechanism))
    return result


def _driven_alone(mechanism: Mechanism) -> tuple[Mechanism, list[str]]:
    """The mechanism moved by its drives alone, and notes on the limits and events that are ignored.

    The drives determine the initial velocities. Limits, and events that act or end a run, would change the
    motion. A mechanism without any of these is not copied, because the checks of a copy are not cached.
    """
    acting = [event for event in mechanism.events if event.then or event.terminal]
    if not (mechanism.velocities or mechanism.angular_velocities or mechanism.limits or acting):
        return mechanism, []
    alone, notes = mechanism.copy(), []
    for what, left_out in (("limits", mechanism.limits), ("events that act or end a run", acting)):
        if left_out:
            names = ", ".join(f"'{part.name}'" for part in left_out)
            notes.append(f"kinematics follows the drives alone and ignores {what}: {names}")
    alone.velocities.clear()
    alone.angular_velocities.clear()
    alone.limits.clear()
    alone.events[:] = [event for event in mechanism.events if event not in acting]
    return alone, notes


def count_free(mechanism: Mechanism) -> int:
    """Number of finite degrees of freedom without a drive; also correct if the start is singular."""
    bare = mechanism.copy()
    bare.drives.clear()
    return max(int(inspect(bare).mobility_motion) - len({d.joint for d in mechanism.drives}), 0)


def _reject(mechanism: Mechanism, free: int) -> None:
    if free:
        driven = inspect(mechanism).driven
        bodies = [f"'{body}'" for body in (() if driven is None else driven.moving)]
        of = f" of {', '.join(bodies)}" if bodies else ""
        raise MechanismError(
            f"mechanism '{mechanism.name}' has {free} degree{'s' * (free > 1)} of freedom{of} that no drive "
            "moves; add a drive for each, weld what need not move, or use simulate()"
        )


def cycle_times(mechanism: Mechanism, positions: int = POSITIONS) -> Floats:
    """Evenly spaced times over one cycle of the drives [s]; over their whole motion if they have no cycle."""
    periods = [find_period(mechanism, drive.name) for drive in mechanism.drives]
    known = sorted({period for period in periods if period is not None})
    alike = len(known) == 1 and None not in periods
    return np.linspace(0.0, known[0] if alike else _find_end(mechanism), positions)


def _find_end(mechanism: Mechanism) -> float:
    """Time at which smooth steps and tables have ended, or the duration in the mechanism's file [s]."""
    ends = [
        motion.end if isinstance(motion, SmoothStep) else motion.times[-1]
        for motion in (drive.motion for drive in mechanism.drives)
        if isinstance(motion, SmoothStep | Table)
    ]
    if len(ends) == len(mechanism.drives) and max(ends) > 0:
        return float(max(ends))
    if "duration" in mechanism.defaults:
        return float(mechanism.defaults["duration"])
    raise MechanismError(
        f"the drives of '{mechanism.name}' have no common cycle and no end: give times, a duration in the model "
        "file, or drive one joint at constant speed or by a sine"
    )


def find_period(mechanism: Mechanism, name: str) -> float | None:
    """Duration of one turn of a drive at constant speed, or of one period of a sine [s]; None if it has none."""
    drive = next(d for d in mechanism.drives if d.name == name)
    joint = next(j for j in mechanism.joints if j.name == drive.joint)
    motion = drive.motion
    if isinstance(motion, Sine) and motion.amplitude and motion.frequency:
        return float(1.0 / abs(motion.frequency))
    if isinstance(motion, Polynomial) and joint.kind.row.coordinate == "angle":
        rates = [*motion.coefficients[1:], 0.0]
        if rates[0] and not any(rates[1:]):
            return float(2.0 * np.pi / abs(rates[0]))
    return None
