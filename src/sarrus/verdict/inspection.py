"""The verdict on a mechanism as it stands: mobility and redundancy, in sentences with the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanism import (
    Mechanism,
    MechanismError,
    check_mechanism,
    find_gaps,
    move_bodies,
    without_drives,
)

if TYPE_CHECKING:
    from .driven import Driven
    from .joint_equations import JointEquations
    from .locked import Locked
    from .mobility import Mobility
    from .nearby import Nearby
    from .redundancy import Dependence, Redundancy

# longer lists are cut on the screen; the record has all
MOST_LINES = 12


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found; print it for sentences, `as_dict()` for the record.

    count: Gruebler's; mobility_here; mobility_motion: of the motion; redundant_here, redundant_motion:
    joint equations that depend on others; classification: one word, classes: all that apply; mobility
    and redundancy: the whole records; equations: those of the joints. All of these are of the joints
    alone; driven: what drives leave of the freedoms, None without drives. locked: of a mechanism that is
    locked in truth but almost moves; opening: what was done with joints that are apart, a sentence.
    """

    mechanism: str
    dimension: int
    bodies: int
    joints: int
    mobility: Mobility = field(repr=False)
    redundancy: Redundancy = field(repr=False)
    equations: JointEquations = field(repr=False)
    driven: Driven | None = field(repr=False, default=None)
    locked: Locked | None = field(default=None, repr=False)
    opening: str = ""

    @property
    def count(self) -> int:
        """Gruebler's count."""
        return self.mobility.count

    @property
    def mobility_here(self) -> int:
        """Mobility at this pose."""
        return self.mobility.here

    @property
    def mobility_motion(self) -> int:
        """Mobility of the motion."""
        return self.mobility.motion

    @property
    def redundant_here(self) -> int:
        """Joint equations that depend on others at this pose."""
        return self.mobility.redundant_here

    @property
    def redundant_motion(self) -> int:
        """Joint equations that depend on others everywhere on the motion."""
        return self.mobility.redundant_motion

    @property
    def classification(self) -> str:
        """The weightiest word."""
        return self.mobility.classification

    @property
    def classes(self) -> tuple[str, ...]:
        """All words that apply, the weightiest first."""
        return self.mobility.classes

    @cached_property
    def poses(self) -> tuple[Nearby, ...]:
        """Random poses of the mechanism further away with their rank, where equations depend here."""
        from .nearby import wander

        if not (self.mobility_motion and self.redundant_here):
            return ()
        return tuple(wander(self.equations, self.equations.start()))

    @property
    def sentences(self) -> list[str]:
        """The verdict without the list of dependent sets."""
        return list(_sentences(self))

    def __repr__(self) -> str:
        return f"<Inspection '{self.mechanism}': {', '.join(self.classes)}>"

    def __str__(self) -> str:
        kind = "planar" if self.dimension == 2 else "spatial"
        lines = [
            f"{self.mechanism}: {kind}, {_many(self.bodies, 'body', 'bodies')}, "
            f"{_many(self.joints, 'joint')}",
            *self.sentences,
        ]
        if self.redundancy.sets:
            lines.append("Dependent sets, each minimal:")
            lines += _cut([f"  {s}" for s in self.redundancy.sets])
        if self.redundancy.unnamed:
            lines.append(
                f"  and {self.redundancy.unnamed} more that no single loop shows (the mechanism is too "
                "large to look at several loops at once)"
            )
        if self.driven and self.driven.sets:
            lines.append("Drives and joints that depend on each other:")
            lines += _cut([f"  {s}" for s in self.driven.sets])
        remedies = _remedies(self.redundancy)
        if remedies:
            lines.append("Without a new freedom, one of these removes redundant equations:")
            lines += _cut([f"  {line}" for line in remedies])
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain numbers, words and lists, for JSON."""
        m, r = self.mobility, self.redundancy
        return {
            "mechanism": self.mechanism,
            "dimension": self.dimension,
            "bodies": self.bodies,
            "joints": self.joints,
            "count": m.count,
            "mobility_here": m.here,
            "mobility_motion": m.motion,
            "redundant_here": m.redundant_here,
            "redundant_motion": m.redundant_motion,
            "classification": m.classification,
            "classes": list(m.classes),
            "rank": m.rank.as_dict(),
            "nearby": [
                {"along": n.along, "distance": n.distance, "rank": n.rank.as_dict()}
                for n in m.nearby
            ],
            "random_poses": [
                {"distance": n.distance, "rank": n.rank.as_dict()} for n in self.poses
            ],
            "idle_spins": list(m.idle_spins),
            "free_bodies": list(m.free_bodies),
            "locked": None if self.locked is None else self.locked.as_dict(),
            "opening": self.opening,
            "sentences": self.sentences,
            "dependent_sets": [_set_record(s) for s in r.sets],
            "unnamed_dependences": r.unnamed,
            "replacements": [
                {"joint": x.joint, "by": x.by, "removes": x.removes} for x in r.replacements
            ],
            "driven": None if self.driven is None else _driven_record(self.driven),
        }


def inspect(mechanism: Mechanism) -> Inspection:
    """Tell mobility and redundancy of a mechanism at its start position.

    The answer prints as sentences with the numbers that decided; `as_dict()` gives the record. Raises
    MechanismError, with every reason, if this is no mechanism that could be simulated.
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism, closed=False)
    # SciPy's solvers load slowly: only an inspection pays for them
    from .joint_equations import make_joint_equations
    from .mobility import given_velocity

    mechanism, opening, closed = _closed(mechanism)
    equations = make_joint_equations(mechanism)
    given = given_velocity(equations, mechanism)
    return inspect_equations(mechanism.name, equations, given, opening=opening, closed=closed)


def inspect_equations(
    name: str,
    whole: JointEquations,
    given: list[tuple[str, Any]],
    *,
    opening: str = "",
    closed: bool = True,
) -> Inspection:
    """The inspection of joint equations at their start; given: velocities to follow first."""
    from .driven import measure_driven
    from .locked import decide_locked
    from .mobility import INCONSISTENT, REGULAR, measure_mobility
    from .redundancy import find_redundancy

    equations = whole.undriven
    mobility = measure_mobility(equations, given=given)
    locked = None
    if closed:
        mobility, locked = decide_locked(equations, mobility)
    else:
        others = tuple(c for c in mobility.classes if c != REGULAR)
        mobility = replace(mobility, classes=(INCONSISTENT, *others))
    nearby = mobility.generic
    redundancy = find_redundancy(
        equations, mobility.redundant_here, nearby=nearby.pose if nearby else None
    )
    return Inspection(
        mechanism=name,
        dimension=equations.dimension,
        bodies=len(equations.bodies),
        joints=len(equations.joints),
        mobility=mobility,
        redundancy=redundancy,
        equations=equations,
        driven=measure_driven(whole, mobility) if whole.drives else None,
        locked=locked,
        opening=opening,
    )


def _closed(mechanism: Mechanism) -> tuple[Mechanism, str, bool]:
    """The mechanism with its joints closed, or with the least gaps; a sentence; and whether it closes."""
    if not find_gaps(mechanism):
        return mechanism, "", True
    from .closing import describe_gap, find_closed, moves_to, usual_weights
    from .joint_equations import make_joint_equations
    from .nearby import displacement

    equations = make_joint_equations(without_drives(mechanism))
    found = find_closed(equations, usual_weights(equations))[0]
    moved = move_bodies(mechanism, moves_to(mechanism, equations, found.pose), closed=found.closed)
    if found.closed:
        move = np.abs(displacement(equations, equations.start(), found.pose))
        far, wide = (
            np.linalg.norm(move[:, :3], axis=1).max(),
            np.linalg.norm(move[:, 3:], axis=1).max(),
        )
        sentence = (
            f"Its joints are apart and can be closed: bodies then move by up to {far:.6g} m and turn by up to "
            f"{wide:.6g} rad. What follows is said of that position."
        )
        return moved, sentence, True
    _, why = describe_gap(equations, found)
    sentence = f"Its joints contradict each other: {why}. What follows is said of that position."
    return moved, sentence, False


def _sentences(x: Inspection) -> Iterator[str]:
    m = x.mobility
    if x.opening:
        yield x.opening
    yield (
        f"Gruebler's count is {m.count}, the mobility here {m.here}, the mobility of the motion "
        f"{m.motion}: {', '.join(m.classes)}."
    )
    back = m.here - m.motion
    if "crossing" in m.classes:
        yield (
            f"This is a singular position: {_many(back, 'freedom')} more here than nearby on the "
            "motion; motions meet here, and only a velocity chooses between them."
        )
    elif back and "locked" in m.classes:
        yield (
            f"It is shaky: {_many(back, 'velocity', 'velocities')} that the joints allow here "
            f"lead{'s' if back == 1 else ''} back, so it can move by infinitesimal amounts only."
        )
    elif back:
        yield (
            f"Of the {m.here} velocities that the joints allow, here and nearby, {back} "
            f"lead{'s' if back == 1 else ''} back: infinitesimal motions only."
        )
    elif "locked" in m.classes and not (x.locked is not None and x.locked.nearly):
        yield "Nothing can move" + (" but idle spins" if m.idle_spins else "") + ": a structure."
    if x.locked is not None and x.locked.nearly:
        yield _play(x.locked)
    if "near-singular" in m.classes and x.locked is None:
        yield (
            f"A singular position is near: the smallest value that counts is {m.rank.smallest:.2e}, and "
            "reactions grow with its inverse."
        )
    if x.driven:
        yield from _driven(x.driven, m.motion)
    yield _redundant(x)
    if x.poses and m.rank.rows:
        yield _elsewhere(x)
    yield _decided(x)
    if m.free_bodies:
        yield f"Without any joint: {_names(m.free_bodies)}."
    if m.idle_spins:
        yield (
            f"{_many(len(m.idle_spins), 'freedom is', 'freedoms are')} the spin of a thin body about "
            f"its own axis, which moves nothing else: {_names(m.idle_spins)}."
        )


def _driven(d: Driven, mobility: int) -> Iterator[str]:
    names = _names([f"'{name}'" for name in d.drives])
    taken = mobility - d.free_motion
    if mobility == taken:
        yield f"{_many(mobility, 'freedom')}, driven by {names}: nothing is left free."
    else:
        yield (
            f"{_many(mobility, 'freedom')}, {taken} of them driven by {names}: "
            f"{d.free_motion} left free."
        )
    if d.idle_motion:
        yield (
            f"{_many(d.idle_motion, 'drive')} too many: what {_it(d.idle_motion)} prescribe"
            f"{'s' if d.idle_motion == 1 else ''} follows from the joints and the other drives."
        )
    elif d.idle_here:
        yield (
            "This is a dead position of the drives: "
            f"{_many(d.idle_here, 'drive has', 'drives have')} no hold on the motion here, and the "
            "force it would need grows beyond all bounds nearby."
        )


def _it(n: int) -> str:
    return "it" if n == 1 else "they"


def _play(locked: Locked) -> str:
    from .locked import MISFIT

    allowed = MISFIT * locked.length
    text = (
        f"In truth it is locked (smallest singular value {locked.value:.1e}): along the velocity that is almost "
        f"free its joints open by up to {locked.misfit:.2e} m within {locked.reach:.2g} radians or lengths. "
    )
    if locked.within(allowed):
        return text + f"Up to {allowed:.2e} m count as mobile: it is mobile within that tolerance."
    return text + f"Only up to {allowed:.2e} m count as mobile."


def _redundant(x: Inspection) -> str:
    m = x.mobility
    rows = m.rank.rows
    if rows == 0:
        return "There are no joint equations."
    if m.redundant_here == 0:
        return f"None of the {rows} joint equations depends on others."
    text = f"{m.redundant_here} of the {rows} joint equations depend on others here"
    if m.redundant_here == 1:
        text = f"One of the {rows} joint equations depends on others here"
    if m.redundant_motion == m.redundant_here:
        text += f" and at all {len(m.nearby)} poses looked at nearby" if m.nearby else ""
    elif m.redundant_motion:
        text += f", {m.redundant_motion} nearby on the motion"
    else:
        text += ", none nearby on the motion"
    if m.motion > max(m.count, 0):
        text += "; so it moves more than the count says"
    return text + "."


def _elsewhere(x: Inspection) -> str:
    numbers = sorted({n.rank.rows - n.rank.rank for n in x.poses})
    many = (
        f"{numbers[0]} of them" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} of them"
    )
    many = "none of them" if numbers == [0] else many
    depend = "depends" if numbers in ([0], [1]) else "depend"
    far = max(n.distance for n in x.poses)
    return (
        f"At {_many(len(x.poses), 'random pose')} of the mechanism (up to {far:.2g} rad or lengths away) "
        f"{many} {depend} on others."
    )


def _decided(x: Inspection) -> str:
    r = x.mobility.rank
    text = f"Rank {r.rank} of {r.columns} columns, by {r.how}"
    if r.above:
        text += f": the smallest that counts is {r.smallest:.3g}"
    if r.below:
        text += f", the largest that does not {r.below[0]:.1e}"
    text += f", the tolerance {r.tolerance:g}."
    if not r.clear:
        text += " The gap is narrow: take the rank with care."
    return text


def _set_record(s: Dependence) -> dict[str, Any]:
    return {
        "sentence": str(s),
        "loop": list(s.loop),
        "equations": [
            {
                "joint": e.joint,
                "drive": e.drive,
                "bodies": [e.first, e.second],
                "kind": e.kind,
                "direction": list(e.direction),
                "coefficient": c,
            }
            for e, c in zip(s.equations, s.coefficients, strict=True)
        ],
        "permanent": s.permanent,
    }


def _driven_record(d: Driven) -> dict[str, Any]:
    return {
        "drives": list(d.drives),
        "free_here": d.free_here,
        "free_motion": d.free_motion,
        "idle_here": d.idle_here,
        "idle_motion": d.idle_motion,
        "dependent_sets": [_set_record(s) for s in d.sets],
    }


def _remedies(r: Redundancy) -> list[str]:
    """Replacements that do the same, in one line."""
    alike: dict[tuple[str, int], list[str]] = {}
    for x in r.replacements:
        alike.setdefault((x.by, x.removes), []).append(x.joint)
    return [
        f"{by + ' instead of' if by else 'leaving out'} "
        f"{'joint ' if len(joints) == 1 else 'one of '}{_names(joints)}: removes {removes}"
        for (by, removes), joints in alike.items()
    ]


def _names(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:MOST_LINES])
    return shown + (f" and {len(names) - MOST_LINES} more" if len(names) > MOST_LINES else "")


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"  and {len(lines) - MOST_LINES} more"]


def _many(n: int, one: str, more: str | None = None) -> str:
    return f"{n} {one if n == 1 else more or one + 's'}"
