"""The recorder of all methods: samples states from the polynomials of steps and derives quantities from them.

angles    of the torsion springs, unwrapped beyond a full turn
work      of non-conservative loads and of drives: a series of the step, or the integral of the power
a         the method's accelerations; or M a + J^T lam = Q, J a = phi0'' - J' v
energies  1/2 v^T M v;      -Q^T q and that of springs and torsion springs
norms     of Phi, Phi', Phi''
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import (
    EPS,
    LEFT_ROUND_OFF,
    PERMANENT_PIVOT,
    ROUND_OFF,
    SINGULAR_STEP_END,
    WEAK_PIVOT,
)
from .applied_forces import Loads, eval_load_energy, eval_load_forms, eval_load_power, eval_loads
from .compiler import COMPILES, cold, entry, kernel, noinline
from .elements.drive import (
    drive_constraints,
    eval_drive_forces,
    eval_drive_power,
    eval_driven_sides,
    eval_drives,
    replace_sides,
    subtract_drives,
    subtract_side_rates,
)
from .elements.torsion import follow_angle
from .forms import (
    add_constraint_rates,
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_energy,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
    largest_entry,
    norm,
)
from .layout import Form, make_room
from .polynomials import eval_piece, eval_polynomial_rate, eval_series
from .simd import WIDTH, any_lane, choose, in_lanes
from .solve import (
    add_to_velocity,
    eval_velocity_gap,
    factorise,
    project_state,
    refine,
    relative_pivot,
    set_gaps,
    solve_once,
)
from .stepping import accelerate

# Source of the acceleration at an output: not computed yet, the method, or the polynomial near a singular
# configuration.
UNKNOWN, OWN, POLYNOMIAL = 0, 1, 2


class Sampling(NamedTuple):
    """How the polynomials of a method are sampled.

    projects: outputs are projected onto the constraints. own: the polynomials contain the method's accelerations.
    same: outputs this close to the start of a step, in steps, equal that start. damping, corrections: of
    projections, as in `project_state`. limit, near: a projection that moves by more than `limit`, or at a pivot
    smaller than `near` times its reference value, would divide rounding errors by a vanishing pivot; the
    polynomial is then recorded without projection. nodes, weights: Gauss quadrature for the work, on -1 .. 1.
    same_factor: if the projection moves the configuration by no more than this, the previous factor is used for
    the velocity.
    """

    projects: bool
    own: bool
    same: float
    damping: float
    corrections: int
    limit: float
    near: float
    nodes: Floats
    weights: Floats
    same_factor: float = 0.0


class LaneWorkspace(NamedTuple):
    """Memory for the projection of several outputs in SIMD lanes: like a `Workspace`, with the lanes as last axis.

    J_after: J at the projected configurations. x_rough: a solution before it is refined. t, s: times, and times
    since the start of the step. driven: right-hand sides of drives and their derivatives. moved: how far the lanes
    were moved, and whether the projection was sufficient.
    """

    e: Floats
    de: Floats
    phi: Floats
    J: Floats
    J_after: Floats
    L: Floats
    b: Floats
    r: Floats
    x: Floats
    x_rough: Floats
    q: Floats
    v: Floats
    t: Floats
    s: Floats
    driven: Floats
    moved: Floats


def uses_lanes(sampling: Sampling) -> bool:
    """Whether outputs may be projected in SIMD lanes: not with damping."""
    if not COMPILES or not sampling.projects or sampling.damping:
        return False
    return bool(sampling.same_factor) and sampling.limit == np.inf and not sampling.own


def make_lane_workspace(form: Form, loads: Loads | None) -> LaneWorkspace:
    """Memory of the lanes."""
    driven = 0 if loads is None else len(loads.drives.equations)
    nq, nc, nf, nj = len(form.Q), len(form.phi0), len(form.e0), len(form.J_eq)
    n = nq + nc
    sizes = nf, nf, nc, nj, nj, n + len(form.L_row), n, n, n, n, nq, nq, 1, 1
    before = [(size, WIDTH) for size in sizes]
    return LaneWorkspace(*make_room(*before, (3, driven, WIDTH), (2, WIDTH)))


def make_side(form: Form, sampling: Sampling, loads: Loads | None) -> LaneWorkspace | None:
    """Memory of the lanes; None if outputs have to be projected one by one."""
    return make_lane_workspace(form, loads) if uses_lanes(sampling) else None


class Outputs(NamedTuple):
    """States at some times, one row per time. kept: source of a (see above)."""

    times: Floats
    q: Floats
    v: Floats
    a: Floats
    kept: Ints
    angles: Floats
    work: Floats


@kernel
def settle_angles(loads, q):
    """loads.theta: angles of the torsion springs at q, nearest to the previous ones; loads.f: forms there."""
    eval_load_forms(loads, q)
    for n in range(len(loads.torsions.first)):
        follow_angle(loads.torsions, n, loads.f, loads.theta)


@kernel
def start_angles(loads, angles):
    """Set loads.theta."""
    for i in range(len(angles)):
        loads.theta[i] = angles[i]


@noinline
def eval_power(form, ws, loads, t, q, v):
    """Power of non-conservative loads and of drives at a state."""
    eval_loads(form, loads, t, q, v, ws.Q)
    power = eval_load_power(loads)
    if loads is not None and len(loads.drives.equations):
        accelerate(form, ws, loads, t, 0.0, 0.0, -1, q, v, ws.dq, ws.lam[0])
        power += eval_drive_power(loads, ws.lam[0])
    return power


@noinline
def integrate_power(form, ws, loads, sampling, pieces, n, part):
    """Work over the first `part` [s] of a step; loads.theta follows the motion."""
    work = 0.0
    for m in range(len(sampling.nodes)):
        s = 0.5 * part * (1.0 + sampling.nodes[m])
        eval_piece(pieces.coefficients[n], pieces.orders[n], s, ws.q, ws.v)
        power = eval_power(form, ws, loads, pieces.starts[n] + s, ws.q, ws.v)
        work += 0.5 * part * sampling.weights[m] * power
    return work


@entry
def fill_sides(form, ws, loads, sampling, pieces, carried):
    """Angles and work at the start of each step, by integration through all steps.

    carried: both at the start of the first step, updated to the end of the last. Outputs:
    pieces.angle_and_work_series, one term each.
    """
    na = len(carried) - 1
    start_angles(loads, carried[:na])
    for n in range(len(pieces.orders)):
        for i in range(na):
            pieces.angle_and_work_series[n, i, 0] = loads.theta[i]
        pieces.angle_and_work_series[n, na, 0] = carried[na]
        if n + 1 < len(pieces.starts):
            h = pieces.starts[n + 1] - pieces.starts[n]
            carried[na] += integrate_power(form, ws, loads, sampling, pieces, n, h)
            if na:
                eval_piece(pieces.coefficients[n], pieces.orders[n], h, ws.q, ws.v)
                settle_angles(loads, ws.q)
    for i in range(na):
        carried[i] = loads.theta[i]


@kernel
def eval_sides(form, ws, loads, sampling, pieces, n, s):
    """Work at time s after the start of a step; loads.theta: angles near those there."""
    na = len(loads.theta)
    angle_and_work_series = pieces.angle_and_work_series[n]
    last = angle_and_work_series.shape[1] - 1
    for i in range(na):
        loads.theta[i] = eval_series(angle_and_work_series[i], last, s)
    work = eval_series(angle_and_work_series[na], last, s)
    if last == 0 and s > 0.0:
        work += integrate_power(form, ws, loads, sampling, pieces, n, s)
    return work


@kernel
def find_share(sampling, starts, n, t):
    """Time since the start of a step."""
    h = starts[n + 1] - starts[n] if n + 1 < len(starts) else 0.0
    s = t - starts[n]
    if s <= sampling.same * h or (h == 0.0 and sampling.same > 0.0):
        s = 0.0
    return s


@kernel
def sample_state(form, ws, loads, sampling, qc, order, s, t, h):
    """ws.q, ws.v: the state at t, s after the start of a step of length h; returns the source of a."""
    eval_piece(qc, order, s, ws.q, ws.v)
    kept = OWN if sampling.own else UNKNOWN
    if sampling.projects:
        moved, turned, _, pivot_ratio = project_state(
            form, ws, loads, t, sampling.damping, sampling.corrections, 0.0, sampling.same_factor, ws.q, ws.v
        )  # fmt: skip
        # Written so that nan is rejected too.
        if pivot_ratio < sampling.near or not max(moved, h * turned) <= sampling.limit:
            eval_piece(qc, order, s, ws.q, ws.v)
            kept = POLYNOMIAL
    return kept


@cold
def sample_alone(form, ws, loads, sampling, pieces, n, k, out):
    """Configuration and velocity of output k in step n."""
    qc, order = pieces.coefficients[n], pieces.orders[n]
    s = find_share(sampling, pieces.starts, n, out.times[k])
    h = pieces.starts[n + 1] - pieces.starts[n] if n + 1 < len(pieces.starts) else 0.0
    kept = sample_state(form, ws, loads, sampling, qc, order, s, out.times[k], h)
    if kept != UNKNOWN:
        eval_polynomial_rate(qc, order, s, out.a[k])
    out.kept[k] = kept
    for i in range(len(ws.q)):
        out.q[k, i] = ws.q[i]
        out.v[k, i] = ws.v[i]


@kernel
def eval_lane_constraints(form, ws, loads):
    """ws.phi: Phi in all lanes; returns its largest entries."""
    left = eval_constraints(form, ws.e, ws.phi)
    if loads is not None:
        left = replace_sides(form, loads.drives, ws.driven, ws.phi)
    return left


@kernel
def eval_lane_velocity_gap(form, ws, loads):
    """ws.phi: the violation of J v = phi0' in all lanes; returns its largest entries."""
    gap = eval_velocity_gap(form, ws, None, ws.v)
    if loads is not None:
        subtract_side_rates(loads.drives, ws.driven, 1, ws.phi)
        gap = largest_entry(ws.phi)
    return gap


@noinline
def project_lanes(form, side, loads, reference_pivots, near, corrections, same):
    """Project configurations and velocities onto the constraints as `project_state` does, for all lanes.

    side: memory of the lanes, which are within one step, where motions of drives have no breaks. Its last rows
    contain how far each lane was moved, and a margin of its smallest pivot ratio; below 0 if the lane needs a more
    careful projection.
    """
    ws = in_lanes(side)
    if loads is not None:
        eval_driven_sides(loads.drives, side.t[0, 0], ws.t[0], ws.driven)
    eval_forms(form, ws.q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    left = eval_lane_constraints(form, ws, loads)
    active = left > ROUND_OFF
    moved = 0.0
    for _ in range(corrections):
        if not any_lane(active):
            break
        set_gaps(form, ws.phi, ws.x)
        solve_once(form, ws.J, ws.L, ws.x)
        largest = 0.0
        for i in range(len(ws.q)):
            x = choose(active, ws.x[form.pos_q[i]], 0.0)
            ws.q[i] += x
            largest = max(largest, abs(x))
        eval_forms(form, ws.q, ws.e)
        now = eval_lane_constraints(form, ws, loads)
        moved += largest
        better = now < left
        left = choose(active & better, now, left)
        final = choose(moved * largest <= ROUND_OFF, LEFT_ROUND_OFF, ROUND_OFF)
        active = active & better & (now > final)
    gap = eval_lane_velocity_gap(form, ws, loads)
    far = (moved > same) | (moved * gap > ROUND_OFF)
    if any_lane(far):
        # The other lanes keep J, so that their factor is the same again.
        eval_jacobian(form, ws.e, ws.J_after)
        for k in range(len(ws.J)):
            ws.J[k] = choose(far, ws.J_after[k], ws.J[k])
        factorise(form, ws.J, ws.L)
    smallest = 1.0
    pivot_ratio = 1.0
    for k in range(len(reference_pivots)):
        pivot = relative_pivot(form, ws.L, k)
        if reference_pivots[k] > PERMANENT_PIVOT:
            smallest = min(smallest, pivot)
            pivot_ratio = min(pivot_ratio, pivot / reference_pivots[k])
    set_gaps(form, ws.phi, ws.x)
    solve_once(form, ws.J, ws.L, ws.x)
    rough = ROUND_OFF / max(gap, ROUND_OFF) * smallest < EPS
    if any_lane(rough):
        set_gaps(form, ws.phi, ws.b)
        for i in range(len(ws.x)):
            ws.x_rough[i] = ws.x[i]
        refine(form, ws.J, ws.L, ws.b, ws.r, ws.x)
        for i in range(len(ws.x)):
            ws.x[i] = choose(rough, ws.x[i], ws.x_rough[i])
    turned = add_to_velocity(form, ws, ws.v)
    # Margin of this projection: negative if a lane needs more refinements, or has exchanged pivots.
    care = min(pivot_ratio - near, smallest - WEAK_PIVOT)
    ws.moved[0] = max(moved, turned)
    ws.moved[1] = care


@kernel
def sample_lanes(form, ws, loads, side, sampling, pieces, n, k, count, out):
    """Configuration and velocity of outputs k .. k + count - 1 in step n: in lanes, difficult ones separately."""
    wide = in_lanes(side)
    for lane in range(WIDTH):
        t = out.times[k + min(lane, count - 1)]
        side.t[0, lane] = t
        side.s[0, lane] = find_share(sampling, pieces.starts, n, t)
    eval_piece(pieces.coefficients[n], pieces.orders[n], wide.s[0], wide.q, wide.v)
    near = max(sampling.near, SINGULAR_STEP_END)
    project_lanes(
        form, side, loads, ws.reference_pivots, near, sampling.corrections, sampling.same_factor
    )
    for lane in range(count):
        # Written so that nan is handled too.
        if side.moved[1, lane] > 0.0 and side.moved[0, lane] < np.inf:
            for i in range(len(ws.q)):
                out.q[k + lane, i] = side.q[i, lane]
                out.v[k + lane, i] = side.v[i, lane]
            out.kept[k + lane] = UNKNOWN
        else:
            sample_alone(form, ws, loads, sampling, pieces, n, k + lane, out)


@entry
def sample(form, ws, loads, side, sampling, pieces, count, out):
    """States at increasing times from the first `count` pieces.

    A last piece of zero length represents the end itself. ws.reference_pivots: reference values of the pivots.
    side: memory of the lanes, if outputs may be projected in SIMD lanes. Outputs: all of out; out.a only where
    out.kept indicates it.
    """
    starts = pieces.starts
    times = out.times
    n = 0
    k = 0
    while k < len(times):
        while n < count - 1 and times[k] > starts[n + 1] - sampling.same * (
            starts[n + 1] - starts[n]
        ):
            n += 1
        if pieces.reference_pivots.shape[0] > 0:
            for c in range(len(ws.reference_pivots)):
                ws.reference_pivots[c] = pieces.reference_pivots[n, c]
        last = k + 1
        if side is not None:
            while last < min(len(times), k + WIDTH) and (
                n == count - 1 or times[last] <= starts[n + 1]
            ):
                last += 1
        if side is not None and last > k + 1:
            sample_lanes(form, ws, loads, side, sampling, pieces, n, k, last - k, out)
        else:
            sample_alone(form, ws, loads, sampling, pieces, n, k, out)
        if loads is not None:
            for m in range(k, last):
                s = find_share(sampling, starts, n, times[m])
                out.work[m] = eval_sides(form, ws, loads, sampling, pieces, n, s)
                settle_angles(loads, out.q[m])
                for i in range(len(loads.theta)):
                    out.angles[m, i] = loads.theta[i]
        k = last


@kernel
def eval_accelerations(form, ws, loads, damping, stiffness, refinements, out):
    """Compute the missing out.a from the equations of motion; `accelerate` stabilises constraint violations."""
    for k in range(len(out.times)):
        if out.kept[k] == UNKNOWN:
            if loads is not None:
                start_angles(loads, out.angles[k])
            accelerate(
                form, ws, loads, out.times[k], damping, stiffness, refinements,
                out.q[k], out.v[k], out.a[k], ws.lam[0],
            )  # fmt: skip


@entry
def eval_forces(form, ws, loads, out, forces):
    """Forces of the drives; nan near a singular configuration."""
    # two conditions: whether there are loads is known at translation time
    if loads is None:
        for k in range(len(out.times)):
            for m in range(forces.shape[1]):
                forces[k, m] = np.nan
        return
    for k in range(len(out.times)):
        if out.kept[k] == POLYNOMIAL:
            for m in range(forces.shape[1]):
                forces[k, m] = np.nan
        else:
            start_angles(loads, out.angles[k])
            t, lam = out.times[k], ws.lam[0]
            accelerate(form, ws, loads, t, 0.0, 0.0, -1, out.q[k], out.v[k], ws.dq, lam)
            eval_drive_forces(loads, t, lam, forces[k])


@kernel
def eval_norms(form, ws, loads, out, norms):
    """Norms of Phi, Phi', Phi'', one row per time; out.a has to be complete."""
    for k in range(len(out.times)):
        eval_drives(loads, out.times[k])
        eval_forms(form, out.q[k], ws.e)
        left = eval_constraints(form, ws.e, ws.phi)
        drive_constraints(form, loads, left, ws.phi)
        norms[k, 0] = norm(ws.phi)
        eval_form_rates(form, out.v[k], ws.de)
        eval_constraint_rates(form, ws.e, ws.de, ws.phi)
        subtract_drives(loads, 1, ws.phi)
        norms[k, 1] = norm(ws.phi)
        eval_curvature(form, ws.de, ws.phi)
        eval_form_rates(form, out.a[k], ws.de)
        add_constraint_rates(form, ws.e, ws.de, ws.phi)
        subtract_drives(loads, 2, ws.phi)
        norms[k, 2] = norm(ws.phi)


# What eval_readings computes.
ACCELERATIONS, NORMS, FORCES = range(3)


@entry
def eval_readings(form, ws, loads, what, damping, stiffness, refinements, out, numbers):
    """Evaluate accelerations, norms or forces of drives: one entry, because they share most of their code.

    Outputs: out.a, or numbers, as in eval_accelerations, eval_norms, eval_forces.
    """
    if what == ACCELERATIONS:
        eval_accelerations(form, ws, loads, damping, stiffness, refinements, out)
    elif what == NORMS:
        eval_norms(form, ws, loads, out, numbers)
    elif loads is not None:
        eval_forces(form, ws, loads, out, numbers)


@entry
def eval_energies(form, loads, out, energies):
    """Two rows: kinetic energy, and potential energy including springs and torsion springs."""
    for k in range(len(out.times)):
        kinetic, potential = eval_energy(form, out.q[k], out.v[k])
        if loads is not None:
            eval_load_forms(loads, out.q[k])
            potential += eval_load_energy(loads, out.angles[k])
        energies[0, k] = kinetic
        energies[1, k] = potential


# Indices of the totals of a run: total and potential energy at its start, largest energy exchanged so far, and
# largest term of the energy so far, which determines the rounding error.
FIRST_ENERGY, FIRST_POTENTIAL, MOST_EXCHANGED, LARGEST_TERM = range(4)
TOTALS = 4


@entry
def weigh_steps(form, loads, pieces, carried, restored, is_first, state, totals, drift, exchanged):
    """Energy balance at the start of each step and at the end of the last, one entry each.

    carried: angles and work at the end. restored: energy correction before each step. is_first: whether the run
    starts with these steps. Outputs: state: configuration and velocity at the end; totals, updated; drift: energy
    error of the integration; exchanged: the largest so far of kinetic energy, change of the potential energy, and
    work.
    """
    q, v = state[0], state[1]
    for n in range(len(drift)):
        # The end of the last step is the end of its polynomial.
        k = min(n, len(pieces.orders) - 1)
        ends = n > k
        s = pieces.starts[n] - pieces.starts[k] if ends else 0.0
        order = pieces.orders[k] if ends else min(pieces.orders[k], 1)
        eval_piece(pieces.coefficients[k], order, s, q, v)
        kinetic, potential = eval_energy(form, q, v)
        work = 0.0
        if loads is not None:
            series, na = pieces.angle_and_work_series[k], len(carried) - 1
            for i in range(na):
                loads.theta[i] = carried[i] if ends else series[i, 0]
            work = carried[na] if ends else series[na, 0]
            eval_load_forms(loads, q)
            potential += eval_load_energy(loads, loads.theta)
        if n == 0 and is_first:
            totals[FIRST_ENERGY] = kinetic + potential - work
            totals[FIRST_POTENTIAL] = potential
        gained = kinetic + potential - work - totals[FIRST_ENERGY]
        drift[n] = abs(gained - restored[min(n, len(restored) - 1)])
        moved = max(kinetic, abs(potential - totals[FIRST_POTENTIAL]), abs(work))
        totals[MOST_EXCHANGED] = max(totals[MOST_EXCHANGED], moved)
        totals[LARGEST_TERM] = max(totals[LARGEST_TERM], abs(potential), abs(work))
        exchanged[n] = totals[MOST_EXCHANGED]
