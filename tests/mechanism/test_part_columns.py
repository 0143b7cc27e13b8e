"""Bodies and joints read as arrays: to the same models and remarks as one by one, and never out of date."""

from dataclasses import replace

import numpy as np
import pytest
from everything import plane_of_everything, space_of_everything

from builders import n_four_bar
from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.kinematics.pose import measure_length
from sarrus.mechanism import columns, find_remarks
from sarrus.mechanism.columns import read_columns
from sarrus.model import alike, coordinates
from sarrus.model.points import readable_points
from sarrus.model.structure import build_anew


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Mechanisms of any size are read so, and two bodies make a class."""
    monkeypatch.setattr(columns, "MANY", 1)
    for room in (alike, coordinates):
        monkeypatch.setattr(room, "LEAST", 2)


def mechanisms():
    """Random ones, with sliders or without, some with a spring and a marker."""
    for seed in range(40):
        m = random_mechanism(seed, 2 + seed % 2, seed % 4 == 1, sliding=seed % 3 == 0)
        if seed % 5 == 0:
            body, away = m.bodies[0], m.bodies[0].center + 1.0
            m.spring("spring", m.ground, body, start=away, end=body.center, stiffness=1.0)
            m.point("mark", m.bodies[-1], m.bodies[-1].center)
        yield pytest.param(m, id=f"random {seed}")
    yield pytest.param(n_four_bar(5), id="chain")


def all_bits(x):
    """Every number of nested tuples and arrays."""
    if isinstance(x, tuple | list):
        return [y for part in x for y in all_bits(part)]
    return [x.tobytes()] if isinstance(x, np.ndarray) else []


@pytest.mark.parametrize("m", [*mechanisms()])
def test_models_have_the_same_bits(m):
    """By arrays, or by objects one after the other; so has the length that all is compared with."""
    read = read_columns(m)
    assert read is not None
    assert measure_length(m, read) == measure_length(m)
    by_arrays, one_by_one = build_anew(m.copy(), read), build_anew(m.copy())
    assert by_arrays.points == one_by_one.points
    for part in ("form", "loads", "origins"):
        assert all_bits([getattr(by_arrays, part)]) == all_bits([getattr(one_by_one, part)])


@pytest.mark.parametrize("m", [*mechanisms(), plane_of_everything(), space_of_everything()])
def test_points_are_the_same(m):
    """Whose they are, and where."""
    by_arrays, one_by_one = readable_points(m, read_columns(m)), readable_points(m)
    assert list(by_arrays) == list(one_by_one)
    for mine, other in zip(by_arrays.values(), one_by_one.values(), strict=True):
        assert mine[0] == other[0]
        assert mine[1].tobytes() == other[1].tobytes()


def test_a_joint_that_bears_the_name_of_a_body():
    """Its point is the one that is read, at the place of the body in the list."""
    m = Mechanism()
    m.rod("a", (0, 0), (1, 0), mass=1.0)
    m.revolute("a", m.ground, "a", at=(0, 0))
    points = readable_points(m, read_columns(m))
    assert points["a"][0] == m.GROUND
    assert list(points) == list(readable_points(m)) == ["a"]


@pytest.mark.parametrize("seed", range(30))
def test_the_same_bodies_are_free(monkeypatch, seed):
    """Random joints between bodies and the ground, in any order."""
    rng = np.random.default_rng(seed)
    m = Mechanism()
    names = [f"b{i}" for i in range(12)]
    for name in names:
        m.body(name, mass=1.0, center=(0.0, 0.0))
    for k in range(rng.integers(4, 12)):
        count = int(rng.integers(2, 4))
        some = rng.choice([*names, m.GROUND], count, replace=False)
        m.revolute(f"j{k}", *some.tolist(), at=(0.0, 0.0))
    read_columns(m)
    by_arrays = find_remarks(m)
    m.columns = None
    assert find_remarks(m) == by_arrays


def test_they_are_read_again_when_anything_changed():
    """Other parts, or other numbers in the same arrays; copies share what was read."""
    m = n_four_bar(3)
    read = read_columns(m)
    assert read_columns(m) is read
    assert read_columns(m.copy()) is read
    m.bodies[1].center[0] += 0.5
    moved = read_columns(m)
    assert moved is not read
    assert moved.center.rows[1, 0] == m.bodies[1].center[0]
    m.joints[2].ends[0].place[1] = 0.25
    assert read_columns(m).places.rows[2, 1] == 0.25
    m.joints.pop()
    assert len(read_columns(m).joints) == len(m.joints)


def test_numbers_that_do_not_lie_in_a_row():
    """Transposed matrices and every second entry of an array are numbers as any other."""
    inertia = np.array([[1.0, 0.1, 0.0], [0.1, 1.2, 0.05], [0.0, 0.05, 0.9]])
    lengths = []
    for turned in (inertia, np.asfortranarray(inertia)):
        m = Mechanism("bodies", gravity=(0, 0, -9.81))
        for i in range(3):
            m.body(f"b{i}", mass=1.0, center=(float(i), 0.0, 0.0), inertia=turned)
            m.revolute(f"j{i}", m.ground, f"b{i}", at=(i + 0.5, 0.0, 0.0), axis=(0, 1, 0))
        m.bodies[0] = replace(m.bodies[0], center=np.repeat(m.bodies[0].center, 2)[::2])
        lengths.append(measure_length(m, read_columns(m)))
        assert build_anew(m).coordinates
    assert lengths[0] == lengths[1]
