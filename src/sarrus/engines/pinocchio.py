"""Pinocchio: the tree with its joints, loops as point constraints, its proximal solver; Runge-Kutta 4 in time.

Pinocchio has no integrator. As its users do, this adapter implements the classical Runge-Kutta method of order 4
on its configuration manifold in Python. Loops use Pinocchio's Baumgarte stabilisation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from ..arrays import Floats
from ..kinematics.configuration import skew
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Tree

Rates = Callable[[Floats, Floats], Floats]


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the model in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        self.model, self.joints = make_model(world.tree)
        self.data = self.model.createData()
        self.accelerate = self._accelerate()
        rows = len(plan.kept)
        self.q = np.full((rows, self.model.nq), np.nan)
        self.v = np.full((rows, self.model.nv), np.nan)
        self.q[0], self.v[0] = pin.neutral(self.model), world.rates

    def _accelerate(self) -> Rates:
        """Return the acceleration as a function of coordinates and rates."""
        model, data, tree, s = self.model, self.data, self.tree, self.plan.settings
        tau = np.zeros(model.nv)
        loaded = tree.forces or tree.pulls or tree.turns or tree.damped
        loads = _Loads(tree, model, self.joints) if loaded else None
        if not tree.closures:
            aba = pin.aba
            if loads is None:
                return lambda q, v: aba(model, data, q, v, tau)
            return lambda q, v: aba(model, data, q, v, loads(q, v))
        models, datas = make_constraints(
            tree, model, self.joints, float(s["baumgarte"]) / self.plan.h
        )
        pin.initConstraintDynamics(model, data, models, datas)
        accuracy = float(s["accuracy"])
        settings = pin.ProximalSettings(accuracy, float(s["mu"]), int(s["iterations"]))
        solve = pin.constraintDynamics
        if loads is None:
            return lambda q, v: solve(model, data, q, v, tau, models, datas, settings)
        return lambda q, v: solve(model, data, q, v, loads(q, v), models, datas, settings)

    def solve(self) -> str:
        q, v = self.q[0].copy(), self.v[0].copy()
        # If all coordinates are plain angles and displacements, a step is a sum and needs no call.
        flat = self.model.nq == self.model.nv
        step = self._flat_step if flat else self._step
        for i, stride in enumerate(self.plan.strides, start=1):
            try:
                for _ in range(stride):
                    q, v = step(q, v)
            except (RuntimeError, ValueError) as error:
                return " ".join(str(error).split())
            self.q[i] = q
            self.v[i] = v
            if not np.isfinite(v).all():
                return ""
        return ""

    def _flat_step(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        h, f = self.plan.h, self.accelerate
        a1 = f(q, v).copy()
        v2 = v + (0.5 * h) * a1
        a2 = f(q + (0.5 * h) * v, v2).copy()
        v3 = v + (0.5 * h) * a2
        a3 = f(q + (0.5 * h) * v2, v3).copy()
        v4 = v + h * a3
        a4 = f(q + h * v3, v4)
        q = q + (h / 6.0) * (v + 2.0 * (v2 + v3) + v4)
        return q, v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)

    def _step(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Take a Runge-Kutta-Munthe-Kaas step, of order 4 also where rotations do not commute [MuntheKaas1998]."""
        h, f, go, model = self.plan.h, self.accelerate, pin.integrate, self.model
        a1 = f(q, v).copy()
        u2 = (0.5 * h) * v
        v2 = v + (0.5 * h) * a1
        a2 = f(go(model, q, u2), v2).copy()
        k2 = self._pull_back(u2, v2)
        u3 = (0.5 * h) * k2
        v3 = v + (0.5 * h) * a2
        a3 = f(go(model, q, u3), v3).copy()
        k3 = self._pull_back(u3, v3)
        u4 = h * k3
        v4 = v + h * a3
        a4 = f(go(model, q, u4), v4)
        k4 = self._pull_back(u4, v4)
        q = go(model, q, (h / 6.0) * (v + 2.0 * (k2 + k3) + k4))
        return q, v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)

    def _pull_back(self, u: Floats, v: Floats) -> Floats:
        """Return the rate of the rotation vector u whose end has the body rates v, to the order of the method."""
        out = v.copy()
        for s in self.tree.balls:
            part = slice(s.v, s.v + 3)
            x, w = u[part], v[part]
            cross = np.cross(x, w)
            out[part] = w + 0.5 * cross + np.cross(x, cross) / 12.0
        return out

    def poses(self) -> Poses:
        q = self.q.copy()
        for s in self.tree.balls:
            # Pinocchio orders quaternions x, y, z, w.
            q[:, s.q : s.q + 4] = q[:, [s.q + 3, s.q, s.q + 1, s.q + 2]]
        return self.tree.poses(q, self.v)


def make_model(tree: Tree) -> tuple[pin.Model, list[int]]:
    """Build the model; return it and the joint that carries each link."""
    model = pin.Model()
    model.gravity.linear = tree.gravity
    joints: list[int] = []
    for link in tree.links:
        base = np.zeros(3) if link.parent == GROUND else tree.links[link.parent].origin
        above = 0 if link.parent == GROUND else joints[link.parent]
        place = pin.SE3(np.eye(3), link.origin - base)
        for s in link.steps:
            above = model.addJoint(above, _joint(s.kind, s.axis), place, f"step {s.v}")
            place = pin.SE3.Identity()
        inertia = pin.Inertia(link.mass, link.arm, link.inertia)
        model.appendBodyToJoint(above, inertia, pin.SE3.Identity())
        joints.append(above)
    for rotor in tree.spinning:
        armature = model.armature.copy()
        armature[list(rotor.v)] += rotor.inertia
        model.armature = armature
    return model, joints


def _joint(kind: str, axis: Floats) -> pin.JointModel:
    for e, hinge, slide in (
        (0, pin.JointModelRX, pin.JointModelPX),
        (1, pin.JointModelRY, pin.JointModelPY),
        (2, pin.JointModelRZ, pin.JointModelPZ),
    ):
        # Pinocchio is faster for coordinate axes.
        if axis[e] == 1.0 and kind != "ball":
            return hinge() if kind == "hinge" else slide()
    if kind == "ball":
        return pin.JointModelSpherical()
    return (
        pin.JointModelRevoluteUnaligned(axis)
        if kind == "hinge"
        else pin.JointModelPrismaticUnaligned(axis)
    )


def make_constraints(
    tree: Tree, model: pin.Model, joints: list[int], rate: float
) -> tuple[pin.StdVec_RigidConstraintModel, pin.StdVec_RigidConstraintData]:
    """Return the point constraints between links; `rate` is the Baumgarte parameter [1/s]."""
    models = pin.StdVec_RigidConstraintModel()
    for c in tree.closures:
        ends = []
        for link in (c.first, c.second):
            joint = 0 if link == GROUND else joints[link]
            ends += [joint, pin.SE3(np.eye(3), tree.place(link, c.place))]
        point = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL
        )
        point.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(rate**2, 2.0 * rate))
        models.append(point)
    datas = pin.StdVec_RigidConstraintData()
    for point in models:
        datas.append(point.createData())
    return models, datas


class _Loads:
    """Generalised forces of springs, dampers and constant forces, from Jacobians of their points."""

    def __init__(self, tree: Tree, model: pin.Model, joints: list[int]) -> None:
        self.tree, self.model, self.joints = tree, model, joints
        # Separate data: those of the solver must not change.
        self.data = model.createData()

    def __call__(self, q: Floats, v: Floats) -> Floats:
        model, data, tree = self.model, self.data, self.tree
        tau = np.zeros(model.nv)
        for t in tree.turns:
            angle, rate = q[t.q], v[t.v]
            tau[t.v] += t.torque - t.stiffness * (angle - t.free) - t.damping * rate
        for d in tree.damped:
            tau[d.v : d.v + 3] -= d.damping * v[d.v : d.v + 3]
        if not (tree.pulls or tree.forces):
            return tau
        pin.computeJointJacobians(model, data, q)
        for pull in tree.pulls:
            (xa, Ja), (xb, Jb) = (
                self._point(link, place)
                for link, place in zip(pull.links, pull.places, strict=True)
            )
            arm, J = xb - xa, Jb - Ja
            length = float(np.linalg.norm(arm))
            way = arm / length
            row = way @ J
            tau -= row * (
                pull.stiffness * (length - pull.free) + pull.damping * float(row @ v) + pull.preload
            )
        for f in tree.forces:
            if f.link == GROUND:
                continue
            _, J = self._point(f.link, f.place)
            R = data.oMi[self.joints[f.link]].rotation if f.turns else np.eye(3)
            tau += (R @ f.force) @ J
            if f.torque.any():
                tau += (R @ f.torque) @ self._spin(f.link)
        return tau

    def _jacobian(self, link: int) -> Floats:
        frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.asarray(pin.getJointJacobian(self.model, self.data, self.joints[link], frame))

    def _spin(self, link: int) -> Floats:
        return self._jacobian(link)[3:]

    def _point(self, link: int, place: Floats) -> tuple[Floats, Floats]:
        """Return the position of a point of a link, and its Jacobian."""
        if link == GROUND:
            return place, np.zeros((3, self.model.nv))
        pose = self.data.oMi[self.joints[link]]
        arm = pose.rotation @ self.tree.place(link, place)
        J = self._jacobian(link)
        return pose.translation + arm, J[:3] - skew(arm) @ J[3:]
