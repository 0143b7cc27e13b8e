"""Lagrange multipliers of index 1 with Baumgarte's stabilisation, by SciPy's DOP853.

    y = (q, v),     y' = (v, a),     a as in textbook.run_multipliers

Source: the Runge-Kutta method of order 8 of Dormand and Prince with step control [HairerNorsettWanner1993], as
implemented in SciPy. The right-hand side is compiled, the integrator is not: a typical user setup. Outputs come
from its interpolant of order 7. Its additional stages may lie next to a singular configuration that the step
passed; where it opens the joints, the polynomial of degree 5 through the ends of the step replaces it.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..arrays import Floats
from ..kernels import return_codes, stepping
from ..kernels.applied_forces import make_loads
from ..kernels.layout import StepPolynomials, make_workspace
from ..kinematics.constraints import Constraints
from . import status
from .fixed_step import SOFT_REFINEMENTS, soften
from .method import Run
from .outcome import AccelerationRule, Outcome
from .recorder import sample_unprojected
from .time_loop import Steps, Stopwatch, run_steps

OPTIONS = {"alpha": 10.0, "beta": 10.0}
ORDER = 8
# degree of the interpolant
DEGREE = 7
# smallest relative tolerance that SciPy allows
FLOOR = 3e-14
# steps below this fraction of the run would not finish in reasonable time
SHORTEST = 1e-9
# the first step, in units of the mechanism's time scale; the next ones follow the tolerance
FIRST_STEP = 1e-2
# times the tolerance: joints that are open further within a step are due to the interpolant
OPEN = 10.0
# between two recordings
MOST_STEPS = 256


def run(problem: Run) -> Outcome:
    """Simulate with DOP853.

    The tolerance is relative and absolute, in model units and the mechanism's time scale. Options: alpha, beta:
    rates of stabilisation [1/s].
    """
    return run_steps(problem, _Dop853(problem))


class _Dop853:
    """Steps of SciPy's integrator."""

    law: AccelerationRule | None
    tolerance: float | None = None
    certified = False
    remedy = "loosen the tolerance"

    def __init__(self, problem: Run) -> None:
        self._problem = problem
        model, nq = problem.model, problem.model.coordinates
        self._ws, self._loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
        self._form, self._notes = soften(model.form, self._ws)
        alpha, beta = (float(problem.options[name]) for name in ("alpha", "beta"))
        refinements = SOFT_REFINEMENTS if self._notes else -1
        self.law = law = AccelerationRule(self._form, 2.0 * alpha, beta**2, refinements)
        lam = np.zeros(model.equations)

        def rates(t: float, y: Floats) -> Floats:
            dy = np.empty(2 * nq)
            stepping.eval_rates(
                law.form,
                self._ws,
                self._loads,
                t,
                law.damping,
                law.stiffness,
                refinements,
                lam,
                y,
                dy,
            )
            return dy

        self._used = max(problem.setting, FLOOR)
        self._joints = Constraints(model.form, joints=True)
        self._start = np.concatenate([np.zeros(nq), problem.velocity])
        self._rates = rates
        self._solver: scipy.integrate.DOP853 | None = None
        self._steps = 0
        self._usual = np.zeros(model.equations)
        self._carried = len(model.loads.torsions.first) + 1 if model.loaded else 0
        # the work is as accurate as the steps: quadrature of order ten for steps of order eight
        self.sampling = sample_unprojected(accelerations=False, points=5)

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        starts: list[float] = []
        rows: list[Floats] = []
        # invalid states are detected below; the warnings of the integrator would only repeat that
        with np.errstate(all="ignore"):
            if self._solver is None:
                with clock("solve"):
                    self._solver = self._begin()
            solver = self._solver
            starts.append(solver.t)
            reason, end = return_codes.FULL, None
            while reason == return_codes.FULL and len(rows) < min(most, MOST_STEPS):
                with clock("solve"):
                    reason, end = self._step(solver)
                if reason in (return_codes.FULL, return_codes.DONE):
                    with clock("record"):
                        starts.append(solver.t)
                        rows.append(self._polynomial(solver))
        self._steps += len(rows)
        if not rows:
            # the current state
            rows = [np.zeros((DEGREE + 1, len(self._start)))]
            rows[0][0] = solver.y if solver.t == starts[0] else solver.y_old
        count = len(rows)
        angle_and_work_series = np.zeros((count, self._carried, 0))
        orders = np.full(count, DEGREE, np.int64)
        pieces = StepPolynomials(np.array(starts), orders, np.array(rows), angle_and_work_series)
        return Steps(reason, pieces, self._usual, ORDER, end=end)

    def _polynomial(self, solver: scipy.integrate.DOP853) -> Floats:
        """Return the polynomial of the last step in powers of time."""
        nq, h = self._problem.model.coordinates, solver.t - solver.t_old

        def opens(powers: Floats) -> float:
            rows, gaps = powers[:, :nq], []
            for share in (0.25, 0.5, 0.75):
                q = np.asarray(np.polynomial.polynomial.polyval(share * h, rows))
                gaps.append(float(np.abs(self._joints.phi(q)).max(initial=0.0)))
            return max(gaps)

        dense = _dense(solver)
        gap = opens(dense)
        if gap <= OPEN * self._used:
            return dense
        other = _between_ends(solver, self._rates(solver.t_old, solver.y_old), nq)
        return other if opens(other) < gap else dense

    def _begin(self) -> scipy.integrate.DOP853:
        """Return the integrator at the start; its first step and velocity tolerance need a time scale.

        That is the time in which the mechanism moves by one link length at the start, or the duration.
        """
        duration, v, nq = self._problem.duration, self._problem.velocity, len(self._start) // 2
        a = self._rates(0.0, self._start)[nq:]
        speed = float(np.abs(v).max(initial=0.0))
        pull = float(np.sqrt(np.abs(a).max(initial=0.0)))
        # this form of the comparison ignores nan: the first step reveals it
        rate = max(1.0 / duration, speed, pull if pull < np.inf else 0.0)
        return scipy.integrate.DOP853(
            self._rates, 0.0, self._start, duration, first_step=min(FIRST_STEP / rate, duration),
            rtol=self._used, atol=self._used * np.repeat([1.0, rate], nq),
        )  # fmt: skip

    def _step(self, solver: scipy.integrate.DOP853) -> tuple[int, status.Ending | None]:
        """Take one step and check it."""
        solver.step()
        duration, nq = self._problem.duration, self._problem.model.coordinates
        slow = solver.status == "running" and solver.step_size < SHORTEST * duration
        if solver.status == "failed" or slow:
            return return_codes.TOO_SHORT, status.takes_tiny_steps(solver.t, self._problem.setting)
        args = self._form, self._ws, self._loads, solver.t, solver.y[:nq], solver.y[None, :]
        reason = stepping.check_row(*args)
        if reason != return_codes.FULL:
            return reason, status.ended_early(reason, solver.t_old, self._problem.setting)
        return (return_codes.DONE if solver.status == "finished" else return_codes.FULL), None

    def end(self, t: float, reason: int) -> status.Ending:
        """Return how the run ended."""
        return status.done(self._problem.duration)

    def counters(self) -> dict[str, int]:
        """Return the counters."""
        assert self._solver is not None
        # evaluations for interpolants count as recording
        return {"steps": self._steps, "factorisations": int(self._solver.nfev) - 3 * self._steps}

    def notes(self) -> list[str]:
        """Return notes for the user."""
        tolerance = self._problem.setting
        if self._used > tolerance:
            floor = f"tolerance {tolerance:g} is below what SciPy allows; {self._used:g} was used"
            return [*self._notes, floor]
        return self._notes


def _dense(solver: scipy.integrate.DOP853) -> Floats:
    """Return the interpolant of the last step in powers of time; SciPy: y0 + x (F0 + (1 - x) (F1 + x (...)))."""
    dense = solver.dense_output()
    powers = np.zeros((DEGREE + 1, len(dense.y_old)))
    for i, f in enumerate(dense.F[::-1]):
        powers[0] += f
        raised = np.roll(powers, 1, axis=0)
        powers = raised if i % 2 == 0 else powers - raised
    powers[0] += dense.y_old
    return powers / dense.h ** np.arange(DEGREE + 1.0)[:, None]


def _between_ends(solver: scipy.integrate.DOP853, rates: Floats, nq: int) -> Floats:
    """Return the polynomial with the positions, velocities and accelerations of both ends; rates: at the start."""
    h, powers = solver.t - solver.t_old, np.zeros((DEGREE + 1, 2 * nq))
    q, v, a = solver.y_old[:nq], h * solver.y_old[nq:], h * h * rates[nq:]
    q1, v1, a1 = solver.y[:nq], h * solver.y[nq:], h * h * solver.f[nq:]
    dq, dv, da = q1 - q - v - 0.5 * a, v1 - v - a, a1 - a
    powers[:6, :nq] = (
        q, v, 0.5 * a, 10 * dq - 4 * dv + 0.5 * da, -15 * dq + 7 * dv - da, 6 * dq - 3 * dv + 0.5 * da
    )  # fmt: skip
    powers[:-1, nq:] = powers[1:, :nq] * np.arange(1.0, DEGREE + 1.0)[:, None] / h
    return powers / h ** np.arange(DEGREE + 1.0)[:, None]
