"""Classes of bodies: classes of many give the same model to the last bit as classes of one."""

import numpy as np
import pytest

from builders import n_four_bar
from cell_copies import CELLS, copies
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError
from sarrus.model import body_classes, coordinates
from sarrus.model.build import build_from_scratch


def all_bits(x):
    """Bytes of all arrays in nested tuples."""
    if isinstance(x, tuple):
        return [bits for y in x for bits in all_bits(y)]
    return [np.asarray(x).tobytes()]


def built(monkeypatch, mechanism, least):
    """A model as bytes, or the error instead of it, where so many bodies of a kind are a class of many."""
    monkeypatch.setattr(body_classes, "LEAST", least)
    try:
        model = build_from_scratch(mechanism.copy())
    except MechanismError as error:
        return str(error)
    rows = model.place_rows
    return all_bits((*model.form, model.loads, rows.start, rows.col, rows.val, model.origins))


def check_same(monkeypatch, mechanism):
    of_one = built(monkeypatch, mechanism, 10**9)
    assert built(monkeypatch, mechanism, 2) == of_one


def rough_chain(seed, windows, dimension=2):
    """A chain of four-bars with places, masses and points of their own; in space of hinges and balls."""
    rng = np.random.default_rng(seed)
    gravity = (0.0, -9.81) if dimension == 2 else (0.0, -9.81, 0.3)
    m = Mechanism("rough chain", gravity=gravity)

    def place(x, y):
        z = rng.choice([0.0, 0.25])
        return (x, y) if dimension == 2 else (x, y, z)

    feet = [place(i, rng.choice([0.0, 0.1 * rng.normal()])) for i in range(windows + 1)]
    tops = [place(i + 0.2 * rng.normal(), 1.0 + 0.2 * rng.normal()) for i in range(windows + 1)]
    axis = {} if dimension == 2 else {"axis": (0.0, 0.0, 1.0)}
    for i in range(windows + 1):
        section = {"section": 0.1} if dimension == 3 else {}
        m.rod(f"crank {i}", feet[i], tops[i], mass=rng.uniform(1, 2), **section)
        m.revolute(f"A{i}", m.ground, f"crank {i}", at=feet[i], **axis)
        if rng.random() < 0.3:
            middle = np.mean([feet[i], tops[i]], axis=0)
            m.point(f"P{i}", f"crank {i}", at=feet[i] if rng.random() < 0.5 else middle)
    for i in range(windows):
        center = np.mean([tops[i], tops[i + 1]], axis=0)
        center = center if rng.random() < 0.5 else center + 0.1
        inertia = 0.1 if dimension == 2 else (0.1, 0.2, 0.25)
        m.body(f"coupler {i}", mass=rng.uniform(1, 2), center=center, inertia=inertia)
    for i in range(windows + 1):
        ends = [f"coupler {k}" for k in (i - 1, i) if 0 <= k < windows]
        for n, end in enumerate(ends):
            kind = m.revolute if dimension == 2 or n else m.spherical
            more = {} if kind == m.spherical else axis
            kind(f"B{i}{n}", f"crank {i}", end, at=tops[i], **more)
    return m


@pytest.mark.parametrize("windows", [1, 2, 5, 30])
def test_four_bars(monkeypatch, windows):
    """A chain of equal windows: cranks are a class, couplers another."""
    check_same(monkeypatch, n_four_bar(windows))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rough_chains(monkeypatch, seed, dimension):
    """Chains whose bodies decide differently: arms, centres on the frame or near it, heights, points."""
    check_same(monkeypatch, rough_chain(seed, 24, dimension))


@pytest.mark.parametrize("seed", range(40))
def test_random_mechanisms(monkeypatch, seed):
    """Whatever joints and loads there are; classes may be of two."""
    crowded, sliding = seed % 4 == 1, seed % 4 == 2
    check_same(monkeypatch, random_mechanism(seed, 2 + seed % 2, crowded, sliding))


@pytest.mark.parametrize(("dimension", "kind"), CELLS)
def test_copies_of_every_joint(monkeypatch, dimension, kind):
    """Three copies of each kind of body and joint: with welds, sliders and shared axes."""
    check_same(monkeypatch, copies(dimension, [kind], 3))


@pytest.mark.parametrize("dimension", [2, 3])
def test_copies_of_all_joints(monkeypatch, dimension):
    """All kinds next to each other, and groups with more features than a class of many may have."""
    m = copies(dimension, [kind for d, kind in CELLS if d == dimension], 3)
    hub = m.body("hub", 1.0, np.ones(dimension), 1.0 if dimension == 2 else (1.0, 1.0, 1.0))
    for n in range(40):
        at = np.ones(dimension) + n * np.eye(dimension)[0]
        m.distance(f"spoke {n}", hub, m.bodies[n], start=at, end=m.bodies[n].center)
        (m.revolute if dimension == 2 else m.spherical)(
            f"rim {n}", hub, m.body(f"leaf {n}", 1.0, at), at=at
        )
    check_same(monkeypatch, m)


def test_a_chain_has_two_classes(monkeypatch):
    """The other tests do not compare classes of one twice: all cranks are a class, and all couplers."""
    found = []
    solve = coordinates.solve_relations
    monkeypatch.setattr(
        coordinates, "solve_relations", lambda *x: found.append(solve(*x)) or found[-1]
    )
    build_from_scratch(n_four_bar(50))
    assert [len(c.of.groups) for c in found[0].classes] == [51, 50]
