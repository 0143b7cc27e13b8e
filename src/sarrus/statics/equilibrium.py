"""Where a mechanism can rest.

The search for an equilibrium is a trust-region method on the potential energy: Newton's step in the
freedoms, shortened where the model of the energy is not good, along a direction of negative curvature
where the position is not stable, and back onto the constraints after each step [ConnGouldToint2000].
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from ..names import pick
from ..thresholds import BALANCED, BALANCED_ENOUGH
from .state import State, System, make_system

# steps of the search, and their lengths: at first, at most, and where it gives up
ITERATIONS = 1000
FIRST, LONGEST, SHORTEST = 0.1, 0.5, 1e-14
# further from its start than this, in typical links, a mechanism falls without end
FAR = 100.0


@dataclass(frozen=True)
class Equilibrium:
    """Where a mechanism can rest, or why it was not found.

    found: whether forces balance at this position; stable: whether every small displacement costs
    energy; message: one sentence; residual: force along the freedoms as a share of all forces;
    iterations: steps of the search.
    """

    mechanism: str
    found: bool
    stable: bool
    message: str
    residual: float
    iterations: int
    points: dict[str, Floats] = field(repr=False)
    coordinates: Floats = field(repr=False)

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.mechanism}': {self.message}>"

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body [m]."""
        return pick(self.points, name, "joint, point or body")


def equilibrium(mechanism: Mechanism) -> Equilibrium:
    """Find the stable equilibrium that a mechanism falls into from its start position, at rest.

    Driven joints are held where they are at the start. Where none is found, `found` is False and the
    message says why: nothing holds the mechanism, or the loops cannot be followed.
    """
    system = make_system(mechanism)
    q, message, found, steps = _search(system)
    at = system.state(q)
    stiffness = at.stiffness_values
    stable = found and bool(np.all(stiffness > at.indifferent))
    if found and not stable:
        count = int(np.count_nonzero(np.abs(stiffness) <= at.indifferent))
        message = f"{message}; indifferent in {count} of {len(stiffness)} freedoms"
    if found and at.singular:
        message = f"{message}; a singular position, where freedoms meet"
    return Equilibrium(
        mechanism=mechanism.name,
        found=found,
        stable=stable,
        message=message,
        residual=at.residual,
        iterations=steps,
        points=system.places(q),
        coordinates=q,
    )


def _search(system: System) -> tuple[Floats, str, bool, int]:
    """Position, message, whether forces balance there, and steps taken."""
    q = np.zeros(system.model.coordinates)
    radius = FIRST
    here = system.state(q)
    if here.freedoms == 0:
        return q, "it has no freedom: every position is at rest", True, 0
    for step in range(ITERATIONS):
        if here.force_scale == 0.0:
            return q, "no force acts: it rests anywhere", True, step
        K = 0.5 * (here.stiffness + here.stiffness.T)
        values, vectors = np.linalg.eigh(K)
        if here.residual <= BALANCED and values[0] >= -here.indifferent:
            return q, f"at rest after {step} steps", True, step
        g = vectors.T @ here.gradient
        move = vectors @ _trust_step(values, g, radius, here.indifferent)
        there = system.close(q + here.freedom_basis @ move)
        gain, fits = 0.0, 0.0
        if there is not None:
            expected = float(here.gradient @ move + 0.5 * move @ K @ move)
            gain = _work(system, q, there)
            fits = -gain / expected if expected < 0 else 0.0
        # rounding of the work near the end says nothing about the model of the energy
        tiny = float(np.linalg.norm(move)) < 1e-6
        if there is None or (fits < 0.1 and not tiny):
            radius = 0.25 * min(radius, float(np.linalg.norm(move)))
            if radius < SHORTEST:
                return q, _stuck(here), False, step
            continue
        if fits > 0.75:
            radius = min(2.0 * radius, LONGEST)
        before = here.residual
        q, here = there, system.state(there)
        if np.abs(q).max() > FAR:
            return q, "nothing holds it: it falls without end", False, step
        # rounding allows no more
        ended = tiny and 0.5 * before <= here.residual < BALANCED_ENOUGH
        if ended and here.stiffness_values[0] >= -here.indifferent:
            return q, f"at rest after {step + 1} steps", True, step + 1
    return q, f"no rest within {ITERATIONS} steps: {_stuck(here)}", False, ITERATIONS


def _stuck(here: State) -> str:
    return (
        f"the search ended where {here.residual:.1e} of all forces are not balanced; the position is "
        "next to a singular one, or the forces have no potential"
    )


def _trust_step(values: Floats, g: Floats, radius: float, least: float) -> Floats:
    """Minimise g . p + 1/2 sum values p^2 with |p| <= radius."""
    low = float(values[0])
    if low > least:
        newton = -g / values
        if np.linalg.norm(newton) <= radius:
            return newton

    def length(shift: float) -> float:
        return float(np.linalg.norm(g / (values + shift)))

    # shifts that make all values positive
    floor = max(0.0, -low) + max(least, 1e-14 * float(np.abs(values).max()))
    if length(floor) <= radius:
        # on a ridge: the force does not say which way to fall; it falls along the weakest value
        p = -g / (values + floor)
        rest = np.sqrt(max(radius**2 - float(p @ p), 0.0))
        p[0] += np.copysign(rest, p[0] if p[0] != 0.0 else 1.0) if low < -least else 0.0
        return p
    high = floor + float(np.linalg.norm(g)) / radius
    for _ in range(60):
        middle = 0.5 * (floor + high)
        floor, high = (middle, high) if length(middle) > radius else (floor, middle)
    return -g / (values + high)


def _work(system: System, a: Floats, b: Floats) -> float:
    """Work of all forces on the straight way from a to b, by Simpson's rule: the drop of the energy."""
    forces = [system.loads(a + share * (b - a))[0] for share in (0.0, 0.5, 1.0)]
    return float((forces[0] + 4.0 * forces[1] + forces[2]) @ (b - a)) / 6.0
