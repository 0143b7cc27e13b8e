"""The result of a simulation: times, columns, status, counters, timings, provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from .model.model import BodyRows
    from .scene import Mark, Scene, Sketch
    from .scene.player import Player
    from .verdict.joint_equations import JointEquations
    from .verdict.loads import Loads
    from .verdict.reactions import Reaction, Reactions, Stiffness

Floats = NDArray[np.float64]

LEVELS = ("position", "velocity", "acceleration")
UNITS = ("m", "m/s", "m/s^2")
# bodies times outputs of a scene
MOST_DRAWN = 2_000_000


@dataclass(frozen=True)
class Reading:
    """How coordinates are read: world displacement of each point [m] per unit of q.

    bodies: the pose of each body; equations: of its joints, and loads on it (for the reactions); sketch:
    what is drawn.
    """

    dimension: int
    points: dict[str, int]
    places: sparse.csr_array
    origins: Floats
    bodies: BodyRows
    equations: JointEquations
    loads: Loads
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
    total energy from its start [J]; status: one word ("done" if all went well), message: one sentence;
    notes: decisions taken that a user should know; counters; timings [s]; step_times, step_orders,
    step_pivots: the steps taken and the smallest relative pivot after each (small near a singular
    position).
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
    step_orders: NDArray[np.int64] = field(repr=False)
    step_pivots: Floats = field(repr=False)

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
    def marks(self) -> tuple[Mark, ...]:
        """What is marked on the time line: crossings, with their sentences."""
        from .scene import Mark

        found = getattr(self, "crossings", ()) if getattr(self, "watch", None) else ()
        return tuple(Mark(float(c.time), "crossing", str(c)) for c in found)

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

        points: names of joints, points or bodies; all joints and named points if left out.
        """
        columns = {"t [s]": self.times}
        for name in points or self.drawn_points:
            for letter, unit, values in (
                ("", "m", self.position(name)),
                ("v", "m/s", self.velocity(name)),
                ("a", "m/s^2", self.acceleration(name)),
            ):
                for i, axis in enumerate("xyz"[: values.shape[1]]):
                    columns[f"{name}.{letter}{axis} [{unit}]"] = values[:, i]
        columns["energy [J]"] = self.energy
        for level, unit in zip(LEVELS, UNITS, strict=True):
            columns[f"violation of {level} [{unit}]"] = self.violation(level)
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
            what: (np.stack([read(n) for n in names], axis=1), unit)
            for what, read, unit in (
                ("position", self.position, "m"),
                ("velocity", self.velocity, "m/s"),
                ("acceleration", self.acceleration, "m/s^2"),
            )
        }
        scalars = {"energy": (self.energy, "J")} | {
            f"violation_of_{level}": (self.violation(level), unit)
            for level, unit in zip(LEVELS, UNITS, strict=True)
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
        return self.norms[:, LEVELS.index(level)]

    @property
    def energy_drift(self) -> float:
        """Largest drift of the total energy [J]."""
        return float(np.abs(self.energy).max(initial=0.0))
