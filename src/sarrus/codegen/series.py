"""The series method over lanes: the same steps, landings and outputs as the general kernels make.

Equations in kernels/series.py, kernels/project.py and kernels/solve.py; here they are written over the operations
of `twin.py` and `ir.py`, structure unrolled. Every lane decides for itself: its order, its step, whether a landing
is kept. What needs more care than that ends with a reason, and another finishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.reasons import DONE, FULL, NOT_FINITE, STUCK, UNCERTAIN
from ..kernels.rules import (
    ASKED_AFTER,
    BESIDE,
    BEYOND,
    CORRECTIONS,
    DRIFT_SLACK,
    ENERGY_NOISE,
    ENERGY_SLACK,
    FIRST_STEPS,
    FLOOR,
    LEFT,
    LONG_FLOOR,
    LOOSEST,
    LOW_ORDER,
    MANY_STEPS,
    MOVES,
    NOISE,
    NOISY_ORDER,
    REFINED,
    SAME_ENERGY,
    SHARE,
    SLACK,
    STIFF,
    STILL,
    SWIFT,
    TRIES,
    buffer_steps,
    log_cost,
)
from ..kernels.rules import (
    LOST as LOST_TOLERANCES,
)
from ..thresholds import (
    CONTRADICTION,
    CRAWLING_STEPS,
    DRIFT_AT_REST,
    DRIFT_NOTED,
    DRIFT_ROUNDING,
    EPS,
    PERMANENT_PIVOT,
    RISEN_PIVOT,
    ROUND_OFF,
    SINGULAR_LANDING,
    SMALLEST_TOLERANCE,
    WEAK_PIVOT,
)
from . import drives, loads
from .arithmetic import Columns, Once, combine, number, times, total
from .structure import PLACE, Slot, Structure

HUGE = 1e300
LOG_STILL = float(np.log(STILL))
RUNNING = -1.0
# marks sums of pairs
PAIR = -1
# entries of J up to which the newest terms of sums are taken apart, and systems are solved in registers
APART = 100
# sums of products that are taken in one loop
TOGETHER = 24
# coefficients are looked at so many before the last one of the step before
AHEAD = 1.0

# numbers that all lanes share; the last one: values of joint equations that count as zero at a crossing
END, TOLERANCE, MOST_STEPS, ZERO, SHARED = range(5)
# whether a motion is stiff is asked elsewhere; here a little earlier, for steps are the same but for rounding
ALIKE = 0.9
# steps after which it is asked again how many there will be
ASK_AGAIN = 1024.0
# what is told of a lane, before its final state and the extremes of its columns
(REASON, TIME, STEPS, REJECTED, COEFFICIENTS, FACTORISATIONS, LOOSENED, MOVED) = range(8)
(LOST, LEAST_PIVOT, LEAST_DROP, START_DROP, DRIFT, FIRST_ENERGY, SUMMARY) = range(8, 15)


class Scratch:
    """Memory in which a state is taken back onto the constraints: the factor of K there and all around it."""

    def __init__(self, o: Any, s: Structure, name: str) -> None:
        self._make: Callable[[str], Scratch] = lambda other: Scratch(o, s, other)
        self.memory = memory = o.memory(name)
        n = s.unknowns
        self.q, self.v = memory.array(s.coordinates), memory.array(s.coordinates)
        self.e, self.phi = memory.array(len(s.forms)), memory.array(s.equations)
        self.J, self.L = memory.array(len(s.J)), memory.array(n + len(s.L_row))
        self.b, self.r, self.x = memory.array(n), memory.array(n), memory.array(n)
        # what a solve may leave; refinements that are wanted
        self.tolerance, self.wanted = memory.array(1), memory.array(1)
        # how far position and velocity moved; the smallest pivot, and the smallest against what is usual
        self.moved, self.turned = memory.array(1), memory.array(1)
        self.smallest, self.drop = memory.array(1), memory.array(1)
        # right sides of drives and their rates at a time; what is left of the constraints
        self.time, self.driven = memory.array(1), memory.array(2, max(len(s.driven), 1))
        self.left = memory.array(1)

    def moved_to(self, pointer: str) -> Scratch:
        """The same layout behind another pointer."""
        return self._make(pointer)


class Forms:
    """Coefficients of the forms, from the first on; those of one that is a coordinate are there already."""

    def __init__(self, memory: Any, s: Structure, rows: int, C: Any) -> None:
        self.C, self.own = C, Columns(memory, rows, s.kept_forms)
        places = iter(range(s.kept_forms))
        self.at = [
            (C, s.is_coordinate[f]) if f in s.is_coordinate else (self.own, next(places))
            for f in range(len(s.forms))
        ]

    def __getitem__(self, at: Any) -> Any:
        array, column = self.at[at[1]]
        return array[at[0], column]

    def __setitem__(self, at: Any, value: Any) -> None:
        array, column = self.at[at[1]]
        if array is self.own:
            array[at[0], column] = value


class Program:
    """State of a group of lanes, and the structure they share."""

    def __init__(self, o: Any, s: Structure) -> None:
        self.s = s
        self.memory = memory = o.memory("state")
        rows = o.highest_order + 1
        self.q, self.v = memory.array(s.coordinates), memory.array(s.coordinates)
        self.usual, self.first = memory.array(s.equations), memory.array(s.equations)
        self.log_size = memory.array(rows)
        self.C = Columns(memory, rows, s.coordinates)
        self.E = Forms(memory, s, rows, self.C)
        # before the first one there is none
        self.lam = Columns(memory, rows, s.equations, before=1)
        self.J1 = memory.array(len(s.J))
        self.loads = loads.LoadState(memory, s, rows) if s.loaded else None
        # what a watch keeps, if there is one
        self.seen: Any = None


# at a position


def eval_forms(o: Any, s: Structure, w: Scratch) -> None:
    """w.e from w.q."""
    q = [w.q[i] for i in range(s.coordinates)]
    for f, (terms, constant) in enumerate(zip(s.forms, s.e0, strict=True)):
        parts = combine(o, terms, lambda i: q[i])
        if isinstance(constant, Slot):
            parts.append(o.number(constant.n))
        w.e[f] = total(o, parts)


def eval_constraints(o: Any, s: Structure, w: Scratch) -> Any:
    """w.phi from w.e; returns the largest entry."""
    e = [w.e[f] for f in range(len(s.forms))]
    parts: list[list[Any]] = [[] for _ in range(s.equations)]
    for a, _, k, c in s.squares:
        parts[k].append(times(o, c, e[a] * e[a] * 0.5))
    for a, b, k, c in s.pairs:
        parts[k].append(times(o, c, e[a] * e[b]))
    largest = o.constant(0.0)
    for k, terms in enumerate(parts):
        value = total(o, terms)
        if isinstance(s.phi0[k], Slot):
            value = value - number(o, s.phi0[k])
        elif k in s.side_of:
            value = value - w.driven[0, s.side_of[k]]
        w.phi[k] = value
        largest = o.maximum(largest, o.abs(value))
    return largest


def eval_jacobian(o: Any, s: Structure, e: Callable[[int], Any]) -> list[Any]:
    """Entries of J from the forms; from their rates those of its rate."""
    # c e of each product
    scaled: dict[tuple[int, int], Any] = {}
    for t, (a, b, _, c) in enumerate([*s.squares, *s.pairs]):
        for f in {a, b}:
            scaled[t, f] = times(o, c, e(f))
    return [total(o, [times(o, d, scaled[t, f]) for d, t, f in parts]) for parts in s.J_parts]


def factorise(o: Any, p: Program, w: Scratch) -> None:
    """w.J and w.L, the factor of K, from w.e."""
    s = p.s
    J = eval_jacobian(o, s, w.e.__getitem__)
    L: list[Any] = [None] * (s.unknowns + len(s.L_row))

    def add(at: int, x: Any) -> None:
        L[at] = x if L[at] is None else L[at] + x

    for at, c in s.K_M:
        add(at, number(o, c))
    for at, a, b in s.K_A:
        add(at, times(o, s.rho[s.J[a][0]], J[a] * J[b]))
    for k, at in enumerate(s.pos_c):
        add(at, -number(o, s.eps[k]))
    for value, (_, _, at) in zip(J, s.J, strict=True):
        add(at, value)
    for n_J, value in enumerate(J):
        w.J[n_J] = value
    eliminate(o, s, w, L)


def eliminate(o: Any, s: Structure, w: Scratch, L: list[Any]) -> None:
    """w.L: the factor of a matrix with these entries, in their places; None where there are none."""
    n, t = s.unknowns, 0
    for j in range(n):
        inverse = 1.0 / (o.constant(0.0) if L[j] is None else L[j])
        w.L[j] = inverse
        first, last = n + s.L_start[j], n + s.L_start[j + 1]
        column = L[first:last]
        for a, x in enumerate(column):
            f = None if x is None else x * inverse
            for y in column[a:]:
                at = s.L_target[t]
                t += 1
                if f is not None and y is not None:
                    L[at] = -(f * y) if L[at] is None else L[at] - f * y
            w.L[first + a] = o.constant(0.0) if f is None else f


def solve(o: Any, p: Program, w: Scratch) -> None:
    """Solve K x = r in place of w.r, with the augmentation of the right side."""
    s = p.s
    x = [w.r[i] for i in range(s.unknowns)]
    augment(o, s, w, x)
    substitute(s, w, x)
    for i, value in enumerate(x):
        w.r[i] = value


def augment(o: Any, s: Structure, w: Scratch, x: list[Any]) -> None:
    """The right side that belongs to K, in place of x."""
    for m, (k, i, _) in enumerate(s.J):
        if isinstance(s.rho[k], Slot):
            at = s.pos_q[i]
            x[at] = x[at] + times(o, s.rho[k], w.J[m] * x[s.pos_c[k]])


def substitute(s: Structure, w: Scratch, x: list[Any]) -> None:
    """Solve with the factor w.L, in place of x."""
    n = s.unknowns
    for j in range(n):
        for a in range(s.L_start[j], s.L_start[j + 1]):
            row = s.L_row[a]
            x[row] = x[row] - w.L[n + a] * x[j]
    for j in range(n - 1, -1, -1):
        x[j] = x[j] * w.L[j]
        for a in reversed(range(s.L_start[j], s.L_start[j + 1])):
            x[j] = x[j] - w.L[n + a] * x[s.L_row[a]]


def residual(o: Any, p: Program, w: Scratch) -> None:
    """w.r: what is left of [M J^T; J 0] x = b."""
    s = p.s
    x = [w.x[i] for i in range(s.unknowns)]
    r = [w.b[i] for i in range(s.unknowns)]
    for i, row in enumerate(s.M):
        at = s.pos_q[i]
        for j, c in row:
            r[at] = r[at] - times(o, c, x[s.pos_q[j]])
    for n, (k, i, _) in enumerate(s.J):
        J, at_q, at_c = w.J[n], s.pos_q[i], s.pos_c[k]
        r[at_q] = r[at_q] - J * x[at_c]
        r[at_c] = r[at_c] - J * x[at_q]
    for i in range(s.unknowns):
        w.r[i] = r[i]


def solve_refined(o: Any, p: Program, w: Scratch) -> None:
    """w.x: the solution of [M J^T; J 0] x = b, refined as often as w.wanted says."""
    n = p.s.unknowns
    for i in range(n):
        w.r[i] = w.b[i]
    o.call(solve, p, w)
    for i in range(n):
        w.x[i] = w.r[i]
    o.call(refine, p, w)


def refine(o: Any, p: Program, w: Scratch) -> None:
    """w.x: refined as often as w.wanted says."""
    n = p.s.unknowns
    for turn in o.loop(0, 2):
        needed = w.wanted[0] > o.value(turn)
        for _ in o.when(o.any(needed)):
            o.call(residual, p, w)
            o.call(solve, p, w)
            for i in range(n):
                w.x[i] = w.x[i] + o.where(needed, w.r[i], 0.0)


def relative_pivots(o: Any, s: Structure, w: Scratch) -> list[Any]:
    """The pivot of each equation over what it has alone."""
    return [-EPS / (w.L[at] * number(o, s.eps[k])) for k, at in enumerate(s.pos_c)]


def eval_pivots(o: Any, p: Program, w: Scratch) -> None:
    """w.smallest, w.drop: the smallest pivot, and the smallest against what is usual."""
    smallest, drop = o.constant(1.0), o.constant(1.0)
    for k, pivot in enumerate(relative_pivots(o, p.s, w)):
        usual = p.usual[k]
        counts = usual > PERMANENT_PIVOT
        smallest = o.where(counts, o.minimum(pivot, smallest), smallest)
        drop = o.where(counts, o.minimum(pivot / usual, drop), drop)
    w.smallest[0], w.drop[0] = smallest, drop


def is_beside(o: Any, p: Program, w: Scratch, resting: Any) -> Any:
    """Whether a landing is beside a singular position: see `is_beside` of the general kernel."""
    beside = o.truth(False)
    for k, pivot in enumerate(relative_pivots(o, p.s, w)):
        usual = p.usual[k]
        known = usual > PERMANENT_PIVOT
        small = pivot < usual * BESIDE
        beside = beside | (known & small) | (~known & ((pivot > RISEN_PIVOT) | resting))
    return beside


def refinements_for(o: Any, smallest: Any, tolerance: Any) -> Any:
    """How many refinements a solve needs."""
    more = o.where(smallest > WEAK_PIVOT, o.constant(1.0), o.constant(2.0))
    return o.where(tolerance * smallest >= EPS, o.constant(0.0), more)


def right_side(o: Any, s: Structure, w: Scratch, values: list[Any]) -> None:
    """w.b: nothing for the coordinates, these values for the equations."""
    for i in range(s.coordinates):
        w.b[s.pos_q[i]] = o.constant(0.0)
    for k, value in enumerate(values):
        w.b[s.pos_c[k]] = value


def project(o: Any, p: Program, w: Scratch) -> None:
    """w.q, w.v back onto the constraints; w.J, w.L: there. w.moved, turned, smallest, drop: how."""
    s = p.s
    if s.driven:
        o.call(drives.eval_sides, p, w)
    eval_forms(o, s, w)
    o.call(factorise, p, w)
    moved = o.variable(o.constant(0.0))
    left = o.variable(eval_constraints(o, s, w))
    active = o.variable(left.get() > ROUND_OFF)
    w.wanted[0] = o.constant(0.0)
    for _ in o.loop(0, CORRECTIONS, lambda: o.any(active.get())):
        right_side(o, s, w, [-w.phi[k] for k in range(s.equations)])
        o.call(solve_refined, p, w)
        here = active.get()
        largest = o.constant(0.0)
        for i in range(s.coordinates):
            step = o.where(here, w.x[s.pos_q[i]], 0.0)
            w.q[i] = w.q[i] + step
            largest = o.maximum(o.abs(step), largest)
        eval_forms(o, s, w)
        now = eval_constraints(o, s, w)
        moved.set(moved.get() + largest)
        better = now < left.get()
        left.set(now, here & better)
        active.set(here & better & (now > ROUND_OFF))
    w.moved[0], w.left[0] = moved.get(), left.get()
    o.call(factorise, p, w)
    eval_pivots(o, p, w)
    w.wanted[0] = refinements_for(o, w.smallest[0], w.tolerance[0])
    v = [w.v[i] for i in range(s.coordinates)]
    de = [total(o, combine(o, terms, lambda i: v[i])) for terms in s.forms]
    parts: list[list[Any]] = [[] for _ in range(s.equations)]
    for a, _, k, c in s.squares:
        parts[k].append(times(o, c, w.e[a] * de[a]))
    for a, b, k, c in s.pairs:
        parts[k].append(times(o, c, w.e[a] * de[b] + de[a] * w.e[b]))
    for n, d in enumerate(s.driven):
        parts[d.equation].append(-w.driven[1, n])
    right_side(o, s, w, [-total(o, terms) for terms in parts])
    o.call(solve_refined, p, w)
    turned = o.constant(0.0)
    for i in range(s.coordinates):
        dv = w.x[s.pos_q[i]]
        w.v[i] = w.v[i] + dv
        turned = o.maximum(o.abs(dv), turned)
    w.turned[0] = turned


def eval_energy(o: Any, s: Structure, w: Scratch) -> tuple[Any, Any]:
    """Kinetic and potential energy at w.q, w.v."""
    v = [w.v[i] for i in range(s.coordinates)]
    kinetic = total(
        o, [v[i] * total(o, combine(o, row, lambda j: v[j])) for i, row in enumerate(s.M)]
    )
    potential = total(o, [-times(o, c, w.q[i]) for i, c in enumerate(s.Q) if isinstance(c, Slot)])
    return kinetic * 0.5, potential


# a series


def sum_products(o: Any, p: Program, m: Any, first: int) -> dict[tuple[int, ...], Any]:
    """Sums of products for q_m and lam_{m-2}, of coefficients from the first on that both have.

    By (form,) half of the sum of E_j E_{m-j}, by (a, b, -1) that of pairs, by (form, equation) that of lam_{j-2}
    E_{m-j}. Rows j and m - j are read once, for all of them.
    """
    s = p.s
    wanted: dict[tuple[int, ...], Any] = {}
    for a, _, eq, _ in s.squares:
        wanted |= {(a,): None, (a, eq): None}
    for a, b, eq, _ in s.pairs:
        wanted |= {(a, b, PAIR): None, (a, eq): None, (b, eq): None}
    keys = list(wanted)
    for at in range(0, len(keys), TOGETHER):
        group = keys[at : at + TOGETHER]
        sums = [o.variable(o.constant(0.0)) for _ in group]
        for j in o.loop(first, (m + 1) // 2):
            E, lam = Once(p.E), Once(p.lam)
            i = m - j
            j_lam, i_lam = j - 2, i - 2
            for out, key in zip(sums, group, strict=True):
                x = out.get()
                if len(key) == 1:
                    x = x + E[j, key[0]] * E[i, key[0]]
                elif len(key) == 2:
                    f, eq = key
                    x = x + lam[j_lam, eq] * E[i, f] + lam[i_lam, eq] * E[j, f]
                else:
                    a, b, _ = key
                    x = x + E[j, a] * E[i, b] + E[j, b] * E[i, a]
                out.set(x)
        # of even orders the middle one
        for j in o.loop((m + 1) // 2, m // 2 + 1):
            E, lam, j_lam = Once(p.E), Once(p.lam), j - 2
            for out, key in zip(sums, group, strict=True):
                other = lam[j_lam, key[1]] if len(key) == 2 else E[j, key[len(key) // 2]]
                x = E[j, key[0]] * other
                out.set(out.get() + (x * 0.5 if len(key) == 1 else x))
        wanted |= {key: out.get() for key, out in zip(group, sums, strict=True)}
    return wanted


def right_sides(o: Any, p: Program, m: Any, first: int) -> list[Any]:
    """The right side for q_m and lam_{m-2}, of coefficients from the first on that both have."""
    s = p.s
    orders = np.arange(o.highest_order + 1.0)
    sums = sum_products(o, p, m, first)
    # of the equations
    sides: list[list[Any]] = [[] for _ in range(s.equations)]
    # of the forces: Q at first, then what the multipliers so far exert
    weight: list[list[Any]] = [[] for _ in s.forms]
    for a, _, eq, c in s.squares:
        sides[eq].append(times(o, c, sums[a,]))
        weight[a].append(times(o, c, sums[a, eq]))
    for a, b, eq, c in s.pairs:
        sides[eq].append(times(o, c, sums[a, b, PAIR]))
        weight[a].append(times(o, c, sums[b, eq]))
        weight[b].append(times(o, c, sums[a, eq]))
    begins = o.table("begins", np.where(orders == 2, 1.0, 0.0), m)
    force = [[times(o, c, begins)] if isinstance(c, Slot) else [] for c in s.Q]
    for terms, parts in zip(s.forms, weight, strict=True):
        if parts:
            exerted = -total(o, parts)
            for i, d in terms:
                force[i].append(times(o, d, exerted))
    if p.loads is not None:
        drives.add_sides(o, s, p.loads.drives, m, sides)
        loads.add_coefficient(o, s, p.loads, m - 2, force)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / (orders * (orders - 1.0))
    scale = o.table("scale", np.where(orders > 1, inverse, 0.0), m)
    out: list[Any] = [None] * s.unknowns
    for i, parts in enumerate(force):
        out[s.pos_q[i]] = total(o, parts) * scale
    for eq, parts in enumerate(sides):
        out[s.pos_c[eq]] = -total(o, parts)
    return out


def next_coefficient(o: Any, p: Program, w: Scratch, m: Any, x: list[Any]) -> Any:
    """q_m and lam_{m-2}; returns the largest entry of q_m.

    x: variables with the solution for the coefficients before, then for these. What those before add is taken
    apart where it is little, by J_1: the other sums wait for nothing.
    """
    s = p.s
    orders = np.arange(o.highest_order + 1.0)
    if is_apart(s):
        b = right_sides(o, p, m, 2)
        # lam_{m-3} is (m - 1)(m - 2) times what was solved for
        share = o.table("share", (orders - 2.0) / np.maximum(orders, 1.0), m)
        add_newest(p, share, [y.get() for y in x], b)
        solve_in_registers(o, p, w, b, x)
    else:
        for i, value in enumerate(right_sides(o, p, m, 1)):
            w.b[i] = value
        o.call(solve_refined, p, w)
        for i, y in enumerate(x):
            y.set(w.x[i])
    back = o.table("back", orders * (orders - 1.0), m)
    row = [x[at].get() for at in s.pos_q]
    largest = o.constant(0.0)
    for i, y in enumerate(row):
        p.C[m, i] = y
        largest = o.maximum(o.abs(y), largest)
    for eq, at in enumerate(s.pos_c):
        p.lam[m - 2, eq] = x[at].get() * back
    for f, terms in enumerate(s.forms):
        p.E[m, f] = total(o, combine(o, terms, lambda i: row[i]))
    if p.loads is not None:
        loads.keep_forms(o, s, p.loads, m, row)
    return largest


def is_apart(s: Structure) -> bool:
    """Whether the newest terms of sums are taken apart, and systems solved in registers."""
    return len(s.J) <= APART


def add_newest(p: Program, share: Any, x: list[Any], b: list[Any]) -> None:
    """What the coefficients just before add, by J_1: those of q as they are, those of lam times a share.

    Unknowns that were solved for first come first.
    """
    s = p.s
    entries = [(s.pos_c[k], s.pos_q[i], p.J1[n]) for n, (k, i, _) in enumerate(s.J)]
    for at_c, at_q, J1 in sorted(entries, key=lambda entry: -entry[1]):
        b[at_c] = b[at_c] - J1 * x[at_q]
    exerted = {at: share * x[at] for at in s.pos_c}
    for at_c, at_q, J1 in sorted(entries, key=lambda entry: -entry[0]):
        b[at_q] = b[at_q] - J1 * exerted[at_c]


def solve_in_registers(o: Any, p: Program, w: Scratch, b: list[Any], x: list[Any]) -> None:
    """x: the solution of [M J^T; J 0] x = b, refined as often as w.wanted says."""
    solution = list(b)
    augment(o, p.s, w, solution)
    substitute(p.s, w, solution)
    for y, value in zip(x, solution, strict=True):
        y.set(value)
    for _ in o.when(o.any(w.wanted[0] > 0.0)):
        for i, y in enumerate(x):
            w.b[i], w.x[i] = b[i], y.get()
        o.call(refine, p, w)
        for i, y in enumerate(x):
            y.set(w.x[i])


def log_reach(o: Any, size: Any, m: Any, log_tolerance: Any, log_speed: Any) -> Any:
    """Log of the step at which a term of order m is small enough: see `eval_reaches` of the general kernel."""
    orders = np.maximum(np.arange(o.highest_order + 1.0), 2.0)
    inverse = o.table("inverse", 1.0 / orders, m)
    left = log_tolerance - size
    swift = (left + log_speed) * o.table("inverse_before", 1.0 / (orders - 1.0), m)
    swift = o.maximum(swift, (left + LOG_STILL) * inverse)
    return o.minimum(left * inverse, swift)


def make_series(
    o: Any, p: Program, w: Scratch, limits: tuple[Any, Any], running: Any, ahead: Any
) -> tuple[Any, Any, Any]:
    """Coefficients from p.q, p.v on, as many as pay; returns each lane's highest one, order and log of its step.

    These are as `choose_step` says, if the order is not below the least. w: the landing there, with its factor.
    limits: logs of tolerance and speed. ahead: so many coefficients are made before the first is looked at: logs
    and scores in between keep a processor waiting. p.log_size: log of the largest entry of each coefficient.
    """
    s = p.s
    v = [p.v[i] for i in range(s.coordinates)]
    for i in range(s.coordinates):
        p.C[0, i], p.C[1, i] = p.q[i], v[i]
    rates = [total(o, combine(o, terms, lambda i: v[i])) for terms in s.forms]
    for f, rate in enumerate(rates):
        p.E[1, f] = rate
    if is_apart(s):
        for n, value in enumerate(eval_jacobian(o, s, rates.__getitem__)):
            p.J1[n] = value
    if p.loads is not None:
        loads.start_loads(o, s, p.loads, [p.q[i] for i in range(s.coordinates)], v)
    # the best score so far and the one before; of lanes that are at their end nothing is asked
    best, earlier = o.variable(o.constant(-HUGE)), o.variable(o.constant(-HUGE))
    known = o.variable(o.where(running, float(o.highest_order), o.constant(3.0)))
    order, log_step = o.variable(o.constant(2.0)), o.variable(o.constant(-HUGE))
    before = o.variable(o.constant(HUGE))
    x = [o.variable(o.constant(0.0)) for _ in range(s.unknowns)]
    orders = np.arange(o.highest_order + 1.0)
    # HUGE where a step may not end yet
    soon = np.where(orders > max(s.least_order, 4), 0.0, HUGE)
    first = o.variable(o.constant(2.0))
    last = o.variable(o.value(o.most(o.maximum(ahead, first.get()))))
    for _ in o.repeat(lambda: o.any(first.get() <= known.get())):
        begin, end = o.index(first.get()), o.index(last.get()) + 1
        for m in o.loop(begin, end):
            p.log_size[m] = next_coefficient(o, p, w, m, x)
        # all but the best score and the highest one that is known waits for nothing
        for m in o.loop(begin, end):
            number, largest = o.value(m), p.log_size[m]
            finite = largest < HUGE
            size = p.log_size[m] = o.log(largest + 1e-300)
            log_h = log_reach(o, size, m, *limits)
            usable = o.minimum(log_h, before.get())
            before.set(log_h)
            score = usable - o.table("log_cost", log_cost(), m)
            better = (score > best.get()) & finite & (number <= known.get())
            order.set(number, better)
            log_step.set(usable, better)
            now = o.maximum(score, best.get())
            enough = now + o.table("soon", soon, m) <= earlier.get()
            earlier.set(best.get())
            best.set(now)
            highest = o.where(enough, number, float(o.highest_order))
            highest = o.where(finite, highest, number - 1.0)
            known.set(o.minimum(highest, known.get()))
        first.set(last.get() + 1.0)
        last.set(first.get())
    return known.get(), order.get(), log_step.get()


def choose_step(
    o: Any, p: Program, known: Any, log_tolerance: Any, log_speed: Any
) -> tuple[Any, Any]:
    """The order and the log of the step: see `choose_step` of the general kernel."""
    least = o.minimum(o.constant(float(p.s.least_order)), known)
    best, log_step = o.variable(o.constant(-HUGE)), o.variable(o.constant(-HUGE))
    order = o.variable(least)
    before = o.variable(log_reach(o, p.log_size[2], 2, log_tolerance, log_speed))
    for m in o.loop(3, o.most(known) + 1):
        number = o.value(m)
        log_h = log_reach(o, p.log_size[m], m, log_tolerance, log_speed)
        usable = o.minimum(log_h, before.get())
        before.set(log_h)
        score = usable - o.table("log_cost", log_cost(), m)
        better = (score > best.get()) & (number <= known)
        if p.s.least_order > 3:
            better = better & (number >= least)
        best.set(score, better)
        order.set(number, better)
        log_step.set(usable, better)
    step = log_step.get()
    return raise_order(o, p, order.get(), known, step, log_tolerance), step


def raise_order(
    o: Any, p: Program, order: Any, known: Any, log_step: Any, log_tolerance: Any
) -> Any:
    """Further coefficients are used as far as their terms stay below the tolerance: they are there."""
    out = o.variable(order)
    # lanes at their end have no step
    first = o.where(log_step > -HUGE, order, float(o.highest_order))
    for m in o.loop(1 - o.most(-first), o.most(known) + 1):
        number = o.value(m)
        following = (out.get() >= number - 1.0) & (out.get() < number) & (number <= known)
        small = p.log_size[m] + number * log_step <= log_tolerance
        out.set(number, following & small)
    return out.get()


def log_reached(o: Any, p: Program, order: Any, log_step: Any) -> Any:
    """Log of the largest velocity that the terms of a step reach."""
    most = o.variable(o.constant(-HUGE))
    for m in o.loop(2, o.most(order)):
        number = o.value(m)
        reached = p.log_size[m] + (number - 1.0) * log_step
        most.set(o.maximum(most.get(), reached), number < order)
    return most.get()


def eval_polynomial(o: Any, p: Program, order: Any, h: Any, w: Scratch) -> None:
    """w.q, w.v: the series at h, up to the order of each lane."""
    n = p.s.coordinates
    q = [o.variable(o.constant(0.0)) for _ in range(n)]
    v = [o.variable(o.constant(0.0)) for _ in range(n)]
    for m in o.down(o.most(order), 0):
        number = o.value(m)
        counts = number <= order
        for i in range(n):
            c = o.where(counts, p.C[m, i], 0.0)
            # the derivative of what is there so far, by the same scheme
            v[i].set(v[i].get() * h + q[i].get())
            q[i].set(q[i].get() * h + c)
    for i in range(n):
        w.v[i] = v[i].get() * h + q[i].get()
        w.q[i] = q[i].get() * h + p.C[0, i]


# a run


def write_run(
    o: Any, s: Structure, watch: Callable[[LaneRun], Any] | None = None
) -> dict[str, int]:
    """All steps and outputs of a group of lanes; returns the sizes of its memories.

    watch: who looks at each step for crossings, made of the run.
    """
    run = LaneRun(o, s)
    watcher = None if watch is None else watch(run)
    for _ in o.repeat(lambda: o.any(run.reason.get() < 0.0)):
        begin, took = run.take_step()
        if watcher is not None:
            watcher.look(took, begin)
    run.summarise()
    sizes = {"landing": run.w.memory.size, "sampling": run.out.memory.size}
    if watcher is not None:
        watcher.summarise()
        sizes["watching"] = watcher.w.memory.size
    return sizes | {"state": run.p.memory.size}


def first_of_crossings(s: Structure) -> int:
    """Where in what is told of a lane its crossings begin: how many, then their times."""
    return SUMMARY + 2 * s.coordinates + 2 * len(s.columns)


class LaneRun:
    """Runs in the lanes of a group: what changes from step to step, and what is done in one.

    Letters as in `advance` of the general kernel; w: the landing, with the factor of K there; out: where outputs
    are taken back onto the constraints.
    """

    def __init__(self, o: Any, s: Structure) -> None:
        self.o, self.s = o, s
        self.p = Program(o, s)
        self.w, self.out = Scratch(o, s, "landing"), Scratch(o, s, "sampling")
        self.end, self.most_steps = o.argument(END), o.argument(MOST_STEPS)
        # of a step: at first, now, and when it is asked again
        self.tolerance = self.first_tolerance = o.argument(TOLERANCE)
        self.zero, one = o.constant(0.0), o.constant(1.0)
        speed = self._start()
        kinetic, potential = eval_energy(o, s, self.w)
        strain = self._start_loads()
        self.begun, self.stored_first = kinetic + potential + strain, strain
        self.weight = total(o, [o.abs(o.number(c.n)) for c in s.Q if isinstance(c, Slot)])
        new = o.variable
        self.stored, self.known = new(strain), new(self.zero)
        self.energy, self.scale, self.speed = new(self.begun), new(kinetic), new(speed)
        # the time, and what rounding took from it
        self.t, self.low, self.reason = new(self.zero), new(self.zero), new(o.constant(RUNNING))
        counted = (STEPS, REJECTED, COEFFICIENTS, FACTORISATIONS, LOOSENED)
        self.counts = {which: new(self.zero) for which in counted}
        # how far landings were moved at most, what steps lost, and energy that was put back
        self.moved, self.lost, self.restored = new(self.zero), new(self.zero), new(self.zero)
        self.least_pivot, self.least_drop = new(one), new(one)
        # outputs: the next one, the largest drift of the energy, least and largest of each column
        self.at, self.drift = new(self.zero), new(self.zero)
        self.shared, self.ask = new(self.tolerance), new(o.constant(float(ASKED_AFTER)))
        self.extremes = [
            (new(o.constant(HUGE)), new(o.constant(-HUGE))) for _ in range(len(s.columns))
        ]
        # of a step
        self.h, self.order, self.log_step = new(self.zero), new(self.zero), new(self.zero)
        self.local, self.attempts, self.most = new(self.zero), new(self.zero), new(self.zero)
        self.beyond, self.first = new(self.zero), new(self.zero)
        # lanes that choose a step, of these those that ask all orders again, and those without a landing
        self.choosing, self.asking = new(o.truth(True)), new(o.truth(True))
        self.trying, self.log_local = new(o.truth(True)), new(self.zero)
        self.begin = self.stop = self.put_back = self.zero
        # of the balance: the largest energy exchanged, and the largest that it is a difference of
        self.exchanged, self.held = new(kinetic), new(self.weight)
        # steps until it is asked whether the motion is stiff, when it last was, and steps in between
        room = float(min(ASKED_AFTER, buffer_steps(s.coordinates)))
        self.ask_stiff, self.since, self.room = (
            new(o.constant(room)),
            new(self.zero),
            new(o.constant(room)),
        )

    def _start(self) -> Any:
        """Position, velocity and the factor of K at the start; returns the largest velocity."""
        o, s, p, w = self.o, self.s, self.p, self.w
        speed = o.constant(0.0)
        for i, c in enumerate(s.start):
            v = number(o, c)
            p.q[i], p.v[i] = self.zero, v
            w.q[i], w.v[i] = self.zero, v
            speed = o.maximum(o.abs(v), speed)
        for k in range(s.equations):
            p.lam[-1, k] = self.zero
        w.tolerance[0], self.out.tolerance[0] = self.tolerance, self.zero
        eval_forms(o, s, w)
        o.call(factorise, p, w)
        for k, pivot in enumerate(relative_pivots(o, s, w)):
            p.usual[k] = o.maximum(pivot, self.zero)
            p.first[k] = pivot
        eval_pivots(o, p, w)
        return speed

    def _start_loads(self) -> Any:
        """Angles and work are zero at the start; returns the energy in springs and torsions."""
        o, s, held = self.o, self.s, self.p.loads
        if held is None:
            return self.zero
        held.carried[0] = self.zero
        for n in range(len(s.torsions)):
            held.theta[n] = self.zero
        return loads.eval_strain(o, s, held, self.w.q.__getitem__, None)

    def _exchange(self, w: Scratch, h: Any, known: Any) -> tuple[Any, Any]:
        """Energy in springs and torsions, and work of other loads, at w.q, h after the start of the step."""
        o, s, held = self.o, self.s, self.p.loads
        if held is None:
            return self.zero, self.zero
        strain = loads.eval_strain(o, s, held, w.q.__getitem__, (h, known))
        return strain, loads.eval_work(o, s, held, h, known)

    def _count(self, which: int, where: Any, by: Any = 1.0) -> None:
        self.counts[which].set(self.counts[which].get() + by, where)

    def take_step(self) -> tuple[Any, Any]:
        """A series, landings until every lane has one that is kept, and the outputs before it.

        Returns when it begins, and the lanes that took it.
        """
        o, p, w = self.o, self.p, self.w
        running = self.reason.get() < 0.0
        self.tolerance = w.tolerance[0] = self.shared.get()
        w.wanted[0] = refinements_for(o, w.smallest[0], self.tolerance)
        speed = self.speed.get()
        self.log_speed = o.where(speed > 0.0, o.log(speed * SWIFT + 1e-300), o.constant(HUGE))
        self.beside = is_beside(o, p, w, ~(speed > 0.0))
        self.begin = begin = self.t.get()
        self.put_back = self.restored.get()
        if p.loads is not None:
            p.loads.begin[0] = begin
        log_tolerance = o.log(self.tolerance)
        # about as many pay as in the last step
        ahead = self.known.get() - AHEAD if o.looks_ahead else self.zero
        limits = log_tolerance, self.log_speed
        known, order, log_step = make_series(o, p, w, limits, running, ahead)
        self.known.set(known)
        self.order.set(order)
        self.log_step.set(log_step)
        self.log_local.set(log_tolerance)
        if p.loads is not None:
            loads.make_work(o, self.s, p.loads, p.lam, known)
        self._count(COEFFICIENTS, running, known - 1.0)
        failed = running & (known < 3.0)
        self.reason.set(o.constant(float(NOT_FINITE)), failed)
        running = running & ~failed
        # a step ends where a motion of its lane changes its polynomial
        self.stop = self.end
        if self.s.breaks:
            self.stop = o.minimum(drives.next_break(o, self.s, begin), self.end)
        left = self.stop - begin
        self.local.set(self.tolerance)
        self.attempts.set(self.zero)
        self.beyond.set(self.zero)
        self.most.set(o.where(self.beside, left, o.minimum(left, self._closed_for())))
        self.choosing.set(running)
        self.asking.set(running & (order < float(self.s.least_order)))
        self.trying.set(running)
        for _ in o.repeat(lambda: o.any(self.trying.get())):
            self._choose(known)
            self._land(left)
        ended = self.reason.get()
        took = running & ((ended < 0.0) | (ended <= float(DONE)))
        # after all lanes have landed: those that waited have landed again and again, in the same place
        for k, pivot in enumerate(relative_pivots(o, self.s, w)):
            p.usual[k] = o.where(took, o.maximum(pivot, p.usual[k]), p.usual[k])
        if self.s.damped:
            self._watch_stiffness(took)
        else:
            self._share_among_steps(took)
        # outputs lie before the landing, and find their own angles
        landed = self._landed_loads()
        self._write_outputs(took, begin)
        self._end_in_time(took, begin)
        self._carry_loads(landed, took)
        return begin, took

    def _closed_for(self) -> Any:
        """How long a step may be where nothing moves: until what its solve leaves open shows."""
        o, p, refined = self.o, self.p, self.w.wanted[0] > 0.0
        left = o.constant(1e-300)
        for k, eps in enumerate(self.s.eps):
            share = o.where(refined, o.constant(REFINED), number(o, eps))
            left = o.maximum(left, share * o.abs(p.lam[0, k]))
        lost = o.maximum(self.tolerance, o.constant(ROUND_OFF)) * LOST_TOLERANCES
        h, fastest = o.sqrt(lost / left), o.constant(0.0)
        for i in range(self.s.coordinates):
            fastest = o.maximum(fastest, o.abs(p.v[i]))
        return o.where(fastest * h < lost, h, o.constant(HUGE))

    def _share_among_steps(self, took: Any) -> None:
        """In a long run each step may lose less, as in the general method: asked after some steps, then seldom."""
        o, first, t = self.o, self.first_tolerance, self.t.get()
        steps = self.counts[STEPS].get()
        asked = took & (steps >= self.ask.get())
        # one that will end within the first memory there shares nothing
        within = (steps < FIRST_STEPS) & (steps * self.end <= t * FIRST_STEPS)
        now = asked & ~within
        share = o.maximum(steps * self.end / t * (1 / MANY_STEPS), o.constant(1.0))
        floor = o.minimum(first, o.constant(LONG_FLOOR))
        self.shared.set(o.maximum(first / share, floor), now)
        self.ask.set(o.where(within, o.constant(float(FIRST_STEPS)), steps + ASK_AGAIN), asked)

    def _watch_stiffness(self, took: Any) -> None:
        """Dampers may be stiff: where the general method would try another one, it has to be asked.

        After so many steps as its buffer holds, as there (methods/auto.py); nothing is stiff whose steps are short
        against all decay times, and the sum of the rates is larger than each of them.
        """
        o, steps, t = self.o, self.counts[STEPS].get(), self.t.get()
        due = took & (steps >= self.ask_stiff.get())
        for _ in o.when(o.any(due)):
            mean = (t - self.since.get()) / self.room.get()
            rate = loads.eval_damping(o, self.p, self.w, solve_refined)
            many = self.end - t >= mean * (ALIKE * LEFT)
            stiff = due & many & (mean * rate >= ALIKE * STIFF)
            self.reason.set(o.constant(float(UNCERTAIN)), stiff & (self.reason.get() < 0.0))
            longer = steps * (self.end - t) / t > self.room.get()
            room = o.where(longer, float(buffer_steps(self.s.coordinates)), self.room.get())
            self.room.set(room, due)
            self.ask_stiff.set(steps + room, due)
            self.since.set(t, due)

    def _choose(self, known: Any) -> None:
        """Order and step, where they are to be chosen."""
        o, p = self.o, self.p
        for _ in o.when(o.any(self.choosing.get())):
            now = self.choosing.get()
            for _ in o.when(o.any(self.asking.get())):
                asking = self.asking.get()
                self.log_local.set(o.log(self.local.get()), asking)
                order, log_step = choose_step(o, p, known, self.log_local.get(), self.log_speed)
                self.order.set(order, asking)
                self.log_step.set(log_step, asking)
            log_local, log_step = self.log_local.get(), self.log_step.get()
            order = raise_order(o, p, self.order.get(), known, log_step, log_local)
            self.order.set(order, now)
            # from rest: there is no velocity but what this step reaches
            resting = now & ~(self.speed.get() > 0.0)
            for _ in o.when(o.any(resting)):
                reached = log_reached(o, p, order, log_step) + float(np.log(SWIFT))
                order, log_step = choose_step(o, p, known, log_local, reached)
                self.order.set(order, resting)
                self.log_step.set(log_step, resting)
            for _ in o.when(o.any(self.beside)):
                order, log_step = choose_step(o, p, known, log_local, o.constant(HUGE))
                low = now & self.beside & (order < float(NOISY_ORDER) + 0.5)
                self.order.set(order, low)
                self.log_step.set(log_step, low)
            log_step = self.log_step.get()
            step = o.maximum(o.minimum(log_step, o.constant(600.0)), o.constant(-600.0))
            self.h.set(o.minimum(o.exp(step), self.most.get()), now)
            self.choosing.set(o.truth(False))
            self.asking.set(o.truth(False))

    def _land(self, left: Any) -> None:
        """The end of a step: kept, tried a little further on, or refused; left: of the run."""
        o, w = self.o, self.w
        h = self.h.get()
        eval_polynomial(o, self.p, self.order.get(), h, w)
        w.time[0] = self.begin + h
        o.call(project, self.p, w)
        here, drop = self.trying.get(), w.drop[0]
        self._count(FACTORISATIONS, here, 2.0)
        # time stands still: the motion turns infinitely fast here
        moves = (h >= left) | (o.add_exactly(self.begin, h) > self.begin)
        self.reason.set(o.constant(float(STUCK)), here & ~moves)
        here = here & moves
        elsewhere = here & (drop < SINGULAR_LANDING) & (self.beyond.get() < 3.0)
        if self.s.breaks:
            # not beyond a break, where the motion of a drive goes on otherwise
            elsewhere = elsewhere & ((self.stop >= self.end) | (h * BEYOND < left))
        again = elsewhere & (self.beyond.get() < 2.0)
        # a series without noise leads over it from nearer too
        nearer = elsewhere & ~again & (self.order.get() > float(LOW_ORDER))
        self.first.set(h, again & (self.beyond.get() < 1.0))
        self.beyond.set(self.beyond.get() + 1.0, again | nearer)
        here = here & ~again & ~nearer
        # still at one: where else to land, and whether it is on its motion there, is found elsewhere
        beside = here & (drop < SINGULAR_LANDING)
        self.reason.set(o.constant(float(UNCERTAIN)), beside)
        here = here & ~beside
        kinetic, potential = eval_energy(o, self.s, w)
        strain, work = self._exchange(w, h, self.known.get())
        now = kinetic + potential + strain - work
        off = o.maximum(w.moved[0], w.turned[0] * h / self.order.get())
        # where little moves, what springs and torques exchange is what counts
        swapped = o.maximum(o.abs(strain - self.stored.get()), o.abs(work))
        largest = o.maximum(o.maximum(self.scale.get(), kinetic), swapped)
        held = self.weight + o.abs(strain) + o.abs(work)
        allowed = (self.tolerance + NOISE) * ENERGY_SLACK * largest + held * 1e-12
        # written so that nan is refused too
        good = (off <= self.local.get() * SLACK + NOISE) & (
            o.abs(now - self.energy.get()) <= allowed
        )
        good = here & good & (o.abs(now - self.begun) <= allowed * DRIFT_SLACK)
        bad = here & ~good
        self._watch_balance(good, kinetic, potential + strain, work, now)
        now = now + self._restore_energy(good, kinetic, held, now)
        self._keep(good, off, h >= left)
        self.energy.set(now, good)
        self.scale.set(largest, good)
        self.stored.set(strain, good)
        self._refuse(bad)
        self.h.set(h * BEYOND, again)
        self.h.set(self.first.get() * 0.5, nearer)
        self.trying.set((again | nearer | bad) & (self.reason.get() < 0.0))

    def _restore_energy(self, good: Any, kinetic: Any, held: Any, now: Any) -> Any:
        """Put back what was gained or lost, where it is an invariant: see `restore_energy` of the general kernel.

        Returns what it is, of each lane; held: what the energy now is a difference of.
        """
        o, w = self.o, self.w
        if not self.s.keeps_energy:
            return self.zero
        gap = self.begun - now
        all_held = held + o.abs(self.begun)
        moves = (kinetic > self.scale.get() * MOVES) & (o.abs(gap) < kinetic * MOVES)
        counts = kinetic * o.maximum(self.tolerance, o.constant(FLOOR))
        here = good & moves & (all_held * ENERGY_NOISE < counts)
        here = here & (o.abs(gap) > all_held * SAME_ENERGY)
        share = o.where(here, gap / (kinetic * 2.0), 0.0)
        for i in range(self.s.coordinates):
            w.v[i] = w.v[i] + w.v[i] * share
        gap = o.where(here, gap, 0.0)
        self.restored.set(self.restored.get() + gap)
        return gap

    def _keep(self, good: Any, off: Any, last: Any) -> None:
        """The landing of these lanes is where they go on; last: those at the end of the run."""
        o, p, w = self.o, self.p, self.w
        self._count(STEPS, good)
        local = self.local.get()
        loose = good & ((local > self.tolerance) | (off > self.tolerance * LOST_TOLERANCES))
        self._count(LOOSENED, loose)
        self.lost.set(self.lost.get() + o.maximum(local, off), loose)
        self.moved.set(o.maximum(self.moved.get(), off), good)
        faster = self.speed.get()
        for i in range(self.s.coordinates):
            faster = o.maximum(o.abs(w.v[i]), faster)
            p.q[i] = o.where(good, w.q[i], p.q[i])
            p.v[i] = o.where(good, w.v[i], p.v[i])
        self.speed.set(faster, good)
        self.least_pivot.set(o.minimum(self.least_pivot.get(), w.smallest[0]), good)
        self.least_drop.set(o.minimum(self.least_drop.get(), w.drop[0]), good)
        before = self.t.get()
        step = o.add_exactly(self.h.get(), self.low.get())
        after = o.add_exactly(before, step)
        rest = o.subtract_exactly(step, o.subtract_exactly(after, before))
        self.t.set(o.where(last, self.stop, after), good)
        self.low.set(o.where(last, self.zero, rest), good)
        if self.s.breaks:
            last = last & (self.stop >= self.end)
        self.reason.set(o.constant(float(DONE)), good & last)
        full = good & ~last & (self.counts[STEPS].get() >= self.most_steps)
        self.reason.set(o.constant(float(FULL)), full)

    def _watch_balance(self, good: Any, kinetic: Any, potential: Any, work: Any, now: Any) -> None:
        """What would be told of the energy balance, of steps that lose, or of drives that contradict each other.

        As methods/balance.py and methods/limit.py judge, who then say it.
        """
        o = self.o
        swapped = o.maximum(o.abs(potential - self.stored_first), o.abs(work))
        exchanged = o.maximum(self.exchanged.get(), o.maximum(kinetic, swapped))
        held = o.maximum(self.held.get(), o.maximum(o.abs(potential), o.abs(work)))
        self.exchanged.set(exchanged, good)
        self.held.set(held, good)
        setting = o.maximum(self.first_tolerance * (1 / SHARE), o.constant(SMALLEST_TOLERANCE))
        noise = o.maximum(setting * DRIFT_AT_REST, o.constant(DRIFT_ROUNDING))
        drift = o.abs(now - self.put_back - self.begun)
        balanced = drift <= setting * DRIFT_NOTED * exchanged + noise * held
        told = ~balanced | (self.counts[LOOSENED].get() >= float(CRAWLING_STEPS))
        if self.s.driven:
            told = told | (self.w.left[0] > CONTRADICTION)
        self.reason.set(o.constant(float(UNCERTAIN)), good & told)

    def _landed_loads(self) -> list[Any]:
        """Work and angles where all lanes have landed."""
        held = self.p.loads
        if held is None:
            return []
        work = loads.eval_work(self.o, self.s, held, self.h.get(), self.known.get())
        return [work, *(held.landed[n] for n in range(len(self.s.torsions)))]

    def _carry_loads(self, landed: list[Any], took: Any) -> None:
        """The next step of these lanes begins with that work and those angles."""
        o, held = self.o, self.p.loads
        if held is not None:
            held.carried[0] = o.where(took, landed[0], held.carried[0])
            for n, angle in enumerate(landed[1:]):
                held.theta[n] = o.where(took, angle, held.theta[n])

    def _refuse(self, bad: Any) -> None:
        """Half the step; after some tries looser, and then no more."""
        o = self.o
        self._count(REJECTED, bad)
        self.attempts.set(self.attempts.get() + 1.0, bad)
        self.h.set(self.h.get() * 0.5, bad)
        self.most.set(self.h.get(), bad)
        looser = bad & (self.attempts.get() >= float(TRIES))
        self.attempts.set(self.zero, looser)
        self.local.set(self.local.get() * 10.0, looser)
        self.choosing.set(looser)
        self.asking.set(looser)
        stuck = looser & (self.local.get() > LOOSEST)
        self.reason.set(o.constant(float(STUCK)), stuck)

    def _write_outputs(self, took: Any, begin: Any) -> None:
        """Outputs of the step just taken, on the constraints; beside a singular position from the polynomial."""
        o, t = self.o, self.t.get()
        done = self.reason.get() >= 0.0

        def due() -> Any:
            time = o.output_time(self.at.get())
            return took & (time < HUGE) & ((time <= t) | done)

        for _ in o.repeat(lambda: o.any(due())):
            now = due()
            ahead = o.where(now, o.output_time(self.at.get()) - begin, 0.0)
            self._sample(begin, ahead)
            self._write_columns(now, ahead)
            self.at.set(self.at.get() + 1.0, now)

    def _sample(self, begin: Any, ahead: Any) -> None:
        """self.out: the state so far ahead of the start of the step."""
        o, w = self.o, self.out
        eval_polynomial(o, self.p, self.order.get(), ahead, w)
        w.time[0] = begin + ahead
        plain = [(w.q[i], w.v[i]) for i in range(self.s.coordinates)]
        o.call(project, self.p, w)
        beside = (w.drop[0] < SINGULAR_LANDING) | ~(w.moved[0] + w.turned[0] < HUGE)
        for i, (q, v) in enumerate(plain):
            w.q[i] = o.where(beside, q, w.q[i])
            w.v[i] = o.where(beside, v, w.v[i])

    def _end_in_time(self, took: Any, begin: Any) -> None:
        """A run that landed beyond its end, which is at a singular position, ends with the state of its series."""
        o, p, out = self.o, self.p, self.out
        ahead = self.end - begin
        beyond = took & (self.reason.get() >= 0.0) & (self.h.get() > ahead)
        for _ in o.when(o.any(beyond)):
            self._sample(begin, o.where(beyond, ahead, 0.0))
            for i in range(self.s.coordinates):
                p.q[i] = o.where(beyond, out.q[i], p.q[i])
                p.v[i] = o.where(beyond, out.v[i], p.v[i])

    def _write_columns(self, now: Any, ahead: Any) -> None:
        """Columns and energy of the output that each of these lanes is at, so far ahead of the step's start."""
        o, s, w = self.o, self.s, self.out
        kinetic, potential = eval_energy(o, s, w)
        strain, work = self._exchange(w, ahead, self.known.get())
        energy = kinetic + potential + strain - work - self.put_back
        self.drift.set(o.maximum(self.drift.get(), o.abs(energy - self.begun)), now)
        values = []
        for column, (factors, offset) in zip(s.columns, s.column_rows, strict=True):
            source = w.q if column.level == PLACE else w.v
            terms = list(zip(column.coordinates, factors, strict=True))
            parts = combine(o, terms, source.__getitem__)
            if isinstance(offset, Slot):
                parts.append(o.number(offset.n))
            values.append(total(o, parts))
        for value, (least, largest) in zip(values, self.extremes, strict=True):
            least.set(o.minimum(least.get(), value), now)
            largest.set(o.maximum(largest.get(), value), now)
        for _ in o.when(o.keeps()):
            rows = o.rows(self.at.get(), now)
            for n, value in enumerate([*values, energy]):
                o.put(rows, n, value)

    def summarise(self) -> None:
        """What is told of each lane."""
        o, s, p = self.o, self.s, self.p
        start = o.constant(1.0)
        for k in range(s.equations):
            usual = p.usual[k]
            lower = o.minimum(p.first[k] / usual, start)
            start = o.where(usual > EPS * 100.0, lower, start)
        told = {REASON: self.reason, TIME: self.t, MOVED: self.moved, LOST: self.lost}
        told |= {LEAST_PIVOT: self.least_pivot, LEAST_DROP: self.least_drop, DRIFT: self.drift}
        for place, variable in (told | self.counts).items():
            o.summarise(place, variable.get())
        o.summarise(START_DROP, start)
        o.summarise(FIRST_ENERGY, self.begun)
        for i in range(s.coordinates):
            o.summarise(SUMMARY + i, p.q[i])
            o.summarise(SUMMARY + s.coordinates + i, p.v[i])
        for n, pair in enumerate(self.extremes):
            for k, variable in enumerate(pair):
                o.summarise(SUMMARY + 2 * s.coordinates + 2 * n + k, variable.get())
