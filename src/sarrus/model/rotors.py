"""Rotors: inertia on the relative coordinate of a joint, with the mass matrix kept constant.

    revolute                  c = u . u',  s = b . u'          T = 1/2 I (c'^2 + s'^2) = 1/2 I (rate of angle)^2
    spherical                 R_ij = u_i . u'_j                T = 1/4 I sum R_ij'^2 = 1/2 I |relative spin|^2
    prismatic, cylindrical    x = a . (p_B - p_A)              T = 1/2 m x'^2

u, b = axis x u are fixed in the first body, u' in the second, as for drives. Where one of the two bodies does
not turn, c and s are linear in q; else they are coordinates of their own with their products for equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..mechanism import Mechanism
from ..mechanism.forces import Rotor
from ..tape import Scalar
from .drives import Form, joint_forms
from .loads import Features, named_parts
from .vectors import Row

if TYPE_CHECKING:
    from .quadratic import Equations


def add_rotors(
    mechanism: Mechanism, features: Features, equations: Equations, free: int
) -> tuple[list[tuple[Row, Scalar]], int]:
    """Add the equations of all rotors; free: the first coordinate they may take.

    Returns what moves, rows over q with their inertia in the model's units, and how many coordinates were taken.
    """
    joints, bodies = named_parts(mechanism)
    moving: list[tuple[Row, Scalar]] = []
    taken = 0
    for rotor in mechanism.rotors:
        forms = joint_forms(bodies, features, joints[rotor.joint])
        # every turn changes two of three cosines
        inertia = _inertia(rotor, features) * (0.5 if len(forms) == 9 else 1.0)
        for a, b in forms:
            row = _linear(a, b)
            if row is None:
                row = {free + taken: 1.0}
                _equate(equations, a, b, row)
                taken += 1
            moving.append((row, inertia))
    return moving, taken


def _inertia(rotor: Rotor, features: Features) -> Scalar:
    if rotor.inertia:
        return rotor.inertia / features.energy
    return rotor.mass * (features.length * features.length) / features.energy


def _linear(a: Form, b: Form) -> Row | None:
    """The product of two forms as a row, if one of them is constant."""
    (rows_a, start_a), (rows_b, start_b) = a, b
    for rows, start, other in ((rows_b, start_a, rows_a), (rows_a, start_b, rows_b)):
        if not any(other):
            out: Row = {}
            for row, x in zip(rows, start, strict=True):
                for i, c in row.items():
                    out[i] = out.get(i, 0.0) + x * c
            return out
    return None


def _equate(equations: Equations, a: Form, b: Form, row: Row) -> None:
    """a . b - z = 0, z a coordinate that counts from the start."""
    (rows_a, start_a), (rows_b, start_b) = a, b
    equations.add(
        [*rows_a, row],
        (*start_a, 0.0),
        [*rows_b, {}],
        (*start_b, -1.0),
        False,
        True,
    )
