"""Redundancy in terms of joints: which joint equations depend on each other, loop by loop.

A dependence y^T W = 0 is a state of self-stress: wrenches y in the joints that are in equilibrium without load. In
a single loop it is one wrench passed from joint to joint. A dependent set is minimal if no equation can be removed
from it. With N a basis of all y and D rows on which N is invertible, the supports of the columns of N N_D^-1 are
minimal sets. D is chosen among the rows of one joint after another and the smallest sets are retained, which gives
readable sentences. Loops are taken from the shortest paths to the ground; the remaining dependences span several
loops.

Rows S of a joint can be removed without adding a degree of freedom if and only if N restricted to S has rank |S|:
then the redundancy falls by |S| and the mobility is unchanged.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import Pose
from ..thresholds import NEARBY_TOLERANCE, NO_PART_IN_DEPENDENCE, SAME_SPAN
from .joint_equations import Equation, JointEquations
from .joint_frames import FREER, GROUND
from .nearby_configurations import STEP
from .rank import DENSE

# largest number of joints tried as the place where the dependent equations are chosen
MOST_ORDERS = 30


@dataclass(frozen=True)
class Replacement:
    """A joint that could have fewer constraints without adding a degree of freedom.

    by: the replacement in words, empty if the joint can be removed; removes: number of redundant equations
    removed.
    """

    joint: str
    by: str
    removes: int

    def __str__(self) -> str:
        if not self.by:
            return f"joint {self.joint} left out removes {self.removes}"
        return f"{self.by} instead of joint {self.joint} removes {self.removes}"


@dataclass(frozen=True)
class Dependence:
    """A minimal set of joint equations that depend on each other.

    loop: joints around the loop (empty if several loops are needed); equations: the set, by joint and direction;
    coefficients: of the combination that vanishes, the largest being one (forces, and moments divided by the
    mechanism's length); permanent: whether the set is also dependent nearby on the motion.
    """

    loop: tuple[str, ...]
    equations: tuple[Equation, ...]
    coefficients: tuple[float, ...]
    permanent: bool = True

    def __str__(self) -> str:
        by_words: dict[str, list[str]] = {}
        for equation in self.equations:
            names = by_words.setdefault(equation.words, [])
            if equation.where not in names:
                names.append(equation.where)
        parts = [f"{words} at {_list(names)}" for words, names in by_words.items()]
        head = f"loop {'-'.join(self.loop)}" if self.loop else "several loops together"
        tail = "depend on each other" if len(self.equations) > 1 else "holds by itself"
        here = "" if self.permanent else " here, but not nearby on the motion"
        return f"{head}: the equations {', '.join(parts)} {tail}{here}"


@dataclass(frozen=True)
class Redundancy:
    """All dependences, as minimal sets that are independent of each other, and remedies.

    count: number of redundant equations; unnamed: how many of them are not in `sets` (only in mechanisms too large
    to analyse several loops at once); replacements: single joints, best first.
    """

    count: int
    sets: tuple[Dependence, ...]
    replacements: tuple[Replacement, ...]
    unnamed: int


def find_redundancy(
    equations: JointEquations, count: int, pose: Pose | None = None, nearby: Pose | None = None
) -> Redundancy:
    """Minimal dependent sets at a configuration; count: their number, from the rank there.

    nearby: a configuration on the motion that shows which of them are permanent.
    """
    pose = equations.start() if pose is None else pose
    if count == 0:
        return Redundancy(0, (), (), 0)
    names = equations.equations(pose)
    rows_of_pair: list[list[int]] = [[] for _ in equations.pair_joint]
    for row, pair in enumerate(equations.row_pair):
        rows_of_pair[pair].append(row)
    here = _Look(equations, pose, equations.tolerance)
    there = here if nearby is None else _Look(equations, nearby, NEARBY_TOLERANCE)
    found: list[Dependence] = []
    known: list[Floats] = []
    replacements: list[Replacement] = []

    def take(loop: list[int], pairs: list[int], beyond: Floats | None) -> None:
        rows = [r for pair in pairs for r in rows_of_pair[pair]]
        basis, basis_there = here.dependences(rows), there.dependences(rows)
        joints = tuple(equations.joints[equations.pair_joint[p]] for p in loop)
        for combination in _minimal_sets(basis, [rows_of_pair[p] for p in pairs], rows, beyond):
            always = basis_there.shape[1] >= basis.shape[1] or _within(basis_there, combination)
            found.append(_dependence(joints, rows, combination, names, always))
            if small:
                whole = np.zeros(equations.rows)
                whole[rows] = combination
                known.append(whole)
        if beyond is not None or not small:
            replacements.extend(_replacements(equations, rows_of_pair, pairs, basis_there, rows))

    small = equations.columns <= DENSE
    for loop in find_loops(equations):
        take(loop, loop, None)
    if small:
        take([], list(range(len(rows_of_pair))), np.array(known).reshape(-1, equations.rows).T)
    best = sorted(dict.fromkeys(replacements), key=lambda r: -r.removes)
    return Redundancy(count, tuple(found), tuple(best), max(count - len(found), 0))


def find_loops(equations: JointEquations) -> list[list[int]]:
    """Independent loops as ordered lists of pairs, each from the body nearest to the ground and back."""
    touching: dict[int, list[int]] = {GROUND: []}
    for pair, (a, b) in enumerate(equations.pair_bodies):
        touching.setdefault(int(a), []).append(pair)
        touching.setdefault(int(b), []).append(pair)
    above: dict[int, tuple[int, int] | None] = {}
    depth: dict[int, int] = {}
    tree: set[int] = set()
    for root in touching:
        if root in above:
            continue
        above[root], depth[root] = None, 0
        queue = deque([root])
        while queue:
            body = queue.popleft()
            for pair in touching[body]:
                a, b = (int(x) for x in equations.pair_bodies[pair])
                other = b if a == body else a
                if other not in above:
                    above[other], depth[other] = (body, pair), depth[body] + 1
                    tree.add(pair)
                    queue.append(other)
    loops = []
    for pair, (a, b) in enumerate(equations.pair_bodies):
        if pair in tree:
            continue
        left, right = [], []
        x, y = int(a), int(b)
        while x != y:
            if depth[x] >= depth[y]:
                x, step = above[x]  # type: ignore[misc]
                left.append(step)
            else:
                y, step = above[y]  # type: ignore[misc]
                right.append(step)
        loop = [*reversed(left), pair, *right]
        loops.append(loop if loop[0] <= loop[-1] else loop[::-1])
    return loops


class _Look:
    """Dependences among some of the rows, at one configuration."""

    def __init__(self, equations: JointEquations, pose: Pose, tolerance: float) -> None:
        self.equations = equations
        self.tolerance = tolerance
        self.scaled = equations.scaled(pose)
        self.triangles = {
            int(row): (rows, R)
            for block, triangles in self.scaled.blocks
            for rows, R in zip(block, triangles, strict=True)
            for row in rows
        }

    def dependences(self, rows: list[int]) -> Floats:
        """Basis of the combinations of the named rows (whole pairs) that vanish, (rows, k).

        Rows about a direction count as moments divided by the mechanism's length.
        """
        part = self.scaled.matrix[rows]
        used = np.unique(part.indices)
        U, values, _ = np.linalg.svd(part[:, used].toarray())
        left = U[:, int(np.sum(values > self.tolerance)) :]
        named = np.zeros_like(left)
        place = {row: i for i, row in enumerate(rows)}
        for row in rows:
            block, R = self.triangles[row]
            if block[0] == row:
                at = [place[int(r)] for r in block]
                named[at] = np.linalg.solve(R, left[at])
        about = self.equations.row_about[rows]
        # y.row must have one unit: a moment row is divided by the length
        named[about] /= self.equations.length
        return named


def _within(basis: Floats, combination: Floats) -> bool:
    """Whether a combination lies in this basis, up to the small displacement between the two configurations."""
    if not basis.shape[1]:
        return False
    Q = np.linalg.qr(basis)[0]
    rest = combination - Q @ (Q.T @ combination)
    return bool(np.linalg.norm(rest) < 6 * STEP * np.linalg.norm(combination))


def _minimal_sets(
    basis: Floats, priorities: list[list[int]], rows: list[int], known: Floats | None = None
) -> list[Floats]:
    """Combinations with small supports that span the basis (beyond what is already known)."""
    k = basis.shape[1]
    if k == 0:
        return []
    place = {row: i for i, row in enumerate(rows)}
    candidates: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
    for first in priorities[:MOST_ORDERS]:
        order = [place[r] for r in first] + [place[r] for r in rows if r not in first]
        D = _pivot_rows(basis, order)
        parts = np.linalg.inv(basis[D])
        sets = basis @ parts
        for n in range(k):
            size = np.abs(sets[:, n]).max()
            clean = np.where(
                np.abs(sets[:, n]) > NO_PART_IN_DEPENDENCE * size, sets[:, n] / size, 0.0
            )
            support = tuple(int(i) for i in np.flatnonzero(clean))
            candidates.setdefault(support, (clean, parts[:, n] / size))
    chosen: list[Floats] = []
    span: Floats = np.zeros((k, 0))
    if known is not None and known.size:
        span = np.asarray(np.linalg.lstsq(basis, known, rcond=None)[0], dtype=float)
        span = span / np.linalg.norm(span, axis=0)
    for _, (clean, part) in sorted(candidates.items(), key=lambda item: len(item[0])):
        more = np.column_stack([span, part / np.linalg.norm(part)])
        if np.linalg.matrix_rank(more, tol=SAME_SPAN) > np.linalg.matrix_rank(
            more[:, :-1], tol=SAME_SPAN
        ):
            chosen.append(clean)
            span = more
    return chosen


def _pivot_rows(basis: Floats, order: list[int]) -> list[int]:
    """The first rows in this order on which the basis is well-conditioned."""
    left = basis.copy()
    sizes = np.linalg.norm(basis, axis=1)
    D: list[int] = []
    for threshold in (0.05, SAME_SPAN, 0.0):
        for i in order:
            size = np.linalg.norm(left[i])
            if i not in D and size > threshold * sizes.max() and size > 0:
                D.append(i)
                direction = left[i] / size
                left = left - np.outer(left @ direction, direction)
                if len(D) == basis.shape[1]:
                    return D
    return D


def _dependence(
    loop: tuple[str, ...],
    rows: list[int],
    combination: Floats,
    names: list[Equation],
    permanent: bool,
) -> Dependence:
    at = np.flatnonzero(combination)
    return Dependence(
        loop,
        tuple(names[rows[i]] for i in at),
        tuple(float(combination[i]) for i in at),
        permanent,
    )


def _replacements(
    equations: JointEquations,
    rows_of_pair: list[list[int]],
    pairs: list[int],
    basis: Floats,
    rows: list[int],
) -> list[Replacement]:
    """Joints with fewer constraints that lower the redundancy without adding a degree of freedom."""
    if not basis.shape[1]:
        return []
    place = {row: i for i, row in enumerate(rows)}
    Q = np.linalg.qr(basis)[0]
    out = []
    shared = np.bincount(equations.pair_joint)
    for pair in pairs:
        j = int(equations.pair_joint[pair])
        own = [r for r in rows_of_pair[pair] if equations.row_drive[r] < 0]
        if not own:
            continue
        name = equations.joints[j]
        if shared[j] > 1:
            a, b = equations.pair_bodies[pair]
            name += f" between {equations.body_name(a)} and {equations.body_name(b)}"
        freer = FREER.get((equations.dimension, equations.kinds[j]), [])
        if equations.row_other[own[0]] >= 0:
            # a coupling has one equation, which can only be removed as a whole
            freer = []
        options = [*freer, ("", list(range(len(own))))]
        for words, freed in options:
            part = Q[[place[own[i]] for i in freed]]
            if np.linalg.matrix_rank(part, tol=SAME_SPAN) == len(freed):
                out.append(Replacement(name, words, len(freed)))
    return out


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
