"""The model: a mechanism in natural coordinates, as frozen arrays, with access to its parts by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kernels.applied_forces import Loads
from ..kernels.elements.user import UserCall
from ..kernels.layout import Form
from ..kinematics.configuration import BodyRows
from ..kinematics.constraints import Constraints
from ..mechanism import Mechanism
from ..names import pick
from ..thresholds import ZERO_COEFFICIENT
from .readings import Readings
from .rows import Rows, Units

if TYPE_CHECKING:
    from .structure import Structure


@dataclass(frozen=True)
class Model:
    """The quadratic form of a mechanism and the data needed to read its coordinates.

    Coordinates q are displacements from the start configuration, in model units, so q = 0 at the start.
    points: name of each readable point; rows dimension * i ... of `places` give its world displacement [m]
    per unit of q; origins: its world coordinates at the start [m]. spun: for bodies with a given angular
    velocity, vectors fixed in them: rows (3 each) and initial unit values, world. drive_rates: rate of the
    right-hand side of each equation at the start; user_calls: functions of the user forces; zero: limit for
    coefficients of linear relations. mechanism: the source of the model; body_rows (poses of all bodies) and
    readings (springs, drives and joints by name) are made from it on request.
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
    structure: Structure
    user_calls: tuple[UserCall, ...] = ()
    zero: float = ZERO_COEFFICIENT
    # all numbers of the model
    numbers: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.mechanism.name

    @property
    def places(self) -> sparse.csr_array:
        """World displacements of all points."""
        return self.place_rows.matrix

    @property
    def body_rows(self) -> BodyRows:
        """The rows of the pose of all bodies."""
        return self.readings.bodies

    @property
    def geometry(self) -> Floats:
        """All numbers of the model that do not depend on masses or gravity."""
        structure = self.structure
        which = structure.fact(
            "without masses", lambda: structure.blueprint.without_masses(len(self.numbers))
        )
        return np.asarray(self.numbers[which])

    @cached_property
    def readings(self) -> Readings:
        """Bodies, springs, drives and joints by name."""
        last, geometry = self.structure.drawn, self.geometry.tobytes()
        if last is None or last[0] != self.zero or last[1] != geometry:
            last = self.structure.drawn = self.zero, geometry, {}
        return Readings(self.mechanism, self.units, self.coordinates, self.zero, last[2])

    @property
    def coordinates(self) -> int:
        """Number of coordinates."""
        return len(self.form.Q)

    @property
    def equations(self) -> int:
        """Number of constraint equations."""
        return len(self.form.phi0)

    @property
    def loaded(self) -> bool:
        """Whether there are forces that change with the motion, or drives."""
        return len(self.loads.f0) > 0 or len(self.loads.drives.equations) > 0

    def point_rows(self, name: str) -> sparse.csr_array:
        """World displacement of a point [m] per unit of q, shape (dimension, nq)."""
        return self.rows_of(name).matrix

    def rows_of(self, name: str) -> Rows:
        """The same rows in compressed form."""
        i = pick(self.points, name, "joint, point or body") * self.dimension
        rows = self.place_rows
        start = rows.start[i : i + self.dimension + 1]
        inside = slice(int(start[0]), int(start[-1]))
        return Rows(start - start[0], rows.col[inside], rows.val[inside], rows.columns)

    def origin(self, name: str) -> Floats:
        """World coordinates of a point at the start [m], shape (dimension,)."""
        return self.origins[pick(self.points, name, "joint, point or body")]

    def jacobian(self) -> sparse.csr_array:
        """J at the start configuration."""
        return Constraints(self.form).start_jacobian()

    def start_jacobian(self) -> Floats:
        """J at the start as a dense array."""
        f, out = self.form, np.zeros((self.equations, self.coordinates))
        entry = self.structure.fact(
            "entries of J", lambda: np.repeat(np.arange(len(f.J_eq)), np.diff(f.C_start))
        )
        values = np.bincount(entry, f.C_val * f.e0[f.C_form], len(f.J_eq))
        out[f.J_eq, f.J_col] = values
        return out

    def dense_mass(self) -> Floats:
        """M as a dense array."""
        f = self.form
        return Rows(f.M_start, f.M_col, f.M_val, self.coordinates).dense()

    def times_mass(self, v: Floats) -> Floats:
        """M v."""
        f = self.form
        row = np.arange(len(v)).repeat(f.M_start[1:] - f.M_start[:-1])
        return np.asarray(np.bincount(row, f.M_val * v[f.M_col], len(v)), dtype=float)

    def mass_matrix(self) -> sparse.csr_array:
        """The constant mass matrix M."""
        f = self.form
        shape = (self.coordinates, self.coordinates)
        return sparse.csr_array((f.M_val, f.M_col, f.M_start), shape=shape)
