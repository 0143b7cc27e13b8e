"""Write a mechanism as MJCF with equalities or URDF with closures; report what a format cannot represent.

Both formats need a tree of bodies; joints that close loops are written separately. At the start, all MJCF frames
are aligned with the world; URDF frames lie at their joints. Coordinates and axes thus keep their values.
"""

from __future__ import annotations

import importlib.util
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..disk import read_file
from ..engines import ENGINES
from ..engines.markup import LEAST_INERTIA, write_inertial, write_tag, write_tie
from ..engines.running import find_start_motion
from ..engines.tree import Row, find_rates, find_steps, raise_inertia, split_loops, turn_row
from ..foreign import ForeignError, request
from ..kinematics.configuration import in_space
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files.model_writer import save_text
from ..mechanism.forces import Coupling
from ..mechanism.joints import End, Joint, one_or_each
from ..thresholds import SLIM
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    GROUND,
    ON_LINE,
    ON_PLANE,
    PLANAR,
    REVOLUTE,
    SPHERICAL,
    WELD,
)
from .report import Report

# These joints can close a loop in MJCF; all others must connect a body to its parent in the tree.
EASY = (REVOLUTE, SPHERICAL, WELD)
# Suffixes for the names of the steps of a joint with several: one or two sliders, one or two hinges.
STEPS = {"slide": (("travel",), ("x", "y")), "hinge": (("turn",), ("first", "second"))}
# The MJCF keyframe that contains the initial velocities.
START = "start"
# The complete content of a closure file, and a size larger than any of them [bytes].
_CLOSURES = re.compile(rb"closed_loop: \[.*\]\ntype: \[.*\]\n")
MOST_BYTES = 10_000_000
# URDF requires limits on every slider.
WIDE = '<limit lower="-1e9" upper="1e9" effort="1e9" velocity="1e9"/>'
# rad or m: a stop that is never reached
FAR = 1e9


@dataclass(eq=False)
class WrittenJoint:
    """A joint of two bodies; `row` lists its hinges, sliders and balls from the first body to the second.

    `words` are the suffixes that follow the joint's name in the names of these steps.
    """

    name: str
    kind: str
    first: str
    second: str
    at: Floats
    row: Row
    words: tuple[str, ...]

    def turned(self) -> WrittenJoint:
        """Return the joint seen from its other body."""
        row, words = turn_row(self.row), self.words[::-1]
        return replace(self, first=self.second, second=self.first, row=row, words=words)

    def steps(self) -> list[tuple[str, str, Floats]]:
        """Return the name, kind and axis of each hinge, slider and ball of the joint."""
        names = (f"{self.name} {word}".rstrip() for word in self.words)
        return [(name, *step) for name, step in zip(names, self.row, strict=True)]


@dataclass(eq=False)
class BodyTree:
    """The children of each body with their joints (None: free), and the joints that close loops."""

    children: dict[str, list[tuple[str, WrittenJoint | None]]] = field(default_factory=dict)
    closures: list[WrittenJoint] = field(default_factory=list)


def _joints(mechanism: Mechanism, what: str) -> list[WrittenJoint]:
    """Return the joints between two bodies; a joint of three bodies becomes two."""
    out = []
    for joint in mechanism.joints:
        name, kind = joint.name, joint.kind.value.replace("_", "-")
        if kind in (DISTANCE, ON_LINE, ON_PLANE):
            raise MechanismError(
                f"joint '{name}' ({kind}) cannot be written: {what} has no equivalent"
            )
        axes = [e.axis for e in joint.ends if e.axis is not None]
        common = axes if joint.kind.row.axis == "common" else []
        if any(len(one_or_each(values)) > 1 for values in (joint.places, common)):
            raise MechanismError(f"joint '{name}' is apart; close it with sarrus.assemble() first")
        at = np.zeros(3) if joint.at is None else joint.at
        row = () if kind == WELD else tuple(find_steps(joint))
        first, *others = joint.bodies
        for k, second in enumerate(others, start=1):
            own = name if len(others) == 1 else f"{name} {k}"
            out.append(WrittenJoint(own, kind, first, second, at, row, _step_names(row)))
    return out


def _step_names(row: Row) -> tuple[str, ...]:
    """Return the name suffix of each step of a joint; empty if the joint has one step."""
    if len(row) == 1:
        return ("",)
    kinds = [kind for kind, _ in row]
    names = {kind: iter(STEPS[kind][kinds.count(kind) - 1]) for kind in set(kinds)}
    return tuple(next(names[kind]) for kind in kinds)


def _grow(mechanism: Mechanism, joints: list[WrittenJoint]) -> BodyTree:
    """Build a tree from the ground, starting with joints that cannot close a loop; free bodies attach directly.

    If possible, loops are closed by joints on which no force acts.
    """
    ties = [name for c in mechanism.couplings for name in (c.joint, c.other)]
    acted = {
        *ties,
        *(t.joint for t in mechanism.torsions),
        *(d.joint for d in mechanism.ball_dampers),
        *(r.joint for r in mechanism.rotors),
    }
    inner, closing = split_loops(
        sorted(joints, key=lambda j: (j.kind in EASY) + (j.name not in acted))
    )
    tree = BodyTree(closures=closing)
    at: dict[str, list[WrittenJoint]] = {}
    for joint in inner:
        at.setdefault(joint.first, []).append(joint)
        at.setdefault(joint.second, []).append(joint.turned())
    reached: set[str] = set()
    for start in (GROUND, *(b.name for b in mechanism.bodies)):
        if start in reached:
            continue
        if start != GROUND:
            tree.children.setdefault(GROUND, []).append((start, None))
        reached.add(start)
        waiting = [start]
        while waiting:
            name = waiting.pop(0)
            for joint in at.get(name, ()):
                if joint.second not in reached:
                    reached.add(joint.second)
                    tree.children.setdefault(name, []).append((joint.second, joint))
                    waiting.append(joint.second)
    return tree


def _lifted(mechanism: Mechanism) -> Mechanism:
    """Embed a planar mechanism in space at z = 0: pins become hinges about z, bodies plates; same motion."""
    new = Mechanism(mechanism.name, gravity=in_space(mechanism.gravity))
    for body in mechanism.bodies:
        # A thin rod would have no inertia about its axis, which other programs reject.
        plate = float(body.inertia) * np.array([0.5, 0.5, 1.0])
        new.body(body.name, body.mass, in_space(body.center), plate)
    z = np.array([0.0, 0.0, 1.0])
    for joint in mechanism.joints:
        pin = joint.kind.row.coordinate == "angle"
        ends = tuple(
            End(
                end.body,
                None if end.place is None else in_space(end.place),
                z if pin else None if end.axis is None else in_space(end.axis),
            )
            for end in joint.ends
        )
        new.joints.append(Joint(joint.name, joint.kind, ends))
    for marker in mechanism.markers:
        new.point(marker.name, marker.body, in_space(marker.at))
    new.torsions = list(mechanism.torsions)
    new.rotors = list(mechanism.rotors)
    new.couplings = list(mechanism.couplings)
    return new


def _with_inertias(mechanism: Mechanism, report: Report) -> Mechanism:
    """Return the mechanism with inertias that other programs accept; changed inertias are reported."""
    new = mechanism.copy()
    new.bodies = [
        replace(b, inertia=raise_inertia(b.inertia, b.mass, mechanism.size, LEAST_INERTIA))
        for b in mechanism.bodies
    ]
    pairs = zip(mechanism.bodies, new.bodies, strict=True)
    raised = [b.name for b, other in pairs if other.inertia is not b.inertia]
    if raised:
        report.changed.append(
            f"inertias that vanish about an axis are {SLIM:g} of the largest one, at least {LEAST_INERTIA:g} "
            "kg m^2, since other programs need some: "
            f"{', '.join(raised)}"
        )
    return new


def _check_loading(text: str, path: Path) -> None:
    """Compile the text with MuJoCo before it is written, if MuJoCo is installed."""
    if importlib.util.find_spec("mujoco") is None:
        return
    with tempfile.TemporaryDirectory(prefix="sarrus-mjcf-") as folder:
        trial = Path(folder) / "model.xml"
        trial.write_text(text, encoding="utf-8")
        try:
            words, _ = request("mjcf_compiler", {"path": str(trial), "keyframe": None})
        except ForeignError as error:
            words = {"error": str(error)}
    if why := words.get("error"):
        raise MechanismError(f"{path.name} was not written: MuJoCo does not load it ({why})")


def _begin(mechanism: Mechanism, path: Path, what: str) -> tuple[Mechanism, BodyTree, Report]:
    """Return a spatial mechanism ready to be written, its tree, and a report of what cannot be represented."""
    mechanism.check()
    report = Report(path.name, f"written as {what}")
    m, mechanism = mechanism, mechanism if mechanism.dimension == 3 else _lifted(mechanism)
    if mechanism is not m:
        report.changed.append("planar: written in space at z = 0, bodies as plates")
    mechanism = _with_inertias(mechanism, report)
    tree = _grow(mechanism, _joints(mechanism, what))
    closing = {joint.name for joint in tree.closures}
    for word, parts in (
        ("rotors", mechanism.rotors),
        ("torsional springs", mechanism.torsions),
        ("dampers", mechanism.ball_dampers),
    ):
        lost = [part.name for part in parts if part.joint in closing]
        report.drop(f"{word} of joints that close a loop", *lost)
    for kind, items in (
        ("forces", m.forces),
        ("torques", m.torques),
        ("springs", m.springs),
        ("user forces", m.user_forces),
        ("drives", m.drives),
    ):
        report.drop(kind, *(item.name for item in items))
    report.taken = [
        f"{len(m.bodies)} bodies",
        f"{len(m.joints)} joints, {len(tree.closures)} of them closing loops",
    ]
    return mechanism, tree, report


# MJCF


def save_mjcf(mechanism: Mechanism, path: Path) -> Report:
    """Write MJCF: hinges, sliders and balls as joints, loops as connect and weld equalities."""
    start = mechanism
    mechanism, tree, report = _begin(mechanism, path, "MJCF")
    keyframe = list(_keyframe(start, mechanism, tree))
    if keyframe:
        report.taken.append(f"initial velocities as keyframe '{START}'")
    lines = [
        f"{write_tag('mujoco', model=mechanism.name)}>",
        '  <compiler angle="radian" autolimits="false" inertiafromgeom="false"/>',
        f"  {write_tag('option', gravity=mechanism.gravity)}/>",
        "  <worldbody>",
        *_mjcf_bodies(mechanism, tree, GROUND, 2, report),
        "  </worldbody>",
        "  <equality>",
        *(f"    {line}/>" for joint in tree.closures for line in _mjcf_closure(mechanism, joint)),
        *(f"    {line}/>" for line in _mjcf_couplings(mechanism, tree, report)),
        "  </equality>",
        *keyframe,
        "</mujoco>",
    ]
    text = "\n".join(lines) + "\n"
    _check_loading(text, path)
    save_text(text, path)
    return report


def _mjcf_bodies(
    m: Mechanism, tree: BodyTree, name: str, depth: int, report: Report
) -> Iterator[str]:
    bodies = {b.name: b for b in m.bodies}
    pad = "  " * depth
    for marker in m.markers:
        if marker.body == name:
            yield f"{pad}{write_tag('site', name=marker.name, pos=marker.at)}/>"
    for child, joint in tree.children.get(name, ()):
        body = bodies[child]
        yield f"{pad}{write_tag('body', name=child)}>"
        yield f"{pad}  {write_inertial(body.center, body.mass, body.inertia)}/>"
        if joint is None:
            yield f"{pad}  <freejoint/>"
        else:
            yield from (f"{pad}  {line}/>" for line in _mjcf_joints(m, joint, report))
        yield from _mjcf_bodies(m, tree, child, depth + 1, report)
        yield f"{pad}</body>"


def _keyframe(start: Mechanism, m: Mechanism, tree: BodyTree) -> Iterator[str]:
    """Write the initial velocities, if any are nonzero; `start` is the mechanism as the user defined it."""
    if not (start.velocities or start.angular_velocities or start.drives):
        return
    velocities, spins = find_start_motion(start)
    names = [b.name for b in start.bodies]
    bodies = {b.name: b for b in m.bodies}
    # Twists of the bodies: velocity of the point at the world origin, and angular velocity.
    moving = {GROUND: (np.zeros(3), np.zeros(3))}
    for name, velocity, spin in zip(names, velocities, spins, strict=True):
        moving[name] = (velocity - np.cross(spin, bodies[name].center), spin)
    numbers = list(_start_numbers(tree, GROUND, moving))
    qpos, qvel = (np.concatenate(part) for part in zip(*numbers, strict=True))
    yield "  <keyframe>"
    yield f"    {write_tag('key', name=START, qpos=qpos, qvel=qvel)}/>"
    yield "  </keyframe>"


def _start_numbers(
    tree: BodyTree, above: str, moving: dict[str, tuple[Floats, Floats]]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield coordinates and rates of the joints, in the order in which bodies are written."""
    for child, joint in tree.children.get(above, ()):
        velocity, spin = moving[child]
        if joint is None:
            yield np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.append(velocity, spin)
        else:
            base = moving[above]
            turning = spin - base[1]
            sliding = velocity - base[0] + np.cross(turning, joint.at)
            rates = find_rates(joint.row, sliding, turning)
            for (kind, _), rate in zip(joint.row, rates, strict=True):
                yield np.array([1.0, 0.0, 0.0, 0.0] if kind == "ball" else [0.0]), rate
        yield from _start_numbers(tree, child, moving)


def _mjcf_joints(m: Mechanism, joint: WrittenJoint, report: Report) -> Iterator[str]:
    for name, kind, axis in joint.steps():
        loads = _torsion(m, name, report) if kind == "hinge" else {}
        damping = plain_sum(d.damping for d in m.ball_dampers if d.joint == name)
        if damping:
            loads["damping"] = float(damping)
        armature = plain_sum(
            r.inertia + r.mass for r in m.rotors if name in (r.joint, f"{r.joint} travel")
        )
        if armature:
            loads["armature"] = float(armature)
        along = None if kind == "ball" else axis
        low, high = stops_of(m, name)
        if low is not None or high is not None:
            # MJCF needs both
            loads |= {"limited": "true", "range": np.array([_or(low, -FAR), _or(high, FAR)])}
        yield write_tag("joint", name=name, type=kind, pos=joint.at, axis=along, **loads)


def stops_of(m: Mechanism, name: str) -> tuple[float | None, float | None]:
    """Return the narrowest stops of a joint by its name in the file; None if there is none."""
    found = [x for x in m.limits if name in (x.joint, f"{x.joint} travel")]
    lower = [x.lower for x in found if x.lower is not None]
    upper = [x.upper for x in found if x.upper is not None]
    return max(lower, default=None), min(upper, default=None)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)


def _torsion(m: Mechanism, name: str, report: Report) -> dict[str, Any]:
    """Return the stiffness, damping and rest angle of the torsional springs in a hinge."""
    found = [t for t in m.torsions if t.joint == name]
    k, c = plain_sum(t.stiffness for t in found), plain_sum(t.damping for t in found)
    pull = plain_sum(t.stiffness * t.free_angle + t.torque for t in found)
    if pull and not k:
        report.drop("constant torques of hinges", *(t.name for t in found))
    values = {"stiffness": k, "damping": c, "springref": pull / k if k else 0.0}
    return {key: float(v) for key, v in values.items() if v}


def _mjcf_closure(m: Mechanism, joint: WrittenJoint) -> Iterator[str]:
    """Write a loop-closing joint as coincident points; every frame is aligned with the world at the start."""
    seen = joint if joint.first != GROUND else joint.turned()
    first, other = seen.first, seen.second
    ends = {"body1": first, "body2": None if other == GROUND else other}
    if joint.kind == WELD:
        yield write_tag("weld", name=joint.name, **ends)
    elif joint.kind in (SPHERICAL, REVOLUTE):
        yield write_tag("connect", name=joint.name, **ends, anchor=joint.at)
        if joint.kind == REVOLUTE:
            # A second point on the hinge axis: this gives one equation more than a hinge has, never one less.
            there = joint.at + _arm(m) * joint.row[0][1]
            yield write_tag("connect", name=f"{joint.name}_axis", **ends, anchor=there)
    else:
        raise MechanismError(
            f"joint '{joint.name}' ({joint.kind}) closes a loop and MJCF has no equality for that; make it a "
            "part of the tree, by hinges or balls that close its loops"
        )


def _mjcf_couplings(m: Mechanism, tree: BodyTree, report: Report) -> Iterator[str]:
    for coupling, joint, other in _couplings(m, tree, report):
        yield write_tie(joint, other, coupling.ratio, coupling.name)


def _couplings(m: Mechanism, tree: BodyTree, report: Report) -> Iterator[tuple[Coupling, str, str]]:
    """Yield the couplings, with the names of their joints in the file."""
    closing = {joint.name for joint in tree.closures}
    kinds = {joint.name: joint.kind for joint in m.joints}
    for coupling in m.couplings:
        names = (coupling.joint, coupling.other)
        if closing & set(names):
            report.drop("couplings of joints that close a loop", coupling.name)
            continue
        joint, other = (f"{n} travel" if kinds[n].value == CYLINDRICAL else n for n in names)
        yield coupling, joint, other


def _arm(m: Mechanism) -> float:
    """Return a characteristic length of the mechanism."""
    places = np.array([b.center for b in m.bodies])
    return max(float(np.ptp(places, axis=0).max()), 1e-3)


# OpenSim


def save_osim(mechanism: Mechanism, path: Path) -> Report:
    """Write an .osim file with OpenSim itself: pins, sliders and balls, loops as point constraints, loads."""
    engine = ENGINES["opensim"]
    if not engine.installed:
        raise MechanismError(f"{path.name}: writing .osim needs OpenSim; {engine.install}")
    mechanism.check()
    engine.check(mechanism)
    report = Report(path.name, "written as OpenSim's model")
    from ..engines import opensim

    tree = opensim.save_model(mechanism, path, *find_start_motion(mechanism))
    m = mechanism
    report.drop("points", *(marker.name for marker in m.markers))
    report.taken = [
        f"{len(m.bodies)} bodies",
        f"{len(m.joints)} joints, {len(tree.closures)} points closing loops",
    ]
    return report


# URDF


def save_urdf(mechanism: Mechanism, path: Path) -> Report:
    """Write a URDF file and its closures (.yaml); an existing .yaml is replaced only if it contains closures."""
    _check_closures(path.with_suffix(".yaml"))
    start = mechanism
    mechanism, tree, report = _begin(mechanism, path, "URDF")
    report.drop(
        "initial velocities (URDF has none)",
        *(n for n, _ in (*start.velocities, *start.angular_velocities)),
    )
    report.drop("gravity (URDF has none)", " ".join(f"{g:g}" for g in mechanism.gravity))
    for t in mechanism.torsions:
        if t.stiffness or t.torque:
            report.drop("stiffness and torques of hinges", t.name)
    report.drop("rotors (URDF has none)", *(r.name for r in mechanism.rotors))
    report.drop("dampers of ball joints", *(d.name for d in mechanism.ball_dampers))
    writer = _Urdf(mechanism, list(_couplings(mechanism, tree, report)))
    writer.link(GROUND)
    writer.hang(tree, GROUND)
    for marker in mechanism.markers:
        writer.frame(marker.name, marker.body, marker.at)
    pairs = [pair for joint in tree.closures for pair in writer.close(joint)]
    lines = [f"{write_tag('robot', name=mechanism.name)}>", *writer.lines, "</robot>"]
    save_text("\n".join(lines) + "\n", path)
    frames = ", ".join(f"[{json.dumps(a)}, {json.dumps(b)}]" for a, b, _ in pairs)
    kinds = ", ".join(f"'{kind}'" for *_, kind in pairs)
    closures = path.with_suffix(".yaml")
    save_text(f"closed_loop: [{frames}]\ntype: [{kinds}]\n", closures)
    report.taken.append(f"closures in {closures.name}")
    return report


def _check_closures(path: Path) -> None:
    """Raise an error if the file exists and is not a closure file as `save_urdf` writes it."""
    if path.is_symlink() or (
        path.exists() and not _CLOSURES.fullmatch(read_file(path, MOST_BYTES))
    ):
        raise MechanismError(
            f"{path.name} exists, and the closures of the URDF would replace it; choose another name for the URDF"
        )


class _Urdf:
    def __init__(self, mechanism: Mechanism, couplings: list[tuple[Coupling, str, str]]) -> None:
        self.m, self.couplings = mechanism, couplings
        self.bodies = {b.name: b for b in mechanism.bodies}
        self.origin: dict[str, Floats] = {GROUND: np.zeros(3)}
        self.lines: list[str] = []

    def link(self, name: str) -> None:
        own = "world" if name == GROUND else name
        if name not in self.bodies:
            self.lines.append(f"  {write_tag('link', name=own)}/>")
            return
        body = self.bodies[name]
        i = body.inertia
        inertia = write_tag(
            "inertia", ixx=i[0, 0], ixy=i[0, 1], ixz=i[0, 2], iyy=i[1, 1], iyz=i[1, 2], izz=i[2, 2]
        )
        place = write_tag("origin", xyz=body.center - self.origin[name])
        self.lines += [
            f"  {write_tag('link', name=own)}>",
            f"    <inertial>{place}/>{write_tag('mass', value=body.mass)}/>{inertia}/></inertial>",
            "  </link>",
        ]

    def joint(
        self, name: str, kind: str, parent: str, child: str, at: Floats, axis: Floats
    ) -> None:
        """Write a joint, with its child's frame at the joint."""
        low, high = stops_of(self.m, name) if kind in ("hinge", "slide") else (None, None)
        is_limited = low is not None or high is not None
        hinge = "revolute" if is_limited else "continuous"
        words = {"hinge": hinge, WELD: "fixed", "slide": "prismatic"}
        range_ = {"lower": _or(low, -FAR), "upper": _or(high, FAR), "effort": FAR, "velocity": FAR}
        above = "world" if parent == GROUND else parent
        damping = plain_sum(t.damping for t in self.m.torsions if t.joint == name)
        self.lines += [
            f"  {write_tag('joint', name=name, type=words.get(kind, kind))}>",
            f"    {write_tag('origin', xyz=at - self.origin[parent])}/>",
            f"    {write_tag('parent', link=above)}/>{write_tag('child', link=child)}/>",
            *(
                [f"    {write_tag('axis', xyz=axis)}/>"]
                if kind in ("hinge", "slide", PLANAR)
                else []
            ),
            *([f"    {WIDE}"] if kind == "slide" and not is_limited else []),
            *([f"    {write_tag('limit', **range_)}/>"] if is_limited else []),
            *([f"    {write_tag('dynamics', damping=damping)}/>"] if damping else []),
            *(
                f"    {write_tag('mimic', joint=other, multiplier=coupling.ratio)}/>"
                for coupling, own, other in self.couplings
                if own == name
            ),
            "  </joint>",
        ]

    def row(self, joint: WrittenJoint, parent: str, child: str) -> None:
        """Write a joint as a chain of URDF joints through massless links."""
        steps = joint.steps()
        if joint.kind == PLANAR:
            # The joint axis is that of its hinge, wherever the hinge is in the chain.
            (axis,) = (axis for kind, axis in joint.row if kind == "hinge")
            steps = [(joint.name, PLANAR, axis)]
        elif joint.kind == SPHERICAL:
            steps = [
                (f"{joint.name} {c}", "hinge", e) for c, e in zip("xyz", np.eye(3), strict=True)
            ]
        elif joint.kind == WELD:
            steps = [(joint.name, WELD, np.zeros(3))]
        for k, (name, kind, axis) in enumerate(steps):
            last = k == len(steps) - 1
            below = child if last else f"{child} before {k + 1}"
            self.origin[below] = joint.at
            if below not in self.bodies:
                self.link(below)
            self.joint(name, kind, parent, below, joint.at, axis)
            parent = below

    def hang(self, tree: BodyTree, name: str) -> None:
        for child, joint in tree.children.get(name, ()):
            if joint is None:
                self.origin[child] = np.zeros(3)
                self.joint(f"{child} free", "floating", name, child, np.zeros(3), np.zeros(3))
            else:
                self.row(joint, name, child)
            self.link(child)
            self.hang(tree, child)

    def frame(self, name: str, body: str, at: Floats) -> None:
        """Write a massless link that marks a point of a body."""
        self.origin[name] = at
        self.link(name)
        self.joint(f"{name} frame", WELD, body, name, at, np.zeros(3))

    def close(self, joint: WrittenJoint) -> Iterator[tuple[str, str, str]]:
        """Yield the frames of a loop-closing joint and how they are connected.

        A ball closes at one point (3d), a hinge at two points on its axis: one equation more than it has, never
        one less. Any other joint leads to a massless link that is fixed to the other body (6d).
        """
        first, other = joint.first, joint.second
        places = {joint.name: joint.at}
        if joint.kind == REVOLUTE:
            places[f"{joint.name} axis"] = joint.at + _arm(self.m) * joint.row[0][1]
        for name, at in places.items():
            ends = (f"{name} A", f"{name} B")
            if joint.kind in (SPHERICAL, REVOLUTE, WELD):
                self.frame(ends[0], first, at)
            else:
                self.row(joint, first, ends[0])
            self.frame(ends[1], other, at)
            yield (*ends, "3d" if joint.kind in (SPHERICAL, REVOLUTE) else "6d")
