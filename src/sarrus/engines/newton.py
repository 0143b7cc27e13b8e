"""Newton (on Warp): every link is a separate body; its position-based solver enforces joints, single precision."""

from __future__ import annotations

from typing import Any

import newton
import numpy as np
import warp as wp

from ..arrays import Floats
from ..mechanism import MechanismError
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Row, TreeConnection, turns_of


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the model on the CPU in its initial state; its kernels are compiled here, outside the timed part."""
    wp.config.quiet = True
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.world, self.tree, self.plan = world, world.tree, plan
        builder = newton.ModelBuilder(gravity=tuple(self.tree.gravity))
        free = set(range(len(self.tree.links)))
        for link in self.tree.links:
            builder.add_link(
                xform=_at(link.origin),
                com=wp.vec3(*link.arm),
                inertia=wp.mat33(*link.inertia.ravel()),
                mass=link.mass,
                lock_inertia=True,
            )
        for joint in self.tree.joints:
            self._add_joint(builder, joint)
            free -= {joint.first, joint.second}
        for number in sorted(free):
            builder.add_joint_free(number)
        self.model = builder.finalize(device="cpu", skip_all_validations=True)
        s = plan.settings
        self.solver = newton.solvers.SolverXPBD(
            self.model,
            iterations=int(s["iterations"]),
            joint_linear_relaxation=float(s["relaxation"]),
            joint_angular_relaxation=float(s["relaxation"]),
        )
        self.control = self.model.control()
        self.solver.step(self.model.state(), self.model.state(), self.control, None, plan.h)
        self.states = [self.model.state(), self.model.state()]
        speeds, spins = self.tree.link_motion(world.velocities, world.spins)
        self.states[0].body_qd.assign(np.hstack([speeds, spins]).astype(np.float32))
        shape = (len(plan.kept), len(self.tree.links))
        self.q, self.v = np.full((*shape, 7), np.nan), np.full((*shape, 6), np.nan)
        self._keep(0)

    def _add_joint(self, builder: Any, joint: TreeConnection) -> None:
        """Add a joint with its free axes."""
        first, second, place = joint.first, joint.second, joint.place
        row = joint.row
        if second == GROUND:
            # Reversed joint: seen from the other body, each axis has the opposite direction.
            first, second, row = second, first, tuple((kind, -axis) for kind, axis in row[::-1])
        turn = _frame(row)
        frames = [_at(self.tree.place(k, place), turn) for k in (first, second)]
        ends = {"parent_xform": frames[0], "child_xform": frames[1]}
        kinds = [kind for kind, _ in row]
        if kinds == ["ball"]:
            builder.add_joint_ball(first, second, **ends)
            return
        if "ball" in kinds or kinds.count("hinge") > 1:
            # Newton's generic joint (D6) lets universal joints come apart.
            raise MechanismError(
                f"joint '{joint.name}' of '{self.tree.name}' cannot be represented in Newton: its adapter "
                "supports hinges, "
                "sliders, cylinders and balls"
            )
        axes: dict[str, list[Any]] = {"slide": [], "hinge": []}
        for kind, axis in row:
            own = np.round(turn.T @ axis)
            axes[kind].append(newton.ModelBuilder.JointDofConfig(axis=wp.vec3(*own)))
        builder.add_joint_d6(
            first, second, linear_axes=axes["slide"], angular_axes=axes["hinge"], **ends
        )

    def _keep(self, row: int) -> None:
        self.q[row], self.v[row] = self.states[0].body_q.numpy(), self.states[0].body_qd.numpy()

    def solve(self) -> str:
        step, control, h = self.solver.step, self.control, self.plan.h
        for i, stride in enumerate(self.plan.strides, start=1):
            for _ in range(stride):
                now, then = self.states
                step(now, then, control, None, h)
                self.states = [then, now]
            self._keep(i)
            if not np.isfinite(self.q[i]).all():
                return ""
        return ""

    def poses(self) -> Poses:
        count, n = self.q.shape[:2]
        turns = np.array([turns_of(self.q[:, k, [6, 3, 4, 5]]) for k in range(n)])
        places, speeds, spins = (
            np.moveaxis(x, 1, 0) for x in (self.q[..., :3], self.v[..., :3], self.v[..., 3:])
        )
        # Newton returns the velocity of the centre of mass.
        arms: Floats = np.array([turns[k] @ link.arm for k, link in enumerate(self.tree.links)])
        arms = arms.reshape(n, count, 3)
        return self.tree.body_poses(turns, places, spins, speeds - np.cross(spins, arms))


def _frame(row: Row) -> Floats:
    """Return a frame whose axes (columns) are those of a joint: Newton handles only coordinate axes correctly."""
    axes: list[Floats] = []
    for _, axis in row:
        if all(abs(float(axis @ other)) < 0.5 for other in axes):
            axes.append(axis)
    full = np.linalg.qr(np.column_stack([*axes, np.eye(3)]))[0]
    full[:, : len(axes)] = np.column_stack(axes) if axes else full[:, :0]
    return full * np.where(np.arange(3) == 2, np.sign(np.linalg.det(full)), 1.0)


def _at(place: Floats, turn: Floats | None = None) -> Any:
    q = wp.quat_identity() if turn is None else wp.quat_from_matrix(wp.mat33(*turn.ravel()))
    return wp.transform(wp.vec3(*place), q)
