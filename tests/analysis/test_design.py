"""The designer's quantities against the closed forms of textbooks."""

import dataclasses

import numpy as np
import pytest

import sarrus
from sarrus.analysis import find_four_bars, find_slider_cranks, list_numbers

G, A, B, C = 0.4, 0.1, 0.35, 0.3
START, SPEED = 1.0, 10.0


def four_bar(**more):
    """A crank-rocker, its crank at START from the ground line."""
    m = sarrus.Mechanism("crank-rocker", gravity=(0, 0))
    m.four_bar(ground=G, crank=A, coupler=B, rocker=C, angle=START, mass=[0.2, 0.5, 0.4], **more)
    return m


def solve_four_bar(angle):
    """Directions of coupler and rocker (from D to C) of the open branch, by the law of cosines."""
    bx, by = A * np.cos(angle), A * np.sin(angle)
    dx, dy = G - bx, -by
    z = np.hypot(dx, dy)
    coupler = np.arctan2(dy, dx) + np.arccos((B * B + z * z - C * C) / (2 * B * z))
    cx, cy = bx + B * np.cos(coupler), by + B * np.sin(coupler)
    return coupler, np.arctan2(cy, cx - G)


@pytest.fixture(scope="module")
def rocker():
    """Its design at constant speed."""
    return sarrus.design(four_bar(), joint="A", speed=SPEED)


def test_transmission_angle_is_the_law_of_cosines(rocker):
    """At every position, and least where crank and ground are in line."""
    found = rocker.transmission_angles["A-B-C-D"]
    np.testing.assert_allclose(
        found, rocker.four_bars[0].transmission(START + rocker.input), atol=1e-11
    )
    ends = [(B * B + C * C - (G + s * A) ** 2) / (2 * B * C) for s in (-1, 1)]
    least = min(min(x, np.pi - x) for x in np.arccos(ends))
    # positions are half a degree apart, and the least is quadratic
    assert found.min() == pytest.approx(least, abs=2e-5)


def test_mechanical_advantage_is_that_of_freudenstein(rocker):
    """w4 / w2 = a sin(x3 - x2) / (c sin(x3 - x4)), in the angles of the links."""
    x2 = START + rocker.input
    x3, x4 = solve_four_bar(x2)
    ratio = A * np.sin(x3 - x2) / (C * np.sin(x3 - x4))
    rate, _ = rocker.output_rates("D")
    np.testing.assert_allclose(rate, SPEED * ratio, atol=1e-9 * SPEED)
    moving = np.abs(ratio) > 1e-3
    found = rocker.mechanical_advantage("D")
    np.testing.assert_allclose(found[moving], 1 / ratio[moving], rtol=1e-7)


def test_limit_positions_and_time_ratio(rocker):
    """The rocker turns back where crank and coupler are in line; the time ratio follows from these angles."""
    crank = {}
    for sign in (1, -1):
        reach = B + sign * A
        # of the diagonal AC; folded, the crank points away from C
        x = np.arccos((G * G + reach * reach - C * C) / (2 * G * reach))
        crank[sign] = x if sign > 0 else x + np.pi
    found = rocker.limits("D")
    assert len(found) == 2
    wanted = sorted((x - START) % (2 * np.pi) for x in crank.values())
    np.testing.assert_allclose([limit.drive for limit in found], wanted, atol=1e-10)
    _, x4 = solve_four_bar(np.array(wanted) + START)
    _, start = solve_four_bar(START)
    np.testing.assert_allclose([limit.output for limit in found], x4 - start, atol=1e-10)
    assert {limit.largest for limit in found} == {True, False}
    alpha = abs((crank[1] - crank[-1]) % (2 * np.pi) - np.pi)
    assert rocker.time_ratio("D") == pytest.approx((np.pi + alpha) / (np.pi - alpha), rel=1e-10)


def test_torque_is_that_of_the_reflected_inertia(rocker):
    """At constant speed T = J'(x) w^2 / 2 [Eksergian]; J from links as bodies of textbooks."""
    masses = {"crank": 0.2, "coupler": 0.5, "rocker": 0.4}

    def inertia(x2):
        # velocities of the links for a crank rate of 1, by the equations of Freudenstein
        x3, x4 = solve_four_bar(x2)
        w3 = A * np.sin(x4 - x2) / (B * np.sin(x3 - x4))
        w4 = A * np.sin(x3 - x2) / (C * np.sin(x3 - x4))
        cx = -A * np.sin(x2) - B / 2 * w3 * np.sin(x3)
        cy = A * np.cos(x2) + B / 2 * w3 * np.cos(x3)
        coupler = masses["coupler"] * (cx**2 + cy**2 + B**2 * w3**2 / 12)
        return masses["crank"] * A**2 / 3 + coupler + masses["rocker"] * C**2 * w4**2 / 3

    x = START + rocker.input
    np.testing.assert_allclose(rocker.reflected_inertia, inertia(x), rtol=1e-9)
    # central differences of order four: 1e-12 of the values over the step
    h = 1e-3
    slope = (8 * (inertia(x + h) - inertia(x - h)) - inertia(x + 2 * h) + inertia(x - 2 * h)) / (
        12 * h
    )
    np.testing.assert_allclose(rocker.torque, slope * SPEED**2 / 2, atol=1e-8 * SPEED**2 * A)
    assert rocker.peak_torque == pytest.approx(np.abs(rocker.torque).max())
    mean = (rocker.torque[:-1] ** 2).mean()
    assert rocker.rms_torque == pytest.approx(np.sqrt(mean), rel=1e-9)
    np.testing.assert_allclose(rocker.power, SPEED * rocker.torque)
    np.testing.assert_array_equal(rocker.torque_speed[:, 1], rocker.torque)


def test_shaking_force_and_moment_are_the_ground_reactions():
    """Two routes: inertia of the bodies, and what the pins exert on the ground; no gravity acts."""
    m = four_bar()
    m.drive("motor", "A", sarrus.Polynomial([0, SPEED]))
    found = sarrus.design(m, np.linspace(0, 0.6, 40))
    result, place = found.result, np.array((0.3, -0.2))
    force = moment = 0.0
    for joint in ("A", "D"):
        on_ground = result.reaction(joint, "ground").force
        arm = result.position(joint) - place
        force = force + on_ground
        moment = moment + arm[:, 0] * on_ground[:, 1] - arm[:, 1] * on_ground[:, 0]
    moment = moment + result.reaction("motor", "ground").moment
    size = np.abs(force).max()
    np.testing.assert_allclose(found.shaking_force, force, atol=1e-8 * size)
    np.testing.assert_allclose(found.shaking_moment(place), moment, atol=1e-8 * size)


def test_instant_centres_obey_kennedy(rocker):
    """The coupler turns about the intersection of the lines of crank and rocker; pins are centres themselves."""
    result = rocker.result
    place = {name: result.position(name) for name in "ABCD"}
    found = rocker.instant_centre("coupler")
    for first, second in (("A", "B"), ("D", "C")):
        d, e = place[second] - place[first], found - place[first]
        cross = d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0]
        scale = np.linalg.norm(d, axis=1) * (1 + np.linalg.norm(e, axis=1))
        assert np.abs(cross / scale).max() < 1e-9
    np.testing.assert_allclose(rocker.instant_centre("crank"), place["A"], atol=1e-9)
    np.testing.assert_allclose(rocker.instant_centre("coupler", "crank"), place["B"], atol=1e-9)
    # of crank and rocker: on the ground line, dividing it as the rates
    centre = rocker.instant_centre("rocker", "crank")
    w, _ = rocker.output_rates("D")
    np.testing.assert_allclose(centre[:, 1], 0, atol=1e-8)
    np.testing.assert_allclose(SPEED * centre[:, 0], w * (centre[:, 0] - G), rtol=1e-7, atol=1e-8)


def test_translation_has_its_centre_at_infinity():
    """The coupler of a parallelogram does not turn; its output follows the crank one to one."""
    m = sarrus.Mechanism(gravity=(0, 0))
    m.four_bar(ground=0.4, crank=0.2, coupler=0.4, rocker=0.2, angle=1.0)
    m.drive("motor", "A", sarrus.Polynomial([0, 1.0]))
    found = sarrus.design(m, np.linspace(0, 1.5, 20))
    assert np.isnan(found.instant_centre("coupler")).all()
    np.testing.assert_allclose(found.mechanical_advantage("D"), 1.0, rtol=1e-9)
    assert found.four_bars[0].kind == "change point"


def test_slider_crank_stroke_and_time_ratio():
    """Dead centres of an offset slider-crank where crank and rod are in line; transmission by the rod's slope."""
    r, rod, e = 0.05, 0.2, 0.02
    m = sarrus.Mechanism(gravity=(0, 0))
    m.slider_crank(crank=r, rod=rod, offset=e, angle=0.5)
    found = sarrus.design(m, joint="O")
    [loop] = found.slider_cranks
    assert (loop.crank, loop.rod, loop.offset) == pytest.approx((r, rod, e))
    first, second = found.limits("guide")
    stroke = np.sqrt((rod + r) ** 2 - e**2) - np.sqrt((rod - r) ** 2 - e**2)
    assert abs(first.output - second.output) == pytest.approx(stroke, rel=1e-10)
    assert loop.stroke == pytest.approx(stroke)
    out, back = np.arcsin(e / (rod + r)), np.pi + np.arcsin(e / (rod - r))
    wanted = sorted((x - 0.5) % (2 * np.pi) for x in (out, back))
    np.testing.assert_allclose([first.drive, second.drive], wanted, atol=1e-10)
    ratio = (back - out) / (2 * np.pi - back + out)
    assert found.time_ratio("guide") == pytest.approx(max(ratio, 1 / ratio), rel=1e-9)
    slope = np.arcsin((r * np.sin(0.5 + found.input) - e) / rod)
    np.testing.assert_allclose(
        found.transmission_angles["O-A-B-guide"], np.pi / 2 - np.abs(slope), atol=1e-10
    )


def test_limit_position_at_the_start():
    """A crank that starts at a dead centre of its slider: that limit position counts once, at t = 0."""
    for angle in (0.0, 1e-12, np.pi):
        m = sarrus.Mechanism(gravity=(0, 0))
        m.slider_crank(crank=0.04, rod=0.14, angle=angle)
        found = sarrus.design(m, joint="O", speed=10.0)
        first, second = found.limits("guide")
        assert (first.time, first.drive) == pytest.approx((0.0, 0.0), abs=1e-11)
        assert second.drive == pytest.approx(np.pi, abs=1e-10)
        assert first.largest == (angle < 1)
        assert second.largest != first.largest
        assert found.time_ratio("guide") == pytest.approx(1.0, rel=1e-10)


@pytest.mark.parametrize(
    "motion", [sarrus.Sine(0.9, 0.5), sarrus.SmoothStep(0, 4.0, 0.2, 1.0)], ids=["sine", "step"]
)
def test_configurations_alone_determine_the_advantage(motion):
    """Also where the drive rests: dx/ds of the closed form. A drive that turns back makes no limit position."""
    r, rod, start = 0.05, 0.2, 0.7
    m = sarrus.Mechanism()
    m.slider_crank(crank=r, rod=rod, angle=start, mass=[0.2, 0.3, 0.5])
    m.drive("motor", "O", motion)
    found = sarrus.design(m)
    x = start + found.input
    slope = -r * np.sin(x) - r**2 * np.sin(x) * np.cos(x) / np.sqrt(rod**2 - (r * np.sin(x)) ** 2)
    np.testing.assert_allclose(1 / found.mechanical_advantage("guide"), slope, atol=1e-12)
    np.testing.assert_allclose(found.mechanical_advantage("slider.x"), 1 / slope, rtol=1e-9)
    limits = found.limits("guide")
    passes = [-0.7, -0.7] if isinstance(motion, sarrus.Sine) else [np.pi - start]
    np.testing.assert_allclose([limit.drive for limit in limits], passes, atol=1e-9)
    assert found.advantage_unit("guide") == "1/m"
    assert "guide.mechanical advantage [1/m]" in found.columns()
    if isinstance(motion, sarrus.Sine):
        # both are the same end
        with pytest.raises(ValueError, match="one at each end"):
            found.time_ratio("guide")
    # the kinetic energy of rigid bodies at unit speed, by the slopes of their centres
    assert np.isfinite(found.reflected_inertia).all()
    moving = np.abs(found.speed) > 1e-2 * np.abs(found.speed).max()
    inertia = 2 * found.result.kinetic_energy[moving] / found.speed[moving] ** 2
    np.testing.assert_allclose(found.reflected_inertia[moving], inertia, rtol=1e-9)


def shaper(r, d, start):
    """A crank about (0, d) whose block slides in a lever about the origin."""
    m = sarrus.Mechanism(gravity=(0, 0))
    pin = np.array([r * np.cos(start), d + r * np.sin(start)])
    m.rod("crank", (0, d), pin, mass=0.3)
    m.rod("lever", (0, 0), 2 * pin, mass=0.8)
    m.body("block", mass=0.1, center=pin, inertia=1e-4)
    m.revolute("C", m.ground, "crank", at=(0, d))
    m.revolute("O", m.ground, "lever", at=(0, 0))
    m.revolute("A", "crank", "block", at=pin)
    m.prismatic("slot", "lever", "block", at=pin, axis=pin)
    return m


def test_slotted_levers():
    """Crank-shaper: swing 2 asin(r/d) and its time ratio; a longer crank turns the lever (Whitworth)."""
    r, d = 0.04, 0.1
    found = sarrus.design(shaper(r, d, 0.7), joint="C")
    [loop] = found.inverted_slider_cranks
    assert loop.name == "C-A-slot-O"
    assert (loop.ground, loop.crank, loop.offset) == pytest.approx((d, r, 0.0))
    assert loop.kind == "its crank turns fully, its lever rocks"
    swing = 2 * np.arcsin(r / d)
    assert found.number("O.range") == pytest.approx(swing, rel=1e-4)
    assert found.time_ratio("O") == pytest.approx((np.pi + swing) / (np.pi - swing), rel=1e-9)
    # a slot pushes perpendicular to itself
    np.testing.assert_allclose(found.transmission_angles[loop.name], np.pi / 2, atol=1e-7)
    found = sarrus.design(shaper(0.1, 0.04, 0.7), joint="C")
    assert found.inverted_slider_cranks[0].kind == "its crank turns fully, its lever turns, too"
    assert not found.limits("O")
    # driven by the lever, the crank gets the share of the force across itself
    found = sarrus.design(shaper(r, d, 0.7), np.linspace(0, 0.1, 11), joint="O", speed=1.0)
    pin = found.result.position("A")
    share = np.abs(np.sum(pin * (pin - (0, d)), axis=1)) / (np.linalg.norm(pin, axis=1) * r)
    np.testing.assert_allclose(np.sin(found.transmission_angles["C-A-slot-O"]), share, atol=1e-10)


def test_cylinders_on_levers():
    """The transmission angle is that between cylinder and lever, and r sin of it is the advantage."""
    r, base = 0.4, (0.8, -0.1)
    m = sarrus.Mechanism()
    m.point("O", m.ground, (0, 0))
    m.point("G", m.ground, base)
    m.crank("B", "lever", "O", length=r, angle=1.2, mass=1.0)
    m.dyad("cylinder", ("barrel", "rod"), ("G", "B"), kind="RPR", lengths=(0.5, 0.5), mass=1.0)
    m.drive("pump", "cylinder", sarrus.SmoothStep(0, 0.1, 0, 1))
    found = sarrus.design(m)
    [loop] = found.inverted_slider_cranks
    assert loop.kind == "cylinder that moves 'lever'"
    length = np.linalg.norm(found.result.position("B")[0] - base) + found.input
    inside = (length**2 + r**2 - np.dot(base, base)) / (2 * length * r)
    wanted = np.arccos(np.abs(inside))
    np.testing.assert_allclose(found.transmission_angles[loop.name], wanted, atol=1e-9)
    advantage = np.abs(found.mechanical_advantage("O"))
    np.testing.assert_allclose(advantage, r * np.sin(wanted), rtol=1e-9)
    assert found.number("O.least mechanical advantage") == advantage.min()
    assert "O: least mechanical advantage: " in str(found)


def test_a_driven_distance_is_a_cylinder():
    """Its force times the arm about the pin lifts the boom; the moment is about its first end."""
    start, end = np.array([0.3, -0.3]), np.array([0.5, 0.25])
    length = np.linalg.norm(end - start)
    m = sarrus.Mechanism("boom")
    m.rod("boom", (0, 0), (1, 0.5), mass=20)
    m.revolute("O", m.ground, "boom", at=(0, 0))
    m.distance("cylinder", m.ground, "boom", start=start, end=end)
    m.drive("pump", "cylinder", sarrus.SmoothStep(length, length + 0.1, 0, 2))
    found = sarrus.design(m)
    tip = found.coupler_curve("boom", end)
    along = (tip - start) / np.linalg.norm(tip - start, axis=1)[:, None]
    arm = tip[:, 0] * along[:, 1] - tip[:, 1] * along[:, 0]
    np.testing.assert_allclose(found.mechanical_advantage("O"), arm, rtol=1e-9)
    np.testing.assert_allclose(found.shaking_moment(), found.shaking_moment(start))
    assert "peak force: " in str(found)


def geared(ratio):
    """A five-bar whose second crank turns by a fraction of the first."""
    m = sarrus.Mechanism("geared", gravity=(0, 0))
    m.point("A", m.ground, (0, 0))
    m.point("E", m.ground, (0.3, 0))
    m.crank("B", "left", "A", length=0.08, angle=1.0, mass=0.2)
    m.crank("D", "right", "E", length=0.06, angle=2.0, mass=0.2)
    m.dyad("C", ("first", "second"), ("B", "D"), lengths=(0.25, 0.25), mass=0.1)
    m.coupling("gears", "E", "A", ratio=ratio)
    return m


@pytest.mark.parametrize(("ratio", "turns"), [(2, 1), (-1 / 2, 2), (2 / 3, 3), (113 / 355, None)])
def test_a_cycle_may_take_several_turns(ratio, turns):
    """As many as the denominator of a gear's ratio; one that repeats too late has no cycle."""
    found = sarrus.design(geared(ratio), joint="A", speed=2 * np.pi)
    if turns is None:
        assert found.period is None
        return
    assert found.period == pytest.approx(turns)
    paths = [found.result.position(name) for name in "BCD"]
    for path in paths:
        np.testing.assert_allclose(path[-1], path[0], atol=1e-12)
    assert (f"({turns} turns)" in str(found)) == (turns > 1)


def test_balanced_mechanisms_shake_not_at_all():
    """A wheel about its centre, and rounding is not shown as a force."""
    m = sarrus.Mechanism("wheel", gravity=(0, -9.81))
    m.body("wheel", 2, (0.1, 0.2), 0.3)
    m.revolute("A", m.ground, "wheel", at=(0.1, 0.2))
    found = sarrus.design(m, joint="A")
    numbers = found.numbers()
    assert numbers["peak torque [N m]"] == numbers["peak shaking force [N]"] == 0.0


def test_coupler_curves_are_paths_of_points():
    """Any point of the coupler, without having named it before."""
    m = four_bar(points={"P": (0.2, 0.25)})
    at = next(marker.at for marker in m.markers)
    found = sarrus.design(m, joint="A")
    np.testing.assert_allclose(
        found.coupler_curve("coupler", at), found.result.position("P"), atol=1e-13
    )


# lengths, and an angle at which they close
KINDS = {
    "crank-rocker": (4, 1, 3.5, 3, 1.0),
    "double crank": (1, 3, 4, 3.5, 1.0),
    "double rocker": (4, 3.5, 1, 3, 0.8),
    "rocker-crank": (4, 3, 3.5, 1, 1.0),
    "triple rocker (not Grashof)": (4, 2, 1.2, 2, 0.5),
    "change point": (3, 1, 3, 1, 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_grashof_classes(kind):
    """Which link is the shortest, and whether it can turn; inputs that turn fully have no dead centre."""
    g, a, b, c, angle = KINDS[kind]
    m = sarrus.Mechanism()
    m.four_bar(ground=g, crank=a, coupler=b, rocker=c, angle=angle)
    [loop] = find_four_bars(m)
    assert loop.kind == kind
    assert loop.lengths == pytest.approx((g, a, b, c))
    full = kind in ("crank-rocker", "double crank", "change point")
    assert (loop.input_limits is None) == full


def test_input_limits_are_dead_centres():
    """The run is blocked at the angle of the closed form, and the design says so."""
    m = sarrus.Mechanism(gravity=(0, 0))
    m.four_bar(ground=4, crank=3, coupler=2, rocker=3.5, angle=1.0)
    found = sarrus.design(m, joint="A", speed=1.0)
    low, high = found.four_bars[0].input_limits
    assert found.result.status == "blocked"
    assert f"{np.degrees(high - 1.0):.4f}"[:6] in found.result.message
    assert 0 < low < 1.0 < high
    assert "grow without bound" in str(found)


def test_loops_inside_larger_mechanisms():
    """Jansen's leg has two four-bars with the ground, and one in its middle whose base is a link."""
    from pathlib import Path

    m = sarrus.load(Path(__file__).parents[2] / "examples" / "jansen_leg.yaml")
    found = {frozenset(loop.joints): loop for loop in find_four_bars(m)}
    upper, lower = found[frozenset("OXCB")], found[frozenset("OXEB")]
    assert upper.lengths == pytest.approx((np.hypot(0.038, 0.0078), 0.015, 0.05, 0.0415))
    assert lower.lengths[2:] == pytest.approx((0.0619, 0.0393))
    inner = found[frozenset("BDFE")]
    assert sorted(inner.lengths) == pytest.approx(sorted((0.0401, 0.0394, 0.0367, 0.0393)))
    assert upper.kind == "crank-rocker"
    assert not find_slider_cranks(m)
    design = sarrus.design(m)
    assert set(design.outputs) == {"B on knee", "B on shin"}
    assert set(design.transmission_angles) == {upper.name, lower.name}


def test_numbers_are_recorded_by_studies(tmp_path):
    """A study records any number of the summary by its name; a wrong one is named with those there are."""
    from sarrus.studies.entries import make_record
    from sarrus.studies.records import RecordError, RecordSource, column_kinds, read_record

    m = four_bar()
    m.drive("motor", "A", sarrus.Polynomial([0, SPEED]))
    numbers = sarrus.design(m).numbers()
    for name, unit in (("peak torque", "N m"), ("D.time ratio", "1")):
        record = make_record("found", {"design": name}, False, tmp_path)
        read = read_record(record, RecordSource(m))
        assert read["found"] == numbers[f"{name} [{unit}]"]
        assert column_kinds(record)[0][2] == unit.replace("1", "")
    with pytest.raises(RecordError, match="did you mean 'peak torque'"):
        read_record(make_record(None, {"design": "peek torque"}, False, tmp_path), RecordSource(m))
    with pytest.raises(RecordError, match="needs a quantity"):
        make_record(None, "design", False, tmp_path)


def test_names_of_numbers_need_no_run(rocker):
    """What a study checks before its first run: the names of all numbers, in the plane and in space."""
    mechanisms = [rocker.result.mechanism, rssr()]
    m = shaper(0.04, 0.1, 0.7)
    m.drive("motor", "C", sarrus.Polynomial([0, 1.0]))
    for mechanism in (*mechanisms, m):
        found = {name.rpartition(" [")[0] for name in sarrus.design(mechanism).numbers()}
        named = set(list_numbers(mechanism))
        assert found <= named
        assert {name.rpartition(".")[2] for name in named - found} <= {"time ratio"}


def test_command_prints_and_writes(tmp_path, capsys):
    """`sarrus design FILE`: sentences, JSON with the same numbers, all quantities over time as CSV."""
    import json

    from sarrus.cli import app

    m = four_bar()
    file, table = tmp_path / "m.yaml", tmp_path / "design.csv"
    m.save(file)
    options = [str(file), "--joint", "A", "--speed", "10 rad/s"]
    app(["design", *options, "--csv", str(table)], standalone_mode=False)
    assert "crank-rocker; its input turns fully" in capsys.readouterr().out
    head = table.read_text(encoding="utf-8").splitlines()[0]
    assert "A-B-C-D.transmission angle [rad]" in head
    app(["design", *options, "--json"], standalone_mode=False)
    record = json.loads(capsys.readouterr().out)
    wanted = sarrus.design(m, joint="A", speed=10.0).numbers()
    assert record["numbers"] == pytest.approx(wanted)
    assert record["loops"] == {"A-B-C-D": "crank-rocker"}
    assert len(record["limits"]["D"]) == 2


def test_space_has_what_makes_sense():
    """A universal joint at an angle: output rate between cos b and 1 / cos b, no planar quantities."""
    angle = 0.4
    m = sarrus.Mechanism(gravity=(0, 0, 0))
    axis = np.array((np.cos(angle), np.sin(angle), 0))
    m.body("in", 1, (-0.5, 0, 0), (0.01, 0.02, 0.02))
    m.body("out", 1, 0.5 * axis, 0.01 * np.eye(3))
    m.revolute("A", m.ground, "in", at=(-1, 0, 0), axis=(1, 0, 0))
    m.universal("U", "in", "out", at=(0, 0, 0), axis=(0, 0, 1), second_axis=(-axis[1], axis[0], 0))
    m.cylindrical("D", m.ground, "out", at=axis, axis=axis)
    m.drive("motor", "A", sarrus.Polynomial([0, 2.0]))
    found = sarrus.design(m)
    w = found.result.angular_velocity("out") @ axis
    assert w.max() == pytest.approx(2 / np.cos(angle), rel=1e-6)
    assert w.min() == pytest.approx(2 * np.cos(angle), rel=1e-6)
    assert found.shaking_moment().shape == (721, 3)
    assert not found.four_bars
    with pytest.raises(sarrus.MechanismError, match="planar"):
        found.instant_centre("out")


def test_what_is_missing_is_named():
    """No drive, two drives, degrees of freedom left over, no cycle: a sentence each."""
    m = four_bar()
    with pytest.raises(sarrus.MechanismError, match=r"give joint=, one of 'A', 'D'"):
        sarrus.design(m)
    with pytest.raises(sarrus.MechanismError, match="1 degree of freedom that no drive moves"):
        sarrus.kinematics(m)
    m.drive("ramp", "A", sarrus.Polynomial([0, 0.5, 0.1]))
    with pytest.raises(sarrus.MechanismError, match="no common cycle and no end"):
        sarrus.kinematics(m)
    assert len(sarrus.kinematics(m, [0.0, 0.5, 1.0]).times) == 3
    m.drive("second", "D", sarrus.Polynomial([0, 0.1]))
    with pytest.raises(
        sarrus.MechanismError, match=r"2 drives \('ramp', 'second'\).*needs exactly one"
    ):
        sarrus.design(m)
    m.drives.pop()
    # a wheel that spins freely is named
    m.body("wheel", mass=1, center=(G, 0), inertia=0.1)
    m.revolute("axle", "rocker", "wheel", at=(G, 0))
    with pytest.raises(sarrus.MechanismError, match="1 degree of freedom of 'wheel' that no drive"):
        sarrus.kinematics(m, [0.0, 1.0])
    assert "With 'ramp' prescribed, 1 degree of freedom is left, of 'wheel'." in str(
        sarrus.inspect(m)
    )


def test_motions_without_a_cycle_are_taken_whole():
    """Up to the end of a step or table, else for the duration of the file; at a dead centre nothing has a peak."""
    m = four_bar()
    m.drive("motor", "A", sarrus.SmoothStep(0, 1, 0.2, 1.5))
    assert sarrus.design(m).times[-1] == 1.5
    table = sarrus.Table([0, 0.5, 1, 2], [0, 0.1, 0.2, 0.1])
    m.drives[0] = dataclasses.replace(m.drives[0], motion=table)
    assert sarrus.design(m).times[-1] == 2.0
    m.drives[0] = dataclasses.replace(m.drives[0], motion=sarrus.Polynomial([0, 0.5, 0.1]))
    m.defaults["duration"] = 0.7
    assert sarrus.design(m).times[-1] == 0.7
    # a rocker as input stops where crank and coupler are in line
    m = four_bar()
    m.drive("motor", "D", sarrus.SmoothStep(0, 3, 0, 1))
    found = sarrus.design(m)
    assert found.result.status == "blocked"
    assert np.isnan(found.number("peak torque"))
    assert "peak torque" not in str(found)


def test_torque_speed_encloses_a_sine():
    """x = a sin(2 pi f t) of a fly-wheel: torque - J (2 pi f)^2 x, an ellipse over the speed."""
    m = sarrus.Mechanism("wheel")
    m.body("wheel", 2, (0, 0), 0.3)
    m.revolute("A", m.ground, "wheel", at=(0, 0))
    m.drive("motor", "A", sarrus.Sine(0.4, 2.0))
    found = sarrus.design(m)
    rate, most = 2 * np.pi * 2.0, 0.4 * 2 * np.pi * 2.0
    speed, torque = found.torque_speed.T
    np.testing.assert_allclose(
        (speed / most) ** 2 + (torque / (0.3 * most * rate)) ** 2, 1, rtol=1e-9
    )
    assert found.peak_power == pytest.approx(0.3 * most**2 * rate / 2, rel=1e-4)
    assert found.rms_torque == pytest.approx(0.3 * most * rate / np.sqrt(2), rel=1e-9)
    moving = np.isfinite(found.reflected_inertia)
    np.testing.assert_allclose(found.reflected_inertia[moving], 0.3, rtol=1e-9)


def test_kinematics_passes_singular_configurations():
    """A parallelogram driven through its flat configurations stays one: C is B moved by the ground line."""
    m = sarrus.Mechanism(gravity=(0, -9.81))
    m.four_bar(ground=0.4, crank=0.2, coupler=0.4, rocker=0.2, angle=1.0)
    m.drive("motor", "A", sarrus.Polynomial([0, 1.0]))
    result = sarrus.kinematics(m)
    assert result.success
    moved = result.position("C") - result.position("B")
    np.testing.assert_allclose(moved, [(0.4, 0)] * len(moved), atol=1e-9)


def test_kinematics_needs_no_start_velocities():
    """Those of the mechanism are replaced by those of the drive."""
    m = four_bar()
    m.set_angular_velocity("crank", 3.0)
    m.drive("motor", "A", sarrus.Polynomial([0, SPEED]))
    result = sarrus.kinematics(m, [0.0, 0.1])
    np.testing.assert_allclose(result.angular_velocity("crank"), SPEED, rtol=1e-12)


@pytest.mark.slow
def test_kinematics_follows_the_drives_alone():
    """Stops and acting events change nothing, which a note states; other events are located."""
    m = four_bar()
    m.drive("motor", "A", sarrus.Polynomial([0, SPEED]))
    plain = sarrus.kinematics(m)
    m.limit("stop", "D", lower=-0.01, upper=0.01)
    m.event("let go", angle="A", equals=1.0, then=sarrus.release("motor"))
    m.event("end", angle="A", equals=2.0, terminal=True)
    m.event("half", angle="A", equals=np.pi)
    result = sarrus.kinematics(m)
    np.testing.assert_array_equal(result.position("C"), plain.position("C"))
    assert [e.name for e in result.events] == ["half"]
    # the drive turns at constant speed
    assert result.events[0].time == pytest.approx(np.pi / SPEED, rel=1e-12)
    assert "'stop'" in result.notes[0]
    assert "'let go', 'end'" in result.notes[1]
    # the mechanism itself is as it was
    assert len(m.limits) == 1
    assert len(m.events) == 3


def rssr():
    """A spatial four-bar: hinge, ball, ball, hinge; its links are thin rods."""
    m = sarrus.Mechanism("RSSR", gravity=(0, 0, -9.81))
    places = [(0, 0, 0), (0.1, 0, 0), (0.4, 0.3, 0.2), (0.4, 0.3, -0.05)]
    for name, ends, mass in zip(
        ("crank", "coupler", "rocker"), (0, 1, 2), (0.2, 0.4, 0.3), strict=True
    ):
        m.rod(name, places[ends], places[ends + 1], mass)
    m.revolute("O", m.ground, "crank", at=places[0], axis=(0, 0, 1))
    m.spherical("A", "crank", "coupler", at=places[1])
    m.spherical("B", "coupler", "rocker", at=places[2])
    m.revolute("D", m.ground, "rocker", at=places[3], axis=(0, 1, 0))
    m.drive("motor", "O", sarrus.Polynomial([0, "60 rpm"]))
    return m


def test_spatial_four_bar_is_its_closure_equation():
    """|B - A| is constant: an equation p cos y + q sin y = s for the output y; its slope is the advantage.

    By virtual power the coupler's force F does F u.v at either ball, which gives the transmission angle.
    """
    found = sarrus.design(rssr())
    [loop] = found.spatial_four_bars
    assert loop.kind == "spatial four-bar RSSR"
    x, y = found.input, found.output_values("D")
    crank, length, center = 0.1, np.linalg.norm((0.3, 0.3, 0.2)), np.array((0.4, 0.3, -0.05))
    A = crank * np.column_stack([np.cos(x), np.sin(x), 0 * x])
    # the rocker points along z at the start and turns about y
    B = center + 0.25 * np.column_stack([np.sin(y), 0 * y, np.cos(y)])
    np.testing.assert_allclose(np.linalg.norm(B - A, axis=1), length, rtol=1e-12)
    u = (B - A) / length
    A_x = crank * np.column_stack([-np.sin(x), np.cos(x), 0 * x])
    B_y = 0.25 * np.column_stack([np.cos(y), 0 * y, -np.sin(y)])
    into, out = np.sum(u * A_x, axis=1), np.sum(u * B_y, axis=1)
    # infinite at the limit positions
    well = np.abs(into) > 1e-3
    np.testing.assert_allclose(found.mechanical_advantage("D")[well], (out / into)[well], rtol=1e-8)
    sine = np.sin(found.transmission_angles["O-A-B-D"])
    np.testing.assert_allclose(sine, np.abs(out) / 0.25, rtol=1e-9)
    for limit in found.limits("D"):
        assert np.interp(limit.drive, x, into) == pytest.approx(0, abs=1e-6)
    # driven at its other end, the loop is read from there
    turned = rssr()
    turned.drives.clear()
    turned.drive("motor", "D", sarrus.Sine(0.1, 1.0))
    assert list(sarrus.design(turned).transmission_angles) == ["D-B-A-O"]


def test_thin_rods_in_space():
    """A uniform rod is a sixth of its mass at either end and the rest in its middle: the same shaking moment."""
    found = sarrus.design(rssr())
    result = found.result
    wanted = np.zeros((len(result.times), 3))
    for rod, mass, ends in (("crank", 0.2, "OA"), ("coupler", 0.4, "AB"), ("rocker", 0.3, "BD")):
        for name, share in ((ends[0], 1 / 6), (ends[1], 1 / 6), (rod, 2 / 3)):
            wanted -= share * mass * np.cross(result.position(name), result.acceleration(name))
    # sums of nine products of sizes up to 1
    np.testing.assert_allclose(found.shaking_moment((0, 0, 0)), wanted, atol=1e-13)
    path = found.coupler_curve("coupler", (0.4, 0.3, 0.2))
    np.testing.assert_allclose(path, result.position("B"), atol=1e-13)
    # the crank is held by a hinge on the ground: its angle is that of the hinge
    np.testing.assert_allclose(result.quantity("crank angle").values, found.input, atol=1e-9)


def test_columns_are_drawn_over_the_input(rocker):
    """By name or last words, in degrees, into a figure or into axes; a misspelt name gets a suggestion."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert rocker.plot("transmission angle", ax=axes) is axes
    [curve] = axes.get_lines()
    np.testing.assert_allclose(curve.get_xdata(), np.degrees(rocker.input))
    wanted = np.degrees(rocker.transmission_angles["A-B-C-D"])
    np.testing.assert_allclose(curve.get_ydata(), wanted)
    assert axes.get_xlabel() == "input [deg]"
    assert len(rocker.plot().axes) > 2
    with pytest.raises(sarrus.UnknownNameError, match=r"did you mean 'drive torque'"):
        rocker.plot("drive torqe")


def test_least_transmission_angle_lies_between_the_samples():
    """A change-point linkage passes zero; else the least angle of a full turn is at one end of the ground line."""
    for rocker, coupler in ((0.1, 0.4), (0.3, 0.35)):
        m = sarrus.Mechanism("four-bar")
        # no sample is at the ground line
        m.four_bar(ground=0.4, crank=0.1, coupler=coupler, rocker=rocker, angle=1.0)
        found = sarrus.design(m, joint="A", speed=10.0)
        angles = [found.four_bars[0].transmission(x) for x in (0.0, np.pi)]
        # minimum of a smooth curve: the square root of rounding
        assert found.least_transmission_angle("A-B-C-D") == pytest.approx(min(angles), abs=1e-7)
    assert "least transmission angle: 54.31 degrees" in str(found)


def test_texts_contain_no_rounding():
    """A limit at the start is at 0; a uniform crank without a load brakes as much as it drives."""
    m = sarrus.Mechanism("RSSP", gravity=(0, 0, 0))
    m.rod("crank", (0, 0, 0), (0, 0.05, 0), mass=0.1, section=0.01)
    m.rod("coupler", (0, 0.05, 0), (0.2, 0.02, 0), mass=0.3)
    m.body("slider", 0.5, center=(0.2, 0.02, 0), inertia=1e-4 * np.eye(3))
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=(1, 0, 0))
    m.spherical("B", "crank", "coupler", at=(0, 0.05, 0))
    m.spherical("C", "coupler", "slider", at=(0.2, 0.02, 0))
    m.prismatic("P", m.ground, "slider", at=(0.2, 0.02, 0), axis=(1, 0, 0))
    found = sarrus.design(m, joint="A", speed=10.0)
    assert "P turns back at 0 m (drive at 0 degrees, t = 0 s)" in str(found)
    assert found.number("peak braking power") == pytest.approx(found.peak_power, rel=1e-9)
    assert found.peak_power > 0


def test_a_crank_as_long_as_its_rod_is_a_change_point():
    """The crank turns fully if crank and offset are shorter than the rod; equality is a change point."""
    kinds = {
        0.05: "its crank turns fully",
        0.1: "change point",
        0.12: "its crank does not turn fully",
    }
    for crank, kind in kinds.items():
        m = sarrus.Mechanism("slider-crank")
        m.slider_crank(crank=crank, rod=0.1, angle=0.5)
        found = sarrus.design(m, np.linspace(0, 0.01, 3), joint="O", speed=1.0)
        assert found.slider_cranks[0].kind == kind


@pytest.mark.slow
def test_pins_in_slots_are_sliders_and_levers():
    """A drawn quick return, with pins in slots instead of blocks: the same loops, outputs and numbers."""

    def make(slotted):
        m = sarrus.Mechanism("quick return")
        pin, pivot = np.array([0.04, 0.03]), np.array([0.0, -0.12])
        along = (pin - pivot) / np.linalg.norm(pin - pivot)
        top = pivot + 0.25 * along
        end = np.array([top[0] + 0.2, top[1]])
        m.rod("crank", (0, 0), pin, mass=0.3)
        m.rod("lever", pivot, top, mass=0.8)
        m.rod("link", top, end, mass=0.2)
        m.revolute("O", m.ground, "crank", at=(0, 0))
        m.revolute("P", m.ground, "lever", at=pivot)
        m.revolute("E", "lever", "link", at=top)
        if slotted:
            m.point_on_line("slot", "lever", "crank", at=pin, axis=along)
            m.point_on_line("guide", m.ground, "link", at=end, axis=(1, 0))
        else:
            m.body("block", 0.01, center=pin)
            m.body("ram", 0.01, center=end)
            m.revolute("A", "crank", "block", at=pin)
            m.prismatic("slot", "lever", "block", at=pin, axis=along)
            m.revolute("F", "link", "ram", at=end)
            m.prismatic("guide", m.ground, "ram", at=end, axis=(1, 0))
        return sarrus.design(m, joint="O", speed=6.0)

    slotted, blocks = make(True), make(False)
    assert [loop.name for loop in slotted.loops] == ["P-E-guide", "O-slot-P"]
    assert [loop.name for loop in blocks.loops] == ["P-E-F-guide", "O-A-slot-P"]
    for mine, other in zip(slotted.loops, blocks.loops, strict=True):
        assert mine.kind == other.kind
        np.testing.assert_allclose(
            slotted.transmission_angles[mine.name],
            blocks.transmission_angles[other.name],
            atol=1e-9,
        )
    assert list(slotted.outputs) == list(blocks.outputs) == ["P", "guide"]
    for number in (
        "P.time ratio",
        "guide.range",
        "guide.time ratio",
        "guide.least mechanical advantage",
    ):
        assert slotted.number(number) == pytest.approx(blocks.number(number), rel=1e-9)
    # the lever swings by twice the angle whose sine is crank over distance
    swing = np.arcsin(0.05 / 0.12)
    assert slotted.number("P.range") == pytest.approx(2 * swing, rel=1e-9)
    ratio = (np.pi + 2 * swing) / (np.pi - 2 * swing)
    assert slotted.number("P.time ratio") == pytest.approx(ratio, rel=1e-9)
