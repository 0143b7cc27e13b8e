"""How a run can end: a status word and a message."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ..kernels import return_codes


class Status(StrEnum):
    """The status of a run; all but DONE and STOPPED mean that the run did not do what was requested."""

    DONE = "done"
    STOPPED = "stopped"
    NOT_CONVERGED = "not-converged"
    DIVERGED = "diverged"
    TOO_SLOW = "too-slow"
    BLOCKED = "blocked"
    UNDETERMINED = "undetermined"
    SKIPPED = "skipped"
    ERROR = "error"

    @property
    def success(self) -> bool:
        """Whether the run did what was requested: reached its end, the crossing or the terminal event."""
        return self in (Status.DONE, Status.STOPPED)


class Ending(NamedTuple):
    """How a run ended."""

    status: Status
    message: str


GOOD = "the results up to there are good"
_GO_ON = (
    "Try another tolerance, and check whether the motion can continue beyond this configuration"
)

# explanations of early returns; {setting}: the tolerance
_EARLY = {
    return_codes.STUCK: (
        Status.NOT_CONVERGED,
        f"no step keeps constraints, branch and energy near the tolerance {{setting:g}}; {GOOD}. {_GO_ON}",
    ),
    return_codes.TOO_SHORT: (
        Status.NOT_CONVERGED,
        f"no step is short enough for the tolerance {{setting:g}}; {GOOD}. {_GO_ON}",
    ),
    return_codes.NOT_FINITE: (
        Status.DIVERGED,
        f"the accelerations are not finite there; {GOOD}. Check for bodies or degrees of freedom without mass",
    ),
    return_codes.OVERFLOW: (
        Status.DIVERGED,
        "the state is not finite any more; try a shorter step",
    ),
    return_codes.NOT_CONVERGED: (
        Status.NOT_CONVERGED,
        "the iteration of the step does not converge; try a shorter step",
    ),
    return_codes.TORN: (
        Status.DIVERGED,
        "the loops have opened by more than the length of a link; try a shorter step",
    ),
    return_codes.SWITCHING: (
        Status.NOT_CONVERGED,
        "a user force switches to and fro there without time passing, as dry friction does where it sticks; "
        f"{GOOD}. No motion satisfies such a law: make it continuous, like tanh(v / v0) instead of sign(v)",
    ),
    return_codes.LOST_RANK: (
        Status.NOT_CONVERGED,
        "the chosen velocities are no longer independent there; the motion cannot be continued with "
        "as many as at the start",
    ),
}


def unbalanced(t: float, drift: float, exchanged: float, tolerance: float) -> Ending:
    """The energy error far exceeds what the tolerance allows; drift, exchanged [J]."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: the energy balance is lost. It drifts by {drift:.2g} J there, of "
        f"{exchanged:.3g} J exchanged, far beyond the tolerance {tolerance:g}; {GOOD}. Try a tighter tolerance",
    )


def makes_no_progress(since: float, t: float, often: int, tolerance: float) -> Ending:
    """Steps exceed the tolerance again and again."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: from t = {since:.9g} s on {often} steps could not meet the tolerance "
        f"{tolerance:g} in double precision, one after the other, as near a singular configuration that the "
        f"motion does not leave; {GOOD}. A looser tolerance may continue",
    )


def with_losses(end: Ending, lost: float, until: float, dropped: int) -> Ending:
    """Return an ending that states the accumulated loss.

    lost [m]; until [s]: the outputs up to there are good; dropped: the number of later outputs removed.
    """
    if not lost and not dropped:
        return end
    words = []
    if lost:
        words.append(
            f"steps that could not meet the tolerance may have added errors of {lost:.1e} m by then"
        )
    if dropped:
        words.append(f"the outputs after t = {until:.9g} s, {dropped}, are not kept")
    return Ending(end.status, end.message.replace(GOOD, ", and ".join(words)))


def done(duration: float, how: str = "") -> Ending:
    """The whole duration was simulated; how: the steps used."""
    return Ending(Status.DONE, f"simulated {duration:g} s{how}")


def ended_early(reason: int, t: float, setting: float) -> Ending:
    """The loop of a method returned early, at t [s]; setting: the tolerance or step."""
    status, why = _EARLY[reason]
    return Ending(status, f"stopped at t = {t:.9g} s: {why.format(setting=setting)}")


def too_slow(t: float, max_steps: int, remedy: str) -> Ending:
    """The limit on steps was reached; remedy: what else would help."""
    return Ending(
        Status.TOO_SLOW,
        f"stopped at t = {t:.9g} s after {max_steps} steps; allow more with max_steps, or {remedy}",
    )


def immobile_at_start(pivot: float) -> Ending:
    """No step leaves the start; pivot: the smallest pivot there."""
    return Ending(
        Status.NOT_CONVERGED,
        "cannot leave the start: no motion continues it. Joints that should depend on each other may "
        f"close only roughly (smallest relative pivot {pivot:.1e}): give places and axes to all digits",
    )


def takes_tiny_steps(t: float, tolerance: float) -> Ending:
    """The steps of an integrator became too short to finish in reasonable time."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: no step is short enough for the tolerance {tolerance:g}, as happens at "
        "a singular configuration; try a looser one",
    )


def uncertain(t: float) -> Ending:
    """The run ends before a singular neighbourhood after which the branches cannot be distinguished."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: branches with a common tangent follow, closer to each other than "
        "double precision resolves, "
        f"so the branch after them would be arbitrary; {GOOD}. Other dimensions or "
        "speeds, or another start, may avoid this",
    )


def left_motion(t: float, off: float, apart: float) -> Ending:
    """After a singular configuration the run disagrees with a series; off, apart: over the mechanism's length."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped after a singular configuration at t = {t:.9g} s: it is {off:.1e} of the mechanism's length from "
        f"the series continued through it, and branches are {apart:.1e} apart there: it may be on another branch; "
        f"{GOOD}. Use the method series, or another tolerance",
    )


def stopped(t: float) -> Ending:
    """The run stopped at a crossing, as requested."""
    return Ending(Status.STOPPED, f"stopped at the crossing at t = {t:.12g} s, as requested")


def at_event(t: float, name: str) -> Ending:
    """The run stopped at a terminal event."""
    return Ending(Status.STOPPED, f"stopped at t = {t:.12g} s, at the terminal event '{name}'")


def failed(what: str, t: float) -> Ending:
    """User-supplied code failed."""
    return Ending(Status.ERROR, f"{what}; the results up to t = {t:.9g} s are good")


def blocked(t: float, what: str) -> Ending:
    """Constraints that appear at an event contradict others."""
    return Ending(
        Status.BLOCKED,
        f"blocked at t = {t:.9g} s: {what} contradict each other, no velocity satisfies both; {GOOD}. "
        "Release a drive or lock at this event, or move the stop",
    )


def simultaneous(t: float, names: list[str]) -> Ending:
    """Stops are struck at the same time, and the outcome depends on the order."""
    return Ending(
        Status.UNDETERMINED,
        f"stopped at t = {t:.9g} s: {' and '.join(names)} are struck at the same time, and the velocities after "
        f"it depend on which comes first, which rigid bodies do not determine; {GOOD}. Move one of the stops",
    )


def stalled(t: float, name: str, often: int) -> Ending:
    """Events follow each other without time passing."""
    return Ending(
        Status.NOT_CONVERGED,
        f"stopped at t = {t:.9g} s: {often} events occurred there without time passing, the last is '{name}'; "
        f"{GOOD}. Check whether the actions of these events make them occur again at once",
    )


def crowded(t: float, often: int) -> Ending:
    """Too many events change the mechanism."""
    return Ending(
        Status.TOO_SLOW,
        f"stopped at t = {t:.9g} s after {often} events that change the mechanism; simulate less, or limit "
        "them by count",
    )
