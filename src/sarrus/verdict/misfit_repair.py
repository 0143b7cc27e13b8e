"""The smallest change of dimensions that frees a mechanism locked by a small mismatch.

With left null vectors n of W at many configurations of the path along its approximate degree of freedom
(self-stress of the moving linkage), g the gaps there and P their derivatives with respect to the joint positions
and axes p of the bodies,

    n^T (g + P p) = 0  at all configurations,      |p| least,

is solved repeatedly until the gaps are at rounding level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ..arrays import Floats, Ints
from ..kinematics.configuration import Pose
from ..mechanism import End, LockedError, Mechanism, Move, move_bodies, turn_rods_into_bodies
from ..thresholds import ALIGNED_AXES, MISFIT, NULL_SHARE, REPAIRED_GAP
from .joint_equations import JointEquations, make_joint_equations
from .locked import Locked, find_locked, measure_misfit

# conditions on the dimensions that are weaker than this fraction of the strongest are ignored, at first
WEAKEST = (1e-3, 1e-5, 1e-7, 1e-9)


@dataclass(frozen=True, eq=False)
class Repaired:
    """A mechanism whose dimensions were changed so that it moves, and the largest changes [m, rad]."""

    mechanism: Mechanism
    metres: float
    radians: float
    left: float


def bridge_misfit(
    mechanism: Mechanism, equations: JointEquations, misfit: float | None
) -> tuple[Mechanism, list[str]]:
    """Replace a mechanism that is locked by a small mismatch by one that moves exactly, and describe the change.

    misfit [m]: largest mismatch that may be removed, by default MISFIT times the mechanism's length. Raises
    MechanismError if the mechanism moves only with a larger one. Mobile mechanisms and structures are returned
    unchanged.
    """
    allowed = MISFIT * equations.length if misfit is None else misfit
    locked = find_locked(equations)
    if locked is None or not locked.nearly:
        return mechanism, []
    words = "strictly locked"
    if locked.exact:
        several = "s" if locked.dof > 1 else ""
        words = f"{locked.dof} degree{several} of freedom only with joint play"
    kept = (
        f"{words} (smallest singular value {locked.value:.1e}): along them joints would open by "
        f"{locked.misfit:.2e} m"
    )
    if locked.exact and not locked.within(allowed):
        return mechanism, [f"{kept}, and {allowed:.2e} m are allowed: they are treated as locked"]
    if not locked.within(allowed):
        raise LockedError(
            f"mechanism '{mechanism.name}' is locked: no motion keeps all joints closed (smallest singular value "
            f"{locked.value:.1e}). It would move within a misfit of {locked.misfit:.3g} m, and {allowed:.3g} m "
            "are allowed: give places and axes to all digits, or allow more with misfit=, or 0 for a structure"
        )
    repaired = repair_geometry(mechanism, locked)
    if repaired is None and locked.exact:
        return mechanism, [
            f"{kept}; no dimensions near the given ones were found that make them exact"
        ]
    if repaired is None:
        raise LockedError(
            f"mechanism '{mechanism.name}' is locked, and moves within a misfit of {locked.misfit:.3g} m; but no "
            "dimensions near the given ones were found that let it move exactly: give places and axes to more "
            "digits"
        )
    axes = f", axes by up to {repaired.radians:.2e} rad" if repaired.radians else ""
    return repaired.mechanism, [
        f"{words}, mobile within a misfit of {locked.misfit:.2e} m (allowed: {allowed:.2e} m; smallest "
        f"singular value {locked.value:.1e}): joint places were changed in their bodies by up to "
        f"{repaired.metres:.2e} m{axes}, so that it moves"
    ]


def repair_geometry(mechanism: Mechanism, locked: Locked) -> Repaired | None:
    """The mechanism with the smallest change of joint positions and axes that moves exactly; None if not found."""
    aligned, turned = _align_axes(mechanism)
    if turned and find_locked(make_joint_equations(aligned)) is None:
        return Repaired(mechanism=aligned, metres=0.0, radians=turned, left=0.0)
    equations = make_joint_equations(mechanism)
    slot = _slots(mechanism, equations)
    far = 1.0 + float(np.abs(equations.origin).max()) / equations.length
    # positions alone first, so that parallel axes stay parallel. Few conditions make a linkage paradoxical; weak
    # ones, comparable to the mismatch itself, come last
    for axes, weakest in product((False, True), WEAKEST):
        change, poses, left = _repair(equations, slot, list(locked.path), weakest, axes)
        if left <= REPAIRED_GAP * equations.length * far:
            return Repaired(
                mechanism=_write(mechanism, equations, change, poses[0]),
                metres=float(np.linalg.norm(change[:, :3], axis=1).max()),
                radians=float(np.linalg.norm(change[:, 3:], axis=1).max()),
                left=left,
            )
    return None


def _align_axes(mechanism: Mechanism) -> tuple[Mechanism, float]:
    """Make axes that are almost parallel exactly parallel, and return their largest rotation [rad].

    The smallest change would make them intersect far away instead: a spherical linkage, which rounding cannot
    distinguish from this one.
    """
    found: list[Floats] = []
    turned = 0.0
    changed = mechanism.copy()
    for n, joint in enumerate(mechanism.joints):
        ends = []
        for end in joint.ends:
            if end.axis is None or mechanism.dimension == 2:
                ends.append(end)
                continue
            axis = np.asarray(end.axis, dtype=float) / np.linalg.norm(end.axis)
            signed = ((s, other) for other in found for s in (1.0, -1.0))
            near = [s * b for s, b in signed if np.linalg.norm(axis - s * b) <= ALIGNED_AXES]
            if not near:
                found.append(axis)
            else:
                turned = max(turned, float(np.linalg.norm(axis - near[0])))
            ends.append(replace(end, axis=near[0] if near else axis))
        changed.joints[n] = replace(joint, ends=tuple(ends))
    return changed, turned


def _repair(
    equations: JointEquations, slot: Ints, poses: list[Pose], weakest: float, axes: bool
) -> tuple[Floats, list[Pose], float]:
    """Changes of positions (and axes, if requested), (slots, 6), the resulting poses, and the largest gap."""
    n = int(slot.max()) + 1
    free = np.tile([True] * 3 + [axes] * 3, n)
    change = np.zeros((n, 6))
    best = (change, poses, np.inf)
    now, still = equations, 0
    while still < 2:
        conditions, sides, steps = [], [], []
        for pose in poses:
            W, g, P = _rates(now, slot, pose, n)
            U, values, V = np.linalg.svd(W)
            rank = int(np.sum(values > NULL_SHARE * values[0]))
            null = U[:, rank:]
            conditions.append(null.T @ P)
            sides.append(-null.T @ g)
            steps.append((U[:, :rank], values[:rank], V[:rank], g, P))
        A = np.vstack(conditions) * free
        p = free * np.linalg.lstsq(A, np.concatenate(sides), rcond=weakest)[0]
        change = change + p.reshape(-1, 6) * np.repeat([equations.length, 1.0], 3)
        poses = [
            pose.moved(now.twists(pose, -V.T @ ((U.T @ (g + P @ p)) / values)))
            for pose, (U, values, V, g, P) in zip(poses, steps, strict=True)
        ]
        now = _changed(equations, slot, change)
        left = max(measure_misfit(now, pose) for pose in poses)
        still = 0 if left < 0.7 * best[2] else still + 1
        if left < best[2]:
            best = (change, poses, left)
    return best


def _slots(mechanism: Mechanism, equations: JointEquations) -> Ints:
    """Index of the (joint, body) on each side of each pair, (pairs, 2)."""
    first = np.cumsum([0, *(len(j.ends) for j in mechanism.joints)])
    seen = np.zeros(len(mechanism.joints), dtype=np.int64)
    out = []
    number = {joint.name: j for j, joint in enumerate(mechanism.joints)}
    for j in equations.pair_joint:
        if j >= len(seen):
            # a coupling has the geometry of its joint
            j = number[mechanism.couplings[j - len(seen)].joint]
            out.append((first[j], first[j] + 1))
            continue
        seen[j] += 1
        out.append((first[j], first[j] + seen[j]))
    return np.array(out, dtype=np.int64).reshape(-1, 2)


def _changed(equations: JointEquations, slot: Ints, change: Floats) -> JointEquations:
    """The joint equations with positions and axes changed in their bodies."""

    def axes(old: Floats, side: int) -> Floats:
        new = old + change[slot[:, side], 3:]
        size = np.linalg.norm(new, axis=1)
        return new / np.where(size > 0.0, size, 1.0)[:, None]

    return replace(
        equations,
        pair_place=equations.pair_place + change[slot[:, 0], :3],
        pair_other_place=equations.pair_other_place + change[slot[:, 1], :3],
        pair_axis=axes(equations.pair_axis, 0),
        pair_other_axis=axes(equations.pair_other_axis, 1),
    )


def _rates(
    equations: JointEquations, slot: Ints, pose: Pose, n: int
) -> tuple[Floats, Floats, Floats]:
    """W over scaled twists, gaps, and their derivatives with respect to the changes, all dimensionless."""
    L = equations.length
    scale = np.where(equations.row_about, 1.0, 1.0 / L)
    gaps, W = equations.look(pose)
    u = equations.directions(pose)
    turns = np.concatenate([pose.turns, np.eye(3)[None]])
    P = np.zeros((equations.rows, n, 6))
    rows = np.arange(equations.rows)
    pair = equations.row_pair
    ends = [
        np.einsum("pij,pj->pi", turns[equations.pair_bodies[:, side]], axis)[pair]
        for side, axis in enumerate((equations.pair_axis, equations.pair_other_axis))
    ]
    # two equations about: those of a common axis
    about = np.bincount(pair[equations.row_about], minlength=len(equations.pair_joint))
    hinged = equations.row_about & (about[pair] == 2)
    for side, sign in ((0, -1.0), (1, 1.0)):
        R = turns[equations.pair_bodies[pair, side]]
        along = sign * np.einsum("rji,rj->ri", R, u)
        at = slot[pair, side]
        P[rows, at, :3] += np.where(equations.row_about[:, None], 0.0, along)
        across = np.cross(ends[1], u) if side == 0 else np.cross(u, ends[0])
        P[rows, at, 3:] += np.where(hinged[:, None], np.einsum("rji,rj->ri", R, across), 0.0)
    if equations.dimension == 2:
        P[:, :, 2:] = 0.0
    return scale[:, None] * W, scale * gaps, P.reshape(equations.rows, 6 * n)


def _write(
    mechanism: Mechanism,
    equations: JointEquations,
    change: Floats,
    pose: Pose,
) -> Mechanism:
    """The mechanism at a configuration with its joints changed in their bodies."""
    d = mechanism.dimension
    at = 0
    changed = mechanism.copy()
    for n, joint in enumerate(mechanism.joints):
        mine = change[at : at + len(joint.ends)]
        at += len(joint.ends)
        if joint.at is not None:
            ends = (_changed_end(end, c, d) for end, c in zip(joint.ends, mine, strict=True))
            changed.joints[n] = replace(joint, ends=tuple(ends))
    moves = {
        body.name: Move(
            body.center,
            pose.turns[i][:d, :d],
            body.center + (pose.centers[i] - equations.centers[i])[:d],
        )
        for i, body in enumerate(mechanism.bodies)
    }
    return turn_rods_into_bodies(move_bodies(changed, moves))


def _changed_end(end: End, change: Floats, d: int) -> End:
    place = None if end.place is None else end.place + change[:d]
    axis = None if end.axis is None else end.axis / np.linalg.norm(end.axis) + change[3 : 3 + d]
    return End(end.body, place, axis)
