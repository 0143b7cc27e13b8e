"""Mechanisms made of others: with bodies moved, larger or faster, without drives. The old one stays."""

from __future__ import annotations

import numpy as np

from .elements import Moves
from .errors import MechanismError
from .mechanism import Mechanism


def move_bodies(mechanism: Mechanism, moves: Moves, *, closed: bool = True) -> Mechanism:
    """A new mechanism with bodies moved by name; what is not moved is the same to the last bit.

    Rods, joint places and axes, points, ends of springs, places of forces and directions fixed in a body
    go along; velocities stay as given. closed: the bodies meet in their joints, so each joint gets one
    place; else the places of its bodies are kept apart.
    """
    return mechanism.mapped(lambda part: part.moved(moves, closed))


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
    new = mechanism.mapped(lambda part: part.scaled(size))
    new.gravity = gravity * mechanism.gravity
    new.velocities = [(name, speed * v) for name, v in mechanism.velocities]
    spins = mechanism.angular_velocities
    new.angular_velocities = [(name, np.asarray(speed * w)) for name, w in spins]
    return new


def without_drives(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with its drives left out: they count from wherever it stands at the start."""
    if not mechanism.drives:
        return mechanism
    out = mechanism.copy()
    out.drives.clear()
    return out


def loosen_rods(mechanism: Mechanism) -> Mechanism:
    """Plain bodies instead of the rods whose joints a bridged misfit has put beside them."""
    bodies = {b.name: b for b in mechanism.bodies}
    beside = {
        name
        for joint in mechanism.joints
        if joint.at is not None
        for name in joint.bodies
        if name in bodies and bodies[name].measure_off_rod(joint.at)[0]
    }
    out = mechanism.copy()
    out.bodies = [b.loosened() if b.name in beside else b for b in mechanism.bodies]
    return out
