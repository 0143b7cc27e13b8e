"""Evaluation of a run: how it ended, its motion at other times, energies, reactions, crossings and verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from . import scene as scene_package
from . import segments as segment_package
from . import verdict
from .arrays import Flags, Floats, Ints, plain_sum
from .located_events import LocatedEvent, describe_events, list_events
from .mechanism import Mechanism, MechanismError
from .names import RenamedKeys, pick, warn_renamed
from .quantity_units import LEVELS
from .readout import Readout
from .settings import DEFAULT_TOLERANCE, RunSettings, check_times, read_times
from .thresholds import ACCURATE_THROUGH, AT_MOMENT, FAR_AWAY, NOISY_FORCE, TIGHTEST_TOLERANCE

if TYPE_CHECKING:
    from .methods.outcome import Outcome, Record
    from .model import Model
    from .scene import Sketch
    from .verdict.applied_wrenches import BodyLoads
    from .verdict.branches import Branches
    from .verdict.crossings import Crossing, NearMiss
    from .verdict.joint_equations import JointEquations
    from .verdict.near_crossings import CrossingContext
    from .verdict.reactions import Reaction, Reactions, Stiffness
    from .verdict.verdict import Verdict

# what a method with a fixed step can distinguish from zero, relative to the size of the mechanism
FIXED_STEP = 1e-6


class Counters(RenamedKeys):
    """Counters of a run by name."""

    older: ClassVar = {"loosened": "relaxed_steps", "wide": "extended_steps"}


@dataclass(frozen=True, eq=False)
class EvaluatedRun(Readout):
    """The evaluation of a run, computed from its record on first access; base class of `Result`."""

    mechanism: Mechanism
    model: Model = field(repr=False)
    start: Record = field(repr=False)
    settings: RunSettings = field(repr=False)
    outcome: Outcome = field(repr=False)

    @property
    def record(self) -> Record:
        """The outputs, in units of the model."""
        return self.outcome.record

    # how the run ended

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.mechanism.name

    @property
    def status(self) -> str:
        """How the run ended, in one word: "done" on success."""
        # a plain string: not every file writer supports enums
        return self.outcome.status.value

    @property
    def message(self) -> str:
        """How the run ended, in a sentence."""
        return self.outcome.message

    @property
    def success(self) -> bool:
        """Whether the run reached its end, or the crossing or event at which it was to stop."""
        return self.outcome.status.success

    @property
    def notes(self) -> list[str]:
        """Notes for the user: decisions made, crossings, near misses, bodies that moved far away."""
        return [*self.outcome.notes, *self._happened]

    @cached_property
    def _happened(self) -> list[str]:
        """One note per occurrence during the motion; computed on first access."""
        met = (
            []
            if self.outcome.watch is None
            else verdict.inspection_text.describe_moments(self.crossings, self.near_singular)
        )
        located = describe_events(self.outcome.events, self.model.units.energy)
        return [
            *met,
            *located,
            *self._reached_accuracy(),
            *self._gone_far(),
            *self._noisy_dampers(),
        ]

    def _reached_accuracy(self) -> Iterator[str]:
        """A note on the accuracy after crossings, where rounding limits it, if the tolerance is tighter."""
        settings = self.settings
        tight = settings.tolerance is not None and settings.tolerance < DEFAULT_TOLERANCE
        # runs in extended precision have notes of their own where it does not suffice
        doubles = not self.counters.get("extended_steps")
        series = settings.method in ("auto", "series")
        if tight and doubles and series and self.outcome.watch and self.crossings:
            yield (
                f"after crossings double precision is accurate to about {ACCURATE_THROUGH:g} of the mechanism's "
                f"length, to ten times that after slow ones; a tolerance of {TIGHTEST_TOLERANCE:g} uses extended "
                "precision there"
            )

    def _noisy_dampers(self) -> Iterator[str]:
        """A note on the damper that amplifies the velocity error most, if its force error is large."""
        size, tolerance = self.mechanism.size, self.settings.tolerance
        if tolerance is None or size == 0 or not len(self.times):
            return
        dampers = list(self._dampers(size))
        if not dampers:
            return
        # of the named points: some rates are those of directions, which have no length
        off = tolerance * float(np.abs(self.model.places @ self.rates.T).max(initial=0.0))
        mass = plain_sum(b.mass for b in self.mechanism.bodies)
        weight = mass * float(np.linalg.norm(self.mechanism.gravity))
        typical_force = max(weight, float(self.kinetic_energy.max()) / size)
        found = [(c * off, max(typical_force, force), name) for name, c, force in dampers]
        error, scale, name = max(found, key=lambda x: x[0] / x[1] if x[1] > 0 else 0.0)
        if error > NOISY_FORCE * scale:
            yield (
                f"{name} has a stiff damper: at tolerance {tolerance:g} its force may be off by up to {error:.2g} "
                "N, and so may reactions and drive forces that balance it; a tighter tolerance reduces the errors"
            )

    def _gone_far(self) -> Iterator[str]:
        """A note on the body farthest from its initial position, if that is many times the mechanism's size."""
        size = self.mechanism.size
        # a cheap first check: some coordinates are directions, which have no length
        moved = np.abs(self.coordinates).max(axis=1, initial=0.0) * self.model.units.length
        rows = np.flatnonzero(moved > FAR_AWAY * size)
        if size == 0 or not len(rows):
            return
        names = [body.name for body in self.mechanism.bodies]
        away = np.array(
            [
                np.linalg.norm(self.position(body.name)[rows] - body.center, axis=1)
                for body in self.mechanism.bodies
            ]
        )
        far = away.max(axis=0, initial=0.0) > FAR_AWAY * size
        if not far.any():
            return
        first = int(np.argmax(far))
        worst = int(np.argmax(away[:, first]))
        yield (
            f"body '{names[worst]}' is {away[worst, first]:.3g} m from its start at t = "
            f"{self.times[rows[first]]:.6g} s, more than "
            f"{FAR_AWAY:g} times the mechanism's size ({size:.3g} m); check its joints, speeds and units if this "
            "is not intended"
        )

    @property
    def method(self) -> str:
        """The method of the run; with "auto", the method of its last part."""
        return self.outcome.method or self.settings.method

    @property
    def tolerance(self) -> float | None:
        """Target error relative to the mechanism's size; None if the method has a fixed step."""
        return self.settings.tolerance

    @property
    def step(self) -> float | None:
        """The fixed step [s]; None if a tolerance controls the step."""
        return self.settings.step

    @property
    def options(self) -> dict[str, float]:
        """Further parameters of the method."""
        return self.settings.options

    @property
    def duration(self) -> float:
        """Requested duration [s]."""
        return self.settings.duration

    @property
    def at_crossing(self) -> str:
        """What to do at a crossing: "continue", "stop" or "branches"."""
        return self.settings.at_crossing

    # what the run cost

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of steps, rejected steps, factorisations and so on."""
        return Counters(self.outcome.counters)

    @property
    def asked(self) -> RunSettings:
        """The older name of `settings`."""
        warn_renamed("result.asked", "settings")
        return self.settings

    @property
    def timings(self) -> dict[str, float]:
        """Seconds of each part: import, set_up, compile, solve_cpu, solve_wall, record_cpu, watch_cpu."""
        return self.outcome.timings

    @property
    def solve_seconds(self) -> float:
        """CPU time of the solve alone [s], without compilation, set-up, crossing detection and recording."""
        return self.timings["solve_cpu"]

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the solve and of recording all requested outputs [s]."""
        return self.timings["solve_cpu"] + self.timings["record_cpu"]

    @property
    def step_times(self) -> Floats:
        """Times at which the steps of the method ended [s]."""
        return self.outcome.steps.times

    @property
    def step_orders(self) -> Ints:
        """Orders of the steps."""
        return self.outcome.steps.orders

    @property
    def step_pivots(self) -> Floats:
        """The smallest relative pivot after each step: small near a singular configuration."""
        return self.outcome.steps.pivots

    # events

    @cached_property
    def segments(self) -> tuple[Self, ...]:
        """One result per part of the run between events that change the mechanism; empty if none does."""
        if not self.outcome.segments:
            return ()
        return segment_package.segment_results.segment_results(self)

    @cached_property
    def drives(self) -> dict[str, Any]:
        """Drives by name, with locks and stops of limits where events of the run make them act."""
        if not self.outcome.segments:
            return self.model.readings.drives
        return segment_package.segment_results.all_drives(self)

    @cached_property
    def events(self) -> tuple[LocatedEvent, ...]:
        """Events that were requested (`simulate(..., events=[...])`) and occurred, in order of time."""
        return list_events(self)

    # the motion

    def at(self, times: float | Sequence[float] | Floats) -> Self:
        """The same run at other times [s]: one, or increasing ones, within the motion.

        Parameters
        ----------
        times : float or array_like
            One time, or increasing times, from 0 to the end of the motion [s].

        Returns
        -------
        Result
            A result with outputs at these times, accurate to the tolerance of the run. All methods work on it.

        Raises
        ------
        ValueError
            If the run did not keep its polynomials (`simulate(..., dense=True)`), or a time is outside the motion.
        MechanismError
            If a user force fails, or is missing because the result was read from a file.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, dense=True)
        >>> result.at(0.123).position("B0").shape
        (1, 2)
        """
        segments = self.outcome.segments
        motion = segments[-1].outcome.motion if segments else self.outcome.motion
        if motion is None:
            raise ValueError(
                f"the run of '{self.name}' did not keep its polynomials; use simulate(..., dense=True) to "
                "read the motion at any time"
            )
        # a run that was stopped may have steps beyond its end
        watch = self.outcome.watch
        end = motion.end if watch is None else min(motion.end, watch.until)
        wanted = check_times("t", np.atleast_1d(read_times("t", times)), end, "the motion ends at")
        if self.outcome.segments:
            return segment_package.segment_results.result_at(self, wanted)
        record = motion.at(wanted)
        for call in self.model.user_calls:
            # a user force may fail at these times, or be missing from a file
            if np.isnan(record.a).any() or call.failure:
                raise MechanismError(call.failure)
        there = replace(self, outcome=replace(self.outcome, record=record, error=None))
        # crossings and other findings do not depend on the output times
        for name in (
            "joint_equations",
            "_loads",
            "_sketch",
            "_moments",
            "_crossing_context",
            "events",
        ):
            if name in self.__dict__:
                there.__dict__[name] = self.__dict__[name]
        return there

    @property
    def error_estimate(self) -> Floats | None:
        """Estimate of the largest global error up to each output [m], shape (n,), of any coordinate.

        An error of a direction counts as that of a point at a lever arm of the mechanism's length.
        It comes from a second, more accurate run (`simulate(..., estimate_error=True)`). Its maximum is accurate
        to a factor of about two, and too large for tolerances below 1e-8. Methods with a fixed step always provide
        it, from a run with twice the step. Otherwise it is None.
        """
        error = self.outcome.error
        return None if error is None else np.asarray(error * self.model.units.length)

    @property
    def lost(self) -> float:
        """Sum of the possible errors of steps that exceeded the tolerance [m]; 0 if none did."""
        return self.outcome.lost * self.model.units.length

    @cached_property
    def accelerations(self) -> Floats:
        """Second derivatives of the natural coordinates, (n, nq); at crossings, those of the actual motion."""
        if self.segments:
            return segment_package.segment_results.join_values(
                self.segments, lambda part: part.accelerations
            )
        a, watch = self.record.a, self.outcome.watch
        if watch is None:
            return a
        moments = [c.time for c in watch.candidates] + [0.0] * watch.singular_start
        apart = np.abs(self.times[:, None] - np.array(moments)).min(axis=1, initial=np.inf)
        # where J loses rank, the equations of motion do not determine accelerations that the motion does determine
        for k in np.flatnonzero((self.record.kept == 0) & (apart <= AT_MOMENT * watch.until)):
            context = self._crossing_context
            if context is None:
                return a
            found = context.acceleration(float(self.times[k]), self.record.angles[k])
            if found is not None:
                a = a.copy()
                a[k] = found
        return a

    # energies

    @property
    def kinetic_energy(self) -> Floats:
        """Kinetic energy at the outputs [J], shape (n,)."""
        return np.asarray(self.record.kinetic * self.model.units.energy)

    @property
    def potential_energy(self) -> Floats:
        """Potential energy at the outputs [J], shape (n,).

        Gravity and constant forces count from the start; springs give k (l - l0)^2 / 2 + preload l, torsional
        springs k (angle - free angle)^2 / 2.
        """
        return np.asarray(self.record.potential * self.model.units.energy)

    @property
    def total_energy(self) -> Floats:
        """Kinetic plus potential energy at the outputs [J], shape (n,)."""
        return self.kinetic_energy + self.potential_energy

    @property
    def work(self) -> Floats:
        """Work of dampers, torques, body-fixed forces, user forces and drives since the start [J]."""
        return np.asarray(self.record.work * self.model.units.energy)

    @property
    def energy_balance(self) -> Floats:
        """Total energy minus work, energy corrections and changes at events, relative to the start [J], (n,).

        It is zero except for errors: the accumulated energy error of the integration, also where the method
        corrects the energy.
        """
        drift = (self.record.energy - self.start.energy) * self.model.units.energy
        return np.asarray(drift - self.event_energy)

    @property
    def event_energy(self) -> Floats:
        """Sum of the changes of the total energy at events before each output [J], (n,); losses are negative.

        Impacts at stops and locks lose energy; switching a spring changes the potential energy.
        """
        found = self.outcome.events
        if found is None or not len(found.energies):
            return np.zeros(len(self.times))
        # an output at the time of an event is the state before it
        before = np.searchsorted(found.record.times, self.times, side="left")
        changes = np.concatenate([np.zeros(1), np.cumsum(found.energies)])
        return np.asarray(changes[before] * self.model.units.energy)

    @property
    def restored_energy(self) -> Floats:
        """Sum of the energy corrections by the method since the start [J], shape (n,).

        `series` conserves the energy where only gravity and constant forces act, on a single constrained
        subsystem.
        """
        return np.asarray(self.record.restored * self.model.units.energy)

    @property
    def energy(self) -> Floats:
        """The older name of `energy_balance`."""
        warn_renamed(
            "result.energy", "energy_balance; total_energy is kinetic plus potential energy"
        )
        return self.energy_balance

    @property
    def energy_drift(self) -> float:
        """Largest drift of the energy balance from its start [J]."""
        return float(np.abs(self.energy_balance).max(initial=0.0))

    @property
    def norms(self) -> Floats:
        """Norms of the constraint violations at three levels [m, m/s, m/s^2], shape (n, 3); see `violation`."""
        return np.asarray(self.record.norms * self.model.units.length)

    def violation(self, level: str = "position") -> Floats:
        """Norm of the constraint violation at the position, velocity or acceleration level.

        Parameters
        ----------
        level : {"position", "velocity", "acceleration"}, optional
            The level; units are m, m/s and m/s^2.

        Returns
        -------
        ndarray
            The norm at the outputs, shape (n,).
        """
        return self.norms[:, pick({word: i for i, word in enumerate(LEVELS)}, level, "level")]

    # computed on first access

    @cached_property
    def joint_equations(self) -> JointEquations:
        """The joint equations in terms of the body twists, from which rank and reactions are computed."""
        return verdict.joint_equations.make_joint_equations(self.mechanism)

    @cached_property
    def _loads(self) -> BodyLoads:
        return verdict.applied_wrenches.make_body_loads(self.mechanism, self.joint_equations)

    @cached_property
    def _sketch(self) -> Sketch:
        return scene_package.make_sketch(self.mechanism)

    @cached_property
    def reactions(self) -> Reactions:
        """All joint reactions at all outputs, by the Newton-Euler equations; computed on first access."""
        return self.solve_reactions()

    def solve_reactions(self, stiffness: Stiffness | None = None) -> Reactions:
        """All joint reactions and drive forces at all outputs, by the Newton-Euler equations.

        Parameters
        ----------
        stiffness : mapping, optional
            Stiffness of joints by name, as (force [N/m], moment [N m/rad]). Statically indeterminate reactions are
            then distributed as by elastic joints; joints not named are rigid. Without it, they are of least norm.

        Returns
        -------
        Reactions
            The reactions by joint.
        """
        if self.segments:
            return segment_package.segment_results.join_reactions(
                self, [part.solve_reactions(stiffness) for part in self.segments]
            )
        states = (self.coordinates, self.rates, self.accelerations)
        solver = verdict.reactions.ReactionSolver(
            self.joint_equations, self.model.body_rows, self._loads, stiffness
        )
        return verdict.reactions.solve_reactions(
            solver,
            self.times,
            states,
            self.record.angles,
            self._run_tolerance,
            self._crossing_context,
        )

    def reaction(
        self, joint: str, body: str | None = None, *, stiffness: Stiffness | None = None
    ) -> Reaction:
        """Force [N] and moment about its point [N m] that a joint or drive exerts on a body, over time.

        Parameters
        ----------
        joint : str
            Name of a joint or drive. The moment is about `position(joint)`, also where the joint slides.
        body : str, optional
            One of the joint's bodies. Default: its second body, so the reaction of the first on the second.
        stiffness : mapping, optional
            As for `solve_reactions`, which is the method to call for several joints.

        Returns
        -------
        Reaction
            Force and moment; components that rigid bodies do not determine are flagged. At a pin of three or more
            bodies the forces on them differ, also in magnitude: `largest_on` has the largest force on each body,
            and `reactions.on_each(joint)` has all of them.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> result.reaction("B0").force.shape
        (11, 2)
        """
        found = self.reactions if stiffness is None else self.solve_reactions(stiffness)
        return found.of(joint, body)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """The instants at which the mobility rises, in order of time; computed on first access.

        Raises
        ------
        ValueError
            If the run was not monitored for crossings.
        """
        return self._moments[0]

    @property
    def near_singular(self) -> tuple[NearMiss, ...]:
        """The instants at which the motion passes close to a singular configuration without reaching it."""
        return self._moments[1]

    @cached_property
    def verdict(self) -> Verdict:
        """Mobility and redundancy at the start and over the motion, and crossings; computed on first access."""
        watch = self.outcome.watch
        # constraints that events add or remove belong to later segments
        first = self.segments[0] if self.segments else self
        return verdict.verdict.make_verdict(
            first.mechanism,
            first.model.body_rows,
            first.joint_equations,
            self.method,
            first.times,
            first.coordinates,
            first.rates,
            first.norms[:, 0],
            None if watch is None else self._moments,
            np.inf if watch is None else watch.until,
        )

    @property
    def branches(self) -> Branches:
        """The branches that meet at the last crossing, which is where a run with "stop" or "branches" ends.

        Raises
        ------
        ValueError
            If the motion has no crossing.
        """
        if not self.crossings:
            raise ValueError(f"'{self.name}' passed no crossing, so there are no branches to list")
        return self.crossings[-1].branches

    @cached_property
    def _moments(self) -> tuple[tuple[Crossing, ...], tuple[NearMiss, ...]]:
        watch = self.outcome.watch
        if self.segments:
            return segment_package.segment_results.join_moments(self.segments)
        if watch is None:
            raise ValueError(
                f"the run of '{self.name}' was not monitored for crossings: {self.message}"
            )
        candidates = watch.candidates if self.success else watch.passed
        listed = verdict.crossings.ListedMoments
        if not candidates and not watch.singular_start:
            # most runs: they need neither the joint equations nor the residuals
            return listed([]), listed([])
        motion = verdict.crossings.RunOutputs(self.times, self.energy_balance, self.norms[:, 0])
        crossings, misses = verdict.candidates.judge_candidates(
            self.model, self.joint_equations, watch, candidates, motion, self._run_tolerance
        )
        return listed(crossings), listed(misses)

    @cached_property
    def _crossing_context(self) -> CrossingContext | None:
        """Data for the limits of reactions at crossings; None without crossings, or if they were not monitored."""
        watch = self.outcome.watch
        if watch is None or self.segments or not self.crossings:
            return None
        return verdict.near_crossings.CrossingContext(
            model=self.model,
            candidates=watch.candidates,
            moments=self._moments,
            tolerance=self._run_tolerance,
            until=watch.until,
        )

    @property
    def _near_crossings(self) -> Flags:
        """Outputs so close to a crossing that forces are computed as limits along the motion."""
        if self.segments:
            return np.concatenate([part._near_crossings for part in self.segments])
        context = self._crossing_context
        none = np.zeros(len(self.times), dtype=bool)
        return none if context is None else context.are_near(self.times)

    @property
    def _run_tolerance(self) -> float:
        """The tolerance of the run; with a fixed step, what the method can distinguish from zero."""
        return FIXED_STEP if self.tolerance is None else self.tolerance
