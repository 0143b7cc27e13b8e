"""Stiff flyball governor, 10 s: SciPy's Radau on the reduced equations against the package.

SciPy gets the three-coordinate model (four numbers: beta, s and their rates), plain Python floats and an
analytic Jacobian: the cheapest program a user could write by hand. The package gets the mechanism.
Errors are those of s against the converged reference, at the 101 outputs of the problem.
"""

import os

if __name__ == "__main__":
    # one BLAS thread: the libraries read this only while they are being loaded
    for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[_name] = "1"

import time
from math import cos, sin, sqrt

import numpy as np
from scipy.integrate import solve_ivp

from sarrus import problems, simulate
from sarrus.problems.references import flyball_governor as governor

SECTION = 0.01
REPEATS = 3


def make_rates(section: float):
    """The reduced equations in plain floats: (beta, s, beta', s') -> rates."""
    own = governor.read_inertia(section)
    rod, tip, slider = governor.ROD_MASS, governor.TIP_MASS, governor.SLIDER_MASS
    a, g = governor.OFFSET, governor.GRAVITY
    K, C, free = governor.STIFFNESS, governor.DAMPING, governor.FREE_LENGTH
    c2 = 2.0 * (tip + rod / 4.0 + own.across - own.about)
    c1 = 2.0 * a * (2.0 * tip + rod)
    c0 = 2.0 * ((tip + rod) * a * a + own.about) + governor.SLIDER_INERTIA + own.shaft
    inertia = 2.0 * (tip + rod / 4.0 + own.across)
    start = cos(governor.START[0])
    H = (c0 + (c1 + c2 * start) * start) * governor.SPEED

    def rates(_, y):
        b, s, bd, sd = y
        sb, cb = sin(b), cos(b)
        rise = 1.0 - 0.5 * sb - s
        length = sqrt(0.25 * cb * cb + rise * rise)
        lb, ls = (-0.25 * cb * sb - 0.5 * cb * rise) / length, -rise / length
        force = K * (length - free) + C * (lb * bd + ls * sd)
        spin = H / (c0 + (c1 + c2 * cb) * cb)
        turning = -0.5 * spin * spin * (c1 + 2.0 * c2 * cb) * sb
        weight = 2.0 * g * (tip + 0.5 * rod) * cb
        return [
            bd,
            sd,
            (turning + weight - 2.0 * force * lb) / inertia,
            -g - 2.0 * force * ls / slider,
        ]

    def slopes(_, y):
        _, by_q, by_v = governor.governor_accelerations(y[None, :2], y[None, 2:], own)
        return np.block([[np.zeros((2, 2)), np.eye(2)], [by_q[0], by_v[0]]])

    return rates, slopes


def best_of(run):
    """Least CPU time of some repeats, and the last result."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        result = run()
        times.append(time.process_time() - begin)
    return min(times), result


def main() -> None:
    """Print error and CPU time of each setting."""
    problem = problems.get("flyball-governor", section=SECTION)
    t = np.arange(101) * 0.1
    exact = problem.reference(t)[:, 2]
    rates, slopes = make_rates(SECTION)
    start = np.concatenate([governor.START, np.zeros(2)])
    print("SciPy's Radau, reduced equations")
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
        options = {"jac": slopes, "rtol": rtol, "atol": rtol * 1e-2}
        cpu, done = best_of(lambda o=options: solve_ivp(rates, (0.0, 10.0), start, "Radau", t, **o))
        print(f"  rtol {rtol:.0e}: error {np.abs(done.y[1] - exact).max():.1e} m, {cpu:.3f} s")
    mechanism = problem.mechanism()
    for method in ("series", "radau", "auto"):
        print(f"{method}, the mechanism")
        for tolerance in (1e-6, 1e-8, 1e-10):
            try:
                results = [
                    simulate(mechanism, 10.0, 0.1, method=method, tolerance=tolerance)
                    for _ in range(REPEATS)
                ]
            except ValueError as error:
                print(f"  {error}")
                break
            off = np.abs(results[0].position("S")[:, 2] - exact).max()
            cpu = min(result.cpu_seconds for result in results)
            print(f"  tolerance {tolerance:.0e}: error {off:.1e} m, {cpu:.3f} s")


if __name__ == "__main__":
    main()
