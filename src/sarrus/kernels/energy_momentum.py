"""Energy-momentum steps for quadratic constraints [Gonzalez1999, BetschSteinmann2002].

With dq = q_{n+1} - q_n and J the Jacobian at the middle, the discrete gradient of a quadratic Phi:

    M (v_{n+1} - v_n) / h = Q - J^T lam,     dq / h = (v_n + v_{n+1}) / 2,     Phi(q_{n+1}) = 0

Without v_{n+1}, and with mu = h^2/2 lam:

    M (dq - h v_n) - h^2/2 Q + J(q_n + dq/2)^T mu = 0,     Phi(q_n + dq) = 0

A step pushes with the Jacobian of the middle, Ja, and holds constraints with that of the end, Jb. Near a
singular position the two differ by as much as they are, so no symmetric matrix will do:

    [M + rho Jb^T Jb, Ja^T; Jb, -eps] = L D U    in the order of the symmetric one
"""

from .compiler import block, entry
from .forms import eval_constraints, eval_forms, eval_jacobian
from .reasons import FULL, NOT_CONVERGED
from .solve import add_augmentation, assemble_blocks, eliminate_pair, solve_pair
from .stepping import (
    FACTORISATIONS,
    ITERATIONS,
    STEPS,
    accelerate,
    add_mass_times,
    check_state,
    judge_correction,
    subtract_multiplier_force,
)

MOST_ITERATIONS = 60
# corrections (of a link) that end the iteration: at once, and when they grow again and again
TIGHT = 1e-16
LOOSE = 1e-9


@block
def factorise_pair(form, Ja, Jb, L, U):
    """Assemble and factorise; L: the pivots' inverses, then the columns of L; U: the rows of U."""
    n = len(form.pos_q) + len(form.pos_c)
    assemble_blocks(form, Jb, 1.0, L)
    for k in range(n, len(L)):
        U[k] = L[k]
    # constraints come after their coordinates: Jb is below the diagonal, Ja^T above
    for k in range(len(Ja)):
        L[form.K_J[k]] = Jb[k]
        U[form.K_J[k]] = Ja[k]
    eliminate_pair(form, n, L, U)


@entry
def advance(form, ws, U, J_start, J_middle, J_end, h, fresh, mu, store, counters):
    """Fill store from its first row on; returns the reason and how many steps.

    store[:, 2]: change of velocity by the step before, over h; mu: kept from chunk to chunk.
    """
    nq = len(form.Q)
    nc = len(form.phi0)
    dq = ws.dq
    if fresh:
        accelerate(form, ws, None, 0.0, 0.0, 0.0, -1, store[0, 0], store[0, 1], store[0, 2], mu)
        for c in range(nc):
            mu[c] *= 0.5 * h * h
        counters[FACTORISATIONS] += 1
    eval_forms(form, store[0, 0], ws.e)
    eval_jacobian(form, ws.e, J_start)
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            dq[i] = h * v0[i] + 0.5 * h * h * a0[i]
        before = 1e300
        stale = True
        stalled = 0
        converged = False
        for _ in range(MOST_ITERATIONS):
            for i in range(nq):
                q[i] = q0[i] + dq[i]
            eval_forms(form, q, ws.e)
            eval_jacobian(form, ws.e, J_end)
            eval_constraints(form, ws.e, ws.phi)
            # J is affine: the mean of both ends is the Jacobian at the middle
            for k in range(len(J_end)):
                J_middle[k] = 0.5 * (J_start[k] + J_end[k])
            # residual, with M acting on the small difference dq - h v_n
            for i in range(nq):
                ws.q[i] = dq[i] - h * v0[i]
                ws.b[form.pos_q[i]] = 0.5 * h * h * form.Q[i]
            for c in range(nc):
                ws.b[form.pos_c[c]] = -ws.phi[c]
            add_mass_times(form, -1.0, ws.q, ws.b)
            subtract_multiplier_force(form, J_middle, mu, ws.b)
            if stale:
                for k in range(len(J_end)):
                    ws.J[k] = J_end[k]
                factorise_pair(form, J_middle, ws.J, ws.L, U)
                counters[FACTORISATIONS] += 1
            if len(form.K_A):
                add_augmentation(form, ws.J, ws.b)
            solve_pair(form, ws.L, U, ws.b)
            size = 0.0
            for i in range(nq):
                x = ws.b[form.pos_q[i]]
                dq[i] += x
                if not abs(x) <= size:
                    size = abs(x)
            for c in range(nc):
                mu[c] += ws.b[form.pos_c[c]] * (1.0 + form.rho[c] * form.eps[c])
            counters[ITERATIONS] += 1
            ended, converged, stalled, stale = judge_correction(size, before, stalled, TIGHT, LOOSE)
            if ended:
                break
            before = size
        for i in range(nq):
            q[i] = q0[i] + dq[i]
            v[i] = 2.0 * dq[i] / h - v0[i]
            a[i] = (v[i] - v0[i]) / h
        eval_forms(form, q, ws.e)
        eval_jacobian(form, ws.e, J_start)
        opening = eval_constraints(form, ws.e, ws.phi)
        reason = check_state(opening, store[n + 1])
        if reason != FULL:
            return reason, n
        if not converged:
            return NOT_CONVERGED, n
        counters[STEPS] += 1
    return FULL, store.shape[0] - 1
