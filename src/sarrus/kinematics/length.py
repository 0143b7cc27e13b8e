"""The length of a mechanism: one number [m] with which others are compared."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from ..thresholds import NO_ARM

# a link between two joints is about twice the arm from its centre to one of them
LINK = 2.0


def measure_length(mechanism: Mechanism) -> float:
    """The mean arm, from the centre of a body to where it is held: its joints, links and springs [m].

    Without arms it is the spread of the mass that counts, or half a metre for points. A typical link is LINK
    times as long.
    """
    held = _held_places(mechanism)
    arms = [
        float(np.linalg.norm(place - body.center))
        for body in mechanism.bodies
        for place in held[body.name]
    ]
    spread = [float(np.sqrt(np.max(b.inertia) / b.mass)) for b in mechanism.bodies]
    long = [a for a in arms if a > NO_ARM * max([*arms, *spread])]
    return float(np.mean(long or [s for s in spread if s > 0] or [1.0 / LINK]))


def _held_places(mechanism: Mechanism) -> dict[str, list[Floats]]:
    """Where each body is held, by name."""
    at: dict[str, list[Floats]] = defaultdict(list)
    # links without mass and springs hold bodies, too
    links = [j for j in mechanism.joints if j.kind.row.is_link]
    for joint in [*(j for j in mechanism.joints if not j.kind.row.is_link), *links]:
        for end in joint.ends:
            at[end.body] += [] if end.place is None else [end.place]
    for spring in mechanism.springs:
        for body, place in zip(spring.bodies, spring.ends, strict=True):
            at[body].append(place)
    return at
