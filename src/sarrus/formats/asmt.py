"""Read ASMT, the format of FreeCAD's assembly solver: tab-indented text; joints, motions, stored series.

A marker is located by its part, reference point and marker, each with its own frame; the mass marker has a
separate frame. The files state no units: numbers are read as metres, kilograms and seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..arrays import Floats, plain_sum
from ..mechanism import DriveMotion, ModelFileError
from ..mechanism.files.model_reader import read_text
from ..thresholds import MEANT_SQUARE
from .formulas import Formula, make_motion, parse
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    EQUATIONS,
    GROUND,
    LARGEST,
    ON_LINE,
    ON_PLANE,
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
    SpringPart,
    nearest_half_turn,
    turn_about,
)
from .report import Report

MOST_DEPTH = 40

KINDS = {
    "RevoluteJoint": REVOLUTE,
    "CylindricalJoint": CYLINDRICAL,
    "TranslationalJoint": PRISMATIC,
    "SphericalJoint": SPHERICAL,
    "AtPointJoint": SPHERICAL,
    "FixedJoint": WELD,
    "PlanarJoint": PLANAR,
    "PointInLineJoint": ON_LINE,
    "InLineJoint": ON_LINE,
    "PointInPlaneJoint": ON_PLANE,
    "InPlaneJoint": ON_PLANE,
    "UniversalJoint": UNIVERSAL,
    "SphSphJoint": DISTANCE,
}
# Elements that have no equivalent here, and why.
NO_EQUAL = {
    "RackPinionJoint": "it relates an angle to a length, which no polynomial equation expresses",
    "ScrewJoint": "it relates an angle to a length, which no polynomial equation expresses",
    "CurveCurveContact": "curves in contact are not supported",
    "AngleJoint": "an angle between two axes alone is not supported",
    "ParallelAxesJoint": "parallel axes alone are not supported",
    "PerpendicularJoint": "perpendicular axes alone are not supported",
    "ConstantVelocityJoint": "a constant-velocity joint is not supported",
    "CylSphJoint": "a distance between a point and an axis is not supported",
    "RevCylJoint": "a distance between two axes is not supported",
    "AllowRotation": "a fixed joint whose rotation is released is not supported: use the joint that is meant",
}
ALONG = {"RotationalMotion": "RotationZ", "TranslationalMotion": "TranslationZ"}


@dataclass(eq=False)
class Item:
    """A line and the lines nested one level below it."""

    name: str
    line: int
    items: list[Item] = field(default_factory=list)

    def find(self, name: str) -> Item | None:
        """Return the child item with this name."""
        return next((i for i in self.items if i.name == name), None)

    def text(self, name: str, default: str = "") -> str:
        """Return the text below a named item."""
        found = self.find(name)
        return " ".join(i.name for i in found.items) if found is not None else default


@dataclass(frozen=True, eq=False)
class StoredSeries:
    """The stored motion: times [s] and the columns of each part, joint or motion, by its path.

    X, Y, Z are the position of a part's frame, Bryantx, Bryanty, Bryantz its angles, and FXonI ... TZonI the
    forces and torques that a joint exerts on its first marker. The first column of the file, the input pose, is
    omitted.
    """

    times: Floats
    columns: dict[str, dict[str, Floats]]

    def turns(self, path: str) -> Floats:
        """Return the rotation of a part at each time: its angles about x, then the new y, then the new z."""
        c = self.columns[path]
        return np.array(
            [
                turn_about(np.eye(3)[0], x)
                @ turn_about(np.eye(3)[1], y)
                @ turn_about(np.eye(3)[2], z)
                for x, y, z in zip(c["Bryantx"], c["Bryanty"], c["Bryantz"], strict=True)
            ]
        )


def read_asmt(path: Path) -> tuple[Parts, StoredSeries | None]:
    """Read the parts of an ASMT file and its stored series, if there is one."""
    try:
        text = read_text(path)
    except ModelFileError as error:
        raise FormatError(str(error)) from error
    lines = text.splitlines()
    end = next((k for k, line in enumerate(lines) if line.startswith("TimeSeries")), len(lines))
    parts = Parts(path.stem, np.zeros(3), Report(path.name, "ASMT"))
    root = _tree(lines[:end], parts)
    assembly = root.find("Assembly")
    if assembly is None:
        raise parts.reject("there is no Assembly; an ASMT file has one on its second line")
    _Reader(parts, assembly).read()
    return parts, _series(lines[end + 1 :], parts)


def _tree(lines: list[str], parts: Parts) -> Item:
    """Build the tree of items from the indentation of the lines."""
    root = Item("", 0)
    open_ = [root]
    for number, line in enumerate(lines, 1):
        depth = len(line) - len(line.lstrip("\t"))
        if depth > MOST_DEPTH:
            raise parts.reject(f"line {number}: more than {MOST_DEPTH} levels")
        if not line.strip() and depth < len(open_) - 1:
            continue
        if depth > len(open_) - 1:
            raise parts.reject(
                f"line {number}: it stands {depth} levels deep below one of {len(open_) - 2}"
            )
        item = Item(line.strip(), number)
        open_[depth].items.append(item)
        open_[depth + 1 :] = [item]
    return root


class _Reader:
    def __init__(self, parts: Parts, assembly: Item) -> None:
        self.parts, self.report, self.assembly = parts, parts.report, assembly
        self.markers: dict[str, tuple[str, Placement]] = {}
        self.twice: set[str] = set()
        self.joints: dict[str, Connection] = {}
        self.gears: list[Item] = []
        self.name = assembly.text("Name")
        parts.name = self.name or parts.name
        self.begin, self.end = 0.0, 1.0

    def read(self) -> Parts:
        self.settings()
        base = self.pose(self.assembly)
        self.add_markers(self.assembly, GROUND, f"/{self.name}", base)
        for item in self.below("Parts"):
            self.add_part(item, base)
        for word in ("Assemblies", "KinematicIJs"):
            if found := self.below(word):
                raise self.parts.reject(f"line {found[0].line}: {word} are not read")
        sets = self.assembly.find("ConstraintSets") or Item("", 0)
        for group in sets.items:
            for item in group.items:
                self.constraint(group.name, item)
        for item in self.gears:
            self.gear(item)
        for item in self.below("ForceTorques"):
            self.force(item)
        self.count()
        return self.parts

    def below(self, name: str) -> list[Item]:
        found = self.assembly.find(name)
        return found.items if found is not None else []

    def numbers(self, item: Item, name: str, count: int) -> Floats:
        found = item.find(name)
        where = f"line {found.line if found else item.line}: {name} of {item.name}"
        if found is None:
            raise self.parts.reject(f"{where} is missing")
        try:
            values = np.array(
                [float(w.rstrip("dD")) for line in found.items for w in line.name.split()]
            )
        except ValueError:
            raise self.parts.reject(f"{where} are not numbers") from None
        if len(values) != count:
            raise self.parts.reject(f"{where}: {len(values)} numbers, {count} are needed")
        if not np.all(np.abs(values) <= LARGEST):
            raise self.parts.reject(
                f"{where} is out of range; finite numbers up to {LARGEST:g} are read"
            )
        return values

    def pose(self, item: Item) -> Placement:
        turn = self.numbers(item, "RotationMatrix", 9).reshape(3, 3)
        u, _, v = np.linalg.svd(turn)
        near = u @ v
        if np.abs(near - turn).max() > 1e-5 or np.linalg.det(near) < 0:
            raise self.parts.reject(
                f"line {item.line}: RotationMatrix of {item.name} is not a rotation"
            )
        # The printed matrix is rounded: use the nearest rotation, unless the matrix is already orthogonal.
        turn = turn if np.abs(turn.T @ turn - np.eye(3)).max() < 4e-16 else near
        return Placement(turn, self.numbers(item, "Position3D", 3))

    def settings(self) -> None:
        self.report.changed.append(
            "it states no units: its numbers are metres, kilograms and seconds"
        )
        if self.assembly.find("ConstantGravity") is not None:
            self.parts.gravity = self.numbers(self.assembly, "ConstantGravity", 3)
        found = self.assembly.find("SimulationParameters")
        if found is None:
            return
        self.begin, self.end = (float(self.numbers(found, n, 1)[0]) for n in ("tstart", "tend"))
        step = float(self.numbers(found, "hout", 1)[0])
        if self.end > self.begin:
            self.parts.defaults = {"duration": self.end - self.begin}
            if 0 < step < self.end - self.begin:
                self.parts.defaults["output_step"] = step

    # parts and markers

    def add_part(self, item: Item, base: Placement) -> None:
        name = item.text("Name")
        own = name or "part"
        while own in self.parts.links or own == GROUND:
            own += "_"
        if own != name:
            self.report.changed.append(f"part '{name}' on line {item.line} is called '{own}' here")
        link = Link(own, base @ self.pose(item))
        mass = item.find("PrincipalMassMarker")
        if mass is not None:
            frame = self.pose(mass)
            self.markers[f"/{self.name}/{name}/{mass.text('Name')}"] = (own, frame)
            link.mass = float(self.numbers(mass, "Mass", 1)[0])
            link.center = frame.place
            moments = np.diag(self.numbers(mass, "MomentOfInertias", 3))
            link.inertia = frame.turn @ moments @ frame.turn.T if link.mass else np.zeros((3, 3))
        self.parts.links[own] = link
        self.report.paths[f"/{self.name}/{name}"] = own
        self.parts.points.append((f"{own} origin", own, np.zeros(3)))
        self.add_markers(item, own, f"/{self.name}/{name}", Placement())
        velocity, spin = self.numbers(item, "Velocity3D", 3), self.numbers(item, "Omega3D", 3)
        if velocity.any() or spin.any():
            self.parts.velocities.append((own, base.turn @ velocity, base.turn @ spin))
        features = item.find("FeatureOrder")
        if features is not None and features.items:
            self.report.drop("shapes of parts", own)

    def add_markers(self, owner: Item, link: str, path: str, base: Placement) -> None:
        points = owner.find("RefPoints")
        for point in points.items if points is not None else ():
            frame = base @ self.pose(point)
            found = point.find("Markers")
            for marker in found.items if found is not None else ():
                key = f"{path}/{marker.text('Name')}"
                if key in self.markers:
                    self.twice.add(key)
                self.markers[key] = (link, frame @ self.pose(marker))
        for word in ("RefCurves", "RefSurfaces"):
            found = owner.find(word)
            if found is not None and found.items:
                self.report.drop(f"{word} of parts", f"{link} ({len(found.items)})")

    def marker(self, item: Item, name: str) -> tuple[str, Placement]:
        path = item.text(name)
        what = f"line {item.line}: {item.name} '{item.text('Name')}'"
        if path in self.twice:
            raise self.parts.reject(f"{what}: two markers are called '{path}'")
        if path not in self.markers:
            raise self.parts.reject(f"{what}: there is no marker '{path}'")
        return self.markers[path]

    # joints and motions

    def constraint(self, group: str, item: Item) -> None:
        what = f"{item.name} '{item.text('Name')}'"
        if group == "Limits" or item.name.endswith("Limit"):
            self.report.drop("limits", item.text("Name") or item.name)
        elif item.name in KINDS:
            self.joint(item, KINDS[item.name])
        elif item.name == "RevRevJoint":
            self.joint(item, PLANAR)
            self.joint(item, DISTANCE)
        elif item.name in ALONG:
            self.motion(item, what)
        elif item.name == "GeneralMotion":
            self.general(item, what)
        elif item.name == "GearJoint":
            self.gears.append(item)
        else:
            why = NO_EQUAL.get(item.name, "this kind is not known")
            raise self.parts.reject(f"line {item.line}: {what} has no equivalent here: {why}")

    def joint(self, item: Item, kind: str) -> None:
        (a, A), (b, B) = self.marker(item, "MarkerI"), self.marker(item, "MarkerJ")
        offset = item.find("offset")
        if kind in (PLANAR, ON_PLANE) and offset is not None:
            A = A @ Placement(
                np.eye(3), np.array([0.0, 0.0, float(self.numbers(item, "offset", 1)[0])])
            )
        if kind in (WELD, PRISMATIC):
            # The joint's equations also allow half turns; take the orientation of the file's configuration.
            stand = (self.parts.pose(a) @ A).turn.T @ (self.parts.pose(b) @ B).turn
            A = A @ Placement(nearest_half_turn(stand), np.zeros(3))
        length = 0.0
        if kind == DISTANCE:
            length = float(self.numbers(item, "distanceIJ", 1)[0])
        elif kind == UNIVERSAL:
            length = 0.5 * np.pi
        name = item.text("Name") or item.name
        joint = Connection(name, kind, a, b, (A, B), closure=True, length=length)
        self.parts.connections.append(joint)
        path = f"/{self.name}/{item.text('Name')}"
        # A joint of two rows lists its name twice, and has no drive.
        if path in self.joints and item.name != "RevRevJoint":
            self.twice.add(path)
        self.joints[path] = joint
        self.report.paths[f"/{self.name}/{item.text('Name')}"] = name

    def formula(self, item: Item, name: str, what: str) -> Formula:
        try:
            return parse(item.text(name, "0"))
        except FormatError as error:
            raise self.parts.reject(f"{what}: {error}") from error

    def moving(self, formula: Formula, what: str) -> DriveMotion:
        try:
            motion, note = make_motion(formula, self.begin, self.end)
        except FormatError as error:
            raise self.parts.reject(f"{what}: {error}") from error
        if note:
            self.report.changed.append(f"{what}: its formula is {note}")
        return motion

    def motion(self, item: Item, what: str) -> None:
        path = item.text("MotionJoint")
        if path in self.twice:
            raise self.parts.reject(f"line {item.line}: {what}: two joints are called '{path}'")
        joint = self.joints.get(path)
        if joint is None and item.find("MarkerI") is not None:
            ends = [self.marker(item, n) for n in ("MarkerI", "MarkerJ")]
            joint = next(
                (j for j in self.joints.values() if [f for _, f in ends] == list(j.frames)), None
            )
        if joint is None:
            raise self.parts.reject(f"line {item.line}: {what}: there is no joint '{path}'")
        kinds = (REVOLUTE,) if item.name == "RotationalMotion" else (PRISMATIC, CYLINDRICAL)
        if joint.kind not in kinds:
            raise self.parts.reject(
                f"line {item.line}: {what} drives a {joint.kind} joint; that coordinate has no drive here"
            )
        formula = self.formula(item, ALONG[item.name], what)
        joint.motion = self.moving(formula, what)
        joint.start = float(formula.at(time=self.begin))

    def general(self, item: Item, what: str) -> None:
        """Read a motion that prescribes all six coordinates, if at most one of them varies."""
        words = ("rIJI1", "rIJI2", "rIJI3", "angIJJ1", "angIJJ2", "angIJJ3")
        formulas = [self.formula(item, w, what) for w in words]
        moves = [k for k, f in enumerate(formulas) if f.names]
        values = np.array([float(f.at(time=self.begin)) for f in formulas])
        order = [
            int(x)
            for x in (
                self.numbers(item, "RotationOrder", 3) if item.find("RotationOrder") else (1, 2, 3)
            )
        ]
        (a, A), (b, B) = self.marker(item, "MarkerI"), self.marker(item, "MarkerJ")
        turn = np.eye(3)
        for axis, angle in zip(order, values[3:], strict=True):
            turn = turn @ turn_about(np.eye(3)[axis - 1], angle)
        if len(moves) > 1 or (moves and moves[0] > 2 and np.count_nonzero(values[3:]) > 1):
            raise self.parts.reject(
                f"line {item.line}: {what} prescribes {len(moves)} coordinates at once; one can be driven here"
            )
        name = item.text("Name") or item.name
        here = Placement(turn, values[:3])
        if not moves:
            frames = (A @ here, B)
            joint = Connection(name, WELD, a, b, frames, closure=True)
        else:
            k = moves[0]
            # The axis of motion is z of the joint's frame.
            axis = k if k < 3 else order[k - 3] - 1
            cycle = np.roll(np.eye(3), axis + 1, axis=0)
            at = values[:3] * (np.arange(3) != k)
            if k < 3:
                frames = (A @ Placement(cycle, at), B @ Placement(turn.T @ cycle, np.zeros(3)))
            else:
                frames = (A @ Placement(cycle, at), B @ Placement(cycle, np.zeros(3)))
            kind = PRISMATIC if k < 3 else REVOLUTE
            joint = Connection(name, kind, a, b, frames, closure=True)
            joint.motion = self.moving(formulas[k], what)
            joint.start = float(values[k])
        self.parts.connections.append(joint)
        self.joints[f"/{self.name}/{name}"] = joint

    def gear(self, item: Item) -> None:
        """Read two wheels that roll on each other as a coupling of their hinges in the part that carries both.

        The solver keeps rI thI + rJ thJ constant at its value in the file's configuration. The angles are those of
        the line of centres seen from the wheels, about their z axes; seen from the carrier, the wheels turn
        opposite to it.
        """
        what = f"line {item.line}: {item.name} '{item.text('Name')}'"
        radii = [float(self.numbers(item, f"radius{c}", 1)[0]) for c in "IJ"]
        if not all(radii):
            raise self.parts.reject(f"{what}: a radius is zero")
        ends = [self.marker(item, f"Marker{c}") for c in "IJ"]
        places = [(self.parts.pose(link) @ frame).place for link, frame in ends]
        far = max(float(np.linalg.norm(places[1] - places[0])), 1e-300)
        groups = self.welded()
        wheels = [groups[link] for link, _ in ends]
        for first in self.hinges_at(*ends[0], groups, far):
            for second in self.hinges_at(*ends[1], groups, far):
                if first[1] != second[1] or first[1] in wheels or first[0] is second[0]:
                    continue
                (a, _, way), (b, _, other_way) = first, second
                # Both wheels turn in opposite directions about their own z, in inverse proportion to their radii.
                ratio = -radii[0] / radii[1] * way * other_way
                name = item.text("Name") or item.name
                tie = JointRelation(name, b.name, a.name, (0.0, ratio), authored=True)
                self.parts.couplings.append(tie)
                return
        raise self.parts.reject(
            f"{what}: its two wheels do not turn, about their markers' z, in hinges of one part that carries "
            "both; no other gear is read"
        )

    def welded(self) -> dict[str, str]:
        """Map each link to a name shared by all links that are welded together."""
        group = {name: name for name in (GROUND, *self.parts.links)}
        for c in self.parts.connections:
            if c.kind == WELD:
                old, new = group[c.second], group[c.first]
                group = {n: new if g == old else g for n, g in group.items()}
        return group

    def hinges_at(
        self, link: str, frame: Placement, groups: dict[str, str], far: float
    ) -> Iterator[tuple[Connection, str, float]]:
        """Yield the hinges of a link about a marker's z axis: the joint, the group at its other end, and its sign.

        `far` is the distance between the centres [m].
        """
        here = self.parts.pose(link) @ frame
        for c in self.parts.connections:
            sides = [groups[c.first], groups[c.second]]
            if c.kind != REVOLUTE or groups[link] not in sides:
                continue
            end = sides.index(groups[link])
            there = self.parts.pose((c.first, c.second)[end]) @ c.frames[end]
            off = np.cross(there.axis, here.place - there.place)
            askew = float(np.linalg.norm(np.cross(here.axis, there.axis)))
            if max(askew, float(np.linalg.norm(off)) / far) > MEANT_SQUARE:
                continue
            # The joint angle is that of the second link relative to the first, about the axis.
            way = 1.0 if here.axis @ there.axis > 0 else -1.0
            yield c, sides[1 - end], way if end == 1 else -way

    def force(self, item: Item) -> None:
        """Read a spring-damper whose force is linear in length and rate."""
        what = f"line {item.line}: {item.name} '{item.text('Name')}'"
        if item.name != "InLineForceTorque":
            raise self.parts.reject(f"{what} has no equivalent here")
        try:
            pull = parse(item.text("tension", "0"), {"speed": "vrIJ(self)", "far": "rIJ(self)"})
            twist = parse(item.text("twist", "0"))
        except FormatError as error:
            raise self.parts.reject(f"{what}: {error}") from error
        tries = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 3.0], [2.0, 5.0]])
        f = [float(pull.at(far=x, speed=v, time=0.7)) for x, v in tries]
        k, c = f[1] - f[0], f[2] - f[0]
        linear = np.allclose(f, f[0] + tries @ np.array([k, c]), rtol=1e-9, atol=1e-12)
        if not linear or "time" in pull.names or twist.names or float(twist.at()):
            raise self.parts.reject(f"{what}: its pull {pull.text} is not a spring and damper")
        (a, A), (b, B) = self.marker(item, "MarkerI"), self.marker(item, "MarkerJ")
        free, preload = (-f[0] / k, 0.0) if k else (0.0, f[0])
        name = item.text("Name") or item.name
        self.parts.springs.append(SpringPart(name, a, b, (A.place, B.place), k, c, free, preload))

    def count(self) -> None:
        """Count the file's degrees of freedom; keep initial velocities only if the drives leave some free."""
        joints = self.parts.connections
        self.parts.believed = 6 * len(self.parts.links) - plain_sum(
            EQUATIONS[c.kind] + (c.motion is not None) for c in joints
        )
        self.parts.believed -= len(self.parts.couplings)
        if any(c.motion is not None for c in joints) and self.parts.believed <= 0:
            self.parts.velocities = []


# stored series


def _series(lines: list[str], parts: Parts) -> StoredSeries | None:
    times: list[float] = []
    columns: dict[str, dict[str, Floats]] = {}
    here: dict[str, Floats] | None = None
    for words in _rows(lines):
        try:
            if words[0].endswith("Series"):
                path = " ".join(words[1:])
                here = columns.setdefault(path, {})
            elif words[0] == "Time":
                times = [float(w) for w in words[2:]]
            elif words[0] != "Number" and here is not None:
                here[words[0]] = np.array([float(w) for w in words[2:]])
        except (ValueError, IndexError):
            raise parts.reject(
                f"its time series has a row '{words[0][:30]}' that is not numeric"
            ) from None
    if not times:
        return None
    full = len(times)
    short = [p for p, c in columns.items() if any(len(v) != full for v in c.values())]
    if short:
        parts.report.drop("series that are shorter than their times", *short)
    kept = {p: c for p, c in columns.items() if p not in short}
    return StoredSeries(np.array(times), kept)


def _rows(lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        words = line.split()
        if words:
            yield words
