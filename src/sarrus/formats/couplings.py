"""Joints whose coordinates are tied to each other: what of it welds and massless links can say."""

from __future__ import annotations

import numpy as np

from ..thresholds import SAME_COUPLED
from .parts import (
    DISTANCE,
    PRISMATIC,
    REVOLUTE,
    WELD,
    Connection,
    Coupling,
    Parts,
    Placement,
    frame_along,
    turn_about,
)


def take_couplings(parts: Parts) -> None:
    """Replace coupled joints where that is exact; the others are told as dropped."""
    for coupling in parts.couplings:
        joints = {c.name: c for c in parts.connections}
        joint, other = joints.get(coupling.joint), joints.get(coupling.other)
        c0, *rest = coupling.coefficients
        if joint is not None and joint.kind in (REVOLUTE, PRISMATIC) and not any(rest):
            _hold(parts, joint, c0)
        elif joint is None or other is None or not _together(parts, coupling, joint, other):
            parts.report.drop(
                "couplings of joints that no joint here equals (each leaves one freedom more)",
                f"{coupling.name} ({coupling.joint} = {_polynomial(coupling)})",
            )


def _hold(parts: Parts, joint: Connection, value: float) -> None:
    """A joint that is held at a value: a weld."""
    first = joint.frames[0]
    shift = np.array([0.0, 0.0, value])
    if joint.kind == REVOLUTE:
        held = first @ Placement(turn_about(np.array([0.0, 0.0, 1.0]), value), np.zeros(3))
    else:
        held = first @ Placement(np.eye(3), shift)
    # springs and rotors of a joint that is held do nothing
    weld = Connection(joint.name, WELD, joint.first, joint.second, (held, joint.frames[1]), True)
    _swap(parts, joint, weld)
    parts.report.changed.append(f"joint '{joint.name}' is held at {value:g}")


def _together(parts: Parts, coupling: Coupling, joint: Connection, other: Connection) -> bool:
    """Two joints of one body whose axes are parallel and which move alike."""
    c0, c1, *rest = coupling.coefficients
    if c0 or any(rest) or joint.first != other.first or joint.kind != other.kind:
        return False
    a, b = joint.frames[0], other.frames[0]
    if np.linalg.norm(a.axis * c1 - b.axis) > SAME_COUPLED or joint.kind not in (
        REVOLUTE,
        PRISMATIC,
    ):
        return False
    # both bodies as they stand to each other where both joints are at zero
    stand = (b @ other.frames[1].inverse).inverse @ (a @ joint.frames[1].inverse)
    offset = a.place - b.place
    across = offset - b.axis * float(b.axis @ offset)
    apart = float(np.linalg.norm(across))
    pair = (other.second, joint.second)
    if joint.kind == PRISMATIC or apart < SAME_COUPLED:
        weld = Connection(coupling.name, WELD, *pair, (stand, Placement()))
        if joint.stiffness or joint.damping:
            parts.report.drop("springs or damping of joints that were replaced", joint.name)
        other.armature += joint.armature
        _swap(parts, joint, weld)
        parts.report.changed.append(
            f"coupling '{coupling.name}': '{joint.name}' and '{other.name}' move as one body"
        )
        return True
    links = []
    for k in range(2):
        # the same arm on both, so that the links stay parallel; two, as one would fold
        arm = apart * b.turn[:, k]
        ends = (
            other.frames[1] @ b.inverse @ frame_along(b.axis, b.place + arm),
            joint.frames[1] @ a.inverse @ frame_along(b.axis, b.place + across + arm),
        )
        links.append(
            Connection(f"{coupling.name} {k + 1}", DISTANCE, *pair, ends, True, length=apart)
        )
    parts.connections.extend(links)
    parts.report.changed.append(
        f"coupling '{coupling.name}' of '{joint.name}' and '{other.name}' is two massless parallel links "
        "(one of their equations is redundant)"
    )
    return True


def _swap(parts: Parts, joint: Connection, other: Connection) -> None:
    if joint.motion is not None:
        raise parts.refuse(
            f"joint '{joint.name}' is driven and held or coupled as well: leave one out"
        )
    at = next(k for k, c in enumerate(parts.connections) if c is joint)
    parts.connections[at] = other


def _polynomial(coupling: Coupling) -> str:
    words = [
        f"{c:g}" + ("" if k == 0 else f" {coupling.other}" + (f"^{k}" if k > 1 else ""))
        for k, c in enumerate(coupling.coefficients)
        if c
    ]
    return " + ".join(words) or "0"
