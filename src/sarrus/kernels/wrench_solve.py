"""Solution of A^T z = side at many poses: eight poses in the SIMD lanes, with one order of the equations.

The rows of A are the joint equations over scaled twists; those of each pair of bodies are made orthonormal, A =
R^T scaled. With the independent rows first (an order that the caller found at one of the poses), reflections from
the right give

    A = [ L11  0   ]        L11 triangular, of rank r,
        [ L21  L22 ]        L22 zero if the rank is r at this pose, too

so that z1 = L11^-T (side - L21^T z2) for any z2. The assumptions are checked at each pose. The singular values of
[L11; L21], by bidiagonalisation with reflections from both sides [GolubKahan1965] and counting, show how many are
above the tolerance, and the smallest one. L22 is the remainder. The entries of L21 L11^-1 show whether the order
suits the pose. Poses that fail a check are reported, and the caller solves them in another way.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .compiler import entry, kernel, noinline
from .layout import make_room
from .simd import WIDTH, choose, in_lanes

# Number of bisections of an interval: to the last digit.
HALVINGS = 52


class OrderedRows(NamedTuple):
    """The rows in their order, dependent ones last.

    bodies: of each row, -1 for the ground, (rows, sides). place: of each row in the order. first: first row of its
    pair. begin, end: columns of a row. used: which components of (v, w) a body has. last, upto: last column and
    row that each reflection changes, apart from dependent rows. weights: weight of each component.
    """

    bodies: Ints
    place: Ints
    first: Ints
    begin: Ints
    end: Ints
    used: Ints
    last: Ints
    upto: Ints
    weights: Floats


class Room(NamedTuple):
    """Memory of the lanes.

    Rows followed by the right-hand side, triangles R of pairs, diagonal of L11, [L11; L21] and its two diagonals,
    a row of numbers, z and self-stresses, flags.
    """

    A: Floats
    R: Floats
    diagonal: Floats
    B: Floats
    d: Floats
    e: Floats
    s: Floats
    z: Floats
    flags: Floats


class Answers(NamedTuple):
    """For each pose: components z, orthonormal self-stresses (rows, k), the smallest singular value, and flags.

    flags: number of singular values that are not above the tolerance; size of L22; largest entry of L21 L11^-1.
    """

    values: Floats
    stress: Floats
    smallest: Floats
    flags: Floats


def make_wrench_room(equations: OrderedRows, columns: int) -> Room:
    """Memory for equations over the given number of columns."""
    rows, r = len(equations.place), len(equations.last)
    pair = int((np.arange(rows) - equations.first).max(initial=0)) + 1
    k = rows - r
    return Room(*make_room(*((*shape, WIDTH) for shape in (
        (rows + 1, columns), (rows, pair), (r + 1,), (rows, r + 1), (r + 1,), (r + 1,),
        (max(rows, columns) + 1,), (k + 1, rows), (4,),
    ))))  # fmt: skip


@kernel
def load_rows(equations, entries, side, at, lane, A):
    """Copy the rows of one pose, followed by the right-hand side, to its lane."""
    rows, sides = equations.bodies.shape
    width = len(equations.used)
    columns = A.shape[1]
    for i in range(rows):
        p = equations.place[i]
        for c in range(columns):
            A[p, c, lane] = 0.0
        for s in range(sides):
            b = equations.bodies[i, s]
            if b >= 0:
                for c in range(width):
                    A[p, b * width + c, lane] += entries[at * rows + i, s, equations.used[c]]
    for c in range(columns):
        A[rows, c, lane] = side[at, c]


@noinline
def normalise_pairs(equations, room):
    """Orthonormalise the rows of each pair, sequentially and twice: R is then exact to rounding."""
    ws = in_lanes(room)
    A, R = ws.A, ws.R
    for i in range(len(equations.place)):
        p, first = equations.place[i], equations.first[i]
        begin, end = equations.begin[i], equations.end[i]
        for j in range(first, i):
            R[i, j - first] = 0.0
        for _ in range(2):
            for j in range(first, i):
                other = equations.place[j]
                s = 0.0
                for c in range(begin, end):
                    s += A[other, c] * A[p, c]
                for c in range(begin, end):
                    A[p, c] -= s * A[other, c]
                R[i, j - first] += s
        s = 0.0
        for c in range(begin, end):
            s += A[p, c] * A[p, c]
        size = np.sqrt(s)
        R[i, i - first] = size
        inverse = 1.0 / size
        for c in range(begin, end):
            A[p, c] *= inverse


@kernel
def reflection(square, top):
    """Householder reflection of a vector with given squared norm and first entry.

    Returns the entry that it becomes, and 2 / |v|^2 of the reflection. A zero vector stays unchanged.
    """
    size = np.sqrt(square)
    signed = choose(top > 0.0, -size, size)
    whole = size * (size + abs(top))
    some = whole > 0.0
    return signed, choose(some, 1.0 / choose(some, whole, 1.0), 0.0)


@noinline
def reflect_rows(equations, room):
    """Transform A to [L11 0; L21 L22], and the right-hand side; reflection vectors stay above the diagonal."""
    ws = in_lanes(room)
    A = ws.A
    rows, r = len(equations.place), len(equations.last)
    for j in range(r):
        last = equations.last[j] + 1
        s = 0.0
        for c in range(j, last):
            s += A[j, c] * A[j, c]
        signed, factor = reflection(s, A[j, j])
        ws.diagonal[j] = signed
        A[j, j] -= signed
        for half in range(2):
            begin, end = j + 1, equations.upto[j] + 1
            if half:
                begin, end = r, rows + 1
            for i in range(begin, end):
                s = 0.0
                for c in range(j, last):
                    s += A[j, c] * A[i, c]
                s *= factor
                for c in range(j, last):
                    A[i, c] -= s * A[j, c]


@noinline
def reduce_both_sides(rows, r, room):
    """Reduce [L11; L21] to its diagonal d and superdiagonal e, by reflections from both sides."""
    ws = in_lanes(room)
    A, B, d, e, s = ws.A, ws.B, ws.d, ws.e, ws.s
    for i in range(rows):
        for c in range(min(i, r)):
            B[i, c] = A[i, c]
        for c in range(i, r):
            B[i, c] = 0.0
        if i < r:
            B[i, i] = ws.diagonal[i]
    for j in range(r):
        # A column, from the left.
        size = 0.0
        for i in range(j, rows):
            size += B[i, j] * B[i, j]
        signed, factor = reflection(size, B[j, j])
        d[j] = signed
        B[j, j] -= signed
        for c in range(j + 1, r):
            s[c] = 0.0
        for i in range(j, rows):
            x = B[i, j]
            for c in range(j + 1, r):
                s[c] += x * B[i, c]
        for c in range(j + 1, r):
            s[c] *= factor
        for c in range(j + 1, r):
            B[j, c] -= B[j, j] * s[c]
        e[j] = 0.0
        if j + 1 < r:
            # Its row, from the right.
            size = 0.0
            for c in range(j + 1, r):
                size += B[j, c] * B[j, c]
            signed, factor = reflection(size, B[j, j + 1])
            e[j] = signed
            B[j, j + 1] -= signed
            for i in range(j + 1, rows):
                x = B[i, j]
                t = 0.0
                for c in range(j + 1, r):
                    B[i, c] -= x * s[c]
                    t += B[i, c] * B[j, c]
                t *= factor
                for c in range(j + 1, r):
                    B[i, c] -= t * B[j, c]


@kernel
def count_below(d, e, r, x):
    """Number of singular values of a bidiagonal matrix below x: negative pivots of B^T B - x^2, by differences."""
    square = x * x
    s = -square
    count = 0.0
    for j in range(r):
        pivot = d[j] * d[j] + s
        count += choose(pivot < 0.0, 1.0, 0.0)
        # A vanishing pivot counts as slightly positive, and the division does not overflow.
        pivot = choose(abs(pivot) < 1e-200, 1e-200, pivot)
        s = s * (e[j] * e[j]) / pivot - square
    return count


@noinline
def find_smallest(r, tolerance, room):
    """The smallest singular value, and the number of those that are not above the tolerance."""
    ws = in_lanes(room)
    d, e = ws.d, ws.e
    high = abs(d[0])
    for j in range(1, r):
        size = np.sqrt(d[j] * d[j] + e[j - 1] * e[j - 1])
        high = choose(size < high, size, high)
    ws.flags[0] = count_below(d, e, r, tolerance)
    low = 0.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = count_below(d, e, r, middle) > 0.0
        high = choose(below, middle, high)
        low = choose(below, low, middle)
    ws.flags[3] = 0.5 * (low + high)


@noinline
def solve_rows(equations, room):
    """z of the right-hand side and of each dependent row: z1 in the order, then original rows, weighted."""
    ws = in_lanes(room)
    A, R, z, s = ws.A, ws.R, ws.z, ws.s
    rows, r = len(equations.place), len(equations.last)
    left, growth = 0.0 * A[0, 0], 0.0 * A[0, 0]
    for m in range(rows - r + 1):
        # The right-hand side follows all rows; m > 0 is a self-stress.
        right = rows if m == 0 else r + m - 1
        sign = 1.0 if m == 0 else -1.0
        for c in range(r):
            s[c] = sign * A[right, c]
        for i in range(r, rows):
            s[i] = 0.0
        for i in range(r - 1, -1, -1):
            x = s[i] / ws.diagonal[i]
            s[i] = x
            for c in range(i):
                s[c] -= A[i, c] * x
            if m:
                growth = choose(abs(x) > growth, abs(x), growth)
        if m:
            s[right] = 1.0
            for c in range(r, A.shape[1]):
                left += A[right, c] * A[right, c]
        # Original rows: f = R^-1 z in each pair, starting from its last row.
        for i in range(rows - 1, -1, -1):
            first = equations.first[i]
            x = s[equations.place[i]] / R[i, i - first]
            z[m, i] = x / equations.weights[i]
            for j in range(first, i):
                s[equations.place[j]] -= R[i, j - first] * x
    ws.flags[1] = np.sqrt(left)
    ws.flags[2] = growth


@noinline
def settle_stress(rows, k, room):
    """Orthonormalise the self-stresses, and remove their components from z."""
    z = in_lanes(room).z
    for m in range(1, k + 1):
        for _ in range(2):
            for n in range(1, m):
                s = 0.0
                for i in range(rows):
                    s += z[n, i] * z[m, i]
                for i in range(rows):
                    z[m, i] -= s * z[n, i]
        s = 0.0
        for i in range(rows):
            s += z[m, i] * z[m, i]
        inverse = 1.0 / np.sqrt(s)
        for i in range(rows):
            z[m, i] *= inverse
    for _ in range(2):
        for m in range(1, k + 1):
            s = 0.0
            for i in range(rows):
                s += z[m, i] * z[0, i]
            for i in range(rows):
                z[0, i] -= s * z[m, i]


@entry
def solve_poses(equations, room, entries, side, which, tolerance, out):
    """Fill out for the poses `which`; entries of all poses: (poses * rows, sides, 6), side: (poses, columns)."""
    rows, r = len(equations.place), len(equations.last)
    count = len(which)
    begin = 0
    while begin < count:
        for lane in range(WIDTH):
            at = which[min(begin + lane, count - 1)]
            load_rows(equations, entries, side, at, lane, room.A)
        normalise_pairs(equations, room)
        reflect_rows(equations, room)
        solve_rows(equations, room)
        settle_stress(rows, rows - r, room)
        reduce_both_sides(rows, r, room)
        find_smallest(r, tolerance, room)
        for lane in range(min(WIDTH, count - begin)):
            at = which[begin + lane]
            for i in range(rows):
                out.values[at, i] = room.z[0, i, lane]
                for m in range(rows - r):
                    out.stress[at, i, m] = room.z[m + 1, i, lane]
            for n in range(3):
                out.flags[at, n] = room.flags[n, lane]
            out.smallest[at] = room.flags[3, lane]
        begin += WIDTH
