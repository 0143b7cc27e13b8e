"""Columns and files for the tests of the judge, made without the simulator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sarrus import problems
from sarrus.problems.references.n_four_bar import flat_times, four_bar_reference

G = 9.81
# their references or runs take seconds
LONG = ("flyball-governor-a05", "andrews-squeezer-a03")


def problem_cases():
    """All problems, the long ones marked as slow."""
    return [
        pytest.param(name, marks=pytest.mark.slow) if name in LONG else name
        for name in problems.names()
    ]


def exact_columns(problem):
    """The exact motion in the columns of a problem: no drift, no violation."""
    times = np.arange(round(problem.duration / problem.output_step) + 1) * problem.output_step
    columns = {"t": times, **problem.reference_columns(times)}
    return {name: columns.get(name, np.zeros(len(times))) for name in problem.columns}


def write(path, columns, fmt="%.14e", delimiter=" ", header=""):
    """Write columns as text, as other programs do."""
    np.savetxt(path, np.column_stack(list(columns.values())), fmt, delimiter, header=header)
    return path


def one_angle(times, start, angle, rate, inertia, weight, loss=0.0):
    """Angle from the upward vertical and its rate, from `start` on, of a pendulum with friction."""

    def slope(t, u):
        return [u[1], weight / inertia * np.sin(u[0]) - loss * u[1]]

    done = solve_ivp(
        slope, (start, times[-1]), [angle, rate], "DOP853", times, rtol=1e-11, atol=1e-11
    )
    assert done.success
    return done.y


def on_another_branch(problem, flat):
    """Exact B0 until a flat configuration, then a motion in which not all windows are parallelograms.

    flat = 0: at the first flat configuration B0 lies on A1 and stays there, the other cranks turn on.
    flat = 1: at the second one B1 lies on A0; crank 0 and coupler 0, one on the other, turn about A0
    with all the energy, the other cranks stay flat. Both close every loop and keep the energy.
    """
    columns = exact_columns(problem)
    n, t = int(problem.options["windows"]), columns["t"]
    change = flat_times(n, problem.duration)[flat]
    after = t > change
    if flat == 0:
        x, y, vx, vy = 1.0, 0.0, 0.0, 0.0
    else:
        rate = np.linalg.norm(four_bar_reference([change], n)[0, 2:])
        # the energy of all links goes into two of them: inertia 1/3 + 1/3, weight g/2 + g/2
        rate *= np.sqrt(((n + 1) / 3 + n) / (2 / 3))
        angle, rate = one_angle(t[after], change, 1.5 * np.pi, rate, 2 / 3, G)
        x, y = np.sin(angle), np.cos(angle)
        vx, vy = rate * np.cos(angle), -rate * np.sin(angle)
    for name, values in (("x", x), ("y", y), ("vx", vx), ("vy", vy)):
        if name in columns:
            columns[name] = columns[name].copy()
            columns[name][after] = values
    return columns, change
