"""What the methods with a fixed step share: accelerations, checks of a step, recording.

A run is stepped in chunks. store[n] holds the state at the end of step n of a chunk as three rows:
position, velocity, acceleration; store[0] is where the chunk starts.
"""

import numpy as np

from .compiler import block, entry, kernel
from .elements.drive import (
    drive_constraints,
    eval_drive_forces,
    eval_drive_power,
    eval_drives,
    subtract_drives,
)
from .forms import (
    add_constraint_rates,
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_energy,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
    norm,
)
from .loads import eval_load_energy, eval_load_power, eval_loads
from .solve import EPS, add_augmentation, factorise, refinements_for, solve_factored, solve_refined

# why a loop returned
DONE = 0
NOT_CONVERGED = 1
NOT_FINITE = 2
TORN = 3
LOST_RANK = 4

# places in the counters
STEPS, ITERATIONS, FACTORISATIONS, LOOSENED = 0, 1, 2, 3

# Constraints are lengths in units of a typical link: above this the loops are torn open.
OPEN = 1.0
# outputs this close to the end of a step, in steps, are that end
SAME = 1e-7
# a pivot below this, in units of what the equation has alone, is a dependent equation
DEPENDENT = 1e-9


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
        if ratio > DEPENDENT:
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
    """Whether a step may be kept: finite, and the loops not torn open."""
    for k in range(state.shape[0]):
        if not np.isfinite(largest(state[k])):
            return NOT_FINITE
    if not np.isfinite(opening):
        return NOT_FINITE
    if opening > OPEN:
        return TORN
    return DONE


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


@kernel
def interpolate(before, after, h, s, q, v, a):
    """State at the part s of a step: Hermite's quintic of (q, v, a) at its ends."""
    for i in range(len(q)):
        q0, v0, a0 = before[0, i], h * before[1, i], h * h * before[2, i]
        q1, v1, a1 = after[0, i], h * after[1, i], h * h * after[2, i]
        # q0 + v0 s + a0/2 s^2 + c3 s^3 + c4 s^4 + c5 s^5
        p = (q1 - q0) - v0 - 0.5 * a0
        w = v1 - v0 - a0
        z = a1 - a0
        c3 = 10.0 * p - 4.0 * w + 0.5 * z
        c4 = -15.0 * p + 7.0 * w - z
        c5 = 6.0 * p - 3.0 * w + 0.5 * z
        q[i] = q0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))))
        v[i] = (v0 + s * (a0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / h
        a[i] = (a0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (h * h)


@block
def measure(form, ws, loads, t, q, v, a, norms):
    """Norms of Phi, Phi', Phi'' at a state; returns its energy, kinetic and potential."""
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    left = eval_constraints(form, ws.e, ws.phi)
    drive_constraints(form, loads, left, ws.phi)
    norms[0] = norm(ws.phi)
    eval_form_rates(form, v, ws.de)
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    norms[1] = norm(ws.phi)
    eval_curvature(form, ws.de, ws.phi)
    eval_form_rates(form, a, ws.de)
    add_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    norms[2] = norm(ws.phi)
    energy, _ = eval_energy(form, q, v)
    if loads is not None:
        eval_loads(form, loads, t, q, v, ws.Q)
        energy += eval_load_energy(loads, loads.theta)
    return energy


@block
def eval_power(form, ws, loads, t, q, v, lam):
    """Power of loads without potential and of drives at a state; a and lam there as scratch."""
    eval_loads(form, loads, t, q, v, ws.Q)
    power = eval_load_power(loads)
    if loads is not None and len(loads.drives.equations):
        accelerate(form, ws, loads, t, 0.0, 0.0, -1, q, v, ws.dq, lam)
        power += eval_drive_power(loads, lam)
    return power


@entry
def eval_power_at(form, ws, loads, t, q, v, lam):
    """eval_power for a state that Python has."""
    return eval_power(form, ws, loads, t, q, v, lam)


@block
def integrate_power(form, ws, loads, t, h, part, before, after, lam):
    """Work of loads without potential and of drives over a part of a step that starts at t.

    Gauss's rule of three points on Hermite's quintic of the step: of order six, as the quintic is.
    """
    root = 0.5 * np.sqrt(0.6)
    work = 0.0
    for n in range(3):
        s = part * (0.5 + (n - 1) * root)
        weight = part * h * (4.0 if n == 1 else 2.5) / 9.0
        interpolate(before, after, h, s, ws.q, ws.v, ws.dq)
        work += weight * eval_power(form, ws, loads, t + s * h, ws.q, ws.v, lam)
    return work


@block
def copy_state(form, ws, loads, t, complete, source, lam, state):
    """Copy a state; where the method has no acceleration the equations of motion give it."""
    for k in range(3):
        for i in range(len(form.Q)):
            state[k, i] = source[k, i]
    if not complete:
        accelerate(form, ws, loads, t, 0.0, 0.0, -1, state[0], state[1], state[2], lam)


@entry
def record_steps(
    form, ws, loads, first, h, complete, store, times, ends, lam, carried,
    q, v, a, norms, energy, angles, work, drive_forces,
):  # fmt: skip
    """The method's own states at the given times, interpolated between steps, never projected.

    first: number of the step at store[0]; complete: whether the method has accelerations of its own;
    ends, lam: scratch; carried[0]: work up to store[0], updated to the last row. Outputs: q, v, a: one
    row a time; norms; energy; angles of torsions; work; forces of drives.
    """
    last = store.shape[0] - 1
    done = 0
    for k in range(len(times)):
        at = times[k] / h - first
        n = min(max(int(np.floor(at + SAME)), 0), last)
        s = at - n
        copy_state(form, ws, loads, times[k], complete, store[n], lam, ends[0])
        if s <= SAME or n == last:
            s = 0.0
            for i in range(q.shape[1]):
                q[k, i] = ends[0, 0, i]
                v[k, i] = ends[0, 1, i]
                a[k, i] = ends[0, 2, i]
        else:
            copy_state(form, ws, loads, (first + n + 1) * h, complete, store[n + 1], lam, ends[1])
            interpolate(ends[0], ends[1], h, s, q[k], v[k], a[k])
        if loads is not None:
            # every step is walked through: the angles count their turns on the way
            while done < n:
                t = (first + done) * h
                carried[0] += integrate_power(
                    form, ws, loads, t, h, 1.0, store[done], store[done + 1], lam
                )
                done += 1
            work[k] = carried[0]
            if s > 0.0:
                t = (first + n) * h
                work[k] += integrate_power(form, ws, loads, t, h, s, store[n], store[n + 1], lam)
        energy[k] = measure(form, ws, loads, times[k], q[k], v[k], a[k], norms[k])
        if loads is not None:
            energy[k] -= work[k]
            for i in range(angles.shape[1]):
                angles[k, i] = loads.theta[i]
            eval_drive_forces_at(form, ws, loads, times[k], q[k], v[k], lam, drive_forces[k])
    if loads is not None:
        while done < last:
            t = (first + done) * h
            carried[0] += integrate_power(
                form, ws, loads, t, h, 1.0, store[done], store[done + 1], lam
            )
            done += 1


@kernel
def eval_drive_forces_at(form, ws, loads, t, q, v, lam, force):
    """Forces of the drives at a state."""
    if loads is not None and len(loads.drives.equations):
        accelerate(form, ws, loads, t, 0.0, 0.0, -1, q, v, ws.dq, lam)
        eval_drive_forces(loads, t, lam, force)


@entry
def record_states(form, ws, loads, times, lam, q, v, a, norms, energy, angles, drive_forces):
    """Norms, energy, angles and forces of drives for states that are there already, one row a time.

    loads.theta has to be next to the angles of each; energy is kinetic and potential.
    """
    for k in range(len(energy)):
        if loads is not None:
            for i in range(angles.shape[1]):
                loads.theta[i] = angles[k, i]
        energy[k] = measure(form, ws, loads, times[k], q[k], v[k], a[k], norms[k])
        eval_drive_forces_at(form, ws, loads, times[k], q[k], v[k], lam, drive_forces[k])
