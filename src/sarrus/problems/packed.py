"""User-defined problems as folders: a model file, numbers, and a reference motion in a table.

model.yaml      the mechanism
problem.json    id, title, source, note, observed point, duration, output step, limits
reference.csv   t and the observed point's position and velocity at all outputs, 17 digits
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..disk import read_file, write_file
from ..mechanism import Mechanism
from ..outputs import new_outputs
from .problem import Figure, Limits, Panel, Problem

MODEL, PROBLEM, REFERENCE = FILES = ("model.yaml", "problem.json", "reference.csv")
# Largest size of a reference file [bytes].
MOST_BYTES = 500_000_000


@dataclass(frozen=True)
class UserProblem:
    """A user-defined problem: its mechanism, the numbers of problem.json, and its reference table.

    motion: position, velocity and acceleration of the observed point at the times, (n, 3 dimension).
    """

    mechanism: Mechanism
    numbers: dict[str, Any]
    times: Floats
    motion: Floats

    @property
    def problem(self) -> Problem:
        """Return it as a Problem; its version changes with the model and the reference."""
        n = self.numbers
        letters = "xyz"[: self.motion.shape[1] // 3]
        text = json.dumps(n, sort_keys=True) + repr(self.motion.tolist())
        places = Panel("place [m]", tuple(letters))
        return Problem(
            id=str(n["id"]),
            title=str(n["title"]),
            library=str(n.get("library", "own")),
            source=str(n.get("source", "")),
            note=str(n.get("note", "")),
            version=zlib.crc32(text.encode()),
            duration=float(n["duration"]),
            output_step=float(n["output_step"]),
            limits=Limits(**n["limits"]),
            observed=str(n["observed"]),
            columns=("t", *letters, *("v" + c for c in letters), "energy"),
            figures=(
                Figure("figure-1-observed", f"Coordinates of {n['observed']}", (places,)),
                Figure(
                    "figure-2-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)
                ),
            ),
            build=self.mechanism.copy,
            exact=interpolate(self.times, self.motion),
            save=self.save,
        )

    def save(self, folder: Path) -> None:
        """Write the three files."""
        text = json.dumps(self.numbers, indent=2) + "\n"
        letters = "xyz"[: self.motion.shape[1] // 3]
        names = ["t", *(kind + c for kind in ("", "v", "a") for c in letters)]
        table = np.column_stack([self.times, self.motion])
        head = ",".join(names)
        with new_outputs(folder) as stage:
            self.mechanism.save(stage / MODEL)
            write_file(stage / PROBLEM, text)
            np.savetxt(stage / REFERENCE, table, "%.17g", ",", header=head, comments="")


def is_packed(folder: str | Path) -> bool:
    """Return whether a folder contains a problem, or is the package of one."""
    return (_find_inner(Path(folder)) / PROBLEM).is_file()


def _find_inner(folder: Path) -> Path:
    """Return the folder of the problem: the given one, or that in a package as `sarrus problem` writes it."""
    if (folder / PROBLEM).is_file():
        return folder
    inner = [file.parent for file in sorted(folder.glob(f"src/*/{PROBLEM}"))]
    return inner[0] if len(inner) == 1 else folder


def load_packed(folder: str | Path) -> Problem:
    """Load the problem of a folder; raises ValueError if it is invalid."""
    # Loads pydantic, which the built-in problems do not need.
    from .packed_record import load_numbers

    folder = _find_inner(Path(folder))
    try:
        numbers = load_numbers(folder / PROBLEM)
        text = read_file(folder / REFERENCE, MOST_BYTES).decode("utf-8", "replace")
        rows = [line for line in text.splitlines() if line.strip()][1:]
        if not rows:
            raise ValueError(f"{REFERENCE} is empty")
        table = np.loadtxt(rows, delimiter=",", comments=None, ndmin=2)
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: no problem there ({error})") from error
    mechanism = Mechanism.load(folder / MODEL)
    if table.shape[1] != 1 + 3 * mechanism.dimension or len(table) < 2:
        raise ValueError(
            f"{folder / REFERENCE} has {len(table)} rows of {table.shape[1]} columns; at least two of t, place, "
            "velocity and acceleration are due"
        )
    if not (np.isfinite(table).all() and (np.diff(table[:, 0]) > 0).all()):
        raise ValueError(f"{folder / REFERENCE}: numbers must be finite and times increase")
    return UserProblem(mechanism, numbers, table[:, 0], table[:, 1:]).problem


def interpolate(times: Floats, motion: Floats) -> Callable[[Floats], Floats]:
    """Return the table as a function of time: exact at its times, quintic Hermite interpolation between them."""
    d = motion.shape[1] // 3
    h = np.diff(times)[:, None]
    place, velocity, bend = motion[:, :d], motion[:, d : 2 * d], motion[:, 2 * d :]
    c = np.zeros((6, len(h), d))
    c[0], c[1], c[2] = place[:-1], h * velocity[:-1], 0.5 * h**2 * bend[:-1]
    x = place[1:] - c[0] - c[1] - c[2]
    v = h * velocity[1:] - c[1] - 2.0 * c[2]
    a = h**2 * bend[1:] - 2.0 * c[2]
    c[3], c[4], c[5] = 10 * x - 4 * v + 0.5 * a, -15 * x + 7 * v - a, 6 * x - 3 * v + 0.5 * a

    def exact(at: Floats) -> Floats:
        t = np.clip(at, times[0], times[-1])
        i = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(h) - 1)
        s = (t - times[i])[:, None] / h[i]
        powers = [s**k for k in range(6)]
        found = plain_sum(c[k, i] * powers[k] for k in range(6))
        rate = plain_sum(k * c[k, i] * powers[k - 1] for k in range(1, 6)) / h[i]
        out = np.hstack([found, rate])
        # At a time of the table, return the table's values to the last bit.
        near = i + (s[:, 0] > 0.5)
        same = np.abs(times[near] - t) <= 1e-9 * h[i, 0]
        out[same] = motion[near[same], : 2 * d]
        return out

    return exact
