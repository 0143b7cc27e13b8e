"""Compose a Mechanism from the parts of a file: merge welded links, replace massless ones, close loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..assembly import Assembly, AssemblyError, assemble, fit_velocities
from ..mechanism import Gap, Mechanism, find_gaps
from ..thresholds import BRIDGED, SAME_IN_FILE
from .body_builder import Builder, Rigid
from .chains import Same, are_independent, reduce_chain
from .couplings import take_couplings
from .fitting import frame_between, least_turn, measure_gap, spread_turn, tidy
from .loops import find_looped, free_loops, has_locked_loops
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    EQUATIONS,
    GROUND,
    LARGEST,
    PLANAR,
    PRISMATIC,
    RECTANGULAR,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    WELD,
    Connection,
    Parts,
    Placement,
    angle_of,
    nearest_half_turn,
    read_frame,
    turn_about,
)

# Share of the mean mass given to a massless link if nothing depends on it [kg, if no link has mass].
LIGHT = 1e-6
# The same where a motion might depend on it: below any tolerance.
UNFELT = 1e-13
# A configuration is far from another one if it is this many times farther away.
FARTHER = 10.0


def compose(parts: Parts, *, close: bool = True, misfit: float | None = None) -> Mechanism:
    """Return the mechanism of a file and complete its report.

    close: close the loops and report the largest displacement; otherwise the bodies stay as authored. misfit [m]:
    gaps up to this are bridged where a loop cannot close; default: 1e-5 of the mechanism's size.
    """
    _check_numbers(parts)
    return _Composer(parts).build(close, misfit)


class _Composer(Builder):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts, _size(parts))

    def build(self, close: bool, misfit: float | None) -> Mechanism:
        take_couplings(self.parts)
        self.merge()
        self.map_joints()
        self.join_doubles()
        self.tidy_axes()
        self.weigh_prescribed()
        self.lose_massless()
        self.tie()
        authored = self.largest_gap()
        self.align()
        if not self.rigids.keys() - {GROUND}:
            raise self.parts.reject("nothing in it can move: all links are fixed to the ground")
        mechanism = self.mechanism()
        gaps = find_gaps(mechanism)
        if self.joints:
            state = "open" if gaps else "closed"
            self.report.closing.append(f"the authored pose is {state}: {authored}")
        if gaps and close:
            bridged = self.close(misfit)
            mechanism = self.mechanism(closed=True)
            if bridged and not mechanism.drives:
                free_loops(self, bridged)
                mechanism = self.mechanism(closed=True)
        if mechanism.velocities:
            self.report.changed += fit_velocities(mechanism)
        mechanism.assemble = bool(gaps) and not close
        self.report_used(mechanism)
        return mechanism

    # links -> rigid bodies

    def merge(self) -> None:
        """Merge links that are welded together, by joints or by closures, into one body."""
        welds: dict[str, list[tuple[Connection, str, Placement]]] = {}
        for c in self.parts.connections:
            if c.kind != WELD:
                continue
            step = c.frames[0] @ c.frames[1].inverse
            welds.setdefault(c.first, []).append((c, c.second, step))
            welds.setdefault(c.second, []).append((c, c.first, step.inverse))
            self.report_weld(c)
        links = self.parts.links
        bases = [GROUND, *sorted(links, key=lambda n: -links[n].mass)]
        for base in bases:
            if base in self.where:
                continue
            rigid = Rigid(base, self.parts.pose(base), {base: Placement()})
            self.rigids[base] = rigid
            self.where[base] = base
            self.spread(rigid, base, welds)
            for name in rigid.pieces:
                if name != GROUND:
                    rigid.add(links[name])
            others = [n for n in rigid.pieces if n != base]
            if others and base == GROUND:
                self.report.changed.append(f"fixed to the ground: {', '.join(others)}")
            elif others:
                self.report.changed.append(f"one body '{base}' with: {', '.join(others)}")

    def spread(
        self, rigid: Rigid, base: str, welds: dict[str, list[tuple[Connection, str, Placement]]]
    ) -> None:
        waiting, used = [base], set()
        while waiting:
            name = waiting.pop(0)
            for c, other, step in welds.get(name, ()):
                if id(c) in used:
                    continue
                used.add(id(c))
                pose = rigid.pieces[name] @ step
                if other not in rigid.pieces:
                    rigid.pieces[other] = pose
                    self.where[other] = base
                    waiting.append(other)
                    continue
                off = pose.inverse @ rigid.pieces[other]
                self.within(c, float(np.linalg.norm(off.place)), angle_of(off.turn))

    def within(self, c: Connection, far: float, wide: float) -> None:
        """Check a connection between two points of one body: it must already be satisfied."""
        if max(far, wide * self.size) > BRIDGED * self.size:
            raise self.parts.reject(
                f"{c.kind} '{c.name}' connects two places of one rigid body that are {far:.6g} m and "
                f"{wide:.6g} rad apart: no configuration closes it. Check its kind and its frames"
            )
        self.report.changed.append(
            f"{c.kind} '{c.name}' connects two places of one rigid body: its "
            f"{EQUATIONS[c.kind]} equations are redundant"
            + (f" (misfit {far:.2g} m, {wide:.2g} rad)" if far > SAME_IN_FILE * self.size else "")
        )

    def report_weld(self, c: Connection) -> None:
        if not c.closure:
            return
        off = (self.parts.pose(c.first) @ c.frames[0]).inverse @ (
            self.parts.pose(c.second) @ c.frames[1]
        )
        far, wide = float(np.linalg.norm(off.place)), angle_of(off.turn)
        open_ = far > SAME_IN_FILE * self.size or wide > SAME_IN_FILE
        self.report.changed.append(
            f"weld '{c.name}' makes '{c.first}' and '{c.second}' one body"
            + (f"; they stood {far:.6g} m and {wide:.6g} rad apart" if open_ else "")
        )

    # joints of rigid bodies

    def map_joints(self) -> None:
        for c in self.parts.connections:
            if c.kind == WELD:
                continue
            a, b = self.where[c.first], self.where[c.second]
            frames = (
                self.rigids[a].pieces[c.first] @ c.frames[0],
                self.rigids[b].pieces[c.second] @ c.frames[1],
            )
            mapped = replace(c, first=a, second=b, frames=frames)
            mapped.stood = self.coordinate(mapped)
            if a == b:
                self.within(c, *measure_gap(mapped, *frames))
            else:
                self.joints.append(mapped)

    def join_doubles(self) -> None:
        """Replace connects at several collinear points of the same two bodies by one hinge."""
        pairs: dict[frozenset[str], list[Connection]] = {}
        for c in self.joints:
            if c.kind == SPHERICAL and c.closure:
                pairs.setdefault(frozenset((c.first, c.second)), []).append(c)
        for connects in pairs.values():
            if len(connects) < 2:
                continue
            first = connects[0]
            ends = np.array(
                [
                    [c.frames[c.first != first.first].place for c in connects],
                    [c.frames[c.first == first.first].place for c in connects],
                ]
            )
            spans = ends[:, 1:] - ends[:, :1]
            far = int(np.argmax(np.linalg.norm(spans[0], axis=1)))
            lengths = np.linalg.norm(spans[:, far], axis=1)
            apart = np.array([np.linalg.norm(np.cross(spans[0, far], s)) for s in spans[0]])
            if lengths.min() <= 1e-9 * self.size or apart.max() > 1e-9 * lengths[0] ** 2:
                # The same point twice, or three points off a line (a weld): kept; `inspect` reports the rank.
                continue
            self.hinge(connects, ends, far, lengths)

    def hinge(self, connects: list[Connection], ends: Floats, far: int, lengths: Floats) -> None:
        misfit = float(abs(lengths[1] - lengths[0]))
        names = [f"'{c.name}'" for c in connects]
        if misfit > BRIDGED * self.size:
            raise self.parts.reject(
                f"connects {' and '.join(names)} join two points {lengths[0]:.9g} m apart on "
                f"'{connects[0].first}' and {lengths[1]:.9g} m apart on '{connects[0].second}': no "
                "configuration closes both"
            )
        frames = [
            frame_between(e[0], e[1 + far], 0.5 * (1.0 - lengths.min() / max(s, 1e-300)))
            for e, s in zip(ends, lengths, strict=True)
        ]
        redundant = 3 * len(connects) - 5
        self.report.changed.append(
            f"connects {' and '.join(names)} are one hinge: {redundant} "
            f"{'equation is' if redundant == 1 else 'equations are'} redundant"
            + (f" (misfit {misfit:.2g} m)" if misfit > SAME_IN_FILE * self.size else "")
        )
        at = self.joints.index(connects[0])
        self.joints[at] = replace(connects[0], kind=REVOLUTE, frames=(frames[0], frames[1]))
        self.joints = [c for c in self.joints if all(c is not x for x in connects[1:])]

    def tidy_axes(self) -> None:
        """Make axes of one body exactly parallel or perpendicular if they are so up to rounding in the file.

        A loop that moves only because its axes are parallel would be locked by rounding errors. Joints outside
        loops are unchanged.
        """
        most, bodies, looped = 0.0, [], find_looped(self.joints)
        for rigid in self.rigids.values():
            ends = [
                (c, k)
                for c in looped
                for k, n in enumerate((c.first, c.second))
                if n == rigid.name and c.kind not in (SPHERICAL, DISTANCE)
            ]
            axes = [c.frames[k].axis for c, k in ends]
            changed = 0.0
            for (c, k), old, new in zip(ends, axes, tidy(axes), strict=True):
                turn = least_turn(old, new)
                changed = max(changed, angle_of(turn))
                frame = c.frames[k]
                frames = list(c.frames)
                frames[k] = (
                    Placement(turn @ frame.turn, frame.place) if (old != new).any() else frame
                )
                c.frames = (frames[0], frames[1])
            most = max(most, changed)
            if changed > SAME_IN_FILE * 10:
                bodies.append(rigid.name)
        if bodies:
            self.report.changed.append(
                "axes that are parallel or perpendicular up to printed digits were made exactly so (by up "
                f"to {most:.2g} rad): "
                f"{', '.join(bodies)}"
            )

    # massless links

    def weigh_prescribed(self) -> None:
        """Give a small mass to massless links if the motion does not depend on it."""
        light = {r.name for r in self.rigids.values() if r.name != GROUND and not r.mass}
        masses = [r.mass for r in self.rigids.values() if r.mass and r.name != GROUND]
        chosen = light if not masses else self.prescribed(light)
        if not chosen:
            return
        mass = LIGHT * float(np.mean(masses)) if masses else LIGHT
        for name in chosen:
            rigid = self.rigids[name]
            rigid.mass, rigid.inertia = mass, mass * (0.1 * self.size) ** 2 * np.eye(3)
            places = [
                f.place
                for c in self.joints
                for n, f in zip((c.first, c.second), c.frames, strict=True)
                if n == name
            ]
            rigid.center = np.mean(places, axis=0) if places else np.zeros(3)
        why = (
            "its motion is prescribed, so that only the forces on it change"
            if masses
            else "nothing in the file has a mass, so that its forces mean nothing"
        )
        names = ", ".join(sorted(chosen))
        self.report.changed.append(f"without mass: {names}; each was given {mass:.3g} kg: {why}")

    def prescribed(self, light: set[str]) -> set[str]:
        """Return the massless bodies whose motion is prescribed by drives alone."""
        found: set[str] = set()
        while True:
            known = found | {GROUND}
            more = {
                a
                for c in self.joints
                if c.motion is not None and c.kind in (REVOLUTE, PRISMATIC)
                for a, b in ((c.first, c.second), (c.second, c.first))
                if b in known and a in light
            }
            if more <= found:
                return found
            found |= more

    def lose_massless(self) -> None:
        """Remove massless end links, and merge chains of joints through massless links into one joint each."""
        while True:
            light = [r for r in self.rigids.values() if r.name != GROUND and not r.mass]
            if not light:
                return
            at: dict[str, list[Connection]] = {r.name: [] for r in light}
            for c in self.joints:
                for name in (c.first, c.second):
                    if name in at:
                        at[name].append(c)
            ends = [r for r in light if len(at[r.name]) < 2]
            for rigid in ends:
                names = [c.name for c in at[rigid.name]]
                self.report.drop(
                    "massless links at the end of a chain", f"{', '.join([rigid.name, *names])}"
                )
                self.joints = [c for c in self.joints if c not in at[rigid.name]]
                del self.rigids[rigid.name]
            if ends:
                continue
            for rigid in light:
                if len(at[rigid.name]) > 2:
                    raise self.parts.reject(
                        f"link '{rigid.name}' has no mass and {len(at[rigid.name])} joints "
                        f"({', '.join(c.name for c in at[rigid.name])}); give it a mass"
                    )
            self.shorten(light[0], at)

    def shorten(self, rigid: Rigid, at: dict[str, list[Connection]]) -> None:
        """Replace all joints of the chain through this link and its massless neighbours by one joint."""
        chain = list(at[rigid.name])
        links = [rigid.name]
        for end in (0, -1):
            while True:
                other = _other(chain[end], links[end])
                if other not in at or other in links:
                    break
                more = next(c for c in at[other] if c is not chain[end])
                chain.insert(0 if end == 0 else len(chain), more)
                links.insert(0 if end == 0 else len(links), other)
        steps, name = [], _other(chain[0], links[0])
        begin = name
        for c in chain:
            steps.append(c if c.first == name else _turned(c))
            name = steps[-1].second
        words = ", ".join(f"'{c.name}'" for c in chain)
        if begin == name:
            raise self.parts.reject(
                f"joints {words} through massless links lead from '{name}' back to itself; give them masses"
            )
        same = reduce_chain(steps, self.size)
        if self.keep_light(steps, links, same is None):
            return
        if same is None:
            raise self.parts.reject(
                f"joints {words} in a row through massless links "
                f"({', '.join(links)}) have no equivalent here; give the links a mass"
            )
        self.replace_chain(steps, links, same, words)

    def keep_light(self, steps: list[Connection], links: list[str], alone: bool) -> bool:
        """Keep massless links if necessary, with a negligible mass; return whether they are kept.

        Links are kept if forces act in their joints, or if no single joint is equivalent to the chain (`alone`).
        Each joint of the chain must move the last link independently, else it has no inertia.
        """
        tied = {name for c in self.parts.couplings for name in (c.joint, c.other)}
        acted = any(c.armature or c.stiffness or c.damping or c.name in tied for c in steps)
        if (
            not (acted or alone)
            or any(c.motion is not None for c in steps)
            or not are_independent(steps, self.size)
        ):
            return False
        masses = [r.mass for r in self.rigids.values() if r.mass and r.name != GROUND]
        mass = UNFELT * float(np.mean(masses))
        for name in links:
            rigid = self.rigids[name]
            rigid.mass, rigid.inertia = mass, mass * (0.1 * self.size) ** 2 * np.eye(3)
            ends = [
                c.frames[k].place
                for c in steps
                for k, n in enumerate((c.first, c.second))
                if n == name
            ]
            rigid.center = np.mean(ends, axis=0)
        why = (
            "because forces act in their joints"
            if acted
            else "because no single joint is equivalent to theirs"
        )
        self.report.changed.append(
            f"massless links {', '.join(links)} stay, {why}; each was given "
            f"{mass:.1g} kg, {UNFELT:g} of the mean mass, which does not affect the motion"
        )
        return True

    def replace_chain(
        self, steps: list[Connection], links: list[str], same: list[Same], words: str
    ) -> None:
        chain = {c.name for c in steps}
        for c in steps:
            if c.motion is not None and not any(s.motion for s in same):
                raise self.parts.reject(
                    f"joint '{c.name}' is driven through massless links ({', '.join(links)}); this has "
                    "no equivalent here: give them a mass"
                )
            if c.armature:
                raise self.parts.reject(
                    f"joint '{c.name}' has an armature of {c.armature:g} and leads through massless links "
                    f"({', '.join(links)}) that can move while nothing else does: give them a mass, or remove "
                    "the armature"
                )
            if c.stiffness or c.damping:
                self.report.drop("springs or damping of joints through massless links", c.name)
            if c.stops != (None, None):
                self.report.drop("limits of joints through massless links", c.name)
        ends = (steps[0].first, steps[-1].second)
        names = "+".join(c.name for c in steps)
        for s in same:
            first, second = ends[::-1] if s.swapped else ends
            name = names if len(same) == 1 else f"{names} ({s.kind})"
            closure = any(c.closure for c in steps)
            joint = Connection(name, s.kind, first, second, s.frames, closure, length=s.length)
            joint.motion, joint.start = s.motion, s.length if s.motion is not None else None
            self.joints.append(joint)
        what = " and ".join(s.kind for s in same) or "free motion"
        self.report.changed.append(f"joints {words} through massless links are one: {what}")
        self.joints = [c for c in self.joints if c.name not in chain]
        for name in links:
            del self.rigids[name]

    # steps that need the bodies

    def tie(self) -> None:
        """Set the initial coordinates of coupled joints from those of the joints they depend on."""
        joints = {c.name: c for c in self.joints}
        for coupling in self.parts.couplings:
            if coupling.joint not in joints or coupling.other not in joints:
                raise self.parts.reject(
                    f"coupling '{coupling.name}' of '{coupling.joint}' and '{coupling.other}': one of them leads "
                    "through links without mass or within one body; give them masses, or leave it out"
                )
            joint, other = joints[coupling.joint], joints[coupling.other]
            c0, c1, *_ = coupling.coefficients
            if coupling.authored:
                c0 = joint.stood - c1 * other.stood
            wanted = c0 + c1 * (other.stood + self.ahead(other))
            led = other.start is not None
            if led or abs(wanted - joint.stood) > SAME_IN_FILE * max(1.0, abs(wanted)):
                joint.start = wanted
            if led or other.motion is not None:
                self.led.add(joint.name)

    def ahead(self, c: Connection) -> float:
        """Return how far a joint will be moved from its authored coordinate; angles within half a turn."""
        if c.start is None:
            return 0.0
        off = c.start - c.stood
        return float(np.remainder(off + np.pi, 2.0 * np.pi) - np.pi) if c.kind == REVOLUTE else off

    def align(self) -> None:
        """Move bodies to fit sliders, universal joints and distances, and to the initial coordinates of drives."""
        done = {GROUND}
        for c in self.joints:
            turn, shift = self.needed_move(c)
            if angle_of(turn) <= SAME_IN_FILE and np.linalg.norm(shift) <= SAME_IN_FILE * self.size:
                continue
            ends = [k for k, n in enumerate((c.first, c.second)) if n not in done]
            # Move the lighter body, usually a rod.
            end = min(ends, key=lambda k: self.rigids[(c.first, c.second)[k]].mass, default=1)
            name = (c.first, c.second)[end]
            how = f"{angle_of(turn):.3g} rad and {float(np.linalg.norm(shift)):.3g} m"
            if not ends:
                raise self.parts.reject(
                    f"joint '{c.name}' ({c.kind}) does not fit the pose of its bodies by {how}, and both are "
                    "fixed by other sliders or drives"
                )
            rigid = self.rigids[name]
            at = (rigid.pose @ c.frames[end]).place
            turn, shift = (turn, shift) if end else (turn.T, -shift)
            place = at + shift + turn @ (rigid.pose.place - at)
            rigid.pose = Placement(turn @ rigid.pose.turn, place)
            done.add(name)
            self.report.changed.append(f"body '{name}' was moved by {how} to fit joint '{c.name}'")

    def needed_move(self, c: Connection) -> tuple[Floats, Floats]:
        """Return the required rotation about the joint and displacement of the second body, in world axes."""
        A, B = (self.rigids[n].pose @ f for n, f in zip((c.first, c.second), c.frames, strict=True))
        turn, shift = np.eye(3), np.zeros(3)
        offset = B.place - A.place
        if c.kind in (PRISMATIC, RECTANGULAR):
            turn = A.turn @ nearest_half_turn(A.turn.T @ B.turn) @ B.turn.T
        elif c.kind == UNIVERSAL:
            turn = spread_turn(A.axis, B.axis, c.length)
        elif c.kind == DISTANCE:
            far = float(np.linalg.norm(offset))
            way = offset / far if far > SAME_IN_FILE * self.size else A.axis
            shift = (c.length - far) * way
        if c.start is not None and c.kind == REVOLUTE:
            # A driven joint is fixed while loops close, so its coordinate must be exact.
            angle = float(np.remainder(c.start - self.coordinate(c) + np.pi, 2.0 * np.pi) - np.pi)
            facing = A.axis if A.axis @ B.axis > 0 else -A.axis
            turn = turn_about(A.axis, angle) @ least_turn(B.axis, facing)
            shift = -offset
        elif c.start is not None and c.kind in (PRISMATIC, CYLINDRICAL):
            shift = c.start * A.axis - offset
        return turn, shift

    # closing

    def largest_gap(self) -> str:
        """Describe the largest gaps of the joints in the current configuration."""
        worst, far, wide = "", 0.0, 0.0
        for c in self.joints:
            pair = zip((c.first, c.second), c.frames, strict=True)
            A, B = (self.rigids[n].pose @ f for n, f in pair)
            found = measure_gap(c, A, B)
            if max(found[0], found[1] * self.size) >= max(far, wide * self.size):
                worst, (far, wide) = c.name, found
        return f"the largest gap is {far:.3g} m, {wide:.3g} rad at '{worst}'"

    def close(self, misfit: float | None) -> float:
        """Move the bodies so that their joints close; return the misfit that was bridged [m]."""
        posed = self.mechanism(drives_fixed=True)
        bridged, allowed = 0.0, BRIDGED * self.size if misfit is None else misfit
        try:
            found = assemble(posed)
        except AssemblyError as error:
            gap = max(_size_of(g, self.size) for g in error.gaps.values())
            if gap > allowed:
                small = gap < 1e-3 * self.size
                more = f"; misfit={2.0 * gap:.1g} (--misfit) would bridge it" if small else ""
                error.args = (f"{self.report.source}: {error}{more}",)
                raise
            found = assemble(posed, misfit=2.0 * gap)
            gaps, bridged = error.gaps, allowed
            worst = max(gaps, key=lambda n: gaps[n].metres)
            self.report.closing.append(
                f"its loop {', '.join(error.loop) or worst} cannot be closed exactly: {gap:.3g} m (radians times "
                "the size) is bridged, dimensions change by as much"
            )
        else:
            nearer = self.find_nearer(posed, found, allowed)
            if nearer is not None:
                self.report.closing.append(
                    f"its loops close exactly only {found.moved:.3g} m away ('{found.moved_body}'), where they "
                    f"are locked: {_size_of(nearer.gap_after, self.size):.3g} m (radians times the size) is "
                    "bridged where it stands instead, dimensions change by as much"
                )
                found, bridged = nearer, allowed
        self.report.closing.append(str(found))
        self.place(posed, found)
        if bridged:
            self.meet()
        return bridged

    def place(self, posed: Mechanism, found: Assembly) -> None:
        """Move the bodies to the configuration that was found; bodies that did not move keep their bits."""
        places = {p.name: p.at for p in found.mechanism.markers}
        before = {p.name: p.at for p in posed.markers}
        for r in self.rigids.values():
            names = [f"frame {k} of {r.name}" for k in range(4)]
            if r.name == GROUND or all(np.array_equal(places[n], before[n]) for n in names):
                continue
            r.pose = read_frame([places[n] for n in names])

    def find_nearer(self, posed: Mechanism, found: Assembly, allowed: float) -> Assembly | None:
        """Return a much nearer configuration with gaps that may be bridged, if loops close far away but lock.

        Loops that move only by virtue of their dimensions, and whose dimensions are off by printed digits, close
        exactly at single configurations, anywhere on their path.
        """
        gap = _size_of(found.gap_before, self.size)
        if found.distance <= FARTHER * gap or any(c.motion is not None for c in self.joints):
            return None
        nearer = assemble(posed, misfit=allowed)
        if FARTHER * nearer.distance >= found.distance:
            return None
        poses = {name: rigid.pose for name, rigid in self.rigids.items()}
        self.place(posed, found)
        locked = has_locked_loops(self)
        for name, pose in poses.items():
            self.rigids[name].pose = pose
        return nearer if locked else None

    def meet(self) -> None:
        """After bridging a misfit, give both bodies of each joint its current position and axis.

        Axes that are parallel up to the misfit are made exactly parallel; otherwise they would lock a mobile
        linkage.
        """
        turning = [c for c in self.joints if c.kind in (REVOLUTE, CYLINDRICAL, PLANAR)]
        axes = [(self.rigids[c.first].pose @ c.frames[0]).axis for c in turning]
        for c, axis in zip(turning, tidy(axes), strict=True):
            frames = []
            for name, frame in zip((c.first, c.second), c.frames, strict=True):
                pose = self.rigids[name].pose
                now = pose @ frame
                facing = axis if axis @ now.axis > 0 else -axis
                turn = least_turn(now.axis, facing) @ now.turn
                frames.append(pose.inverse @ Placement(turn, now.place))
            c.frames = (frames[0], frames[1])

    def report_used(self, m: Mechanism) -> None:
        kinds = Counter(j.kind.value for j in m.joints)
        self.report.taken = [
            f"{len(m.bodies)} {'body' if len(m.bodies) == 1 else 'bodies'}",
            *(f"{n} {kind}" for kind, n in kinds.items()),
            *(
                f"{len(items)} {word}"
                for word, items in (
                    ("torsional springs or dampers", m.torsions),
                    ("ball dampers", m.ball_dampers),
                    ("springs", m.springs),
                    ("rotors", m.rotors),
                    ("couplings", m.couplings),
                    ("drives", m.drives),
                    ("points", m.markers),
                    ("forces", m.forces),
                )
                if items
            ),
        ]
        self.report.believed = self.parts.believed


def _check_numbers(parts: Parts) -> None:
    """Reject numbers that are not finite or implausibly large."""
    for link in parts.links.values():
        numbers = (link.pose.turn, link.pose.place, [link.mass], link.center, link.inertia)
        _within(parts, f"link '{link.name}'", numbers)
        if link.mass < 0:
            raise parts.reject(f"link '{link.name}': mass {link.mass:g} kg is negative")
    for c in parts.connections:
        loads = [c.stiffness, c.damping, c.rest, c.armature, *(x for x in c.stops if x is not None)]
        _within(
            parts, f"joint '{c.name}'", (*(x for f in c.frames for x in (f.turn, f.place)), loads)
        )
    _within(parts, "gravity", (parts.gravity,))


def _within(parts: Parts, what: str, numbers: Iterable[object]) -> None:
    for values in numbers:
        x = np.asarray(values, float)
        if not np.all(np.abs(x) <= LARGEST):
            bad = float(np.ravel(x)[~(np.abs(np.ravel(x)) <= LARGEST)][0])
            raise parts.reject(
                f"{what}: the number {bad:g} is out of range; finite numbers up to {LARGEST:g} are read"
            )


def _size(parts: Parts) -> float:
    """Return the extent of joints and centres of mass; 1 m if all coincide."""
    places = [link.pose.point(link.center) for link in parts.links.values() if link.mass]
    places += [parts.pose(c.first).point(c.frames[0].place) for c in parts.connections]
    if not places:
        return 1.0
    spread = float(np.ptp(np.array(places), axis=0).max())
    return spread if spread > 0 else 1.0


def _size_of(gap: Gap, size: float) -> float:
    """Return the larger part of a gap [m]; radians count times the size."""
    return max(gap.metres, gap.radians * size)


def _other(c: Connection, name: str) -> str:
    return c.second if c.first == name else c.first


def _turned(c: Connection) -> Connection:
    """Return the same joint seen from its other body."""
    return replace(
        c, first=c.second, second=c.first, frames=c.frames[::-1], backwards=not c.backwards
    )
