"""Successive coefficients of a series: sums of products, the linear solve, and the data for the next ones.

Mechanisms of up to WIDTH unknowns at regular configurations use a faster path. K^-1 is computed once per step,
together with the columns that turn sums of products into the unknowns. The contribution of the previous
coefficient comes last, by -K^-1 [0 J_1^T; J_1 0]. Only these few products depend on the previous coefficient.
"""

import numpy as np

from .applied_forces import add_load_coefficient, keep_load_forms
from .compiler import kernel
from .double_double import alike, is_wide, rounded
from .dual import is_dual, largest_part
from .elements.drive import add_sides
from .forms import eval_form_rates
from .simd import WIDTH, in_lanes, lanes_from, rows_of_lanes, width_of
from .solve import add_augmentation, is_regular, solve_factored, solve_refined
from .step_control import HIGHEST_ORDER

UNITS = np.eye(WIDTH)
# For order m = k + 2: 1 / (m (m - 1)), and the factor of lam_{k-1}, as it was solved for.
_M = np.maximum(np.arange(HIGHEST_ORDER + 1.0), 2.0)
SCALES = 1.0 / (_M * (_M - 1.0))
SHARES = (_M - 2.0) / _M
# Up to this number of entries of J, the newest terms of sums are added separately. If a system takes longer to
# solve, the sums of the next one overlap with it anyway.
APART = 50
# Number of squares summed in one loop when runs are in lanes: three sums each, in registers.
TOGETHER = 8


@kernel
def gather(form, ws, row, de):
    """Copy the forms of coefficient `row` to where the Cauchy products read them."""
    for t in range(len(form.sq_c)):
        ws.sq_e[row, t] = de[form.sq_form[t]]
    for t in range(len(form.bl_c)):
        ws.bl_ea[row, t] = de[form.bl_a[t]]
        ws.bl_eb[row, t] = de[form.bl_b[t]]


@kernel
def add_square(ws, j, m, t, n, s, l0, l1):
    """Add the terms j and m - j of the t-th lanes of n squares to their sums, see `sum_products`."""
    x = lanes_from(ws.sq_e[j], t, n)[0]
    y = lanes_from(ws.sq_e[m - j], t, n)[0]
    s += x * y
    l0 += lanes_from(ws.sq_l[j - 2], t, n)[0] * y
    l1 += lanes_from(ws.sq_l[m - j - 2], t, n)[0] * x
    return s, l0, l1


@kernel
def add_first_square(ws, m, t, n, s, l0):
    """The same for j = 1, which has only one multiplier term."""
    x = lanes_from(ws.sq_e[1], t, n)[0]
    s += x * lanes_from(ws.sq_e[m - 1], t, n)[0]
    l0 += lanes_from(ws.sq_l[m - 3], t, n)[0] * x
    return s, l0


@kernel
def add_middle_square(ws, m, t, n, s, l0):
    """The same for j = m / 2."""
    x = lanes_from(ws.sq_e[m // 2], t, n)[0]
    s += 0.5 * x * x
    l0 += lanes_from(ws.sq_l[m // 2 - 2], t, n)[0] * x
    return s, l0


@kernel
def add_pair(ws, j, m, t, n, s0, s1, a0, a1, b0, b1):
    """Add the terms j and m - j of the t-th lanes of n pairs to their sums."""
    x = lanes_from(ws.bl_ea[j], t, n)[0]
    y = lanes_from(ws.bl_eb[j], t, n)[0]
    u = lanes_from(ws.bl_ea[m - j], t, n)[0]
    v = lanes_from(ws.bl_eb[m - j], t, n)[0]
    s0 += x * v
    s1 += y * u
    z = lanes_from(ws.bl_l[j - 2], t, n)[0]
    a0 += z * v
    b0 += z * u
    z = lanes_from(ws.bl_l[m - j - 2], t, n)[0]
    a1 += z * y
    b1 += z * x
    return s0, s1, a0, a1, b0, b1


@kernel
def add_first_pair(ws, m, t, n, s0, s1, a0, b0):
    """The same for j = 1."""
    x = lanes_from(ws.bl_ea[1], t, n)[0]
    y = lanes_from(ws.bl_eb[1], t, n)[0]
    z = lanes_from(ws.bl_l[m - 3], t, n)[0]
    s0 += x * lanes_from(ws.bl_eb[m - 1], t, n)[0]
    s1 += y * lanes_from(ws.bl_ea[m - 1], t, n)[0]
    return s0, s1, a0 + z * y, b0 + z * x


@kernel
def add_middle_pair(ws, m, t, n, s0, a0, b0):
    """The same for j = m / 2."""
    x = lanes_from(ws.bl_ea[m // 2], t, n)[0]
    y = lanes_from(ws.bl_eb[m // 2], t, n)[0]
    z = lanes_from(ws.bl_l[m // 2 - 2], t, n)[0]
    return s0 + x * y, a0 + z * y, b0 + z * x


@kernel
def sum_squares(form, ws, k, apart, t):
    """The t-th lanes of the sums of squares, see `sum_products`: coefficients j and m - j are read once."""
    m = k + 2
    n = len(form.sq_c)
    s, l0, l1 = 0.0, 0.0, 0.0
    if not apart:
        s, l0 = add_first_square(ws, m, t, n, s, l0)
    # The sum of the equation is symmetric, so half of it is enough. The newest terms come last if coefficients are
    # fast.
    for i in range(2, (m + 1) // 2):
        j = (m + 1) // 2 + 1 - i if len(ws.inverse) > 0 else i
        s, l0, l1 = add_square(ws, j, m, t, n, s, l0, l1)
    if m % 2 == 0:
        s, l0 = add_middle_square(ws, m, t, n, s, l0)
    lanes_from(ws.acc_sq, t, n)[0] = s
    lanes_from(ws.acc_sl, t, n)[0] = l0 + l1


@kernel
def sum_pairs(form, ws, k, apart, t):
    """The same for pairs."""
    m = k + 2
    n = len(form.bl_c)
    s0, s1, a0, a1, b0, b1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if not apart:
        s0, s1, a0, b0 = add_first_pair(ws, m, t, n, s0, s1, a0, b0)
    for i in range(2, (m + 1) // 2):
        j = (m + 1) // 2 + 1 - i if len(ws.inverse) > 0 else i
        s0, s1, a0, a1, b0, b1 = add_pair(ws, j, m, t, n, s0, s1, a0, a1, b0, b1)
    if m % 2 == 0:
        s0, a0, b0 = add_middle_pair(ws, m, t, n, s0, a0, b0)
    lanes_from(ws.acc_bl, t, n)[0] = s0 + s1
    lanes_from(ws.acc_al, t, n)[0] = a0 + a1
    lanes_from(ws.acc_lb, t, n)[0] = b0 + b1


@kernel
def sum_squares_together(form, ws, k, apart, first, last):
    """The same for squares first .. last - 1 of runs in lanes: one loop over j, whose sums stay in registers."""
    m = k + 2
    n = len(form.sq_c)
    for t in range(first, last):
        ws.acc_sq[t] = 0.0
        ws.acc_sl[t] = 0.0
        ws.acc_more[t] = 0.0
        if not apart:
            ws.acc_sq[t], ws.acc_sl[t] = add_first_square(ws, m, t, n, 0.0, 0.0)
    for i in range(2, (m + 1) // 2):
        j = (m + 1) // 2 + 1 - i if len(ws.inverse) > 0 else i
        for t in range(first, last):
            ws.acc_sq[t], ws.acc_sl[t], ws.acc_more[t] = add_square(
                ws, j, m, t, n, ws.acc_sq[t], ws.acc_sl[t], ws.acc_more[t]
            )
    for t in range(first, last):
        if m % 2 == 0:
            ws.acc_sq[t], ws.acc_sl[t] = add_middle_square(ws, m, t, n, ws.acc_sq[t], ws.acc_sl[t])
        ws.acc_sl[t] += ws.acc_more[t]


@kernel
def sum_products(form, ws, k, apart):
    """Sums of products for q_m and lam_k, m = k + 2 > 2: of the equations and of the forces, entry by entry,

        acc_sq = 1/2 sum e_j e_{m-j},   acc_bl = sum a_j b_{m-j},   j = 1 .. m - 1
        acc_sl = sum l_j e_{k-j},   acc_al = sum l_j b_{k-j},   acc_lb = sum l_j a_{k-j},   j = 0 .. k - 1

    apart: 1 to leave out the terms with q_{m-1} and lam_{k-1}, else 0. The remaining terms do not depend on these,
    so the processor can compute them while the previous coefficients are not yet available.
    """
    if width_of(ws.acc_sq) == 1 and not (is_wide(ws.acc_sq) or is_dual(ws.acc_sq)):
        for g in range((len(form.sq_c) + TOGETHER - 1) // TOGETHER):
            last = min((g + 1) * TOGETHER, len(form.sq_c))
            sum_squares_together(form, ws, k, apart, g * TOGETHER, last)
    else:
        for t in range(len(rows_of_lanes(ws.acc_sq))):
            sum_squares(form, ws, k, apart, t)
    for t in range(len(rows_of_lanes(ws.acc_bl))):
        sum_pairs(form, ws, k, apart, t)


@kernel
def force_products(form, ws, scale, b):
    """Scatter the sums of forces: b -= scale D^T w with D^T w = sum_{j<k-1} J_{k-j}^T lam_j."""
    w = ws.w
    for f in range(len(w)):
        w[f] = 0.0
    for t in range(len(form.sq_c)):
        w[form.sq_form[t]] += ws.acc_sl[t]
    for t in range(len(form.bl_c)):
        w[form.bl_a[t]] += ws.acc_al[t]
        w[form.bl_b[t]] += ws.acc_lb[t]
    for f in range(len(w)):
        x = scale * w[f]
        for n in range(form.D_start[f], form.D_start[f + 1]):
            b[form.pos_q[form.D_col[n]]] -= form.D_val[n] * x


@kernel
def equation_products(form, ws, b):
    """Scatter the sums of equations: b minus the part of the m-th coefficient of Phi without q_m and q_{m-1}."""
    for t in range(len(form.sq_c)):
        b[form.pos_c[form.sq_eq[t]]] -= form.sq_c[t] * ws.acc_sq[t]
    for t in range(len(form.bl_c)):
        b[form.pos_c[form.bl_eq[t]]] -= form.bl_c[t] * ws.acc_bl[t]


@kernel
def add_newest(form, J1, share, x, b):
    """Add the contribution of the previous coefficients, by J_1; that of lam is multiplied by `share`."""
    for n in range(len(J1)):
        i = form.pos_q[form.J_col[n]]
        c = form.pos_c[form.J_eq[n]]
        b[i] -= J1[n] * (share * x[c])
        b[c] -= J1[n] * x[i]


@kernel
def next_coefficient(form, ws, loads, k, refinements, qc):
    """Compute q_{k+2} and lam_k; returns the largest entry of q_{k+2}, nan if one is nan or infinite.

    ws.x: on entry, the solution for the previous coefficients.
    """
    nq = len(form.Q)
    nc = len(form.phi0)
    m = k + 2
    b = ws.b
    scale = alike(1.0, b) / (m * (m - 1.0))
    for i in range(nq + nc):
        b[i] = 0.0
    if k == 0:
        for i in range(nq):
            b[form.pos_q[i]] = scale * form.Q[i]
        for n in range(len(form.J_eq)):
            b[form.pos_c[form.J_eq[n]]] -= 0.5 * ws.J1[n] * qc[1, form.J_col[n]]
    else:
        apart = 1 if len(form.J_eq) <= APART else 0
        sum_products(form, ws, k, apart)
        force_products(form, ws, scale, b)
        equation_products(form, ws, b)
        if apart:
            # lam_{k-1} is (m - 1)(m - 2) times what was solved for.
            add_newest(form, ws.J1, alike(m - 2.0, b) / m, ws.x, b)
    if loads is not None:
        add_load_coefficient(form, loads, k, scale, b)
        add_sides(form, loads, m, b)
    solve_refined(form, ws.J, ws.L, b, refinements, ws.r, ws.x)
    largest = 0.0
    total = 0.0
    row = qc[m]
    for i in range(nq):
        x = ws.x[form.pos_q[i]]
        row[i] = x
        size = largest_part(x, ws.weights[0])
        largest = max(largest, size)
        total += size
    lam = ws.lam[k]
    for c in range(nc):
        lam[c] = ws.x[form.pos_c[c]] * (m * (m - 1.0))
    for t in range(len(form.sq_c)):
        ws.sq_l[k, t] = form.sq_c[t] * lam[form.sq_eq[t]]
    for t in range(len(form.bl_c)):
        ws.bl_l[k, t] = form.bl_c[t] * lam[form.bl_eq[t]]
    eval_form_rates(form, row, ws.de)
    gather(form, ws, m, ws.de)
    if loads is not None:
        keep_load_forms(loads, m, row)
    # The maximum of a number and nan may be either, so nan is carried by the sum.
    return largest + 0.0 * total


@kernel
def spread_forms(form, ws):
    """Contribution of each unknown to the forms and multipliers at products: constant during a run."""
    for i in range(len(ws.sq_of)):
        for t in range(len(form.sq_c)):
            ws.sq_of[i, t] = 0.0
        for t in range(len(form.bl_c)):
            ws.bl_of_a[i, t] = 0.0
            ws.bl_of_b[i, t] = 0.0
    for t in range(len(form.sq_c)):
        f = form.sq_form[t]
        for n in range(form.D_start[f], form.D_start[f + 1]):
            ws.sq_of[form.pos_q[form.D_col[n]], t] += form.D_val[n]
        ws.sq_of[form.pos_c[form.sq_eq[t]], t] = form.sq_c[t]
    for t in range(len(form.bl_c)):
        f = form.bl_a[t]
        for n in range(form.D_start[f], form.D_start[f + 1]):
            ws.bl_of_a[form.pos_q[form.D_col[n]], t] += form.D_val[n]
        f = form.bl_b[t]
        for n in range(form.D_start[f], form.D_start[f + 1]):
            ws.bl_of_b[form.pos_q[form.D_col[n]], t] += form.D_val[n]
        ws.bl_of_a[form.pos_c[form.bl_eq[t]], t] = form.bl_c[t]


@kernel
def make_force_column(form, inverse, f, column, u, n):
    """The u-th lanes of the column by which a force on a form contributes: -K^-1 D^T."""
    for k in range(form.D_start[f], form.D_start[f + 1]):
        row = inverse[form.pos_q[form.D_col[k]]]
        lanes_from(column, u, n)[0] -= form.D_val[k] * lanes_from(row, u, n)[0]


@kernel
def invert_matrix(form, ws):
    """ws.inverse: K^-1 from the current factor; its columns are in the lanes, or are solved for one by one."""
    if width_of(ws.inverse) == 1:
        n = len(ws.inverse)
        for c in range(n):
            for i in range(n):
                ws.r[i] = 1.0 if i == c else 0.0
            if len(form.K_A):
                add_augmentation(form, ws.J, ws.r)
            solve_factored(form, ws.L, ws.r)
            for i in range(n):
                ws.inverse[i, c] = ws.r[i]
        return
    inverse = in_lanes(ws.inverse)
    for i in range(len(inverse)):
        inverse[i] = rows_of_lanes(UNITS[i])[0]
    if len(form.K_A):
        add_augmentation(form, ws.J, inverse)
    solve_factored(form, ws.L, inverse)


@kernel
def invert(form, ws):
    """K^-1 from the current factor, which is symmetric, and the arrays derived from it: newest terms and columns.

    columns: for each square those of its sums for equation and force; for each pair those of the equation and of
    the forces on its first and second form.
    """
    invert_matrix(form, ws)
    n = len(ws.inverse)
    ns = len(form.sq_c)
    for u in range(len(rows_of_lanes(ws.inverse[0]))):
        for k in range(n):
            lanes_from(ws.newest[k], u, n)[0] = 0.0
        for k in range(len(form.J_eq)):
            i = form.pos_q[form.J_col[k]]
            c = form.pos_c[form.J_eq[k]]
            lanes_from(ws.newest[i], u, n)[0] -= ws.J1[k] * lanes_from(ws.inverse[c], u, n)[0]
            lanes_from(ws.newest[c], u, n)[0] -= ws.J1[k] * lanes_from(ws.inverse[i], u, n)[0]
        for k in range(len(ws.columns)):
            lanes_from(ws.columns[k], u, n)[0] = 0.0
        for t in range(ns):
            row = ws.inverse[form.pos_c[form.sq_eq[t]]]
            lanes_from(ws.columns[t], u, n)[0] -= form.sq_c[t] * lanes_from(row, u, n)[0]
            make_force_column(form, ws.inverse, form.sq_form[t], ws.columns[ns + t], u, n)
        for t in range(len(form.bl_c)):
            first = 2 * ns + 3 * t
            row = ws.inverse[form.pos_c[form.bl_eq[t]]]
            lanes_from(ws.columns[first], u, n)[0] -= form.bl_c[t] * lanes_from(row, u, n)[0]
            make_force_column(form, ws.inverse, form.bl_a[t], ws.columns[first + 1], u, n)
            make_force_column(form, ws.inverse, form.bl_b[t], ws.columns[first + 2], u, n)


@kernel
def next_unknowns(form, ws, k, u, before, after):
    """The u-th lanes of the unknowns of coefficient k + 2, from the previous ones and the sums of products."""
    nq = len(form.Q)
    nc = len(form.phi0)
    ns = len(form.sq_c)
    n = nq + nc
    share = SHARES[k + 2]
    x, y = 0.0, 0.0
    for t in range(ns):
        x += lanes_from(ws.columns[t], u, n)[0] * ws.acc_sq[t]
        y += lanes_from(ws.columns[ns + t], u, n)[0] * ws.acc_sl[t]
    for t in range(len(form.bl_c)):
        first = 2 * ns + 3 * t
        x += lanes_from(ws.columns[first], u, n)[0] * ws.acc_bl[t]
        y += lanes_from(ws.columns[first + 1], u, n)[0] * ws.acc_al[t]
        x += lanes_from(ws.columns[first + 2], u, n)[0] * ws.acc_lb[t]
    # Only these terms depend on the previous coefficient.
    for i in range(0, nq, 2):
        x += lanes_from(ws.newest[form.pos_q[i]], u, n)[0] * before[form.pos_q[i]]
    for i in range(1, nq, 2):
        y += lanes_from(ws.newest[form.pos_q[i]], u, n)[0] * before[form.pos_q[i]]
    for c in range(0, nc, 2):
        y += (share * lanes_from(ws.newest[form.pos_c[c]], u, n)[0]) * before[form.pos_c[c]]
    for c in range(1, nc, 2):
        x += (share * lanes_from(ws.newest[form.pos_c[c]], u, n)[0]) * before[form.pos_c[c]]
    lanes_from(after, u, n)[0] = x + y


@kernel
def next_explicit(form, ws, k, qc):
    """Compute q_{k+2} and lam_k as `next_coefficient` does, for k > 0, by K^-1.

    ws.solution: unknowns, of coefficients with even and odd index alternately.
    """
    nq = len(form.Q)
    ns = len(form.sq_c)
    nb = len(form.bl_c)
    m = k + 2
    scale = SCALES[m]
    sum_products(form, ws, k, 1)
    for t in range(len(rows_of_lanes(ws.acc_sl))):
        lanes_from(ws.acc_sl, t, ns)[0] *= scale
    for t in range(len(rows_of_lanes(ws.acc_al))):
        lanes_from(ws.acc_al, t, nb)[0] *= scale
        lanes_from(ws.acc_lb, t, nb)[0] *= scale
    solution = ws.solution[m % 2]
    for u in range(len(rows_of_lanes(solution))):
        next_unknowns(form, ws, k, u, ws.solution[(m + 1) % 2], solution)
    largest = 0.0
    total = 0.0
    for i in range(nq):
        z = solution[form.pos_q[i]]
        qc[m, i] = z
        largest = max(largest, abs(z))
        total += abs(z)
    spread(form, ws, m, solution)
    return largest + 0.0 * total


@kernel
def spread(form, ws, m, solution):
    """Forms and multipliers of coefficient m, stored where the Cauchy products read them."""
    nq = len(form.Q)
    nc = len(form.phi0)
    ns = len(form.sq_c)
    nb = len(form.bl_c)
    back = m * (m - 1.0)
    for t in range(len(rows_of_lanes(ws.acc_sq))):
        e, w = 0.0, 0.0
        for i in range(nq):
            e += lanes_from(ws.sq_of[form.pos_q[i]], t, ns)[0] * solution[form.pos_q[i]]
        for c in range(nc):
            w += lanes_from(ws.sq_of[form.pos_c[c]], t, ns)[0] * solution[form.pos_c[c]]
        lanes_from(ws.sq_e[m], t, ns)[0] = e
        lanes_from(ws.sq_l[m - 2], t, ns)[0] = back * w
    for t in range(len(rows_of_lanes(ws.acc_bl))):
        # Different names than above: these lanes may be half as wide.
        a, b, z = 0.0, 0.0, 0.0
        for i in range(nq):
            a += lanes_from(ws.bl_of_a[form.pos_q[i]], t, nb)[0] * solution[form.pos_q[i]]
            b += lanes_from(ws.bl_of_b[form.pos_q[i]], t, nb)[0] * solution[form.pos_q[i]]
        for c in range(nc):
            z += lanes_from(ws.bl_of_a[form.pos_c[c]], t, nb)[0] * solution[form.pos_c[c]]
        lanes_from(ws.bl_ea[m], t, nb)[0] = a
        lanes_from(ws.bl_eb[m], t, nb)[0] = b
        lanes_from(ws.bl_l[m - 2], t, nb)[0] = back * z


@kernel
def make_explicitly(form, ws, first, last, qc):
    """Coefficients first .. last by K^-1; the first ones, q_2 and lam_0, by the general solve."""
    if first == 2:
        ws.size[2] = next_coefficient(form, ws, None, 0, 0, qc)
        for i in range(len(ws.x)):
            ws.solution[0, i] = ws.x[i]
        invert(form, ws)
    for m in range(max(first, 3), last + 1):
        ws.size[m] = next_explicit(form, ws, m - 2, qc)


@kernel
def make_coefficients(form, ws, loads, refinements, first, last, qc):
    """Coefficients first .. last, and ws.size, the largest entry of each."""
    if (
        loads is None
        and not (is_wide(ws.x) or is_dual(ws.x))
        and len(ws.inverse) > 0
        and refinements == 0
        and is_regular(form, ws.L)
    ):
        make_explicitly(form, ws, first, last, qc)
    else:
        for m in range(first, last + 1):
            largest = next_coefficient(form, ws, loads, m - 2, refinements, qc)
            ws.size[m] = rounded(largest)
