"""Mechanisms built from lengths: closed forms of circles and lines, plates, pins that are shared, messages."""

import numpy as np
import pytest

import sarrus
from sarrus.mechanism import Move, from_data, load, move_bodies, to_data


def place(m, name):
    """Where a joint or point is."""
    return next(part.at for part in (*m.joints, *m.markers) if part.name == name)


def cross(a, b):
    """Their cross product in the plane."""
    return a[0] * b[1] - a[1] * b[0]


def bodies_at(m, name):
    """The bodies of a joint."""
    return next(joint.bodies for joint in m.joints if joint.name == name)


def body(m, name):
    """A body by its name."""
    return next(b for b in m.bodies if b.name == name)


# lengths of four-bars: crank-rockers, a double crank, a double rocker, near the touching of two circles
LENGTHS = [(0.4, 0.1, 0.35, 0.3), (0.1, 0.4, 0.3, 0.35), (4, 3, 2, 3.5), (1, 0.5, 1, 0.5000001)]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("branch", ["open", "crossed"])
@pytest.mark.parametrize("angle", [0.3, 1.5, -2.0])
def test_four_bar_has_its_lengths_and_branch(lengths, branch, angle):
    """All four lengths and the crank angle hold to rounding; C is on the side that was chosen."""
    g, a, b, c = lengths
    m = sarrus.Mechanism()
    given = dict(ground=g, crank=a, coupler=b, rocker=c, angle=angle, branch=branch)
    reach = np.sqrt(g * g + a * a - 2 * g * a * np.cos(angle))
    if not abs(b - c) <= reach <= b + c:
        with pytest.raises(sarrus.MechanismError, match="cannot meet over the distance"):
            m.four_bar(**given, at=(1, 2), ground_angle=0.5)
        return
    m.four_bar(**given, at=(1, 2), ground_angle=0.5)
    A, B, C, D = (place(m, name) for name in "ABCD")
    found = [np.linalg.norm(x) for x in (D - A, B - A, C - B, D - C)]
    # the height over the ground line is a root of a difference: half of the digits where circles touch
    np.testing.assert_allclose(found, lengths, rtol=1e-12)
    np.testing.assert_allclose(np.arctan2(*(B - A)[::-1]), angle + 0.5, atol=1e-14)
    side = cross(D - B, C - B)
    assert (side > 0) == (branch == "open")


def test_slider_crank_is_the_closed_form():
    """Stroke position x = r cos + sqrt(l^2 - (r sin - e)^2), with offset and in any direction."""
    r, rod, e, angle, turn = 0.05, 0.18, 0.02, 1.1, 0.7
    for branch, sign in (("ahead", 1), ("behind", -1)):
        m = sarrus.Mechanism()
        m.slider_crank(
            crank=r, rod=rod, offset=e, angle=angle, slide_angle=turn, at=(3, 1), branch=branch
        )
        x = r * np.cos(angle) + sign * np.sqrt(rod**2 - (r * np.sin(angle) - e) ** 2)
        back = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        np.testing.assert_allclose(back @ (place(m, "B") - (3, 1)), (x, e), atol=1e-14)
        assert bodies_at(m, "guide") == ("ground", "slider")
        assert sarrus.inspect(m).mobility_motion == 1


def test_slider_first_or_second_is_the_same():
    """A PR dyad is an RP dyad with its links exchanged."""
    found = []
    for kind in ("RP", "PR"):
        m = sarrus.Mechanism()
        m.point("P", m.ground, (0, 0.3))
        m.point("line", m.ground, (1, -1))
        names, ends = ["rod", "slider"], ["P", "line"]
        step = 1 if kind == "RP" else -1
        m.dyad("C", names[::step], ends[::step], lengths=[1.9], kind=kind, axis=(1, 1))
        found.append(place(m, "C"))
        assert set(bodies_at(m, "C")) == {"rod", "slider"}
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(np.linalg.norm(found[0] - (0, 0.3)), 1.9, rtol=1e-14)
    np.testing.assert_allclose(cross(found[0] - (1, -1), (1, 1)), 0, atol=1e-14)


def test_cylinder_lies_between_its_pins():
    """An RPR dyad needs no intersection: both rods lie on the line between the pins, and 1 degree of freedom
    is left.
    """
    m = sarrus.Mechanism()
    m.point("A", m.ground, (0, 0))
    m.point("B", m.ground, (1, 0))
    m.crank("C", "boom", "A", length=1, angle=1, mass=2)
    m.dyad("stroke", ("barrel", "piston"), ("B", "C"), lengths=(0.6, 0.6), kind="RPR")
    along = place(m, "C") - place(m, "B")
    for name in ("barrel", "piston"):
        a, b = body(m, name).ends
        assert abs(cross(b - a, along)) < 1e-15
        assert np.linalg.norm(b - a) == pytest.approx(0.6)
    m.drive("oil", "stroke", sarrus.Polynomial([0, 0.1]))
    assert sarrus.inspect(m).mobility_motion == 1
    with pytest.raises(sarrus.MechanismError, match="do not overlap"):
        m.dyad("x", ("p", "q"), ("A", "C"), lengths=(0.4, 0.4), kind="RPR")


def test_pins_take_more_bodies_and_points_become_pins():
    """A second dyad at a pin joins it; a point of a plate becomes a joint of the same name."""
    m = load_leg()
    assert bodies_at(m, "X") == ("crank", "upper rod", "lower rod")
    assert bodies_at(m, "B") == ("ground", "knee", "shin")
    assert bodies_at(m, "D") == ("knee", "link")
    assert [marker.name for marker in m.markers] == ["foot"]
    assert sarrus.inspect(m).mobility_motion == 1


def load_leg():
    """The leg of the examples, built from lengths in a file."""
    from pathlib import Path

    return load(Path(__file__).parents[2] / "examples" / "jansen_leg.yaml")


def test_points_beyond_the_joints_of_a_link():
    """A lever that goes on behind its pin is one uniform rod; a point off its line makes a plate of a crank."""
    m = sarrus.Mechanism()
    m.point("O", m.ground, (0, 0))
    m.point("D", m.ground, (0.5, 0.1))
    bell = m.crank("X", "bell", "O", length=0.1, angle=1, mass=2, points={"Y": (0.08, 0.12)})
    assert len(bell.corners) == 3
    spot = next(p.at for p in m.markers if p.name == "Y")
    assert np.linalg.norm(spot) == pytest.approx(0.08)
    assert np.linalg.norm(spot - next(p.at for p in m.markers if p.name == "X")) == pytest.approx(
        0.12
    )
    points = {"tip": ("lever", 0.5, 0.2), "tail": {"body": "lever", "along": -0.1}}
    m.dyad("C", ("link", "lever"), ("Y", "D"), lengths=(0.5, 0.3), mass=1, points=points)
    lever = body(m, "lever")
    along = (place(m, "C") - place(m, "D")) / 0.3
    np.testing.assert_allclose(
        lever.ends, [place(m, "D") - 0.1 * along, place(m, "D") + 0.5 * along]
    )
    assert lever.inertia == pytest.approx(0.6**2 / 12)
    assert sarrus.inspect(m).mobility_motion == 1


def test_a_dyad_on_top_of_a_joint_is_noted():
    """A rhombus on the wrong side is its own mirror image: the note names the other side, which has none."""
    for side in ("left", "right"):
        m = sarrus.Mechanism("rhombus")
        m.point("O", m.ground, (0, 0))
        m.crank("A", "first", "O", length=1, angle=0.3, mass=1)
        m.crank("B", "second", "O", length=1, angle=1.3, mass=1)
        m.dyad("C", ("third", "fourth"), ("A", "B"), lengths=(1, 1), side=side)
        on_top = np.linalg.norm(place(m, "C")) < 1e-9
        other = "right" if side == "left" else "left"
        told = [note for note in sarrus.simulate(m, 0.01).notes if "lies on joint 'O'" in note]
        assert len(told) == on_top
        assert not told or f"side='{other}'" in told[0]


def test_leg_walks_as_jansens():
    """Its step is 67.88 mm long: the gallery's leg, from circle intersections by hand, a tenth of the size."""
    result = sarrus.simulate(load_leg(), 1, output_step=0.005)
    assert np.ptp(result.position("foot")[:, 0]) == pytest.approx(0.0679, abs=5e-5)


def test_points_of_links():
    """By distances from both joints, on either side, or in the frame of the link: the same place."""
    lengths = dict(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    r, s = 0.2, 0.25
    along = (r**2 - s**2 + 0.35**2) / (2 * 0.35)
    across = np.sqrt(r**2 - along**2)
    forms = [
        ((r, s), {"along": along, "across": across}),
        ((r, s, "right"), {"along": along, "across": -across}),
        ({"lengths": (r, s), "side": "right"}, {"along": along, "across": -across}),
    ]
    for one, other in forms:
        places = []
        for given in (one, other):
            m = sarrus.Mechanism()
            m.four_bar(**lengths, points={"P": given})
            places.append(place(m, "P"))
            assert body(m, "coupler").ends is None
        np.testing.assert_allclose(*places, atol=1e-15)


def test_points_on_the_line_of_a_link_leave_a_rod():
    """A point between the joints needs no plate."""
    m = sarrus.Mechanism()
    lengths = dict(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    m.four_bar(**lengths, points={"P": {"along": 0.1}})
    assert body(m, "coupler").ends is not None


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_plates_have_the_inertia_of_textbooks(shift):
    """A triangle m (a^2 + b^2 + c^2) / 36, a rectangle m (a^2 + b^2) / 12; points inside change nothing."""
    triangle = np.array([(0, 0), (3, 0), (1, 2)]) + shift
    sides = np.roll(triangle, 1, axis=0) - triangle
    m = sarrus.Mechanism()
    plate = m.plate("triangle", triangle, mass=5)
    # places far from the origin keep fewer digits
    close = 1e-13 + 1e-15 * shift
    np.testing.assert_allclose(plate.center, triangle.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(plate.inertia, 5 * (sides**2).sum() / 36, rtol=100 * close)
    corners = np.array([(0, 0), (4, 0), (4, 3), (0, 3), (1, 1)]) + shift
    plate = m.plate("rectangle", corners[[2, 0, 4, 1, 3]], mass=2)
    np.testing.assert_allclose(plate.center, shift + np.array((2, 1.5)), rtol=1e-14)
    np.testing.assert_allclose(plate.inertia, 2 * 25 / 12, rtol=100 * close)


def test_plates_are_written_back_as_plates(tmp_path):
    """With the bits they had; moved with their bodies; their mass varies with its inertia in ensembles."""
    m = load_leg()
    data = to_data(m)
    assert list(data["bodies"]["knee"]) == ["plate", "mass"]
    again = from_data(data)
    assert to_data(again) == data
    for old, new in zip(m.bodies, again.bodies, strict=True):
        assert (old.inertia.tobytes(), old.center.tobytes()) == (
            new.inertia.tobytes(),
            new.center.tobytes(),
        )
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    everything = [b.name for b in m.bodies]
    turned = move_bodies(
        m, dict.fromkeys(everything, Move(np.zeros(2), turn, np.array([0.3, -0.2])))
    )
    knee, before = (next(b for b in x.bodies if b.name == "knee") for x in (turned, m))
    assert list(knee.data()) == ["plate", "mass"]
    # rounding of six products
    assert float(knee.inertia) == pytest.approx(float(before.inertia), rel=1e-13)
    np.testing.assert_allclose(knee.center, turn @ before.center + (0.3, -0.2), rtol=1e-13)
    # a pendulum of another mass swings alike, if its inertia follows
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    m.plate("plate", [(0, 0), (1, 0), (0.4, 0.5)], mass=1)
    m.revolute("A", m.ground, "plate", at=(0, 0))
    m.point("tip", "plate", (1, 0))
    many = sarrus.Ensemble(m, {"bodies.plate.mass": [1.0, 2.0]}).simulate(1, 0.5, points=["tip"])
    np.testing.assert_allclose(*many.position("tip"), atol=1e-9)
    result = sarrus.simulate(m, 1, 0.5)
    by_mass = result.sensitivity("tip", wrt="bodies.plate.mass")
    np.testing.assert_allclose(by_mass.values, 0, atol=1e-9)
    with pytest.raises(sarrus.MechanismError, match="corners of plates have no derivatives"):
        result.sensitivity("tip", wrt="bodies.plate.plate.0.0")


def test_files_build_what_python_builds():
    """The same calls in a file give the same mechanism, units read and names prefixed."""
    m = sarrus.Mechanism("pair", gravity=(0, -9.81))
    m.plate("base", [(0, 0), (1, 0), (0, 1)], mass=2)
    m.weld("fixed", m.ground, "base")
    m.four_bar(
        ground=0.4,
        crank=0.1,
        coupler=0.35,
        rocker=0.3,
        angle=np.radians(60),
        mass=[1, 2, 3],
        points={"P": (0.2, 0.25)},
    )
    m.slider_crank(crank=0.05, rod=0.2, angle=1, at=(2, 0), prefix="s ", branch="behind")
    m.drive("motor", "s guide", sarrus.Polynomial((0, 0.001)))
    data = {
        "sarrus": 1,
        "name": "pair",
        "gravity": [0, -9.81],
        "bodies": {"base": {"plate": [[0, 0], [1, 0], [0, 1]], "mass": "2 kg"}},
        "joints": {"fixed": {"weld": ["ground", "base"]}},
        "build": {
            "first": {
                "four-bar": {
                    "ground": "400 mm",
                    "crank": 0.1,
                    "coupler": "35 cm",
                    "rocker": 0.3,
                    "angle": "60 deg",
                    "mass": ["1 kg", "2000 g", "3 kg"],
                    "points": {"P": {"lengths": [0.2, 0.25]}},
                }
            },
            "second": {
                "slider-crank": {
                    "crank": 0.05,
                    "rod": 0.2,
                    "angle": 1,
                    "at": [2, 0],
                    "prefix": "s ",
                    "branch": "behind",
                }
            },
        },
        "drives": {"motor": {"joint": "s guide", "polynomial": [0, "1 mm/s"]}},
    }
    assert to_data(from_data(data)) == to_data(m)


BAD = {
    "unknown ends": (
        {"C": {"dyad": ["a", "b"], "ends": ["x", "y"], "lengths": [1, 2]}},
        "no joint or point is called 'x'",
    ),
    "unknown kind": ({"C": {"dyed": ["a", "b"]}}, "did you mean 'dyad'"),
    "unknown length": ({"C": {"four-bar": {"krank": 1}}}, "did you mean 'crank'"),
    "too short": (
        {"C": {"four-bar": {"ground": 4, "crank": 1, "coupler": 1, "rocker": 1, "angle": 1}}},
        "build.C: lengths 1 and 1 m cannot meet",
    ),
    "too far": (
        {"C": {"slider-crank": {"crank": 1, "rod": 2, "offset": 5, "angle": 1}}},
        "does not reach",
    ),
}


@pytest.mark.parametrize("build", BAD.values(), ids=BAD)
def test_what_cannot_be_built_is_named(build):
    """The message has the path of the entry, the lengths and the distance."""
    entries, words = build
    with pytest.raises(sarrus.ModelFileError) as caught:
        from_data({"sarrus": 1, "gravity": [0, -9.81], "build": entries})
    assert words in str(caught.value)


def test_space_is_named():
    """Building from lengths is for the plane."""
    m = sarrus.Mechanism(gravity=(0, 0, -9.81))
    with pytest.raises(sarrus.MechanismError, match="planar"):
        m.four_bar(ground=1, crank=1, coupler=1, rocker=1, angle=1)


def rough():
    """A four-bar sketched by eye."""
    m = sarrus.Mechanism()
    m.rod("crank", (0, 0), (0.1, 0.9), mass=1)
    m.rod("coupler", (0.1, 0.9), (2.1, 1.3), mass=1)
    m.rod("rocker", (2.1, 1.3), (2, 0), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=(0.1, 0.9))
    m.revolute("C", "coupler", "rocker", at=(2.1, 1.3))
    m.revolute("D", "rocker", m.ground, at=(2, 0))
    m.point("middle", "coupler", (1.1, 1.1))
    return m


def test_rough_coordinates_and_lengths_are_assembled_in_one_call():
    """Ground pins stay, rods have their lengths, and what is on a rod keeps its share of it."""
    lengths = {"crank": 1.0, "coupler": 2.0, "rocker": 1.25}
    done = sarrus.assemble(rough(), lengths=lengths).mechanism
    for name, length in lengths.items():
        a, b = body(done, name).ends
        assert np.linalg.norm(b - a) == pytest.approx(length, rel=1e-13)
    np.testing.assert_allclose(place(done, "A"), (0, 0), atol=1e-13)
    np.testing.assert_allclose(place(done, "D"), (2, 0), atol=1e-13)
    middle = (place(done, "B") + place(done, "C")) / 2
    np.testing.assert_allclose(place(done, "middle"), middle, atol=1e-12)
    with pytest.raises(sarrus.MechanismError, match="no rod of that name"):
        sarrus.assemble(rough(), lengths={"crunk": 1})


def test_lengths_of_rods_in_files():
    """`length` of a rod with `assemble: true` is the same as the call."""
    data = to_data(rough())
    for name, length in (("crank", "1 m"), ("coupler", 2), ("rocker", "125 cm")):
        data["bodies"][name]["length"] = length
    data["assemble"] = True
    result = sarrus.simulate(from_data(data, check=False), 0.1)
    lengths = {"crank": 1.0, "coupler": 2.0, "rocker": 1.25}
    done = sarrus.assemble(rough(), lengths=lengths).mechanism
    np.testing.assert_allclose(result.position("C")[0], place(done, "C"), atol=1e-12)


def test_a_slider_is_read_and_drawn_at_its_own_point():
    """The point of a guide may be far from the slider: position, moment and picture are those of the slider."""
    m = sarrus.Mechanism("engine", gravity=(0, 0))
    m.slider_crank(crank=0.05, rod=0.15, angle=0.7, mass=[0.2, 0.5, 0.4])
    m.drive("motor", "O", sarrus.Polynomial([0, 10.0]))
    result = sarrus.simulate(m, 0.1, output_step=0.05)
    np.testing.assert_allclose(result.position("guide"), result.position("B"), atol=1e-15)
    # the pin's force on the slider passes through it, so the guide's reaction does, too
    np.testing.assert_allclose(result.reaction("guide").moment, 0.0, atol=1e-14)
    guide = next(sign for sign in result.scene.sketch.signs if sign.name == "guide")
    np.testing.assert_allclose(
        np.array(result.scene.sketch.places)[list(guide.points)],
        [result.position("B")[0]] * 2,
        atol=1e-15,
    )
    # either end of a slider that the ground carries: moments are about the point that is read
    for bodies in (("ground", "block"), ("block", "ground")):
        for guide_at, own in ((0.0, 0.3), (0.3, 0.0)):
            m = sarrus.Mechanism("block", gravity=(0, 0))
            m.body("block", 1.0, center=(0.3, 0), inertia=0.1)
            m.prismatic("g", *bodies, at=[(guide_at, 0), (own, 0)], axis=(1, 0))
            m.force("f", "block", at=(0.3, 0), vector=(0, -10))
            m.drive("d", "g", sarrus.Polynomial([0, 0.1]))
            result = sarrus.simulate(m, 1.0, output_step=1.0)
            reaction, x = result.reaction("g", "block"), result.position("g")[:, 0]
            np.testing.assert_allclose(
                reaction.moment, 10 * (result.position("block")[:, 0] - x), atol=1e-12
            )


def test_a_body_is_no_place_to_begin_a_link():
    """Links begin at points: the message for a body says how to name one."""
    m = sarrus.Mechanism("press")
    m.point("K", m.ground, (0, 0.3))
    with pytest.raises(
        sarrus.MechanismError, match=r"'ground' is a body.*point\('P', 'ground', at\)"
    ):
        m.dyad("S", ("lower", "ram"), ("K", m.ground), kind="RP", lengths=0.25, axis=(0, -1))
