"""Read MJCF with MuJoCo's own parser and compiler (extra `formats`), which resolves defaults, frames and angles.

The safe reader checks the file first: no entities, no includes outside its folder, no plugins, no huge numbers.
Then a child process compiles it, with limits on time and memory (`foreign`). Meshes are read if they are in the
file's folder; otherwise they are removed, and bodies whose mass would come from them are reported.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..foreign import ForeignError, request
from .parts import (
    EQUATIONS,
    GROUND,
    LARGEST,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    WELD,
    Connection,
    FormatError,
    JointRelation,
    Link,
    Parts,
    Placement,
    frame_along,
    turn_about,
)
from .report import Report
from .xml import Node, load

# Limits: depth of nested includes, and number of elements of all files, counting replicated ones.
DEEPEST = 16
MOST_ELEMENTS = 200_000
# Elements without a rigid equivalent, and elements that could run code.
REJECTED = {
    "flexcomp": "deformable bodies",
    "flex": "deformable bodies",
    "composite": "composite bodies",
    "plugin": "plugins",
    "extension": "plugins",
    "attach": "models of other files",
    "model": "models of other files",
}
# MuJoCo allows infinite values in these attributes.
UNBOUNDED = (
    "range",
    "ctrlrange",
    "forcerange",
    "actrange",
    "actfrcrange",
    "lengthrange",
    "springlength",
)


def read_mjcf(path: Path, *, keyframe: str | None = None) -> Parts:
    """Read the parts of an MJCF file, in the configuration qpos0 or of a keyframe."""
    if importlib.util.find_spec("mujoco") is None:
        raise FormatError(
            f"{path.name}: reading MJCF needs the package mujoco; install it with pip install '.[formats]'"
        )
    _check_files(path)
    question = {"path": str(path.resolve()), "keyframe": keyframe}
    try:
        words, arrays = request("mjcf_compiler", question)
    except ForeignError as error:
        raise FormatError(
            f"{path.name}: MuJoCo's compiler was stopped: {error}; make the model smaller"
        ) from error
    report = Report(path.name, "MJCF", dropped=words["dropped"])
    if why := words.get("error"):
        lost = report.dropped.get("mass of bodies that only a missing mesh defines", [])
        if lost and "mjMINVAL" in why:
            raise FormatError(
                f"{path.name}: the mass of {', '.join(lost[:8])} comes from mesh files that are not in its "
                "folder; put them there, or give the bodies an <inertial>"
            )
        raise FormatError(f"{path.name}: MuJoCo cannot compile it: {why}")
    parts = Parts(words["name"] or path.stem, np.zeros(3), report)
    if "keyframes" in words:
        known = ", ".join(words["keyframes"]) or "none"
        raise parts.reject(f"there is no keyframe '{keyframe}'; known: {known}")
    return _Reader(parts, Compiled(words, arrays), keyframe).read()


class Compiled:
    """The compiled model: arrays and counts by MuJoCo's names, names of objects, values of its enumerations."""

    def __init__(self, words: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.names: dict[str, list[str]] = words["names"]
        self.enums: dict[str, dict[str, int]] = words["enums"]
        self._found = {**words, **arrays}

    def __getattr__(self, name: str) -> Any:
        # Absent if this version of MuJoCo lacks it.
        try:
            return self._found[name]
        except KeyError:
            raise AttributeError(name) from None


# untrusted files


def _check_files(path: Path) -> None:
    """Check a file and its includes with the safe reader; reject files that must not be opened."""
    folder = path.resolve().parent
    waiting: list[tuple[Path, tuple[Path, ...], float]] = [(path.resolve(), (), 1.0)]
    elements = 0.0
    while waiting:
        file, above, times = waiting.pop()
        document = load(file)
        if not above and document.root.name != "mujoco":
            raise FormatError(
                f"{path.name}: its root is <{document.root.name}>; an MJCF begins with <mujoco>"
            )
        for node, often in _replicated(document.root, times):
            where = f"{document.name}, line {node.line}"
            elements += often
            if elements > MOST_ELEMENTS:
                raise FormatError(
                    f"{where}: more than {MOST_ELEMENTS} elements, with what is included and replicated; "
                    "that is not read"
                )
            if what := REJECTED.get(node.name):
                raise FormatError(f"{where}: <{node.name}>: {what} are not read")
            _check_numbers(node, where)
            if node.name != "include":
                continue
            name = node.attributes.get("file", "")
            target = _included(name, folder, file.parent, where)
            if target in (file, *above):
                raise FormatError(f"{where}: {target.name} includes itself")
            if len(above) >= DEEPEST:
                raise FormatError(f"{where}: includes are nested more than {DEEPEST} deep")
            waiting.append((target, (*above, file), often))


def _replicated(root: Node, times: float) -> Iterator[tuple[Node, float]]:
    """Yield all elements, and how often each is replicated."""
    waiting = [(root, times)]
    while waiting:
        node, often = waiting.pop()
        yield node, often
        if node.name == "replicate":
            # MuJoCo itself rejects values that are not numbers.
            with contextlib.suppress(ValueError):
                often *= max(float(node.attributes.get("count", "1")), 1.0)
        waiting += [(child, often) for child in node.children]


def _included(name: str, folder: Path, own_folder: Path, where: str) -> Path:
    for start in (own_folder, folder):
        target = (start / name).resolve()
        if not target.is_relative_to(folder):
            raise FormatError(
                f"{where}: the include '{name}' leaves the folder of the file; it is not read"
            )
        if target.is_file():
            return target
    raise FormatError(f"{where}: the included file '{name}' is not there")


def _check_numbers(node: Node, where: str) -> None:
    for name, text in node.attributes.items():
        if name in UNBOUNDED or name in ("name", "file"):
            continue
        for word in text.split():
            try:
                value = float(word)
            except ValueError:
                continue
            if not abs(value) <= LARGEST:
                raise FormatError(
                    f'{where}: <{node.name}> {name}="{text[:60]}" is out of range; '
                    f"finite numbers up to {LARGEST:g} are read"
                )


# the compiled model


def _turn(quat: Floats) -> Floats:
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quat / np.linalg.norm(quat)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


class _Reader:
    def __init__(self, parts: Parts, model: Compiled, keyframe: str | None) -> None:
        self.parts, self.model, self.report = parts, model, parts.report
        parts.gravity = model.gravity
        self.off = self.switched_off()
        if keyframe is not None:
            self.report.changed.append(f"its initial configuration is keyframe '{keyframe}'")
        elif model.others:
            self.report.drop(
                "keyframes (start at one with keyframe=NAME, --keyframe)", *model.others
            )
        # Velocity of the origin of each link, and its angular velocity, in world axes.
        self.twists = {GROUND: (np.zeros(3), np.zeros(3))}
        self.bodies = [GROUND, *self.body_names()]

    def switched_off(self) -> set[str]:
        """Return what an <option> <flag> disables that would be read: gravity, equality, spring, damper."""
        bits = self.model.enums["mjtDisableBit"]
        words = {
            word
            for word in ("gravity", "equality", "spring", "damper", "passive")
            if self.model.disableflags & bits.get(f"mjDSBL_{word.upper()}", 0)
        }
        if "passive" in words:
            words |= {"spring", "damper"}
        if "gravity" in words:
            self.parts.gravity = np.zeros(3)
        if words:
            self.report.changed.append(f"its flags switch off: {', '.join(sorted(words))}")
        return words

    def body_names(self) -> Iterator[str]:
        seen = {GROUND}
        for k in range(1, self.model.nbody):
            name = self.name("body", k)
            while name in seen:
                name += "_"
            seen.add(name)
            yield name

    def name(self, kind: str, number: int) -> str:
        return self.model.names[kind][number] or f"{kind} {number}"

    def read(self) -> Parts:
        self.reject_tendons()
        for k in range(1, self.model.nbody):
            self.add_body(k)
        for k in range(self.model.nsite):
            body, place = self.model.site_bodyid[k], np.array(self.model.site_pos[k])
            if body:
                self.parts.points.append((self.name("site", k), self.bodies[body], place))
        rows = plain_sum(self.add_equality(k) for k in range(self.model.neq))
        self.parts.believed = int(self.model.nv) - rows
        self.report_dropped()
        return self.parts

    # bodies and joints

    def add_body(self, k: int) -> None:
        m, name = self.model, self.bodies[k]
        inner = Placement(_turn(m.body_iquat[k]), np.array(m.body_ipos[k]))
        pose = Placement(_turn(m.xquat[k]), np.array(m.xpos[k]))
        mass = float(m.body_mass[k])
        inertia = inner.turn @ np.diag(m.body_inertia[k]) @ inner.turn.T
        lift = -mass * float(m.body_gravcomp[k]) * self.parts.gravity
        self.parts.links[name] = Link(name, pose, mass, inner.place, inertia, lift)
        parent = self.bodies[m.body_parentid[k]]
        # Placement in its parent with all joints at qpos0.
        stand = Placement(_turn(m.body_quat[k]), np.array(m.body_pos[k]))
        joints = range(m.body_jntadr[k], m.body_jntadr[k] + m.body_jntnum[k])
        if m.body_mocapid[k] >= 0:
            self.report.drop("motion of mocap bodies (they are fixed)", name)
        base = self.parts.pose(parent)
        now, spin = base @ stand, self.twists[parent][1]
        velocity = self.twists[parent][0] + np.cross(spin, now.place - base.place)
        if not joints:
            self.parts.connections.append(
                Connection(f"{name} fixed", WELD, parent, name, (stand, Placement()))
            )
        for number, j in enumerate(joints):
            last = number == len(joints) - 1
            child = name if last else f"{name} before {self.name('jnt', joints[number + 1])}"
            now, velocity, spin = self.step(j, now, velocity, spin)
            if not last:
                # Between two joints, the link is where the first joint has moved it.
                self.parts.links[child] = Link(child, now)
            self.add_joint(j, parent, child, stand)
            parent, stand = child, Placement()
        self.twists[name] = (velocity, spin)
        if joints and m.qvel.any():
            self.parts.velocities.append((name, velocity, spin))

    def step(
        self, j: int, base: Placement, velocity: Floats, spin: Floats
    ) -> tuple[Placement, Floats, Floats]:
        """Return frame, velocity of its origin and angular velocity after a joint; base: before it, at qpos0."""
        m, kinds = self.model, self.model.enums["mjtJoint"]
        kind, at, dof = int(m.jnt_type[j]), m.jnt_qposadr[j], m.jnt_dofadr[j]
        if kind == kinds["mjJNT_FREE"]:
            pose = Placement(_turn(m.qpos[at + 3 : at + 7]), np.array(m.qpos[at : at + 3]))
            return pose, np.array(m.qvel[dof : dof + 3]), pose.turn @ m.qvel[dof + 3 : dof + 6]
        axis = base.turn @ m.jnt_axis[j]
        if kind == kinds["mjJNT_SLIDE"]:
            way = axis * float(m.qpos[at] - m.qpos0[at])
            velocity = velocity + np.cross(spin, way) + axis * m.qvel[dof]
            return Placement(base.turn, base.place + way), velocity, spin
        anchor = base.point(m.jnt_pos[j])
        if kind == kinds["mjJNT_BALL"]:
            turn = base.turn @ _turn(m.qpos[at : at + 4])
            faster = spin + turn @ m.qvel[dof : dof + 3]
        else:
            turn = turn_about(axis, float(m.qpos[at] - m.qpos0[at])) @ base.turn
            faster = spin + axis * m.qvel[dof]
        there = anchor - turn @ m.jnt_pos[j]
        carried = velocity + np.cross(spin, anchor - base.place)
        return Placement(turn, there), carried + np.cross(faster, there - anchor), faster

    def add_joint(self, j: int, parent: str, child: str, stand: Placement) -> None:
        m, kinds = self.model, self.model.enums["mjtJoint"]
        name, kind = self.name("jnt", j), int(m.jnt_type[j])
        dof = m.jnt_dofadr[j]
        stiffness = 0.0 if "spring" in self.off else float(m.jnt_stiffness[j])
        damping = 0.0 if "damper" in self.off else float(m.dof_damping[dof])
        armature, at = float(m.dof_armature[dof]), m.jnt_qposadr[j]
        limited = bool(m.jnt_limited[j])
        if limited and kind not in (kinds["mjJNT_HINGE"], kinds["mjJNT_SLIDE"]):
            self.report.drop("limits of balls", name)
        if m.dof_frictionloss[dof]:
            self.report.drop("dry friction of joints", name)
        for what in ("jnt_stiffnesspoly", "dof_dampingpoly"):
            values = getattr(m, what, None)
            if values is not None and np.any(values[j if what[0] == "j" else dof]):
                self.report.drop("stiffness or damping that is not linear", name)
        if kind == kinds["mjJNT_FREE"]:
            if damping:
                self.report.drop("damping of free bodies", name)
            if armature:
                self.add_free_armature(child, armature)
            return
        line = frame_along(m.jnt_axis[j], m.jnt_pos[j])
        if kind == kinds["mjJNT_BALL"]:
            if stiffness:
                self.report.drop("stiffness of ball joints", name)
            line = Placement(np.eye(3), np.array(m.jnt_pos[j]))
            ends = (stand @ line, line)
            joint = Connection(
                name, SPHERICAL, parent, child, ends, damping=damping, armature=armature
            )
        else:
            rest = float(m.qpos_spring[at] - m.qpos[at]) if stiffness else 0.0
            joint = Connection(
                name,
                REVOLUTE if kind == kinds["mjJNT_HINGE"] else PRISMATIC,
                parent,
                child,
                (stand @ line, line),
                stiffness=stiffness,
                damping=damping,
                rest=rest,
                armature=armature,
            )
            if limited:
                low, high = (float(x - m.qpos[at]) for x in m.jnt_range[j])
                joint.stops = (low, high)
        self.parts.connections.append(joint)

    def add_free_armature(self, body: str, armature: float) -> None:
        """Add inertia to all six rates of a free body: a weightless mass at its frame, and a sphere's inertia."""
        name = f"armature of {body}"
        link = Link(name, self.parts.pose(body), armature, inertia=armature * np.eye(3))
        link.lift = -armature * self.model.gravity
        self.parts.links[name] = link
        self.parts.connections.append(
            Connection(name, WELD, body, name, (Placement(), Placement()))
        )
        # The body's name still refers to its own centre of mass.
        self.parts.points.append((body, body, self.parts.links[body].center))

    # equalities

    def end(self, k: int, number: int) -> tuple[str, Placement, bool]:
        """Return link and frame of an end, and whether it is a site."""
        m = self.model
        obj = int((m.eq_obj1id, m.eq_obj2id)[number][k])
        if int(m.eq_objtype[k]) == m.enums["mjtObj"]["mjOBJ_SITE"]:
            frame = Placement(_turn(m.site_quat[obj]), np.array(m.site_pos[obj]))
            return self.bodies[m.site_bodyid[obj]], frame, True
        return self.bodies[obj], Placement(), False

    def add_equality(self, k: int) -> int:
        """Add an equality; return the number of its equations."""
        m, kinds = self.model, self.model.enums["mjtEq"]
        kind, data = int(m.eq_type[k]), np.array(m.eq_data[k])
        name = m.names["eq"][k] or self.unnamed(k)
        if not m.eq_active0[k] or "equality" in self.off:
            self.report.drop("equalities that are not active", name)
            return 0
        if kind == kinds["mjEQ_JOINT"]:
            return self.add_coupling(k, name, data)
        if kind not in (kinds["mjEQ_CONNECT"], kinds["mjEQ_WELD"]):
            word = {v: n for n, v in kinds.items()}[kind].rsplit("_", 1)[-1].lower()
            raise self.parts.reject(f"equality '{name}' ({word}) has no equivalent here")
        (a, A, site), (b, B, _) = self.end(k, 0), self.end(k, 1)
        if kind == kinds["mjEQ_CONNECT"]:
            if not site:
                A, B = Placement(np.eye(3), data[:3]), Placement(np.eye(3), data[3:6])
            what = SPHERICAL
        else:
            # Without its torque, a weld constrains a point only.
            what = WELD if data[10] else SPHERICAL
            if not site:
                # The point is given in both bodies, the second one first; the second body rotates with the first.
                A, B = Placement(_turn(data[6:10]), data[3:6]), Placement(np.eye(3), data[:3])
        self.parts.connections.append(Connection(name, what, a, b, (A, B), closure=True))
        return EQUATIONS[what]

    def unnamed(self, k: int) -> str:
        ends = [self.end(k, n)[0] for n in range(2)] if self.model.eq_type[k] < 2 else []
        return "/".join(ends) or f"equality {k}"

    def add_coupling(self, k: int, name: str, data: Floats) -> int:
        m = self.model
        joint = self.name("jnt", m.eq_obj1id[k])
        other = self.name("jnt", m.eq_obj2id[k]) if m.eq_obj2id[k] >= 0 else ""
        coefficients = tuple(float(x) for x in (data[:5] if other else data[:1]))
        name = m.names["eq"][k] or f"{joint}/{other or 'fixed'}"
        self.parts.couplings.append(JointRelation(name, joint, other, coefficients))
        return 1

    # not supported

    def reject_tendons(self) -> None:
        m = self.model
        used = {int(m.eq_obj1id[k]) for k in range(m.neq) if self.is_tendon_equality(k)}
        for k in range(m.ntendon):
            name = self.name("tendon", k)
            acts = (
                np.any(m.tendon_stiffness[k])
                or np.any(m.tendon_damping[k])
                or m.tendon_frictionloss[k]
                or np.any(getattr(m, "tendon_armature", np.zeros(m.ntendon))[k])
                or k in used
            )
            if acts:
                raise self.parts.reject(
                    f"tendon '{name}' acts on the motion; tendons have no equivalent here"
                )
            self.report.drop("tendons (without stiffness, damping or friction)", name)
            if m.tendon_limited[k]:
                self.report.drop("limits of tendons", name)
        if m.nflex:
            raise self.parts.reject("it has deformable bodies (flex)")

    def is_tendon_equality(self, k: int) -> bool:
        tendon = self.model.enums["mjtEq"]["mjEQ_TENDON"]
        return int(self.model.eq_type[k]) == tendon and bool(self.model.eq_active0[k])

    def report_dropped(self) -> None:
        m = self.model
        self.report.drop("actuators", *(self.name("actuator", k) for k in range(m.nu)))
        touching = [
            m.names["geom"][k] or f"geom {k} of {self.bodies[m.geom_bodyid[k]]}"
            for k in range(m.ngeom)
            if m.geom_contype[k] or m.geom_conaffinity[k]
        ]
        self.report.drop("contacts of shapes", *touching)
        density, viscosity = m.medium
        if density or viscosity:
            self.report.drop("drag of the medium", f"density {density:g}, viscosity {viscosity:g}")
