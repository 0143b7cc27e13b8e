"""`sarrus.branches`: the branches of a mechanism through its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import model as model_package
from . import verdict
from .mechanism import Mechanism, MechanismError, check_mechanism
from .names import suggests

if TYPE_CHECKING:
    from .verdict.branches import Branches

# branches that are listed unless more are requested
MOST = 2048


@suggests
def branches(
    mechanism: Mechanism,
    *,
    most: int = MOST,
    hold_drives: bool = False,
) -> Branches:
    """Find all branches (motion modes) of a mechanism through its configuration.

    The joint equations are reduced to few degrees of freedom (Lyapunov-Schmidt), and the real branches of
    the reduced equations are found by Newton polygons to the order that decides. Each one is confirmed at
    configurations nearby.

    Parameters
    ----------
    mechanism : Mechanism
        At the configuration in question, its joints closed.
    most : int
        List at most so many branches; `count` is then a lower bound where `complete` is False.
    hold_drives : bool
        Analyse the mechanism with its drives held at their initial values, instead of the joints alone.

    Returns
    -------
    Branches
        Classification, branches and sentences.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated, with every reason.
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    if isinstance(most, bool) or int(most) != most or most < 1:
        raise ValueError(f"most = {most!r}; give a whole number from 1")
    check_mechanism(mechanism)
    model = model_package.make_model(mechanism)
    return verdict.branches.find_branches(
        model,
        verdict.joint_equations.make_joint_equations(mechanism),
        np.zeros(model.coordinates),
        most=int(most),
        hold_drives=hold_drives,
    )
