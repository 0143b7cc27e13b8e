"""Rigid bodies, and named points on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..thresholds import ON_ROD
from ..tracing import UNUSABLE, eigen, is_finite, is_usable, larger, largest, length_of, sqrt
from .elements import Element, MechanismError, Moves, NameRegistry, plain, same_bits, show
from .polygons import convex_hull, measure_polygon


@dataclass(frozen=True, eq=False)
class Body(Element):
    """A rigid body at the initial configuration.

    mass [kg]; center: centre of mass [m]; inertia about it [kg m^2]: a number in the plane, a 3 x 3
    matrix in world axes in space; ends and section [m]: only if the body is a rod; corners [m], shape (n, 2): only
    if it is a plate.
    """

    mass: float
    center: Floats
    inertia: Floats
    ends: tuple[Floats, Floats] | None = None
    section: float = 0.0
    corners: Floats | None = None

    @property
    def length(self) -> float:
        """Length of a rod [m]; 0 for other bodies."""
        return 0.0 if self.ends is None else length_of(*(end.tolist() for end in self.ends))

    @property
    def what(self) -> str:
        """Its name for messages."""
        return f"rod '{self.name}'" if self.ends else f"body '{self.name}'"

    def moved(self, moves: Moves, closed: bool) -> Body:
        """At its new position; a rod is rebuilt from its ends, a plate from its corners."""
        if self.name not in moves:
            return self
        move = moves[self.name]
        if self.ends is not None:
            a, b = (move.place(e) for e in self.ends)
            inertia = rod_inertia(self.mass, b - a, self.section)
            return replace(self, center=0.5 * (a + b), inertia=inertia, ends=(a, b))
        if self.corners is not None:
            return make_plate(self.name, np.array([move.place(c) for c in self.corners]), self.mass)
        inertia = self.inertia
        if inertia.ndim == 2:
            inertia = move.turn @ inertia @ move.turn.T
            inertia = 0.5 * (inertia + inertia.T)
        return replace(self, center=move.place(self.center), inertia=inertia)

    def scaled(self, size: float) -> Body:
        """Scaled at constant mass: inertias grow with the square of the size."""
        return replace(
            self,
            center=size * self.center,
            inertia=np.asarray(size**2 * self.inertia),
            ends=None if self.ends is None else (size * self.ends[0], size * self.ends[1]),
            section=size * self.section,
            corners=None if self.corners is None else size * self.corners,
        )

    def as_body(self) -> Body:
        """A general body of the same mass, centre and inertia."""
        return replace(self, ends=None, section=0.0, corners=None)

    def measure_off_rod(self, place: Floats) -> tuple[float, Floats]:
        """Distance of a point from a rod [m], 0 within rounding, and the nearest point of the rod."""
        if self.ends is None or any(e.shape != place.shape for e in self.ends):
            return 0.0, place
        p, a, b = (x.tolist() for x in (place, *self.ends))
        if isinstance(p[0], float) and p in (a, b):
            return 0.0, place
        d = [y - x for x, y in zip(a, b, strict=True)]
        square = plain_sum(x * x for x in d)
        if not (is_finite(square) and square > 0):
            return 0.0, place
        along = plain_sum((x - y) * z for x, y, z in zip(p, a, d, strict=True)) / square
        along = larger(0.0, -larger(-1.0, -along))
        nearest = [x + along * y for x, y in zip(a, d, strict=True)]
        gap = length_of(p, nearest)
        # points far from the origin carry rounding errors of their magnitude
        rounding = ON_ROD * sqrt(square) + 8e-16 * largest(abs(x) for x in p)
        return (gap, np.array(nearest)) if gap > rounding else (0.0, place)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its mass, and of its ends or its centre and inertia."""
        what = self.what
        if not is_usable(self.mass):
            yield f"{what}: mass {self.mass} {UNUSABLE}; give a positive number of kilograms"
        elif self.mass <= 0:
            yield f"{what}: mass {self.mass:g} kg; a body needs a positive mass"
        if self.ends:
            yield from self._rod_problems(known, self.ends)
            return
        bad = list(known.vector(self.center, f"{what}, center"))
        yield from bad
        if not bad:
            yield from self._inertia_problems(known)

    def _rod_problems(self, known: NameRegistry, ends: tuple[Floats, Floats]) -> Iterator[str]:
        bad = [
            line
            for end, place in zip(("start", "end"), ends, strict=True)
            for line in known.vector(place, f"{self.what}, {end}")
        ]
        yield from bad
        if not bad:
            a, b = ends[0].tolist(), ends[1].tolist()
            if length_of(a, b) <= 1e-12 * largest((abs(x) for x in (*a, *b)), 1e-300):
                yield (
                    f"{self.what}: length zero, both ends at {show(ends[0])}; move an end, "
                    "or use body() for a point mass"
                )
        if not (is_usable(self.section) and self.section >= 0):
            yield (
                f"{self.what}: section {self.section:g} m; give the side of a square, or leave it out"
            )

    def _inertia_problems(self, known: NameRegistry) -> Iterator[str]:
        what, planar = self.what, known.dimension == 2
        if self.inertia.shape != (() if planar else (3, 3)):
            need = "one number" if planar else "3 or 3 x 3 numbers"
            yield f"{what}: inertia has shape {self.inertia.shape}; this mechanism needs {need}"
        elif not all(map(is_usable, self.inertia.ravel().tolist())):
            yield f"{what}: inertia {show(self.inertia.ravel())} {UNUSABLE}; give finite numbers"
        elif planar and self.inertia < 0:
            yield (
                f"{what}: inertia {float(self.inertia):g} kg m^2 is negative; give a positive number, or "
                "leave it out"
            )
        elif not planar:
            size = largest(abs(x) for x in self.inertia.ravel().tolist())
            skew = largest(abs(x) for x in (self.inertia - self.inertia.T).ravel().tolist())
            if skew > 1e-9 * size:
                yield f"{what}: the inertia matrix is not symmetric (by {skew:g} kg m^2); check its entries"
            elif self._worst_moment() < -1e-9 * size:
                principal = np.linalg.eigvalsh(self.inertia)
                yield (
                    f"{what}: no body has principal inertias {show(principal)} kg m^2: the largest "
                    "exceeds the sum of the others, or one is negative; check the matrix and its centre"
                )

    def _worst_moment(self) -> float:
        """Smallest second moment of mass about the centre; negative for an impossible inertia."""
        half = 0.5 * (self.inertia[0, 0] + self.inertia[1, 1] + self.inertia[2, 2])
        moments = (half * np.eye(3) - 0.5 * (self.inertia + self.inertia.T)).tolist()
        return eigen(moments)[0][0]

    def data(self) -> dict[str, Any]:
        """A rod by its ends, a plate by its corners, another body by its centre; zero inertia is omitted."""
        if self.corners is not None:
            again = make_plate(self.name, self.corners, self.mass)
            if same_bits(again.center, self.center) and same_bits(again.inertia, self.inertia):
                return {"plate": [plain(c) for c in self.corners], "mass": float(self.mass)}
        if self.ends is None:
            inertia = self.inertia
            entry = {"mass": float(self.mass), "center": plain(self.center)}
            diagonal = inertia.shape == (3, 3) and same_bits(np.diag(np.diag(inertia)), inertia)
            if not same_bits(inertia, np.zeros(inertia.shape)):
                entry["inertia"] = plain(np.diag(inertia) if diagonal else inertia)
            return entry
        again = make_rod(self.name, *self.ends, self.mass, self.section)
        if not (same_bits(again.center, self.center) and same_bits(again.inertia, self.inertia)):
            raise MechanismError(
                f"body '{self.name}' has the ends of a rod but not its centre or inertia, which a file "
                "cannot hold; make it with rod() or body()"
            )
        entry = {"rod": [plain(end) for end in self.ends], "mass": float(self.mass)}
        return {**entry, "section": float(self.section)} if self.section else entry


@dataclass(frozen=True, eq=False)
class Marker(Element):
    """A named point of one body."""

    body: str
    at: Floats

    def moved(self, moves: Moves, closed: bool) -> Marker:
        """Moved with its body."""
        return replace(self, at=moves[self.body].place(self.at)) if self.body in moves else self

    def scaled(self, size: float) -> Marker:
        """With its position scaled."""
        return replace(self, at=size * self.at)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its position and body."""
        what = f"point '{self.name}'"
        bad = list(known.vector(self.at, what))
        yield from bad
        yield from known.body(self.body, what)
        if not bad:
            yield from known.on_body(self.body, self.at, what)

    def data(self) -> dict[str, Any]:
        """Its body and position."""
        return {"body": self.body, "at": plain(self.at)}


def make_rod(name: str, start: Floats, end: Floats, mass: float, section: float) -> Body:
    """A uniform rod; one with invalid data has no inertia yet, and the check reports why."""
    ends = (start, end)
    whole = start.shape == end.shape and start.shape in ((2,), (3,))
    if not (whole and all(map(is_usable, (*start.tolist(), *end.tolist(), section)))):
        return Body(name, mass, start, np.zeros(()), ends, section)
    inertia = rod_inertia(mass, end - start, section)
    return Body(name, mass, 0.5 * (start + end), inertia, ends, section)


def make_plate(name: str, corners: Floats, mass: float) -> Body:
    """A uniform flat plate, the convex polygon around its corners, which are not on one line."""
    area, center, moment = measure_polygon(convex_hull(corners))
    return Body(name, mass, center, np.asarray(mass * moment / area), corners=corners)


def rod_inertia(mass: float, d: Floats, section: float) -> Floats:
    """Inertia of a uniform rod along d, with a square section, about its centre."""
    length2 = d @ d
    if len(d) == 2:
        return np.array(mass * ((length2 + section**2) / 12.0))
    along = np.outer(d, d) / length2 if length2 > 0 else np.zeros((3, 3))
    unit = (length2 + section**2) / 12.0 * (np.eye(3) - along) + section**2 / 6.0 * along
    return mass * unit
