"""Random mistakes in result files, diagnosed by the judge: `python tests/soak_judge.py --files 500`.

Each seed takes a problem, one mistake (a wrong number of the mechanism, or a mistake in writing the file) and 6 or
12 digits. A finding is named (a statement of the cause, or of one with the same motion), a likeness, or silent.
Anything else that is stated as a fact is wrong, and ends the run with its seed.
"""

import argparse
import sys
from collections import Counter

import numpy as np

from sarrus import problems, simulate
from sarrus.bench import judge_columns
from sarrus.bench.hypotheses import list_hypotheses

# Sentences that state a cause as a fact; those with "looks like" do not.
STATED = (
    "of the problem",
    "data of",
    "exchanged",
    "wrong sign",
    "millimetres",
    "throughout",
    "left the",
    "spoilt",
)


def simulated(problem, mechanism, duration):
    """The columns that a program writes which simulates this mechanism."""
    columns = problem.result_columns(
        simulate(mechanism, duration, problem.output_step, tolerance=1e-10)
    )
    return {name: columns[name] for name in problem.columns}


def write_badly(problem, columns, rng):
    """A mistake in writing the file: its columns, and words that name it."""
    points = [n for n in columns if n in ("x", "y", "z", "vx", "vy", "vz")]
    kind = rng.choice(["sign", "swap", "unit"])
    if kind == "unit":
        return {n: 1000.0 * c if n in points else c for n, c in columns.items()}, "millimetres"
    name = str(rng.choice(points))
    if kind == "sign":
        return {**columns, name: -columns[name]}, "wrong sign"
    other = str(rng.choice([n for n in columns if n not in ("t", name)]))
    return {**columns, name: columns[other], other: columns[name]}, "exchanged"


def make_mistake(problem, rng):
    """Columns with one mistake, and words that name it."""
    mechanism, duration = problem.mechanism(), problem.duration
    kind = rng.choice(["number", "file", "shift", "windows"], p=[0.6, 0.2, 0.1, 0.1])
    if kind == "windows" and "windows" in problem.options:
        count = int(rng.choice([w for w in range(1, 60) if w != problem.options["windows"]]))
        other = problems.get(problem.id, **{**problem.options, "windows": count})
        return simulated(other, other.mechanism(), duration), f"windows = {count}"
    if kind == "number":
        h = rng.choice(list(list_hypotheses(problem, mechanism)))
        low, high = ((0.3, 0.95), (1.05, 3.0))[rng.integers(2)]
        value = float(f"{h.value * np.exp(rng.uniform(np.log(low), np.log(high))):.2g}")
        changed = h.change(mechanism, value / h.value)
        words = "speed" if "start velocities" in h.name and "speed" in problem.options else h.name
        words = "mass of" if "mass of" in h.name else words.removeprefix("option ")
        return simulated(problem, changed, duration), words
    if kind == "shift":
        rows = int(rng.integers(1, 6))
        long = simulated(problem, mechanism, duration + rows * problem.output_step)
        t = long["t"][: len(long["t"]) - rows]
        return {n: t if n == "t" else c[rows:] for n, c in long.items()}, "early throughout"
    return write_badly(problem, simulated(problem, mechanism, duration), rng)


def diagnose(seed, names):
    """What the judge makes of the file of a seed: named, a likeness, silent or wrong; and what was said."""
    rng = np.random.default_rng([30, seed])
    problem = problems.get(str(rng.choice(names)))
    columns, words = make_mistake(problem, rng)
    digits = int(rng.choice([6, 12]))
    for name in columns.keys() - {"t"}:
        columns[name] = np.array([float(f"{x:.{digits - 1}e}") for x in columns[name]])
    rounding = {n: 0.5 * 10.0 ** (1 - digits) * np.abs(c).max() for n, c in columns.items()}
    judged = judge_columns(problem, columns, rounding)
    said = [f for f in judged.findings if any(word in f for word in STATED)]
    about = f"{problem.id}, {words}, {digits} digits: {said or list(judged.findings)}"
    facts = [f for f in said if "looks like" not in f]
    # with other lengths the point is not on its path, which is a fact, too
    if any(words in f for f in facts) or (words == "the lengths" and judged.left_at is not None):
        return "named", about
    if not said:
        return "passes" if judged.kept else "silent", about
    return "likeness" if not facts else "wrong", about


def main() -> None:
    """Diagnose file by file; the first wrong cause ends the run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--problems", nargs="*", default=problems.names())
    given = parser.parse_args()
    tally: dict[str, Counter] = {}
    for seed in range(given.first, given.first + given.files):
        try:
            found, about = diagnose(seed, given.problems)
        except ValueError as error:
            found, about = "no motion", str(error)
        tally.setdefault(about.split(",")[0], Counter())[found] += 1
        if found != "named":
            print(f"seed {seed}: {found}: {about}", flush=True)
        if found == "wrong":
            sys.exit(1)
    for name, counts in tally.items():
        print(name, dict(counts))


if __name__ == "__main__":
    main()
