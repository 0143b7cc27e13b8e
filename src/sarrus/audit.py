"""Invariants of a result: checks of its forces, motion, energy and crossings, with the accuracy reached.

Every check compares two quantities that are computed in different ways, from public results: reactions about
the points of their joints, accelerations, powers of drives, energies, constraints, crossings. A second run at
another tolerance must have the same motion and the same crossings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import verdict
from .arrays import Flags, Floats, plain_sum
from .kinematics.constraints import Constraints
from .kinematics.gap_closing import DENSE
from .mechanism import Mechanism, MechanismError
from .names import counted, suggests
from .notebook_display import Sentences
from .settings import BRANCHES
from .simulate import simulate
from .thresholds import NEAR_VALUE, RANK_TOLERANCE, SAME_BRANCH, SAME_END, UNBALANCED

if TYPE_CHECKING:
    from .result import Result
    from .verdict.applied_wrenches import BodyMotion
    from .verdict.branches import Branch, Branches
    from .verdict.crossings import Crossing
    from .verdict.reactions import Reaction

# errors grow along a run: this many tolerances are allowed
TOLERANCES = 1e3
# smaller speeds count as rest, relative to a typical speed (a length per run, or gained by typical forces over a
# length)
SLOWEST = 1e-6
# the energy exchanged: error of the work of drives through crossings; 7e-5 was measured in swings of 1e-3 rad
DRIVEN_WORK = 2e-4
# tolerance of the second run, and the one that is taken if the run itself had this one
REPEATED, REPEATED_OTHERWISE = 1e-10, 1e-9
# relative to the length: largest difference of the configurations of both runs; more is visible in a plot
SAME_MOTION = 1e-3
# the end of a run: crossings there may belong to one of the runs only
LAST_SHARE = 1e-5
# a singular value of J that vanishes at a crossing, relative to its value where the motion is regular
VANISHED = 1e-2


@dataclass(frozen=True)
class AuditCheck(Sentences):
    """One invariant: its name, whether it holds, its largest relative deviation, the limit, and a sentence."""

    name: str
    holds: bool
    deviation: float
    allowed: float
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


@dataclass(frozen=True)
class Audit(Sentences):
    """The invariants of a result, one check each; `holds` is True if all of them hold."""

    name: str
    checks: tuple[AuditCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether all invariants hold."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        failed = [check.name for check in self.checks if not check.holds]
        head = "all invariants hold" if not failed else f"not all hold: {', '.join(failed)}"
        return "\n".join([f"{self.name}: {head}", *(f"  {check}" for check in self.checks)])

    def as_dict(self) -> dict[str, Any]:
        """The checks as plain data, for JSON."""
        checks = [{**vars(check)} for check in self.checks]
        return {"name": self.name, "holds": self.holds, "checks": checks}


@suggests
def audit(result: Result) -> Audit:
    """Check the invariants of a result: equilibrium of every body, powers, energy, constraints, crossings.

    The run is repeated at another tolerance, so this takes about as long as the run.

    Parameters
    ----------
    result : Result
        A result of `simulate` or `load_result`.

    Returns
    -------
    Audit
        One check per invariant, with its largest deviation; `holds` is True if all of them hold. Prints as
        sentences.

    Raises
    ------
    ValueError
        If the result has no outputs.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> sarrus.audit(sarrus.simulate(m, 1.0, 0.1)).holds
    True
    """
    if isinstance(result, Mechanism):
        raise MechanismError(
            f"'{result.name}' is a mechanism; give a result: sarrus.audit(sarrus.simulate(m, duration))"
        )
    if not len(result.times):
        raise ValueError(f"'{result.name}' has no outputs to audit: {result.message}")
    # constraints and forces differ from one segment to the next: the worst of each check counts
    audits = [_checks(part) for part in result.segments or (result,) if len(part.times)]
    names = dict.fromkeys(check.name for checks in audits for check in checks)
    worst = [
        min((c for checks in audits for c in checks if c.name == name), key=_margin)
        for name in names
    ]
    return Audit(result.name, tuple(worst))


def _margin(check: AuditCheck) -> tuple[bool, float]:
    """Orders checks: those that do not hold first, then by their deviation."""
    return check.holds, -check.deviation


def _checks(result: Result) -> list[AuditCheck]:
    """All checks of a result whose mechanism does not change."""
    found = _Auditor(result)
    checks = [
        found.newton_euler(),
        found.reaction_power(),
        found.energy_rate(),
        found.energy(),
        found.constraints(),
    ]
    if result.outcome.watch is not None:
        checks.append(found.crossings())
        if result.settings.at_crossing == BRANCHES and result.crossings:
            checks.append(found.branches())
        again = _repeat(result)
        if again is not None:
            checks.append(found.repetition(again))
    return checks


def _repeat(result: Result) -> Result | None:
    """The same run by the default method at another tolerance; None if it cannot be repeated.

    That is so at rest at the start only, after an event changed the mechanism, where a user force was lost in a
    file, or where a branch was followed.
    """
    until = float(result.times[-1])
    own = result.settings.tolerance
    tolerance = REPEATED if own is None or not 0.3 < own / REPEATED < 3.0 else REPEATED_OTHERWISE
    if until <= 0.0 or result.times[0] != 0.0:
        return None
    try:
        again = simulate(
            result.mechanism,
            until,
            outputs=result.times,
            tolerance=tolerance,
            misfit=result.settings.misfit,
        )
    except MechanismError:
        return None
    same = len(again.times) and np.allclose(
        again.record.v[0], result.record.v[0], rtol=0, atol=1e-6
    )
    return (
        again
        if same and np.allclose(again.record.q[0], result.record.q[0], rtol=0, atol=1e-6)
        else None
    )


class _Auditor:
    """The quantities to compare."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._e = e = result.joint_equations
        self._tolerance = TOLERANCES * result._run_tolerance
        # velocities carry the error of the run
        self._allowed = max(UNBALANCED, self._tolerance)
        states = result.coordinates, result.rates, result.accelerations
        self._motion: BodyMotion = verdict.joint_wrenches.read_motion(
            e, result.model.body_rows, result.times, *states
        )
        applied = result._loads.wrenches(self._motion, result.record.angles)
        # forces that joints and drives must exert on each body, about its centre
        self._needed = verdict.joint_wrenches.inertia_forces(e, self._motion) - applied
        self._arms = np.array([1.0] * 3 + [e.length] * 3)
        weight = float(np.linalg.norm(e.gravity)) * float(e.masses.max())
        sizes = np.maximum(np.abs(self._needed), np.abs(applied)) / self._arms
        self._force = max(float(sizes.max(initial=weight)), 1e-300)
        self._twists = np.concatenate([self._motion.velocities, self._motion.spins], axis=2)
        own = np.sqrt(self._force / float(e.masses.min()) * e.length)
        least = SLOWEST * max(float(own), e.length / max(float(result.times[-1]), 1e-300))
        self._speed = float(np.abs(self._twists * self._arms).max(initial=least))
        self._given, self._work, self._known = self._exerted()

    def _exerted(self) -> tuple[Floats, dict[str, Floats], Flags]:
        """Forces of joints and drives on each body, (n, nb, 6); the power of each joint; the outputs to check."""
        result, e = self._result, self._e
        given = np.zeros_like(self._needed)
        known = np.ones(len(result.times), dtype=bool)
        work: dict[str, Floats] = {}
        ends = {joint.name: joint.bodies for joint in result.mechanism.joints}
        drives = {d.name: ends[d.joint][:2] for d in result.mechanism.drives}
        points = {name: name for name in ends} | {d.name: d.joint for d in result.mechanism.drives}
        for name, bodies in (ends | drives).items():
            power = np.zeros(len(result.times))
            for body in bodies:
                reaction = result.reaction(name, body)
                wrench = _in_space(reaction)
                known &= np.isfinite(wrench).all(axis=1) & ~_is_undetermined(reaction)
                if body != result.mechanism.GROUND:
                    b = e.bodies.index(body)
                    place = self._place(points[name], bodies)
                    wrench[:, 3:] += np.cross(place - self._motion.centers[:, b], wrench[:, :3])
                    given[:, b] += wrench
                    power += np.einsum("ti,ti->t", wrench, self._twists[:, b])
            work[name] = power
        return given, {name: work[name] for name in ends}, known

    def _place(self, joint: str, bodies: tuple[str, ...]) -> Floats:
        """The reference point of a joint's reaction, relative to the origin of the joint equations."""
        result = self._result
        ground = result.mechanism.GROUND
        # the reaction of a weld without a point refers to the centre of its second body
        fallback = bodies[1] if bodies[1] != ground else bodies[0]
        name = joint if joint in result.model.points else fallback
        place = np.zeros((len(result.times), 3))
        place[:, : result.model.dimension] = result.position(name)
        return place - self._e.origin

    def newton_euler(self) -> AuditCheck:
        """Forces and moments on every body compared with its accelerations."""
        e = self._e
        coupled = np.unique(e.row_bodies[e.row_other >= 0])
        checked = [b for b in range(len(e.bodies)) if b not in coupled]
        left = np.abs(self._given - self._needed)[:, checked] / self._arms / self._force
        left[~self._known] = 0.0
        worst = float(left.max(initial=0.0))
        out = int(np.sum(~self._known))
        more = f", without {out} at which reactions are unbounded or undetermined" if out else ""
        if len(checked) < len(e.bodies):
            more += f"; {counted(len(e.bodies) - len(checked), 'body', 'bodies')} with couplings not checked"
        where = f"{counted(len(checked), 'body', 'bodies')}, {counted(len(left), 'output')}{more}"
        what = "reactions and accelerations differ by at most {} of the largest force"
        if not worst <= UNBALANCED:
            t, b = np.unravel_index(int(left.max(axis=2).argmax()), left.shape[:2])
            where = f"body '{e.bodies[checked[b]]}' at t = {self._result.times[t]:.6g} s"
        return _check("Newton-Euler", worst, UNBALANCED, what, where)

    def reaction_power(self) -> AuditCheck:
        """The power of each joint's reactions on its bodies."""
        known = self._given[self._known] / self._arms
        scale = self._speed * float(np.abs(known).max(initial=self._force))
        worst, joint = max(
            (
                (float(np.abs(p[self._known]).max(initial=0.0)), name)
                for name, p in self._work.items()
            ),
            default=(0.0, ""),
        )
        where = f"largest at joint '{joint}'" if joint else "no joints"
        what = "the power of a joint's reactions is at most {} of force times speed"
        return _check("Power of reactions", worst / scale, self._allowed, what, where)

    def energy_rate(self) -> AuditCheck:
        """The power of the drives compared with the rate of the energy minus the power of applied forces."""
        result = self._result
        parts = np.einsum("tbi,tbi->tb", self._needed, self._twists)
        given = np.zeros(len(result.times))
        for drive in result.mechanism.drives:
            given += result.drive_power(drive.name)
        scale = float(np.abs(parts).max(initial=self._speed * self._force))
        left = np.abs(parts.sum(axis=1) - given)[np.isfinite(given) & self._known]
        source = "the drives" if result.mechanism.drives else "applied forces"
        what = f"dE/dt and the power of {source} differ by at most {{}} of force times speed"
        where = counted(len(left), "output")
        return _check(
            "Rate of energy", float(left.max(initial=0.0)) / scale, self._allowed, what, where
        )

    def energy(self) -> AuditCheck:
        """Drift of the energy balance."""
        result = self._result
        scale = float(result.kinetic_energy.max(initial=SLOWEST * self._force * self._e.length))
        scale = max(scale, float(np.ptp(result.potential_energy)), float(np.abs(result.work).max()))
        allowed = max(1e-9, self._tolerance)
        where = f"{result.energy_drift:.2g} J in {result.times[-1]:.6g} s"
        if result.mechanism.drives and result.outcome.watch is not None and result.crossings:
            # the work of a drive has half of the digits next to a crossing
            allowed = max(allowed, DRIVEN_WORK)
            where += ", with the work of drives through crossings"
        what = "the energy balance drifts by at most {} of the energy exchanged"
        return _check("Energy", result.energy_drift / scale, allowed, what, where)

    def constraints(self) -> AuditCheck:
        """Violation of the constraints at position and velocity level."""
        result = self._result
        place = float(result.violation("position").max(initial=0.0)) / self._e.length
        rate = float(result.violation("velocity").max(initial=0.0)) / self._speed
        allowed = max(1e-9, self._tolerance)
        what = "the constraints are violated by at most {} of the length and of the speed"
        return _check("Constraints", max(place, rate), allowed, what, f"{place:.1e} and {rate:.1e}")

    def crossings(self) -> AuditCheck:
        """Crossings satisfy the constraints and have a lower rank; outputs of lower rank are at crossings."""
        result = self._result
        joints = Constraints(result.model.form, joints=True)
        gaps = [np.abs(joints.phi(c.coordinates)).max(initial=0.0) for c in result.crossings]
        times = np.array([m.time for m in (*result.crossings, *result.near_singular)])
        smallest = result.reactions.smallest
        # small swings about a singular configuration are close to it all the time
        low = np.flatnonzero(smallest < NEAR_VALUE * min(float(smallest.max()), 1.0))
        lost = [t for t in result.times[low] if not self._is_explained(float(t), times)]
        where = (
            f"{counted(len(result.crossings), 'crossing')}; outputs close to singular: {len(low)}, "
        )
        where += f"{len(lost)} of them away from crossings"
        regular = [c.time for c in result.crossings if not self._loses_rank(c)]
        if regular:
            where += f"; the rank does not drop at t = {regular[0]:.6g} s"
        worst = float(max(gaps, default=0.0))
        allowed = max(1e-9, self._tolerance)
        what = "the constraints at crossings are violated by at most {} of the length"
        return _check("Crossings", worst, allowed, what, where, bool(lost or regular))

    def _loses_rank(self, crossing: Crossing) -> bool:
        """Whether J has a lower rank at a crossing than at the output where it is most regular."""
        result = self._result
        most = int(np.argmax(result.reactions.smallest))
        is_same = abs(float(result.times[most]) - crossing.time) <= SAME_END * float(
            result.times[-1]
        )
        if crossing.rise <= 0 or is_same or result.model.coordinates > DENSE:
            return crossing.rise > 0
        joints = Constraints(result.model.form, joints=True)
        places = result.coordinates[most], crossing.coordinates
        usual, here = (np.linalg.svd(joints.jacobian(q), compute_uv=False) for q in places)
        rank = int(np.sum(usual > RANK_TOLERANCE * usual[0]))
        return bool(here[rank - 1] <= max(VANISHED * usual[rank - 1], crossing.rank.tolerance))

    def branches(self) -> AuditCheck:
        """The branches satisfy J d = 0, contain the one that led there, and are those of the way back."""
        result = self._result
        crossing, listed = result.crossings[-1], result.branches
        joints = Constraints(result.model.form, joints=True)
        J = joints.jacobian(crossing.coordinates)
        off = [np.abs(J @ b.direction).max() / np.abs(b.direction).max() for b in listed]
        back = verdict.branches.find_branches(
            result.model, crossing.equations, crossing.coordinates, -crossing.rates
        )
        missing = [n for n, b in enumerate(listed) if not _is_among(b, back)]
        where = counted(len(listed), "branch", "branches")
        if not any(b.so_far for b in listed):
            where += ", none of them led to the crossing"
        if missing or len(back) != len(listed):
            where += f", {len(back)} with the velocities reversed"
        bad = "," in where
        allowed = max(1e-6, self._tolerance)
        what = "the constraints along the branches are violated by at most {} of the rate"
        return _check("Branches", float(max(off, default=0.0)), allowed, what, where, bad)

    def repetition(self, again: Result) -> AuditCheck:
        """A second run at another tolerance has the same motion and, as long as it has, the same crossings."""
        result, n = self._result, len(again.times)
        away = np.abs(result.coordinates[:n] - again.coordinates).max(axis=1, initial=0.0)
        worst = float(away.max(initial=0.0))
        apart = np.flatnonzero(~(away <= SAME_MOTION))
        end = float(again.times[apart[0] - 1 if len(apart) else -1])
        # crossings at the very end belong to one of the runs only
        end *= 1.0 - LAST_SHARE
        counts = [
            plain_sum(c.rise for c in run.crossings if c.time < end) for run in (result, again)
        ]
        where = f"at crossings until t = {end:.6g} s the mobility rises by {counts[0]:g} in all"
        if counts[0] != counts[1]:
            where += f", by {counts[1]:g} in the second run"
        if len(apart):
            where += f"; from t = {again.times[apart[0]]:.6g} s on the motions differ"
        what = f"a run at tolerance {again.tolerance:g} differs by at most {{}} of the length"
        return _check("Second run", worst, SAME_MOTION, what, where, counts[0] != counts[1])

    def _is_explained(self, time: float, moments: Floats) -> bool:
        """Whether an output close to a singular configuration is close to a reported crossing or near miss."""
        result = self._result
        speed = float(np.abs(result.rates).max(initial=0.0))
        # singular values of W change by about one while points move by the length; slow crossings take longer
        reach = max(100 * NEAR_VALUE / max(speed, 1e-300), 1e-2 * float(result.times[-1]))
        return bool(len(moments) and np.abs(moments - time).min() <= reach)


def _check(
    name: str, deviation: float, allowed: float, what: str, where: str, bad: bool = False
) -> AuditCheck:
    # written so that NaN does not pass
    holds = bool(deviation <= allowed) and not bad
    word = "holds" if holds else "does not hold"
    sentence = f"{word}; {what.format(f'{deviation:.1e}')} ({where})"
    return AuditCheck(name, holds, deviation, allowed, sentence)


def _is_among(branch: Branch, others: Branches) -> bool:
    """Whether a branch is one of others: the same mobility, and its tangent within theirs."""
    d = branch.direction / np.linalg.norm(branch.direction)
    return any(
        b.dimension == branch.dimension
        and np.linalg.norm(d - b.tangent @ (b.tangent.T @ d)) < SAME_BRANCH
        for b in others
    )


def _in_space(reaction: Reaction) -> Floats:
    """Force and moment of a reaction, (n, 6)."""
    out = np.zeros((len(reaction.force), 6))
    out[:, : reaction.force.shape[1]] = reaction.force
    if reaction.moment.ndim == 1:
        out[:, 5] = reaction.moment
    else:
        out[:, 3:] = reaction.moment
    return out


def _is_undetermined(reaction: Reaction) -> Flags:
    """Outputs at which a reaction component is undetermined; statically indeterminate ones still balance."""
    lost = reaction.force_undetermined.any(axis=1)
    moment = reaction.moment_undetermined
    return np.asarray(lost | (moment if moment.ndim == 1 else moment.any(axis=1)))
