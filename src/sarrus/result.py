"""The result of a simulation: times, columns, status, counters, timings, provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

from .arrays import Floats, Ints
from .export import LEVELS, TIME, point_columns, quality_columns
from .kinematics.pose import read_spins, read_turns
from .kinematics.turns import next_to, unwrap

if TYPE_CHECKING:
    from .kinematics.pose import BodyRows
    from .methods.watch import Watch
    from .model.readings import ArmRows, Readings
    from .scene import Mark, Scene, Sketch
    from .scene.player import Player
    from .verdict.branches import Branches
    from .verdict.crossings import Crossing, NearMiss
    from .verdict.joint_equations import JointEquations
    from .verdict.loads import BodyLoads
    from .verdict.reactions import Reaction, Reactions, Stiffness
    from .verdict.verdict import Verdict

T = TypeVar("T")

# what a method with a fixed step can tell from zero, over the size of the mechanism
FIXED_STEP = 1e-6
# bodies times outputs of a scene
MOST_DRAWN = 2_000_000


@dataclass(frozen=True)
class Reading:
    """How coordinates are read: world displacement of each point [m] per unit of q.

    bodies: the pose of each body; equations: of its joints, and loads on it (for the reactions); named:
    springs, drives and joint coordinates; sketch: what is drawn.
    """

    dimension: int
    points: dict[str, int]
    places: sparse.csr_array
    origins: Floats
    bodies: BodyRows
    equations: JointEquations
    loads: BodyLoads
    named: Readings
    sketch: Sketch

    def rows(self, name: str) -> sparse.csr_array:
        """The rows of one point, or a message with the names there are."""
        if name not in self.points:
            known = ", ".join(f"'{n}'" for n in list(self.points)[:12])
            more = ", ..." if len(self.points) > 12 else ""
            raise KeyError(f"no joint, point or body is called '{name}'; known: {known}{more}")
        i = self.points[name] * self.dimension
        return self.places[i : i + self.dimension]


@dataclass(frozen=True)
class Result:
    """What a simulation found, up to where it is good.

    tolerance or step [s]: what steered the method, with its options. times [s]; energy: drift of the
    energy balance from its start [J], kinetic and potential energy minus `work`, that of dampers, torques,
    forces that turn, user forces and drives [J]; status: one word ("done" if all went well), message:
    one sentence;
    notes: decisions taken that a user should know; counters; timings [s]; step_times, step_orders,
    step_pivots: the steps taken and the smallest relative pivot after each (small near a singular
    position); at_crossing: what was to be done there.
    """

    mechanism: str
    method: str
    tolerance: float | None
    step: float | None
    options: dict[str, float]
    duration: float
    status: str
    message: str
    times: Floats
    energy: Floats
    counters: dict[str, int]
    timings: dict[str, float]
    notes: list[str]
    coordinates: Floats = field(repr=False)
    rates: Floats = field(repr=False)
    accelerations: Floats = field(repr=False)
    norms: Floats = field(repr=False)
    reading: Reading = field(repr=False)
    step_times: Floats = field(repr=False)
    step_orders: Ints = field(repr=False)
    step_pivots: Floats = field(repr=False)
    work: Floats = field(repr=False)
    torsion_angles: Floats = field(repr=False)
    drive_forces: Floats = field(repr=False)
    watch: Watch | None = field(repr=False, default=None)
    at_crossing: str = "continue"

    def __repr__(self) -> str:
        return f"<Result '{self.mechanism}': {self.status}, {self.message}>"

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the solve alone: no compilation, set-up or recording."""
        return self.timings["solve_cpu"]

    @property
    def points(self) -> list[str]:
        """Names that can be read: joints, named points, and bodies (their centres of mass)."""
        return list(self.reading.points)

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body [m], shape (n, dimension)."""
        rows = self.reading.rows(name)
        return self.reading.origins[self.reading.points[name]] + (rows @ self.coordinates.T).T

    def velocity(self, name: str) -> Floats:
        """Its velocity [m/s], shape (n, dimension)."""
        return (self.reading.rows(name) @ self.rates.T).T

    def acceleration(self, name: str) -> Floats:
        """Its acceleration [m/s^2], shape (n, dimension)."""
        return (self.reading.rows(name) @ self.accelerations.T).T

    # springs, torsions, drives

    def length(self, name: str) -> Floats:
        """Length of a spring or of a distance joint [m], shape (n,)."""
        named = self.reading.named
        arms = {k: arm for k, (_, arm) in named.springs.items()} | named.lengths
        return np.asarray(
            np.linalg.norm(self._arm(_pick(arms, name, "spring or distance joint")), axis=1)
        )

    def force(self, name: str) -> Floats:
        """Pull of a spring and damper [N], negative if it pushes, shape (n,)."""
        from .kernels.elements.spring import numbers_of, pull

        spring, rows = _pick(self.reading.named.springs, name, "spring")
        arm, speed = self._arm(rows), (rows.rows @ self.rates.T).T
        length = np.linalg.norm(arm, axis=1)
        rate = np.einsum("ij,ij->i", arm, speed) / length
        return np.asarray(pull(numbers_of(spring), length, rate))

    def torque(self, name: str) -> Floats:
        """Torque of a torsional spring, damper or joint torque on its second body [N m], shape (n,)."""
        from .kernels.elements.torsion import moment, numbers_of

        torsion, number = _pick(self.reading.named.torsions, name, "torsion")
        rate = self._angle_rates(torsion.joint)[0]
        return np.asarray(moment(numbers_of(torsion), self.torsion_angles[:, number], rate))

    def drive_force(self, name: str) -> Floats:
        """What a drive exerts along its motion: a force [N], or a torque [N m] on an angle, shape (n,).

        Positive if it pushes the second body the way the motion counts; not a number where the
        mechanism is at a singular position.
        """
        drive = _pick(self.reading.named.drives, name, "drive")
        return np.asarray(self.drive_forces[:, drive.number] * drive.unit)

    # joints and bodies

    def angle(self, joint: str) -> Floats:
        """Angle of a joint's second body seen from its first [rad], 0 at the start, shape (n,).

        Of a revolute joint of two bodies, a cylindrical or a planar one; it counts on beyond a turn.
        """
        what = "cylindrical or planar joint, or revolute one of two bodies,"
        rows = _pick(self.reading.named.angles, joint, what)
        _, u, b = rows.triad
        first, second = (self._rotations(body) for body in rows.bodies)
        mark = second @ u
        turned = np.arctan2(
            np.einsum("ij,ij->i", mark, first @ b), np.einsum("ij,ij->i", mark, first @ u)
        )
        named = self.reading.named
        for torsion, number in named.torsions.values():
            if torsion.joint == joint:
                return next_to(turned, self.torsion_angles[:, number])
        for drive in named.drives.values():
            if drive.joint == joint and drive.turns:
                return next_to(turned, np.array([drive.pieces.value(t) for t in self.times]))
        return self._unwrapped(turned, *self._angle_rates(joint), f"joint '{joint}'")

    def travel(self, joint: str) -> Floats:
        """Travel along the axis of a prismatic, cylindrical or point-on-line joint [m], 0 at the start."""
        what = "prismatic, cylindrical or point-on-line joint"
        rows = _pick(self.reading.named.travels, joint, what)
        arm = self._arm(rows.arm)
        axis = (self._rotations(rows.body) @ rows.axis)[:, : arm.shape[1]]
        return np.asarray(np.einsum("ij,ij->i", arm, axis))

    def orientation(self, body: str) -> Floats:
        """How a body has turned since the start: an angle [rad] in the plane, shape (n,), counted on
        beyond a turn; rotation matrices in space, shape (n, 3, 3).
        """
        turned = self._rotations(body)
        if self.reading.dimension == 3:
            return turned
        spin, more = self._spins(body)
        angle = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
        return self._unwrapped(angle, spin[:, 2], more[:, 2], f"body '{body}'")

    def angular_velocity(self, body: str) -> Floats:
        """Angular velocity of a body [rad/s]: shape (n,) in the plane, (n, 3) in space.

        A thin rod without joint axes has no spin about itself: it is given as 0.
        """
        spin, _ = self._spins(body)
        return spin if self.reading.dimension == 3 else spin[:, 2]

    def _arm(self, arm: ArmRows) -> Floats:
        return np.asarray(arm.start + (arm.rows @ self.coordinates.T).T)

    def _rows_of(self, body: str) -> BodyRows:
        rows = self.reading.bodies
        if body not in rows.names:
            known = ", ".join(f"'{n}'" for n in rows.names[:12])
            raise KeyError(f"no body is called '{body}'; known: {known}")
        return rows.only(body)

    def _rotations(self, body: str) -> Floats:
        """Rotation matrices of a body since the start, shape (n, 3, 3)."""
        if body == "ground":
            return np.broadcast_to(np.eye(3), (len(self.times), 3, 3))
        rows = self._rows_of(body)
        if not rows.show_turn:
            raise ValueError(
                f"body '{body}' has no orientation: it is a thin rod or a point, whose spin nothing holds"
            )
        return read_turns(rows, self.coordinates)[:, 0]

    def _spins(self, body: str) -> tuple[Floats, Floats]:
        """Angular velocity and acceleration of a body, shape (n, 3)."""
        if body == "ground":
            return np.zeros((len(self.times), 3)), np.zeros((len(self.times), 3))
        rows = self._rows_of(body)
        spin, more = read_spins(rows, self.coordinates, self.rates, self.accelerations)
        return spin[:, 0], more[:, 0]

    def _angle_rates(self, joint: str) -> tuple[Floats, Floats]:
        """Rate and second rate of the angle of a revolute joint, shape (n,)."""
        rows = self.reading.named.angles[joint]
        axis = self._rotations(rows.bodies[0]) @ rows.triad[0]
        spins = [self._spins(body) for body in rows.bodies]
        rate, more = (np.einsum("ij,ij->i", b - a, axis) for a, b in zip(*spins, strict=True))
        return rate, more

    def _unwrapped(self, angle: Floats, rate: Floats, more: Floats, what: str) -> Floats:
        """The angle with its turns counted from output to output, with the help of its rates."""
        # an output step of many turns leaves room for doubt
        counted, doubtful = unwrap(self.times, angle, rate, more)
        if doubtful.any():
            t = self.times[int(np.argmax(doubtful))]
            raise ValueError(
                f"the turns of {what} cannot be counted at t = {t:g} s: it turns too far from one "
                "output to the next; give a shorter output_step"
            )
        return counted

    @cached_property
    def reactions(self) -> Reactions:
        """All joint reactions at all outputs, by Newton and Euler; computed when first asked for."""
        return self.solve_reactions()

    def solve_reactions(self, stiffness: Stiffness | None = None) -> Reactions:
        """All joint reactions and driving forces at all outputs, by Newton and Euler.

        stiffness: of joints by name, (force [N/m], moment [N m/rad]). What rigid bodies leave open is then
        shared as by elastic joints; joints not named are rigid. Without it, shared values are of least norm.
        """
        from .verdict.reactions import solve_reactions

        r = self.reading
        states = (self.coordinates, self.rates, self.accelerations)
        return solve_reactions(r.equations, r.bodies, r.loads, self.times, states, stiffness)

    def reaction(
        self, joint: str, body: str | None = None, stiffness: Stiffness | None = None
    ) -> Reaction:
        """Force [N] and moment about its place [N m] that a joint or drive exerts on a body, over time.

        body: one of the joint's bodies, the second one named if left out (so: on the second, from the
        first). Components that rigid bodies do not determine are flagged; stiffness: as for
        `solve_reactions`, which is the one to call for several joints.
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
        from .verdict.verdict import make_verdict

        return make_verdict(
            self.reading,
            self.mechanism,
            self.method,
            self.times,
            self.coordinates,
            self.rates,
            self.norms[:, 0],
            None if self.watch is None else self._moments,
            np.inf if self.watch is None else self.watch.until,
        )

    @property
    def branches(self) -> Branches:
        """The motions that meet at the last crossing: where the run stopped, if it was told to.

        Raises ValueError if no crossing was met.
        """
        if not self.crossings:
            raise ValueError(f"'{self.mechanism}' met no crossing, so there are no branches")
        return self.crossings[-1].branches

    @cached_property
    def _moments(self) -> tuple[tuple[Crossing, ...], tuple[NearMiss, ...]]:
        from .verdict.crossings import Motion, judge_dips

        if self.watch is None:
            raise ValueError(
                f"the run of '{self.mechanism}' was not watched for crossings: {self.message}"
            )
        motion = Motion(self.times, self.energy, self.norms[:, 0])
        tolerance = FIXED_STEP if self.tolerance is None else self.tolerance
        crossings, misses = judge_dips(self.reading, self.watch, self.watch.dips, motion, tolerance)
        return tuple(crossings), tuple(misses)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What is marked on the time line: crossings and near misses, with their sentences."""
        from .scene import CROSSING, NEAR, Mark

        if self.watch is None:
            return ()
        named = [(CROSSING, c) for c in self.crossings] + [(NEAR, c) for c in self.near_singular]
        marks = [Mark(float(c.time), word, str(c)) for word, c in named]
        return tuple(sorted(marks, key=lambda mark: mark.time))

    @cached_property
    def scene(self) -> Scene:
        """Where everything that is drawn is, at the outputs; computed when first asked for."""
        from .scene import make_scene

        # a picture needs no more, and memory has an end
        every = max(1, -(-len(self.times) * len(self.reading.bodies.names) // MOST_DRAWN))
        return make_scene(
            self.reading.sketch,
            self.reading.bodies,
            self.times[::every],
            self.coordinates[::every],
            self.rates[::every],
            self.duration,
            self.marks,
        )

    def columns(self, *points: str) -> dict[str, Floats]:
        """Columns by name with unit: time, place, velocity and acceleration of points, energy, violations.

        points: names of joints, points or bodies; all joints and named points if left out, and then also
        the `readings`.
        """
        columns = {TIME: self.times} | point_columns(self, points or self.drawn_points)
        if not points:
            columns |= self.readings()
        return columns | quality_columns(self)

    def readings(self) -> dict[str, Floats]:
        """Columns by name with unit of joints, springs, torsions and drives.

        Not a number is an angle whose turns cannot be counted.
        """
        named = self.reading.named
        columns: dict[str, Floats] = {}
        for joint in named.angles:
            try:
                columns[f"{joint}.angle [rad]"] = self.angle(joint)
            except ValueError:
                columns[f"{joint}.angle [rad]"] = np.full(len(self.times), np.nan)
        columns |= {f"{joint}.travel [m]": self.travel(joint) for joint in named.travels}
        columns |= {f"{name}.length [m]": self.length(name) for name in named.lengths}
        for name in named.springs:
            columns[f"{name}.length [m]"] = self.length(name)
            columns[f"{name}.force [N]"] = self.force(name)
        columns |= {f"{name}.torque [N m]": self.torque(name) for name in named.torsions}
        for name, drive in named.drives.items():
            kind = "drive torque [N m]" if drive.turns else "drive force [N]"
            columns[f"{name}.{kind}"] = self.drive_force(name)
        return columns

    @property
    def drawn_points(self) -> list[str]:
        """Names of joints and named points, in the order they were written."""
        names = [sign.name for sign in self.reading.sketch.signs]
        return [name for name in dict.fromkeys(names) if name in self.reading.points]

    def to_dataframe(self, *points: str) -> Any:
        """The columns as a pandas data frame over time (extra: sarrus[data])."""
        from .export import make_dataframe

        return make_dataframe(self.columns(*points))

    def to_xarray(self, *points: str) -> Any:
        """An xarray dataset: position, velocity, acceleration over time, point and axis; energy; violations."""
        from .export import make_dataset

        names = list(points or self.drawn_points)
        moving = {
            level: (np.stack([getattr(self, level)(n) for n in names], axis=1), unit)
            for level, (_, unit) in LEVELS.items()
        }
        scalars = {"energy": (self.energy, "J")} | {
            f"violation_of_{level}": (self.violation(level), unit)
            for level, (_, unit) in LEVELS.items()
        }
        return make_dataset(self.times, names, moving, scalars, self._about)

    def save_csv(self, path: str | Path, *points: str) -> Path:
        """Write the columns as CSV; the first line has names with units."""
        from .export import save_csv

        return save_csv(path, self.columns(*points))

    def save_parquet(self, path: str | Path, *points: str) -> Path:
        """Write the columns as Parquet (extra: sarrus[data])."""
        from .export import save_parquet

        return save_parquet(path, self.columns(*points), self._about)

    def save_hdf5(self, path: str | Path, *points: str) -> Path:
        """Write the columns as datasets of an HDF5 file, each with its unit (extra: sarrus[data])."""
        from .export import save_hdf5

        return save_hdf5(path, self.columns(*points), self._about)

    def plot(self, *points: str) -> Any:
        """A matplotlib figure: the mechanism at its end; places of points, energy, violation over time.

        points: names, the first three that move if left out.
        """
        from .scene.notebook import make_figure

        names = points or self._first_moving()
        scene = self.scene.observing(names[0]) if names else self.scene
        places = {name: self.position(name) for name in names}
        return make_figure(scene, places, self.times, self.energy, self.violation())

    def animate(self, point: str | None = None) -> Player:
        """The moving picture, with the path of a point; a notebook shows it, `save` writes a page."""
        from .scene.player import Player

        first = self._first_moving()[:1]
        names = first if point is None else [point]
        return Player(self.scene.observing(names[0]) if names else self.scene)

    def _first_moving(self) -> list[str]:
        if not len(self.times):
            return []
        names = [n for n in self.drawn_points if np.ptp(self.position(n), axis=0).max() > 0]
        return names[:3]

    @property
    def _about(self) -> dict[str, str]:
        setting = self.tolerance if self.step is None else self.step
        return {
            "mechanism": self.mechanism,
            "method": self.method,
            "tolerance" if self.step is None else "step": f"{setting:g}",
            "status": self.status,
            "message": self.message,
        }

    def _repr_html_(self) -> str:
        from .scene.notebook import make_card

        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("method", f"{self.method}, {self.counters.get('steps', 0)} steps"),
            ("solve", f"{self.cpu_seconds * 1e3:.3g} ms CPU"),
            ("energy drift", f"{self.energy_drift:.2g} J"),
            ("violation", f"{self.violation().max(initial=0.0):.2g} m"),
            *(("note", note) for note in self.notes),
        ]
        title = f"{self.mechanism}, {self.duration:g} s"
        return make_card(title, rows, self.plot())

    def violation(self, level: str = "position") -> Floats:
        """Norm of the constraints at a level: "position" [m], "velocity", "acceleration"."""
        if level not in LEVELS:
            raise ValueError(f"level '{level}' is not one of {', '.join(LEVELS)}")
        return self.norms[:, list(LEVELS).index(level)]

    @property
    def energy_drift(self) -> float:
        """Largest drift of the total energy [J]."""
        return float(np.abs(self.energy).max(initial=0.0))


def _pick(known: dict[str, T], name: str, what: str) -> T:
    """An entry by its name, or a message with the names there are."""
    if name not in known:
        names = ", ".join(f"'{n}'" for n in list(known)[:12]) or "none"
        raise KeyError(f"no {what} is called '{name}'; known: {names}")
    return known[name]
