"""Radau IIA with three or five stages, order 5 or 9, for stiff springs and dampers.

Equations and sources are in kernels/radau_step.py and docs/methods/radau.md. An error estimate of the stage order
controls the steps; the polynomial of a step interpolates its stages.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import radau_step as kernels
from ..kernels import return_codes
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.layout import Form, StepPolynomials, make_room, make_workspace, pack
from ..kernels.null_space import find_basis
from ..kernels.radau_newton import DofBasis, StageLaneWorkspace, Stages, Tangent, make_rule
from ..kernels.radau_stages import MOST_CORRECTIONS
from ..kernels.simd import WIDTH, fill_lanes
from ..kernels.step_control import BUFFER_BYTES
from ..model import Model
from ..model.order import make_factor
from ..thresholds import NO_MASS, SINGULAR_ACCELERATION
from . import status
from .method import Run, Start
from .outcome import AccelerationRule, Outcome
from .recorder import sample_projected
from .time_loop import Steps, Stopwatch, run_steps, start_piece

OPTIONS = {"longest_step": 0.0}
# the error estimate of a step may be SHARE tolerance^(4/5), so that the error of a run follows the tolerance about
# as that of `series` does: with three stages the estimate is ~ h^4 and the error ~ h^5; with five ~ h^6 and ~ h^9,
# but for typical step lengths the estimate was measured to decrease as h^7.8
SHARE = 0.03
# three stages for tolerances this loose, where their steps are cheaper, and with user forces, which may switch
# between stages
LITTLE = 1e-5
# up to this many degrees of freedom, dense equations in them are solved together; beyond it, equations in all
# coordinates in sparse blocks, which support three stages only
MOST_DOF = 8
# accuracy that double precision allows in a run
FLOOR = 1e-11
# user forces are evaluated at least this often in a run, so that a pulse of 1e-4 of its duration is detected
LEAST_EVALUATIONS = 10_000


def run(problem: Run) -> Outcome:
    """Simulate with Radau IIA alone.

    Options: longest_step [s]: upper limit of the step; 0: no limit.
    """
    return run_steps(problem, Radau(problem))


class Radau:
    """Steps of Radau IIA, from a given start or from the start of the run."""

    law: AccelerationRule | None = None
    certified = False
    remedy = "loosen the tolerance"

    def __init__(self, problem: Run, start: Start | None = None) -> None:
        self._problem = problem
        self.tolerance: float | None = problem.setting
        model, nq = problem.model, problem.model.coordinates
        zero = np.zeros(nq)
        self._carried = len(model.loads.torsions.first) + 1 if model.loaded else 0
        still = Start(0.0, zero, problem.velocity, np.zeros(self._carried))
        start = start or problem.start or still
        used = max(problem.setting, FLOOR)
        self._ws, self._loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
        motions = find_motions(model, start.q)
        count = choose_stages(model, used, motions)
        self._order = 2 * count - 1
        longest = float(problem.options.get("longest_step", 0.0)) or np.inf
        self._goal = kernels.Goal(
            problem.duration,
            SHARE * used**0.8,
            used,
            longest,
            problem.duration / LEAST_EVALUATIONS,
            _weight(model),
        )
        self.tangent = make_tangent(model.form, model.loads)
        self.stages = make_stages(model.form, model.loads, self.tangent, count, motions)
        # for each step: coordinates, velocities and accelerations at its start, and its polynomial
        rows = 3 + count + 3
        capacity = int(np.clip(BUFFER_BYTES // (8 * rows * max(nq, 1)), 64, 4096))
        self._store, self._ends = np.zeros((capacity, rows, nq)), np.zeros(capacity)
        self._seen = np.zeros((capacity, 4))
        self._ends[0], self._store[0, 0], self._store[0, 1] = start.t, start.q, start.v
        self._sides = np.zeros((capacity, self._carried, 1 + count))
        self._sides[0, :, 0] = start.carried
        if self._loads is not None:
            self._loads.theta[:] = start.carried[:-1]
        self._control, self._counters = np.zeros(kernels.CONTROLS), np.zeros(6, np.int64)
        self._control[kernels.SWITCHED] = -np.inf
        self._moved = self._lost = 0.0
        self.sampling = sample_projected(
            corrections=MOST_CORRECTIONS,
            near=SINGULAR_ACCELERATION,
            damped=True,
            limit=self._goal.local,
        )

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        store, ends = self._store, self._ends
        room = store[: min(1 + most, len(store))]
        with clock("solve"):
            reason, last = kernels.advance(
                self._problem.model.form, self.tangent, self._ws, self.stages, self._loads, self._goal,
                self._control, ends, room, self._sides, self._seen, self._counters,
            )  # fmt: skip
        with clock("record"):
            pieces = self._polynomials(last)
            seen = self._seen[1 : last + 1].copy()
            self._moved = max(self._moved, seen[:, 1].max(initial=0.0))
            self._lost += float(seen[:, 3].sum())
            carried = self._sides[last, :, 0].copy()
            for rows in (store, ends, self._sides):
                rows[0] = rows[last]
        return Steps(
            reason,
            pieces,
            self._ws.reference_pivots,
            self._order,
            seen[:, 0],
            carried,
            losses=seen[:, 3],
        )

    def _polynomials(self, last: int) -> StepPolynomials:
        """Return the polynomials of the steps that start at the rows of the store before this one."""
        if last == 0:
            state = self._store[0, :3] * np.array([1.0, 1.0, 0.5])[:, None]
            return start_piece(float(self._ends[0]), state, self._sides[0, :, 0])
        coefficients = self._store[:last, 3:].copy()
        orders = np.full(last, coefficients.shape[1] - 1)
        return StepPolynomials(
            self._ends[: last + 1].copy(), orders, coefficients, self._sides[:last].copy()
        )

    def end(self, t: float, reason: int) -> status.Ending:
        """Return how the run ended."""
        if reason == return_codes.DONE:
            return status.done(self._problem.duration)
        return status.ended_early(reason, t, self._problem.setting)

    def counters(self) -> dict[str, int]:
        """Return the counters."""
        names = ("steps", "rejected", "iterations", "factorisations", "relaxed_steps", "switches")
        return dict(zip(names, self._counters.tolist(), strict=True))

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes, relaxed = [], self._counters[kernels.RELAXED]
        if self._problem.setting < FLOOR:
            notes.append(
                f"tolerance {self._problem.setting:g} is below the limit of double precision; {FLOOR:g} was used"
            )
        switches = self._counters[kernels.SWITCHES]
        if switches:
            word = "switch" if switches == 1 else "switches"
            notes.append(f"{switches} {word} of user forces found; steps end there")
        if relaxed:
            notes.append(
                f"{relaxed} steps could not meet the tolerance in double precision, as happens near a "
                "singular configuration; the largest correction at the end of a step was "
                f"{self._moved:.1e} of the "
                f"mechanism's length, the sum of possible errors {self._lost:.1e}"
            )
        return notes


def try_steps(problem: Run, start: Start, most: int) -> tuple[float, Floats, Floats, Floats]:
    """Return the step [s] after a few steps, 0 if the run fails, and matrices at the last stage.

    The matrices are J, d(Q - J^T lam)/dq and dQ/dv, dense.
    """
    model, nq, radau = problem.model, problem.model.coordinates, Radau(problem, start)
    tried = radau.advance(Stopwatch(), most)
    tangent, stages = radau.tangent, radau.stages
    J, (S, G) = np.zeros((model.equations, nq)), np.zeros((2, nq, nq))
    J[model.form.J_eq, model.form.J_col] = stages.J[-1]
    S[tangent.S_row, tangent.S_col] = stages.S[-1]
    G[tangent.S_row, tangent.S_col] = stages.G[-1]
    if tried.reason not in (return_codes.DONE, return_codes.FULL) or not tried.count:
        return 0.0, J, S, G
    # the end of the run may shorten the last step
    return float(np.diff(tried.pieces.starts)[-3:].max()), J, S, G


def _weight(model: Model) -> float:
    """Return the largest acceleration that gravity would give, in model units."""
    mass = model.mass_matrix().diagonal()
    heavy = mass > NO_MASS * mass.max(initial=0.0)
    return float(np.abs(model.form.Q[heavy] / mass[heavy]).max(initial=0.0))


def make_tangent(form: Form, loads: Loads) -> Tangent:
    """Return the elimination order of the Newton matrix and the positions of its entries."""
    nq, nc = len(form.Q), len(form.phi0)
    M_row = np.repeat(np.arange(nq), np.diff(form.M_start))
    S_row, S_col, sums = _load_pattern(form, loads)
    # the model lists half of the symmetric augmentation
    mirrored = form.J_col[form.K_A_1] != form.J_col[form.K_A_2]
    A_1 = np.concatenate([form.K_A_1, form.K_A_2[mirrored]])
    A_2 = np.concatenate([form.K_A_2, form.K_A_1[mirrored]])
    rows = np.concatenate([M_row, S_row, form.J_eq + nq, form.J_col[A_1]])
    cols = np.concatenate([form.M_col, S_col, form.J_col, form.J_col[A_2]])
    factor = make_factor(nq + nc, np.array([rows, cols]), nq)
    upper = len(factor.rows)

    def places(rows: Ints, cols: Ints) -> Ints:
        above = factor.position[rows] < factor.position[cols]
        return factor.entries(rows, cols) + upper * above

    return pack(Tangent(
        pos_q=factor.position[:nq].copy(), pos_c=factor.position[nq:].copy(),
        M_at=places(M_row, form.M_col),
        J_at=places(form.J_eq + nq, form.J_col), JT_at=places(form.J_col, form.J_eq + nq),
        A_at=places(form.J_col[A_1], form.J_col[A_2]), A_1=A_1, A_2=A_2,
        S_row=S_row, S_col=S_col, S_at=places(S_row, S_col),
        **sums,
        L_start=factor.start, L_row=factor.rows, L_target=factor.target,
    ))  # fmt: skip


def _load_pattern(form: Form, loads: Loads) -> tuple[Ints, Ints, dict[str, Any]]:
    """Return the entries of S = F^T (dw/df) F - sum lam_k A_k: their coordinates, and the terms that each sums."""
    number: dict[tuple[int, int], int] = {}

    def spread(
        start: Any, col: Any, val: Any, terms: Any
    ) -> tuple[list[int], list[int], list[float]]:
        to, of, factor = [], [], []
        for n, a, b, c in terms:
            for k in range(start[a], start[a + 1]):
                for m in range(start[b], start[b + 1]):
                    place = int(col[k]), int(col[m])
                    to.append(number.setdefault(place, len(number)))
                    of.append(n)
                    factor.append(c * val[k] * val[m])
        return to, of, factor

    weights = (
        (n, a, b, 1.0) for n, (a, b) in enumerate(zip(loads.G_row, loads.G_col, strict=True))
    )
    squares = zip(form.sq_eq, form.sq_form, form.sq_form, form.sq_c, strict=True)
    pairs = zip(form.bl_eq, form.bl_a, form.bl_b, form.bl_c, strict=True)
    turned = zip(form.bl_eq, form.bl_b, form.bl_a, form.bl_c, strict=True)
    sums: dict[str, Any] = {}
    for name, (to, of, factor) in {
        "sum": spread(loads.F_start, loads.F_col, loads.F_val, weights),
        "lam": spread(form.D_start, form.D_col, form.D_val, chain(squares, pairs, turned)),
    }.items():
        sums[f"{name}_to"] = np.array(to, dtype=np.int64)
        sums[f"{name}_of"] = np.array(of, dtype=np.int64)
        sums[f"{name}_c"] = np.array(factor, dtype=float)
    places = np.array(list(number), dtype=np.int64).reshape(-1, 2)
    return places[:, 0].copy(), places[:, 1].copy(), sums


def choose_stages(model: Model, tolerance: float, motions: Floats | None) -> int:
    """Return 3 or 5 stages; motions: null space of J if the degrees of freedom are few, else None."""
    has_user_forces = len(model.loads.user.calls) > 0
    return 3 if has_user_forces or motions is None or tolerance >= LITTLE else 5


def find_motions(model: Model, q: Floats) -> Floats | None:
    """Return a basis of the allowed velocities at q, (nq, f); None if f is too large for dense equations."""
    basis = np.zeros((MOST_DOF, model.coordinates))
    found, _, _ = find_basis(model.form, make_workspace(model.form, 0), 2, q, basis)
    return None if found < 0 else basis[:found].T.copy()


def make_stages(
    form: Form, loads: Loads, tangent: Tangent, stages: int = 3, motions: Floats | None = None
) -> Stages:
    """Allocate the scratch memory of a step, in the degrees of freedom if their motions are given."""
    nq, nc, ns, z = len(form.Q), len(form.phi0), len(tangent.S_at), np.zeros
    n, upper, s = nq + nc, len(tangent.L_row), stages
    in_blocks = motions is None
    f = 0 if motions is None else motions.shape[1]
    size = 2 * f * s
    nj, nl = len(form.J_eq), n + len(form.L_row)
    # L, J, S, G, v, a; X, turn, Jv, Ja, de; N, MN, T
    shapes = (
        (nl,), (nj,), (ns,), (ns,), (nq,), (nq,),
        (n, 2 * f), (nq, f), (nj,), (nj,), (len(form.e0),), (nq, f), (nq, f), (nq, 2 * f),
    )  # fmt: skip
    free = DofBasis(
        N=z((s, nq, f)), MN=z((s, nq, f)), T=z((s, nq, 2 * f)),
        matrix=z((size, fill_lanes(size))), lower=z((size, size)), order=np.zeros(size, np.int64), right=z(size),
        seen=z(WIDTH), side=StageLaneWorkspace(*make_room(*((*shape, WIDTH) for shape in shapes))),
    )  # fmt: skip
    if motions is not None:
        free.N[-1] = motions
    return pack(Stages(
        rule=make_rule(s), z=z((2, s, nq)), dz=z((2, s, nq)), past=z((s, nq)), sums=z((2, s, nq)),
        L=z((s, n + len(form.L_row))), bend=z(nq),
        q=z((s, nq)), v=z((s, nq)), a=z((s, nq)),
        lam=z((s + 1, nc)), power=z(s), brought=z(s), J=z((s + 1, len(form.J_eq))),
        A=z(len(loads.G_row)), B=z(len(loads.G_row)),
        S=z((s + 1, ns)), G=z((s + 1, ns)), theta=z(len(loads.torsions.first)), user=z((8, len(loads.f0))),
        blocks=z(((n + 2 * upper) * in_blocks, 3, 3)), b_blocks=z((n * in_blocks, 3)),
        below=z((3, 3)), right=z((3, 3)), values=z(n + 2 * upper), b=z(n), dof=free,
    ))  # fmt: skip
