"""Applied forces, couplings and drives: forces, torques, springs, rotors, user forces, prescribed motions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..arrays import Floats
from ..names import describe_known
from ..thresholds import DRIVE_START, SAME_RATIO
from ..tracing import (
    UNUSABLE,
    TracedNumber,
    UntracedError,
    is_usable,
    larger,
    largest,
    length_of,
)
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
from .limits import JointLimit
from .motion import (
    DriveMotion,
    Polynomial,
    Table,
    as_motion,
    check_motion,
    make_pieces,
    motion_data,
)

WORLD, BODY = "world", "body"
# most teeth of a gear: its equations have about two coordinates per binary digit
MOST_TEETH = 500


@dataclass(frozen=True, eq=False)
class Force(Element):
    """A constant force [N] at a point of a body; fixed_in: "world", or "body" if it rotates with the body."""

    body: str
    at: Floats
    vector: Floats
    fixed_in: str = WORLD

    def moved(self, moves: Moves, closed: bool) -> Force:
        """Moved with its body; a body-fixed direction rotates too."""
        if self.body not in moves:
            return self
        turned = moves[self.body].direction(self.vector) if self.fixed_in == BODY else self.vector
        return replace(self, at=moves[self.body].place(self.at), vector=turned)

    def scaled(self, size: float) -> Force:
        """With its point scaled."""
        return replace(self, at=size * self.at)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its point and vector."""
        what = f"force '{self.name}'"
        yield from known.point(self.body, self.at, what, f"{what}, at")
        yield from known.vector(self.vector, f"{what}, vector")
        yield from _fixed_in(self.fixed_in, what)

    def data(self) -> dict[str, Any]:
        """Body, point and vector."""
        return {"body": self.body, "at": plain(self.at), **_vector(self.vector, self.fixed_in)}


@dataclass(frozen=True, eq=False)
class Torque(Element):
    """A constant torque [N m] on a body: a number in the plane, 3 in space; fixed_in as for a force."""

    body: str
    vector: Floats
    fixed_in: str = WORLD

    def moved(self, moves: Moves, closed: bool) -> Torque:
        """Rotated with its body if it is body-fixed."""
        if self.body not in moves or self.fixed_in != BODY:
            return self
        return replace(self, vector=moved_direction(moves, self.body, self.vector))

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its body and vector."""
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
        """Each end moved with its body; the free length stays the same."""
        (a, b), (p, q) = self.bodies, self.ends
        if not moves.keys() & set(self.bodies):
            return self
        return replace(self, ends=(moved_place(moves, a, p), moved_place(moves, b, q)))

    def scaled(self, size: float) -> Spring:
        """With its ends and free length scaled."""
        ends = (size * self.ends[0], size * self.ends[1])
        return replace(self, ends=ends, free_length=size * self.free_length)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its ends, parameters and length."""
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
        """Bodies, ends and parameters."""
        start, end = (plain(e) for e in self.ends)
        numbers = _nonzero(self, "stiffness", "damping", "free_length", "preload")
        return {"bodies": list(self.bodies), "start": start, "end": end, **numbers}


@dataclass(frozen=True, eq=False)
class Torsion(Element):
    """A torsional spring and damper at a revolute joint of two bodies, or a constant torque there.

    It exerts torque - stiffness (angle - free_angle) - damping (rate of angle) [N m] on the second body and the
    opposite on the first. The angle is that of the second body seen from the first, 0 at the initial
    configuration.
    """

    joint: str
    stiffness: float
    damping: float
    free_angle: float
    torque: float

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its joint and parameters."""
        what = f"torsion '{self.name}'"
        turning = [kind for kind in JointKind if kind.row.coordinate == "angle"]
        yield from _joint_of_kind(known, self.joint, what, turning)
        yield from _numbers(self, what, "stiffness", "damping", "free_angle", "torque")

    def data(self) -> dict[str, Any]:
        """Joint and parameters."""
        numbers = _nonzero(self, "stiffness", "damping", "free_angle", "torque")
        return {"joint": self.joint, **numbers}


@dataclass(frozen=True, eq=False)
class BallDamper(Element):
    """A rotational damper at a spherical joint of two bodies.

    It exerts -damping (relative angular velocity) [N m] on the second body and the opposite on the first.
    """

    joint: str
    damping: float

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its joint and damping."""
        what = f"ball damper '{self.name}'"
        balls = [kind for kind in JointKind if kind.row.is_ball]
        yield from _joint_of_kind(known, self.joint, what, balls)
        yield from _numbers(self, what, "damping")

    def data(self) -> dict[str, Any]:
        """Joint and damping."""
        return {"joint": self.joint, **_nonzero(self, "damping")}


@dataclass(frozen=True, eq=False)
class Rotor(Element):
    """Inertia on the relative coordinate of a joint of two bodies: a geared rotor, a motor's armature.

    Its kinetic energy is 1/2 inertia (rate of angle)^2 at a revolute joint, 1/2 inertia (relative angular
    velocity)^2 at a spherical one, 1/2 mass (rate of travel)^2 at a slider. Gravity does not act on it.
    """

    joint: str
    inertia: float
    mass: float

    def scaled(self, size: float) -> Rotor:
        """With its inertia scaled at constant mass, as for bodies."""
        return replace(self, inertia=size**2 * self.inertia)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its joint and parameter."""
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
        """Joint and parameter."""
        return {"joint": self.joint, **_nonzero(self, "inertia", "mass")}


@dataclass(frozen=True, eq=False)
class UserForce(Element):
    """Forces at named points, computed by a user-defined function.

    function(t, position, velocity) gets position and velocity of the points, arrays of shape (points, dimension)
    in m and m/s, and returns the forces on them [N], same shape.
    """

    points: tuple[str, ...]
    function: Callable[[float, Floats, Floats], Any]

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its points and function."""
        what = f"user force '{self.name}'"
        if not self.points:
            yield f"{what} acts at no point; name at least one"
        for name in self.points:
            if name not in known.holds:
                yield f"{what}: there is no joint, point or body '{name}'; {describe_known(name, known.holds)}"
        if not callable(self.function):
            yield f"{what}: {self.function!r} is not a function; give f(t, position, velocity)"

    def data(self) -> dict[str, Any]:
        """Raises an error: a file cannot store functions."""
        raise MechanismError(
            f"user force '{self.name}' is a Python function, which a file cannot hold; "
            "remove it before saving, and add it after loading"
        )


@dataclass(frozen=True, eq=False)
class Drive(Element):
    """A prescribed joint coordinate as a function of time.

    The coordinate of a revolute joint is its angle [rad], that of a prismatic or cylindrical joint its travel [m],
    both counted from the initial configuration; that of a distance joint is its length [m]. offset: added to the
    motion [rad or m], for a joint that is locked or driven from another coordinate on, at an event of a run.
    """

    joint: str
    motion: DriveMotion
    offset: float = 0.0

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its motion and joint, and whether they agree at the start."""
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
        # among existing drives of one joint, the first one reports it
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
            # users who give one number often mean a speed
            constant = isinstance(self.motion, Polynomial) and len(self.motion.coefficients) == 1
            speed = f"for a speed of {value:.12g} {unit}/s give Polynomial(({start:.12g}, {value:.12g}))"
            table = f"shift the values (from_csv: start={start:.12g})"
            advice = table if isinstance(self.motion, Table) else "shift the motion"
            advice = speed if constant else advice
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

    The angle or travel of `joint` is ratio times that of `other`, both counted from the initial configuration,
    with full turns counted. The ratio of two angles is a ratio of integers, as of numbers of teeth (see
    `fraction`).
    """

    decides: ClassVar[tuple[str, ...]] = ("ratio",)
    joint: str
    other: str
    ratio: float

    @property
    def fraction(self) -> Fraction:
        """The ratio as a fraction of integers, or the nearest fraction with few teeth."""
        if isinstance(self.ratio, TracedNumber):
            raise UntracedError(f"the ratio of coupling '{self.name}' decides its equations")
        return Fraction(self.ratio).limit_denominator(MOST_TEETH)

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its joints and ratio."""
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
                "a length, which no quadratic equation expresses: leave it out"
            )
        elif words == ["angle", "angle"] and not self.has_teeth:
            yield (
                f"{what}: ratio {self.ratio!r} of two angles is not a ratio of whole numbers up to {MOST_TEETH}; "
                f"the nearest is {self.fraction} = {float(self.fraction)!r}"
            )

    @property
    def has_teeth(self) -> bool:
        """Whether the ratio is a ratio of integers, within its printed digits."""
        f = self.fraction
        near = abs(float(f) - self.ratio) <= SAME_RATIO * abs(self.ratio)
        return near and 0 < abs(f.numerator) <= MOST_TEETH

    def data(self) -> dict[str, Any]:
        """Joints and ratio."""
        return {"joint": self.joint, "other": self.other, "ratio": self.ratio}


# the lists of a mechanism, in file order; model files use the same names
LOADS = (
    "forces", "torques", "springs", "torsions", "ball_dampers", "rotors", "couplings", "user_forces", "drives",
    "limits",
)  # fmt: skip


class LoadCalls:
    """The methods of a mechanism that add applied forces, couplings and drives, one per kind, and their lists."""

    forces: list[Force]
    torques: list[Torque]
    springs: list[Spring]
    torsions: list[Torsion]
    ball_dampers: list[BallDamper]
    rotors: list[Rotor]
    couplings: list[Coupling]
    user_forces: list[UserForce]
    drives: list[Drive]
    limits: list[JointLimit]
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

        Parameters
        ----------
        name : str
            Name of the force.
        body : Body or str
            The body it acts on.
        at : array_like
            Point of application at the start [m].
        vector : array_like
            The force [N].
        fixed_in : {"world", "body"}, optional
            "world" keeps its direction; "body" rotates it with the body.
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
        """Let a constant torque [N m] act on a body: a number in the plane, 3 numbers in space.

        Parameters
        ----------
        name : str
            Name of the torque.
        body : Body or str
            The body it acts on.
        vector : float or array_like
            The torque [N m].
        fixed_in : {"world", "body"}, optional
            "world" keeps its direction; "body" rotates it with the body.
        """
        name = as_word(name, "name of a torque")
        torque = Torque(
            name,
            self._name(body, f"torque '{name}'"),
            as_vector(vector, f"vector of torque '{name}'", "TORQUE"),
            fixed_in,
        )
        return self._add("torques", torque)

    def joint_torque(self, name: str, joint: Joint | str, torque: float) -> Torsion:
        """Let a revolute joint turn its second body by a constant torque [N m], its first by the opposite.

        Parameters
        ----------
        name : str
            Name of the torque.
        joint : Joint or str
            A revolute joint of two bodies.
        torque : float
            Torque on the second body [N m].
        """
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

        It pulls with stiffness (length - free_length) + damping (rate of length) + preload [N].

        Parameters
        ----------
        name : str
            Name of the spring.
        first, second : Body or str
            The two bodies.
        start, end : array_like
            Attachment points on the first and second body at the start [m].
        stiffness, damping : float, optional
            Stiffness [N/m] and damping [N s/m].
        free_length : float, optional
            Length without elastic force [m]. Default: the length at the start.
        preload : float, optional
            Constant tension [N].
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

        On the second body it exerts torque - stiffness (angle - free_angle) - damping (rate of angle) [N m]. The
        angle is that of the second body seen from the first, 0 at the start, with full turns counted.

        Parameters
        ----------
        name : str
            Name of the torsional spring.
        joint : Joint or str
            A revolute joint of two bodies.
        stiffness, damping : float, optional
            Stiffness [N m/rad] and damping [N m s/rad].
        free_angle : float, optional
            Angle without elastic torque [rad].
        torque : float, optional
            Constant torque on the second body [N m].
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

    def ball_damper(self, name: str, joint: Joint | str, *, damping: float) -> BallDamper:
        """Put a rotational damper [N m s/rad] into a spherical joint of two bodies.

        On the second body it exerts -damping (angular velocity relative to the first body) [N m].

        Parameters
        ----------
        name : str
            Name of the damper.
        joint : Joint or str
            A spherical joint of two bodies.
        damping : float
            Damping [N m s/rad].
        """
        name = as_word(name, "name of a ball damper")
        what = f"ball damper '{name}'"
        damper = BallDamper(
            name,
            self._joint_name(joint, what),
            as_number(damping, f"damping of {what}", "TORSIONAL_DAMPING"),
        )
        return self._add("ball_dampers", damper)

    def rotor(
        self, name: str, joint: Joint | str, *, inertia: float = 0.0, mass: float = 0.0
    ) -> Rotor:
        """Add inertia to the relative motion in a joint of two bodies: a geared rotor, an armature.

        Give the values reflected to the joint: those of the rotor times the square of its gear ratio.

        Parameters
        ----------
        name : str
            Name of the rotor.
        joint : Joint or str
            A revolute or spherical joint, or a slider, of two bodies.
        inertia : float, optional
            Inertia at a revolute or spherical joint [kg m^2].
        mass : float, optional
            Mass at a slider [kg].
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

        Parameters
        ----------
        name : str
            Name of the coupling.
        joint, other : Joint or str
            Two hinges or two sliders. Their coordinates count from the initial configuration.
        ratio : float
            Coordinate of `joint` over that of `other`. A ratio of angles must be a ratio of integers, as of
            numbers of teeth: -1, 2, 0.5, -17/43.
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

        Parameters
        ----------
        name : str
            Name of the force.
        points : sequence of str
            Joints, points or bodies on which it acts.
        function : callable
            Gets time [s], position [m] and velocity [m/s] of the points, arrays of shape (points, dimension), and
            returns the forces [N], same shape. It is compiled if possible.
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

        Parameters
        ----------
        name : str
            Name of the drive.
        joint : Joint or str
            A revolute joint (angle [rad], 0 at the start), a prismatic or cylindrical joint (travel [m], 0 at the
            start), or a distance joint (length [m]).
        motion : Polynomial, Sine, SmoothStep, Table, float or str
            The coordinate as a function of time; a number is a constant.
        """
        name = as_word(name, "name of a drive")
        what = f"drive '{name}'"
        driven = self._joint_name(joint, what)
        kind = next((j.kind for j in self.joints if j.name == driven), None)
        turns = None if kind is None else kind.row.coordinate == "angle"
        drive = Drive(name, driven, as_motion(motion, what, turns))
        return self._add("drives", drive)

    def limit(
        self,
        name: Joint | str,
        joint: Joint | str | None = None,
        *,
        lower: float | str | None = None,
        upper: float | str | None = None,
        restitution: float = 0.0,
    ) -> JointLimit:
        """Limit the angle or travel of a joint by stops.

        At a stop the rate of the coordinate is reversed and multiplied by the restitution (Newton's rule); the
        impulse acts on the whole mechanism. A joint that comes to rest stays at the stop until the force there
        changes its sign.

        Parameters
        ----------
        name : str
            Name of the limit, or of the joint; then the limit is called "<joint> limit".
        joint : Joint or str, optional
            A revolute joint (angle [rad], 0 at the start), or a prismatic or cylindrical joint (travel [m], 0 at
            the start).
        lower, upper : float, optional
            The stops, in SI or with a unit; at least one.
        restitution : float, optional
            Speed after an impact over the speed before it, 0 to 1.
        """
        owner = name if joint is None else joint
        title = name.name if isinstance(name, Joint) else as_word(name, "name of a limit")
        limited = self._joint_name(owner, f"limit '{title}'")
        title = f"{limited} limit" if joint is None else title
        what = f"limit '{title}'"
        kind = next((j.kind for j in self.joints if j.name == limited), None)
        unit = "ANGLE" if kind is not None and kind.row.coordinate == "angle" else "LENGTH"
        low, high = (
            None if x is None else as_number(x, f"{word} of {what}", unit)
            for word, x in (("lower", lower), ("upper", upper))
        )
        share = as_number(restitution, f"restitution of {what}", "NUMBER")
        return self._add("limits", JointLimit(title, limited, low, high, share))


def _fixed_in(fixed_in: object, what: str) -> Iterator[str]:
    if fixed_in not in (WORLD, BODY):
        yield f"{what}: fixed_in {fixed_in!r} is neither '{WORLD}' nor '{BODY}'"


def _numbers(load: Spring | Torsion | BallDamper, what: str, *names: str) -> Iterator[str]:
    for name in names:
        value = getattr(load, name)
        if not is_usable(value):
            yield f"{what}: {name.replace('_', ' ')} {value} {UNUSABLE}; give a finite number"
    if load.damping < 0:
        yield f"{what}: damping {load.damping:g} is negative, it would feed energy; give zero or more"


def _rotor_number(kind: JointKind) -> str:
    """The parameter of a rotor at a joint of this kind; empty if it cannot have a rotor."""
    if kind.row.is_ball:
        return "inertia"
    return {"angle": "inertia", "travel": "mass"}.get(kind.row.coordinate or "", "")


def _joint_of_kind(
    known: NameRegistry, name: str, what: str, kinds: Sequence[JointKind]
) -> Iterator[str]:
    """Problems of a joint that must exist, be of one of these kinds and join two bodies."""
    joint = known.joints.get(name)
    if joint is None:
        yield f"{what}: there is no joint '{name}'; {describe_known(name, known.joints)}"
    elif joint.kind not in kinds:
        wanted = ", ".join(kind.value for kind in kinds)
        yield f"{what}: joint '{name}' is {joint.kind.value}; it has to be {wanted}"
    else:
        yield from _two_bodies(joint, what)


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
    """Parameters of an entry without zeros, which are the default in files; a zero free length is kept."""
    values = {name: float(getattr(item, name)) for name in names}
    return {k: v for k, v in values.items() if k == "free_length" or not same_bits(v, 0.0)}
