"""Kernels in SIMD lanes do for each run what they do in Python for it alone."""

import numpy as np
import pytest

from masked_lanes import compile_lanes
from sarrus.kernels.compiler import COMPILES, kernel
from sarrus.kernels.simd import WIDTH, choose, shared

pytestmark = pytest.mark.skipif(not COMPILES, reason="needs the compiler")


@kernel
def halve_until(x, least):
    """A loop with a way out in the middle, and one at its end."""
    count = 0
    while True:
        if x < least:
            return count, x
        x *= 0.5
        count += 1
        if count == 7:
            break
    return count, -x


def conditions(x, out, n):
    """Branches in branches, and what is left of variables."""
    a = x[0]
    b = 1.0
    if a > 0.0:
        b = a * 2.0
        if a > 1.0:
            out[0] = 3.0
            b += 1.0
        elif a > 0.5:
            out[0] = 4.0
        else:
            b = -b
    out[1] = b
    if n > 2:
        out[2] = a + n
    out[3] = 1.0 if a > b and b > 0.0 else 2.0
    out[4] = 5.0 if a > 0.3 or x[1] > 0.0 else 6.0


def loops(x, out, n):
    """Ranges that runs leave early, skip, or begin and end where they say."""
    total = 0.0
    for k in range(n):
        if x[k] < -1.0:
            continue
        if total > 2.0:
            break
        total += abs(x[k])
    out[0] = total
    first = int(abs(x[0]) * 3.0)
    last = first + int(abs(x[1]) * 4.0)
    s = 0.0
    for k in range(first, last):
        s += k * 0.5
    for k in range(last, first, -1):
        s -= 0.25 * k
    out[1] = s
    count = 0
    while s > -1.0:
        s -= 0.7
        count += 1
    out[2] = count
    top = shared(count)
    for k in range(top, -1, -1):
        if k <= count:
            out[3] = out[3] * 0.5 + k


def calls(x, out, n):
    """Functions with ways out of their own."""
    count, y = halve_until(x[0], 0.1)
    out[0] = count
    out[1] = y
    if x[1] > 0.0:
        count, y = halve_until(x[1] + count, 0.3)
        out[2] = y
    out[3] = count
    out[4] = choose(x[0] > x[1], np.sqrt(abs(x[0])), np.exp(x[1]))
    out[5] = np.log(abs(x[2])) + np.sin(x[3]) * np.cos(x[0]) + np.arctan2(x[1], x[2])


def places(x, out, n):
    """Entries at a place of each run."""
    least = 0
    for k in range(n):
        if x[k] < x[least]:
            least = k
    out[0] = x[least]
    out[least] += 2.0
    if least > 1 and x[least - 1] > 0.0:
        out[1] = x[least - 1]
    for k in range(least, least + 1):
        out[k] -= 0.5


def returns(x, out, n):
    """A function that runs leave one by one."""
    for k in range(n):
        if x[k] > 1.0:
            return
        out[k] = x[k]
        if x[k] < -1.0:
            out[0] = 9.0
            return
    out[1] = 7.0


@kernel
def fits(out, x, local):
    """Whether a trial is good; what it was is kept."""
    out[4] = x
    return x <= local and out[3] < 6.0


@kernel
def search(x, out, n):
    """Trials until one fits, as steps are tried: continue, break, and returns from within."""
    tries, where = 0, 0
    first, h, local = 0.0, abs(x[0]) * 4.0, abs(x[1])
    chooses = True
    while True:
        if chooses:
            chooses = False
            h = min(h + abs(x[2]), 5.0)
        if not (h >= 1e-3 or x[3] + h > x[3] + 0.5):
            return 1, where, h
        moved = h * 0.7
        out[2] += 2.0
        if moved > 1.5 and where < 3 and (n == 6 or moved < 2.0):
            if where == 0:
                first = h
            where += 1
            if where <= 1:
                h *= 0.9
            elif where < 3 and first > 3.0:
                h = 0.5 * first
                where = 2
            else:
                h, local = 0.3 * first, abs(x[1])
                where = 3
            continue
        if fits(out, moved, local):
            break
        out[3] += 1.0
        tries += 1
        h *= 0.5
        chooses = tries % 3 == 0
        if chooses:
            local *= 10.0
            if local > 10.0:
                return 2, where, h
    out[5] = local
    return 0, where, h


def searches(x, out, n):
    """The same, called."""
    out[2] = 0.0
    out[3] = 0.0
    reason, where, h = search(x, out, n)
    out[0] = reason + 10.0 * where
    out[1] = h
    if reason != 0:
        return
    out[2] += 0.5


PROGRAMS = [conditions, loops, calls, places, returns, searches]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("unrolls", [False, True])
def test_lanes_do_what_each_run_does_alone(program, unrolls):
    """Every construct, on random numbers: lanes at hand as in Python, others untouched."""
    rng = np.random.default_rng(3)
    n = 6
    run = compile_lanes(program, [np.zeros(n), np.zeros(n)], (n,), unrolls)
    for _ in range(40):
        x, out = rng.normal(size=(n, WIDTH)), rng.normal(size=(n, WIDTH))
        mask = rng.random(WIDTH) < 0.8
        expected = out.copy()
        for lane in np.flatnonzero(mask):
            row = expected[:, lane].copy()
            program(x[:, lane].copy(), row, n)
            expected[:, lane] = row
        run([x, out], mask)
        # compiled sums of products are rounded once, functions of math.py by another way than NumPy's
        np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-15)
