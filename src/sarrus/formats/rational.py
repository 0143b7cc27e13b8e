"""Read linkages of the package rational-linkages: closed chains of hinges from factorised motion polynomials.

Its objects are read through their attributes (factorizations, each with its axes and joint points in the home
configuration), so the package itself is not needed here.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError


def from_rational(
    linkage: Any,
    *,
    mass_per_length: float = 1.0,
    section: float | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    name: str = "rational linkage",
) -> Mechanism:
    """Return the mechanism of a RationalMechanism with two factorizations (Bennett, 5R, 6R), with real hinges.

    The links are straight bars of square section [m] (default: a twentieth of the largest link) between their
    joint points, with mass_per_length [kg/m]; the base is the ground.
    """
    chains = [_chain(f) for f in getattr(linkage, "factorizations", ())]
    if len(chains) != 2:
        raise MechanismError(
            f"{linkage!r} has {len(chains)} factorizations; a closed linkage has two"
        )
    # Once around the loop: out along the first chain, back along the second.
    joints = [*chains[0], *((far, near, axis) for near, far, axis in reversed(chains[1]))]
    ends = [(a[1], b[0]) for a, b in itertools.pairwise(joints)]
    longest = max(float(np.linalg.norm(b - a)) for a, b in ends)
    side = 0.05 * longest if section is None else section
    m = Mechanism(name, gravity=gravity)
    names = [m.GROUND]
    for k, (a, b) in enumerate(ends, 1):
        d = b - a
        # A link of zero length is as long as it is thick.
        length = max(float(np.linalg.norm(d)), side)
        along = np.outer(d, d) / max(float(d @ d), 1e-300)
        inertia = (length**2 + side**2) / 12.0 * (np.eye(3) - along) + side**2 / 6.0 * along
        mass = mass_per_length * length
        names.append(m.body(f"link {k}", mass, 0.5 * (a + b), mass * inertia).name)
    for k, (near, far, axis) in enumerate(joints):
        pair = (names[k], names[(k + 1) % len(names)])
        m.revolute(f"joint {k + 1}", *pair, at=0.5 * (near + far), axis=axis)
    return m


def _chain(factorization: Any) -> list[tuple[Floats, Floats, Floats]]:
    """Return near point, far point and axis of each joint of a factorization, starting at the base."""
    out = []
    for dual, joint in zip(factorization.dq_axes, factorization.linkage, strict=True):
        numbers = np.asarray(dual.array(), dtype=float)
        near, far = (_place(p) for p in joint.points)
        axis = numbers[1:4] / np.linalg.norm(numbers[1:4])
        off = float(np.linalg.norm(np.cross(axis, far - near)))
        if off > 1e-9 * (1.0 + float(np.linalg.norm(far - near))):
            raise MechanismError(f"the points of a joint are {off:.3g} off its axis")
        out.append((near, far, axis))
    return out


def _place(point: Any) -> Floats:
    """Return a point from homogeneous coordinates (w, x, y, z)."""
    w, *xyz = np.asarray(point.array(), dtype=float)
    return np.array(xyz) / w
