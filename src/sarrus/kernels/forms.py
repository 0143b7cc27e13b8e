"""Evaluation of the quadratic form: linear forms, constraints, Jacobian, energy."""

import numpy as np

from .compiler import kernel


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
    return largest_entry(phi)


@kernel
def largest_entry(x):
    """Largest magnitude in an array."""
    largest = 0.0
    for k in range(len(x)):
        largest = max(largest, abs(x[k]))
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
