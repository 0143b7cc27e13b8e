"""The same mechanism larger or smaller, faster or slower at the start, under more or less gravity."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from .errors import MechanismError
from .mechanism import Body, Mechanism


def vary(
    mechanism: Mechanism, *, size: float = 1.0, speed: float = 1.0, gravity: float = 1.0
) -> Mechanism:
    """A copy with all lengths times `size`, start velocities times `speed`, weight times `gravity`.

    Masses stay what they are, so inertias grow with the square of the size.
    """
    if not size > 0:
        raise MechanismError(f"size = {size:g}; give a positive factor")
    if size != 1 and mechanism.drives:
        raise MechanismError(
            f"mechanism '{mechanism.name}' has drives, whose lengths are functions of time; keep its size"
        )
    new = copy(mechanism)
    new.gravity = gravity * mechanism.gravity
    new.bodies = [_scaled(body, size) for body in mechanism.bodies]
    new._own = {id(new.ground), *map(id, new.bodies)}
    new.joints = [
        replace(
            j,
            at=None if j.at is None else size * j.at,
            places=None if j.places is None else tuple(size * p for p in j.places),
        )
        for j in mechanism.joints
    ]
    new.markers = [replace(m, at=size * m.at) for m in mechanism.markers]
    new.forces = [replace(f, at=size * f.at) for f in mechanism.forces]
    new.springs = [
        replace(s, ends=(size * s.ends[0], size * s.ends[1]), free_length=size * s.free_length)
        for s in mechanism.springs
    ]
    new.velocities = [(name, speed * v) for name, v in mechanism.velocities]
    new.angular_velocities = [(name, speed * w) for name, w in mechanism.angular_velocities]
    return new


def _scaled(body: Body, size: float) -> Body:
    return replace(
        body,
        center=size * body.center,
        inertia=size**2 * body.inertia,
        ends=None if body.ends is None else (size * body.ends[0], size * body.ends[1]),
        section=size * body.section,
    )
