"""Checks whether the velocity of a run that starts at a singular configuration follows one of the branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from ..kinematics.constraints import Constraints
from ..thresholds import ALONG_BRANCH, NO_COMBINATION, SHOWN_ZERO
from .branches import Branches, find_branches
from .rank import DENSE

if TYPE_CHECKING:
    from ..kernels.layout import Form
    from ..methods.monitor import Watch
    from ..model import Model
    from .joint_equations import JointEquations


def leads_on(form: Form, q: Floats, w: Floats) -> bool:
    """Whether a velocity that the joints allow at q satisfies the constraints in second order."""
    joints = Constraints(form, joints=True)
    U, values, _ = np.linalg.svd(joints.jacobian(q))
    size = float(np.linalg.norm(w)) or 1.0
    left = U[:, _rank(values) :].T @ joints.bend(w / size)
    return bool(np.abs(left).max(initial=0.0) < ALONG_BRANCH)


def _rank(values: Floats) -> int:
    return int(np.sum(values > NO_COMBINATION))


def describe_start(
    model: Model, equations: JointEquations, watch: Watch, v: Floats, a: Floats, failed: bool
) -> str:
    """Describe what prevents a run from leaving a singular start; empty if nothing does.

    v, a: rates and accelerations of the coordinates at the start; failed: the run did not leave the start.
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
    if branches.dof < 2:
        return ""
    text = f"cannot leave the start: it is a singular configuration ({branches.sentence}), and "
    rates = model.drive_rates
    if np.any(rates):
        return text + _driven_start(model, branches, v)
    angles = _angles(branches, w)
    what = "the given velocity follows" if moving else "from rest, the motion under gravity follows"
    text += f"{what} none of them. Give a velocity along one of them"
    for i, branch in enumerate(branches, 1):
        text += f"; {i}: {branch}"
    if len(angles):
        nearest = int(np.argmin(angles))
        text += f". The nearest is {nearest + 1}, {np.degrees(angles[nearest]):.3g} degrees away"
    return text


def _driven_start(model: Model, branches: Branches, v: Floats) -> str:
    """Which branches match the start rates of the drives, and that the velocity used follows none of them."""
    form, rates = model.form, model.drive_rates
    J = Constraints(form).jacobian(np.zeros(len(v)))[form.driven]
    wanted = rates[form.driven]
    fitting = []
    for i, branch in enumerate(branches, 1):
        own = J @ branch.direction
        own = np.where(np.abs(own) < SHOWN_ZERO * np.abs(branch.direction).max(), 0.0, own)
        speed = float(own @ wanted) / max(float(own @ own), 1e-300)
        # on other branches the rates of the drives are zero or have another ratio
        if np.abs(speed * own - wanted).max() < ALONG_BRANCH * np.abs(wanted).max():
            fitting.append(f"{i}: {branch if speed > 0.0 else branch.reversed}")
    if not fitting:
        return "the drives prescribe rates that none of them has: start them at rest, or at another position"
    return (
        "the drives, with the velocities given and least kinetic energy, follow none of them. "
        f"{len(fitting)} of them {'has' if len(fitting) == 1 else 'have'} the rates of the drives. Give a "
        f"velocity along one of these; {'; '.join(fitting)}"
    )


def _angles(branches: Branches, w: Floats) -> Floats:
    """Angles between a direction and the branches, as seen in the coordinates [rad]."""
    size = float(np.linalg.norm(w)) or 1.0
    out = []
    for branch in branches:
        unit = branch.direction / np.linalg.norm(branch.direction)
        along = float(unit @ w) / size
        across = float(np.linalg.norm(w / size - along * unit))
        out.append(np.arctan2(across, abs(along)))
    return np.array(out)
