"""The mechanism as its user defines it: named bodies, joints, points and initial velocities.

Each call rejects errors that it can detect at once: a duplicate or unknown name, a negative mass, a wrong
dimension, a zero axis. `check_mechanism`, which `simulate` calls first, finds errors that need the whole
mechanism, and names the user's line that added the part. A file is read completely, and all its problems are
reported together. The functions at the end derive new mechanisms, with bodies moved, other sizes or speeds, or
without drives; the original is unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import scene
from ..arrays import Floats
from ..names import all_suggest, describe_known, find_meant, warn_renamed
from .actions import lock_name
from .bodies import Body, Marker, make_rod
from .construction import ConstructionCalls
from .elements import (
    GROUND,
    Element,
    MechanismError,
    Move,
    Moves,
    NameRegistry,
    Part,
    as_number,
    as_vector,
    as_word,
    gravity_problems,
    turning_problems,
    velocity_problems,
)
from .event_requests import Event, when
from .forces import LOADS, LoadCalls
from .joint_kinds import Along, JointCalls, JointKind
from .joints import End, Joint
from .part_arrays import PartArrays
from .snapping import snap_places

# lists of a mechanism and their names in model files, in file order
STRUCTURE = {"bodies": "bodies", "joints": "joints", "markers": "points"}
PARTS = STRUCTURE | {name: name for name in LOADS}


# what newcomers look for in vain
NOT_SUPPORTED = ("cam", "collision", "contact", "geneva", "rack", "screw")


@all_suggest
class Mechanism(JointCalls, LoadCalls, ConstructionCalls):
    """A linkage: rigid bodies joined to each other and to the ground.

    All coordinates are those of the initial configuration, in metres. If they are only roughly known, give a joint
    one point (and axis) per body, shape (bodies, dimension), and close it with `sarrus.assemble`; with
    `mechanism.assemble = True`, `simulate` does so itself. Points on rods may be typed with few digits: a point
    that is off its rod by less than 1e-6 of the rod's length is moved onto it, and a note of the result says so.

    Parameters
    ----------
    name : str, optional
        Name of the mechanism.
    gravity : array_like, optional
        Gravitational acceleration [m/s^2]. Two components make the mechanism planar, three make it spatial.
    exact : bool, optional
        Reject points that are off their rod instead of moving them.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum")
    >>> rod = m.rod("rod", (0.0, 0.0), (1.0, 0.0), mass=1.0)
    >>> joint = m.revolute("O", m.ground, rod, at=(0.0, 0.0))
    """

    GROUND = GROUND

    def __init__(
        self, name: str = "mechanism", gravity: ArrayLike = (0.0, -9.81), *, exact: bool = False
    ) -> None:
        self.exact = bool(exact)
        self.name = as_word(name, "name of a mechanism")
        self.gravity = as_vector(gravity, f"gravity of mechanism '{name}'", "ACCELERATION")
        self._reject(gravity_problems(self.name, self.gravity))
        self.assemble = False
        self.ground = Body(self.GROUND, np.inf, np.zeros(self.dimension), np.zeros(0))
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.markers: list[Marker] = []
        for loads in LOADS:
            setattr(self, loads, [])
        self.velocities: list[tuple[str, Floats]] = []
        self.angular_velocities: list[tuple[str, Floats]] = []
        # events that every run locates, and joints that events of a run may lock
        self.events: list[Event] = []
        self.lockable: list[str] = []
        # whether calls reject errors at once; file and line of the user that added each part
        self.at_once = True
        self.added: dict[tuple[str, str], tuple[str, int]] = {}
        self._known: NameRegistry | None = None
        self._former: list[Body] = []
        self._counts: list[int] = []
        # bodies and joints as arrays, cached
        self.part_arrays: PartArrays | None = None
        # defaults of `sarrus simulate`: duration [s], output_step [s], tolerance, ...
        self.defaults: dict[str, float | str] = {}
        # notes on the origin of the mechanism: an import reports what it changed and dropped
        self.remarks: list[str] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Name the call that is probably meant: revolute for pin."""
            hint = ""
            if name in NOT_SUPPORTED:
                hint = "; contacts, cams, racks, screws and Geneva drives are not supported"
            elif not name.startswith("_"):
                meant = find_meant(name, [w for w in dir(type(self)) if not w.startswith("_")])
                hint = f"; did you mean '{meant}'?" if meant else ""
            raise AttributeError(f"a Mechanism has no '{name}'{hint}")

    @property
    def told(self) -> list[str]:
        """The earlier name of `remarks`."""
        warn_renamed("mechanism.told", "mechanism.remarks")
        return self.remarks

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space."""
        return int(self.gravity.size)

    @property
    def size(self) -> float:
        """Extent of its bodies and joints at the start [m]: the diagonal of their bounding box."""
        places = [body.center for body in self.bodies]
        places += [end for body in self.bodies if body.ends for end in body.ends]
        places += [place for joint in self.joints for place in joint.places]
        return float(np.linalg.norm(np.ptp(places, axis=0))) if places else 0.0

    def __repr__(self) -> str:
        kind = {2: "planar", 3: "spatial"}.get(self.dimension, "ill-defined")
        return f"<Mechanism '{self.name}': {kind}, {len(self.bodies)} bodies, {len(self.joints)} joints>"

    def plot(self) -> Any:
        """A matplotlib figure of the initial configuration, with the names of joints and points."""
        return scene.notebook_view.draw_mechanism(self)

    def _repr_html_(self) -> str:
        return scene.notebook_view.mechanism_card(self)

    # the whole mechanism

    def structure(self) -> Iterator[Element]:
        """Bodies, joints and points."""
        for name in STRUCTURE:
            yield from getattr(self, name)

    def loads(self) -> Iterator[Element]:
        """All applied forces, couplings, rotors and drives, in file order."""
        for name in LOADS:
            yield from getattr(self, name)

    def copy(self) -> Mechanism:
        """An independent copy: parts added to one mechanism do not change the other."""
        return self.mapped(None)

    __copy__ = copy

    def mapped(self, change: Callable[[Any], Any] | None) -> Mechanism:
        """A copy with every part replaced by `change(part)`, if `change` is given."""
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            if change and name in PARTS:
                value = [change(part) for part in value]
            elif isinstance(value, list | dict):
                value = value.copy()
            elif name == "_known":
                value = None
            setattr(new, name, value)
        return new

    # bodies and points

    def rod(
        self,
        name: str,
        start: ArrayLike,
        end: ArrayLike,
        mass: float,
        section: float = 0.0,
    ) -> Body:
        """Add a uniform straight rod from `start` to `end`.

        Parameters
        ----------
        name : str
            Name of the body.
        start, end : array_like
            Ends of the rod at the start [m].
        mass : float
            Mass [kg].
        section : float, optional
            Side of its square cross section [m]; 0 is a thin rod without inertia about its axis.

        Returns
        -------
        Body
            The rod, to be passed to joints.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism()
        >>> crank = m.rod("crank", (0, 0), ("0 mm", "300 mm"), mass="2 kg")
        """
        name = as_word(name, "name of a rod")
        a = as_vector(start, f"start of rod '{name}'", "LENGTH")
        b = as_vector(end, f"end of rod '{name}'", "LENGTH")
        kilograms = as_number(mass, f"mass of rod '{name}'", "MASS")
        side = as_number(section, f"section of rod '{name}'", "LENGTH")
        return self._add("bodies", make_rod(name, a, b, kilograms, side))

    def body(
        self, name: str, mass: float, center: ArrayLike, inertia: ArrayLike | float | None = None
    ) -> Body:
        """Add a rigid body by its mass, centre of mass and inertia about that centre.

        Parameters
        ----------
        name : str
            Name of the body.
        mass : float
            Mass [kg].
        center : array_like
            Centre of mass at the start [m].
        inertia : array_like, optional
            Inertia about the centre of mass [kg m^2]. Planar: a number. Spatial: a 3 x 3 matrix, or its three
            diagonal entries, in world axes at the start. Default: a point mass.

        Returns
        -------
        Body
            The body, to be passed to joints.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism()
        >>> wheel = m.body("wheel", mass=2.0, center=(0, 0), inertia=0.1)
        """
        name = as_word(name, "name of a body")
        c = as_vector(center, f"center of body '{name}'", "LENGTH")
        if inertia is None:
            values = np.zeros(()) if c.size == 2 else np.zeros((3, 3))
        else:
            values = as_vector(inertia, f"inertia of body '{name}'", "INERTIA")
            if values.shape == (3,):
                values = np.diag(values)
        kilograms = as_number(mass, f"mass of body '{name}'", "MASS")
        return self._add("bodies", Body(name, kilograms, c, values))

    def point(self, name: str, body: Body | str, at: ArrayLike) -> Marker:
        """Name a point of a body, to observe it or to give it a velocity.

        Parameters
        ----------
        name : str
            Name of the point.
        body : Body or str
            The body that carries it.
        at : array_like
            Its coordinates at the start [m].

        Returns
        -------
        Marker
            The point.
        """
        name = as_word(name, "name of a point")
        marker = Marker(
            name,
            self._name(body, f"point '{name}'"),
            as_vector(at, f"place of point '{name}'", "LENGTH"),
        )
        return self._add("markers", marker)

    # initial velocities

    def set_velocity(self, point: Joint | Marker | str, velocity: ArrayLike) -> None:
        """Give the start velocity [m/s] of a joint or named point.

        Velocities that are not given follow from the joints. If the joints do not determine them, the motion of
        least kinetic energy is used, and a note of the result says so.

        Parameters
        ----------
        point : str
            Name of a joint or point.
        velocity : array_like
            Its velocity [m/s].

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("pendulum")
        >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
        >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
        >>> _ = m.point("tip", "rod", (1, 0))
        >>> m.set_velocity("tip", (0, 1.5))
        """
        name = (
            point.name
            if isinstance(point, Joint | Marker)
            else as_word(point, "velocity of a point")
        )
        given = (name, as_vector(velocity, f"velocity of point '{name}'", "VELOCITY"))
        if self.at_once:
            self._reject(velocity_problems(given, self._now()))
        self.velocities.append(given)

    def set_angular_velocity(self, body: Body | str, velocity: ArrayLike | float) -> None:
        """Give the start angular velocity of a body [rad/s]: a number in the plane, else 3.

        Parameters
        ----------
        body : Body or str
            The body.
        velocity : float or array_like
            Its angular velocity [rad/s]: a number in the plane, a vector in space.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("pendulum")
        >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
        >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
        >>> _ = m.point("tip", "rod", (1, 0))
        >>> m.set_angular_velocity("rod", "30 rpm")
        """
        name = self._name(body, "angular velocity of a body")
        given = (name, as_vector(velocity, f"angular velocity of '{name}'", "ANGULAR_VELOCITY"))
        if self.at_once:
            self._reject(turning_problems(given, self._now()))
        self.angular_velocities.append(given)

    def event(self, name: str, quantity: Any = None, **what: Any) -> Event:
        """Add an event that every run locates; arguments as for `sarrus.when`.

        Parameters
        ----------
        name : str
            Name of the event.
        quantity : str, mapping or callable, optional
            The quantity, as for `sarrus.when`.
        **what :
            Further arguments of `sarrus.when`.

        Returns
        -------
        Event
            The event.
        """
        event = when(quantity, name=name, **what)
        if any(other.name == event.name for other in self.events):
            raise MechanismError(f"event '{name}': there is one of this name; choose another name")
        if self.at_once:
            self._reject(event.problems(self))
        self.events.append(event)
        return event

    @property
    def prescribers(self) -> dict[str, str]:
        """Joints by the names of what may prescribe their coordinates in a run: drives, stops, locks."""
        driven = {drive.name: drive.joint for drive in self.drives}
        limited = {limit.name: limit.joint for limit in self.limits}
        return driven | limited | {lock_name(joint.name): joint.name for joint in self.joints}

    def check(self) -> None:
        """Raise MechanismError if this cannot be simulated; the message lists every reason."""
        from .check import check_mechanism

        check_mechanism(self)

    # files

    def save(self, path: str | Path) -> None:
        """Write a model file (YAML); `load` reads it back bit for bit.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> m.save("four_bar.yaml")
        """
        from .files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Mechanism:
        """Read a model file; raises MechanismError that lists every problem with file, line and key.

        Parameters
        ----------
        path : str or Path
            A model file (YAML).

        Returns
        -------
        Mechanism
            The mechanism.
        """
        from .files import load

        return load(path)

    def _add(self, block: str, part: Part) -> Part:
        """Add a part to its list; raises MechanismError for detectable errors."""
        parts = getattr(self, block)
        if not self.at_once:
            parts.append(part)
            return part
        if self._look(block, part):
            # the lists may have been edited; rebuild the registry from their current contents
            self._known = None
            self._reject(self._look(block, part))
        known = self._now()
        parts.append(part)
        known.add(block, part)
        self._counts = self._count()
        self.added[block, part.name] = user_line()
        return self._snapped(block, part)

    def _snapped(self, block: str, part: Part) -> Part:
        """The part that was just added, moved onto its rods if it was typed with few digits."""
        if not self._now().typed:
            return part
        before = [list(getattr(self, name)) for name in PARTS]
        try:
            snap_places(self, {part.name} if block == "joints" else set())
        except MechanismError:
            for name, parts in zip(PARTS, before, strict=True):
                setattr(self, name, parts)
            getattr(self, block).pop()
            self._known = None
            raise
        return next(p for p in getattr(self, block) if p.name == part.name)

    def exchange(self, block: str, number: int, part: Part, check: bool = True) -> Part:
        """Replace a part by another one.

        Parameters
        ----------
        block : str
            Name of the list: "bodies", "joints", ...
        number : int
            Index of the part in the list.
        part : Element
            The new part.
        check : bool, optional
            Raise MechanismError if the new part has detectable errors.
        """
        if check and self.at_once:
            self._reject(part.problems(self._now()))
        parts = getattr(self, block)
        if block == "bodies":
            # references to the old part still mean this body
            self._former.append(parts[number])
        parts[number] = part
        self._known = self.part_arrays = None
        return part

    def drop_point(self, name: str) -> None:
        """Remove a named point, so that a joint can take its name."""
        self.markers = [marker for marker in self.markers if marker.name != name]
        self.added.pop(("markers", name), None)
        self._known = None

    def _look(self, block: str, part: Element) -> list[str]:
        """Problems of a part that is to be added."""
        known = self._now()
        known.typed.clear()
        return [*self._taken(block, part.name, known), *part.problems(known)]

    def _taken(self, block: str, name: str, known: NameRegistry) -> Iterator[str]:
        """Whether another part already has this name."""
        if block == "bodies" and name == self.GROUND:
            yield f"a body is called '{name}', the name of the fixed frame; choose another name"
        taken = {
            "bodies": name in known.bodies,
            "joints": name in known.joints or ("markers", name) in self.added,
            "markers": name in known.joints or ("markers", name) in self.added,
        }.get(block, any((loads, name) in self.added for loads in LOADS))
        if taken:
            what = {"bodies": "bodies", "joints": "joints or points", "markers": "joints or points"}
            yield f"2 {what.get(block, 'forces or drives')} are called '{name}'; give each a different name"

    def _now(self) -> NameRegistry:
        """The names so far; lists that a user has edited are read again."""
        if self._known is None or self._count() != self._counts:
            self._known, self._counts = NameRegistry(self, not self.exact), self._count()
            present = {(block, part.name) for block in PARTS for part in getattr(self, block)}
            self.added = {key: self.added.get(key, ("", 0)) for key in present}
        return self._known

    def _count(self) -> list[int]:
        return [len(getattr(self, block)) for block in PARTS]

    def _reject(self, problems: Iterable[str]) -> None:
        """Raise MechanismError if there are problems."""
        found = list(problems)
        if found:
            raise MechanismError("\n".join(found))

    def _name(self, body: Body | str, what: str) -> str:
        if not isinstance(body, Body | str):
            raise MechanismError(f"{what}: {body!r} is not a body; give a body or its name")
        # bodies are compared by identity: another mechanism may have one of the same name
        if isinstance(body, Body) and body is not self.ground and not self._has(body):
            raise MechanismError(
                f"{what}: body '{body.name}' belongs to another mechanism; add it to this one first"
            )
        return body if isinstance(body, str) else body.name

    def _has(self, body: Body) -> bool:
        """Whether a body belongs to this mechanism; most are found where they were added."""
        at = self._known.numbers.get(body.name) if self._known else None
        there = at is not None and at < len(self.bodies) and self.bodies[at] is body
        return there or body in self.bodies or body in self._former

    def _joint_name(self, joint: Joint | str, what: str) -> str:
        if not isinstance(joint, Joint | str):
            raise MechanismError(f"{what}: {joint!r} is not a joint; give a joint or its name")
        return joint if isinstance(joint, str) else joint.name

    def _join(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        at: ArrayLike | None,
        axis: ArrayLike | None = None,
        second_axis: ArrayLike | None = None,
        along: Along = None,
    ) -> Joint:
        name = as_word(name, "name of a joint")
        count, role = len(bodies), kind.row.axis
        what = f"joint '{name}' ({kind.value})"
        if along is not None:
            at = self._along(bodies, at, along, what)
        places = _each(at, f"place of joint '{name}'", "LENGTH") or [None]
        if len(places) not in (1, count):
            raise MechanismError(
                f"{what}: at has {len(places)} places for {count} bodies; give one place, or one for each "
                "body"
            )
        axes = _each(axis, f"axis of joint '{name}'") or [None]
        if len(axes) > 1 and role != "common":
            raise MechanismError(f"{what}: its axis belongs to one body; give one axis")
        if len(axes) not in (1, count):
            raise MechanismError(
                f"{what}: {len(axes)} axes for {count} bodies; give one axis, or one for each body"
            )
        if role != "common":
            second = second_axis if role == "each" else None
            axes += [
                None if second is None else as_vector(second, f"second axis of joint '{name}'")
            ]
            axes += [None] * (count - 2)
        return self._add_joint(name, kind, bodies, places, axes)

    def _along(
        self, bodies: Sequence[Body | str], at: ArrayLike | None, along: Along, what: str
    ) -> Floats:
        """The point at a fraction of the length of one of the bodies; default: the first one that is a rod."""
        if at is not None:
            raise MechanismError(f"{what}: give at or along, not both")
        rods = {b.name: b for b in self.bodies if b.ends is not None}
        names = [self._name(body, what) for body in bodies]
        if isinstance(along, Mapping):
            if len(along) != 1:
                raise MechanismError(f"{what}: along names {len(along)} rods; give one")
            [(name, share)] = along.items()
        else:
            name, share = next((n for n in names if n in rods), ""), as_number(along, what)
        if name not in names or name not in rods:
            raise MechanismError(
                f"{what}: along needs a rod among {', '.join(names)}"
                + (f", '{name}' is none; " if name else "; ")
                + "give at, or name the rod: along={'rod': 0.5}"
            )
        part = as_number(share, f"{what}, along")
        if not 0 <= part <= 1:
            raise MechanismError(
                f"{what}: along {part:g}; give the share of the length of rod '{name}' from its first end, 0 to 1"
            )
        a, b = rods[name].ends or (rods[name].center, rods[name].center)
        return np.asarray(a if part == 0 else b if part == 1 else (1 - part) * a + part * b)

    def _link(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        start: ArrayLike,
        end: ArrayLike,
    ) -> Joint:
        name = as_word(name, "name of a joint")
        ends = (("start", start), ("end", end))
        places = [as_vector(place, f"{word} of joint '{name}'", "LENGTH") for word, place in ends]
        return self._add_joint(name, kind, bodies, places, [None])

    def _add_joint(
        self,
        name: str,
        kind: JointKind,
        bodies: Sequence[Body | str],
        places: Sequence[Floats | None],
        axes: Sequence[Floats | None],
    ) -> Joint:
        """Add a joint with one point and axis for each body, or one for all."""
        n = len(bodies)
        places, axes = (list(x) * n if len(x) == 1 else x for x in (places, axes))
        names = [self._name(b, f"joint '{name}'") for b in bodies]
        ends = tuple(End(b, p, a) for b, p, a in zip(names, places, axes, strict=False))
        return self._add("joints", Joint(name, kind, ends))


def user_line() -> tuple[str, int]:
    """File and line of the code that calls this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "sarrus":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _each(values: ArrayLike | None, what: str, kind: str = "") -> list[Floats | None]:
    """One vector per body of a joint, a single one if it applies to all, an empty list if there is none."""
    if values is None:
        return []
    vectors = as_vector(values, what, kind)
    if vectors.ndim < 2 or not len(vectors):
        return [vectors]
    return [v.copy() for v in vectors]


def move_bodies(mechanism: Mechanism, moves: Moves, *, closed: bool = True) -> Mechanism:
    """A new mechanism with bodies moved by name; everything that is not moved stays bit-identical.

    Rods, points and axes of joints, named points, ends of springs, points of forces and body-fixed directions move
    with their bodies; velocities stay as given. closed: the bodies meet in their joints, so each joint gets one
    point; otherwise each of its bodies keeps its own point.
    """
    return mechanism.mapped(lambda part: part.moved(moves, closed))


def resize_rods(mechanism: Mechanism, lengths: Mapping[str, Any]) -> Mechanism:
    """A new mechanism whose rods have these lengths [m], by name; their first ends stay in place.

    Points on a rod keep their fraction of the length; joints may be open afterwards. Raises MechanismError for
    parts with invalid places: those of a file are not checked before.
    """
    for block in ("bodies", "joints", "markers", "forces", "springs"):
        for part in getattr(mechanism, block):
            for problem in part.problems(mechanism._now()):
                raise MechanismError(problem)
    moves = {}
    for name, given in lengths.items():
        rods = {b.name: b for b in mechanism.bodies if b.ends is not None}
        if name not in rods:
            raise MechanismError(
                f"length of '{name}': there is no rod of that name; {describe_known(name, rods)}"
            )
        length, ends = as_number(given, f"length of rod '{name}'", "LENGTH"), rods[name].ends
        if not (length > 0 and np.isfinite(length)) or ends is None:
            raise MechanismError(f"length of rod '{name}': {length:g} m; give a positive length")
        drawn = float(np.linalg.norm(ends[1] - ends[0]))
        # a rod that is drawn at this length stays bit-identical
        if length != drawn:
            moves[name] = Move(ends[0], length / drawn * np.eye(mechanism.dimension), ends[0])
    return move_bodies(mechanism, moves, closed=False)


def vary(
    mechanism: Mechanism, *, size: float = 1.0, speed: float = 1.0, gravity: float = 1.0
) -> Mechanism:
    """A copy with all lengths times `size`, initial velocities times `speed` and gravity times `gravity`.

    Masses are unchanged, so inertias grow with the square of the size.
    """
    if not size > 0:
        raise MechanismError(f"size = {size:g}; give a positive factor")
    if size != 1 and mechanism.drives:
        raise MechanismError(
            f"mechanism '{mechanism.name}' has drives, whose lengths are functions of time; keep its size"
        )
    for what, parts in (("events", mechanism.events), ("limits", mechanism.limits)):
        if size != 1 and parts:
            raise MechanismError(
                f"mechanism '{mechanism.name}' has {what}, whose values may be lengths; keep its size, "
                "or remove them"
            )
    new = mechanism.mapped(lambda part: part.scaled(size))
    new.gravity = gravity * mechanism.gravity
    new.velocities = [(name, speed * v) for name, v in mechanism.velocities]
    spins = mechanism.angular_velocities
    new.angular_velocities = [(name, np.asarray(speed * w)) for name, w in spins]
    return new


def without_drives(mechanism: Mechanism) -> Mechanism:
    """The same mechanism without its drives, whose motion counts from the initial configuration."""
    if not mechanism.drives:
        return mechanism
    out = mechanism.copy()
    out.drives.clear()
    return out


def turn_rods_into_bodies(mechanism: Mechanism) -> Mechanism:
    """A copy in which rods become general bodies where a mismatch repair has moved joints off their axes."""
    bodies = {b.name: b for b in mechanism.bodies}
    off_axis = {
        name
        for joint in mechanism.joints
        if joint.at is not None
        for name in joint.bodies
        if name in bodies and bodies[name].measure_off_rod(joint.at)[0]
    }
    out = mechanism.copy()
    out.bodies = [b.as_body() if b.name in off_axis else b for b in mechanism.bodies]
    return out
