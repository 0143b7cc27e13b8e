from dataclasses import replace

import numpy as np
import pytest

import sarrus
from format_files import four_bar, write
from sarrus.formats import read


def kinds(mechanism):
    return sorted(j.kind.value for j in mechanism.joints)


def reported(imported, word):
    return [line for line in imported.report.sentences if word in line]


@pytest.mark.slow
def test_closure_of_a_point_closes_the_loop(tmp_path):
    """A 3d closure is a ball joint; the loop closes to rounding, the move is reported."""
    found = read(four_bar(tmp_path))
    assert kinds(found.mechanism) == ["revolute"] * 3 + ["spherical"]
    assert reported(found, "the authored pose is open")
    assert reported(found, "was assembled")
    tip, head = (
        next(p.at for p in found.mechanism.markers if p.name == n) for n in ("tip", "head")
    )
    assert np.linalg.norm(tip - head) < 1e-15
    # three equations, of which the one along the hinges is redundant
    assert sarrus.inspect(found.mechanism).mobility_motion == 1
    assert sarrus.inspect(found.mechanism).redundant_motion == 1
    assert found.report.believed == 0


def test_everything_dropped_is_reported_by_name(tmp_path):
    """Friction, effort limits: each with the joint's name; damping and limits are taken."""
    found = read(four_bar(tmp_path))
    assert found.report.dropped["dry friction of joints"] == ["a"]
    [limit] = found.mechanism.limits
    # closing the loop has moved the joint, not the stops
    assert limit.joint == "d"
    assert limit.upper - limit.lower == pytest.approx(2.0, abs=1e-12)
    assert set(found.report.dropped["limits of effort and velocity"]) == {"b", "d"}
    assert [t.damping for t in found.mechanism.torsions] == [0.02]
    # the notes of a run begin with it
    result = sarrus.simulate(found.mechanism, 0.1)
    assert result.notes[: len(found.report.sentences)] == found.report.sentences


def test_6d_closure_makes_two_links_one_body(tmp_path):
    """Welding the tip to the head makes coupler and rocker one body: a triangle, which is a structure."""
    found = read(four_bar(tmp_path, kind="6d"), close=False)
    assert len(found.mechanism.bodies) == 2
    assert reported(found, "weld 'tip/head' makes 'tip' and 'head' one body; they stood")
    assert sarrus.inspect(found.mechanism).mobility_motion == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("element", "closing"),
    [
        (
            "<loop_joint name='c' type='spherical'><link1 link='coupler' xyz='0.4 0 0'/>"
            "<link2 link='rocker' xyz='0 0 0.3' rpy='0 0 0'/></loop_joint>",
            "spherical",
        ),
        (
            "<loop_joint name='c' type='revolute'><link1 link='coupler' xyz='0.4 0 0'/>"
            "<link2 link='rocker' xyz='0 0 0.3'/><axis xyz='0 1 0'/></loop_joint>",
            "revolute",
        ),
        (
            "<constraint name='c' type='position'><predecessor link='coupler'/><successor link='rocker'/>"
            "<predecessor_origin xyz='0.4 0 0'/><successor_origin xyz='0 0 0.3'/></constraint>",
            "spherical",
        ),
        (
            "<loop name='c' type='3d'><predecessor link='coupler'><origin xyz='0.4 0 0'/></predecessor>"
            "<successor link='rocker'><origin xyz='0 0 0.3'/></successor></loop>",
            "spherical",
        ),
    ],
)
def test_dialects_of_closures_move_alike(tmp_path, element, closing):
    """A loop reported by any dialect moves as the one reported by a YAML file."""
    ours = read(four_bar(tmp_path)).mechanism
    other = read(four_bar(tmp_path, "none", element, name="other")).mechanism
    assert other.joints[-1].kind.value == closing
    a, b = (sarrus.simulate(m, 0.4, output_step=0.1).position("rocker") for m in (ours, other))
    assert np.abs(a - b).max() < 1e-11


def test_three_hinges_through_massless_links_are_a_ball(tmp_path):
    """Chains of massless links that form one ball joint become it."""
    more = """
      <link name="i1"/><link name="i2"/><link name="bob"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="r0" type="revolute"><parent link="rocker"/><child link="i1"/><origin xyz="0 0 0.1"/>
        <axis xyz="1 0 0"/></joint>
      <joint name="r1" type="revolute"><parent link="i1"/><child link="i2"/><axis xyz="0 1 0"/></joint>
      <joint name="r2" type="revolute"><parent link="i2"/><child link="bob"/><axis xyz="0 0 1"/></joint>
    """
    found = read(four_bar(tmp_path, more=more))
    assert kinds(found.mechanism).count("spherical") == 2
    assert reported(found, "joints 'r0', 'r1', 'r2' through massless links are one: spherical")


def chain(tmp_path, first, second, xyz="0 0 0"):
    """Two joints in a row through a massless link; each: type and axis."""
    (t1, a1), (t2, a2) = first, second
    more = f"""
      <link name="i1"/><link name="bob"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="r0" type="{t1}"><parent link="rocker"/><child link="i1"/><origin xyz="0 0 0.1"/>
        <axis xyz="{a1}"/></joint>
      <joint name="r1" type="{t2}"><parent link="i1"/><child link="bob"/><origin xyz="{xyz}"/>
        <axis xyz="{a2}"/></joint>"""
    return four_bar(tmp_path, more=more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "xyz", "expected", "freedom"),
    [
        (("continuous", "1 0 0"), ("continuous", "0 1 0"), "0 0 0", ["universal"], 2),
        (("continuous", "1 0 0"), ("continuous", "1 0 0"), "0.1 0 0", ["revolute"], 1),
        (("continuous", "1 0 0"), ("continuous", "1 0 0"), "0 0.1 0", ["distance", "planar"], 2),
        (("prismatic", "1 0 0"), ("continuous", "1 0 0"), "0 0 0", ["cylindrical"], 2),
        (("prismatic", "1 0 0"), ("continuous", "0 1 0"), "0 0 0", ["planar", "point-on-line"], 2),
        (("prismatic", "1 0 0"), ("spherical", "0 1 0"), "0 0 0", ["point-on-line"], 4),
        (("prismatic", "0 0 1"), ("planar", "0 0 1"), "0 0 0", None, 0),
    ],
)
def test_two_joints_through_a_massless_link(tmp_path, first, second, xyz, expected, freedom):
    """Joints in a row become the joint that leaves the same degrees of freedom, or are rejected by name."""
    path = chain(tmp_path, first, second, xyz)
    if expected is None:
        with pytest.raises(
            sarrus.MechanismError, match="'r0', 'r1' in a row through massless links"
        ):
            read(path)
        return
    found = read(path).mechanism
    new = sorted(j.kind.value for j in found.joints if j.name.startswith("r0"))
    assert new == expected
    assert sarrus.inspect(found).mobility_motion == 1 + freedom


@pytest.mark.slow
def test_axes_that_do_not_meet_keep_the_link(tmp_path):
    """Two skew hinges through a massless link have no equivalent: the link stays, with a tiny mass."""
    path = chain(tmp_path, ("continuous", "1 0 0"), ("continuous", "0 1 0"), "0 0 0.05")
    found = read(path)
    assert any("because no single joint is equivalent" in line for line in found.report.changed)
    assert sarrus.inspect(found.mechanism).mobility_motion == 3
    heavier = found.mechanism.copy()
    light = min(b.mass for b in heavier.bodies)
    heavier.bodies = [
        replace(b, mass=1e4 * b.mass, inertia=1e4 * b.inertia) if b.mass == light else b
        for b in heavier.bodies
    ]
    ours, other = (sarrus.simulate(m, 0.2, 0.2) for m in (found.mechanism, heavier))
    assert ours.status == "done"
    # 1e-9 of the mean mass: what it changes is of that order
    for b in heavier.bodies:
        assert np.abs(ours.position(b.name) - other.position(b.name)).max() < 1e-7


def test_joint_types_of_the_closure_file(tmp_path):
    """SPHERICAL, UJOINT_XY and FIXED of a closure file; a name that is not there is reported."""
    told_ = (
        "closed_loop: [['tip', 'head']]\njoint_name: ['b', 'd', 'x']\n"
        "joint_type: ['SPHERICAL', 'UJOINT_YZ', 'FIXED']\ntype: ['3D']\n"
    )
    found = read(four_bar(tmp_path, told_))
    assert kinds(found.mechanism) == ["revolute", "spherical", "spherical", "universal"]
    assert found.report.dropped["joint types in bar.yaml for joints that are not there"] == ["x"]


def test_floating_root(tmp_path):
    """The root is fixed unless it is declared free."""
    fixed = read(four_bar(tmp_path))
    assert reported(fixed, "its root link 'base' is fixed")
    more = "<link name='hull'/>"
    with pytest.raises(sarrus.MechanismError, match="'base', 'hull' have no parent"):
        read(four_bar(tmp_path, more=more))
    path = four_bar(tmp_path)
    text = path.read_text().replace(
        '<link name="base"/>',
        '<link name="base"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
    )
    path.write_text(text)
    assert len(read(path, floating=True).mechanism.bodies) == 4


MIMIC = """
  <link name="twin"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="t" type="{kind}"><parent link="base"/><child link="twin"/>
    <origin xyz="0 {y} 0.5"/><axis xyz="{axis}"/><mimic joint="a" multiplier="{ratio}" offset="{offset}"/></joint>
"""


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, -2.0, 0.3333333333])
def test_mimic_is_a_coupling(tmp_path, ratio):
    """A hinge that copies another one turns in proportion; the degrees of freedom are those that the file
    believes in.
    """
    more = MIMIC.format(kind="continuous", y=0.2, axis="0 1 0", ratio=ratio, offset=0)
    found = read(four_bar(tmp_path, more=more))
    result = sarrus.simulate(found.mechanism, 1.0, output_step=0.05)
    a, t = result.angle("a"), result.angle("t")
    # ten printed digits of a third
    assert np.abs(t - ratio * a).max() < 1e-9
    assert np.abs(a).max() > 0.1
    assert sarrus.inspect(found.mechanism).mobility_motion == 1
    out = tmp_path / "out.urdf"
    sarrus.formats.write_urdf(found.mechanism, out)
    (again,) = read(out).mechanism.couplings
    assert (again.joint, again.other, again.ratio) == ("t", "a", ratio)


def test_mimic_with_an_offset(tmp_path):
    """The joint stands where the other one says before anything moves, and after the loop is closed."""
    ahead = []
    for offset in (0.0, 0.4):
        more = MIMIC.format(kind="continuous", y=0.2, axis="0 1 0", ratio=1, offset=offset)
        found = read(four_bar(tmp_path, more=more))
        angles = []
        for joint, body in (("a", "crank"), ("t", "twin")):
            at = next(j.at for j in found.mechanism.joints if j.name == joint)
            x, _, z = next(b.center for b in found.mechanism.bodies if b.name == body) - at
            angles.append(np.arctan2(-z, x))
        ahead.append(angles[1] - angles[0])
    assert reported(found, "body 'twin' was moved by 0.4 rad")
    assert ahead[1] - ahead[0] == pytest.approx(0.4, abs=1e-12)


def test_mimic_that_no_equation_says_is_rejected(tmp_path):
    """An irrational ratio, and a slider that copies a hinge: one sentence with the numbers."""
    more = MIMIC.format(kind="continuous", y=0.2, axis="0 1 0", ratio=3.14159265, offset=0)
    with pytest.raises(sarrus.MechanismError, match=r"3\.14159265 is not a ratio of whole numbers"):
        read(four_bar(tmp_path, more=more))
    more = MIMIC.format(kind="prismatic", y=0.2, axis="0 1 0", ratio=2, offset=0)
    with pytest.raises(sarrus.MechanismError, match="does not couple two hinges or two sliders"):
        read(four_bar(tmp_path, more=more))


def test_held_mimic_is_a_weld(tmp_path):
    """A joint fixed at an angle has that angle."""
    more = MIMIC.format(kind="continuous", y=0.2, axis="0 1 0", ratio=0, offset=0.5)
    found = read(four_bar(tmp_path, more=more))
    assert "twin" not in [b.name for b in found.mechanism.bodies]
    assert reported(found, "joint 't' is fixed at 0.5")


@pytest.mark.slow
def test_loop_that_cannot_close_is_rejected_with_the_gap(tmp_path):
    """A rocker that is too far away: the loop and its gap are named."""
    path = four_bar(tmp_path)
    path.write_text(path.read_text().replace('xyz="0.45 0 0"', 'xyz="1.45 0 0"'))
    with pytest.raises(sarrus.AssemblyError, match=r"bar.urdf: .*loop .*cannot be closed.*open by"):
        read(path)
    # inspect states it as authored
    assert "inconsistent" in sarrus.inspect(read(path, close=False).mechanism).classes


@pytest.mark.slow
def test_loop_that_nearly_closes_is_bridged_and_reported(tmp_path):
    """A hinge closure 1e-7 m out of the plane cannot close exactly: it is bridged, with the misfit."""
    loop = (
        "<loop_joint name='c' type='revolute'><link1 link='coupler' xyz='0.4 1e-7 0'/>"
        "<link2 link='rocker' xyz='0 0 0.3'/><axis xyz='0 1 0'/></loop_joint>"
    )
    path = four_bar(tmp_path, "none", loop)
    found = read(path)
    assert reported(found, "cannot be closed exactly")
    assert reported(found, "is bridged")
    assert sarrus.inspect(found.mechanism).mobility_motion == 1
    with pytest.raises(sarrus.AssemblyError):
        read(path, misfit=0.0)


def test_impossible_inertia(tmp_path):
    """Printed digits are repaired and reported; nonsense is rejected by name."""
    path = four_bar(tmp_path)
    text = path.read_text()
    path.write_text(
        text.replace(
            'ixx="0.001" iyy="0.004" izz="0.004"', 'ixx="0.0019" iyy="0.002" izz="0.00391"'
        )
    )
    assert reported(read(path), "inertia of body 'crank': no body has it")
    path.write_text(
        text.replace('ixx="0.001" iyy="0.004" izz="0.004"', 'ixx="0.001" iyy="0.001" izz="0.004"')
    )
    with pytest.raises(sarrus.MechanismError, match="body 'crank': no body has principal inertias"):
        read(path)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('type="continuous"', 'type="screw"', "joint 'a': its type 'screw' is not read"),
        (
            '<axis xyz="0 1 0"/><dynamics',
            '<axis xyz="0 0 0"/><dynamics',
            "joint 'a': its axis has length zero",
        ),
        ('<child link="crank"/>', '<child link="wheel"/>', "there is no link 'wheel'"),
        ('<child link="rocker"/>', '<child link="crank"/>', "is the child of joints 'a' and 'd'"),
        ('<link name="head"/>', '<link name="tip"/>', "two links are called 'tip'"),
        ('mass value="1.5"', 'mass value="-1.5"', "mass -1.5 kg is negative"),
        ('mass value="1.5"', 'mass value="much"', "not numbers"),
        ('mass value="1.5"', 'mass value="1e300"', "is out of range"),
        ('mass value="1.5"', 'mass value="nan"', "is out of range"),
        ("<robot ", "<sdf ", "its root is <sdf>"),
    ],
)
def test_refusals_name_the_element(tmp_path, old, new, why):
    """What cannot be read is one sentence with the file and the element."""
    path = four_bar(tmp_path)
    text = path.read_text().replace(old, new)
    path.write_text(text.replace("</robot>", "</sdf>") if "sdf" in new else text)
    with pytest.raises(sarrus.MechanismError) as caught:
        read(path)
    assert why in str(caught.value)
    assert "bar.urdf" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_joints_in_a_circle_are_rejected(tmp_path):
    """Links that are each other's child never end: one sentence."""
    more = """<link name="x"/><link name="y"/>
      <joint name="xy" type="fixed"><parent link="x"/><child link="y"/></joint>
      <joint name="yx" type="fixed"><parent link="y"/><child link="x"/></joint>"""
    with pytest.raises(sarrus.MechanismError, match="circle"):
        read(four_bar(tmp_path, more=more))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("closed_loop: [['tip', 'nose']]\n", "there is no joint or link 'nose'"),
        ("closed_loop: [['tip', 'head']]\ntype: ['7d']\n", "its type '7d' is not read"),
        ("closed_loop: [['tip']]\n", "is not a pair"),
        ("closed_loop: tip\n", "closed_loop is not a list"),
        ("closed_loop: [['tip', 'head']\n", "not YAML"),
        ("closed_loop: [['tip', 'head']]\njoint_name: [b]\njoint_type: [SCREW]\n", "'SCREW'"),
    ],
)
def test_bad_closure_files(tmp_path, text, why):
    """A closure file that cannot be read is rejected; it is never left out silently."""
    with pytest.raises(sarrus.MechanismError, match=r"bar\.(yaml|urdf)") as caught:
        read(four_bar(tmp_path, text))
    assert why in str(caught.value)


def test_closure_inside_one_body(tmp_path):
    """A closure between two places of one body holds already (redundant), or can never hold (rejected)."""
    more = (
        "<link name='hat'/><joint name='hj' type='fixed'><parent link='rocker'/><child link='hat'/>"
        + ("<origin xyz='0 0 {z}'/></joint>")
    )
    told_ = "closed_loop: [['tip', 'head'], ['hat', 'head']]\ntype: ['3d', '3d']\n"
    found = read(four_bar(tmp_path, told_, more.format(z=0.3)))
    assert reported(
        found, "'hat/head' connects two places of one rigid body: its 3 equations are redundant"
    )
    with pytest.raises(sarrus.MechanismError, match=r"0\.1 m"):
        read(four_bar(tmp_path, told_, more.format(z=0.4)))


def test_pinocchio_agrees_on_a_loop(tmp_path):
    """Accelerations of a closed loop, at rest, are those of Pinocchio's constrained dynamics."""
    from pinocchio_reference import center_accelerations
    from sarrus.formats import write_urdf

    mechanism = read(four_bar(tmp_path)).mechanism
    mechanism.torsions.clear()
    path = tmp_path / "closed.urdf"
    write_urdf(mechanism, path)
    theirs = center_accelerations(path)
    result = sarrus.simulate(mechanism, 1e-3, output_step=1e-3)
    found = {"a": "crank", "b": "coupler", "d": "rocker"}
    for joint, body in found.items():
        assert result.acceleration(body)[0] == pytest.approx(theirs[joint], abs=1e-11)
    assert max(np.abs(a).max() for a in theirs.values()) > 1.0


def test_xml_that_is_a_urdf(tmp_path):
    """The root of an XML file says what it is; an unknown one is rejected."""
    path = four_bar(tmp_path)
    other = write(tmp_path, "bar.xml", path.read_text())
    assert len(read(other).mechanism.bodies) == 3
    assert len(sarrus.load(other).bodies) == 3
    strange = write(tmp_path, "strange.xml", "<html/>")
    with pytest.raises(sarrus.MechanismError, match="its root is <html>"):
        sarrus.load(strange)
    with pytest.raises(sarrus.MechanismError, match="only MJCF has keyframes"):
        read(path, keyframe="home")


@pytest.mark.parametrize(
    ("ratios", "sentence", "dof"),
    [
        ({"a": ("a", "1")}, "couples joint 'a' with itself", None),
        ({"b": ("a", "nan")}, "is out of range", None),
        ({"b": ("a", "1e-300")}, "is not a ratio of whole numbers", None),
        ({"b": ("a", "0.998")}, "", 1),
        ({"a": ("b", "1"), "b": ("a", "1")}, "", 1),
        ({"a": ("b", "2"), "b": ("a", "2")}, "", 0),
    ],
)
def test_odd_mimics(tmp_path, ratios, sentence, dof):
    """Joints that copy themselves or each other, and numbers that no gear has: one sentence, or the truth."""
    lines = ['<robot name="r"><link name="base"/>']
    for name, parent, child in (("a", "base", "one"), ("b", "one", "two")):
        mimic = (
            "<mimic joint='{}' multiplier='{}'/>".format(*ratios[name]) if name in ratios else ""
        )
        lines.append(
            f"<link name='{child}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
            f"<joint name='{name}' type='continuous'><parent link='{parent}'/><child link='{child}'/>"
            f"<axis xyz='0 0 1'/>{mimic}</joint>"
        )
    path = tmp_path / "r.urdf"
    path.write_text("".join([*lines, "</robot>"]))
    if sentence:
        with pytest.raises(sarrus.MechanismError, match=sentence):
            read(path)
        return
    assert sarrus.inspect(read(path).mechanism).mobility_motion == dof
