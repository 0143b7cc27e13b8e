"""A model by a known structure is the model built again, bit for bit; what numbers decide is never taken over."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from random_mechanisms import random_mechanism
from sarrus import (
    Mechanism,
    MechanismError,
    Polynomial,
    Sine,
    SmoothStep,
    Table,
    problems,
    simulate,
)
from sarrus.mechanism import check_mechanism
from sarrus.model import make_model, structure
from sarrus.model.build import build_from_scratch, make_blueprint
from sarrus.model.structure import describe, look_up, with_numbers
from sarrus.thresholds import ON_ROD


@pytest.fixture(autouse=True)
def nothing_seen():
    """No test depends on structures that others have left."""
    structure.forget()


def trace(mechanism):
    """The structure of a mechanism with its tape."""
    return structure.trace(mechanism, make_blueprint)


def loaded(seed, dimension):
    """A random mechanism with a load of every kind that has numbers alone."""
    m = random_mechanism(seed, dimension)
    rng = np.random.default_rng(seed)
    body = m.bodies[-1]
    there = body.center + rng.normal(size=dimension)
    m.spring("S", m.ground, body, start=there, end=body.center, stiffness=3.0, damping=0.1)
    for n, joint in enumerate(j for j in m.joints if j.kind.value == "revolute"):
        if len(joint.bodies) == 2 and n < 2:
            m.torsion(f"T{n}", joint, stiffness=rng.uniform(), torque=0.3)
            m.rotor(f"R{n}", joint, inertia=rng.uniform())
    m.force("F", body, at=body.center, vector=rng.normal(size=dimension), fixed_in="body")
    m.force("W", body, at=body.center, vector=rng.normal(size=dimension))
    m.torque("M", body, rng.normal() if dimension == 2 else rng.normal(size=3))
    m.set_angular_velocity(body, 0.0 if dimension == 2 else np.zeros(3))
    return m


MOTIONS = [
    Polynomial((0.0, 1.5, -0.2)),
    Sine(0.4, 0.7, 0.3, -0.4 * np.sin(0.3)),
    SmoothStep(0.0, 0.6, 0.1, 0.9),
    Table([0.0, 0.4, 0.7, 1.0], [0.0, 0.2, 0.1, 0.4]),
]


def driven(seed, dimension):
    """A random mechanism with a drive: an angle, a travel, or a length."""
    m = random_mechanism(seed, dimension, sliding=seed % 2 == 1)
    motion = MOTIONS[seed % 4]
    joint = next((j for j in m.joints if j.kind.row.coordinate and len(j.bodies) == 2), None)
    if joint is not None and joint.kind.row.coordinate == "length":
        start = float(np.linalg.norm(np.subtract(*joint.places)))
        motion = SmoothStep(start, 1.1 * start, 0.1, 0.9)
    if joint is not None:
        m.drive("D", joint, motion)
    return m


def mechanisms():
    """Problems, and random mechanisms of all kinds of joints and loads."""
    for name in problems.names():
        yield name, problems.get(name).mechanism()
    for seed in range(10):
        for dimension in (2, 3):
            kind = {"crowded": seed % 3 == 1, "sliding": seed % 3 == 2}
            yield f"random {seed} {dimension}", random_mechanism(seed, dimension, **kind)
            yield f"loaded {seed} {dimension}", loaded(seed, dimension)
            yield f"driven {seed} {dimension}", driven(seed, dimension)


def numbers_of(model):
    """All numbers of a model side by side."""
    loads = model.loads
    acting = (loads.F_val, loads.f0, loads.springs.numbers, loads.torsions.numbers, loads.turning.c)
    spun = [x for rows, starts in model.spun.values() for x in (rows.val, starts)]
    own = (model.place_rows.val, model.origins, [model.units.length, model.units.mass])
    floats = [x for x in (*model.form, *loads.drives, model.drive_rates) if x.dtype == float]
    return np.concatenate([np.ravel(x) for x in (*floats, *acting, *spun, *own)])


def indices_of(model):
    """All whole numbers of a model side by side."""
    whole = [x for x in model.form if x.dtype != float]
    rows = model.place_rows
    return np.concatenate([*whole, model.loads.F_col, model.loads.G_row, rows.start, rows.col])


def resized(mechanism, numbers, rng):
    """The same mechanism with other masses, and some numbers changed at random: all of them, or one."""
    new = numbers.copy()
    how = rng.integers(3)
    if how == 0:
        new *= rng.uniform(0.9, 1.1, len(new))
    elif how == 1:
        new[rng.integers(len(new))] *= rng.uniform(0.5, 2.0)
    else:
        # a number that becomes zero decides much
        new[rng.integers(len(new))] = 0.0
    # masses come first
    masses = slice(len(mechanism.bodies))
    new[masses] = np.abs(new[masses]) + 0.1
    return new


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mechanism"), [pytest.param(n, m, id=n) for n, m in mechanisms()])
def test_a_model_by_its_structure_is_the_model_built_again(name, mechanism):
    """For the numbers it was found with, and for others: either the same bits or no model at all."""
    described = describe(mechanism)
    if described is None:
        pytest.skip("a function of the user: always built from scratch")
    try:
        again = build_from_scratch(mechanism)
    except ValueError:
        pytest.skip("cannot be simulated")
    found = trace(mechanism)
    made = found.make(mechanism, found.follow(described.numbers))
    np.testing.assert_array_equal(indices_of(made), indices_of(again))
    np.testing.assert_array_equal(numbers_of(made), numbers_of(again))
    rng = np.random.default_rng(0)
    others = [resized(mechanism, described.numbers, rng) for _ in range(8)]
    side_by_side, good = found.replay.many(list(np.array(others).T), len(others))
    for n, other in enumerate(others):
        values = found.follow(other)
        assert (values is not None) == good[n]
        if not good[n]:
            continue
        np.testing.assert_array_equal(side_by_side.dense()[:, n], values)
        varied = with_numbers(mechanism, iter(other.tolist()))
        assert describe(varied).key == described.key
        assert describe(varied).numbers.tobytes() == other.tobytes()
        # what is followed is sound
        if found.is_sound:
            check_mechanism(varied)
        again = build_from_scratch(varied)
        made = found.make(varied, values)
        np.testing.assert_array_equal(indices_of(made), indices_of(again))
        np.testing.assert_array_equal(numbers_of(made), numbers_of(again))


def four_bar(crank=1.0, x=3.0, mass=2.0):
    """A four-bar whose numbers vary."""
    m = Mechanism("four-bar")
    m.rod("crank", (0, 0), (0, crank), mass=mass)
    m.rod("coupler", (0, crank), (x, 1.5), mass=1)
    m.rod("rocker", (x, 1.5), (x, 0), mass=1)
    m.revolute("A0", m.ground, "crank", at=(0, 0))
    m.revolute("B0", "crank", "coupler", at=(0, crank))
    m.revolute("B1", "coupler", "rocker", at=(x, 1.5))
    m.revolute("A1", "rocker", m.ground, at=(x, 0))
    return m


def test_lengths_places_and_masses_need_no_other_structure():
    """Every one of many four-bars is replayed."""
    found = trace(four_bar())
    rng = np.random.default_rng(3)
    for _ in range(50):
        varied = four_bar(rng.uniform(0.8, 1.2), rng.uniform(2.5, 3.5), rng.uniform(0.5, 5.0))
        assert found.follow(describe(varied).numbers) is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda m, at, axis: (at, (0.0, 0.0, 1.0)),  # axes that become parallel
        lambda m, at, axis: ((1.0, 0.0, 0.0), axis),  # places that become one
    ],
)
def test_what_becomes_one_is_built_again(change):
    """Numbers for which other features are shared: the structure of before does not answer."""

    def chain(at, axis):
        m = Mechanism("chain", gravity=(0, 0, -9.81))
        m.body("a", 1.0, (0.5, 0.1, 0.0), (1, 1, 1))
        m.body("b", 1.0, (1.5, 0.0, 0.2), (1, 1, 1))
        m.body("c", 1.0, (1.0, 0.8, 0.2), (1, 1, 1))
        m.revolute("A", m.ground, "a", at=(0, 0, 0), axis=(0, 0, 1))
        m.revolute("B", "a", "b", at=(1, 0, 0), axis=(0, 0, 1))
        m.revolute("C", "b", "c", at=at, axis=axis)
        return m

    at, axis = (1.2, 0.7, 0.1), (0.0, 0.6, 0.8)
    m = chain(at, axis)
    other = chain(*change(m, at, axis))
    assert describe(other).key == describe(m).key
    assert trace(m).follow(describe(other).numbers) is None
    # by the door that everyone uses: built often, it is still the right model
    for _ in range(3):
        make_model(m)
    np.testing.assert_array_equal(
        numbers_of(make_model(other)), numbers_of(build_from_scratch(other))
    )


def test_a_model_keeps_what_it_was_made_of():
    """Rows that are made when requested are those of the mechanism as it was."""
    m = four_bar()
    model = make_model(m)
    m.body("late", 1.0, (0, 0), 1.0)
    assert model.body_rows.names == ("crank", "coupler", "rocker")
    assert sorted(model.readings.angles) == ["A0", "A1", "B0", "B1"]


@pytest.mark.slow
def test_building_grows_as_the_mechanism_does():
    """Twice the windows, twice the operations: counted, not timed."""

    def operations(windows):
        m = problems.get("n-four-bar", windows=windows).mechanism()
        return trace(m).replay.operations

    few, more, many = (operations(n) for n in (10, 20, 40))
    assert many - more == pytest.approx(2 * (more - few), rel=0.02)


def off_its_rod(share):
    """A four-bar whose last pin is next to its rod by a share of what is allowed."""
    m = four_bar()
    m.point("P", "coupler", (1.5, 1.25))
    m.markers[-1].at[1] += share * ON_ROD * 3.04
    return m


BROKEN = {
    "mass": lambda m: m.bodies.__setitem__(0, replace(m.bodies[0], mass=-1.0)),
    "not a number": lambda m: m.bodies[1].ends[0].__setitem__(0, np.nan),
    "length": lambda m: m.bodies[0].ends[1].__setitem__(slice(2), m.bodies[0].ends[0]),
    "place": lambda m: m.joints[2].ends[0].place.__setitem__(1, 7.0),
    "gravity": lambda m: m.gravity.__setitem__(0, np.inf),
    "velocity": lambda m: m.velocities.append(("B0", np.array([np.nan, 0.0]))),
    "name of a velocity": lambda m: m.velocities.append(("B9", np.zeros(2))),
    "shape": lambda m: m.bodies.__setitem__(
        0, replace(m.bodies[0], ends=(np.zeros(3), np.ones(3)))
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_simulated_is_rejected_each_time(what):
    """Also where the topology is known and its check is part of the tape: with the words of the check."""
    for _ in range(4):
        simulate(four_bar(), 0.01, 0.01)
    assert look_up(four_bar()).is_sound
    broken = four_bar()
    BROKEN[what](broken)
    with pytest.raises(MechanismError) as by_check:
        check_mechanism(broken)
    for _ in range(3):
        with pytest.raises(MechanismError) as by_run:
            simulate(broken, 0.01, 0.01)
        assert str(by_run.value) == str(by_check.value)


def test_a_limit_of_the_check_is_a_limit_of_the_tape():
    """A point next to a rod by less than what is allowed is followed, by more it is not."""
    for _ in range(3):
        # the builder takes a point as on its line below half of it
        make_model(off_its_rod(0.7))
    assert look_up(off_its_rod(0.9)).is_sound
    assert not look_up(off_its_rod(1.1)).is_sound


def test_a_structure_is_carried_by_its_models():
    """The first model's structure gets the tape; models of other numbers have it too, of other topologies not."""
    first, second, third = (make_model(four_bar(mass=mass)) for mass in (1.0, 2.0, 3.0))
    assert first.structure is second.structure is third.structure
    assert first.structure.replay is not None
    assert make_model(off_its_rod(0.0)).structure is not first.structure


def test_structures_are_bounded():
    """The topologies that were used last, few of them large."""
    for n in range(structure.MOST_KEPT + 5):
        m = four_bar()
        m.point(f"P{n}", "crank", (0, 0.5))
        make_model(m)
    assert len(structure._KEPT) == structure.MOST_KEPT
    assert not look_up(m).topology.is_large
    assert any("P68" in key for key in structure._KEPT)


def test_a_run_copies_and_describes_its_mechanism_once(monkeypatch):
    """A second run of a known mechanism: neither is checked part by part."""
    for _ in range(3):
        simulate(four_bar(), 0.01, 0.01)
    counts = Counter()

    def counting(name, function):
        def call(*given, **more):
            counts[name] += 1
            return function(*given, **more)

        return call

    monkeypatch.setattr(Mechanism, "copy", counting("copy", Mechanism.copy))
    monkeypatch.setattr(structure, "describe", counting("describe", describe))
    monkeypatch.setattr(structure, "check_mechanism", counting("check", check_mechanism))
    simulate(four_bar(mass=1.7), 0.01, 0.01)
    assert counts == {"copy": 1, "describe": 1}


@pytest.mark.parametrize("seed", range(6))
def test_few_numbers_that_change_in_each_call(seed):
    """Only operations on these are repeated: outputs and decisions are those of the whole tape, bit for bit."""
    rng = np.random.default_rng(seed)
    m = loaded(seed, 2)
    numbers, found, alone = describe(m).numbers, trace(m).replay, trace(m).replay
    for _ in range(3):
        some = rng.choice(len(numbers), 4, replace=False)
        for n in range(8):
            other = numbers.copy()
            # the last ones decide: a number becomes zero, of either sign
            other[some] *= rng.uniform(0.5, 2.0, 4) if n < 6 else (1, 1, 1, (0.0, -0.0)[n - 6])
            by_changes, whole = found.one(other), alone._whole(other.tolist())
            assert (by_changes is None) == (whole is None)
            if whole is not None:
                assert by_changes.tobytes() == np.array(whole).tobytes()
        # one that did not change so far
        numbers = numbers.copy()
        numbers[rng.integers(len(numbers))] *= 1.1


def test_operations_on_few_numbers_are_repeated_alone():
    """Masses that change in each call: the whole tape is not replayed again."""
    found = trace(four_bar()).replay
    for mass in (1.0, 1.1, 1.2):
        found.one(describe(four_bar(mass=mass)).numbers)
    calls = []
    found._whole = calls.append
    expected = trace(four_bar(mass=1.3)).follow(describe(four_bar(mass=1.3)).numbers)
    np.testing.assert_array_equal(found.one(describe(four_bar(mass=1.3)).numbers), expected)
    assert not calls


def two_rods(mass, **spins):
    """Two rods with given angular velocities."""
    m = Mechanism("two rods", gravity=(0, -9.81))
    m.rod("a", (0, 0), (1, 0), mass=mass)
    m.rod("b", (1, 0), (2, 0.5), mass=1.0)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    for name, value in spins.items():
        m.set_angular_velocity(name, value)
    return m


def test_start_velocities_of_other_masses():
    """The rate w of the first rod: given, or of least energy, where dT/dw = m/3 w + 1 (w + 1/2) = 0."""
    for mass in (1.0, 1.0, 1.0, 5.0, 2.0, 2.0, 5.0, 1.0):
        given = simulate(two_rods(mass, a=0.7, b=1.0), 0.01, 0.01).velocity("B")[0, 1]
        least = simulate(two_rods(mass, b=1.0), 0.01, 0.01).velocity("B")[0, 1]
        # some roundings of numbers of order one
        assert abs(given - 0.7) < 1e-14
        assert abs(least + 0.5 / (mass / 3 + 1)) < 1e-14
