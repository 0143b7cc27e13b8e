"""Process coupled joints: a joint with a constant coordinate becomes a weld, two proportional ones a coupling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..mechanism.forces import Coupling as Gear
from .parts import (
    PRISMATIC,
    REVOLUTE,
    WELD,
    Connection,
    JointRelation,
    Parts,
    Placement,
    turn_about,
)


def take_couplings(parts: Parts) -> None:
    """Weld joints with a constant coordinate; reject relations that no coupling can represent."""
    kept = []
    joints = {c.name: c for c in parts.connections}
    for coupling in parts.couplings:
        joint, other = joints.get(coupling.joint), joints.get(coupling.other)
        c0, *rest = coupling.coefficients
        if joint is not None and joint.kind in (REVOLUTE, PRISMATIC) and not any(rest):
            _fix(parts, joint, c0)
            joints = {c.name: c for c in parts.connections}
            continue
        _check(parts, coupling, joint, other)
        assert joint is not None
        kept.append(_turned(coupling) if joint.motion is not None else coupling)
    parts.couplings = kept


def _check(
    parts: Parts, coupling: JointRelation, joint: Connection | None, other: Connection | None
) -> None:
    what = f"coupling '{coupling.name}' ({coupling.joint} = {_polynomial(coupling)})"
    leave = "take it out of the file to open it with one more degree of freedom"
    if joint is None or other is None or joint.kind != other.kind:
        raise parts.reject(
            f"{what} does not couple two hinges or two sliders; only these are supported; {leave}"
        )
    if any(coupling.coefficients[2:]):
        raise parts.reject(f"{what} is not linear; {leave}")
    if joint.kind not in (REVOLUTE, PRISMATIC):
        raise parts.reject(f"{what} couples joints of kind {joint.kind}; {leave}")
    if joint.motion is not None and other.motion is not None:
        raise parts.reject(f"{what}: both joints are driven; leave one drive or the coupling out")
    gear = Gear(coupling.name, coupling.joint, coupling.other, coupling.coefficients[1])
    if joint.kind == REVOLUTE and not gear.has_teeth:
        raise parts.reject(
            f"{what}: {gear.ratio!r} is not a ratio of whole numbers (of teeth; the nearest is "
            f"{gear.fraction}); other ratios are not supported; {leave}"
        )


def _turned(coupling: JointRelation) -> JointRelation:
    """Return the coupling solved for the other joint, so that the driven joint is the independent one."""
    c0, c1, *_ = coupling.coefficients
    return replace(
        coupling, joint=coupling.other, other=coupling.joint, coefficients=(-c0 / c1, 1.0 / c1)
    )


def _fix(parts: Parts, joint: Connection, value: float) -> None:
    """Replace a joint with a constant coordinate by a weld."""
    first = joint.frames[0]
    shift = np.array([0.0, 0.0, value])
    if joint.kind == REVOLUTE:
        frame = first @ Placement(turn_about(np.array([0.0, 0.0, 1.0]), value), np.zeros(3))
    else:
        frame = first @ Placement(np.eye(3), shift)
    if joint.motion is not None:
        raise parts.reject(f"joint '{joint.name}' is driven and also fixed: leave one out")
    # Springs and rotors of a fixed joint have no effect.
    weld = Connection(joint.name, WELD, joint.first, joint.second, (frame, joint.frames[1]), True)
    at = next(k for k, c in enumerate(parts.connections) if c is joint)
    parts.connections[at] = weld
    parts.report.changed.append(f"joint '{joint.name}' is fixed at {value:g}")


def _polynomial(coupling: JointRelation) -> str:
    words = [
        f"{c:g}" + ("" if k == 0 else f" {coupling.other}" + (f"^{k}" if k > 1 else ""))
        for k, c in enumerate(coupling.coefficients)
        if c
    ]
    return " + ".join(words) or "0"
