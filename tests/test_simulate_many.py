"""Many runs at once are the runs of `simulate` one by one: outputs, statuses, messages and notes."""

import sys

import numpy as np
import pytest

import sarrus
from builders import bricard, n_four_bar
from linkages import driven_slider_crank
from random_mechanisms import random_mechanism
from sarrus.ensemble import run_batch
from sarrus.ensemble.host import run_on_host
from sarrus.ensemble.run_batch import Traced, _check, _numbers_of, structure_of
from sarrus.ensemble.variants import Variants
from sarrus.kernels.batch_entry import flatten
from sarrus.kernels.return_codes import UNCERTAIN
from sarrus.problems.references.n_four_bar import flat_times, four_bar_reference
from sarrus.run_single import prepare
from sarrus.settings import default_settings

TIMES = np.linspace(0.0, 2.0, 21)
pytestmark = pytest.mark.usefixtures("few_runs_pay")


def prepared(mechanism, settings):
    """A mechanism checked and made ready to run."""
    return prepare(mechanism, settings, _check(mechanism, settings))


def four_bar(speed=1.0, windows=2):
    return sarrus.problems.get("n-four-bar", windows=windows, speed=speed).mechanism()


def check_same(runs, mechanisms, limit, points, duration=2.0, times=TIMES):
    """Each of these runs is what `simulate` finds; limit: of places and velocities, over their largest value."""
    for i, mechanism in mechanisms.items():
        one = sarrus.simulate(mechanism, duration, outputs=times)
        assert (runs.status[i], runs.message[i]) == (one.status, one.message)
        assert runs.notes(i) == one.outcome.notes
        for name in points:
            place, rate = one.position(name), one.velocity(name)
            n = len(one.times)
            scale = max(np.abs(place).max(), np.abs(rate).max(), 1.0)
            assert np.abs(runs.position(name)[i, :n] - place).max() < limit * scale
            assert np.abs(runs.velocity(name)[i, :n] - rate).max() < limit * scale
            assert np.isnan(runs.position(name)[i, n:]).all()
        assert np.abs(runs.energy_drift[i] - one.energy_drift) < 1e-6
        assert runs.counters["rejected"][i] == one.counters["rejected"]


@pytest.mark.slow
def test_masses_through_singular_positions():
    """Random masses and speeds of the double four-bar, 10 s, ten or more crossings: as one by one."""
    rng = np.random.default_rng(0)
    vary = {f"bodies.crank {i}.mass": rng.uniform(0.5, 2.0, 40) for i in range(3)}
    vary["velocities.B0"] = rng.uniform([0.5, 0.0], [3.0, 0.0], (40, 2))
    ensemble = sarrus.Ensemble(four_bar(), vary)
    times = np.linspace(0.0, 10.0, 51)
    runs = ensemble.simulate(10.0, outputs=times, points=["B0", "B2"])
    assert not runs.fallback.any()
    some = {i: ensemble.mechanism(i) for i in range(0, 40, 7)}
    # errors of two runs at 1e-10 that hold their energy: of 120 pairs the farthest are 1e-10 apart
    check_same(runs, some, 1e-9, ["B0", "B2"], 10.0, times)


@pytest.mark.slow
@pytest.mark.parametrize("windows", [1, 5, pytest.param(12, marks=pytest.mark.soak)])
def test_exact_motion(windows):
    """N four-bars with speeds of their own pass all crossings for 10 s, near the exact solution."""
    speeds = np.linspace(0.5, 3.0, 16)
    times = np.linspace(0.0, 10.0, 101)
    vary = {"velocities.B0": np.stack([speeds, 0 * speeds], axis=1)}
    ensemble = sarrus.Ensemble(four_bar(windows=windows), vary)
    runs = ensemble.simulate(10.0, outputs=times, points=["B0"])
    assert (runs.status == "done").all()
    for i, speed in enumerate(speeds):
        problem = sarrus.problems.get("n-four-bar", windows=windows, speed=float(speed))
        exact = problem.exact(times)[:, 0]
        # energy is corrected through all crossings: a step leaves 5e-12, the worst of these is off by 3e-11
        assert np.abs(runs.position("B0")[i, :, 0] - exact).max() < 1e-9


def test_runs_end_in_time_at_singular_positions():
    """Where a run ends at a singular configuration, steps land after it: its final state is that of its end."""
    end = sarrus.simulate(four_bar(), 3.0, 1.0).crossings[0].time
    speeds = 1.0 + np.linspace(-1e-3, 1e-3, 33)
    ensemble = sarrus.Ensemble(
        four_bar(), {"velocities.B0": np.stack([speeds, 0 * speeds], axis=1)}
    )
    runs = ensemble.simulate(end, end, points=["B0"], keep=False)
    assert not runs.fallback.any()
    exact = np.array([four_bar_reference(np.array([0.0, end]), 2, speed)[-1] for speed in speeds])
    # next to the position the state is that of the series, which holds 5e-12 in place, of a step of 0.2 s
    assert np.abs(runs.final[:, 0].reshape(-1, 4) - exact).max() < 1e-9


@pytest.mark.slow
def test_reductions_are_those_of_the_outputs():
    """Final state, extremes and drift are the same with and without outputs, and those of the outputs."""
    ensemble = sarrus.Ensemble(four_bar(), {"gravity": np.linspace([0, -5], [1, -9.81], 24)})
    kept = ensemble.simulate(2.0, outputs=TIMES)
    reduced = ensemble.simulate(2.0, outputs=TIMES, keep=False)
    for name in ("final", "least", "largest", "energy_drift"):
        assert (getattr(kept, name) == getattr(reduced, name)).all()
    least, largest = kept.extremes("B1")
    assert (least == kept.position("B1").min(axis=1)).all()
    assert (largest == kept.position("B1").max(axis=1)).all()
    # the end of the last step is the last output, projected once more
    assert np.abs(kept.final[:, 3, 0] - kept.position(kept.points[3])[:, -1]).max() < 1e-12
    with pytest.raises(ValueError, match="not kept"):
        reduced.position("B0")


def test_threads_change_no_bit():
    """The same call gives the same bits with one thread and with three."""
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": np.linspace(0.5, 2.0, 300)})
    one, three = (ensemble.simulate(2.0, outputs=TIMES, threads=n) for n in (1, 3))
    assert (one.values == three.values).all()


@pytest.mark.slow
def test_lengths_are_built_one_by_one():
    """What is not linear in a parameter is built wholly: rods of other lengths."""
    lengths = np.linspace(0.8, 1.2, 20)
    mechanisms = []
    for length in lengths:
        p = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
        p.rod("rod", (0, 0), (0, -length), mass=2)
        p.revolute("pin", p.ground, "rod", at=(0, 0))
        p.point("tip", "rod", at=(0, -length))
        p.set_velocity("tip", (1, 0))
        mechanisms.append(p)
    runs = sarrus.simulate_many(mechanisms, 2.0, outputs=TIMES, points=["tip"])
    assert not runs.fallback.any()
    check_same(runs, dict(enumerate(mechanisms[:3])), 1e-8, ["tip"])


def slider_crank(n, rng):
    """A spatial loop of which everything varies: lengths, places, axes, masses, inertias, springs, velocities."""
    m = sarrus.Mechanism("loop", gravity=(0, 0, -9.81))
    m.rod("crank", (0, 0, 0), (0, 0.5, 0.8), mass=1, section=0.1)
    m.rod("coupler", (0, 0.5, 0.8), (2, 0.2, 0.1), mass=2, section=0.1)
    m.body("slider", 1.5, (2, 0.2, 0.1), (0.1, 0.2, 0.2))
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=(1, 0.2, 0))
    m.spherical("B", "crank", "coupler", at=(0, 0.5, 0.8))
    m.universal("C", "coupler", "slider", at=(2, 0.2, 0.1), axis=(0, 1, 0.3), second_axis=(0, 0, 1))
    m.prismatic("D", m.ground, "slider", at=(2, 0.2, 0.1), axis=(1, 0, 0.1))
    m.spring("S", m.ground, "slider", start=(3, 0, 0), end=(2, 0.2, 0.1), stiffness=4.0)
    m.set_angular_velocity("crank", np.array([1, 0.2, 0]) * 2.0)
    crank = rng.normal((0, 0.5, 0.8), 0.05, (n, 3))
    end = rng.normal((2, 0.2, 0.1), 0.05, (n, 3))
    axis = rng.normal((1, 0.2, 0.0), 0.05, (n, 3))
    vary = {
        "bodies.crank.rod.1": crank,
        "bodies.coupler.rod": np.stack([crank, end], axis=1),
        "joints.B.at": crank,
        "joints.C.at": end,
        "joints.D.at": end,
        "bodies.slider.center": end,
        "springs.S.end": end,
        "joints.A.axis": axis,
        "angular_velocities.crank": 2.0 * axis,
        "joints.D.axis": rng.normal((1, 0, 0.1), 0.05, (n, 3)),
        "bodies.slider.inertia": rng.uniform(0.1, 0.15, (n, 3)),
        "bodies.coupler.mass": rng.uniform(1.0, 3.0, n),
        "springs.S.stiffness": rng.uniform(1.0, 5.0, n),
        "gravity.2": rng.uniform(-10.0, -9.0, n),
    }
    return m, vary


def test_numbers_of_variants_are_those_of_their_models():
    """Lengths, places, axes, masses: what the tape gives for all is what each of them has if built."""
    m, vary = slider_crank(40, np.random.default_rng(2))
    variants, settings = Variants(m, vary), default_settings(1.0)
    traced = Traced(variants, settings, ("B", "C"), {path: x[0] for path, x in vary.items()})
    group = traced.group(vary)
    # some have another shortest part of an axis, or another direction in which a mass spreads most
    assert len(group.which) >= 5
    for at in range(0, len(group.which), 2):
        ready = prepared(variants.mechanism(int(group.which[at])), settings)
        numbers = _numbers_of(ready.model, ready.velocity, ("B", "C"))
        assert structure_of(numbers) == traced.structure
        assert group.energy[at] == pytest.approx(ready.model.units.energy, rel=1e-13)
        # inertias of rods are made by other arithmetic: rounding, times some divisions by a frame
        rows = flatten(numbers)[group.plan.rows]
        np.testing.assert_allclose(group.numbers.dense()[:, at], rows, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["speed", "sine", "phase", "step", "table"])
def test_numbers_of_drives_are_those_of_their_models(name):
    """Motions and their start velocities: the replayed values equal those of models built one by one."""
    motion, vary = DRIVEN[name]
    vary = vary | {"bodies.crank.rod.1": np.array([0.3, 0.4]) + 0 * SPREAD.T}
    variants, settings = Variants(driven_slider_crank(motion), vary), default_settings(1.0)
    traced = Traced(variants, settings, ("B",), {path: x[0] for path, x in vary.items()})
    group = traced.group(vary)
    assert len(group.which) == 20
    for at in (0, 11):
        ready = prepared(variants.mechanism(at), settings)
        numbers = _numbers_of(ready.model, ready.velocity, ("B",))
        assert structure_of(numbers) == traced.structure
        rows = flatten(numbers)[group.plan.rows]
        np.testing.assert_allclose(group.numbers.dense()[:, at], rows, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_lengths_places_and_axes_of_an_ensemble():
    """A spatial loop of which everything varies: most follow from a tape, and each is what `simulate` finds."""
    m, vary = slider_crank(20, np.random.default_rng(5))
    ensemble = sarrus.Ensemble(m, vary)
    runs = ensemble.simulate(1.0, outputs=TIMES / 2, points=["B", "C"])
    # a few have another shortest part of an axis: too few for specialised code
    assert runs.fallback.sum() <= 4
    some = {i: ensemble.mechanism(i) for i in (0, 5, 11)}
    check_same(runs, some, 1e-7, ["B", "C"], 1.0, TIMES / 2)


@pytest.mark.slow
def test_variants_that_are_rejected_or_of_another_structure():
    """A rod that misses its joint, a mass of nothing, an arm that becomes the longest: each as by itself."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (0, -1), mass=2)
    m.body("bob", 1.0, (0.2, -1.1), 0.1)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.revolute("knee", "rod", "bob", at=(0, -1))
    m.set_velocity("knee", (1, 0))
    ends = np.tile([0.0, -1.0], (40, 1))
    ends[7] = (0.0, -0.9)
    masses = np.linspace(1.0, 2.0, 40)
    masses[3] = 0.0
    centers = np.tile([0.2, -1.1], (40, 1))
    # no inertia next to the hinge but that of the body, and a centre on it
    centers[20] = (0.0, -1.0)
    vary = {"bodies.rod.rod.1": ends, "bodies.rod.mass": masses, "bodies.bob.center": centers}
    ensemble = sarrus.Ensemble(m, vary)
    runs = ensemble.simulate(1.0, outputs=TIMES / 2, points=["knee"])
    assert (runs.status[[3, 7]] == "rejected").all()
    assert "mass 0 kg" in runs.message[3]
    assert "apart by 0.1 m" in runs.message[7]
    assert np.flatnonzero(runs.fallback).tolist() == [3, 7, 20]
    some = {i: ensemble.mechanism(i) for i in (0, 20, 39)}
    check_same(runs, some, 1e-8, ["knee"], 1.0, TIMES / 2)


@pytest.mark.slow
def test_long_runs_share_their_tolerance():
    """Runs of many steps end as near to each other as single ones do, and to the exact period."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    times = np.linspace(0.0, 100.0, 11)
    ensemble = sarrus.Ensemble(m, {"bodies.rod.mass": np.linspace(0.5, 2.0, 16)})
    runs = ensemble.simulate(100.0, outputs=times, points=["rod"])
    assert runs.counters["steps"].min() > 300
    assert not runs.fallback.any()
    # the mass of a pendulum counts for nothing: all errors are those of the steps
    assert np.abs(np.diff(runs.position("rod"), axis=0)).max() < 1e-9
    check_same(runs, {0: ensemble.mechanism(0)}, 1e-9, ["rod"], 100.0, times)


@pytest.mark.slow
def test_springs():
    """Spring constants and masses of a loop with a spring and a torque: as one by one, and linear in them."""
    m = four_bar()
    m.spring("pull", "crank 0", "crank 2", start=(0, 0.5), end=(2, 1), stiffness=5.0)
    m.torque("drag", "crank 1", -0.3)
    rng = np.random.default_rng(1)
    vary = {"springs.pull.stiffness": rng.uniform(2.0, 8.0, 20)}
    vary["bodies.coupler 0.mass"] = rng.uniform(0.5, 2.0, 20)
    ensemble = sarrus.Ensemble(m, vary)
    runs = ensemble.simulate(2.0, outputs=TIMES, points=["B0"])
    assert not runs.fallback.any()
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 13)}, 1e-7, ["B0"])


@pytest.mark.slow
def test_dampers():
    """Damping constants of a loop with a damper between links and one in a hinge: as one by one."""
    m = four_bar()
    m.spring("strut", m.ground, "crank 2", start=(3, 2), end=(2, 1), stiffness=5.0, damping=0.4)
    m.torsion("hinge", "A0", stiffness=0.5, damping=0.2, torque=0.3)
    rng = np.random.default_rng(1)
    vary = {"springs.strut.damping": rng.uniform(0.1, 2.0, 20)}
    vary["torsions.hinge.damping"] = rng.uniform(0.1, 0.5, 20)
    ensemble = sarrus.Ensemble(m, vary)
    runs = ensemble.simulate(2.0, outputs=TIMES, points=["B0"])
    assert not runs.fallback.any()
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 13)}, 1e-7, ["B0"])


@pytest.mark.slow
def test_dampers_through_singular_positions():
    """Damped double four-bars, 10 s, all their flat configurations: places and statuses as one by one."""
    m = four_bar()
    m.torsion("hinge", "A0", damping=0.3)
    rng = np.random.default_rng(0)
    ensemble = sarrus.Ensemble(m, {"torsions.hinge.damping": rng.uniform(0.01, 1.0, 40)})
    times = np.linspace(0.0, 10.0, 51)
    runs = ensemble.simulate(10.0, outputs=times, points=["B0", "B2"])
    # slow ones have steps that end near a flat configuration and fall back
    assert runs.fallback.sum() < 10
    for i in np.flatnonzero(~runs.fallback)[::6].tolist():
        one = sarrus.simulate(ensemble.mechanism(i), 10.0, outputs=times)
        assert (runs.status[i], runs.message[i]) == (one.status, one.message)
        for name in ("B0", "B2"):
            # errors of two runs at 1e-10, through ten positions that multiply them
            assert np.abs(runs.position(name)[i] - one.position(name)).max() < 1e-6
        # energies of some 10 J; near a singular configuration it is kept to NOISE
        assert np.abs(runs.energy_drift[i] - one.energy_drift) < 1e-6


SPREAD = np.random.default_rng(3).uniform(0.8, 1.2, (2, 20))
TABLE = sarrus.Table((0.0, 0.5, 1.0, 1.5, 2.0), (0.0, 0.4, 0.9, 0.7, 0.2))
DRIVEN = {
    "speed": (sarrus.Polynomial((0.0, 6.0)), {"drives.d.polynomial.1": 6.0 * SPREAD[0]}),
    "sine": (
        sarrus.Sine(1.0, 0.7),
        {"drives.d.sine.amplitude": SPREAD[0], "drives.d.sine.frequency": 0.7 * SPREAD[1]},
    ),
    "phase": (
        sarrus.Sine(1.0, 0.7, 0.4, -np.sin(0.4)),
        {"drives.d.sine.frequency": SPREAD[0], "bodies.rod.mass": SPREAD[1]},
    ),
    "step": (
        sarrus.SmoothStep(0.0, 2.0, 0.3, 1.2),
        {"drives.d.step.to": 2.0 * SPREAD[0], "drives.d.step.end": 1.2 * SPREAD[1]},
    ),
    "table": (TABLE, {"bodies.slider.mass": SPREAD[0]}),
    # a spline is not traced: each of them is built
    "values of a table": (TABLE, {"drives.d.table.values.2": 0.9 * SPREAD[0]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVEN)
def test_drives(name):
    """Numbers of the motion of a drive, masses of what it moves: as one by one."""
    motion, vary = DRIVEN[name]
    ensemble = sarrus.Ensemble(driven_slider_crank(motion), vary)
    runs = ensemble.simulate(2.0, outputs=TIMES, points=["B", "C"])
    assert not runs.fallback.any()
    # a driven crank leaves nothing to errors but rounding
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 13)}, 1e-12, ["B", "C"])


@pytest.mark.slow
def test_driven_parallelograms_through_flat_positions():
    """Two parallelograms turned by a motor pass all flat configurations on their circles, whatever its speed."""
    m = four_bar()
    m.velocities.clear()
    m.drive("motor", "A0", sarrus.Polynomial((0.0, 1.0)))
    speeds = np.linspace(0.5, 2.0, 24)
    times = np.linspace(0.0, 10.0, 51)
    ensemble = sarrus.Ensemble(m, {"drives.motor.polynomial.1": speeds})
    runs = ensemble.simulate(10.0, outputs=times, points=["A0", "B0", "A2", "B2"])
    # one whose step ends near a flat configuration falls back
    fast = ~runs.fallback
    assert (runs.status[fast] == "done").all()
    assert fast.sum() >= 22
    start = (runs.position("B0") - runs.position("A0"))[:, :1]
    angle = np.arctan2(start[..., 1], start[..., 0]) + speeds[:, None] * times
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for end in ("0", "2"):
        arm = runs.position(f"B{end}") - runs.position(f"A{end}")
        # near a flat configuration the end of a step is accurate to some 1e-9
        assert np.abs(arm - circle)[fast].max() < 1e-7


@pytest.mark.slow
def test_drives_that_reach_a_limit_or_contradict_each_other():
    """Sliders driven beyond the reach of their crank, two motors that disagree: each as `simulate` states it."""
    ensemble = sarrus.Ensemble(
        driven_slider_crank(sarrus.Polynomial((0.0, 0.1)), "D"),
        {"drives.d.polynomial.1": np.linspace(0.05, 0.3, 20)},
    )
    runs = ensemble.simulate(2.0, outputs=TIMES, points=["C"])
    assert {"done", "blocked"} == set(runs.status)
    assert not runs.fallback[runs.status == "done"].any()
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 10, 19)}, 1e-12, ["C"])
    m = four_bar(windows=1)
    m.velocities.clear()
    m.drive("one", "A0", sarrus.Polynomial((0.0, 0.0, 0.2)))
    m.drive("two", "A1", sarrus.Polynomial((0.0, 0.0, 0.2)))
    both = np.full(20, 0.2)
    both[7] = 0.20001
    ensemble = sarrus.Ensemble(m, {"drives.two.polynomial.2": both})
    runs = ensemble.simulate(2.0, outputs=TIMES, points=["B0"])
    assert np.flatnonzero(runs.status != "done").tolist() == [7]
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 7)}, 1e-12, ["B0"])


@pytest.mark.slow
def test_stiff_dampers_are_left_to_auto():
    """Pendulums in oil, thin and thick: thin ones stay in lanes over many steps, stiff ones move to radau."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.torsion("oil", "pin", damping=1.0)
    damping = np.append(np.linspace(0.0005, 0.002, 16), [50.0, 300.0, 2000.0])
    times = np.linspace(0.0, 500.0, 11)
    ensemble = sarrus.Ensemble(m, {"torsions.oil.damping": damping})
    runs = ensemble.simulate(500.0, outputs=times, points=["rod"])
    assert np.flatnonzero(runs.fallback).tolist() == [16, 17, 18]
    assert runs.counters["steps"][0] > 2200
    check_same(runs, {i: ensemble.mechanism(i) for i in (0, 16, 18)}, 1e-9, ["rod"], 500.0, times)
    assert all("radau" in runs.notes(i)[0] for i in (16, 17, 18))


@pytest.mark.slow
def test_what_needs_care_is_parked():
    """One of its kind, a singular start, a rejected mechanism: each is what `simulate` says, next to fast ones."""
    fast = [four_bar(1.0 + 0.01 * k) for k in range(16)]
    sprung = four_bar()
    sprung.spring("pull", "crank 0", "crank 2", start=(0, 0.5), end=(2, 1), damping=0.1)
    flat = sarrus.Mechanism("flat", gravity=(0, -9.81))
    for i in range(3):
        flat.rod(f"crank {i}", (i, 0), (i + 1, 0), mass=1)
        flat.revolute(f"A{i}", flat.ground, f"crank {i}", at=(i, 0))
    for i in range(2):
        flat.rod(f"coupler {i}", (i + 1, 0), (i + 2, 0), mass=1)
    for i in range(3):
        joined = [f"coupler {k}" for k in (i - 1, i) if 0 <= k < 2]
        flat.revolute(f"B{i}", f"crank {i}", *joined, at=(i + 1, 0))
    empty = sarrus.Mechanism("empty")
    everything = [*fast, sprung, flat, empty]
    runs = sarrus.simulate_many(everything, 2.0, outputs=TIMES, points=["B0"])
    assert not runs.fallback[:16].any()
    assert runs.fallback[16:18].all()
    check_same(runs, dict(enumerate(everything[:18])), 1e-7, ["B0"])
    assert runs.status[18] == "rejected"
    assert "no bodies" in runs.message[18]


@pytest.mark.slow
def test_random_mechanisms():
    """Planar and spatial mechanisms at random with masses of their own: as one by one."""
    for seed in range(2):
        base = random_mechanism(seed, 2 + seed % 2)
        names = [b.name for b in base.bodies]
        rng = np.random.default_rng(seed)
        data = {f"bodies.{n}.mass": rng.uniform(0.5, 1.5, 16) for n in names[:1]}
        ensemble = sarrus.Ensemble(base, data)
        runs = ensemble.simulate(2.0, outputs=TIMES, points=names)
        check_same(runs, {i: ensemble.mechanism(i) for i in (0, 9)}, 1e-6, names)


@pytest.mark.parametrize(
    ("vary", "sentence"),
    [
        ({"gravity": [[0, -1]], "bodies.crank 0.mass": [1.0, 2.0]}, "different lengths"),
        ({"bodies.crank 0.mass": [1.0, np.nan]}, "not a number, of variant 1"),
        ({"bodies.crunk 0.mass": [1.0]}, "did you mean 'crank 0'"),
        ({"bodies.crank 0.mas": [1.0]}, "did you mean 'mass'"),
        ({"bodies.crank 0.mass": 3.0}, "holds one number"),
        ({"bodies.crank 0.mass": []}, "holds no value"),
        ({"bodies.crank 0.mass": ["1 kg", "2 kg"]}, "SI units"),
        ({"bodies.crank 0.mass": [1j]}, "not an array of numbers"),
        ({"bodies.crank 0.mass": np.ones((3, 2))}, "mass: a list is not a number"),
        ({"gravity": [[0, 1], [0]]}, "one shape for all"),
        ({"gravity": [1.0, 2.0]}, "gravity: 1.0 is not a list"),
        ({"gravity.1": [1.0], "gravity": [[0.0, 1.0]]}, "set the same number"),
        ({"bodies.'crank 0'.mass": [1.0], "bodies.crank 0.mass": [1.0]}, "set the same number"),
        ({"angular_velocities.crunk 0": [1.0]}, "no such body"),
        ({"sarrus": [1.0]}, "not a number"),
        ({"bodies": [1.0]}, "not a number"),
        ({"joints.A0.revolute": [[1.0, 2.0]]}, "not a number"),
        ({}, "nothing varies"),
        (["gravity"], "nothing varies"),
    ],
)
def test_what_cannot_vary_is_reported(vary, sentence):
    """One sentence, before anything is run, that names path and variant."""
    with pytest.raises(ValueError, match=sentence):
        sarrus.Ensemble(four_bar(), vary)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "tpu"}, "'cpu' or 'gpu'"),
        ({"points": "B0"}, "a list of names"),
        ({"points": ["B0", "B0"]}, "more than once"),
        ({"points": ["B0", "BO"]}, "no joint, point or body is called 'BO'"),
        ({"points": ["BO"], "crossings": True}, "no joint, point or body is called 'BO'"),
        ({"threads": 0}, "whole number from 1"),
        ({"threads": 1.5}, "whole number from 1"),
    ],
)
@pytest.mark.parametrize("count", [2, 20])
def test_wrong_arguments_are_reported(options, sentence, count):
    """The same sentence for few and for many."""
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": np.linspace(1, 2, count)})
    for call in (ensemble.simulate, lambda *a, **k: sarrus.simulate_many(list(ensemble), *a, **k)):
        with pytest.raises(ValueError, match=sentence):
            call(1.0, **options)


def test_what_is_no_list_of_mechanisms_is_reported():
    """None, one mechanism, planar next to spatial."""
    for given, sentence in (
        ([], "at least one"),
        (four_bar(), "not a list of mechanisms"),
        ([four_bar(), None], "entry 1, None"),
        ([four_bar(), bricard()], "entry 1 has 3 dimensions"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sarrus.simulate_many(given, 1.0)


def test_without_a_device_it_is_said_whatever_runs(monkeypatch):
    """Also where no run would have come to it."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RuntimeError, match="needs CuPy"):
        sarrus.simulate_many([four_bar()], 1.0, device="gpu")


def test_runs_that_a_device_does_not_certify_are_those_of_host_lanes(monkeypatch):
    """A device that certifies two of three runs: the others come from the lanes of the host, bit by bit."""

    def device(plan, numbers, settings, *, keep):
        found = run_on_host(plan, numbers, settings, keep=keep)
        found.reason[::3] = UNCERTAIN
        return found

    monkeypatch.setattr(run_batch, "find_cupy", lambda: None)
    monkeypatch.setattr(run_batch, "run_on_device", device)
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": np.linspace(0.5, 2.0, 1001)})
    host, mixed = (ensemble.simulate(0.5, 0.1, device=x) for x in ("cpu", "gpu"))
    assert not host.fallback.any()
    assert not mixed.fallback.any()
    for name in ("values", "balance", "final", "least", "largest", "energy_drift"):
        assert np.array_equal(getattr(host, name), getattr(mixed, name))


@pytest.mark.parametrize("outputs", [[0.5], [0.0, 0.3], [0.25, 1.0]])
def test_final_state_is_that_of_the_end(outputs):
    """Whichever way a run went, and whatever its outputs are; extremes and drift are those of the outputs."""
    masses = np.linspace(0.5, 2.0, 20)
    lanes = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": masses})
    few = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": masses[:2]})
    fast, slow = (e.simulate(1.0, outputs=outputs, points=["B0"]) for e in (lanes, few))
    assert not fast.fallback.any()
    assert slow.fallback.all()
    for i in range(2):
        end = sarrus.simulate(few.mechanism(i), 1.0, outputs=[1.0])
        for runs in (fast, slow):
            assert np.abs(runs.final[i, 0, 0] - end.position("B0")[0]).max() < 1e-8
            assert np.abs(runs.final[i, 0, 1] - end.velocity("B0")[0]).max() < 1e-8
    for name in ("values", "balance", "least", "largest", "energy_drift"):
        both = getattr(fast, name)[:2] - getattr(slow, name)
        assert np.abs(both).max() < 1e-8


@pytest.mark.slow
def test_no_run_of_a_group_is_certain():
    """Too few steps for any: all fall back to single runs, which report it; also without points."""
    masses = np.linspace(0.5, 2.0, 20)
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": masses})
    for points in (["B0"], []):
        runs = ensemble.simulate(2.0, 0.1, max_steps=3, points=points)
        assert (runs.status == "too-slow").all()
        assert "after 3 steps" in runs.message[7]
    assert (ensemble.simulate(1.0, 0.1, points=[]).status == "done").all()


@pytest.mark.slow
def test_start_at_rest_gets_velocities():
    """Keys that a file may leave out vary too: velocities of a start at rest, the section of a thin rod."""
    m = sarrus.Mechanism("pendulum", gravity=(0, 0))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    rates = np.linspace(0.0, 3.0, 20)
    vary = {"angular_velocities.rod": rates, "bodies.rod.section": np.linspace(0.0, 0.1, 20)}
    runs = sarrus.Ensemble(m, vary).simulate(1.0, 0.1, points=["rod"])
    # without gravity it turns as it began
    angle = rates[:, None] * runs.times
    exact = 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    assert np.abs(runs.position("rod") - exact).max() < 1e-9


@pytest.mark.slow
def test_variants_keep_users_forces_and_their_base():
    """Each variant has the functions; later changes of the mechanism do not reach any variant."""
    m = sarrus.Mechanism("mass", gravity=(0, 0))
    m.body("block", 1.0, (1, 0))
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.user_force("spring", ["rail"], lambda t, position, velocity: -4.0 * position)
    masses = np.array([1.0, 4.0, 16.0])
    given = masses.copy()
    ensemble = sarrus.Ensemble(m, {"bodies.block.mass": given})
    m.body("other", 1.0, (5, 5))
    given[:] = -1.0
    runs = ensemble.simulate(1.0, 0.1, points=["block"])
    exact = np.cos(np.sqrt(4.0 / masses)[:, None] * runs.times)
    # radau at the default tolerance
    assert np.abs(runs.position("block")[:, :, 0] - exact).max() < 1e-7


@pytest.mark.slow
def test_degenerate_variants_harm_no_other():
    """At random: rods of no length, joints that part, masses beyond all bounds; each as `simulate` states it."""
    rng = np.random.default_rng(3)
    f = sarrus.Mechanism("loop", gravity=(0, -9.81))
    places = {"A": (0, 0), "B": (0, 1), "C": (2, 1.5), "D": (2, 0)}
    for name, (a, b) in {"a": "AB", "b": "BC", "c": "CD"}.items():
        f.rod(name, places[a], places[b], mass=1)
    for name, first, second in (
        ("A", f.ground, "a"),
        ("B", "a", "b"),
        ("C", "b", "c"),
        ("D", "c", f.ground),
    ):
        f.revolute(name, first, second, at=places[name])
    f.set_angular_velocity("a", 1.0)
    ends = np.tile(places["C"], (40, 1)) + rng.uniform(-0.2, 0.2, (40, 2))
    joints, masses = ends.copy(), rng.uniform(0.5, 2.0, 40)
    bad = rng.permutation(40)[:12]
    # on another joint, nearly so, far away, in line with the crank
    kinds = [places["D"], places["B"], (2, 1e-13), (2e6, 1e6), (0, 2), (0, 1 + 1e-7)]
    for i, place in zip(bad, kinds, strict=False):
        ends[i] = joints[i] = place
    joints[bad[6]] += 0.1
    masses[bad[7:12]] = 0.0, -1.0, 1e200, 1e-300, 1e90
    vary = {
        "bodies.b.rod.1": ends,
        "bodies.c.rod.0": ends,
        "joints.C.at": joints,
        "bodies.b.mass": masses,
    }
    ensemble = sarrus.Ensemble(f, vary)
    runs = ensemble.simulate(1.0, outputs=TIMES / 2, points=["C"])
    assert not np.delete(runs.fallback, bad).any()
    for i in bad.tolist():
        try:
            one = sarrus.simulate(ensemble.mechanism(i), 1.0, outputs=TIMES / 2)
            reported = one.status, one.message
        except sarrus.MechanismError as error:
            reported = "rejected", str(error)
        assert (runs.status[i], runs.message[i]) == reported
    assert {"rejected", "done"} == set(runs.status[bad])


def test_negative_mass_is_rejected():
    """A variant that cannot be is a row of its own, not all of them."""
    masses = np.append(np.linspace(0.5, 2.0, 19), -1.0)
    runs = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": masses}).simulate(1.0)
    assert (runs.status[:-1] == "done").all()
    assert runs.status[-1] == "rejected"
    assert "mass" in runs.message[-1]


def test_rejected_ones_in_front_do_not_slow_the_others():
    """More variants that cannot be, in a row, than tapes are tried: the others run in lanes all the same."""
    masses = np.linspace(-1.0, 2.0, 90)
    runs = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": masses}).simulate(0.5, 0.1)
    assert (runs.status == np.where(masses > 0.0, "done", "rejected")).all()
    assert not runs.fallback[masses > 0.0].any()


def test_outputs_that_do_not_fit_are_reported(monkeypatch):
    """By what is free now; final states and extremes need no such room."""
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": np.linspace(1, 2, 16)})
    monkeypatch.setattr("sarrus.ensemble.front_end.free_memory", lambda: 1e6)
    with pytest.raises(ValueError, match="16 runs of 1001 outputs of 6 points would not fit"):
        ensemble.simulate(1.0)
    assert (ensemble.simulate(1.0, keep=False).status == "done").all()


def test_parts_of_any_size_give_the_same(monkeypatch):
    """How many lanes run at once, and how many outputs are copied at once, changes no bit."""
    ensemble = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": np.linspace(1, 2, 67)})
    whole = ensemble.simulate(1.0, 0.01)
    monkeypatch.setattr("sarrus.ensemble.host.GROUPS_AT_ONCE", 1)
    monkeypatch.setattr("sarrus.ensemble.run_batch.AT_ONCE", 5)
    small = ensemble.simulate(1.0, 0.01)
    for name in ("values", "balance", "final", "least", "largest", "energy_drift"):
        assert (getattr(whole, name) == getattr(small, name)).all()


def test_exits():
    """A data frame has a row a run, a data set all outputs."""
    pytest.importorskip("xarray")
    runs = sarrus.Ensemble(four_bar(), {"bodies.crank 0.mass": [1.0, 2.0]}).simulate(1.0, 0.5)
    table = runs.to_dataframe()
    assert len(table) == 2
    assert (table["final B0.x [m]"] == runs.final[:, runs.points.index("B0"), 0, 0]).all()
    data = runs.to_xarray()
    assert (data["position"].sel(point="B1", axis="y") == runs.position("B1")[..., 1]).all()
    assert "crossing_time" not in data
    assert table["bodies.crank 0.mass"].tolist() == [1.0, 2.0]
    assert table["message"].tolist() == runs.message
    vary = {"velocities.B0": [[1.0, 0.0], [4.0, 0.0]]}
    runs = sarrus.Ensemble(four_bar(), vary).simulate(1.0, 0.5, crossings=True)
    few, many = runs.crossings
    assert 0 < len(few) < len(many)
    table, data = runs.to_dataframe(), runs.to_xarray()
    assert table["crossing times [s]"].tolist() == [few.tolist(), many.tolist()]
    assert table["crossings"].tolist() == [len(few), len(many)]
    # what varied is in both, vectors by their entries
    assert table["velocities.B0.0"].tolist() == [1.0, 4.0]
    assert data["velocities.B0.0"].dims == ("run",)
    assert data["position"].swap_dims(run="velocities.B0.0").sel({"velocities.B0.0": 4.0}).ndim == 3
    times = data["crossing_time"].values
    assert np.array_equal(times[1], many)
    assert np.array_equal(times[0, : len(few)], few)
    assert np.isnan(times[0, len(few) :]).all()


def test_crossing_times_of_each_run():
    """Of few runs those of `simulate`, in every bit, and of closed form; none where nothing is crossed."""
    speeds = (1.0, 2.0)
    mechanisms = [n_four_bar(2, speed=s) for s in speeds] + [bricard()]
    runs = sarrus.simulate_many(mechanisms[:2], 3.0, 0.5, crossings=True)
    for i, (speed, times) in enumerate(zip(speeds, runs.crossings, strict=True)):
        alone = sarrus.simulate(n_four_bar(2, speed=speed), 3.0, 0.5)
        assert times.tolist() == [c.time for c in alone.crossings]
        assert np.array_equal(runs.position("B0")[i], alone.position("B0"))
    # the start velocity of the elliptic functions; what crossings cost a run at the default tolerance
    assert runs.crossings[0] == pytest.approx(flat_times(2, 3.0), abs=1e-7)
    table = runs.columns()
    assert table["crossings"].tolist() == [len(times) for times in runs.crossings]
    assert table["first crossing [s]"][1] == runs.crossings[1][0]
    quiet = sarrus.simulate_many(mechanisms[2:], 0.5, 0.5, crossings=True)
    assert len(quiet.crossings[0]) == 0
    assert np.isnan(quiet.columns()["first crossing [s]"]).all()
    unasked = sarrus.simulate_many(mechanisms[2:], 0.5, 0.5)
    assert unasked.crossings is None
    with pytest.raises(ValueError, match="not requested"):
        _ = unasked.of(0).crossings
