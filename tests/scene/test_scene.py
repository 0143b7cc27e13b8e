"""Sketch and scene: what is drawn, and that it is where the model says it is."""

import json
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import sarrus
from linkages import door
from random_mechanisms import random_mechanism
from sarrus.scene import Camera, Sketch, load_scene, make_sketch, scene_arrays
from sarrus.scene.draw import frame_window, ground_points, hatch, zigzag


def crank_slider():
    """A crank, a rod and a piston on a guide along x."""
    m = sarrus.Mechanism("crank slider", gravity=(0, -9.81))
    crank = m.rod("crank", (0, 0), (0.3, 0.4), mass=1)
    rod = m.rod("rod", (0.3, 0.4), (1.5, 0), mass=2)
    piston = m.body("piston", 3, (1.5, 0), inertia=0.1)
    m.revolute("A", m.ground, crank, at=(0, 0))
    m.revolute("B", crank, rod, at=(0.3, 0.4))
    m.revolute("C", rod, piston, at=(1.5, 0))
    m.prismatic("guide", m.ground, piston, at=(1.5, 0), axis=(1, 0))
    return m


def everything():
    """A planar mechanism with every sign that the plane has."""
    m = sarrus.Mechanism("all signs")
    plate = m.body("plate", 1, (0.5, 0.4), inertia=0.1)
    bob = m.body("bob", 1, (2, -1), inertia=0.1)
    loose = m.body("loose", 1, (3, 0), inertia=0.1)
    m.revolute("P", m.ground, plate, at=(0, 0))
    m.revolute("Q", plate, bob, at=(2, 0))
    m.weld("W", plate, m.rod("arm", (1, 1), (1, 2), mass=1), at=(1, 1))
    m.distance("string", m.ground, loose, start=(3, 1), end=(3, 0))
    m.spring("spring", m.ground, plate, start=(0, 3), end=(1, 1), stiffness=1)
    m.torsion("coil", "P", stiffness=1)
    m.drive("motor", "Q", sarrus.Sine(1, 1))
    m.point("tip", plate, (0.5, 2))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("problem", sarrus.problems.names()[:4])
def test_points_of_the_scene_are_those_of_the_model(problem):
    """Two routes: frames of bodies against the rows that the model reads joints with."""
    p = sarrus.problems.get(problem)
    result = sarrus.simulate(p.mechanism(), 1.0, 0.05)
    scene = result.scene
    for sign in scene.sketch.signs[:12]:
        # both are linear in the same coordinates: rounding of a few sums
        at = sign.point
        np.testing.assert_allclose(scene.points[:, at], result.position(sign.name), atol=1e-12)
        np.testing.assert_allclose(scene.speeds[:, at], result.velocity(sign.name), atol=1e-10)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_are_followed(seed, dimension):
    """Joints of random trees and loops are where the model reads them; bars keep their lengths."""
    mechanism = random_mechanism(seed, dimension, sliding=seed % 2 == 1)
    # a structure among them is drawn as it stands
    result = sarrus.simulate(mechanism, 0.2, 0.02, tolerance=1e-8, misfit=0)
    scene = result.scene
    for sign in scene.sketch.signs:
        if sign.name in result.points:
            np.testing.assert_allclose(
                scene.points[:, sign.point], result.position(sign.name), atol=1e-9
            )
    for shape in scene.sketch.shapes:
        a, b = scene.points[:, shape.points[0]], scene.points[:, shape.points[-1]]
        length = np.linalg.norm(b - a, axis=1)
        # rigid to the tolerance of the run
        np.testing.assert_allclose(length, length[:1] * np.ones(len(length)), atol=1e-7)


def test_shapes_by_what_a_body_carries():
    """Rods are bars, bodies with three points plates, with one a mass on a bar, sliders blocks."""
    kinds = {s.name: s.kind for s in make_sketch(everything()).shapes}
    assert kinds == {"plate": "plate", "bob": "mass", "loose": "mass", "arm": "bar"}
    kinds = {s.name: s.kind for s in make_sketch(crank_slider()).shapes}
    assert kinds == {"crank": "bar", "rod": "bar", "piston": "block"}


def test_signs_know_ground_drives_and_springs():
    """Which joints stand on the ground, are driven, or have a torsional spring."""
    sketch = make_sketch(everything())
    signs = {s.name: s for s in sketch.signs}
    assert {n for n, s in signs.items() if s.ground} == {"P", "string", "spring"}
    assert signs["Q"].driven
    assert not signs["P"].driven
    assert signs["P"].torsion
    assert signs["spring"].kind == "spring"
    assert signs["tip"].kind == "point"
    # a pin is one point of all its bodies
    plate = next(s for s in sketch.shapes if s.name == "plate")
    assert set(signs["Q"].points) <= set(plate.points)


def test_up_is_against_gravity():
    """Without gravity the last axis points up."""
    assert make_sketch(everything()).up == (0.0, 1.0)
    m = sarrus.Mechanism("free", gravity=(0, 0, 0))
    m.body("b", 1, (0, 0, 0), inertia=(1, 1, 1))
    assert make_sketch(m).up == (0.0, 0.0, 1.0)


def test_hermite_interpolation_has_order_four():
    """Between outputs the error falls by about 16 when the step is halved."""
    p = sarrus.problems.get("double-four-bar")
    errors = []
    for step in (0.1, 0.05):
        scene = sarrus.simulate(p.mechanism(), 1.0, step).scene.observing("B0")
        times = np.arange(0.5 * step, 1.0, step)
        exact = p.reference(times)[:, :2]
        errors.append(np.abs(scene.at(times)[:, scene.observed] - exact).max())
    assert 10 < errors[0] / errors[1] < 24


def test_scene_survives_its_arrays():
    """What is written is read back, to single precision."""
    p = sarrus.problems.get("rectangular-bricard")
    scene = sarrus.simulate(p.mechanism(), 0.5, 0.05).scene.observing("P2")
    back = load_scene(scene_arrays(scene))
    assert back.sketch == scene.sketch
    assert back.observed == scene.observed
    assert back.observed_name == "P2"
    np.testing.assert_allclose(back.points, scene.points, atol=2e-7)
    assert json.loads(json.dumps(scene.sketch.as_dict())) == json.loads(
        json.dumps(Sketch.from_dict(scene.sketch.as_dict()).as_dict())
    )


@pytest.mark.parametrize("change", ["version", "points", "sign", "words"])
def test_broken_arrays_are_rejected_in_words(change):
    """A scene that does not fit together raises ValueError, nothing else."""
    p = sarrus.problems.get("double-four-bar")
    arrays = scene_arrays(sarrus.simulate(p.mechanism(), 0.1, 0.05).scene)
    if change == "version":
        arrays["scene_version"] = np.array(99)
    elif change == "points":
        arrays["scene_points"] = arrays["scene_points"][:, :1]
    elif change == "sign":
        words = json.loads(bytes(arrays["scene_words"]))
        words["sketch"]["signs"][0]["points"] = [1000]
        arrays["scene_words"] = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    else:
        del arrays["scene_words"]
    with pytest.raises(ValueError, match=r".+"):
        load_scene(arrays)


@pytest.mark.parametrize("seed", range(3))
def test_camera_is_a_rotation(seed):
    """Right, up and eye are orthonormal and right-handed; up on the screen has no sideways part."""
    up = np.random.default_rng(seed).normal(size=3)
    up /= np.linalg.norm(up)
    rows = Camera(turn=40.0 * seed, tilt=10.0).rows(up)
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(rows) == pytest.approx(1)
    assert rows[0] @ up == pytest.approx(0, abs=1e-14)
    assert rows[1] @ up > 0.9


def test_long_mechanisms_are_shown_around_the_observed_point():
    """The window of 100 links shows some around B0, that of three links all of them."""
    for windows, whole in ((2, True), (100, False)):
        p = sarrus.problems.get("n-four-bar", windows=windows)
        scene = sarrus.simulate(p.mechanism(), 0.5, 0.1).scene.observing("B0")
        window = frame_window(scene, Camera(), 16 / 9)
        assert window.whole is whole
        path = scene.points[:, scene.observed]
        assert (np.abs(path - window.middle) <= window.half).all()


def test_spring_and_hatching_stay_in_their_place():
    """A spring begins and ends where it is fixed; hatching lies below its line, whichever way it runs."""
    start, end = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    line = zigzag(start, end, 0.1)
    np.testing.assert_allclose(line[[0, -1]], [start, end])
    for guide in ([[0, 1], [5, 1]], [[5, 1], [0, 1]]):
        strokes = np.array(hatch(np.array(guide, dtype=float), 0.2))
        assert (strokes[:, 1, 1] < 1).all()
        assert (strokes[:, 0, 1] == 1).all()


def test_ground_stands_once_below_each_pin():
    """Every joint on the ground has its stand, guides have none."""
    scene = sarrus.simulate(sarrus.problems.get("double-four-bar").mechanism(), 0.1, 0.05).scene
    assert len(ground_points(scene)) == 3
    sketch = make_sketch(crank_slider())
    names = {s.name: s.points for s in sketch.signs}
    bare = replace(scene, sketch=sketch)
    assert ground_points(bare) == [names["A"][0]]


@pytest.mark.parametrize("heights", [(0.2, 1.0, 1.8), (0.1, 0.4, 0.9, 1.7)])
def test_joints_in_line_near_the_centre_are_a_plate(heights):
    """A door on three or more hinges: its plate reaches from the hinges to its centre."""
    (shape,) = make_sketch(door(heights)).shapes
    assert shape.kind == "plate"
    assert {len(face) for face in shape.faces} == {3}


def test_mechanisms_and_answers_show_themselves(tmp_path):
    """Before any run: a picture with names; answers as sentences; text of a user stays text."""
    m = crank_slider()
    m.name = "<b>crank & slider"
    figure = m.plot()
    written = {text.get_text() for axes in figure.get_axes() for text in axes.texts}
    assert {joint.name for joint in m.joints} <= set(", ".join(written).split(", "))
    card = m._repr_html_()
    assert "<b>" not in card
    assert "data:image/png" in card
    # what is not complete says why, and raises nothing
    empty = sarrus.Mechanism("empty")
    assert "not complete" in empty._repr_html_()
    m.name = "crank & slider"
    shown = sarrus.inspect(m)._repr_html_()
    assert shown.startswith("<div><strong>1 degree of freedom")
    assert "<li>crank &amp; slider: planar" in shown
    result = sarrus.simulate(m, 0.1, 0.1)
    answers = (result.reaction(m.joints[0].name), sarrus.assemble(m))
    for answer in answers:
        assert str(answer).splitlines()[0][:10] in unescape(answer._repr_html_())
