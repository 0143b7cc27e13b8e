"""The model: a mechanism in natural coordinates, as frozen arrays, and how parts are read of it by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kernels.elements.user import UserCall
from ..kernels.layout import Form
from ..kernels.loads import Loads
from ..kinematics.constraints import Constraints
from ..kinematics.pose import BodyRows, in_space
from ..mechanism import Mechanism
from ..mechanism.forces import Spring, Torsion
from ..mechanism.motion import MotionPieces, make_pieces
from ..names import pick
from .loads import Features, joint_triad, subtract_rows
from .quadratic import sparse_from_rows


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


@dataclass(frozen=True)
class Readings:
    """All that can be read by name besides points and bodies; torsions with their place in the run."""

    springs: dict[str, tuple[Spring, ArmRows]]
    torsions: dict[str, tuple[Torsion, int]]
    drives: dict[str, DriveRows]
    angles: dict[str, AngleRows]
    travels: dict[str, TravelRows]
    lengths: dict[str, ArmRows]


def make_readings(mechanism: Mechanism, features: Features, nq: int) -> Readings:
    """The readings of a checked mechanism."""

    def arm(bodies: tuple[str, ...], places: tuple[Floats, ...]) -> ArmRows:
        first, second = (features.world(b, p) for b, p in zip(bodies, places, strict=True))
        rows = [subtract_rows(b, a) for a, b in zip(first, second, strict=True)]
        return ArmRows(sparse_from_rows(rows, nq), places[1] - places[0])

    newton = features.energy / features.length
    turns = {j.name: j.kind.row.coordinate == "angle" for j in mechanism.joints}
    return Readings(
        springs={s.name: (s, arm(s.bodies, s.ends)) for s in mechanism.springs},
        torsions={t.name: (t, n) for n, t in enumerate(mechanism.torsions)},
        drives={
            d.name: DriveRows(
                n,
                d.joint,
                make_pieces(d.motion),
                turns[d.joint],
                features.energy if turns[d.joint] else newton,
            )
            for n, d in enumerate(mechanism.drives)
        },
        angles={
            j.name: AngleRows((j.bodies[0], j.bodies[1]), np.array(joint_triad(mechanism, j)))
            for j in mechanism.joints
            if "axis" in j.kind.row.shares and len(j.ends) == 2
        },
        travels={
            j.name: TravelRows(
                j.bodies[0],
                in_space(j.axis) / np.linalg.norm(j.axis),
                arm(j.bodies, (j.at, j.at)),
            )
            for j in mechanism.joints
            if j.kind.row.on_line and j.axis is not None and j.at is not None
        },
        lengths={j.name: arm(j.bodies, j.places) for j in mechanism.joints if j.kind.row.is_link},
    )


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
