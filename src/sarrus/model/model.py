"""The model: a mechanism in natural coordinates, as frozen arrays, and how parts are read of it by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints
from ..kernels.elements.user import UserCall
from ..kernels.layout import Form
from ..kernels.loads import Loads
from ..kinematics.constraints import Constraints
from ..kinematics.pose import BodyRows, in_space
from ..mechanism import Mechanism
from ..mechanism.forces import Spring, Torsion
from ..mechanism.motion import MotionPieces, make_pieces
from ..names import pick
from .loads import joint_triad


@dataclass(frozen=True)
class ArmRows:
    """A vector between points of two bodies: world rows [m] per unit of q, and its start [m]."""

    rows: sparse.csr_array
    start: Floats


@dataclass(frozen=True)
class AngleRows:
    """The angle of a joint about its axis: its bodies, and axis, u and axis x u at the start (world)."""

    bodies: tuple[str, str]
    triad: Floats


@dataclass(frozen=True)
class TravelRows:
    """The travel of a slider: the arm between its points along an axis of its first body."""

    body: str
    axis: Floats
    arm: ArmRows


@dataclass(frozen=True)
class DriveRows:
    """A drive: its place among the motions, its joint, its motion, and its unit of force.

    turns: whether it drives an angle; the unit is a torque [N m] then, else a force [N].
    """

    number: int
    joint: str
    pieces: MotionPieces
    turns: bool
    unit: float


class Readings:
    """All that can be read by name besides points and bodies; made when it is asked for."""

    def __init__(self, mechanism: Mechanism, units: Units, arm: Callable[..., Rows]) -> None:
        self._mechanism, self._units, self._arm = mechanism, units, arm

    @cached_property
    def springs(self) -> dict[str, tuple[Spring, ArmRows]]:
        """Springs and the vectors between their ends."""
        return {s.name: (s, self._arm_rows(s.bodies, s.ends)) for s in self._mechanism.springs}

    @cached_property
    def torsions(self) -> dict[str, tuple[Torsion, int]]:
        """Torsions with their place in the run."""
        return {t.name: (t, n) for n, t in enumerate(self._mechanism.torsions)}

    @cached_property
    def drives(self) -> dict[str, DriveRows]:
        """Drives and their motions."""
        energy, newton = self._units.energy, self._units.energy / self._units.length
        turns = {j.name: j.kind.row.coordinate == "angle" for j in self._mechanism.joints}
        return {
            d.name: DriveRows(
                n,
                d.joint,
                make_pieces(d.motion),
                turns[d.joint],
                energy if turns[d.joint] else newton,
            )
            for n, d in enumerate(self._mechanism.drives)
        }

    @cached_property
    def angles(self) -> dict[str, AngleRows]:
        """Joints of two bodies that turn about an axis."""
        bodies = {b.name: b for b in self._mechanism.bodies}
        return {
            j.name: AngleRows((j.bodies[0], j.bodies[1]), np.array(joint_triad(bodies, j)))
            for j in self._mechanism.joints
            if "axis" in j.kind.row.shares and len(j.ends) == 2
        }

    @cached_property
    def travels(self) -> dict[str, TravelRows]:
        """Joints that slide along an axis."""
        return {
            j.name: TravelRows(
                j.bodies[0],
                in_space(j.axis) / np.linalg.norm(j.axis),
                self._arm_rows(j.bodies, (j.at, j.at)),
            )
            for j in self._mechanism.joints
            if j.kind.row.on_line and j.axis is not None and j.at is not None
        }

    @cached_property
    def lengths(self) -> dict[str, ArmRows]:
        """Links without mass."""
        links = (j for j in self._mechanism.joints if j.kind.row.is_link)
        return {j.name: self._arm_rows(j.bodies, j.places) for j in links}

    def _arm_rows(self, bodies: tuple[str, ...], places: tuple[Floats, ...]) -> ArmRows:
        return ArmRows(self._arm(bodies, places).matrix, places[1] - places[0])


@dataclass(frozen=True)
class Units:
    """What one unit of the model is: lengths in `length` metres, masses in `mass` kilograms."""

    length: float
    mass: float

    @property
    def energy(self) -> float:
        """One model unit of energy in joules (time is in seconds)."""
        return self.mass * (self.length * self.length)


@dataclass(frozen=True)
class Rows:
    """Rows over the coordinates, compressed."""

    start: Ints
    col: Ints
    val: Floats
    columns: int

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The same as a sparse matrix."""
        shape = (len(self.start) - 1, self.columns)
        return sparse.csr_array((self.val, self.col, self.start), shape=shape)

    def dense(self) -> Floats:
        """The same as an array."""
        out = np.zeros((len(self.start) - 1, self.columns))
        out[np.repeat(np.arange(len(out)), np.diff(self.start)), self.col] = self.val
        return out


@dataclass(frozen=True)
class Model:
    """The quadratic form of a mechanism and what is needed to read its coordinates.

    Coordinates q are displacements from the start position, in model units, so q = 0 at the start.
    points: name of each readable point; rows dimension * i ... of `places` give its world
    displacement [m] per unit of q; origins: its world place at the start [m]. spun: for bodies
    with a given angular velocity, vectors fixed in them: rows (3 each) and unit starts, world. drive_rates: rate
    of the right side of each equation at the start; user_calls: functions behind the user forces. mechanism:
    what it was made of; body_rows, the pose of all bodies, and readings, springs, drives and joints by name, are
    made of it when somebody asks.
    """

    mechanism: Mechanism
    dimension: int
    units: Units
    form: Form
    loads: Loads
    points: dict[str, int]
    place_rows: Rows
    origins: Floats
    spun: dict[str, tuple[Rows, Floats]]
    drive_rates: Floats
    user_calls: tuple[UserCall, ...] = ()

    @property
    def name(self) -> str:
        """That of the mechanism."""
        return self.mechanism.name

    @property
    def places(self) -> sparse.csr_array:
        """World displacements of all points."""
        return self.place_rows.matrix

    @cached_property
    def body_rows(self) -> BodyRows:
        """The pose of all bodies."""
        from .build import make_body_rows

        return make_body_rows(self, self._drawn)

    @cached_property
    def readings(self) -> Readings:
        """Springs, drives and joints by name."""
        from .build import make_arm

        return Readings(self.mechanism, self.units, lambda *arm: make_arm(self, self._drawn, *arm))

    @cached_property
    def _drawn(self) -> Any:
        """All points and vectors as rows over the coordinates, once more."""
        from .build import draw

        return draw(self.mechanism)

    @property
    def coordinates(self) -> int:
        """How many coordinates there are."""
        return len(self.form.Q)

    @property
    def equations(self) -> int:
        """How many constraint equations there are."""
        return len(self.form.phi0)

    @property
    def loaded(self) -> bool:
        """Whether there is more than constant forces: loads that change with the motion, or drives."""
        return len(self.loads.f0) > 0 or len(self.loads.drives.equations) > 0

    def point_rows(self, name: str) -> sparse.csr_array:
        """World displacement of a point [m] per unit of q, shape (dimension, nq)."""
        return self.rows_of(name).matrix

    def rows_of(self, name: str) -> Rows:
        """The same as they are kept."""
        i = pick(self.points, name, "joint, point or body") * self.dimension
        rows = self.place_rows
        start = rows.start[i : i + self.dimension + 1]
        inside = slice(int(start[0]), int(start[-1]))
        return Rows(start - start[0], rows.col[inside], rows.val[inside], rows.columns)

    def origin(self, name: str) -> Floats:
        """World place of a point at the start [m], shape (dimension,)."""
        return self.origins[pick(self.points, name, "joint, point or body")]

    def jacobian(self) -> sparse.csr_array:
        """J at the start position."""
        return Constraints(self.form).start_jacobian()

    def start_jacobian(self) -> Floats:
        """The same as an array."""
        f, out = self.form, np.zeros((self.equations, self.coordinates))
        entry = np.repeat(np.arange(len(f.J_eq)), np.diff(f.C_start))
        values = np.bincount(entry, f.C_val * f.e0[f.C_form], len(f.J_eq))
        out[f.J_eq, f.J_col] = values
        return out

    def dense_mass(self) -> Floats:
        """M as an array."""
        f = self.form
        return Rows(f.M_start, f.M_col, f.M_val, self.coordinates).dense()

    def mass_matrix(self) -> sparse.csr_array:
        """M, constant."""
        f = self.form
        shape = (self.coordinates, self.coordinates)
        return sparse.csr_array((f.M_val, f.M_col, f.M_start), shape=shape)
