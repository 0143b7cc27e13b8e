"""Evaluation of the quadratic form: linear forms, constraints, Jacobian, energy."""

import numpy as np

from .compiler import entry, kernel


@kernel
def eval_forms(form, q, e):
    """The linear forms, e = D q + e0."""
    for f in range(len(form.e0)):
        s = form.e0[f]
        for k in range(form.D_start[f], form.D_start[f + 1]):
            s += form.D_val[k] * q[form.D_col[k]]
        e[f] = s


@kernel
def eval_form_rates(form, v, de):
    """Rates of the forms, de = D v."""
    for f in range(len(form.e0)):
        s = 0.0
        for k in range(form.D_start[f], form.D_start[f + 1]):
            s += form.D_val[k] * v[form.D_col[k]]
        de[f] = s


@kernel
def eval_constraints(form, e, phi):
    """Phi(q) from the forms; returns its largest entry."""
    for k in range(len(phi)):
        phi[k] = -form.phi0[k]
    for t in range(len(form.sq_c)):
        x = e[form.sq_form[t]]
        phi[form.sq_eq[t]] += 0.5 * form.sq_c[t] * x * x
    for t in range(len(form.bl_c)):
        phi[form.bl_eq[t]] += form.bl_c[t] * e[form.bl_a[t]] * e[form.bl_b[t]]
    largest = 0.0
    for k in range(len(phi)):
        largest = max(largest, abs(phi[k]))
    return largest


@kernel
def add_constraint_rates(form, e, de, phi):
    """Phi += J v, with de = D v."""
    for t in range(len(form.sq_c)):
        f = form.sq_form[t]
        phi[form.sq_eq[t]] += form.sq_c[t] * e[f] * de[f]
    for t in range(len(form.bl_c)):
        a = form.bl_a[t]
        b = form.bl_b[t]
        phi[form.bl_eq[t]] += form.bl_c[t] * (e[a] * de[b] + de[a] * e[b])


@kernel
def eval_constraint_rates(form, e, de, phi):
    """Phi' = J v, with de = D v."""
    for k in range(len(phi)):
        phi[k] = 0.0
    add_constraint_rates(form, e, de, phi)


@kernel
def eval_curvature(form, de, phi):
    """J' v, the part of Phi'' without accelerations."""
    for k in range(len(phi)):
        phi[k] = 0.0
    for t in range(len(form.sq_c)):
        x = de[form.sq_form[t]]
        phi[form.sq_eq[t]] += form.sq_c[t] * x * x
    for t in range(len(form.bl_c)):
        phi[form.bl_eq[t]] += 2.0 * form.bl_c[t] * de[form.bl_a[t]] * de[form.bl_b[t]]


@kernel
def eval_jacobian(form, e, J):
    """Entries of J, each linear in the forms."""
    for n in range(len(J)):
        s = 0.0
        for k in range(form.C_start[n], form.C_start[n + 1]):
            s += form.C_val[k] * e[form.C_form[k]]
        J[n] = s


@kernel
def eval_energy(form, q, v):
    """Kinetic and potential energy; the potential is zero at the start configuration."""
    kinetic = 0.0
    potential = 0.0
    for i in range(len(q)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * v[form.M_col[k]]
        kinetic += 0.5 * s * v[i]
        potential -= form.Q[i] * q[i]
    return kinetic, potential


@kernel
def norm(x):
    """Euclidean norm."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return np.sqrt(s)


@kernel
def first_of(with_it, i):
    """Representative of the group of i (union-find); with_it: parent of each element, or itself."""
    while with_it[i] != i:
        with_it[i] = with_it[with_it[i]]
        i = with_it[i]
    return i


@kernel
def tie(with_it, i, j):
    """Merge the groups of two elements."""
    a = first_of(with_it, i)
    b = first_of(with_it, j)
    with_it[max(a, b)] = min(a, b)


@kernel
def hold_form(form, f, held):
    """Coordinates of a form of an equation: a single one cannot be translated, several only together."""
    first = form.D_start[f]
    for n in range(first, form.D_start[f + 1]):
        tie(held, form.D_col[first], form.D_col[n])
    if form.D_start[f + 1] == first + 1:
        tie(held, form.D_col[first], len(form.Q))


@entry
def is_one_held_part(form, groups):
    """Whether masses and equations connect all coordinates, and none can be translated freely.

    groups: memory of three rows, each for the number of coordinates plus one, or of equations if larger. A false
    negative (forms of several coordinates may constrain them, too) is harmless.
    """
    nq = len(form.Q)
    parts = groups[0]
    held = groups[1]
    of = groups[2]
    for i in range(nq + 1):
        parts[i] = i
        held[i] = i
    for k in range(len(form.phi0)):
        of[k] = -1
    for i in range(nq):
        for n in range(form.M_start[i], form.M_start[i + 1]):
            tie(parts, i, form.M_col[n])
    for n in range(len(form.J_eq)):
        k = form.J_eq[n]
        if of[k] < 0:
            of[k] = form.J_col[n]
        tie(parts, of[k], form.J_col[n])
    for t in range(len(form.sq_c)):
        hold_form(form, form.sq_form[t], held)
    for t in range(len(form.bl_c)):
        hold_form(form, form.bl_a[t], held)
        hold_form(form, form.bl_b[t], held)
    ground = first_of(held, nq)
    apart = 0
    for i in range(nq):
        apart += first_of(parts, i) != first_of(parts, 0) or first_of(held, i) != ground
    return apart == 0
