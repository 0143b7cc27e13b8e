"""Pendulums in angles by heyoka's Taylor method, where it is installed, and as mechanisms here.

Single runs with and without outputs, and batches; all warm, least of several, one thread. Equal errors are what to
compare: tolerances mean different things. The reference is heyoka's own with numbers of 64 digits of mantissa, or
the closed form.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from sarrus import Ensemble, Mechanism, problems, simulate
from sarrus.kernels import specialise

G = 9.81
Rows = list[tuple[str, str]]


def best(run: Callable[[], Any], repeats: int = 7) -> tuple[float, Any]:
    """Least wall time of some calls behind those that warm up, and the last answer."""
    specialise.warm_up(run)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - begin)
    return min(times), found


def rows() -> Rows:
    """Both pendulums, single and in batches."""
    if find_spec("heyoka") is None:
        return [("heyoka", "not installed")]
    import heyoka as hy

    a, b, u, v, x, w = hy.make_vars("a", "b", "u", "v", "x", "w")
    D = hy.cos(a - b)
    # unit masses and links: angles from straight down
    du = (
        -2.0 * G * hy.sin(a) - v * v * hy.sin(a - b) - D * (u * u * hy.sin(a - b) - G * hy.sin(b))
    ) / (2.0 - D * D)
    dv = u * u * hy.sin(a - b) - G * hy.sin(b) - D * du
    system, start = [(a, u), (b, v), (u, du), (v, dv)], [np.pi / 2, np.pi / 2, 0.0, 0.0]
    times = np.linspace(0.0, 10.0, 1001)
    wide = np.longdouble
    fine = hy.taylor_adaptive(system, np.array(start, wide), tol=wide(1e-20), fp_type=wide)
    exact = np.asarray(_tip(fine.propagate_grid(times.astype(wide))[-1]), float)
    found = single(hy, "double pendulum", system, start, times, _tip, exact)
    found += here("double pendulum", double_pendulum(), times, "tip", exact, (1e-13, 3e-12, 1e-10))
    found += batches(hy, system, start, times, exact)
    swing, begin = [(x, w), (w, -G * hy.sin(x))], [-np.pi / 2, 0.0]
    problem, times = problems.get("simple-pendulum-a01"), np.arange(1001) * 2.0
    exact = problem.reference(times)[:, :2]
    found += single(hy, "A01, 2000 s", swing, begin, times, _bob, exact)
    return found + here(
        "A01, 2000 s", problem.mechanism(), times, problem.observed, exact, (1e-13, 1e-10)
    )


def single(hy: Any, label: str, system: Any, start: list[float], times, read, exact) -> Rows:
    """One run after the other by heyoka: alone, and with outputs."""
    found = []
    for tolerance in (1e-15, 1e-12, 1e-10):
        integrator = hy.taylor_adaptive(system, start, tol=tolerance)

        def run(outputs: bool, i=integrator) -> Any:
            i.time = 0.0
            i.state[:] = start
            return i.propagate_grid(times)[-1] if outputs else i.propagate_until(times[-1])

        alone, _ = best(lambda r=run: r(False), 20)
        wall, states = best(lambda r=run: r(True), 20)
        error = np.abs(read(states) - exact).max()
        text = f"{alone * 1e3:.3f} ms, with outputs {wall * 1e3:.3f}; error {error:.1e} m"
        found.append((f"{label}, heyoka {tolerance:g}", text))
    return found


def here(label: str, mechanism: Mechanism, times, point: str, exact, tolerances) -> Rows:
    """The same by `simulate`."""
    found = []
    for tolerance in tolerances:
        seconds: list[tuple[float, float]] = []

        def call(t=tolerance, seconds=seconds) -> Any:
            result = simulate(mechanism, times[-1], times[1], tolerance=t)
            seconds.append((result.solve_seconds, result.cpu_seconds))
            return result

        wall, result = best(call, 20)
        solve, cpu = np.min(seconds, axis=0) * 1e3
        error = np.abs(result.position(point) - exact).max()
        text = f"{solve:.3f} ms, with projected outputs {cpu:.3f}; call {wall * 1e3:.2f} ms; error {error:.1e} m"
        found.append((f"{label}, here {tolerance:g}", text))
    return found


def batches(hy: Any, system: Any, start: list[float], times, exact, runs: int = 4096) -> Rows:
    """Many double pendulums: final states, each; errors are the largest at the times."""
    column = np.repeat(np.array(start)[:, None], 8, axis=1)
    found = []
    for tolerance in (1e-12, 1e-11, 1e-10):
        integrator = hy.taylor_adaptive_batch(system, column.copy(), tol=tolerance)

        def run(i=integrator) -> None:
            i.set_time(0.0)
            i.state[:] = column
            i.propagate_until(times[-1])

        wall, _ = best(run, 20)
        one = hy.taylor_adaptive(system, start, tol=tolerance)
        error = np.abs(_tip(one.propagate_grid(times)[-1]) - exact).max()
        text = f"{wall / 8 * 1e3:.4f} ms each; error {error:.1e} m"
        found.append((f"double pendulums by eight, heyoka {tolerance:g}", text))
    ensemble = Ensemble(double_pendulum(), {"bodies.upper.mass": np.ones(runs)})
    few = Ensemble(double_pendulum(), {"bodies.upper.mass": np.ones(16)})
    for tolerance in (3e-12, 3e-11, 1e-10, 1e-9):
        wall, _ = best(
            lambda t=tolerance: ensemble.simulate(10.0, 10.0, keep=False, threads=1, tolerance=t), 3
        )
        states = few.simulate(10.0, outputs=times, tolerance=tolerance, points=["tip"])
        error = np.abs(states.position("tip")[0] - exact).max()
        text = f"{wall / runs * 1e3:.4f} ms each; error {error:.1e} m"
        found.append((f"double pendulums in lanes, here {tolerance:g}", text))
    return found


def double_pendulum() -> Mechanism:
    """Two point masses of 1 kg on massless links of 1 m, from horizontal at rest."""
    m = Mechanism("double pendulum", gravity=(0.0, -G))
    m.body("upper", mass=1.0, center=(1.0, 0.0), inertia=0.0)
    m.body("lower", mass=1.0, center=(2.0, 0.0), inertia=0.0)
    m.distance("first link", "ground", "upper", start=(0.0, 0.0), end=(1.0, 0.0))
    m.distance("second link", "upper", "lower", start=(1.0, 0.0), end=(2.0, 0.0))
    m.point("tip", "lower", at=(2.0, 0.0))
    return m


def _bob(states: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(states[:, 0]), -np.cos(states[:, 0])], axis=1)


def _tip(states: np.ndarray) -> np.ndarray:
    return _bob(states) + _bob(states[:, 1:])
