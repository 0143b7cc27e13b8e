"""Forces at outputs on or next to a crossing: limits along the motion, or unbounded with their coefficient."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from builders import flat_four_bar, n_four_bar
from crossing_families import members, random_swing
from sarrus import Mechanism, Polynomial, simulate
from sarrus.problems.references.n_four_bar import flat_times
from sarrus.report.curves import read_curves
from sarrus.studies.records import QUANTITIES, RecordSource
from sarrus.thresholds import UNBALANCED

GRAVITY = 9.81


def driven_parallelogram(rng):
    """Its crank turns at a constant rate; with its numbers: crank, masses, rate, time until it is flat."""
    crank, width, angle, rate = rng.uniform((0.3, 0.7, 0.4, 1.0), (0.9, 1.5, 2.0, 3.0))
    masses = rng.uniform(0.5, 3.0, 3)
    m = Mechanism("parallelogram", gravity=(0.0, -GRAVITY))
    up, B = crank * np.array([math.cos(angle), math.sin(angle)]), np.array([width, 0.0])
    for name, a, b, mass in zip(
        ("crank", "coupler", "rocker"), (0 * B, up, B), (up, B + up, B + up), masses, strict=True
    ):
        m.rod(name, a, b, mass=mass)
    m.revolute("A0", m.ground, "crank", at=(0, 0))
    m.revolute("A", "crank", "coupler", at=up)
    m.revolute("B", "coupler", "rocker", at=B + up)
    m.revolute("B0", m.ground, "rocker", at=B)
    m.drive("motor", "A0", Polynomial((0.0, rate)))
    return m, crank, masses, rate, (math.pi - angle) / rate


def driven_slider_crank(rng):
    """Crank and rod of equal lengths; with the time at which they fold, and the torque there by dE/d(angle)."""
    r, angle, rate = rng.uniform((0.3, 0.3, 1.0), (0.8, 1.2, 3.0))
    crank, rod, piston = rng.uniform(0.5, 3.0, 3)
    m = Mechanism("folding slider-crank", gravity=(-GRAVITY, 0.0))
    B = r * np.array([math.cos(angle), math.sin(angle)])
    C = np.array([2 * B[0], 0.0])
    m.rod("crank", (0, 0), B, mass=crank)
    m.rod("rod", B, C, mass=rod)
    m.body("piston", piston, C, 0.01)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=B)
    m.revolute("C", "rod", "piston", at=C)
    m.prismatic("P", m.ground, "piston", at=C, axis=(1.0, 0.0))
    m.drive("motor", "A", Polynomial((0.0, rate)))
    # potential energy: heights r cos/2, 3 r cos/2 and 2 r cos; the kinetic one is stationary where it folds
    torque = -GRAVITY * r * (crank / 2 + 1.5 * rod + 2 * piston)
    return m, (math.pi / 2 - angle) / rate, torque


@pytest.mark.parametrize("seed", range(4))
def test_torque_of_a_driven_parallelogram(seed):
    """Where it is flat the torque balances the weight, and the cranks' axial forces grow as a cotangent."""
    m, crank, masses, rate, flat = driven_parallelogram(np.random.default_rng(seed))
    torque = -GRAVITY * crank * (masses[0] / 2 + masses[1] + masses[2] / 2)
    # moments about the foot of the rocker: its axial force is (m coupler + m rocker) g / 2 times the cotangent
    coefficient = GRAVITY * (masses[1] + masses[2]) / (2 * rate)
    result = simulate(m, 2 * flat, flat / 5, dense=True)
    stopped = simulate(m, 2 * flat, flat / 5, at_crossing="stop")
    there = result.at(result.crossings[0].time)
    assert result.drive_force("motor")[5] == pytest.approx(torque, rel=1e-9)
    assert there.drive_force("motor")[0] == pytest.approx(torque, rel=1e-9)
    assert stopped.drive_force("motor")[-1] == pytest.approx(torque, rel=1e-9)
    assert result.reaction("motor").moment_words[5] == "unique"
    for run, k in ((result, 5), (there, 0), (stopped, -1)):
        reaction = run.reaction("B")
        assert reaction.force_words[k].tolist() == ["unbounded", "unique"]
        assert np.isnan(reaction.force[k, 0])
        # the coupler's weight is borne at both ends
        assert reaction.force[k, 1] == pytest.approx(-GRAVITY * masses[1] / 2, rel=1e-9)
        (grows,) = reaction.unbounded
        assert grows.order == 1
        assert grows.time == pytest.approx(flat, rel=1e-9)
        assert abs(grows.force[0]) == pytest.approx(coefficient, rel=1e-8)
        assert grows.force[1] == 0.0
    assert "unbounded at tc" in str(reaction)


@pytest.mark.parametrize("seed", range(3))
def test_torque_of_a_folding_slider_crank(seed):
    """Where crank and rod fold the torque is the derivative of the energy, though pins bear ever larger forces."""
    m, folded, torque = driven_slider_crank(np.random.default_rng(seed))
    result = simulate(m, 2 * folded, folded / 4)
    assert result.drive_force("motor")[4] == pytest.approx(torque, rel=1e-8)
    assert result.reaction("motor").moment_words[4] == "unique"
    # the rod is across the rail and bears the piston's weight along it by an ever larger axial force
    pin = result.reaction("C")
    assert pin.force_words[4].tolist() == ["unique", "unbounded"]
    assert pin.force[4, 0] == pytest.approx(m.bodies[2].mass * GRAVITY, rel=1e-8)
    # outputs too close for the equations there, but not at it
    close = simulate(m, 2 * folded, folded * (1 - 1e-9))
    assert close.drive_force("motor")[1] == pytest.approx(torque, rel=1e-6)


def reaction_table(result):
    """Forces and moments of all joints and drives at all outputs, (n, k), and their words."""
    found = result.reactions
    parts = [found.of(name) for name in (*found.equations.joints, *found.equations.drives)]
    n = len(result.times)
    values = [x.reshape(n, -1) for p in parts for x in (p.force, p.moment)]
    words = [x.reshape(n, -1) for p in parts for x in (p.force_words, p.moment_words)]
    return np.hstack(values), np.hstack(words)


@pytest.mark.parametrize(
    "family",
    [
        "two windows",
        "parallelogram in space",
        "two scissors",
        "kite",
        "three cranks",
        "parallelogram and pendulum",
        "parallelogram and damper",
        "driven parallelogram",
        "folding slider-crank",
    ],
)
def test_limits_agree_with_neighbours(family):
    """Bounded components are the limits of what is before and after, unbounded ones grow by their coefficient."""
    seen = 0
    for m in members(family, 2, seed=5):
        result = simulate(m, 2.0, 0.5, dense=True)
        assert result.success
        h = 5e-4
        inner = [c for c in result.crossings if 2 * h < c.time < 2.0 - 2 * h][:3]
        for crossing in inner:
            near = result.at(crossing.time + h * np.arange(-2.0, 3.0))
            values, words = reaction_table(near)
            size = np.abs(near.reactions.values).max()
            bounded = words[2] == "unique"
            # odd powers of the time cancel, fourth ones are left, and the run's error over h
            even = (4 * (values[1] + values[3]) - (values[0] + values[4])) / 6
            assert np.abs(values[2] - even)[bounded].max(initial=0.0) < 1e-5 * size
            assert np.all(bounded | (words[2] == "unbounded") | (words[2] == "shared"))
            assert np.isnan(values[2][words[2] == "unbounded"]).all()
            residues = near.reactions.poles
            at = [p for p in residues if p.time == crossing.time]
            odd = h * (8 * (values[3] - values[1]) - 2 * (values[4] - values[0])) / 12
            grows = np.abs(odd[words[2] == "unbounded"]).max(initial=0.0)
            coefficient = max((np.abs(p.values).max() for p in at), default=0.0)
            assert grows == pytest.approx(coefficient, rel=0.6, abs=1e-9)
            seen += 1
    assert seen


@pytest.mark.parametrize("seed", [1, 5, 9, 13])
def test_limits_in_random_swings(seed):
    """Cranks that swing through flat by 0.1 rad, in chains too: forces and accelerations there are limits.

    What is left of the iteration for the motion through the crossing is rounding, more of it in longer chains.
    """
    m, rate, _ = random_swing(np.random.default_rng([29, seed]), 0.1)
    result = simulate(m, 5.0 * np.pi / rate, 1.0 / rate, dense=True)
    assert len(result.crossings) == 5
    for crossing in result.crossings:
        near = result.at(crossing.time + 0.04 / rate * np.arange(-3.0, 4.0))
        joints = [near.reaction(joint.name) for joint in m.joints]
        assert not any((j.force_words[3] == "undetermined").any() for j in joints)
        for values in (near.accelerations, *(j.force for j in joints)):
            even = 15 * (values[2] + values[4]) - 6 * (values[1] + values[5])
            even = (even + values[0] + values[6]) / 20
            # the sixth power of 0.04 is left, and the run's error over the angle and the time squared
            assert np.abs(values[3] - even).max() < 1e-5 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(3))
def test_drive_power_at_a_crossing(seed):
    """At the crossing itself the power of the drive is dE/dt, from energies before and after."""
    m = driven_parallelogram(np.random.default_rng(20 + seed))[0]
    result = simulate(m, 4.0, 0.5, dense=True)
    h = 1e-3
    for crossing in result.crossings:
        if crossing.time + 2 * h > 4.0:
            continue
        energy = result.at(crossing.time + h * np.array([-2.0, -1.0, 1.0, 2.0])).total_energy
        rate = (8 * (energy[2] - energy[1]) - (energy[3] - energy[0])) / (12 * h)
        # energies have the run's error, 1e-10, over h
        power = result.at(crossing.time).drive_power("motor")[0]
        assert power == pytest.approx(rate, rel=1e-6)


def test_start_at_a_crossing():
    """A run that starts at a crossing has accelerations and reactions there that its motion goes on from."""
    result = simulate(flat_four_bar(2), 0.5, 0.002, dense=True)
    assert result.crossings[0].time == 0.0
    a, force = result.accelerations, result.reaction("A0").force[:, 1]
    # extrapolated by the outputs behind: the fourth difference is left
    for values in (a, force):
        onward = 4 * values[1] - 6 * values[2] + 4 * values[3] - values[4]
        assert np.allclose(values[0], onward, rtol=0, atol=1e-4 * np.abs(values[:5]).max())
    reaction = result.reaction("A0")
    assert reaction.force_words[0].tolist() == ["unbounded", "unique"]
    assert reaction.unbounded[0].time == 0.0


def test_coefficients_do_not_depend_on_outputs():
    """Which joints are unbounded, and how fast they grow, is the same whatever the outputs are."""
    coarse = simulate(n_four_bar(2), 1.0, 0.5)
    fine = simulate(n_four_bar(2), 1.0, 0.001)
    assert len(coarse.crossings) == 1
    for joint in coarse.joint_equations.joints:
        few, many = (run.reaction(joint).unbounded for run in (coarse, fine))
        assert len(few) == len(many) == 1
        assert np.allclose(few[0].force, many[0].force, rtol=1e-7, atol=0)
    crossing = flat_times(2, 1.0)[0]
    assert few[0].time == pytest.approx(crossing, abs=1e-10)


@pytest.mark.parametrize("method", ["series", "radau", "energy-momentum", "ali3", "multipliers"])
def test_nothing_unbalanced_is_unique(method):
    """No component is flagged unique at an output whose equations leave more than rounding."""
    steps = {} if method in ("series", "radau") else {"step": 1e-3}
    crossing = flat_times(2, 1.0)[0]
    result = simulate(n_four_bar(2), 2 * crossing, crossing / 4, method=method, **steps)
    reactions = result.reactions
    unbalanced = ~(reactions.imbalance <= UNBALANCED)
    for joint in reactions.equations.joints:
        for component in reactions.of(joint).components:
            assert not component.unique[unbalanced].any()
            assert np.all(component.undetermined[unbalanced] | component.unbounded[unbalanced])


def test_headlines_leave_out_what_is_unbounded():
    """The largest reaction of a page is of bounded joints; unbounded ones are named, their spikes not drawn."""
    m = n_four_bar(2)
    m.rod("pendulum", (0.5, 0.0), (0.5, -0.4), mass=1.0)
    m.revolute("P", m.ground, "pendulum", at=(0.5, 0.0))
    crossing = flat_times(2, 1.0)[0]
    found = []
    for step in (0.1, 0.001):
        curves = read_curves(simulate(m, 2 * crossing, step))
        tiles = {what: value for value, what in curves.tiles}
        assert [value for what, value in tiles.items() if what.startswith("reactions at A0")] == [
            "unbounded"
        ]
        assert tiles["largest reaction, at P"].endswith(" N")
        found.append(tiles["largest reaction, at P"])
        assert any("A0: unbounded at tc = 0.714" in note for note in curves.notes)
        assert np.nanmax(curves.columns["A0.F [N]"]) < 1000.0
    # a pendulum that hangs at rest bears its weight
    assert found[0] == found[1] == "9.81 N"


def test_plots_and_studies_leave_out_what_is_unbounded():
    """The force of a flat parallelogram's rocker has a pole: no maximum, mean or spike; the torque has them."""
    m, *_, flat = driven_parallelogram(np.random.default_rng(7))
    for count in (50, 500):
        result = simulate(m, 1.5 * flat, flat / count)
        force, torque = result.quantity("B.F"), result.quantity("motor torque")
        assert force.unbounded == pytest.approx((flat,), abs=1e-8)
        assert torque.unbounded == ()
        assert "unbounded at t = " in repr(force)
        run = RecordSource(m, result)
        for record in ("maximum", "minimum", "span", "mean", "rms"):
            assert QUANTITIES[record].read(run, "B.F") is None
            assert np.isfinite(QUANTITIES[record].read(run, "motor torque"))
        # a value between poles is one
        assert np.isfinite(QUANTITIES["final"].read(run, "B.F"))
        axes = result.plot("B.F", ax=Figure().subplots())
        drawn = axes.lines[0].get_ydata()
        assert np.nanmax(drawn) <= 10 * np.nanmedian(force.values)
        assert "unbounded" in axes.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("family", ["one window", "driven parallelogram"])
def test_turns_of_torsions_do_not_depend_on_outputs(family):
    """A torsional spring that is turned many times: forces at a crossing are those of a run with many outputs."""
    (m,) = members(family, 1, seed=8)
    m.torsion("coil", m.joints[0].name, stiffness=3.0, free_angle=0.3)
    crossing = simulate(m, 4.0, 0.01).crossings[-2]
    few = simulate(m, 4.0, outputs=[0.0, crossing.time, 4.0])
    many = simulate(m, 4.0, outputs=sorted([*np.linspace(0.0, 4.0, 401), crossing.time]))
    # beyond half a turn, where an angle that is not counted is another one
    assert abs(few.angle(m.joints[0].name)[1]) > 4.0
    k = int(np.searchsorted(many.times, crossing.time - 1e-9))
    values, words = reaction_table(few)
    wanted, same = reaction_table(many)
    assert (words[1] == same[k]).all()
    np.testing.assert_allclose(values[1], wanted[k], rtol=0, atol=1e-9 * np.nanmax(np.abs(wanted)))
