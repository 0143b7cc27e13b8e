"""Tolerances below double precision (methods/extended_precision.py)."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipkinc

from builders import n_four_bar, pendulum
from crossing_families import members
from linkages import double_watt
from sarrus import Mechanism, Polynomial, SmoothStep, simulate, simulate_many
from sarrus.kernels.compiler import COMPILES
from sarrus.problems.references.n_four_bar import four_bar_reference

pytestmark = pytest.mark.skipif(
    not COMPILES, reason="there are no wide numbers without the compiler"
)

GRAVITY = 9.81
TIGHT = 1e-13


def row_of_parallelograms(widths, crank, lean, speed):
    """Parallelograms in a row on equal cranks that lean from the upright; cranks of different masses."""
    m = Mechanism("parallelograms", gravity=(0.0, -GRAVITY))
    feet = [np.array([x, 0.0]) for x in np.concatenate([[0.0], np.cumsum(widths)])]
    top = crank * np.array([np.sin(lean), np.cos(lean)])
    for i, foot in enumerate(feet):
        m.rod(f"crank{i}", foot, foot + top, mass=1.0 + 0.25 * i)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=foot)
    for i in range(len(widths)):
        m.rod(f"coupler{i}", feet[i] + top, feet[i + 1] + top, mass=1.0)
    for i, foot in enumerate(feet):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < len(widths)]
        m.revolute(f"B{i}", f"crank{i}", *met, at=foot + top)
    m.set_velocity("B0", (speed * np.cos(lean), -speed * np.sin(lean)))
    return m


def moments_of(widths, crank):
    """Inertia and mass moment of the pendulum that a row of parallelograms is."""
    cranks = sum(1.0 + 0.25 * i for i in range(len(widths) + 1))
    return cranks * crank**2 / 3 + len(widths) * crank**2, cranks * crank / 2 + len(widths) * crank


def exact_turning(times, widths, crank, lean, speed):
    """Place and velocity of B0 by elliptic functions, as long as the cranks turn round and round; else None."""
    inertia, moment = moments_of(widths, crank)
    pull = GRAVITY * moment / inertia
    energy = 0.5 * (speed / crank) ** 2 + pull * np.cos(lean)
    if energy <= 1.05 * pull:
        return None
    # half the angle from the hanging position: x' = rate sqrt(1 - m sin^2 x)
    rate, m = np.sqrt(0.5 * (energy + pull)), 2 * pull / (energy + pull)
    _, _, dn, half = ellipj(ellipkinc(0.5 * (lean - np.pi), m) + rate * times, m)
    angle, turning = 2 * half + np.pi, 2 * rate * dn
    s, c = np.sin(angle), np.cos(angle)
    return crank * np.stack([s, c, turning * c, -turning * s], axis=1)


def measure(result, exact):
    """Largest errors of place and velocity of B0."""
    off = np.abs(np.hstack([result.position("B0"), result.velocity("B0")]) - exact)
    return off[:, :2].max(), off[:, 2:].max()


@pytest.mark.slow
@pytest.mark.parametrize("windows", [1, 2, 40])
def test_four_bars_through_their_flat_positions(windows):
    """Ten and more singular configurations in 10 s: places to 1e-11 m, velocities to 1e-10 m/s.

    Measured: 1.2e-12 and 9e-12; doubles alone 4e-9 and 3e-8.
    """
    for speed in np.linspace(0.5, 3.0, 11 if windows < 40 else 4):
        result = simulate(n_four_bar(windows, speed=speed), 10.0, 0.02, tolerance=TIGHT)
        assert result.status == "done"
        assert result.counters["extended_steps"] > 3
        # the end of a step of a long chain may be moved by more than 40 roundings: one step in some runs of N = 40
        assert result.lost < TIGHT
        place, velocity = measure(result, four_bar_reference(result.times, windows, speed))
        assert place < 1e-11
        assert velocity < 1e-10
        assert not any("after crossings" in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.parametrize("rounded", [False, True])
def test_random_parallelograms(rounded):
    """Also if their dimensions are rounded, so that they would miss their singular configurations by 1e-16.

    Measured: 4e-12 m and 3e-11 m/s at most of 60.
    """
    rng = np.random.default_rng(7)
    judged = fitted = 0
    for _ in range(20):
        widths, crank = rng.uniform(0.3, 2.0, rng.integers(1, 5)), rng.uniform(0.5, 1.5)
        lean, speed = rng.uniform(0.0, 0.6), rng.uniform(1.0, 3.0)
        if not rounded:
            # sixteenths of a metre are exact
            widths, crank, lean = np.round(16 * widths) / 16, np.round(16 * crank) / 16, 0.0
        result = simulate(
            row_of_parallelograms(widths, crank, lean, speed), 10.0, 0.05, tolerance=TIGHT
        )
        exact = exact_turning(result.times, widths, crank, lean, speed)
        if exact is None:
            continue
        judged += 1
        assert result.status == "done"
        fitted += any("dimensions were changed" in note for note in result.notes)
        place, velocity = measure(result, exact)
        assert place < 2e-11
        assert velocity < 1e-10
    assert judged >= 12
    # now and then rounded ones are exact
    assert fitted > 0.7 * judged if rounded else not fitted


def test_a_gap_that_is_meant_is_not_fitted():
    """A crank that is 1e-6 longer passes near the flat configuration: no digits are added to that, radau
    agrees.
    """
    for longer in (1e-6, 1e-3):
        m = Mechanism("not parallel")
        places = {"A": (0.0, 0.0), "B": (0.0, 1.0), "C": (1.0, 1.0 + longer), "D": (1.0, 0.0)}
        for name in ("AB", "BC", "CD"):
            m.rod(name, places[name[0]], places[name[1]], mass=1.0)
        for name, bodies in (
            ("A", (m.ground, "AB")),
            ("B", ("AB", "BC")),
            ("C", ("BC", "CD")),
            ("D", ("CD", m.ground)),
        ):
            m.revolute(name, *bodies, at=places[name])
        m.set_velocity("B", (2.0, 0.0))
        result = simulate(m, 1.0, 0.05, tolerance=TIGHT)
        other = simulate(m, 1.0, 0.05, method="radau", tolerance=1e-12)
        assert result.status == "done"
        assert not any("dimensions were changed" in note for note in result.notes)
        # radau's error near the singular configuration, where the couplers turn fast
        assert np.abs(result.position("B") - other.position("B")).max() < 1e-9


@pytest.mark.parametrize("load", ["torsion", "spring", "torque"])
def test_with_loads(load):
    """A row of parallelograms with a load on its first crank is the pendulum of its inertia with that load."""
    widths, crank, lean, speed = (0.9, 0.4), 1.1, 0.2, 2.5
    top = crank * np.array([np.sin(lean), np.cos(lean)])
    inertia, moment = moments_of(widths, crank)
    mass = 4 * moment / crank
    alone = Mechanism("pendulum", gravity=(0.0, -GRAVITY))
    alone.body("crank0", mass, top * (moment / mass / crank), inertia - moment**2 / mass)
    alone.revolute("A0", alone.ground, "crank0", at=(0.0, 0.0))
    alone.point("B0", "crank0", top)
    alone.set_velocity("B0", (speed * np.cos(lean), -speed * np.sin(lean)))
    row = row_of_parallelograms(widths, crank, lean, speed)
    for m in (alone, row):
        if load == "torsion":
            m.torsion("load", "A0", stiffness=8.0, damping=0.05)
        elif load == "spring":
            m.spring(
                "load",
                m.ground,
                "crank0",
                start=(-0.7, 1.9),
                end=top,
                stiffness=20.0,
                free_length=0.3,
            )
        else:
            m.torque("load", "crank0", -1.5)
    found, exact = (simulate(m, 5.0, 0.05, method="series", tolerance=TIGHT) for m in (row, alone))
    assert found.counters["extended_steps"] > 3
    # measured: 8e-14 m and 7e-13 m/s; doubles alone 5e-9 and 2e-8
    assert np.abs(found.position("B0") - exact.position("B0")).max() < 1e-11
    assert np.abs(found.velocity("B0") - exact.velocity("B0")).max() < 1e-10


def test_only_where_they_are_requested_for():
    """With 1e-11 and looser doubles do all; without singular configurations always."""
    assert simulate(n_four_bar(2), 2.0, 0.1, tolerance=1e-11).counters["extended_steps"] == 0
    assert simulate(pendulum(), 2.0, 0.1, tolerance=TIGHT).counters["extended_steps"] == 0


def test_equations_that_contradict_each_other_by_rounding():
    """Cosine and sine of a drive and the length of its crank; a third crank under one coupler."""
    m = row_of_parallelograms((0.9,), 1.1, 0.2, 2.0)
    m.drive("motor", "A0", Polynomial((0.0, -2.0 / 1.1)))
    result = simulate(m, 3.0, 0.05, tolerance=TIGHT)
    angle = 0.2 + 2.0 / 1.1 * result.times
    place = 1.1 * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    assert result.counters["extended_steps"] > 1
    assert np.abs(result.position("B1") - (0.9, 0.0) - place).max() < 1e-12
    for m in members("three cranks", 3):
        result = simulate(m, 5.0, 0.05, method="series", tolerance=TIGHT)
        other = simulate(m, 5.0, 0.05, method="radau", tolerance=1e-12)
        assert result.counters["extended_steps"] > 3
        assert not any("extended precision does not help" in note for note in result.notes)
        # radau holds 5e-12 of places (test_crossings.py), as far as it comes
        n = len(other.times)
        assert n > 20
        assert np.abs(result.outcome.record.q[:n] - other.outcome.record.q).max() < 2e-11


def test_where_they_lead_nowhere_doubles_go_on():
    """From a start where motions touch: it ends as with a looser tolerance, and is reported."""
    m = double_watt(np.random.default_rng(0), "tangency")
    m.set_velocity("M0", (0.0, 1.0))
    tight, loose = (simulate(m, 1.0, 0.05, method="series", tolerance=x) for x in (TIGHT, 1e-11))
    assert tight.status == loose.status
    assert any("extended precision does not help" in note for note in tight.notes)


def test_many_runs_have_them_too():
    """What `simulate_many` gives at a tight tolerance is what `simulate` gives."""
    speeds = (0.7, 1.3)
    many = simulate_many(
        [n_four_bar(2, speed=v) for v in speeds], 3.0, 0.1, points=["B0"], tolerance=TIGHT
    )
    for i, speed in enumerate(speeds):
        one = simulate(n_four_bar(2, speed=speed), 3.0, 0.1, tolerance=TIGHT)
        assert (many.position("B0")[i] == one.position("B0")).all()


@pytest.mark.parametrize("start", [0.0, 0.4])
def test_driven_from_rest(start):
    """Equations that depend on each other everywhere, and no motion yet: the tip is where its motion says."""
    m = Mechanism("crank")
    m.rod("crank", (0.0, 0.0), (1.0, 0.0), 3.0)
    m.revolute("pin", m.ground, "crank", at=(0.0, 0.0))
    m.point("tip", "crank", (1.0, 0.0))
    m.drive("motor", "pin", SmoothStep(0.0, 2.0, start, start + 1.5))
    result = simulate(m, 2.0, 0.05, tolerance=TIGHT)
    assert result.status == "done", result.message
    share = np.clip((result.times - start) / 1.5, 0.0, 1.0)
    angle = 2.0 * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    tip = np.column_stack([np.cos(angle), np.sin(angle)])
    assert np.abs(result.position("tip") - tip).max() < 1e-12
