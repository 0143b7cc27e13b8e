"""Problems of statics: equilibrium and eigenvalues against what the source prints."""

from __future__ import annotations

import numpy as np

from ..problems import Problem
from ..statics import Equilibrium, Modes, equilibrium, modes
from .judge import Check

# of the place [m] and of the eigenvalues [1/s]; ours: twelve digits are printed
ALLOWED = 1e-10


def judge_small_motion(problem: Problem) -> tuple[Equilibrium, Modes, tuple[Check, ...]]:
    """Find the equilibrium and the modes of a problem that asks for them, and compare."""
    if problem.small is None:
        raise ValueError(f"'{problem.id}' does not ask for an equilibrium")
    mechanism = problem.mechanism()
    rest = equilibrium(mechanism)
    found = modes(mechanism, at=rest)
    off = float(np.linalg.norm(rest.position(problem.observed) - problem.small.place))
    wanted = np.sort_complex(np.array(problem.small.eigenvalues))
    values = np.sort_complex(found.eigenvalues)
    missed = float(np.abs(values - wanted).max()) if values.shape == wanted.shape else np.inf
    return (
        rest,
        found,
        (
            Check("place at rest", off, ALLOWED, "m"),
            Check("eigenvalues", missed, ALLOWED, "1/s"),
        ),
    )
