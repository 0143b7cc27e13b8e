"""Polynomials: products of Taylor series, evaluation of step polynomials, and their interpolation from states.

With x = sum x_k s^k for every quantity, the coefficients of products are Cauchy sums.

Interpolation [HairerNorsettWanner1993, sec. II.6] uses configuration, velocity and acceleration at n + 1 times, (n
+ 1, 3, nq), and gives coefficients of the powers of the time since the start of each step, (n, order + 1, nq).
"""

from .compiler import entry, kernel, noinline
from .simd import choose, shared


@kernel
def dot(x, i, y, j):
    """Scalar product of three numbers starting at x[i] and three starting at y[j]."""
    return x[i] * y[j] + x[i + 1] * y[j + 1] + x[i + 2] * y[j + 2]


@noinline
def cauchy(x, y, first, last, total):
    """Sum over j = first .. last - 1 of x_j y_{total - j}."""
    s = 0.0
    for j in range(first, last):
        s += x[j] * y[total - j]
    return s


@noinline
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


@noinline
def add_product(factor, x, y, last, work):
    """work += factor * integral of x y', both up to coefficient `last`."""
    for i in range(last + 1):
        for j in range(1, last + 1):
            work[i + j] += factor * x[i] * (j * y[j]) / (i + j)


@noinline
def add_damping(factor, x, last, work):
    """work -= factor * integral of x'^2, x up to coefficient `last`."""
    for i in range(1, last + 1):
        for j in range(1, last + 1):
            work[i + j - 1] -= factor * (i * x[i]) * (j * x[j]) / (i + j - 1.0)


@kernel
def eval_series(x, order, s):
    """Sum of x_k s^k up to the order."""
    value = 0.0
    for k in range(shared(order), -1, -1):
        if k <= order:
            value = value * s + x[k]
    return value


@kernel
def cut_series(qc, order):
    """Set coefficients above the order to zero, up to the highest order of the runs in lanes."""
    for k in range(1 - shared(-order), shared(order) + 1):
        for i in range(qc.shape[1]):
            qc[k, i] = choose(k <= order, qc[k, i], 0.0)


@kernel
def eval_polynomial(qc, order, s, is_cut, q, v):
    """Configuration and velocity at time s after the start of a step, by Horner's rule.

    is_cut: 1 if runs in lanes have zeros above their orders (`cut_series`), else 0.
    """
    n = qc.shape[1]
    # Two coordinates at once: the operations on one form a dependent chain, those on the other overlap with it.
    for half in range(n // 2):
        eval_two(qc, order, s, is_cut, 2 * half, 2 * half + 1, q, v)
    if n % 2 == 1:
        eval_two(qc, order, s, is_cut, n - 1, n - 1, q, v)


@kernel
def eval_two(qc, order, s, is_cut, i, j, q, v):
    """Values and velocities of two coordinates, or of one coordinate twice."""
    x, y, z, w = 0.0, 0.0, 0.0, 0.0
    for k in range(shared(order), 0, -1):
        # The derivative of the partial sum, by the same scheme.
        y = y * s + x
        w = w * s + z
        x = x * s + (qc[k, i] if is_cut == 1 or k <= order else 0.0)
        z = z * s + (qc[k, j] if is_cut == 1 or k <= order else 0.0)
    q[i] = x * s + qc[0, i]
    v[i] = y * s + x
    q[j] = z * s + qc[0, j]
    v[j] = w * s + z


@kernel
def eval_polynomial_rate(qc, order, s, a):
    """Acceleration at time s after the start of a step."""
    for i in range(qc.shape[1]):
        x = 0.0
        for k in range(order, 1, -1):
            x = x * s + k * (k - 1.0) * qc[k, i]
        a[i] = x


@kernel
def eval_piece(qc, order, s, q, v):
    """Configuration and velocity; first-order methods have separate polynomials for both."""
    nq = len(q)
    if qc.shape[1] == nq:
        eval_polynomial(qc, order, s, 1, q, v)
        return
    for i in range(nq):
        x, y = 0.0, 0.0
        for k in range(order, -1, -1):
            x = x * s + qc[k, i]
            y = y * s + qc[k, nq + i]
        q[i] = x
        v[i] = y


@entry
def fill_cubics(times, states, coefficients):
    """Cubics from configurations and velocities at both ends of each step."""
    for n in range(len(times) - 1):
        h = times[n + 1] - times[n]
        for i in range(states.shape[2]):
            q0, v0 = states[n, 0, i], states[n, 1, i]
            dq, dv = states[n + 1, 0, i] - q0 - h * v0, states[n + 1, 1, i] - v0
            coefficients[n, 0, i] = q0
            coefficients[n, 1, i] = v0
            coefficients[n, 2, i] = (3.0 * dq - h * dv) / h**2
            coefficients[n, 3, i] = (h * dv - 2.0 * dq) / h**3


@entry
def fill_quintics(times, states, coefficients):
    """Quintics from configurations, velocities and accelerations at both ends of each step."""
    for n in range(len(times) - 1):
        h = times[n + 1] - times[n]
        for i in range(states.shape[2]):
            q0, v0, a0 = states[n, 0, i], states[n, 1, i], states[n, 2, i]
            p = (states[n + 1, 0, i] - q0 - h * v0) / h**2 - 0.5 * a0
            w = (states[n + 1, 1, i] - v0) / h - a0
            z = states[n + 1, 2, i] - a0
            coefficients[n, 0, i] = q0
            coefficients[n, 1, i] = v0
            coefficients[n, 2, i] = 0.5 * a0
            coefficients[n, 3, i] = (10.0 * p - 4.0 * w + 0.5 * z) / h
            coefficients[n, 4, i] = (-15.0 * p + 7.0 * w - z) / h**2
            coefficients[n, 5, i] = (6.0 * p - 3.0 * w + 0.5 * z) / h**3
