"""Specialised code gives the same bits as generic code."""

from typing import NamedTuple

import numpy as np
import pytest

import sarrus
from builders import bricard, n_four_bar, pendulum
from random_mechanisms import random_mechanism
from sarrus.kernels import series_step, specialise
from sarrus.kernels.arguments import find_layout, kind_of_argument
from sarrus.kernels.compiler import COMPILES, STORE, WRONG, cold, entry, noinline
from sarrus.kernels.language.kinds import FLOAT, INT, ArrayType, TupleType
from sarrus.kernels.language.module import Module

pytestmark = pytest.mark.skipif(not COMPILES, reason="needs the compiler")


class Tables(NamedTuple):
    """Indices that are known, and numbers that are not."""

    start: np.ndarray
    column: np.ndarray
    values: np.ndarray


def tangle(tables, x, y, out):
    """Counters through loops of known and unknown length, branches of both kinds, ways out."""
    n = 0
    last = 0
    for i in range(len(tables.start) - 1):
        s = 0.0
        for k in range(tables.start[i], tables.start[i + 1]):
            s += tables.values[k] * x[tables.column[k]]
            n += 1
        if s > 0.0:
            # known in this branch, not after it
            last = i
            for j in range(len(x)):
                s += x[j]
        elif tables.column[i] % 2 == 0:
            s -= 1.0
        out[i] = s + n + last
    count = 2
    while count < len(y):
        count += int(y[0])
        for k in range(3):
            if k == count % 3:
                continue
            n += k * count
    for k in range(len(tables.column)):
        if tables.column[k] == 3 or y[1] > 2.0:
            last = k
            break
    kept = -1
    for k in range(3):
        if x[k] < 0.0:
            kept = tables.column[k]
        else:
            kept = 7
            n += kept
    total = 0.0
    for k in range(len(out) - 1, -1, -1):
        total = total * 0.5 + out[k]
        if not total < 1e6:
            return total, n, k
    out[0] = kept if len(tables.column) > 2 and n > 4 else count
    return total, n, last + count


def known(tables):
    """The type of tables with their structure."""
    ranks = [
        ArrayType(INT, 1, f"Tables.{name}", (str(len(x)),), tuple(x.tolist()))
        for name, x in zip(("start", "column"), tables[:2], strict=True)
    ]
    ranks.append(ArrayType(FLOAT, 1, "Tables.values", (str(len(tables.values)),)))
    return TupleType.of(Tables._fields, tuple(ranks))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_is_what_it_would_be(seed):
    """Variables that are known here and there: as in Python, and to the bits of the general code."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, 5)
    start = np.concatenate([[0], np.cumsum(lengths)])
    column = rng.integers(0, 6, max(int(start[-1]), 5))
    tables = Tables(start, column, rng.normal(size=len(column)))
    x, y = rng.normal(size=6), np.append(rng.integers(1, 3), rng.normal(2.0, 1.0, 8 + seed))
    made = entry(tangle)
    kinds = (
        known(tables),
        ArrayType(FLOAT, 1, "x", ("6",)),
        ArrayType(FLOAT, 1),
        ArrayType(FLOAT, 1, "out", ("5",)),
    )
    code = specialise.make_code(made, kinds)
    outs = [np.zeros(5) for _ in range(3)]
    results = [
        code(specialise.pack((tables, x, y, outs[0]))[1]),
        made(tables, x, y, outs[1]),
        tangle(tables, x, y, outs[2]),
    ]
    assert results[0] == results[1]
    np.testing.assert_array_equal(outs[0], outs[1])
    # Python rounds products before it adds them
    np.testing.assert_allclose(results[0], results[2], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(outs[0], outs[2], rtol=1e-12, atol=1e-12)
    # arrays of other sizes than it was made for
    assert code(specialise.pack((tables, x[:5].copy(), y, outs[0]))[1]) is WRONG
    # kept on the disk
    if STORE.folder is not None:
        assert specialise.make_code(made, kinds, compiles=False) is not None


def simulate_both(mechanism, monkeypatch, seconds, **requested):
    """Results by general code, and by specialised code that was made at once."""
    with monkeypatch.context() as patch:
        patch.setattr(specialise.Codes, "is_large", True)
        general = sarrus.simulate(mechanism, seconds, **requested)
    # the first run by generic code may compile it, and does not count
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(specialise, "SHARE", 0.0)
            sarrus.simulate(mechanism, seconds, **requested)
            specialise.wait()
    codes = sarrus.model.make_model(mechanism).structure.codes.codes
    return general, sarrus.simulate(mechanism, seconds, **requested), codes


def assert_same(general, by_own):
    """All that is recorded, and all that was counted."""
    assert general.status == by_own.status
    assert general.counters == by_own.counters
    for a, b in zip(general.record.outputs, by_own.record.outputs, strict=True):
        np.testing.assert_array_equal(a, b)


def rod_on_a_cross():
    """A thin rod on a universal joint: five squares fill a register, two pairs half of one."""
    m = sarrus.Mechanism("rod on a cross", gravity=(0.3, 0.1, -9.81))
    m.rod("rod", (0, 0, 0), (1, 0.2, 0.2), mass=1.3)
    m.universal("cross", m.ground, "rod", at=(0, 0, 0), axis=(0, 1, 0), second_axis=(1, 0, 0))
    return m


MECHANISMS = {
    "pendulum": pendulum,
    "few unknowns, through singular configurations": lambda: n_four_bar(1),
    "few unknowns with pairs": lambda: random_mechanism(90, 2, sliding=True),
    "few unknowns, more squares than pairs": rod_on_a_cross,
    "through singular configurations": lambda: n_four_bar(2),
    "plane": lambda: random_mechanism(4, 2),
    "space": lambda: random_mechanism(9, 3),
    "redundant": lambda: bricard(0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_own_code_gives_the_same_bits(name, monkeypatch):
    """Steps, orders, outputs: whichever code runs."""
    general, by_own, codes = simulate_both(MECHANISMS[name](), monkeypatch, 2.0, tolerance=1e-8)
    assert {kernel.__name__ for kernel, _ in codes} >= {"advance", "sample"}
    assert_same(general, by_own)


def test_own_code_takes_over(monkeypatch):
    """It is made when runs have taken long enough, not before; other numbers use it too."""
    mechanism = pendulum()
    general, by_own, codes = simulate_both(mechanism, monkeypatch, 1.0)
    assert {kernel.__name__ for kernel, _ in codes} == {"advance", "sample"}
    assert_same(general, by_own)
    calls = []
    advance = series_step.advance.py_func
    monkeypatch.setattr(series_step.advance, "_made", {})
    monkeypatch.setattr(series_step.advance, "_make", lambda kinds: calls.append(kinds))
    sarrus.simulate(pendulum(angle=0.3, mass=2.0), 1.0)
    assert not calls
    assert advance is series_step.advance.py_func


def weigh(form, x):
    """Something of a form."""
    s = 0.0
    for i in range(len(form.Q)):
        s += form.Q[i] * x[i]
    return s


def test_compiling_is_no_run(monkeypatch):
    """What the general code takes to be compiled, at its first call, is no reason for more."""
    counted = []
    monkeypatch.setattr(specialise.Codes, "spend", lambda *given: counted.append(given))
    model = sarrus.model.make_model(pendulum())
    made, x = entry(weigh), np.ones(model.coordinates)
    first = specialise.run(model.structure, made, model.form, x)
    assert not counted
    assert specialise.run(model.structure, made, model.form, x) == first
    assert len(counted) == 1


def test_large_structures_stay_general():
    """They would take long to compile, and leave the cache."""
    model = sarrus.model.make_model(n_four_bar(200))
    assert specialise.codes_of(model.structure, model.form).is_large


def add_up(x):
    """Sum of all entries."""
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


often = noinline(add_up)
seldom = cold(add_up)


def call_often(x):
    """A call that is specialised."""
    return often(x)


def call_seldom(x):
    """A call of a cold function."""
    return seldom(x)


@pytest.mark.parametrize(("function", "loops"), [(call_often, False), (call_seldom, True)])
def test_cold_functions_are_not_specialised(function, loops):
    """With a known length a loop is written out, but not in a cold function: it would only cost compile time."""
    kind = kind_of_argument(np.ones(3))
    known = ArrayType(kind.kind, kind.axes, "x", ("3",))
    text, _ = Module(unrolls=True).entry("call", function, [known], find_layout())
    (callee,) = (part for part in text.split("define ") if " @add_up." in part.split("\n")[0])
    assert ("icmp slt" in callee) == loops
