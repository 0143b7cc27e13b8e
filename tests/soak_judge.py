"""Random mistakes in result files, diagnosed by the judge: `python tests/soak_judge.py --files 500`.

Each seed takes a problem, one mistake and 4, 6 or 12 digits. A mistake is a wrong number of the mechanism, with
few digits or many, a mistake in writing the file, a run that stops, a row that is spoilt, or two wrong numbers at
once. What the judge says of it is *named* (the cause as a fact, a number to its digits), a *likeness*, or
*silent*. Any other cause that is stated as a fact is *wrong* and is listed with its seed; the exit status is then
1.
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from sarrus import problems, simulate
from sarrus.bench import judge_columns
from sarrus.bench.hypotheses import list_hypotheses

# Sentences that state no cause: remarks on the file, on its digits, on what it does not show.
REMARKS = (
    "the energy starts with",
    "norms are not",
    "cannot be judged",
    "finer than these digits",
    "may be these digits alone",
    "one of them is wrong",
    "as far as the columns show",
    "the phase drifts",
)


@dataclass
class Mistake:
    """Columns of a file, words of which a true statement of the cause has one, and its number, if it has one."""

    columns: dict
    words: tuple
    number: float | None = None


def simulated(problem, mechanism, duration):
    """The columns that a program writes which simulates this mechanism."""
    columns = problem.result_columns(
        simulate(mechanism, duration, problem.output_step, tolerance=1e-10)
    )
    return {name: columns[name] for name in problem.columns}


def correct(problem):
    """The columns of a correct file."""
    return simulated(problem, problem.mechanism(), problem.duration)


def random_factor(rng, digits, value):
    """A factor of a value, not close to 1, so that the product has this many digits."""
    while True:
        low, high = ((0.3, 0.95), (1.05, 3.0))[rng.integers(2)]
        wanted = value * np.exp(rng.uniform(np.log(low), np.log(high)))
        factor = float(f"{wanted:.{digits}g}") / value
        if abs(factor - 1.0) > 0.03:
            return factor


def words_of(problem, hypothesis):
    """How a statement of this hypothesis, or of the same number under another name, begins."""
    name = hypothesis.name
    if "start velocities" in name and "speed" in problem.options:
        return ("speed", "start velocities")
    if "mass of" in name:
        return ("the mass of",)
    return (name.removeprefix("option "),)


def wrong_number(problem, rng):
    """One number of the mechanism is wrong: one of those that the judge fits."""
    mechanism = problem.mechanism()
    h = rng.choice(list(list_hypotheses(problem, mechanism)))
    factor = random_factor(rng, int(rng.choice([1, 2, 3, 6])), h.value)
    if h.signed and rng.random() < 0.2:
        factor = float(rng.choice([-1.0, 0.0]))
    columns = simulated(problem, h.change(mechanism, factor), problem.duration)
    return Mistake(columns, words_of(problem, h), factor * h.value)


def two_numbers(problem, rng):
    """Two numbers of the mechanism are wrong: nothing that the judge fits alone explains it."""
    mechanism = problem.mechanism()
    words = ()
    for _ in range(2):
        h = rng.choice(list(list_hypotheses(problem, mechanism)))
        mechanism = h.change(mechanism, random_factor(rng, 2, h.value))
        words += words_of(problem, h)
        if h.name.startswith("option"):
            break
    return Mistake(simulated(problem, mechanism, problem.duration), words)


def one_inertia(problem, rng):
    """The inertia of one body is wrong, its mass is not: the judge does not fit it."""
    mechanism = problem.mechanism()
    name = str(rng.choice([b.name for b in mechanism.bodies]))
    factor = random_factor(rng, 2, 1.0)

    def change(part):
        if getattr(part, "name", "") != name or not hasattr(part, "inertia"):
            return part
        # shrunk, so that the tensor stays one of a body
        return replace(part, inertia=np.asarray(min(factor, 1 / factor) * part.inertia))

    return Mistake(
        simulated(problem, mechanism.mapped(change), problem.duration),
        ("inertia", "mass", "section"),
    )


def other_windows(problem, rng):
    """Data of another number of windows."""
    if "windows" not in problem.options:
        return wrong_number(problem, rng)
    count = int(rng.choice([w for w in range(1, 60) if w != problem.options["windows"]]))
    other = problems.get(problem.id, **{**problem.options, "windows": count})
    columns = simulated(other, other.mechanism(), problem.duration)
    return Mistake(columns, (f"windows = {count};",))


def shifted(problem, rng):
    """Rows begin late or early, or are labelled with the times of the next ones."""
    rows = int(rng.integers(1, 12))
    if rng.random() < 0.5:
        long = simulated(
            problem, problem.mechanism(), problem.duration + rows * problem.output_step
        )
        t = long["t"][: len(long["t"]) - rows]
        columns = {n: t if n == "t" else c[rows:] for n, c in long.items()}
        return Mistake(columns, ("early throughout", "spoilt", "corrupted"))
    columns = correct(problem)
    late = {n: c if n == "t" else np.r_[[c[0]] * rows, c[:-rows]] for n, c in columns.items()}
    return Mistake(late, ("late throughout",))


def clock(problem, rng):
    """Times of another unit or rate: the motion is too fast or too slow."""
    factor = random_factor(rng, 2, 1.0)
    long = simulated(problem, problem.mechanism(), problem.duration * factor)
    t = np.arange(0.0, problem.duration + 0.5 * problem.output_step, problem.output_step)
    columns = {n: t if n == "t" else np.interp(factor * t, long["t"], c) for n, c in long.items()}
    return Mistake(columns, ("time", "clock"))


def bad_columns(problem, rng):
    """Columns exchanged, mirrored, in millimetres or degrees."""
    columns = correct(problem)
    points = [n for n in columns if n in ("x", "y", "z", "vx", "vy", "vz")]
    angles = [n for n in columns if n in ("angle", "rate")]
    kind = rng.choice(["sign", "swap", "unit", "one unit", "degrees"])
    if kind == "unit":
        return Mistake(
            {n: 1000.0 * c if n in points else c for n, c in columns.items()}, ("millimetres",)
        )
    if kind == "degrees" and angles:
        both = angles if rng.random() < 0.5 else [str(rng.choice(angles))]
        return Mistake(
            {n: np.degrees(c) if n in both else c for n, c in columns.items()}, ("degrees",)
        )
    name = str(rng.choice(points + angles if kind == "sign" else points))
    if kind in ("one unit", "degrees"):
        return Mistake({**columns, name: 1000.0 * columns[name]}, ("millimetres",))
    if kind == "sign":
        return Mistake({**columns, name: -columns[name]}, ("wrong sign",))
    other = str(rng.choice([n for n in columns if n not in ("t", name)]))
    return Mistake({**columns, name: columns[other], other: columns[name]}, ("exchanged",))


def stopped(problem, rng):
    """A run that does not move, from the start or from some row on."""
    columns = correct(problem)
    first = int(rng.integers(len(columns["t"]))) if rng.random() < 0.7 else 0
    for name in columns.keys() - {"t"}:
        columns[name] = np.r_[
            columns[name][:first], [columns[name][first]] * (len(columns["t"]) - first)
        ]
    return Mistake(columns, ("nothing moves", "left the", "corrupted", "exchanged"))


def spoilt(problem, rng):
    """One row with a wrong digit."""
    columns = correct(problem)
    name = str(rng.choice([n for n in columns if n in ("x", "y", "z", "vx", "vy", "energy")]))
    row = int(rng.integers(1, len(columns["t"])))
    columns[name] = columns[name].copy()
    columns[name][row] += rng.choice([-1, 1]) * 10.0 ** rng.integers(-3, 3)
    return Mistake(columns, ("corrupted",))


def other_start(problem, rng):
    """The first row is not the initial state; the others are right."""
    columns = {n: c.copy() for n, c in correct(problem).items()}
    for name in columns.keys() - {"t"}:
        columns[name][0] = columns[name][1]
    return Mistake(columns, ("corrupted", "early throughout"))


def energy_alone(problem, rng):
    """An energy column that is not the energy's drift."""
    columns = correct(problem)
    columns["energy"] = (
        rng.normal() * 10.0 ** rng.uniform(-2, 2) * np.sin(rng.uniform(0.1, 3.0) * columns["t"])
    )
    return Mistake(columns, ("energy",))


MISTAKES = {
    wrong_number: 0.4,
    two_numbers: 0.1,
    one_inertia: 0.05,
    other_windows: 0.05,
    shifted: 0.08,
    clock: 0.05,
    bad_columns: 0.12,
    stopped: 0.05,
    spoilt: 0.04,
    other_start: 0.03,
    energy_alone: 0.03,
}


def numbers_in(sentence):
    """All numbers of a sentence."""
    found = re.findall(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", sentence)
    return [float(text) for text in found]


def diagnose(seed, names):
    """What the judge makes of the file of a seed: named, a likeness, silent or wrong; and what was said."""
    rng = np.random.default_rng([30, seed])
    problem = problems.get(str(rng.choice(names)))
    make = list(MISTAKES)[rng.choice(len(MISTAKES), p=list(MISTAKES.values()))]
    mistake = make(problem, rng)
    columns, digits = mistake.columns, int(rng.choice([4, 6, 12]))
    for name in columns.keys() - {"t"}:
        columns[name] = np.array([float(f"{x:.{digits - 1}e}") for x in columns[name]])
    rounding = {n: 0.5 * 10.0 ** (1 - digits) * np.abs(c).max() for n, c in columns.items()}
    judged = judge_columns(problem, columns, rounding)
    said = [f for f in judged.findings if not any(words in f for words in REMARKS)]
    given = "" if mistake.number is None else f" = {mistake.number:.7g}"
    about = f"{problem.id}, {make.__name__}: {mistake.words[0]}{given}, {digits} digits: "
    about += str(said or list(judged.findings))
    facts = [f for f in said if "looks like this" not in f]
    true = [f for f in facts if any(words in f for words in mistake.words)]
    # with other lengths the point is not on its path, which is a fact, too
    also = (
        ("is not on the", "left the circle", "left the path")
        if "the lengths" in mistake.words
        else ()
    )
    # a pendulum under reversed gravity is mirrored; without gravity or velocity nothing moves
    also += ("wrong sign",) if mistake.number is not None and mistake.number < 0.0 else ()
    also += ("nothing moves",) if mistake.number == 0.0 else ()
    false = [f for f in facts if f not in true and not any(words in f for words in also)]
    if mistake.number is not None and true:
        # what is fitted has the number, unless another cause with the same effect is named next to it
        near = [n for f in true for n in numbers_in(f)]
        if not any(abs(n - mistake.number) <= 1e-3 * abs(mistake.number) for n in near):
            return "wrong", f"{about} (number)"
    if false:
        return "wrong", about
    if true:
        return "named", about
    if not said:
        return "passes" if judged.kept else "silent", about
    return "likeness", about


def main() -> None:
    """Diagnose file by file, and count."""
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
    for name, counts in tally.items():
        print(name, dict(counts))
    sys.exit(any(counts["wrong"] for counts in tally.values()))


if __name__ == "__main__":
    main()
