"""The model: a mechanism in natural coordinates, as frozen arrays."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import sparse

from ..arrays import Floats
from ..kernels.layout import Form
from ..kernels.loads import Loads
from ..kernels.user_function import UserCall
from ..kinematics.constraints import Constraints
from ..kinematics.pose import BodyRows
from ..names import pick
from .readings import Readings


@dataclass(frozen=True)
class Units:
    """What one unit of the model is: lengths in `length` metres, masses in `mass` kilograms."""

    length: float
    mass: float

    @property
    def energy(self) -> float:
        """One model unit of energy in joules (time is in seconds)."""
        return self.mass * self.length**2


@dataclass(frozen=True)
class Model:
    """The quadratic form of a mechanism and what is needed to read its coordinates.

    Coordinates q are displacements from the start position, in model units, so q = 0 at the start.
    points: name of each readable point; rows dimension * i ... of `places` give its world
    displacement [m] per unit of q; origins: its world place at the start [m]. body_vectors: for bodies
    with a given angular velocity, vectors fixed in them: rows (3 each) and unit starts, world.
    body_rows: the pose of all bodies; readings: springs, drives and joints by name; drive_rates: rate
    of the right side of each equation at the start; user_calls: functions behind the user forces.
    """

    name: str
    dimension: int
    units: Units
    form: Form
    loads: Loads
    points: dict[str, int]
    places: sparse.csr_array
    origins: Floats
    body_vectors: dict[str, tuple[sparse.csr_array, Floats]]
    body_rows: BodyRows
    readings: Readings
    drive_rates: Floats
    user_calls: tuple[UserCall, ...] = ()

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
        i = pick(self.points, name, "joint, point or body") * self.dimension
        return self.places[i : i + self.dimension]

    def origin(self, name: str) -> Floats:
        """World place of a point at the start [m], shape (dimension,)."""
        return self.origins[pick(self.points, name, "joint, point or body")]

    def jacobian(self) -> sparse.csr_array:
        """J at the start position."""
        return Constraints(self.form).start_jacobian()

    def mass_matrix(self) -> sparse.csr_array:
        """M, constant."""
        f = self.form
        shape = (self.coordinates, self.coordinates)
        return sparse.csr_array((f.M_val, f.M_col, f.M_start), shape=shape)
