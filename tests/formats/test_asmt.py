import numpy as np
import pytest

import sarrus
from asmt_files import assembly, crank_slider, item, joint, marker, motion, part
from format_files import write
from sarrus.formats import read
from sarrus.formats.formulas import make_motion, parse


def reported(found, word):
    return [line for line in found.report.sentences if word in line]


def test_driven_crank_slider_has_its_closed_form(tmp_path):
    """The block of a driven crank: r cos a + sqrt(l^2 - r^2 sin^2 a), all turn long."""
    found = read(write(tmp_path, "a.asmt", crank_slider()))
    result = sarrus.simulate(found.mechanism, 1.0, output_step=0.01)
    a = 2.0 * np.pi * result.times
    x = 0.3 * np.cos(a) + np.sqrt(0.25 - (0.3 * np.sin(a)) ** 2)
    assert np.abs(result.position("block origin")[:, 0] - x).max() < 1e-11
    assert found.mechanism.defaults == {"duration": 1.0, "output_step": 0.1}
    assert reported(found, "it states no units")
    assert found.report.believed == 6 * 3 - 4 * 5 - 1
    assert found.mechanism.drives[0].motion == sarrus.Polynomial((0.0, 2.0 * np.pi))


def test_stored_series_is_read_without_the_input_column(tmp_path):
    """Times and columns by path; the first column is the input pose, not a time."""
    tail = [
        "TimeSeries",
        "Number\tInput\t1\t2",
        "Time\tInput\t0.0 \t0.5 ",
        "PartSeries /A/block",
        *(f"{c}\t9\t{v}\t{w}" for c, v, w in (("X", 0.8, 0.2), ("Y", 0, 0), ("Z", 0, 0))),
        *(f"Bryant{c}\t9\t0\t{v}" for c, v in zip("xyz", (0.1, 0.2, 0.3), strict=True)),
        "RevoluteJointSeries /A/pin",
        "FXonI\t0\t1.5\t-2",
    ]
    found = read(write(tmp_path, "a.asmt", crank_slider(tail=tail)))
    series = found.series
    assert series.times.tolist() == [0.0, 0.5]
    assert series.columns["/A/block"]["X"].tolist() == [0.8, 0.2]
    assert series.columns["/A/pin"]["FXonI"].tolist() == [1.5, -2.0]
    turn = series.turns("/A/block")[1]
    assert turn[:, 2] == pytest.approx(
        [np.sin(0.2), -np.sin(0.1) * np.cos(0.2), np.cos(0.1) * np.cos(0.2)]
    )
    assert found.report.paths["/A/block"] == "block"
    result = sarrus.simulate(found.mechanism, 0.5, output_step=0.5)
    assert result.position("block origin")[:, 0] == pytest.approx(series.columns["/A/block"]["X"])


def test_drive_that_starts_elsewhere_moves_the_pose(tmp_path):
    """An authored crank at 0 whose motion begins at 0.4 rad stands at 0.4 rad, its loop closed."""
    found = read(write(tmp_path, "a.asmt", crank_slider("0.4d + time^2")))
    assert reported(found, "to fit joint 'turn'")
    result = sarrus.simulate(found.mechanism, 0.5, output_step=0.5)
    a = np.array([0.4, 0.65])
    assert result.position("knee")[:, 1] == pytest.approx(0.3 * np.sin(a), abs=1e-12)
    x = 0.3 * np.cos(a) + np.sqrt(0.25 - (0.3 * np.sin(a)) ** 2)
    assert result.position("block origin")[:, 0] == pytest.approx(x, abs=1e-12)


def test_reactions_do_not_depend_on_the_redundancy(tmp_path):
    """The slider's rail as a cylinder: the same motion and the same forces in the plane."""
    runs = [
        sarrus.simulate(
            read(write(tmp_path, "a.asmt", crank_slider(slider=kind))).mechanism,
            0.3,
            output_step=0.1,
        )
        for kind in ("TranslationalJoint", "CylindricalJoint")
    ]
    forces = [r.reaction("knee").force for r in runs]
    assert forces[0][:, :2] == pytest.approx(forces[1][:, :2], abs=1e-9)
    assert runs[0].reaction("knee").force_unique[:, :2].all()


def pendulum(kind, **options):
    parts = [
        part(
            "bob",
            "0 0 0",
            marker("m", "0 0 0", **options.pop("frame", {})),
            center="0 -0.4 0.1",
            **options,
        )
    ]
    return assembly([marker("O", "0 0 0")], parts, [joint(kind, "j", "O", "bob/m")])


@pytest.mark.parametrize(
    ("kind", "expected", "dof"),
    [
        ("RevoluteJoint", ["revolute"], 1),
        ("CylindricalJoint", ["cylindrical"], 2),
        ("TranslationalJoint", ["prismatic"], 1),
        ("SphericalJoint", ["spherical"], 3),
        ("PlanarJoint", ["planar"], 3),
        ("PointInLineJoint", ["point-on-line"], 4),
        ("PointInPlaneJoint", ["point-on-plane"], 5),
    ],
)
def test_kinds_of_joints(tmp_path, kind, expected, dof):
    """Each joint leaves the degrees of freedom its name says."""
    found = read(write(tmp_path, "a.asmt", pendulum(kind)))
    assert [j.kind.value for j in found.mechanism.joints] == expected
    assert sarrus.inspect(found.mechanism).mobility_motion == dof == found.report.believed


def test_cross_whose_axes_are_not_square_is_turned(tmp_path):
    """A universal joint authored with parallel axes stands at a right angle."""
    found = read(write(tmp_path, "a.asmt", pendulum("UniversalJoint")))
    assert reported(found, "to fit joint 'j'")
    assert sarrus.inspect(found.mechanism).mobility_motion == 2


def test_distance_and_two_hinges_apart(tmp_path):
    """SphSph is a link of the length reported, RevRev the same in the plane; the authored length does not
    count.
    """
    for kind, dof in (("SphSphJoint", 5), ("RevRevJoint", 2)):
        parts = [part("bob", "0.3 0 0", marker("m", "0 0 0"), center="0 -0.1 0")]
        link = joint(kind, "link", "O", "bob/m", item("distanceIJ", "0.5"))
        found = read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], parts, [link])))
        result = sarrus.simulate(found.mechanism, 0.5, output_step=0.1)
        apart = np.linalg.norm(result.position("bob origin"), axis=1)
        assert apart == pytest.approx(0.5, abs=1e-12)
        assert sarrus.inspect(found.mechanism).mobility_motion == dof


def test_fixed_joint_met_half_turned(tmp_path):
    """Fixed joints hold for half turns as well: a part authored that way is not flipped."""
    flip = "-1 0 0", "0 -1 0", "0 0 1"
    parts = [
        part("a", "0 0 0", marker("m", "0 0 0"), marker("n", "0 0.2 0"), center="0 -0.1 0"),
        part("b", "0 0.2 0", marker("n", "0 0 0", flip), center="0.1 0 0"),
    ]
    joints = [joint("RevoluteJoint", "h", "O", "a/m"), joint("FixedJoint", "f", "a/n", "b/n")]
    found = read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], parts, joints)))
    assert len(found.mechanism.bodies) == 1
    assert found.mechanism.bodies[0].center == pytest.approx([0.05, 0.05, 0.0])


def test_massless_cylinder_between_hinges_is_a_driven_length(tmp_path):
    """A hydraulic cylinder of two massless parts: hinge, driven slider, hinge."""
    along = "0 0 1", "1 0 0", "0 1 0"
    parts = [
        part("beam", "0 0 0", marker("o", "0 0 0"), marker("e", "0.4 0.3 0"), center="0.2 0 0"),
        part(
            "tube",
            "0.4 0 0",
            marker("f", "0 0 0"),
            marker("s", "0 0 0", along),
            mass="0.0",
            moments="0 0 0",
        ),
        part(
            "piston",
            "0.4 0.3 0",
            marker("e", "0 0 0"),
            marker("s", "0 0 0", along),
            mass="0.0",
            moments="0 0 0",
        ),
    ]
    joints = [
        joint("RevoluteJoint", "o", "O", "beam/o"),
        joint("RevoluteJoint", "f", "F", "tube/f"),
        joint("TranslationalJoint", "s", "tube/s", "piston/s"),
        joint("RevoluteJoint", "e", "piston/e", "beam/e"),
    ]
    drive = [motion("TranslationalMotion", "push", "s", "0.3 + 0.1*sin(2*pi*time)")]
    text = assembly([marker("O", "0 0 0"), marker("F", "0.4 0 0")], parts, joints, drive)
    found = read(write(tmp_path, "a.asmt", text))
    assert sorted(j.kind.value for j in found.mechanism.joints) == [
        "distance",
        "planar",
        "revolute",
    ]
    found.mechanism.point("eye", "beam", (0.4, 0.3, 0.0))
    result = sarrus.simulate(found.mechanism, 1.0, output_step=0.05)
    length = np.linalg.norm(result.position("eye") - (0.4, 0.0, 0.0), axis=1)
    assert length == pytest.approx(0.3 + 0.1 * np.sin(2 * np.pi * result.times), abs=1e-11)


def test_parts_without_mass(tmp_path):
    """Where nothing weighs, each gets a little, reported; a prescribed one as well; one that swings freely is
    lost.
    """
    text = crank_slider().replace("1.0d", "0.0")
    found = read(write(tmp_path, "a.asmt", text))
    assert reported(found, "nothing in the file has a mass")
    result = sarrus.simulate(found.mechanism, 0.5, output_step=0.25)
    assert result.position("block origin")[-1, 0] == pytest.approx(0.2, abs=1e-11)
    parts = [
        part(
            "arm", "0 0 0", marker("m", "0 0 0"), marker("e", "0.2 0 0"), mass="0", moments="0 0 0"
        ),
        part("bob", "0.2 0 0", marker("m", "0 0 0"), center="0 -0.3 0"),
    ]
    joints = [
        joint("RevoluteJoint", "h", "O", "arm/m"),
        joint("RevoluteJoint", "k", "arm/e", "bob/m"),
    ]
    spin = [motion("RotationalMotion", "spin", "h", "time")]
    found = read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], parts, joints, spin)))
    assert reported(found, "without mass: arm; each was given 1e-06 kg: its motion is prescribed")


def test_start_velocities_of_free_parts(tmp_path):
    """A thrown part keeps its velocity and spin; a driven mechanism takes its own."""
    parts = [
        part(
            "stone", "0 0 0", velocity="1 2 0", spin="0 0 3", center="0 0 0", moments="0.1 0.1 0.1"
        )
    ]
    found = read(write(tmp_path, "a.asmt", assembly([], parts, [])))
    result = sarrus.simulate(found.mechanism, 0.5, output_step=0.5)
    assert result.position("stone origin")[-1] == pytest.approx([0.5, 1.0 - 0.125 * 9.81, 0.0])
    assert result.angular_velocity("stone")[-1] == pytest.approx([0, 0, 3])


def test_spring_damper(tmp_path):
    """A pull that is linear in length and rate is a spring and damper; any other is rejected."""
    parts = [part("bob", "0 -0.5 0", marker("m", "0 0 0"), center="0 0 0")]

    def text(pull):
        force = item(
            "InLineForceTorque",
            item("Name", "coil"),
            item("MarkerI", "/A/O"),
            item("MarkerJ", "/A/bob/m"),
            item("tension", pull),
            item("twist", "0"),
        )
        return assembly([marker("O", "0 0 0")], parts, [], forces=[force])

    found = read(
        write(tmp_path, "a.asmt", text("(0.0d + 10.0d*(rIJ(self) + (-0.4d)) + 0.5d*vrIJ(self))"))
    )
    (spring,) = found.mechanism.springs
    assert (spring.stiffness, spring.damping, spring.free_length) == pytest.approx((10.0, 0.5, 0.4))
    with pytest.raises(sarrus.MechanismError, match=r"'coil'.*is not a spring and damper"):
        read(write(tmp_path, "a.asmt", text("rIJ(self)^2")))


def test_general_motion_of_one_coordinate(tmp_path):
    """Six prescribed coordinates of which one varies are a driven slider."""
    parts = [part("boat", "0 0 0", marker("m", "0 0 0"), center="0 0 0")]
    zero = [item(w, "0") for w in ("rIJI1", "rIJI2", "angIJJ1", "angIJJ2", "angIJJ3")]
    wave = joint("GeneralMotion", "wave", "O", "boat/m", *zero, item("rIJI3", "0.1*sin(2*pi*time)"))
    found = read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], parts, [], [wave])))
    result = sarrus.simulate(found.mechanism, 0.25, output_step=0.25)
    assert result.position("boat origin")[-1] == pytest.approx([0, 0, 0.1], abs=1e-12)
    more = joint(
        "GeneralMotion",
        "wave",
        "O",
        "boat/m",
        *zero[1:],
        item("rIJI3", "time"),
        item("rIJI1", "time"),
    )
    with pytest.raises(sarrus.MechanismError, match="prescribes 2 coordinates at once"):
        read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], parts, [], [more])))


def wheels(radii, driven="a", carrier="O", turned=False, formula="3.0d*time"):
    """Two wheels 0.5 apart on the ground, or on an arm that turns about the first; which hinge is driven."""
    down = "1 0 0", "0 -1 0", "0 0 -1"
    parts = [
        part("p", "0 0 0", marker("m", "0 0 0"), marker("g", "0 0 0.1"), center="0 0 0"),
        part(
            "q",
            "0.5 0 0",
            marker("m", "0 0 0", *([down] if turned else [])),
            marker("g", "0 0 0.1"),
        ),
    ]
    joints = [
        joint("RevoluteJoint", "a", "O", "p/m"),
        # counted from the wheel to what carries it
        joint("RevoluteJoint", "b", "q/m", "X" if carrier == "O" else "arm/x"),
        joint(
            "GearJoint",
            "mesh",
            "p/g",
            "q/g",
            *(item(f"radius{c}", r) for c, r in zip("IJ", radii, strict=True)),
        ),
    ]
    if turned:
        joints[1] = joint("RevoluteJoint", "b", "q/m", "Y")
    if carrier != "O":
        parts.append(
            part("arm", "0 0 0", marker("o", "0 0 0"), marker("x", "0.5 0 0"), center="0.2 0 0")
        )
        joints.append(joint("RevoluteJoint", "c", "O", "arm/o"))
        joints[0] = joint("RevoluteJoint", "a", "arm/o", "p/m")
    marks = [marker("O", "0 0 0"), marker("X", "0.5 0 0"), marker("Y", "0.5 0 0", down)]
    return assembly(marks, parts, joints, [motion("RotationalMotion", "spin", driven, formula)])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("driven", ["a", "b"])
def test_gears_roll(tmp_path, driven, turned):
    """The wheels' angles are as their radii, against each other, whichever is driven and however markers lie."""
    found = read(write(tmp_path, "g.asmt", wheels(("1.0d", "2.0d"), driven, turned=turned)))
    (tie,) = found.mechanism.couplings
    assert abs(tie.ratio) == {"a": 0.5, "b": 2.0}[driven]
    result = sarrus.simulate(found.mechanism, 1.0, output_step=0.25)
    spins = [result.angular_velocity(name)[:, 2] for name in "pq"]
    assert spins[0] == pytest.approx(-2.0 * spins[1], abs=1e-10)
    assert np.abs(spins["ab".index(driven)]) == pytest.approx(3.0, abs=1e-10)
    assert found.report.believed == 0


def test_gears_on_an_arm(tmp_path):
    """A sun that stands still, an arm that turns: the planet turns by 1 + r/R as fast as the arm."""
    text = wheels(("2.0d", "1.0d"), "a", carrier="arm", formula="-1.0d*time")
    found = read(write(tmp_path, "g.asmt", text))
    m = found.mechanism
    m.drive("swing", "c", sarrus.Polynomial((0.0, 1.0)))
    result = sarrus.simulate(m, 0.5, output_step=0.25)
    assert result.angular_velocity("p")[:, 2] == pytest.approx(0.0, abs=1e-10)
    assert result.angular_velocity("q")[:, 2] == pytest.approx(3.0, abs=1e-10)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("1.0d\n", "0.0\n", "a radius is zero"),
        ("1.0d\n", "1.0306d\n", "is not a ratio of whole numbers"),
        (
            "0 0 0.1",
            "0.01 0 0.1",
            "its two wheels do not turn, about their markers' z, in hinges of one part",
        ),
    ],
)
def test_gears_that_are_rejected(tmp_path, old, new, why):
    """No wheel, no teeth, no common carrier: one sentence with the joint's name."""
    text = wheels(("1.0d", "2.0d")).replace("mass", "Mass")
    at = text.index("radiusI") if "radius" in why or "ratio" in why else 0
    text = text[:at] + text[at:].replace(old, new, 1)
    with pytest.raises(sarrus.MechanismError, match=why) as caught:
        read(write(tmp_path, "g.asmt", text))
    assert "mesh" in str(caught.value)


def test_empty_and_repeated_names(tmp_path):
    """Parts without a name or with the same one get their own, reported; an ambiguous marker is rejected."""
    two = [part("", "0 0 0", marker("m", "0 0 0")), part("part", "1 0 0", marker("m", "0 0 0"))]
    found = read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], two, [])))
    assert [b.name for b in found.mechanism.bodies] == ["part", "part_"]
    assert reported(found, "is called 'part_' here")
    twice = [part("p", "0 0 0", marker("m", "0 0 0")), part("p", "1 0 0", marker("m", "0 0 0"))]
    joints = [joint("RevoluteJoint", "j", "O", "p/m")]
    with pytest.raises(sarrus.MechanismError, match="two markers are called '/A/p/m'"):
        read(write(tmp_path, "a.asmt", assembly([marker("O", "0 0 0")], twice, joints)))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "TranslationalJoint",
            "ScrewJoint",
            "ScrewJoint 'rail' has no equivalent here: it relates an angle to a length",
        ),
        ("/A/rod/q", "/A/rod/z", "there is no marker '/A/rod/z'"),
        ("/A/turn", "/A/twist", "there is no joint '/A/twist'"),
        ("2.0d*pi*time", "tanh(time)", "the formula tanh(time) cannot be read"),
        ("1.0d", "heavy", "are not numbers"),
        ("0.25 0 0", "1e200 0 0", "is out of range"),
        ("0 -9.81 0", "0 -9.81", "2 numbers, 3 are needed"),
        ("\t\t1 0 0\n\t\t0 1 0\n", "\t\t1 1 0\n\t\t0 1 0\n", "is not a rotation"),
    ],
)
def test_refusals_name_the_element(tmp_path, old, new, why):
    """What cannot be read is one sentence with the file and the element."""
    text = crank_slider()
    assert old in text
    with pytest.raises(sarrus.MechanismError) as caught:
        read(write(tmp_path, "a.asmt", text.replace(old, new)))
    assert why in str(caught.value)
    assert "a.asmt" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.0d*pi*time", sarrus.Polynomial((0.0, 2 * np.pi))),
        ("45.0d", sarrus.Polynomial((45.0,))),
        ("(time - 1)^2/4", sarrus.Polynomial((0.25, -0.5, 0.25))),
        ("1.0d + 0.3d*sin(2.0d*pi*time - pi/2.0d)", sarrus.Sine(0.3, 1.0, -np.pi / 2, 1.0)),
        ('"note"<n>2*cos(4*pi*time)', sarrus.Sine(2.0, 2.0, np.pi / 2, 0.0)),
    ],
)
def test_formulas_that_are_motions_to_the_last_bit(text, expected):
    """Powers of time and single sines keep their numbers."""
    assert make_motion(parse(text), 0.0, 1.0) == (expected, "")


def test_other_formulas_are_tables_with_their_error(tmp_path):
    """A formula beyond that becomes a table that meets it between its rows, and says so."""
    found = read(
        write(tmp_path, "a.asmt", crank_slider("arctan(5*(time - 0.5)) + time*sin(3*time)"))
    )
    assert reported(found, "its formula is a table of")
    result = sarrus.simulate(found.mechanism, 0.9, output_step=0.9)
    a = np.arctan(5 * 0.4) + 0.9 * np.sin(2.7)
    assert result.position("knee")[-1] == pytest.approx(
        [0.3 * np.cos(a), 0.3 * np.sin(a), 0], abs=1e-8
    )
