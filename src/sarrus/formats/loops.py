"""Find the loops of a file, and nearby dimensions with which they are mobile.

A loop whose gap was bridged may be locked by the remaining mismatch (parallelograms whose bars differ in the ninth
digit). Open chains attached to loops do not matter for that. Each part of the mechanism that no single joint
separates is examined on its own, with the body that leads to the ground as its base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from .. import verdict
from ..mechanism import LockedError, Mechanism
from ..mechanism.joints import End
from .body_builder import Builder
from .fitting import least_turn
from .parts import GROUND, Connection, Placement, read_frame


def find_looped(joints: list[Connection]) -> list[Connection]:
    """Return the joints that remain after open chains are removed from their ends."""
    left = list(joints)
    while True:
        count = Counter(n for c in left for n in (c.first, c.second))
        inner = [c for c in left if min(count[c.first], count[c.second]) > 1]
        if len(inner) == len(left):
            return left
        left = inner


def free_loops(builder: Builder, misfit: float) -> None:
    """After bridging a misfit, change the dimensions slightly so that loops meant to be mobile are mobile."""
    for joints, names in _list_loops(builder):
        _free(builder, joints, names, misfit)


def has_locked_loops(builder: Builder) -> bool:
    """Return whether loops are locked by a mismatch, and would move with some clearance in their joints."""
    for joints, names in _list_loops(builder):
        base = _base(names, _hanging(builder, joints, names))
        part = _standing(builder, joints, names, base)
        locked = verdict.locked.find_locked(verdict.joint_equations.make_joint_equations(part))
        if locked is not None and locked.nearly and not locked.exact:
            return True
    return False


def _list_loops(builder: Builder) -> Iterator[tuple[list[Connection], set[str]]]:
    """Yield joints and bodies of each part of the mechanism that no single joint separates."""
    looped = find_looped(builder.joints)
    in_loops = [
        c for c in looped if c.second in _reached(c.first, [x for x in looped if x is not c])
    ]
    while in_loops:
        names = _reached(in_loops[0].first, in_loops)
        mine = [c for c in in_loops if c.first in names]
        in_loops = [c for c in in_loops if c.first not in names]
        yield mine, names


def _hanging(builder: Builder, joints: list[Connection], names: set[str]) -> dict[str, set[str]]:
    """Return, for each body of the loops, all bodies attached to it by joints outside the loops."""
    others = [c for c in builder.joints if all(c is not x for x in joints)]
    return {name: _reached(name, others) for name in names}


def _base(names: set[str], hanging: dict[str, set[str]]) -> str:
    """Return the body of the loops that leads to the ground."""
    return next((n for n in names if GROUND in hanging[n]), min(names))


def _reached(start: str, joints: Iterable[Connection]) -> set[str]:
    """Return the bodies that can be reached through the joints."""
    at: dict[str, set[str]] = {}
    for c in joints:
        at.setdefault(c.first, set()).add(c.second)
        at.setdefault(c.second, set()).add(c.first)
    found, waiting = {start}, [start]
    while waiting:
        new = at.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _free(builder: Builder, joints: list[Connection], names: set[str], misfit: float) -> None:
    """Adjust the dimensions and body poses of loops that share bodies, and move everything attached to them."""
    hanging = _hanging(builder, joints, names)
    base = _base(names, hanging)
    part = _standing(builder, joints, names, base)
    equations = verdict.joint_equations.make_joint_equations(part)
    locked = verdict.locked.find_locked(equations)
    if locked is not None and locked.nearly and not (locked.exact or locked.within(misfit)):
        # The smallest gap of a loop that does not close is at a turning point: it cannot move from there.
        raise builder.parts.reject(
            f"loop {', '.join(c.name for c in joints)} does not close exactly where it stands, and where its "
            f"gaps are least it is locked; joints that give by {locked.misfit:.2g} m let it move: correct its "
            f"dimensions, or allow that with misfit={2.0 * locked.misfit:.0e} (--misfit), and they are "
            "changed so that it moves"
        )
    try:
        freed, notes = verdict.misfit_repair.bridge_misfit(part, equations, misfit)
    except LockedError as error:
        raise builder.parts.reject(str(error)) from error
    builder.report.closing += notes
    if freed is part:
        return
    places = {p.name: p.at for p in freed.markers}
    for name in names - {base}:
        old = builder.rigids[name].pose
        new = read_frame([places[f"frame {k} of {name}"] for k in range(4)])
        for n in hanging[name]:
            rigid = builder.rigids[n]
            rigid.pose = new @ (old.inverse @ rigid.pose)
    for c, joint in zip(joints, freed.joints, strict=True):
        frames = [
            _moved(builder.rigids[name].pose, frame, end)
            for name, frame, end in zip((c.first, c.second), c.frames, joint.ends, strict=True)
        ]
        c.frames = (frames[0], frames[1])


def _standing(builder: Builder, joints: list[Connection], names: set[str], base: str) -> Mechanism:
    """Return a mechanism of these joints alone, their bodies with marker points, one of them as the ground."""
    whole = Builder(builder.parts, builder.size)
    whole.rigids = {n: r for n, r in builder.rigids.items() if n in names or n == GROUND}
    whole.joints = joints
    tied = {c.name for c in joints}
    couplings = [c for c in builder.parts.couplings if {c.joint, c.other} <= tied]
    whole.parts = replace(builder.parts, couplings=couplings)
    m = whole.mechanism(closed=True, drives_fixed=True)
    if base == GROUND:
        return m
    part = m.copy()
    part.bodies = [b for b in m.bodies if b.name != base]
    part.markers = [p for p in m.markers if p.body != base]
    part.forces = [f for f in m.forces if f.body != base]
    part.joints = [
        replace(j, ends=tuple(replace(e, body=GROUND) if e.body == base else e for e in j.ends))
        for j in m.joints
    ]
    return part


def _moved(pose: Placement, frame: Placement, end: End) -> Placement:
    """Return the frame of a joint in its body, at the joint's new position."""
    now = pose @ frame
    turn = now.turn
    if end.axis is not None:
        axis = end.axis if end.axis @ now.axis > 0 else -end.axis
        turn = least_turn(now.axis, axis) @ turn
    return pose.inverse @ Placement(turn, now.place if end.place is None else end.place)
