"""Applied forces as linear forms and elements on them; constant forces are part of Q.

Model units: a force [N] is multiplied by length / energy, a torque [N m] by 1 / energy, a stiffness [N/m] by
length^2 / energy. The elements and their formulas are in kernels/elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Ints
from ..kernels.applied_forces import Loads, list_entries
from ..kernels.elements.ball_damper import BallDampers
from ..kernels.elements.drive import Drives
from ..kernels.elements.spring import Springs
from ..kernels.elements.spring import numbers_of as spring_numbers
from ..kernels.elements.torsion import Torsions
from ..kernels.elements.torsion import numbers_of as torsion_numbers
from ..kernels.elements.turning import Turning
from ..kernels.elements.user import User, UserCall
from ..mechanism import Body, Joint, Mechanism
from ..mechanism.forces import BODY, BallDamper, Force, Spring, Torsion
from ..tracing import Scalar
from .vectors import (
    UNITS,
    Matrix,
    Row,
    Vector,
    across,
    cross,
    dot,
    norm,
    over,
    scale,
    subtract,
    subtract_rows,
    turned,
    unit,
    vector,
)

# the direction from the joint to the body's centre is used as reference if it is at least this long (relative to
# the length)
LONG = 1e-3


@dataclass(frozen=True)
class Features:
    """Points and vectors of bodies as three rows over q, and the value at the start.

    point(body, place [m]), vector(body, direction): in the model's units and directions; fixed(body): the
    only direction about which the body can turn, if there is one; turn, back: world to model directions and
    back; world(body, place): rows of the point in world metres.
    """

    point: Callable[[str, Any], tuple[list[Row], Vector]]
    vector: Callable[[str, Any], tuple[list[Row], Vector]]
    fixed: Callable[[str], list[Vector]]
    world: Callable[[str, Any], list[Row]]
    turn: Matrix
    back: Matrix
    length: Scalar
    energy: Scalar


@dataclass
class LoadRows:
    """Rows of the load forms with their initial values, and the elements on them; Q: constant part.

    Springs, torsions and ball dampers: first form and numbers; products: see `Turning`; users: call and first
    form.
    """

    Q: list[Scalar]
    rows: list[Row] = field(default_factory=list)
    starts: list[Scalar] = field(default_factory=list)
    springs: list[tuple[int, list[Scalar]]] = field(default_factory=list)
    torsions: list[tuple[int, list[Scalar]]] = field(default_factory=list)
    ball_dampers: list[tuple[int, list[Scalar]]] = field(default_factory=list)
    products: list[tuple[int, int, Scalar]] = field(default_factory=list)
    users: list[tuple[UserCall, int]] = field(default_factory=list)
    user_factor: Scalar = 1.0

    def add(self, rows: list[Row], starts: Vector) -> int:
        """Append forms; returns the index of the first."""
        first = len(self.rows)
        self.rows += rows
        self.starts += starts
        return first

    def make_loads(self, drives: Drives, block: Any) -> Loads:
        """The arrays of loads and drives for the kernels; numbers of loads are appended to the block."""
        floats = block.take
        return list_entries(
            Loads(
                F_start=_ints(np.cumsum([0, *(len(r) for r in self.rows)])),
                F_col=_ints([i for r in self.rows for i in r]),
                F_val=floats([c for r in self.rows for c in r.values()]),
                f0=floats(self.starts),
                springs=Springs(_firsts(self.springs), floats(_numbers(self.springs), -1, 4)),
                torsions=Torsions(_firsts(self.torsions), floats(_numbers(self.torsions), -1, 4)),
                ball_dampers=BallDampers(
                    _firsts(self.ball_dampers), floats(_numbers(self.ball_dampers))
                ),
                turning=Turning(
                    _ints([a for a, _, _ in self.products]),
                    _ints([b for _, b, _ in self.products]),
                    floats([c for _, _, c in self.products]),
                ),
                user=User(
                    _ints([[u.address, a, *u.shape] for u, a in self.users]).reshape(-1, 4),
                    floats([self.user_factor] * len(self.users)),
                ),
                drives=drives,
            )
        )


def joint_triad(bodies: dict[str, Body], joint: Joint) -> tuple[Vector, Vector, Vector]:
    """Axis of a revolute joint, u perpendicular to it and b = axis x u, in world directions.

    u points to the centre of the second body if possible: the frames of most bodies contain that direction.
    """
    axis = UNITS[2] if joint.axis is None else unit(vector(joint.axis))
    second = bodies.get(joint.bodies[1])
    u = None
    if second is not None and joint.at is not None:
        arm = subtract(vector(second.center), vector(joint.at))
        rest = subtract(arm, scale(dot(axis, arm), axis))
        size = norm(rest)
        if size > LONG * norm(arm):
            u = unit(subtract(rest, scale(dot(axis, rest), axis)))
    u = across(axis) if u is None else u
    return axis, u, cross(axis, u)


def load_needs(mechanism: Mechanism) -> Iterator[tuple[str, Any, list[Vector]]]:
    """A point [m] or directions of bodies that frames must be able to express."""
    parts = [*mechanism.torsions, *mechanism.ball_dampers]
    joints, bodies = named_parts(mechanism, parts)
    for spring in mechanism.springs:
        for body, at in zip(spring.bodies, spring.ends, strict=True):
            yield body, at, []
    for force in mechanism.forces:
        along = [vector(force.vector)] if force.fixed_in == BODY else []
        yield force.body, force.at, along
    for torque in mechanism.torques:
        if mechanism.dimension == 2:
            yield torque.body, None, [UNITS[0]]
        elif any(torque.vector.tolist()):
            yield torque.body, None, list(_triad(vector(torque.vector)))
    for torsion in mechanism.torsions:
        joint = joints[torsion.joint]
        _, u, b = joint_triad(bodies, joint)
        yield joint.bodies[0], None, [u, b]
        yield joint.bodies[1], None, [u]
    for damper in mechanism.ball_dampers:
        for body in joints[damper.joint].bodies:
            yield body, None, list(UNITS)


def named_parts(
    mechanism: Mechanism, for_whom: Sequence[Any]
) -> tuple[dict[str, Joint], dict[str, Body]]:
    """Joints and bodies by name; empty if they are not needed."""
    if not for_whom:
        return {}, {}
    return {j.name: j for j in mechanism.joints}, {b.name: b for b in mechanism.bodies}


def collect_loads(
    mechanism: Mechanism, features: Features, points: Mapping[str, tuple[str, Any]], nq: int
) -> LoadRows:
    """All loads of a mechanism; points: body and position of the points that user forces may name."""
    loads = LoadRows([0.0] * nq, user_factor=1.0 / features.energy)
    for force in mechanism.forces:
        _add_force(loads, features, force)
    for torque in mechanism.torques:
        if mechanism.dimension == 2:
            about: Vector = (0.0, 0.0, np.ravel(torque.vector)[0])
        else:
            about = vector(torque.vector)
        if any(about):
            _add_torque(loads, features, torque.body, about, torque.fixed_in == BODY)
    for spring in mechanism.springs:
        _add_spring(loads, features, spring)
    parts = [*mechanism.torsions, *mechanism.ball_dampers]
    joints, bodies = named_parts(mechanism, parts)
    for torsion in mechanism.torsions:
        joint = joints[torsion.joint]
        _add_torsion(loads, features, torsion, joint, joint_triad(bodies, joint))
    for damper in mechanism.ball_dampers:
        _add_ball_damper(loads, features, damper, joints[damper.joint])
    for user in mechanism.user_forces:
        places = [points[name] for name in user.points]
        call = UserCall(user.name, user.function, (len(places), mechanism.dimension))
        loads.users.append((call, len(loads.rows)))
        for body, place in places:
            loads.add(features.world(body, place), tuple(place.tolist()))
    return loads


def _add_force(loads: LoadRows, features: Features, force: Force) -> None:
    """A force of constant magnitude at a point: a product if it rotates with the body, else part of Q."""
    newton = features.length / features.energy
    rows, start = features.point(force.body, force.at)
    if force.fixed_in == BODY:
        a = loads.add(rows, start)
        b = loads.add(*features.vector(force.body, force.vector))
        loads.products += [(a + i, b + i, newton) for i in range(3)]
        return
    value = turned(features.turn, vector(force.vector))
    for row, x in zip(rows, value, strict=True):
        for i, c in row.items():
            loads.Q[i] = loads.Q[i] + c * (x * newton)


def _add_spring(loads: LoadRows, features: Features, spring: Spring) -> None:
    """The vector between the ends of a spring."""
    (ra, xa), (rb, xb) = (
        features.point(body, at) for body, at in zip(spring.bodies, spring.ends, strict=True)
    )
    rows = [subtract_rows(second, first) for first, second in zip(ra, rb, strict=True)]
    elastic = features.length * features.length / features.energy
    newton = features.length / features.energy
    stiffness, damping, free, preload = spring_numbers(spring)
    numbers = [stiffness * elastic, damping * elastic, free / features.length, preload * newton]
    loads.springs.append((loads.add(rows, subtract(xb, xa)), numbers))


def _add_torsion(
    loads: LoadRows,
    features: Features,
    torsion: Torsion,
    joint: Joint,
    triad: tuple[Vector, Vector, Vector],
) -> None:
    """Two directions of the first body perpendicular to the joint's axis, and one of the second."""
    _, u, across = triad
    first = loads.add(*features.vector(joint.bodies[0], u))
    loads.add(*features.vector(joint.bodies[0], across))
    loads.add(*features.vector(joint.bodies[1], u))
    stiffness, damping, free, torque = torsion_numbers(torsion)
    energy = features.energy
    numbers = [stiffness / energy, damping / energy, free, torque / energy]
    loads.torsions.append((first, numbers))


def _add_ball_damper(loads: LoadRows, features: Features, damper: BallDamper, joint: Joint) -> None:
    """Three directions of the first body and three of the second."""
    first = len(loads.rows)
    for body in joint.bodies:
        for direction in UNITS:
            loads.add(*features.vector(body, direction))
    loads.ball_dampers.append((first, [damper.damping / features.energy]))


def _add_torque(
    loads: LoadRows, features: Features, body: str, torque: Vector, turns: bool
) -> None:
    """A constant torque on a body, in world directions or in body directions.

    about a fixed direction z      w[x] = (T . z) z x x,      x a unit vector of the body perpendicular to z
    in the body, |T| = T . x1      w[x2] = |T| x3,            x1, x2, x3 an orthonormal triad of the body
    in the world                   w[xi] = 1/2 T x xi         for all three
    """
    fixed = features.fixed(body)
    if len(fixed) > 1:
        # the body cannot rotate
        return
    if fixed:
        z = turned(features.back, fixed[0])
        _, x, y = _triad(z)
        a = loads.add(*features.vector(body, x))
        b = loads.add(*features.vector(body, y))
        loads.products += [(a + i, b + i, dot(torque, z) / features.energy) for i in range(3)]
        return
    triad = _triad(torque)
    first = [loads.add(*features.vector(body, x)) for x in triad]
    if turns:
        size = norm(torque) / features.energy
        loads.products += [(first[1] + i, first[2] + i, size) for i in range(3)]
        return
    t = over(turned(features.turn, torque), features.energy)
    for a in first:
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            # (T x a)_i = T_j a_k - T_k a_j
            loads.products += [(a + i, a + k, 0.5 * t[j]), (a + i, a + j, -0.5 * t[k])]


def _triad(along: Vector) -> tuple[Vector, Vector, Vector]:
    """Right-handed orthonormal directions, the first along a vector."""
    x = unit(along)
    y = across(x)
    return x, y, cross(x, y)


def _firsts(elements: list[tuple[int, list[Scalar]]]) -> Ints:
    return _ints([a for a, _ in elements])


def _numbers(elements: list[tuple[int, list[Scalar]]]) -> list[Scalar]:
    return [x for _, numbers in elements for x in numbers]


def _ints(values: Any) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
