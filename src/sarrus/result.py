"""The result of a simulation: the mechanism, the settings of the run, and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import scene as scene_package
from . import segments as segment_package
from . import sensitivities, verdict
from .arrays import Flags, Floats, Ints, plain_sum
from .export import (
    LEVELS,
    TIME,
    labelled_reactions,
    make_dataframe,
    make_dataset,
    point_columns,
    quality_columns,
    reaction_columns,
    save_csv,
    save_hdf5,
    save_parquet,
    split_unit,
)
from .kinematics.configuration import read_turns
from .located_events import LocatedEvent, describe_events, list_events
from .mechanism import Mechanism, MechanismError
from .names import RenamedKeys, all_suggest, pick, suggests, warn_renamed
from .quantities import Quantity, draw_quantity, read_quantity
from .readout import Readout
from .settings import DEFAULT_TOLERANCE, RunSettings, check_times
from .storage import load_parts, save_parts
from .thresholds import ACCURATE_THROUGH, AT_MOMENT, FAR_AWAY, NOISY_FORCE, TIGHTEST_TOLERANCE

if TYPE_CHECKING:
    from .methods.outcome import Outcome, Record
    from .model import Model
    from .scene import Scene, Sketch
    from .scene.player import Player
    from .verdict.applied_wrenches import BodyLoads
    from .verdict.branches import Branches
    from .verdict.crossings import Crossing, NearMiss
    from .verdict.joint_equations import JointEquations
    from .verdict.near_crossings import CrossingContext
    from .verdict.reactions import Reaction, Reactions, Stiffness
    from .verdict.verdict import Verdict

# what a method with a fixed step can distinguish from zero, relative to the size of the mechanism
FIXED_STEP = 1e-6
# fields stored in a file in addition to mechanism and model
STORED = ("start", "settings", "outcome")


class Counters(RenamedKeys):
    """Counters of a run by name."""

    older: ClassVar = {"loosened": "relaxed_steps", "wide": "extended_steps"}


# most panels of a figure when no quantity is named
MOST_PANELS = 4
# most bodies times outputs of a scene
MOST_DRAWN = 2_000_000


@all_suggest
@dataclass(frozen=True, eq=False)
class Result(Readout):
    """The result of a simulation: only the valid part of the run.

    Attributes
    ----------
    mechanism : Mechanism
        The simulated mechanism: joints closed, dimensional mismatch repaired.
    model : Model
        The same mechanism in natural coordinates.
    start : Record
        The record at t = 0, if there was a run.
    settings : RunSettings
        The settings of the run.
    outcome : Outcome
        What the method computed, in units of the model.
    """

    mechanism: Mechanism
    model: Model = field(repr=False)
    start: Record = field(repr=False)
    settings: RunSettings = field(repr=False)
    outcome: Outcome = field(repr=False)

    def __repr__(self) -> str:
        return f"<Result '{self.name}': {self.status}, {self.message}>"

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
        # a run in extended precision reports itself where that was not enough
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
                "N, and so may reactions and forces of drives that take it up; a tighter tolerance makes that less"
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
            f"{FAR_AWAY:g} times the mechanism's size ({size:.3g} m); check its joints, speeds and units if that "
            "is not meant"
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
    def segments(self) -> tuple[Result, ...]:
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
        """Events that were requested (`simulate(..., events=[...])`) and occurred, in the order of time."""
        return list_events(self)

    # the motion

    def at(self, times: float | Sequence[float] | Floats) -> Result:
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
                f"'{self.name}' was simulated without its polynomials; give dense=True to simulate to "
                "read its motion at any time"
            )
        # a run that was stopped has made steps beyond its end
        watch = self.outcome.watch
        end = motion.end if watch is None else min(motion.end, watch.until)
        wanted = check_times("t", np.atleast_1d(times), end, "the motion ends at")
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

    def sensitivity(self, quantity: Any, wrt: Any) -> Any:
        """Derivatives of quantities at all outputs with respect to parameters, by the variational equations.

        Parameters
        ----------
        quantity : str, Event or sequence of these
            A point ("B0": position, velocity, acceleration), an energy ("kinetic energy"), "crossing times", an
            extreme ("largest B0.x"), a quantity by its name, as for `quantity` ("crank angle", "B0.F"), or an
            event of the run (`sarrus.when(...)`), of which the times are differentiated.
        wrt : str, mapping or sequence of these
            The path of a number ("bodies.crank.mass", "gravity.1", "velocities.B0.0"); a coordinate of a joint
            ("joints.B1.at.0": everything drawn at that point moves with it); or a direction, with one rate per
            path ({"bodies.crank.mass": 1.0, "bodies.coupler.mass": 1.0}).

        Returns
        -------
        Sensitivity
            With `values`, `validity` and `convention`. A list of parameters gives a list of these; a list of
            quantities gives a list of those lists.

        Raises
        ------
        MechanismError
            If the constraints forbid a direction, or forces have no derivatives.
        ValueError
            If a path or quantity is unknown, or a reaction is statically indeterminate.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, 0.1, dense=True)
        >>> result.sensitivity("B0", wrt="velocities.B0.0").position.shape
        (11, 2)
        """
        return sensitivities.differentiate.of_result(self, quantity, wrt)

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
        """Total energy minus work, energy corrections and what events changed, relative to the start [J], (n,).

        It is zero except for errors: the accumulated energy error of the integration, also where the method
        corrects the energy.
        """
        drift = (self.record.energy - self.start.energy) * self.model.units.energy
        return np.asarray(drift - self.event_energy)

    @property
    def event_energy(self) -> Floats:
        """Sum of what events before each output changed of the total energy [J], (n,): losses are negative.

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
        """Norms of the constraints at three levels [m, m/s, m/s^2], shape (n, 3); see `violation`."""
        return np.asarray(self.record.norms * self.model.units.length)

    def violation(self, level: str = "position") -> Floats:
        """Norm of the constraints at a level: "position" [m], "velocity", "acceleration".

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
        """All joint reactions and driving forces at all outputs, by Newton and Euler.

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
            raise ValueError(f"'{self.name}' met no crossing, so there are no branches")
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

    @property
    def marks(self) -> tuple[scene_package.Mark, ...]:
        """Marks on the time line: crossings and near misses, each with its sentence."""
        if self.outcome.watch is None:
            return ()
        named = [(scene_package.CROSSING, c) for c in self.crossings] + [
            (scene_package.NEAR, c) for c in self.near_singular
        ]
        marks = [scene_package.Mark(float(c.time), word, str(c)) for word, c in named]
        return tuple(sorted(marks, key=lambda mark: mark.time))

    @cached_property
    def scene(self) -> Scene:
        """Positions of everything that is drawn, at the outputs; computed on first access."""
        # a picture needs no more outputs, and this bounds the memory
        every = max(1, -(-len(self.times) * len(self.model.body_rows.names) // MOST_DRAWN))
        return scene_package.make_scene(
            self._sketch,
            self.model.body_rows,
            self.times[::every],
            self.coordinates[::every],
            self.rates[::every],
            self.duration,
            self.marks,
        )

    def columns(self, *names: str, reactions: bool = False) -> dict[str, Floats]:
        """Columns by name with unit: points, readings of joints, springs and drives, energies, violations.

        Points give position, velocity and acceleration; joints, springs, torsional springs and drives their
        readings.

        Parameters
        ----------
        *names : str
            Joints, points, bodies, springs, torsional springs or drives. Default: all except bodies.
        reactions : bool, optional
            Add the reaction that each joint exerts on its second body ("A0.Fx [N]"), with the flag "A0.shared [1]"
            of statically indeterminate ones; at pins of three or more bodies, on each of them ("C on crank.Fx
            [N]").

        Returns
        -------
        dict of str to ndarray
            Arrays of shape (n,), the time first.
        """
        self.check_names(names)
        points = [name for name in names if name in self.model.points]
        columns = {TIME: self.times} | point_columns(self, points if names else self.drawn_points)
        columns |= self.readings(*names)
        if reactions:
            for joint in self.joint_equations.joints:
                if not names or joint in names:
                    for label, reaction in labelled_reactions(self.reactions, joint).items():
                        columns |= reaction_columns(label, reaction)
        columns["kinetic energy [J]"] = self.kinetic_energy
        columns["potential energy [J]"] = self.potential_energy
        columns["total energy [J]"] = self.total_energy
        columns["work [J]"] = self.work
        return columns | quality_columns(self)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise an error for the first unknown name; the message suggests similar names."""
        known = {name: name for name in (*self.model.points, *self.read_names)}
        for name in names:
            pick(known, name, "joint, point, body, spring, torsion or drive")

    @property
    def drawn_points(self) -> list[str]:
        """Names of joints and named points, in the order of their definition."""
        names = [sign.name for sign in self._sketch.signs]
        return [name for name in dict.fromkeys(names) if name in self.model.points]

    def to_dataframe(self, *names: str, reactions: bool = False) -> Any:
        """The columns as a pandas data frame over time (extra: sarrus[data]).

        The arguments are those of `columns`.

        Parameters
        ----------
        *names : str
            Points, joints, springs and drives. Default: all of them.
        reactions : bool, optional
            Whether to include the reactions of the joints.

        Returns
        -------
        pandas.DataFrame
            One row per output.
        """
        return make_dataframe(self.columns(*names, reactions=reactions))

    def to_xarray(self, *names: str, reactions: bool = False) -> Any:
        """The columns as an xarray dataset (extra: sarrus[data]).

        Position, velocity and acceleration have the axes time, point and axis. All other columns are over time, by
        their names without units. The arguments are those of `columns`.

        Parameters
        ----------
        *names : str
            Points, joints, springs and drives. Default: all of them.
        reactions : bool, optional
            Whether to include the reactions of the joints.

        Returns
        -------
        xarray.Dataset
            Quantities over time, point and axis.
        """
        columns = self.columns(*names, reactions=reactions)
        points = [n for n in names if n in self.model.points] if names else self.drawn_points
        moving = {
            level: (np.stack([getattr(self, level)(n) for n in points], axis=1), unit)
            for level, (_, unit) in LEVELS.items()
            if points
        }
        known = {TIME, *point_columns(self, points)}
        scalars = {}
        for column, values in columns.items():
            if column not in known:
                name, unit = split_unit(column)
                # names without an owner become Python identifiers
                scalars[name if "." in name else name.replace(" ", "_")] = (values, unit)
        return make_dataset(self.times, points, moving, scalars, self._about)

    def save(self, path: str | Path) -> Path:
        """Write everything to one HDF5 file, which `sarrus.load_result` reads back bit for bit.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Returns
        -------
        Path
            The file written.
        """
        return save_result(path, self, {})

    def save_csv(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as CSV; the first line has names with units.

        Arguments after `path` are those of `columns`.

        Parameters
        ----------
        path : str or Path
            The file to write.
        *names : str
            Points, joints, springs and drives. Default: all of them.
        reactions : bool, optional
            Whether to include the reactions of the joints.

        Returns
        -------
        Path
            The file written.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> path = result.save_csv("run.csv", "B0")
        """
        return save_csv(path, self.columns(*names, reactions=reactions))

    def save_parquet(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as Parquet (extra: sarrus[data]).

        Arguments after `path` are those of `columns`.

        Parameters
        ----------
        path : str or Path
            The file to write.
        *names : str
            Points, joints, springs and drives. Default: all of them.
        reactions : bool, optional
            Whether to include the reactions of the joints.

        Returns
        -------
        Path
            The file written.
        """
        return save_parquet(path, self.columns(*names, reactions=reactions), self._about)

    def save_hdf5(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as datasets of an HDF5 file, each with its unit.

        Arguments after `path` are those of `columns`.

        Parameters
        ----------
        path : str or Path
            The file to write.
        *names : str
            Points, joints, springs and drives. Default: all of them.
        reactions : bool, optional
            Whether to include the reactions of the joints.

        Returns
        -------
        Path
            The file written.
        """
        return save_hdf5(path, self.columns(*names, reactions=reactions), self._about)

    def save_drawing(self, path: str | Path, *points: str, time: float | None = None) -> Path:
        """Write the linkage and the paths of points as a full-scale drawing: .dxf or .svg; planar mechanisms only.

        Parameters
        ----------
        path : str or Path
            The file to write.
        *points : str
            Joints, points or bodies whose paths are drawn.
        time : float, optional
            Time of the picture [s]; the nearest output is drawn. Default: the start.
        """
        cad = scene_package.cad
        self._check_outputs("draw")
        k = 0 if time is None else int(np.argmin(np.abs(self.scene.times - time)))
        curves = {name: self.position(name) for name in points}
        return cad.save_drawing(path, cad.make_drawing(self._sketch, self.scene.points[k], curves))

    def save_gltf(self, path: str | Path) -> Path:
        """Write the bodies and their motion as glTF (.gltf, or binary .glb), which viewers and Blender play.

        Parameters
        ----------
        path : str or Path
            The file to write, .gltf or .glb.

        Returns
        -------
        Path
            The file written.
        """
        cad = scene_package.cad
        self._check_outputs("write")
        every = max(1, -(-len(self.times) // len(self.scene.times)))
        rows = self.model.body_rows
        places = [self.position(name)[::every] for name in rows.names]
        centers = np.stack([np.pad(x, ((0, 0), (0, 3 - x.shape[1]))) for x in places], axis=1)
        turns = read_turns(rows, self.coordinates[::every])
        return cad.save_gltf(Path(path), self.scene, centers, turns)

    def quantity(self, what: str) -> Quantity:
        """Any quantity by its name: "motor torque", "B.vx", "C on crank.F", "rocker angle", "total energy".

        Returns
        -------
        Quantity
            Name, unit and values (n,).

        Raises
        ------
        UnknownNameError
            If the result has no such quantity; the message suggests similar names.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("crank-rocker")
        >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
        >>> _ = m.drive("motor", "A", sarrus.Polynomial([0, "60 rpm"]))
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> result.quantity("motor torque").unit
        'N m'
        """
        return read_quantity(self, what)

    def plot(
        self,
        *names: str,
        over: str = "time",
        degrees: bool = True,
        ax: Any = None,
        compare: Result | Sequence[Result] = (),
    ) -> Any:
        """A matplotlib figure: the mechanism at its end, and quantities over time or over another quantity.

        Parameters
        ----------
        *names : str
            Quantities ("motor torque", "C on crank.F", "rocker.angular acceleration", "energy drift"), or parts,
            all of whose readings are drawn. Default: forces of drives and springs, and the first points that move.
        over : str, optional
            The quantity of the horizontal axis: "time", "crank angle", "piston travel", ...
        degrees : bool, optional
            Whether angles are drawn in degrees.
        ax : matplotlib.axes.Axes, optional
            Axes to draw the quantities into, instead of a new figure.
        compare : Result or sequence of Result, optional
            Other results, drawn with dashed lines.

        Returns
        -------
        Figure or Axes
            The figure, or `ax` if given.
        """
        notebook = scene_package.notebook_view
        if len(names) == 1 and not isinstance(names[0], str):
            # a list of names is accepted too
            names = tuple(names[0])
        others = [compare] if isinstance(compare, Result) else list(compare)
        panels = self._panels(names)
        sides = [
            notebook.read_side(partial(draw_quantity, r), r.name, panels, over, degrees)
            for r in (self, *others)
        ]
        if ax is not None:
            return notebook.draw_into(ax, sides)
        parts = [name for name in names if name in self.model.points]
        seen = parts or ([] if names else self.moving_points())
        scene = self.scene.observing(seen[0]) if seen else self.scene
        return notebook.make_figure(scene, sides)

    def _panels(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Quantities that share a panel, by the label of the panel; names: as for `plot`."""
        panels: dict[str, list[str]] = {}
        parts = {*self.model.points, *self.read_names}
        for name in names or [*self.exerting, *self.moving_points()]:
            if name not in parts:
                found = self.quantity(name)
                panels[found.name] = [found.name]
                continue
            if name in self.model.points:
                panels[name] = [f"{name}.{axis}" for axis in "xyz"[: self.model.dimension]]
            for column in self.readings(name):
                quantity = column.rpartition(" [")[0]
                panels[quantity] = [quantity]
        return dict(list(panels.items())[: None if names else MOST_PANELS])

    def animate(self, point: str | None = None) -> Player:
        """An animation with the path of a point; notebooks display it, and `save` writes it as an HTML page.

        Parameters
        ----------
        point : str, optional
            Joint, point or body whose path is drawn. Default: the first point that moves.
        """
        self._check_outputs("show")
        names = self.moving_points()[:1] if point is None else [point]
        return scene_package.player.Player(self.scene.observing(names[0]) if names else self.scene)

    def _check_outputs(self, verb: str) -> None:
        """Raise ValueError if there is nothing to draw, show or write."""
        if not len(self.times):
            raise ValueError(f"'{self.name}' has no outputs to {verb}: {self.message}")

    def moving_points(self) -> list[str]:
        """Names of the named points that move, then of the joints that move."""
        if not len(self.times):
            return []
        markers = [marker.name for marker in self.mechanism.markers]
        names = dict.fromkeys([*markers, *self.drawn_points])
        return [n for n in names if np.ptp(self.position(n), axis=0).max() > 0]

    @property
    def _about(self) -> dict[str, str]:
        return {
            "mechanism": self.name,
            "method": self.method,
            "tolerance" if self.step is None else "step": f"{self.settings.setting:g}",
            "status": str(self.status),
            "message": self.message,
        }

    def _repr_html_(self) -> str:
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("method", f"{self.method}, {self.counters.get('steps', 0)} steps"),
            (
                "solve",
                f"{self.solve_seconds * 1e3:.3g} ms CPU, {self.cpu_seconds * 1e3:.3g} ms with all outputs",
            ),
            ("energy drift", f"{self.energy_drift:.2g} J"),
            ("violation", f"{self.violation().max(initial=0.0):.2g} m"),
            *(("note", note) for note in self.notes),
        ]
        title = f"{self.name}, {self.duration:g} s"
        return scene_package.notebook_view.make_card(title, rows, self.plot())


def save_result(
    path: str | Path, result: Result, groups: dict[str, dict[str, NDArray[Any]]]
) -> Path:
    """Write a result and groups of further arrays, which `storage.load_arrays` reads."""
    parts = {name: getattr(result, name) for name in STORED}
    return save_parts(path, result.mechanism, result.model, parts, groups)


@suggests
def load_result(path: str | Path, *, verify: bool = True) -> Result:
    """Read a result that `Result.save` wrote, with full functionality.

    Parameters
    ----------
    path : str or Path
        The file.
    verify : bool, optional
        Compare the bytes with the digest stored in the file. A file that this user did not write is first read in
        a child process, because damaged or malicious bytes can make the HDF5 library loop forever.

    Returns
    -------
    Result
        The result. User forces are Python functions, which a file does not store; a call that needs them raises
        an error that says so.

    Raises
    ------
    SavedResultError
        If the file contains no result, or was changed.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> result = sarrus.simulate(m, 1.0, 0.1)
    >>> path = result.save("run.h5")
    >>> sarrus.load_result(path).success
    True
    """
    mechanism, model, parts = load_parts(path, STORED, verify)
    return Result(mechanism, model, **parts)
