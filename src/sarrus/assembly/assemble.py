"""Loops closed from approximate positions; how: closing.py and docs/assembly.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import assembly, verdict
from ..arrays import Flags, Floats
from ..mechanism import (
    Body,
    Gap,
    Mechanism,
    MechanismError,
    check_mechanism,
    find_gaps,
    loosen_rods,
    move_bodies,
    resize_rods,
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

    mechanism: a new one, written at the closed position; moved [m]: how far the centre of the body
    `moved_body` went, turned [rad]: how far `turned_body` turned, both the largest; distance [m]: length of
    the whole displacement, which is least, as weighted; gaps_before, gaps_after: of each joint; velocities:
    sentences on given velocities that had to change; start: 0 if it was reached from the given position, else
    the number of the random start that led here.
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
        """The largest gap of all joints before."""
        return _largest(self.gaps_before)

    @property
    def gap_after(self) -> Gap:
        """The largest gap of all joints afterwards: rounding, or what the allowed misfit bridges."""
        return _largest(self.gaps_after)

    @property
    def unmoved(self) -> bool:
        """Whether the mechanism was closed already and nothing was touched."""
        return self.iterations == 0

    def __str__(self) -> str:
        if self.unmoved:
            return f"'{self.mechanism.name}' is assembled as it stands; nothing was moved"
        how = f" from random start {self.start}" if self.start else ""
        text = (
            f"'{self.mechanism.name}' was assembled{how} in {self.iterations} steps: the largest gap was "
            f"{self.gap_before} and is {self.gap_after}; bodies moved by at most {self.moved:.6g} m "
            f"('{self.moved_body}') and turned by at most {self.turned:.6g} rad ('{self.turned_body}')"
        )
        return "; ".join([text, *self.velocities])

    def as_dict(self) -> dict[str, Any]:
        """The record as plain numbers and words, for JSON."""
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

    nearest: the mechanism where its gaps are least (sum of squares, radians times the mechanism's length),
    the places of its joints still apart; gaps: of each joint there; loop: its joints, from the worst one on,
    empty if the worst joint is in no loop; reason: which loop it is, and by how much, in words.
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

    weights: how reluctant bodies are to move, by name; its length compared with the mechanism's for a body
    that is left out. fixed: bodies that must not move. misfit [m]: gaps up to this size are accepted where
    it cannot close (radians count times the mechanism's length); dimensions then change by as much.
    lengths [m]: of rods by name, where they were drawn at rough coordinates: each is first given its length,
    with what is on it.

    A mechanism that is closed already is returned as it is, to the last bit. Raises AssemblyError, with the
    loop, its gap and the nearest position, if it cannot be closed.
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

    They are searched from random starts, always the same ones; on each branch that can move, a position
    that is nearest to the given one on it. The first is what `assemble` gives.
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism, closed=False)
    if lengths:
        mechanism = resize_rods(mechanism, lengths)
    allowed, wanted = _number("misfit", misfit, least=0.0), int(_number("most", most, least=1.0))
    # SciPy's solvers load slowly: only an assembly pays for them
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
        # the position it stands in is the first branch, to the last bit
        out = [untouched, *(a for a in out if a.distance > SAME_ANSWER * equations.length)][:wanted]
    return out


def _written(
    mechanism: Mechanism, equations: JointEquations, found: Closing, before: dict[str, Gap]
) -> Assembly:
    """The mechanism at a closed pose, and the record."""
    moved = loosen_rods(
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
    """Weight of each body; infinite if it must not move, or no open joint can reach it."""
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
    """Bodies that are joined to an open joint, not counting ways over the ground."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    pairs, tied = equations.pair_bodies, equations.row_other >= 0
    # a coupling reaches over the ground
    ends = [pairs[number[tied]].max(axis=1) for number in (equations.row_pair, equations.row_other)]
    free = np.vstack([pairs, np.column_stack(ends)])
    free = free[(free >= 0).all(axis=1)]
    n = len(equations.bodies)
    links = sparse.coo_array((np.ones(len(free)), (free[:, 0], free[:, 1])), shape=(n, n))
    _, part = connected_components(links, directed=False)
    # gaps of rounding size are none
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
        f"mechanism '{mechanism.name}': {sentence}; check the lengths of its bodies and their joint places. The "
        "position is in .nearest, the gap of each joint in .gaps"
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
