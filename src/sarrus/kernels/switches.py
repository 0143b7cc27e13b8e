"""Detection of jumps in user forces, which are also evaluated between the stages of a step.

A user's function may jump with time, position or velocity. The stages do not show where, and miss a pulse between
them. So the force is evaluated at equidistant points of a step, along the step's polynomial, and compared with the
cubic through its values at the start and at the stages. If the two differ by more than the error tolerance of the
step, the largest change between two points is bisected: a change that persists is a jump, and the step has to end
there.
"""

import numpy as np

from .applied_forces import add_load_forces, eval_load_form_rates, eval_load_forms
from .compiler import kernel, noinline
from .elements import user
from .radau_newton import STAGES, solve_tangent
from .solve import solve_refined
from .stepping import largest

# Rows of st.user: values at the start and the stages; largest difference from their cubic; values on both sides of
# a jump, and between them.
DIFFERENCE, LEFT, RIGHT, MIDDLE = 4, 5, 6, 7
# A change that decreases by less than half while it is bisected is a jump.
SHARP = 0.5
# Differences that are rounding, relative to the largest force.
ROUNDING = 1e-12
BISECTIONS = 80


@kernel
def eval_cubic(x, y, z, s):
    """Value at s of the cubic that is 0 at 0 and x, y, z at the stages."""
    d1 = x / STAGES[0]
    d12 = (y - x) / (STAGES[1] - STAGES[0])
    d23 = (z - y) / (1.0 - STAGES[1])
    d012 = (d12 - d1) / STAGES[1]
    d123 = (d23 - d12) / (1.0 - STAGES[0])
    return s * (d1 + (s - STAGES[0]) * (d012 + (s - STAGES[1]) * (d123 - d012)))


@kernel
def eval_share(st, start, s, q, v):
    """State at a relative time s of a step, from the polynomial of its stages."""
    for i in range(len(q)):
        q[i] = start[0, i] + eval_cubic(st.z[0, 0, i], st.z[0, 1, i], st.z[0, 2, i], s)
        v[i] = start[1, i] + eval_cubic(st.z[1, 0, i], st.z[1, 1, i], st.z[1, 2, i], s)


@noinline
def eval_user_forces(ws, st, loads, t, h, start, s, force):
    """User forces at a relative time s of a step from t."""
    eval_share(st, start, s, ws.q, ws.v)
    eval_load_forms(loads, ws.q)
    eval_load_form_rates(loads, ws.v)
    for i in range(len(loads.fw)):
        loads.fw[i] = 0.0
    user.add_weights(loads.user, t + s * h, loads.f, loads.df, loads.fw)
    for i in range(len(force)):
        force[i] = loads.fw[i]


@kernel
def apart(x, y):
    """Largest difference of two rows; infinite if one contains nan."""
    top = 0.0
    for i in range(len(x)):
        d = abs(x[i] - y[i])
        if not d <= top:
            top = d
    return top if np.isfinite(top) else np.inf


@noinline
def look_between(ws, st, loads, t, h, start, count):
    """Evaluate the user forces at `count` points of a step.

    Returns the largest difference from the cubic, the largest change from point to point, and the largest force.
    st.user[DIFFERENCE]: that difference.
    """
    rows = st.user
    eval_user_forces(ws, st, loads, t, h, start, 0.0, rows[0])
    for k in range(3):
        eval_user_forces(ws, st, loads, t, h, start, STAGES[k], rows[k + 1])
    for i in range(rows.shape[1]):
        rows[DIFFERENCE, i] = 0.0
        rows[LEFT, i] = rows[0, i]
    worst, change, most = 0.0, 0.0, largest(rows[0])
    for n in range(1, count + 1):
        s = n / count
        eval_user_forces(ws, st, loads, t, h, start, s, rows[RIGHT])
        change = max(change, apart(rows[LEFT], rows[RIGHT]))
        most = max(most, largest(rows[RIGHT]))
        off = 0.0
        for i in range(rows.shape[1]):
            f = rows[0, i]
            f += eval_cubic(rows[1, i] - f, rows[2, i] - f, rows[3, i] - f, s)
            rows[MIDDLE, i] = rows[RIGHT, i] - f
            off = max(off, abs(rows[MIDDLE, i]))
        if off > worst:
            worst = off
            for i in range(rows.shape[1]):
                rows[DIFFERENCE, i] = rows[MIDDLE, i]
        for i in range(rows.shape[1]):
            rows[LEFT, i] = rows[RIGHT, i]
    return worst, change, most


@noinline
def weigh_difference(form, tan, ws, st, loads, h):
    """Change of velocity due to a difference of the forces in a step, damped where they are stiff.

    ws.J, ws.L: J and the factor of K near the step.
    """
    for i in range(len(ws.b)):
        ws.b[i] = 0.0
    for i in range(len(loads.fw)):
        loads.fw[i] = st.user[DIFFERENCE, i]
    for i in range(len(ws.Q)):
        ws.Q[i] = 0.0
    add_load_forces(loads, ws.Q)
    for i in range(len(ws.Q)):
        ws.b[form.pos_q[i]] = ws.Q[i]
    solve_refined(form, ws.J, ws.L, ws.b, 0, ws.r, ws.x)
    for i in range(len(ws.Q)):
        st.dz[0, 0, i] = 0.0
        st.dz[1, 0, i] = ws.x[form.pos_q[i]]
    solve_tangent(
        form, tan, st.J[len(st.q)], st.S[len(st.q)], h, st.values, st.dz[0, 0], st.dz[1, 0], st.b
    )
    return largest(st.dz[1, 0])


@noinline
def find_jump(ws, st, loads, t, h, start, first, last, count, change):
    """Relative times just before and just after the first jump of about the size `change`.

    The interval first .. last is searched in `count` parts. The second time is below 0 if there is no jump.
    """
    rows = st.user
    left = first
    eval_user_forces(ws, st, loads, t, h, start, left, rows[LEFT])
    for n in range(1, count + 1):
        right = first + (last - first) * n / count
        eval_user_forces(ws, st, loads, t, h, start, right, rows[RIGHT])
        before = apart(rows[LEFT], rows[RIGHT])
        if before > SHARP * change:
            break
        left = right
        for i in range(rows.shape[1]):
            rows[LEFT, i] = rows[RIGHT, i]
    if before <= SHARP * change:
        return left, -1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        if not left < middle < right or t + right * h <= t + left * h:
            break
        eval_user_forces(ws, st, loads, t, h, start, middle, rows[MIDDLE])
        below, above = apart(rows[LEFT], rows[MIDDLE]), apart(rows[MIDDLE], rows[RIGHT])
        if not max(below, above) > SHARP * before:
            return left, -1.0
        row = RIGHT if below >= above else LEFT
        if row == RIGHT:
            right = middle
        else:
            left = middle
        for i in range(rows.shape[1]):
            rows[row, i] = rows[MIDDLE, i]
    return left, right
