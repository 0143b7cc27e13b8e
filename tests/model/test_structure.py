"""A model by a known structure is the model built anew, bit for bit; what numbers decide is never taken over."""

import numpy as np
import pytest

from random_mechanisms import random_mechanism
from sarrus import Mechanism, Polynomial, Sine, SmoothStep, Table, problems
from sarrus.model import make_model
from sarrus.model.structure import build_anew, describe, trace, with_numbers


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
    new = np.array(numbers)
    how = rng.integers(3)
    if how == 0:
        new *= rng.uniform(0.9, 1.1, len(new))
    elif how == 1:
        new[rng.integers(len(new))] *= rng.uniform(0.5, 2.0)
    else:
        # a number that becomes zero decides much
        new[rng.integers(len(new))] = 0.0
    masses = [n for n, body in _masses(mechanism)]
    new[masses] = np.abs(new[masses]) + 0.1
    return new.tolist()


def _masses(mechanism):
    at = mechanism.dimension
    for body in mechanism.bodies:
        yield at, body
        at += 1 + body.center.size + body.inertia.size


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mechanism"), [pytest.param(n, m, id=n) for n, m in mechanisms()])
def test_a_model_by_its_structure_is_the_model_built_anew(name, mechanism):
    """For the numbers it was found with, and for others: either the same bits or no model at all."""
    described = describe(mechanism)
    if described is None:
        pytest.skip("a function of the user: always built anew")
    key, numbers = described
    try:
        anew = build_anew(mechanism)
    except ValueError:
        pytest.skip("cannot be simulated")
    blueprint, replay = trace(mechanism, numbers)
    made = blueprint.make(mechanism, replay.one(numbers))
    np.testing.assert_array_equal(indices_of(made), indices_of(anew))
    np.testing.assert_array_equal(numbers_of(made), numbers_of(anew))
    rng = np.random.default_rng(0)
    others = [resized(mechanism, numbers, rng) for _ in range(8)]
    side_by_side, good = replay.many(np.array(others).T)
    for n, other in enumerate(others):
        values = replay.one(other)
        assert (values is not None and np.isfinite(values).all()) == good[n]
        if not good[n]:
            continue
        np.testing.assert_array_equal(side_by_side[:, n], values)
        varied = with_numbers(mechanism, iter(other))
        assert describe(varied)[0] == key
        anew = build_anew(varied)
        made = blueprint.make(varied, values)
        np.testing.assert_array_equal(indices_of(made), indices_of(anew))
        np.testing.assert_array_equal(numbers_of(made), numbers_of(anew))


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
    m = four_bar()
    _, replay = trace(m, describe(m)[1])
    rng = np.random.default_rng(3)
    for _ in range(50):
        varied = four_bar(rng.uniform(0.8, 1.2), rng.uniform(2.5, 3.5), rng.uniform(0.5, 5.0))
        assert replay.one(describe(varied)[1]) is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda m, at, axis: (at, (0.0, 0.0, 1.0)),  # axes that become parallel
        lambda m, at, axis: ((1.0, 0.0, 0.0), axis),  # places that become one
    ],
)
def test_what_becomes_one_is_built_anew(change):
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
    _, replay = trace(m, describe(m)[1])
    other = chain(*change(m, at, axis))
    assert describe(other)[0] == describe(m)[0]
    assert replay.one(describe(other)[1]) is None
    # by the door that everyone uses: built often, it is still the right model
    for _ in range(3):
        make_model(m)
    np.testing.assert_array_equal(numbers_of(make_model(other)), numbers_of(build_anew(other)))


def test_a_model_keeps_what_it_was_made_of():
    """Rows that are made when asked for are those of the mechanism as it was."""
    m = four_bar()
    model = make_model(m)
    m.body("late", 1.0, (0, 0), 1.0)
    assert model.body_rows.names == ("crank", "coupler", "rocker")
    assert sorted(model.readings.angles) == ["A0", "A1", "B0", "B1"]


def test_building_grows_as_the_mechanism_does():
    """Twice the windows, twice the operations: counted, not timed."""

    def operations(windows):
        m = problems.get("n-four-bar", windows=windows).mechanism()
        return trace(m, describe(m)[1])[1].operations

    few, more, many = (operations(n) for n in (10, 20, 40))
    assert many - more == pytest.approx(2 * (more - few), rel=0.02)
