"""The joint equations as pure numbers.

With D = diag(L sqrt(mu/m), L sqrt(mu/I)) of each body (its mass m and principal inertias I; L and mu a
length and a mass of the mechanism), the rows of W D that belong to one pair of bodies are made
orthonormal. Where an inertia vanishes, m l^2 / 100 stands for it, l being the body's own length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints
from ..thresholds import NO_REACH
from .joint_pairs import GROUND

# an inertia below this share of m l^2 counts as this share
LEAST_INERTIA = 0.01
# a mass further than this from the mean counts as this: what can move does not depend on masses, and weights
# of very light and very heavy bodies would leave no digits between zeros and the other values
SPREAD = 1e3


@dataclass(frozen=True, eq=False)
class Scaled:
    """The scaled joint equations at a pose: pure numbers, the rows of each pair orthonormal.

    Their singular values depend neither on units nor on the directions in which a joint's rows are
    written. blocks: rows of pairs and the triangle R that turns scaled rows into named ones, row = R^T
    scaled.
    """

    matrix: sparse.csr_array
    blocks: tuple[tuple[Ints, Floats], ...]

    def gaps(self, gaps: Floats) -> Floats:
        """Gaps of the named rows as gaps of the scaled ones."""
        out = np.zeros_like(gaps)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(np.swapaxes(R, 1, 2), gaps[rows][:, :, None])[:, :, 0]
        return out

    def named(self, left: Floats) -> Floats:
        """Combinations of the scaled rows, (rows, k), as combinations of the named rows."""
        out = np.zeros_like(left)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(R, left[rows])
        return out


@dataclass(frozen=True, eq=False)
class BodyScale:
    """D of each body, and of the ground behind them: of velocities, (nb + 1,), and spins, (nb + 1, 3, 3).

    Spins are scaled along the principal axes as they stand at the start; turns: of the bodies since then.
    """

    linear: Floats
    angular: Floats

    def up(self, turns: Floats, scaled: Floats) -> Floats:
        """D x of scaled numbers x, (nb, 6)."""
        full = np.array(scaled)
        full[:, :3] *= self.linear[:-1, None]
        full[:, 3:] = np.einsum("bij,bjk,bk->bi", turns, self.angular[:-1], full[:, 3:])
        return full

    def down(self, turns: Floats, twists: Floats) -> Floats:
        """D^-1 of twists, (nb, 6)."""
        full = np.array(twists)
        full[:, :3] /= self.linear[:-1, None]
        back = np.linalg.inv(self.angular[:-1])
        full[:, 3:] = np.einsum("bij,bkj,bk->bi", back, turns, full[:, 3:])
        return full

    def forces(self, turns: Floats, forces: Floats) -> Floats:
        """D^T F of forces and moments, (nb, 6)."""
        full = np.array(forces)
        full[:, :3] *= self.linear[:-1, None]
        full[:, 3:] = np.einsum("bki,blk,bl->bi", self.angular[:-1], turns, full[:, 3:])
        return full

    def columns(self, turns: Floats, entries: Floats, bodies: Ints) -> Floats:
        """Coefficients of scaled twists from those of twists, (rows, 2, 6); bodies: of each row, (rows, 2)."""
        turned = np.concatenate([turns, np.eye(3)[None]]) @ self.angular
        out = np.empty_like(entries)
        for side in (0, 1):
            body = bodies[:, side]
            out[:, side, :3] = entries[:, side, :3] * self.linear[body, None]
            out[:, side, 3:] = np.einsum("ri,rij->rj", entries[:, side, 3:], turned[body])
        return out


def make_scale(masses: Floats, inertias: Floats, own: Floats, length: float) -> BodyScale:
    """D of each body: L sqrt(mu/m), and L sqrt(mu) V I^-1/2, V its principal axes; 1 for the ground."""
    mu = float(np.exp(np.mean(np.log(masses))))
    sizes, axes = np.linalg.eigh(inertias)
    bounded = np.clip(masses, mu / SPREAD, mu * SPREAD)
    sizes, masses = sizes * (bounded / masses)[:, None], bounded
    # a body that is the same about all axes keeps the world's
    round_body = sizes[:, 2] - sizes[:, 0] <= 1e-12 * sizes[:, 2]
    axes[round_body] = np.eye(3)
    sizes = np.maximum(sizes, LEAST_INERTIA * (masses * own**2)[:, None])
    angular = axes * (length * np.sqrt(mu / sizes))[:, None, :]
    linear = length * np.sqrt(mu / masses)
    return BodyScale(np.append(linear, 1.0), np.concatenate([angular, np.eye(3)[None]]))


def measure_reach(
    masses: Floats, centers: Floats, inertias: Floats, pairs: Ints, places: Floats, length: float
) -> Floats:
    """Each body's own length: of its mass, or to its farthest joint."""
    gyration = np.sqrt(np.clip(np.trace(inertias, axis1=1, axis2=2), 0.0, None) / masses)
    reach = gyration.copy()
    for side in (0, 1):
        held = pairs[:, side] != GROUND
        body = pairs[held, side]
        np.maximum.at(reach, body, np.linalg.norm(places[held, side] - centers[body], axis=1))
    # a body without extent takes the length of the mechanism
    reach[reach <= NO_REACH * reach.max()] = length
    return reach
