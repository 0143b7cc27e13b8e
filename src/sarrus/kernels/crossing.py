"""Rank losses of J along the polynomial of a step, found without sampling: J(t) is continued to complex times.

J is linear in q and q(t) is a polynomial, so J(z) is known exactly at complex z. With the static order of K,

    K(z) = [1 J^T; J 0] = L D L^T  (not conjugated),    det K = +- g^2,

where g is the product of the singular values of J: every loss of rank on the step is a zero of the polynomial det
K. Equations that are redundant throughout are left out: their pivots vanish at all nodes.

Screening, in each step: Jensen's formula on a disc about the step. With the zeros a_i of g in a disc of radius R
about c,

    mean of log|g| on the rim - log|g(c)| = sum of log(R / |a_i - c|):

all terms are positive, so zeros cannot hide each other. This takes one elimination in SIMD lanes: seven nodes on
the upper half of the rim (the lower half is conjugate), and the centre.

Location, for steps that contain a zero: moments of the zeros in a disc by the argument principle,

    s_k = 1/(2 pi i) integral of lam^k g'/g = sum of lam_i^k,     lam = (z - c) / R,

from eliminations of K and its derivative at 16 nodes. The pivots of each part of the mechanism (loops that share
no coordinate) are summed separately. A single location, of any multiplicity, has s_k = s_0 lam^k; if the moments
indicate more than one, the disc is halved. The location is then computed again from a disc about itself that
contains no other. Its mean is as accurate as that of a simple zero, whatever the multiplicity, because nothing is
evaluated near the zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .compiler import entry, kernel, noinline
from .forms import eval_form_rates, eval_forms, eval_jacobian
from .layout import Form, make_room
from .simd import WIDTH, any_lane, in_lanes, rows_of_lanes

# Radius of a disc, relative to half the length of the interval it covers: a zero at an end contributes log(1.2) =
# 0.18 to the screening sum.
WIDER = 1.2
# Nodes for screening, at angles (j + 1/2) pi / 7, and the centre; nodes for moments, at angles (j + 1/2) pi / 8.
ANGLES = (np.arange(WIDTH - 1) + 0.5) * np.pi / (WIDTH - 1)
SCREEN_COS, SCREEN_SIN = np.append(np.cos(ANGLES), 0.0), np.append(np.sin(ANGLES), 0.0)
RIM_COS, RIM_SIN = (f((np.arange(WIDTH) + 0.5) * np.pi / WIDTH) for f in (np.cos, np.sin))
# Number of moments, and the powers of the nodes that give them.
MOMENTS = 5
POWERS_COS, POWERS_SIN = (
    np.array([f((k + 1) * (np.arange(WIDTH) + 0.5) * np.pi / WIDTH) for k in range(MOMENTS)])
    for f in (np.cos, np.sin)
)
# An equation is redundant if its pivot, relative to the growth of rounding in the elimination, is below this at
# all nodes, or below this many squares of the constraint violation there, because J has errors of that size.
ZERO_PIVOT = 1e-14
ZERO_SQUARES = 100.0
# Only pivots below this are compared with the violation.
LOW_PIVOT = 1e-3
# Lower bound in a product of pivots: the product does not underflow, and a vanishing pivot counts as this.
TINY = 1e-72
# Number of pivots in such a product.
IN_PRODUCT = 4

# Steps with a larger sum are searched: a zero in the step gives 0.18, and a zero near a node may reduce that.
FLAG = 0.03
# Memory for the locations that a step may need.
ROOM = 16
# If the moments are smaller than this, the disc contains no zero (a zero on the interval it covers gives 0.95).
NONE = 0.1
# Bounds for the central moments of a single location, divided by the number of zeros: second, third, fourth; in
# radii.
NARROW = np.array([1e-2, 3e-3, 1e-3])
# Size of a disc about a location: this share of the previous one, and AROUND times the spread of its zeros. If
# rounding hides the zeros, the disc is enlarged by FARTHER, twice.
CLOSER, FARTHER, FARTHEST = 0.125, 2.5, 0.5
AROUND = 8.0
# Number of discs about one location. The error of a mean is the 16th power of its distance from the centre, in
# radii, and of the radius divided by the distance of other zeros. The first share leaves 1e-16 of a radius, the
# second 1e-11, if other zeros are known to be that far away; otherwise a shift as small as the third shows that
# they are.
TURNS = 4
CENTRAL, FAR, SETTLED = 0.1, 0.2, 1e-4
# A number of zeros is an integer up to this; otherwise other zeros are near the rim, or rounding hides them.
WHOLE = 0.1
# For three or more zeros: a larger variance, in radii squared, shows that they are not one location.
APART = 1e-8
# Largest number of halvings of a step, and of discs in total.
DEEPEST = 14
MOST_DISCS = 256
# A location this far beyond the end of the interval of a disc, in half intervals, belongs to the next one.
BEYOND = 1e-3
# A first estimate this far out, in half intervals, is also beyond the end.
OUTSIDE = 1.02
# Distance up to which locations from two discs count as the same, in half intervals.
SAME = 1e-5

# Columns of the screening result of a step: the sum above; the smallest pivot at the centre, relative to its
# reference value; the number of independent equations; and log|g| at the centre.
EXCESS, LOW, RANK, REGULARITY = 0, 1, 2, 3
SEEN = 4
# Columns of a location: its time, start and end of its step, number of zeros, their variance [s^2] (negative: a
# conjugate pair), part of the mechanism, whether it is resolved, and the number of the step.
TIME, BEFORE, AFTER, ZEROS, VARIANCE, PART, RESOLVED, STEP = 0, 1, 2, 3, 4, 5, 6, 7
PLACE = 8
# Contents of a disc.
NOTHING, HALVES, A_PLACE = 0, 1, 2
# Columns of the stack of discs: centre, half interval, part (-1: all), number of halvings.
WAITING = 4


class EliminationStructure(NamedTuple):
    """Data for the elimination of one mechanism, in addition to its form.

    equation: of each unknown in elimination order, or -1. part: of each unknown. joint: 1 for equations with a
    constant right-hand side, else 0. size: squared norm of each equation's row at the start.
    """

    equation: Ints
    part: Ints
    joint: Floats
    size: Floats


class Disc(NamedTuple):
    """Memory of a disc: values at its nodes (last axis); real and imaginary parts, then derivatives.

    powers: of the time at the nodes. growth: of rounding in each pivot. out: values of the lanes. kept: 1 for
    independent equations, else 0. reference_pivots: the largest pivot of each equation at any centre so far.
    trace, sums: of each part. known: sums of the current disc. stack: discs still to be examined.
    """

    q: Floats
    q_im: Floats
    e: Floats
    e_im: Floats
    J: Floats
    J_im: Floats
    L: Floats
    L_im: Floats
    q_rate: Floats
    q_rate_im: Floats
    e_rate: Floats
    e_rate_im: Floats
    J_rate: Floats
    J_rate_im: Floats
    L_rate: Floats
    L_rate_im: Floats
    powers: Floats
    powers_im: Floats
    phi: Floats
    phi_im: Floats
    trace: Floats
    trace_im: Floats
    growth: Floats
    out: Floats
    kept: Floats
    reference_pivots: Floats
    sums: Floats
    known: Floats
    stack: Floats


class EliminationTables(NamedTuple):
    """What the elimination needs of the tables of a form alone, and the part of each coordinate."""

    parts: Ints
    equation: Ints
    part: Ints
    joint: Floats


def find_tables(form: Form, parts: Ints) -> EliminationTables:
    """What follows from the tables of a form; parts: for each coordinate, the part that it belongs to."""
    nq, nc = len(form.Q), len(form.phi0)
    equation = np.full(nq + nc, -1, np.int64)
    equation[form.pos_c] = np.arange(nc)
    part = np.zeros(nq + nc, np.int64)
    part[form.pos_q] = parts
    part[form.pos_c[form.J_eq]] = parts[form.J_col]
    joint = np.ones(nc)
    joint[form.driven] = 0.0
    return EliminationTables(parts, equation, part, joint)


def make_structure(form: Form, tables: EliminationTables) -> EliminationStructure:
    """Data for the elimination."""
    nc = len(form.phi0)
    J = np.add.reduceat(form.C_val * form.e0[form.C_form], form.C_start[:-1]) if nc else np.zeros(0)
    size = np.bincount(form.J_eq, J * J, nc)
    # An equation whose row vanishes at the start is compared with the others.
    size = np.maximum(size, 1e-6 * size.max(initial=1e-300))
    return EliminationStructure(tables.equation, tables.part, tables.joint, size)


def make_disc(form: Form, structure: EliminationStructure, rows: int) -> Disc:
    """Memory for polynomials with `rows` coefficients."""
    nq, nc, nf, nj = len(form.Q), len(form.phi0), len(form.e0), len(form.J_eq)
    n, parts = nq + nc, int(structure.part.max(initial=0)) + 1
    lanes = [size for size in (nq, nf, nj, n + len(form.L_row)) for _ in range(2)]
    sizes: list[Any] = [
        *((size, WIDTH) for size in lanes * 2),
        (rows, WIDTH), (rows, WIDTH), (nc, WIDTH), (nc, WIDTH), (parts, WIDTH), (parts, WIDTH),
        (n, WIDTH), (1, WIDTH), (nc,), (nc,), (parts, MOMENTS), (parts, MOMENTS),
        (4 * DEEPEST + 4 + 2 * parts, WAITING),
    ]  # fmt: skip
    return Disc(*make_room(*sizes))


@kernel
def eval_powers(disc, order, x, y):
    """Powers of the complex times x + i y of the nodes."""
    lanes = in_lanes(disc)
    a = 0.0 * x + 1.0
    b = 0.0 * x
    for k in range(order + 1):
        lanes.powers[k] = a
        lanes.powers_im[k] = b
        c = a * x - b * y
        b = a * y + b * x
        a = c


@noinline
def eval_jacobians(form, disc, qc, order):
    """J at the nodes whose powers are stored."""
    lanes = in_lanes(disc)
    for i in range(len(form.Q)):
        x = lanes.powers[0] * qc[0, i]
        y = lanes.powers_im[0] * qc[0, i]
        for k in range(1, order + 1):
            x += lanes.powers[k] * qc[k, i]
            y += lanes.powers_im[k] * qc[k, i]
        lanes.q[i] = x
        lanes.q_im[i] = y
    eval_forms(form, lanes.q, lanes.e)
    eval_form_rates(form, lanes.q_im, lanes.e_im)
    eval_jacobian(form, lanes.e, lanes.J)
    eval_jacobian(form, lanes.e_im, lanes.J_im)


@noinline
def eval_jacobian_rates(form, disc, qc, order):
    """Time derivatives of J at the nodes whose powers are stored."""
    lanes = in_lanes(disc)
    for i in range(len(form.Q)):
        x = lanes.powers[0] * 0.0
        y = lanes.powers[0] * 0.0
        for k in range(1, order + 1):
            factor = k * qc[k, i]
            x += lanes.powers[k - 1] * factor
            y += lanes.powers_im[k - 1] * factor
        lanes.q_rate[i] = x
        lanes.q_rate_im[i] = y
    eval_form_rates(form, lanes.q_rate, lanes.e_rate)
    eval_form_rates(form, lanes.q_rate_im, lanes.e_rate_im)
    eval_jacobian(form, lanes.e_rate, lanes.J_rate)
    eval_jacobian(form, lanes.e_rate_im, lanes.J_rate_im)


@noinline
def eval_violation(form, structure, disc):
    """Largest violation of the joint constraints at the nodes, squared."""
    lanes = in_lanes(disc)
    for k in range(len(form.phi0)):
        lanes.phi[k] = 0.0 * lanes.powers[0] - form.phi0[k]
        lanes.phi_im[k] = 0.0 * lanes.powers[0]
    for t in range(len(form.sq_c)):
        f = form.sq_form[t]
        k = form.sq_eq[t]
        x = lanes.e[f]
        y = lanes.e_im[f]
        lanes.phi[k] += 0.5 * form.sq_c[t] * (x * x - y * y)
        lanes.phi_im[k] += form.sq_c[t] * x * y
    for t in range(len(form.bl_c)):
        k = form.bl_eq[t]
        a = form.bl_a[t]
        b = form.bl_b[t]
        lanes.phi[k] += form.bl_c[t] * (lanes.e[a] * lanes.e[b] - lanes.e_im[a] * lanes.e_im[b])
        lanes.phi_im[k] += form.bl_c[t] * (lanes.e[a] * lanes.e_im[b] + lanes.e_im[a] * lanes.e[b])
    largest = 0.0
    for k in range(len(form.phi0)):
        for lane in range(WIDTH):
            gap = disc.phi[k, lane] ** 2 + disc.phi_im[k, lane] ** 2
            largest = max(largest, structure.joint[k] * gap)
    return largest


@kernel
def assemble_nodes(form, disc):
    """K at the nodes, without the equations that are left out."""
    lanes = in_lanes(disc)
    zero = 0.0 * lanes.powers[0]
    for k in range(len(disc.L)):
        lanes.L[k] = zero
        lanes.L_im[k] = zero
    for i in range(len(form.pos_q)):
        lanes.L[form.pos_q[i]] = zero + 1.0
    for k in range(len(form.pos_c)):
        lanes.L[form.pos_c[k]] = zero + (disc.kept[k] - 1.0)
    for k in range(len(disc.J)):
        kept = disc.kept[form.J_eq[k]]
        lanes.L[form.K_J[k]] = kept * lanes.J[k]
        lanes.L_im[form.K_J[k]] = kept * lanes.J_im[k]


@kernel
def assemble_rates(form, disc):
    """Derivative of K at the nodes."""
    lanes = in_lanes(disc)
    zero = 0.0 * lanes.powers[0]
    for k in range(len(disc.L_rate)):
        lanes.L_rate[k] = zero
        lanes.L_rate_im[k] = zero
    for k in range(len(disc.J_rate)):
        kept = disc.kept[form.J_eq[k]]
        lanes.L_rate[form.K_J[k]] = kept * lanes.J_rate[k]
        lanes.L_rate_im[form.K_J[k]] = kept * lanes.J_rate_im[k]


@kernel
def eval_largest(disc, row):
    """Largest value over the lanes in a row of out."""
    largest = 0.0
    for lane in range(WIDTH):
        largest = max(largest, disc.out[row, lane])
    return largest


@noinline
def leave_out_dependent(form, structure, disc, j, violation):
    """Leave out the equation of unknown j if its pivot vanishes at all nodes.

    violation: of the constraints, squared; below 0 if not evaluated yet. Returns it.
    """
    lanes = in_lanes(disc)
    k = structure.equation[j]
    x = lanes.L[j]
    y = lanes.L_im[j]
    lanes.out[0] = (x * x + y * y) / (lanes.growth[j] * lanes.growth[j])
    share = np.sqrt(eval_largest(disc, 0))
    if violation < 0.0:
        violation = eval_violation(form, structure, disc)
    # Written so that nan is left out.
    if not share > max(ZERO_PIVOT, ZERO_SQUARES * violation):
        n = len(structure.equation)
        disc.kept[k] = 0.0
        lanes.L[j] = 0.0 * x - 1.0
        lanes.L_im[j] = 0.0 * x
        for a in range(n + form.L_start[j], n + form.L_start[j + 1]):
            lanes.L[a] = 0.0 * x
            lanes.L_im[a] = 0.0 * x
    return violation


@noinline
def eliminate_nodes(form, structure, disc):
    """K = L D L^T at all nodes: pivots, then the remaining columns; redundant equations are left out."""
    lanes = in_lanes(disc)
    n = len(structure.equation)
    violation = -1.0
    for k in range(len(form.phi0)):
        disc.kept[k] = 1.0
    assemble_nodes(form, disc)
    for j in range(n):
        lanes.growth[j] = 0.0 * lanes.powers[0] + 1.0
    t = 0
    for j in range(n):
        x = lanes.L[j]
        y = lanes.L_im[j]
        square = x * x + y * y
        if structure.equation[j] >= 0 and not any_lane(square > LOW_PIVOT**2 * lanes.growth[j]):
            violation = leave_out_dependent(form, structure, disc, j, violation)
            x = lanes.L[j]
            y = lanes.L_im[j]
            square = x * x + y * y
        size = 1.0 / (square + TINY)
        p = x * size
        q = -y * size
        first = n + form.L_start[j]
        last = n + form.L_start[j + 1]
        for a in range(first, last):
            u = lanes.L[a]
            v = lanes.L_im[a]
            f = u * p - v * q
            g = u * q + v * p
            # Effect of the rounding of this pivot on later ones.
            lanes.growth[form.L_row[a - n]] += (f * f + g * g) * lanes.growth[j]
            for b in range(a, last):
                target = form.L_target[t]
                lanes.L[target] = lanes.L[target] - f * lanes.L[b] + g * lanes.L_im[b]
                lanes.L_im[target] = lanes.L_im[target] - f * lanes.L_im[b] - g * lanes.L[b]
                t += 1


@noinline
def eliminate_rates(form, structure, disc):
    """K = L D L^T and its derivative at all nodes; disc.trace: sum of d'/d over the pivots of each part."""
    lanes = in_lanes(disc)
    n = len(structure.equation)
    assemble_nodes(form, disc)
    assemble_rates(form, disc)
    for m in range(len(disc.trace)):
        lanes.trace[m] = 0.0 * lanes.powers[0]
        lanes.trace_im[m] = 0.0 * lanes.powers[0]
    t = 0
    for j in range(n):
        x = lanes.L[j]
        y = lanes.L_im[j]
        size = 1.0 / (x * x + y * y + TINY)
        p = x * size
        q = -y * size
        # d' / d
        u = lanes.L_rate[j]
        v = lanes.L_rate_im[j]
        r = u * p - v * q
        s = u * q + v * p
        lanes.trace[structure.part[j]] += r
        lanes.trace_im[structure.part[j]] += s
        first = n + form.L_start[j]
        last = n + form.L_start[j + 1]
        for a in range(first, last):
            # l = L / d, and its derivative L' / d - l d' / d
            u = lanes.L[a]
            v = lanes.L_im[a]
            f = u * p - v * q
            g = u * q + v * p
            u = lanes.L_rate[a]
            v = lanes.L_rate_im[a]
            df = u * p - v * q - f * r + g * s
            dg = u * q + v * p - f * s - g * r
            for b in range(a, last):
                target = form.L_target[t]
                x = lanes.L[b]
                y = lanes.L_im[b]
                u = lanes.L_rate[b]
                v = lanes.L_rate_im[b]
                lanes.L[target] = lanes.L[target] - f * x + g * y
                lanes.L_im[target] = lanes.L_im[target] - f * y - g * x
                lanes.L_rate[target] = lanes.L_rate[target] - df * x + dg * y - f * u + g * v
                lanes.L_rate_im[target] = lanes.L_rate_im[target] - df * y - dg * x - f * v - g * u
                t += 1


@kernel
def eval_excess(structure, disc):
    """Sum of log(R / |a - c|) over the zeros a of g in the disc, and log|g| at the centre c."""
    lanes = in_lanes(disc)
    total = 0.0 * lanes.powers[0]
    product = total + 1.0
    for j in range(len(structure.equation)):
        x = lanes.L[j]
        y = lanes.L_im[j]
        product = product * (x * x + y * y + TINY)
        if j % IN_PRODUCT == IN_PRODUCT - 1:
            total = total + np.log(product)
            product = 0.0 * product + 1.0
    # log |det|^2, which is four times log|g|.
    lanes.out[0] = total + np.log(product)
    rim = 0.0
    for lane in range(WIDTH - 1):
        rim += disc.out[0, lane]
    centre = 0.25 * disc.out[0, WIDTH - 1]
    return 0.25 * rim / (WIDTH - 1.0) - centre, centre


@kernel
def eval_low(form, structure, disc):
    """Smallest ratio of a pivot at the centre to the largest of its equation so far, and the number of pivots."""
    low = 1.0
    rank = 0.0
    for k in range(len(form.pos_c)):
        if disc.kept[k] > 0.0:
            pivot = -disc.L[form.pos_c[k], WIDTH - 1] / structure.size[k]
            # Without the inertia of other equations the pivots are bounded; a first pivot is compared with itself.
            disc.reference_pivots[k] = max(disc.reference_pivots[k], pivot)
            low = min(low, pivot / max(disc.reference_pivots[k], TINY))
            rank += 1.0
    return low, rank


@noinline
def screen_step(form, structure, disc, qc, order, c, half):
    """For a step about c: sum over the zeros in its disc, smallest pivot ratio, rank and log|g| at its centre."""
    radius = WIDER * half
    x = rows_of_lanes(SCREEN_COS)[0] * radius + c
    y = rows_of_lanes(SCREEN_SIN)[0] * radius
    eval_powers(disc, order, x, y)
    eval_jacobians(form, disc, qc, order)
    eliminate_nodes(form, structure, disc)
    low, rank = eval_low(form, structure, disc)
    excess, regularity = eval_excess(structure, disc)
    return excess, low, rank, regularity


@noinline
def eval_moments(form, structure, disc, qc, order, c, radius):
    """Moments of the zeros in a disc, in disc.sums, for each part of the mechanism."""
    x = rows_of_lanes(RIM_COS)[0] * radius + c
    y = rows_of_lanes(RIM_SIN)[0] * radius
    eval_powers(disc, order, x, y)
    eval_jacobians(form, disc, qc, order)
    eval_jacobian_rates(form, disc, qc, order)
    eliminate_rates(form, structure, disc)
    for m in range(len(disc.sums)):
        for k in range(MOMENTS):
            s = 0.0
            for lane in range(WIDTH):
                s += (
                    POWERS_COS[k, lane] * disc.trace[m, lane]
                    - POWERS_SIN[k, lane] * disc.trace_im[m, lane]
                )
            # 16 nodes; both halves of the rim; det K is a square.
            disc.sums[m, k] = s * radius / (2.0 * WIDTH)


@kernel
def has_zeros(sums):
    """Whether moments show zeros in a disc."""
    largest = 0.0
    for k in range(MOMENTS):
        largest = max(largest, abs(sums[k]))
    # A diverging run gives nan.
    return largest > NONE and np.isfinite(largest)


@kernel
def eval_variance(sums):
    """Variance of the zeros, in radii squared, and whether they are one location as far as the moments show."""
    a = sums[1] / sums[0]
    b = sums[2] / sums[0]
    c = sums[3] / sums[0]
    d = sums[4] / sums[0]
    second = b - a * a
    third = c - 3.0 * a * b + 2.0 * a * a * a
    fourth = d - 4.0 * a * c + 6.0 * a * a * b - 3.0 * a * a * a * a
    narrow = (
        sums[0] > 0.5
        and abs(second) < NARROW[0]
        and abs(third) < NARROW[1]
        and abs(fourth) < NARROW[2]
    )
    return second, narrow


@noinline
def settle_place(form, structure, disc, qc, order, c, radius, m):
    """Mean and variance of zeros that are one location by the moments in disc.known, from discs about themselves.

    Returns time, number, variance, radius of the last disc, and whether they were one location there, too.
    """
    second, _ = eval_variance(disc.known[m])
    mean = disc.known[m, 1] / disc.known[m, 0]
    c += radius * mean
    # Other zeros are beyond the rim.
    free = (1.0 - abs(mean)) * radius
    first = radius
    closer = CLOSER
    count = 0.0
    turn = 0
    settled = False
    while turn < TURNS and not settled:
        near = max(closer, AROUND * np.sqrt(abs(second)))
        # For several zeros the pivots are a higher power of the distance: at smaller distances there is only
        # rounding.
        if turn == 0:
            radius = min(near, 1.0) * first
        elif count < 1.5:
            radius *= min(near, 1.0)
        eval_moments(form, structure, disc, qc, order, c, radius)
        number = np.rint(disc.sums[m, 0])
        now, narrow = eval_variance(disc.sums[m])
        good = narrow and number > 0.5 and abs(disc.sums[m, 0] - number) < WHOLE
        if turn > 0 and not (good and number == count):
            # Rounding dominates: the previous result is better.
            return c, count, second * radius * radius, radius, True
        if not good and closer > FARTHEST:
            return c, 0.0, 0.0, radius, False
        if good:
            shift = disc.sums[m, 1] / disc.sums[m, 0]
            c += radius * shift
            second = now
            count = number
            turn += 1
            settled = abs(shift) < (CENTRAL if radius < FAR * free else SETTLED)
        else:
            # So close to zeros of higher order the pivots are only rounding.
            closer *= FARTHER
    return c, count, second * radius * radius, radius, True


@kernel
def wait(stack, waiting, c, half, m, depth):
    """Push the two halves of a disc onto the stack; returns the size of the stack."""
    for side in range(2):
        stack[waiting + side, 0] = c + (side - 0.5) * half
        stack[waiting + side, 1] = 0.5 * half
        stack[waiting + side, 2] = m
        stack[waiting + side, 3] = depth + 1.0
    return waiting + 2


@kernel
def is_known(found, count, t, m, same):
    """Whether a location of a part is among those already found in the same step."""
    known = False
    for n in range(count):
        if found[n, PART] == m and abs(found[n, TIME] - t) <= same:
            known = True
    return known


@kernel
def keep_place(found, count, t, zeros, variance, m, resolved):
    """Add one row to the locations."""
    found[count, TIME] = t
    found[count, ZEROS] = zeros
    found[count, VARIANCE] = variance
    found[count, PART] = m
    found[count, RESOLVED] = resolved


@noinline
def look_at_part(form, structure, disc, qc, order, c, half, depth, m, splits, found, count):
    """Contents of a disc for a part with known moments: NOTHING, HALVES to be examined, or A_PLACE, now stored.

    Returns which, and the centre and half width of the interval to be halved, or the time of the location.
    """
    _, narrow = eval_variance(disc.known[m])
    if narrow and abs(disc.known[m, 1] / disc.known[m, 0]) * WIDER > OUTSIDE:
        return NOTHING, c, half
    if narrow:
        t, zeros, variance, radius, one = settle_place(
            form, structure, disc, qc, order, c, WIDER * half, m
        )
        within = abs(t - c) <= (1.0 + BEYOND) * half
        if one and not within:
            return NOTHING, t, half
        apart = zeros > 2.5 and abs(variance) > APART * radius * radius
        if one and splits and apart and depth < DEEPEST:
            return HALVES, t, radius / WIDER
        if one:
            if is_known(found, count, t, m, SAME * half):
                return NOTHING, t, half
            keep_place(found, count, t, zeros, variance, m, 1.0)
            return A_PLACE, t, half
    if depth < DEEPEST:
        return HALVES, c, half
    # These zeros cannot be separated: use the middle of the remaining interval.
    keep_place(found, count, c, np.rint(disc.known[m, 0]), 0.0, m, 0.0)
    return A_PLACE, c, half


@noinline
def search(form, structure, disc, qc, order, c, half, part, splits, found):
    """Locations at which J loses rank, or nearly does, less than `half` from c; returns their number.

    part: of the mechanism, -1: all. splits: whether three or more zeros that are not exactly one location are
    separated. disc.kept: the independent equations. Outputs: found: one row per location.
    """
    count = 0
    discs = 0
    disc.stack[0, 0] = c
    disc.stack[0, 1] = half
    disc.stack[0, 2] = part
    disc.stack[0, 3] = 0.0
    waiting = 1
    while waiting > 0 and count < len(found):
        waiting -= 1
        c = disc.stack[waiting, 0]
        half = disc.stack[waiting, 1]
        only = disc.stack[waiting, 2]
        discs += 1
        depth = disc.stack[waiting, 3] if discs < MOST_DISCS else 1.0 * DEEPEST
        eval_moments(form, structure, disc, qc, order, c, WIDER * half)
        for m in range(len(disc.sums)):
            for k in range(MOMENTS):
                disc.known[m, k] = disc.sums[m, k]
        for m in range(len(disc.sums)):
            mine = only < 0.0 or only == m
            if mine and count < len(found) and has_zeros(disc.known[m]):
                what, t, width = look_at_part(
                    form, structure, disc, qc, order, c, half, depth, m, splits, found, count
                )
                if what == HALVES and waiting + 2 <= len(disc.stack):
                    waiting = wait(disc.stack, waiting, t, width, m, depth)
                elif what == A_PLACE:
                    count += 1
    return count


@entry
def look_at_steps(form, structure, disc, pieces, first, steps, seen, middles, found):
    """Screen the steps from `first` on, and locate the zeros of those that contain any.

    Returns the number of the next step to screen and the number of locations found; it stops early if their memory
    is full. Outputs: seen: one row per step; middles: configurations at mid-step; found: one row per location;
    disc.reference_pivots: the largest pivots so far.
    """
    count = 0
    for n in range(first, steps):
        if count + ROOM > len(found):
            return n, count
        qc = pieces.coefficients[n]
        order = pieces.orders[n]
        half = 0.5 * (pieces.starts[n + 1] - pieces.starts[n])
        excess, low, rank, regularity = screen_step(form, structure, disc, qc, order, half, half)
        seen[n, EXCESS] = excess
        seen[n, LOW] = low
        seen[n, RANK] = rank
        seen[n, REGULARITY] = regularity
        for i in range(len(form.Q)):
            middles[n, i] = disc.q[i, WIDTH - 1]
        if abs(excess) > FLAG:
            before = count
            count += search(form, structure, disc, qc, order, half, half, -1, False, found[before:])
            for k in range(before, count):
                found[k, TIME] += pieces.starts[n]
                found[k, BEFORE] = pieces.starts[n]
                found[k, AFTER] = pieces.starts[n + 1]
                found[k, STEP] = n
    return steps, count


@entry
def locate(form, structure, disc, qc, order, first, last, part, splits, found):
    """Zeros of a part of the mechanism between two times of a polynomial; returns the number of locations."""
    c = 0.5 * (first + last)
    half = 0.5 * (last - first)
    screen_step(form, structure, disc, qc, order, c, half)
    return search(form, structure, disc, qc, order, c, half, part, splits, found)


@entry
def eval_pivots_at(form, structure, disc, q, pivots):
    """Pivots of all equations at a configuration, relative to their squared norms; 0 for redundant equations."""
    zero = 0.0 * rows_of_lanes(RIM_COS)[0]
    eval_powers(disc, 0, zero, zero)
    eval_jacobians(form, disc, q, 0)
    eliminate_nodes(form, structure, disc)
    for k in range(len(pivots)):
        pivots[k] = -disc.kept[k] * disc.L[form.pos_c[k], 0] / structure.size[k]
