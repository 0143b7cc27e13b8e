"""How a run can end: one word and one sentence."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ..kernels import reasons


class Status(StrEnum):
    """One word for the end of a run; all but DONE and STOPPED mean that it is not what was asked for."""

    DONE = "done"
    STOPPED = "stopped"
    NOT_CONVERGED = "not-converged"
    DIVERGED = "diverged"
    TOO_SLOW = "too-slow"
    SKIPPED = "skipped"
    ERROR = "error"

    @property
    def success(self) -> bool:
        """Whether the run did what was asked for: to the end, or to the crossing."""
        return self in (Status.DONE, Status.STOPPED)


class End(NamedTuple):
    """How a run ended."""

    status: Status
    message: str


_GOOD = "the results up to there are good"
_GO_ON = "Try another tolerance, and check whether the motion can go on beyond this position"

# what a loop that returned early found; {setting}: the tolerance
_EARLY = {
    reasons.STUCK: (
        Status.NOT_CONVERGED,
        f"no step keeps constraints, branch and energy near the tolerance {{setting:g}}; {_GOOD}. {_GO_ON}",
    ),
    reasons.TOO_SHORT: (
        Status.NOT_CONVERGED,
        f"no step is short enough for the tolerance {{setting:g}}; {_GOOD}. {_GO_ON}",
    ),
    reasons.NOT_FINITE: (
        Status.DIVERGED,
        f"the accelerations are not finite there; {_GOOD}. Check for bodies or freedoms without mass",
    ),
    reasons.OVERFLOW: (
        Status.DIVERGED,
        "the state is not finite any more; try a shorter step",
    ),
    reasons.NOT_CONVERGED: (
        Status.NOT_CONVERGED,
        "the iteration of the step does not converge; try a shorter step",
    ),
    reasons.TORN: (
        Status.DIVERGED,
        "the loops are torn open by more than the length of a link; try a shorter step",
    ),
    reasons.LOST_RANK: (
        Status.NOT_CONVERGED,
        "the chosen velocities are no longer independent there; the motion cannot be continued with "
        "as many as at the start",
    ),
}


def done(duration: float, how: str = "") -> End:
    """The whole duration is simulated; how: in what steps."""
    return End(Status.DONE, f"simulated {duration:g} s{how}")


def ended_early(reason: int, t: float, setting: float) -> End:
    """A loop returned at t [s] before its end; setting: the tolerance or step."""
    status, why = _EARLY[reason]
    return End(status, f"stopped at t = {t:.9g} s: {why.format(setting=setting)}")


def too_slow(t: float, max_steps: int, remedy: str) -> End:
    """No more steps are allowed; remedy: what else would help."""
    return End(
        Status.TOO_SLOW,
        f"stopped at t = {t:.9g} s after {max_steps} steps; allow more with max_steps, or {remedy}",
    )


def held_at_start(pivot: float) -> End:
    """No step leaves the start; pivot: the smallest there."""
    return End(
        Status.NOT_CONVERGED,
        "cannot leave the start: no motion continues it. Joints that should depend on each other may "
        f"close only roughly (smallest relative pivot {pivot:.1e}): give places and axes to all digits",
    )


def crawling(t: float, tolerance: float) -> End:
    """An integrator whose steps got too short to end in any sensible time."""
    return End(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: no step is short enough for the tolerance {tolerance:g}, as happens at "
        "a singular position; try a looser one",
    )


def uncertain(t: float) -> End:
    """Before a singular stretch behind which the motions cannot be told apart."""
    return End(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: motions touch shortly behind it, closer than double precision tells apart, "
        f"so nobody can say which one a run would be on behind that; {_GOOD}. Other dimensions or "
        "speeds, or another start, may lead over it",
    )


def stopped(t: float) -> End:
    """Stopped at a crossing, as told."""
    return End(Status.STOPPED, f"stopped at the crossing at t = {t:.12g} s, as asked for")


def failed(what: str, t: float) -> End:
    """Something that a user gave failed."""
    return End(Status.ERROR, f"{what}; the results up to t = {t:.9g} s are good")
