"""Build a Mechanism from rigid bodies and their joints."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from ..thresholds import SAME_IN_FILE
from .chains import change_motion
from .fitting import measure_gap
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    GROUND,
    ON_LINE,
    ON_PLANE,
    PLANAR,
    PRISMATIC,
    RECTANGULAR,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    Connection,
    Link,
    Parts,
    Placement,
)

# A physically impossible inertia is repaired if the relative change is smaller than this.
LARGEST_REPAIR = 0.05
# A slider's spring is anchored this many mechanism sizes behind it, so that its length never reaches zero.
BEHIND = 100.0

# rad or m: an initial configuration this far beyond a stop is at the stop
AT_STOP = 1e-9


@dataclass(eq=False)
class Rigid:
    """Links welded together; the first piece gives the frame and the name."""

    name: str
    pose: Placement
    pieces: dict[str, Placement] = field(default_factory=dict)
    mass: float = 0.0
    center: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    lifts: list[tuple[Floats, Floats]] = field(default_factory=list)

    def add(self, link: Link) -> None:
        """Add the mass of a link that is listed in `pieces`."""
        if not link.mass:
            return
        pose = self.pieces[link.name]
        center = pose.point(link.center)
        inertia = pose.turn @ link.inertia @ pose.turn.T
        total = self.mass + link.mass
        joint = (self.mass * self.center + link.mass * center) / total
        for mass, at in ((self.mass, self.center), (link.mass, center)):
            d = at - joint
            inertia = inertia + mass * (float(d @ d) * np.eye(3) - np.outer(d, d))
        if not self.mass:
            # A single piece keeps its values exactly.
            joint, inertia = center, pose.turn @ link.inertia @ pose.turn.T
        else:
            inertia = inertia + self.inertia
        self.mass, self.center, self.inertia = total, joint, inertia
        if link.lift.any():
            self.lifts.append((center, link.lift))


class Builder:
    """Rigid bodies by name, the body of each link, the joints, and a characteristic length [m]."""

    def __init__(self, parts: Parts, size: float) -> None:
        self.parts, self.report, self.size = parts, parts.report, size
        self.rigids: dict[str, Rigid] = {}
        self.where: dict[str, str] = {}
        self.joints: list[Connection] = []
        self.names: Counter[str] = Counter()
        # Joints that are coupled to a driven joint.
        self.led: set[str] = set()

    def mechanism(self, closed: bool = False, drives_fixed: bool = False) -> Mechanism:
        """Build the mechanism.

        closed: both frames of a joint coincide, so one point is given; drives_fixed: driven joints and the joints
        coupled to them are welded, and the bodies get marker points.
        """
        parts = self.parts
        m = Mechanism(parts.name, gravity=parts.gravity)
        m.defaults = dict(parts.defaults)
        self.names = Counter()
        for r in self.rigids.values():
            if r.name == GROUND:
                continue
            inertia = r.pose.turn @ self.possible(r) @ r.pose.turn.T
            center = r.pose.point(r.center)
            m.body(r.name, r.mass, center, 0.5 * (inertia + inertia.T))
            for k, (at, force) in enumerate(r.lifts):
                m.force(f"lift of {r.name} {k + 1}", r.name, at=r.pose.point(at), vector=force)
            if drives_fixed:
                for k, arm in enumerate(np.vstack([np.zeros(3), self.size * np.eye(3)])):
                    m.point(f"frame {k} of {r.name}", r.name, r.pose.point(arm))
        named = {c.name: self.add_joint(m, c, closed, drives_fixed) for c in self.joints}
        for coupling in self.parts.couplings:
            if drives_fixed and coupling.joint in self.led:
                continue
            ends = (named[coupling.joint], named[coupling.other])
            m.coupling(self.own_name(coupling.name), *ends, ratio=coupling.coefficients[1])
        if not drives_fixed:
            self.add_rest(m)
        return m

    def coordinate(self, c: Connection) -> float:
        """Return the current angle of a hinge or displacement of a slider, from frame to frame."""
        A, B = (self.rigids[n].pose @ f for n, f in zip((c.first, c.second), c.frames, strict=True))
        if c.kind == REVOLUTE:
            return float(np.arctan2(A.turn[:, 1] @ B.turn[:, 0], A.turn[:, 0] @ B.turn[:, 0]))
        return float(A.axis @ (B.place - A.place)) if c.kind == PRISMATIC else 0.0

    def moved(self, c: Connection) -> float:
        """Return how far a joint has moved from its authored coordinate; angles within half a turn."""
        off = self.coordinate(c) - c.stood
        return float(np.remainder(off + np.pi, 2.0 * np.pi) - np.pi) if c.kind == REVOLUTE else off

    def add_joint(self, m: Mechanism, c: Connection, closed: bool, drives_fixed: bool) -> str:
        """Add one joint, with its springs, rotor or drive; return its name."""
        A, B = (self.rigids[n].pose @ f for n, f in zip((c.first, c.second), c.frames, strict=True))
        name = self.own_name(c.name or c.kind)
        bodies = (c.first, c.second)
        if c.kind == DISTANCE:
            m.distance(name, *bodies, start=A.place, end=B.place)
            if c.motion is not None and not drives_fixed:
                m.drive(name, name, c.motion)
            return name
        if drives_fixed and (c.motion is not None or c.name in self.led):
            m.weld(name, *bodies)
            return name
        far, wide = measure_gap(c, A, B)
        one = closed or far <= SAME_IN_FILE * self.size
        # In sliding joints, the point is that of the second body.
        slides = c.kind in (PRISMATIC, CYLINDRICAL, PLANAR, RECTANGULAR, ON_LINE, ON_PLANE)
        at = (B if slides else A).place if one else np.array([A.place, B.place])
        if c.kind == SPHERICAL:
            m.spherical(name, *bodies, at=at)
            self.add_load(m, c, name, A, B, drives_fixed)
            return name
        if c.kind == UNIVERSAL:
            m.universal(name, *bodies, at=at, axis=A.axis, second_axis=B.axis)
            return name
        axis = A.axis
        if c.kind in (REVOLUTE, CYLINDRICAL, PLANAR) and not closed and wide > SAME_IN_FILE:
            other = B.axis if c.closure is False or A.axis @ B.axis >= 0 else -B.axis
            axis = np.array([A.axis, other])
        if c.kind == REVOLUTE:
            m.revolute(name, *bodies, at=at, axis=axis)
        elif c.kind == PRISMATIC:
            m.prismatic(name, *bodies, at=at, axis=axis)
        elif c.kind == CYLINDRICAL:
            m.cylindrical(name, *bodies, at=at, axis=axis)
        elif c.kind == ON_LINE:
            m.point_on_line(name, *bodies, at=at, axis=axis)
        elif c.kind == PLANAR:
            m.planar(name, *bodies, at=at, normal=axis)
        elif c.kind == RECTANGULAR:
            m.rectangular(name, *bodies, at=at, normal=axis)
        else:
            m.point_on_plane(name, *bodies, at=at, normal=axis)
        self.add_load(m, c, name, A, B, drives_fixed)
        return name

    def add_load(
        self, m: Mechanism, c: Connection, name: str, A: Placement, B: Placement, drives_fixed: bool
    ) -> None:
        """Add the spring, damper, rotor or drive of a joint."""
        if drives_fixed:
            return
        if c.motion is not None:
            m.drive(name, name, change_motion(c.motion, 1.0, -(c.start or 0.0)))
        if c.armature:
            number = {"mass" if c.kind == PRISMATIC else "inertia": c.armature}
            m.rotor(f"rotor of {name}", name, **number)
        self.add_stops(m, c, name)
        if not (c.stiffness or c.damping):
            return
        # The spring's free length stays as authored, however far closing the loops has moved its joint.
        rest = c.rest - self.moved(c)
        if c.kind == SPHERICAL and not c.stiffness:
            m.ball_damper(name, name, damping=c.damping)
        elif c.kind == REVOLUTE:
            m.torsion(name, name, stiffness=c.stiffness, damping=c.damping, free_angle=rest)
        elif c.kind == PRISMATIC:
            # The spring is anchored on the slider's axis, so far behind that its length is the travel plus a
            # constant.
            arm = BEHIND * self.size
            m.spring(
                name,
                c.first,
                c.second,
                start=B.place - arm * A.axis,
                end=B.place,
                stiffness=c.stiffness,
                damping=c.damping,
                free_length=arm + rest,
            )
        else:
            self.report.drop(f"springs and damping of {c.kind} joints", c.name)

    def add_stops(self, m: Mechanism, c: Connection, name: str) -> None:
        """Add the limits of a joint, as stops without restitution."""
        if c.stops == (None, None):
            return
        off = self.moved(c)
        low, high = (None if x is None else x - off for x in c.stops)
        # drawn at a stop, up to rounding
        low = 0.0 if low is not None and 0.0 < low <= AT_STOP else low
        high = 0.0 if high is not None and -AT_STOP <= high < 0.0 else high
        beyond = (low is not None and low > 0.0) or (high is not None and high < 0.0)
        if c.motion is not None:
            self.report.drop("limits of driven joints", c.name)
        elif c.kind not in (REVOLUTE, PRISMATIC):
            self.report.drop(f"limits of {c.kind} joints", c.name)
        elif beyond:
            self.report.drop("limits that the initial configuration violates", c.name)
        else:
            m.limit(f"limit of {name}", name, lower=low, upper=high)

    def add_rest(self, m: Mechanism) -> None:
        """Add springs, points and velocities."""
        for s in self.parts.springs:
            a, b = (
                self.rigids[self.where[n]].pose @ self.rigids[self.where[n]].pieces[n]
                for n in (s.first, s.second)
            )
            m.spring(
                self.own_name(s.name),
                self.where[s.first],
                self.where[s.second],
                start=a.point(s.places[0]),
                end=b.point(s.places[1]),
                stiffness=s.stiffness,
                damping=s.damping,
                free_length=s.length,
                preload=s.preload,
            )
        for name, link, place in self.parts.points:
            rigid = self.rigids.get(self.where[link])
            if rigid is not None and rigid.name != GROUND:
                m.point(
                    self.own_name(name), rigid.name, (rigid.pose @ rigid.pieces[link]).point(place)
                )
        self.add_velocities(m)

    def add_velocities(self, m: Mechanism) -> None:
        """Set the velocity of each body that is one link, or several welded ones, in the file."""
        given = {link: (velocity, spin) for link, velocity, spin in self.parts.velocities}
        seen = {GROUND}
        # Of welded links the one that the body is named after comes first.
        for link in sorted(given, key=lambda link: self.where[link] != link):
            rigid = self.rigids.get(self.where[link])
            if rigid is None or rigid.name in seen:
                continue
            seen.add(rigid.name)
            velocity, spin = given[link]
            # A point of the file may have this name at another position.
            point = self.own_name(f"{link} origin")
            m.point(point, rigid.name, (rigid.pose @ rigid.pieces[link]).place)
            m.set_velocity(point, velocity)
            m.set_angular_velocity(rigid.name, spin)

    def own_name(self, name: str) -> str:
        """Return a name that is not yet in use."""
        self.names[name] += 1
        return name if self.names[name] == 1 else self.own_name(f"{name} #{self.names[name]}")

    def possible(self, r: Rigid) -> Floats:
        """Return the physically possible inertia nearest to that of a body."""
        moments = 0.5 * np.trace(r.inertia) * np.eye(3) - r.inertia
        values, vectors = np.linalg.eigh(0.5 * (moments + moments.T))
        size = float(np.abs(r.inertia).max())
        if size == 0.0 or values[0] >= -1e-9 * size:
            return r.inertia
        share = float(-values[0] / size)
        if share > LARGEST_REPAIR:
            raise self.parts.reject(
                f"body '{r.name}': no body has principal inertias "
                f"{', '.join(f'{x:.4g}' for x in np.linalg.eigvalsh(r.inertia))} kg m^2 (the largest exceeds the "
                "sum of the others, or one is negative); correct them"
            )
        moments = (vectors * np.maximum(values, 0.0)) @ vectors.T
        line = (
            f"inertia of body '{r.name}': no body has it (by {share:.1e} of its size); the nearest possible "
            "was taken"
        )
        if line not in self.report.changed:
            self.report.changed.append(line)
        return np.trace(moments) * np.eye(3) - moments
