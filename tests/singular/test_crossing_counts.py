"""The number of crossings depends on the motion alone: not on amplitude, speed, tolerance, outputs or method."""

import numpy as np
import pytest
from scipy.special import ellipk

from builders import n_four_bar
from crossing_families import FAMILIES, members, random_swing
from sarrus import Mechanism, Polynomial, Sine, simulate
from sarrus.problems.references.n_four_bar import flat_times

# of small swings of two cranks and a coupler, rods of mass 1: w^2 = g (1/2 + 1/2 + 1) / (1/3 + 1/3 + 1)
RATE = np.sqrt(9.81 * 2.0 / (5.0 / 3.0))


def hanging(angle, motion=None, speed=0.0, gravity=9.81, between=()):
    """A parallelogram that hangs flat, an angle from there; between: further cranks, as shares of the coupler."""
    m = Mechanism("hanging", gravity=(gravity, 0.0))
    arm, base = np.array([np.cos(angle), np.sin(angle)]), np.array([2.0, 0.0])
    m.rod("coupler", arm, arm + base, mass=1)
    for k, share in enumerate((0.0, 1.0, *between)):
        m.rod(f"crank {k}", share * base, share * base + arm, mass=1)
        m.revolute(f"A{k}", m.ground, f"crank {k}", at=share * base)
        m.revolute(f"B{k}", f"crank {k}", "coupler", at=share * base + arm)
    if motion is not None:
        m.drive("motor", "A0", motion)
    elif speed:
        m.set_angular_velocity("crank 0", speed)
    return m


def flat_times_of_swing(amplitude, duration, rate=RATE):
    """When a pendulum let go at an angle hangs straight down."""
    quarter = ellipk(np.sin(0.5 * amplitude) ** 2) / rate
    times = quarter * (2.0 * np.arange(100) + 1.0)
    return times[times < duration]


def check(result, true, right, rise=1):
    """As many crossings as there are, at their times, and no near miss."""
    assert result.status == "done", result.message
    found = np.array([c.time for c in result.crossings])
    assert len(found) == len(true), (found, true)
    assert np.abs(found - true).max(initial=0.0) < right
    assert {c.rise for c in result.crossings} <= {rise}
    assert result.near_singular == ()


@pytest.mark.parametrize("amplitude", [1.0, 0.28, 0.23, 0.1, 0.01, 1e-3, 3e-4])
def test_swings_of_any_amplitude(amplitude):
    """Swinging about a singular equilibrium for 10 s it passes it 10 or 11 times, however little it swings."""
    true = flat_times_of_swing(amplitude, 10.0)
    assert len(true) in (10, 11)
    # errors of a place, 1e-10 or the rounding next to a singular configuration, over the speed
    check(simulate(hanging(amplitude), 10.0, 0.1), true, 1e-10 + 1e-11 / amplitude)


@pytest.mark.parametrize("amplitude", [0.5, 0.1, 1e-3])
def test_driven_swings(amplitude):
    """The same where a motor swings it: its equation changes with the time, not the others."""
    sine = Sine(amplitude=amplitude, frequency=1.5 / np.pi, phase=0.5 * np.pi, offset=-amplitude)
    flat = np.pi / 6.0 * (2.0 * np.arange(10) + 1.0)
    result = simulate(hanging(amplitude, sine), 10.0, 0.1)
    check(result, flat[flat < 10.0], 1e-10 + 1e-10 / amplitude)


@pytest.mark.parametrize("amplitude", [1.0, 0.1, 1e-2, 1e-3])
def test_redundant_swings(amplitude):
    """Two more cranks make equations redundant at every configuration: the crossings are the same."""
    m = hanging(amplitude, between=(0.3, 0.8))
    # four cranks of inertia 1/3 and weight at half their length, the coupler with 1
    rate = np.sqrt(9.81 * (4 * 0.5 + 1.0) / (4 / 3.0 + 1.0))
    result = simulate(m, 5.0, 0.1)
    check(result, flat_times_of_swing(amplitude, 5.0, rate), 1e-10 + 1e-10 / amplitude)
    assert result.verdict.redundant[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.slow)])
def test_random_small_swings(seeds):
    """Swings from 3e-4 to 1e-2 rad: all crossings at three tolerances, in chains and with redundant cranks."""
    for seed in seeds:
        rng = np.random.default_rng([29, seed])
        amplitude = 10.0 ** rng.uniform(-3.5, -2.0)
        m, rate, rise = random_swing(rng, amplitude)
        duration = 5.0 * np.pi / rate
        true = flat_times_of_swing(amplitude, duration, rate)
        for tolerance in (1e-7, 1e-10, 1e-12):
            result = simulate(m, duration, duration, tolerance=tolerance)
            # the tolerance, and what rounding leaves next to crossings, over the speed
            allowed = (10.0 * tolerance + 1e-9) / (amplitude * rate)
            check(result, true, allowed, rise)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 30), marks=pytest.mark.slow)])
def test_random_small_driven_swings(seeds):
    """The same driven by sines about a configuration that is not flat: crossings at uneven times."""
    for seed in seeds:
        rng = np.random.default_rng([30, seed])
        amplitude, frequency = 10.0 ** rng.uniform(-3.6, -1.0), 10.0 ** rng.uniform(-1, 1)
        middle, phase = rng.uniform(-0.9, 0.9) * amplitude, rng.uniform(0, 2 * np.pi)
        start = amplitude * np.sin(phase)
        motion = Sine(amplitude=amplitude, frequency=frequency, phase=phase, offset=-start)
        m, _, rise = random_swing(rng, middle + start, motion)
        turns = np.arange(-1, 4) * 2.0 * np.pi - phase
        x = np.arcsin(-middle / amplitude)
        true = np.sort(np.append(x + turns, np.pi - x + turns)) / (2.0 * np.pi * frequency)
        duration = 2.3 / frequency
        result = simulate(m, duration, duration)
        slowest = amplitude * np.cos(x) * 2.0 * np.pi * frequency
        check(result, true[(true > 0) & (true < duration)], 1e-8 / slowest, rise)


@pytest.mark.parametrize("seed", range(4))
def test_radau_has_all_crossings_or_says_where_it_stops(seed):
    """Very small swings by a method that no series certifies: what it gives is right up to where it ends."""
    rng = np.random.default_rng([31, seed])
    amplitude = 10.0 ** rng.uniform(-3.4, -2.8)
    m, rate, _ = random_swing(rng, amplitude)
    duration = 5.0 * np.pi / rate
    result = simulate(m, duration, duration / 50, method="radau", tolerance=1e-8)
    true = flat_times_of_swing(amplitude, duration, rate)
    found = np.array([c.time for c in result.crossings])
    assert len(found) == len(true) or result.status == "not-converged"
    assert np.abs(found - true[: len(found)]).max(initial=0.0) * rate < 1e-2


def test_hundreds_of_steps_within_the_rounding_of_a_crossing():
    """A method that crawls over a crossing by steps far shorter than rounding resolves passes it once."""
    result = simulate(hanging(3e-3), 0.7, 0.05, method="multipliers-dop853", tolerance=1e-10)
    # where its equations are nearly singular it does not meet its tolerance by far
    check(result, flat_times_of_swing(3e-3, 0.7), 1e-4)
    assert result.counters["steps"] > 200


@pytest.mark.parametrize("speed", [1e-6, 1e-4, 1.0, 1e3])
def test_passages_of_any_speed(speed):
    """Turning uniformly through flat, slow or fast, it passes it once; the unit of time says nothing."""
    m = hanging(-0.5, speed=speed, gravity=0.0)
    check(simulate(m, 1.0 / speed, 0.1 / speed), np.array([0.5 / speed]), 1e-8 / speed)


def test_a_slow_passage_in_a_short_run():
    """At 1e-6 rad/s for ten seconds it turns by 1e-5 rad in all, and still passes flat in between."""
    m = hanging(-4e-6, speed=1e-6, gravity=0.0)
    # rounding, 1e-16 of a link, and the tolerance, over the speed
    check(simulate(m, 10.0, 1.0), np.array([4.0]), 1e-3)


@pytest.mark.parametrize("beyond", [0.0, 1e-7, 1e-5, 1e-3])
def test_touching_and_turning_beyond(beyond):
    """Driven to flat and back it touches it once; driven beyond by however little, it passes it twice."""
    a = 0.5 * (0.6 + beyond)
    m = hanging(0.6, Sine(amplitude=a, frequency=0.5, phase=0.5 * np.pi, offset=-a))
    x = np.arccos((a - 0.6) / a) / np.pi
    # at 1e-7 rad the times follow from a difference with 9 digits less
    check(simulate(m, 1.9, 0.1), np.array([1.0] if beyond == 0.0 else [x, 2.0 - x]), 1e-6)


@pytest.mark.parametrize("before", [1e-7, 1e-5, 1e-3])
def test_turning_before_it_is_a_near_miss(before):
    """Driven almost to flat and back it is near-singular once, and crosses nothing."""
    a = 0.5 * (0.6 - before)
    m = hanging(0.6, Sine(amplitude=a, frequency=0.5, phase=0.5 * np.pi, offset=-a))
    result = simulate(m, 1.9, 0.1)
    assert result.crossings == ()
    (miss,) = result.near_singular
    assert abs(miss.time - 1.0) < 1e-6
    # proportional to the angle that is left
    assert 0.1 * before < miss.value < before


@pytest.mark.parametrize("off", [2e-13, 1e-12, 1e-10, 1e-8, 1e-6])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_wrong_dimensions_are_not_crossed(off, sign):
    """A parallelogram that is wrong by more than rounding has no crossing, resolved by the run or not."""
    m = Mechanism("nearly a parallelogram", gravity=(0.0, 0.0))
    B, D = np.array([np.cos(1.0), np.sin(1.0)]), np.array([1.7 * (1.0 + sign * off), 0.0])
    # the far pin: 1.7 from B, 1 from D
    e = D - B
    far = np.linalg.norm(e)
    along = (1.7**2 - 1.0 + far**2) / (2.0 * far)
    up = np.array([-e[1], e[0]]) / far
    C = B + along * e / far + np.sqrt(1.7**2 - along**2) * up
    for name, p, q in (("a", (0.0, 0.0), B), ("c", B, C), ("b", C, D)):
        m.rod(name, p, q, mass=1)
    for name, x, y, at in (
        ("A", m.ground, "a", (0.0, 0.0)),
        ("B", "a", "c", B),
        ("C", "c", "b", C),
        ("D", "b", m.ground, D),
    ):
        m.revolute(name, x, y, at=at)
    m.set_velocity("B", (np.sin(1.0), -np.cos(1.0)))
    result = simulate(m, 1.6, 0.1)
    assert result.crossings == ()
    (miss,) = result.near_singular
    # where it goes straight on over what is too sharp for its tolerance, it says so
    assert (miss.misfit > 0.0) == ("straight on" in str(miss))
    # a place is good to some 1e-11, the turn is some root of the misfit wide
    assert miss.misfit == 0.0 or off < 1e-11
    assert miss.misfit > 0.0 or off > 5e-13


def loops(rng, duration):
    """One to five parallelograms without weight, at nearly the same speeds, and when each is flat."""
    m, true = Mechanism("loops", gravity=(0.0, 0.0)), []
    base = 10.0 ** rng.uniform(-1.0, 1.0)
    angle = 0.0
    for k in range(rng.integers(1, 6)):
        crank, width = rng.uniform(0.3, 1.5), rng.uniform(1.0, 3.0)
        # some are flat at nearly the same time as the one before
        angle = angle if k and rng.random() < 0.5 else rng.uniform(0.05, 3.0)
        more = 10.0 ** rng.uniform(-9.0, 0.0) if rng.random() < 0.7 else 0.0
        speed = rng.choice([-1.0, 1.0]) * base * (1.0 + more)
        turn = rng.uniform(0.0, 2.0 * np.pi)
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        arm, across = crank * R @ [np.cos(angle), np.sin(angle)], R @ [width, 0.0]
        foot = np.array([4.0 * k, 0.0])
        ends = {"a": (foot, foot + arm), "b": (foot + across, foot + across + arm)}
        ends["c"] = ends["a"][1], ends["b"][1]
        for name, (p, q) in ends.items():
            m.rod(f"{name}{k}", p, q, mass=rng.uniform(0.5, 2.0))
        for name in "ab":
            m.revolute(f"{name}{k} foot", m.ground, f"{name}{k}", at=ends[name][0])
            m.revolute(f"{name}{k} top", f"{name}{k}", f"c{k}", at=ends[name][1])
        m.set_angular_velocity(f"a{k}", speed)
        times = (np.pi * np.arange(-200, 200) - angle) / speed
        true += times[(times > 0.0) & (times < duration)].tolist()
    return m, np.sort(true)


def check_loops(seed):
    """All crossings of random loops, and nothing else; returns how many."""
    m, true = loops(np.random.default_rng([28, seed]), 4.0)
    result = simulate(m, 4.0, 0.1)
    assert result.status == "done", f"seed {seed}: {result.message}"
    # a moment at which several loops are flat counts for each of them
    found = np.sort([c.time for c in result.crossings for _ in range(c.rise)])
    assert len(found) == len(true), f"seed {seed}"
    assert np.abs(found - true).max(initial=0.0) < 1e-9, f"seed {seed}"
    assert result.near_singular == ()
    return len(true)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 120), marks=pytest.mark.slow)])
def test_random_loops_that_share_no_body(seeds):
    """Each loop is judged on its own: all are found, also those that cross at nearly the same time."""
    # fewer would show nothing
    assert sum(check_loops(seed) for seed in seeds) > 2 * len(seeds)


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6, 1e-8])
def test_three_loops_close_together(apart):
    """Three loops that are flat one after the other are three crossings, of one degree of freedom each."""
    m = Mechanism("three", gravity=(0.0, 0.0))
    for k in range(3):
        angle, foot = np.pi - (1.0 + k * apart), np.array([0.0, 5.0 * k])
        arm, across = np.array([np.cos(angle), np.sin(angle)]), np.array([2.0, 0.0])
        for name, p, q in (("a", foot, foot + arm), ("b", foot + across, foot + across + arm)):
            m.rod(f"{name}{k}", p, q, mass=1)
            m.revolute(f"{name}{k} foot", m.ground, f"{name}{k}", at=p)
        m.rod(f"c{k}", foot + arm, foot + arm + across, mass=1)
        m.revolute(f"a{k} top", f"a{k}", f"c{k}", at=foot + arm)
        m.revolute(f"b{k} top", f"b{k}", f"c{k}", at=foot + arm + across)
        m.set_angular_velocity(f"a{k}", 1.0)
    result = simulate(m, 2.0, 0.1)
    times = np.array([c.time for c in result.crossings])
    # half of what they are apart would confuse them
    np.testing.assert_allclose(times, 1.0 + apart * np.arange(3), rtol=0, atol=0.1 * apart)
    assert {(c.mobility_motion, c.mobility_here) for c in result.crossings} == {(3, 4)}


SETTINGS = [
    {"tolerance": 1e-4},
    {"tolerance": 1e-7},
    {"tolerance": 1e-12},
    {"method": "radau", "tolerance": 1e-8},
    {"method": "multipliers-dop853", "tolerance": 1e-8},
    {"method": "energy-momentum", "step": 2e-3},
    {"method": "multipliers", "step": 1e-3},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_any_tolerance_and_method(settings):
    """Swings of 0.05 rad for 3 s: as many crossings, as right as the run."""
    true = flat_times_of_swing(0.05, 3.0)
    result = simulate(hanging(0.05), 3.0, 0.1, **settings)
    # 0.02 rad, some thousandths of a second: far less than between two of them
    check(result, true, 1e-2)


@pytest.mark.parametrize("step", [3.0, 0.7, 1e-2, 1e-3])
def test_any_output_step(step):
    """Outputs have no part in it: the same times to the last digit."""
    every = [c.time for c in simulate(hanging(0.05), 3.0, 0.1).crossings]
    assert [c.time for c in simulate(hanging(0.05), 3.0, step).crossings] == every


@pytest.mark.parametrize("amplitude", [0.5, 0.02])
def test_the_same_backwards(amplitude):
    """Started from its end with the velocities reversed it passes the same configurations."""
    first = simulate(hanging(amplitude), 4.0, 0.1)
    angle = np.arctan2(*(first.position("B0")[-1][::-1]))
    speed = np.linalg.norm(first.velocity("B0")[-1])
    turn = first.position("B0")[-1][0] * first.velocity("B0")[-1][1] - (
        first.position("B0")[-1][1] * first.velocity("B0")[-1][0]
    )
    m = hanging(angle, speed=-np.sign(turn) * speed)
    back = simulate(m, 4.0, 0.1)
    times = 4.0 - np.array([c.time for c in first.crossings])[::-1]
    check(back, times, 1e-7 + 1e-9 / amplitude)


@pytest.mark.parametrize("amplitude", [1.0, 0.1, 1e-2, 1e-3])
def test_stops_at_the_first(amplitude):
    """A run that is to stop at a crossing stops at the first one, and lists the branches there."""
    true = flat_times_of_swing(amplitude, 10.0)[0]
    result = simulate(hanging(amplitude), 10.0, 0.1, at_crossing="branches")
    assert result.status == "stopped"
    assert abs(result.times[-1] - true) < 1e-8
    assert len(result.crossings) == 1
    assert len(result.branches) == 2


@pytest.mark.parametrize("speed", [2.0, -0.3, 1e-3])
def test_a_start_and_an_end_at_a_crossing(speed):
    """Both belong to the run, whatever the speed; the half turn between them holds no other."""
    m = hanging(0.0, speed=speed, gravity=0.0)
    for name in ("B0", "B1"):
        m.set_velocity(name, (0.0, speed))
    m.angular_velocities.clear()
    result = simulate(m, np.pi / abs(speed), 0.1 / abs(speed))
    times = np.array([c.time for c in result.crossings])
    np.testing.assert_allclose(times * abs(speed), [0.0, np.pi], rtol=0, atol=1e-8)


@pytest.mark.parametrize("windows", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_many_at_once(windows):
    """All windows of a row vanish at one moment: one crossing, by as many degrees of freedom."""
    result = simulate(n_four_bar(windows), 1.5, 0.1)
    check(result, flat_times(windows, 1.5), 1e-8, rise=windows)


def test_a_drive_that_turns_on_and_on():
    """Twenty turns of a driven parallelogram pass forty flat configurations."""
    m = hanging(0.3, Polynomial((0.0, 5.0)))
    true = (np.pi * np.arange(1, 41) - 0.3) / 5.0
    check(simulate(m, 40.0 * np.pi / 5.0, 1.0), true, 1e-9)


def check_same_crossings(mechanism, duration=2.0):
    """Runs with other tolerances, outputs and methods have the same crossings, as far as all of them go."""
    want = simulate(mechanism, duration, duration / 20)
    for settings in (
        {"output_step": duration},
        {"output_step": 0.1, "tolerance": 1e-7},
        {"output_step": 0.1, "tolerance": 1e-12},
        {"output_step": 0.1, "method": "radau", "tolerance": 1e-8},
    ):
        got = simulate(mechanism, duration, **settings)
        if "done" not in (want.status, got.status) or want.status != got.status:
            continue
        pairs = [[(c.time, c.rise) for c in r.crossings] for r in (want, got)]
        assert [x[1] for x in pairs[0]] == [x[1] for x in pairs[1]], (settings, pairs)
        # errors of the loosest run, grown by a motion that may be unstable
        times = [np.array([x[0] for x in pair]) for pair in pairs]
        assert np.abs(times[0] - times[1]).max(initial=0.0) < 1e-3, (settings, pairs)
    return len(want.crossings)


@pytest.mark.parametrize(
    ("families", "count"),
    [
        (["two windows", "three cranks", "slider-crank"], 1),
        pytest.param(list(FAMILIES), 6, marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_families_have_the_same_crossings_whatever_the_run(families, count):
    """Random linkages whose motions meet, nearly meet or do not, by five runs each."""
    total = 0
    for family in families:
        for k, m in enumerate(members(family, count, seed=28)):
            try:
                total += check_same_crossings(m)
            except AssertionError as error:
                raise AssertionError(f"{family}, member {k}: {error}") from error
    assert total > 2 * len(families)
