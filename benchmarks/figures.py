"""The figures of the project on this machine: accuracy, CPU time, ratio to plain NumPy/SciPy.

Times are CPU seconds after one warm-up, best of several, one thread: of the solve alone, and with the recording of
all outputs, which the ratio is made of. The plain solution
(index-1 multipliers, baseline.py) runs in the same process, at the fastest setting found for it that
also survives small changes, so that the ratio means something on any machine.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from dataclasses import dataclass
from functools import partial

import numpy as np
from baseline import DEPENDABLE, solve_plain
from rich.console import Console
from rich.table import Table

from sarrus import problems, simulate
from sarrus.bench import judge
from sarrus.kernels import specialise

REPEATS = 7


@dataclass
class Row:
    """One measured line: a problem, a tolerance, and the plain setting to compare with."""

    label: str
    problem: problems.Problem
    tolerance: float
    plain: str | None = None


def rows() -> list[Row]:
    """The seed problems at their limits and at the default tolerance; the family of N four-bars."""
    get = problems.get
    lines = [
        Row("double four-bar, 0.1 J", get("double-four-bar"), 5e-2, "double-four-bar"),
        Row("double four-bar, default", get("double-four-bar"), 1e-10),
        Row("N = 40, high precision", get("n-four-bar"), 1e-4, "n-four-bar-40-banded"),
        Row("N = 40, default", get("n-four-bar"), 1e-10),
        Row("Bricard, 0.001 J", get("rectangular-bricard"), 1e-3, "bricard-regularised"),
        Row("Bricard, default", get("rectangular-bricard"), 1e-10),
        Row("A04, 600 s, default", get("a04-bricard"), 1e-10),
    ]
    for windows in (1, 3, 10, 200, 1000):
        lines.append(
            Row(f"N = {windows}, 10 s, default", get("n-four-bar", windows=windows), 1e-10)
        )
    return lines


def measure(row: Row) -> tuple[float, float, dict[str, str]]:
    """Best CPU times of several runs, of the solve and with outputs, and what the judge says of the last."""
    family = row.label.endswith("10 s, default")
    seconds = 10.0 if family else row.problem.duration
    solve = best = np.inf
    run = partial(simulate, output_step=row.problem.output_step, tolerance=row.tolerance)
    specialise.warm_up(lambda: run(row.problem.mechanism(), seconds))
    for _ in range(REPEATS if row.problem.options.get("windows", 0) < 200 else 3):
        result = run(row.problem.mechanism(), seconds)
        solve = min(solve, result.solve_seconds)
        best = min(best, result.cpu_seconds)
    judged = judge(row.problem, result)
    return (
        solve,
        best,
        {
            "steps": str(result.counters["steps"]),
            "drift": f"{judged.energy_drift:.1e}",
            "position": f"{judged.position_error:.1e}",
            "velocity": f"{judged.velocity_error:.1e}",
            "verdict": "PASS" if judged.passed else f"FAIL {result.status}",
        },
    )


def main() -> None:
    """Measure and print."""
    table = Table(title="Sarrus, measured on this machine", title_justify="left")
    heads = (
        "",
        "tolerance",
        "steps",
        "solve [ms]",
        "CPU [ms]",
        "drift [J]",
        "error [m]",
        "error [m/s]",
    )
    for head in (*heads, "", "plain [ms]", "ratio"):
        table.add_column(
            head.replace("[", "\\["), justify="right" if head else "left", no_wrap=True
        )
    for row in rows():
        solve, best, found = measure(row)
        plain = ratio = ""
        if row.plain:
            seconds = min(solve_plain(**DEPENDABLE[row.plain])[4] for _ in range(3))
            plain, ratio = f"{seconds * 1e3:.1f}", f"{seconds / best:.0f}"
        table.add_row(
            row.label, f"{row.tolerance:.0e}", found["steps"], f"{solve * 1e3:.3f}", f"{best * 1e3:.3f}",
            found["drift"], found["position"], found["velocity"], found["verdict"], plain, ratio,
        )  # fmt: skip
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
