"""Large mechanisms: kept models are those built again, sums of many those of few, all grows as they do."""

import gc
import weakref

import numpy as np
import pytest

from builders import n_four_bar
from sarrus import Mechanism, simulate
from sarrus.mechanism.part_arrays import read_parts
from sarrus.model import build, make_model, reduce, structure
from sarrus.model.build import build_from_scratch
from sarrus.model.joint_constraints import _near_in_tree, share_features
from sarrus.model.vectors import vector
from sarrus.tracing import _sum_of, mean
from scissors import Scissors


def numbers(model):
    """All numbers of a model."""
    rows = model.place_rows
    return [*model.form, rows.start, rows.col, rows.val, model.origins]


def check_same(a, b):
    for x, y in zip(numbers(a), numbers(b), strict=True):
        assert x.tobytes() == y.tobytes()


@pytest.fixture
def no_large():
    """None was seen before."""
    structure.forget()


def test_a_large_mechanism_is_built_once(monkeypatch, no_large):
    """A second model is the first one, made of the second mechanism; also if that is described again."""
    first = make_model(n_four_bar(120))
    monkeypatch.setattr(build, "make_blueprint", None)
    again = n_four_bar(120)
    model = make_model(again)
    check_same(model, first)
    assert model.mechanism is not first.mechanism
    assert model.form.e0 is not first.form.e0


CHANGES = {
    "place": lambda m: m.joints[7].ends[0].place.__setitem__(0, 7.5),
    "center": lambda m: m.bodies[7].center.__setitem__(1, 0.4),
    "inertia": lambda m: m.bodies[7].inertia.__setitem__((), 0.4),
    "gravity": lambda m: m.gravity.__setitem__(1, -5.0),
    "point": lambda m: m.point("P", m.bodies[3], m.bodies[3].center),
    "spring": lambda m: m.spring(
        "S", m.ground, m.bodies[0], start=(0, 3), end=m.bodies[0].center, stiffness=1.0
    ),
    "spin": lambda m: m.set_angular_velocity(m.bodies[0], 1.0),
    "joint": lambda m: m.joints.pop(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_built_again(no_large, change):
    """Also where an array was written into, which no list states."""
    m = n_four_bar(120)
    make_model(m)
    CHANGES[change](m)
    check_same(make_model(m), build_from_scratch(m.copy()))


def test_few_large_ones_are_kept(no_large):
    """The last ones that were used."""
    for n in (110, 111, 110, 112):
        make_model(n_four_bar(n))
    # names of bodies
    assert [len(key[0][1]) for key in structure._KEPT] == [221, 225]
    assert len(structure._KEPT) == structure.MOST_LARGE


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 64, 65, 127, 1000, 4097])
def test_means_of_many_have_the_bits_of_halves(n):
    """All halves at once, or one after the other."""
    values = np.random.default_rng(n).normal(size=n).tolist()
    assert mean(values) == _sum_of(values) / n


def scissors(units):
    parts = np.full(units + 1, 0.5)
    return Scissors(parts, np.ones((units, 2)), 0.7, 0.2).mechanism()


def test_relations_that_stand_as_equations_change_no_motion(monkeypatch):
    """Scissors of 12 units: all heights solved for, or most of them kept; within what the tolerance allows."""
    found = []
    for most in (10**9, 2):
        monkeypatch.setattr(reduce, "MOST_USERS", most)
        structure.forget()
        found.append(simulate(scissors(12), 0.3, 0.05))
    solved, kept = found
    assert kept.model.equations > solved.model.equations
    assert kept.model.coordinates - kept.model.equations == 1
    for joint in solved.mechanism.joints:
        if joint.at is not None:
            apart = kept.position(joint.name) - solved.position(joint.name)
            assert np.abs(apart).max() < 1e-10


@pytest.mark.slow
def test_scissors_fill_their_factor_linearly():
    """Twice the units, twice the entries of L: with all heights solved for it was four times as many."""
    sizes = [len(build_from_scratch(scissors(n)).form.L_row) for n in (100, 200, 400)]
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.1)


def tower(n):
    """Bodies that slide on each other and never turn."""
    m = Mechanism("tower", gravity=(0.3, -9.81))
    before = m.ground
    for i in range(n):
        m.body(f"b{i}", mass=1.0, center=(i, 0.1 * i), inertia=0.1)
        m.prismatic(f"s{i}", before, f"b{i}", at=(i, 0.1 * i), axis=(i % 2, 1 - i % 2))
        before = f"b{i}"
    return m


def test_bodies_that_turn_as_one_share_their_axes():
    """A tower of sliders has its two directions once, whoever of its bodies brought them."""
    m = tower(40)
    sharing = share_features(read_parts(m), vector, vector)
    assert len({tuple(g.axes) for g in sharing.groups[1:]}) == 1
    assert all(f.fixed for f in sharing.features)


def test_equal_features_are_paired_once():
    """Not each with each: hundred times two directions give hundred pairs less two, in two classes."""
    values = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)] * 50
    pairs = _near_in_tree(values, 1e-9)
    assert len(pairs) == 98
    assert all(a % 2 == b % 2 and a < b for a, b in pairs)


@pytest.mark.slow
def test_a_run_is_freed_with_its_result():
    """No cycle keeps the buffers of steps: those of large mechanisms fill the memory before it is found."""
    m = n_four_bar(3)
    simulate(m, 0.1, 0.05)
    gc.collect()
    gc.disable()
    try:
        result = simulate(m, 0.1, 0.05)
        model = weakref.ref(result.model)
        del result
        assert model() is None
    finally:
        gc.enable()
