"""Singular configurations of the joints near configurations of a motion, and whether the dimensions allow them.

Let q* be such a configuration and u the dependence of the joint constraints there, u.J(q*) = 0. Then u.Phi(q*)
measures the dimensional mismatch. Configurations are computed in batches: one alone takes almost as long as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kinematics.constraints import Constraints
from ..thresholds import DEPENDENT_VALUE, KEPT_RANK
from .joint_equations import JointEquations
from .rank import measure_values

if TYPE_CHECKING:
    from ..model import Model

# largest number of dependences whose misfit is computed: if many values vanish at once, a few are sufficient
MOST_DEPENDENCES = 4
# Newton steps to the nearest singular configuration
NEWTON = 8
# the smallest curvature of u.Phi that hides a distance, as a share of the largest
LEAST_BEND = 0.01


class Place(NamedTuple):
    """A configuration of a motion where values of W vanish: coordinates, and the error of its polynomial.

    regular: a regular configuration nearby; rise: the number of values of W that vanish.
    """

    q: Floats
    error: float
    regular: Floats
    rise: int


class Neighbour(NamedTuple):
    """A singular configuration of the joints near the motion.

    The fields are the misfit of the dimensions there, the part of it that rounding and the errors of the run
    explain, the distance from the motion, and the distance that these errors hide.
    """

    misfit: float
    allowed: float
    off: float
    hidden: float


class SingularNeighbours:
    """Finds singular configurations of the joints of a model; tolerance: of the run."""

    def __init__(self, model: Model, equations: JointEquations, tolerance: float) -> None:
        self._equations, self._tolerance = equations, tolerance
        self.joints = Constraints(model.form, joints=True)
        # singular values of J at regular configurations, which several places share
        self._values: dict[int, tuple[Floats, Floats]] = {}

    def near(self, places: Sequence[Place]) -> list[list[Neighbour]]:
        """The singular configurations near each place; none if only the drives lose rank."""
        joints, q = self.joints, np.array([place.q for place in places])
        U, values, _ = np.linalg.svd(joints.jacobian(q))
        gaps = np.abs(joints.phi(q)).max(axis=1, initial=0.0)
        jobs: dict[int, list[tuple[int, Floats]]] = {}
        for i, place in enumerate(places):
            strong, rank = self._count(values[i], place)
            for u in U[i, :, strong:rank].T[:MOST_DEPENDENCES]:
                jobs.setdefault(strong, []).append((i, u))
        out: list[list[Neighbour]] = [[] for _ in places]
        for strong, some in jobs.items():
            which = np.array([i for i, _ in some])
            found = nearest_singular(joints, q[which], np.array([u for _, u in some]), strong)
            errors = np.array([places[i].error for i in which]) + self._tolerance + gaps[which]
            for i, neighbour in zip(which, self._measure(q[which], *found, errors), strict=True):
                out[i].append(neighbour)
        return out

    def _count(self, values: Floats, place: Place) -> tuple[int, int]:
        """How many singular values of J do not vanish at a place, and how many at regular configurations."""
        regular = self._regular_values(place.regular)
        rank = int(np.sum(regular > DEPENDENT_VALUE * regular.max(initial=0.0)))
        # drives may lose rank where joints do not, and the values they prescribe are not dimensions
        if not rank or values[rank - 1] > KEPT_RANK * regular[rank - 1]:
            return rank, rank
        # loops elsewhere may lose rank at the same time
        kept = int(np.sum(values[:rank] > KEPT_RANK * regular[rank - 1]))
        return max(min(rank - place.rise, kept), 0), rank

    def _measure(
        self, q: Floats, places: Floats, dependences: Floats, errors: Floats
    ) -> list[Neighbour]:
        joints = self.joints
        misfits = np.abs(np.einsum("mk,mk->m", dependences, joints.phi(places)))
        roundings = self._rounding(places, dependences)
        allowed = 0.5 * self._bend * errors**2 + roundings
        off = places - q
        far = np.abs(off).max(axis=1, initial=0.0)
        # u.J vanishes there, so the rounding error of u.Phi hides the position of the root
        ways = off / np.where(far > 0.0, far, 1.0)[:, None]
        second = joints.second_derivative(dependences)
        bends = np.abs(np.einsum("mi,mij,mj->m", ways, second, ways))
        hidden = errors + np.sqrt(2.0 * roundings / np.maximum(bends, LEAST_BEND * self._bend))
        rows = zip(misfits, allowed, far, hidden, strict=True)
        return [Neighbour(*map(float, row)) for row in rows]

    def _regular_values(self, q: Floats) -> Floats:
        if id(q) not in self._values:
            # the array is kept, so that its identity stays its own
            self._values[id(q)] = q, measure_values(self.joints.jacobian(q))
        return self._values[id(q)][1]

    @cached_property
    def _bend(self) -> float:
        """The largest derivative of J with respect to a coordinate."""
        return self.joints.largest_bend()

    @cached_property
    def _far(self) -> float:
        e = self._equations
        return float(np.abs(e.origin).max() + np.abs(e.centers).max()) / e.length

    def _rounding(self, q: Floats, u: Floats) -> Floats:
        """Rounding error of u.Phi: each term and the dimension on its other side, rounded twice."""
        terms = np.einsum("mk,mk->m", np.abs(u), self.joints.eval_terms(q))
        return np.asarray(2.0 * float(np.finfo(float).eps) * terms * (1.0 + self._far))


def nearest_singular(
    joints: Constraints, q: Floats, u: Floats, strong: int
) -> tuple[Floats, Floats]:
    """The configurations nearest to each q with u.J = 0, |u| = 1, and u, by Newton steps of least norm.

    q: (m, coordinates), u: (m, equations). The steps keep all constraints but that along u. strong: the number of
    singular values of J that do not vanish. They determine the changes of u and the return to these constraints;
    the step itself is among the directions of the others, where only the curvature of u.Phi counts.
    """
    q, u, active = q.copy(), u.copy(), np.arange(len(q))
    for _ in range(NEWTON):
        at, along_u = q[active], u[active]
        J = joints.jacobian(at)
        U, values, Vt = np.linalg.svd(J)
        U, values = U[:, :, :strong], values[:, :strong, None]
        V, Z = Vt[:, :strong], _transposed(Vt[:, strong:])
        along = joints.second_derivative(along_u) @ Z
        residual = _transposed(J) @ along_u[:, :, None]
        curved = np.linalg.pinv(_transposed(Z) @ along, rcond=1e-10)
        step = -curved @ (_transposed(Z) @ residual)
        turn = -U @ (V @ (along @ step + residual) / values)
        back = _transposed(V) @ (_transposed(U) @ joints.phi(at)[:, :, None] / values)
        q[active] = at + (Z @ step - back)[:, :, 0]
        along_u = along_u + turn[:, :, 0]
        u[active] = along_u / np.linalg.norm(along_u, axis=1, keepdims=True)
        sizes = np.hypot(np.linalg.norm(step, axis=(1, 2)), np.linalg.norm(turn, axis=(1, 2)))
        active = active[~(sizes < 1e-15)]
        if not len(active):
            break
    return q, u


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)
