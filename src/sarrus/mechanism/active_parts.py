"""Which parts of a mechanism act between two events of a run: drives, locks, resting stops, numbers of forces.

A lock, and a stop at which a joint rests, is a drive with a constant coordinate. The mechanism of a segment has
the same bodies, joints and lockable joints as the mechanism of the run, so all segments have the same coordinates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from .actions import (
    ENGAGE,
    LOCK,
    RELEASE,
    SET,
    STRENGTHS,
    SWITCH_OFF,
    SWITCH_ON,
    Action,
    lock_name,
    split_path,
)
from .elements import MechanismError
from .event_requests import Event
from .forces import Drive
from .mechanism import Mechanism
from .motion import Polynomial, make_pieces

# from joint names to their present coordinates [rad or m]
Coordinates = dict[str, float]


@dataclass(frozen=True)
class ActiveParts:
    """What acts between two events.

    released: drives that do not act; offsets: of drives that were engaged again; locks: coordinates of locked
    joints; stops: limits at whose stop a joint rests, with its side; numbers: of forces, by path; off: forces
    switched off.
    """

    released: tuple[str, ...] = ()
    offsets: dict[str, float] = field(default_factory=dict)
    locks: dict[str, float] = field(default_factory=dict)
    stops: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As JSON, which also identifies it."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> ActiveParts:
        """From JSON; raises ValueError or TypeError if it has another form."""
        given = json.loads(text)
        parts = cls(**given)
        lists, tables = (parts.released, parts.off), (parts.offsets, parts.locks, parts.stops)
        if not all(isinstance(x, list) for x in lists) or not all(
            isinstance(x, dict) for x in (*tables, parts.numbers)
        ):
            raise ValueError("the active parts of a segment have another form")
        return replace(parts, released=tuple(parts.released), off=tuple(parts.off))

    def with_stop(self, limit: str, side: str) -> ActiveParts:
        """With a joint at rest at a stop."""
        return replace(self, stops={**self.stops, limit: side})

    def without_stop(self, limit: str) -> ActiveParts:
        """With a stop that does not hold its joint."""
        return replace(self, stops={n: side for n, side in self.stops.items() if n != limit})

    def prescribed_by(self, joint: str, m: Mechanism) -> str:
        """What prescribes the coordinate of a joint: "drive 'motor'", "the lock"; empty if nothing does."""
        for drive in m.drives:
            if drive.joint == joint and drive.name not in self.released:
                return f"drive '{drive.name}'"
        return "the lock" if joint in self.locks else ""

    def after(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        """What acts after an action at a time [s]; raises MechanismError if it contradicts what acts now."""
        change = {
            RELEASE: self._release,
            ENGAGE: self._engage,
            LOCK: self._lock,
            SET: self._set,
            SWITCH_OFF: self._switch,
            SWITCH_ON: self._switch,
        }[action.kind]
        return change(action, m, at, t)

    def _release(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        if action.of in {drive.name for drive in m.drives}:
            return replace(self, released=tuple(sorted({*self.released, action.of})))
        return replace(self, locks={j: x for j, x in self.locks.items() if j != action.of})

    def _engage(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        if action.of not in self.released:
            return self
        drive = next(d for d in m.drives if d.name == action.of)
        by = self.prescribed_by(drive.joint, m)
        if by:
            raise MechanismError(
                f"drive '{drive.name}' cannot be engaged at t = {t:.9g} s: {by} already prescribes "
                f"joint '{drive.joint}'"
            )
        left = tuple(name for name in self.released if name != drive.name)
        shift = at[drive.joint] - float(make_pieces(drive.motion).value(t))
        stops = {n: s for n, s in self.stops.items() if _joint_of(m, n) != drive.joint}
        return replace(
            self, released=left, offsets={**self.offsets, drive.name: shift}, stops=stops
        )

    def _lock(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        by = self.prescribed_by(action.of, m)
        if by.startswith("drive"):
            raise MechanismError(
                f"joint '{action.of}' cannot be locked at t = {t:.9g} s: {by} moves it; release the drive first"
            )
        if by:
            return self
        stops = {n: s for n, s in self.stops.items() if _joint_of(m, n) != action.of}
        return replace(self, locks={**self.locks, action.of: at[action.of]}, stops=stops)

    def _set(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        value = [*action.value] if isinstance(action.value, tuple) else action.value
        return replace(self, numbers={**self.numbers, action.of: value})

    def _switch(self, action: Action, m: Mechanism, at: Coordinates, t: float) -> ActiveParts:
        off = {*self.off, action.of} if action.kind == SWITCH_OFF else {*self.off} - {action.of}
        return replace(self, off=tuple(sorted(off)))

    def apply(self, m: Mechanism) -> Mechanism:
        """The mechanism with what acts; m: the mechanism of the run."""
        new = m.copy()
        kept = (d for d in m.drives if d.name not in self.released)
        new.drives = [replace(d, offset=self.offsets.get(d.name, 0.0)) for d in kept]
        new.drives += [_hold(lock_name(j), j, x) for j, x in self.locks.items()]
        limits = {limit.name: limit for limit in m.limits}
        for name, side in self.stops.items():
            new.drives.append(_hold(name, limits[name].joint, limits[name].sides[side]))
        for path, value in self.numbers.items():
            block, name, number = split_path(path)
            now = np.asarray(value, dtype=float)
            _exchange(
                new, block, name, {number: now if now.ndim or "vector" in number else float(now)}
            )
        for block, strengths in STRENGTHS.items():
            for part in getattr(new, block):
                if part.name in self.off:
                    _exchange(new, block, part.name, {n: 0.0 * getattr(part, n) for n in strengths})
        return new


def _exchange(m: Mechanism, block: str, name: str, numbers: dict[str, Any]) -> None:
    parts = getattr(m, block)
    parts[:] = [replace(p, **numbers) if p.name == name else p for p in parts]


def _joint_of(m: Mechanism, limit: str) -> str:
    return next(x.joint for x in m.limits if x.name == limit)


def _hold(name: str, joint: str, value: float) -> Drive:
    """A drive that keeps the coordinate of a joint at a value."""
    return Drive(name, joint, Polynomial((0.0,)), value)


def _joints_to_fix(m: Mechanism, events: list[Event]) -> list[str]:
    """Joints that events may lock or whose drives they may release; empty if no event acts."""
    actions = [action for event in events for action in event.then]
    if not actions:
        return []
    locked = {action.of for action in actions if action.kind == LOCK}
    return sorted({*locked, *(drive.joint for drive in m.drives)})


def prepare_actions(mechanism: Mechanism, events: Sequence[Event]) -> Mechanism:
    """The mechanism, with the joints that events may lock or release; raises MechanismError for unknown names."""
    problems = [
        line for event in events for action in event.then for line in action.problems(mechanism)
    ]
    if problems:
        raise MechanismError("\n".join(problems))
    joints = _joints_to_fix(mechanism, [*mechanism.events, *events])
    if joints == mechanism.lockable:
        return mechanism
    mechanism = mechanism.copy()
    mechanism.lockable = joints
    return mechanism
