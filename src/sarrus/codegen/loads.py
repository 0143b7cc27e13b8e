"""Loads over lanes: springs and torsions with dampers, torques, forces and torques that turn with bodies.

Laws and recursions in kernels/elements, here over operations: forms f = F q + f0, forces Q + F^T w(f). Where an
angle lands needs no arctangent: the series of its cosine and sine predict it, and their cross product with what
cosine and sine are there is the rest, to second order.
"""

from __future__ import annotations

from typing import Any

from ..kernels.elements.spring import DAMPING, FREE, PRELOAD, STIFFNESS
from ..kernels.elements.torsion import (
    ANGLE,
    COSINE,
    MOMENT,
    MOMENT_COSINE,
    MOMENT_SINE,
    SINE,
    TORQUE,
)
from .arithmetic import Row, combine, convolve, number, times, total
from .drives import DriveState, make_force, start_drives
from .structure import Factor, Slot, Structure


class LoadState:
    """Series of the loads of a group of lanes, and what is carried from step to step."""

    def __init__(self, memory: Any, s: Structure, rows: int) -> None:
        self.fc = memory.array(rows, max(len(s.load_forms), 1))
        self.length = memory.array(max(len(s.springs), 1), rows)
        self.ratio = memory.array(max(len(s.springs), 1), rows)
        self.turn = memory.array(max(len(s.torsions), 1), 6, rows)
        self.drives = DriveState(memory, s, rows)
        # coefficients of the work, and of two factors of a power
        self.work = memory.array(2 * rows)
        self.pushes, self.rates = memory.array(rows), memory.array(rows)
        # time, angles and work where the step began; angles at the last landing
        self.begin = memory.array(1)
        self.theta = memory.array(max(len(s.torsions), 1))
        self.landed = memory.array(max(len(s.torsions), 1))
        self.carried = memory.array(1)


def eval_load_forms(o: Any, s: Structure, x: Any, constant: bool) -> list[Any]:
    """F x, with f0 if wanted."""
    out = []
    for terms, f0 in zip(s.load_forms, s.f0, strict=True):
        parts = combine(o, terms, x)
        if constant and isinstance(f0, Slot):
            parts.append(o.number(f0.n))
        out.append(total(o, parts))
    return out


def start_loads(o: Any, s: Structure, a: LoadState, q: list[Any], v: list[Any]) -> None:
    """The first two coefficients of the forms, and the first ones of lengths, cosines, sines and angles."""
    f = eval_load_forms(o, s, q.__getitem__, True)
    df = eval_load_forms(o, s, v.__getitem__, False)
    for i in range(len(f)):
        a.fc[0, i], a.fc[1, i] = f[i], df[i]
    for n, (first, _) in enumerate(s.springs):
        a.length[n, 0] = o.sqrt(dot(o, f, first, f, first))
    for n, (u, _) in enumerate(s.torsions):
        a.turn[n, COSINE, 0] = dot(o, f, u, f, u + 6)
        a.turn[n, SINE, 0] = dot(o, f, u + 3, f, u + 6)
        a.turn[n, ANGLE, 0] = a.theta[n]
    start_drives(o, s, a.drives, a.begin[0])


def dot(o: Any, x: list[Any], i: int, y: list[Any], j: int) -> Any:
    """Scalar product of three values from x[i] on and three from y[j] on."""
    return total(o, [x[i + c] * y[j + c] for c in range(3)])


def add_coefficient(o: Any, s: Structure, a: LoadState, k: Any, force: list[list[Any]]) -> None:
    """F^T w_k added to the parts of the forces, from the forms up to k + 1."""
    weights: list[list[Any]] = [[] for _ in s.load_forms]
    m = k + 1
    first = o.where(o.value(k) < 0.5, o.constant(1.0), o.constant(0.0))
    for n, (at, numbers) in enumerate(s.springs):
        _add_spring(o, a, n, at, numbers, (k, m, first), weights)
    for n, (at, numbers) in enumerate(s.torsions):
        _add_torsion(o, a, n, at, numbers, (k, m, first), weights)
    for to, of, c in s.turning:
        weights[to].append(times(o, c, a.fc[k, of]))
    for terms, parts in zip(s.load_forms, weights, strict=True):
        if parts:
            x = total(o, parts)
            for i, c in terms:
                force[i].append(times(o, c, x))


def _add_spring(
    o: Any, a: LoadState, n: int, at: int, numbers: list[Factor], when: Any, weights: Any
) -> None:
    """Length at k + 1, then pull over length at k and what it exerts."""
    k, m, first = when
    length, ratio = Row(a.length, n), Row(a.ratio, n)
    _next_length(o, a, n, at, m)
    start = a.length[n, 0]
    pull = times(o, numbers[STIFFNESS], a.length[n, k])
    if isinstance(numbers[DAMPING], Slot):
        pull = pull + times(o, numbers[DAMPING], o.value(m) * a.length[n, m])
    still = number(o, numbers[PRELOAD])
    still = still - number(o, numbers[STIFFNESS]) * number(o, numbers[FREE])
    (before,) = convolve(o, [(ratio, 0, length, 0)], 0, k, k)
    a.ratio[n, k] = (pull + first * still - before) / start
    sums = convolve(o, [(ratio, 0, a.fc, at + c) for c in range(3)], 0, m, k)
    for c, x in enumerate(sums):
        weights[at + c].append(-x)


def _next_length(o: Any, a: LoadState, n: int, at: int, m: Any) -> None:
    """Coefficient m of the length of a spring."""
    length = Row(a.length, n)
    squares = convolve(o, [(a.fc, at + c, a.fc, at + c) for c in range(3)], 0, m + 1, m)
    (own,) = convolve(o, [(length, 0, length, 0)], 1, m, m)
    a.length[n, m] = (total(o, squares) - own) * 0.5 / a.length[n, 0]


def _next_angle(o: Any, a: LoadState, n: int, u: int, m: Any) -> Any:
    """Coefficient m of cosine, sine and angle of a torsion; returns coefficient m - 1 of the angle's rate."""
    k = m - 1
    for which, b in ((COSINE, u), (SINE, u + 3)):
        sums = convolve(o, [(a.fc, b + c, a.fc, u + 6 + c) for c in range(3)], 0, m + 1, m)
        a.turn[n, which, m] = total(o, sums)
    # theta' = c s' - s c', coefficient k
    rates = o.variable(o.constant(0.0))
    for j in o.loop(0, m):
        step = o.value(j) + 1.0
        turned = a.turn[n, COSINE, k - j] * a.turn[n, SINE, j + 1]
        turned = turned - a.turn[n, SINE, k - j] * a.turn[n, COSINE, j + 1]
        rates.set(rates.get() + step * turned)
    a.turn[n, ANGLE, m] = rates.get() / o.value(m)
    return rates.get()


def _add_torsion(
    o: Any, a: LoadState, n: int, u: int, numbers: list[Factor], when: Any, weights: Any
) -> None:
    """Cosine, sine and angle at k + 1, then the moment at k and what it exerts."""
    k, m, first = when
    cosine, sine, M, Mc, Ms = (
        Row(a.turn, n, which) for which in (COSINE, SINE, MOMENT, MOMENT_COSINE, MOMENT_SINE)
    )
    rate = _next_angle(o, a, n, u, m)
    stiffness = number(o, numbers[STIFFNESS])
    still = number(o, numbers[TORQUE]) + stiffness * number(o, numbers[FREE])
    moment = first * still - stiffness * a.turn[n, ANGLE, k]
    if isinstance(numbers[DAMPING], Slot):
        moment = moment - times(o, numbers[DAMPING], rate)
    a.turn[n, MOMENT, k] = moment
    x, y = convolve(o, [(M, 0, cosine, 0), (M, 0, sine, 0)], 0, m, k)
    a.turn[n, MOMENT_COSINE, k], a.turn[n, MOMENT_SINE, k] = x, y
    pairs = [(Ms, 0, a.fc, u + 6 + c) for c in range(3)]
    pairs += [(Mc, 0, a.fc, u + 6 + c) for c in range(3)]
    pairs += [(Mc, 0, a.fc, u + 3 + c) for c in range(3)] + [(Ms, 0, a.fc, u + c) for c in range(3)]
    sums = convolve(o, pairs, 0, m, k)
    for c in range(3):
        weights[u + c].append(-sums[c])
        weights[u + 3 + c].append(sums[3 + c])
        weights[u + 6 + c].append(sums[6 + c] - sums[9 + c])


def keep_forms(o: Any, s: Structure, a: LoadState, m: Any, row: list[Any]) -> None:
    """Coefficient m of the forms, from that of q."""
    for i, x in enumerate(eval_load_forms(o, s, row.__getitem__, False)):
        a.fc[m, i] = x


def make_work(o: Any, s: Structure, a: LoadState, lam: Any, known: Any) -> None:
    """a.work: coefficients of the work since the step began; known: the highest coefficient of each lane.

    The product of two polynomials has twice their powers, and all of them are kept: see `work_coefficients` of the
    general kernel. What acts is known one coefficient less far than the forms; so is the rate of what it acts on.
    """
    for k in o.loop(0, 2 * o.highest_order + 2):
        a.work[k] = o.constant(0.0)
    last = o.most(known)
    for n, (at, numbers) in enumerate(s.springs):
        if isinstance(numbers[DAMPING], Slot):
            _next_length(o, a, n, at, last)
            _add_damping(o, a, Row(a.length, n), numbers[DAMPING], 0.0, known)
    for n, (at, numbers) in enumerate(s.torsions):
        if isinstance(numbers[DAMPING], Slot) or isinstance(numbers[TORQUE], Slot):
            _next_angle(o, a, n, at, last)
            _add_damping(o, a, Row(a.turn, n, ANGLE), numbers[DAMPING], numbers[TORQUE], known)
    for to, of, c in s.turning:
        for k in o.loop(0, last + 1):
            a.pushes[k] = o.where(o.value(k) <= known, times(o, c, a.fc[k, of]), 0.0)
            a.rates[k] = o.where(o.value(k) <= known, o.value(k) * a.fc[k, to], 0.0)
        _add_power(o, a, a.pushes, last)
    for m in range(len(s.motions)):
        make_force(o, s, a.drives, m, lam, known)
        for k in o.loop(0, last + 1):
            a.rates[k] = o.where(o.value(k) <= known, a.drives.rate[m, k], 0.0)
        _add_power(o, a, a.drives.force, last)
    for k in o.loop(1, last * 2 + 1):
        a.work[k] = a.work[k] / o.value(k)


def _add_damping(o: Any, a: LoadState, x: Any, damping: Factor, torque: Factor, known: Any) -> None:
    """The power (m - c x') x' of a damper and a torque along x."""
    last = o.most(known)
    for k in o.loop(1, last + 1):
        rate = o.where(o.value(k) <= known, o.value(k) * x[k, 0], 0.0)
        a.rates[k] = rate
        a.pushes[k - 1] = -times(o, damping, rate)
    a.pushes[0] = a.pushes[0] + number(o, torque)
    a.pushes[last] = o.constant(0.0)
    _add_power(o, a, a.pushes, last)


def _add_power(o: Any, a: LoadState, pushes: Any, last: Any) -> None:
    """Coefficient k of pushes times rates, added to a.work[k + 1]; rates: coefficients times their powers."""
    for i in o.loop(0, last + 1):
        push = pushes[i]
        for j in o.loop(1, last + 1):
            a.work[i + j] = a.work[i + j] + push * a.rates[j]


def eval_row(o: Any, array: Any, at: tuple[int, ...], last: Any, h: Any, known: Any) -> Any:
    """A series at h; known: coefficients from there on do not count."""
    out = o.variable(o.constant(0.0))
    for k in o.down(last, -1):
        out.set(out.get() * h + o.where(o.value(k) < known, array[(*at, k)], 0.0))
    return out.get()


def eval_strain(o: Any, s: Structure, a: LoadState, q: Any, ahead: tuple[Any, Any] | None) -> Any:
    """Energy of springs and torsions at a place; a.landed: the angles there.

    ahead: how far ahead of the start of the step, and what is known of the series; None at the start of the run.
    """
    f = eval_load_forms(o, s, q, True)
    parts = []
    for at, numbers in s.springs:
        length = o.sqrt(dot(o, f, at, f, at))
        stretch = length - number(o, numbers[FREE])
        parts.append(times(o, numbers[STIFFNESS], stretch * stretch * 0.5))
        parts.append(times(o, numbers[PRELOAD], length))
    for n, (u, numbers) in enumerate(s.torsions):
        angle = a.theta[n]
        if ahead is not None:
            h, known = ahead
            last = o.most(known)
            c, sine, angle = (
                eval_row(o, a.turn, (n, which), last, h, known) for which in (COSINE, SINE, ANGLE)
            )
            here_c, here_s = dot(o, f, u, f, u + 6), dot(o, f, u + 3, f, u + 6)
            angle = angle + (here_s * c - here_c * sine) / (c * c + sine * sine)
        a.landed[n] = angle
        turned = angle - number(o, numbers[FREE])
        parts.append(times(o, numbers[STIFFNESS], turned * turned * 0.5))
    return total(o, parts)


def eval_work(o: Any, s: Structure, a: LoadState, h: Any, known: Any) -> Any:
    """Work of what has no potential, and of drives, from the start of the run to h after that of the step."""
    if not (s.turning or s.torsions or s.damped or s.driven):
        return o.constant(0.0)
    last = o.most(known)
    everything = o.constant(1e9)
    return a.carried[0] + eval_row(o, a.work, (), last * 2, h, everything)


def eval_damping(o: Any, p: Any, w: Any, solve: Any) -> Any:
    """The sum of the rates at which dampers let velocities decay where w is, with the factor of K there.

    Of a damper c along x: c dx/dq . K^-1 . dx/dq. solve: w.x from w.b.
    """
    s, rates = p.s, []
    f = eval_load_forms(o, s, w.q.__getitem__, True)
    w.wanted[0] = o.constant(0.0)
    directions = []
    for at, numbers in s.springs:
        length = o.sqrt(dot(o, f, at, f, at))
        directions.append((numbers[DAMPING], {at + c: f[at + c] / length for c in range(3)}))
    for u, numbers in s.torsions:
        cosine, sine = dot(o, f, u, f, u + 6), dot(o, f, u + 3, f, u + 6)
        slopes = {}
        for c in range(u, u + 3):
            slopes[c], slopes[c + 3] = -(sine * f[c + 6]), cosine * f[c + 6]
            slopes[c + 6] = cosine * f[c + 3] - sine * f[c]
        directions.append((numbers[DAMPING], slopes))
    for damping, slopes in directions:
        if isinstance(damping, Slot):
            force: list[list[Any]] = [[] for _ in range(s.unknowns)]
            for form, x in slopes.items():
                for i, c in s.load_forms[form]:
                    force[s.pos_q[i]].append(times(o, c, x))
            b = [total(o, parts) for parts in force]
            for i, x in enumerate(b):
                w.b[i] = x
            o.call(solve, p, w)
            along = [b[i] * w.x[i] for i in range(s.unknowns) if force[i]]
            rates.append(times(o, damping, total(o, along)))
    return total(o, rates)
