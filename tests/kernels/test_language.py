"""Kernels translated to LLVM's language do what they do in Python."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import sarrus
from builders import bricard, n_four_bar
from random_mechanisms import random_mechanism
from sarrus.kernels import recording
from sarrus.kernels.compiler import COMPILES, entry, exact, kernel, noinline
from sarrus.kernels.language.kinds import TranslationError

pytestmark = pytest.mark.skipif(not COMPILES, reason="needs the compiler")

TABLE = np.array([[1.0, 2.5], [-3.0, 0.125]])
LIMIT = 3


class Inner(NamedTuple):
    """Arrays in a tuple in a tuple."""

    places: np.ndarray
    truths: np.ndarray


class Outer(NamedTuple):
    """Arrays and a tuple."""

    x: np.ndarray
    inner: Inner
    grid: np.ndarray


class Numbers(NamedTuple):
    """Numbers next to an array."""

    flag: bool
    count: int
    share: float
    nodes: np.ndarray


@kernel
def sum_row(row):
    """A row, summed."""
    s = 0.0
    for i in range(len(row)):
        s += row[i]
    return s


@noinline
def both(a, b):
    """Two results, and a way out."""
    if a > b:
        return a - b, 1
    return b - a, 0


@exact
def lost(a, b):
    """What rounding takes from a sum."""
    s = a + b
    return (a - s) + b


def loops(outer, rows, count, out):
    """Ranges up and down, while, break, continue, and what is left of their variables."""
    at = 0
    for k in range(count - 1, -1, -1):
        if k == 4:
            continue
        out[at] = sum_row(outer.grid[k % outer.grid.shape[0]]) * k
        at += 1
    n = 0
    while True:
        n += 2
        if n > count:
            break
    total = 0
    for j in range(1, rows):
        total += j // 2
        total = total + 0.5 if j == LIMIT else total
    out[at], out[at + 1] = n, total
    return at, total, n > rows


def decide(a, b, x, out):
    """Truths, in a row and behind decisions; choices of numbers and of arrays."""
    out[0] = 1.0 if 0.0 < a <= b and not b > 5.0 else -1.0
    # beyond the end if it is looked at
    n = len(x)
    out[1] = 2.0 if n > 100 and x[n + 1000000] > 0.0 else 3.0
    row = x[:2] if a > b else x[2:]
    out[2] = row[0] + len(row)
    apart, which = both(a, b)
    out[3] = apart * (which + 1)
    out[4] = max(a, b, 0.25) + min(a, 1, b) + abs(-a) + abs(-3)
    out[5] = TABLE[1, 0] * a**2 + TABLE[0, 1] * b**3 + (a * a + 1.0) ** 0.3
    out[6] = np.sqrt(a * a) + np.log(b * b + 1) + np.exp(-a) + np.sin(a) * np.cos(b)
    out[7] = np.arctan2(a, b) + np.rint(a * 10) + 7 % 4 + (a * a) % 1.0
    out[8] = lost(1e16, a)
    found = np.isfinite(a / (b - b))
    return found, int(a * 10.0)


def with_or_without(x, numbers):
    """What is None costs nothing, and may be requested."""
    if x is None or len(x) == 0:
        return numbers.share
    s = numbers.share * numbers.count
    if numbers.flag:
        s += sum_row(x) + sum_row(numbers.nodes)
    return s


def mark(outer, value):
    """Truths and integers are written, too."""
    for i in range(len(outer.inner.places)):
        outer.inner.truths[i] = outer.x[i] > value
        outer.inner.places[i] += i
        if outer.inner.truths[i]:
            outer.x[i] = 0.0


def make_outer(rng, n):
    """Some arrays."""
    inner = Inner(np.arange(n), np.zeros(n, bool))
    return Outer(rng.normal(size=n), inner, rng.normal(size=(3, n)))


def copy(value):
    """The same in other memory."""
    if isinstance(value, tuple):
        parts = [copy(x) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copy() if isinstance(value, np.ndarray) else value


def leaves(value):
    """All arrays."""
    if isinstance(value, tuple):
        return [x for part in value for x in leaves(part)]
    return [value] if isinstance(value, np.ndarray) else []


def compare(function, *args):
    """Results, and all that was written, compiled and in Python."""
    reference = copy(args)
    with np.errstate(divide="ignore"):
        made, plain = entry(function)(*args), function(*reference)
    # sums may be taken in another order
    np.testing.assert_allclose(
        np.array(made, float), np.array(plain, float), rtol=1e-13, atol=1e-13
    )
    for a, b in zip(leaves(args), leaves(reference), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_loops(seed):
    """Loops of any length."""
    rng = np.random.default_rng(seed)
    compare(loops, make_outer(rng, 5 + seed), 1 + 3 * seed, 2 + seed, np.zeros(30))


@pytest.mark.parametrize("seed", range(6))
def test_decisions(seed):
    """Signs and sizes of all kinds."""
    a, b = np.random.default_rng(seed).uniform(-3.0, 7.0, 2)
    compare(decide, a, b, np.linspace(-1, 1, 6), np.zeros(9))
    compare(decide, abs(a), abs(a) + 0.1, np.linspace(-1, 1, 6), np.zeros(9))


def test_tuples_and_none():
    """Named tuples, nested or with numbers, and None."""
    rng = np.random.default_rng(0)
    compare(mark, make_outer(rng, 7), 0.1)
    for flag in (True, False):
        numbers = Numbers(flag, 3, 0.5, np.ones(2))
        for x in (None, np.zeros(0), np.arange(4.0)):
            compare(with_or_without, x, numbers)


def test_arguments_are_looked_at():
    """An array in another order or of other numbers is rejected; a tuple of others makes specialised code."""
    rng = np.random.default_rng(1)
    made = entry(mark)
    made(make_outer(rng, 5), 0.0)
    outer = make_outer(rng, 5)
    with pytest.raises(TypeError, match="C order"):
        made(outer._replace(x=np.zeros(10)[::2]), 0.0)
    with pytest.raises(TypeError, match="this machine"):
        made(outer._replace(x=np.zeros(5, np.float32)), 0.0)
    with pytest.raises(TypeError, match="list"):
        made(outer._replace(x=[0.0] * 5), 0.0)
    with pytest.raises(TypeError, match="no str"):
        made(outer, "0.0")
    # a grid of other axes, which is not used
    other = outer._replace(grid=np.zeros(3))
    before = outer.x.copy()
    made(other, -np.inf)
    assert not outer.x.any()
    assert before.any()


def test_what_is_no_part_of_the_language_is_reported():
    """With file and line."""

    def listing(x):
        return [y for y in x]

    with pytest.raises(TranslationError, match=r"test_language.py:\d+: cannot be translated"):
        entry(listing)(np.zeros(3))


SAMPLED = {
    "through singular configurations": lambda: n_four_bar(2),
    "redundant": lambda: bricard(0.0),
    "plane": lambda: random_mechanism(4, 2),
    "space": lambda: random_mechanism(9, 3),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_outputs_side_by_side_are_those_of_one_by_one(name, monkeypatch):
    """Bit for bit, however many there are in a step, and near singular configurations."""
    some = np.sort(np.random.default_rng(2).uniform(0, 3, 50))
    # tolerances of which outputs are projected with one factor, and with two
    for outputs, tolerance in itertools.product((np.linspace(0.0, 3.0, 1001), some), (1e-10, 1e-4)):
        requested = {"outputs": outputs, "tolerance": tolerance}
        together = sarrus.simulate(SAMPLED[name](), 3.0, **requested)
        with monkeypatch.context() as patch:
            patch.setattr(recording, "make_side", lambda *_: None)
            alone = sarrus.simulate(SAMPLED[name](), 3.0, **requested)
        for a, b in zip(together.record.outputs, alone.record.outputs, strict=True):
            np.testing.assert_array_equal(a, b)


FIRST = """
import sys, time
import sarrus
from sarrus.problems import get
result = sarrus.simulate(get("double-four-bar").mechanism(), 10.0)
print(result.status, len(result.crossings), "numba" in sys.modules, time.process_time())
"""


@pytest.mark.slow
def test_first_result_in_seconds(tmp_path):
    """On a fresh installation, with nothing compiled: seconds of CPU time in all, and no other compiler."""
    place = {"SARRUS_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(sarrus.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    status, crossings, numba, seconds = done.stdout.split()
    assert (status, crossings, numba) == ("done", "10", "False")
    # 2.7 where it was measured, two processes sharing a core
    assert float(seconds) < 10.0
