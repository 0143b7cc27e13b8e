"""A start at a singular position: does its velocity choose one of the motions that meet there?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from .branches import Branches, find_branches, leads_on
from .rank import DENSE

if TYPE_CHECKING:
    from ..methods.watch import Watch
    from ..model import Model
    from .joint_equations import JointEquations


def describe_start(
    model: Model, equations: JointEquations, watch: Watch, v: Floats, a: Floats, failed: bool
) -> str:
    """What is missing at a start where motions meet; empty if nothing is.

    v, a: rates and accelerations of the coordinates at the start; failed: the run did not leave it.
    """
    if not (watch.singular_start or failed):
        return ""
    moving = bool(np.any(v))
    q, w = np.zeros(len(v)), v if moving else a
    if not failed and (len(q) > DENSE or leads_on(model.form, q, w)):
        return ""
    branches = find_branches(model, equations, q)
    if branches.leads_nowhere:
        return (
            "cannot leave the start: the velocities that its joints allow there lead back, so it moves by "
            "infinitesimal amounts only and no finite reaction holds it; see sarrus.inspect"
        )
    if branches.freedoms < 2:
        return ""
    angles = _angles(branches, w)
    what = "the velocity given follows" if moving else "from rest its weight would follow"
    text = (
        f"cannot leave the start: it is a singular position ({branches.sentence}), and {what} none of "
        "them. Give a velocity along one of them"
    )
    for i, branch in enumerate(branches, 1):
        text += f"; {i}: {branch}"
    if len(angles):
        nearest = int(np.argmin(angles))
        text += f". The nearest is {nearest + 1}, {np.degrees(angles[nearest]):.3g} degrees away"
    return text


def _angles(branches: Branches, w: Floats) -> Floats:
    """Angles between a direction and the branches, as far as the coordinates show [rad]."""
    size = float(np.linalg.norm(w)) or 1.0
    out = []
    for branch in branches:
        unit = branch.direction / np.linalg.norm(branch.direction)
        along = float(unit @ w) / size
        across = float(np.linalg.norm(w / size - along * unit))
        out.append(np.arctan2(across, abs(along)))
    return np.array(out)
