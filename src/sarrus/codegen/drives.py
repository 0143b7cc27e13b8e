"""Drives over lanes: right sides of equations as functions of time, their series, and the work of drives.

Laws and recursions in kernels/elements/drive.py. Numbers of motions are each lane's own: when they change their
polynomial, too, so every lane ends a step where its own motions do.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from ..kernels.elements.drive import COSINE, LINEAR, SINE, SQUARE
from .arithmetic import Row, convolve, number, times, total
from .structure import Slot, Structure

# further away than any run
NEVER = 1e300


class DriveState:
    """Series of a group of lanes: motions, coefficients times powers, cosines and sines; force along a motion."""

    def __init__(self, memory: Any, s: Structure, rows: int) -> None:
        self.motion = memory.array(max(len(s.motions), 1), rows)
        self.rate = memory.array(max(len(s.motions), 1), rows)
        self.side = memory.array(max(len(s.driven), 1), rows)
        self.force = memory.array(rows)


def eval_piece(o: Any, s: Structure, m: int, t: Any) -> tuple[Any, list[Any]]:
    """Of the piece of a motion that holds at t: the time since its start, and its polynomial; None for zeros."""
    motion = s.motions[m]
    if motion.pieces == 1:
        start, *rest = motion.piece
        polynomial = [number(o, c) if isinstance(c, Slot) else None for c in rest]
        return t - number(o, start) if isinstance(start, Slot) else t, polynomial
    row = [o.variable(o.number(motion.first + k)) for k in range(s.width)]
    for n in o.loop(1, motion.pieces):
        at = n * s.width + motion.first
        later = o.number(at) <= t
        for k, x in enumerate(row):
            x.set(o.number(at + k), later)
    start, *polynomial = (x.get() for x in row)
    return t - start, polynomial


def next_break(o: Any, s: Structure, t: Any) -> Any:
    """The first time after t at which a motion changes its polynomial."""
    first = o.variable(o.constant(NEVER))
    for motion in s.motions:
        for n in o.loop(1, motion.pieces):
            start = o.number(n * s.width + motion.first)
            first.set(o.minimum(first.get(), start), start > t)
    return first.get()


def eval_wave(o: Any, sine: list[Any], t: Any) -> tuple[Any, Any]:
    """Amplitude times sine and cosine of a motion."""
    amplitude = o.number(sine[0].n)
    up, across = o.sine_cosine(times(o, sine[1], t) + number(o, sine[2]))
    return amplitude * up, amplitude * across


def eval_motion(o: Any, s: Structure, m: int, t: Any) -> tuple[Any, Any]:
    """Value of a motion and its rate."""
    ahead, polynomial = eval_piece(o, s, m, t)
    x, v = o.constant(0.0), o.constant(0.0)
    for c in reversed(polynomial):
        v = v * ahead + x
        x = x * ahead if c is None else x * ahead + c
    sine = s.motions[m].sine
    if isinstance(sine[0], Slot):
        up, across = eval_wave(o, sine, t)
        x, v = x + up, v + times(o, sine[1], across)
    return x, v


def eval_sides(o: Any, p: Any, w: Any) -> None:
    """w.driven: right sides of the driven equations and their rates at w.time."""
    s, t = p.s, w.time[0]
    moved = [eval_motion(o, s, m, t) for m in range(len(s.motions))]
    turned: dict[int, Any] = {}
    for n, (_, kind, m, c, constant) in enumerate(s.driven):
        x, v = moved[m]
        if kind in (COSINE, SINE) and m not in turned:
            turned[m] = o.sine_cosine(x)
        if kind == LINEAR:
            value, rate = x, v
        elif kind == SQUARE:
            value, rate = x * x * 0.5, x * v
        elif kind == COSINE:
            value, rate = turned[m][1], -(turned[m][0] * v)
        else:
            value, rate = turned[m][0], turned[m][1] * v
        value = times(o, c, value)
        if isinstance(constant, Slot):
            value = value - o.number(constant.n)
        w.driven[0, n], w.driven[1, n] = value, times(o, c, rate)


# a series


def start_drives(o: Any, s: Structure, a: DriveState, t: Any) -> None:
    """Coefficients of all motions about t, and the first two of cosines and sines."""
    for m in range(len(s.motions)):
        _start_motion(o, s, a, m, t)
    for n, (_, kind, m, *_) in enumerate(s.driven):
        if kind == COSINE:
            sine, cosine = o.sine_cosine(a.motion[m, 0])
            a.side[n, 0], a.side[n + 1, 0] = cosine, sine
            rate = a.rate[m, 1]
            a.side[n, 1], a.side[n + 1, 1] = -(rate * sine), rate * cosine


def _start_motion(o: Any, s: Structure, a: DriveState, m: int, t: Any) -> None:
    """All coefficients of a motion about t."""
    ahead, polynomial = eval_piece(o, s, m, t)
    for k in range(len(polynomial)):
        x = o.constant(0.0)
        for i in range(len(polynomial) - 1, k - 1, -1):
            c = polynomial[i]
            x = x * ahead if c is None else x * ahead + c * float(comb(i, k))
        a.motion[m, k] = x
    rows = o.highest_order + 1
    for k in o.loop(len(polynomial), rows):
        a.motion[m, k] = o.constant(0.0)
    sine = s.motions[m].sine
    if isinstance(sine[0], Slot):
        up, across = eval_wave(o, sine, t)
        factor = o.variable(o.constant(1.0))
        # derivatives of a sine: sin, cos, -sin, -cos
        turns = np.arange(rows) % 4
        for k in o.loop(0, rows):
            x = up * o.table("sines", np.array([1.0, 0.0, -1.0, 0.0])[turns], k)
            x = x + across * o.table("cosines", np.array([0.0, 1.0, 0.0, -1.0])[turns], k)
            a.motion[m, k] = a.motion[m, k] + factor.get() * x
            factor.set(factor.get() * number(o, sine[1]) / (o.value(k) + 1.0))
    for k in o.loop(0, rows):
        a.rate[m, k] = o.value(k) * a.motion[m, k]


def add_sides(o: Any, s: Structure, a: DriveState, k: Any, right: list[list[Any]]) -> None:
    """Coefficient k of the driven right sides, subtracted from the parts of what they are compared with."""
    for n, (eq, kind, m, c, _) in enumerate(s.driven):
        x, rate = Row(a.motion, m), Row(a.rate, m)
        if kind == COSINE:
            y, z = Row(a.side, n), Row(a.side, n + 1)
            up, across = convolve(o, [(rate, 0, z, 0), (rate, 0, y, 0)], 1, k + 1, k)
            a.side[n, k], a.side[n + 1, k] = -up / o.value(k), across / o.value(k)
        if kind == SQUARE:
            (side,) = convolve(o, [(x, 0, x, 0)], 0, k + 1, k)
            side = side * 0.5
        else:
            side = a.motion[m, k] if kind == LINEAR else a.side[n, k]
        right[eq].append(-times(o, c, side))


def make_force(o: Any, s: Structure, a: DriveState, m: int, lam: Any, known: Any) -> None:
    """a.force: what the drive of a motion exerts along it, -lam . dphi0/dx, as far as it is known."""
    linear = [d for d in s.driven if d.motion == m and d.kind == LINEAR]
    slopes = []
    for n, d in enumerate(s.driven):
        if d.motion == m and d.kind != LINEAR:
            at = {SQUARE: (a.motion, m), COSINE: (a.side, n + 1), SINE: (a.side, n - 1)}[d.kind]
            slopes.append((d, Row(*at)))
    for k in o.loop(0, o.highest_order + 1):
        a.force[k] = o.constant(0.0)
    for k in o.loop(0, o.most(known) - 1):
        parts = [-times(o, d.factor, lam[k, d.equation]) for d in linear]
        sums = convolve(o, [(lam, d.equation, y, 0) for d, y in slopes], 0, k + 1, k)
        for (d, _), x in zip(slopes, sums, strict=True):
            part = times(o, d.factor, x)
            parts.append(part if d.kind == COSINE else -part)
        a.force[k] = o.where(o.value(k) < known - 1.0, total(o, parts), 0.0)
