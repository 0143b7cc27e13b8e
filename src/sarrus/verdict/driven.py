"""What drives leave of the freedoms of a mechanism: the rank of W with their equations."""

from __future__ import annotations

from dataclasses import dataclass

from ..thresholds import NEARBY_TOLERANCE
from .joint_equations import JointEquations
from .mobility import Mobility
from .nearby import find_nearby
from .rank import measure_rank
from .redundancy import Dependence, find_redundancy


@dataclass(frozen=True)
class Driven:
    """What drives do to the freedoms of a mechanism.

    drives: their names; free_here, free_motion: freedoms they leave, here and nearby on the motion;
    idle_here, idle_motion: how many of them prescribe what joints and other drives hold already; sets:
    the dependent equations of joints and drives here.
    """

    drives: tuple[str, ...]
    free_here: int
    free_motion: int
    idle_here: int
    idle_motion: int
    sets: tuple[Dependence, ...]


def measure_driven(whole: JointEquations, mobility: Mobility) -> Driven:
    """Rank with the equations of the drives, here and at poses nearby on the motion."""
    joints, rows, width = whole.undriven, whole.rows, whole.columns_a_body
    start = whole.start()
    here = measure_rank(whole.scaled(start).matrix, width, whole.tolerance).rank
    idle_here = rows - here - mobility.redundant_here
    poses = [n.pose for n in mobility.nearby]
    if idle_here and not poses:
        # the joints alone had no reason to look around
        poses = [n.pose for n in find_nearby(joints, start, [], whole.columns + 1)]
    there = [measure_rank(whole.scaled(p).matrix, width, NEARBY_TOLERANCE).rank for p in poses]
    largest = max([here, *there])
    sets: tuple[Dependence, ...] = ()
    if idle_here:
        nearby = poses[there.index(largest)] if largest in there else None
        found = find_redundancy(whole, rows - here, nearby=nearby)
        sets = tuple(s for s in found.sets if any(e.drive for e in s.equations))
    # velocities of the joints that lead back are no freedoms with drives either
    back = whole.columns - (joints.rows - mobility.redundant_motion) - mobility.motion
    return Driven(
        drives=whole.drives,
        free_here=whole.columns - here,
        free_motion=max(whole.columns - largest - back, 0),
        idle_here=idle_here,
        idle_motion=max(rows - largest - mobility.redundant_motion, 0),
        sets=sets,
    )
