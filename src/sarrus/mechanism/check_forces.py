"""Whether the forces and drives of a mechanism make sense; every reason why not, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..arrays import Floats
from .check import _choices, _off_rod, _place, _show
from .errors import MechanismError
from .forces import BODY, WORLD, Drive, Spring, UserForce
from .mechanism import Joint, JointKind, Mechanism
from .motion import check_motion, make_pieces

# a motion may miss its joint at the start by this much: typed decimals
START = 1e-9

DRIVEN = {
    JointKind.REVOLUTE: "angle",
    JointKind.PRISMATIC: "travel",
    JointKind.CYLINDRICAL: "travel",
    JointKind.DISTANCE: "length",
}


def find_force_problems(m: Mechanism) -> list[str]:
    """All reasons why these forces and drives cannot be simulated."""
    return [
        *_names(m),
        *(line for f in m.forces for line in _force(m, f.body, f.at, f"force '{f.name}'")),
        *(line for f in m.forces for line in _place(m, f.vector, f"force '{f.name}', vector")),
        *(line for f in m.forces for line in _fixed_in(f.fixed_in, f"force '{f.name}'")),
        *(line for t in m.torques for line in _fixed_in(t.fixed_in, f"torque '{t.name}'")),
        *_torques(m),
        *(line for s in m.springs for line in _spring(m, s)),
        *_torsions(m),
        *(line for u in m.user_forces for line in _user(m, u)),
        *(line for d in m.drives for line in _drive(m, d)),
    ]


def check_drive_times(mechanism: Mechanism, duration: float) -> None:
    """Raise MechanismError if a drive's table ends before the run does."""
    for drive in mechanism.drives:
        end = make_pieces(drive.motion).end
        # the last time of a table may be the duration but for rounding
        if duration > end * (1.0 + 1e-12):
            raise MechanismError(
                f"drive '{drive.name}': its table ends at {end:g} s, but the run lasts {duration:g} s; "
                "add rows, or shorten the run"
            )


def _names(m: Mechanism) -> Iterator[str]:
    kinds = (m.forces, m.torques, m.springs, m.torsions, m.user_forces, m.drives)
    names = [str(vars(thing)["name"]) for kind in kinds for thing in kind]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{count} forces or drives are called '{name}'; give each a name of its own"
    links = {j.name for j in m.joints if j.kind is JointKind.DISTANCE}
    for spring in m.springs:
        # both have a length that is read by name
        if spring.name in links:
            yield f"a spring and a distance joint are both called '{spring.name}'; rename one of them"


def _body(m: Mechanism, body: str, what: str) -> Iterator[str]:
    known = [b.name for b in m.bodies]
    if body not in known and body != m.GROUND:
        yield f"{what}: there is no body '{body}'; {_choices(known)}"


def _force(m: Mechanism, body: str, at: Floats, what: str) -> Iterator[str]:
    """A point of a body where something acts."""
    yield from _body(m, body, what)
    bad = list(_place(m, at, f"{what}, at"))
    yield from bad
    if not bad:
        for known in m.bodies:
            if known.name == body:
                yield from _off_rod(known, at, what)


def _fixed_in(fixed_in: object, what: str) -> Iterator[str]:
    if fixed_in not in (WORLD, BODY):
        yield f"{what}: fixed_in {fixed_in!r} is neither '{WORLD}' nor '{BODY}'"


def _torques(m: Mechanism) -> Iterator[str]:
    shape = () if m.dimension == 2 else (3,)
    for torque in m.torques:
        what = f"torque '{torque.name}'"
        yield from _body(m, torque.body, what)
        if torque.vector.shape != shape:
            need = "one number" if m.dimension == 2 else "3 numbers"
            yield f"{what} has shape {torque.vector.shape}; this mechanism needs {need}"
        elif not np.isfinite(torque.vector).all():
            yield f"{what}: {_show(torque.vector.ravel())} N m is not finite; give finite numbers"


def _numbers(what: str, **values: float) -> Iterator[str]:
    for word, value in values.items():
        if not np.isfinite(value):
            yield f"{what}: {word.replace('_', ' ')} {value} is not finite; give a finite number"


def _damping(damping: float, what: str) -> Iterator[str]:
    if damping < 0:
        yield f"{what}: damping {damping:g} is negative, it would feed energy; give zero or more"


def _spring(m: Mechanism, spring: Spring) -> Iterator[str]:
    what = f"spring '{spring.name}'"
    bad = [
        line
        for body, at in zip(spring.bodies, spring.ends, strict=True)
        for line in _force(m, body, at, what)
    ]
    yield from bad
    if spring.bodies[0] == spring.bodies[1]:
        yield f"{what} connects body '{spring.bodies[0]}' with itself; name two different bodies"
    yield from _numbers(
        what,
        stiffness=spring.stiffness,
        damping=spring.damping,
        free_length=spring.free_length,
        preload=spring.preload,
    )
    yield from _damping(spring.damping, what)
    if spring.free_length < 0:
        yield f"{what}: free length {spring.free_length:g} m is negative; give zero or more"
    if not bad:
        first, second = spring.ends
        size = max(1e-300, float(np.abs(spring.ends).max()))
        if float(np.linalg.norm(second - first)) <= 1e-12 * size:
            yield (
                f"{what} has length zero at the start, both ends at {_show(first)}: the direction of its "
                "pull is not defined there; move an end"
            )


def _hinge(m: Mechanism, name: str, what: str) -> Iterator[str]:
    """Whether a torsion can sit in a joint."""
    joint = _find(m, name)
    if joint is None:
        yield f"{what}: there is no joint '{name}'; {_choices([j.name for j in m.joints])}"
    elif joint.kind is not JointKind.REVOLUTE:
        yield f"{what}: joint '{name}' is {joint.kind.value}; it has to be revolute"
    elif len(joint.bodies) != 2:
        yield (
            f"{what}: joint '{name}' joins {len(joint.bodies)} bodies, so its angle is not defined; use "
            "one joint for each pair of bodies"
        )


def _torsions(m: Mechanism) -> Iterator[str]:
    for torsion in m.torsions:
        what = f"torsion '{torsion.name}'"
        yield from _hinge(m, torsion.joint, what)
        yield from _numbers(
            what,
            stiffness=torsion.stiffness,
            damping=torsion.damping,
            free_angle=torsion.free_angle,
            torque=torsion.torque,
        )
        yield from _damping(torsion.damping, what)


def _user(m: Mechanism, force: UserForce) -> Iterator[str]:
    what = f"user force '{force.name}'"
    points = [
        *(b.name for b in m.bodies),
        *(p.name for p in m.markers),
        *(j.name for j in m.joints if j.at is not None),
    ]
    if not force.points:
        yield f"{what} acts at no point; name at least one"
    for name in force.points:
        if name not in points:
            yield f"{what}: there is no joint, point or body '{name}'; {_choices(points)}"
    if not callable(force.function):
        yield f"{what}: {force.function!r} is no function; give f(t, position, velocity)"


def _drive(m: Mechanism, drive: Drive) -> Iterator[str]:
    what = f"drive '{drive.name}'"
    bad = check_motion(drive.motion, what)
    yield from bad
    joint = _find(m, drive.joint)
    if joint is None:
        yield f"{what}: there is no joint '{drive.joint}'; {_choices([j.name for j in m.joints])}"
        return
    if joint.kind not in DRIVEN:
        kinds = ", ".join(kind.value for kind in DRIVEN)
        yield f"{what}: joint '{joint.name}' is {joint.kind.value}; these can be driven: {kinds}"
        return
    if len(joint.bodies) != 2:
        yield (
            f"{what}: joint '{joint.name}' joins {len(joint.bodies)} bodies, so its angle is not "
            "defined; use one joint for each pair of bodies"
        )
        return
    same = [d.name for d in m.drives if d.joint == drive.joint]
    if len(same) > 1 and same[0] == drive.name:
        yield f"joint '{joint.name}' is driven {len(same)} times ({', '.join(same)}); keep one drive"
    if bad:
        return
    start, word = 0.0, DRIVEN[joint.kind]
    if joint.kind is JointKind.DISTANCE:
        places = joint.places or ()
        if any(p.shape != (m.dimension,) or not np.isfinite(p).all() for p in places):
            return
        start = float(np.linalg.norm(places[1] - places[0]))
    value = make_pieces(drive.motion).value(0.0)
    if abs(value - start) > START * max(1.0, abs(start)):
        unit = "rad" if word == "angle" else "m"
        yield (
            f"{what}: the {word} of joint '{joint.name}' is {start:.12g} {unit} at the start position, but "
            f"its motion begins with {value:.12g} {unit}; shift the motion, or the start position"
        )


def _find(m: Mechanism, name: str) -> Joint | None:
    return next((j for j in m.joints if j.name == name), None)
