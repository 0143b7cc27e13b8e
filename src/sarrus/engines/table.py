"""The table of engines: capabilities, settings, and the step sizes that a benchmark tries, with reasons."""

from __future__ import annotations

from .engine import (
    BALL_DAMPERS,
    BALLS,
    COUPLINGS,
    DRIVES,
    FORCES,
    LOOPS,
    REDUNDANT,
    ROTORS,
    SPRINGS,
    TORSIONS,
    Engine,
    Trial,
)

# The fewest are for mechanisms that turn slowly and are nowhere singular, as Bricard's.
COARSE = (100, 150, 200, 400, 800, 1200, 2000, 3000, 4000)
FINE = (*COARSE, 8000, 20_000, 40_000, 80_000)
# The fewest steps with which MuJoCo passes a singular configuration lie between these.
FINER = tuple(sorted({*FINE, 2400, 2700}))
CUT = "which joints close loops: last (those defined last) or inside (away from the ground)"
TREE = frozenset({LOOPS, REDUNDANT, BALLS, FORCES, SPRINGS, TORSIONS})

MUJOCO = Engine(
    "mujoco",
    "MuJoCo",
    "mujoco",
    "mujoco",
    TREE | {BALL_DAMPERS, ROTORS, COUPLINGS},
    4,
    {
        "integrator": "RK4",
        "cut": "last",
        "time_constant": 2.0,
        "damping_ratio": 1.0,
        "impedance": 0.9999,
        "solver": "Newton",
        "iterations": 100.0,
        "tolerance": 1e-8,
        "jacobian": "auto",
    },
    {
        "cut": CUT,
        "integrator": "RK4, Euler, implicit, implicitfast or discrete",
        "time_constant": "of the closures, in steps (solref[0])",
        "damping_ratio": "of the closures (solref[1])",
        "impedance": "of the closures (solimp); MuJoCo clamps it at 0.9999",
        "solver": "Newton, CG or PGS",
        "iterations": "largest number of iterations of the solver",
        "tolerance": "of the solver",
        "jacobian": "dense, sparse or auto",
    },
    tuple(
        Trial({"integrator": integrator, "time_constant": c, "damping_ratio": d}, FINER, why)
        for integrator, c, d, why in (
            ("RK4", 2.0, 1.0, "fourth order, the stiffest closures MuJoCo allows"),
            ("RK4", 4.0, 1.0, "twice as soft"),
            (
                "RK4",
                3.0,
                0.7,
                "less damping: closures follow a singular configuration more quickly",
            ),
            ("RK4", 4.0, 0.5, "the same, softer"),
            (
                "RK4",
                3.0,
                0.2,
                "hardly any damping: damping disturbs the motion through singular configurations most",
            ),
            ("RK4", 4.0, 0.1, "the same, softer"),
            ("discrete", 2.0, 1.0, "first order, with the least work per step"),
            ("discrete", 3.0, 0.2, "the same with hardly any damping of the closures"),
            ("implicitfast", 2.0, 1.0, "first order, implicit in velocities: the usual choice"),
        )
    ),
    "Loops are closed by soft equality constraints: redundant constraints are regularised and accepted; closures "
    "yield according to impedance and time constant.",
    loop_order=2,
)

PINOCCHIO = Engine(
    "pinocchio",
    "Pinocchio",
    "pin",
    "pinocchio",
    TREE | {BALL_DAMPERS, ROTORS},
    4,
    {"cut": "last", "mu": 1e-8, "iterations": 10.0, "accuracy": 1e-14, "baumgarte": 0.2},
    {
        "cut": CUT,
        "mu": "of the proximal solver: regularises dependent closures",
        "iterations": "largest number of iterations of the proximal solver, which remove the effect of mu",
        "accuracy": "residual at which the iteration stops",
        "baumgarte": "rate of Baumgarte's terms, in 1/step",
    },
    tuple(
        Trial({"mu": mu, "iterations": n, "baumgarte": b}, COARSE, why)
        for mu, n, b, why in (
            (1e-12, 1.0, 0.5, "one iteration and a tiny mu: least work per step, fragile"),
            (1e-8, 1.0, 0.5, "one iteration, a larger mu"),
            (1e-6, 1.0, 0.1, "for closures that are redundant in every configuration"),
            (1e-6, 1.0, 0.5, "the same, with faster correction of violations"),
            (1e-8, 10.0, 0.2, "iterated, which removes the effect of mu: the dependable choice"),
            (1e-10, 10.0, 0.2, "the same with a smaller mu, for many loops"),
            (1e-8, 10.0, 0.5, "the same, with faster correction of violations"),
        )
    ),
    "Loops are point constraints in a proximal solver: mu regularises dependent ones, and iterations remove its "
    "effect. It has no integrator; the adapter implements Runge-Kutta 4 in Python.",
    loop_order=2,
)

EXUDYN = Engine(
    "exudyn",
    "Exudyn",
    "exudyn",
    "exudyn",
    frozenset({LOOPS, REDUNDANT, BALLS, BALL_DAMPERS, FORCES, SPRINGS}),
    2,
    {
        "spectral_radius": 0.9,
        "index": 3.0,
        "tolerance": 1e-8,
        "modified_newton": 1.0,
        "linear_solver": "EigenDense",
    },
    {
        "spectral_radius": "of generalized-alpha: below 1 it damps motions that no step resolves",
        "index": "3: constraints on positions; 2: on velocities, by the trapezoidal rule",
        "tolerance": "of its Newton iteration, relative and absolute",
        "modified_newton": (
            "1: the Jacobian is reused while the iteration converges; 0: it is computed in "
            "each iteration"
        ),
        "linear_solver": "EigenDense (with pivots), EXUdense or EigenSparse",
    },
    tuple(
        Trial({"spectral_radius": r, "tolerance": tolerance, "linear_solver": solver}, FINE, why)
        for r, tolerance, solver, why in (
            (
                0.9,
                1e-6,
                "EXUdense",
                "its usual dense solver, a loose iteration: least work per step",
            ),
            (0.9, 1e-6, "EigenDense", "pivots, for closures that depend on each other"),
            (0.9, 1e-8, "EigenDense", "the same with a tighter iteration"),
            (0.9, 1e-6, "EigenSparse", "for many bodies"),
            (0.6, 1e-6, "EXUdense", "more damping"),
            (0.95, 1e-6, "EigenDense", "less damping: conserves energy better"),
        )
    ),
    "Maximal coordinates, every joint an equation of index 3. Dependent equations make its matrix singular: only "
    "EigenDense with ignoreSingularJacobian works.",
    cut="none",
    loop_order=2,
)

OPENSIM = Engine(
    "opensim",
    "OpenSim",
    "opensim",
    "opensim",
    TREE | {COUPLINGS, DRIVES},
    4,
    {
        "cut": "last",
        "integrator": "RungeKuttaMerson",
        "fixed": 1.0,
        "accuracy": 1e-5,
        "constraint_tolerance": 1e-8,
    },
    {
        "cut": CUT,
        "integrator": "RungeKuttaMerson, RungeKutta3, RungeKuttaFeldberg, CPodes, Verlet or SemiExplicitEuler2",
        "fixed": "1: steps of fixed length; 0: steps chosen by its error control",
        "accuracy": "of its error control",
        "constraint_tolerance": "of the projection of states onto the closures",
    },
    (
        Trial(
            {"integrator": "RungeKuttaMerson"},
            COARSE,
            "fixed steps pass over singular configurations",
        ),
        Trial({"integrator": "RungeKutta3"}, COARSE, "fewer stages per step"),
        Trial({"integrator": "RungeKuttaFeldberg"}, COARSE, "six stages per step, order 5"),
        Trial(
            {"integrator": "RungeKuttaMerson", "constraint_tolerance": 1e-4},
            COARSE,
            "projections that end sooner",
        ),
        Trial(
            {"integrator": "RungeKuttaMerson", "cut": "inside"},
            COARSE,
            "loops cut away from the ground",
        ),
        *(
            Trial(
                {"integrator": "CPodes", "fixed": 0.0, "accuracy": accuracy},
                (200,),
                "its implicit multistep method with its own projection; the step sets only the outputs",
            )
            for accuracy in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
        ),
        Trial(
            {"integrator": "RungeKuttaMerson", "fixed": 0.0, "accuracy": 1e-5},
            (200,),
            "its default integrator with error control",
        ),
    ),
    "Simbody solves for accelerations by least squares and projects states onto the closures: redundant "
    "constraints "
    "are accepted, and the rank is decided at every evaluation.",
    loop_order=4,
)

MANY = (1000, 2000, 4000, 5000, 8000, 10_000, 20_000, 50_000)

DRAKE = Engine(
    "drake",
    "Drake",
    "drake",
    "pydrake",
    frozenset({LOOPS, REDUNDANT, BALLS, BALL_DAMPERS, SPRINGS}),
    3,
    {
        "loops": "sap",
        "integrator": "runge_kutta3",
        "accuracy": 0.0,
        "stiffness": 1e6,
        "damping": 1e3,
        "cut": "inside",
    },
    {
        "loops": "sap: discrete, exact ball constraints, first order; bushings: continuous, stiff springs",
        "integrator": "of the continuous form: runge_kutta2, runge_kutta3, runge_kutta5, ...",
        "accuracy": "of the error control, in the continuous form; 0: steps of fixed length",
        "stiffness": "of the bushings [N/m]",
        "damping": "of the bushings [N s/m]",
        "cut": CUT + "; a ball constraint with the world crashes it",
    },
    (
        Trial({"loops": "sap"}, MANY, "exact closures, first order"),
        Trial(
            {"loops": "bushings", "stiffness": 3e5, "damping": 3e2},
            MANY,
            "bushings soft enough for fixed steps",
        ),
        *(
            Trial(
                {"loops": "bushings", "stiffness": k, "damping": k / 1e3, "accuracy": accuracy},
                (1000,),
                "stiff bushings, steps chosen by their accuracy",
            )
            for k in (3e5, 1e6)
            for accuracy in (1e-3, 1e-4, 1e-5)
        ),
    ),
    "Continuous plants have no closures; bushings replace them. The discrete SAP solver closes loops exactly and "
    "regularises redundant constraints, at first order.",
    cut="inside",
)

DART = Engine(
    "dart",
    "DART",
    "dartpy",
    "dartpy",
    frozenset({LOOPS, REDUNDANT, BALLS, BALL_DAMPERS}),
    1,
    {"cut": "last", "error_reduction": 0.01, "force_mixing": 1e-9},
    {
        "cut": CUT,
        "error_reduction": "fraction of a gap that is corrected in one step",
        "force_mixing": "softness of the closures: regularises dependent ones",
    },
    (
        Trial({}, MANY, "it has one integrator, semi-implicit Euler; only the step can be chosen"),
        Trial({"error_reduction": 0.2}, MANY, "gaps are corrected faster"),
    ),
    "Loops are constraints in its impulse solver; force mixing regularises dependent ones. First order.",
)

PYBULLET = Engine(
    "pybullet",
    "PyBullet",
    "pybullet",
    "pybullet",
    frozenset({LOOPS, REDUNDANT, BALLS}),
    1,
    {"cut": "last", "iterations": 50.0, "error_reduction": 0.2},
    {
        "cut": CUT,
        "iterations": "of its solver, per step",
        "error_reduction": "fraction of a gap that is corrected in one step",
    },
    (
        Trial({"iterations": 50.0}, MANY, "its usual iterations"),
        Trial({"iterations": 20.0}, MANY, "fewer iterations: less work per step"),
        Trial({"iterations": 200.0}, MANY[:6], "more iterations, for many closures"),
        Trial(
            {"iterations": 500.0},
            MANY[:4],
            "for loops with universal joints and for chains of loops",
        ),
    ),
    "Loops are constraints in an iterative impulse solver: redundant constraints need more iterations, "
    "but cause no error. "
    "First order.",
    # In loops with universal joints, 50 iterations leave some millimetres at steps of 1 ms; 500 do not.
    floor=1e-2,
)

SYMPY = Engine(
    "sympy",
    "SymPy",
    "sympy",
    "sympy",
    TREE | {BALL_DAMPERS, ROTORS, COUPLINGS, DRIVES},
    4,
    {"cut": "last", "baumgarte": 0.2, "least_squares": 1.0, "rank_tolerance": 1e-10},
    {
        "cut": CUT,
        "baumgarte": "rate of Baumgarte's terms, in 1/step",
        "least_squares": "1: for equations that depend on each other; 0: a plain solve, faster",
        "rank_tolerance": "of least squares: smaller singular values, relative to the largest, count as zero",
    },
    tuple(
        Trial(
            {"baumgarte": b, "least_squares": solve}, (50, 100, 150, 200, 300, 400, 500, 1000), why
        )
        for b, solve, why in (
            (0.2, 0.0, "a plain solve, if no closure is redundant in every configuration"),
            (0.5, 0.0, "the same, with faster correction of violations"),
            (0.2, 1.0, "least squares, for redundant closures"),
            (0.5, 1.0, "the same, with faster correction of violations"),
        )
    ),
    "Lagrange's equations with multipliers, derived symbolically and evaluated by NumPy: redundant "
    "constraints make "
    "the matrix singular, so least squares are used for them.",
    loop_order=2,
)

CASADI = Engine(
    "casadi",
    "CasADi with IDAS",
    "casadi",
    "casadi",
    TREE | {BALL_DAMPERS, ROTORS, COUPLINGS},
    2,
    {"cut": "inside", "tolerance": 1e-8, "baumgarte": 10.0},
    {
        "cut": CUT,
        "tolerance": "of IDAS, relative and absolute",
        "baumgarte": "rate of Baumgarte's terms [1/s]",
    },
    tuple(
        Trial(
            {"tolerance": tolerance, "baumgarte": b},
            (200,),
            "only its tolerance controls it; the step sets only the outputs",
        )
        for b in (1.0, 10.0)
        for tolerance in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10)
    ),
    "An index-1 DAE for IDAS, which needs a regular matrix: it rejects redundant closures and stops at singular "
    "configurations.",
    loop_order=2,
    floor=1e-6,
)

NEWTON = Engine(
    "newton",
    "Newton",
    "newton",
    "newton",
    frozenset({LOOPS, REDUNDANT, BALLS}),
    1,
    {"iterations": 20.0, "relaxation": 0.4},
    {
        "iterations": "of its solver, per step",
        "relaxation": "fraction of a gap that is corrected in one iteration",
    },
    (
        Trial(
            {"iterations": 20.0},
            MANY[:6],
            "some iterations; with a relaxation of 0.7 loops diverge",
        ),
        Trial({"iterations": 60.0}, MANY[:4], "many, so that loops close more accurately"),
    ),
    "Every joint is closed by iterations on positions (XPBD), in single precision: redundant constraints "
    "need more "
    "iterations, but cause no error; energy is lost. First order.",
    cut="none",
    # Single precision: positions are accurate to some 1e-3 after a thousand steps.
    floor=5e-3,
)

ENGINES: dict[str, Engine] = {
    engine.id: engine
    for engine in (
        MUJOCO,
        PINOCCHIO,
        EXUDYN,
        OPENSIM,
        DRAKE,
        DART,
        PYBULLET,
        SYMPY,
        CASADI,
        NEWTON,
    )
}
