"""CasADi with IDAS: symbolic equations as an index-1 DAE with Baumgarte stabilisation, solved by SUNDIALS."""

from __future__ import annotations

import contextlib
import io
import re

import casadi
import numpy as np

from ..mechanism import MechanismError
from .engine import EnginePlan, World
from .symbolic import Algebra, Formulas, make_formulas, split_balls
from .tree import Poses

MOST_STEPS = 1_000_000
# Printed by IDAS when it stops.
STOPPED = re.compile(r"At t = ([-+.\deE]+)")


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the integrator and its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.plan = plan
        self.tree = tree = split_balls(world.tree)
        n, s = tree.nv, plan.settings
        q, u, a = (casadi.SX.sym(letter, n) for letter in "qua")
        algebra = Algebra(casadi.sin, casadi.cos, casadi.sqrt, _jacobian)
        found = make_formulas(tree, algebra, casadi.vertsplit(q), casadi.vertsplit(u))
        lam = casadi.SX.sym("l", len(found.phi))
        b = float(s["baumgarte"])
        M, J = _matrix(found.M, n), _matrix(found.J, n)
        f, gamma, phi, rate = (casadi.vertcat(*x) for x in _vectors(found))
        motion = M @ a - f - (J.T @ lam if found.phi else 0)
        closures = J @ a - gamma + 2.0 * b * rate + b * b * phi if found.phi else casadi.SX(0, 1)
        dae = {
            "x": casadi.vertcat(q, u),
            "z": casadi.vertcat(a, lam),
            "ode": casadi.vertcat(u, a),
            "alg": casadi.vertcat(motion, closures),
        }
        self.start = np.concatenate([np.zeros(n), tree.rates(world.velocities, world.spins)])
        self.guess = self._first(dae, n + len(found.phi))
        self.dae, self.times = dae, np.array([k * plan.h for k in plan.kept[1:]])
        try:
            self.integrator = self._integrator(self.times)
        except RuntimeError as error:
            why = "its closures depend on each other" if "singular" in str(error) else str(error)
            raise MechanismError(f"CasADi rejects '{tree.name}': {why[:200]}") from error
        self.rows = np.full((len(plan.kept), 2 * n), np.nan)
        self.rows[0] = self.start
        # Time at which IDAS stopped [s].
        self.failed: float | None = None

    def _integrator(self, times: np.ndarray) -> casadi.Function:
        tolerance = float(self.plan.settings["tolerance"])
        options = {
            "abstol": tolerance,
            "reltol": tolerance,
            "max_step_size": self.plan.h,
            "max_num_steps": MOST_STEPS,
        }
        return casadi.integrator("run", "idas", self.dae, 0.0, times.tolist(), options)

    def _first(self, dae: dict[str, casadi.SX], count: int) -> np.ndarray:
        """Return accelerations and multipliers at the start; the equations are linear in them."""
        zero = np.zeros(count)
        made = casadi.Function(
            "alg", [dae["x"], dae["z"]], [dae["alg"], casadi.jacobian(dae["alg"], dae["z"])]
        )
        side, matrix = (np.array(x) for x in made(self.start, zero))
        return np.linalg.lstsq(matrix, -side.ravel(), rcond=None)[0]

    def solve(self) -> str:
        printed = io.StringIO()
        try:
            # Only the text that IDAS prints states when it stopped, and why.
            with contextlib.redirect_stderr(printed):
                self._run(self.integrator)
        except RuntimeError as error:
            printed_lines = printed.getvalue().strip().splitlines()
            sentence = printed_lines[-1] if printed_lines else " ".join(str(error).split())[-200:]
            found = STOPPED.search(sentence)
            self.failed = float(found[1]) if found else 0.0
            return sentence
        return ""

    def _run(self, integrator: casadi.Function) -> None:
        found = np.array(integrator(x0=self.start, z0=self.guess)["xf"]).T
        self.rows[1 : 1 + len(found)] = found

    def poses(self) -> Poses:
        if self.failed is not None:
            # A run that stops early returns nothing: run again up to the last output before the stop.
            before = self.times[self.times < self.failed]
            if len(before):
                with contextlib.suppress(RuntimeError):
                    self._run(self._integrator(before))
        n = self.tree.nv
        return self.tree.poses(self.rows[:, :n], self.rows[:, n:])


def _jacobian(values: list, by: list) -> list:
    made = casadi.jacobian(casadi.vertcat(*values), casadi.vertcat(*by))
    return [[made[i, j] for j in range(len(by))] for i in range(len(values))]


def _matrix(rows: list, columns: int) -> casadi.SX:
    made = [casadi.horzcat(*row) for row in rows]
    return casadi.vertcat(*made) if made else casadi.SX(0, columns)


def _vectors(found: Formulas) -> tuple:
    return found.f, found.gamma, found.phi, found.rate
