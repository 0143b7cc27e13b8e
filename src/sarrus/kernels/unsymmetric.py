"""K with two Jacobians, [M + rho Jb^T Jb, Ja^T; Jb, -eps] = L D U, in the order of the symmetric one.

An energy-momentum step pushes with the Jacobian of the middle, Ja, and holds constraints with that
of the end, Jb. Near a singular position the two differ by as much as they are, so no symmetric
matrix will do. No pivot is sought: the order puts each constraint after its coordinates, as in
solve.py.
"""

from .compiler import block, kernel


@block
def factorise_pair(form, Ja, Jb, L, U):
    """Assemble and factorise; L: the pivots' inverses, then the columns of L; U: the rows of U."""
    nq = len(form.pos_q)
    nc = len(form.pos_c)
    n = nq + nc
    for k in range(len(L)):
        L[k] = 0.0
    for k in range(len(form.K_M)):
        L[form.K_M[k]] = form.K_M_val[k]
    for k in range(len(form.K_A)):
        a = form.K_A_1[k]
        L[form.K_A[k]] += form.rho[form.J_eq[a]] * Jb[a] * Jb[form.K_A_2[k]]
    for k in range(nc):
        L[form.pos_c[k]] = -form.eps[k]
    for k in range(n, len(L)):
        U[k] = L[k]
    # constraints come after their coordinates: Jb is below the diagonal, Ja^T above
    for k in range(len(Ja)):
        L[form.K_J[k]] = Jb[k]
        U[form.K_J[k]] = Ja[k]
    t = 0
    for j in range(n):
        inverse = 1.0 / L[j]
        L[j] = inverse
        first = n + form.L_start[j]
        last = n + form.L_start[j + 1]
        for a in range(first, last):
            below = L[a] * inverse
            right = U[a] * inverse
            L[form.L_target[t]] -= below * U[a]
            t += 1
            for b in range(a + 1, last):
                L[form.L_target[t]] -= right * L[b]
                U[form.L_target[t]] -= below * U[b]
                t += 1
        for a in range(first, last):
            L[a] *= inverse
            U[a] *= inverse


@kernel
def solve_pair(form, L, U, x):
    """Solve in place, unknowns in elimination order."""
    n = len(x)
    for j in range(n):
        s = x[j]
        for a in range(form.L_start[j], form.L_start[j + 1]):
            x[form.L_row[a]] -= L[n + a] * s
    for j in range(n - 1, -1, -1):
        s = x[j] * L[j]
        for a in range(form.L_start[j], form.L_start[j + 1]):
            s -= U[n + a] * x[form.L_row[a]]
        x[j] = s
