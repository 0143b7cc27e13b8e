"""Small files of other programs, written for these tests."""

import textwrap

FOUR_BAR_URDF = """
<robot name="four bar">
  <link name="base"/>
  <link name="crank"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="coupler"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.002" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rocker"><inertial><origin xyz="0 0 0.15"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="a" type="continuous"><parent link="base"/><child link="crank"/>
    <origin xyz="0 0 0" rpy="0 -0.6 0"/><axis xyz="0 1 0"/><dynamics damping="0.02" friction="0.1"/></joint>
  <joint name="b" type="revolute"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0.2 0 0" rpy="0 0.4 0"/><axis xyz="0 1 0"/><limit effort="1" velocity="2"/></joint>
  <joint name="d" type="revolute"><parent link="base"/><child link="rocker"/>
    <origin xyz="0.45 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="2"/></joint>
  <link name="tip"/>
  <joint name="tip_joint" type="fixed"><parent link="coupler"/><child link="tip"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 0 0"/></joint>
  <link name="head"/>
  <joint name="head_joint" type="fixed"><parent link="rocker"/><child link="head"/><origin xyz="0 0 0.3"/></joint>
  {more}
</robot>
"""


def write(folder, name, text):
    """A file in a folder; its path."""
    path = folder / name
    path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return path


def four_bar(folder, closure="", more="", kind="3d", name="bar"):
    """The four-bar above; closure: lines of its YAML file, else its tip is closed to its head."""
    reported = closure or f"closed_loop: [['tip', 'head']]\ntype: ['{kind}']\n"
    if reported != "none":
        write(folder, f"{name}.yaml", reported)
    return write(folder, f"{name}.urdf", FOUR_BAR_URDF.format(more=more))


def mjcf(folder, body, rest="", name="model", head=""):
    """An MJCF file with these bodies."""
    return write(
        folder,
        f"{name}.xml",
        f"<mujoco model='{name}'><compiler angle='radian'/>{head}<worldbody>{body}</worldbody>{rest}</mujoco>",
    )


def block(name, joint="<joint name='{0}'/>", pos="0 0 0", inside="", mass=1.0, com="0.1 0 0.02"):
    """A body of MJCF with a plain inertia."""
    return (
        f"<body name='{name}' pos='{pos}'>{joint.format(name)}<inertial pos='{com}' mass='{mass}' "
        f"diaginertia='0.01 0.02 0.015'/>{inside}</body>"
    )
