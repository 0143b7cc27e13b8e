"""Scissors of n units on a foot and a slide: one angle determines everything, so the motion is known.

Unit i has two arms with a common pin; p_i and p_(i+1) are the parts below and above it, so that all arms stand
at the same angle a. With the foot at the origin,

    L_i = ((p_0 - p_i) cos a, Y_i sin a),   R_i = ((p_0 + p_i) cos a, Y_i sin a),
    Y_i = sum of p_j + p_(j+1) over j < i.

Where sin a or cos a vanishes all arms lie on one line: motions meet. Upright long ones whip through: the weights
stand still there and the arms do not.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from sarrus import Mechanism

G = 9.81


@dataclass(frozen=True)
class Scissors:
    """Parts of the arms [m], their masses [kg], and the angle [rad] and its rate [1/s] at the start."""

    parts: np.ndarray
    masses: np.ndarray
    angle: float
    rate: float

    @property
    def heights(self):
        """Y_i [m]."""
        return np.concatenate([[0.0], np.cumsum(self.parts[:-1] + self.parts[1:])])

    def mechanism(self):
        """The mechanism at its start."""
        m = Mechanism("scissors", gravity=(0.0, -G))
        p, Y, c, s = self.parts, self.heights, np.cos(self.angle), np.sin(self.angle)
        left = np.column_stack([(p[0] - p) * c, Y * s])
        right = np.column_stack([(p[0] + p) * c, Y * s])
        n = len(self.masses)
        for i in range(n):
            m.rod(f"a{i}", left[i], right[i + 1], mass=self.masses[i, 0])
            m.rod(f"b{i}", right[i], left[i + 1], mass=self.masses[i, 1])
            m.revolute(f"M{i}", f"a{i}", f"b{i}", at=(p[0] * c, (Y[i] + p[i]) * s))
        for i in range(1, n):
            m.revolute(f"L{i}", f"b{i - 1}", f"a{i}", at=left[i])
            m.revolute(f"R{i}", f"a{i - 1}", f"b{i}", at=right[i])
        m.revolute("foot", m.ground, "a0", at=left[0])
        m.point_on_line("slide", m.ground, "b0", at=right[0], axis=(1.0, 0.0))
        m.set_velocity("M0", (-p[0] * s * self.rate, p[0] * c * self.rate))
        return m

    def crossings(self, duration):
        """Times [s] at which all arms lie on one line, by an ordinary integrator: a'' of the one angle."""
        p, Y = self.parts, self.heights
        across = up = weight = 0.0
        for i, pair in enumerate(self.masses):
            for mass, ends in zip(
                pair, ((p[0] - p[i], p[0] + p[i + 1]), (p[0] + p[i], p[0] - p[i + 1])), strict=True
            ):
                across += mass / 3 * (ends[0] ** 2 + ends[0] * ends[1] + ends[1] ** 2)
                up += mass / 3 * (Y[i] ** 2 + Y[i] * Y[i + 1] + Y[i + 1] ** 2)
                weight += mass / 2 * G * (Y[i] + Y[i + 1])

        def rates(_, y):
            s, c = np.sin(y[0]), np.cos(y[0])
            force = -(across - up) * s * c * y[1] ** 2 - weight * c
            return y[1], force / (across * s**2 + up * c**2)

        found = solve_ivp(
            rates, (0.0, duration), (self.angle, self.rate), "DOP853", rtol=1e-12, atol=1e-12,
            events=lambda _, y: np.sin(2 * y[0]),
        )  # fmt: skip
        return np.sort(found.t_events[0])


def random_scissors(n, seed):
    """Some scissors of n units."""
    rng = np.random.default_rng(seed)
    return Scissors(
        rng.uniform(0.3, 0.7, n + 1),
        rng.uniform(0.5, 2.0, (n, 2)),
        rng.uniform(0.3, 1.2),
        rng.uniform(-2.0, 2.0),
    )
