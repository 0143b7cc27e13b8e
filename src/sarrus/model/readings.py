"""How springs, torsions, drives and joints are read from the coordinates, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.turns import in_space
from ..mechanism import Mechanism
from ..mechanism.forces import Spring, Torsion
from ..mechanism.motion import MotionPieces, make_pieces
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
