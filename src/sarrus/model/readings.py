"""Poses of bodies, springs, drives and joints of a model, read by name; made on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.configuration import BodyRows, in_space
from ..mechanism import Mechanism
from ..mechanism.forces import Spring, Torsion
from ..mechanism.motion import MotionPieces, make_pieces, moved_by
from ..mechanism.part_arrays import read_parts
from .coordinates import Coordinates, draw
from .force_forms import joint_triad
from .points import points_of_parts
from .quadratic import flatten_rows
from .rows import Rows, Units
from .vectors import UNITS, Row, Vector, combined, norm, over, subtract_rows, turned


@dataclass(frozen=True)
class ArmRows:
    """A vector between points of two bodies: world rows [m] per unit of q, and its initial value [m]."""

    rows: sparse.csr_array
    start: Floats


@dataclass(frozen=True)
class AngleRows:
    """A joint that rotates about an axis: its bodies, and axis, u and axis x u at the start (world)."""

    bodies: tuple[str, ...]
    triad: Floats

    @property
    def is_pair(self) -> bool:
        """Whether it connects exactly two bodies, so that it has one angle."""
        return len(self.bodies) == 2


@dataclass(frozen=True)
class TravelRows:
    """The travel of a slider: the component of the vector between its points along an axis of its first body."""

    body: str
    axis: Floats
    arm: ArmRows


@dataclass(frozen=True)
class DriveRows:
    """A drive: its index among the motions, its joint, its motion, and its unit of force.

    turns: whether it drives an angle; then the unit is a torque [N m], else a force [N].
    """

    number: int
    joint: str
    pieces: MotionPieces
    turns: bool
    unit: float


class Readings:
    """Everything that can be read by name besides points.

    columns: number of coordinates of the model; zero: its limit for coefficients of linear relations; kept: rows
    of models with the same numbers, since callers often rerun the same mechanism.
    """

    def __init__(
        self, mechanism: Mechanism, units: Units, columns: int, zero: float, kept: dict[str, Any]
    ) -> None:
        self._mechanism, self._units, self._columns, self._zero = mechanism, units, columns, zero
        self.kept = kept

    @cached_property
    def _coordinates(self) -> Coordinates:
        """All points and vectors as rows over the coordinates, recomputed."""
        if "coordinates" not in self.kept:
            parts = read_parts(self._mechanism)
            points = points_of_parts(self._mechanism, parts)
            self.kept["coordinates"] = draw(self._mechanism, parts, points, self._zero)
        found: Coordinates = self.kept["coordinates"]
        return found

    @cached_property
    def bodies(self) -> BodyRows:
        """The rows of the pose of all bodies: their centres, and vectors fixed in them."""
        if "bodies" not in self.kept:
            self.kept["bodies"] = self._make_bodies()
        found: BodyRows = self.kept["bodies"]
        return found

    def _make_bodies(self) -> BodyRows:
        centers: list[Row] = []
        vectors: list[Row] = []
        starts: list[Vector] = []
        owner: list[int] = []
        # with a fixed direction one vector determines the pose
        most = 1 if self._mechanism.dimension == 2 else 3
        for i, body in enumerate(self._mechanism.bodies):
            rows = self._coordinates.world(body.name, body.center)
            centers += [*rows, *({} for _ in range(3 - len(rows)))]
            rows, values = vector_rows(self._coordinates, body.name, most)
            vectors += rows
            starts += values
            owner += [i] * len(values)
        return BodyRows(
            names=tuple(b.name for b in self._mechanism.bodies),
            centers=self._matrix(centers),
            vectors=self._matrix(vectors),
            starts=np.array(starts, dtype=float).reshape(-1, 3),
            owner=np.array(owner, dtype=np.int64),
        )

    @cached_property
    def springs(self) -> dict[str, tuple[Spring, ArmRows]]:
        """Springs and the vectors between their ends."""
        return {s.name: (s, self._arm_rows(s.bodies, s.ends)) for s in self._mechanism.springs}

    @cached_property
    def torsions(self) -> dict[str, tuple[Torsion, int]]:
        """Torsion springs and their index in the run."""
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
                moved_by(make_pieces(d.motion), d.offset),
                turns[d.joint],
                energy if turns[d.joint] else newton,
            )
            for n, d in enumerate(self._mechanism.drives)
        }

    @cached_property
    def angles(self) -> dict[str, AngleRows]:
        """Joints that rotate about an axis."""
        bodies = {b.name: b for b in self._mechanism.bodies}
        return {
            j.name: AngleRows(j.bodies, np.array(joint_triad(bodies, j)))
            for j in self._mechanism.joints
            if "axis" in j.kind.row.shares
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
        """Massless links."""
        links = (j for j in self._mechanism.joints if j.kind.row.is_link)
        return {j.name: self._arm_rows(j.bodies, j.places) for j in links}

    def _arm_rows(self, bodies: tuple[str, ...], places: tuple[Floats, ...]) -> ArmRows:
        """The vector between points of two bodies."""
        world = self._coordinates.world
        first, second = (world(b, p) for b, p in zip(bodies, places, strict=True))
        rows = [subtract_rows(b, a) for a, b in zip(first, second, strict=True)]
        return ArmRows(self._matrix(rows), places[1] - places[0])

    def _matrix(self, rows: list[Row]) -> sparse.csr_array:
        return Rows(*flatten_rows(rows), self._columns).matrix


def vector_rows(coordinates: Coordinates, body: str, most: int) -> tuple[list[Row], list[Vector]]:
    """Rows and initial unit values of vectors fixed in a body, both in world directions."""
    frame, back = coordinates.skeleton.frame(body), coordinates.skeleton.space.back
    if frame is None:
        return [{} for _ in range(9)], [turned(back, u) for u in UNITS]
    rows: list[Row] = [{} for _ in range(3 * len(frame.directions))]
    starts = [turned(back, d) for d in frame.directions]
    for v in frame.vectors[:most]:
        size = norm(v.start)
        to_world = [{c: x / size for c, x in row.items()} for row in back]
        rows += combined(to_world, coordinates.rows(v.linear))
        starts.append(turned(back, over(v.start, size)))
    return rows, starts
