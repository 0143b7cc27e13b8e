"""Checked kernels: an access out of bounds raises one error that says where, and nothing else changes."""

import inspect
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sarrus.kernels.arguments import find_layout, kind_of_argument, pack
from sarrus.kernels.compiler import COMPILES, LETTERS, kernel, make_caller, noinline
from sarrus.kernels.language.checks import BoundsError
from sarrus.kernels.language.kinds import ArrayType
from sarrus.kernels.language.module import Module
from sarrus.kernels.simd import WIDTH, in_lanes, lanes_from

pytestmark = pytest.mark.skipif(not COMPILES, reason="needs the compiler")

NAMES = itertools.count()
# all arrays are parts of larger ones, so that a check that is missing reads or writes where nobody minds
ROWS, COLUMNS = 4, 3


class Pair(NamedTuple):
    """A grid in a tuple."""

    grid: np.ndarray


def read(grid, i, j):
    """An entry."""
    return grid[i, j]


def write(grid, i, j):
    """An entry, changed."""
    grid[i, j] = 1.0
    return grid[0, 0]


def add(grid, i, j):
    """An entry, changed by a sum."""
    grid[i, j] += 1.0
    return grid[0, 0]


def read_row(grid, i, j):
    """An entry of a row."""
    row = grid[i]
    return row[j]


def read_part(grid, i, j):
    """An entry of some rows."""
    part = grid[i : i + 1]
    return part[0, j]


def read_in_decision(grid, i, j):
    """An entry on which something depends, of which more is read."""
    return 1.0 if i < 100 and grid[i, j] > 0.0 else grid[i, j]


@kernel
def called(grid, i, j):
    """A kernel that others call."""
    return grid[i, j], 1


@noinline
def called_by_name(pair, i, j):
    """One that is not inlined, in a loop that would not end."""
    while True:
        value, one = called(pair.grid, i, j)
        pair.grid[0, 0] = value
        if one > 0:
            break
    return value


def read_below(grid, i, j):
    """Two calls down; nothing of what follows is done."""
    value = called_by_name(Pair(grid), i, j)
    grid[0, 0] = -1.0
    return value


def make_grid(columns=COLUMNS):
    """Numbers in the middle of others."""
    whole = np.arange(20.0 * columns)
    return whole[5 * columns : (5 + ROWS) * columns].reshape(ROWS, columns)


def make_checked(function, args, known=False):
    """A caller of a function with checks; known: what is known of sizes is written out."""
    from sarrus.kernels.native import NativeCode, compile_kernel

    symbol = f"checked{next(NAMES)}"
    kinds = [kind_of_argument(x) for x in args]
    if known:
        sizes = tuple(map(str, args[0].shape))
        kinds[0] = ArrayType(kinds[0].kind, kinds[0].axes, "grid", sizes)
    text, results = Module(unrolls=known, checked=True).entry(
        symbol, function, kinds, find_layout()
    )
    engine = NativeCode()
    address = engine.load(compile_kernel(text), symbol)
    caller = make_caller("".join(LETTERS[kind] for kind in results), address, engine)
    return lambda *args: caller(pack(args)[1])


ACCESSES = [read, write, add, read_row, read_part, read_in_decision, read_below]


@pytest.mark.parametrize("known", [False, True], ids=["sizes-read", "sizes-known"])
@pytest.mark.parametrize("function", ACCESSES, ids=lambda f: f.__name__)
def test_every_access_is_checked(function, known):
    """Each index, below 0 and beyond the end, on either axis; all others give what Python does."""
    run = make_checked(function, (make_grid(), 0, 0), known)
    for i, j in itertools.product(range(-2, ROWS + 2), range(-2, COLUMNS + 2)):
        grid, same = make_grid(), make_grid()
        if 0 <= i < ROWS and 0 <= j < COLUMNS:
            assert run(grid, i, j) == function(same, i, j)
            np.testing.assert_array_equal(grid, same)
            continue
        with pytest.raises(BoundsError) as caught:
            run(grid, i, j)
        # a part may end where the array does, and so does one index further
        indices = {i, i + 1} if not 0 <= i < ROWS else {j}
        assert any(f"index {n}, size " in str(caught.value) for n in indices)
        # nothing was written, neither within the array nor around it
        whole = grid.base
        np.testing.assert_array_equal(whole, np.arange(float(whole.size)))


def test_the_error_names_kernel_line_index_and_size():
    """Of the kernel with the access, not of the one that Python called."""
    run = make_checked(read_below, (make_grid(), 0, 0))
    lines, first = inspect.getsourcelines(called.py_func)
    line = first + next(n for n, text in enumerate(lines) if "grid[i, j]" in text)
    message = (
        f"out of bounds in kernel 'called' ({Path(__file__).name}, line {line}: grid[i, j]): "
        "index 3, size 3"
    )
    with pytest.raises(BoundsError) as caught:
        run(make_grid(), 1, 3)
    assert str(caught.value) == message


def fill_lanes(arrays, k):
    """All numbers of a row of lanes."""
    lanes = in_lanes(arrays)
    lanes.grid[k] = lanes.grid[k] + 1.0


def add_lanes(row, t):
    """Some numbers of a row, taken at once."""
    part = lanes_from(row, t, WIDTH * (t + 1))
    part[0] = part[0] + 1.0


def test_lanes_are_checked():
    """Rows of lanes, places in a row, and arrays whose last axis does not fill the lanes."""
    run = make_checked(fill_lanes, (Pair(make_grid(WIDTH)), 0))
    grid = make_grid(WIDTH)
    run(Pair(grid), ROWS - 1)
    np.testing.assert_array_equal(grid[-1], make_grid(WIDTH)[-1] + 1.0)
    for pair, k in ((Pair(grid), ROWS), (Pair(grid), -1), (Pair(make_grid(WIDTH - 1)), 0)):
        with pytest.raises(BoundsError):
            run(pair, k)
    run = make_checked(add_lanes, (make_grid(WIDTH)[0], 0))
    run(grid[0], 0)
    with pytest.raises(BoundsError):
        run(grid[0], 1)


SCRIPT = """
import json
import sarrus
from agreement.test_random_loads import add_loads
from bits import digest_of_result
from random_mechanisms import random_mechanism
from sarrus.kernels import specialise
from sarrus.kernels.compiler import CHECKED, STORE

found = {}
for name, method in (
    ("double-four-bar", "series"), ("rectangular-bricard", "series"), ("andrews-squeezer", "radau"),
    ("flyball-governor", "auto"), ("double-four-bar", "energy-momentum"), ("rectangular-bricard", "null-space"),
):
    problem = sarrus.problems.get(name)
    m, t = problem.mechanism(), 0.2 * problem.duration
    settings = {"step": t / 100} if method in ("energy-momentum", "null-space") else {}
    run = lambda: sarrus.simulate(m, t, t / 10, method=method, **settings)
    found[f"{name} {method}"] = digest_of_result(run())
    if (name, method) == ("double-four-bar", "series"):
        specialise.warm_up(run)
        found["specialised"] = digest_of_result(run())
for seed in range(4):
    m = add_loads(random_mechanism(seed, 2 + seed % 2), seed)
    for method in ("series", "radau"):
        result = sarrus.simulate(m, 0.2, 0.05, misfit=0.0, method=method)
        found[f"{seed} {method}"] = digest_of_result(result)
print(json.dumps({"checked": CHECKED, "store": STORE.version, "digests": found}))
"""


@pytest.mark.slow
def test_whole_runs_stay_within_bounds():
    """Problems and random mechanisms, checked in a process of their own, have the bits of unchecked code."""
    found = []
    for checked in "01":
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        env = os.environ | {"SARRUS_CHECKED": checked, "PYTHONPATH": path}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        found.append(json.loads(done.stdout))
    plain, checked = found
    assert (plain["checked"], checked["checked"]) == (False, True)
    # compiled code of the one is never used by the other
    assert plain["store"] != checked["store"]
    assert plain["digests"] == checked["digests"]
