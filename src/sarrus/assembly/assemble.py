"""Closes loops from approximate positions; the method is in loop_closing.py and docs/assembly.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from scipy import sparse

from .. import assembly, verdict
from ..arrays import Flags, Floats
from ..mechanism import (
    Body,
    Gap,
    Mechanism,
    MechanismError,
    check_mechanism,
    find_gaps,
    move_bodies,
    resize_rods,
    turn_rods_into_bodies,
    without_drives,
)
from ..names import describe_known, suggests
from ..notebook_display import Sentences
from ..thresholds import CLOSED_ASSEMBLY, SAME_ANSWER

if TYPE_CHECKING:
    from ..verdict.joint_equations import JointEquations
    from .loop_closing import Closing


@dataclass(frozen=True, eq=False)
class Assembly(Sentences):
    """A closed mechanism and how it was closed.

    Attributes
    ----------
    mechanism : Mechanism
        A new mechanism, defined at the closed configuration.
    moved, moved_body : float, str
        Largest displacement of a centre of mass [m], and its body.
    turned, turned_body : float, str
        Largest rotation of a body [rad], and its body.
    distance : float
        Norm of the weighted displacement [m], which is minimal.
    iterations : int
        Number of steps.
    gaps_before, gaps_after : dict of str to Gap
        The gap of each joint.
    velocities : tuple of str
        Sentences on given velocities that had to change.
    start : int
        0 if the configuration was reached from the given one, else the number of the random start that led to it.
    """

    mechanism: Mechanism = field(repr=False)
    moved: float
    moved_body: str
    turned: float
    turned_body: str
    distance: float
    iterations: int
    gaps_before: dict[str, Gap] = field(repr=False)
    gaps_after: dict[str, Gap] = field(repr=False)
    velocities: tuple[str, ...] = ()
    start: int = 0

    @property
    def gap_before(self) -> Gap:
        """The largest gap of all joints before closing."""
        return _largest(self.gaps_before)

    @property
    def gap_after(self) -> Gap:
        """The largest gap of all joints after closing: rounding, or a gap within the accepted misfit."""
        return _largest(self.gaps_after)

    @property
    def unmoved(self) -> bool:
        """Whether the mechanism was already closed and nothing was changed."""
        return self.iterations == 0

    def __str__(self) -> str:
        if self.unmoved:
            return f"'{self.mechanism.name}' is closed as given; nothing was moved"
        how = f" from random start {self.start}" if self.start else ""
        text = (
            f"'{self.mechanism.name}' was assembled{how} in {self.iterations} steps: the largest gap was "
            f"{self.gap_before} and is {self.gap_after}; bodies moved by at most {self.moved:.6g} m "
            f"('{self.moved_body}') and turned by at most {self.turned:.6g} rad ('{self.turned_body}')"
        )
        return "; ".join([text, *self.velocities])

    def as_dict(self) -> dict[str, Any]:
        """The record as plain numbers and strings, for JSON."""
        return {
            "mechanism": self.mechanism.name,
            "moved": self.moved,
            "moved_body": self.moved_body,
            "turned": self.turned,
            "turned_body": self.turned_body,
            "distance": self.distance,
            "iterations": self.iterations,
            "start": self.start,
            "gaps_before": {n: [g.metres, g.radians] for n, g in self.gaps_before.items()},
            "gaps_after": {n: [g.metres, g.radians] for n, g in self.gaps_after.items()},
            "velocities": list(self.velocities),
        }


class AssemblyError(MechanismError):
    """A mechanism that cannot be closed.

    Attributes
    ----------
    nearest : Mechanism
        The mechanism with minimal gaps (sum of squares, radians times the mechanism's length); joints remain open.
    gaps : dict of str to Gap
        The gap of each joint there.
    loop : tuple of str
        Joints of the loop, starting with the worst one; empty if the worst joint is not in a loop.
    reason : str
        States the loop and its gap.
    """

    def __init__(
        self,
        message: str,
        nearest: Mechanism,
        gaps: dict[str, Gap],
        loop: tuple[str, ...],
        reason: str,
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.reason = reason
        self.gaps = gaps
        self.loop = loop


@suggests
def assemble(
    mechanism: Mechanism,
    *,
    weights: Mapping[str, float] | None = None,
    fixed: Iterable[Body | str] = (),
    misfit: float = 0.0,
    lengths: Mapping[str, float] | None = None,
) -> Assembly:
    """Close the loops of a mechanism whose joints are apart, by the least motion of its bodies.

    Parameters
    ----------
    mechanism : Mechanism
        A mechanism whose joints may be apart. If it is already closed, it is returned unchanged, to the last bit.
    weights : mapping of str to float, optional
        Resistance of bodies to displacement, by name; by default the length of the body over that of the
        mechanism.
    fixed : iterable of Body or str
        Bodies that must not move.
    misfit : float
        Gaps up to this size [m] are accepted if the mechanism cannot be closed (radians count times the
        mechanism's length); dimensions then change by as much.
    lengths : mapping of str to float, optional
        Lengths of rods [m], by name, if they were drawn at rough coordinates. Each rod is first set to its length,
        together with the parts on it.

    Returns
    -------
    Assembly
        The closed mechanism and a record of the displacements.

    Raises
    ------
    AssemblyError
        If the mechanism cannot be closed; with the loop, its gap and the nearest configuration.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("four-bar")
    >>> _ = m.rod("crank", (0, 0), (0, 1), mass=1)
    >>> _ = m.rod("coupler", (0, 1.1), (2, 1.1), mass=1)
    >>> _ = m.rod("rocker", (2, 0), (2, 1.5), mass=1)
    >>> _ = m.revolute("A", m.ground, "crank", at=(0, 0))
    >>> _ = m.revolute("B", "crank", "coupler", at=[(0, 1), (0, 1.1)])
    >>> _ = m.revolute("C", "coupler", "rocker", at=[(2, 1.1), (2, 1.5)])
    >>> _ = m.revolute("D", "rocker", m.ground, at=(2, 0))
    >>> done = sarrus.assemble(m)
    >>> sarrus.inspect(done.mechanism).mobility_motion
    1
    """
    given = {"weights": weights, "fixed": fixed, "misfit": misfit, "lengths": lengths}
    return assemble_branches(mechanism, 1, **given)[0]  # type: ignore[arg-type]


@suggests
def assemble_branches(
    mechanism: Mechanism,
    most: int,
    *,
    weights: Mapping[str, float] | None = None,
    fixed: Iterable[Body | str] = (),
    misfit: float = 0.0,
    lengths: Mapping[str, float] | None = None,
) -> list[Assembly]:
    """Up to `most` different closed positions (elbow up, elbow down, ...), nearest first.

    The search uses random starts, which are the same in every call. On each branch that can move, it returns the
    configuration nearest to the given one.

    Parameters
    ----------
    mechanism : Mechanism
        A mechanism whose joints may be apart.
    most : int
        Largest number of configurations.
    weights, fixed, misfit, lengths
        As for `assemble`.

    Returns
    -------
    list of Assembly
        The first one is the result of `assemble`.

    Raises
    ------
    AssemblyError
        If the mechanism cannot be closed.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("four-bar")
    >>> _ = m.rod("crank", (0, 0), (0, 1), mass=1)
    >>> _ = m.rod("coupler", (0, 1.1), (2, 1.1), mass=1)
    >>> _ = m.rod("rocker", (2, 0), (2, 1.5), mass=1)
    >>> _ = m.revolute("A", m.ground, "crank", at=(0, 0))
    >>> _ = m.revolute("B", "crank", "coupler", at=[(0, 1), (0, 1.1)])
    >>> _ = m.revolute("C", "coupler", "rocker", at=[(2, 1.1), (2, 1.5)])
    >>> _ = m.revolute("D", "rocker", m.ground, at=(2, 0))
    >>> len(sarrus.assemble_branches(m, 2))
    2
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism, closed=False)
    if lengths:
        mechanism = resize_rods(mechanism, lengths)
    allowed, wanted = _number("misfit", misfit, least=0.0), int(_number("most", most, least=1.0))
    # SciPy's solvers load slowly: import them only for an assembly
    equations = verdict.joint_equations.make_joint_equations(without_drives(mechanism))
    apart = bool(find_gaps(mechanism))
    chosen = _weights(equations, weights or {}, fixed, everything=wanted > 1)
    before = assembly.loop_closing.joint_gaps(equations, equations.gaps(equations.start()))
    if not apart:
        untouched = Assembly(mechanism, 0.0, "", 0.0, "", 0.0, 0, before, before)
        if wanted == 1:
            return [untouched]
    found = assembly.loop_closing.find_closed(
        equations,
        chosen,
        branches=wanted,
        closed=max(CLOSED_ASSEMBLY, allowed / equations.length),
        restarts=assembly.loop_closing.RESTARTS if wanted == 1 else 20 * wanted,
    )
    if not found[0].closed:
        raise _cannot_close(mechanism, equations, found[0])
    out = [_written(mechanism, equations, c, before) for c in found]
    if not apart:
        # the given configuration is the first branch, to the last bit
        out = [untouched, *(a for a in out if a.distance > SAME_ANSWER * equations.length)][:wanted]
    return out


def _written(
    mechanism: Mechanism, equations: JointEquations, found: Closing, before: dict[str, Gap]
) -> Assembly:
    """The mechanism at a closed configuration, and the record."""
    moved = turn_rods_into_bodies(
        move_bodies(mechanism, assembly.loop_closing.moves_to(mechanism, equations, found.pose))
    )
    sentences = assembly.velocities.fit_velocities(moved)
    move = equations.start().displacement(found.pose)
    far, turns = np.linalg.norm(move[:, :3], axis=1), np.linalg.norm(move[:, 3:], axis=1)
    a, b = int(np.argmax(far)), int(np.argmax(turns))
    return Assembly(
        mechanism=moved,
        moved=float(far[a]),
        moved_body=equations.bodies[a],
        turned=float(turns[b]),
        turned_body=equations.bodies[b],
        distance=found.distance,
        iterations=found.iterations,
        gaps_before=before,
        gaps_after=assembly.loop_closing.joint_gaps(equations, found.gaps),
        velocities=tuple(sentences),
        start=found.start,
    )


def _weights(
    equations: JointEquations,
    weights: Mapping[str, float],
    fixed: Iterable[Body | str],
    everything: bool,
) -> Floats:
    """Weight of each body; infinite if it must not move, or if it is not connected to an open joint."""
    number = {name: i for i, name in enumerate(equations.bodies)}
    out = assembly.loop_closing.usual_weights(equations)
    for name, value in weights.items():
        if name not in number:
            raise MechanismError(
                f"weight of '{name}': there is no such body; {describe_known(name, number)}"
            )
        out[number[name]] = _number(f"weight of '{name}'", value, least=1e-12)
    for body in [fixed] if isinstance(fixed, Body | str) else fixed:
        name = body.name if isinstance(body, Body) else body
        if name not in number:
            raise MechanismError(
                f"fixed body '{name}': there is no such body; {describe_known(name, number)}"
            )
        out[number[name]] = np.inf
    if not everything:
        out[~_reached(equations)] = np.inf
    return out


def _reached(equations: JointEquations) -> Flags:
    """Bodies connected to an open joint, without paths through the ground."""
    pairs, tied = equations.pair_bodies, equations.row_other >= 0
    # a coupling connects across the ground
    ends = [pairs[number[tied]].max(axis=1) for number in (equations.row_pair, equations.row_other)]
    free = np.vstack([pairs, np.column_stack(ends)])
    free = free[(free >= 0).all(axis=1)]
    n = len(equations.bodies)
    links = sparse.coo_array((np.ones(len(free)), (free[:, 0], free[:, 1])), shape=(n, n))
    _, part = scipy.sparse.csgraph.connected_components(links, directed=False)
    # gaps of rounding size count as closed
    size = np.where(equations.row_about, 1.0, equations.length + np.abs(equations.origin).max())
    open_ = np.abs(equations.gaps(equations.start())) > CLOSED_ASSEMBLY * size
    touched = pairs[equations.row_pair[open_]]
    return np.isin(part, part[touched[touched >= 0]])


def _cannot_close(mechanism: Mechanism, equations: JointEquations, found: Closing) -> AssemblyError:
    loop, sentence = assembly.loop_closing.describe_gap(equations, found)
    nearest = move_bodies(
        mechanism, assembly.loop_closing.moves_to(mechanism, equations, found.pose), closed=False
    )
    message = (
        f"mechanism '{mechanism.name}': {sentence}; check the lengths of its bodies and the positions of their "
        "joints. The configuration is in .nearest, the gap of each joint in .gaps"
    )
    gaps = assembly.loop_closing.joint_gaps(equations, found.gaps)
    return AssemblyError(message, nearest, gaps, tuple(loop), sentence)


def _largest(gaps: dict[str, Gap]) -> Gap:
    return Gap(
        max((g.metres for g in gaps.values()), default=0.0),
        max((g.radians for g in gaps.values()), default=0.0),
    )


def _number(what: str, value: Any, least: float) -> float:
    try:
        number = float("text" if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {value!r} is not a number; give a plain number") from error
    if not number >= least:
        raise MechanismError(f"{what} = {number:g}; give a number of at least {least:g}")
    return number
