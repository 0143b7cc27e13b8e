"""Tens and hundreds of bodies of every kind: n independent copies in one mechanism move as one copy alone does."""

import numpy as np
import pytest

import sarrus
from cell_copies import CELLS, copies
from sarrus import Mechanism, simulate


def paths(m):
    """How far each body has moved, by name."""
    result = simulate(m, 0.5, 0.05)
    return {b.name: result.position(b.name) - b.center for b in m.bodies}


def check_copies(dimension, kinds, count):
    """Copies move as one alone does.

    Both runs are within the tolerance of 1e-10 of their lengths; places up to STEP * count are rounded at 1e-16.
    """
    found = paths(copies(dimension, kinds, count))
    for kind in kinds:
        for name, alone in paths(copies(dimension, [kind], 1)).items():
            for n in range(count):
                moved = found[f"{name[:-1]}{n}"]
                assert np.abs(moved - alone).max() < 1e-10, (name, n)


@pytest.mark.parametrize(("dimension", "kind"), CELLS)
def test_tens(dimension, kind):
    """Twenty copies of one kind: more than a class needs."""
    check_copies(dimension, [kind], 20)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "kind"), CELLS)
def test_hundreds(dimension, kind):
    """Enough copies that bodies and joints are read as arrays and the model is kept whole."""
    check_copies(dimension, [kind], 150)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 20, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dimension", [2, 3])
def test_all_kinds_mixed(dimension, count):
    """All of them in one mechanism: classes of every size next to each other."""
    check_copies(dimension, [kind for d, kind in CELLS if d == dimension], count)


def row_of_masses(count, dimension):
    """Point masses in a row, each on springs to its neighbours, the first and last to the ground."""
    m = Mechanism("row", gravity=np.zeros(dimension))
    places = np.zeros((count + 2, dimension))
    places[:, 0] = np.arange(count + 2)
    bodies = [m.ground, *(m.body(f"m{n}", 1.0, places[n + 1]) for n in range(count)), m.ground]
    for n in range(count + 1):
        given = {"start": places[n], "end": places[n + 1], "stiffness": 100.0, "free_length": 1.0}
        m.spring(f"s{n}", bodies[n], bodies[n + 1], **given)
    return m


@pytest.mark.parametrize("count", [1, 16, 17, 40, 120])
def test_a_row_of_masses_has_its_frequencies(count):
    """n masses on n + 1 springs: w_k = 2 sqrt(k / m) sin(k pi / (2 (n + 1))), in every other direction none."""
    expected = 20.0 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (count + 1)))
    found = sorted(mode.frequency * 2 * np.pi for mode in sarrus.modes(row_of_masses(count, 2)))
    assert np.allclose(found[-count:], expected, rtol=1e-9)


@pytest.mark.parametrize("links", [17, 20, 100])
def test_a_hanging_chain_keeps_its_links(links):
    """A chain of point masses on massless links, from a horizontal start: lengths and energy stay."""
    m = Mechanism("chain")
    before = m.ground
    for n in range(links):
        body = m.body(f"m{n}", 1.0, (0.1 * (n + 1), 0.0))
        m.distance(f"l{n}", before, body, start=(0.1 * n, 0), end=(0.1 * (n + 1), 0))
        before = body
    result = simulate(m, 0.2, 0.02)
    places = np.array(
        [np.zeros_like(result.position("m0")), *(result.position(b.name) for b in m.bodies)]
    )
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=-1)
    # round-off of places up to ten metres
    assert np.abs(lengths - 0.1).max() < 1e-13
    # a share of the energy that moves, some joules
    assert result.energy_drift < 1e-8
