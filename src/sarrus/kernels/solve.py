"""The one linear solve: K = [M + rho Js^T Js, J^T; J, -eps] = L D L^T in a static order.

K is quasi-definite, so the factorisation exists for every symmetric order without pivoting
[Vanderbei1995]. A dependent equation shows as a pivot that falls to about -eps; its multiplier absorbs
rounding along the null space of J^T, which exerts no force.

With it states go back onto the constraints: position by Newton, velocity mass-orthogonally, with one factor.
"""

import numpy as np

from ..thresholds import (
    EPS,
    LOWERED_PIVOT,
    PERMANENT_PIVOT,
    REGULAR_PIVOT,
    RISEN_PIVOT,
    ROUND_OFF,
    SINGULAR_LANDING,
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
)
from .step_control import BESIDE, MOST_REFINEMENTS


@kernel
def assemble_blocks(form, J, larger, L):
    """M + rho Js^T Js and -eps, times `larger`; the blocks of J are left zero."""
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
    """K with a larger eps: `damping` of each equation's own J M^-1 J^T is added to it."""
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
    """Assemble and factorise K. L: the inverses of the n pivots, then the entries of L."""
    factorise_damped(form, J, 0.0, L)


@kernel
def relative_pivot(form, L, k):
    """The pivot of an equation over eps / EPS, the size it would have alone."""
    return -EPS / (L[form.pos_c[k]] * form.eps[k])


@kernel
def learn_pivots(form, L, reference_pivots):
    """Keep the largest relative pivot of each equation so far in `reference_pivots`; negative while redundant.

    Equations that depend on each other may change their parts: one becomes independent of those before it while
    another ceases to be. Then the other counts as redundant from there on: the rank is the same. Where several
    have fallen by a part of that, and together by what it rose, nothing is decided yet: it stays redundant.
    More than an equation has alone counts as that: where inertia in its way all but vanishes pivots have no bound.
    """
    # where none has fallen, as at the start, none is sought
    low = 0
    lost = 1.0
    for k in range(len(reference_pivots)):
        if reference_pivots[k] > PERMANENT_PIVOT:
            pivot = relative_pivot(form, L, k)
            if pivot < max(SINGULAR_LANDING * reference_pivots[k], PERMANENT_PIVOT):
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
                    # one that rose only while parts changed has not far to fall
                    bound = max(SINGULAR_LANDING * reference_pivots[j], PERMANENT_PIVOT)
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
def eval_pivots(form, L, reference_pivots):
    """The smallest relative pivot, and the smallest against what is usual for its equation.

    An equation that never had more than PERMANENT_PIVOT is redundant at every position: it says nothing
    about singular ones (its pivot is eps, and that of the equations it depends on). But where its pivot rises
    while another falls, the two change their parts and nothing is singular: their product tells, which stays
    about EPS (that of all pivots is the determinant of J M^-1 J^T + eps).
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
    if rise < RISEN_PIVOT or pivot_ratio >= SINGULAR_LANDING:
        return smallest, pivot_ratio
    fallen = 0
    log_drop = 0.0
    others = 1.0
    for k in range(len(reference_pivots)):
        if reference_pivots[k] > PERMANENT_PIVOT:
            pivot = relative_pivot(form, L, k)
            if pivot < SINGULAR_LANDING * reference_pivots[k]:
                fallen += 1
                log_drop += np.log(rounded(pivot / reference_pivots[k]))
            else:
                others = min(others, pivot)
    together = min(1.0, rise / EPS * np.exp(log_drop / fallen))
    if together < SINGULAR_LANDING:
        return smallest, max(pivot_ratio, together)
    return others, together


@kernel
def is_near_singular(form, L, reference_pivots, resting):
    """Whether the factor is that of a position beside a singular one: a pivot is a small share of what is usual.

    Where nothing is usual yet, at the start of a run: it is smaller than any of a regular equation, and more
    than a redundant one has. Of a start at rest nobody knows whether the equation is redundant, or the position
    singular: there that it is small is enough.
    """
    for k in range(len(reference_pivots)):
        pivot = relative_pivot(form, L, k)
        if reference_pivots[k] > PERMANENT_PIVOT:
            if pivot < BESIDE * reference_pivots[k]:
                return True
        elif pivot > RISEN_PIVOT or resting:
            return True
    return False


@kernel
def is_regular(form, L):
    """Whether every equation is far from depending on others, whatever is usual."""
    smallest = 1.0
    for k in range(len(form.pos_c)):
        smallest = min(smallest, relative_pivot(form, L, k))
    return smallest > REGULAR_PIVOT


@kernel
def adds_up(form, smallest, tolerance):
    """Whether what eps leaves open in each equation counts at the far end of a chain of all of them.

    Before a singular position the coefficients of a series multiply it, until steps crawl.
    """
    return tolerance * rounded(smallest) < EPS * len(form.phi0)


@kernel
def factorise_exactly(form, J, L):
    """K without eps, for a regular position: what is solved with it needs no refinement."""
    factorise_damped(form, J, -EPS, L)


@kernel
def eliminate_pair(order, n, L, U):
    """Factorise an unsymmetric matrix in place; L: the n pivots, then the columns of L; U: the rows of U.

    No pivot is sought: the order puts each constraint after its coordinates. order: pattern of the factor.
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
                # entry (b, a) of L and (a, b) of U
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
        # from the far end: the nearest unknown was found last, and only the last product waits for it
        for a in range(order.L_start[j + 1] - 1, order.L_start[j] - 1, -1):
            s -= U[n + a] * x[order.L_row[a]]
        x[j] = s


@kernel
def solve_factored(form, L, x):
    """Solve K x = x in place, unknowns in elimination order."""
    solve_pair(form, L, L, x)


@kernel
def add_augmentation(form, J, b):
    """Add rho Js^T r2 to the first block of a right side."""
    for k in range(len(J)):
        rho = form.rho[form.J_eq[k]]
        if rho != 0.0:
            b[form.pos_q[form.J_col[k]]] += rho * J[k] * b[form.pos_c[form.J_eq[k]]]


@kernel
def refine(form, J, L, b, r, x):
    """Add to x the solution for what is left of [M J^T; J 0] x = b."""
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
    if len(form.K_A):
        add_augmentation(form, J, r)
    solve_factored(form, L, r)
    for i in range(len(b)):
        x[i] += r[i]


@kernel
def solve_refined(form, J, L, b, refinements, r, x):
    """Solve [M J^T; J 0] x = b with the factor of K and so many refinements."""
    for i in range(len(b)):
        r[i] = b[i]
    if len(form.K_A):
        add_augmentation(form, J, r)
    solve_factored(form, L, r)
    for i in range(len(b)):
        x[i] = r[i]
    for _ in range(refinements):
        refine(form, J, L, b, r, x)


@kernel
def solve_gaps(form, ws, refinements):
    """The change of least mass that takes ws.phi to zero, in ws.x; with the factor at hand."""
    for i in range(len(ws.b)):
        ws.b[i] = 0.0
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -ws.phi[c]
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)


@kernel
def solve_motion(form, ws, refinements, a, lam):
    """M a + J^T lam = ws.Q, and J a equal to what ws.b holds for the constraints; with the factor at hand."""
    for i in range(len(a)):
        ws.b[form.pos_q[i]] = ws.Q[i]
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)
    for i in range(len(a)):
        a[i] = ws.x[form.pos_q[i]]
    for c in range(len(lam)):
        lam[c] = ws.x[form.pos_c[c]]


@kernel
def wide_refinements(smallest):
    """How many refinements leave no more than the rounding of wide numbers."""
    left = EPS / smallest
    count = 0
    while left > WIDE_ROUND_OFF and count < MOST_REFINEMENTS:
        left *= EPS / smallest
        count += 1
    return count


@kernel
def refinements_for(smallest, tolerance):
    """How many refinements a solve needs: eps counts as eps / pivot along a weak direction."""
    if is_wide(smallest):
        return wide_refinements(rounded(smallest))
    if tolerance * smallest >= EPS:
        return 0
    if smallest > WEAK_PIVOT:
        return 1
    return 2


@kernel
def project_position(form, ws, loads, iterations, q):
    """Newton on Phi(q) = 0 with the factor at hand; returns how far q moved (largest entry).

    ws.e, ws.phi: forms and constraints at q on entry and on return; loads.drives.driven: right sides of drives.
    """
    moved = 0.0
    left = eval_constraints(form, ws.e, ws.phi)
    left = drive_constraints(form, loads, left, ws.phi)
    for _ in range(iterations):
        if left <= (WIDE_ROUND_OFF if is_wide(q) else ROUND_OFF):
            break
        solve_gaps(form, ws, 0)
        largest = 0.0
        for i in range(len(q)):
            ws.dq[i] = ws.x[form.pos_q[i]]
            q[i] += ws.dq[i]
            largest = max(largest, abs(ws.dq[i]))
        eval_forms(form, q, ws.e)
        now = eval_constraints(form, ws.e, ws.phi)
        now = drive_constraints(form, loads, now, ws.phi)
        moved += largest
        if not now < left:
            break
        left = now
    return moved


@kernel
def project_velocity(form, ws, loads, refinements, v):
    """Remove from v what violates J v = phi0', orthogonal in the mass metric; returns how far v moved."""
    eval_form_rates(form, v, ws.de)
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    solve_gaps(form, ws, refinements)
    moved = 0.0
    for i in range(len(v)):
        dv = ws.x[form.pos_q[i]]
        v[i] += dv
        moved = max(moved, abs(dv))
    return moved


@kernel
def project_state(form, ws, loads, t, damping, corrections, tolerance, same, q, v):
    """Position and velocity at t back onto the constraints; ws.J, ws.L: J and the factor of K there.

    damping: 0, or 1 far away from the constraints. Dependent equations contradict each other a little there;
    damped as much as they are violated, Newton's steps do not answer to that [FanYuan2005]. tolerance: what
    the velocity's solve may leave; same: how far the position may move with the factor serving on. Returns how far
    position and velocity moved, the smallest pivot, and the smallest against what is usual.
    """
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    open_by = 0.0
    if damping > 0.0:
        open_by = eval_constraints(form, ws.e, ws.phi)
        open_by = damping * drive_constraints(form, loads, open_by, ws.phi)
    factorise_damped(form, ws.J, open_by, ws.L)
    moved = project_position(form, ws, loads, corrections, q)
    if damping > 0.0 or not moved <= same:
        eval_jacobian(form, ws.e, ws.J)
        factorise(form, ws.J, ws.L)
    smallest, pivot_ratio = eval_pivots(form, ws.L, ws.reference_pivots)
    turned = project_velocity(form, ws, loads, refinements_for(smallest, tolerance), v)
    return moved, turned, smallest, pivot_ratio
