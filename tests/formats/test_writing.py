import numpy as np
import pytest

import sarrus
from format_files import block, four_bar, mjcf
from sarrus.formats import read, write_mjcf, write_osim, write_urdf

WRITERS = {".xml": write_mjcf, ".urdf": write_urdf}


def everything():
    """A loop of hinges with every joint that both formats can hold hanging from it."""
    m = sarrus.Mechanism("all joints", gravity=(0.3, 0.0, -9.81))
    inertia = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, 0.002], [0.0, 0.002, 0.025]])
    at = {"crank": (0.1, 0, 0.1), "rod": (0.4, 0, 0.2), "rocker": (0.6, 0, 0.1)}
    for name, center in at.items():
        m.body(name, 1.0, center, inertia)
    y = (0, 1, 0)
    m.revolute("a", "ground", "crank", at=(0, 0, 0), axis=y)
    m.revolute("b", "crank", "rod", at=(0.2, 0, 0.2), axis=y)
    m.revolute("d", "rocker", "ground", at=(0.6, 0, 0), axis=y)
    m.revolute("c", "rod", "rocker", at=(0.6, 0, 0.2), axis=y)
    for k, kind in enumerate(
        ("spherical", "universal", "cylindrical", "prismatic", "planar", "weld")
    ):
        place = np.array([0.1 * k, 0.3, 0.0])
        m.body(kind, 0.5, place + np.array([0.05, 0.02, -0.1]), inertia)
        more = {
            "universal": {"axis": (1, 0, 0), "second_axis": (0, 1, 0)},
            "cylindrical": {"axis": (1, 1, 0)},
            "prismatic": {"axis": (1, 0.2, 0)},
            "planar": {"normal": (0.1, 0, 1)},
        }
        getattr(m, kind)(f"to {kind}", "rod", kind, at=place, **more.get(kind, {}))
    m.body("stone", 2.0, (3, 0, 0), inertia)
    m.point("nose", "rod", (0.45, 0.1, 0.2))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("ending", WRITERS)
def test_round_trip_moves_alike(tmp_path, ending):
    """Every joint, a loop, a free body: written, read again, the same motion."""
    if ending == ".xml":
        pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    m = everything()
    path = tmp_path / f"all{ending}"
    WRITERS[ending](m, path)
    back = read(path).mechanism
    back.gravity = m.gravity
    kept = [b.name for b in m.bodies if b.name in {x.name for x in back.bodies}]
    # only the welded body is lost, in the one it is welded to
    assert len(kept) >= len(m.bodies) - 1
    a, b = (sarrus.simulate(x, 0.5, output_step=0.1, tolerance=1e-12) for x in (m, back))
    for name in [n for n in kept if n not in ("rod", "weld")]:
        assert np.abs(a.position(name) - b.position(name)).max() < 1e-10, name
    assert np.abs(a.position("nose") - b.position("nose")).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", sarrus.problems.names())
def test_mujoco_loads_every_problem(tmp_path, name):
    """Thin rods and point masses included: their inertias are raised by 1e-9, which the report says."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    m = sarrus.problems.get(name).mechanism()
    report = write_mjcf(m, tmp_path / "a.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml"))
    assert (model.body_inertia[1:] > 0.0).all()
    slim = model.body_inertia[1:].min(axis=1) < 1e-8 * model.body_inertia[1:].max(axis=1)
    vanish = [b.name for b in m.bodies if not np.any(b.inertia)]
    reported = [line for line in report.changed if line.startswith("inertias")]
    assert bool(reported) == bool(slim.any() or vanish)
    assert all(name in reported[0] for name in vanish)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simple-pendulum", "light-cart-pole", "a04-bricard"])
def test_raised_inertias_leave_the_motion(tmp_path, name):
    """Written and read again, thin rods and point masses move as before, but for 1e-9 of their inertia."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    problem = sarrus.problems.get(name)
    m = problem.mechanism()
    write_mjcf(m, tmp_path / "a.xml")
    back = read(tmp_path / "a.xml").mechanism
    a, b = (sarrus.simulate(x, 1.0, 0.1, tolerance=1e-12) for x in (m, back))
    point = m.bodies[-1].name
    there = b.position(point)[:, : m.dimension]
    assert np.abs(a.position(point) - there).max() < 1e-7 * m.size


def test_what_mujoco_does_not_load_is_not_written(tmp_path, monkeypatch):
    """The compiler's own sentence, and no file; without MuJoCo the file is written unchecked."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "mujoco")
    monkeypatch.setattr("sarrus.formats.writers.request", lambda *_: ({"error": "it is bad"}, {}))
    m = sarrus.problems.get("simple-pendulum").mechanism()
    with pytest.raises(sarrus.MechanismError, match=r"a\.xml was not written: .* \(it is bad\)"):
        write_mjcf(m, tmp_path / "a.xml")
    assert not (tmp_path / "a.xml").exists()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    write_mjcf(m, tmp_path / "a.xml")
    assert (tmp_path / "a.xml").exists()


@pytest.mark.slow
def test_mjcf_keeps_springs_and_mujoco_reads_it(tmp_path):
    """Stiffness, damping and rest of hinges survive; MuJoCo itself compiles what is written."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    m = everything()
    m.torsion("coil", "a", stiffness=3.0, damping=0.1, free_angle=0.2, torque=0.3)
    m.spring("pull", "ground", "rod", start=(0, 0, 1), end=(0.4, 0, 0.2), stiffness=10.0)
    path = tmp_path / "all.xml"
    report = write_mjcf(m, path)
    assert report.dropped == {"springs": ["pull"]}
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # a hinge that closes a loop is two points: six equations
    assert model.neq == 2
    (coil,) = read(path).mechanism.torsions
    assert (coil.stiffness, coil.damping) == (3.0, 0.1)
    assert coil.free_angle == pytest.approx(0.3)


@pytest.mark.slow
def test_what_cannot_be_written_is_rejected_or_reported(tmp_path):
    """Joints without an equal are rejected by name; drives and users' forces are reported."""
    m = sarrus.Mechanism("m", gravity=(0, 0, -9.81))
    m.body("b", 1.0, (0, 0, 1), (0.1, 0.1, 0.1))
    m.revolute("h", "ground", "b", at=(0, 0, 0), axis=(1, 0, 0))
    m.drive("spin", "h", sarrus.Polynomial((0.0, 1.0)))
    m.user_force("wind", "b", lambda t, x, v: -v)
    for write, name in ((write_urdf, "a.urdf"), (write_mjcf, "a.xml")):
        dropped = write(m, tmp_path / name).dropped
        assert (dropped["drives"], dropped["user forces"]) == (["spin"], ["wind"])
    m.distance("rope", "ground", "b", start=(1, 0, 0), end=(0, 0, 1))
    with pytest.raises(sarrus.MechanismError, match=r"'rope' \(distance\) cannot be written"):
        write_urdf(m, tmp_path / "a.urdf")


@pytest.mark.slow
def test_planar_mechanisms_are_written_in_space(tmp_path):
    """What MuJoCo makes of the file moves as the planar mechanism does."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    flat = sarrus.problems.get("four-bar-spring").mechanism()
    flat.springs = []
    report = write_mjcf(flat, tmp_path / "a.xml")
    assert report.changed == ["planar: written in space at z = 0, bodies as plates"]
    again = read(tmp_path / "a.xml").mechanism
    assert again.dimension == 3
    planar, spatial = (sarrus.simulate(m, 0.5, 0.1) for m in (flat, again))
    for body in flat.bodies:
        np.testing.assert_allclose(
            spatial.position(body.name)[:, :2], planar.position(body.name), atol=1e-8
        )


def test_osim_is_read_by_opensim(tmp_path):
    """Coordinates and closing points of a loop, and a spring."""
    opensim = pytest.importorskip("opensim", reason="OpenSim is not installed (extra opensim)")
    mechanism = sarrus.problems.get("four-bar-spring").mechanism()
    report = write_osim(mechanism, tmp_path / "a.osim")
    assert report.taken == ["3 bodies", "4 joints, 1 points closing loops"]
    model = opensim.Model(str(tmp_path / "a.osim"))
    model.initSystem()
    assert model.getNumCoordinates() == 3
    assert model.getConstraintSet().getSize() == 1
    assert model.getForceSet().getSize() == 1


@pytest.mark.slow
def test_imported_files_go_round(tmp_path):
    """URDF with closures -> MJCF -> URDF: one motion."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    first = read(four_bar(tmp_path)).mechanism
    write_mjcf(first, tmp_path / "b.xml")
    second = read(tmp_path / "b.xml").mechanism
    write_urdf(second, tmp_path / "c.urdf")
    third = read(tmp_path / "c.urdf").mechanism
    runs = [sarrus.simulate(m, 0.5, output_step=0.1) for m in (first, second, third)]
    for run in runs[1:]:
        assert np.abs(run.position("rocker") - runs[0].position("rocker")).max() < 1e-10


@pytest.mark.slow
def test_hinge_that_closes_a_loop_in_mjcf_comes_back_as_one(tmp_path):
    """Two connects on an axis are read as the hinge they were."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    ends = [f"<connect name='{n}' body1='b' anchor='0.3 {y} 0'/>" for n, y in (("c", 0), ("e", 1))]
    rest = f"<equality>{''.join(ends)}</equality>"
    body = block(
        "a",
        "<joint name='a' axis='0 1 0'/>",
        inside=block("b", "<joint name='b' axis='0 1 0'/>", "0.3 0 0.2"),
    )
    m = read(mjcf(tmp_path, body, rest)).mechanism
    write_mjcf(m, tmp_path / "again.xml")
    back = read(tmp_path / "again.xml").mechanism
    assert sorted(j.kind.value for j in back.joints) == ["revolute"] * 3


# of each joint that is written as several steps: its argument, and the kinds of its steps by their names
ROWS = {
    "cylindrical": ("axis", {"j travel": "slide", "j turn": "hinge"}),
    "planar": ("normal", {"j x": "slide", "j y": "slide", "j turn": "hinge"}),
    "rectangular": ("normal", {"j x": "slide", "j y": "slide"}),
    "prismatic": ("axis", {"j": "slide"}),
    "revolute": ("axis", {"j": "hinge"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True], ids=["from-ground", "to-ground"])
@pytest.mark.parametrize("kind", ROWS)
def test_joints_are_rows_of_steps_from_either_side(kind, turned, tmp_path):
    """Hinges and sliders keep their names from either body, and what is read again moves the same."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    argument, steps = ROWS[kind]
    m = sarrus.Mechanism("m", gravity=(1.0, -2.0, -9.81))
    m.body("b", 1.0, (0.2, 0.3, 1), (0.1, 0.2, 0.15))
    bodies = ("b", "ground") if turned else ("ground", "b")
    getattr(m, kind)("j", *bodies, at=(0, 0, 0), **{argument: (0.6, 0.0, 0.8)})
    path = tmp_path / "a.xml"
    write_mjcf(m, path)
    model = mujoco.MjModel.from_xml_path(str(path))
    words = {mujoco.mjtJoint.mjJNT_SLIDE: "slide", mujoco.mjtJoint.mjJNT_HINGE: "hinge"}
    found = {
        model.joint(n).name: words[mujoco.mjtJoint(model.jnt_type[n])] for n in range(model.njnt)
    }
    assert found == steps
    write_urdf(m, tmp_path / "a.urdf")
    if kind == "rectangular":
        # no reader makes one joint of two sliders in a row
        return
    want = sarrus.simulate(m, 0.5, 0.1).position("b")
    for name in ("a.xml", "a.urdf"):
        again = read(tmp_path / name).mechanism
        again.gravity = m.gravity
        got = sarrus.simulate(again, 0.5, 0.1).position("b")
        # two builds of one mechanism: rounding
        np.testing.assert_allclose(got, want, atol=1e-8)
