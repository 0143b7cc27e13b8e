"""`sarrus.branches`: the branches of a mechanism through its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import model as model_package
from . import verdict
from .mechanism import Mechanism, MechanismError
from .names import suggests

if TYPE_CHECKING:
    from .verdict.branches import Branches

# default of the largest number of branches listed
MOST = 2048


@suggests
def branches(
    mechanism: Mechanism,
    *,
    most: int = MOST,
    hold_drives: bool = False,
) -> Branches:
    """Find all branches (motion modes) of a mechanism through its configuration.

    The joint equations are reduced to a few unknowns (Lyapunov-Schmidt reduction). Newton polygons give the real
    branches of the reduced equations, up to the order that decides. Each branch is confirmed at nearby
    configurations.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism at the configuration of interest, with closed joints.
    most : int, optional
        Largest number of branches listed; where `complete` is False, `count` is a lower bound.
    hold_drives : bool, optional
        Analyse the mechanism with its drives fixed at their initial values, instead of the joints alone.

    Returns
    -------
    Branches
        Classification, branches and sentences.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated, with every reason.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("parallelogram in line")
    >>> _ = m.rod("left", (0, 0), (1, 0), mass=1)
    >>> _ = m.rod("coupler", (1, 0), (3, 0), mass=1)
    >>> _ = m.rod("right", (2, 0), (3, 0), mass=1)
    >>> _ = m.revolute("A", m.ground, "left", at=(0, 0))
    >>> _ = m.revolute("B", "left", "coupler", at=(1, 0))
    >>> _ = m.revolute("C", "coupler", "right", at=(3, 0))
    >>> _ = m.revolute("D", m.ground, "right", at=(2, 0))
    >>> found = sarrus.branches(m)
    >>> found.classification, len(found)
    ('transversal crossing', 2)
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    if isinstance(most, bool) or int(most) != most or most < 1:
        raise ValueError(f"most = {most!r}; give a whole number from 1")
    own = mechanism.copy()
    model = model_package.build.model_of(own, model_package.structure.check_for_run(own, False))
    return verdict.branches.find_branches(
        model,
        None,
        np.zeros(model.coordinates),
        most=int(most),
        hold_drives=hold_drives,
        rounded=True,
    )
