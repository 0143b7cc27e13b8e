"""PyBullet: the tree as one multibody, loops as point-to-point constraints in its iterative solver."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pybullet

from ..thresholds import LEAST_MASS
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Tree

# The mass of a fixed base has no effect, but Bullet prints a warning without it.
BASE = '<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the world in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        self.client = pybullet.connect(pybullet.DIRECT)
        self.segments = list(world.tree.segments())
        # Bullet expresses the rotation and angular velocity of a ball in the principal axes of its child's
        # inertia.
        self.axes = [_segment_axes(world.tree, x.link) for x in self.segments]
        self.body = self._add(world.tree)
        self._close(world.tree)
        for n, segment in enumerate(self.segments):
            self._start(n, segment.step, world.rates)
        rows = len(plan.kept)
        self.q = np.full((rows, world.tree.nq), np.nan)
        self.v = np.full((rows, world.tree.nv), np.nan)
        self._keep(0)

    def _add(self, tree: Tree) -> int:
        client = {"physicsClientId": self.client}
        pybullet.setGravity(*tree.gravity, **client)
        s = self.plan.settings
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=self.plan.h,
            numSolverIterations=int(s["iterations"]),
            numSubSteps=0,
            solverResidualThreshold=0.0,
            globalCFM=0.0,
            erp=float(s["error_reduction"]),
            **client,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tree.urdf"
            path.write_text(make_urdf(tree), encoding="utf-8")
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            body = pybullet.loadURDF(str(path), useFixedBase=True, flags=flags, **client)
        for n in range(-1, len(self.segments)):
            pybullet.changeDynamics(
                body, n, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, maxJointVelocity=1e6, **client
            )  # fmt: skip
        for n, segment in enumerate(self.segments):
            if segment.step.kind == "ball":
                pybullet.setJointMotorControlMultiDof(
                    body, n, pybullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                    positionGain=0.0, velocityGain=0.0, force=[0, 0, 0], **client,
                )  # fmt: skip
            else:
                # By default, Bullet's motors drive the joints to rest.
                pybullet.setJointMotorControl2(
                    body, n, pybullet.VELOCITY_CONTROL, force=0.0, **client
                )
        return int(body)

    def _close(self, tree: Tree) -> None:
        last = {x.link: n for n, x in enumerate(self.segments) if x.link != GROUND}
        for c in tree.closures:
            first, second = (c.first, c.second) if c.first != GROUND else (c.second, c.first)
            link = tree.links[first]
            # Bullet expects points in the inertial frames.
            here = _inertial(link.inertia, c.place - link.center)
            if second == GROUND:
                child: tuple[int, int] = (-1, -1)
                there = c.place
            else:
                other = tree.links[second]
                child = (self.body, last[second])
                there = _inertial(other.inertia, c.place - other.center)
            pybullet.createConstraint(
                self.body, last[first], *child, pybullet.JOINT_POINT2POINT, [0, 0, 0], list(here), list(there),
                physicsClientId=self.client,
            )  # fmt: skip

    def _start(self, n: int, step: Any, rates: Any) -> None:
        client = {"physicsClientId": self.client}
        if step.kind == "ball":
            spin = self.axes[n].T @ rates[step.v : step.v + 3]
            pybullet.resetJointStateMultiDof(
                self.body, n, [0.0, 0.0, 0.0, 1.0], spin.tolist(), **client
            )
        else:
            pybullet.resetJointState(self.body, n, 0.0, float(rates[step.v]), **client)

    def _keep(self, i: int) -> None:
        states = pybullet.getJointStatesMultiDof(
            self.body, range(len(self.segments)), physicsClientId=self.client
        )
        for segment, axes, (position, rate, *_) in zip(
            self.segments, self.axes, states, strict=True
        ):
            s = segment.step
            if s.kind == "ball":
                self.q[i, s.q : s.q + 4] = (position[3], *(axes @ position[:3]))
                self.v[i, s.v : s.v + 3] = axes @ rate
            else:
                self.q[i, s.q], self.v[i, s.v] = position[0], rate[0]

    def solve(self) -> str:
        step, client = pybullet.stepSimulation, self.client
        for i, stride in enumerate(self.plan.strides, start=1):
            for _ in range(stride):
                step(physicsClientId=client)
            self._keep(i)
        return ""

    def poses(self) -> Poses:
        pybullet.disconnect(self.client)
        return self.tree.poses(self.q, self.v)


def make_urdf(tree: Tree) -> str:
    """Write the tree as URDF, one line per joint, because Bullet does not read longer lines."""
    least = LEAST_MASS * min(link.mass for link in tree.links)
    kinds = {"hinge": "continuous", "slide": "prismatic", "ball": "spherical"}
    lines = ['<robot name="tree">', BASE]
    for n, segment in enumerate(tree.segments()):
        mass, arm = least, np.zeros(3)
        values, frame = least * tree.size**2 * np.ones(3), np.eye(3)
        if segment.link != GROUND:
            link = tree.links[segment.link]
            mass, arm = link.mass, link.arm
            values, frame = _axes(link.inertia)
        moments = " ".join(f'i{c}{c}="{x!r}"' for c, x in zip("xyz", values.tolist(), strict=True))
        above = "base" if segment.above == GROUND else f"link{segment.above}"
        lines += [
            f'<link name="link{n}"><inertial>',
            f'<origin xyz="{_row(arm)}" rpy="{_row(_angles(frame))}"/>',
            f'<mass value="{mass!r}"/>',
            f'<inertia {moments} ixy="0" ixz="0" iyz="0"/>',
            "</inertial></link>",
            f'<joint name="joint{n}" type="{kinds[segment.step.kind]}">',
            f'<parent link="{above}"/><child link="link{n}"/>',
            f'<origin xyz="{_row(segment.offset)}"/>',
            f'<axis xyz="{_row(segment.step.axis)}"/>',
            '<limit lower="1" upper="-1" effort="0" velocity="1e6"/>',
            "</joint>",
        ]
    return "\n".join([*lines, "</robot>", ""])


def _row(x: Any) -> str:
    return " ".join(repr(float(v)) for v in x)


def _angles(R: Any) -> Any:
    """Return roll, pitch and yaw of a rotation."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _axes(inertia: Any) -> tuple[Any, Any]:
    if np.allclose(
        inertia, np.diag(np.diag(inertia)), rtol=0.0, atol=1e-15 * np.abs(inertia).max()
    ):
        return np.diag(inertia), np.eye(3)
    values, frame = np.linalg.eigh(inertia)
    return values, frame * np.sign(np.linalg.det(frame))


def _segment_axes(tree: Tree, link: int) -> Any:
    """Return the principal axes of inertia of the link that a segment carries, as columns."""
    return np.eye(3) if link == GROUND else _axes(tree.links[link].inertia)[1]


def _inertial(inertia: Any, arm: Any) -> Any:
    """Return a point relative to the centre of mass, in the principal axes of the inertia."""
    return _axes(inertia)[1].T @ arm
