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
# number of neighbours of a direction to which a path is searched
NEIGHBOURS = 6
# number of further directions of a family
OTHERS = 5

# values (starts, forms) and gradients (starts, forms, m) of forms at starts (starts, m)
Evaluated = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Family:
    """The direction of a family that the forms constrain best.

    curved: its tangent spaces differ; samples: other directions; refine: makes them as accurate as the first.
    """

    direction: Floats
    curved: bool
    samples: tuple[Floats, ...] = ()
    refine: Callable[[Floats], Floats] = np.asarray

    @property
    def others(self) -> tuple[Floats, ...]:
        """The other directions, to rounding."""
        return tuple(self.refine(x) for x in self.samples)

    def within(self, inside: Floats) -> Family:
        """The family in a larger space, of which its own is spanned by the columns `inside`."""
        return Family(
            inside @ self.direction, self.curved, self.samples, lambda x: inside @ self.refine(x)
        )


@dataclass(frozen=True, eq=False)
class _Sample:
    direction: Floats
    space: Floats
    firmness: float
    others: tuple[Floats, ...] = ()


def same_space(a: Floats, b: Floats) -> bool:
    """Whether two orthonormal bases span the same space."""
    if a.shape != b.shape:
        return False
    return bool(np.linalg.svd(a.T @ b, compute_uv=False)[-1] > 1.0 - SAME_BRANCH)


def find_families(evaluate: Evaluated, samples: Floats) -> list[Family]:
    """The families of directions at which the forms vanish, those of lowest dimension first."""
    apart: list[_Sample] = []
    for a, slopes in zip(samples, evaluate(samples)[1], strict=True):
        new = _sample(a, slopes)
        same = next((i for i, s in enumerate(apart) if same_space(new.space, s.space)), None)
        if same is None:
            apart.append(new)
        else:
            old = apart[same]
            first, second = (new, old) if new.firmness > old.firmness else (old, new)
            known = (*old.others, second.direction)[:OTHERS]
            apart[same] = replace(first, others=known)
    out = []
    for part in sorted(_connect(evaluate, apart), key=lambda part: part[0].space.shape[1]):
        best = max(part, key=lambda s: s.firmness)
        out.append(Family(best.direction, len(part) > 1, best.others))
    return out


def _sample(a: Floats, slopes: Floats) -> _Sample:
    _, values, V = np.linalg.svd(slopes)
    rank = int(np.sum(values > MULTIPLE_RAY))
    return _Sample(a, V[rank:].T, float(values[rank - 1]) if rank else 0.0)


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
    if start.space.shape != end.space.shape:
        return False
    x, space = start.direction, start.space
    to = end.direction * np.copysign(1.0, x @ end.direction)
    for _ in range(STEPS):
        gap = to - x
        size = float(np.linalg.norm(gap))
        if size < STEP:
            return _turned(space, end.space) > TURNED
        along = space @ (space.T @ gap)
        along -= x * (x @ along)
        if np.linalg.norm(along) < AHEAD * size:
            return False
        x = x + along * min(STEP / float(np.linalg.norm(along)), 1.0)
        for _ in range(3):
            F, slopes = evaluate(x[None])
            x = x - np.linalg.pinv(slopes[0], rcond=MULTIPLE_RAY) @ F[0]
            x = x / np.linalg.norm(x)
        new = _sample(x, evaluate(x[None])[1][0])
        if new.space.shape != space.shape or _turned(space, new.space) < TURNED:
            return False
        space = new.space
    return False


def _turned(a: Floats, b: Floats) -> float:
    return float(np.linalg.svd(a.T @ b, compute_uv=False)[-1])
