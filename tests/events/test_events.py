"""Events of runs: closed forms, brute force, and what must not change them."""

import h5py
import numpy as np
import pytest
from scipy.special import ellipk

import sarrus
from sarrus import when
from sarrus.studies.batching import prepare_batch_runner
from sarrus.studies.runs import run_one
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study_reader import make_study


def pendulum(length=1.0, gravity=9.81):
    """A rod that is released horizontally."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -gravity))
    m.rod("rod", (0, 0), (length, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (length, 0))
    return m


# of a rod of length 1: swings of a quarter turn to both sides
PERIOD = 4.0 * ellipk(0.5) / np.sqrt(1.5 * 9.81)


def driven():
    """A slider-crank whose crank turns with 7 rad/s."""
    m = sarrus.Mechanism("driven")
    m.slider_crank(crank=0.1, rod=0.3, angle=0.5, mass=1.0)
    m.drive("motor", "O", sarrus.Polynomial((0.0, 7.0)))
    return m


def times(result, name=None, kind=None):
    """When events happened."""
    return [
        e.time
        for e in result.events
        if (name is None or e.name == name) and (kind is None or e.kind == kind)
    ]


def test_a_pendulum_passes_its_lowest_point_at_odd_quarters_of_its_period():
    """Closed form: T = 4 K(1/2) / sqrt(3 g / 2 l)."""
    result = sarrus.simulate(pendulum(), 10.0, events=[when(angle="A", equals=-np.pi / 2)])
    wanted = PERIOD * (0.25 + 0.5 * np.arange(len(result.events)))
    # the run is exact to its tolerance, 1e-10; what is located adds no more than 1e-12 of 10 s
    assert times(result) == pytest.approx(wanted, abs=1e-11)
    assert [e.kind for e in result.events] == ["falling", "rising"] * 5
    assert [e.value for e in result.events] == pytest.approx([-np.pi / 2] * 10, abs=1e-14)


def test_a_drive_gives_exact_times():
    """The crank turns with 7 rad/s: its angles are reached at angle / 7, also after turns."""
    events = [when(angle="O", equals=x, name=str(x)) for x in (1.0, 7.0, 14.0)]
    result = sarrus.simulate(driven(), 3.0, events=events)
    # some roundings of an angle of 14 rad over 7 rad/s
    assert times(result) == pytest.approx([1 / 7, 1.0, 2.0], abs=1e-14)


def test_returning_to_the_start_is_a_tangent_contact():
    """A pendulum released at angle 0 touches it again after each period, and does not cross it."""
    result = sarrus.simulate(
        pendulum(), 10.0, events=[when(angle="A", equals=0.0), when(speed="tip", equals=0.0)]
    )
    angle, speed = times(result, "angle A = 0"), times(result, "speed tip = 0")
    assert {e.kind for e in result.events} == {"tangent"}
    assert angle == pytest.approx(PERIOD * np.arange(1, 6), abs=1e-11)
    assert speed == pytest.approx(0.5 * PERIOD * np.arange(1, 11), abs=1e-11)


@pytest.mark.parametrize("flipped", [False, True])
def test_simultaneous_events_are_listed_as_requested(flipped):
    """A pendulum is lowest where its tip is fastest; the rounding of the two times does not decide."""
    events = [
        when(angle="A", equals=-np.pi / 2, name="lowest"),
        when(speed="tip", extreme="maximum", name="fastest"),
    ]
    events = events[::-1] if flipped else events
    result = sarrus.simulate(pendulum(), 10.0, events=events)
    assert [e.name for e in result.events] == [e.name for e in events] * 10
    gaps = np.diff(times(result))
    # to 1e-12 of 10 s at the same instant, and half a period apart
    assert gaps[::2] == pytest.approx(0.0, abs=1e-11)
    assert (gaps[1::2] > 0.9).all()


@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-7])
def test_two_in_one_step(depth):
    """A value just below a maximum is crossed twice, by closed form sqrt(8 depth / |y''|) apart."""
    top = when(coordinate="tip.y", equals=-1.0 + depth)
    result = sarrus.simulate(pendulum(), 0.5, events=[top], dense=True)
    down, up = times(result)
    # y'' = w^2 at the lowest point, with w^2 = 3 g; the next term is of the relative size of the depth
    assert up - down == pytest.approx(np.sqrt(8 * depth / (3 * 9.81)), rel=10 * depth + 1e-7)
    assert result.at([down, up]).position("tip")[:, 1] == pytest.approx(
        [depth - 1.0] * 2, abs=1e-15
    )
    steps = result.step_times
    # both in the same step: nothing depends on where steps end
    assert np.searchsorted(steps, down) == np.searchsorted(steps, up)


def test_a_value_that_is_not_reached_is_none():
    """One that the maximum misses by 1e-6 is not reached; nor is a constant quantity an event."""
    events = [
        when(coordinate="tip.y", equals=-1.0 - 1e-6),
        when(energy="total", extreme=True),
        when(distance=("A", "tip"), extreme=True),
        when(distance=("A", "tip"), equals=1.0),
    ]
    result = sarrus.simulate(pendulum(), 5.0, events=events)
    assert result.events == ()
    assert "event 'tip.y = -1' did not occur" in result.notes


def test_crossings_are_where_the_linkage_is_flat():
    """The double four-bar passes its singular configurations with B0 at y = 0: two finders, one time."""
    problem = sarrus.problems.get("double-four-bar")
    result = sarrus.simulate(
        problem.mechanism(), 10.0, events=[when(coordinate="B0.y", equals=0.0)]
    )
    # both are located on the same polynomials; polishing moves one of them by the projection
    assert times(result) == pytest.approx([c.time for c in result.crossings], abs=1e-12)


def test_extremes_are_zeros_of_rates():
    """A coordinate has its extremes where its velocity vanishes."""
    events = [
        when(coordinate="A.x", extreme=True, name="extreme"),
        when(coordinate="A.vx", equals=0.0, name="zero"),
        when(travel="guide", extreme="maximum", name="stroke"),
    ]
    result = sarrus.simulate(driven(), 3.0, events=events)
    assert times(result, "extreme") == pytest.approx(times(result, "zero"), abs=1e-11)
    # the dead centre of a centric slider-crank: the crank, drawn at 0.5 rad, points along the slide
    assert times(result, "stroke")[0] == pytest.approx((2 * np.pi - 0.5) / 7, abs=1e-11)


def test_sums_and_functions():
    """A sum of quantities is a quantity, and so is a function of states; angles count on in both."""
    events = [
        when({"A.x": 1.0, "A.y": -1.0}, equals=0.0, name="sum"),
        when(lambda r: r.position("A")[:, 0] - r.position("A")[:, 1], equals=0.0, name="function"),
        when(lambda r: r.angle("O") - 14.0, equals=0.0, name="turns"),
    ]
    result = sarrus.simulate(driven(), 3.0, events=events)
    wanted = (np.pi / 4 - 0.5 + np.pi * np.arange(7)) / 7
    assert times(result, "sum") == pytest.approx(wanted, abs=1e-14)
    assert times(result, "function") == pytest.approx(times(result, "sum"), abs=1e-14)
    assert times(result, "turns") == pytest.approx([2.0], abs=1e-14)


def test_forces_and_energies():
    """A drive without losses gives power back where its torque changes sign; springs pull where they are long."""
    m = driven()
    m.spring(
        "spring",
        "slider",
        m.ground,
        start=m.joints[2].at,
        end=(0.6, 0),
        stiffness=50,
        free_length=0.6,
    )
    events = [
        when(drive="motor", equals=0.0),
        when("motor power", equals=0.0),
        when(force="spring", equals=0.0),
        when(distance="spring", equals=0.6),
    ]
    result = sarrus.simulate(m, 2.0, events=events)
    drive, power, force, length = (times(result, e.name) for e in events)
    assert len(drive) > 3
    assert drive == pytest.approx(power, abs=1e-12)
    assert len(force) > 3
    assert force == pytest.approx(length, abs=1e-12)


def test_a_terminal_event_ends_the_run_there():
    """The second time it rises through an angle; the last output is that state."""
    event = when(angle="A", equals=-1.0, rising=True, terminal=True, count=2)
    lowest = when(coordinate="tip.y", extreme="minimum")
    result = sarrus.simulate(pendulum(), 10.0, 0.01, events=[event, lowest])
    assert (result.status, result.success) == ("stopped", True)
    assert "event 'angle A = -1'" in result.message
    assert result.times[-1] == result.events[-1].time == times(result, event.name)[1]
    assert result.angle("A")[-1] == pytest.approx(-1.0, abs=1e-14)
    assert result.position("tip")[-1] == pytest.approx(result.events[-1].state.position("tip")[0])
    assert (np.diff(result.times) > 0).all()
    # events of others up to there, none behind
    assert len(times(result, lowest.name)) == 4
    whole = sarrus.simulate(pendulum(), 10.0, 0.01, events=[event])
    assert times(whole)[-1] == result.events[-1].time


def test_count_limits_what_is_recorded():
    """The first three of many, and the run goes on."""
    result = sarrus.simulate(pendulum(), 10.0, events=[when(angle="A", equals=-1.0, count=3)])
    assert len(result.events) == 3
    assert result.status == "done"


def test_directions():
    """Rising and falling ones together are all."""
    kinds = [{}, {"rising": True}, {"falling": True}]
    both, rising, falling = (
        times(sarrus.simulate(pendulum(), 5.0, events=[when(angle="A", equals=-1.0, **k)]))
        for k in kinds
    )
    assert sorted([*rising, *falling]) == both
    assert (len(rising), len(falling)) == (2, 3)


def test_events_do_not_depend_on_outputs_or_on_each_other():
    """Other outputs, other events, polynomials kept, steps in small groups."""
    event = when(coordinate="tip.x", equals=0.3)
    alone = sarrus.simulate(pendulum(), 6.0, events=[event])
    far = when(angle="A", equals=99.0, terminal=True)
    others = [
        sarrus.simulate(pendulum(), 6.0, outputs=[0.0, 6.0], events=[event]),
        sarrus.simulate(
            pendulum(), 6.0, dense=True, events=[when(speed="tip", extreme=True), event]
        ),
        sarrus.simulate(pendulum(), 6.0, events=[event, far]),
    ]
    for other in others:
        # states are projected in other groups: rounding
        assert times(other, event.name) == pytest.approx(times(alone), abs=1e-14)


@pytest.mark.parametrize("length", [1e-3, 1e4])
@pytest.mark.parametrize("gravity", [1e-6, 1e5])
def test_neither_metres_nor_seconds_decide(length, gravity):
    """Larger and slower: the same events, at times that scale as sqrt(length / gravity)."""
    unit = np.sqrt(9.81 * length / gravity)
    exact = [when(coordinate="tip.y", equals=y) for y in (-0.3, -1.0 + 1e-5, -1.0)]
    scaled = [when(coordinate="tip.y", equals=length * e.equals) for e in exact]
    extremes = [when(speed="tip", extreme=True), when(energy="total", extreme=True)]
    one = sarrus.simulate(pendulum(), 5.0, events=[*exact, *extremes])
    other = sarrus.simulate(pendulum(length, gravity), 5.0 * unit, events=[*scaled, *extremes])
    # contacts and extremes are a few digits less sharp than zeros, and both runs have their own rounding
    assert np.array(times(other)) / unit == pytest.approx(times(one), abs=1e-9)
    assert sorted(e.kind for e in other.events) == sorted(e.kind for e in one.events)


def test_angles_in_space():
    """Bricard's linkage: the angle at the state is the wanted one, and energies have their extremes with it."""
    problem = sarrus.problems.get("rectangular-bricard")
    events = [
        when(angle="P0", equals=0.3, name="angle"),
        when(energy="potential", extreme=True, name="energy"),
        when(energy="kinetic", extreme=True, name="kinetic"),
    ]
    result = sarrus.simulate(problem.mechanism(), 10.0, events=events)
    angles = [e.state.angle("P0")[0] for e in result.events if e.name == "angle"]
    assert angles == pytest.approx([0.3] * 4, abs=1e-13)
    # the sum is constant, so both turn at the same time
    assert times(result, "energy") == pytest.approx(times(result, "kinetic"), abs=1e-9)
    assert len(times(result, "energy")) > 5


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("series", 1e-10),
        ("radau", 1e-8),
        ("multipliers-dop853", 1e-8),
        ("generalized-alpha", 1e-4),
        ("energy-momentum", 1e-4),
        ("null-space", 1e-4),
    ],
)
def test_all_methods(method, error):
    """The same events by every method, each as exact as its motion, with the wanted value at its states."""
    steering = {} if error < 1e-6 else {"step": 1e-3}
    events = [when(coordinate="tip.x", equals=0.3), when(coordinate="tip.y", extreme=True)]
    result = sarrus.simulate(pendulum(), 4.0, method=method, events=events, **steering)
    exact = sarrus.simulate(pendulum(), 4.0, events=events)
    assert [e.kind for e in result.events] == [e.kind for e in exact.events]
    assert times(result) == pytest.approx(times(exact), abs=error)
    found = [e for e in result.events if e.name == events[0].name]
    # the value that is read at the state is the wanted one to rounding
    assert [e.state.position("tip")[0, 0] for e in found] == pytest.approx([0.3] * 4, abs=1e-13)


def test_events_are_saved(tmp_path):
    """A saved result has them to the last bit."""
    result = sarrus.simulate(pendulum(), 3.0, events=[when(angle="A", equals="-30 deg")])
    again = sarrus.load_result(result.save(tmp_path / "run.h5"))
    assert [(e.name, e.kind, e.time, e.value) for e in again.events] == [
        (e.name, e.kind, e.time, e.value) for e in result.events
    ]
    assert len(result.events) == 3
    assert (again.events[1].state.position("tip") == result.events[1].state.position("tip")).all()


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [("which", [7, 0, 0], "which holds"), ("values", [1.0], "values"), ("kinds", None, "kinds")],
)
def test_a_damaged_file_is_rejected(tmp_path, path, value, words):
    """Numbers that lead nowhere, and lists of another length, are found when the file is read."""
    result = sarrus.simulate(pendulum(), 3.0, events=[when(angle="A", equals="-30 deg")])
    saved = result.save(tmp_path / "run.h5")
    with h5py.File(saved, "r+") as file:
        group = file["outcome/events"]
        del group[path]
        if value is None:
            group.create_dataset(path, data='["rising", 5]').attrs["json"] = True
        else:
            group[path] = np.array(value)
    with pytest.raises(sarrus.SavedResultError, match=words):
        sarrus.load_result(saved, verify=False)


def test_model_files_hold_events(tmp_path):
    """What a file holds is what Python says, and a mechanism that is read back has the same events."""
    m = pendulum()
    m.event("up", angle="A", equals="-60 deg", rising=True, count=2)
    m.event("far", distance=("A", "tip"), equals=0.5)
    m.event("sum", {"tip.x": 1.0, "tip.y": 2.0}, extreme="minimum")
    m.save(tmp_path / "m.yaml")
    again = sarrus.load(tmp_path / "m.yaml")
    assert [e.name for e in again.events] == ["up", "far", "sum"]
    first, second = (sarrus.simulate(x, 3.0) for x in (m, again))
    assert [(e.name, e.time) for e in first.events] == [(e.name, e.time) for e in second.events]
    assert {e.name for e in first.events} == {"up", "sum"}


def test_a_function_is_not_kept_by_a_file(tmp_path):
    """It says so."""
    m = pendulum()
    m.event("mine", lambda r: r.angle("A"), equals=0.5)
    with pytest.raises(sarrus.MechanismError, match="'mine' is a Python function"):
        m.save(tmp_path / "m.yaml")


FILE = """
sarrus: 1
gravity: [0, -9.81]
bodies: {rod: {rod: [[0, 0], [1, 0]], mass: 1 kg}}
joints: {A: {revolute: [ground, rod], at: [0, 0]}}
points: {tip: {body: rod, at: [1, 0]}}
events:
  low: {angle: A, equals: -90 deg, falling: true, terminal: true, count: 2}
  fast: {speed: tip, extreme: maximum}
"""


def test_a_file_written_by_hand(tmp_path):
    """Units, directions and counts as in Python."""
    (tmp_path / "m.yaml").write_text(FILE)
    result = sarrus.simulate(sarrus.load(tmp_path / "m.yaml"), 10.0)
    assert result.status == "stopped"
    assert times(result, "low") == pytest.approx([0.25 * PERIOD, 1.25 * PERIOD], abs=1e-11)
    # the third one is where the run ends: nothing states that the speed would fall again
    assert len(times(result, "fast")) == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("angle: A,", "angle: B,", "'B'"),
        ("equals: -90 deg", "equals: 5 kg", "events.low"),
        ("equals: -90 deg, ", "", "events.low"),
        ("angle: A,", "angel: A,", "angle"),
        ("maximum", "largest", "events.fast"),
        ("count: 2", "count: 0", "count"),
    ],
)
def test_mistakes_in_files(tmp_path, old, new, words):
    """Each has a sentence with its key."""
    (tmp_path / "m.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(sarrus.ModelFileError, match=words):
        sarrus.load(tmp_path / "m.yaml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"angle": "A"}, "equals"),
        ({"equals": 1.0}, "nothing is read"),
        ({"angle": "A", "travel": "B", "equals": 1.0}, "angle and travel"),
        ({"angel": "A", "equals": 1.0}, "angle"),
        ({"angle": "A", "equals": 1.0, "extreme": True}, "either"),
        ({"angle": "A", "equals": 1.0, "rising": True, "falling": True}, "both"),
        ({"angle": "A", "extreme": "largest"}, "'maximum'"),
        ({"angle": "A", "equals": 1.0, "count": 0}, "count"),
        ({"distance": ("A", "B"), "equals": -1.0}, "never negative"),
        ({"energy": "thermal", "equals": 1.0}, "kinetic"),
        ({"angle": "A", "equals": "5 kg"}, "angle"),
        ({"distance": ("A",), "equals": 1.0}, "2 names"),
    ],
)
def test_mistakes(arguments, words):
    """Each has its sentence."""
    with pytest.raises(ValueError, match=words):
        when(**arguments)


def test_unknown_names():
    """A name that nothing has is found before the run, with the event's name and the nearest names."""
    with pytest.raises(sarrus.UnknownNameError, match=r"event 'speed top = 1'.*'tip'"):
        sarrus.simulate(pendulum(), 1.0, events=[when(speed="top", equals=1.0)])
    with pytest.raises(
        sarrus.MechanismError, match=r"event 'mine': its function fails.*ZeroDivision"
    ):
        sarrus.simulate(pendulum(), 1.0, events=[when(lambda r: 1 / 0, equals=1.0, name="mine")])
    with pytest.raises(sarrus.MechanismError, match=r"returns the shape \(1, 2\)"):
        sarrus.simulate(pendulum(), 1.0, events=[when(lambda r: r.position("tip"), equals=1.0)])
    with pytest.raises(ValueError, match="events"):
        sarrus.simulate(pendulum(), 1.0, events=["angle"])


def test_a_quantity_that_settles_at_its_value():
    """A damped pendulum swings through its position of rest, ever less, and a note states when it stays there."""
    m = pendulum()
    m.torsion("damper", "A", damping=1.0)
    rest = when(angle="A", equals=-np.pi / 2, name="rest")
    result = sarrus.simulate(m, 60.0, events=[rest])
    kinds = [e.kind for e in result.events]
    assert kinds == [("falling", "rising")[n % 2] for n in range(len(kinds))]
    [note] = [n for n in result.notes if "stays at the value" in n]
    settled = float(note.split("t = ")[1].split()[0])
    # amplitudes fall as exp(-1.5 t), from 1.5 rad to the band of 1e-9 times that: until 14 s, for some swings
    assert 12.0 < settled < 16.0
    assert result.events[-1].time < settled + 1.0
    assert len(kinds) > 10


def test_a_function_that_is_not_smooth_is_reported():
    """Sharp corners cannot be resolved: a note states where."""
    corner = when(lambda r: np.abs(r.position("tip")[:, 0] - 0.3), equals=0.1, name="corner")
    result = sarrus.simulate(pendulum(), 1.0, events=[corner])
    assert any("event 'corner' is not smooth enough" in note for note in result.notes)


def test_studies_record_events(tmp_path):
    """Times of events, one row per run; with a heavy damper the pendulum does not pass its position of rest."""
    m = pendulum()
    m.torsion("damper", "A", damping=1.0)
    m.event("low", angle="A", equals=-np.pi / 2)
    m.save(tmp_path / "m.yaml")
    study = make_study(
        {
            "mechanism": str(tmp_path / "m.yaml"),
            "vary": {"torsions.damper.damping": [0.5, 1.0, 20.0]},
            "simulate": {"duration": 4},
            "record": [{"event_times": "low"}],
        }
    )
    drawn = draw_samples(study)
    # runs of a study that go side by side would not locate them
    assert prepare_batch_runner(study.plan) is None
    rows = [run_one(study.plan, i, drawn.row(study.plan.columns, i))[0] for i in range(3)]
    found = [row["event_times low"] for row in rows]
    assert [row["status"] for row in rows] == ["done"] * 3
    assert found[1] == times(sarrus.simulate(m, 4.0))
    assert len(found[0]) >= len(found[1]) > 0
    assert found[2] == []


def test_extremes_of_a_small_speed():
    """v = a (x^3 - 3 x + 3.5), x = t - 70: |v| begins at 1 m/s, has a zero, then the extremes 5.5 a and 1.5 a.

    They differ by 1e-5 of the largest speed, their squares by 2.6e-10 of its square.
    """
    a = 3e-6
    m = sarrus.Mechanism("slide", gravity=(0, 0))
    m.body("block", mass=1, center=(0, 0), inertia=1)
    m.prismatic("guide", m.ground, "block", at=(0, 0), axis=(1, 0))
    m.point("P", "block", (0, 0))
    powers = np.polynomial.Polynomial([0.0, 3.5, -1.5, 0.0, 0.25])(
        np.polynomial.Polynomial([-70.0, 1.0])
    )
    m.drive("motor", "guide", sarrus.Polynomial((a * (powers - powers(0.0))).coef.tolist()))
    found = sarrus.simulate(m, 75.0, events=[when(speed="P", extreme=True)]).events
    assert [e.kind for e in found] == ["minimum", "maximum", "minimum"]
    # a minimum at rest is a corner of the speed; the extremes are flat, so that rounding shifts their times
    assert [e.time for e in found[1:]] == pytest.approx([69.0, 71.0], abs=1e-4)
    assert [e.value for e in found] == pytest.approx([0.0, 5.5 * a, 1.5 * a], abs=1e-10)


@pytest.mark.parametrize("duration", [0.3, 1.0, 7.7])
def test_a_value_reached_at_the_end(duration):
    """A rod turns at 1 rad/s: its angle is the time, and that of the end is reached there; a later one is not."""
    m = sarrus.Mechanism("rod", gravity=(0, 0))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.set_angular_velocity("rod", 1.0)
    later = duration * (1 + 1e-8)
    given = [when(angle="A", equals=x, name=f"{x}") for x in (0.0, duration, later)]
    found = sarrus.simulate(m, duration, events=given).events
    assert [(e.name, e.kind) for e in found] == [(f"{duration}", "rising")]
    # rounding of the time, and of the angle at a rate of 1 rad/s
    assert found[0].time == pytest.approx(duration, rel=1e-13)
    ended = sarrus.simulate(m, duration, events=[when(angle="A", equals=duration, terminal=True)])
    assert ended.status == "stopped"


def test_a_value_at_which_a_drive_ends():
    """The drive stays at the value from t = 1 s on: it has settled, which a note states."""
    m = sarrus.Mechanism("rod", gravity=(0, 0))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "rod", at=(0, 0))
    m.drive("motor", "A", sarrus.SmoothStep(0.0, 1.0, 0.0, 1.0))
    result = sarrus.simulate(m, 2.0, events=[when(angle="A", equals=1.0)])
    assert result.events == ()
    assert any("stays at the value" in note for note in result.notes)
