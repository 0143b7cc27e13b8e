"""Fourth-order Runge-Kutta steps of (q, v) with accelerations from the stabilised constraints.

    M a + J^T lam = Q,     J a - eps lam = phi0'' - J' v - damping (J v - phi0') - stiffness Phi

With the tiny eps of the model, refined away, these are Lagrange's multipliers with Baumgarte's
terms; with eps = 1/penalty and no refinement it is Bayo's penalty formulation, since then lam =
penalty (J a + J' v + ...).
"""

from .compiler import entry
from .reasons import FULL
from .stepping import FACTORISATIONS, STEPS, accelerate, check_state


@entry
def advance(form, ws, loads, h, damping, stiffness, refinements, fresh, lam, k, store, counters):
    """Fill store from its first row on; returns the reason and how many steps.

    k: scratch, stage velocities and accelerations, shape (2, 3, nq).
    """
    nq = len(form.Q)
    if fresh:
        accelerate(
            form, ws, loads, 0.0, damping, stiffness, refinements,
            store[0, 0], store[0, 1], store[0, 2], lam,
        )  # fmt: skip
        counters[FACTORISATIONS] += 1
    q, v = ws.q, ws.v
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        end = store[n + 1]
        t = counters[STEPS] * h
        # slopes of stage 1: v0, a0; those of stages 2, 3, 4 go to k
        for stage in range(3):
            part = h if stage == 2 else 0.5 * h
            for i in range(nq):
                dq = v0[i] if stage == 0 else k[0, stage - 1, i]
                dv = a0[i] if stage == 0 else k[1, stage - 1, i]
                q[i] = q0[i] + part * dq
                v[i] = v0[i] + part * dv
                k[0, stage, i] = v[i]
            accelerate(
                form, ws, loads, t + part, damping, stiffness, refinements, q, v, k[1, stage], lam
            )  # fmt: skip
        for i in range(nq):
            end[0, i] = q0[i] + h / 6.0 * (v0[i] + 2.0 * (k[0, 0, i] + k[0, 1, i]) + k[0, 2, i])
            end[1, i] = v0[i] + h / 6.0 * (a0[i] + 2.0 * (k[1, 0, i] + k[1, 1, i]) + k[1, 2, i])
        opening = accelerate(
            form, ws, loads, t + h, damping, stiffness, refinements, end[0], end[1], end[2], lam
        )  # fmt: skip
        counters[FACTORISATIONS] += 4
        reason = check_state(opening, end)
        if reason != FULL:
            return reason, n
        counters[STEPS] += 1
    return FULL, store.shape[0] - 1


@entry
def eval_rates(form, ws, loads, t, damping, stiffness, refinements, lam, y, dy):
    """Right side of y' = (v, a) with y = (q, v); returns the largest entry of Phi."""
    nq = len(form.Q)
    for i in range(nq):
        dy[i] = y[nq + i]
    return accelerate(
        form, ws, loads, t, damping, stiffness, refinements, y[:nq], y[nq:], dy[nq:], lam
    )  # fmt: skip
