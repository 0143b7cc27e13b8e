"""Back onto the constraints: position by Newton, velocity mass-orthogonally, both with one factor."""

from ..thresholds import ROUND_OFF
from .compiler import kernel
from .elements.drive import drive_constraints, eval_drives, subtract_drives
from .forms import (
    eval_constraint_rates,
    eval_constraints,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .solve import eval_pivots, factorise, factorise_damped, refinements_for, solve_refined


@kernel
def project_position(form, ws, loads, iterations, q):
    """Newton on Phi(q) = 0 with the factor at hand; returns how far q moved (largest entry).

    ws.e, ws.phi: forms and constraints at q on entry and on return; loads.drives.driven: right sides of drives.
    """
    moved = 0.0
    left = eval_constraints(form, ws.e, ws.phi)
    left = drive_constraints(form, loads, left, ws.phi)
    for _ in range(iterations):
        if left <= ROUND_OFF:
            break
        for i in range(len(ws.b)):
            ws.b[i] = 0.0
        for k in range(len(ws.phi)):
            ws.b[form.pos_c[k]] = -ws.phi[k]
        solve_refined(form, ws.J, ws.L, ws.b, 0, ws.r, ws.x)
        largest = 0.0
        for i in range(len(q)):
            ws.dq[i] = ws.x[form.pos_q[i]]
            q[i] += ws.dq[i]
            largest = max(largest, abs(ws.dq[i]))
        eval_forms(form, q, ws.e)
        now = eval_constraints(form, ws.e, ws.phi)
        now = drive_constraints(form, loads, now, ws.phi)
        moved += largest
        if not now < left:
            break
        left = now
    return moved


@kernel
def project_velocity(form, ws, loads, refinements, v):
    """Remove from v what violates J v = phi0', orthogonal in the mass metric; returns how far v moved."""
    eval_form_rates(form, v, ws.de)
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    for i in range(len(ws.b)):
        ws.b[i] = 0.0
    for k in range(len(ws.phi)):
        ws.b[form.pos_c[k]] = -ws.phi[k]
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)
    moved = 0.0
    for i in range(len(v)):
        dv = ws.x[form.pos_q[i]]
        v[i] += dv
        moved = max(moved, abs(dv))
    return moved


@kernel
def project_state(form, ws, loads, t, damping, corrections, tolerance, q, v):
    """Position and velocity at t back onto the constraints; ws.J, ws.L: J and the factor of K there.

    damping: 0, or 1 far away from the constraints. Dependent equations contradict each other a little there;
    damped as much as they are violated, Newton's steps do not answer to that [FanYuan2005]. tolerance: what
    the velocity's solve may leave. Returns how far position and velocity moved, the smallest pivot, and
    the smallest against what is usual.
    """
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    open_by = 0.0
    if damping > 0.0:
        open_by = eval_constraints(form, ws.e, ws.phi)
        open_by = damping * drive_constraints(form, loads, open_by, ws.phi)
    factorise_damped(form, ws.J, open_by, ws.L)
    moved = project_position(form, ws, loads, corrections, q)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    smallest, drop = eval_pivots(form, ws.L, ws.usual)
    turned = project_velocity(form, ws, loads, refinements_for(smallest, tolerance), v)
    return moved, turned, smallest, drop
