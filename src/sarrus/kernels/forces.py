"""Loads that change with the motion, at a given time and state.

They act on linear forms of their own, f = F q + f0, so that a mechanism without them pays nothing:

    Q_total = Q + F^T w(t, f, f')

and w is a sum of short formulas, one a kind of element:

    spring      d = three forms, l = |d|, P = k (l - l0) + c l' + p,      w[d] = -P d / l
    torsion     u, b, u' = nine forms: u and b = axis x u in the first body, u' in the second (u at the
                start); c = u . u', s = b . u', theta = atan2(s, c), counted on beyond a turn,
                theta' = c s' - s c',      M = m - k (theta - theta0) - c theta',
                w[u] = -M s u',      w[b] = M c u',      w[u'] = M (c b - s u)
    product     w[a] = c f[b]: forces and torques that turn with a body, torques on one
    user        w = what a function of (t, positions, velocities) of some points returns
"""

import ctypes

import numba
import numpy as np

from .compiler import block, kernel
from .layout import Floats

# columns of form.line and form.angle
STIFFNESS, DAMPING, FREE, PRELOAD = 0, 1, 2, 3
# columns of form.user
ADDRESS, FIRST, POINTS, DIMENSION = 0, 1, 2, 3

# void(t, position, velocity, force): arrays (points, dimension) in m, m/s and N
DOUBLES = ctypes.POINTER(ctypes.c_double)
UserFunction = ctypes.CFUNCTYPE(None, ctypes.c_double, DOUBLES, DOUBLES, DOUBLES)

# differences for the derivatives of user forces, of 1 + |x|: the error of a Newton matrix, no more
DIFFERENCE = 1e-6


if numba.config.DISABLE_JIT:

    def call_user(address: int, t: float, x: Floats, v: Floats, force: Floats) -> None:
        """Call the function at an address."""
        pointers = (a.ctypes.data_as(DOUBLES) for a in (x, v, force))
        UserFunction(int(address))(t, *pointers)

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic
    def call_user(typing, address, t, x, v, force):  # noqa: D103
        signature = types.void(types.int64, types.float64, x, v, force)

        def generate(context, builder, signature, arguments):
            double = ir.DoubleType()
            row = double.as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [double, row, row, row])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            arrays = [
                context.make_array(ty)(context, builder, value).data
                for ty, value in zip(signature.args[2:], arguments[2:], strict=True)
            ]
            builder.call(function, [arguments[1], *arrays])
            return cgutils.get_null_value(ir.LiteralStructType([]).as_pointer())

        return signature, generate


@kernel
def eval_load_forms(form, q, f):
    """f = F q + f0."""
    for i in range(len(form.f0)):
        s = form.f0[i]
        for k in range(form.F_start[i], form.F_start[i + 1]):
            s += form.F_val[k] * q[form.F_col[k]]
        f[i] = s


@kernel
def eval_load_form_rates(form, v, df):
    """f' = F v."""
    for i in range(len(form.f0)):
        s = 0.0
        for k in range(form.F_start[i], form.F_start[i + 1]):
            s += form.F_val[k] * v[form.F_col[k]]
        df[i] = s


@kernel
def add_load_forces(form, w, Q):
    """Q += F^T w."""
    for i in range(len(form.f0)):
        for k in range(form.F_start[i], form.F_start[i + 1]):
            Q[form.F_col[k]] += form.F_val[k] * w[i]


@kernel
def dot(x, i, y, j):
    """Scalar product of three numbers from x[i] on and three from y[j] on."""
    return x[i] * y[j] + x[i + 1] * y[j + 1] + x[i + 2] * y[j + 2]


@kernel
def unwrap(angle, near):
    """The same angle with as many turns as bring it next to another."""
    return angle + 2.0 * np.pi * np.rint((near - angle) / (2.0 * np.pi))


@kernel
def eval_line(form, n, f, df):
    """Length of a spring, its rate, and its pull."""
    a = form.line_f[n]
    length = np.sqrt(dot(f, a, f, a))
    rate = dot(f, a, df, a) / length
    p = form.line[n]
    pull = p[STIFFNESS] * (length - p[FREE]) + p[DAMPING] * rate + p[PRELOAD]
    return length, rate, pull


@kernel
def eval_turn(form, n, f):
    """Cosine and sine of the angle of a torsion."""
    u = form.angle_f[n]
    return dot(f, u, f, u + 6), dot(f, u + 3, f, u + 6)


@kernel
def eval_angle(form, n, f, df):
    """Cosine, sine and their rates for the angle of a torsion."""
    u = form.angle_f[n]
    b = u + 3
    x = u + 6
    c, s = eval_turn(form, n, f)
    dc = dot(df, u, f, x) + dot(f, u, df, x)
    ds = dot(df, b, f, x) + dot(f, b, df, x)
    return c, s, dc, ds


@kernel
def eval_torsion(form, n, theta, f, df):
    """Angle (with the turns that bring it next to theta), its rate, and the torque of a torsion."""
    c, s, dc, ds = eval_angle(form, n, f, df)
    p = form.angle[n]
    angle = unwrap(np.arctan2(s, c), theta)
    rate = c * ds - s * dc
    moment = p[PRELOAD] - p[STIFFNESS] * (angle - p[FREE]) - p[DAMPING] * rate
    return angle, rate, moment


@kernel
def eval_load_weights(form, t, f, df, theta, w):
    """w(t, f, f'); theta: angles of the torsions as last seen, updated."""
    for i in range(len(w)):
        w[i] = 0.0
    for n in range(len(form.line)):
        length, _, pull = eval_line(form, n, f, df)
        a = form.line_f[n]
        for i in range(a, a + 3):
            w[i] -= pull / length * f[i]
    for n in range(len(form.angle)):
        angle, _, moment = eval_torsion(form, n, theta[n], f, df)
        theta[n] = angle
        c, s, _, _ = eval_angle(form, n, f, df)
        u = form.angle_f[n]
        for i in range(u, u + 3):
            w[i] -= moment * s * f[i + 6]
            w[i + 3] += moment * c * f[i + 6]
            w[i + 6] += moment * (c * f[i + 3] - s * f[i])
    for n in range(len(form.pr_c)):
        w[form.pr_a[n]] += form.pr_c[n] * f[form.pr_b[n]]
    for n in range(len(form.user)):
        a = form.user[n, FIRST]
        b = a + form.user[n, POINTS] * form.user[n, DIMENSION]
        call_user(form.user[n, ADDRESS], t, f[a:b], df[a:b], w[a:b])
        for i in range(a, b):
            w[i] *= form.user_c[n]


@block
def eval_loads(form, ws, t, q, v, Q):
    """Q_total = Q + F^T w at a time and state; ws.f, ws.df, ws.fw: forms, their rates, w.

    ws.theta: angles of the torsions as last seen; an angle may change by half a turn from call to call.
    """
    for i in range(len(Q)):
        Q[i] = form.Q[i]
    if len(form.f0):
        eval_load_forms(form, q, ws.f)
        eval_load_form_rates(form, v, ws.df)
        eval_load_weights(form, t, ws.f, ws.df, ws.theta, ws.fw)
        add_load_forces(form, ws.fw, Q)


@block
def eval_load_derivatives(form, ws, t, q, v, A, B):
    """The entries of dw/df and dw/df' at a time and state, so that

    dQ/dq = F^T (dw/df) F,      dQ/dv = F^T (dw/df') F.

    A[n], B[n]: derivative of w[G_row[n]] by f[G_col[n]] and by f'[G_col[n]]; entries of the same place
    add up. Exact, except for user forces: central differences.
    """
    f = ws.f
    df = ws.df
    eval_load_forms(form, q, f)
    eval_load_form_rates(form, v, df)
    at = 0
    for n in range(len(form.line)):
        at = line_derivatives(form, n, f, df, at, A, B)
    for n in range(len(form.angle)):
        angle, _, _ = eval_torsion(form, n, ws.theta[n], f, df)
        ws.theta[n] = angle
        at = angle_derivatives(form, n, angle, f, df, at, A, B)
    for n in range(len(form.pr_c)):
        A[at] = form.pr_c[n]
        B[at] = 0.0
        at += 1
    for n in range(len(form.user)):
        at = user_derivatives(form, n, t, f, df, ws.fw, at, A, B)


@kernel
def line_derivatives(form, n, f, df, at, A, B):
    """The nine entries of a spring, row by row."""
    length, rate, pull = eval_line(form, n, f, df)
    a = form.line_f[n]
    k = form.line[n, STIFFNESS]
    c = form.line[n, DAMPING]
    for i in range(a, a + 3):
        for j in range(a, a + 3):
            # the rate of the length changes by (d' - rate d / l) / l
            grow = k * f[j] + c * (df[j] - rate * f[j] / length)
            A[at] = -f[i] / (length * length) * (grow - pull * f[j] / length)
            if i == j:
                A[at] -= pull / length
            B[at] = -c * f[i] * f[j] / (length * length)
            at += 1
    return at


@kernel
def angle_derivatives(form, n, angle, f, df, at, A, B):
    """The 81 entries of a torsion, row by row."""
    c, s, dc, ds = eval_angle(form, n, f, df)
    u = form.angle_f[n]
    p = form.angle[n]
    rate = c * ds - s * dc
    moment = p[PRELOAD] - p[STIFFNESS] * (angle - p[FREE]) - p[DAMPING] * rate
    for i in range(9):
        part = i // 3
        # w[i] = moment * (p1 * f[i1] + p2 * f[i2])
        if part == 0:
            i1, i2, p1, p2 = u + i + 6, u, -s, 0.0
        elif part == 1:
            i1, i2, p1, p2 = u + i + 3, u, c, 0.0
        else:
            i1, i2, p1, p2 = u + i - 3, u + i - 6, c, -s
        lever = p1 * f[i1] + p2 * f[i2]
        for j in range(9):
            # derivatives of c, s, c', s' by form j; those of c', s' by its rate are those of c, s
            gc, gs, gdc, gds = 0.0, 0.0, 0.0, 0.0
            if j < 3:
                gc, gdc = f[u + j + 6], df[u + j + 6]
            elif j < 6:
                gs, gds = f[u + j + 3], df[u + j + 3]
            else:
                gc, gdc = f[u + j - 6], df[u + j - 6]
                gs, gds = f[u + j - 3], df[u + j - 3]
            turn = c * gs - s * gc
            change = -p[STIFFNESS] * turn / (c * c + s * s)
            change -= p[DAMPING] * (gc * ds + c * gds - gs * dc - s * gdc)
            if part == 0:
                own = -gs * f[i1]
            elif part == 1:
                own = gc * f[i1]
            else:
                own = gc * f[i1] - gs * f[i2]
            if u + j == i1:
                own += p1
            if part == 2 and u + j == i2:
                own += p2
            A[at] = change * lever + moment * own
            B[at] = -p[DAMPING] * turn * lever
            at += 1
    return at


@kernel
def user_derivatives(form, n, t, f, df, scratch, at, A, B):
    """The entries of a user force, row by row; scratch: numbers of the length of f."""
    a = form.user[n, FIRST]
    size = form.user[n, POINTS] * form.user[n, DIMENSION]
    b = a + size
    for j in range(size):
        for level in range(2):
            x = f if level == 0 else df
            D = A if level == 0 else B
            kept = x[a + j]
            step = DIFFERENCE * (1.0 + abs(kept))
            x[a + j] = kept + step
            call_user(form.user[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
            for i in range(size):
                D[at + i * size + j] = scratch[a + i]
            x[a + j] = kept - step
            call_user(form.user[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
            for i in range(size):
                D[at + i * size + j] -= scratch[a + i]
                D[at + i * size + j] *= form.user_c[n] / (2.0 * step)
            x[a + j] = kept
    return at + size * size


@kernel
def eval_spring_energy(form, f, theta):
    """Potential energy of springs and torsions, from the forms and the angles."""
    energy = 0.0
    for n in range(len(form.line)):
        a = form.line_f[n]
        p = form.line[n]
        length = np.sqrt(dot(f, a, f, a))
        stretch = length - p[FREE]
        energy += 0.5 * p[STIFFNESS] * stretch * stretch + p[PRELOAD] * length
    for n in range(len(form.angle)):
        p = form.angle[n]
        energy += 0.5 * p[STIFFNESS] * (theta[n] - p[FREE]) ** 2
    return energy


@kernel
def eval_load_power(form, f, df, w):
    """Power of what has no potential: dampers, torques, forces that turn, user forces."""
    power = 0.0
    for n in range(len(form.line)):
        c = form.line[n, DAMPING]
        if c != 0.0:
            a = form.line_f[n]
            power -= c * dot(f, a, df, a) ** 2 / dot(f, a, f, a)
    for n in range(len(form.angle)):
        c, s, dc, ds = eval_angle(form, n, f, df)
        rate = c * ds - s * dc
        power += (form.angle[n, PRELOAD] - form.angle[n, DAMPING] * rate) * rate
    for n in range(len(form.pr_c)):
        power += form.pr_c[n] * f[form.pr_b[n]] * df[form.pr_a[n]]
    for n in range(len(form.user)):
        a = form.user[n, FIRST]
        for i in range(a, a + form.user[n, POINTS] * form.user[n, DIMENSION]):
            power += w[i] * df[i]
    return power
