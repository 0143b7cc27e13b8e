"""Taylor coefficients of loads and of driven right sides, by recursions of their own.

With x = sum x_k s^k for every quantity, the coefficients of products are Cauchy sums, and

    l^2 = d . d       2 l_0 l_m = (d . d)_m - sum_{0<j<m} l_j l_{m-j}
    r l = P           l_0 r_k = P_k - sum_{j<k} r_j l_{k-j}
    theta' = c s' - s c'
    C = cos x, S = sin x      m S_m = sum_j j x_j C_{m-j},      m C_m = -sum_j j x_j S_{m-j}

The force of coefficient k needs positions and rates up to k, so the forms up to k + 1: they are known
when q_{k+2} is computed, and the order of the series is kept. Arrays here have one row a quantity.
"""

import numpy as np

from .compiler import block, kernel
from .drives import COSINE, EQUATION, KIND, LINEAR, MOTION, SINE, SQUARE, find_piece
from .forces import (
    DAMPING,
    FREE,
    PRELOAD,
    STIFFNESS,
    eval_load_form_rates,
    eval_load_forms,
    eval_spring_energy,
    eval_turn,
    unwrap,
)


@block
def cauchy(x, y, first, last, total):
    """Sum over j = first .. last - 1 of x_j y_{total - j}."""
    s = 0.0
    for j in range(first, last):
        s += x[j] * y[total - j]
    return s


@block
def cauchy_rates(x, y, k):
    """Coefficient k of x y': sum over j <= k of x_{k-j} (j+1) y_{j+1}."""
    s = 0.0
    for j in range(k + 1):
        s += x[k - j] * (j + 1.0) * y[j + 1]
    return s


@kernel
def dot_coefficient(x, a, b, m):
    """Coefficient m of the scalar product of the rows a, a+1, a+2 and b, b+1, b+2 of x."""
    s = 0.0
    for i in range(3):
        s += cauchy(x[a + i], x[b + i], 0, m + 1, m)
    return s


@kernel
def length_coefficient(loads, n, m):
    """Coefficient m of the length of a spring."""
    a = loads.line_f[n]
    length = loads.length[n]
    square = dot_coefficient(loads.fc, a, a, m)
    if m == 0:
        length[0] = np.sqrt(square)
    else:
        length[m] = 0.5 * (square - cauchy(length, length, 1, m, m)) / length[0]


@kernel
def line_coefficient(loads, n, k):
    """Coefficient k of what a spring exerts, added to loads.fw."""
    a = loads.line_f[n]
    p = loads.line[n]
    length = loads.length[n]
    ratio = loads.ratio[n]
    if k == 0:
        length_coefficient(loads, n, 0)
    length_coefficient(loads, n, k + 1)
    pull = p[STIFFNESS] * length[k] + p[DAMPING] * (k + 1.0) * length[k + 1]
    if k == 0:
        pull += p[PRELOAD] - p[STIFFNESS] * p[FREE]
    ratio[k] = (pull - cauchy(ratio, length, 0, k, k)) / length[0]
    for i in range(3):
        loads.fw[a + i] -= cauchy(ratio, loads.fc[a + i], 0, k + 1, k)


@kernel
def angle_coefficient(loads, n, k):
    """Coefficient k of what a torsion exerts, added to loads.fw."""
    u = loads.angle_f[n]
    p = loads.angle[n]
    turn = loads.turn[n]
    c, s, theta, moment, mc, ms = turn[0], turn[1], turn[2], turn[3], turn[4], turn[5]
    if k == 0:
        theta[0] = loads.theta[n]
        c[0] = dot_coefficient(loads.fc, u, u + 6, 0)
        s[0] = dot_coefficient(loads.fc, u + 3, u + 6, 0)
    c[k + 1] = dot_coefficient(loads.fc, u, u + 6, k + 1)
    s[k + 1] = dot_coefficient(loads.fc, u + 3, u + 6, k + 1)
    rate = cauchy_rates(c, s, k) - cauchy_rates(s, c, k)
    theta[k + 1] = rate / (k + 1.0)
    moment[k] = -p[STIFFNESS] * theta[k] - p[DAMPING] * rate
    if k == 0:
        moment[0] += p[PRELOAD] + p[STIFFNESS] * p[FREE]
    mc[k] = cauchy(moment, c, 0, k + 1, k)
    ms[k] = cauchy(moment, s, 0, k + 1, k)
    for i in range(u, u + 3):
        loads.fw[i] -= cauchy(ms, loads.fc[i + 6], 0, k + 1, k)
        loads.fw[i + 3] += cauchy(mc, loads.fc[i + 6], 0, k + 1, k)
        loads.fw[i + 6] += cauchy(mc, loads.fc[i + 3], 0, k + 1, k) - cauchy(
            ms, loads.fc[i], 0, k + 1, k
        )


@block
def load_coefficient(loads, k):
    """loads.fw: coefficient k of w, from the forms up to k + 1."""
    for i in range(len(loads.fw)):
        loads.fw[i] = 0.0
    for n in range(len(loads.line)):
        line_coefficient(loads, n, k)
    for n in range(len(loads.angle)):
        angle_coefficient(loads, n, k)
    for n in range(len(loads.pr_c)):
        loads.fw[loads.pr_a[n]] += loads.pr_c[n] * loads.fc[loads.pr_b[n], k]


@kernel
def start_loads(loads, q, v):
    """The first two coefficients of the load forms."""
    eval_load_forms(loads, q)
    for i in range(len(loads.f)):
        loads.fc[i, 0] = loads.f[i]
    keep_load_forms(loads, 1, v)


@kernel
def keep_load_forms(loads, m, row):
    """Coefficient m of the load forms, from that of q."""
    eval_load_form_rates(loads, row)
    for i in range(len(loads.df)):
        loads.fc[i, m] = loads.df[i]


@kernel
def land_loads(loads, order, h, q):
    """Energy of the springs at the end of a step, with loads.theta, the angles there."""
    eval_load_forms(loads, q)
    for n in range(len(loads.angle)):
        c, s = eval_turn(loads, n, loads.f)
        loads.theta[n] = unwrap(np.arctan2(s, c), eval_series(loads.turn[n, 2], order, h))
    return eval_spring_energy(loads, loads.theta)


@kernel
def motion_coefficients(loads, m, t, x):
    """All coefficients of a motion about t."""
    n = find_piece(loads, m, t)
    poly = loads.motion_poly[n]
    s = t - loads.motion_break[n]
    degree = len(poly) - 1
    for k in range(len(x)):
        x[k] = 0.0
    for k in range(min(degree + 1, len(x))):
        value = 0.0
        # binomial(i, k) s^(i - k), from the highest power down
        for i in range(degree, k - 1, -1):
            factor = 1.0
            for j in range(k):
                factor *= (i - j) / (j + 1.0)
            value = value * s + factor * poly[i]
        x[k] = value
    sines = loads.motion_sine[m]
    amplitude, rate, phase = sines[0], sines[1], sines[2]
    if amplitude != 0.0:
        sine = amplitude * np.sin(rate * t + phase)
        cosine = amplitude * np.cos(rate * t + phase)
        factor = 1.0
        for k in range(len(x)):
            if k > 0:
                factor *= rate / k
            # derivatives of the sine: sin, cos, -sin, -cos
            part = sine if k % 2 == 0 else cosine
            x[k] += factor * (part if k % 4 < 2 else -part)


@block
def start_drives(loads, t):
    """Coefficients of all motions about t, and the first two of the driven right sides."""
    for m in range(len(loads.motion_sine)):
        motion_coefficients(loads, m, t, loads.motion[m])
    drive_coefficients(loads, 0)
    drive_coefficients(loads, 1)


@block
def drive_coefficients(loads, m):
    """Coefficient m of the driven right sides, loads.side[k, m], without their factors."""
    for k in range(len(loads.drive)):
        x = loads.motion[loads.drive[k, MOTION]]
        y = loads.side[k]
        kind = loads.drive[k, KIND]
        if kind == LINEAR:
            y[m] = x[m]
        elif kind == SQUARE:
            y[m] = 0.5 * cauchy(x, x, 0, m + 1, m)
        elif kind == COSINE:
            # the sine of the same motion is the next equation
            z = loads.side[k + 1]
            if m == 0:
                y[0] = np.cos(x[0])
                z[0] = np.sin(x[0])
            else:
                y[m] = -cauchy_rates(z, x, m - 1) / m
                z[m] = cauchy_rates(y, x, m - 1) / m


@block
def add_work(factor, x, y, last, work):
    """work += factor * integral of x y', both up to coefficient `last`."""
    for i in range(last + 1):
        for j in range(1, last + 1):
            work[i + j] += factor * x[i] * (j * y[j]) / (i + j)


@block
def add_damping(factor, x, last, work):
    """work -= factor * integral of x'^2, x up to coefficient `last`."""
    for i in range(1, last + 1):
        for j in range(1, last + 1):
            work[i + j - 1] -= factor * (i * x[i]) * (j * x[j]) / (i + j - 1.0)


@kernel
def drive_coefficient(loads, lam, m, k):
    """Coefficient k of the force of a drive along its motion, -lam . dphi0/dx.

    The multipliers of an angle are not unique, this sum of them is; so it is taken first.
    """
    force = 0.0
    for n in range(len(loads.drive)):
        if loads.drive[n, MOTION] == m:
            kind = loads.drive[n, KIND]
            eq = loads.drive[n, EQUATION]
            if kind == LINEAR:
                part = lam[k, eq]
            else:
                # slopes: x of a square, -sine of a cosine, cosine of a sine
                slope = loads.motion[m]
                if kind == COSINE:
                    slope = loads.side[n + 1]
                elif kind == SINE:
                    slope = loads.side[n - 1]
                part = 0.0
                for j in range(k + 1):
                    part += lam[k - j, eq] * slope[j]
                if kind == COSINE:
                    part = -part
            force -= loads.drive_c[n] * part
    return force


@block
def work_coefficients(loads, lam, known):
    """loads.work: coefficients of the work of loads without potential and of drives since t.

    Work is quadratic in the motion and its series converges more slowly than that of the motion: so
    it is the integral of the product of polynomials, with all their powers up to 2 known.
    """
    for k in range(len(loads.work)):
        loads.work[k] = 0.0
    if len(loads.f0):
        # the forms are known one further than what acts on them
        load_coefficient(loads, known - 1)
    for n in range(len(loads.line)):
        if loads.line[n, DAMPING] != 0.0:
            add_damping(loads.line[n, DAMPING], loads.length[n], known, loads.work)
    for n in range(len(loads.angle)):
        theta = loads.turn[n, 2]
        if loads.angle[n, DAMPING] != 0.0:
            add_damping(loads.angle[n, DAMPING], theta, known, loads.work)
        for k in range(1, known + 1):
            loads.work[k] += loads.angle[n, PRELOAD] * theta[k]
    for n in range(len(loads.pr_c)):
        add_work(loads.pr_c[n], loads.fc[loads.pr_b[n]], loads.fc[loads.pr_a[n]], known, loads.work)
    for m in range(len(loads.motion_sine)):
        force = loads.pull[m]
        for k in range(known + 1):
            force[k] = drive_coefficient(loads, lam, m, k) if k < known - 1 else 0.0
        add_work(1.0, force, loads.motion[m], known, loads.work)


@kernel
def eval_series(x, order, s):
    """Sum x_k s^k up to the order."""
    value = x[order]
    for k in range(order - 1, -1, -1):
        value = value * s + x[k]
    return value
