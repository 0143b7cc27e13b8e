"""Derivatives by places, directions and recipes: validity at crossings, closed forms, differences."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus
from sarrus import problems


@pytest.fixture(scope="module")
def double():
    """The double four-bar through four crossings."""
    return sarrus.simulate(problems.get("double-four-bar").build(), 4.0, output_step=0.05)


@pytest.fixture(scope="module")
def single():
    """One window, through two crossings."""
    m = problems.get("double-four-bar", windows=1).build()
    return sarrus.simulate(m, 1.6, output_step=0.05)


def one_angle(times, length, speed=1.0):
    """B0 of the double four-bar with cranks of this length: I = 3 l^2, W = 3.5 g l for links of 1 kg."""
    rate = 9.81 / length * 3.5 / 3.0
    found = solve_ivp(
        lambda t, y: [y[1], rate * np.sin(y[0])], (0, times[-1]), [0.0, speed / length],
        method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times,
    )  # fmt: skip
    return length * np.array([np.sin(found.y[0]), np.cos(found.y[0])]).T


@pytest.mark.slow
def test_all_cranks_longer_in_closed_form(double):
    """All B move up: the parallelograms stay, and so do the crossings."""
    found = double.sensitivity("B0", {f"joints.B{i}.at.1": 1.0 for i in range(3)})
    h = 1e-5
    expected = (one_angle(double.times, 1 + h) - one_angle(double.times, 1 - h)) / (2 * h)
    assert len(double.crossings) == 4
    assert found.validity
    assert found.validity.defect < 1e-9
    # derivatives grow to 20; differences of runs that are exact to 1e-13 leave 1e-8, and h^2 as much
    np.testing.assert_allclose(found.position, expected, atol=5e-7)


def test_a_single_rod_has_a_pole_at_the_first_crossing(double):
    """The branches separate where one rod is longer: (t* - t) |u| levels off, and nothing is known after t*."""
    found = double.sensitivity(["B0", "B1"], "joints.B1.at.1")[1]
    first = double.crossings[0].time
    assert not found.validity
    assert found.validity.until == pytest.approx(first, abs=1e-9)
    assert "pole" in str(found.validity)
    before = double.times < first
    assert np.isfinite(found.values[before]).all()
    assert np.isnan(found.values[~before]).all()
    # near a pole (t* - t) |u| = residue + slope (t* - t): differences halve with the distance
    near = first - np.array([0.04, 0.02, 0.01])
    run = sarrus.simulate(double.mechanism, first + 0.1, outputs=near)
    there = run.sensitivity("B1", "joints.B1.at.1").values
    sizes = np.linalg.norm(there, axis=1) * (first - near)
    assert (sizes[0] - sizes[1]) / (sizes[1] - sizes[2]) == pytest.approx(2.0, rel=0.2)
    assert sizes[2] > 0.05


def test_passes_one_crossing_and_not_the_next(single):
    """Crank 1 and the coupler longer by the same: an independent program gives the value between the crossings."""
    zero, one = single.sensitivity(["B0", "B1"], {"joints.B1.at": [1.0, 1.0]})
    k = int(np.argmin(np.abs(single.times - 0.95)))
    assert zero.validity.until == pytest.approx(single.crossings[1].time, abs=1e-9)
    assert zero.values[k, 0] - one.values[k, 0] == pytest.approx(-1.0, abs=1e-7)
    fine = sarrus.simulate(single.mechanism, 0.95).sensitivity("B0", {"joints.B1.at": [1.0, 1.0]})
    assert fine.validity
    assert fine.values[-1, 0] == pytest.approx(zero.values[k, 0], abs=1e-7)


def skewed(e, keeps_rods):
    """One window whose second pivot is e higher, with rods of 1 m, or with B1 as much higher."""
    m = sarrus.Mechanism("skewed", gravity=(0, -9.81))
    A1, B0 = np.array([1.0 + 0 * e, e]), np.array([0.0, 1.0])
    B1 = np.array([1.0 + 0 * e, 1.0 + e])
    if keeps_rods:
        d = A1 - B0
        square = d[0] * d[0] + d[1] * d[1]
        B1 = B0 + 0.5 * d + np.sqrt(1.0 / square - 0.25) * np.array([-d[1], d[0]])
    cranks = m.rod("crank 0", (0, 0), B0, mass=1), m.rod("crank 1", A1, B1, mass=1)
    coupler = m.rod("coupler", B0, B1, mass=1)
    m.revolute("A0", m.ground, cranks[0], at=(0, 0))
    m.revolute("A1", m.ground, cranks[1], at=A1)
    m.revolute("B0", cranks[0], coupler, at=B0)
    m.revolute("B1", cranks[1], coupler, at=B1)
    m.set_velocity("B0", (1.0, 0.0))
    return m


def test_equal_first_order_data_and_different_crossings():
    """Both pass the integrability test; only neighbouring mechanisms show that one loses its crossing."""
    values = {}
    for keeps in (False, True):
        found = sarrus.sensitivity(
            lambda e, keeps=keeps: skewed(e, keeps), {"e": 0.0}, ["B0"], 1.0, output_step=0.05
        )  # fmt: skip
        values[keeps] = found["B0", "e"]
    assert values[False].validity
    # the parallelogram is sheared: its cranks move as before
    np.testing.assert_allclose(values[False].values, 0.0, atol=1e-7)
    assert values[True].validity.until == pytest.approx(0.708450009, abs=1e-8)
    assert values[True].validity.defect < 1e-6
    assert "neighbouring" in values[True].validity.reason


def test_a_whole_drawing_moved_and_scaled(double):
    """Moved, all places move with it; scaled with the speed, x(t, s) = s x(t / sqrt(s))."""
    places = {f"{a}{i}": (float(i), float(a == "B")) for a in "AB" for i in range(3)}
    moved = double.sensitivity("B0", {f"joints.{name}.at": [1.0, 0.0] for name in places})
    np.testing.assert_allclose(moved.position, [[1.0, 0.0]] * len(double.times), atol=1e-9)
    rates = {f"joints.{name}.at": list(place) for name, place in places.items()}
    scaled = double.sensitivity("B0", rates | {"velocities.B0.0": 0.5})
    expected = double.position("B0") - 0.5 * double.times[:, None] * double.velocity("B0")
    np.testing.assert_allclose(scaled.position, expected, atol=1e-7)


@pytest.mark.slow
def test_redundant_linkage_is_undefined():
    """A Bricard linkage moves for special dimensions only: no single place of it may change."""
    result = sarrus.simulate(problems.get("rectangular-bricard").build(), 1.0, output_step=0.1)
    names = [joint.name for joint in result.mechanism.joints]
    found = result.sensitivity(names[2], f"joints.{names[2]}.at.0")
    assert str(found.validity).startswith("undefined because")
    assert np.isnan(found.values).all()
    assert result.sensitivity(names[2], "gravity.2").validity


VALUES = {"a": 0.35, "b": math.hypot(0.99, 0.5), "c": math.hypot(0.2, 0.78), "d": 1.0, "w": 9.0}


def crank_rocker(a, b, c, d, w):
    """A crank-rocker by its lengths: the crank's angle and rate stay."""
    B = a * np.array([0.6, 0.8])
    e = np.array([d, 0.0 * d]) - B
    square = e[0] * e[0] + e[1] * e[1]
    x = (square + b * b - c * c) / (2 * square)
    y = np.sqrt(b * b / square - x * x)
    C = B + x * e + y * np.array([-e[1], e[0]])
    m = sarrus.Mechanism("crank-rocker", gravity=(0, -9.81))
    D = np.array([d, 0.0 * d])
    crank, coupler = m.rod("crank", (0, 0), B, mass=0.8), m.rod("coupler", B, C, mass=1.5)
    rocker = m.rod("rocker", C, D, mass=1.1)
    m.revolute("A", m.ground, crank, at=(0, 0))
    m.revolute("B", crank, coupler, at=B)
    m.revolute("C", coupler, rocker, at=C)
    m.revolute("D", rocker, m.ground, at=D)
    m.set_angular_velocity("crank", w)
    return m


@pytest.mark.slow
def test_lengths_of_a_recipe_against_differences():
    """Differences of fourth order of tight runs leave 1e-9."""
    found = sarrus.sensitivity(crank_rocker, VALUES, ["C", "rocker angle"], 2.0, output_step=0.1)
    for name, value in VALUES.items():
        h = 1e-4 * value
        runs = {
            k: sarrus.simulate(
                crank_rocker(**VALUES | {name: value + k * h}), 2.0, output_step=0.1, tolerance=1e-13
            )
            for k in (-2, -1, 1, 2)
        }  # fmt: skip
        for quantity, read in (
            ("C", lambda r: r.position("C")), ("rocker angle", lambda r: r.orientation("rocker")),
        ):  # fmt: skip
            x = {k: read(run) for k, run in runs.items()}
            expected = (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)
            one = found[quantity, name]
            assert one.validity
            size = np.abs(expected).max()
            np.testing.assert_allclose(one.values, expected, rtol=0, atol=1e-7 * size)


def test_a_place_is_a_recipe_that_moves_it():
    """`joints.C.at.0` moves the ends of both rods and the joint, as drawing C elsewhere does."""
    base = crank_rocker(**VALUES)
    C = next(j for j in base.joints if j.name == "C").places[0]

    def moved(x):
        m = sarrus.Mechanism("moved", gravity=(0, -9.81))
        B, D = np.array([0.21, 0.28]), (1.0, 0.0)
        there = np.array([x, C[1]])
        rods = [m.rod(n, p, q, mass=k) for n, p, q, k in (
            ("crank", (0, 0), B, 0.8), ("coupler", B, there, 1.5), ("rocker", there, D, 1.1),
        )]  # fmt: skip
        for n, bodies, at in (
            ("A", (m.ground, rods[0]), (0, 0)), ("B", rods[:2], B), ("C", rods[1:], there),
            ("D", (rods[2], m.ground), D),
        ):  # fmt: skip
            m.revolute(n, *bodies, at=at)
        m.set_angular_velocity("crank", 9.0)
        return m

    by_path = sarrus.simulate(base, 0.5, output_step=0.05).sensitivity("C", "joints.C.at.0")
    by_recipe = sarrus.sensitivity(moved, {"x": float(C[0])}, "C", 0.5, output_step=0.05)["C", "x"]
    # two drawings of the same linkage, equal but for rounding of the places and errors of the steps
    np.testing.assert_allclose(by_path.values, by_recipe.values, atol=1e-8)
    assert "drawn at" in by_path.convention


def test_forbidden_directions(double):
    """A crank that leans forbids the given velocity; a rod's end alone leaves its joint."""
    with pytest.raises(sarrus.MechanismError, match=r"joints\.A0\.at\.0"):
        double.sensitivity("B0", {"joints.A0.at.0": 1.0})
    with pytest.raises(sarrus.MechanismError, match=r"rod\.1\.0"):
        double.sensitivity("B0", "bodies.crank 1.rod.1.0")


def test_functions_of_math_are_named():
    """A recipe that leaves NumPy says what to do."""

    def build(angle):
        m = sarrus.Mechanism("rod", gravity=(0, -9.81))
        rod = m.rod("rod", (0, 0), (math.cos(angle), math.sin(angle)), mass=1)
        m.revolute("A", m.ground, rod, at=(0, 0))
        return m

    with pytest.raises(sarrus.MechanismError, match=r"np\.sin"):
        sarrus.sensitivity(build, {"angle": 0.3}, "rod", 0.1)


def test_another_structure_is_reported_and_not_guessed():
    """A centre of mass on the line of two joints: the model has entries there that vanish here alone."""
    result = sarrus.simulate(problems.get("andrews-squeezer").build(), 0.005, output_step=0.001)
    found = result.sensitivity("F", "joints.F.at.0")
    assert "another structure" in str(found.validity)
    assert np.isnan(found.values).all()
    assert result.sensitivity("F", "joints.A.at.0").validity


@pytest.mark.slow
def test_a_long_chain_through_crossings():
    """Derivatives of a chain of 20 windows need a more exact motion near its crossings, and get it."""
    h, T = 1e-5, 1.5
    runs = [
        sarrus.simulate(
            problems.get("n-four-bar", windows=20, speed=1 + s * h).build(), T, outputs=[T], tolerance=1e-12
        )
        for s in (1, -1, 0)
    ]  # fmt: skip
    found = sarrus.simulate(runs[2].mechanism, T, outputs=[T]).sensitivity("B0", "velocities.B0.0")
    expected = (runs[0].position("B0") - runs[1].position("B0")) / (2 * h)
    assert found.validity
    # what differences of runs at 1e-12 leave
    np.testing.assert_allclose(found.values, expected, atol=1e-7)


def by_lengths(crank, coupler, share):
    """The same crank-rocker by the calls that build from lengths, with a point on the coupler."""
    m = sarrus.Mechanism("by lengths", gravity=(0, -9.81))
    lengths = {"ground": 1.0, "crank": crank, "coupler": coupler, "rocker": VALUES["c"]}
    points = {"P": {"along": share * coupler, "across": 0.0}}
    m.four_bar(**lengths, angle=math.atan2(0.8, 0.6), mass=(0.8, 1.5, 1.1), points=points)
    m.set_angular_velocity("crank", 9.0)
    return m


def test_construction_from_lengths_can_be_differentiated():
    """As the recipe by coordinates; the point moves along the coupler with its own argument."""
    values = {"crank": VALUES["a"], "coupler": VALUES["b"], "share": 0.4}
    made = sarrus.sensitivity(by_lengths, values, ["C", "P", "B"], 0.5, output_step=0.1)
    drawn = sarrus.sensitivity(crank_rocker, VALUES, ["C"], 0.5, output_step=0.1)
    for one, other in (("crank", "a"), ("coupler", "b")):
        # two drawings of one linkage, equal but for rounding of the places and errors of the steps
        np.testing.assert_allclose(
            made["C", one].values, drawn["C", other].values, rtol=0, atol=1e-8
        )
    run = made.result
    expected = run.position("C") - run.position("B")
    np.testing.assert_allclose(made["P", "share"].values, expected, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slider", "cylinder"])
def test_sliders_from_lengths_can_be_differentiated(kind):
    """Guides and cylinders have a place for each body; central differences of tight runs leave 1e-8."""

    def build(size, angle):
        m = sarrus.Mechanism(kind, gravity=(0, -9.81))
        if kind == "slider":
            m.slider_crank(crank=0.1, rod=size, angle=angle, offset=0.02, slide_angle=0.2)
            return m
        m.point("O", m.ground, (0, 0))
        m.point("Q", m.ground, (0.7, 0))
        m.crank("B", "arm", "O", length=size, angle=angle, mass=1.0)
        m.dyad("p", ("cylinder", "piston"), ("Q", "B"), lengths=(0.5, 0.5), kind="RPR", mass=0.5)
        return m

    values, h = {"size": 0.4, "angle": 1.0}, 1e-5
    found = sarrus.sensitivity(build, values, ["B"], 0.4, output_step=0.1)
    for name, value in values.items():
        ends = [
            sarrus.simulate(build(**values | {name: value + s * h}), 0.4, 0.1, tolerance=1e-13)
            for s in (1, -1)
        ]
        slope = (ends[0].position("B") - ends[1].position("B")) / (2 * h)
        np.testing.assert_allclose(found["B", name].values, slope, atol=1e-7)
