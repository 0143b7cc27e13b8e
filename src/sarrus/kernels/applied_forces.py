"""Applied forces that change with the motion, and drives: the sums over all kinds of elements.

They act on separate linear forms, f = F q + f0, so that a mechanism without them has no additional cost:

    Q_total = Q + F^T w(t, f, f')

where w is a sum of short formulas, one per kind: see elements/. The force of Taylor coefficient k needs
configurations and rates up to k, so the forms up to k + 1. These are known when q_{k+2} is computed, so the order
of the series is preserved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .compiler import entry, kernel, noinline
from .elements import ball_damper, drive, spring, torsion, turning, user
from .elements.ball_damper import BallDampers
from .elements.drive import Drives
from .elements.spring import Springs
from .elements.torsion import Torsions
from .elements.turning import Turning
from .elements.user import User
from .layout import NONE, pack
from .solve import solve_refined

# Placeholder for entries that are not listed yet.
NO_PLACES = np.zeros(0, np.int64)


class Loads(NamedTuple):
    """Loads that change with the motion and drives, in the model's units; scratch memory of a run."""

    # Linear forms, rows of F compressed.
    F_start: Ints
    F_col: Ints
    F_val: Floats
    f0: Floats
    # Elements that act on them.
    springs: Springs
    torsions: Torsions
    ball_dampers: BallDampers
    turning: Turning
    user: User
    # Equations with a prescribed motion as right-hand side.
    drives: Drives
    # Entries of dw/df and dw/df': row and column.
    G_row: Ints = NO_PLACES
    G_col: Ints = NO_PLACES
    # Forms, their rates, the forces on them; most recent angles of torsion springs.
    f: Floats = NONE
    df: Floats = NONE
    fw: Floats = NONE
    theta: Floats = NONE
    # Series coefficients: load forms, one row per form; work of loads and drives.
    fc: Floats = NONE
    work: Floats = NONE


def list_entries(loads: Loads) -> Loads:
    """The loads with the indices of dw/df, in the order in which `eval_load_derivatives` writes them."""
    entries = [
        *spring.list_entries(loads.springs),
        *torsion.list_entries(loads.torsions),
        *ball_damper.list_entries(loads.ball_dampers),
        *turning.list_entries(loads.turning),
        *user.list_entries(loads.user),
    ]
    rows, columns = np.array(entries, dtype=np.int64).reshape(-1, 2).T.copy()
    return loads._replace(G_row=rows, G_col=columns)


def list_damping(loads: Loads) -> Floats:
    """Damping constants of all dampers."""
    springs, torsions = loads.springs.numbers, loads.torsions.numbers
    balls = loads.ball_dampers.damping
    return np.concatenate([springs[:, spring.DAMPING], torsions[:, torsion.DAMPING], balls])


def is_damped(loads: Loads) -> bool:
    """Whether there are dampers."""
    if not len(loads.springs.numbers) and not len(loads.torsions.numbers):
        return False
    return bool(np.any(list_damping(loads)))


def acts(loads: Loads | None) -> bool:
    """Whether there are forces that are not constant, or drives."""
    return loads is not None and bool(len(loads.f0) or len(loads.drives.equations))


def make_loads(loads: Loads, order: int) -> Loads | None:
    """The loads with scratch memory for series up to the given order; None if there are none."""
    if not acts(loads):
        return None
    forms = len(loads.f0)
    rows, z = order + 1, np.zeros
    return pack(loads._replace(
        springs=spring.make_series(loads.springs, rows),
        torsions=torsion.make_series(loads.torsions, rows),
        ball_dampers=ball_damper.make_series(loads.ball_dampers, rows),
        drives=drive.make_series(loads.drives, rows),
        user=user.make_scratch(loads.user, forms),
        f=z(forms), df=z(forms), fw=z(forms), theta=z(len(loads.torsions.first)),
        fc=z((forms, rows)), work=z(2 * rows),
    ))  # fmt: skip


@kernel
def eval_load_forms(loads, q):
    """loads.f = F q + f0."""
    for i in range(len(loads.f0)):
        s = loads.f0[i]
        for k in range(loads.F_start[i], loads.F_start[i + 1]):
            s += loads.F_val[k] * q[loads.F_col[k]]
        loads.f[i] = s


@kernel
def eval_load_form_rates(loads, v):
    """loads.df = F v."""
    for i in range(len(loads.f0)):
        s = 0.0
        for k in range(loads.F_start[i], loads.F_start[i + 1]):
            s += loads.F_val[k] * v[loads.F_col[k]]
        loads.df[i] = s


@kernel
def add_load_forces(loads, Q):
    """Q += F^T w."""
    for i in range(len(loads.f0)):
        for k in range(loads.F_start[i], loads.F_start[i + 1]):
            Q[loads.F_col[k]] += loads.fw[i] * loads.F_val[k]


@kernel
def eval_load_weights(loads, t):
    """loads.fw = w(t, f, f'); loads.theta: most recent angles of the torsion springs, updated."""
    f, df, w = loads.f, loads.df, loads.fw
    for i in range(len(w)):
        w[i] = 0.0
    spring.add_weights(loads.springs, f, df, w)
    torsion.add_weights(loads.torsions, f, df, loads.theta, w)
    ball_damper.add_weights(loads.ball_dampers, f, df, w)
    turning.add_weights(loads.turning, f, w)
    user.add_weights(loads.user, t, f, df, w)


@noinline
def eval_loads(form, loads, t, q, v, Q):
    """Q_total = Q + F^T w at a time and state; loads.f, loads.df, loads.fw: forms, their rates, w.

    loads.theta: most recent angles of the torsion springs; an angle may change by half a turn between calls.
    """
    for i in range(len(Q)):
        Q[i] = form.Q[i]
    if loads is not None:
        eval_load_forms(loads, q)
        eval_load_form_rates(loads, v)
        eval_load_weights(loads, t)
        add_load_forces(loads, Q)


@noinline
def eval_load_derivatives(loads, t, q, v, A, B):
    """Entries of dw/df and dw/df' at a time and state, so that

    dQ/dq = F^T (dw/df) F,      dQ/dv = F^T (dw/df') F.

    A[n], B[n]: derivative of w[G_row[n]] with respect to f[G_col[n]] and to f'[G_col[n]]; entries with equal
    indices add up. Exact, except for user forces: central differences.
    """
    if loads is None:
        return
    f = loads.f
    df = loads.df
    eval_load_forms(loads, q)
    eval_load_form_rates(loads, v)
    at = spring.add_derivatives(loads.springs, f, df, 0, A, B)
    at = torsion.add_derivatives(loads.torsions, f, df, loads.theta, at, A, B)
    at = ball_damper.add_derivatives(loads.ball_dampers, f, df, at, A, B)
    at = turning.add_derivatives(loads.turning, at, A, B)
    user.add_derivatives(loads.user, t, f, df, loads.fw, at, A, B)


@kernel
def eval_load_energy(loads, theta):
    """Potential energy of springs and torsion springs, from loads.f and the angles."""
    energy = spring.add_energy(loads.springs, loads.f, 0.0)
    return torsion.add_energy(loads.torsions, theta, energy)


@kernel
def eval_load_power(loads):
    """Power of non-conservative forces: dampers, torques, body-fixed forces, user forces."""
    f, df = loads.f, loads.df
    power = spring.add_power(loads.springs, f, df, 0.0)
    power = torsion.add_power(loads.torsions, f, df, power)
    power = ball_damper.add_power(loads.ball_dampers, f, df, power)
    power = turning.add_power(loads.turning, f, df, power)
    return user.add_power(loads.user, df, loads.fw, power)


@kernel
def weigh_forces(form, ws, loads):
    """w . F K^-1 F^T w of the forces loads.fw on forms, with the current factor."""
    for i in range(len(ws.b)):
        ws.b[i] = 0.0
    for f in range(len(loads.f0)):
        for n in range(loads.F_start[f], loads.F_start[f + 1]):
            ws.b[form.pos_q[loads.F_col[n]]] += loads.F_val[n] * loads.fw[f]
    solve_refined(form, ws.J, ws.L, ws.b, 0, ws.r, ws.x)
    s = 0.0
    for i in range(len(form.Q)):
        s += ws.b[form.pos_q[i]] * ws.x[form.pos_q[i]]
    return s


@kernel
def eval_decay(form, ws, loads):
    """Sum of the decay rates of velocities due to dampers; loads.f: forms at the end of the step."""
    rate = 0.0
    for n in range(len(loads.springs.first)):
        for i in range(len(loads.fw)):
            loads.fw[i] = 0.0
        spring.add_direction(loads.springs, n, loads.f, loads.fw)
        rate += loads.springs.numbers[n, spring.DAMPING] * weigh_forces(form, ws, loads)
    for n in range(len(loads.torsions.first)):
        for i in range(len(loads.fw)):
            loads.fw[i] = 0.0
        torsion.add_moment(loads.torsions, n, 1.0, loads.f, loads.fw)
        rate += loads.torsions.numbers[n, torsion.DAMPING] * weigh_forces(form, ws, loads)
    for n in range(len(loads.ball_dampers.first)):
        for axis in range(3):
            for i in range(len(loads.fw)):
                loads.fw[i] = 0.0
            ball_damper.add_moment(loads.ball_dampers, n, axis, loads.f, loads.fw)
            rate += loads.ball_dampers.damping[n] * weigh_forces(form, ws, loads)
    return rate


@kernel
def start_loads(loads, q, v):
    """The first two coefficients of the load forms."""
    eval_load_forms(loads, q)
    for i in range(len(loads.f)):
        loads.fc[i, 0] = loads.f[i]
    keep_load_forms(loads, 1, v)


@kernel
def keep_load_forms(loads, m, row):
    """Coefficient m of the load forms, from that of q."""
    eval_load_form_rates(loads, row)
    for i in range(len(loads.df)):
        loads.fc[i, m] = loads.df[i]


@noinline
def load_coefficient(loads, k):
    """loads.fw: coefficient k of w, from the forms up to k + 1."""
    w = loads.fw
    for i in range(len(w)):
        w[i] = 0.0
    spring.add_coefficient(loads.springs, loads.fc, k, w)
    torsion.add_coefficient(loads.torsions, loads.fc, loads.theta, k, w)
    ball_damper.add_coefficient(loads.ball_dampers, loads.fc, k, w)
    turning.add_coefficient(loads.turning, loads.fc, k, w)


@kernel
def add_load_coefficient(form, loads, k, scale, b):
    """b += scale F^T w_k, in elimination order."""
    load_coefficient(loads, k)
    for f in range(len(loads.f0)):
        x = scale * loads.fw[f]
        for n in range(loads.F_start[f], loads.F_start[f + 1]):
            b[form.pos_q[loads.F_col[n]]] += loads.F_val[n] * x


@kernel
def land_loads(loads, order, h, q):
    """Energy of the springs at the end of a step; loads.theta: the angles there."""
    eval_load_forms(loads, q)
    torsion.land_angles(loads.torsions, loads.f, order, h, loads.theta)
    return eval_load_energy(loads, loads.theta)


@noinline
def work_coefficients(loads, lam, known):
    """loads.work: coefficients of the work of non-conservative loads and of drives since t.

    Work is quadratic in the motion, and its series converges more slowly than that of the motion. So it is
    computed as the integral of the product of polynomials, with all their powers up to 2 known. Returns the
    highest power up to which all coefficients are finite.
    """
    work = loads.work
    for k in range(len(work)):
        work[k] = 0.0
    if len(loads.f0):
        # The forms are known one order further than the forces on them.
        for k in range(known - 1, known):
            load_coefficient(loads, k)
    spring.add_work(loads.springs, known, work)
    torsion.add_work(loads.torsions, known, work)
    ball_damper.add_work(loads.ball_dampers, known, work)
    turning.add_work(loads.turning, loads.fc, known, work)
    drive.add_work(loads.drives, lam, known, work)
    # In steps of a microsecond and less the highest powers, 1/s^60, overflow. Terms beyond the order of the step
    # are of the size of the squared tolerance.
    finite = len(work)
    for k in range(len(work) - 1, -1, -1):
        if not np.isfinite(work[k]):
            work[k] = 0.0
            finite = k
    return finite - 1


@entry
def eval_static_loads(form, loads, t, q, v, Q, A, B):
    """Q_total at a state, and the entries of dw/df and dw/df' (see `eval_load_derivatives`)."""
    eval_loads(form, loads, t, q, v, Q)
    eval_load_derivatives(loads, t, q, v, A, B)
