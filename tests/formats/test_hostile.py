"""Files of strangers: each is one sentence, quickly, and nothing outside its folder is opened."""

import numpy as np
import pytest

import sarrus
from format_files import FOUR_BAR_URDF, block, four_bar, mjcf, write
from sarrus.formats import read
from sarrus.formats.formulas import make_motion, parse
from sarrus.formats.parts import FormatError

BOMB = """<?xml version="1.0"?>
<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<{root} name="&c;"/>
"""


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.xml", BOMB.format(root="mujoco"), "entity"),
        ("a.urdf", BOMB.format(root="robot"), "entity"),
        ("a.urdf", '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name="x"/>', "document type"),
        ("a.urdf", "<robot>" * 100, "nested more than"),
        ("a.urdf", "", "empty"),
        ("a.urdf", "\0\0\0", "not XML"),
        ("a.xml", "<mujoco>", "not XML"),
        ("a.asmt", "", "no Assembly"),
        ("a.asmt", "x\n" + "\t" * 50 + "deep\n", "levels"),
        ("a.asmt", "x\nAssembly\n\t\t\tfar\n", "levels deep"),
        ("a.asmt", "x\nAssembly\n", "Position3D|RotationMatrix"),
        ("a.step", "x", "ending"),
    ],
)
def test_hostile_text(tmp_path, name, text, why):
    """Bombs, depth, emptiness and rubbish are rejected in one line."""
    path = write(tmp_path, name, text)
    with pytest.raises(sarrus.MechanismError, match=why) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    """A path that leads nowhere is a sentence, not a traceback."""
    for name in ("nothing.urdf", "nothing.xml", "nothing.asmt"):
        with pytest.raises(sarrus.MechanismError, match="cannot be read"):
            read(tmp_path / name)
    (tmp_path / "dir.urdf").mkdir()
    with pytest.raises(sarrus.MechanismError, match="not a file"):
        read(tmp_path / "dir.urdf")


@pytest.mark.parametrize("number", ["1e300", "nan", "inf", "-1e13", "1e999"])
def test_gigantic_numbers(tmp_path, number):
    """Numbers beyond any mechanism are rejected with their line."""
    text = FOUR_BAR_URDF.format(more="").replace('xyz="0.45 0 0"', f'xyz="{number} 0 0"')
    with pytest.raises(sarrus.MechanismError, match=r"line \d+: <origin> xyz.*is out of range"):
        read(write(tmp_path, "a.urdf", text))
    with pytest.raises(sarrus.MechanismError, match=r"<body> pos=.*is out of range"):
        read(mjcf(tmp_path, block("a", pos=f"{number} 0 0")))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "time.__class__",
        "(lambda: 1)()",
        "[1][0]",
        "sin(time, time)",
        "sin(x)",
        "1 +",
        "time if time else 1",
        "9" * 30_000,
        "(" * 5000,
    ],
)
def test_formulas_hold_nothing_but_arithmetic(text):
    """A formula with anything but numbers, time and known functions is rejected."""
    with pytest.raises(sarrus.MechanismError, match="formula"):
        parse(text)


def test_formula_that_overflows_is_rejected():
    """A tower of powers is a number that is not finite, not an endless computation."""
    with pytest.raises(sarrus.MechanismError, match="not finite"):
        make_motion(parse("9^9^9^9 * sin(time)*time"), 0.0, 1.0)


@pytest.mark.slow
def test_no_file_outside_the_folder_is_read(tmp_path, monkeypatch):
    """A mesh in another folder is stripped, not opened."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    (tmp_path / "model").mkdir()
    write(tmp_path, "secret.stl", "solid")
    assets = "<asset><mesh name='m' file='../secret.stl'/></asset>"
    geom = "<geom type='mesh' mesh='m'/>"
    found = read(mjcf(tmp_path / "model", block("a", inside=geom), assets))
    assert found.report.dropped["shapes whose file is not in the folder of the model"] == ["m"]
    assert np.isfinite(found.mechanism.bodies[0].center).all()


@pytest.mark.slow
def test_replicas_and_includes_that_multiply(tmp_path):
    """Copies of copies are counted before anything is built: one sentence, at once."""
    inner = block("r")
    small = mjcf(
        tmp_path, f"<replicate count='3' offset='0.2 0 0'>{inner}</replicate>", name="small"
    )
    assert len(read(small).mechanism.bodies) == 3
    many = f"<replicate count='9999'><replicate count='9999'>{inner}</replicate></replicate>"
    with pytest.raises(FormatError, match="more than 200000 elements"):
        read(mjcf(tmp_path, many, name="many"))
    for k in range(15):
        twice = f"<include file='i{k + 1}.inc'/>" * 2 if k < 14 else ""
        write(tmp_path, f"i{k}.inc", f"<mujocoinclude>{twice}</mujocoinclude>")
    with pytest.raises(FormatError, match="more than 200000 elements"):
        read(
            write(tmp_path, "twice.xml", "<mujoco>" + "<include file='i0.inc'/>" * 8 + "</mujoco>")
        )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("closed_loop: 5\n", "closed_loop is not a list"),
        ("closed_loop: [[tip, head]]\ntype: 3d\n", "type is not a list"),
        ("closed_loop: [[tip, head]]\ntype: ['3d']\njoint_name: 5\n", "joint_name is not a list"),
        (
            "closed_loop: [[tip, head]]\ntype: ['3d']\njoint_name: [a]\n",
            "1 joint_name and 0 joint_type",
        ),
        ("closed_loop: [[tip, head]]\ntype: ['3d']\nname_mot: 7\n", "name_mot is not a list"),
    ],
)
def test_closure_files_that_hold_something_else(tmp_path, text, why):
    """Words where lists are meant, and lists that do not fit: one sentence with the key."""
    with pytest.raises(FormatError, match=why):
        read(four_bar(tmp_path, text))
