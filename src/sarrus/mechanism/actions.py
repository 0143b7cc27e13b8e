"""What an event does to the mechanism: release or engage a drive, lock a joint, switch or change a force.

After an action the run goes on with the changed mechanism, from the same configuration. Where a new constraint
meets another velocity, the velocities change as in a plastic impact (run_segments.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..names import describe_known
from .elements import MechanismError, as_number, as_vector, as_word

if TYPE_CHECKING:
    from .joints import Joint
    from .mechanism import Mechanism

RELEASE, ENGAGE, LOCK, SET = "release", "engage", "lock", "set"
SWITCH_OFF, SWITCH_ON = "switch_off", "switch_on"
ACTIONS = (RELEASE, ENGAGE, LOCK, SET, SWITCH_OFF, SWITCH_ON)

# numbers of forces that an event may change, and the kinds of their units
NUMBERS: dict[str, dict[str, str]] = {
    "forces": {"vector": "FORCE"},
    "torques": {"vector": "TORQUE"},
    "springs": {
        "stiffness": "STIFFNESS",
        "damping": "DAMPING",
        "free_length": "LENGTH",
        "preload": "FORCE",
    },
    "torsions": {
        "stiffness": "TORSIONAL_STIFFNESS",
        "damping": "TORSIONAL_DAMPING",
        "free_angle": "ANGLE",
        "torque": "TORQUE",
    },
    "ball_dampers": {"damping": "TORSIONAL_DAMPING"},
}
# numbers that vanish where a force is switched off
STRENGTHS = {
    "forces": ("vector",),
    "torques": ("vector",),
    "springs": ("stiffness", "damping", "preload"),
    "torsions": ("stiffness", "damping", "torque"),
    "ball_dampers": ("damping",),
}


@dataclass(frozen=True, eq=False)
class Action:
    """One change of the mechanism at an event.

    kind: one of ACTIONS; of: name of the drive, joint or force, or path of a number; value: for "set".
    """

    kind: str
    of: str
    value: float | tuple[float, ...] | None = None

    def __repr__(self) -> str:
        return f"<Action: {self}>"

    def __str__(self) -> str:
        if self.kind == SET:
            shown = np.array2string(np.asarray(self.value), precision=9)
            return f"set {self.of} to {shown}"
        return f"{self.kind.replace('_', ' ')} {self.of}"

    def data(self) -> dict[str, Any]:
        """The contents of its entry in a file, numbers in SI."""
        if self.kind != SET:
            return {self.kind: self.of}
        value = [*self.value] if isinstance(self.value, tuple) else self.value
        return {SET: {self.of: value}}

    def problems(self, m: Mechanism) -> Iterator[str]:
        """Problems of unknown names and of numbers that do not fit."""
        drives, joints = [d.name for d in m.drives], {j.name: j for j in m.joints}
        if self.kind == RELEASE and self.of not in (*drives, *joints):
            yield f"{self}: no drive or joint has that name; {describe_known(self.of, [*drives, *joints])}"
        elif self.kind == RELEASE and any(
            d.name == self.of and joints[d.joint].kind.row.is_link
            for d in m.drives
            if d.joint in joints
        ):
            yield (
                f"{self}: it drives the length of a massless link, which nothing else determines; drive a "
                "prismatic joint instead"
            )
        elif self.kind == ENGAGE and self.of not in drives:
            yield f"{self}: no drive has that name; {describe_known(self.of, drives)}"
        elif self.kind == LOCK:
            yield from lockable_problems(self.of, str(self), joints)
        elif self.kind in (SWITCH_OFF, SWITCH_ON):
            names = [part.name for block in STRENGTHS for part in getattr(m, block)]
            if self.of not in names:
                yield (
                    f"{self}: no force, torque, spring, torsion or ball damper has that name; "
                    f"{describe_known(self.of, names)}"
                )
        elif self.kind == SET:
            yield from self._number_problems(m)

    def _number_problems(self, m: Mechanism) -> Iterator[str]:
        block, name, number = split_path(self.of)
        parts = {part.name: part for part in getattr(m, block)}
        if name not in parts:
            yield f"{self}: '{name}' is not one of the {block}; {describe_known(name, parts)}"
            return
        wanted = np.shape(getattr(parts[name], number))
        if np.asarray(self.value).shape != wanted:
            need = "a number" if wanted == () else f"{wanted[0]} numbers"
            yield f"{self}: {number} of '{name}' is {need}"
        elif not np.isfinite(np.asarray(self.value, dtype=float)).all():
            yield f"{self}: give finite numbers"
        elif number == "damping" and float(np.asarray(self.value)) < 0.0:
            yield f"{self}: a negative damping would feed energy; give zero or more"


def lockable_problems(joint: str, what: str, joints: Mapping[str, Joint]) -> Iterator[str]:
    """Problems of a joint whose coordinate is to be locked or limited; joints: all, by name."""
    if joint not in joints:
        yield f"{what}: there is no joint '{joint}'; {describe_known(joint, joints)}"
    elif joints[joint].kind.row.is_link:
        yield (
            f"{what}: joint '{joint}' is a massless link, whose length never changes by itself; use a "
            "prismatic joint"
        )
    elif not joints[joint].kind.row.coordinate:
        kinds = ", ".join(
            dict.fromkeys(j.kind.value for j in joints.values() if j.kind.row.coordinate)
        )
        yield (
            f"{what}: joint '{joint}' is {joints[joint].kind.value}, which has no angle, travel or length; "
            f"of this mechanism's kinds these have one: {kinds or 'none'}"
        )
    elif len(joints[joint].ends) != 2:
        yield (
            f"{what}: joint '{joint}' joins {len(joints[joint].ends)} bodies, so its angle is not defined; "
            "use one joint for each pair of bodies"
        )


def split_path(path: str) -> tuple[str, str, str]:
    """Block, name and number of "springs.s1.stiffness"; raises MechanismError."""
    block, _, rest = path.partition(".")
    name, _, number = rest.rpartition(".")
    if block not in NUMBERS:
        raise MechanismError(
            f"set '{path}': an event changes numbers of forces, not '{block}'; {describe_known(block, NUMBERS)}"
        )
    if not name or number not in NUMBERS[block]:
        known = describe_known(number, NUMBERS[block])
        raise MechanismError(f"set '{path}': '{number}' is not a number of {block}; {known}")
    return block, name, number


def lock_name(joint: str) -> str:
    """The name under which the force of a lock is read."""
    return f"{joint} lock"


def release(name: str) -> Action:
    """Action of an event: a drive lets go of its joint, or the lock of a joint is released.

    Parameters
    ----------
    name
        Name of a drive, or of a locked joint.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> event = sarrus.when(angle="B", equals=0.2, then=sarrus.release("motor"))
    """
    return Action(RELEASE, as_word(name, "what to release"))


def engage(drive: str) -> Action:
    """Action of an event: a released drive moves its joint again, on from where the joint is.

    The coordinate follows the drive's function of time, shifted so that it is continuous; a difference of
    velocities is a plastic impact.

    Parameters
    ----------
    drive
        Name of the drive.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> event = sarrus.when(angle="B", equals=0.2, then=sarrus.engage("motor"))
    """
    return Action(ENGAGE, as_word(drive, "drive to engage"))


def lock(joint: str) -> Action:
    """Action of an event: the joint keeps its angle or travel from there on; a plastic impact.

    Parameters
    ----------
    joint
        Name of a revolute, prismatic or cylindrical joint of two bodies.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> latch = sarrus.when(angle="B", equals=0.2, then=sarrus.lock("B"), count=1)
    """
    return Action(LOCK, as_word(joint, "joint to lock"))


def switch_off(name: str) -> Action:
    """Action of an event: a force, torque, spring or torsion exerts nothing from there on.

    Parameters
    ----------
    name : str
        A force, torque, spring, torsion or ball damper.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> event = sarrus.when(angle="B", equals=0.2, then=sarrus.switch_off("s1"))
    """
    return Action(SWITCH_OFF, as_word(name, "what to switch off"))


def switch_on(name: str) -> Action:
    """Action of an event: a force that was switched off has its numbers again.

    Parameters
    ----------
    name : str
        A force, torque, spring, torsion or ball damper that was switched off.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> event = sarrus.when(angle="B", equals=0.2, then=sarrus.switch_on("s1"))
    """
    return Action(SWITCH_ON, as_word(name, "what to switch on"))


def set_number(path: str, value: Any) -> Action:
    """Action of an event: a number of a force, torque, spring or torsion gets another value.

    Parameters
    ----------
    path
        Block, name and number, as in model files: "springs.s1.stiffness", "forces.F.vector".
    value
        The new value, in SI or with a unit.

    Returns
    -------
    Action
        To be given as `then` of an event.

    Examples
    --------
    >>> import sarrus
    >>> action = sarrus.set_number("springs.s1.stiffness", "2 N/mm")
    >>> event = sarrus.when(angle="B", equals=0.2, then=action)
    """
    block, name, number = split_path(as_word(path, "path of a number"))
    kind, what = NUMBERS[block][number], f"{number} of '{name}'"
    if isinstance(value, list | tuple | np.ndarray):
        return Action(SET, path, tuple(as_vector(value, what, kind).tolist()))
    return Action(SET, path, as_number(value, what, kind))


def read_actions(given: Any, what: str) -> tuple[Action, ...]:
    """The actions of an event: actions, or entries as in files ({"release": "motor"})."""
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return tuple(action for item in listed for action in _read(item, what))


def _read(item: Any, what: str) -> Iterator[Action]:
    if isinstance(item, Action):
        yield item
        return
    if not isinstance(item, Mapping) or not item:
        raise MechanismError(
            f"{what}: then = {item!r} is not an action; give sarrus.release('motor'), sarrus.lock('B0'), ..."
        )
    makers = {
        RELEASE: release,
        ENGAGE: engage,
        LOCK: lock,
        SWITCH_OFF: switch_off,
        SWITCH_ON: switch_on,
    }
    for kind, of in item.items():
        if kind == SET and isinstance(of, Mapping):
            yield from (set_number(path, value) for path, value in of.items())
        elif kind in makers:
            yield makers[kind](of)
        else:
            raise MechanismError(f"{what}: then: {kind!r}; {describe_known(str(kind), ACTIONS)}")
