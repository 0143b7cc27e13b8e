"""Self-stresses of an infinitesimally mobile configuration, and whether prestress stiffens it.

A self-stress is a combination u of dependent joint equations, u^T J = 0: joint forces in equilibrium without any
load. It stiffens the first-order degrees of freedom a (first-order prestress stiffness) if the quadratic form u^T
B(N a, N a) is definite: then the mechanism is prestress stable [ConnellyWhiteley1996, PellegrinoCalladine1986].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import read_poses
from ..thresholds import SHOWN_ZERO
from .local.definite import find_definite
from .local.reduced_system import IndependentPart

if TYPE_CHECKING:
    from ..model import Model
    from .joint_equations import JointEquations

# largest number of components in a sentence
MOST_WORDS = 10


@dataclass(frozen=True)
class SelfStress:
    """The number of independent self-stresses, and their effect.

    count: of the joint equations; stiffens: whether one of them stiffens all infinitesimal degrees of freedom;
    components: of the joint equations, largest 1, if there is a single stress; else empty.
    """

    count: int
    stiffens: bool
    components: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        many = "1 self-stress" if self.count == 1 else f"{self.count} self-stresses"
        text = f"{many}; prestress {'stiffens it' if self.stiffens else 'does not stiffen it'}"
        if self.components:
            words = [f"{value:.3g} {name}" for name, value in self.components[:MOST_WORDS]]
            more = len(self.components) - MOST_WORDS
            text += f" ({', '.join(words)}{f' and {more} more' if more > 0 else ''})"
        return text + "."

    def as_dict(self) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return {
            "count": self.count,
            "stiffens": self.stiffens,
            "components": [{"equation": n, "value": x} for n, x in self.components],
        }


def find_self_stress(
    resting: tuple[IndependentPart, ...], equations: JointEquations, model: Model, q: Floats
) -> SelfStress:
    """The self-stresses of factors without a branch."""
    count, components = _components(equations, model, q)
    return SelfStress(
        count, all(find_definite(f.quadrics) is not None for f in resting), components
    )


def _components(
    equations: JointEquations, model: Model, q: Floats
) -> tuple[int, tuple[tuple[str, float], ...]]:
    """The number of self-stresses; if it is one, its components, largest first."""
    pose = read_poses(equations.centers, model.body_rows, q[None])[0]
    scaled = equations.scaled(pose)
    W = scaled.matrix.toarray()
    U, values, _ = np.linalg.svd(W)
    rank = int(np.sum(values > equations.tolerance))
    count = W.shape[0] - rank
    if count != 1:
        return count, ()
    u = scaled.named(U[:, rank:])[:, 0]
    u = u / u[np.argmax(np.abs(u))]
    order = np.argsort(-np.abs(u), kind="stable")
    names = equations.equations(pose)
    return 1, tuple((str(names[i]), float(u[i])) for i in order if abs(u[i]) > SHOWN_ZERO)
