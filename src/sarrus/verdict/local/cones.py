"""Families of directions: the connected parts of the cone at which some forms vanish.

A part whose directions all have the same tangent space is a plane of directions, that of a smooth branch of
several dimensions. Otherwise it is curved: the branch has a conical point here, as a closed chain of five
collinear bars has. Parts are connected by steps along the cone that never change the rank of the gradients. Where
two planes intersect this rank falls, so they remain separate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ...arrays import Floats
from ...thresholds import MULTIPLE_RAY, SAME_BRANCH

# length of a step on the unit sphere, and largest number of steps from one direction to another
STEP, STEPS = 0.12, 40
# the least cosine between tangent spaces before and after a step, and the least part of a step along the cone
TURNED, AHEAD = 0.75, 0.1
# lengths of steps that are tried, in STEP, and the largest correction of a step, as a fraction of it
LENGTHS, CORRECTED = (1.0, 1.7, 0.4, 0.15), 0.5
# displacement of directions that shows the tangent space where forms have squares as factors; Newton steps; the
# displacements are in the tangent space if no more than this is left of those outside
PROBE, PROBE_STEPS, TAKEN_BACK = 1e-2, 40, 0.15
# tangent spaces found in this way are less accurate, because the directions are
SAME_PROBED = 1e-2
# number of neighbours of a direction to which a path is searched
NEIGHBOURS = 6
# number of further directions of a family
OTHERS = 5

# values (starts, forms) and gradients (starts, forms, m) of forms at starts (starts, m)
Evaluated = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Family:
    """The direction of a family that the forms constrain best.

    space: basis of the tangent space of the cone there; curved: the tangent spaces of the family differ; samples:
    other directions; multiple: the forms have squares as factors along it; refine: makes the other directions as
    accurate as the first.
    """

    direction: Floats
    space: Floats
    curved: bool
    samples: tuple[Floats, ...] = ()
    multiple: bool = False
    refine: Callable[[Floats], Floats] = np.asarray

    @property
    def others(self) -> tuple[Floats, ...]:
        """The other directions, to rounding."""
        return tuple(self.refine(x) for x in self.samples)

    def within(self, inside: Floats) -> Family:
        """The family in a larger space, of which its own is spanned by the columns `inside`."""
        return Family(
            inside @ self.direction,
            inside @ self.space,
            self.curved,
            self.samples,
            self.multiple,
            lambda x: inside @ self.refine(x),
        )


@dataclass(frozen=True, eq=False)
class _Sample:
    direction: Floats
    space: Floats
    firmness: float
    others: tuple[Floats, ...] = ()
    # whether the forms have squares as factors along its part of the cone
    multiple: bool = False


def same_space(a: Floats, b: Floats, limit: float = SAME_BRANCH) -> bool:
    """Whether two orthonormal bases span the same space; limit: difference of the least cosine from one."""
    if a.shape != b.shape:
        return False
    return bool(np.linalg.svd(a.T @ b, compute_uv=False)[-1] > 1.0 - limit)


def find_families(evaluate: Evaluated, samples: Floats) -> list[Family]:
    """The families of directions at which the forms vanish, those of lowest dimension first."""
    groups: list[list[_Sample]] = []
    for a, slopes in zip(samples, evaluate(samples)[1], strict=True):
        _add_sample(groups, _sample(a, slopes))
    apart = [_merged(group) for part in groups for group in _reduced(evaluate, part)]
    out = []
    for part in sorted(_connect(evaluate, apart), key=lambda part: part[0].space.shape[1]):
        best = _best(part)
        curved = len(part) > 1 and not _is_plane(evaluate, best.space)
        out.append(Family(best.direction, best.space, curved, best.others, best.multiple))
    return out


def _add_sample(groups: list[list[_Sample]], new: _Sample) -> None:
    """Add a sample to the group with its tangent space."""
    limit = SAME_PROBED if new.multiple else SAME_BRANCH
    same = next((g for g in groups if same_space(new.space, g[0].space, limit)), None)
    if same is None:
        groups.append([new])
    else:
        same.append(new)


def _is_plane(evaluate: Evaluated, space: Floats) -> bool:
    """Whether all forms vanish on a linear space, to the accuracy of a space found by displacements."""
    x = np.random.default_rng(12).normal(size=(2 * space.shape[1], space.shape[1])) @ space.T
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return bool(np.abs(evaluate(x)[0]).max() < SAME_BRANCH)


def _best(samples: list[_Sample]) -> _Sample:
    """The sample that the forms constrain best; where they have squares as factors, the most accurate one."""
    return max(samples, key=lambda s: -s.firmness if s.multiple else s.firmness)


def _merged(group: list[_Sample]) -> _Sample:
    """The best sample, and some of the others."""
    best = _best(group)
    return replace(best, others=tuple(s.direction for s in group if s is not best)[:OTHERS])


def _sample(a: Floats, slopes: Floats) -> _Sample:
    _, values, V = np.linalg.svd(slopes)
    rank = int(np.sum(values > MULTIPLE_RAY))
    return _Sample(a, V[rank:].T, float(values[rank - 1]) if rank else 0.0)


def _reduced(evaluate: Evaluated, group: list[_Sample]) -> list[list[_Sample]]:
    """Samples with a common null space of the gradients, divided by the tangent spaces that they have.

    Where a form has a square as a factor, its gradient vanishes: the null space is larger than the tangent space,
    and the same for different parts of the cone.
    """
    first = group[0]
    if len(evaluate(first.direction[None])[0][0]) == len(first.direction) - first.space.shape[1]:
        return [group]
    if _tangent_spaces(evaluate, [first])[0].shape == first.space.shape:
        return [group]
    out: list[list[_Sample]] = []
    for s, space in zip(group, _tangent_spaces(evaluate, group), strict=True):
        _add_sample(out, replace(s, space=space, multiple=True))
    return out


def _tangent_spaces(evaluate: Evaluated, samples: list[_Sample]) -> list[Floats]:
    """The directions in which the cone extends from samples whose gradients have null spaces of one dimension.

    They are displacements that Newton steps do not take back.
    """
    k = samples[0].space.shape[1] - 1
    if not k:
        return [s.direction[:, None] for s in samples]
    offsets = np.random.default_rng(5).normal(size=(2 * k + 2, k))
    offsets *= PROBE / np.linalg.norm(offsets, axis=1, keepdims=True)
    starts = []
    for s in samples:
        a = s.direction
        across = np.linalg.svd(s.space - np.outer(a, a @ s.space))[0][:, :k]
        starts.append(a + offsets @ across.T)
    x = np.concatenate(starts)
    for _ in range(PROBE_STEPS):
        x = step_on_sphere(x, *evaluate(x), np.ones(len(x)))
    return [
        _spanned(s.direction, rows, TAKEN_BACK * np.sqrt(len(offsets) / k))
        for s, rows in zip(samples, x.reshape(len(samples), len(offsets), -1), strict=True)
    ]


def _spanned(a: Floats, rows: Floats, least: float) -> Floats:
    """A basis of a direction and the displacements from it to the rows, without those that are small."""
    moved = (rows - a)[np.linalg.norm(rows - a, axis=1) < 3.0 * PROBE] / PROBE
    moved = np.vstack([moved - np.outer(moved @ a, a), np.zeros((1, len(a)))])
    U, values, _ = np.linalg.svd(moved.T, full_matrices=False)
    return np.column_stack([a, U[:, values > least]])


def step_on_sphere(a: Floats, F: Floats, slopes: Floats, size: Floats) -> Floats:
    """Unit vectors after a Levenberg-Marquardt step towards F = 0; size: of the divisors of F, for the damping."""
    # steps along the sphere: one row constrains the component along a itself
    A = np.concatenate([slopes, a[:, None, :]], axis=1)
    r = np.concatenate([F, np.zeros((len(a), 1))], axis=1)
    # the matrix is singular at a double root: the lower bound of the damping preserves the steps along it
    damping = (np.minimum(np.einsum("si,si->s", F, F), 1e-2) + 1e-14) / size**2
    normal = np.swapaxes(A, 1, 2) @ A + damping[:, None, None] * np.eye(a.shape[1])
    a = a - np.linalg.solve(normal, np.swapaxes(A, 1, 2) @ r[:, :, None])[:, :, 0]
    return np.asarray(a / np.linalg.norm(a, axis=1, keepdims=True))


def _connect(evaluate: Evaluated, samples: list[_Sample]) -> list[list[_Sample]]:
    """Groups of samples that paths along the cone connect."""
    group = list(range(len(samples)))
    if len(samples) > 1:
        at = np.array([s.direction for s in samples])
        near = np.argsort(-np.abs(at @ at.T), axis=1, kind="stable")[:, 1:]
        for i, row in enumerate(near):
            for j in row[:NEIGHBOURS]:
                if group[i] != group[j] and _is_way(evaluate, samples[i], samples[j]):
                    group = [group[i] if g == group[j] else g for g in group]
        for i, j in _pairs_of_groups(group, np.abs(at @ at.T)):
            if group[i] != group[j] and _is_way(evaluate, samples[i], samples[j]):
                group = [group[i] if g == group[j] else g for g in group]
    return [[s for s, g in zip(samples, group, strict=True) if g == n] for n in sorted(set(group))]


def _pairs_of_groups(group: list[int], near: Floats) -> list[tuple[int, int]]:
    """For every two groups the samples that are nearest to each other."""
    out = []
    label = np.array(group)
    for a, b in combinations(sorted(set(group)), 2):
        first, second = np.flatnonzero(label == a), np.flatnonzero(label == b)
        order = np.argsort(-near[np.ix_(first, second)], axis=None, kind="stable")[:NEIGHBOURS]
        out += [(int(first[n // len(second)]), int(second[n % len(second)])) for n in order]
    return out


def _is_way(evaluate: Evaluated, start: _Sample, end: _Sample) -> bool:
    """Whether steps along the cone lead from one sample to another, up to its sign."""
    if start.space.shape != end.space.shape or start.multiple != end.multiple:
        return False
    x, space = start.direction, start.space
    to = end.direction * np.copysign(1.0, x @ end.direction)
    for _ in range(STEPS):
        gap = to - x
        size = float(np.linalg.norm(gap))
        if size < STEP and _turned(space, end.space) > TURNED:
            return True
        along = space @ (space.T @ gap)
        along -= x * (x @ along)
        if np.linalg.norm(along) < AHEAD * size:
            return False
        moved = _advance(evaluate, replace(start, direction=x, space=space), along, size)
        if moved is None:
            return False
        x, space = moved.direction, moved.space
    return False


def _advance(evaluate: Evaluated, here: _Sample, along: Floats, size: float) -> _Sample | None:
    """The direction one step further along the cone; None if it cannot be followed; size: distance of the end.

    Close to an intersection with another cone the forms are almost dependent: a longer step leads across.
    """
    along = along / np.linalg.norm(along)
    for length in LENGTHS:
        step = min(length * STEP, max(0.5 * size, 0.1 * STEP))
        ahead = here.direction + along * step
        y = ahead / np.linalg.norm(ahead)
        start = y
        for _ in range(PROBE_STEPS if here.multiple else 3):
            F, slopes = evaluate(y[None])
            y = y - np.linalg.pinv(slopes[0], rcond=MULTIPLE_RAY) @ F[0]
            y = y / np.linalg.norm(y)
        new = _sample(y, evaluate(y[None])[1][0])
        if here.multiple:
            new = replace(new, space=_tangent_spaces(evaluate, [new])[0], multiple=True)
        near = np.linalg.norm(y - start) < CORRECTED * step
        same = new.space.shape == here.space.shape
        if near and same and _turned(here.space, new.space) > TURNED:
            return new
    return None


def _turned(a: Floats, b: Floats) -> float:
    return float(np.linalg.svd(a.T @ b, compute_uv=False)[-1])
