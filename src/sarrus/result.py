"""The result of a simulation: the mechanism, what was asked, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import scene as scene_package
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
from .names import RenamedKeys, pick, suggests, warn_renamed
from .quantities import Quantity, read_quantity
from .readout import Readout
from .settings import DEFAULT_TOLERANCE, RunSettings, check_times
from .storage import load_parts, save_parts
from .thresholds import AT_MOMENT, FAR_AWAY, HELD_THROUGH, NOISY_FORCE, TIGHTEST_TOLERANCE

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

# what a method with a fixed step can tell from zero, over the size of the mechanism
FIXED_STEP = 1e-6
# fields that a file holds beside mechanism and model
STORED = ("start", "settings", "outcome")


class Counters(RenamedKeys):
    """Counters of a run by name."""

    older: ClassVar = {"loosened": "relaxed_steps", "wide": "extended_steps"}


# of a figure for which nothing was named
MOST_PANELS = 4
# bodies times outputs of a scene
MOST_DRAWN = 2_000_000


@dataclass(frozen=True, eq=False)
class Result(Readout):
    """What a simulation found, up to where it is good.

    mechanism: as it was simulated (joints closed, misfit bridged); model: the same in natural
    coordinates; start: the record at t = 0, if there was a run; asked: what was asked for; outcome: what
    the method found, in units of the model.
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

    # how it went

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.mechanism.name

    @property
    def status(self) -> str:
        """How the run ended, in a word: "done" if all went well."""
        # a plain word: not everything that writes files knows enums
        return self.outcome.status.value

    @property
    def message(self) -> str:
        """The same in a sentence."""
        return self.outcome.message

    @property
    def success(self) -> bool:
        """Whether the run reached its end, or the crossing or event where it was to stop."""
        return self.outcome.status.success

    @property
    def notes(self) -> list[str]:
        """What a user should know: decisions taken, crossings, near misses, bodies that went far away."""
        return [*self.outcome.notes, *self._happened]

    @cached_property
    def _happened(self) -> list[str]:
        """What the motion met, a line each; judged when first asked for."""
        met = (
            []
            if self.outcome.watch is None
            else verdict.inspection_text.tell_moments(self.crossings, self.near_singular)
        )
        located = describe_events(self.outcome.events)
        return [*met, *located, *self._held_digits(), *self._gone_far(), *self._noisy_dampers()]

    def _held_digits(self) -> Iterator[str]:
        """What is left of a tight tolerance behind crossings, where rounding and not the steps decides."""
        settings = self.settings
        tight = settings.tolerance is not None and settings.tolerance < DEFAULT_TOLERANCE
        # a run that had more digits says itself where they did not do
        doubles = not self.counters.get("extended_steps")
        series = settings.method in ("auto", "series")
        if tight and doubles and series and self.outcome.watch and self.crossings:
            yield (
                f"behind crossings a series of doubles holds some {HELD_THROUGH:g} of the mechanism's length, up "
                f"to ten times that after slow ones; a tolerance of {TIGHTEST_TOLERANCE:g} takes more digits there"
            )

    def _noisy_dampers(self) -> Iterator[str]:
        """The damper that makes most force of the velocity's error, if that is much at this tolerance."""
        size, tolerance = self.mechanism.size, self.settings.tolerance
        if tolerance is None or size == 0 or not len(self.times):
            return
        dampers = list(self._dampers(size))
        if not dampers:
            return
        off = tolerance * float(np.abs(self.rates).max(initial=0.0)) * self.model.units.length
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
        """The body that is farthest from its start, if that is many times the mechanism's size."""
        size = self.mechanism.size
        # coordinates are cheap to look at, but some are directions, which have no length
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
        """The method that did the run, or its last part, if "auto" chose."""
        return self.outcome.method or self.settings.method

    @property
    def tolerance(self) -> float | None:
        """Error aimed at, relative to the mechanism's size; None if a fixed step steered the method."""
        return self.settings.tolerance

    @property
    def step(self) -> float | None:
        """The fixed step [s]; None if a tolerance steered the method."""
        return self.settings.step

    @property
    def options(self) -> dict[str, float]:
        """Further parameters of the method."""
        return self.settings.options

    @property
    def duration(self) -> float:
        """Time that was to be simulated [s]."""
        return self.settings.duration

    @property
    def at_crossing(self) -> str:
        """What was to be done where motions meet."""
        return self.settings.at_crossing

    # what it cost

    @property
    def counters(self) -> dict[str, int]:
        """How many steps, rejected steps, factorisations and so on."""
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
        """CPU time of the solve alone [s]: no compilation, set-up, watching or recording."""
        return self.timings["solve_cpu"]

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the solve and of recording all outputs that were asked for [s]."""
        return self.timings["solve_cpu"] + self.timings["record_cpu"]

    @property
    def step_times(self) -> Floats:
        """When the steps of the method ended [s]."""
        return self.outcome.steps.times

    @property
    def step_orders(self) -> Ints:
        """Their orders."""
        return self.outcome.steps.orders

    @property
    def step_pivots(self) -> Floats:
        """The smallest relative pivot after each: small near a singular position."""
        return self.outcome.steps.pivots

    # events

    @cached_property
    def events(self) -> tuple[LocatedEvent, ...]:
        """Events that were requested (`simulate(..., events=[...])`) and occurred, in the order of time."""
        return list_events(self)

    # the motion

    def at(self, times: float | Sequence[float] | Floats) -> Result:
        """The same run at other times [s]: one, or increasing ones, within the motion.

        Everything that can be asked of a result can be asked there, exact to the tolerance of the run; the
        run has to keep its polynomials: `simulate(..., dense=True)`.
        """
        motion = self.outcome.motion
        if motion is None:
            raise ValueError(
                f"'{self.name}' was simulated without its polynomials; give dense=True to simulate to "
                "read its motion at any time"
            )
        # a run that was stopped has made steps beyond
        watch = self.outcome.watch
        end = motion.end if watch is None else min(motion.end, watch.until)
        wanted = check_times("t", np.atleast_1d(times), end, "the motion ends at")
        record = motion.at(wanted)
        for call in self.model.user_calls:
            # a user force may fail there, or be left behind by a file
            if np.isnan(record.a).any() or call.failure:
                raise MechanismError(call.failure)
        there = replace(self, outcome=replace(self.outcome, record=record, error=None))
        # what the run met does not depend on where it is read
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

        From a second, more exact run (`simulate(..., estimate_error=True)`): its maximum is good to a factor of
        two or so, too large below a tolerance of 1e-8. Methods with a fixed step always have one, from a run with
        twice the step. Else None.
        """
        error = self.outcome.error
        return None if error is None else np.asarray(error * self.model.units.length)

    @property
    def lost(self) -> float:
        """What steps that could not hold the tolerance may have lost in sum [m]; 0 if all did."""
        return self.outcome.lost * self.model.units.length

    @cached_property
    def accelerations(self) -> Floats:
        """Second rates of the natural coordinates, (n, nq); at crossings those of the motion through them."""
        a, watch = self.record.a, self.outcome.watch
        if watch is None:
            return a
        moments = [c.time for c in watch.candidates] + [0.0] * watch.singular_start
        # where J loses rank the equations of motion leave accelerations open that the motion determines
        for k in np.flatnonzero(self.record.kept == 0):
            t = float(self.times[k])
            if any(abs(t - moment) <= AT_MOMENT * watch.until for moment in moments):
                context = self._crossing_context
                if context is None:
                    return a
                found = context.acceleration(t, self.record.angles[k])
                if found is not None:
                    a = a.copy()
                    a[k] = found
        return a

    def sensitivity(self, quantity: str | Sequence[str], wrt: Any) -> Any:
        """Derivatives of quantities at all outputs with respect to parameters, by the variational equations.

        Parameters
        ----------
        quantity : str or sequence of str
            A point ("B0": position, velocity, acceleration), an energy ("kinetic energy"), "crossing times", an
            extreme ("largest B0.x"), or a quantity by its name, as for `read` ("crank angle", "B0.F").
        wrt : str, mapping or sequence of these
            The path of a number ("bodies.crank.mass", "gravity.1", "velocities.B0.0"); a coordinate of a joint's
            place ("joints.B1.at.0": everything drawn at that place moves); or a direction, a rate for each path
            ({"bodies.crank.mass": 1.0, "bodies.coupler.mass": 1.0}).

        Returns
        -------
        Sensitivity
            With `values`, `validity` and `convention`; a list of them for a list of parameters, and a list of
            these for a list of quantities.

        Raises
        ------
        MechanismError
            If the constraints forbid a direction, or forces have no derivatives.
        ValueError
            If a path or quantity is unknown, or a reaction is statically indeterminate.
        """
        return sensitivities.differentiate.of_result(self, quantity, wrt)

    # energies

    @property
    def kinetic_energy(self) -> Floats:
        """Kinetic energy at the outputs [J], shape (n,)."""
        return np.asarray(self.record.kinetic * self.model.units.energy)

    @property
    def potential_energy(self) -> Floats:
        """Potential energy at the outputs [J], shape (n,): of weight and constant forces, from the start on;
        of springs, k (l - l0)^2 / 2 + preload l; of torsions, k (angle - free angle)^2 / 2.
        """
        return np.asarray(self.record.potential * self.model.units.energy)

    @property
    def total_energy(self) -> Floats:
        """Kinetic plus potential energy at the outputs [J], shape (n,)."""
        return self.kinetic_energy + self.potential_energy

    @property
    def work(self) -> Floats:
        """Work of dampers, torques, forces that turn, user forces and drives since the start [J]."""
        return np.asarray(self.record.work * self.model.units.energy)

    @property
    def energy_balance(self) -> Floats:
        """Total energy minus work and what was put back, counted from its start [J], (n,): zero but for errors.

        So it tells what the steps gained and lost in sum, also where the method takes that back.
        """
        return np.asarray((self.record.energy - self.start.energy) * self.model.units.energy)

    @property
    def restored_energy(self) -> Floats:
        """Energy that the method put back since the start, where its steps had lost some [J], shape (n,).

        `series` holds the energy where nothing acts but weights and constant forces, on one part that is held.
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
        """Norm of the constraints at a level: "position" [m], "velocity", "acceleration"."""
        return self.norms[:, pick({word: i for i, word in enumerate(LEVELS)}, level, "level")]

    # built when first asked for

    @cached_property
    def joint_equations(self) -> JointEquations:
        """The joint equations against the twists of the bodies, by which rank and reactions are judged."""
        return verdict.joint_equations.make_joint_equations(self.mechanism)

    @cached_property
    def _loads(self) -> BodyLoads:
        return verdict.applied_wrenches.make_body_loads(self.mechanism, self.joint_equations)

    @cached_property
    def _sketch(self) -> Sketch:
        return scene_package.make_sketch(self.mechanism)

    @cached_property
    def reactions(self) -> Reactions:
        """All joint reactions at all outputs, by Newton and Euler; computed when first asked for."""
        return self.solve_reactions()

    def solve_reactions(self, stiffness: Stiffness | None = None) -> Reactions:
        """All joint reactions and driving forces at all outputs, by Newton and Euler.

        stiffness: of joints by name, (force [N/m], moment [N m/rad]). What rigid bodies leave open is then
        shared as by elastic joints; joints not named are rigid. Without it, shared values are of least norm.
        """
        states = (self.coordinates, self.rates, self.accelerations)
        solver = verdict.reactions.ReactionSolver(
            self.joint_equations, self.model.body_rows, self._loads, stiffness
        )
        return verdict.reactions.solve_reactions(
            solver, self.times, states, self._run_tolerance, self._crossing_context
        )

    def reaction(
        self, joint: str, body: str | None = None, *, stiffness: Stiffness | None = None
    ) -> Reaction:
        """Force [N] and moment about its point [N m] that a joint or drive exerts on a body, over time.

        The joint's point is that of `position(joint)`, also where the joint slides. body: one of the joint's
        bodies, the second one named if left out (so: on the second, from the first). At a pin of three or more
        bodies the forces on them differ, also in magnitude: `largest_on` of the reaction has the largest on each,
        `reactions.on_each(joint)` all of them. Components that rigid bodies do not determine are flagged;
        stiffness: as for `solve_reactions`, which is the one to call for several joints.
        """
        found = self.reactions if stiffness is None else self.solve_reactions(stiffness)
        return found.of(joint, body)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """The instants at which the mobility rises, in the order of time; judged when first asked for.

        Raises ValueError if the motion was not watched.
        """
        return self._moments[0]

    @property
    def near_singular(self) -> tuple[NearMiss, ...]:
        """The instants at which a singular position is passed closely, not met."""
        return self._moments[1]

    @cached_property
    def verdict(self) -> Verdict:
        """Mobility and redundancy at the start and over the motion, crossings; made when first asked for."""
        watch = self.outcome.watch
        return verdict.verdict.make_verdict(
            self.mechanism,
            self.model.body_rows,
            self.joint_equations,
            self.method,
            self.times,
            self.coordinates,
            self.rates,
            self.norms[:, 0],
            None if watch is None else self._moments,
            np.inf if watch is None else watch.until,
        )

    @property
    def branches(self) -> Branches:
        """The motions that meet at the last crossing: where the run stopped, if it was told to.

        Raises ValueError if no crossing was met.
        """
        if not self.crossings:
            raise ValueError(f"'{self.name}' met no crossing, so there are no branches")
        return self.crossings[-1].branches

    @cached_property
    def _moments(self) -> tuple[tuple[Crossing, ...], tuple[NearMiss, ...]]:
        watch = self.outcome.watch
        if watch is None:
            raise ValueError(
                f"the run of '{self.name}' was not watched for crossings: {self.message}"
            )
        motion = verdict.crossings.RunOutputs(self.times, self.energy_balance, self.norms[:, 0])
        candidates = watch.candidates if self.success else watch.passed
        crossings, misses = verdict.candidates.judge_candidates(
            self.model, self.joint_equations, watch, candidates, motion, self._run_tolerance
        )
        listed = verdict.crossings.ListedMoments
        return listed(crossings), listed(misses)

    @cached_property
    def _crossing_context(self) -> CrossingContext | None:
        """What reactions at crossings are limits of; None if there are none, or the run was not monitored."""
        watch = self.outcome.watch
        if watch is None or not self.crossings:
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
        """Outputs so close to a crossing that forces are limits along the motion."""
        context = self._crossing_context
        none = np.zeros(len(self.times), dtype=bool)
        return none if context is None else context.are_near(self.times)

    @property
    def _run_tolerance(self) -> float:
        """The tolerance of the run, or what a method with a fixed step can tell from zero."""
        return FIXED_STEP if self.tolerance is None else self.tolerance

    @property
    def marks(self) -> tuple[scene_package.Mark, ...]:
        """What is marked on the time line: crossings and near misses, with their sentences."""
        if self.outcome.watch is None:
            return ()
        named = [(scene_package.CROSSING, c) for c in self.crossings] + [
            (scene_package.NEAR, c) for c in self.near_singular
        ]
        marks = [scene_package.Mark(float(c.time), word, str(c)) for word, c in named]
        return tuple(sorted(marks, key=lambda mark: mark.time))

    @cached_property
    def scene(self) -> Scene:
        """Where everything that is drawn is, at the outputs; computed when first asked for."""
        # a picture needs no more, and memory has an end
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
        """Columns by name with unit: time, place, velocity and acceleration of points, what is read of joints,
        springs, torsions and drives, energies, violations.

        names: of joints, points, bodies, springs, torsions or drives; all but bodies if left out. reactions:
        also what their joints exert on the second body ("A0.Fx [N]"), with the flag "A0.shared [1]"; at
        pins of three or more bodies, on each of them ("C on crank.Fx [N]").
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
        """Raise an error with the nearest names for one that nothing has."""
        known = {name: name for name in (*self.model.points, *self.read_names)}
        for name in names:
            pick(known, name, "joint, point, body, spring, torsion or drive")

    @property
    def drawn_points(self) -> list[str]:
        """Names of joints and named points, in the order they were written."""
        names = [sign.name for sign in self._sketch.signs]
        return [name for name in dict.fromkeys(names) if name in self.model.points]

    def to_dataframe(self, *names: str, reactions: bool = False) -> Any:
        """The columns as a pandas data frame over time (extra: sarrus[data])."""
        return make_dataframe(self.columns(*names, reactions=reactions))

    def to_xarray(self, *names: str, reactions: bool = False) -> Any:
        """An xarray dataset: position, velocity, acceleration over time, point and axis; all other columns
        over time, by their names without units.
        """
        columns = self.columns(*names, reactions=reactions)
        points = [n for n in names if n in self.model.points] if names else self.drawn_points
        moving = {
            level: (np.stack([getattr(self, level)(n) for n in points], axis=1), unit)
            for level, (_, unit) in LEVELS.items()
            if points
        }
        told = {TIME, *point_columns(self, points)}
        scalars = {}
        for column, values in columns.items():
            if column not in told:
                name, unit = split_unit(column)
                # what has no owner is spelt as a word of Python
                scalars[name if "." in name else name.replace(" ", "_")] = (values, unit)
        return make_dataset(self.times, points, moving, scalars, self._about)

    def save(self, path: str | Path) -> Path:
        """Write everything to one HDF5 file, which `sarrus.load_result` reads back to the last bit."""
        return save_result(path, self, {})

    def save_csv(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as CSV; the first line has names with units."""
        return save_csv(path, self.columns(*names, reactions=reactions))

    def save_parquet(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as Parquet (extra: sarrus[data])."""
        return save_parquet(path, self.columns(*names, reactions=reactions), self._about)

    def save_hdf5(self, path: str | Path, *names: str, reactions: bool = False) -> Path:
        """Write the columns as datasets of an HDF5 file, each with its unit."""
        return save_hdf5(path, self.columns(*names, reactions=reactions), self._about)

    def save_drawing(self, path: str | Path, *points: str, time: float | None = None) -> Path:
        """Write the linkage and the paths of points as a drawing at full scale: .dxf or .svg; in the plane.

        points: names of joints, points or bodies whose paths are drawn; time: of the picture [s], the start if
        left out, else the output next to it.
        """
        cad = scene_package.cad
        self._check_outputs("draw")
        k = 0 if time is None else int(np.argmin(np.abs(self.scene.times - time)))
        curves = {name: self.position(name) for name in points}
        return cad.save_drawing(path, cad.make_drawing(self._sketch, self.scene.points[k], curves))

    def save_gltf(self, path: str | Path) -> Path:
        """Write the bodies and their motion as glTF (.gltf, or .glb in binary), which viewers and Blender play."""
        cad = scene_package.cad
        self._check_outputs("write")
        every = max(1, -(-len(self.times) // len(self.scene.times)))
        rows = self.model.body_rows
        places = [self.position(name)[::every] for name in rows.names]
        centers = np.stack([np.pad(x, ((0, 0), (0, 3 - x.shape[1]))) for x in places], axis=1)
        turns = read_turns(rows, self.coordinates[::every])
        return cad.save_gltf(Path(path), self.scene, centers, turns)

    def quantity(self, what: str) -> Quantity:
        """Any quantity by its name: "motor torque", "B.vx", "C on crank.F", "rocker angle", "total energy"."""
        return read_quantity(self, what)

    def plot(
        self,
        *names: str,
        over: str = "time",
        degrees: bool = True,
        ax: Any = None,
        compare: Result | Sequence[Result] = (),
    ) -> Any:
        """A matplotlib figure: the mechanism at its end, and what is named over time or another quantity.

        Parameters
        ----------
        names
            Quantities ("motor torque", "C on crank.F", "rocker.angular acceleration", "energy drift") or parts,
            of which all readings are drawn; what drives and springs do and the first points that move if
            left out.
        over
            The quantity of the horizontal axis: "time", "crank angle", "piston travel", ...
        degrees
            Whether angles are drawn in degrees.
        ax
            Axes of matplotlib to draw the quantities into, instead of a figure; it is returned.
        compare
            Other results, drawn with dashed lines.
        """
        notebook = scene_package.notebook_view
        if len(names) == 1 and not isinstance(names[0], str):
            # a list of names will do
            names = tuple(names[0])
        others = [compare] if isinstance(compare, Result) else list(compare)
        panels = self._panels(names)
        sides = [notebook.read_side(r, panels, over, degrees) for r in (self, *others)]
        if ax is not None:
            return notebook.draw_into(ax, sides)
        parts = [name for name in names if name in self.model.points]
        seen = parts or ([] if names else self.moving_points())
        scene = self.scene.observing(seen[0]) if seen else self.scene
        return notebook.make_figure(scene, sides)

    def _panels(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Quantities that are drawn together, by the label of their panel; names: as for `plot`."""
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

    @property
    def exerting(self) -> list[str]:
        """Names of what exerts a force or torque that is read: drives, springs, torsions."""
        forced = ("[N]", "[N m]")
        whose = {name for name, what, _ in self._readings() if what.endswith(forced)}
        return [
            *self.model.readings.drives,
            *(n for n in self.read_names if n in whose - set(self.model.readings.drives)),
        ]

    def animate(self, point: str | None = None) -> Player:
        """The moving picture, with the path of a point; a notebook shows it, `save` writes a page."""
        self._check_outputs("show")
        names = self.moving_points()[:1] if point is None else [point]
        return scene_package.player.Player(self.scene.observing(names[0]) if names else self.scene)

    def _check_outputs(self, verb: str) -> None:
        """Raise ValueError if there is nothing to draw, show or write."""
        if not len(self.times):
            raise ValueError(f"'{self.name}' has no outputs to {verb}: {self.message}")

    def moving_points(self) -> list[str]:
        """Named points that move, then joints that do."""
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
    """Write a result, and with it groups of further arrays, which `storage.load_arrays` reads."""
    parts = {name: getattr(result, name) for name in STORED}
    return save_parts(path, result.mechanism, result.model, parts, groups)


@suggests
def load_result(path: str | Path, *, verify: bool = True) -> Result:
    """Read a result that `Result.save` wrote; everything can be asked of it that could be before.

    verify: compare the bytes with the digest that was written with them; a file that has none is read in a child
    process first, since damaged bytes can keep the HDF5 library busy for ever.
    Raises SavedResultError with a sentence if the file holds none, or was changed. User forces are Python
    functions, which no file holds: what needs them again says so.
    """
    mechanism, model, parts = load_parts(path, STORED, verify)
    return Result(mechanism, model, **parts)
