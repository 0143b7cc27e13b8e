"""The quadratic form for methods written in Python: constraints, Jacobian, forces, one solve, one projection."""

from .applied_forces import eval_loads
from .compiler import entry
from .elements.drive import drive_constraints, eval_drives, subtract_drives
from .forms import (
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .solve import project_state, refinements_for, solve_motion
from .stepping import factorise_at, pivot_gap


@entry
def eval_place(form, ws, loads, t, q, phi, J):
    """Phi(q, t), and J(q) as a full matrix."""
    eval_forms(form, q, ws.e)
    opening = eval_constraints(form, ws.e, phi)
    eval_drives(loads, t)
    drive_constraints(form, loads, opening, phi)
    eval_jacobian(form, ws.e, ws.J)
    for k in range(J.shape[0]):
        for i in range(J.shape[1]):
            J[k, i] = 0.0
    for n in range(len(ws.J)):
        J[form.J_eq[n], form.J_col[n]] += ws.J[n]


@entry
def eval_motion(form, ws, loads, t, q, v, rate, curvature, Q):
    """Phi' = J v - phi0'(t), the part of Phi'' without accelerations, and the forces."""
    eval_forms(form, q, ws.e)
    eval_form_rates(form, v, ws.de)
    eval_drives(loads, t)
    eval_constraint_rates(form, ws.e, ws.de, rate)
    subtract_drives(loads, 1, rate)
    eval_curvature(form, ws.de, curvature)
    subtract_drives(loads, 2, curvature)
    eval_loads(form, loads, t, q, v, Q)


@entry
def solve_at(form, ws, q, force, right, x, lam):
    """Solve [M J^T; J 0] (x, lam) = (force, right) at q, redundant or not; returns the smallest pivot."""
    factorise_at(form, ws, q)
    _, _, smallest = pivot_gap(form, ws.L)
    for c in range(len(right)):
        ws.b[form.pos_c[c]] = right[c]
    for i in range(len(force)):
        ws.Q[i] = force[i]
    solve_motion(form, ws, refinements_for(smallest, 0.0), x, lam)
    return smallest


@entry
def project_at(form, ws, loads, t, damping, corrections, q, v):
    """Project q and v onto the constraints, in place; returns how far both moved."""
    moved, turned, _, _ = project_state(form, ws, loads, t, damping, corrections, 0.0, 0.0, q, v)
    return moved, turned


@entry
def eval_mass(form, M):
    """The mass matrix as a dense matrix."""
    for i in range(len(form.Q)):
        for j in range(len(form.Q)):
            M[i, j] = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            M[i, form.M_col[k]] += form.M_val[k]
