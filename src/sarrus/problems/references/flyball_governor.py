"""Motion of the stiff flyball governor in three coordinates, by collocation of high order.

The motion is symmetric: shaft angle phi, angle beta of both rods below the horizontal, height s of the slider. phi
is cyclic, so with the moment of inertia I(beta) about the shaft, a = 0.05 m the offset of the hinges, m, p, M the
masses of a rod, a tip and the slider,

    H = I(beta) phi' = constant
    I = 2 (p (a + cos b)^2 + m (a + cos(b)/2)^2 + i (cos b)^2 + j (sin b)^2) + I_slider + I_shaft
    2 (p + m/4 + i) beta'' = H^2 I'(beta) / (2 I^2) + 2 g (p + m/2) cos(b) - 2 f dl/dbeta
    M s'' = -M g - 2 f dl/ds,    f = K (l - l0) + C l',    l^2 = (cos(b)/2)^2 + (1 - sin(b)/2 - s)^2

with the inertia i of a rod normal to its axis and j about it. The dampers make the problem stiff: a rate of about
8000 1/s together with oscillations of about a second. On each panel beta'' and s'' are polynomials that satisfy
the equations at the Radau points; their first and second integrals are exact. Panels start at 1e-5 s and grow to
LONGEST.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from ...arrays import Floats

STAGES = 24
# Panel lengths and longest time [s]; most Newton iterations.
FIRST, LONGEST, FURTHEST = 1e-5, 0.2, 1000.0
ITERATIONS = 12

GRAVITY, SPEED = 9.81, 2.0 * np.pi
OFFSET = 0.05
ROD_MASS, TIP_MASS, SLIDER_MASS = 0.3, 5.0, 3.0
SLIDER_INERTIA = SLIDER_MASS * 0.1**2 / 6.0
STIFFNESS, DAMPING, FREE_LENGTH = 8e5, 4e4, 0.5
START = np.array([np.pi / 6.0, 0.5])


class Inertia(NamedTuple):
    """Inertia of a rod normal to and about its axis, and of the shaft about its own [kg m2]."""

    across: float
    about: float
    shaft: float


def read_inertia(section: float) -> Inertia:
    """Return the inertia of rods and shaft as prisms of square section [m], with the same mass; 0: thin rods."""
    square = section**2
    about = ROD_MASS * square / 6.0
    return Inertia(ROD_MASS * (1.0 + square) / 12.0, about, about)


def spin_inertia(beta: Floats, inertia: Inertia) -> tuple[Floats, Floats, Floats]:
    """Return the moment of inertia about the shaft [kg m2] and its first two derivatives by beta."""
    sin, cos = np.sin(beta), np.cos(beta)
    # I = c0 + c1 cos + c2 cos^2
    c2 = 2.0 * (TIP_MASS + ROD_MASS / 4.0 + inertia.across - inertia.about)
    c1 = 2.0 * OFFSET * (2.0 * TIP_MASS + ROD_MASS)
    c0 = 2.0 * ((TIP_MASS + ROD_MASS) * OFFSET**2 + inertia.about)
    total = c0 + (c1 + c2 * cos) * cos + SLIDER_INERTIA + inertia.shaft
    return total, -(c1 + 2.0 * c2 * cos) * sin, -c1 * cos - 2.0 * c2 * (cos * cos - sin * sin)


def governor_accelerations(q: Floats, v: Floats, inertia: Inertia) -> tuple[Floats, Floats, Floats]:
    """Return (beta'', s''), and their derivatives by (beta, s) and by (beta', s'), at n states (n, 2)."""
    H = float(spin_inertia(START[:1], inertia)[0][0]) * SPEED
    b, s = q.T
    sin, cos = np.sin(b), np.cos(b)
    rise = 1.0 - 0.5 * sin - s
    length = np.sqrt(0.25 * cos * cos + rise * rise)
    # First and second derivatives of l by (beta, s): l l_i = u_i, l l_ij = u_ij - l_i l_j.
    half = np.stack([-0.25 * cos * sin - 0.5 * cos * rise, -rise], axis=-1)
    l1 = half / length[:, None]
    u2 = np.empty((len(b), 2, 2))
    # Second derivatives of 1/2 l^2 = 1/8 cos^2 + 1/2 rise^2.
    u2[:, 0, 0] = -0.25 * (cos * cos - sin * sin) + 0.5 * sin * rise + 0.25 * cos * cos
    u2[:, 0, 1] = u2[:, 1, 0] = 0.5 * cos
    u2[:, 1, 1] = 1.0
    l2 = (u2 - l1[:, :, None] * l1[:, None, :]) / length[:, None, None]
    rate = np.einsum("ni,ni->n", l1, v)
    force = STIFFNESS * (length - FREE_LENGTH) + DAMPING * rate
    mass = np.array([2.0 * (TIP_MASS + ROD_MASS / 4.0 + inertia.across), SLIDER_MASS])
    total, first, second = spin_inertia(b, inertia)
    weight = 2.0 * GRAVITY * (TIP_MASS + 0.5 * ROD_MASS)
    load = -2.0 * force[:, None] * l1
    load[:, 0] += 0.5 * (H / total) ** 2 * first + weight * cos
    load[:, 1] -= SLIDER_MASS * GRAVITY
    # The damper's part of d force / dq is C l_ij v_j.
    force_q = STIFFNESS * l1 + DAMPING * np.einsum("nij,nj->ni", l2, v)
    load_q = -2.0 * (l1[:, :, None] * force_q[:, None, :] + force[:, None, None] * l2)
    load_q[:, 0, 0] += 0.5 * (H / total) ** 2 * (second - 2.0 * first**2 / total) - weight * sin
    load_v = -2.0 * DAMPING * l1[:, :, None] * l1[:, None, :]
    return load / mass, load_q / mass[:, None], load_v / mass[:, None]


def governor_reference(times: ArrayLike, section: float = 0.01) -> Floats:
    """Return position and velocity of the slider's centre.

    times: instants [s], shape (n,), not negative
    section: side of the square rods and shaft [m], 0 for thin ones
    returns: columns x, y, z [m], vx, vy, vz [m/s], shape (n, 6); x and y are zero
    """
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    breaks, states, once, twice = _motion(section).until(float(np.max(t, initial=1.0)))
    # Before the start there is no motion: return the initial state.
    late = np.maximum(t, 0.0)
    panel = np.clip(np.searchsorted(breaks, late, side="right") - 1, 0, len(breaks) - 2)
    h, within = breaks[panel + 1] - breaks[panel], late - breaks[panel]
    x = 2.0 * within / h - 1.0
    s0, v0 = states[panel, 1], states[panel, 3]
    v = v0 + h * legendre.legval(x, once[panel].T, tensor=False)
    s = s0 + within * v0 + h * h * legendre.legval(x, twice[panel].T, tensor=False)
    zero = np.zeros_like(s)
    return np.column_stack([zero, zero, s, zero, zero, v])


class _Motion:
    """The motion up to the latest requested time; panels are added as needed."""

    def __init__(self, section: float) -> None:
        self.inertia = read_inertia(section)
        self.breaks = [0.0]
        # (beta, s, beta', s') at the breaks
        self.states = [np.concatenate([START, np.zeros(2)])]
        # Legendre series of the first and second integral of s'' over each panel.
        self.once: list[Floats] = []
        self.twice: list[Floats] = []
        self.last = np.zeros(2)

    def until(self, reach: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return breaks, states there, and the series of the panels, up to `reach` seconds."""
        if reach > FURTHEST:
            raise ValueError(f"the governor's reference ends at {FURTHEST:g} s, not {reach:g} s")
        while self.breaks[-1] <= reach:
            self._add(min(FIRST * 2.0 ** min(len(self.once), 60), LONGEST))
        return tuple(np.array(x) for x in (self.breaks, self.states, self.once, self.twice))  # type: ignore[return-value]

    def _add(self, h: float) -> None:
        """Solve a = f(q, v) at the points of a panel by Newton's method."""
        c, A, once, twice = _radau_points(STAGES)
        AA = A @ A
        q0, v0 = self.states[-1][:2], self.states[-1][2:]
        a = np.tile(self.last, (STAGES, 1))
        for _ in range(ITERATIONS):
            q = q0 + h * c[:, None] * v0 + h * h * (AA @ a)
            f, f_q, f_v = governor_accelerations(q, v0 + h * (A @ a), self.inertia)
            K = np.eye(a.size).reshape(STAGES, 2, STAGES, 2)
            K -= (h * h) * f_q[:, :, None, :] * AA[:, None, :, None]
            K -= h * f_v[:, :, None, :] * A[:, None, :, None]
            step = np.linalg.solve(K.reshape(a.size, a.size), (f - a).ravel()).reshape(a.shape)
            a = a + step
            # The next step would be of the order of this one squared.
            if np.abs(step).max() <= 1e-8 * np.abs(a).max():
                break
        self.breaks.append(self.breaks[-1] + h)
        end = (q0 + h * v0 + h * h * (AA[-1] @ a), v0 + h * (A[-1] @ a))
        self.states.append(np.concatenate(end))
        self.once.append(once @ a[:, 1])
        self.twice.append(twice @ a[:, 1])
        self.last = a[-1]


@lru_cache(maxsize=4)
def _motion(section: float) -> _Motion:
    return _Motion(section)


@lru_cache(maxsize=2)
def _radau_points(stages: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return Radau points c on (0, 1] and A: integrals from 0 to c_i of the interpolating polynomials.

    Also return the matrices that map values at the points to the Legendre coefficients, over the panel, of the
    first and the second integral of the interpolating polynomial.
    """
    x = np.sort(legendre.legroots([*np.zeros(stages - 1), -1.0, 1.0]).real)
    x[-1] = 1.0
    coefficients = np.linalg.inv(legendre.legvander(x, stages - 1))
    once = np.asarray(0.5 * legendre.legint(coefficients, lbnd=-1, axis=0), dtype=np.float64)
    twice = np.asarray(0.5 * legendre.legint(once, lbnd=-1, axis=0), dtype=np.float64)
    return (
        0.5 * (x + 1.0),
        np.asarray(legendre.legvander(x, stages) @ once),
        once,
        np.asarray(twice),
    )
