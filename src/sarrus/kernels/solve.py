"""The one linear solve: K = [M + rho Js^T Js, J^T; J, -eps] = L D L^T in a static order.

K is quasi-definite, so the factorisation exists for every symmetric order without pivoting
[Vanderbei1995]. A dependent equation shows as a pivot that falls to about -eps; its multiplier absorbs
rounding along the null space of J^T, which exerts no force.
"""

from ..thresholds import EPS, PERMANENT_PIVOT, WEAK_PIVOT
from .compiler import block, kernel


@block
def factorise_damped(form, J, damping, L):
    """K with a larger eps: `damping` of each equation's own J M^-1 J^T is added to it."""
    larger = 1.0 + damping / EPS
    nq = len(form.pos_q)
    nc = len(form.pos_c)
    n = nq + nc
    for k in range(len(L)):
        L[k] = 0.0
    for k in range(len(form.K_M)):
        L[form.K_M[k]] = form.K_M_val[k]
    for k in range(len(form.K_A)):
        a = form.K_A_1[k]
        L[form.K_A[k]] += form.rho[form.J_eq[a]] * J[a] * J[form.K_A_2[k]]
    for k in range(nc):
        L[form.pos_c[k]] = -form.eps[k] * larger
    for k in range(len(J)):
        L[form.K_J[k]] = J[k]
    t = 0
    for j in range(n):
        inverse = 1.0 / L[j]
        L[j] = inverse
        first = n + form.L_start[j]
        last = n + form.L_start[j + 1]
        for a in range(first, last):
            f = L[a] * inverse
            for b in range(a, last):
                L[form.L_target[t]] -= f * L[b]
                t += 1
        for a in range(first, last):
            L[a] *= inverse


@kernel
def factorise(form, J, L):
    """Assemble and factorise K. L: the inverses of the n pivots, then the entries of L."""
    factorise_damped(form, J, 0.0, L)


@kernel
def learn_pivots(form, L, usual):
    """The largest relative pivot that each equation has shown so far, in `usual`.

    The pivot of an equation is compared with eps / EPS, the size it would have alone.
    """
    for k in range(len(usual)):
        usual[k] = max(usual[k], -EPS / (L[form.pos_c[k]] * form.eps[k]))


@kernel
def eval_pivots(form, L, usual):
    """The smallest relative pivot, and the smallest against what is usual for its equation.

    An equation that never had more than PERMANENT_PIVOT is redundant at every position: it says nothing
    about singular ones (its pivot is eps, and that of the equations it depends on).
    """
    smallest = 1.0
    drop = 1.0
    for k in range(len(usual)):
        if usual[k] > PERMANENT_PIVOT:
            pivot = -EPS / (L[form.pos_c[k]] * form.eps[k])
            smallest = min(smallest, pivot)
            drop = min(drop, pivot / usual[k])
    return smallest, drop


@kernel
def solve_factored(form, L, x):
    """Solve K x = x in place, unknowns in elimination order."""
    n = len(x)
    for j in range(n):
        s = x[j]
        for a in range(form.L_start[j], form.L_start[j + 1]):
            x[form.L_row[a]] -= L[n + a] * s
    for j in range(n - 1, -1, -1):
        s = x[j] * L[j]
        for a in range(form.L_start[j], form.L_start[j + 1]):
            s -= L[n + a] * x[form.L_row[a]]
        x[j] = s


@kernel
def add_augmentation(form, J, b):
    """Add rho Js^T r2 to the first block of a right side."""
    for k in range(len(J)):
        rho = form.rho[form.J_eq[k]]
        if rho != 0.0:
            b[form.pos_q[form.J_col[k]]] += rho * J[k] * b[form.pos_c[form.J_eq[k]]]


@kernel
def refine(form, J, L, b, r, x):
    """Add to x the solution for what is left of [M J^T; J 0] x = b."""
    for i in range(len(b)):
        r[i] = b[i]
    for i in range(len(form.pos_q)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * x[form.pos_q[form.M_col[k]]]
        r[form.pos_q[i]] -= s
    for k in range(len(J)):
        i = form.pos_q[form.J_col[k]]
        c = form.pos_c[form.J_eq[k]]
        r[i] -= J[k] * x[c]
        r[c] -= J[k] * x[i]
    if len(form.K_A):
        add_augmentation(form, J, r)
    solve_factored(form, L, r)
    for i in range(len(b)):
        x[i] += r[i]


@kernel
def solve_refined(form, J, L, b, refinements, r, x):
    """Solve [M J^T; J 0] x = b with the factor of K and so many refinements."""
    for i in range(len(b)):
        x[i] = b[i]
    if len(form.K_A):
        add_augmentation(form, J, x)
    solve_factored(form, L, x)
    for _ in range(refinements):
        refine(form, J, L, b, r, x)


@kernel
def refinements_for(smallest, tolerance):
    """How many refinements a solve needs: eps counts as eps / pivot along a weak direction."""
    if tolerance * smallest >= EPS:
        return 0
    if smallest > WEAK_PIVOT:
        return 1
    return 2
