"""Finite mobility of an inspected mechanism from the branches through its configuration.

The rank of the joint equations gives the instantaneous mobility. The number of degrees of freedom nearby is the
dimension of the branches. Spins of thin bodies that no coordinate represents are added to each branch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..thresholds import EXACT_BRANCHES
from .mobility import NEAR_SINGULAR, Mobility, classify

if TYPE_CHECKING:
    from .branches import Branches
    from .joint_equations import JointEquations


def decide_by_branches(
    equations: JointEquations, mobility: Mobility, branches: Branches
) -> Mobility:
    """The mobility with the dimensions of the branches, if these are decided and the configuration is exact."""
    hidden = mobility.here - branches.dof
    exact = branches.misfit <= EXACT_BRANCHES * equations.length
    if not branches.decided or hidden < 0 or not exact:
        return mobility
    dimensions = tuple(d + hidden for d in branches.dimensions) or (hidden,)
    motion = dimensions[0]
    nearby = min((b.instantaneous for b in branches), default=branches.dof) + hidden
    redundant = equations.rows - equations.columns + nearby
    return replace(
        mobility,
        motion=motion,
        redundant_motion=redundant,
        dimensions=dimensions,
        classes=classify(
            locked=motion == len(mobility.idle_spins),
            crossing=len(branches) > 1 or (len(branches) == 1 and nearby < mobility.here),
            near=NEAR_SINGULAR in mobility.classes and not branches.dependences,
            redundant=redundant > 0,
        ),
    )
