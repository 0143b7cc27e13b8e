"""Quantities of events as Taylor polynomials of a step, computed from those of the coordinates.

Every quantity is a function of few linear forms x = x0 + R q of the coordinates. With s = (t - start) / h from 0
to 1, all series follow from those of the forms by Cauchy products:

    component, velocity     x;  x'
    squared length, speed   sum x^2;  sum x'^2
    travel                  sum x a,  a the axis as further forms
    angle                   (c^2 + s^2) theta' = c s' - s c';  in the plane c, s are forms, and the angle between
                            two bodies is the difference of two such angles; in space c = u . m, s = b . m
    tension of a spring     l^2 = sum x^2, P(l, l')
    energy                  1/2 v^T M v, by the balance of energy where that holds; -Q^T q, springs

Products are kept some terms beyond the order of the step, because their terms decrease later. Series that do not
decrease to what is negligible are marked, and the quantity is then read from states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .applied_forces import eval_load_energy, eval_load_forms
from .compiler import entry, kernel, noinline
from .elements import spring
from .event_zeros import AWAY, CROSSING, KIND, MONOTONE, OPEN, RATE, TIME, WIDTH
from .event_zeros import VALUE as NEAR
from .forms import eval_energy
from .polynomials import cauchy, eval_piece, eval_series
from .recording import sample

# Kinds of quantities: first linear ones, then squares, each of forms and of their rates.
VALUE, VELOCITY, SQUARE, SPEED_SQUARE, TRAVEL, ANGLE, TENSION, ENERGY = range(8)
# What its usual size follows from: a number; rates of the coordinates, or an energy, times the number.
CONSTANT, OF_RATES, OF_ENERGY = range(3)
# Columns of `codes`, and of `numbers`: factor of the usual size; of kinetic and potential energy, or the
# parameters of a spring.
WHICH, USUAL = 0, 1
USUAL_FACTOR, KINETIC, POTENTIAL = 0, 1, 2
FIRST_NUMBER = 1
# Terms of a product beyond the order, and last terms that have to be negligible.
MORE_TERMS, LAST_TERMS = 6, 3
# Share of the band to which the balance of energy has to agree with the velocities.
AS_BALANCED = 0.1
# Polynomials up to this order may interpolate the states at the ends of a step instead of solving the equations.
INTERPOLATED = 7
# Least number of terms of series that are no polynomials.
FEWEST_TERMS = 20
# What an interval needs besides `event_zeros`: its series does not decrease.
ROUGH = 3
# Columns of `wanted`: value and factor, f = (read - value) * factor; the band is share * size^power; negligible
# error; whether extremes are searched.
LEVEL, FACTOR, SHARE, POWER, ACCURACY, EXTREMES = range(6)


def last_term(kind: int, order: int) -> int:
    """The last coefficient that is kept of a quantity on steps up to an order."""
    if kind in (VALUE, VELOCITY):
        return max(order, 2)
    if kind in (SQUARE, SPEED_SQUARE, TRAVEL):
        return max(min(2 * order, order + MORE_TERMS), 2)
    return max(order + MORE_TERMS, FEWEST_TERMS)


class EventQuantity(NamedTuple):
    """A quantity in SI units: its kind, rows of its forms over q (compressed), their values at q = 0, numbers."""

    codes: Ints
    start: Ints
    col: Ints
    val: Floats
    origin: Floats
    numbers: Floats


class EventIntervals(NamedTuple):
    """A quantity on some steps, one row each.

    b: Bernstein coefficients of f, only the first and the last where `known` says enough; powers: the series as
    read, of angles only, and only its first term unless the interval is open; sizes: the largest size so far.
    """

    b: Floats
    powers: Floats
    known: Ints
    sizes: Floats


class SeriesSpace(NamedTuple):
    """Memory for series: of up to nine forms, of parts of a formula, of the quantity; a state."""

    x: Floats
    part: Floats
    f: Floats
    q: Floats
    v: Floats
    # largest energy at some states of the step
    usual: Floats


def make_series_space(coordinates: int, terms: int) -> SeriesSpace:
    """Memory for series of so many terms."""
    return SeriesSpace(
        np.zeros((9, terms + 1)),
        np.zeros((6, terms + 1)),
        np.zeros(terms + 1),
        np.zeros(coordinates),
        np.zeros(coordinates),
        np.zeros(1),
    )


@kernel
def uses_rates(kind):
    """Whether a linear quantity or a square is one of rates."""
    return kind <= SPEED_SQUARE and kind % 2 == 1


@kernel
def is_square(kind):
    """Whether a quantity is treated as its square."""
    return kind <= SPEED_SQUARE and kind > VELOCITY


@kernel
def set_form(quantity, r, qc, order, first, h, x):
    """Series of a form without its value at q = 0; first: column of the coordinates, or of the velocities."""
    scale = 1.0
    for k in range(order + 1):
        s = 0.0
        for n in range(quantity.start[r], quantity.start[r + 1]):
            s += quantity.val[n] * qc[k, first + quantity.col[n]]
        x[k] = s * scale
        scale *= h


@kernel
def set_forms(quantity, qc, order, h, space):
    """Series of all forms."""
    for r in range(len(quantity.origin)):
        set_form(quantity, r, qc, order, 0, h, space.x[r])
        space.x[r, 0] += quantity.origin[r]


@kernel
def set_rates(quantity, qc, order, h, space):
    """Series of the rates of all forms; first-order methods have separate polynomials of the velocities."""
    nq = len(space.q)
    for r in range(len(quantity.origin)):
        x = space.x[r]
        if qc.shape[1] > nq:
            set_form(quantity, r, qc, order, nq, h, x)
        else:
            set_form(quantity, r, qc, order, 0, h, x)
            for k in range(order):
                x[k] = (k + 1.0) * x[k + 1] / h
            x[order] = 0.0


@noinline
def set_all_forms(quantity, pieces, n, space):
    """Series of all forms on step n, or of their rates if the quantity needs these."""
    kind, h = quantity.codes[WHICH], pieces.starts[n + 1] - pieces.starts[n]
    if uses_rates(kind):
        set_rates(quantity, pieces.coefficients[n], pieces.orders[n], h, space)
    else:
        set_forms(quantity, pieces.coefficients[n], pieces.orders[n], h, space)


@noinline
def add_product(factor, x, y, order, last, f):
    """f += factor x y up to coefficient `last`; x and y end at the order."""
    for k in range(last + 1):
        f[k] += factor * cauchy(x, y, max(0, k - order), min(k, order) + 1, k)


@noinline
def set_length(x, order, last, square, length):
    """Series of the length of a vector of three forms; square: memory."""
    for k in range(last + 2):
        square[k] = 0.0
        length[k] = 0.0
    for r in range(3):
        add_product(1.0, x[r], x[r], order, last, square)
    length[0] = np.sqrt(square[0])
    for k in range(1, last + 1):
        length[k] = 0.5 * (square[k] - cauchy(length, length, 1, k, k)) / length[0]


@noinline
def turning(c, s, order, k):
    """Coefficient k of c s' - s c': the sum over a + b = k + 1 of (b - a) (c_a s_b - s_a c_b), a < b."""
    total, m = 0.0, k + 1
    for a in range(max(0, m - order), (m + 1) // 2):
        total += (m - 2.0 * a) * (c[a] * s[m - a] - s[a] * c[m - a])
    return total


@noinline
def add_turning(factor, c, s, order, last, accuracy, rate, size, f):
    """f += factor times the series of the angle of (c, s) without its value at the start; rate, size: memory."""
    off = 0.0
    for i in range(3):
        cosine, sine = eval_series(c, order, 0.5 * i), eval_series(s, order, 0.5 * i)
        off = max(off, abs(cosine * cosine + sine * sine - 1.0))
    for k in range(last):
        rate[k] = turning(c, s, order, k)
    # written so that nan takes this way too
    if not off <= accuracy:
        for k in range(last + 1):
            size[k] = 0.0
        add_product(1.0, c, c, order, last, size)
        add_product(1.0, s, s, order, last, size)
        for k in range(last):
            rate[k] = (rate[k] - cauchy(rate, size, 0, k, k)) / size[0]
    for k in range(last):
        f[k + 1] += factor * rate[k] / (k + 1.0)


@noinline
def set_angle(quantity, order, last, accuracy, near, space):
    """Series of an angle, turns counted from `near`: of one or two pairs of forms, or of the vectors u, b, m."""
    rate, size, f, x = space.part[2], space.part[3], space.f, space.x
    forms = len(quantity.origin)
    if forms <= 4:
        add_turning(1.0, x[forms - 2], x[forms - 1], order, last, accuracy, rate, size, f)
        if forms == 4:
            add_turning(-1.0, x[0], x[1], order, last, accuracy, rate, size, f)
    else:
        c, s = space.part[0], space.part[1]
        for k in range(last + 2):
            c[k] = 0.0
            s[k] = 0.0
        for i in range(3):
            add_product(1.0, x[i], x[6 + i], order, last, c)
            add_product(1.0, x[3 + i], x[6 + i], order, last, s)
        add_turning(1.0, c, s, last, last, accuracy, rate, size, f)
    f[0] = angle_at_end(quantity, 0, near, x)


@noinline
def angle_at_end(quantity, order, near, x):
    """The angle of the forms at the start of a step, order = 0, or at its end."""
    forms, cosine, sine = len(quantity.origin), 0.0, 0.0
    if forms == 2:
        cosine, sine = eval_series(x[0], order, 1.0), eval_series(x[1], order, 1.0)
    elif forms == 4:
        a, b = eval_series(x[0], order, 1.0), eval_series(x[1], order, 1.0)
        c, d = eval_series(x[2], order, 1.0), eval_series(x[3], order, 1.0)
        cosine, sine = a * c + b * d, a * d - b * c
    else:
        for i in range(3):
            m = eval_series(x[6 + i], order, 1.0)
            cosine += eval_series(x[i], order, 1.0) * m
            sine += eval_series(x[3 + i], order, 1.0) * m
    return unwrap_angle(np.arctan2(sine, cosine), near)


@kernel
def unwrap_angle(angle, near):
    """The angle plus the number of full turns that brings it nearest to `near`; nan: none."""
    if near == near:
        angle += 2.0 * np.pi * np.rint((near - angle) / (2.0 * np.pi))
    return angle


@kernel
def set_load_form(loads, a, qc, order, h, x):
    """Series of a form of the loads."""
    scale = 1.0
    for k in range(order + 1):
        s = 0.0
        for n in range(loads.F_start[a], loads.F_start[a + 1]):
            s += loads.F_val[n] * qc[k, loads.F_col[n]]
        x[k] = s * scale
        scale *= h
    x[0] += loads.f0[a]


@noinline
def add_potential(form, loads, qc, order, last, h, factor, space):
    """Add the series of the potential energy of constant forces and springs."""
    f, linear = space.f, space.part[0]
    for k in range(order + 1):
        linear[k] = 0.0
    for i in range(len(space.q)):
        weight = form.Q[i]
        # most coordinates have no weight
        if weight != 0.0:
            for k in range(order + 1):
                linear[k] += weight * qc[k, i]
    scale = factor
    for k in range(order + 1):
        f[k] -= linear[k] * scale
        scale *= h
    if loads is not None:
        for n in range(len(loads.springs.first)):
            p, length, square = loads.springs.numbers[n], space.part[0], space.part[1]
            for i in range(3):
                set_load_form(loads, loads.springs.first[n] + i, qc, order, h, space.x[i])
            set_length(space.x, order, last, square, length)
            for k in range(last + 1):
                f[k] += factor * p[spring.PRELOAD] * length[k]
            length[0] -= p[spring.FREE]
            add_product(0.5 * factor * p[spring.STIFFNESS], length, length, last, last, f)


@noinline
def add_kinetic(form, qc, order, last, h, factor, space):
    """Add the series of the kinetic energy."""
    nq, v, z = len(space.q), space.x[0], space.x[1]
    for i in range(nq):
        set_coordinate_rate(qc, nq, i, order, h, v)
        for k in range(order + 1):
            z[k] = 0.0
        for n in range(form.M_start[i], form.M_start[i + 1]):
            j = form.M_col[n]
            # M is symmetric
            if j <= i:
                w = space.x[2]
                set_coordinate_rate(qc, nq, j, order, h, w)
                weight = form.M_val[n] if j < i else 0.5 * form.M_val[n]
                for k in range(order + 1):
                    z[k] += weight * w[k]
        add_product(factor, v, z, order, last, space.f)


@kernel
def set_coordinate_rate(qc, nq, i, order, h, x):
    """Series of the rate of a coordinate."""
    scale = 1.0
    for k in range(order + 1):
        if qc.shape[1] > nq:
            x[k] = qc[k, nq + i] * scale
        else:
            x[k] = (k + 1.0) * qc[k + 1, i] * scale if k < order else 0.0
        scale *= h


@noinline
def set_energy(form, loads, quantity, pieces, n, order, last, h, balanced, space):
    """Series of an energy.

    The kinetic energy is that at the start of the step, minus the change of the potential energy, plus the work,
    if that agrees with the velocities at the end of the step, and in the middle too if the polynomial only
    interpolates states; otherwise it is multiplied out.
    """
    qc, f = pieces.coefficients[n], space.f
    kinetic, potential = quantity.numbers[KINETIC], quantity.numbers[POTENTIAL]
    work_terms = 0
    if loads is not None:
        work_terms = pieces.angle_and_work_series.shape[2]
    add_potential(form, loads, qc, order, last, h, potential - kinetic, space)
    if kinetic == 0.0:
        return
    if loads is not None:
        scale = kinetic
        for k in range(work_terms):
            if k <= last and k > 0:
                f[k] += pieces.angle_and_work_series[n, len(loads.torsions.first), k] * scale
            scale *= h
    off, size = 0.0, 0.0
    interpolates = order <= INTERPOLATED or qc.shape[1] > len(space.q)
    for i in range(3):
        if i == 1 and not interpolates:
            continue
        eval_piece(qc, order if i > 0 else min(order, 1), 0.5 * i * h, space.q, space.v)
        T, V = eval_energies_at(form, loads, space)
        read = kinetic * T + potential * V
        if i == 0:
            f[0] = read
        space.usual[0] = max(space.usual[0], T, abs(V))
        size = max(size, kinetic * T, kinetic * abs(V))
        off = max(off, abs(read - eval_series(f, last, 0.5 * i)))
    # written so that nan takes this way too
    if not (off <= balanced * size and (loads is None or work_terms > 1)):
        for k in range(last + 2):
            f[k] = 0.0
        add_potential(form, loads, qc, order, last, h, potential, space)
        add_kinetic(form, qc, order, last, h, kinetic, space)


@noinline
def eval_energies_at(form, loads, space):
    """Kinetic and potential energy at the state in memory; mechanisms with torsion springs do not come here."""
    kinetic, potential = eval_energy(form, space.q, space.v)
    if loads is not None:
        eval_load_forms(loads, space.q)
        potential = spring.add_energy(loads.springs, loads.f, potential)
    return kinetic, potential


@noinline
def set_tension(quantity, qc, order, last, h, space):
    """Series of the tension of a spring."""
    p, f, length, rate = quantity.numbers[FIRST_NUMBER:], space.f, space.part[0], space.part[2]
    set_length(space.x, order, last, space.part[1], length)
    for k in range(last + 1):
        rate[k] = (k + 1.0) * length[k + 1] / h
    if qc.shape[1] > len(space.q) and p[spring.DAMPING] != 0.0:
        # velocities with polynomials of their own: l l' = x . v
        for k in range(last + 1):
            rate[k] = 0.0
        for r in range(3):
            set_form(quantity, r, qc, order, len(space.q), h, space.x[3 + r])
            add_product(1.0, space.x[r], space.x[3 + r], order, last, rate)
        for k in range(last + 1):
            rate[k] = (rate[k] - cauchy(rate, length, 0, k, k)) / length[0]
    for k in range(last + 1):
        f[k] = p[spring.STIFFNESS] * length[k] + p[spring.DAMPING] * rate[k]
    f[0] += p[spring.PRELOAD] - p[spring.STIFFNESS] * p[spring.FREE]


@noinline
def set_series(form, loads, quantity, pieces, n, last, wanted, near, space):
    """space.f: series of a quantity on step n, up to coefficient `last`; those of its forms are known."""
    qc, order = pieces.coefficients[n], pieces.orders[n]
    h, f, kind = pieces.starts[n + 1] - pieces.starts[n], space.f, quantity.codes[WHICH]
    for k in range(last + 2):
        f[k] = 0.0
    if kind == ENERGY:
        balanced = AS_BALANCED * wanted[SHARE]
        set_energy(form, loads, quantity, pieces, n, order, last, h, balanced, space)
    if kind <= VELOCITY:
        for k in range(min(order, last) + 1):
            f[k] = space.x[0, k]
    elif is_square(kind):
        for r in range(len(quantity.origin)):
            add_product(1.0, space.x[r], space.x[r], order, last, f)
    elif kind == TRAVEL:
        for r in range(3):
            add_product(1.0, space.x[r], space.x[3 + r], order, last, f)
    elif kind == ANGLE:
        set_angle(quantity, order, last, wanted[ACCURACY], near, space)
    elif kind == TENSION:
        set_tension(quantity, qc, order, last, h, space)


@noinline
def bound_forms(first, last, order, x):
    """Length of x_0 of a vector of forms, bounds of the lengths of sums: of x_k and k x_k, k > 0; k > 1."""
    zeroth, change, rates, more = 0.0, 0.0, 0.0, 0.0
    for r in range(first, last):
        y = x[r]
        a, b = 0.0, 0.0
        for k in range(1, order + 1):
            a += abs(y[k])
            b += k * abs(y[k])
        zeroth += y[0] * y[0]
        change += a * a
        rates += b * b
        more += (b - abs(y[1])) ** 2
    return np.sqrt(zeroth), np.sqrt(change), np.sqrt(rates), np.sqrt(more)


@noinline
def bound_angle(quantity, order, x):
    """Bound of the change of an angle on a step; infinite if its vectors are not about unit vectors.

    The radius of a pair of forms, about 1, may be smaller between the ends of the step. In space |theta'| is at
    most the length of (c', s'), and |c'| is at most |u'| |m| + |u| |m'|, where all lengths are about 1.
    """
    forms, turned = len(quantity.origin), 0.0
    if forms <= 4:
        for first in range(0, forms, 2):
            zeroth, change, rates, _ = bound_forms(first, first + 2, order, x)
            turned += rates / max(zeroth - change, 0.5)
            if not abs(zeroth - 1.0) < 0.1:
                turned = np.inf
        return turned
    radius, _, rates_m, _ = bound_forms(6, 9, order, x)
    for first in range(0, 6, 3):
        zeroth, _, rates, _ = bound_forms(first, first + 3, order, x)
        turned += (rates + rates_m) ** 2
        radius = max(radius, zeroth)
    return 1.25 * np.sqrt(turned) if radius < 1.05 else np.inf


@noinline
def slope_of_angle(quantity, order, x):
    """Rate at the start of a step of an angle in the plane, and a bound of its change on the step."""
    slope, change_of_slope, factor = 0.0, 0.0, 1.0
    for r in range(len(quantity.origin) - 2, -1, -2):
        zeroth, change, rates, more = bound_forms(r, r + 2, order, x)
        slope += factor * (x[r, 0] * x[r + 1, 1] - x[r + 1, 0] * x[r, 1])
        off = 0.0
        for i in range(3):
            cosine, sine = eval_series(x[r], order, 0.5 * i), eval_series(x[r + 1], order, 0.5 * i)
            off = max(off, abs(cosine * cosine + sine * sine - 1.0))
        # the rate is c s' - s c' over the square of the radius, which differs from 1 by about `off`
        change_of_slope += zeroth * more + change * rates + 4.0 * off * (zeroth + change) * rates
        factor = -1.0
    return slope, change_of_slope


@noinline
def end_of_forms(quantity, order, space):
    """Sum of the squares of the forms at the end of a step."""
    total = 0.0
    for r in range(len(quantity.origin)):
        x = eval_series(space.x[r], order, 1.0)
        total += x * x
    return total


@noinline
def exclude(quantity, pieces, n, wanted, size, near, space):
    """What bounds of a quantity exclude on step n without its series; then space.f has its first and last value.

    A length changes by at most the sum of |x_k|, k > 0, an angle by that of k |x_k|; of half a square, x . x'
    differs from x_0 . x_1 by at most |x_0| sum_{k>1} k |x_k| + sum |x_k| sum k |x_k|.
    """
    kind, order, f, extremes = (
        quantity.codes[WHICH],
        pieces.orders[n],
        space.f,
        wanted[EXTREMES] > 0.0,
    )
    h = pieces.starts[n + 1] - pieces.starts[n]
    forms = len(quantity.origin)
    if kind <= VELOCITY or kind > TENSION or kind == TRAVEL:
        return OPEN
    if kind == ANGLE:
        return exclude_angle(quantity, order, wanted, size, near, space)
    zeroth, change, rates, more = bound_forms(0, forms, order, space.x)
    if kind <= SPEED_SQUARE:
        f[0], f[1] = zeroth * zeroth, end_of_forms(quantity, order, space)
        gap = abs(near - f[0]) if near == near else 0.0
        if extremes:
            slope = 0.0
            for r in range(forms):
                slope += space.x[r, 0] * space.x[r, 1]
            if abs(slope) > zeroth * more + change * rates + gap:
                return MONOTONE
        elif wanted[POWER] == 1.0:
            # the gap is that of the square
            gap = gap / max(zeroth, 1e-300)
            band = wanted[SHARE] * max(size, zeroth + change)
            if abs(zeroth - np.sqrt(wanted[LEVEL])) > change + gap + 2.0 * band:
                return AWAY
    elif kind == TENSION and not extremes and zeroth > 2.0 * change:
        p = quantity.numbers[FIRST_NUMBER:]
        if p[spring.DAMPING] != 0.0 and pieces.coefficients.shape[2] > len(space.q):
            return OPEN
        for i in range(2):
            s, y = 0.0, 0.0
            for r in range(3):
                x, dx = space.x[r, 0], space.x[r, 1]
                if i == 1:
                    x, dx = eval_rate(space.x[r], order)
                s += x * x
                y += x * dx
            s = np.sqrt(s)
            f[i] = spring.pull(p, s, y / s / h)
        gap = abs(near - f[0]) if near == near else 0.0
        moved = p[spring.STIFFNESS] * change + 2.0 * p[spring.DAMPING] * rates / h
        band = wanted[SHARE] * max(size, abs(f[0]) + moved)
        if abs(f[0] - wanted[LEVEL]) > moved + gap + band:
            return AWAY
    return OPEN


@noinline
def exclude_angle(quantity, order, wanted, size, near, space):
    """The same for an angle: it changes by at most the sum of k |x_k|, and so does its rate."""
    f, x = space.f, space.x
    turned = bound_angle(quantity, order, x)
    # turns are counted from the start of the step to its end
    if not turned < 3.0:
        return OPEN
    f[0] = angle_at_end(quantity, 0, near, x)
    gap = abs(near - f[0]) if near == near else 0.0
    if wanted[EXTREMES] == 0.0:
        band = wanted[SHARE] * max(size, abs(f[0]) + turned)
        if not abs(f[0] - wanted[LEVEL]) > turned + gap + band:
            return OPEN
        f[1] = angle_at_end(quantity, order, f[0], x)
        return AWAY
    if len(quantity.origin) > 4:
        return OPEN
    slope, change_of_slope = slope_of_angle(quantity, order, x)
    if not abs(slope) > change_of_slope + gap:
        return OPEN
    f[1] = angle_at_end(quantity, order, f[0], x)
    return MONOTONE


@kernel
def eval_rate(x, order):
    """Value and derivative of a series at 1."""
    value, slope = x[0], 0.0
    for k in range(1, order + 1):
        value += x[k]
        slope += k * x[k]
    return value, slope


@noinline
def usual_size(form, loads, quantity, pieces, n, before, space):
    """Typical size of such quantities at the start of a step: the scale for zero to rounding; before: so far."""
    factor = quantity.numbers[USUAL_FACTOR]
    if quantity.codes[USUAL] == CONSTANT:
        return factor
    h, most = pieces.starts[n + 1] - pieces.starts[n], space.usual[0]
    # a run may start at rest
    for i in range(0 if most > 0.0 else 1 if before > 0.0 else 2):
        order = pieces.orders[n] if i == 1 else min(pieces.orders[n], 1)
        eval_piece(pieces.coefficients[n], order, i * h, space.q, space.v)
        if quantity.codes[USUAL] == OF_RATES:
            for j in range(len(space.v)):
                most = max(most, abs(space.v[j]))
        else:
            kinetic, potential = eval_energies_at(form, loads, space)
            most = max(most, kinetic, abs(potential))
    return most * factor


@kernel
def is_exact(kind, order, last):
    """Whether a quantity is a polynomial of at most the degree `last`."""
    return kind <= VELOCITY or (kind <= TRAVEL and 2 * order <= last)


@entry
def fill_intervals(form, loads, quantity, pieces, wanted, before, to_bernstein, space, out):
    """Polynomials of a quantity on all steps, and what their size excludes.

    wanted: see LEVEL. before: largest size so far, value at the end of the last step or nan; updated.
    """
    b, powers, known, sizes = out.b, out.powers, out.known, out.sizes
    squares = is_square(quantity.codes[WHICH])
    last = b.shape[1] - 1
    f = space.f
    for n in range(len(known)):
        near = before[1]
        space.usual[0] = 0.0
        set_all_forms(quantity, pieces, n, space)
        known[n] = exclude(quantity, pieces, n, wanted, before[0], near, space)
        end = f[1]
        if known[n] == OPEN:
            set_series(form, loads, quantity, pieces, n, last, wanted, near, space)
        usual = usual_size(form, loads, quantity, pieces, n, before[0], space)
        size = max(before[0], usual, np.sqrt(abs(f[0])) if squares else abs(f[0]))
        if known[n] == OPEN:
            end = eval_series(f, last, 1.0)
            if not is_resolved(
                quantity, pieces.orders[n], last, wanted[ACCURACY], size, squares, f
            ):
                known[n] = ROUGH
                end = read_end(form, loads, quantity, pieces, n, squares, space)
        size = max(size, np.sqrt(abs(end)) if squares else abs(end))
        before[0] = size
        before[1] = end
        sizes[n] = size
        if known[n] == OPEN:
            gap = abs(near - f[0]) if near == near else 0.0
            known[n] = examine(last, wanted, size, gap, f)
            for k in range(powers.shape[1]):
                powers[n, k] = f[k]
        elif powers.shape[1] > 0:
            # angles of other times are next to this one
            powers[n, 0] = f[0]
        f[0] -= wanted[LEVEL]
        b[n, 0] = f[0] * wanted[FACTOR]
        b[n, last] = (end - wanted[LEVEL]) * wanted[FACTOR]
        if known[n] == OPEN:
            for j in range(1, last):
                s = 0.0
                for k in range(j + 1):
                    s += to_bernstein[j, k] * f[k]
                b[n, j] = s * wanted[FACTOR]


@noinline
def is_resolved(quantity, order, last, accuracy, size, squares, f):
    """Whether the last terms of a series are negligible, or it is a polynomial."""
    late = 0.0
    for k in range(last + 1 - LAST_TERMS, last + 1):
        late = max(late, abs(f[k]))
    # written so that nan is rejected too
    return late <= accuracy * (size * size if squares else size) or is_exact(
        quantity.codes[WHICH], order, last
    )


@noinline
def read_end(form, loads, quantity, pieces, n, squares, space):
    """A quantity, or its square, at the end of a step."""
    h = pieces.starts[n + 1] - pieces.starts[n]
    eval_piece(pieces.coefficients[n], pieces.orders[n], h, space.q, space.v)
    end = read_state(form, loads, quantity, space.q, space.v, space.q, space.f[0])
    return end * end if squares else end


@noinline
def examine(last, wanted, size, gap, f):
    """What a series says about its interval."""
    rest, steep = 0.0, 0.0
    for k in range(1, last + 1):
        rest += abs(f[k])
        if k > 1:
            steep += k * abs(f[k])
    if wanted[EXTREMES] > 0.0:
        return MONOTONE if abs(f[1]) > steep + gap else OPEN
    band = wanted[SHARE] * (size if wanted[POWER] == 1.0 else size * size)
    away = wanted[FACTOR] * (abs(f[0] - wanted[LEVEL]) - rest - gap) > band
    return AWAY if away else OPEN


@noinline
def read_state(form, loads, quantity, q, v, angles, near):
    """A quantity at a state, as results read it; near: about its value, for angles."""
    kind, x, y = quantity.codes[WHICH], 0.0, 0.0
    if kind == ENERGY:
        kinetic, potential = eval_energy(form, q, v)
        if loads is not None:
            eval_load_forms(loads, q)
            potential += eval_load_energy(loads, angles)
        return quantity.numbers[KINETIC] * kinetic + quantity.numbers[POTENTIAL] * potential
    rates = uses_rates(kind)
    if kind <= VELOCITY:
        return read_form(quantity, 0, q, v, rates)
    if kind == ANGLE:
        forms = len(quantity.origin)
        if forms <= 4:
            x = read_form(quantity, forms - 2, q, v, False)
            y = read_form(quantity, forms - 1, q, v, False)
            if forms == 4:
                a, b = read_form(quantity, 0, q, v, False), read_form(quantity, 1, q, v, False)
                x, y = a * x + b * y, a * y - b * x
        else:
            for i in range(3):
                m = read_form(quantity, 6 + i, q, v, False)
                x += read_form(quantity, i, q, v, False) * m
                y += read_form(quantity, 3 + i, q, v, False) * m
        return unwrap_angle(np.arctan2(y, x), near)
    if kind == TRAVEL:
        for i in range(3):
            x += read_form(quantity, i, q, v, False) * read_form(quantity, 3 + i, q, v, False)
        return x
    for i in range(len(quantity.origin)):
        z = read_form(quantity, i, q, v, rates)
        x += z * z
        if kind == TENSION:
            y += z * read_form(quantity, i, q, v, True)
    x = np.sqrt(x)
    return spring.pull(quantity.numbers[FIRST_NUMBER:], x, y / x) if kind == TENSION else x


@entry
def read_states(form, loads, quantity, out, near, values):
    """A quantity at states."""
    for n in range(len(values)):
        values[n] = read_state(form, loads, quantity, out.q[n], out.v[n], out.angles[n], near[n])


@kernel
def read_form(quantity, r, q, v, rates):
    """A form, or its rate."""
    s = 0.0 if rates else quantity.origin[r]
    for n in range(quantity.start[r], quantity.start[r + 1]):
        s += quantity.val[n] * (v[quantity.col[n]] if rates else q[quantity.col[n]])
    return s


# Limits of the refinement: share of an interval, difference to the value, displacement that ends it, start, end.
MOST_MOVED, MOST_OFF, LAST_MOVE, BEGIN, FINISH = range(5)
READ_ROUNDING = 2e-16


@entry
def refine_events(
    form, ws, loads, sampling, pieces, quantity, level, rounds, limits, found, out, values
):
    """Move zeros to where sampled states have the wanted value; returns whether they remain in order of time.

    found: rows of events (event_zeros.py), with about the value as read. Outputs: out: states at the events;
    values: of the quantity there.
    """
    for n in range(rounds):
        sample(form, ws, loads, None, sampling, pieces, len(pieces.orders), out)
        most = 0.0
        for k in range(len(values)):
            near = found[k, NEAR]
            values[k] = read_state(form, loads, quantity, out.q[k], out.v[k], out.angles[k], near)
            off, rate = values[k] - level, found[k, RATE]
            move = -off / rate if found[k, KIND] == CROSSING and rate != 0.0 else 0.0
            far = abs(move) > limits[MOST_MOVED] * found[k, WIDTH] or abs(off) > limits[MOST_OFF]
            if far or abs(off) <= READ_ROUNDING * abs(values[k]):
                move = 0.0
            found[k, TIME] = min(max(out.times[k] + move, limits[BEGIN]), limits[FINISH])
            most = max(most, abs(move))
        if not most > limits[LAST_MOVE] or n == rounds - 1:
            return True
        for k in range(len(values)):
            out.times[k] = found[k, TIME]
            if k > 0 and out.times[k] < out.times[k - 1]:
                return False
    return True
