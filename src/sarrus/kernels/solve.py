"""The linear solve of all methods: K = [M + rho Js^T Js, J^T; J, -eps] = L D L^T in a static order.

K is quasi-definite, so the factorisation exists for every symmetric order without pivoting [Vanderbei1995]. A
redundant equation gives a pivot of about -eps; its multiplier absorbs rounding along the null space of J^T, which
exerts no force.

The same factor projects states onto the constraints: configurations by Newton's method, velocities orthogonally in
the mass metric.
"""

import numpy as np

from ..thresholds import (
    EPS,
    LEFT_ROUND_OFF,
    LOWERED_PIVOT,
    PERMANENT_PIVOT,
    REGULAR_PIVOT,
    RISEN_PIVOT,
    ROUND_OFF,
    SINGULAR_STEP_END,
    WEAK_PIVOT,
    WIDE_ROUND_OFF,
)
from .compiler import kernel, noinline
from .double_double import is_wide, rounded
from .elements.drive import drive_constraints, eval_drives, subtract_drives
from .forms import (
    eval_constraint_rates,
    eval_constraints,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
    largest_entry,
)
from .simd import choose
from .step_control import MOST_REFINEMENTS, NEAR_SINGULAR_RATIO


@kernel
def assemble_blocks(form, J, larger, L):
    """M + rho Js^T Js, and -eps times `larger`; the blocks of J stay zero."""
    for k in range(len(L)):
        L[k] = 0.0
    for k in range(len(form.K_M)):
        L[form.K_M[k]] = form.K_M_val[k]
    for k in range(len(form.K_A)):
        a = form.K_A_1[k]
        L[form.K_A[k]] += form.rho[form.J_eq[a]] * J[a] * J[form.K_A_2[k]]
    for k in range(len(form.pos_c)):
        L[form.pos_c[k]] = -form.eps[k] * larger


@noinline
def factorise_damped(form, J, damping, L):
    """Factorise K with a larger eps: `damping` times the equation's diagonal entry of J M^-1 J^T is added."""
    assemble_blocks(form, J, 1.0 + damping / EPS, L)
    n = len(form.pos_q) + len(form.pos_c)
    for k in range(len(J)):
        L[form.K_J[k]] = J[k]
    t = 0
    for j in range(n):
        inverse = 1.0 / L[j]
        L[j] = inverse
        first = n + form.L_start[j]
        last = n + form.L_start[j + 1]
        for a in range(first, last):
            f = L[a] * inverse
            for b in range(a, last):
                L[form.L_target[t]] -= f * L[b]
                t += 1
        for a in range(first, last):
            L[a] *= inverse


@kernel
def factorise(form, J, L):
    """Assemble and factorise K. L: inverses of the n pivots, then the entries of L."""
    factorise_damped(form, J, 0.0, L)


@kernel
def relative_pivot(form, L, k):
    """Pivot of an equation relative to eps / EPS, the size that it would have alone."""
    return -EPS / (L[form.pos_c[k]] * form.eps[k])


@kernel
def learn_pivots(form, L, reference_pivots):
    """Update the largest relative pivot of each equation in `reference_pivots`; negative while it is redundant.

    Linearly dependent equations may exchange roles: one becomes independent of the preceding ones while another
    becomes dependent. The other then counts as redundant from there on, and the rank stays the same. If several
    pivots have each dropped by a part of that, and together by as much as this one rose, the case is undecided and
    the equation stays redundant. A pivot is limited to the value that the equation has alone: if the inertia in
    its direction almost vanishes, pivots are unbounded.
    """
    # If no pivot has dropped, as at the start, no search is needed.
    low = 0
    lost = 1.0
    for k in range(len(reference_pivots)):
        if reference_pivots[k] > PERMANENT_PIVOT:
            pivot = relative_pivot(form, L, k)
            if pivot < max(SINGULAR_STEP_END * reference_pivots[k], PERMANENT_PIVOT):
                low += 1
            if pivot < LOWERED_PIVOT * reference_pivots[k]:
                lost *= pivot / reference_pivots[k]
    for k in range(len(reference_pivots)):
        pivot = relative_pivot(form, L, k)
        regular = reference_pivots[k] > PERMANENT_PIVOT
        if low > 0 and reference_pivots[k] <= PERMANENT_PIVOT < pivot:
            fallen = -1
            least = 1.0
            for j in range(len(reference_pivots)):
                if reference_pivots[j] > PERMANENT_PIVOT:
                    other = relative_pivot(form, L, j)
                    # A pivot that rose only during the exchange has less far to drop.
                    bound = max(SINGULAR_STEP_END * reference_pivots[j], PERMANENT_PIVOT)
                    if other < bound and other / reference_pivots[j] < least:
                        least = other / reference_pivots[j]
                        fallen = j
            if fallen >= 0:
                reference_pivots[fallen] = -reference_pivots[fallen]
                low -= 1
                regular = True
        if regular or (pivot > 0.0 and pivot * lost > PERMANENT_PIVOT):
            reference_pivots[k] = min(max(abs(reference_pivots[k]), pivot), 1.0)


@kernel
def count_redundant(reference_pivots):
    """Number of equations that have been redundant at every configuration so far."""
    count = 0
    for k in range(len(reference_pivots)):
        count += 1 if reference_pivots[k] <= PERMANENT_PIVOT else 0
    return count


@kernel
def eval_pivots(form, L, reference_pivots):
    """Smallest relative pivot, and smallest ratio of a relative pivot to its reference value.

    An equation whose relative pivot never exceeded PERMANENT_PIVOT is redundant at every configuration and does
    not indicate singular ones (its pivot consists of its eps and those of the equations it depends on). If its
    pivot rises while another drops, the two equations exchange roles and the configuration is not singular. Their
    product decides, which stays about EPS (the product of all pivots is the determinant of J M^-1 J^T + eps).
    """
    smallest = 1.0
    pivot_ratio = 1.0
    rise = 0.0
    for k in range(len(reference_pivots)):
        pivot = relative_pivot(form, L, k)
        if reference_pivots[k] > PERMANENT_PIVOT:
            smallest = min(smallest, pivot)
            pivot_ratio = min(pivot_ratio, pivot / reference_pivots[k])
        else:
            rise = max(rise, pivot)
    if rise < RISEN_PIVOT or pivot_ratio >= SINGULAR_STEP_END:
        return smallest, pivot_ratio
    fallen = 0
    log_drop = 0.0
    others = 1.0
    for k in range(len(reference_pivots)):
        if reference_pivots[k] > PERMANENT_PIVOT:
            pivot = relative_pivot(form, L, k)
            if pivot < SINGULAR_STEP_END * reference_pivots[k]:
                fallen += 1
                log_drop += np.log(rounded(pivot / reference_pivots[k]))
            else:
                others = min(others, pivot)
    together = min(1.0, rise / EPS * np.exp(log_drop / fallen))
    if together < SINGULAR_STEP_END:
        return smallest, max(pivot_ratio, together)
    return others, together


@kernel
def is_near_singular(form, L, reference_pivots, resting):
    """Whether the configuration is near a singular one: a pivot is small relative to its reference value.

    At the start of a run there is no reference yet. A pivot is then small if it is smaller than any of a regular
    equation but larger than that of a redundant one. For a start at rest, a redundant equation cannot be
    distinguished from a singular configuration: any small pivot is then sufficient.
    """
    for k in range(len(reference_pivots)):
        pivot = relative_pivot(form, L, k)
        if reference_pivots[k] > PERMANENT_PIVOT:
            if pivot < NEAR_SINGULAR_RATIO * reference_pivots[k]:
                return True
        elif pivot > RISEN_PIVOT or resting:
            return True
    return False


@kernel
def is_regular(form, L):
    """Whether every equation is far from dependence on others, without regard to reference values."""
    return smallest_pivot(form, L) > REGULAR_PIVOT


@kernel
def smallest_pivot(form, L):
    """Smallest relative pivot of all equations, also of redundant ones."""
    smallest = 1.0
    for k in range(len(form.pos_c)):
        smallest = min(smallest, relative_pivot(form, L, k))
    return smallest


@kernel
def adds_up(form, smallest, tolerance):
    """Whether the effect of eps in each equation matters at the far end of a chain of all of them.

    Near a singular configuration the coefficients of a series amplify it, until steps become ever smaller.
    """
    return tolerance * rounded(smallest) < EPS * len(form.phi0)


@kernel
def factorise_exactly(form, J, L):
    """Factorise K without eps, for a regular configuration: solves with it need no refinement."""
    factorise_damped(form, J, -EPS, L)


@kernel
def eliminate_pair(order, n, L, U):
    """Factorise an unsymmetric matrix in place. L: the n pivots, then the columns of L; U: the rows of U.

    There is no pivoting: the order puts each constraint after its coordinates. order: pattern of the factor.
    """
    t = 0
    for j in range(n):
        inverse = 1.0 / L[j]
        L[j] = inverse
        first = n + order.L_start[j]
        last = n + order.L_start[j + 1]
        for a in range(first, last):
            below = L[a] * inverse
            right = U[a] * inverse
            L[order.L_target[t]] -= below * U[a]
            t += 1
            for b in range(a + 1, last):
                # Entry (b, a) of L and (a, b) of U.
                L[order.L_target[t]] -= right * L[b]
                U[order.L_target[t]] -= below * U[b]
                t += 1
        for a in range(first, last):
            L[a] *= inverse
            U[a] *= inverse


@kernel
def solve_pair(order, L, U, x):
    """Solve L D U x = x in place, unknowns in elimination order."""
    n = len(x)
    for j in range(n):
        s = x[j]
        for a in range(order.L_start[j], order.L_start[j + 1]):
            x[order.L_row[a]] -= L[n + a] * s
    for j in range(n - 1, -1, -1):
        s = x[j] * L[j]
        # Start with the farthest unknown: the nearest one is computed last, so only the last product has to wait
        # for it.
        for a in range(order.L_start[j + 1] - 1, order.L_start[j] - 1, -1):
            s -= U[n + a] * x[order.L_row[a]]
        x[j] = s


@kernel
def solve_factored(form, L, x):
    """Solve K x = x in place, unknowns in elimination order."""
    solve_pair(form, L, L, x)


@kernel
def add_augmentation(form, J, b):
    """Add rho Js^T r2 to the first block of a right-hand side."""
    for k in range(len(J)):
        rho = form.rho[form.J_eq[k]]
        if rho != 0.0:
            b[form.pos_q[form.J_col[k]]] += rho * J[k] * b[form.pos_c[form.J_eq[k]]]


@kernel
def solve_once(form, J, L, x):
    """Solve [M J^T; J 0] x = x in place with the factor of K, without refinement."""
    if len(form.K_A):
        add_augmentation(form, J, x)
    solve_factored(form, L, x)


@kernel
def refine(form, J, L, b, r, x):
    """Add to x the solution for the residual of [M J^T; J 0] x = b."""
    for i in range(len(b)):
        r[i] = b[i]
    for i in range(len(form.pos_q)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * x[form.pos_q[form.M_col[k]]]
        r[form.pos_q[i]] -= s
    for k in range(len(J)):
        i = form.pos_q[form.J_col[k]]
        c = form.pos_c[form.J_eq[k]]
        r[i] -= J[k] * x[c]
        r[c] -= J[k] * x[i]
    solve_once(form, J, L, r)
    for i in range(len(b)):
        x[i] += r[i]


@kernel
def solve_refined(form, J, L, b, refinements, r, x):
    """Solve [M J^T; J 0] x = b with the factor of K and iterative refinement."""
    for i in range(len(b)):
        r[i] = b[i]
    solve_once(form, J, L, r)
    for i in range(len(b)):
        x[i] = r[i]
    for _ in range(refinements):
        refine(form, J, L, b, r, x)


@kernel
def set_gaps(form, phi, b):
    """Right-hand side for the smallest change, in the mass norm, that makes phi zero."""
    for i in range(len(b)):
        b[i] = 0.0
    for c in range(len(phi)):
        b[form.pos_c[c]] = -phi[c]


@kernel
def solve_gaps(form, ws, refinements):
    """ws.x: the smallest change, in the mass norm, that makes ws.phi zero, with the current factor."""
    set_gaps(form, ws.phi, ws.b)
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)


@kernel
def solve_motion(form, ws, refinements, a, lam):
    """Solve M a + J^T lam = ws.Q, with J a given by the constraint entries of ws.b, with the current factor."""
    for i in range(len(a)):
        ws.b[form.pos_q[i]] = ws.Q[i]
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)
    for i in range(len(a)):
        a[i] = ws.x[form.pos_q[i]]
    for c in range(len(lam)):
        lam[c] = ws.x[form.pos_c[c]]


@kernel
def wide_refinements(smallest):
    """Number of refinements that reduce the error to the rounding of double-double numbers."""
    left = EPS / smallest
    count = 0
    while left > WIDE_ROUND_OFF and count < MOST_REFINEMENTS:
        left *= EPS / smallest
        count += 1
    return count


@kernel
def refinements_for(smallest, tolerance):
    """Number of refinements that a solve needs: along a weak direction the error is eps / pivot."""
    if is_wide(smallest):
        return wide_refinements(rounded(smallest))
    if tolerance * smallest >= EPS:
        return 0
    if smallest > WEAK_PIVOT:
        return 1
    return 2


@kernel
def project_position(form, ws, loads, iterations, ends, q):
    """Newton's method for Phi(q) = 0 with the current factor; returns how far q moved (largest entry).

    ws.e, ws.phi: forms and constraints at q, on entry and on return. loads.drives.driven: right-hand sides of
    drives. ends: whether to end when another change would only follow rounding.
    """
    moved = 0.0
    left = eval_constraints(form, ws.e, ws.phi)
    left = drive_constraints(form, loads, left, ws.phi)
    for _ in range(iterations):
        if left <= (WIDE_ROUND_OFF if is_wide(q) else ROUND_OFF):
            break
        solve_gaps(form, ws, 0)
        for i in range(len(q)):
            ws.dq[i] = ws.x[form.pos_q[i]]
            q[i] += ws.dq[i]
        largest = largest_entry(ws.dq)
        eval_forms(form, q, ws.e)
        now = eval_constraints(form, ws.e, ws.phi)
        now = drive_constraints(form, loads, now, ws.phi)
        moved += largest
        # The factor is off by the whole way; what this change leaves is the product of both.
        is_last = ends and moved * largest <= ROUND_OFF and now <= LEFT_ROUND_OFF
        if is_last or not now < left:
            break
        left = now
    return moved


@kernel
def eval_velocity_gap(form, ws, loads, v):
    """ws.phi: the violation of J v = phi0'; returns its largest entry."""
    eval_form_rates(form, v, ws.de)
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    return largest_entry(ws.phi)


@kernel
def add_to_velocity(form, ws, v):
    """Add the solution ws.x to v; returns how far v moved."""
    moved = 0.0
    for i in range(len(v)):
        dv = ws.x[form.pos_q[i]]
        v[i] += dv
        moved = max(moved, abs(dv))
    return moved


@kernel
def project_velocity(form, ws, loads, refinements, v):
    """Remove the violation of J v = phi0' from v, orthogonally in the mass metric; returns how far v moved."""
    eval_velocity_gap(form, ws, loads, v)
    solve_gaps(form, ws, refinements)
    return add_to_velocity(form, ws, v)


@kernel
def project_state(form, ws, loads, t, damping, corrections, tolerance, same, q, v):
    """Project configuration and velocity at t onto the constraints; ws.J, ws.L: J and the factor of K there.

    damping: 0, or 1 far from the constraints. There, redundant equations slightly contradict each other; damping
    in proportion to their violation keeps Newton's steps from responding to that [FanYuan2005]. tolerance:
    admissible residual of the velocity solve. same: how far the configuration may move before the factor is
    computed again; if this is not 0, a small violation of the velocity is refined only where its correction would
    leave more than rounding. Returns how far configuration and velocity moved, the smallest pivot, and the
    smallest ratio of a pivot to its reference value.
    """
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    open_by = 0.0
    if damping > 0.0:
        open_by = eval_constraints(form, ws.e, ws.phi)
        open_by = damping * drive_constraints(form, loads, open_by, ws.phi)
    factorise_damped(form, ws.J, open_by, ws.L)
    moved = project_position(form, ws, loads, corrections, same > 0.0, q)
    gap = eval_velocity_gap(form, ws, loads, v)
    # What another factor would change in the velocity is the product of both.
    again = damping > 0.0 or not (moved <= same and moved * gap <= ROUND_OFF)
    if again:
        eval_jacobian(form, ws.e, ws.J1)
        for k in range(len(ws.J)):
            # Other runs in lanes keep J, and so their factor.
            ws.J[k] = choose(again, ws.J1[k], ws.J[k])
        factorise(form, ws.J, ws.L)
    smallest, pivot_ratio = eval_pivots(form, ws.L, ws.reference_pivots)
    allowed = max(tolerance, ROUND_OFF / max(gap, ROUND_OFF)) if same > 0.0 else tolerance
    solve_gaps(form, ws, refinements_for(smallest, allowed))
    turned = add_to_velocity(form, ws, v)
    return moved, turned, smallest, pivot_ratio
