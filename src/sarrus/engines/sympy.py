"""SymPy: Lagrange's equations compiled to Python functions; Runge-Kutta 4 with Baumgarte stabilisation."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import sympy

from ..arrays import Floats
from ..mechanism import MechanismError
from .engine import EnginePlan, World
from .symbolic import Algebra, Formulas, make_formulas, split_balls
from .tree import Poses, Tree

# Deriving the equations for more coordinates takes minutes.
MOST_COORDINATES = 12


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the functions and the initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.plan = plan
        self.tree = tree = split_balls(world.tree)
        n = tree.nv
        if n > MOST_COORDINATES:
            raise MechanismError(
                f"'{tree.name}' cannot be simulated with SymPy: it has {n} coordinates, and the formulas "
                "of more than "
                f"{MOST_COORDINATES} take too long to derive"
            )
        self.rate = float(plan.settings["baumgarte"]) / plan.h
        self.function, self.size = _derive(tree)
        self.rows = np.full((2, len(plan.kept), n), np.nan)
        self.rows[0, 0], self.rows[1, 0] = 0.0, tree.rates(world.velocities, world.spins)

    def _accelerate(self, t: float, q: Floats, u: Floats) -> Floats:
        n, b = self.size, self.rate
        values = np.array(self.function(b, *q.tolist(), *u.tolist()))
        K, side = values[: n * n].reshape(n, n), values[n * n :]
        for k, d in enumerate(self.tree.driven[::-1], start=1):
            x, dx, ddx = (d.motion.derivative(t, n) for n in range(3))
            side[-k] += ddx + 2.0 * b * dx + b * b * x
        if self.plan.settings["least_squares"]:
            rcond = float(self.plan.settings["rank_tolerance"])
            return np.asarray(np.linalg.lstsq(K, side, rcond=rcond)[0][: len(q)])
        return np.asarray(np.linalg.solve(K, side)[: len(q)])

    def solve(self) -> str:
        h, f = self.plan.h, self._accelerate
        q, u = self.rows[:, 0]
        try:
            for i, (first, stride) in enumerate(
                zip(self.plan.kept, self.plan.strides, strict=False), start=1
            ):
                for k in range(first, first + stride):
                    t = k * h
                    a1 = f(t, q, u)
                    u2 = u + 0.5 * h * a1
                    a2 = f(t + 0.5 * h, q + 0.5 * h * u, u2)
                    u3 = u + 0.5 * h * a2
                    a3 = f(t + 0.5 * h, q + 0.5 * h * u2, u3)
                    u4 = u + h * a3
                    a4 = f(t + h, q + h * u3, u4)
                    q = q + h / 6.0 * (u + 2.0 * (u2 + u3) + u4)
                    u = u + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
                self.rows[:, i] = q, u
        except np.linalg.LinAlgError as error:
            return str(error)
        except OverflowError:
            # Python floats raise an error where NumPy's would become infinite.
            return ""
        return ""

    def poses(self) -> Poses:
        return self.tree.poses(*self.rows)


# Cache of the last derived tree: a benchmark requests it repeatedly.
_LAST: dict[bytes, tuple[Any, int]] = {}


def _derive(tree: Tree) -> tuple[Any, int]:
    """Return the function of Baumgarte's rate, q and u that gives matrix and right-hand side, and their size."""
    key = pickle.dumps(tree)
    if key not in _LAST:
        n = tree.nv
        q, u = (list(sympy.symbols(f"{letter}:{n}")) for letter in "qu")
        b = sympy.Symbol("b")
        found = make_formulas(tree, Algebra(sympy.sin, sympy.cos, sympy.sqrt, _jacobian), q, u)
        # Python floats with math functions: NumPy is slower for scalars.
        made = sympy.lambdify([b, *q, *u], _system(found, b), modules="math", cse=True)
        _LAST.clear()
        _LAST[key] = made, n + len(found.phi)
    return _LAST[key]


def _jacobian(values: list, by: list) -> list:
    return [[sympy.diff(x, y) for y in by] for x in values]


def _system(found: Formulas, b: Any) -> list:
    """Return the matrix of accelerations and multipliers, by rows, and its right-hand side (b: Baumgarte rate)."""
    n, m = len(found.f), len(found.phi)
    rows = [[*found.M[i], *(-found.J[k][i] for k in range(m))] for i in range(n)]
    rows += [[*row, *([0.0] * m)] for row in found.J]
    closures = [
        g - 2.0 * b * v - b * b * x
        for g, v, x in zip(found.gamma, found.rate, found.phi, strict=True)
    ]
    return [x for row in rows for x in row] + found.f + closures
