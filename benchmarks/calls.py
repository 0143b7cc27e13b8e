"""What a user waits for: first calls, whole calls, many runs, large mechanisms; and heyoka where it is installed.

Each row is measured warm (but for first calls, which begin in a new process with an empty cache), by code of the
mechanism's own where it has some, best of several, one thread unless "2 threads" is stated.
`python benchmarks/calls.py [PART ...]`; parts: first, whole,
build, large, many, stiff, branches, through, heyoka.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import math
import resource
import subprocess
import sys
import tempfile
import time

import against_heyoka
import numpy as np
from against_heyoka import Rows, best
from rich.console import Console
from rich.table import Table

from sarrus import Ensemble, Mechanism, Result, branches, problems, simulate
from sarrus.ensemble.run_batch import Traced
from sarrus.ensemble.variants import Variants
from sarrus.model import make_model, structure
from sarrus.model.build import build_from_scratch
from sarrus.settings import default_settings

FIRST = """
import time
begin = time.perf_counter()
from sarrus import problems, simulate
problem = problems.get({id!r})
result = simulate(problem.mechanism(), problem.duration, problem.output_step)
assert result.success, result.message
print(time.perf_counter() - begin)
"""


def first() -> Rows:
    """First calls: a new process, nothing compiled."""
    rows = []
    for id in ("double-four-bar", "rectangular-bricard"):
        with tempfile.TemporaryDirectory() as cache:
            given = {**os.environ, "SARRUS_CACHE_DIR": cache}
            command = [sys.executable, "-c", FIRST.format(id=id)]
            begin = time.perf_counter()
            said = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
            wall = time.perf_counter() - begin
        rows.append((f"first simulate, {id}", f"{float(said.stdout):.2f} s; process {wall:.2f} s"))
    return rows


def whole() -> Rows:
    """Whole calls, and what is in them."""
    rows = []
    cases = [
        ("double four-bar, default", "double-four-bar", 1e-10, {}),
        # the loosest tolerances that are within their limits, with some room
        ("double four-bar, 0.1 J", "double-four-bar", 5e-2, {}),
        ("Bricard, 0.001 J", "rectangular-bricard", 3e-2, {}),
        ("N = 40, max < 1e-3", "n-four-bar", 1e-4, {}),
        ("A04, 600 s, default", "a04-bricard", 1e-10, {}),
    ]
    for label, id, tolerance, options in cases:
        problem = problems.get(id, **options)
        mechanism = problem.mechanism()
        times: list[tuple[float, float]] = []

        def call(m: Mechanism = mechanism, p=problem, t=tolerance, found=times) -> Result:
            result = simulate(m, p.duration, p.duration / 1000, tolerance=t)
            # results themselves are let go, as a user's loop does
            found.append((result.solve_seconds, result.cpu_seconds))
            return result

        # short calls are the more disturbed by whatever else goes on
        wall, result = best(call, repeats=50)
        solve, cpu = np.min(times, axis=0)
        drift = result.energy_drift
        rows.append(
            (
                f"{label}, 1001 outputs",
                f"call {wall * 1e3:.2f} ms; solve {solve * 1e3:.3f}, with outputs {cpu * 1e3:.3f} ms; "
                f"drift {drift:.1e} J",
            )
        )
    return rows


def build() -> Rows:
    """Models: built again, of a topology seen before, of ten thousand variants."""
    rows = []
    for id in ("double-four-bar", "rectangular-bricard", "flyball-governor", "n-four-bar"):
        mechanism = problems.get(id).mechanism()
        from_scratch, _ = best(lambda m=mechanism: build_from_scratch(m))
        make_model(mechanism)
        again, _ = best(lambda m=mechanism: make_model(m), 30)
        text = (
            f"from scratch {from_scratch * 1e3:.2f} ms; topology seen before {again * 1e3:.3f} ms"
        )
        rows.append((f"model, {id}", text))
    count, rng, settings = 10_000, np.random.default_rng(0), default_settings(1.0)
    mechanism = problems.get("double-four-bar").mechanism()
    tops = [rng.normal((i, 1.0), 0.05, (count, 2)) for i in range(3)]
    lengths = {f"bodies.crank {i}.rod.1": tops[i] for i in range(3)}
    lengths |= {f"joints.B{i}.at": tops[i] for i in range(3)}
    lengths |= {f"bodies.coupler {i}.rod": np.stack(tops[i : i + 2], axis=1) for i in range(2)}
    lengths["velocities.B0"] = np.stack([tops[0][:, 1], -tops[0][:, 0]], axis=1)
    masses = {f"bodies.crank {i}.mass": rng.uniform(0.5, 2.0, count) for i in range(3)}
    for label, vary in (("masses", masses), ("lengths and places", lengths)):
        variants = Variants(mechanism, vary)
        first = {path: values[0] for path, values in vary.items()}
        seconds, group = best(
            lambda v=variants, x=first, y=vary: Traced(v, settings, ("B0",), x).group(y), 2
        )
        rows.append(
            (f"{count} models, {label}", f"{seconds:.2f} s; {len(group.which)} by one tape")
        )
    return rows


def large() -> Rows:
    """N four-bars: how whole calls grow, with models built again and kept; their description apart."""
    rows, walls = [], {}
    for windows, seconds in ((100, 1.0), (1000, 1.0), (1000, 10.0), (3000, 1.0), (10_000, 1.0)):
        problem = problems.get("n-four-bar", windows=windows)
        simulate(problem.mechanism(), 0.01, 0.01)
        from_scratch, again = [], []
        for _ in range(4):
            structure.forget()
            begin = time.perf_counter()
            mechanism = problem.mechanism()
            described = time.perf_counter() - begin
            for found in (from_scratch, again):
                begin = time.perf_counter()
                result = simulate(mechanism, seconds, 0.01)
                wall, spent = time.perf_counter() - begin, result.timings
                solving = spent["solve_wall"] + spent["record_wall"] + spent["watch_cpu"]
                found.append((wall, wall - solving, solving))
        least = np.min([from_scratch, again], axis=1)
        walls.setdefault(windows, least[:, 0])
        shown = [f"{wall:.3f} s ({before:.3f} and {behind:.3f})" for wall, before, behind in least]
        rows.append(
            (
                f"N = {windows}, {seconds:g} s",
                f"described in {described:.2f} s; from scratch (build, solve) {shown[0]}; again {shown[1]}; "
                f"{result.status}",
            )
        )
    for few, more in ((100, 10_000), (1000, 3000), (1000, 10_000)):
        slopes = np.log(walls[more] / walls[few]) / math.log(more / few)
        rows.append(
            (
                f"exponent from N = {few} to {more}",
                "from scratch {:.2f}; again {:.2f}".format(*slopes),
            )
        )
    # of the process, the largest mechanism in it
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(("memory at most", f"{most:.2f} GB"))
    return rows


def many(runs: int = 100_000) -> Rows:
    """Ensembles on two threads: random masses, final state and extremes."""
    problem = problems.get("double-four-bar")
    rng = np.random.default_rng(7)
    vary = {f"bodies.crank {i}.mass": rng.uniform(0.5, 2.0, runs) for i in range(3)}
    rows = []
    for count, output_step in ((20_000, 0.1), (20_000, 0.01), (runs, 0.1)):
        some = Ensemble(problem.mechanism(), {path: x[:count] for path, x in vary.items()})
        # the first call compiles, if nothing is in the cache
        Ensemble(problem.mechanism(), {path: x[:2000] for path, x in vary.items()}).simulate(
            0.1, 0.1, keep=False, threads=2
        )
        begin = time.perf_counter()
        found = some.simulate(10.0, output_step, keep=False, threads=2)
        wall = time.perf_counter() - begin
        label = f"{count} double four-bars, outputs every {output_step:g} s, 2 threads"
        rows.append((label, f"{wall:.2f} s; {int(found.fallback.sum())} by `simulate`"))
    return rows


def flat_windows(windows: int) -> Mechanism:
    """Unit cranks and couplers in the configuration in which all of them lie on one line."""
    m = Mechanism(f"{windows} windows, flat")
    cranks = [m.rod(f"crank {i}", (i, 0), (i + 1, 0), mass=1) for i in range(windows + 1)]
    couplers = [m.rod(f"coupler {i}", (i + 1, 0), (i + 2, 0), mass=1) for i in range(windows)]
    for i, crank in enumerate(cranks):
        m.revolute(f"A{i}", m.ground, crank, at=(i, 0))
        m.revolute(f"B{i}", crank, *couplers[max(i - 1, 0) : i + 1], at=(i + 1, 0))
    return m


def local() -> Rows:
    """All branches through a configuration, by the public call."""
    rows = []
    for windows, repeats in ((1, 20), (2, 20), (10, 1)):
        m = flat_windows(windows)
        seconds, found = best(lambda m=m: branches(m, most=2000), repeats)
        text = f"{seconds * 1e3:.1f} ms; {len(found.branches)} branches"
        rows.append((f"branches of {windows} flat windows", text))
    return rows


def stiff() -> Rows:
    """The governor and A05."""
    rows = []
    governor = problems.get("flyball-governor", section=0.01)
    t = np.arange(101) * 0.1
    exact = governor.reference(t)[:, 2]
    for tolerance in (1e-7, 1e-8, 1e-9):
        wall, result = best(
            lambda x=tolerance: simulate(governor.mechanism(), 10.0, 0.1, tolerance=x), 3
        )
        error = np.abs(result.position(governor.observed)[:, -1] - exact).max()
        rows.append(
            (
                f"governor, 10 s, tolerance {tolerance:g}",
                f"call {wall * 1e3:.1f} ms; with outputs {result.cpu_seconds * 1e3:.1f} ms; error {error:.1e} m",
            )
        )
    a05 = problems.get("flyball-governor-a05")
    t = np.arange(3501) * 0.1
    exact = a05.reference(t)[:, 2]
    wall, result = best(lambda: simulate(a05.mechanism(), 350.0, 0.1), 2)
    error = np.abs(result.position(a05.observed)[:, -1] - exact).max()
    rows.append(
        (
            f"A05, 350 s, tolerance {result.tolerance:g}",
            f"call {wall:.2f} s; with outputs {result.cpu_seconds:.2f} s; error {error:.1e} m",
        )
    )
    return rows


def through() -> Rows:
    """Through crossings: N four-bars, 10 s, starts at 0.5 to 3 m/s; steps at 1e-13 have more digits there."""
    rows = []
    cases = [(1, 81, 1e-10), (2, 81, 1e-10), (40, 11, 1e-10), (2, 11, 1e-13), (40, 4, 1e-13)]
    for windows, starts, tolerance in cases:
        errors, cpu = [], []
        for speed in np.linspace(0.5, 3.0, starts).tolist():
            problem = problems.get("n-four-bar", windows=windows, speed=speed)
            result = simulate(problem.mechanism(), 10.0, 0.01, tolerance=tolerance)
            exact, point = problem.reference(result.times), problem.observed
            errors.append(
                (
                    np.abs(result.position(point) - exact[:, :2]).max(),
                    np.abs(result.velocity(point) - exact[:, 2:4]).max(),
                )
            )
            cpu.append(result.cpu_seconds)
        (place, rate), usual = np.max(errors, axis=0), np.median(errors, axis=0)[1]
        above = int((np.max(errors, axis=1) > 1e-7).sum())
        rows.append(
            (
                f"N = {windows} at {tolerance:g}, {starts} starts",
                f"at most {place:.1e} m, {rate:.1e} m/s (median {usual:.1e}); above 1e-7: {above}; "
                f"with outputs {np.median(cpu) * 1e3:.1f} ms",
            )
        )
    return rows


PARTS = {
    "first": first,
    "whole": whole,
    "build": build,
    "large": large,
    "many": many,
    "stiff": stiff,
    "branches": local,
    "through": through,
    "heyoka": against_heyoka.rows,
}


def main(parts: list[str]) -> None:
    """Measure and print."""
    table = Table(title="What a user waits for", title_justify="left", show_header=False)
    for part in parts or PARTS:
        for row in PARTS[part]():
            table.add_row(*row)
    Console(width=130, highlight=False).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
