"""What events do to a mechanism: drives, locks and forces, against closed forms and conservation laws."""

import numpy as np
import pytest

import sarrus
from sarrus import when


def two_rods():
    """A double pendulum in free fall of its joints, with a turning second rod."""
    m = sarrus.Mechanism("two rods", gravity=(0, 0))
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (2, 0), mass=2)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    m.set_angular_velocity("a", 1.0)
    m.set_angular_velocity("b", 4.0)
    return m


def momentum(result):
    """Angular momentum about A, of rods as centres with inertia m l^2 / 12."""
    total = 0.0
    for name, mass in (("a", 1.0), ("b", 2.0)):
        x, v = result.position(name), result.velocity(name)
        total = total + mass * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])
        total = total + mass / 12.0 * result.angular_velocity(name)
    return total


def carriage(stiffness=0.0, speed=1.0):
    """A slider without gravity, on a spring."""
    m = sarrus.Mechanism("carriage", gravity=(0, 0))
    m.body("mass", 2.0, (0, 0), 0.1)
    m.prismatic("guide", m.ground, "mass", at=(0, 0), axis=(1, 0))
    m.spring("s", m.ground, "mass", start=(-5, 0), end=(0, 0), stiffness=stiffness)
    m.set_velocity("guide", (speed, 0))
    return m


def driven():
    """A slider-crank whose crank turns with 7 rad/s."""
    m = sarrus.Mechanism("driven")
    m.slider_crank(crank=0.1, rod=0.3, angle=0.5, mass=1.0)
    m.drive("motor", "O", sarrus.Polynomial((0.0, 7.0)))
    return m


def test_a_lock_conserves_the_momentum_and_loses_what_the_relative_motion_has():
    """Plastic impact inside the mechanism: L about A stays, and T falls by 1/2 (v+ - v-)^T M (v+ - v-)."""
    latch = when(angle="B", equals=0.2, then=sarrus.lock("B"), count=1, name="latch")
    result = sarrus.simulate(two_rods(), 2.0, events=[latch])
    [event] = result.events
    before, after = event.state, event.after
    # without torque about A the momentum is that of the start, to the tolerance of the run
    assert momentum(result) == pytest.approx(momentum(result)[0], rel=1e-9)
    jump = before.rates[0] - after.rates[0]
    lost = 0.5 * jump @ result.model.dense_mass() @ jump * result.model.units.energy
    assert event.energy_change == pytest.approx(-lost, rel=1e-12)
    late = result.times > event.time
    assert result.angle("B")[late] == pytest.approx(0.2, abs=1e-12)
    assert after.angular_velocity("a") == pytest.approx(after.angular_velocity("b"), abs=1e-12)
    assert result.event_energy[late] == pytest.approx(-lost, rel=1e-12)
    assert result.energy_drift < 1e-9
    assert sarrus.audit(result).holds
    assert any("latch" in note and "J lost" in note for note in result.notes)


def test_a_lock_that_is_released_at_once_changes_only_the_velocities():
    """Locked and released at the same instant: the same configuration, a free motion after it."""
    both = when(angle="B", equals=0.2, then=[sarrus.lock("B"), sarrus.release("B")], count=1)
    free = sarrus.simulate(two_rods(), 1.0)
    result = sarrus.simulate(two_rods(), 1.0, events=[both])
    # a release in the same event leaves no constraint, so nothing happens
    assert result.position("b") == pytest.approx(free.position("b"), abs=1e-9)
    assert result.events[0].energy_change == 0.0


def test_the_torque_of_a_lock_is_read_by_name():
    """Two rods locked and turning with the rate w about A: the lock carries no torque of its own if straight."""
    m = two_rods()
    m.event("latch", "time", equals=0.25, then=sarrus.lock("B"))
    result = sarrus.simulate(m, 1.0)
    late = result.times > 0.25
    torque = result.drive_force("B lock")
    assert not torque[~late].any()
    # centripetal force m r w^2 of rod b towards A has an arm about B: both centres and A determine it
    center, pin = result.position("b")[late], result.position("B")[late]
    rate = result.angular_velocity("b")[late]
    force = -2.0 * center * rate[:, None] ** 2
    arm = center - pin
    wanted = arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]
    # uniform rotation needs no further torque; accuracy of the run over the force
    assert torque[late] == pytest.approx(wanted, abs=1e-8)
    assert result.reaction("B lock").moment[late] == pytest.approx(wanted, abs=1e-8)


def test_a_released_drive_leaves_a_free_motion():
    """The run after the release is the run of the mechanism without a drive, from the state there."""
    release = when("time", equals=1.0, then=sarrus.release("motor"))
    result = sarrus.simulate(driven(), 2.0, events=[release])
    late = result.times > 1.0
    assert result.drive_force("motor")[late] == pytest.approx(0.0, abs=0.0)
    total = result.total_energy[late]
    # energy is conserved from there on
    assert np.ptp(total) < 1e-9 * abs(total).max()
    assert result.events[0].energy_change == 0.0
    assert result.energy_drift < 1e-8


def test_an_engaged_drive_goes_on_from_where_the_joint_is():
    """From the event on the crank turns with the rate of the drive, and its angle is continuous."""
    events = [
        when("time", equals=0.5, then=sarrus.release("motor")),
        when("time", equals=1.0, then=sarrus.engage("motor"), name="clutch"),
    ]
    result = sarrus.simulate(driven(), 1.5, events=events)
    late = result.times > 1.0
    angle, there = result.angle("O"), result.events[-1].state.angle("O")[0]
    turned = 7.0 * (result.times[late] - 1.0)
    assert np.exp(1j * angle[late]) == pytest.approx(np.exp(1j * (there + turned)), abs=1e-10)
    assert result.events[-1].energy_change != 0.0
    assert result.energy_drift < 1e-8


def test_a_spring_that_is_switched_has_the_closed_form_on_both_sides():
    """x = sin(w t) / w, then uniform motion, then an oscillation with another stiffness; energies step by it."""
    m = carriage(stiffness=8.0)
    events = [
        when("time", equals=1.0, then=sarrus.switch_off("s")),
        when(
            "time",
            equals=2.0,
            then=[sarrus.switch_on("s"), sarrus.set_number("springs.s.stiffness", "18 N/m")],
        ),
    ]
    result = sarrus.simulate(m, 3.0, events=events)
    t, x = result.times, result.position("mass")[:, 0]
    x1, v1 = np.sin(2.0) / 2.0, np.cos(2.0)
    x2 = x1 + v1
    wanted = np.where(t <= 1, np.sin(2 * t) / 2, x1 + v1 * (t - 1))
    wanted = np.where(t > 2, x2 * np.cos(3 * (t - 2)) + v1 * np.sin(3 * (t - 2)) / 3, wanted)
    assert x == pytest.approx(wanted, abs=1e-9)
    changes = [e.energy_change for e in result.events]
    assert changes == pytest.approx([-4.0 * x1**2, 9.0 * x2**2], abs=1e-9)
    assert not result.force("s")[(t > 1) & (t <= 2)].any()
    assert result.force("s")[-1] == pytest.approx(18.0 * x[-1], abs=1e-8)
    assert result.energy_drift < 1e-8


def test_counts_go_on_over_segments():
    """count=2: the third occurrence does nothing, though each of the first starts a new segment."""
    m = carriage(stiffness=8.0)
    kick = when(
        travel="guide", equals=0.1, count=2, then=sarrus.set_number("springs.s.preload", 0.0)
    )
    result = sarrus.simulate(m, 10.0, events=[kick])
    w = 2.0
    first = np.arcsin(0.2) / w
    assert [e.time for e in result.events] == pytest.approx([first, np.pi / w - first], abs=1e-10)


def test_other_events_are_found_across_segments():
    """Events at the same instant as an action, and shortly after it, are found once each."""
    m = carriage(stiffness=8.0)
    events = [
        when(
            travel="guide",
            equals=0.1,
            then=sarrus.set_number("springs.s.damping", 0.0),
            name="acts",
        ),
        when(travel="guide", equals=0.1, name="same"),
        when(travel="guide", equals=0.1 + 1e-6, name="next"),
        when(coordinate="mass.vx", extreme=True, name="extreme"),
    ]
    result = sarrus.simulate(m, 10.0, events=events)
    plain = sarrus.simulate(m, 10.0, events=events[1:])
    for name in ("same", "next", "extreme"):
        found, wanted = ([e.time for e in r.events if e.name == name] for r in (result, plain))
        assert found == pytest.approx(wanted, abs=1e-9)


def test_a_terminal_event_may_act():
    """The run ends there; what it did is listed."""
    stop = when("time", equals=0.5, then=sarrus.lock("B"), terminal=True)
    result = sarrus.simulate(two_rods(), 2.0, events=[stop])
    assert result.status == "stopped"
    assert result.times[-1] == pytest.approx(0.5, abs=1e-15)
    assert result.events[0].energy_change < 0


@pytest.mark.slow
def test_saved_and_read_with_everything(tmp_path):
    """All readings of a run with actions come back bit for bit, and at other times."""
    latch = when(angle="B", equals=0.2, then=sarrus.lock("B"), count=1)
    free = when("time", equals=1.0, then=sarrus.release("B"))
    result = sarrus.simulate(two_rods(), 2.0, 0.01, events=[latch, free], dense=True)
    again = sarrus.load_result(result.save(tmp_path / "run.h5"))
    for one, other in zip(
        result.columns(reactions=True).values(), again.columns(reactions=True).values(), strict=True
    ):
        assert np.array_equal(one, other, equal_nan=True)
    assert [str(e) for e in again.events] == [str(e) for e in result.events]
    assert again.notes == result.notes
    at = again.at(result.times)
    # outputs and polynomials are sampled alike, up to rounding
    assert at.position("b") == pytest.approx(result.position("b"), abs=1e-12)
    assert at.drive_force("B lock") == pytest.approx(result.drive_force("B lock"), abs=1e-9)
    result.save_csv(tmp_path / "run.csv")
    result.plot()
    assert result.scene.times[-1] == 2.0


def test_the_same_in_a_model_file(tmp_path):
    """Actions come back from a file."""
    m = two_rods()
    m.event("latch", angle="B", equals=0.2, then=[sarrus.lock("B")], count=1)
    m.save(tmp_path / "m.yaml")
    loaded = sarrus.Mechanism.load(tmp_path / "m.yaml")
    one, other = sarrus.simulate(m, 1.0), sarrus.simulate(loaded, 1.0)
    assert np.array_equal(one.position("b"), other.position("b"))
    assert other.events[0].action == "lock B"


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (lambda: sarrus.release("nothing"), "no drive or joint has that name"),
        (lambda: sarrus.lock("C"), "there is no joint 'C'"),
        (lambda: sarrus.set_number("springs.s.stiffness", 1), "is not one of the springs"),
        (lambda: sarrus.set_number("bodies.a.mass", 1), "an event changes numbers of forces"),
        (lambda: sarrus.set_number("springs.s.colour", 1), "'colour' is not a number of springs"),
        (
            lambda: sarrus.switch_off("x"),
            "no force, torque, spring, torsion or ball damper has that name",
        ),
        (lambda: {"open": "B"}, "then: 'open'"),
        (lambda: 3, "is not an action"),
    ],
)
def test_mistakes_are_named(then, words):
    """Each at the call or at the start of the run, never a traceback of the finder."""
    with pytest.raises(sarrus.MechanismError, match=words):
        sarrus.simulate(two_rods(), 1.0, events=[when("time", equals=0.5, then=then())])


def test_a_driven_joint_is_not_locked():
    """The run ends with a sentence: the drive has to be released first."""
    result = sarrus.simulate(
        driven(), 1.0, events=[when("time", equals=0.5, then=sarrus.lock("O"))]
    )
    assert result.status == "error"
    assert "release the drive first" in result.message


def test_fixed_step_methods_say_that_they_cannot():
    """They do not start again; the message names those that do."""
    lock = when("time", equals=0.5, then=sarrus.lock("B"))
    result = sarrus.simulate(two_rods(), 1.0, events=[lock], method="multipliers", step=1e-3)
    assert result.status == "skipped"
    assert "'series' or 'radau'" in result.message


def test_radau_and_series_agree():
    """Two methods, one motion with a lock and its release, to the tolerance of radau."""
    events = [
        when(angle="B", equals=0.2, then=sarrus.lock("B"), count=1),
        when("time", equals=1.0, then=sarrus.release("B")),
    ]
    one = sarrus.simulate(two_rods(), 2.0, events=events)
    other = sarrus.simulate(two_rods(), 2.0, events=events, method="radau", tolerance=1e-9)
    assert other.position("b") == pytest.approx(one.position("b"), abs=1e-6)


def test_a_latch_that_is_overloaded_opens():
    """The torque of a lock is a quantity of events: at rest it is the weight times its arm."""
    m = sarrus.Mechanism("latch")
    m.rod("arm", (0, 0), (1, 0), mass=2)
    m.revolute("A", m.ground, "arm", at=(0, 0))
    m.drive("hold", "A", sarrus.Polynomial((0.0, -1.0)))
    events = [
        when("time", equals=0.2, then=[sarrus.release("hold"), sarrus.lock("A")]),
        when("time", equals=0.5, then=[sarrus.release("A"), sarrus.engage("hold")]),
        when(drive="hold", equals=6.0, falling=True, name="overload", then=sarrus.release("hold")),
        when(drive="A lock", equals=1.0, name="never"),
    ]
    result = sarrus.simulate(m, 3.0, events=events)
    # uniform rotation with -1 rad/s: torque m g l / 2 cos(angle), angle -0.2 - (t - 0.5)
    wanted = 0.5 + np.arccos(6.0 / 9.81) - 0.2
    found = [e.time for e in result.events if e.name == "overload"]
    assert found == pytest.approx([wanted], abs=1e-9)
    assert not result.drive_force("hold")[result.times > wanted].any()
    assert result.drive_force("A lock")[300 * len(result.times) // 1000 // 3] == pytest.approx(
        9.81 * np.cos(0.2), abs=1e-9
    )


def test_events_of_one_instant_act_in_the_order_of_request():
    """A joint is locked and released at once: an impact remains, which loses what the relative motion has."""
    lock, free = sarrus.lock("B"), sarrus.release("B")
    states = {}
    for names in (("lock", "free"), ("free", "lock")):
        m = sarrus.Mechanism("latch", gravity=(0, 0))
        m.rod("a", (0, 0), (1, 0), mass=1)
        m.rod("b", (1, 0), (2, 0), mass=2)
        m.revolute("A", m.ground, "a", at=(0, 0))
        m.revolute("B", "a", "b", at=(1, 0))
        m.set_angular_velocity("a", 1.0)
        m.set_angular_velocity("b", 4.0)
        m.event("mark", angle="B", equals=0.2)
        for name in names:
            m.event(name, angle="B", equals=0.2, then={"lock": lock, "free": free}[name], count=1)
        result = states[names] = sarrus.simulate(m, 0.5)
        assert [e.name for e in result.events] == ["mark", *names]
        assert len({round(e.time, 9) for e in result.events}) == 1
    both, locked = states.values()
    # the energy lost is the same, to the rounding of energies of some joules
    assert both.event_energy[-1] == pytest.approx(locked.event_energy[-1], rel=1e-9)
    assert both.event_energy[-1] < -0.1
    # then the joint moves on, or not; the relative velocity is zero just after the impact in both
    assert abs(locked.angle("B")[-1] - 0.2) < 1e-9
    assert abs(both.angle("B")[-1] - 0.2) > 1e-3
