"""Newton's method for the stages of Radau IIA in the degrees of freedom of the mechanism.

Let N be the motions that the constraints of a stage allow, orthonormal in the mass metric. The projected state of
the stage then changes by

    dq = N x,     dv = N w - X x,     x = N^T M dQ,  w = N^T M dV,     J X = J'(v) N

where dQ, dV are the changes before the projection: a change of configuration rotates the admissible velocities.
The acceleration changes by T (x, w), from the differentiated equations of motion:

    M da + J^T dlam = S dq + G dv,     J da = -J'(a) dq - 2 J'(v) dv

With y = W dz, the changes of h times the accelerations of all stages, and r the residuals of their equations,

    y_k = h r_k + h T_k (x_k, w_k),     dV = A y,     dQ = h A^2 y

so x and w of all stages solve a dense system of 2 f s unknowns. Only second-order changes are neglected: even
dampers so stiff that they respond to the rotation of a velocity by a millionth converge like soft ones.
"""

import numpy as np

from ..thresholds import NEW_MOTION
from .compiler import kernel, noinline
from .forms import eval_form_rates, eval_jacobian
from .simd import WIDTH, choose, in_lanes, rows_of_lanes


@kernel
def clear(X):
    """X = 0."""
    for j in range(X.shape[0]):
        for c in range(X.shape[1]):
            X[j, c] = 0.0


@kernel
def solve_many(form, L, X, count):
    """Solve K x = x for `count` columns of X, in place; unknowns in elimination order."""
    n = len(X)
    for j in range(n):
        for a in range(form.L_start[j], form.L_start[j + 1]):
            f = L[n + a]
            row = form.L_row[a]
            for c in range(count):
                X[row, c] -= f * X[j, c]
    for j in range(n - 1, -1, -1):
        for c in range(count):
            X[j, c] *= L[j]
        for a in range(form.L_start[j], form.L_start[j + 1]):
            f = L[n + a]
            row = form.L_row[a]
            for c in range(count):
                X[j, c] -= f * X[row, c]


@kernel
def augment_many(form, J, X, count):
    """Add rho Js^T times the second block to the first, for `count` columns."""
    if len(form.K_A):
        for n in range(len(J)):
            rho = form.rho[form.J_eq[n]]
            if rho != 0.0:
                f = rho * J[n]
                to, of = form.pos_q[form.J_col[n]], form.pos_c[form.J_eq[n]]
                for c in range(count):
                    X[to, c] += f * X[of, c]


@kernel
def orthonormalise(form, N, MN):
    """Make the columns of N orthonormal in the mass metric; MN = M N. A linearly dependent column becomes zero."""
    nq, count = len(N), N.shape[1]
    for c in range(count):
        for b in range(c):
            s = 0.0
            for i in range(nq):
                s += MN[i, b] * N[i, c]
            for i in range(nq):
                N[i, c] -= s * N[i, b]
        size = 0.0
        for i in range(nq):
            s = 0.0
            for k in range(form.M_start[i], form.M_start[i + 1]):
                s += form.M_val[k] * N[form.M_col[k], c]
            MN[i, c] = s
            size += s * N[i, c]
        # Written so that nan becomes zero.
        some = size > NEW_MOTION * NEW_MOTION
        scale = choose(some, 1.0 / np.sqrt(choose(some, size, 1.0)), 0.0)
        for i in range(nq):
            N[i, c] *= scale
            MN[i, c] *= scale


@kernel
def start_lost(N):
    """Replace a motion that was lost, as happens near singular configurations, by some vector."""
    nq, count = N.shape
    for c in range(count):
        top = 0.0
        for i in range(nq):
            top = max(top, abs(N[i, c]))
        if top == 0.0:
            seed = 0.5
            for i in range(nq):
                # A fixed irregular sequence: the same in every run.
                seed = (seed * 997.0 + 0.618033988749895 + 0.1 * c) % 1.0
                N[i, c] = seed - 0.5


@kernel
def side_by_side(rows, count, wide):
    """Copy the first rows to lanes; lanes beyond them contain the last one."""
    for lane in range(WIDTH):
        row = rows[min(lane, count - 1)]
        for n in range(len(row)):
            wide[n, lane] = row[n]


@noinline
def eval_dof_basis(form, tan, st):
    """N, M N and T of all stages, in SIMD lanes, from their J, S, G and the factors of K.

    N is computed from the previous N of the last stage.
    """
    free, stages = st.dof, len(st.q)
    side = free.side
    start_lost(free.N[stages - 1])
    side_by_side(st.L, stages, side.L)
    side_by_side(st.J, stages, side.J)
    side_by_side(st.S, stages, side.S)
    side_by_side(st.G, stages, side.G)
    side_by_side(st.v, stages, side.v)
    side_by_side(st.a, stages, side.a)
    eval_dof_lanes(form, tan, side, free.N[stages - 1])
    for k in range(stages):
        for i in range(free.N.shape[1]):
            for c in range(free.N.shape[2]):
                free.N[k, i, c] = side.N[i, c, k]
                free.MN[k, i, c] = side.MN[i, c, k]
            for c in range(free.T.shape[2]):
                free.T[k, i, c] = side.T[i, c, k]


@noinline
def eval_dof_lanes(form, tan, side, last):
    """The same in SIMD lanes; last: the motions from which those of the lanes are computed."""
    ws = in_lanes(side)
    X, N, MN, T, turn, J, Jv, Ja = ws.X, ws.N, ws.MN, ws.T, ws.turn, ws.J, ws.Jv, ws.Ja
    nq, count = last.shape
    clear(X)
    for i in range(nq):
        to = form.pos_q[i]
        for a in range(form.M_start[i], form.M_start[i + 1]):
            for c in range(count):
                X[to, c] += form.M_val[a] * last[form.M_col[a], c]
    solve_many(form, ws.L, X, count)
    for i in range(nq):
        for c in range(count):
            N[i, c] = X[form.pos_q[i], c]
    orthonormalise(form, N, MN)
    # Rotation of the admissible velocities.
    eval_form_rates(form, ws.a, ws.de)
    eval_jacobian(form, ws.de, Ja)
    eval_form_rates(form, ws.v, ws.de)
    eval_jacobian(form, ws.de, Jv)
    clear(X)
    for n in range(len(J)):
        to, of = form.pos_c[form.J_eq[n]], form.J_col[n]
        for c in range(count):
            X[to, c] += Jv[n] * N[of, c]
    augment_many(form, J, X, count)
    solve_many(form, ws.L, X, count)
    for i in range(nq):
        for c in range(count):
            turn[i, c] = X[form.pos_q[i], c]
    # Accelerations.
    clear(X)
    for n in range(len(tan.S_row)):
        to, of = form.pos_q[tan.S_row[n]], tan.S_col[n]
        s, g = ws.S[n], ws.G[n]
        for c in range(count):
            X[to, c] += s * N[of, c] - g * turn[of, c]
            X[to, count + c] += g * N[of, c]
    for n in range(len(J)):
        to, of = form.pos_c[form.J_eq[n]], form.J_col[n]
        once, twice = Ja[n], 2.0 * Jv[n]
        for c in range(count):
            X[to, c] += twice * turn[of, c] - once * N[of, c]
            X[to, count + c] -= twice * N[of, c]
    augment_many(form, J, X, 2 * count)
    solve_many(form, ws.L, X, 2 * count)
    for i in range(nq):
        for c in range(2 * count):
            T[i, c] = X[form.pos_q[i], c]


@noinline
def factorise_dof(st, h):
    """Assemble and factorise the dense system of all stages."""
    rule, free = st.rule, st.dof
    matrix = free.matrix
    stages, nq, count = free.N.shape
    size = 2 * count
    # Accelerations due to the motions, projected onto the motions of a stage: all other stages in lanes.
    T, seen = in_lanes(free.side).T, rows_of_lanes(free.seen)
    for k in range(stages):
        for c in range(count):
            row, below = matrix[k * size + c], matrix[k * size + count + c]
            for d in range(size):
                s = 0.0 * T[0, d]
                for i in range(nq):
                    s += free.MN[k, i, c] * T[i, d]
                seen[0] = s
                for m in range(stages):
                    row[m * size + d] = -h * h * rule.A2[k, m] * free.seen[m]
                    below[m * size + d] = -h * rule.A[k, m] * free.seen[m]
    for i in range(len(free.right)):
        matrix[i, i] += 1.0
    factorise_dense(matrix, free.lower, free.order)


@kernel
def factorise_dense(matrix, lower, order):
    """LU factorisation with row exchanges: U in place, L in lower; order: the pivot row of each column.

    Rows of the matrix are padded to whole SIMD vectors. A row is updated from the vector of the pivot on; entries
    left of the pivot are not read again.
    """
    n = len(lower)
    blocks = matrix.shape[1] // WIDTH
    for j in range(n):
        p, top = j, abs(matrix[j, j])
        for i in range(j + 1, n):
            size = abs(matrix[i, j])
            if size > top:
                p, top = i, size
        order[j] = p
        first = j // WIDTH
        pivot = rows_of_lanes(matrix[j])
        if p != j:
            other = rows_of_lanes(matrix[p])
            for b in range(first, blocks):
                x = 1.0 * pivot[b]
                pivot[b] = other[b]
                other[b] = x
            for k in range(j):
                lower[j, k], lower[p, k] = lower[p, k], lower[j, k]
        inverse = 1.0 / matrix[j, j]
        for i in range(j + 1, n):
            f = matrix[i, j] * inverse
            lower[i, j] = f
            if f != 0.0:
                row = rows_of_lanes(matrix[i])
                for b in range(first, blocks):
                    row[b] -= f * pivot[b]


@kernel
def solve_with_dense(matrix, lower, order, x):
    """Solve L U x = x in place."""
    n = len(x)
    for j in range(n):
        p = order[j]
        x[j], x[p] = x[p], x[j]
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= lower[i, k] * x[k]
        x[i] = s
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= matrix[i, k] * x[k]
        x[i] = s / matrix[i, i]


@kernel
def sum_stages(weights, x, y):
    """Y = weights X, over the stages."""
    for k in range(len(x)):
        for i in range(x.shape[1]):
            y[k, i] = 0.0
        for m in range(len(x)):
            f = weights[k, m]
            for i in range(x.shape[1]):
                y[k, i] += f * x[m, i]


@noinline
def solve_dof(st, h):
    """Replace the residuals st.dz[1] by the Newton corrections of all velocities."""
    rule, free = st.rule, st.dof
    stages, nq, count = free.N.shape
    r, sums, g = st.dz[1], st.sums, free.right
    sum_stages(rule.A2, r, sums[0])
    sum_stages(rule.A, r, sums[1])
    for k in range(stages):
        x = 2 * count * k
        w = x + count
        for c in range(2 * count):
            g[x + c] = 0.0
        for i in range(nq):
            a, b = h * h * sums[0, k, i], h * sums[1, k, i]
            for c in range(count):
                g[x + c] += a * free.MN[k, i, c]
                g[w + c] += b * free.MN[k, i, c]
    solve_with_dense(free.matrix, free.lower, free.order, g)
    for k in range(stages):
        first = 2 * count * k
        for i in range(nq):
            s = r[k, i]
            for c in range(2 * count):
                s += free.T[k, i, c] * g[first + c]
            sums[0, k, i] = h * s
    sum_stages(rule.A, sums[0], r)
