"""A fixed small workload for comparing machines; not part of any method."""

from .compiler import entry


@entry
def eliminate(a, times):
    """Fill and eliminate a small dense matrix repeatedly: short loops, as in the solvers."""
    n = a.shape[0]
    total = 0.0
    for _ in range(times):
        for i in range(n):
            for j in range(n):
                a[i, j] = n if i == j else 1.0 / (1.0 + i + j)
        for k in range(n):
            for i in range(k + 1, n):
                f = a[i, k] / a[k, k]
                for j in range(k, n):
                    a[i, j] -= f * a[k, j]
        total += a[n - 1, n - 1]
    return total
