"""Initial conditions of a run that follows a branch through a singular configuration.

A velocity selects between branches with different tangents, but not between branches with a common tangent. So the
run starts at a configuration that already lies on the branch, a small distance s from the singular one, and moves
along it. Branches that separate like s^p are PARTED of a link length apart there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from ..arrays import Floats, plain_sum
from ..kinematics.configuration import read_poses, read_spins
from ..kinematics.constraints import Constraints
from ..mechanism import Mechanism, MechanismError
from ..mechanism.mechanism import move_bodies
from ..model import make_model
from ..verdict.branches import Branch, trace
from ..verdict.joint_equations import make_joint_equations
from .loop_closing import moves_to
from .velocities import solve_start_velocity

if TYPE_CHECKING:
    from ..kernels.layout import Form
    from ..model import Model

# distance from the singular configuration, and separation of the branches there, in link lengths
LEAST, PARTED = 1e-3, 1e-6
# rows of a path to the configuration that confirmed the branch
STEPS = 200
# smallest singular value of J there that is nonzero on the branch, if the path leads so far: with a smaller one a
# run cannot meet its tolerance
FIRM = 1e-6
# share of the forces that acts along infinitesimal velocities; the curvature of a path is accurate to less
PUSHED = 0.01


@dataclass(frozen=True)
class BranchStart:
    """A mechanism on a branch that moves along it, and a sentence about it."""

    mechanism: Mechanism
    sentence: str


def start_on_branch(mechanism: Mechanism, branch: Branch) -> BranchStart:
    """The mechanism at a configuration on the branch, with a velocity along it.

    Its kinetic energy is that of the motion that led to the singular configuration, or of the given velocities;
    without either, the fastest body turns at 1 rad/s.
    """
    site = branch.site
    if site is None or branch.ahead is None:
        raise ValueError("follow: this branch was not confirmed at a configuration nearby")
    model = site.model
    if mechanism.drives:
        raise MechanismError(
            f"'{mechanism.name}' has drives, which prescribe its motion from its own start; leave them out to "
            "follow a branch"
        )
    names = tuple(body.name for body in mechanism.bodies)
    if names != tuple(body.name for body in model.mechanism.bodies):
        raise MechanismError(
            f"follow: the branch belongs to '{model.name}', whose bodies are not those of '{mechanism.name}'"
        )
    path = _small(branch)
    x = path[1]
    q = site.coordinates + x
    direction = _tangent(model.form, q, branch)
    speed = _speed(mechanism, branch, x, direction)
    equations = make_joint_equations(model.mechanism)
    pose = read_poses(equations.centers, model.body_rows, q[None])[0]
    moved = move_bodies(mechanism, moves_to(model.mechanism, equations, pose))
    _set_velocities(moved, branch, q, speed * direction)
    ways = (model.places @ x).reshape(len(model.points), model.dimension)
    away = float(np.linalg.norm(ways, axis=1).max())
    text = f"starts on the branch, {away:.3g} m from the singular configuration"
    if branch.instantaneous > branch.dimension:
        text += (
            f"; along it the instantaneous mobility is {branch.instantaneous}, the finite {branch.dimension}: its "
            "joint equations stay singular, "
        )
        text += (
            "and the forces along the other velocities, which are infinitesimal, would need unbounded reactions: "
            "rigid bodies do not move along it"
            if _is_unbalanced(
                make_model(mechanism), site.coordinates + path, branch, speed * direction
            )
            else "and a simulation may not leave the start"
        )
    return BranchStart(moved, text)


def _is_unbalanced(model: Model, path: Floats, branch: Branch, rates: Floats) -> bool:
    """Whether forces act along velocities that the joints allow at path[1] to first order only.

    Such forces have no finite reactions. They are gravity, constant forces and the inertia of the motion along the
    path, whose curvature follows from three configurations. model: with the masses and forces of the run.
    """
    before, after = np.diff(path, axis=0)
    lengths = np.linalg.norm(before), np.linalg.norm(after)
    if branch.dimension != 1 or model.loaded or not all(lengths):
        return False
    curvature = 2.0 * (after / lengths[1] - before / lengths[0]) / plain_sum(lengths)
    M = model.mass_matrix()
    inertia = M @ curvature * float(rates @ rates)
    J = Constraints(model.form, joints=True).jacobian(path[1])
    free = np.linalg.svd(J)[2][len(rates) - branch.instantaneous :].T
    # velocities with no part along the path, in the metric of the masses
    other = free @ null_space((M @ rates @ free)[None])
    force, size = model.form.Q - inertia, np.linalg.norm(model.form.Q) + np.linalg.norm(inertia)
    return bool(np.linalg.norm(force @ other) > PUSHED * size)


def _small(branch: Branch) -> Floats:
    """Displacements to the configuration on the branch at which the run starts, to the one before and after."""
    site = branch.site
    assert site is not None
    wanted = max(LEAST, PARTED ** (1.0 / branch.contact) if branch.contact else 0.0)
    path = trace(site.model, site.coordinates, branch, STEPS)
    ahead = path[len(path) // 2 + 1 :] if branch.behind is not None else path[1:]
    far = np.abs(ahead).max(axis=1)
    first = min(int(np.searchsorted(far, wanted)), len(ahead) - 1)
    joints = Constraints(site.model.form, joints=True)
    last = len(site.coordinates) - branch.instantaneous - 1
    at = len(ahead) - 1
    for i in range(first, len(ahead)):
        values = np.linalg.svd(joints.jacobian(site.coordinates + ahead[i]), compute_uv=False)
        if last < 0 or values[last] > FIRM:
            at = i
            break
    around = (at - 1 if at else 0, at, min(at + 1, len(ahead) - 1))
    return np.asarray(ahead[list(around)])


def _tangent(form: Form, q: Floats, branch: Branch) -> Floats:
    """Rates along the branch at a configuration on it, scaled to the size of its direction."""
    J = Constraints(form, joints=True).jacobian(q)
    free = np.linalg.svd(J)[2][len(q) - branch.instantaneous :]
    w = branch.direction
    along = free.T @ (free @ w)
    return np.asarray(along * (np.linalg.norm(w) / np.linalg.norm(along)))


def _speed(mechanism: Mechanism, branch: Branch, x: Floats, direction: Floats) -> float:
    """Factor that gives the direction the kinetic energy of the preceding motion, or of the given velocities."""
    site = branch.site
    assert site is not None
    model, v = site.model, site.rates
    if v is None and not np.any(site.coordinates):
        v = solve_start_velocity(model, mechanism)[0]
    if v is None or not np.any(v):
        return 1.0
    M = model.mass_matrix()
    energy = float(v @ (M @ v)) + 2.0 * float(model.form.Q @ x)
    if energy <= 0.0:
        # gravity would stop the motion before it gets there
        energy = float(v @ (M @ v))
    return float(np.sqrt(energy / float(direction @ (M @ direction))))


def _set_velocities(mechanism: Mechanism, branch: Branch, q: Floats, rates: Floats) -> None:
    """Set the velocities of all moving joints and of all bodies."""
    site = branch.site
    assert site is not None
    model = site.model
    mechanism.velocities.clear()
    mechanism.angular_velocities.clear()
    for joint in mechanism.joints:
        if joint.name in model.points:
            velocity = np.asarray(model.point_rows(joint.name) @ rates)
            if np.any(velocity):
                mechanism.set_velocity(joint.name, velocity)
    spins = read_spins(model.body_rows, q[None], rates[None], np.zeros((1, len(q))))[0][0]
    for name, spin in zip(model.body_rows.names, spins, strict=True):
        mechanism.set_angular_velocity(name, spin[2] if model.dimension == 2 else spin)
