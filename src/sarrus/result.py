"""The result of a simulation: the evaluated run, and its tables, files and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import scene as scene_package
from . import sensitivities
from .arrays import Floats
from .evaluated_run import EvaluatedRun
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
from .kinematics.configuration import read_turns, rows_in_space
from .names import all_suggest, pick, suggests
from .quantities import Quantity, draw_quantity, read_quantity
from .storage import load_parts, save_parts

if TYPE_CHECKING:
    from .scene import Scene
    from .scene.player import Player

# fields stored in a file in addition to mechanism and model
STORED = ("start", "settings", "outcome")
# most panels of a figure when no quantity is named
MOST_PANELS = 4
# most bodies times outputs of a scene
MOST_DRAWN = 2_000_000


@all_suggest
@dataclass(frozen=True, eq=False)
class Result(EvaluatedRun):
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

    def __repr__(self) -> str:
        return f"<Result '{self.name}': {self.status}, {self.message}>"

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
        centers = np.stack([rows_in_space(x) for x in places], axis=1)
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
