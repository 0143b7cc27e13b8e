"""What acts on a mechanism besides gravity: forces, torques, springs, a user's own force, couplings, drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..arrays import Floats
from ..names import describe_known
from ..thresholds import DRIVE_START, SAME_RATIO
from ..tracing import UNUSABLE, is_usable, larger, largest, length_of
from .bodies import Body, Marker
from .elements import (
    Element,
    MechanismError,
    Moves,
    NameRegistry,
    Part,
    as_number,
    as_vector,
    as_word,
    moved_direction,
    moved_place,
    plain,
    same_bits,
    show,
)
from .joint_kinds import JointKind
from .joints import Joint
from .motion import DriveMotion, Polynomial, as_motion, check_motion, make_pieces, motion_data

WORLD, BODY = "world", "body"
# of a gear: its equations have some two coordinates for each binary digit
MOST_TEETH = 500


@dataclass(frozen=True, eq=False)
class Force(Element):
    """A constant force [N] at a point of a body; fixed_in: "world", or "body" if it turns with it."""

    body: str
    at: Floats
    vector: Floats
    fixed_in: str = WORLD

    def moved(self, moves: Moves, closed: bool) -> Force:
        """With its body; its direction too if it is fixed there."""
        if self.body not in moves:
            return self
        turned = moves[self.body].direction(self.vector) if self.fixed_in == BODY else self.vector
        return replace(self, at=moves[self.body].place(self.at), vector=turned)

    def scaled(self, size: float) -> Force:
        """At a place farther out."""
        return replace(self, at=size * self.at)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its point, its vector."""
        what = f"force '{self.name}'"
        yield from known.point(self.body, self.at, what, f"{what}, at")
        yield from known.vector(self.vector, f"{what}, vector")
        yield from _fixed_in(self.fixed_in, what)

    def data(self) -> dict[str, Any]:
        """Body, place and vector."""
        return {"body": self.body, "at": plain(self.at), **_vector(self.vector, self.fixed_in)}


@dataclass(frozen=True, eq=False)
class Torque(Element):
    """A constant torque [N m] on a body: a number in the plane, 3 in space; fixed_in as for a force."""

    body: str
    vector: Floats
    fixed_in: str = WORLD

    def moved(self, moves: Moves, closed: bool) -> Torque:
        """Turned with its body if it is fixed there."""
        if self.body not in moves or self.fixed_in != BODY:
            return self
        return replace(self, vector=moved_direction(moves, self.body, self.vector))

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its body, its vector."""
        what = f"torque '{self.name}'"
        yield from _fixed_in(self.fixed_in, what)
        yield from known.body(self.body, what)
        if self.vector.shape != (() if known.dimension == 2 else (3,)):
            need = "one number" if known.dimension == 2 else "3 numbers"
            yield f"{what} has shape {self.vector.shape}; this mechanism needs {need}"
        elif not all(map(is_usable, self.vector.ravel().tolist())):
            yield f"{what}: {show(self.vector.ravel())} N m {UNUSABLE}; give finite numbers"

    def data(self) -> dict[str, Any]:
        """Body and vector."""
        return {"body": self.body, **_vector(self.vector, self.fixed_in)}


@dataclass(frozen=True, eq=False)
class Spring(Element):
    """A spring and damper between a point of one body and a point of another.

    It pulls with stiffness (length - free_length) + damping (rate of length) + preload [N].
    """

    bodies: tuple[str, str]
    ends: tuple[Floats, Floats]
    stiffness: float
    damping: float
    free_length: float
    preload: float

    def moved(self, moves: Moves, closed: bool) -> Spring:
        """Each end with its body; the free length stays."""
        (a, b), (p, q) = self.bodies, self.ends
        if not moves.keys() & set(self.bodies):
            return self
        return replace(self, ends=(moved_place(moves, a, p), moved_place(moves, b, q)))

    def scaled(self, size: float) -> Spring:
        """Longer, with its free length."""
        ends = (size * self.ends[0], size * self.ends[1])
        return replace(self, ends=ends, free_length=size * self.free_length)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its ends, its numbers, its length."""
        what = f"spring '{self.name}'"
        bad = [
            line
            for body, at in zip(self.bodies, self.ends, strict=True)
            for line in known.point(body, at, what, f"{what}, at")
        ]
        yield from bad
        if self.bodies[0] == self.bodies[1]:
            yield f"{what} connects body '{self.bodies[0]}' with itself; name two different bodies"
        yield from _numbers(self, what, "stiffness", "damping", "free_length", "preload")
        if self.free_length < 0:
            yield f"{what}: free length {self.free_length:g} m is negative; give zero or more"
        if not bad:
            first, second = self.ends
            a, b = first.tolist(), second.tolist()
            if length_of(a, b) <= 1e-12 * largest((abs(x) for x in (*a, *b)), 1e-300):
                yield (
                    f"{what} has length zero at the start, both ends at {show(first)}: the direction of "
                    "its pull is not defined there; move an end"
                )

    def data(self) -> dict[str, Any]:
        """Bodies, ends and numbers."""
        start, end = (plain(e) for e in self.ends)
        numbers = _nonzero(self, "stiffness", "damping", "free_length", "preload")
        return {"bodies": list(self.bodies), "start": start, "end": end, **numbers}


@dataclass(frozen=True, eq=False)
class Torsion(Element):
    """A torsional spring and damper at a revolute joint of two bodies, or a constant torque there.

    On the second body it exerts, and on the first the opposite of,
    torque - stiffness (angle - free_angle) - damping (rate of angle) [N m], the angle of the second
    body seen from the first being 0 at the start position.
    """

    joint: str
    stiffness: float
    damping: float
    free_angle: float
    torque: float

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its joint, its numbers."""
        what = f"torsion '{self.name}'"
        joint = known.joints.get(self.joint)
        if joint is None:
            yield f"{what}: there is no joint '{self.joint}'; {describe_known(self.joint, known.joints)}"
        elif joint.kind.row.coordinate != "angle":
            wanted = ", ".join(k.value for k in JointKind if k.row.coordinate == "angle")
            yield f"{what}: joint '{self.joint}' is {joint.kind.value}; it has to be {wanted}"
        else:
            yield from _two_bodies(joint, what)
        yield from _numbers(self, what, "stiffness", "damping", "free_angle", "torque")

    def data(self) -> dict[str, Any]:
        """Joint and numbers."""
        numbers = _nonzero(self, "stiffness", "damping", "free_angle", "torque")
        return {"joint": self.joint, **numbers}


@dataclass(frozen=True, eq=False)
class Rotor(Element):
    """Inertia on the relative coordinate of a joint of two bodies: a geared rotor, a motor's armature.

    Its kinetic energy is 1/2 inertia (rate of angle)^2 of a revolute joint, 1/2 inertia (relative angular
    velocity)^2 of a spherical one, 1/2 mass (rate of travel)^2 of a slider; it has no weight.
    """

    joint: str
    inertia: float
    mass: float

    def scaled(self, size: float) -> Rotor:
        """Larger with the same mass, as bodies are."""
        return replace(self, inertia=size**2 * self.inertia)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its joint, its number."""
        what = f"rotor '{self.name}'"
        joint = known.joints.get(self.joint)
        if joint is None:
            yield f"{what}: there is no joint '{self.joint}'; {describe_known(self.joint, known.joints)}"
            return
        wanted = _rotor_number(joint.kind)
        if not wanted:
            kinds = ", ".join(k.value for k in JointKind if _rotor_number(k))
            yield f"{what}: joint '{self.joint}' is {joint.kind.value}; it has to be {kinds}"
            return
        yield from _two_bodies(joint, what)
        other = "mass" if wanted == "inertia" else "inertia"
        if getattr(self, other):
            yield f"{what}: joint '{self.joint}' is {joint.kind.value}; give it {wanted}, not {other}"
        elif not (is_usable(getattr(self, wanted)) and getattr(self, wanted) > 0):
            yield f"{what}: {wanted} {getattr(self, wanted):g} must be positive and finite"

    def data(self) -> dict[str, Any]:
        """Joint and number."""
        return {"joint": self.joint, **_nonzero(self, "inertia", "mass")}


@dataclass(frozen=True, eq=False)
class UserForce(Element):
    """Forces at named points, computed by a function of the user.

    function(t, position, velocity): position and velocity of the points, arrays (points, dimension) in
    m and m/s; it returns the forces on them [N], same shape.
    """

    points: tuple[str, ...]
    function: Callable[[float, Floats, Floats], Any]

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its points, its function."""
        what = f"user force '{self.name}'"
        if not self.points:
            yield f"{what} acts at no point; name at least one"
        for name in self.points:
            if name not in known.holds:
                yield f"{what}: there is no joint, point or body '{name}'; {describe_known(name, known.holds)}"
        if not callable(self.function):
            yield f"{what}: {self.function!r} is no function; give f(t, position, velocity)"

    def data(self) -> dict[str, Any]:
        """None: a file holds no functions."""
        raise MechanismError(
            f"user force '{self.name}' is a Python function, which a file cannot hold; "
            "remove it before saving, and add it after loading"
        )


@dataclass(frozen=True, eq=False)
class Drive(Element):
    """The coordinate of a joint as a function of time.

    Of a revolute joint the angle [rad], of a prismatic or cylindrical one the travel [m], both counted
    from the start position; of a distance joint its length [m].
    """

    joint: str
    motion: DriveMotion

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its motion, its joint, and whether they meet at the start."""
        what = f"drive '{self.name}'"
        bad = check_motion(self.motion, what)
        yield from bad
        joint = known.joints.get(self.joint)
        if joint is None:
            yield f"{what}: there is no joint '{self.joint}'; {describe_known(self.joint, known.joints)}"
            return
        coordinate = joint.kind.row.coordinate
        if not coordinate:
            kinds = ", ".join(kind.value for kind in JointKind if kind.row.coordinate)
            yield f"{what}: joint '{joint.name}' is {joint.kind.value}; these can be driven: {kinds}"
            return
        pair = list(_two_bodies(joint, what))
        yield from pair
        if pair:
            return
        same = known.drives.get(self.joint, [])
        new = self.name not in same
        same = [*same, self.name] if new else same
        # of those that are there the first tells it
        if len(same) > 1 and (new or same[0] == self.name):
            yield f"joint '{joint.name}' is driven {len(same)} times ({', '.join(same)}); keep one drive"
        if bad:
            return
        start = 0.0
        if coordinate == "length":
            if any(list(known.vector(p, what)) for p in joint.places):
                return
            start = length_of(joint.places[1].tolist(), joint.places[0].tolist())
        value = make_pieces(self.motion).value(0.0)
        if abs(value - start) > DRIVE_START * larger(1.0, abs(start)):
            unit = "rad" if coordinate == "angle" else "m"
            # who gives one number often means a speed
            constant = isinstance(self.motion, Polynomial) and len(self.motion.coefficients) == 1
            speed = f"for a speed of {value:.12g} {unit}/s give Polynomial(({start:.12g}, {value:.12g}))"
            advice = speed if constant else "shift the motion"
            yield (
                f"{what}: the {coordinate} of joint '{joint.name}' is {start:.12g} {unit} at the start "
                f"position, but its motion begins with {value:.12g} {unit}; {advice}, or move the start position"
            )

    def data(self) -> dict[str, Any]:
        """Joint and motion."""
        return {"joint": self.joint, **motion_data(self.motion)}


@dataclass(frozen=True, eq=False)
class Coupling(Element):
    """Two joints that move in proportion: gears, belts, linked sliders.

    The angle or travel of `joint` is ratio times that of `other`, both counted from the start position, angles
    on beyond a turn. Of angles the ratio is one of two whole numbers, as of teeth (see `fraction`).
    """

    decides: ClassVar[tuple[str, ...]] = ("ratio",)
    joint: str
    other: str
    ratio: float

    @property
    def fraction(self) -> Fraction:
        """The ratio of whole numbers that it is, or the nearest with few teeth."""
        return Fraction(self.ratio).limit_denominator(MOST_TEETH)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Its joints, its ratio."""
        what, words = f"coupling '{self.name}'", []
        if self.joint == self.other:
            yield f"{what}: couples joint '{self.joint}' with itself; name two different joints"
            return
        for name in (self.joint, self.other):
            joint = known.joints.get(name)
            if joint is None:
                yield f"{what}: there is no joint '{name}'; {describe_known(name, known.joints)}"
                continue
            word = joint.kind.row.coordinate
            if word not in ("angle", "travel"):
                yield (
                    f"{what}: joint '{name}' is {joint.kind.value}; it has to be revolute, prismatic or "
                    "cylindrical"
                )
                continue
            yield from _two_bodies(joint, what)
            words.append(word)
        if not is_usable(self.ratio) or self.ratio == 0.0:
            yield f"{what}: ratio {self.ratio:g} has to be finite, of reasonable size and not zero"
        elif len(set(words)) == 2:
            yield (
                f"{what}: '{self.joint}' and '{self.other}' are a hinge and a slider; a rack relates an angle to "
                "a length, which no quadratic equation says: leave it out"
            )
        elif words == ["angle", "angle"] and not self.has_teeth:
            yield (
                f"{what}: ratio {self.ratio!r} of two angles is no ratio of whole numbers up to {MOST_TEETH}; "
                f"the nearest is {self.fraction} = {float(self.fraction)!r}"
            )

    @property
    def has_teeth(self) -> bool:
        """Whether the ratio is one of whole numbers, but for printed digits."""
        f = self.fraction
        near = abs(float(f) - self.ratio) <= SAME_RATIO * abs(self.ratio)
        return near and 0 < abs(f.numerator) <= MOST_TEETH

    def data(self) -> dict[str, Any]:
        """Joints and ratio."""
        return {"joint": self.joint, "other": self.other, "ratio": self.ratio}


# the lists of a mechanism, in the order of a file, which calls them the same
LOADS = (
    "forces", "torques", "springs", "torsions", "rotors", "couplings", "user_forces", "drives",
)  # fmt: skip


class LoadCalls:
    """The calls of a mechanism that add what acts on it, one a kind, and the lists of that."""

    forces: list[Force]
    torques: list[Torque]
    springs: list[Spring]
    torsions: list[Torsion]
    rotors: list[Rotor]
    couplings: list[Coupling]
    user_forces: list[UserForce]
    drives: list[Drive]
    joints: list[Joint]

    def _name(self, body: Body | str, what: str) -> str:
        raise NotImplementedError

    def _joint_name(self, joint: Joint | str, what: str) -> str:
        raise NotImplementedError

    def _add(self, block: str, part: Part) -> Part:
        raise NotImplementedError

    def force(
        self,
        name: str,
        body: Body | str,
        *,
        at: ArrayLike,
        vector: ArrayLike,
        fixed_in: str = WORLD,
    ) -> Force:
        """Let a constant force [N] act at a point of a body.

        fixed_in: "world" keeps its direction, "body" turns it with the body.
        """
        name = as_word(name, "name of a force")
        force = Force(
            name,
            self._name(body, f"force '{name}'"),
            as_vector(at, f"place of force '{name}'", "LENGTH"),
            as_vector(vector, f"vector of force '{name}'", "FORCE"),
            fixed_in,
        )
        return self._add("forces", force)

    def torque(
        self, name: str, body: Body | str, vector: ArrayLike | float, *, fixed_in: str = WORLD
    ) -> Torque:
        """Let a constant torque [N m] act on a body: a number in the plane, 3 numbers in space."""
        name = as_word(name, "name of a torque")
        torque = Torque(
            name,
            self._name(body, f"torque '{name}'"),
            as_vector(vector, f"vector of torque '{name}'", "TORQUE"),
            fixed_in,
        )
        return self._add("torques", torque)

    def joint_torque(self, name: str, joint: Joint | str, torque: float) -> Torsion:
        """Let a revolute joint turn its second body by a constant torque [N m], its first by the opposite."""
        return self.torsion(name, joint, torque=torque)

    def spring(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        start: ArrayLike,
        end: ArrayLike,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free_length: float | None = None,
        preload: float = 0.0,
    ) -> Spring:
        """Put a spring and damper between `start` on the first body and `end` on the second.

        It pulls with stiffness (length - free_length) + damping (rate of length) + preload [N];
        free_length: the length at the start if left out.
        """
        name = as_word(name, "name of a spring")
        what = f"spring '{name}'"
        a, b = (
            as_vector(start, f"start of {what}", "LENGTH"),
            as_vector(end, f"end of {what}", "LENGTH"),
        )
        if free_length is None:
            free = length_of(a.tolist(), b.tolist()) if a.shape == b.shape else 0.0
        else:
            free = as_number(free_length, f"free length of {what}", "LENGTH")
        spring = Spring(
            name,
            (self._name(first, what), self._name(second, what)),
            (a, b),
            as_number(stiffness, f"stiffness of {what}", "STIFFNESS"),
            as_number(damping, f"damping of {what}", "DAMPING"),
            free,
            as_number(preload, f"preload of {what}", "FORCE"),
        )
        return self._add("springs", spring)

    def torsion(
        self,
        name: str,
        joint: Joint | str,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free_angle: float = 0.0,
        torque: float = 0.0,
    ) -> Torsion:
        """Put a torsional spring and damper [N m/rad, N m s/rad] into a revolute joint of two bodies.

        The angle is that of the second body seen from the first, 0 at the start, and goes on counting
        beyond a turn.
        """
        name = as_word(name, "name of a torsional spring")
        what = f"torsion '{name}'"
        torsion = Torsion(
            name,
            self._joint_name(joint, what),
            as_number(stiffness, f"stiffness of {what}", "TORSIONAL_STIFFNESS"),
            as_number(damping, f"damping of {what}", "TORSIONAL_DAMPING"),
            as_number(free_angle, f"free angle of {what}", "ANGLE"),
            as_number(torque, f"torque of {what}", "TORQUE"),
        )
        return self._add("torsions", torsion)

    def rotor(
        self, name: str, joint: Joint | str, *, inertia: float = 0.0, mass: float = 0.0
    ) -> Rotor:
        """Give the relative motion in a joint of two bodies inertia of its own: a geared rotor, an armature.

        inertia [kg m^2] at a revolute or spherical joint, mass [kg] at a slider, both as seen at the joint (a
        rotor's own times the square of its gear ratio).
        """
        name = as_word(name, "name of a rotor")
        what = f"rotor '{name}'"
        rotor = Rotor(
            name,
            self._joint_name(joint, what),
            as_number(inertia, f"inertia of {what}", "INERTIA"),
            as_number(mass, f"mass of {what}", "MASS"),
        )
        return self._add("rotors", rotor)

    def coupling(
        self, name: str, joint: Joint | str, other: Joint | str, *, ratio: float = 1.0
    ) -> Coupling:
        """Let two hinges or two sliders move in proportion: `joint` by ratio times the angle or travel of `other`.

        Both are counted from the start position. A ratio of angles is one of whole numbers, as of teeth: -1, 2,
        0.5, -17/43.
        """
        name = as_word(name, "name of a coupling")
        what = f"coupling '{name}'"
        coupling = Coupling(
            name,
            self._joint_name(joint, what),
            self._joint_name(other, what),
            as_number(ratio, f"ratio of {what}"),
        )
        return self._add("couplings", coupling)

    def user_force(
        self,
        name: str,
        points: Sequence[Joint | Marker | str],
        function: Callable[[float, Floats, Floats], Any],
    ) -> UserForce:
        """Let forces act at named points, computed by function(t, position, velocity).

        position [m] and velocity [m/s] of the points are arrays of shape (points, dimension); the
        function returns the forces [N], same shape. It is compiled if it can be.
        """
        name = as_word(name, "name of a user force")
        listed = [points] if isinstance(points, Joint | Marker | str) else list(points)
        names = tuple(
            p.name if isinstance(p, Joint | Marker) else as_word(p, f"point of user force '{name}'")
            for p in listed
        )
        force = UserForce(name, names, function)
        return self._add("user_forces", force)

    def drive(self, name: str, joint: Joint | str, motion: DriveMotion | float) -> Drive:
        """Prescribe the coordinate of a joint as a function of time.

        The angle [rad] of a revolute joint or the travel [m] of a prismatic or cylindrical one, both 0
        at the start; the length [m] of a distance joint.
        """
        name = as_word(name, "name of a drive")
        what = f"drive '{name}'"
        driven = self._joint_name(joint, what)
        kind = next((j.kind for j in self.joints if j.name == driven), None)
        turns = None if kind is None else kind.row.coordinate == "angle"
        drive = Drive(name, driven, as_motion(motion, what, turns))
        return self._add("drives", drive)


def _fixed_in(fixed_in: object, what: str) -> Iterator[str]:
    if fixed_in not in (WORLD, BODY):
        yield f"{what}: fixed_in {fixed_in!r} is neither '{WORLD}' nor '{BODY}'"


def _numbers(load: Spring | Torsion, what: str, *names: str) -> Iterator[str]:
    for name in names:
        value = getattr(load, name)
        if not is_usable(value):
            yield f"{what}: {name.replace('_', ' ')} {value} {UNUSABLE}; give a finite number"
    if load.damping < 0:
        yield f"{what}: damping {load.damping:g} is negative, it would feed energy; give zero or more"


def _rotor_number(kind: JointKind) -> str:
    """Which number a rotor at a joint needs: none if it can have no rotor."""
    if kind.row.is_ball:
        return "inertia"
    return {"angle": "inertia", "travel": "mass"}.get(kind.row.coordinate or "", "")


def _two_bodies(joint: Joint, what: str) -> Iterator[str]:
    if len(joint.ends) != 2:
        yield (
            f"{what}: joint '{joint.name}' joins {len(joint.ends)} bodies, so its angle is not defined; "
            "use one joint for each pair of bodies"
        )


def _vector(vector: Floats, fixed_in: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"vector": plain(vector)}
    return entry if fixed_in == WORLD else {**entry, "fixed_in": fixed_in}


def _nonzero(item: object, *names: str) -> dict[str, float]:
    """Numbers of an entry; a zero is what a file without it means, a free length is not."""
    values = {name: float(getattr(item, name)) for name in names}
    return {k: v for k, v in values.items() if k == "free_length" or not same_bits(v, 0.0)}
