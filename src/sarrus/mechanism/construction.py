"""Mechanisms built from lengths: cranks, dyads, plates, four-bars and slider-cranks in the plane.

A dyad is a pair of links that meet at a pin and whose other ends are joined to existing parts. The pin is at the
intersection of two circles (two pins at the outer ends) or of a circle and a line (a slider at one of them). A
link with named points off its line becomes a plate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, sin
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..names import describe_known
from ..tracing import Scalar, TracedNumber, UntracedError, sqrt
from .bodies import Body, Marker, make_plate
from .elements import GROUND, MechanismError, as_number, as_vector, as_word, show
from .joints import End, Joint
from .polygons import convex_hull

if TYPE_CHECKING:
    from .mechanism import Mechanism

LEFT, RIGHT, AHEAD, BEHIND = "left", "right", "ahead", "behind"
OPEN, CROSSED = "open", "crossed"
# kinds of dyads: the joints at the two outer ends; the joint between is a pin, except for the last kind
RR, RP, PR, RPR = "RR", "RP", "PR", "RPR"
KINDS = (RR, RP, PR, RPR)

# circles touch within rounding: the fraction of a squared length that counts as zero
TOUCHING = 1e-12
# share of the longer link: joints that are closer lie on each other
SAME_PLACE = 1e-9


@dataclass(frozen=True)
class Pin:
    """A point where a link can be joined: its name, its body, and its position [m]."""

    name: str
    body: str
    place: Floats


class ConstructionCalls:
    """The methods of a mechanism that build it from lengths."""

    def plate(self, name: str, corners: ArrayLike, mass: float) -> Body:
        """Add a uniform flat plate, the convex polygon around its corners [m]; in the plane.

        Parameters
        ----------
        name : str
            Name of the body.
        corners : array_like
            Three or more points, shape (n, 2), not all on one line [m].
        mass : float
            Mass [kg].
        """
        m = _planar(self, f"plate '{name}'")
        places = as_vector(
            corners, f"corners of plate '{as_word(name, 'name of a plate')}'", "LENGTH"
        )
        if places.dtype == object:
            raise UntracedError(f"the corners of plate '{name}' vary")
        if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
            raise MechanismError(
                f"plate '{name}': corners have shape {places.shape}; give three or more points (x, y)"
            )
        if len(convex_hull(places)) < 3:
            raise MechanismError(
                f"plate '{name}': its corners are on one line; give one off the line, or use rod()"
            )
        kilograms = as_number(mass, f"mass of plate '{name}'", "MASS")
        return m._add("bodies", make_plate(name, places, kilograms))

    def crank(
        self,
        name: str,
        body: str,
        start: Joint | Marker | str,
        *,
        length: float,
        angle: float,
        mass: float,
        points: Mapping[str, Any] | None = None,
    ) -> Body:
        """Add a rod that turns about `start`, by its length [m] and angle [rad]; its other end is point `name`.

        Parameters
        ----------
        name : str
            Name of the point at its other end.
        body : str
            Name of the rod.
        start : Joint, Marker or str
            An existing joint or named point.
        length : float
            Length [m].
        angle : float
            Angle from the x axis, counterclockwise [rad].
        mass : float
            Mass [kg].
        points : mapping, optional
            Further points as in `dyad`: {"P": (r, s)} at distances r from `start` and s from `name`, on the left
            of the line between them, or {"P": (r, s, "right")}, or {"P": {"along": x, "across": y}}. A crank
            with points off its line is a plate.
        """
        what = f"crank '{name}'"
        m = _planar(self, what)
        pin = _find_pin(m, start, what)
        size = _length(length, f"{what}, length")
        turn = as_number(angle, f"{what}, angle", "ANGLE")
        end = pin.place + size * _direction(turn)
        given = _on_body(points, as_word(body, f"body of {what}"))
        spots = [_read_spot(spot, values, [body], what) for spot, values in given.items()]
        link = _add_link(m, body, pin.place, end, mass, spots)
        _hinge(m, pin, link.name)
        m.point(name, link, end)
        _add_points(m, spots, {body: (pin.place, end)})
        return link

    def dyad(
        self,
        name: str,
        bodies: Sequence[str],
        ends: Sequence[Joint | Marker | str],
        *,
        lengths: ArrayLike = (),
        mass: ArrayLike = 1.0,
        side: str | None = None,
        kind: str = RR,
        axis: ArrayLike | None = None,
        points: Mapping[str, Any] | None = None,
    ) -> tuple[Body, Body]:
        """Add two links that meet at a new joint `name`, joined to `ends`, which exist; in the plane.

        Parameters
        ----------
        name
            Name of the joint between the two links.
        bodies
            Names of the two new links.
        ends
            Joints or named points at which the first and the second link begin. A link is added to a
            revolute joint; a named point becomes a joint of the same name.
        lengths
            Lengths of the links [m]: two for "RR" and "RPR", one for "RP" and "PR".
        mass
            Mass of the links [kg]: a number, or one per link.
        side
            Side of the new joint: "left" or "right" of the line from the first to the second end ("RR"),
            "ahead" or "behind" along the axis of the slider ("RP", "PR"). Default: "left" or "ahead".
        kind
            The joints at the outer ends: "RR" two pins; "RP" and "PR" a slider at the second or first end,
            which is a separate body and moves along `axis` of the body that has the end; "RPR" a
            cylinder and its piston rod between two pins, where `name` is the slider between them.
        axis
            Direction in which the slider of "RP" and "PR" moves.
        points
            Named points of the links: {name: (link, r, s)} at the distances r from the link's outer end and
            s from the joint `name`, on the left of the line from the former to the latter, or on its right:
            (link, r, s, "right"); or {name: {"body": link, "along": x, "across": y}} in the link's frame,
            whose x axis points from its outer end to `name`. A link with points off its line is a plate.

        Returns
        -------
        tuple of Body
            The two links.
        """
        m, what = _planar(self, f"dyad '{name}'"), f"dyad '{name}'"
        if kind not in KINDS:
            raise MechanismError(f"{what}: kind {kind!r}; {describe_known(kind, KINDS)}")
        names = [as_word(body, f"body of {what}") for body in bodies]
        if len(names) != 2 or len(ends) != 2:
            raise MechanismError(f"{what}: give two bodies and two ends")
        pins = [_find_pin(m, end, what) for end in ends]
        sizes = _lengths(lengths, 1 if kind in (RP, PR) else 2, what)
        masses = _each_number(mass, 2, f"{what}, mass")
        spots = [_read_spot(spot, given, names, what) for spot, given in (points or {}).items()]
        if kind == RPR:
            return _add_cylinder(m, name, names, pins, sizes, masses)
        if kind == RR:
            place = meet_circles(pins[0], sizes[0], pins[1], sizes[1], side or LEFT, what)
            _note_same_place(m, what, place, sizes, LEFT if side == RIGHT else RIGHT)
            links = [_add_link(m, names[i], pins[i].place, place, masses[i], spots) for i in (0, 1)]
            m.revolute(name, *links, at=place)
            for pin, link in zip(pins, links, strict=True):
                _hinge(m, pin, link.name)
            _add_points(m, spots, {n: (p.place, place) for n, p in zip(names, pins, strict=True)})
            return links[0], links[1]
        r, p = (0, 1) if kind == RP else (1, 0)
        along = _unit(axis, f"{what}, axis")
        place = meet_line(pins[r], sizes[0], pins[p], along, side or AHEAD, what)
        if any(spot.body == names[p] for spot in spots):
            raise MechanismError(f"{what}: body '{names[p]}' is the slider; points are on a link")
        rod = _add_link(m, names[r], pins[r].place, place, masses[r], spots)
        slider = m.body(names[p], masses[p], place)
        m.revolute(name, rod, slider, at=place)
        _hinge(m, pins[r], rod.name)
        _guide(m, pins[p], slider.name, place, along)
        _add_points(m, spots, {names[r]: (pins[r].place, place)})
        return (rod, slider) if kind == RP else (slider, rod)

    def four_bar(
        self,
        *,
        ground: float,
        crank: float,
        coupler: float,
        rocker: float,
        angle: float,
        branch: str = OPEN,
        mass: ArrayLike = 1.0,
        at: ArrayLike = (0.0, 0.0),
        ground_angle: float = 0.0,
        points: Mapping[str, Any] | None = None,
        prefix: str = "",
    ) -> tuple[Body, Body, Body]:
        """Add a four-bar linkage by its lengths [m]: bodies crank, coupler, rocker, joints A, B, C, D.

        Parameters
        ----------
        ground, crank, coupler, rocker
            Lengths AD, AB, BC, CD.
        angle
            Angle of the crank from the ground line A to D [rad], counterclockwise.
        branch
            "open": C is on the left of the line from B to D; "crossed": on the right.
        mass
            Mass of crank, coupler and rocker [kg]: a number, or one per link.
        at, ground_angle
            Position of A [m], and angle of the ground line from the x axis [rad].
        points
            Points of the coupler as in `dyad`: {"P": (r, s)} at distances r from B and s from C, on the left
            of the line from B to C, or {"P": (r, s, "right")}, or {"P": {"along": x, "across": y}}.
        prefix
            Prefix of all names, for a mechanism with several four-bars: "left " gives "left crank".

        Returns
        -------
        tuple of Body
            Crank, coupler and rocker.
        """
        m, what = _planar(self, "four-bar"), "four-bar"
        side = {OPEN: LEFT, CROSSED: RIGHT}.get(branch)
        if side is None:
            raise MechanismError(f"{what}: branch {branch!r}; give {OPEN!r} or {CROSSED!r}")
        masses = _each_number(mass, 3, f"{what}, mass")
        base, turn = (
            as_vector(at, f"{what}, at", "LENGTH"),
            as_number(ground_angle, "ground_angle", "ANGLE"),
        )
        span = _length(ground, f"{what}, ground") * _direction(turn)
        m.point(f"{prefix}A", GROUND, base)
        m.point(f"{prefix}D", GROUND, base + span)
        one = m.crank(
            f"{prefix}B",
            f"{prefix}crank",
            f"{prefix}A",
            length=crank,
            angle=turn + as_number(angle, f"{what}, angle", "ANGLE"),
            mass=masses[0],
        )
        two, three = m.dyad(
            f"{prefix}C",
            (f"{prefix}coupler", f"{prefix}rocker"),
            (f"{prefix}B", f"{prefix}D"),
            lengths=(coupler, rocker),
            mass=masses[1:],
            side=side,
            points=_on_body(points, f"{prefix}coupler"),
        )
        return one, two, three

    def slider_crank(
        self,
        *,
        crank: float,
        rod: float,
        angle: float,
        offset: float = 0.0,
        branch: str = AHEAD,
        mass: ArrayLike = 1.0,
        at: ArrayLike = (0.0, 0.0),
        slide_angle: float = 0.0,
        points: Mapping[str, Any] | None = None,
        prefix: str = "",
    ) -> tuple[Body, Body, Body]:
        """Add a slider-crank by its lengths [m]: bodies crank, rod, slider, joints O, A, B and guide.

        Parameters
        ----------
        crank, rod
            Lengths OA and AB.
        angle
            Angle of the crank from the sliding direction [rad], counterclockwise.
        offset
            Distance of the sliding line to the left of O [m].
        branch
            Whether B is "ahead" of or "behind" the foot of A on the sliding line.
        mass
            Mass of crank, rod and slider [kg]: a number, or one per body.
        at, slide_angle
            Position of O [m], and sliding direction from the x axis [rad].
        points
            Points of the rod, as in `four_bar`: distances from A and from B.
        prefix
            Prefix of all names, for a mechanism with several slider-cranks.

        Returns
        -------
        tuple of Body
            Crank, rod and slider.
        """
        m, what = _planar(self, "slider-crank"), "slider-crank"
        masses = _each_number(mass, 3, f"{what}, mass")
        base, turn = (
            as_vector(at, f"{what}, at", "LENGTH"),
            as_number(slide_angle, "slide_angle", "ANGLE"),
        )
        along = _direction(turn)
        left = np.array((-along[1], along[0]))
        m.point(f"{prefix}O", GROUND, base)
        m.point(
            f"{prefix}guide", GROUND, base + as_number(offset, f"{what}, offset", "LENGTH") * left
        )
        one = m.crank(
            f"{prefix}A",
            f"{prefix}crank",
            f"{prefix}O",
            length=crank,
            angle=turn + as_number(angle, f"{what}, angle", "ANGLE"),
            mass=masses[0],
        )
        two, three = m.dyad(
            f"{prefix}B",
            (f"{prefix}rod", f"{prefix}slider"),
            (f"{prefix}A", f"{prefix}guide"),
            lengths=(rod,),
            mass=masses[1:],
            side=branch,
            kind=RP,
            axis=along,
            points=_on_body(points, f"{prefix}rod"),
        )
        return one, two, three


@dataclass(frozen=True)
class Spot:
    """A named point of a link: in the link's frame [m], or at distances from its two joints, on one side."""

    name: str
    body: str
    frame: tuple[float, float] | None
    distances: tuple[float, float] = (0.0, 0.0)
    side: str = LEFT

    def place(self, start: Floats, end: Floats) -> Floats:
        """Its position on a link from `start` to `end`."""
        if self.frame is None:
            outer, inner = Pin("outer end", self.body, start), Pin("inner joint", self.body, end)
            what = f"point '{self.name}' of '{self.body}'"
            return meet_circles(outer, self.distances[0], inner, self.distances[1], self.side, what)
        d = end - start
        along = d / _norm(d)
        x, y = self.frame
        return np.asarray(start + x * along + y * np.array((-along[1], along[0])))


def meet_circles(first: Pin, r: float, second: Pin, s: float, side: str, what: str) -> Floats:
    """The point at distance r from the first and s from the second point, on one side of the line between them."""
    if side not in (LEFT, RIGHT):
        raise MechanismError(f"{what}: side {side!r}; give {LEFT!r} or {RIGHT!r}")
    d = second.place - first.place
    square = _dot(d, d)
    if not square > 0:
        raise MechanismError(f"{what}: both ends are at {show(first.place)}; choose others")
    share = 0.5 * (1 + (r - s) * (r + s) / square)
    height = r * r / square - share * share
    if height < -TOUCHING * max(1.0, r * r / square):
        apart = sqrt(square)
        why = (
            f"together they are shorter by {apart - r - s:.6g} m"
            if apart > r + s
            else f"their difference is larger by {abs(r - s) - apart:.6g} m"
        )
        raise MechanismError(
            f"{what}: lengths {r:.6g} and {s:.6g} m cannot meet over the distance of {apart:.6g} m "
            f"between '{first.name}' and '{second.name}' ({why}); change a length or an angle"
        )
    across = sqrt(max(height, 0.0)) * np.array((-d[1], d[0]))
    return np.asarray(first.place + share * d + (across if side == LEFT else -across))


def meet_line(pin: Pin, r: float, line: Pin, along: Floats, side: str, what: str) -> Floats:
    """The point of a line at distance r from a point, ahead of or behind the foot of that point on the line."""
    if side not in (AHEAD, BEHIND):
        raise MechanismError(f"{what}: side {side!r}; give {AHEAD!r} or {BEHIND!r}")
    foot = line.place + _dot(pin.place - line.place, along) * along
    away = _norm(pin.place - foot)
    square = (r - away) * (r + away)
    if square < -TOUCHING * r * r:
        raise MechanismError(
            f"{what}: length {r:.6g} m does not reach from '{pin.name}' to the line of '{line.name}', "
            f"which is {away:.6g} m away; change a length or an angle"
        )
    step = sqrt(max(square, 0.0))
    return np.asarray(foot + (step if side == AHEAD else -step) * along)


def _planar(calls: object, what: str) -> Mechanism:
    """The mechanism; raises an error if it is not planar."""
    m: Mechanism = calls  # type: ignore[assignment]
    if m.dimension != 2:
        raise MechanismError(
            f"{what}: building from lengths is for planar mechanisms; give places with rod() in space"
        )
    return m


def _find_pin(m: Mechanism, given: Joint | Marker | str, what: str) -> Pin:
    """An existing joint or named point."""
    name = given if isinstance(given, str) else given.name
    for joint in m.joints:
        if joint.name == name and joint.at is not None:
            if joint.kind.row.coordinate != "angle":
                raise MechanismError(
                    f"{what}: joint '{name}' is {joint.kind.value}; give a revolute joint or a point"
                )
            return Pin(name, joint.bodies[0], joint.at)
    for marker in m.markers:
        if marker.name == name:
            return Pin(name, marker.body, marker.at)
    known = [j.name for j in m.joints] + [p.name for p in m.markers]
    if name == GROUND or any(body.name == name for body in m.bodies):
        raise MechanismError(
            f"{what}: '{name}' is a body; links begin at a joint or a named point. Name a point of it by "
            f"point('P', {name!r}, at) and give 'P'"
        )
    raise MechanismError(
        f"{what}: no joint or point is called '{name}'; {describe_known(name, known)}. Add it by "
        f"point('{name}', body, at)"
    )


def _hinge(m: Mechanism, pin: Pin, body: str) -> None:
    """Join a link to an existing pin, or turn a named point into a joint."""
    for i, joint in enumerate(m.joints):
        if joint.name == pin.name:
            more = replace(joint, ends=(*joint.ends, End(body, pin.place)))
            m.exchange("joints", i, more)
            return
    m.drop_point(pin.name)
    m.revolute(pin.name, pin.body, body, at=pin.place)


def _note_same_place(
    m: Mechanism, what: str, place: Floats, sizes: Sequence[float], other: str
) -> None:
    """Note a new joint on top of another one: a mirrored dyad is often placed there by mistake."""
    for joint in m.joints:
        if joint.at is not None and _norm(joint.at - place) <= SAME_PLACE * max(sizes):
            m.remarks.append(
                f"{what} lies on joint '{joint.name}', at {show(place)}; side='{other}' gives the other place"
            )


def _guide(m: Mechanism, pin: Pin, slider: str, place: Floats, along: Floats) -> None:
    """Let a slider move along a line of the body that has a named point."""
    if any(joint.name == pin.name for joint in m.joints):
        raise MechanismError(
            f"'{pin.name}' is a joint; a slider needs a named point on the body that guides it: add one by "
            "point(name, body, at), in a file under points:"
        )
    m.drop_point(pin.name)
    # the line belongs to the first body: a guiding rod needs the point on itself
    m.prismatic(pin.name, pin.body, slider, at=[pin.place, place], axis=along)


def _add_cylinder(
    m: Mechanism,
    name: str,
    names: Sequence[str],
    pins: Sequence[Pin],
    sizes: Sequence[float],
    masses: Sequence[float],
) -> tuple[Body, Body]:
    """A cylinder and its piston rod on the line between two pins."""
    d = pins[1].place - pins[0].place
    apart = _norm(d)
    if not apart > 0:
        raise MechanismError(f"dyad '{name}': both ends are at {show(pins[0].place)}")
    if sizes[0] + sizes[1] < apart:
        raise MechanismError(
            f"dyad '{name}': lengths {sizes[0]:.6g} and {sizes[1]:.6g} m do not overlap over the distance of "
            f"{apart:.6g} m; give longer ones"
        )
    along = d / apart
    ends = (pins[0].place + sizes[0] * along, pins[1].place - sizes[1] * along)
    links = [m.rod(names[i], pins[i].place, ends[i], masses[i]) for i in (0, 1)]
    m.prismatic(name, *links, at=[ends[0], ends[1]], axis=along)
    for pin, link in zip(pins, links, strict=True):
        _hinge(m, pin, link.name)
    return links[0], links[1]


def _add_link(
    m: Mechanism, name: str, start: Floats, end: Floats, mass: float, spots: Sequence[Spot]
) -> Body:
    """A rod over its two joints and all its points, or a plate if it has points off its line."""
    corners = [start, end, *(spot.place(start, end) for spot in spots if spot.body == name)]
    if len(corners) == 2:
        return m.rod(name, start, end, mass)
    if any(corner.dtype == object for corner in corners):
        own = [spot.frame for spot in spots if spot.body == name]
        if not all(frame is not None and type(frame[1]) is float and not frame[1] for frame in own):
            raise UntracedError(f"the corners of plate '{name}' vary")
        places: list[Any] = [0.0, _norm(end - start), *(frame[0] for frame in own if frame)]
        far = range(len(places))
        first, last = min(far, key=places.__getitem__), max(far, key=places.__getitem__)
        return m.rod(name, corners[first], corners[last], mass)
    if len(convex_hull(np.array(corners))) < 3:
        along = [float((corner - start) @ (end - start)) for corner in corners]
        return m.rod(name, corners[int(np.argmin(along))], corners[int(np.argmax(along))], mass)
    return m.plate(name, np.array(corners), mass)


def _add_points(
    m: Mechanism, spots: Sequence[Spot], links: Mapping[str, tuple[Floats, Floats]]
) -> None:
    for spot in spots:
        m.point(spot.name, spot.body, spot.place(*links[spot.body]))


def _read_spot(name: str, given: Any, bodies: Sequence[str], what: str) -> Spot:
    """A point of a link, as given by the user."""
    what = f"{what}, point '{name}'"
    if isinstance(given, Mapping):
        keys = dict(given)
        body, side = keys.pop("body", bodies[0]), keys.pop("side", LEFT)
        pair = ("along", "across") if "along" in keys or "across" in keys else ("lengths",)
        unknown = [key for key in keys if key not in pair]
        if unknown or not keys:
            raise MechanismError(
                f"{what}: {', '.join(map(repr, given))} is not understood; give body with along and across, "
                "or body with lengths and side"
            )
        if pair[0] == "along":
            x, y = (as_number(keys.get(key, 0.0), f"{what}, {key}", "LENGTH") for key in pair)
            spot = Spot(name, body, (x, y))
        else:
            r, s = _lengths(keys["lengths"], 2, what)
            spot = Spot(name, body, None, (r, s), side)
    else:
        body, r, s, *rest = given if len(given) > 2 else (bodies[0], *given)
        sizes = _lengths((r, s), 2, what)
        spot = Spot(name, body, None, (sizes[0], sizes[1]), rest[0] if rest else LEFT)
    if spot.body not in bodies:
        raise MechanismError(
            f"{what}: no link is called '{spot.body}'; {describe_known(spot.body, bodies)}"
        )
    return spot


def _on_body(points: Mapping[str, Any] | None, body: str) -> dict[str, Any]:
    """Points of one body, in the form that `dyad` accepts."""
    return {
        name: {"body": body, **given} if isinstance(given, Mapping) else (body, *given)
        for name, given in (points or {}).items()
    }


def _length(value: Any, what: str) -> float:
    size = as_number(value, what, "LENGTH")
    if not size > 0:
        raise MechanismError(f"{what}: {size:g} m; give a positive length")
    return size


def _lengths(values: ArrayLike, count: int, what: str) -> list[float]:
    given = as_vector(values, f"{what}, lengths", "LENGTH").ravel()
    if len(given) != count:
        words = "one length" if count == 1 else f"{count} lengths"
        raise MechanismError(f"{what}: {len(given)} lengths; give {words} [m]")
    return [_length(value, f"{what}, length") for value in given.tolist()]


def _each_number(values: ArrayLike, count: int, what: str) -> list[float]:
    given = as_vector(values, what, "MASS").ravel().tolist()
    if len(given) not in (1, count):
        raise MechanismError(f"{what}: {len(given)} numbers; give one, or {count}")
    return given * count if len(given) == 1 else given


def _unit(axis: ArrayLike | None, what: str) -> Floats:
    along = as_vector(axis, what)
    size = _norm(along) if along.shape == (2,) else 0.0
    if not size > 0:
        raise MechanismError(f"{what}: {axis!r} is not a direction; give axis=(x, y)")
    return np.asarray(along / size)


def _direction(angle: Scalar) -> Floats:
    """The unit vector at an angle from the x axis; angles may be traced."""
    if isinstance(angle, TracedNumber):
        return np.array([np.cos(angle), np.sin(angle)], dtype=object)
    return np.array((cos(angle), sin(angle)))


def _dot(a: Floats, b: Floats) -> Any:
    """The scalar product of vectors, which may be traced."""
    if object in (a.dtype, b.dtype):
        return a[0] * b[0] + a[1] * b[1]
    return float(a @ b)


def _norm(d: Floats) -> Any:
    """The length of a vector, which may be traced."""
    return sqrt(_dot(d, d)) if d.dtype == object else float(np.linalg.norm(d))
