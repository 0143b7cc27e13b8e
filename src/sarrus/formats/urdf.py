"""Read URDF with loop closures: robot.yaml (closed_loop), <loop_joint>, <loop> or <constraint>, mimic joints.

URDF is simple enough for the safe XML reader used here, so no other package is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import ModelFileError
from ..mechanism.files.model_reader import load_document
from .parts import (
    EQUATIONS,
    GROUND,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    WELD,
    Connection,
    FormatError,
    JointRelation,
    Link,
    Parts,
    Placement,
    frame_along,
)
from .report import Report
from .xml import Node, load, numbers, origin, place

KINDS = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": WELD,
    "floating": "floating",
    "planar": PLANAR,
    "spherical": SPHERICAL,
    "ball": SPHERICAL,
}
CLOSURES = {
    "3d": SPHERICAL,
    "6d": WELD,
    "spherical": SPHERICAL,
    "ball": SPHERICAL,
    "position": SPHERICAL,
    "point": SPHERICAL,
    "fixed": WELD,
    "weld": WELD,
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "hinge": REVOLUTE,
    "prismatic": PRISMATIC,
}
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
# Joint elements that are read, or that contain limits, which are reported.
KNOWN = ("parent", "child", "origin", "axis", "limit", "dynamics", "joint_properties", "mimic")
# Robot elements that do not affect the motion.
ASIDE = ("material", "visual", "collision", "sensor", "fixed_frame")


def read_urdf(path: Path, *, closures: str | Path | None = None, floating: bool = False) -> Parts:
    """Read the parts of a URDF file.

    `closures` is its YAML file; by default the one next to the URDF is used. With `floating`, the root link is
    free.
    """
    document = load(path)
    parts = Parts(path.stem, np.array([0.0, 0.0, -9.81]), Report(document.name, "URDF"))
    if b"<xacro:" in path.read_bytes():
        raise parts.reject("it holds xacro's macros, which are not expanded here; run xacro first")
    parts.report.changed += document.notes
    return _Reader(parts, document.root).read(_closure_data(path, closures), floating)


def _closure_data(path: Path, given: str | Path | None) -> dict[str, Any]:
    """Return the content of the closure file; empty if there is no such file."""
    names = [Path(given)] if given else [path.with_suffix(".yaml"), path.parent / "robot.yaml"]
    for name in names:
        if not given and not name.is_file():
            continue
        try:
            data = load_document(name).data
        except ModelFileError as error:
            raise FormatError(str(error)) from error
        if isinstance(data, dict) and "closed_loop" in data:
            return {**data, "file": name.name}
        if given:
            raise FormatError(f"{name.name}: there is no key closed_loop; it lists pairs of frames")
    return {}


class _Reader:
    def __init__(self, parts: Parts, root: Node) -> None:
        self.parts, self.report, self.source = parts, parts.report, parts.report.source
        if root.name != "robot":
            raise parts.reject(f"its root is <{root.name}>; a URDF begins with <robot>")
        parts.name = root.attributes.get("name") or parts.name
        self.root = root
        self.joints: dict[str, Node] = {}
        self.parent: dict[str, Node] = {}
        self.believed = 0

    def read(self, data: dict[str, Any], floating: bool) -> Parts:
        for node in self.root.children:
            if node.name == "link":
                self.add_link(node)
        for node in self.root.children:
            if node.name == "joint":
                self.add_joint(node)
        base = self.place_links(floating)
        changed = self.overrides(data)
        for name, node in self.joints.items():
            self.connect(name, node, changed.get(name, ""))
        if floating:
            self.believed += 6
        else:
            weld = Connection("base", WELD, GROUND, base, (Placement(), Placement()))
            self.parts.connections.append(weld)
            self.report.changed.append(
                f"its root link '{base}' is fixed to the ground, because a URDF does not state it (with "
                "floating it is free)"
            )
        for node in self.root.children:
            self.other(node)
        self.closed_loops(data)
        self.parts.believed = self.believed
        return self.parts

    def text(self, node: Node, name: str) -> str:
        value = node.attributes.get(name, "").strip()
        if not value:
            raise self.parts.reject(f"line {node.line}: <{node.name}> has no {name}")
        return value

    def child(self, node: Node, name: str) -> Node | None:
        return next((c for c in node.children if c.name == name), None)

    # links

    def add_link(self, node: Node) -> None:
        name = self.text(node, "name")
        if name in self.parts.links or name == GROUND:
            raise self.parts.reject(f"line {node.line}: two links are called '{name}'")
        link = Link(name, Placement())
        inertial = self.child(node, "inertial")
        if inertial is not None:
            frame = origin(inertial, self.source)
            mass = self.child(inertial, "mass")
            link.mass = (
                0.0 if mass is None else float(numbers(mass, "value", None, 1, self.source)[0])
            )
            link.center = frame.place
            link.inertia = frame.turn @ self.inertia(inertial) @ frame.turn.T
        self.parts.links[name] = link
        for kind in ("visual", "collision"):
            if self.child(node, kind) is not None:
                self.report.drop(f"{kind} shapes of links", name)

    def inertia(self, node: Node) -> Floats:
        found = self.child(node, "inertia")
        if found is None:
            return np.zeros((3, 3))
        xx, xy, xz, yy, yz, zz = (
            float(numbers(found, f"i{k}", "0", 1, self.source)[0])
            for k in ("xx", "xy", "xz", "yy", "yz", "zz")
        )
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    # joints

    def add_joint(self, node: Node) -> None:
        name = self.text(node, "name")
        if name in self.joints:
            raise self.parts.reject(f"line {node.line}: two joints are called '{name}'")
        ends = [self.child(node, end) for end in ("parent", "child")]
        for word, end in zip(("parent", "child"), ends, strict=True):
            if end is None:
                raise self.parts.reject(f"joint '{name}' has no <{word}>")
            if self.text(end, "link") not in self.parts.links:
                raise self.parts.reject(
                    f"joint '{name}': there is no link '{self.text(end, 'link')}'"
                )
        assert ends[1] is not None
        child = self.text(ends[1], "link")
        if child in self.parent:
            raise self.parts.reject(
                f"link '{child}' is the child of joints '{self.text(self.parent[child], 'name')}' and '{name}'; a "
                "URDF is a tree: write the second as <loop_joint> or into closed_loop"
            )
        self.joints[name] = self.parent[child] = node

    def ends(self, node: Node) -> tuple[str, str]:
        first, second = (self.child(node, end) for end in ("parent", "child"))
        assert first is not None
        assert second is not None
        return self.text(first, "link"), self.text(second, "link")

    def place_links(self, floating: bool) -> str:
        """Compute the pose of every link with all joints at zero; return the name of the root link."""
        if not self.parts.links:
            raise self.parts.reject("there is no <link> in it")
        roots = [name for name in self.parts.links if name not in self.parent]
        if not roots:
            raise self.parts.reject(
                "its joints run in a circle: every link is the child of another"
            )
        if len(roots) > 1:
            raise self.parts.reject(
                f"links {', '.join(repr(r) for r in roots[:8])} have no parent; a URDF has one root"
            )
        children: dict[str, list[tuple[Node, str]]] = {}
        for node in self.joints.values():
            first, second = self.ends(node)
            children.setdefault(first, []).append((node, second))
        seen, waiting = {roots[0]}, [roots[0]]
        while waiting:
            name = waiting.pop()
            for node, child in children.get(name, ()):
                pose = self.parts.links[name].pose @ origin(node, self.source)
                self.parts.links[child].pose = pose
                seen.add(child)
                waiting.append(child)
        lost = [name for name in self.parts.links if name not in seen]
        if lost:
            raise self.parts.reject(
                f"its joints run in a circle: {', '.join(repr(n) for n in lost[:8])} are not reached from the root"
            )
        return roots[0]

    def overrides(self, data: dict[str, Any]) -> dict[str, str]:
        """Return the joints whose type the closure file overrides: SPHERICAL, UJOINT_XY, FIXED."""
        names, kinds = self.words(data, "joint_name"), self.words(data, "joint_type")
        if len(names) != len(kinds):
            raise self.parts.reject(
                f"{data['file']}: {len(names)} joint_name and {len(kinds)} joint_type; they belong together"
            )
        out = {}
        for name, kind in zip(names, kinds, strict=True):
            if name not in self.joints:
                self.report.drop(
                    f"joint types in {data['file']} for joints that are not there", name
                )
                continue
            word = str(kind)
            known = word in ("SPHERICAL", "FIXED") or (
                word.startswith("UJOINT_") and len(word) == 9 and set(word[-2:]) <= set("XYZ")
            )
            if not known:
                raise self.parts.reject(
                    f"{data['file']}: joint_type '{word}' of '{name}' is not read"
                )
            out[name] = word
        return out

    def words(self, data: dict[str, Any], key: str) -> list[str]:
        """Return the list of words under a key of the closure file."""
        found = data.get(key) or []
        if not isinstance(found, list):
            raise self.parts.reject(f"{data['file']}: {key} is not a list")
        return [str(word) for word in found]

    def connect(self, name: str, node: Node, override: str) -> None:
        word = self.text(node, "type").lower()
        if word not in KINDS:
            raise self.parts.reject(f"joint '{name}': its type '{word}' is not read")
        kind = KINDS[word]
        first, second = self.ends(node)
        frame = origin(node, self.source)
        if override:
            self.report.changed.append(f"joint '{name}' is {override}, as its closure file says")
            kind = {"SPHERICAL": SPHERICAL, "FIXED": WELD}.get(override, UNIVERSAL)
        self.believed += 6 - EQUATIONS.get(kind, 0)
        stops = self.limits(name, node, kind)
        if kind == "floating":
            return
        if kind == UNIVERSAL:
            a, b = (frame_along(np.array(AXES[c]), np.zeros(3)) for c in override[-2:])
            spread = float(np.arccos(a.axis @ b.axis))
            cross = Connection(name, kind, first, second, (frame @ a, b), length=spread)
            self.parts.connections.append(cross)
            return
        self.report_dropped(name, node, kind)
        if kind in (WELD, SPHERICAL):
            self.parts.connections.append(
                Connection(name, kind, first, second, (frame, Placement()))
            )
            if kind == WELD and second not in (self.ends(j)[0] for j in self.joints.values()):
                self.parts.points.append((second, second, np.zeros(3)))
            return
        line = self.axis(node, f"joint '{name}'")
        joint = Connection(name, kind, first, second, (frame @ line, line))
        joint.stops = stops
        self.load(joint, node)
        self.parts.connections.append(joint)
        self.mimic(joint, node)

    def report_dropped(self, name: str, node: Node, kind: str) -> None:
        """Report the properties of a joint that are ignored."""
        for child in node.children:
            if child.name not in KNOWN or (child.name == "mimic" and kind in (WELD, SPHERICAL)):
                self.report.drop(f"<{child.name}> of joints of this kind", name)
            if child.name in ("dynamics", "joint_properties"):
                more = child.attributes.keys() - {"damping", "friction"}
                for word in sorted(more if kind not in (WELD, SPHERICAL) else child.attributes):
                    self.report.drop(f"{word} in <{child.name}>", name)

    def axis(self, node: Node, what: str) -> Placement:
        found = self.child(node, "axis")
        axis = np.array([1.0, 0.0, 0.0])
        if found is not None:
            axis = numbers(found, "xyz", "1 0 0", 3, self.source)
        if not np.linalg.norm(axis) > 0:
            raise self.parts.reject(f"{what}: its axis has length zero")
        return frame_along(axis, np.zeros(3))

    def load(self, joint: Connection, node: Node) -> None:
        for word in ("dynamics", "joint_properties"):
            found = self.child(node, word)
            if found is None:
                continue
            damping = float(numbers(found, "damping", "0", 1, self.source)[0])
            if joint.kind == PLANAR and damping:
                self.report.drop("damping of planar joints", joint.name)
            else:
                joint.damping += damping
            if numbers(found, "friction", "0", 1, self.source)[0]:
                self.report.drop("dry friction of joints", joint.name)

    def limits(self, name: str, node: Node, kind: str) -> tuple[float | None, float | None]:
        """Return the stops of a hinge or slider; report the others."""
        found = self.child(node, "limit")
        stops: tuple[float | None, float | None] = (None, None)
        given = set() if found is None else {"lower", "upper"} & found.attributes.keys()
        continuous = self.text(node, "type").lower() == "continuous"
        if found is not None and given and kind in (REVOLUTE, PRISMATIC) and not continuous:
            # a bound that is not given is 0
            low, high = (
                float(numbers(found, word, "0", 1, self.source)[0]) for word in ("lower", "upper")
            )
            if low < high:
                stops = (low, high)
        if given and stops == (None, None):
            self.report.drop("limits of joints", name)
        if found is not None and {"effort", "velocity"} & found.attributes.keys():
            self.report.drop("limits of effort and velocity", name)
        return stops

    def mimic(self, joint: Connection, node: Node) -> None:
        found = self.child(node, "mimic")
        if found is None:
            return
        other = self.text(found, "joint")
        if other not in self.joints:
            raise self.parts.reject(f"joint '{joint.name}' mimics '{other}', which is not a joint")
        ratio = float(numbers(found, "multiplier", "1", 1, self.source)[0])
        offset = float(numbers(found, "offset", "0", 1, self.source)[0])
        self.believed -= 1
        name = f"mimic of {joint.name}"
        self.parts.couplings.append(JointRelation(name, joint.name, other, (offset, ratio)))

    # closures

    def frame(self, name: str, what: str) -> tuple[str, Placement]:
        """Return the link and placement of a frame; the frame of a joint lies on its child link."""
        if name in self.joints:
            return self.ends(self.joints[name])[1], Placement()
        if name in self.parts.links:
            return name, Placement()
        raise self.parts.reject(f"{what}: there is no joint or link '{name}'")

    def close(
        self, name: str, word: str, ends: list[tuple[str, Placement]], axis: Placement
    ) -> None:
        kind = CLOSURES.get(word.lower())
        if kind is None:
            raise self.parts.reject(
                f"closure '{name}': its type '{word}' is not read; known: {', '.join(CLOSURES)}"
            )
        (a, A), (b, B) = ends
        frames = (A @ axis, B @ axis) if kind in (REVOLUTE, PRISMATIC) else (A, B)
        self.believed -= EQUATIONS[kind]
        self.parts.connections.append(Connection(name, kind, a, b, frames, closure=True))

    def closed_loops(self, data: dict[str, Any]) -> None:
        pairs, words = data.get("closed_loop") or [], self.words(data, "type")
        file = data.get("file", "")
        if not isinstance(pairs, list):
            raise self.parts.reject(f"{file}: closed_loop is not a list")
        if len(words) < len(pairs):
            self.report.changed.append(
                f"{file}: {len(pairs) - len(words)} closures without a type are treated as welds (6d)"
            )
        for k, pair in enumerate(pairs):
            if not (isinstance(pair, list) and len(pair) == 2):
                raise self.parts.reject(f"{file}: closed_loop[{k}] is not a pair of frames")
            a, b = map(str, pair)
            what = f"{file}: closed_loop[{k}]"
            word = words[k] if k < len(words) else "6d"
            self.close(f"{a}/{b}", word, [self.frame(a, what), self.frame(b, what)], Placement())
        if not any(c.closure for c in self.parts.connections):
            self.report.changed.append("it states no closure: a tree")
        if data.get("name_mot"):
            self.report.drop("motors (no torque is known)", *self.words(data, "name_mot"))

    def other(self, node: Node) -> None:
        """Read closures in the supported dialects; report all other elements of the file."""
        name = node.attributes.get("name", f"line {node.line}")
        if node.name == "loop_joint":
            ends = [c for c in node.children if c.name in ("link1", "link2")]
            if len(ends) != 2:
                raise self.parts.reject(f"loop_joint '{name}' needs link1 and link2")
            frames = [(self.known(e, "link", name), place(e, self.source)) for e in ends]
            self.close(name, self.text(node, "type"), frames, self.axis(node, name))
        elif node.name in ("constraint", "loop"):
            frames = []
            for word in ("predecessor", "successor"):
                end = self.child(node, word)
                if end is None:
                    raise self.parts.reject(f"{node.name} '{name}' has no <{word}>")
                end_frame = self.child(node, f"{word}_origin")
                frame = place(end_frame, self.source) if end_frame else origin(end, self.source)
                frames.append((self.known(end, "link", name), frame))
            word = node.attributes.get("type", "position")
            self.close(name, word, frames, self.axis(node, name))
        elif node.name == "coupling":
            raise self.parts.reject(
                f"coupling '{name}' couples links, not joints; write it as <mimic> of a joint, or leave it out"
            )
        elif node.name not in ("link", "joint", *ASIDE):
            self.report.drop(f"<{node.name}>", name)

    def known(self, node: Node, word: str, what: str) -> str:
        link = self.text(node, word)
        if link not in self.parts.links:
            raise self.parts.reject(f"closure '{what}': there is no link '{link}'")
        return link
