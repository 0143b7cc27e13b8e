"""LoadRows as linear forms with elements on them; constant forces as part of Q.

The model's units: a force [N] is times length / energy, a torque [N m] 1 / energy, a stiffness [N/m]
length^2 / energy. Elements and their formulas: kernels/forces.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kernels.user_function import UserCall
from ..mechanism import Joint, Mechanism
from ..mechanism.forces import BODY
from .reduce import Row

# a direction from the joint to the body's centre serves as its own mark if it is this long (of its length)
LONG = 1e-3


@dataclass(frozen=True)
class Features:
    """How points and vectors of bodies are written: three rows over q, and the value at the start.

    point(body, place [m]), vector(body, direction): in the model's units and directions; fixed(body):
    the one direction about which the body turns, if that is so; turn: world to model directions;
    world(body, place): rows of its place in world metres.
    """

    point: Callable[[str, Floats], tuple[list[Row], Floats]]
    vector: Callable[[str, Floats], tuple[list[Row], Floats]]
    fixed: Callable[[str], list[Floats]]
    world: Callable[[str, Floats], list[Row]]
    turn: Floats
    length: float
    energy: float


@dataclass
class LoadRows:
    """Rows of the load forms with their starts, and the elements on them; Q: what is constant."""

    Q: Floats
    rows: list[Row] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    lines: list[tuple[int, list[float]]] = field(default_factory=list)
    angles: list[tuple[int, list[float]]] = field(default_factory=list)
    products: list[tuple[int, int, float]] = field(default_factory=list)
    users: list[tuple[UserCall, int]] = field(default_factory=list)
    user_factor: float = 1.0

    def add(self, rows: list[Row], starts: Floats) -> int:
        """Append forms; returns the number of the first."""
        first = len(self.rows)
        self.rows += rows
        self.starts += [float(x) for x in starts]
        return first

    def arrays(self) -> dict[str, Any]:
        """The arrays of the kernels' `Loads` that belong to loads."""
        F = _compress(self.rows)
        entries = [
            *((a + i, a + j) for a, _ in self.lines for i in range(3) for j in range(3)),
            *((a + i, a + j) for a, _ in self.angles for i in range(9) for j in range(9)),
            *((a, b) for a, b, _ in self.products),
            *(
                (first + i, first + j)
                for call, first in self.users
                for i in range(call.shape[0] * call.shape[1])
                for j in range(call.shape[0] * call.shape[1])
            ),
        ]
        return {
            **F,
            "f0": np.array(self.starts, dtype=float),
            "line_f": _ints([a for a, _ in self.lines]),
            "line": np.array([p for _, p in self.lines], dtype=float).reshape(-1, 4),
            "angle_f": _ints([a for a, _ in self.angles]),
            "angle": np.array([p for _, p in self.angles], dtype=float).reshape(-1, 4),
            "pr_a": _ints([a for a, _, _ in self.products]),
            "pr_b": _ints([b for _, b, _ in self.products]),
            "pr_c": np.array([c for _, _, c in self.products], dtype=float),
            "user": _ints([[u.address, a, *u.shape] for u, a in self.users]).reshape(-1, 4),
            "user_c": np.full(len(self.users), self.user_factor),
            "G_row": _ints([i for i, _ in entries]),
            "G_col": _ints([j for _, j in entries]),
        }


def joint_triad(mechanism: Mechanism, joint: Joint) -> tuple[Floats, Floats, Floats]:
    """Axis of a revolute joint, u across it and b = axis x u, in world directions.

    u points to the centre of the second body if it can: most bodies have that direction in their frame.
    """
    axis = np.array([0.0, 0.0, 1.0])
    if joint.axis is not None:
        axis = in_space(joint.axis) / np.linalg.norm(joint.axis)
    across = np.eye(3)[int(np.argmin(np.abs(axis)))]
    second = next((b for b in mechanism.bodies if b.name == joint.bodies[1]), None)
    if second is not None and joint.at is not None:
        arm = in_space(second.center - joint.at)
        rest = arm - (axis @ arm) * axis
        if np.linalg.norm(rest) > LONG * np.linalg.norm(arm):
            across = rest
    u = across - (axis @ across) * axis
    u /= np.linalg.norm(u)
    return axis, u, np.cross(axis, u)


def load_needs(mechanism: Mechanism) -> Iterator[tuple[str, Floats | None, list[Floats]]]:
    """What frames must be able to express: of a body a place [m], or directions."""
    joints = {j.name: j for j in mechanism.joints}
    for spring in mechanism.springs:
        for body, at in zip(spring.bodies, spring.ends, strict=True):
            yield body, at, []
    for force in mechanism.forces:
        along = [in_space(force.vector)] if force.fixed_in == BODY else []
        yield force.body, force.at, along
    for torque in mechanism.torques:
        if mechanism.dimension == 2:
            yield torque.body, None, [np.eye(3)[0]]
        elif np.any(torque.vector):
            yield torque.body, None, list(_triad(torque.vector))
    for torsion in mechanism.torsions:
        joint = joints[torsion.joint]
        _, u, b = joint_triad(mechanism, joint)
        yield joint.bodies[0], None, [u, b]
        yield joint.bodies[1], None, [u]


def collect_loads(
    mechanism: Mechanism, features: Features, points: dict[str, tuple[str, Floats]], nq: int
) -> LoadRows:
    """All loads of a mechanism; points: body and place of what user forces may name."""
    loads = LoadRows(np.zeros(nq), user_factor=1.0 / features.energy)
    newton, length, energy = features.length / features.energy, features.length, features.energy
    joints = {j.name: j for j in mechanism.joints}
    for force in mechanism.forces:
        rows, start = features.point(force.body, force.at)
        value = features.turn @ in_space(force.vector) * newton
        if force.fixed_in == BODY:
            a = loads.add(rows, start)
            b = loads.add(*features.vector(force.body, in_space(force.vector)))
            loads.products += [(a + i, b + i, newton) for i in range(3)]
        else:
            for row, x in zip(rows, value, strict=True):
                for i, c in row.items():
                    loads.Q[i] += c * x
    for torque in mechanism.torques:
        vector = torque.vector
        if mechanism.dimension == 2:
            vector = np.array([0.0, 0.0, float(torque.vector)])
        if np.any(vector):
            _add_torque(loads, features, torque.body, vector, torque.fixed_in == BODY)
    for spring in mechanism.springs:
        (ra, xa), (rb, xb) = (
            features.point(body, at) for body, at in zip(spring.bodies, spring.ends, strict=True)
        )
        rows = [subtract_rows(second, first) for first, second in zip(ra, rb, strict=True)]
        elastic = length**2 / energy
        numbers = [
            spring.stiffness * elastic,
            spring.damping * elastic,
            spring.free_length / length,
            spring.preload * newton,
        ]
        loads.lines.append((loads.add(rows, xb - xa), numbers))
    for torsion in mechanism.torsions:
        joint = joints[torsion.joint]
        _, u, across = joint_triad(mechanism, joint)
        first = loads.add(*features.vector(joint.bodies[0], u))
        loads.add(*features.vector(joint.bodies[0], across))
        loads.add(*features.vector(joint.bodies[1], u))
        numbers = [
            torsion.stiffness / energy,
            torsion.damping / energy,
            torsion.free_angle,
            torsion.torque / energy,
        ]
        loads.angles.append((first, numbers))
    for user in mechanism.user_forces:
        shape = (len(user.points), mechanism.dimension)
        places = [points[name] for name in user.points]
        at = len(loads.rows)
        for body, place in places:
            loads.add(features.world(body, place), place)
        loads.users.append((UserCall(user.name, user.function, shape), at))
    return loads


def _add_torque(
    loads: LoadRows, features: Features, body: str, torque: Floats, turns: bool
) -> None:
    """A constant torque on a body, in world directions or in its own.

    about a fixed direction z      w[x] = (T . z) z x x,      x a unit vector of the body across z
    in the body, |T| = T . x1      w[x2] = |T| x3,            x1, x2, x3 an orthonormal triad of the body
    in the world                   w[xi] = 1/2 T x xi         for all three
    """
    fixed = features.fixed(body)
    if len(fixed) > 1:
        # the body cannot turn
        return
    if fixed:
        z = features.turn.T @ fixed[0]
        _, x, y = _triad(z)
        a = loads.add(*features.vector(body, x))
        b = loads.add(*features.vector(body, y))
        loads.products += [(a + i, b + i, float(torque @ z) / features.energy) for i in range(3)]
        return
    triad = _triad(torque)
    first = [loads.add(*features.vector(body, x)) for x in triad]
    if turns:
        size = float(np.linalg.norm(torque)) / features.energy
        loads.products += [(first[1] + i, first[2] + i, size) for i in range(3)]
        return
    t = features.turn @ torque / features.energy
    for a in first:
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            # (T x a)_i = T_j a_k - T_k a_j
            loads.products += [(a + i, a + k, 0.5 * t[j]), (a + i, a + j, -0.5 * t[k])]


def _triad(vector: Floats) -> tuple[Floats, Floats, Floats]:
    """Orthonormal right-handed directions, the first along a vector."""
    x = vector / np.linalg.norm(vector)
    other = np.eye(3)[int(np.argmin(np.abs(x)))]
    y = other - (x @ other) * x
    y /= np.linalg.norm(y)
    return x, y, np.cross(x, y)


def in_space(vector: Floats) -> Floats:
    """A vector of the plane as one in space."""
    return np.append(vector, 0.0) if len(vector) == 2 else vector


def subtract_rows(a: Row, b: Row) -> Row:
    """The linear form a - b."""
    out = dict(a)
    for i, c in b.items():
        out[i] = out.get(i, 0.0) - c
    return {i: c for i, c in out.items() if c != 0.0}


def _compress(rows: list[Row]) -> dict[str, Any]:
    start = np.cumsum([0, *(len(r) for r in rows)])
    return {
        "F_start": _ints(start),
        "F_col": _ints([i for r in rows for i in r]),
        "F_val": np.array([c for r in rows for c in r.values()], dtype=float),
    }


def _ints(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.int64)
