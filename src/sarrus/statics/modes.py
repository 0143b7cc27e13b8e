"""Small motions about an equilibrium: frequencies, damping, mode shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy

from ..arrays import Complex, Floats
from ..mechanism import Mechanism, MechanismError
from ..names import pick, suggests
from ..notebook_display import html_table
from ..thresholds import NEAR_BALANCE, NEAR_SINGULAR_MODES, REAL_VALUE, STABLE, SYMMETRIC
from .equilibrium import Equilibrium, StaticState, make_system

if TYPE_CHECKING:
    from ..model import Model


@dataclass(frozen=True)
class Mode:
    """One small motion: x(t) = Re(shape exp(eigenvalue t)).

    Attributes
    ----------
    eigenvalue : complex
        Eigenvalue [1/s]; of a conjugate pair, the one above the real axis.
    frequency : float
        Natural frequency of the undamped motion [Hz], |eigenvalue| / (2 pi); 0 if the motion does not oscillate.
    damping : float
        Damping ratio; 1 or more if the motion does not oscillate.

    `shape` gives the velocities of named points, normalised so that the largest is 1.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shapes: dict[str, Complex] = field(repr=False)

    def shape(self, name: str) -> Complex:
        """Velocity of a joint, named point or centre of a body in this mode, shape (dimension,)."""
        return pick(self.shapes, name, "joint, point or body")


@dataclass(frozen=True)
class Modes:
    """Small motions about a position of rest, slowest first; notes: what a user should know."""

    mechanism: str
    modes: tuple[Mode, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.modes)

    def __getitem__(self, i: int) -> Mode:
        return self.modes[i]

    def _repr_html_(self) -> str:
        rows = [
            (i, f"{m.frequency:.6g}", f"{m.damping:.6g}", f"{m.eigenvalue:.6g}")
            for i, m in enumerate(self.modes, 1)
        ]
        heads = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [1/s]")
        return html_table(f"Small motions of {self.mechanism}", heads, rows)

    @property
    def eigenvalues(self) -> Complex:
        """All eigenvalues [1/s], two per degree of freedom, conjugate pairs next to each other."""
        found = []
        for mode in self.modes:
            z = mode.eigenvalue
            # a degree of freedom without stiffness and damping has the double eigenvalue 0
            found += [z] if z.imag == 0.0 and z != 0.0 else [z, z.conjugate()]
        return np.array(found)

    @property
    def frequencies(self) -> Floats:
        """Natural frequencies of all modes [Hz]."""
        return np.array([mode.frequency for mode in self.modes])

    @property
    def damping(self) -> Floats:
        """Damping ratios of all modes."""
        return np.array([mode.damping for mode in self.modes])

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        return bool(
            np.all(self.eigenvalues.real <= STABLE * np.abs(self.eigenvalues).max(initial=0.0))
        )


@suggests
def modes(mechanism: Mechanism, at: Equilibrium | None = None) -> Modes:
    """Natural frequencies, damping and shapes of small motions about a position of rest.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    at : Equilibrium, optional
        An equilibrium found by `equilibrium`. By default the start configuration must be an equilibrium.

    Returns
    -------
    Modes
        The modes, slowest first, with notes.

    Raises
    ------
    MechanismError
        If forces do not balance, or if the configuration is singular.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum")
    >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
    >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
    >>> _ = m.point("tip", "rod", (1, 0))
    >>> found = sarrus.modes(m, at=sarrus.equilibrium(m))
    >>> round(float(found.frequencies[0]), 4)
    0.6105
    """
    system = make_system(mechanism)
    model = system.model
    q = np.zeros(model.coordinates)
    if at is not None:
        if at.mechanism != mechanism.name or at.coordinates.shape != q.shape:
            raise MechanismError(
                f"the equilibrium is that of '{at.mechanism}', not of '{mechanism.name}'; give its own"
            )
        q = at.coordinates
        # first, because it looks at the start configuration, where torsion springs may be turns away
        _ = system.scale
        system.angles = at.angles
    here = system.state(q)
    if here.residual > NEAR_BALANCE:
        raise MechanismError(
            f"'{mechanism.name}' is not at rest here: {here.residual:.2g} of all forces are not "
            "balanced along its degrees of freedom; find an equilibrium by sarrus.equilibrium and give it as `at`"
        )
    if here.singular:
        raise MechanismError(
            f"'{mechanism.name}' is at a singular configuration: {here.dof} first-order degrees of "
            "freedom, and small "
            "motions are not those of one linear system; move it a little off"
        )
    values, shapes = _solve_modes(here)
    notes = []
    if here.smallest < NEAR_SINGULAR_MODES:
        notes.append(
            f"close to a singular configuration: the smallest singular value of J is {here.smallest:.1e}"
        )
    found = [
        _make_mode(model, values[i], here.dof_basis @ shapes[:, i])
        for i in sorted(_one_of_each(values), key=lambda i: (abs(values[i]), -values[i].real))
    ]
    return Modes(mechanism.name, tuple(found), tuple(notes))


def _solve_modes(here: StaticState) -> tuple[Complex, Complex]:
    """Eigenvalues and, as columns, displacements in the degrees of freedom."""
    Z = here.dof_basis
    M, C, K = Z.T @ here.system.M @ Z, -Z.T @ here.Q_v @ Z, here.stiffness
    n = len(K)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0), complex)
    scale = float(np.abs(K).max(initial=0.0))
    even = np.abs(K - K.T).max() <= SYMMETRIC * max(scale, here.indifferent)
    if not np.any(C) and even:
        squares, shapes = scipy.linalg.eigh(0.5 * (K + K.T), M)
        # rounding of the stiffness in the unit of each mode; shapes have unit mass
        sizes = here.indifferent * np.sum(shapes**2, axis=0)
        squares = np.where(np.abs(squares) <= sizes, 0.0, squares)
        roots = np.sqrt(-squares.astype(complex))
        return np.concatenate([roots, -roots]), np.hstack([shapes, shapes]).astype(complex)
    # degrees of freedom without stiffness and damping have the double eigenvalue 0, which rounding would split
    sizes, vectors = np.linalg.eigh(0.5 * (K + K.T))
    free = vectors[:, np.abs(sizes) <= here.indifferent]
    noise = 1e-12 * max(float(np.abs(C).max()), here.indifferent)
    if max(np.abs(C @ free).max(initial=0.0), np.abs(free.T @ C).max(initial=0.0)) > noise:
        free = vectors[:, :0]
    # the other degrees of freedom, mass-orthogonal to these
    T = scipy.linalg.null_space(free.T @ M) if free.shape[1] else np.eye(n)
    m = T.shape[1]
    first = np.block([[np.zeros((m, m)), np.eye(m)], [-T.T @ K @ T, -T.T @ C @ T]])
    second = np.block([[np.eye(m), np.zeros((m, m))], [np.zeros((m, m)), T.T @ M @ T]])
    values, vectors = scipy.linalg.eig(first, second)
    zeros = np.zeros(2 * free.shape[1])
    return np.concatenate([zeros, values]), np.hstack([free, free, T @ vectors[:m]])


def _one_of_each(values: Complex) -> list[int]:
    """Indices of one eigenvalue of every conjugate pair, every real one, and one of +-0."""
    chosen: list[int] = []
    rests = 0
    for i, value in enumerate(values):
        if value == 0.0:
            rests += 1
            if rests % 2:
                chosen.append(i)
        elif value.imag >= -REAL_VALUE * abs(value):
            chosen.append(i)
    return chosen


def _make_mode(model: Model, value: complex, direction: Complex) -> Mode:
    rates = (model.places @ direction).reshape(len(model.points), model.dimension)
    flat = rates.ravel()
    largest = flat[np.argmax(np.abs(flat))] if flat.size else 1.0
    if largest != 0.0:
        rates = rates / largest
    size = abs(value)
    swings = abs(value.imag) > REAL_VALUE * size
    return Mode(
        # avoid negative zeros
        eigenvalue=complex(value.real + 0.0, value.imag + 0.0 if swings else 0.0),
        frequency=float(size / (2.0 * np.pi)) if swings else 0.0,
        damping=float(-value.real / size) if size > 0.0 else 0.0,
        shapes={name: rates[i] for name, i in model.points.items()},
    )
