"""Joint limits: bounces, rest and release at stops, against closed forms and identities of impacts."""

import numpy as np
import pytest
from scipy.special import ellipk

import sarrus
from sarrus import when

G = 9.81


def ball(restitution, height=1.0):
    """A slider that falls on a stop."""
    m = sarrus.Mechanism("ball")
    m.body("ball", 1.5, (0, height), 0.1)
    m.prismatic("guide", m.ground, "ball", at=(0, height), axis=(0, 1))
    m.limit("guide", lower=-height, restitution=restitution)
    return m


def four_bar(restitution, redundant=False):
    """A four-bar, or a parallelogram with three cranks, whose crank runs against a stop; no gravity."""
    m = sarrus.Mechanism("stopped", gravity=(0, 0))
    if redundant:
        m.rod("coupler", (0, 1), (4, 1), mass=2)
        for n, x in enumerate((0.0, 2.0, 4.0)):
            m.rod(f"crank {n}", (x, 0), (x, 1), mass=1 + n)
            m.revolute(f"A{n}", m.ground, f"crank {n}", at=(x, 0))
            m.revolute(f"B{n}", f"crank {n}", "coupler", at=(x, 1))
    else:
        m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle="60 deg", mass=1.0)
    joint = "A0" if redundant else "A"
    m.limit(joint, upper=0.5, restitution=restitution)
    m.set_angular_velocity("crank 0" if redundant else "crank", 2.0)
    return m


@pytest.mark.parametrize("e", [0.3, 0.5, 0.8])
def test_a_ball_bounces_with_its_restitution_and_comes_to_rest(e):
    """Impacts at t0, t0 + 2 u / g (e + ... + e^n); rest before the accumulation time t0 (1 + e) / (1 - e)."""
    result = sarrus.simulate(ball(e), 5.0)
    t0 = np.sqrt(2.0 / G)
    count = len(result.events)
    flights = 2.0 * t0 * e ** np.arange(1, count)
    wanted = t0 + np.concatenate([[0.0], np.cumsum(flights)])
    assert [x.time for x in result.events] == pytest.approx(wanted, abs=1e-10)
    assert [x.kind for x in result.events] == ["impact"] * (count - 1) + ["rest"]
    losses = [x.energy_change for x in result.events[:-1]]
    energy = 1.5 * G * e ** (2.0 * np.arange(count - 1))
    assert losses == pytest.approx(-(1 - e**2) * energy, rel=1e-6)
    # the bounces left out are lower than 4e-9 of the length: u^2 / 2 g, each lasts 2 u / g
    end = t0 * (1 + e) / (1 - e)
    last = 2.0 * np.sqrt(2.0 * 4e-9 / G) / (1 - e)
    assert 0.0 <= end - result.events[-1].time <= 1.01 * last
    assert result.travel("guide")[-1] == pytest.approx(-1.0, abs=1e-9)
    assert result.drive_force("guide limit")[-1] == pytest.approx(1.5 * G, rel=1e-12)
    assert result.event_energy[-1] == pytest.approx(-1.5 * G, rel=1e-9)
    assert result.energy_drift < 1e-9
    assert sarrus.audit(result).holds
    assert result.status == "done"


def test_an_elastic_ball_never_rests():
    """e = 1: impacts every 2 t0, without a loss."""
    result = sarrus.simulate(ball(1.0), 5.0)
    t0 = np.sqrt(2.0 / G)
    assert [x.time for x in result.events] == pytest.approx(
        t0 * np.arange(1, 2 * len(result.events), 2), abs=1e-9
    )
    assert all(x.energy_change == pytest.approx(0.0, abs=1e-9) for x in result.events)


def test_a_pendulum_bounces_at_its_lowest_point():
    """Half swings between impacts: 2 K(k) / w with k = sin(amplitude / 2), and the speed falls by e each time."""
    m = sarrus.Mechanism("pendulum")
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.limit("A", lower="-90 deg", restitution=0.7)
    result = sarrus.simulate(m, 4.0)
    w = np.sqrt(1.5 * G)
    times, k = [ellipk(0.5) / w], np.sqrt(0.5)
    for _ in range(3):
        k *= 0.7
        times.append(times[-1] + 2.0 * ellipk(k * k) / w)
    assert [x.time for x in result.events][:4] == pytest.approx(times, abs=1e-10)
    assert result.angle("A").min() > -np.pi / 2 - 1e-9


def test_a_stop_opens_where_its_force_changes_its_sign():
    """A driven slider pushes a carriage by a spring against its stop: it leaves where the spring is relaxed."""
    m = sarrus.Mechanism("pushed", gravity=(0, 0))
    m.body("carriage", 2.0, (0, 0), 0.1)
    m.body("pusher", 1.0, (1, 0), 0.1)
    m.prismatic("guide", m.ground, "carriage", at=(0, 0), axis=(1, 0))
    m.prismatic("driven", m.ground, "pusher", at=(1, 0), axis=(1, 0))
    m.spring("s", "carriage", "pusher", start=(0, 0), end=(1, 0), stiffness=50)
    m.drive("motor", "driven", sarrus.Sine(-0.1, 0.5))
    m.limit("guide", lower=0.0, restitution=0.4)
    result = sarrus.simulate(m, 1.5)
    early = result.times < 1.0
    wanted = 5.0 * np.sin(np.pi * result.times[early])
    assert result.drive_force("guide limit")[early] == pytest.approx(wanted, abs=1e-9)
    opened = [x for x in result.events if x.kind == "release"]
    assert [x.time for x in opened] == pytest.approx([1.0], abs=1e-9)
    # then x'' + w^2 x = -w^2 a sin(pi t): forced oscillation from rest
    s, w = result.times[~early] - 1.0, 5.0
    forced = 0.1 * w**2 / (w**2 - np.pi**2) * (np.sin(np.pi * s) - np.pi / w * np.sin(w * s))
    assert result.travel("guide")[~early] == pytest.approx(forced, abs=1e-8)


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_an_impact_of_a_loop_keeps_its_identities(e, redundant):
    """One degree of freedom: all velocities are -e times those before, also with redundant constraints."""
    result = sarrus.simulate(four_bar(e, redundant), 0.6)
    event = result.events[0]
    before, after = event.state.rates[0], result.events[0].after.rates[0]
    # M (v+ - v-) is a combination of the rows of J and of the stop: its power with an admissible motion is theirs
    assert after == pytest.approx(-e * before, abs=1e-9 * np.abs(before).max())
    kinetic = event.state.kinetic_energy[0]
    assert event.energy_change == pytest.approx(-(1 - e * e) * kinetic, abs=1e-9 * kinetic)
    joint = "A0" if redundant else "A"
    assert result.angle(joint).max() <= 0.5 + 1e-9
    assert result.energy_drift < 1e-8 * kinetic


def test_the_loss_is_the_work_of_the_impulse_at_the_mean_velocity():
    """T+ - T- = (v+ + v-)^T M (v+ - v-) / 2, and the relative rate at the stop is reversed by e."""
    m = sarrus.Mechanism("chain")
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (2, 0), mass=2)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    m.limit("B", lower=-0.2, upper=0.2, restitution=0.5)
    result = sarrus.simulate(m, 1.0)
    event = next(x for x in result.events if x.kind == "impact")
    jump = event.after.rates[0] - event.state.rates[0]
    p = result.model.dense_mass() @ jump
    state = event.state
    rate = state.angular_velocity("b")[0] - state.angular_velocity("a")[0]
    new = event.after.angular_velocity("b")[0] - event.after.angular_velocity("a")[0]
    assert new == pytest.approx(-0.5 * rate, rel=1e-9)
    lost = 0.5 * (event.state.rates[0] + event.after.rates[0]) @ p
    assert event.energy_change == pytest.approx(lost * result.model.units.energy, rel=1e-9)


def test_two_stops_that_do_not_influence_each_other_are_struck_together():
    """Two equal balls on two guides: each bounces as alone."""
    m = sarrus.Mechanism("two balls")
    for n, x in enumerate((0.0, 3.0)):
        m.body(f"ball {n}", 1.0, (x, 1), 0.1)
        m.prismatic(f"guide {n}", m.ground, f"ball {n}", at=(x, 1), axis=(0, 1))
        m.limit(f"guide {n}", lower=-1.0, restitution=0.5)
    result = sarrus.simulate(m, 0.85)
    alone = sarrus.simulate(ball(0.5), 0.85)
    assert result.status == "done"
    for n in range(2):
        assert result.travel(f"guide {n}") == pytest.approx(alone.travel("guide"), abs=1e-9)


def test_two_coupled_stops_at_once_are_reported():
    """The two cranks of a parallelogram reach their stops together, with different restitutions."""
    m = four_bar(0.2, redundant=True)
    m.limit("A1", upper=0.5, restitution=0.9)
    result = sarrus.simulate(m, 1.0)
    assert result.status == "undetermined"
    assert "struck at the same time" in result.message
    assert "A0 limit" in result.message
    assert result.times[-1] == pytest.approx(result.events[-1].time)


def test_a_drive_against_a_stop_is_blocked():
    """No velocity satisfies both; the message names them."""
    m = sarrus.Mechanism("driven")
    m.slider_crank(crank=0.1, rod=0.3, angle=0.5, mass=1.0)
    m.drive("motor", "O", sarrus.Polynomial((0.0, 7.0)))
    m.limit("O", upper=1.0)
    result = sarrus.simulate(m, 1.0)
    assert result.status == "blocked"
    assert "drive 'motor'" in result.message
    assert result.times[-1] == pytest.approx(1.0 / 7.0, abs=1e-12)


@pytest.mark.slow
def test_limits_come_back_from_files_and_results(tmp_path):
    """Model file and saved result."""
    m = ball(0.5)
    m.save(tmp_path / "m.yaml")
    loaded = sarrus.Mechanism.load(tmp_path / "m.yaml")
    one, other = sarrus.simulate(m, 2.0), sarrus.simulate(loaded, 2.0)
    assert np.array_equal(one.travel("guide"), other.travel("guide"))
    again = sarrus.load_result(one.save(tmp_path / "r.h5"))
    assert [str(x) for x in again.events] == [str(x) for x in one.events]
    assert np.array_equal(again.energy_balance, one.energy_balance)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"lower": 0.1}, "is beyond the lower stop"),
        ({}, "it has no stop"),
        ({"lower": -1, "upper": -2}, "is not below upper"),
        ({"lower": -1, "restitution": 1.5}, "give a number from 0 to 1"),
        ({"lower": np.nan}, "finite"),
    ],
)
def test_mistakes_are_named(keys, words):
    """At the call."""
    m = sarrus.Mechanism("ball")
    m.body("ball", 1.5, (0, 1), 0.1)
    m.prismatic("guide", m.ground, "ball", at=(0, 1), axis=(0, 1))
    with pytest.raises(sarrus.MechanismError, match=words):
        m.limit("guide", **keys)


def test_a_ratchet_lets_a_lever_move_in_one_direction_only():
    """A pawl is a lock at the turning point: the lever keeps its largest angle."""
    m = sarrus.Mechanism("ratchet")
    m.rod("lever", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "lever", at=(0, 0))
    m.set_angular_velocity("lever", 3.0)
    hold = when(angle="A", extreme="maximum", then=sarrus.lock("A"), count=1)
    result = sarrus.simulate(m, 2.0, events=[hold])
    # 1/2 I w^2 = m g l / 2 sin(angle), I = m l^2 / 3
    assert result.angle("A")[-1] == pytest.approx(np.arcsin(9.0 / (3.0 * G)), abs=1e-9)
    assert result.events[0].energy_change == pytest.approx(0.0, abs=1e-9)


def test_segments_without_outputs_have_no_part_in_readings():
    """Bounces between two outputs next to a torsion spring: reactions and reports read the others."""
    m = pendulum_with_spring()
    result = sarrus.simulate(m, 3.0, output_step=0.5)
    assert any(not len(part.times) for part in result.segments)
    force = result.reaction("A").force
    assert force.shape == (len(result.times), 2)
    assert np.isfinite(force).all()
    assert sarrus.audit(result).holds


def pendulum_with_spring():
    """A pendulum with a torsion spring that falls onto a stop and bounces."""
    m = sarrus.Mechanism("sprung pendulum", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.torsion("k", "A", stiffness=1.0)
    m.limit("A", lower=-0.5, restitution=0.6)
    return m


def test_all_stops_struck_at_once_are_events():
    """Two balls that do not influence each other strike at the same times; a mark at the stop is an event too."""
    m = sarrus.Mechanism("balls")
    for name, x in (("a", 0.0), ("b", 2.0)):
        m.body(name, mass=1.0, center=(x, 1), inertia=0.1)
        m.prismatic(f"g{name}", m.ground, name, at=(x, 1), axis=(0, 1))
        m.limit(f"g{name}", lower=-1.0, restitution=0.5)
    m.event("mark", travel="gb", equals=-1.0)
    result = sarrus.simulate(m, 1.0)
    first = (2 / 9.81) ** 0.5
    names = ["mark", "ga limit, lower", "gb limit, lower"]
    assert [e.name for e in result.events] == names * 2
    assert [e.kind for e in result.events] == ["falling", "impact", "impact"] * 2
    # located to 1e-12 of the time
    assert [e.time for e in result.events] == pytest.approx(
        [first] * 3 + [2 * first] * 3, rel=1e-11
    )
    # each ball loses 3/4 of its energy at each impact
    assert result.event_energy[-1] == pytest.approx(-2 * 9.81 * (1 - 1 / 16), rel=1e-10)


def test_a_stop_that_is_never_reached_exerts_nothing():
    """Its force can be read, as that of a released drive."""
    m = sarrus.Mechanism("ball")
    m.body("ball", mass=1.0, center=(0, 1), inertia=0.1)
    m.prismatic("guide", m.ground, "ball", at=(0, 1), axis=(0, 1))
    m.limit("guide", lower=-1.0)
    assert (sarrus.simulate(m, 0.1).drive_force("guide limit") == 0.0).all()
    assert sarrus.simulate(m, 1.0).drive_force("guide limit")[-1] == pytest.approx(9.81)


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_rope_becomes_taut(restitution):
    """A ball falls from (c, 0) until its distance from the origin is 1: only the radial velocity is reversed.

    It falls by h = sqrt(1 - c^2); the share h^2 of its kinetic energy m g h is radial.
    """
    c, light = 0.3, 1e-9
    m = sarrus.Mechanism("rope")
    m.body("sleeve", mass=light, center=(0, 0), inertia=light)
    m.body("ball", mass=1.0, center=(c, 0), inertia=light)
    m.revolute("A", m.ground, "sleeve", at=(0, 0))
    m.prismatic("rope", "sleeve", "ball", at=(c, 0), axis=(1, 0))
    m.point("P", "ball", (c, 0))
    m.limit("rope", upper=1 - c, restitution=restitution)
    result = sarrus.simulate(m, 1.0)
    first, h = result.events[0], (1 - c * c) ** 0.5
    assert first.kind == ("impact" if restitution else "rest")
    # the inertia of the rope is 2e-9 of that of the ball, with a lever of c
    assert first.time == pytest.approx((2 * h / 9.81) ** 0.5, rel=1e-7)
    assert first.energy_change == pytest.approx(-(1 - restitution**2) * 9.81 * h**3, abs=1e-6)
    before, after = (s.velocity("P")[0] @ s.position("P")[0] for s in (first.state, first.after))
    assert after == pytest.approx(-restitution * before, abs=1e-9)
    assert np.linalg.norm(result.position("P"), axis=1).max() < 1 + 1e-9
