"""Whether a mechanism can be simulated at all; every reason why not, in words.

Each message names the body or joint, gives the number and says what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from .errors import MechanismError
from .mechanism import Body, Joint, JointKind, Mechanism

# a joint may miss a rod by this much of the rod's length: rounding, not more
ON_ROD = 1e-12
# and its places on its bodies may be apart by this much of the bodies' size, its axes by this angle [rad]
APART = 1e-12

# joints that keep a point on a line, or on a plane: along it places may be apart
ON_LINE = (JointKind.PRISMATIC, JointKind.CYLINDRICAL, JointKind.POINT_ON_LINE)
ON_PLANE = (JointKind.PLANAR, JointKind.POINT_ON_PLANE)
# joints whose axis both bodies have
COMMON_AXIS = (JointKind.REVOLUTE, JointKind.CYLINDRICAL, JointKind.PLANAR)

# kinds with an axis (of a slider, line, plane or cross), and what to use instead in the plane
WITH_AXIS = {
    JointKind.PRISMATIC,
    JointKind.CYLINDRICAL,
    JointKind.UNIVERSAL,
    JointKind.PLANAR,
    JointKind.POINT_ON_LINE,
    JointKind.POINT_ON_PLANE,
}
INSTEAD_IN_PLANE = {
    JointKind.SPHERICAL: "use revolute()",
    JointKind.UNIVERSAL: "use revolute()",
    JointKind.CYLINDRICAL: "use prismatic()",
    JointKind.PLANAR: "all bodies share the plane: leave it out",
    JointKind.POINT_ON_PLANE: "use point_on_line()",
}


@dataclass(frozen=True)
class Gap:
    """How far a joint is open: its places [m] and its directions [rad], of the worst of its bodies."""

    metres: float
    radians: float

    def __str__(self) -> str:
        return f"{self.metres:.6g} m" + (f" and {self.radians:.6g} rad" if self.radians else "")


def check_mechanism(mechanism: Mechanism, *, closed: bool = True) -> None:
    """Raise MechanismError with every problem found; closed: joints that are apart are one."""
    problems = find_problems(mechanism)
    if closed and not problems:
        problems = find_gaps(mechanism)
    if len(problems) == 1:
        raise MechanismError(problems[0])
    if problems:
        lines = "\n".join(f"  - {line}" for line in problems)
        raise MechanismError(f"{len(problems)} problems in mechanism '{mechanism.name}':\n{lines}")


def find_problems(mechanism: Mechanism) -> list[str]:
    """All reasons why this mechanism cannot be simulated, in the order it was written."""
    if mechanism.gravity.shape not in ((2,), (3,)):
        return [
            f"mechanism '{mechanism.name}': gravity has {mechanism.gravity.size} numbers; "
            "give 2 for a planar, 3 for a spatial mechanism"
        ]
    if not np.isfinite(mechanism.gravity).all():
        return [
            f"mechanism '{mechanism.name}': gravity {_show(mechanism.gravity)} is not finite; "
            "give finite numbers"
        ]
    if not mechanism.bodies:
        return [f"mechanism '{mechanism.name}' has no bodies; add one with rod() or body()"]
    # it uses the words of this file
    from .check_forces import find_force_problems

    known = {body.name: body for body in mechanism.bodies}
    return [
        *_names(mechanism),
        *(line for body in mechanism.bodies for line in _body(mechanism, body)),
        *(line for joint in mechanism.joints for line in _joint(mechanism, joint, known)),
        *_markers(mechanism),
        *_velocities(mechanism),
        *find_force_problems(mechanism),
    ]


def find_gaps(mechanism: Mechanism) -> list[str]:
    """The joints of an otherwise sound mechanism that are apart, in words."""
    known = {body.name: body for body in mechanism.bodies}
    return [line for joint in mechanism.joints for line in _apart(joint, known)]


def _names(m: Mechanism) -> Iterator[str]:
    bodies = Counter(body.name for body in m.bodies)
    points = Counter([j.name for j in m.joints] + [p.name for p in m.markers])
    for what, counts in (("bodies", bodies), ("joints or points", points)):
        for name, count in counts.items():
            if count > 1:
                yield f"{count} {what} are called '{name}'; give each a name of its own"
    if m.GROUND in bodies:
        yield f"a body is called '{m.GROUND}', the name of the fixed frame; choose another name"


def _body(m: Mechanism, body: Body) -> Iterator[str]:
    what = f"rod '{body.name}'" if body.ends else f"body '{body.name}'"
    if not np.isfinite(body.mass):
        yield f"{what}: mass {body.mass} is not finite; give a positive number of kilograms"
    elif body.mass <= 0:
        yield f"{what}: mass {body.mass:g} kg; a body needs a positive mass"
    if body.ends:
        bad = [
            line
            for end, place in zip(("start", "end"), body.ends, strict=True)
            for line in _place(m, place, f"{what}, {end}")
        ]
        yield from bad
        if not bad:
            length = float(np.linalg.norm(body.ends[1] - body.ends[0]))
            if length <= 1e-12 * max(1e-300, float(np.abs(body.ends).max())):
                yield (
                    f"{what}: length zero, both ends at {_show(body.ends[0])}; move an end, "
                    "or use body() for a point mass"
                )
        if not (np.isfinite(body.section) and body.section >= 0):
            yield f"{what}: section {body.section:g} m; give the side of a square, or leave it out"
        return
    bad = list(_place(m, body.center, f"{what}, center"))
    yield from bad
    if not bad:
        yield from _inertia(m, body, what)


def _inertia(m: Mechanism, body: Body, what: str) -> Iterator[str]:
    shape = () if m.dimension == 2 else (3, 3)
    if body.inertia.shape != shape:
        need = "one number" if m.dimension == 2 else "3 or 3 x 3 numbers"
        yield f"{what}: inertia has shape {body.inertia.shape}; this mechanism needs {need}"
    elif not np.isfinite(body.inertia).all():
        yield f"{what}: inertia {_show(body.inertia.ravel())} is not finite; give finite numbers"
    elif m.dimension == 2 and body.inertia < 0:
        yield (
            f"{what}: inertia {float(body.inertia):g} kg m^2 is negative; give a positive number, or "
            "leave it out"
        )
    elif m.dimension == 3:
        size = float(np.abs(body.inertia).max())
        skew = float(np.abs(body.inertia - body.inertia.T).max())
        if skew > 1e-9 * size:
            yield f"{what}: the inertia matrix is not symmetric (by {skew:g} kg m^2); check its entries"
        elif _worst_moment(body) < -1e-9 * size:
            principal = np.linalg.eigvalsh(body.inertia)
            yield (
                f"{what}: no body has principal inertias {_show(principal)} kg m^2: the largest "
                "exceeds the sum of the others, or one is negative; check the matrix and its centre"
            )


def _worst_moment(body: Body) -> float:
    """Smallest second moment of mass about the centre; negative for an impossible inertia."""
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    return float(np.linalg.eigvalsh(0.5 * (moments + moments.T))[0])


def _joint(m: Mechanism, joint: Joint, known: dict[str, Body]) -> Iterator[str]:
    what = f"joint '{joint.name}' ({joint.kind.value})"
    if len(joint.bodies) < 2:
        yield f"{what} has {len(joint.bodies)} bodies; a joint connects two or more"
        return
    for name, count in Counter(joint.bodies).items():
        if count > 1:
            yield f"{what} connects body '{name}' with itself; name two different bodies"
        if name not in known and name != m.GROUND:
            yield f"{what}: there is no body '{name}'; {_choices(known)}"
    if m.dimension == 2 and joint.kind in INSTEAD_IN_PLANE:
        yield f"{what} needs a spatial mechanism; in the plane {INSTEAD_IN_PLANE[joint.kind]}"
    if joint.kind is JointKind.DISTANCE:
        yield from _distance(m, joint, known, what)
        return
    if joint.at is None:
        if joint.kind is not JointKind.WELD:
            yield f"{what} has no place; give at=, the point where the bodies meet"
        return
    places = joint.places or (joint.at,) * len(joint.bodies)
    if len(places) != len(joint.bodies):
        yield (
            f"{what}: at has {len(places)} places for {len(joint.bodies)} bodies; give one place, or one "
            "for each body"
        )
        return
    bad = [
        line
        for k, place in enumerate(places)
        if k == 0 or joint.places
        for line in _place(m, place, f"{what}, at")
    ]
    yield from bad
    if not bad:
        # where bodies slide only the second one has its point there
        slides = joint.kind in WITH_AXIS and joint.kind is not JointKind.UNIVERSAL
        pairs = list(zip(joint.bodies, places, strict=True))
        for name, place in pairs[1:] if slides else pairs:
            if name in known:
                yield from _off_rod(known[name], place, what)
    yield from _axes(m, joint, what)
    yield from _own_axes(m, joint, what)


def _axes(m: Mechanism, joint: Joint, what: str) -> Iterator[str]:
    if joint.kind is JointKind.REVOLUTE and m.dimension == 2:
        if joint.axis is not None:
            yield f"{what}: in the plane a hinge turns about the normal; leave the axis out"
        return
    needed = joint.kind in WITH_AXIS or joint.kind is JointKind.REVOLUTE
    axes = [("axis", joint.axis)] if needed else []
    if joint.kind is JointKind.UNIVERSAL:
        axes.append(("second_axis", joint.second_axis))
    good = True
    for word, axis in axes:
        if axis is None:
            good = False
            yield f"{what} has no {word}; give {word}={'(x, y)' if m.dimension == 2 else '(x, y, z)'}"
            continue
        bad = list(_place(m, axis, f"{what}, {word}"))
        yield from bad
        good = good and not bad
        if not bad and not np.linalg.norm(axis) > 0:
            good = False
            yield f"{what}: its {word} has length zero; give a direction"
    if good and joint.kind is JointKind.UNIVERSAL:
        a, b = (axis / np.linalg.norm(axis) for _, axis in axes if axis is not None)
        if np.linalg.norm(np.cross(a, b)) < 1e-6:
            yield f"{what}: its axes {_show(a)} and {_show(b)} are parallel; a cross needs two directions"


def _distance(m: Mechanism, joint: Joint, known: dict[str, Body], what: str) -> Iterator[str]:
    places = joint.places or ()
    bad = [line for p in places for line in _place(m, p, f"{what}, place")]
    yield from bad
    if bad:
        return
    for name, place in zip(joint.bodies, places, strict=False):
        if name in known:
            yield from _off_rod(known[name], place, what)
    size = max(1e-300, *(float(np.abs(p).max()) for p in places))
    if float(np.linalg.norm(places[1] - places[0])) <= 1e-12 * size:
        yield f"{what}: length zero, both ends at {_show(places[0])}; use a joint that shares a point"


def _own_axes(m: Mechanism, joint: Joint, what: str) -> Iterator[str]:
    """Axes given for each body of a joint."""
    if joint.axes is None:
        return
    if joint.kind not in COMMON_AXIS:
        yield f"{what}: its axis belongs to one body; give one axis"
    elif len(joint.axes) != len(joint.bodies):
        yield (
            f"{what}: {len(joint.axes)} axes for {len(joint.bodies)} bodies; give one axis, or one for "
            "each body"
        )
    else:
        for axis in joint.axes[1:]:
            bad = list(_place(m, axis, f"{what}, axis"))
            yield from bad
            if not bad and not np.linalg.norm(axis) > 0:
                yield f"{what}: an axis has length zero; give a direction"


def measure_apart(joint: Joint) -> Gap:
    """How far the places and axes of a joint are apart at the start."""
    far = wide = 0.0
    if joint.places is not None and joint.kind is not JointKind.DISTANCE:
        offsets = np.array(joint.places) - joint.places[0]
        if joint.axis is not None and joint.kind in ON_LINE + ON_PLANE:
            along = np.outer(offsets @ joint.axis, joint.axis) / float(joint.axis @ joint.axis)
            offsets = along if joint.kind in ON_PLANE else offsets - along
        far = float(np.linalg.norm(offsets, axis=1).max())
    if joint.axes is not None:
        units = np.array([a / np.linalg.norm(a) for a in joint.axes])
        sines = np.linalg.norm(np.cross(units, units[0]), axis=1)
        wide = float(np.arctan2(sines, units @ units[0]).max())
    return Gap(far, wide)


def _apart(joint: Joint, known: dict[str, Body]) -> Iterator[str]:
    """A joint whose bodies do not meet at the start: no model can be made of it."""
    if joint.places is None and joint.axes is None:
        return
    gap = measure_apart(joint)
    places = joint.places or (joint.at,) * len(joint.bodies)
    pairs = [(known[n], p) for n, p in zip(joint.bodies, places, strict=True) if n in known]
    size = max(
        (
            float(np.linalg.norm(p - e))
            for b, p in pairs
            if p is not None
            for e in (b.center, *(b.ends or ()))
        ),
        default=0.0,
    )
    # places far from the origin carry the rounding of their own size
    largest = max((float(np.abs(p).max()) for p in places if p is not None), default=0.0)
    parts = []
    if gap.metres > APART * size + 8e-16 * largest:
        parts.append(f"the places of its bodies by {gap.metres:.6g} m")
    if gap.radians > APART:
        parts.append(f"their axes by {gap.radians:.6g} rad")
    if parts:
        yield (
            f"joint '{joint.name}' ({joint.kind.value}) of {', '.join(joint.bodies)} is apart: "
            f"{' and '.join(parts)}; give one place and axis, or close it with sarrus.assemble() or "
            "simulate(..., assemble=True)"
        )


def _markers(m: Mechanism) -> Iterator[str]:
    known = {body.name: body for body in m.bodies}
    for marker in m.markers:
        what = f"point '{marker.name}'"
        bad = list(_place(m, marker.at, what))
        yield from bad
        if marker.body == m.GROUND:
            continue
        if marker.body not in known:
            yield f"{what}: there is no body '{marker.body}'; {_choices(known)}"
        elif not bad:
            yield from _off_rod(known[marker.body], marker.at, what)


def _velocities(m: Mechanism) -> Iterator[str]:
    points = [j.name for j in m.joints if j.at is not None] + [p.name for p in m.markers]
    for name, velocity in m.velocities:
        if name not in points:
            yield f"velocity given for '{name}', but no joint or point has that name; {_choices(points)}"
        yield from _place(m, velocity, f"velocity of point '{name}'")
    known = [body.name for body in m.bodies]
    for name, rate in m.angular_velocities:
        what = f"angular velocity of body '{name}'"
        if name not in known:
            yield f"{what}: there is no such body; {_choices(known)}"
        if rate.shape != (() if m.dimension == 2 else (3,)):
            need = "one number" if m.dimension == 2 else "3 numbers"
            yield f"{what}: {rate.size} numbers of shape {rate.shape}; this mechanism needs {need}"
        elif not np.isfinite(rate).all():
            yield f"{what}: {_show(rate.ravel())} is not finite; give finite numbers"


def _place(m: Mechanism, values: Floats, what: str) -> Iterator[str]:
    if values.shape != (m.dimension,):
        kind = "planar" if m.dimension == 2 else "spatial"
        yield (
            f"{what}: {_show(values.ravel())} has {values.size} coordinates; "
            f"a {kind} mechanism needs {m.dimension}"
        )
    elif not np.isfinite(values).all():
        yield f"{what}: {_show(values)} is not finite; give finite numbers"


def measure_off_rod(body: Body, place: Floats) -> tuple[float, Floats]:
    """How far a place is beside a rod [m], 0 for rounding, and the nearest point of the rod."""
    if body.ends is None or any(e.shape != place.shape for e in body.ends):
        return 0.0, place
    start, end = body.ends
    d = end - start
    square = float(d @ d)
    if not (np.isfinite(d).all() and square > 0):
        return 0.0, place
    nearest = start + np.clip((place - start) @ d / square, 0.0, 1.0) * d
    gap = float(np.linalg.norm(place - nearest))
    # places far from the origin carry the rounding of their own size
    rounding = ON_ROD * np.sqrt(square) + 8e-16 * float(np.abs(place).max())
    return gap if gap > rounding else 0.0, nearest


def _off_rod(body: Body, place: Floats, what: str) -> Iterator[str]:
    """A rod is the segment between its ends: a joint beside it is a slip of the user."""
    gap, nearest = measure_off_rod(body, place)
    if gap:
        yield (
            f"{what} at {_show(place)} and rod '{body.name}' are apart by {gap:.6g} m (nearest "
            f"point of the rod: {_show(nearest)}); move one of them, or use body() for another shape"
        )


def _choices(names: object) -> str:
    listed = [f"'{n}'" for n in names]  # type: ignore[attr-defined]
    shown = ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")
    return f"known: {shown}" if listed else "none is known"


def _show(values: ArrayLike) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in np.atleast_1d(values)) + ")"
