"""A user's mechanism as a problem: its reference is a converged run, or a file with the exact solution.

A run counts as converged if two methods of different kinds agree. Their difference is reported, and no limit is
tighter.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from ..disk import write_file
from ..kinematics.configuration import measure_length
from ..mechanism import Mechanism
from ..names import pick
from ..outputs import check_outputs, new_outputs
from ..problems.packed import UserProblem
from ..result import Result
from ..simulate import simulate
from .result_file import read_result_file

# Relative to the mechanism's length: two methods must agree to this for a reference to count as converged.
AGREED = 1e-11
# The two kinds: Taylor series of the constrained equations, and Runge-Kutta methods that integrate them.
FIRST = ("series", 1e-13)
OTHERS = (("multipliers-dop853", 1e-13), ("radau", 1e-12))
MOST_STEPS = 300_000
# Relative to the mechanism's length: default limits.
END_ERROR, PATH = 1e-6, 0.05


def make_user_problem(
    mechanism: Mechanism,
    name: str,
    *,
    duration: float | None = None,
    output_step: float | None = None,
    point: str | None = None,
    limit: float | None = None,
    reference: Path | None = None,
) -> tuple[UserProblem, list[str]]:
    """Return the problem and the choices made; omitted arguments come from the model file or the mechanism.

    point: observed point; limit [m]: limit of its error at the end; reference: file with the exact motion of
    the point.
    """
    said: dict[str, Any] = dict(mechanism.defaults)
    seconds = said.get("duration") if duration is None else duration
    if seconds is None:
        raise ValueError(
            "how long? Give --duration, or write `simulate: {duration: 10 s}` into the file"
        )
    every = output_step or said.get("output_step") or seconds / 1000
    result = _run(mechanism, seconds, every, *FIRST)
    if not result.success:
        raise ValueError(f"no reference: {FIRST[0]} at {FIRST[1]:g}: {result.message}")
    notes = []
    if point is None:
        point, way = max(_ways(result, mechanism).items(), key=lambda item: item[1])
        notes.append(
            f"the observed point is '{point}', which moves farthest ({way:.3g} m); choose another with --point"
        )
    else:
        pick(result.model.points, point, "joint, point or body")
    length = measure_length(mechanism)
    table = np.hstack([result.position(point), result.velocity(point), result.acceleration(point)])
    agreed, sentence = _agreement(mechanism, result, point, every, length)
    if reference is None:
        notes.append(sentence)
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "own"
    numbers: dict[str, Any] = {
        "id": word,
        "title": mechanism.name,
        "library": "own",
        "source": "own",
        "note": sentence,
        "observed": point,
        "duration": float(seconds),
        "output_step": float(every),
        "limits": {
            "end_error": limit or _round(max(END_ERROR, 10.0 * (agreed or 0.0)) * length),
            "path": _round(PATH * length),
        },
    }
    own = UserProblem(mechanism, numbers, result.times, table)
    if reference is not None:
        own, file_notes = _with_file(own, reference, table)
        notes += file_notes
    notes.append(
        f"limits: error at the end below {numbers['limits']['end_error']:.3g} m, never farther off than "
        f"{numbers['limits']['path']:.3g} m"
    )
    return own, notes


def _round(value: float) -> float:
    """Round to two digits, because limits are read by people."""
    return float(f"{value:.1e}")


def _run(
    mechanism: Mechanism, seconds: float, every: float, method: str, tolerance: float
) -> Result:
    return simulate(
        mechanism, seconds, every, method=method, tolerance=tolerance, max_steps=MOST_STEPS
    )


def _ways(result: Result, mechanism: Mechanism) -> dict[str, float]:
    """Return how far joints and points move from their start [m]."""
    names = [*(j.name for j in mechanism.joints), *(p.name for p in mechanism.markers)]
    names = [n for n in names if n in result.model.points] or [b.name for b in mechanism.bodies]
    return {
        n: float(np.linalg.norm(result.position(n) - result.position(n)[:1], axis=1).max())
        for n in names
    }


def _agreement(
    mechanism: Mechanism, result: Result, point: str, every: float, length: float
) -> tuple[float | None, str]:
    """Return the difference to a method of another kind, relative to the length, and a sentence on it."""
    best: tuple[float, str] | None = None
    failed = []
    for method, tolerance in OTHERS:
        other = _run(mechanism, result.duration, every, method, tolerance)
        if not other.success:
            failed.append(f"{method}: {other.message}")
            continue
        apart = float(np.abs(other.position(point) - result.position(point)).max()) / length
        if best is None or apart < best[0]:
            best = apart, method
        if apart <= AGREED:
            break
    if best is None:
        return (
            None,
            f"reference: series alone, no second method reached the end ({'; '.join(failed)})",
        )
    words = f"series and {best[1]} agree to {best[0] * length:.1e} m"
    if best[0] <= AGREED:
        return best[0], f"reference: converged, {words}"
    return best[0], f"reference: NOT converged to {AGREED * length:.1e} m: {words} only"


def _with_file(own: UserProblem, path: Path, table: np.ndarray) -> tuple[UserProblem, list[str]]:
    """Return the problem with the motion of a file as its reference."""
    read = read_result_file(path, own.problem)
    problem = own.problem
    letters = [c for c in problem.columns if c in ("x", "y", "z")]
    missing = [c for c in letters if c not in read.columns]
    if missing:
        raise ValueError(
            f"{path}: a reference needs {', '.join(letters)}; {', '.join(missing)} is missing"
        )
    notes = [*read.notes]
    t = read.columns["t"]
    splines = {c: CubicSpline(t, read.columns[c]) for c in letters}
    velocities = []
    for c in letters:
        if "v" + c not in read.columns:
            notes.append(f"v{c} is not in the file: the derivative of a spline through {c} serves")
        velocities.append(read.columns.get("v" + c, splines[c](t, 1)))
    places = [read.columns[c] for c in letters]
    # Affects values between rows only.
    bends = [CubicSpline(t, v)(t, 1) for v in velocities]
    motion = np.column_stack([*places, *velocities, *bends])
    off = float(np.abs(motion[:, : len(letters)] - table[:, : len(letters)]).max())
    notes.append(f"reference: {path.name}; our own series is at most {off:.1e} m from it")
    numbers = {**own.numbers, "note": f"reference: the file {path.name}", "source": path.name}
    return replace(own, numbers=numbers, times=t, motion=motion), notes


def pack_problem(own: UserProblem, folder: Path) -> str:
    """Write a problem as an installable Python package; returns the name of its module."""
    name = own.numbers["id"]
    module = "sarrus_problem_" + name.replace("-", "_")
    if (folder / "pyproject.toml").exists():
        raise ValueError(f"{folder} holds a package already; give another folder, or delete it")
    texts = {"pyproject.toml": PYPROJECT, "README.md": README}
    check_outputs(folder, texts)
    inner = folder / "src" / module
    own.save(inner)
    with new_outputs(inner) as stage:
        write_file(stage / "__init__.py", INIT.format(title=own.numbers["title"]))
    words = {key: own.numbers[key] for key in ("title", "note")}
    with new_outputs(folder) as stage:
        for file, text in texts.items():
            write_file(stage / file, text.format(name=name, module=module, **words))
    return module


INIT = '''"""A problem for Sarrus: {title}."""

from pathlib import Path

from sarrus.problems import load_packed


def problem():
    """The mechanism, its numbers and its reference."""
    return load_packed(Path(__file__).parent)
'''
PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "sarrus-problem-{name}"
version = "1.0.0"
description = "{title}: a problem for Sarrus"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["sarrus"]

[project.entry-points."sarrus.problems"]
{name} = "{module}:problem"

[tool.hatch.build.targets.wheel]
packages = ["src/{module}"]
"""
README = """# {title}

A problem for Sarrus; {note}.

    pip install .
    sarrus bench {name}
    sarrus judge results.txt --problem {name}
"""
