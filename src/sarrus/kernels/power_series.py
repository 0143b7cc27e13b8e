"""Arithmetic of rows of numbers: scalar products, products of Taylor series and their integrals.

With x = sum x_k s^k for every quantity, the coefficients of products are Cauchy sums.
"""

from .compiler import block, kernel


@kernel
def dot(x, i, y, j):
    """Scalar product of three numbers from x[i] on and three from y[j] on."""
    return x[i] * y[j] + x[i + 1] * y[j + 1] + x[i + 2] * y[j + 2]


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


@block
def add_product(factor, x, y, last, work):
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
def eval_series(x, order, s):
    """Sum x_k s^k up to the order."""
    value = x[order]
    for k in range(order - 1, -1, -1):
        value = value * s + x[k]
    return value
