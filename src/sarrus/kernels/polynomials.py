"""Polynomials of steps evaluated: position, velocity and acceleration by Horner's rule."""

from .compiler import kernel


@kernel
def eval_polynomial(qc, order, s, q, v):
    """Position and velocity at s after the start of a step, by Horner's rule."""
    nq = qc.shape[1]
    for i in range(nq):
        q[i] = qc[order, i]
        v[i] = order * qc[order, i]
    for k in range(order - 1, 0, -1):
        row = qc[k]
        for i in range(nq):
            q[i] = q[i] * s + row[i]
            v[i] = v[i] * s + k * row[i]
    row = qc[0]
    for i in range(nq):
        q[i] = q[i] * s + row[i]


@kernel
def eval_polynomial_rate(qc, order, s, a):
    """Acceleration at s after the start of a step."""
    for i in range(qc.shape[1]):
        x = 0.0
        for k in range(order, 1, -1):
            x = x * s + k * (k - 1.0) * qc[k, i]
        a[i] = x


@kernel
def eval_piece(qc, order, s, q, v):
    """Position and velocity; those of a method of first order have polynomials apart."""
    nq = len(q)
    if qc.shape[1] == nq:
        eval_polynomial(qc, order, s, q, v)
        return
    for i in range(nq):
        x, y = 0.0, 0.0
        for k in range(order, -1, -1):
            x = x * s + qc[k, i]
            y = y * s + qc[k, nq + i]
        q[i] = x
        v[i] = y


@kernel
def eval_derivatives(qc, order, s, q, v, a):
    """Position, velocity and half the acceleration at s after the start of a step, by Horner's rule."""
    nq = len(q)
    row = qc[order]
    for i in range(nq):
        q[i] = row[i]
        v[i] = 0.0
        a[i] = 0.0
    for k in range(order - 1, -1, -1):
        row = qc[k]
        for i in range(nq):
            a[i] = a[i] * s + v[i]
            v[i] = v[i] * s + q[i]
            q[i] = q[i] * s + row[i]
