"""The textbook methods with fixed steps: for each a compiled step and its initialisation.

Multipliers, penalty and null space use the fourth-order Runge-Kutta method; ali3, generalized-alpha and
energy-momentum solve for the state at the end of a step.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import implicit, null_space, stepping
from ..kernels.applied_forces import make_loads
from ..kernels.layout import make_workspace
from .fixed_step import SOFT_REFINEMENTS, as_penalty, divide, run_fixed, soften
from .method import Run
from .outcome import Outcome, skipped

# [1/s]; as fast as the steps of most problems allow without loss of order
MULTIPLIERS_OPTIONS = {"alpha": 10.0, "beta": 10.0}
# rates above this over h would be integrated inaccurately, and above 2.7 / h they are unstable
FASTEST = 0.5


def run_multipliers(problem: Run) -> Outcome:
    """Lagrange multipliers of index 1 with Baumgarte's stabilisation, fourth-order Runge-Kutta.

        [ M  J^T ] [ a   ]   [ Q                                ]
        [ J  0   ] [ lam ] = [ -J' v - 2 alpha J v - beta^2 Phi ]

    Source: [Baumgarte1972]; the standard textbook form, [GarciaDeJalonBayo1994] chapter 5. The constraints are
    imposed at acceleration level; Baumgarte's terms damp violations at the other two levels at the rate alpha (for
    beta = alpha).

    Options: alpha, beta: rates of stabilisation [1/s], at most 0.5 / h.
    """
    model = problem.model
    alpha, beta = (float(problem.options[name]) for name in ("alpha", "beta"))
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    form, notes = soften(model.form, ws)
    # a larger eps has to be refined away; otherwise the pivots decide
    refinements = SOFT_REFINEMENTS if notes else -1
    _, h = divide(problem)
    used_alpha, used_beta = min(alpha, FASTEST / h), min(beta, FASTEST / h)
    if used_alpha < alpha or used_beta < beta:
        notes.append(
            f"alpha, beta = {alpha:g}, {beta:g} 1/s are too fast for a step of {h:g} s; "
            f"{used_alpha:g}, {used_beta:g} 1/s were used"
        )
    lam, k = np.zeros(model.equations), np.zeros((2, 3, model.coordinates))
    damping, stiffness = 2.0 * used_alpha, used_beta**2

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return stepping.advance_runge_kutta(
            form, ws, loads, h, damping, stiffness, refinements, fresh, lam, k, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=notes)


PENALTY_OPTIONS = {"penalty": 1e7, "omega": 10.0, "xi": 1.0}


def run_penalty(problem: Run) -> Outcome:
    """Bayo's penalty formulation, fourth-order Runge-Kutta.

        (M + penalty J^T J) a = Q - penalty J^T (J' v + 2 xi omega J v + omega^2 Phi)

    Source: [BayoGarciaDeJalonSerna1988]. The method needs no multipliers and no rank decision: the matrix is
    definite in every configuration. The constraints are soft by 1/penalty, and violations decay like an oscillator
    of frequency omega and damping xi. The source solves with M + penalty J^T J; here it is the Schur complement of
    K = [M J^T; J -eps] with eps = 1/penalty, which gives the same solution with better conditioning.

    Options: penalty: in units of a typical mass; omega [1/s] and xi: frequency and damping of violations.
    """
    model = problem.model
    penalty, omega, xi = (float(problem.options[name]) for name in ("penalty", "omega", "xi"))
    if not penalty > 0:
        raise ValueError(f"penalty = {penalty:g}; give a positive number, 1e5 to 1e9 is usual")
    form = as_penalty(model.form, penalty)
    ws, loads = make_workspace(form, 0), make_loads(model.loads, 0)
    _, h = divide(problem)
    lam, k = np.zeros(model.equations), np.zeros((2, 3, model.coordinates))
    damping, stiffness = 2.0 * xi * omega, omega**2

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return stepping.advance_runge_kutta(
            form, ws, loads, h, damping, stiffness, 0, fresh, lam, k, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=[])


NULL_SPACE_OPTIONS = {"project": 1.0}


def run_null_space(problem: Run) -> Outcome:
    """Velocity transformation: independent velocities and the null space of J, Runge-Kutta 4.

        v = R^T z,     J R^T = 0
        (R M R^T) y = R Q,     a = R^T y + c,     J c = -J' v,     z' = a of the chosen coordinates

    Source: [GarciaDeJalonBayo1994] chapter 5 (matrix R; its columns are rows here). The basis is obtained by
    projection in the mass metric: R of the last evaluation is projected onto the null space of J with the matrix
    K, so that c is orthogonal to it and drops out of the equation for y. The coordinates whose velocities are z
    are chosen by full pivoting, and again when entries of R grow. The number of degrees of freedom is determined
    once, at the start. Velocities satisfy the constraints exactly; coordinates are projected by Newton's method
    after each step (option project = 1) or drift (project = 0).

    Options: project: 1 to project onto the constraints after each step, 0 to allow drift.
    """
    model, project = problem.model, problem.options["project"]
    if project not in (0, 1):
        raise ValueError(f"project = {project:g}; give 1 or 0")
    nq = model.coordinates
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    form, notes = soften(model.form, ws)
    refinements = SOFT_REFINEMENTS if notes else -1
    rows, dof = 8, -1
    while dof < 0:
        basis = np.zeros((rows, nq))
        dof, kept, rest = null_space.find_basis(form, ws, 2, np.zeros(nq), basis)
        rows *= 2
    if dof == 0:
        return skipped(
            model,
            "no velocity is independent at the start: the joints allow no motion "
            f"(the largest remainder of a trial velocity is {rest:.0e})",
        )
    word = "velocity is" if dof == 1 else "velocities are"
    notes.append(
        f"{dof} {word} independent at the start, and assumed to be so throughout (smallest remainder "
        f"accepted {kept:.1e}, rejected {rest:.0e})"
    )
    R = np.ascontiguousarray(basis[:dof])
    room = null_space.Basis(
        chosen=np.zeros(dof, np.int64), R=R,
        G=np.zeros((dof, dof)), y=np.zeros((dof, 1)), choice=np.zeros_like(R),
        z=np.zeros((2, dof)), k=np.zeros((2, 3, nq)),
    )  # fmt: skip
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return null_space.advance(
            form, ws, loads, h, refinements, bool(project), fresh, room, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=notes)


ALI3_OPTIONS = {"penalty": 1e11, "newton_tolerance": 1e-10}


def run_ali3(problem: Run) -> Outcome:
    """Index-3 augmented Lagrangian with mass-orthogonal projections, trapezoidal rule.

        M q'' + J^T (lam + penalty Phi) = Q,     lam <- lam + penalty Phi     (in each Newton iteration)
        v_{n+1} = 2/h (q_{n+1} - q_n) - v_n,     a_{n+1} = 4/h^2 (q_{n+1} - q_n) - 4/h v_n - a_n

    and after the step, with W = M + h^2/4 penalty J^T J,

        W v = M v*,     W a = M a* - h^2/4 penalty J^T J' v

    Source: [BayoLedesma1996], [CuadradoCardenalMorerBayo2000]. The sources solve with W itself; here W is the
    Schur complement of K = [M J^T; J -eps] with eps = 4 / (h^2 penalty), which gives the same solution with better
    conditioning. The multiplier grows by penalty (Phi + J dq), which is penalty Phi of the next iterate up to
    second order. The tangent matrix omits the derivative of J^T lam.

    Options: penalty: in model units (typical mass, s); newton_tolerance: largest last correction, in units of a
    typical link.
    """
    model, penalty = problem.model, problem.options["penalty"]
    tolerance = float(problem.options["newton_tolerance"])
    if not penalty > 0:
        raise ValueError(f"penalty = {penalty:g}; give a positive number, 1e7 to 1e12 is usual")
    ws = make_workspace(model.form, 0)
    # only the initial accelerations are solved without the penalty
    exact, _ = soften(model.form, ws)
    _, h = divide(problem)
    form = as_penalty(model.form, 0.25 * h * h * penalty)
    J, mu = np.zeros_like(ws.J), np.zeros(model.equations)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return implicit.advance_ali3(form, exact, ws, J, h, tolerance, fresh, mu, store, counters)

    return run_fixed(problem, advance, order=2, notes=[])


GENERALIZED_ALPHA_OPTIONS = {"spectral_radius": 0.8, "index": 3.0}
# corrections below this, in units of a typical link, end the iteration
ALPHA_TOLERANCE = 1e-15


def run_generalized_alpha(problem: Run) -> Outcome:
    """Generalized-alpha method for constrained systems, of index 3 or stabilised index 2.

        (1 - alpha_m) a_{n+1} + alpha_m a_n = (1 - alpha_f) q''_{n+1} + alpha_f q''_n
        q_{n+1} = q_n + h v_n + h^2 (1/2 - beta) a_n + h^2 beta a_{n+1}
        v_{n+1} = v_n + h (1 - gamma) a_n + h gamma a_{n+1}
        M q''_{n+1} + J(q_{n+1})^T lam_{n+1} = Q

    index 3 [ArnoldBruls2007]: Phi(q_{n+1}) = 0. index 2, after [GearLeimkuhlerGupta1985] and
    [ArnoldBrulsCardona2015]: J v_{n+1} = 0 instead, and the coordinates get an additional multiplier eta. With q*
    for the right side of the second line,

        M (q_{n+1} - q*) + J(q_{n+1})^T eta = 0,     Phi(q_{n+1}) = 0

    written here in the mass metric, with J at the end of the step. With the spectral radius r

        alpha_m = (2 r - 1) / (r + 1),  alpha_f = r / (r + 1)
        gamma = 1/2 + alpha_f - alpha_m,  beta = (gamma + 1/2)^2 / 4,  a_0 = q''_0

    Each step is solved to round-off by Newton's method without the derivative of J^T lam.

    Options: spectral_radius: of the fastest oscillations, 0 (damped out at once) to 1 (undamped); index: 3 or 2.
    """
    model, index = problem.model, problem.options["index"]
    spectral_radius = problem.options["spectral_radius"]
    if index not in (2, 3):
        raise ValueError(f"index = {index:g}; give 3, or 2 for the stabilised form")
    if not 0.0 <= spectral_radius <= 1.0:
        raise ValueError(f"spectral_radius = {spectral_radius:g}; give a number from 0 to 1")
    r = float(spectral_radius)
    alpha_m, alpha_f = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    alpha = implicit.Alpha(int(index), alpha_m, alpha_f, beta, gamma)
    ws = make_workspace(model.form, 0)
    form, notes = soften(model.form, ws)
    J, mu, auxiliary = np.zeros_like(ws.J), np.zeros(model.equations), np.zeros(model.coordinates)
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return implicit.advance_generalized_alpha(
            form, ws, J, h, alpha, ALPHA_TOLERANCE, fresh, mu, auxiliary, store, counters
        )

    return run_fixed(problem, advance, order=2, notes=notes)


def run_energy_momentum(problem: Run) -> Outcome:
    """Energy-momentum method: midpoint forces, constraints at the end of the step.

        M (v_{n+1} - v_n) / h = Q - J((q_n + q_{n+1})/2)^T lam
        (q_{n+1} - q_n) / h   = (v_n + v_{n+1}) / 2
        Phi(q_{n+1})          = 0

    Source: [Gonzalez1999] (constrained systems by discrete derivatives), [BetschSteinmann2002] (finite elements in
    time). For a quadratic Phi the Jacobian J at the midpoint is the exact discrete gradient, Phi(q_{n+1}) -
    Phi(q_n) = J (q_{n+1} - q_n): constraint forces do no work, and with constant forces the energy is conserved to
    round-off at any step. Each step is solved to round-off by Newton's method without the derivative of J^T lam.
    """
    model = problem.model
    ws = make_workspace(model.form, 0)
    form, notes = soften(model.form, ws)
    U = np.zeros_like(ws.L)
    J_start, J_middle, J_end = (np.zeros_like(ws.J) for _ in range(3))
    mu = np.zeros(model.equations)
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return implicit.advance_energy_momentum(
            form, ws, U, J_start, J_middle, J_end, h, fresh, mu, store, counters
        )

    return run_fixed(problem, advance, order=2, notes=notes, complete=False)
