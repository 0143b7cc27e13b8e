"""Drawings and glTF: the numbers in the files are those of the result."""

import base64
import json
from xml.etree import ElementTree

import numpy as np
import pytest

import sarrus


@pytest.fixture(scope="module")
def result():
    """A four-bar with a coupler point, a turn of its crank."""
    m = sarrus.Mechanism("four <bar>", gravity=(0, 0))
    lengths = dict(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    m.four_bar(**lengths, points={"P": (0.2, 0.25)})
    m.drive("motor", "A", sarrus.Polynomial([0, 2 * np.pi]))
    return sarrus.simulate(m, 1, output_step=0.01)


def dxf_entities(text):
    """Entities of a DXF file: kind, layer, and all x, y that follow."""
    lines = text.splitlines()
    pairs = list(zip(map(int, lines[::2]), lines[1::2], strict=True))
    found, begin = [], pairs.index((2, "ENTITIES"))
    for code, value in pairs[begin + 1 :]:
        if code == 0:
            found.append([value, "", {}])
        elif code == 8:
            found[-1][1] = value
        else:
            found[-1][2][code] = value
    return found


def test_dxf_has_joints_and_curves_in_millimetres(result, tmp_path):
    """Circles at the joints, a polyline through all places of the coupler point, names on their layer."""
    path = result.save_drawing(tmp_path / "linkage.dxf", "P")
    entities = dxf_entities(path.read_text(encoding="utf-8"))
    circles = [(float(e[2][10]), float(e[2][20])) for e in entities if e[0] == "CIRCLE"]
    for name in "ABCD":
        place = 1000 * result.position(name)[0]
        assert min(np.linalg.norm(np.array(c) - place) for c in circles) < 1e-6
    curve = [
        (float(e[2][10]), float(e[2][20]))
        for e in entities
        if e[0] == "VERTEX" and e[1] == "CURVES"
    ]
    np.testing.assert_allclose(curve, 1000 * result.position("P"), atol=1e-6)
    assert {e[2].get(1) for e in entities if e[0] == "TEXT"} >= set("ABCDP")
    assert entities[-1][0] == "EOF"


def test_svg_is_at_full_scale_and_escaped(result, tmp_path):
    """Well-formed, width in millimetres, the curve turned over; at the time that was chosen."""
    path = result.save_drawing(tmp_path / "linkage.svg", "P", time=0.25)
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("width").endswith("mm")
    assert float(root.get("width")[:-2]) == float(root.get("viewBox").split()[2])
    curves = root.find(f".//{space}g[@id='curves']/{space}polyline").get("points").split()
    points = np.array([list(map(float, p.split(","))) for p in curves])
    np.testing.assert_allclose(points * (1, -1), 1000 * result.position("P"), rtol=1e-7, atol=1e-6)
    circles = [(float(c.get("cx")), -float(c.get("cy"))) for c in root.iter(f"{space}circle")]
    place = 1000 * result.position("B")[25]
    assert min(np.linalg.norm(np.array(c) - place) for c in circles) < 1e-2


def read_accessor(document, number):
    """The array of an accessor."""
    accessor = document["accessors"][number]
    view = document["bufferViews"][accessor["bufferView"]]
    data = base64.b64decode(document["buffers"][0]["uri"].partition(",")[2])
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
    values = np.frombuffer(data, kind, accessor["count"] * width, view["byteOffset"])
    return values.reshape(-1, width)


@pytest.mark.parametrize("spatial", [False, True])
def test_gltf_moves_bodies_as_the_result_does(result, tmp_path, spatial):
    """Where the animation takes the ends of each rod is where the joints are, in single precision."""
    if spatial:
        m = sarrus.problems.get("rectangular-bricard").mechanism()
        result = sarrus.simulate(m, 1, output_step=0.02)
    document = json.loads(result.save_gltf(tmp_path / "motion.gltf").read_text(encoding="utf-8"))
    assert document["asset"]["version"] == "2.0"
    animation = document["animations"][0]
    names = [node["name"] for node in document["nodes"]]
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = read_accessor(document, sampler["input"])[:, 0]
        np.testing.assert_allclose(times, result.times, rtol=1e-6)
        values = read_accessor(document, sampler["output"])
        body = names[channel["target"]["node"]]
        if channel["target"]["path"] == "translation":
            place = result.position(body)
            np.testing.assert_allclose(values[:, : place.shape[1]], place, atol=1e-6)
            continue
        np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1, rtol=1e-6)
        # no jumps of sign between neighbours
        assert (np.einsum("ti,ti->t", values[1:], values[:-1]) > 0).all()
        if not spatial:
            angle = 2 * np.unwrap(np.arctan2(values[:, 2], values[:, 3]), period=np.pi)
            np.testing.assert_allclose(angle - angle[0], result.orientation(body), atol=1e-5)
    assert document["meshes"]


def test_drawings_of_spatial_mechanisms_and_other_endings_are_named(result, tmp_path):
    """Each has a sentence that says what to write instead."""
    with pytest.raises(ValueError, match=r"\.dxf or \.svg"):
        result.save_drawing(tmp_path / "linkage.pdf")
    space = sarrus.simulate(sarrus.problems.get("rectangular-bricard").mechanism(), 0.1)
    with pytest.raises(ValueError, match="in space"):
        space.save_drawing(tmp_path / "linkage.svg")


def test_binary_gltf_holds_the_same(tmp_path):
    """Header, document and numbers of .glb are those of .gltf; another ending is rejected."""
    import base64

    result = sarrus.simulate(sarrus.problems.get("double-four-bar").mechanism(), 0.5)
    text = json.loads(result.save_gltf(tmp_path / "motion.gltf").read_text(encoding="utf-8"))
    content = result.save_gltf(tmp_path / "motion.glb").read_bytes()
    assert content[:4] == b"glTF"
    assert np.frombuffer(content[4:12], "<u4").tolist() == [2, len(content)]
    size = int(np.frombuffer(content[12:16], "<u4")[0])
    assert (size % 4, content[16:20]) == (0, b"JSON")
    document = json.loads(content[20 : 20 + size])
    numbers = base64.b64decode(text["buffers"][0].pop("uri").partition(",")[2])
    assert document == text
    rest = content[20 + size :]
    assert rest[4:8] == b"BIN\0"
    assert rest[8 : 8 + len(numbers)] == numbers
    with pytest.raises(ValueError, match="neither"):
        result.save_gltf(tmp_path / "motion.obj")
