"""Joint coordinates in the model: rotors, which are inertia on joints, and couplings, which relate joints.

    revolute                  c = u . u' = cos x,  s = b . u' = sin x
    prismatic, cylindrical    x = a . (p_B - p_A)
    spherical                 R_ij = u_i . u'_j

u, b = axis x u are fixed in the first body, u' in the second, as for drives. If one of the two bodies does
not rotate, these are linear in q; otherwise they are additional coordinates whose equations are these
products.

A rotor keeps the mass matrix constant:

    revolute                  T = 1/2 I (c'^2 + s'^2) = 1/2 I (rate of angle)^2
    spherical                 T = 1/4 I sum R_ij'^2 = 1/2 I |relative spin|^2
    prismatic, cylindrical    T = 1/2 m x'^2

A coupling of travels is x = r y. A coupling of angles is x = (m / n) y. With y = n f and the angle f as
additional coordinates (c_f and s_f, of length 1; for n = 1 f is y),

    sin(n f - y) = s_nf c_y - c_nf s_y = 0,      sin(m f - x) = 0.

Multiples of f follow from the sines and cosines of sums, each with its products as equations. The sine of a
difference is regular at every angle. It also vanishes at half a turn, which does not matter because it
starts at zero. Each coupling adds one more equation than coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..arrays import plain_sum
from ..mechanism import Mechanism, MechanismError
from ..mechanism.forces import Coupling, Rotor
from ..mechanism.joints import Joint
from ..tracing import Scalar
from .drives import joint_forms
from .force_forms import Features, named_parts
from .vectors import Row, add_row

if TYPE_CHECKING:
    from .quadratic import Equations

# vectors: rows over q of their components, and their values at the start
Form = tuple[list[Row], Sequence[Scalar]]
# a number: its row over q, and its value at the start
Number = tuple[Row, Scalar]
# cosine and sine
Angle = tuple[Number, Number]


def add_joint_coordinates(
    mechanism: Mechanism, features: Features, equations: Equations, free: int
) -> tuple[list[tuple[Row, Scalar]], int]:
    """Add the equations of all rotors and couplings; free: the first free coordinate index.

    Returns the rows over q of the rotor motions with their inertia in the model's units, and the number of
    coordinates added.
    """
    adding = _Adding(mechanism, features, equations, free)
    moving = [part for rotor in mechanism.rotors for part in adding.rotor(rotor)]
    for coupling in mechanism.couplings:
        adding.coupling(coupling)
    return moving, adding.free - free


class _Adding:
    def __init__(
        self, mechanism: Mechanism, features: Features, equations: Equations, free: int
    ) -> None:
        self.features, self.equations = features, equations
        parts = [*mechanism.rotors, *mechanism.couplings]
        self.joints, self.bodies = named_parts(mechanism, parts)
        self.free = free
        self.known: dict[str, list[Number]] = {}

    def rotor(self, rotor: Rotor) -> list[tuple[Row, Scalar]]:
        """Rows that move with a rotor."""
        numbers = self.numbers(rotor.joint)
        length = self.features.length
        inertia = rotor.inertia or rotor.mass * (length * length)
        # every rotation of a ball joint changes two of three cosines
        share = 0.5 if len(numbers) == 9 else 1.0
        return [(row, share * inertia / self.features.energy) for row, _ in numbers]

    def coupling(self, coupling: Coupling) -> None:
        """Couple two joints."""
        joint, other = (self.joints[name] for name in (coupling.joint, coupling.other))
        if joint.kind.row.coordinate == "travel":
            tied = self._tie_travels(joint, other, coupling.ratio)
        else:
            x, f = self._angle(coupling.joint), self._angle(coupling.other)
            m, n = coupling.fraction.as_integer_ratio()
            if n > 1:
                y, f = f, (self._coordinate(1.0), self._coordinate(0.0))
                rows, starts = _vector(*f)
                self.equations.add(rows, starts, rows, starts, True, True)
                self._tie(self._multiple(f, n), y)
            tied = self._tie(self._multiple(f, abs(m)), x if m > 0 else _mirrored(x))
        if tied < 0:
            raise MechanismError(
                f"coupling '{coupling.name}': '{coupling.joint}' and '{coupling.other}' cannot move at all; "
                "leave it out"
            )

    def numbers(self, joint: str) -> list[Number]:
        """The coordinates of a joint as numbers of the model: linear ones, or additional coordinates."""
        if joint not in self.known:
            found = []
            for a, b in joint_forms(self.bodies, self.features, self.joints[joint]):
                row = _linear(a, b)
                found.append((row, _dot(a[1], b[1])) if row is not None else self._product(a, b))
            self.known[joint] = found
        return self.known[joint]

    def _angle(self, joint: str) -> Angle:
        cosine, sine = self.numbers(joint)
        # exactly the initial value of every angle, whatever the rounding of the triad
        return (cosine[0], 1.0), (sine[0], 0.0)

    def _tie_travels(self, joint: Joint, other: Joint, ratio: float) -> int:
        """x - ratio y = 0, as one sum of products."""
        [(axis, gap)], [(axis2, gap2)] = (
            joint_forms(self.bodies, self.features, j) for j in (joint, other)
        )
        turned = [{i: -ratio * c for i, c in row.items()} for row in axis2[0]]
        number, _, _ = self.equations.add(
            [*axis[0], *turned],
            [*axis[1], *(-ratio * x for x in axis2[1])],
            [*gap[0], *gap2[0]],
            [*gap[1], *gap2[1]],
            False,
            True,
        )
        return number

    def _tie(self, a: Angle, b: Angle) -> int:
        """sin(a - b) = 0."""
        (ca, sa), (cb, sb) = a, b
        number, _, _ = self.equations.add(*_vector(sa, _minus(ca)), *_vector(cb, sb), False, True)
        return number

    def _multiple(self, f: Angle, n: int) -> Angle:
        """n f, by sums of doubled angles."""
        total: Angle | None = None
        while True:
            if n % 2:
                total = f if total is None else self._sum(total, f)
            n //= 2
            if not n:
                assert total is not None
                return total
            f = self._sum(f, f)

    def _sum(self, a: Angle, b: Angle) -> Angle:
        (ca, sa), (cb, sb) = a, b
        cosine = self._product(_vector(ca, _minus(sa)), _vector(cb, sb))
        return cosine, self._product(_vector(sa, ca), _vector(cb, sb))

    def _product(self, a: Form, b: Form) -> Number:
        """An additional coordinate z for a . b, relative to the start: a . b - z = its initial value."""
        (rows_a, start_a), (rows_b, start_b) = a, b
        z = self._coordinate(_dot(start_a, start_b))
        self.equations.add(
            [*rows_a, z[0]],
            [*start_a, 0.0],
            [*rows_b, {}],
            [*start_b, -1.0],
            False,
            True,
        )
        return z

    def _coordinate(self, start: Scalar) -> Number:
        self.free += 1
        return {self.free - 1: 1.0}, start


def _vector(*numbers: Number) -> tuple[list[Row], list[float]]:
    return [row for row, _ in numbers], [start for _, start in numbers]


def _minus(number: Number) -> Number:
    row, start = number
    return {i: -c for i, c in row.items()}, -start


def _mirrored(angle: Angle) -> Angle:
    cosine, sine = angle
    return cosine, _minus(sine)


def _linear(a: Form, b: Form) -> Row | None:
    """The product of two forms as a row, if one of them is constant."""
    (rows_a, start_a), (rows_b, start_b) = a, b
    for rows, start, other in ((rows_b, start_a, rows_a), (rows_a, start_b, rows_b)):
        if not any(other):
            out: Row = {}
            for row, x in zip(rows, start, strict=True):
                add_row(out, x, row)
            return {i: c for i, c in out.items() if c != 0.0}
    return None


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return plain_sum((x * y for x, y in zip(a, b, strict=True)), 0.0)
