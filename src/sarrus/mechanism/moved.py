"""A mechanism with its bodies moved: everything that belongs to a body goes with it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from .check import COMMON_AXIS, ON_LINE, ON_PLANE, measure_off_rod
from .forces import BODY
from .mechanism import Body, Joint, JointKind, Mechanism, rod_inertia


@dataclass(frozen=True, eq=False)
class Move:
    """A rigid displacement: a place p goes to center + turn (p - start); start, center in metres."""

    start: Floats
    turn: Floats
    center: Floats

    def place(self, p: Floats) -> Floats:
        """Where a place of the body goes."""
        return self.center + self.turn @ (p - self.start)

    def direction(self, d: Floats) -> Floats:
        """Where a direction of the body goes; a number (a turn in the plane) stays."""
        return self.turn @ d if d.ndim else d


def move_bodies(mechanism: Mechanism, moves: dict[str, Move], *, closed: bool = True) -> Mechanism:
    """A new mechanism with bodies moved by name; what is not moved is the same to the last bit.

    Rods, joint places and axes, points, ends of springs, places of forces and directions fixed in a body
    go along; velocities stay as given. closed: the bodies meet in their joints, so each joint gets one
    place; else the places of its bodies are kept apart.
    """
    out = copy.copy(mechanism)
    out.bodies = [_body(b, moves[b.name]) if b.name in moves else b for b in mechanism.bodies]
    out.joints = [
        _joint(j, moves, closed) if moves.keys() & set(j.bodies) else j for j in mechanism.joints
    ]
    out.markers = [
        replace(m, at=moves[m.body].place(m.at)) if m.body in moves else m
        for m in mechanism.markers
    ]
    out.forces = [
        replace(
            f,
            at=moves[f.body].place(f.at),
            vector=moves[f.body].direction(f.vector) if f.fixed_in == BODY else f.vector,
        )
        if f.body in moves
        else f
        for f in mechanism.forces
    ]
    out.torques = [
        replace(t, vector=moves[t.body].direction(t.vector))
        if t.body in moves and t.fixed_in == BODY
        else t
        for t in mechanism.torques
    ]
    out.springs = [
        replace(
            s, ends=(_place(moves, s.bodies[0], s.ends[0]), _place(moves, s.bodies[1], s.ends[1]))
        )
        if moves.keys() & set(s.bodies)
        else s
        for s in mechanism.springs
    ]
    for kept in ("torsions", "user_forces", "drives", "velocities", "angular_velocities"):
        setattr(out, kept, list(getattr(mechanism, kept)))
    out._own = {id(out.ground), *(id(b) for b in out.bodies)}
    return out


def without_drives(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with its drives left out: they count from wherever it stands at the start."""
    if not mechanism.drives:
        return mechanism
    out = copy.copy(mechanism)
    out.drives = []
    return out


def loosen_rods(mechanism: Mechanism) -> None:
    """Make plain bodies of the rods whose joints a bridged misfit has put beside them; mass and all stay."""
    bodies = {b.name: b for b in mechanism.bodies}
    beside = {
        name
        for joint in mechanism.joints
        if joint.at is not None
        for name in joint.bodies
        if name in bodies and measure_off_rod(bodies[name], joint.at)[0]
    }
    mechanism.bodies = [
        replace(b, ends=None, section=0.0) if b.name in beside else b for b in mechanism.bodies
    ]
    mechanism._own = {id(mechanism.ground), *(id(b) for b in mechanism.bodies)}


def _body(body: Body, move: Move) -> Body:
    if body.ends is not None:
        a, b = (move.place(e) for e in body.ends)
        inertia = body.mass * rod_inertia(b - a, body.section)
        return replace(body, center=0.5 * (a + b), inertia=inertia, ends=(a, b))
    inertia = body.inertia
    if inertia.ndim == 2:
        inertia = move.turn @ inertia @ move.turn.T
        inertia = 0.5 * (inertia + inertia.T)
    return replace(body, center=move.place(body.center), inertia=inertia)


def _joint(joint: Joint, moves: dict[str, Move], closed: bool) -> Joint:
    places = joint.places
    if places is None and joint.at is not None:
        places = (joint.at,) * len(joint.bodies)
    moved = None
    if places is not None:
        moved = tuple(_place(moves, n, p) for n, p in zip(joint.bodies, places, strict=True))
    if joint.kind is JointKind.DISTANCE:
        return replace(joint, places=moved)
    axes = joint.axes or (joint.axis,) * len(joint.bodies)
    if not closed:
        turned = tuple(
            _direction(moves, n, a)
            for n, a in zip(joint.bodies, axes, strict=True)
            if a is not None
        )
        return replace(
            joint,
            at=None if moved is None else moved[0],
            axis=turned[0] if turned else None,
            second_axis=_second(joint, moves),
            places=moved,
            axes=turned if turned and joint.kind in COMMON_AXIS else None,
        )
    # the ground does not move: its numbers are the user's own
    owner = joint.bodies.index(Mechanism.GROUND) if Mechanism.GROUND in joint.bodies else 0
    holds = owner if joint.axes is not None or joint.kind is JointKind.REVOLUTE else 0
    axis = axes[holds]
    # where a body slides, the point is that of the second one
    at = None if moved is None else moved[1 if joint.kind in ON_LINE + ON_PLANE else owner]
    return replace(
        joint,
        at=at,
        axis=None if axis is None else _direction(moves, joint.bodies[holds], axis),
        second_axis=_second(joint, moves),
        places=None,
        axes=None,
    )


def _second(joint: Joint, moves: dict[str, Move]) -> Floats | None:
    if joint.second_axis is None:
        return None
    return _direction(moves, joint.bodies[1], joint.second_axis)


def _place(moves: dict[str, Move], body: str, p: Floats) -> Floats:
    return moves[body].place(p) if body in moves else p


def _direction(moves: dict[str, Move], body: str, d: Floats) -> Floats:
    return moves[body].direction(d) if body in moves else np.array(d)
