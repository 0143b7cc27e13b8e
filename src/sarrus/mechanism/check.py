"""Whether a mechanism can be simulated at all; every reason why not, in words.

Each message names the body or joint, gives the number and says what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from .errors import MechanismError
from .mechanism import Body, Joint, JointKind, Mechanism, Vector

# a joint may miss a rod by this much of the rod's length: rounding, not more
ON_ROD = 1e-12

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


def check_mechanism(mechanism: Mechanism) -> None:
    """Raise MechanismError with every problem found."""
    problems = find_problems(mechanism)
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
    bad = list(_place(m, joint.at, f"{what}, at"))
    yield from bad
    if not bad:
        # where bodies slide only the second one has its point there
        slides = joint.kind in WITH_AXIS and joint.kind is not JointKind.UNIVERSAL
        for name in joint.bodies[1:] if slides else joint.bodies:
            if name in known:
                yield from _off_rod(known[name], joint.at, what)
    yield from _axes(m, joint, what)


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


def _place(m: Mechanism, values: Vector, what: str) -> Iterator[str]:
    if values.shape != (m.dimension,):
        kind = "planar" if m.dimension == 2 else "spatial"
        yield (
            f"{what}: {_show(values.ravel())} has {values.size} coordinates; "
            f"a {kind} mechanism needs {m.dimension}"
        )
    elif not np.isfinite(values).all():
        yield f"{what}: {_show(values)} is not finite; give finite numbers"


def _off_rod(body: Body, place: Vector, what: str) -> Iterator[str]:
    """A rod is the segment between its ends: a joint beside it is a slip of the user."""
    if body.ends is None or any(e.shape != place.shape for e in body.ends):
        return
    start, end = body.ends
    d = end - start
    square = float(d @ d)
    if not (np.isfinite(d).all() and square > 0):
        return
    nearest = start + np.clip((place - start) @ d / square, 0.0, 1.0) * d
    gap = float(np.linalg.norm(place - nearest))
    # places far from the origin carry the rounding of their own size
    if gap > ON_ROD * np.sqrt(square) + 8e-16 * float(np.abs(place).max()):
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
