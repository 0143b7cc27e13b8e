"""What the methods with a fixed step share: accelerations, checks of a step.

A run is stepped in chunks. store[n] holds the state at the end of step n of a chunk as three rows:
position, velocity, acceleration; store[0] is where the chunk starts.
"""

import numpy as np

from ..thresholds import DEPENDENT_PIVOT, EPS, TORN_OPEN
from .compiler import block, entry, kernel
from .elements.drive import drive_constraints, eval_drives, subtract_drives
from .forms import (
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .loads import eval_loads
from .reasons import FULL, OVERFLOW, TORN
from .solve import add_augmentation, factorise, refinements_for, solve_factored, solve_refined

# places in the counters
STEPS, ITERATIONS, FACTORISATIONS, LOOSENED = 0, 1, 2, 3


@kernel
def largest(x):
    """Largest entry; nan if one is not a number."""
    top = 0.0
    for i in range(len(x)):
        if not abs(x[i]) <= top:
            top = abs(x[i])
    return top


@kernel
def add_mass_times(form, factor, x, b):
    """Add factor M x to the first block of b, in elimination order."""
    for i in range(len(x)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * x[form.M_col[k]]
        b[form.pos_q[i]] += factor * s


@kernel
def subtract_multiplier_force(form, J, lam, b):
    """Subtract J^T lam from the first block of b, in elimination order."""
    for k in range(len(J)):
        b[form.pos_q[form.J_col[k]]] -= J[k] * lam[form.J_eq[k]]


@kernel
def solve_system(form, J, L, b):
    """Solve K x = b in place with the factor at J, unknowns in elimination order."""
    if len(form.K_A):
        add_augmentation(form, J, b)
    solve_factored(form, L, b)


@kernel
def factorise_at(form, ws, q):
    """Forms, Jacobian and factor of K at q."""
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)


@kernel
def pivot_gap(form, L):
    """How many equations are dependent, the largest of their pivots, and the smallest of the others.

    Pivots are relative to eps / EPS, what the equation has alone: eps has to be the model's own.
    """
    count = 0
    below = 0.0
    above = 1.0
    for k in range(len(form.phi0)):
        ratio = -EPS / (L[form.pos_c[k]] * form.eps[k])
        if ratio > DEPENDENT_PIVOT:
            above = min(above, ratio)
        else:
            count += 1
            below = max(below, ratio)
    return count, below, above


@block
def accelerate(form, ws, loads, t, damping, stiffness, refinements, q, v, a, lam):
    """Factorise K at q and solve the equations of motion with stabilised constraints.

    [ M  J^T ] [ a   ]   [ Q                                                         ]
    [ J  0   ] [ lam ] = [ phi0'' - J' v - damping (J v - phi0') - stiffness Phi     ]

    refinements: 0 keeps the eps of the form in the solution, -1 as many as the pivots ask for.
    Returns the largest entry of Phi.
    """
    factorise_at(form, ws, q)
    eval_form_rates(form, v, ws.de)
    eval_drives(loads, t)
    opening = eval_constraints(form, ws.e, ws.phi)
    opening = drive_constraints(form, loads, opening, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -stiffness * ws.phi[c]
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] -= damping * ws.phi[c]
    eval_curvature(form, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] -= ws.phi[c]
    eval_loads(form, loads, t, q, v, ws.Q)
    for i in range(len(q)):
        ws.b[form.pos_q[i]] = ws.Q[i]
    wanted = refinements
    if wanted < 0:
        _, _, smallest = pivot_gap(form, ws.L)
        wanted = refinements_for(smallest, 0.0)
    solve_refined(form, ws.J, ws.L, ws.b, wanted, ws.r, ws.x)
    for i in range(len(q)):
        a[i] = ws.x[form.pos_q[i]]
    for c in range(len(lam)):
        lam[c] = ws.x[form.pos_c[c]]
    return opening


@kernel
def check_state(opening, state):
    """Why a step may not be kept: not finite, loops torn open; FULL if nothing is wrong: go on."""
    for k in range(state.shape[0]):
        if not np.isfinite(largest(state[k])):
            return OVERFLOW
    if not np.isfinite(opening):
        return OVERFLOW
    if opening > TORN_OPEN:
        return TORN
    return FULL


@entry
def check_row(form, ws, loads, t, q, state):
    """check_state for a state that is kept elsewhere: one row, any numbers that must be finite."""
    eval_forms(form, q, ws.e)
    opening = eval_constraints(form, ws.e, ws.phi)
    eval_drives(loads, t)
    return check_state(drive_constraints(form, loads, opening, ws.phi), state)


@entry
def count_dependent(form, ws, q):
    """How many equations depend on others at q, their largest pivot, the smallest of the others."""
    factorise_at(form, ws, q)
    return pivot_gap(form, ws.L)
