import numpy as np
import pytest

import sarrus
from format_files import block, mjcf, write
from sarrus.formats import read
from sarrus.formats.parts import FormatError

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")

TREE = """
<mujoco model="tree">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="0.5 0 -9.81"/>
  <default>
    <joint damping="0.01"/>
    <default class="stiff"><joint stiffness="1.5" springref="20" damping="0.05"/></default>
  </default>
  <worldbody>
    <body name="arm" pos="0 0 1" euler="10 20 30" childclass="stiff">
      <joint name="shoulder" axis="0 1 0.2" ref="15" armature="0.03"/>
      <inertial pos="0.2 0 0.01" mass="1.3" fullinertia="0.015 0.03 0.02 0.001 0.002 0.0005"/>
      <frame pos="0.4 0 0" euler="0 0 45">
        <body name="fore" pos="0 0.02 0">
          <joint name="elbow" axis="1 1 0" pos="0.01 0 0" class="main" armature="0.02"/>
          <inertial pos="0.1 0 0" mass="0.7" diaginertia="0.002 0.006 0.005"/>
          <body name="cart" pos="0.25 0 0">
            <joint name="rail" type="slide" axis="0 0 1" stiffness="40" springref="0.02" damping="0.8"
              armature="0.6"/>
            <inertial pos="0 0.03 0" mass="0.4" diaginertia="0.001 0.002 0.001"/>
            <body name="bob">
              <joint name="socket" type="ball" stiffness="0" damping="0.004" armature="0.003"/>
              <inertial pos="0 0 -0.1" mass="0.2" diaginertia="0.001 0.001 0.0004"/>
              <site name="nose" pos="0 0 -0.2"/>
            </body>
          </body>
        </body>
      </frame>
    </body>
    <body name="lift" gravcomp="0.6">
      <joint name="column" type="slide" axis="0 0 1" armature="0.5" damping="0"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
      <body name="cross" pos="0 0.1 0">
        <joint name="u1" axis="1 0 0" damping="0"/>
        <joint name="u2" axis="0 1 0" damping="0"/>
        <inertial pos="0.05 0 -0.2" mass="0.5" diaginertia="0.004 0.005 0.003"/>
      </body>
    </body>
    <body name="stone" pos="3 0 2">
      <joint name="loose" type="free" damping="0" armature="0.7"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.2 0.25"/>
    </body>
  </worldbody>
</mujoco>
"""


def places(model, step, duration, key=None):
    """Centres of mass by MuJoCo's Runge-Kutta of order 4."""
    model.opt.timestep = step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    if key is not None:
        mujoco.mj_resetDataKeyframe(model, data, key)
    for _ in range(round(duration / step)):
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    return {model.body(k).name: data.xipos[k].copy() for k in range(1, model.nbody)}


@pytest.mark.slow
def test_a_tree_moves_as_in_mujoco_to_its_order(tmp_path):
    """Hinge, slider, ball, cross, free body, springs, dampers, armature of all of them, compensated gravity.

    MuJoCo's error falls with the fourth power of its step, towards our motion.
    """
    path = write(tmp_path, "tree.xml", TREE)
    found = read(path)
    result = sarrus.simulate(found.mechanism, 0.4, 0.4, tolerance=1e-11)
    model = mujoco.MjModel.from_xml_path(str(path))
    errors = []
    # our rounding here is 5e-11, MuJoCo's errors are 2e-8 and 1e-9
    for step in (8e-3, 4e-3):
        theirs = places(model, step, 0.4)
        errors.append(max(np.abs(result.position(b)[-1] - p).max() for b, p in theirs.items()))
    assert errors[0] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.25)
    assert "limits of joints" not in found.report.dropped
    assert {j.kind.value for j in found.mechanism.joints} >= {"universal", "spherical", "prismatic"}


@pytest.mark.slow
def test_armature_is_carried(tmp_path):
    """A rotor at every joint, also where they lead through massless links; back again from a file."""
    inner = block("b", "<joint name='j' axis='0 1 0' armature='0.25'/>", "0.3 0 0")
    path = mjcf(tmp_path, block("a", "<joint name='i' axis='0 1 0' armature='0.5'/>", inside=inner))
    found = read(path)
    assert [(r.joint, r.inertia) for r in found.mechanism.rotors] == [("i", 0.5), ("j", 0.25)]
    assert not found.report.dropped
    out = tmp_path / "out.xml"
    sarrus.formats.write_mjcf(found.mechanism, out)
    assert [r.inertia for r in read(out).mechanism.rotors] == [0.5, 0.25]


@pytest.mark.slow
@pytest.mark.parametrize(
    "joints",
    [
        # a cross, two parallel hinges with a spring, slides that carry a hinge, three hinges and a slide
        "<joint name='i' axis='1 0 0' armature='0.05'/><joint name='j' axis='0 1 0' armature='0.02'/>",
        "<joint name='i' axis='0 0 1' stiffness='1'/><joint name='j' axis='0 0 1' pos='.01 0 0' armature='.03'/>",
        "<joint name='i' type='slide' axis='0 0 1' armature='.4' stiffness='90'/>"
        "<joint name='j' type='slide' axis='1 0 0' armature='.3' damping='.2'/><joint name='k' axis='0 1 0'/>",
        "<joint name='i' axis='1 0 0' damping='.1'/><joint name='j' axis='0 1 0' armature='.02'/>"
        "<joint name='k' axis='0 0 1'/><joint name='l' type='slide' axis='1 1 0' armature='.5'/>",
    ],
)
def test_what_acts_in_joints_through_massless_links_is_carried(tmp_path, joints):
    """Armature, springs and dampers in rows of joints move the body as MuJoCo's fourth order says.

    Its error at 2 ms is some 1e-9 m; a share of the forces or inertias lost would be seen in the third digit.
    """
    base = "<joint name='o' axis='0.6 0.8 0' armature='0.01'/>"
    path = mjcf(tmp_path, block("a", base, inside=block("b", joints, "0 0.2 -0.2")))
    found = read(path)
    assert any("which does not affect the motion" in line for line in found.report.changed)
    assert not found.report.dropped
    result = sarrus.simulate(found.mechanism, 0.3, 0.3, tolerance=1e-11)
    theirs = places(mujoco.MjModel.from_xml_path(str(path)), 2e-3, 0.3)
    for name, place in theirs.items():
        assert result.position(name)[-1] == pytest.approx(place, abs=2e-8)


@pytest.mark.slow
def test_massless_link_that_moves_alone_is_rejected(tmp_path):
    """Two hinges on one axis, one with an armature: what is between them has no inertia against the others."""
    joints = "<joint name='i' axis='0 1 0' armature='0.5'/><joint name='j' axis='0 1 0'/>"
    with pytest.raises(FormatError, match=r"joint 'i' has an armature of 0\.5 .* massless links"):
        read(mjcf(tmp_path, block("a", joints)))


LOOP = block(
    "crank",
    "<joint name='a' axis='0 1 0'/>",
    inside=block("rod", "<joint name='b' axis='0 1 0'/>", "0.3 0 0"),
) + block("rocker", "<joint name='d' axis='0 1 0'/>", "0.6 0 -0.3", com="0 0 0.1")


@pytest.mark.slow
def test_connect_fixes_the_second_point_at_qpos0(tmp_path):
    """An anchor is closed as authored; two sites are not."""
    rest = "<equality><connect name='c' body1='rod' body2='rocker' anchor='0.3 0 0'/></equality>"
    found = read(mjcf(tmp_path, LOOP, rest))
    assert "closed" in found.report.closing[0]
    assert found.report.believed == 0
    sites = LOOP.replace("<body name='rocker'", "<body name='rocker'", 1)
    sites = sites.replace(
        "diaginertia='0.01 0.02 0.015'/></body></body>",
        "diaginertia='0.01 0.02 0.015'/><site name='p' pos='0.3 0 0'/></body></body>",
    )
    sites = sites[: -len("</body>")] + "<site name='q' pos='0 0 0.35'/></body>"
    rest = "<equality><connect name='c' site1='p' site2='q'/></equality>"
    found = read(mjcf(tmp_path, sites, rest))
    assert "open" in found.report.closing[0]
    p, q = (next(x.at for x in found.mechanism.markers if x.name == n) for n in "pq")
    assert np.linalg.norm(p - q) < 1e-15


@pytest.mark.slow
def test_two_connects_are_one_hinge(tmp_path):
    """Two points that represent a hinge become one, and the report names redundant equations."""
    rest = (
        "<equality><connect name='left_1' body1='rod' body2='rocker' anchor='0.3 0 0'/>"
        "<connect name='left_1_y' body1='rod' body2='rocker' anchor='0.3 0.05 0'/></equality>"
    )
    found = read(mjcf(tmp_path, LOOP, rest))
    assert (
        "connects 'left_1' and 'left_1_y' are one hinge: 1 equation is redundant"
        in found.report.changed
    )
    assert found.mechanism.joints[-1].kind.value == "revolute"
    seen = sarrus.inspect(found.mechanism)
    assert (seen.mobility_motion, seen.redundant_motion) == (1, 3)
    assert found.report.believed == -3
    assert "has -3 degrees of freedom" in found.report.believes(seen.mobility_motion)


@pytest.mark.slow
def test_weld_makes_one_body(tmp_path):
    """A weld equality joins bodies as they stand at qpos0, or as its relpose says."""
    two = block("a", "<freejoint/>") + block("b", "<freejoint/>", "1 0 0")
    found = read(mjcf(tmp_path, two, "<equality><weld name='w' body1='a' body2='b'/></equality>"))
    assert len(found.mechanism.bodies) == 1
    assert found.mechanism.bodies[0].center == pytest.approx([0.6, 0, 0.02])
    rest = "<equality><weld name='w' body1='a' body2='b' relpose='0 0 2 1 0 0 0'/></equality>"
    found = read(mjcf(tmp_path, two, rest))
    assert found.mechanism.bodies[0].center == pytest.approx([0.1, 0, 1.02])
    assert "they stood 2.236" in " ".join(found.report.changed)


@pytest.mark.slow
def test_joint_equalities(tmp_path):
    """Fixed joints are welds, proportional ones couplings; other polynomials are rejected."""
    slides = "<joint name='{0}' type='slide' axis='0 0 1'/>"
    two = block("a", slides) + block("b", slides, "1 0 0")
    gear = "<equality><joint name='gear' joint1='a' joint2='b' polycoef='{}'/></equality>"
    found = read(mjcf(tmp_path, two, gear.format("0 -1.7 0 0 0")))
    assert [(c.joint, c.other, c.ratio) for c in found.mechanism.couplings] == [("a", "b", -1.7)]
    assert sarrus.inspect(found.mechanism).mobility_motion == 1
    assert found.report.believed == 1
    out = tmp_path / "out.xml"
    sarrus.formats.write_mjcf(found.mechanism, out)
    assert [c.ratio for c in read(out).mechanism.couplings] == [-1.7]
    found = read(mjcf(tmp_path, two, "<equality><joint joint1='a' polycoef='0.2'/></equality>"))
    assert [b.name for b in found.mechanism.bodies] == ["b"]
    with pytest.raises(
        sarrus.MechanismError, match=r"'gear' \(a = 2 b \+ 0.5 b\^3\) is not linear"
    ):
        read(mjcf(tmp_path, two, gear.format("0 2 0 0.5 0")))


@pytest.mark.slow
def test_coupled_hinges_against_mujoco(tmp_path):
    """A mirrored pair, an offset, a keyframe: counted from qpos0, and MuJoCo's stiff equality agrees."""
    import mujoco

    hinge = "<joint name='{0}' axis='0 1 0'/>"
    two = block("a", hinge, com="0.3 0 0") + block("b", hinge, "1 0 0", com="0.2 0 0.1")
    rest = (
        "<equality><joint name='gear' joint1='a' joint2='b' polycoef='0.1 -1 0 0 0' solref='0.0004 1' "
        "solimp='0.9999 0.9999 0.001 0.5 2'/></equality><keyframe><key name='up' qpos='-0.2 0.3'/></keyframe>"
    )
    path = mjcf(tmp_path, two, rest)
    found = read(path, keyframe="up")
    result = sarrus.simulate(found.mechanism, 0.5, output_step=0.1)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:] = (-0.2, 0.3)
    mujoco.mj_step(model, data, 5000)
    # the impedance is clamped at 0.9999: the equality gives way by 1e-4 of what it bears
    assert result.angle("b")[-1] == pytest.approx(data.qpos[1] - 0.3, abs=1e-4)
    assert result.angle("a")[-1] == pytest.approx(data.qpos[0] + 0.2, abs=1e-4)


@pytest.mark.slow
def test_springs_stay_free_where_they_were(tmp_path):
    """A coupling that stands open moves its joint at the start; the spring in it is free where it was."""
    two = block("a", "<joint name='{0}' axis='0 1 0' stiffness='2'/>") + block(
        "b", "<joint name='{0}' axis='0 1 0'/>", "1 0 0"
    )
    rest = "<equality><joint joint1='a' joint2='b' polycoef='0.4 1 0 0 0'/></equality>"
    found = read(mjcf(tmp_path, two, rest))
    assert found.mechanism.torsions[0].free_angle == pytest.approx(-0.4, abs=1e-12)


@pytest.mark.slow
def test_keyframe_is_the_start(tmp_path):
    """A run starts at a keyframe if one is named; springs stay free where they were."""
    body = block(
        "a", "<joint name='a' axis='0 1 0' stiffness='2' springref='0.3'/>", com="0 0 -0.2"
    )
    rest = "<keyframe><key name='up' qpos='1.2'/></keyframe>"
    path = mjcf(tmp_path, body, rest)
    plain, up = read(path).mechanism, read(path, keyframe="up").mechanism
    assert plain.torsions[0].free_angle == pytest.approx(0.3)
    assert up.torsions[0].free_angle == pytest.approx(0.3 - 1.2)
    assert up.bodies[0].center == pytest.approx([-0.2 * np.sin(1.2), 0, -0.2 * np.cos(1.2)])
    with pytest.raises(sarrus.MechanismError, match="no keyframe 'down'; known: up"):
        read(path, keyframe="down")


@pytest.mark.slow
def test_what_is_not_taken_is_reported_by_name(tmp_path):
    """Limits, friction, actuators, sensors, contacts, inactive equalities, springs of balls, drag."""
    body = block(
        "a",
        "<joint name='hinge' axis='0 1 0' range='-1 1' limited='true' frictionloss='0.1'/>",
        inside="<geom name='ball' size='0.1'/>"
        + block("b", "<joint name='cup' type='ball' stiffness='1'/>"),
    )
    rest = (
        "<actuator><motor name='motor' joint='hinge'/></actuator><sensor><jointpos name='gauge' joint='hinge'/>"
        "</sensor><equality><connect name='off' active='false' body1='b' anchor='0 0 0'/></equality>"
        "<tendon><fixed name='wire'><joint joint='hinge' coef='1'/></fixed></tendon>"
    )
    found = read(mjcf(tmp_path, body, rest, head="<option density='1.2'/>"))
    names = [n for group in found.report.dropped.values() for n in group]
    assert {"hinge", "motor", "gauge", "off", "wire", "ball", "cup"} <= set(names)
    assert any("density 1.2" in n for n in names)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (
            "<tendon><fixed name='wire' stiffness='3'><joint joint='a' coef='1'/></fixed></tendon>",
            "tendon 'wire' acts on the motion",
        ),
        (
            "<tendon><fixed name='w1'><joint joint='a' coef='1'/></fixed></tendon>"
            "<equality><tendon name='t' tendon1='w1'/></equality>",
            "tendon 'w1' acts on the motion",
        ),
        ("<extension><plugin plugin='x.y'/></extension>", "plugins are not read"),
        ("<include file='../outside.xml'/>", "leaves the folder"),
        ("<include file='/etc/passwd'/>", "leaves the folder"),
        ("<include file='nowhere.xml'/>", "is not there"),
        ("<include file='model.xml'/>", "includes itself"),
        ("<nonsense/>", "MuJoCo cannot compile it"),
    ],
)
def test_refusals_name_the_element(tmp_path, rest, why):
    """What cannot be read is one sentence with the file and the element."""
    (tmp_path / "in").mkdir()
    write(tmp_path, "outside.xml", "<mujoco/>")
    with pytest.raises(sarrus.MechanismError) as caught:
        read(mjcf(tmp_path / "in", block("a"), rest))
    assert why in str(caught.value)
    assert "model.xml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_includes_inside_the_folder_are_read(tmp_path):
    """An include next to the file works; one that includes the file again is a circle."""
    write(tmp_path, "part.xml", f"<mujoco><worldbody>{block('b')}</worldbody></mujoco>")
    path = mjcf(tmp_path, block("a"), "<include file='part.xml'/>")
    assert {b.name for b in read(path).mechanism.bodies} == {"a", "b"}
    write(tmp_path, "part.xml", "<mujoco><include file='model.xml'/></mujoco>")
    with pytest.raises(sarrus.MechanismError, match="includes itself"):
        read(path)


@pytest.mark.slow
def test_missing_meshes_are_stripped_where_inertias_are_given(tmp_path):
    """A missing shape does no harm; a mass that only it defines is rejected by name."""
    assets = "<asset><mesh name='shell' file='shell.stl'/></asset>"
    geom = "<geom type='mesh' mesh='shell'/>"
    found = read(mjcf(tmp_path, block("a", inside=geom), assets))
    assert found.report.dropped["shapes whose file is not in the folder of the model"] == ["shell"]
    assert found.mechanism.bodies[0].mass == 1.0
    light = f"<body name='thin'><joint name='t'/>{geom}</body>"
    with pytest.raises(sarrus.MechanismError, match="the mass of thin comes from mesh files"):
        read(mjcf(tmp_path, block("a") + light, assets))


def test_package_missing_is_said_with_the_extra(tmp_path, monkeypatch):
    """Without mujoco the sentence names the extra."""
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(sarrus.MechanismError, match=r"pip install '\.\[formats\]'"):
        read(mjcf(tmp_path, block("a")))


@pytest.mark.slow
def test_flags_that_switch_off(tmp_path):
    """What the file disables does not act, and is reported."""
    springs = block("a", "<joint name='a' axis='0 1 0' stiffness='5' damping='2'/>")
    flags = "gravity='disable' spring='disable' equality='disable'"
    hold = "<equality><joint joint1='a' polycoef='0.3 0 0 0 0'/></equality>"
    found = read(mjcf(tmp_path, springs, hold, head=f"<option><flag {flags}/></option>"))
    assert not found.mechanism.gravity.any()
    (damper,) = found.mechanism.torsions
    assert (damper.stiffness, damper.damping) == (0.0, 2.0)
    assert found.report.dropped == {"equalities that are not active": ["a/fixed"]} or any(
        "not active" in kind for kind in found.report.dropped
    )
    assert "its flags switch off: equality, gravity, spring" in found.report.changed


@pytest.mark.slow
def test_weld_without_torque_holds_a_point(tmp_path):
    """torquescale 0 leaves the three equations of a connect; any other scale is a weld."""
    bodies = block("a", "<freejoint/>") + block("b", "<freejoint/>", "0.3 0 0")
    for scale, dof in (("0", 9), ("0.2", 6)):
        weld = f"<equality><weld body1='a' body2='b' anchor='0.1 0 0' torquescale='{scale}'/></equality>"
        found = read(mjcf(tmp_path, bodies, weld))
        assert sarrus.inspect(found.mechanism).mobility_motion == dof


def three_bars(folder, short, turned):
    """A plate on three bars side by side, turned against their base [rad]; both outer bars shorter by so much."""
    ends = [0.075 * np.array([np.cos(a), np.sin(a)]) for a in (0.26, 0.26 + turned)]
    middle = np.array([-0.27, 0.33])
    sites, bars, ties = "", "", ""
    for name, way in (("l", 1.0), ("r", -1.0)):
        bottom, top = way * ends[0], way * ends[1]
        bar = middle + top - bottom
        bar *= 1.0 - short / np.linalg.norm(bar)
        sites += f"<site name='{name}1' pos='{top[0]} 0 {top[1]}'/>"
        sites += f"<site name='{name}1z' pos='{top[0]} 0.1 {top[1]}'/>"
        tip = f"<site name='{name}2' pos='{bar[0]} 0 {bar[1]}'/><site name='{name}2z' pos='{bar[0]} .1 {bar[1]}'/>"
        place = f"{bottom[0]} 0 {bottom[1]}"
        bars += block(name, f"<joint name='{name}' axis='0 1 0'/>", place, tip, com="-0.1 0 0.1")
        for z in ("", "z"):
            ties += f"<connect name='{name}{z}' site1='{name}1{z}' site2='{name}2{z}'/>"
    top = f"{middle[0]} 0 {middle[1]}"
    plate = block("plate", "<joint name='top' axis='0 1 0'/>", top, sites, com="0 0 0.02")
    stand = block("middle", "<joint name='base' axis='0 1 0'/>", inside=plate, com="-0.1 0 0.1")
    return mjcf(folder, stand + bars, f"<equality>{ties}</equality>")


@pytest.mark.slow
def test_bridged_bars_are_changed_so_that_they_move(tmp_path):
    """Three bars side by side that do not close by some 1e-8 m, on an arm: bridged, they would be locked.

    Their dimensions are changed so that they move, and a note says so, whatever arm carries them. They are bridged
    near by, not where they would close better after moving by 0.1 m.
    """
    path = three_bars(tmp_path, 1e-7, 1e-3)
    authored, found = read(path, close=False), read(path)
    assert any("so that it moves" in line for line in found.report.closing)
    assert sarrus.inspect(found.mechanism).mobility_motion == 1
    for body, other in zip(found.mechanism.bodies, authored.mechanism.bodies, strict=True):
        assert np.abs(body.center - other.center).max() < 1e-4


@pytest.mark.slow
def test_bars_that_close_exactly_far_away_are_bridged_where_they_stand(tmp_path):
    """A gap of 1e-9 m closes exactly 0.1 m away, where the bars lock, one of 1e-8 m nowhere: both are bridged."""
    closings = []
    for short in (1e-9, 1e-8):
        path = three_bars(tmp_path, short, 1e-3)
        authored, found = read(path, close=False), read(path)
        assert sarrus.inspect(found.mechanism).mobility_motion == 1
        for body, other in zip(found.mechanism.bodies, authored.mechanism.bodies, strict=True):
            assert np.abs(body.center - other.center).max() < 1e-4
        closings.append("\n".join(found.report.closing))
    assert "close exactly only 0.118 m away ('plate'), where they are locked" in closings[0]
    assert "cannot be closed exactly" in closings[1]


@pytest.mark.slow
@pytest.mark.parametrize("short", [1e-9, 1e-8, 1e-7])
def test_bars_that_need_more_play_than_is_allowed_are_rejected(tmp_path, short):
    """Bars that differ by 3e-4 m move within 2e-5 m, and 4e-6 m are allowed: the sentence says what to allow.

    Those with smaller gaps close exactly some millimetres away, where they are locked as well.
    """
    path = three_bars(tmp_path, short, 5e-3)
    with pytest.raises(FormatError, match=r"give by 1\.8e-05 m let it move: .* misfit=4e-05"):
        read(path)
    found = read(path, misfit=4e-5)
    assert any("so that it moves" in line for line in found.report.closing)
    assert sarrus.inspect(found.mechanism).mobility_motion == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joints", "kinds"),
    [
        # two sliders are one joint; three have no equal, and stay
        ("<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 1'/>", ["rectangular"]),
        (
            "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>"
            "<joint type='slide' axis='0 1 1'/>",
            ["prismatic"] * 3,
        ),
    ],
)
def test_sliders_in_one_body_and_velocities_of_a_keyframe(tmp_path, joints, kinds):
    """They move as in MuJoCo, from the place and with the velocities of a keyframe, and back from a file."""
    count = len(joints.split("/>")) - 1
    inner = block("b", "<joint name='ball' type='ball'/>", "0.3 0.1 0")
    slid = " ".join(("0.1", "0.2", "-0.1")[:count])
    path = mjcf(
        tmp_path,
        block("a", joints, inside=inner),
        f"<keyframe><key name='go' qpos='{slid} 0.8 0.6 0 0' qvel='{slid} 1 2 -1'/></keyframe>",
    )
    found = read(path, keyframe="go")
    assert sorted(j.kind.value for j in found.mechanism.joints) == sorted([*kinds, "spherical"])
    assert "closed" in found.report.closing[0]
    result = sarrus.simulate(found.mechanism, 0.3, 0.3, tolerance=1e-11)
    model = mujoco.MjModel.from_xml_path(str(path))
    errors = []
    for step in (4e-3, 2e-3):
        theirs = places(model, step, 0.3, key=0)
        errors.append(max(np.abs(result.position(b)[-1] - p).max() for b, p in theirs.items()))
    # fourth order: MuJoCo's error falls by 16, until ours is met
    assert errors[0] < 1e-6
    assert errors[1] < errors[0] / 8.0 + 1e-10
    out = tmp_path / "out.xml"
    sarrus.formats.write_mjcf(found.mechanism, out)
    again = sarrus.simulate(read(out, keyframe="start").mechanism, 0.3, 0.3, tolerance=1e-11)
    assert np.abs(again.position("b")[-1] - result.position("b")[-1]).max() < 1e-9


@pytest.mark.slow
def test_a_keyframe_sets_the_velocity_of_welded_links(tmp_path):
    """A body of two links is named after the heavier one, which need not be the one with the joint."""
    heavy = "<body name='b' pos='0.2 0 0'><geom type='sphere' size='0.1' mass='5'/></body>"
    path = mjcf(
        tmp_path,
        "<body name='a'><joint type='hinge' axis='0 1 0'/><geom type='sphere' size='0.05' mass='1'/>"
        f"{heavy}</body>",
        "<keyframe><key name='go' qpos='0.5' qvel='2'/></keyframe>",
    )
    m = read(path, keyframe="go").mechanism
    assert len(m.bodies) == 1
    result = sarrus.simulate(m, 0.01, 0.01)
    # about y by 2 rad/s; 0.2 m from the hinge at 0.5 rad, with 5/6 of the mass
    arm = 0.2 * 5 / 6 * np.array([np.cos(0.5), 0.0, -np.sin(0.5)])
    expected = np.cross([0.0, 2.0, 0.0], arm)
    assert np.allclose(result.velocity(m.bodies[0].name)[0], expected, atol=1e-12)


def spherical_four_bar(folder, digits):
    """Four hinges whose axes meet in a point but for the digits, the last one two connects."""
    axes = np.array([[0.0, 0.0, 1.0], [0.6, 0.1, 0.8], [0.5, 0.9, 0.6], [-0.4, 0.7, 0.9]])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)

    def row(values):
        return " ".join(f"{x:.{digits}g}" for x in values)

    inside, base = "", axes[2]
    for number in (2, 1, 0):
        at = axes[number] - (axes[number - 1] if number else 0.0)
        sites = "" if number < 2 else "".join(
            f"<site name='{name}' pos='{row(far * axes[3] - 0.3 * base)}'/>"
            for name, far in (("p", 0.3), ("q", 0.4))
        )  # fmt: skip
        inside = (
            f"<body name='{'abc'[number]}' pos='{row(0.3 * at)}'><joint axis='{row(axes[number])}'/>"
            "<inertial pos='0.05 0.02 0' mass='1' diaginertia='0.01 0.02 0.02'/>"
            f"{sites}{inside}</body>"
        )
    ground = "".join(
        f"<site name='{name}' pos='{row(far * axes[3])}'/>"
        for name, far in (("P", 0.3), ("Q", 0.4))
    )
    rest = (
        "<equality><connect name='c1' site1='p' site2='P'/>"
        "<connect name='c2' site1='q' site2='Q'/></equality>"
    )
    return mjcf(folder, ground + inside, rest)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [6, 7, 9])
def test_printed_digits_are_closed_near_by(tmp_path, digits):
    """A loop that nearly moves is closed without moving far: bodies move by some times the gap."""
    path = spherical_four_bar(tmp_path, digits)
    authored, found = read(path, close=False), read(path)
    gap = 10.0**-digits
    for body, other in zip(found.mechanism.bodies, authored.mechanism.bodies, strict=True):
        # the arms of bodies are 0.3 m, their angles a few tenths of a radian
        assert np.abs(body.center - other.center).max() < 30.0 * gap
    assert sarrus.inspect(found.mechanism).mobility.motion == 1
