"""Explains why a driven run cannot continue: a drive at a dead centre, or drives that contradict each other.

The drives make Phi(q) = phi0(t). At a dead centre J loses rank while the drives push on:

    J w = 0,      l^T J = 0,      l^T phi0' = b > 0,      l^T B(w, w) = a < 0:

a displacement s along w changes l^T Phi by a s^2 / 2, but the drives require b (t - t*): after t* the loops cannot
be closed. The configuration is found from the last state by Newton's method on Phi(q) = phi0(t) and the singular
value that vanishes there.

Contradicting drives leave a gap along an l with l^T J = 0 far from any dead centre.
"""

from __future__ import annotations

from functools import cached_property
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

# larger models are not analysed: the matrices here are dense
MOST_COORDINATES = 600
NEWTON = 30
# fraction of the duration: how far ahead a motion at rest is evaluated
ABOUT = 1e-6
# outputs that are checked for open loops, at most
MOST_STATES = 1000


def explain_drives(
    model: Model, end: Ending, states: States, duration: float, *, projects: bool
) -> tuple[Ending, float]:
    """Explain the end of a run by its drives if they are the reason; return it and until when the run is good [s].

    projects: whether the method projects its steps onto the constraints. Other methods have constraint violations
    of their own, but a loop that is open by a fraction of a link was closed earlier, and the reason is sought
    where it opened.
    """
    t, q = states.last
    if not len(model.form.driven) or len(q) > MOST_COORDINATES:
        return end, np.inf
    driven, words, until = _Driven(model, states), "", t
    if not projects and end.status is not Status.NOT_CONVERGED:
        t, q = driven.last_closed(states)
    if end.status in (Status.NOT_CONVERGED, Status.DIVERGED) or t < until:
        words, until = driven.limit(t, q, duration)
    if not words and projects and end.status in (Status.DONE, Status.NOT_CONVERGED):
        words, until = driven.contradiction(t, q, duration, ended=end.status is Status.DONE), t
    if not words:
        return end, np.inf
    t = max(t, min(until, states.last[0]))
    return Ending(Status.BLOCKED, f"stopped at t = {t:.9g} s: {words}; {GOOD}"), until


class States(NamedTuple):
    """The last state of a run, (time [s], configuration), and the states at its outputs."""

    last: tuple[float, Floats]
    times: Floats
    places: Floats


class _Driven:
    """The constraints of a model with its drives as functions of time."""

    def __init__(self, model: Model, states: States) -> None:
        self._model = model
        self._drives = drives = model.loads.drives
        self._constraints = Constraints(model.form)
        self._ends = states.places[0], states.last[1]
        self._motions = [
            MotionPieces(
                drives.breaks[first:last], drives.polynomials[first:last], *drives.sines[m].tolist()
            )
            for m, (first, last) in enumerate(
                zip(drives.pieces[:-1], drives.pieces[1:], strict=True)
            )
        ]

    @cached_property
    def _rank(self) -> int:
        """Rank of J along the motion: it may be lower at the start or the end of a run."""
        return max(self._rank_at(q) for q in self._ends)

    def gaps(self, t: float, q: Floats) -> tuple[Floats, Floats]:
        """Return Phi - phi0 and phi0' at a time and configuration."""
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
        """Return the last state before the loops open; the last state of the run if they never do."""
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
        # this form of the comparison counts nan as open
        return bool(np.abs(self.gaps(t, q)[0]).max(initial=0.0) <= OPEN_LOOP)

    def _rank_at(self, q: Floats) -> int:
        values = np.linalg.svd(self._constraints.jacobian(q), compute_uv=False)
        return int(np.sum(values > DEPENDENT_VALUE * values.max(initial=0.0)))

    def contradiction(self, t: float, q: Floats, duration: float, *, ended: bool) -> str:
        """Return a description of contradicting drives; ended: the run reached its end.

        A run that could not continue kept its loops closed; there the rates of the drives show the contradiction.
        """
        phi, rates = self.gaps(t, q)
        if ended and np.linalg.norm(phi) <= CONTRADICTION:
            # closed loops: the component below is not larger
            return ""
        if not rates.any():
            # a motion that is about to start still has zero rates
            rates = self.gaps(t + ABOUT * duration, q)[1]
        U, values, _ = np.linalg.svd(self._constraints.jacobian(q))
        rank = int(np.sum(values > DEPENDENT_VALUE * values.max(initial=0.0)))
        off, parting = U[:, rank:].T @ phi, U[:, rank:].T @ rates
        apart = float(np.linalg.norm(off))
        open_by = f"by {apart * self._model.units.length:.1e} m"
        if not apart > max(CONTRADICTION, 0.5 * float(np.linalg.norm(phi))):
            part = float(np.linalg.norm(parting))
            if ended or rank < self._rank or not part > LIMIT_RATE * np.linalg.norm(rates):
                return ""
            off, apart, open_by = parting, part, f"from t = {t:.6g} s on"
        names = self._part(U[:, rank:] @ off / apart)
        if len(names) < 2:
            return (
                f"drive {names[0]} prescribes a motion that the joints do not allow, {open_by}. Leave it out, "
                "or free a joint of its loop"
            )
        return (
            f"drives {', '.join(names[:-1])} and {names[-1]} contradict each other: their motions differ "
            f"{open_by}. Leave one of them out, or give both the same motion"
        )

    def _part(self, direction: Floats) -> list[str]:
        """Return the quoted names of the drives that take part in a direction of the equations."""
        part = np.zeros(len(self._motions))
        for row in self._drives.equations:
            part[row[MOTION]] += abs(direction[row[EQUATION]])
        named = {d.number: name for name, d in self._model.readings.drives.items()}
        return [f"'{named[int(m)]}'" for m in np.flatnonzero(part > 1e-3 * part.max())]

    def limit(self, t: float, q: Floats, duration: float) -> tuple[str, float]:
        """Return a description of the dead centre that drives reach and its time [s]; empty if none is near."""
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
        """Return the singular configuration near a state: time, coordinates and the free direction.

        Newton's method is applied to Phi(q) = phi0(t), sigma(q) = 0, where sigma is the smallest singular value
        that counts along the motion; its derivative is u^T B(w, dq). Directions that the drives leave free are
        free in every configuration.
        """
        start, m = q, self._rank
        if not m:
            return None
        level = self._constraints.jacobian(np.zeros(len(q)))
        size, w = np.inf, np.zeros(len(q))
        for _ in range(NEWTON):
            J = self._constraints.jacobian(q)
            phi, rates = self.gaps(t, q)
            U, values, basis = np.linalg.svd(J)
            # where sigma is zero, other free directions mix with w: the previous w is kept
            if values[m - 1] > LIMIT_FOUND or not w.any():
                w = basis[m - 1]
            side = np.append(phi, values[m - 1])
            size = float(np.abs(side).max())
            if size <= LIMIT_FOUND:
                break
            # time is measured in durations
            A = np.column_stack([J, -rates * duration])
            bend = np.append(U[:, m - 1] @ (self._constraints.jacobian(w) - level), 0.0)
            step = np.linalg.lstsq(np.vstack([A, bend]), -side, rcond=DEPENDENT_VALUE)[0]
            # far away the linear model is not valid
            step *= min(1.0, 0.1 / max(float(np.abs(step[:-1]).max()), 1e-300))
            q, t = q + step[:-1], t + duration * step[-1]
        near = size <= np.sqrt(LIMIT_FOUND) and np.abs(q - start).max() < 0.3
        return (t, q, w) if near and t >= 0.0 else None
