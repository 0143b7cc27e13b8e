"""Bodies and joints read as arrays: what is found with them is that of the parts, and never out of date."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from everything import plane_of_everything, space_of_everything
from numpy.linalg import norm

from builders import n_four_bar
from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.kinematics.configuration import LINK, measure_length
from sarrus.mechanism import find_remarks
from sarrus.mechanism.part_arrays import read_parts
from sarrus.model.build import build_from_scratch
from sarrus.model.points import readable_points
from sarrus.thresholds import NO_ARM


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


def length_by_parts(m):
    """The mean arm, part by part."""
    links = [j for j in m.joints if j.kind.row.is_link]
    others = [j for j in m.joints if not j.kind.row.is_link]
    held = [(e.body, e.place) for j in others + links for e in j.ends if e.place is not None]
    for spring in m.springs:
        held += zip(spring.bodies, spring.ends, strict=True)
    arms = [norm(p - b.center) for b in m.bodies for name, p in held if name == b.name]
    spreads = [np.sqrt(np.abs(b.inertia).max() / b.mass) for b in m.bodies]
    least = NO_ARM * max([*arms, *spreads])
    return np.mean([a for a in arms if a > least] or [s for s in spreads if s > 0] or [1.0 / LINK])


@pytest.mark.parametrize("m", [*mechanisms()])
def test_the_length_is_that_of_the_parts(m):
    """The length that all is compared with, but for the order of sums."""
    assert measure_length(m) == pytest.approx(length_by_parts(m), rel=1e-12)


def points_by_parts(m):
    """Body and place of every point that can be read, part by part."""
    points = {b.name: (b.name, b.center) for b in m.bodies}
    points |= {x.name: (x.body, x.at) for x in m.markers}
    for joint in m.joints:
        if joint.at is None:
            continue
        if joint.kind.row.slides:
            owner = next(b for b in reversed(joint.bodies) if b != m.GROUND)
        else:
            owner = m.GROUND if m.GROUND in joint.bodies else joint.bodies[0]
        points[joint.name] = (owner, joint.at)
    return points


@pytest.mark.parametrize("m", [*mechanisms(), plane_of_everything(), space_of_everything()])
def test_points_are_those_of_the_parts(m):
    """Whose they are, and where."""
    found, expected = readable_points(m), points_by_parts(m)
    assert list(found) == list(expected)
    for mine, other in zip(found.values(), expected.values(), strict=True):
        assert mine[0] == other[0]
        assert mine[1].tobytes() == other[1].tobytes()


def test_a_joint_that_bears_the_name_of_a_body():
    """Its point is the one that is read, at the place of the body in the list."""
    m = Mechanism()
    m.rod("a", (0, 0), (1, 0), mass=1.0)
    m.rod("b", (1, 0), (2, 0), mass=1.0)
    m.revolute("a", m.ground, "a", at=(0, 0))
    points = readable_points(m)
    assert points["a"][0] == m.GROUND
    assert list(points) == ["a", "b"]


def free_by_parts(m):
    """Bodies that no joint ties to the ground, each with the first body of its group."""
    first = {name: n for n, name in enumerate([m.GROUND, *(b.name for b in m.bodies)])}
    for _ in m.bodies:
        for joint in m.joints:
            least = min(first[name] for name in joint.bodies)
            first |= dict.fromkeys(joint.bodies, least)
    return {name: n for name, n in first.items() if n}


@pytest.mark.parametrize("seed", range(30))
def test_free_bodies_are_named_by_groups(seed):
    """Random joints between bodies and the ground, in any order: one remark for each group."""
    rng = np.random.default_rng(seed)
    m = Mechanism()
    names = [f"b{i}" for i in range(9)]
    for name in names:
        m.body(name, mass=1.0, center=(0.0, 0.0))
    for k in range(rng.integers(4, 12)):
        count = int(rng.integers(2, 4))
        some = rng.choice([*names, m.GROUND], count, replace=False)
        m.revolute(f"j{k}", *some.tolist(), at=(0.0, 0.0))
    free = free_by_parts(m)
    remarks = find_remarks(m)
    assert len(remarks) == len(set(free.values()))
    for name, first in free.items():
        [remark] = [r for r in remarks if f"'{name}'" in r]
        assert remark.startswith(f"body '{names[first - 1]}'")


def test_a_long_chain_is_one_group():
    """Names in random order, so that the first of the group is far from most of its bodies."""
    m = Mechanism()
    names = [f"b{i}" for i in np.random.default_rng(1).permutation(500)]
    for name in sorted(names):
        m.body(name, mass=1.0, center=(0.0, 0.0))
    for k, pair in enumerate(itertools.pairwise(names)):
        m.revolute(f"j{k}", *pair, at=(0.0, 0.0))
    [remark] = find_remarks(m)
    assert remark.startswith("body 'b0'")


def test_they_are_read_again_when_anything_changed():
    """Other parts, or other numbers in the same arrays; copies share what was read."""
    m = n_four_bar(3)
    read = read_parts(m)
    assert read_parts(m) is read
    assert read_parts(m.copy()) is read
    m.bodies[1].center[0] += 0.5
    moved = read_parts(m)
    assert moved is not read
    assert moved.center.rows[1, 0] == m.bodies[1].center[0]
    m.joints[2].ends[0].place[1] = 0.25
    assert read_parts(m).places.rows[2, 1] == 0.25
    m.joints.pop()
    assert len(read_parts(m).joints) == len(m.joints)


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
        lengths.append(measure_length(m))
        assert build_from_scratch(m).coordinates
    assert lengths[0] == lengths[1]
