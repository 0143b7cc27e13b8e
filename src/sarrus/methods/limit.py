"""Why a driven run cannot go on: a drive at the limit of its mechanism, or drives that contradict each other.

The drives make Phi(q) = phi0(t). At a limit, a dead centre, J loses rank while the drives push on:

    J w = 0,      l^T J = 0,      l^T phi0' = b > 0,      l^T B(w, w) = a < 0:

a step s along w changes l^T Phi by a s^2 / 2, the drives ask for b (t - t*): behind t* nothing closes the
loops. The place is found from the last state by Newton's method on Phi(q) = phi0(t), J(q) w = 0, |w| = 1.

Drives that contradict each other leave a gap along an l with l^T J = 0 far away from any limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels.elements import drive as element
from ..kernels.elements.drive import COSINE, EQUATION, KIND, LINEAR, MOTION, SQUARE
from ..kinematics.constraints import Constraints
from ..mechanism.motion import MotionPieces
from ..model import Model
from ..thresholds import CONTRADICTION, DEPENDENT_VALUE, LIMIT_FOUND, LIMIT_RATE, OPEN_LOOP
from .status import GOOD, Ending, Status

# larger models are left alone: the matrices here are full
MOST_COORDINATES = 600
NEWTON = 30
# outputs that are looked at for open loops
MOST_STATES = 1000


def explain_drives(
    model: Model, end: Ending, states: States, duration: float, *, projects: bool
) -> tuple[Ending, float]:
    """How a driven run ended, in words of its drives if they are the reason; and until when it is good [s].

    projects: whether the method takes its steps back onto the constraints; what others violate is their own, but
    a loop that is open by a part of a link was closed before, and why it opened is asked there.
    """
    t, q = states.last
    if not len(model.form.driven) or len(q) > MOST_COORDINATES:
        return end, np.inf
    driven, words, until = _Driven(model), "", t
    if not projects and end.status is not Status.NOT_CONVERGED:
        t, q = driven.last_closed(states)
    if end.status in (Status.NOT_CONVERGED, Status.DIVERGED) or t < until:
        words, until = driven.limit(t, q, duration)
    if not words and projects and end.status in (Status.DONE, Status.NOT_CONVERGED):
        words, until = driven.contradiction(t, q), t
    if not words:
        return end, np.inf
    t = max(t, min(until, states.last[0]))
    return Ending(Status.BLOCKED, f"stopped at t = {t:.9g} s: {words}; {GOOD}"), until


class States(NamedTuple):
    """Where a run was: at its end, (time [s], position), and at its outputs."""

    last: tuple[float, Floats]
    times: Floats
    places: Floats


class _Driven:
    """The constraints of a model with its drives as functions of time."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._drives = drives = model.loads.drives
        self._constraints = Constraints(model.form)
        self._motions = [
            MotionPieces(
                drives.breaks[first:last], drives.polynomials[first:last], *drives.sines[m].tolist()
            )
            for m, (first, last) in enumerate(
                zip(drives.pieces[:-1], drives.pieces[1:], strict=True)
            )
        ]

    def gaps(self, t: float, q: Floats) -> tuple[Floats, Floats]:
        """Phi - phi0 and phi0' at a time and position."""
        phi, rates = self._constraints.phi(q), np.zeros(len(self._model.form.phi0))
        drives = self._drives
        for row, factor, constant in zip(
            drives.equations, drives.factor, drives.constant, strict=True
        ):
            k, kind, motion = row[EQUATION], row[KIND], self._motions[row[MOTION]]
            x = motion.value(t)
            side = x if kind == LINEAR else 0.5 * x * x if kind == SQUARE else 0.0
            if kind not in (LINEAR, SQUARE):
                side = np.cos(x) if kind == COSINE else np.sin(x)
            phi[k] += self._model.form.phi0[k] - (factor * side - constant)
            rates[k] = factor * element.slope(kind, x) * motion.rate(t)
        return phi, rates

    def last_closed(self, states: States) -> tuple[float, Floats]:
        """The last state before the loops are open; the last one of all if they never are."""
        every = max(1, len(states.times) // MOST_STATES)
        before = float(states.times[0]), states.places[0]
        for state in [
            *zip(states.times[::every], states.places[::every], strict=True),
            states.last,
        ]:
            if not self._is_closed(*state):
                return before
            before = float(state[0]), state[1]
        return before

    def _is_closed(self, t: float, q: Floats) -> bool:
        # written so that nan is open
        return bool(np.abs(self.gaps(t, q)[0]).max(initial=0.0) <= OPEN_LOOP)

    def contradiction(self, t: float, q: Floats) -> str:
        """What drives ask for at the same time and cannot have, in words."""
        phi, _ = self.gaps(t, q)
        if np.abs(phi).max(initial=0.0) <= CONTRADICTION:
            return ""
        U, values, _ = np.linalg.svd(self._constraints.jacobian(q))
        rank = int(np.sum(values > DEPENDENT_VALUE * values.max(initial=0.0)))
        off = U[:, rank:].T @ phi
        if not np.linalg.norm(off) > max(CONTRADICTION, 0.5 * float(np.linalg.norm(phi))):
            return ""
        names = self._part(U[:, rank:] @ off / np.linalg.norm(off))
        metres = float(np.linalg.norm(off)) * self._model.units.length
        if len(names) < 2:
            return f"drive {names[0]} asks for what the joints do not allow, by {metres:.1e} m"
        return (
            f"drives {', '.join(names[:-1])} and {names[-1]} contradict each other: what they ask for is "
            f"{metres:.1e} m apart by then. Leave one of them out, or give both the same motion"
        )

    def _part(self, direction: Floats) -> list[str]:
        """The drives that take part in a direction of the equations, in quotes."""
        part = np.zeros(len(self._motions))
        for row in self._drives.equations:
            part[row[MOTION]] += abs(direction[row[EQUATION]])
        named = {d.number: name for name, d in self._model.readings.drives.items()}
        return [f"'{named[int(m)]}'" for m in np.flatnonzero(part > 1e-3 * part.max())]

    def limit(self, t: float, q: Floats, duration: float) -> tuple[str, float]:
        """Where drives reach the limit of the mechanism, in words, and when [s]; empty if there is none near."""
        found = self._singular(t, q, duration)
        if found is None:
            return "", t
        t, q, w = found
        U, values, _ = np.linalg.svd(self._constraints.jacobian(q))
        rank = int(np.sum(values > np.sqrt(DEPENDENT_VALUE) * values[0]))
        _, rates = self.gaps(t, q)
        push = U[:, rank:].T @ rates
        if not np.linalg.norm(push) > LIMIT_RATE * np.linalg.norm(rates):
            return "", t
        left = U[:, rank:] @ push / np.linalg.norm(push)
        if left @ self._constraints.bend(w) >= 0.0:
            return "", t
        named = {d.number: (name, d) for name, d in self._model.readings.drives.items()}
        part = np.zeros(len(self._motions))
        for row in self._drives.equations:
            part[row[MOTION]] += left[row[EQUATION]] * rates[row[EQUATION]]
        words = []
        for m in np.flatnonzero(part > 1e-3 * part.max()):
            name, rows = named[int(m)]
            x = rows.pieces.value(t)
            value = f"{np.degrees(x):.6g} degrees" if rows.turns else f"{x:.9g} m"
            words.append(f"drive '{name}' has reached the limit of the mechanism, {value}")
        text = (
            f"{' and '.join(words)}, at t = {t:.9g} s. The loops cannot close beyond it (a dead centre): let it "
            "turn back before, or change the dimensions"
        )
        return text, t

    def _singular(
        self, t: float, q: Floats, duration: float
    ) -> tuple[float, Floats, Floats] | None:
        """The singular position near a state: time, place and the direction in which it is free."""
        n, start = len(q), q
        level = self._constraints.jacobian(np.zeros(n))
        w = np.linalg.svd(self._constraints.jacobian(q))[2][-1]
        size = np.inf
        for _ in range(NEWTON):
            J = self._constraints.jacobian(q)
            phi, rates = self.gaps(t, q)
            side = np.concatenate([phi, J @ w, [w @ w - 1.0]])
            size = float(np.abs(side).max())
            if size <= LIMIT_FOUND:
                break
            A = np.zeros((len(side), 2 * n + 1))
            m = len(phi)
            # time counts in durations
            A[:m, :n], A[:m, n] = J, -rates * duration
            A[m : 2 * m, :n] = self._constraints.jacobian(w) - level
            A[m : 2 * m, n + 1 :], A[-1, n + 1 :] = J, 2.0 * w
            step = np.linalg.lstsq(A, -side, rcond=DEPENDENT_VALUE)[0]
            # far away the quadratic model is none
            step *= min(1.0, 0.1 / max(float(np.abs(step[:n]).max()), 1e-300))
            q, t, w = q + step[:n], t + duration * step[n], w + step[n + 1 :]
        near = size <= np.sqrt(LIMIT_FOUND) and np.abs(q - start).max() < 0.3
        return (t, q, w) if near and t >= 0.0 else None
