"""Drives: equations whose right-hand side is a function of time.

    revolute                    u . u' = cos x(t),      b . u' = sin x(t)
    prismatic, cylindrical      a . (p_B - p_A) = x(t)
    distance                    1/2 |p_B - p_A|^2 = 1/2 x(t)^2

u, b = axis x u are fixed in the first body, u' in the second, and u' = u at the start. Of the two equations
of an angle and the rigidity equations of the second body, one depends on the others at every configuration.
The elimination order takes the drive equations first, so that the dependent equation is never one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kernels.elements import drive as element
from ..kernels.elements.drive import COSINE, LINEAR, SINE, SQUARE
from ..mechanism import Body, Joint, Mechanism, MechanismError
from ..mechanism.motion import MotionPieces, as_rows, make_pieces
from ..tracing import Scalar
from .force_forms import Features, joint_triad, named_parts
from .vectors import UNITS, Row, Vector, norm, subtract, subtract_rows, unit, vector

if TYPE_CHECKING:
    from .quadratic import Equations


@dataclass
class DrivenEquations:
    """Driven equations (number, kind, motion, factor, constant) and motions in the model's units."""

    equations: list[tuple[int, int, int, Scalar, Scalar]] = field(default_factory=list)
    motions: list[MotionPieces] = field(default_factory=list)
    # initial values of the motions
    starts: list[Scalar] = field(default_factory=list)

    def add(
        self, joint: Joint, kind: int, motion: int, equation: int, factor: Scalar, constant: Scalar
    ) -> None:
        """Drive an equation: factor times the function that its kind makes of the motion, minus the constant."""
        if equation < 0:
            raise MechanismError(
                f"joint '{joint.name}' is driven, but other joints prevent any motion of it; "
                "leave the drive out"
            )
        self.equations.append((equation, kind, motion, factor, constant))

    def start_rates(self, count: int) -> list[Scalar]:
        """phi0' of all equations at the start, where angles are zero."""
        rates: list[Scalar] = [0.0] * count
        for equation, kind, motion, factor, _ in self.equations:
            rate = factor * self.motions[motion].rate(0.0)
            if kind != COSINE:
                rates[equation] = rate * self.starts[motion] if kind == SQUARE else rate
        return rates

    def arrays(self, block: Any) -> element.Drives:
        """The arrays of drives for the kernels; their numbers are appended to the block."""
        floats, motions = block.take, self.motions
        width = max((p.coefficients.shape[1] for p in motions), default=1)
        rows = [row for p in motions for row in p.coefficients.tolist()]
        pieces = np.cumsum([0, *(len(p.breaks) for p in motions)])
        return element.Drives(
            equations=_ints([e[:3] for e in self.equations]).reshape(-1, 3),
            factor=floats([e[3] for e in self.equations]),
            constant=floats([e[4] for e in self.equations]),
            pieces=_ints(pieces),
            breaks=floats([b for p in motions for b in p.breaks.tolist()]),
            polynomials=floats(
                [x for row in rows for x in (*row, *[0.0] * (width - len(row)))], -1, width
            ),
            sines=floats([x for p in motions for x in (p.amplitude, p.angular, p.phase)], -1, 3),
        )


# three rows over q, and the value at the start
Form = tuple[list[Row], Vector]


def joint_forms(
    bodies: dict[str, Body], features: Features, joint: Joint
) -> list[tuple[Form, Form]]:
    """Pairs of forms whose products are the coordinates of a joint.

    They are cosine and sine of its angle, its travel, or its squared length; for a ball joint all cosines
    between both bodies.
    """
    first, second = joint.bodies
    if joint.kind.row.is_ball:
        return [
            (features.vector(first, u), features.vector(second, w)) for u in UNITS for w in UNITS
        ]
    if joint.kind.row.coordinate == "angle":
        _, u, b = joint_triad(bodies, joint)
        mark = features.vector(second, u)
        return [(features.vector(first, u), mark), (features.vector(first, b), mark)]
    travels = joint.kind.row.coordinate == "travel"
    places = joint.places if joint.at is None or not travels else [joint.at, joint.at]
    (ra, xa), (rb, xb) = (
        features.point(body, at) for body, at in zip(joint.bodies, places, strict=True)
    )
    gap = [subtract_rows(b, a) for a, b in zip(ra, rb, strict=True)], subtract(xb, xa)
    return [(features.vector(first, _axis(joint)) if travels else gap, gap)]


def coordinate_needs(mechanism: Mechanism) -> Iterator[tuple[str, Any, list[Vector]]]:
    """Points [m] or directions of driven, coupled and rotor joints that frames must be able to express."""
    ties = [name for c in mechanism.couplings for name in (c.joint, c.other)]
    constrainable = [*(limit.joint for limit in mechanism.limits), *mechanism.lockable]
    driven = [*(d.joint for d in mechanism.drives), *(r.joint for r in mechanism.rotors)]
    # sorted: the coordinates of a model do not depend on which drives act
    names = sorted({*driven, *ties, *constrainable}) if constrainable else [*driven, *ties]
    joints, bodies = named_parts(mechanism, names)
    for name in names:
        joint = joints[name]
        if joint.kind.row.is_ball:
            for body in joint.bodies:
                yield body, None, list(UNITS)
        elif joint.kind.row.coordinate == "angle":
            _, u, b = joint_triad(bodies, joint)
            yield joint.bodies[0], None, [u, b]
            yield joint.bodies[1], None, [u]
        elif joint.kind.row.coordinate == "travel":
            yield joint.bodies[0], joint.at, [_axis(joint)]
            yield joint.bodies[1], joint.at, []
        else:
            for end in joint.ends:
                yield end.body, end.place, []


def add_drives(mechanism: Mechanism, features: Features, equations: Equations) -> DrivenEquations:
    """Add the equations of all drives."""
    drives = DrivenEquations()
    joints, bodies = named_parts(mechanism, mechanism.drives)
    for drive in mechanism.drives:
        joint = joints[drive.joint]
        n, pieces = len(drives.motions), make_pieces(drive.motion)
        start: Scalar = 0.0
        coordinate = joint.kind.row.coordinate
        forms = joint_forms(bodies, features, joint)
        if coordinate == "angle":
            for (a, b), kind in zip(forms, (COSINE, SINE), strict=True):
                drives.add(joint, kind, n, *equations.add(*a, *b, False, True))
        elif coordinate == "travel":
            pieces = _scaled(pieces, 1.0 / features.length)
            [(axis, gap)] = forms
            drives.add(joint, LINEAR, n, *equations.add(*axis, *gap, False, True))
        else:
            pieces = _scaled(pieces, 1.0 / features.length)
            [(gap, _)] = forms
            k, factor, constant = equations.add(*gap, *gap, True, True)
            drives.add(joint, SQUARE, n, k, 2.0 * factor, constant)
            start = norm(gap[1])
        # the deviation of the motion at the start is rounding, as the check has ensured
        offset = drive.offset if coordinate == "angle" else drive.offset / features.length
        drives.motions.append(replace(pieces, coefficients=_shifted(pieces, start + offset)))
        drives.starts.append(start)
    return drives


def _axis(joint: Joint) -> Vector:
    assert joint.axis is not None
    return unit(vector(joint.axis))


def _scaled(pieces: MotionPieces, factor: Scalar) -> MotionPieces:
    coefficients, amplitude = pieces.coefficients * factor, pieces.amplitude * factor
    return replace(pieces, coefficients=coefficients, amplitude=amplitude)


def _shifted(pieces: MotionPieces, start: Scalar) -> Floats:
    by = start - pieces.value(0.0)
    return as_rows([[first + by, *rest] for first, *rest in pieces.coefficients.tolist()])


def _ints(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.int64)
