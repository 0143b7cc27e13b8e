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

from ..arrays import Floats
from .compiler import block, kernel

# columns of loads.line and loads.angle
STIFFNESS, DAMPING, FREE, PRELOAD = 0, 1, 2, 3
# columns of loads.user
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
def dot(x, i, y, j):
    """Scalar product of three numbers from x[i] on and three from y[j] on."""
    return x[i] * y[j] + x[i + 1] * y[j + 1] + x[i + 2] * y[j + 2]


@kernel
def unwrap(angle, near):
    """The same angle with as many turns as bring it next to another."""
    return angle + 2.0 * np.pi * np.rint((near - angle) / (2.0 * np.pi))


@kernel
def eval_line(loads, n, f, df):
    """Length of a spring, its rate, and its pull."""
    a = loads.line_f[n]
    length = np.sqrt(dot(f, a, f, a))
    rate = dot(f, a, df, a) / length
    p = loads.line[n]
    pull = p[STIFFNESS] * (length - p[FREE]) + p[DAMPING] * rate + p[PRELOAD]
    return length, rate, pull


@kernel
def eval_turn(loads, n, f):
    """Cosine and sine of the angle of a torsion."""
    u = loads.angle_f[n]
    return dot(f, u, f, u + 6), dot(f, u + 3, f, u + 6)


@kernel
def eval_angle(loads, n, f, df):
    """Cosine, sine and their rates for the angle of a torsion."""
    u = loads.angle_f[n]
    b = u + 3
    x = u + 6
    c, s = eval_turn(loads, n, f)
    dc = dot(df, u, f, x) + dot(f, u, df, x)
    ds = dot(df, b, f, x) + dot(f, b, df, x)
    return c, s, dc, ds


@kernel
def eval_torsion(loads, n, theta, f, df):
    """Angle (with the turns that bring it next to theta), its rate, and the torque of a torsion."""
    c, s, dc, ds = eval_angle(loads, n, f, df)
    p = loads.angle[n]
    angle = unwrap(np.arctan2(s, c), theta)
    rate = c * ds - s * dc
    moment = p[PRELOAD] - p[STIFFNESS] * (angle - p[FREE]) - p[DAMPING] * rate
    return angle, rate, moment


@kernel
def eval_load_weights(loads, t):
    """loads.fw = w(t, f, f'); loads.theta: angles of the torsions as last seen, updated."""
    f, df, theta, w = loads.f, loads.df, loads.theta, loads.fw
    for i in range(len(w)):
        w[i] = 0.0
    for n in range(len(loads.line)):
        length, _, pull = eval_line(loads, n, f, df)
        a = loads.line_f[n]
        for i in range(a, a + 3):
            w[i] -= pull / length * f[i]
    for n in range(len(loads.angle)):
        angle, _, moment = eval_torsion(loads, n, theta[n], f, df)
        theta[n] = angle
        c, s, _, _ = eval_angle(loads, n, f, df)
        u = loads.angle_f[n]
        for i in range(u, u + 3):
            w[i] -= moment * s * f[i + 6]
            w[i + 3] += moment * c * f[i + 6]
            w[i + 6] += moment * (c * f[i + 3] - s * f[i])
    for n in range(len(loads.pr_c)):
        w[loads.pr_a[n]] += loads.pr_c[n] * f[loads.pr_b[n]]
    for n in range(len(loads.user)):
        a = loads.user[n, FIRST]
        b = a + loads.user[n, POINTS] * loads.user[n, DIMENSION]
        call_user(loads.user[n, ADDRESS], t, f[a:b], df[a:b], w[a:b])
        for i in range(a, b):
            w[i] *= loads.user_c[n]


@block
def eval_loads(form, loads, t, q, v, Q):
    """Q_total = Q + F^T w at a time and state; loads.f, loads.df, loads.fw: forms, their rates, w.

    loads.theta: angles of the torsions as last seen; an angle may change by half a turn from call to call.
    """
    for i in range(len(Q)):
        Q[i] = form.Q[i]
    if loads is not None:
        eval_load_forms(loads, q)
        eval_load_form_rates(loads, v)
        eval_load_weights(loads, t)
        add_load_forces(loads, Q)


@block
def eval_load_derivatives(loads, t, q, v, A, B):
    """The entries of dw/df and dw/df' at a time and state, so that

    dQ/dq = F^T (dw/df) F,      dQ/dv = F^T (dw/df') F.

    A[n], B[n]: derivative of w[G_row[n]] by f[G_col[n]] and by f'[G_col[n]]; entries of the same place
    add up. Exact, except for user forces: central differences.
    """
    if loads is None:
        return
    f = loads.f
    df = loads.df
    eval_load_forms(loads, q)
    eval_load_form_rates(loads, v)
    at = 0
    for n in range(len(loads.line)):
        at = line_derivatives(loads, n, f, df, at, A, B)
    for n in range(len(loads.angle)):
        angle, _, _ = eval_torsion(loads, n, loads.theta[n], f, df)
        loads.theta[n] = angle
        at = angle_derivatives(loads, n, angle, f, df, at, A, B)
    for n in range(len(loads.pr_c)):
        A[at] = loads.pr_c[n]
        B[at] = 0.0
        at += 1
    for n in range(len(loads.user)):
        at = user_derivatives(loads, n, t, f, df, loads.fw, at, A, B)


@kernel
def line_derivatives(loads, n, f, df, at, A, B):
    """The nine entries of a spring, row by row."""
    length, rate, pull = eval_line(loads, n, f, df)
    a = loads.line_f[n]
    k = loads.line[n, STIFFNESS]
    c = loads.line[n, DAMPING]
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
def angle_derivatives(loads, n, angle, f, df, at, A, B):
    """The 81 entries of a torsion, row by row."""
    c, s, dc, ds = eval_angle(loads, n, f, df)
    u = loads.angle_f[n]
    p = loads.angle[n]
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
def user_derivatives(loads, n, t, f, df, scratch, at, A, B):
    """The entries of a user force, row by row; scratch: numbers of the length of f."""
    a = loads.user[n, FIRST]
    size = loads.user[n, POINTS] * loads.user[n, DIMENSION]
    b = a + size
    for j in range(size):
        for level in range(2):
            x = f if level == 0 else df
            D = A if level == 0 else B
            kept = x[a + j]
            step = DIFFERENCE * (1.0 + abs(kept))
            x[a + j] = kept + step
            call_user(loads.user[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
            for i in range(size):
                D[at + i * size + j] = scratch[a + i]
            x[a + j] = kept - step
            call_user(loads.user[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
            for i in range(size):
                D[at + i * size + j] -= scratch[a + i]
                D[at + i * size + j] *= loads.user_c[n] / (2.0 * step)
            x[a + j] = kept
    return at + size * size


@kernel
def eval_spring_energy(loads, theta):
    """Potential energy of springs and torsions, from loads.f and the angles."""
    energy = 0.0
    f = loads.f
    for n in range(len(loads.line)):
        a = loads.line_f[n]
        p = loads.line[n]
        length = np.sqrt(dot(f, a, f, a))
        stretch = length - p[FREE]
        energy += 0.5 * p[STIFFNESS] * stretch * stretch + p[PRELOAD] * length
    for n in range(len(loads.angle)):
        p = loads.angle[n]
        energy += 0.5 * p[STIFFNESS] * (theta[n] - p[FREE]) ** 2
    return energy


@kernel
def eval_load_power(loads):
    """Power of what has no potential: dampers, torques, forces that turn, user forces."""
    power = 0.0
    f, df, w = loads.f, loads.df, loads.fw
    for n in range(len(loads.line)):
        c = loads.line[n, DAMPING]
        if c != 0.0:
            a = loads.line_f[n]
            power -= c * dot(f, a, df, a) ** 2 / dot(f, a, f, a)
    for n in range(len(loads.angle)):
        c, s, dc, ds = eval_angle(loads, n, f, df)
        rate = c * ds - s * dc
        power += (loads.angle[n, PRELOAD] - loads.angle[n, DAMPING] * rate) * rate
    for n in range(len(loads.pr_c)):
        power += loads.pr_c[n] * f[loads.pr_b[n]] * df[loads.pr_a[n]]
    for n in range(len(loads.user)):
        a = loads.user[n, FIRST]
        for i in range(a, a + loads.user[n, POINTS] * loads.user[n, DIMENSION]):
            power += w[i] * df[i]
    return power
