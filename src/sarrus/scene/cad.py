"""Export of a linkage: DXF and SVG of its links, joints and paths of points, glTF with its motion.

Drawings are in millimetres, at full scale; y points up in DXF and down in SVG, where it is mirrored. The DXF
format is that of AutoCAD R12, plain lines that every program reads, on the layers LINKS, JOINTS, CURVES and NAMES.
glTF files contain one node per body, with its bars and plates as lines and triangles, moved by an animation.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..arrays import Floats
from ..disk import write_file
from ..kinematics.configuration import rows_in_space
from ..names import shown
from .sketch import Sketch

if TYPE_CHECKING:
    from .scene import Scene

MILLIMETRES = 1000.0
# radius of a joint's circle, and height of letters, relative to a typical link
CIRCLE, LETTERS, MARGIN = 0.03, 0.08, 0.15
# glTF constants: types of numbers and primitives, kinds of buffers
FLOAT, UNSIGNED, LINES, TRIANGLES = 5126, 5125, 1, 4


@dataclass(frozen=True)
class Drawing:
    """Lines of a drawing [mm]: links and curves as polylines, joints as circles, names at positions."""

    links: list[Floats] = field(default_factory=list)
    curves: dict[str, Floats] = field(default_factory=dict)
    joints: list[Floats] = field(default_factory=list)
    names: list[tuple[str, Floats]] = field(default_factory=list)
    size: float = 1.0


def make_drawing(sketch: Sketch, places: Floats, curves: Mapping[str, Floats]) -> Drawing:
    """The drawing of a planar sketch whose points are at these positions [m]; curves: paths of points by name."""
    if sketch.dimension != 2:
        raise ValueError(
            f"'{sketch.name}' is a mechanism in space; drawings are of planar ones: write .gltf instead"
        )
    p = MILLIMETRES * places
    out = Drawing(size=MILLIMETRES * sketch.size)
    for shape in sketch.shapes:
        faces = shape.faces or ((shape.points,) if len(shape.points) > 1 else ())
        for face in faces:
            closed = [*face, face[0]] if len(face) > 2 else list(face)
            out.links.append(p[closed])
    for sign in sketch.signs:
        out.links.extend(p[list(line)] for line in sign.lines)
        if sign.kind == "spring":
            out.links.append(p[list(sign.points)])
            continue
        out.joints.append(p[sign.point])
        out.names.append((sign.name, p[sign.point]))
    out.curves.update({name: MILLIMETRES * curve for name, curve in curves.items()})
    return out


def save_drawing(path: str | Path, drawing: Drawing) -> Path:
    """Write a drawing in the format of the file extension: .dxf or .svg."""
    writers = {".dxf": to_dxf, ".svg": to_svg}
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise ValueError(f"{Path(path).name}: a drawing is written as .dxf or .svg")
    return write_file(path, writers[ending](drawing))


def to_svg(drawing: Drawing) -> str:
    """The text of an SVG file at full scale."""
    every = np.concatenate(
        [*drawing.links, *drawing.curves.values(), np.reshape(drawing.joints, (-1, 2))]
    )
    low, high = every.min(axis=0), every.max(axis=0)
    edge = MARGIN * drawing.size
    wide, tall = high - low + 2 * edge
    line = 0.01 * drawing.size
    corner = (low[0] - edge, -high[1] - edge)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.6g}mm" height="{tall:.6g}mm" '
        f'viewBox="{corner[0]:.6g} {corner[1]:.6g} {wide:.6g} {tall:.6g}">',
        f'<g fill="none" stroke-width="{line:.4g}" stroke-linejoin="round">',
    ]
    layers = [("links", "black", drawing.links), ("curves", "red", list(drawing.curves.values()))]
    for name, color, lines in layers:
        parts.append(f'<g id="{name}" stroke="{color}">')
        parts += [f'<polyline points="{_svg_points(points)}"/>' for points in lines]
        parts.append("</g>")
    parts.append('<g id="joints" stroke="black">')
    radius = CIRCLE * drawing.size
    parts += [f'<circle cx="{x:.6g}" cy="{-y:.6g}" r="{radius:.4g}"/>' for x, y in drawing.joints]
    letters = LETTERS * drawing.size
    parts.append(f'</g></g><g id="names" font-family="sans-serif" font-size="{letters:.4g}">')
    for name, (x, y) in drawing.names:
        parts.append(
            f'<text x="{x + radius:.6g}" y="{-y - radius:.6g}">{escape(shown(name))}</text>'
        )
    return "\n".join([*parts, "</g></svg>", ""])


def _svg_points(points: Floats) -> str:
    return " ".join(f"{x:.9g},{-y:.9g}" for x, y in points)


def to_dxf(drawing: Drawing) -> str:
    """The text of a DXF file (AutoCAD R12)."""
    pairs: list[tuple[int, Any]] = [(0, "SECTION"), (2, "HEADER"), (9, "$INSUNITS"), (70, 4)]
    pairs += [(0, "ENDSEC"), (0, "SECTION"), (2, "ENTITIES")]
    for layer, lines in (("LINKS", drawing.links), ("CURVES", list(drawing.curves.values()))):
        for points in lines:
            pairs += [
                (0, "POLYLINE"),
                (8, layer),
                (66, 1),
                (10, 0.0),
                (20, 0.0),
                (30, 0.0),
                (70, 0),
            ]
            for x, y in points.tolist():
                pairs += [(0, "VERTEX"), (8, layer), (10, x), (20, y), (30, 0.0)]
            pairs.append((0, "SEQEND"))
    for x, y in np.reshape(drawing.joints, (-1, 2)).tolist():
        circle = [(10, x), (20, y), (30, 0.0), (40, CIRCLE * drawing.size)]
        pairs += [(0, "CIRCLE"), (8, "JOINTS"), *circle]
    for name, at in drawing.names:
        x, y = at.tolist()
        text = shown(name).encode("ascii", "replace").decode()
        pairs += [(0, "TEXT"), (8, "NAMES"), (10, x), (20, y), (30, 0.0)]
        pairs += [(40, LETTERS * drawing.size), (1, text)]
    pairs += [(0, "ENDSEC"), (0, "EOF")]
    return "".join(f"{code}\n{_dxf(value)}\n" for code, value in pairs)


def _dxf(value: Any) -> str:
    return f"{value:.9f}" if isinstance(value, float) else str(value)


def save_gltf(path: Path, scene: Scene, centers: Floats, turns: Floats) -> Path:
    """Write a scene in motion: .gltf, text with embedded data, or .glb, the same in binary."""
    ending = path.suffix.lower()
    if ending not in (".gltf", ".glb"):
        raise ValueError(f"'{path}' is neither .gltf nor .glb; give one of these endings")
    if ending == ".glb":
        return write_file(path, to_glb(scene, centers, turns))
    return write_file(path, to_gltf(scene, centers, turns))


def to_gltf(scene: Scene, centers: Floats, turns: Floats) -> str:
    """The text of a glTF file: bodies as nodes that an animation moves; arguments as of `_document`."""
    document, data = _document(scene, centers, turns)
    text = base64.b64encode(data).decode()
    document["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{text}"
    return json.dumps(document)


def to_glb(scene: Scene, centers: Floats, turns: Floats) -> bytes:
    """The same as binary glTF: a header, the document, then the data."""
    document, data = _document(scene, centers, turns)
    text = json.dumps(document).encode()
    # chunks are padded to multiples of four bytes: text with blanks, data with zeros
    chunks = (
        (b"JSON", text + b" " * (-len(text) % 4)),
        (b"BIN\0", data + b"\0" * (-len(data) % 4)),
    )
    body = b"".join(len(c).to_bytes(4, "little") + word + c for word, c in chunks)
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(body)).to_bytes(4, "little") + body


def _document(scene: Scene, centers: Floats, turns: Floats) -> tuple[dict[str, Any], bytes]:
    """A glTF document and the data it refers to.

    centers [m], (n, bodies, 3), and rotation matrices turns, (n, bodies, 3, 3), of all bodies at the outputs of
    the scene.
    """
    sketch, pack = scene.sketch, _Pack()
    start = rows_in_space(np.array(sketch.places).reshape(-1, sketch.dimension))
    times = pack.add(scene.times.astype("<f4"), "SCALAR", FLOAT, bounds=True)
    nodes: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    samplers: list[dict[str, Any]] = []
    for i, shape in enumerate(sketch.shapes):
        node: dict[str, Any] = {"name": shown(shape.name), "translation": centers[0, i].tolist()}
        mesh = _mesh(pack, start[list(shape.points)] - centers[0, i], shape.faces, shape.points)
        if mesh is not None:
            node["mesh"] = len(pack.meshes)
            pack.meshes.append({"name": shown(shape.name), "primitives": [mesh]})
        nodes.append(node)
        motions = (
            ("translation", centers[:, i], "VEC3"),
            ("rotation", _quaternions(turns[:, i]), "VEC4"),
        )
        for path, values, kind in motions:
            channels.append({"sampler": len(samplers), "target": {"node": i, "path": path}})
            output = pack.add(values.astype("<f4"), kind, FLOAT)
            samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
    document = {
        "asset": {"version": "2.0", "generator": "sarrus"},
        "scene": 0,
        "scenes": [{"name": shown(sketch.name), "nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": pack.meshes,
        "animations": [{"name": "motion", "channels": channels, "samplers": samplers}],
        **pack.parts(),
    }
    if not pack.meshes:
        del document["meshes"]
    return document, bytes(pack.data)


class _Pack:
    """Arrays of a glTF file in one buffer."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []

    def add(self, values: Any, kind: str, number: int, bounds: bool = False) -> int:
        """Add an array as an accessor; returns its number."""
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": values.nbytes}
        self.views.append(view)
        self.data += values.tobytes()
        made = {
            "bufferView": len(self.views) - 1,
            "componentType": number,
            "count": len(values),
            "type": kind,
        }
        if bounds:
            made["min"], made["max"] = (
                np.atleast_1d(f(values, axis=0)).tolist() for f in (np.min, np.max)
            )
        self.accessors.append(made)
        return len(self.accessors) - 1

    def parts(self) -> dict[str, Any]:
        """Buffers, views and accessors of the file."""
        return {
            "buffers": [{"byteLength": len(self.data)}],
            "bufferViews": self.views,
            "accessors": self.accessors,
        }


def _mesh(
    pack: _Pack, points: Floats, faces: Sequence[Sequence[int]], numbers: Sequence[int]
) -> dict[str, Any] | None:
    """Triangles of a plate, else lines between the points of a bar; None for a single point."""
    if len(points) < 2:
        return None
    order = {number: i for i, number in enumerate(numbers)}
    corners = [[order[n] for n in face] for face in faces if all(n in order for n in face)]
    triangles = [(f[0], f[k], f[k + 1]) for f in corners for k in range(1, len(f) - 1)]
    pairs = [(i, i + 1) for i in range(len(points) - 1)]
    indices = np.array(triangles or pairs, "<u4").ravel()
    return {
        "attributes": {"POSITION": pack.add(points.astype("<f4"), "VEC3", FLOAT, bounds=True)},
        "indices": pack.add(indices, "SCALAR", UNSIGNED),
        "mode": TRIANGLES if triangles else LINES,
    }


def _quaternions(turns: Floats) -> Floats:
    """Unit quaternions x, y, z, w of rotation matrices, without jumps of sign, (n, 4)."""
    q = scipy.spatial.transform.Rotation.from_matrix(turns).as_quat()
    flips = np.cumprod(np.where(np.einsum("ti,ti->t", q[1:], q[:-1]) < 0, -1.0, 1.0))
    q[1:] *= flips[:, None]
    return np.asarray(q)
