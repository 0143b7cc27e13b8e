"""Drake: the tree with Drake's joints; continuous if open, loops by ball constraints (SAP) or bushings."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody import tree as parts
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

from ..arrays import Floats
from ..mechanism import MechanismError
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Pull, Tree, quaternions_of_angles, turns_of

SAP, BUSHINGS = "sap", "bushings"


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the plant and its simulator in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        s = plan.settings
        if s["loops"] not in (SAP, BUSHINGS):
            raise ValueError(f"loops = {s['loops']!r}; give '{SAP}' or '{BUSHINGS}'")
        # Without loops there are no constraints for SAP to enforce.
        discrete = s["loops"] == SAP and bool(world.tree.closures)
        grounded = [c.name for c in world.tree.closures if GROUND in (c.first, c.second)]
        if discrete and grounded:
            raise MechanismError(
                f"'{world.tree.name}' is not given to Drake: its loop would be closed at the ground, by "
                f"'{grounded[0]}', which ends Drake's process; try loops='{BUSHINGS}'"
            )
        self.plant = MultibodyPlant(plan.h if discrete else 0.0)
        if discrete:
            self.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        self.joints = self._add(world.tree)
        self.plant.Finalize()
        self.simulator = Simulator(self.plant)
        self.context = self.simulator.get_mutable_context()
        self.q_of, self.v_of = self._order()
        v = np.zeros(self.plant.num_velocities())
        v[self.v_of] = world.rates
        self.plant.SetVelocities(self.context, v)
        if not discrete:
            integrator = ResetIntegratorFromFlags(self.simulator, str(s["integrator"]), plan.h)
            integrator.set_maximum_step_size(plan.h)
            integrator.set_fixed_step_mode(not s["accuracy"])
            if s["accuracy"]:
                integrator.set_target_accuracy(float(s["accuracy"]))
        self.simulator.Initialize()
        rows = len(plan.kept)
        self.q = np.full((rows, self.plant.num_positions()), np.nan)
        self.v = np.full((rows, self.plant.num_velocities()), np.nan)
        self.q[0], self.v[0] = (
            self.plant.GetPositions(self.context),
            self.plant.GetVelocities(self.context),
        )

    def _add(self, tree: Tree) -> list[Any]:
        """Add bodies, joints, closures and springs; return the joint of each step."""
        plant = self.plant
        plant.mutable_gravity_field().set_gravity_vector(tree.gravity)
        made: list[Any] = []
        bodies: dict[int, Any] = {GROUND: plant.world_body()}
        joints = []
        damping = tree.ball_damping()
        for n, segment in enumerate(tree.segments()):
            s = segment.step
            body = plant.AddRigidBody(f"body {n}", _inertia(tree, segment.link))
            above = plant.world_body() if segment.above == GROUND else made[segment.above]
            frame = self._frame(f"before {n}", above, segment.offset)
            name = f"step {n}"
            if s.kind == "ball":
                damper = damping.get(s.v, 0.0)
                joint = parts.BallRpyJoint(name, frame, body.body_frame(), damping=damper)
            else:
                make = parts.RevoluteJoint if s.kind == "hinge" else parts.PrismaticJoint
                joint = make(name, frame, body.body_frame(), s.axis)
            joints.append((plant.AddJoint(joint), s))
            made.append(body)
            if segment.link != GROUND:
                bodies[segment.link] = body
        for n, c in enumerate(tree.closures):
            places = [tree.place(k, c.place) for k in (c.first, c.second)]
            if plant.time_step() > 0.0:
                plant.AddBallConstraint(bodies[c.first], places[0], bodies[c.second], places[1])
            else:
                first = self._frame(f"closure {n} A", bodies[c.first], places[0])
                second = self._frame(f"closure {n} B", bodies[c.second], places[1])
                self._add_bushing(first, second)
        for pull in tree.pulls:
            self._add_spring(tree, pull, bodies)
        return joints

    def _frame(self, name: str, body: Any, place: Floats) -> Any:
        frame = parts.FixedOffsetFrame(name, body.body_frame(), RigidTransform(place))
        return self.plant.AddFrame(frame)

    def _add_bushing(self, first: Any, second: Any) -> None:
        s, free = self.plan.settings, np.zeros(3)
        stiffness, damping = (float(s[k]) * np.ones(3) for k in ("stiffness", "damping"))
        self.plant.AddForceElement(
            parts.LinearBushingRollPitchYaw(first, second, free, free, stiffness, damping)
        )

    def _add_spring(self, tree: Tree, p: Pull, bodies: dict[int, Any]) -> None:
        # Drake has no preload, and requires a positive free length.
        free = p.free - p.preload / p.stiffness if p.stiffness else p.free
        if not free > 0.0 or (p.preload and not p.stiffness):
            raise MechanismError(
                f"a spring of '{tree.name}' cannot be represented in Drake: its free length with preload "
                f"is {free:g} m, "
                "which has to be above zero"
            )
        a, b = (tree.place(k, at) for k, at in zip(p.links, p.places, strict=True))
        first, second = (bodies[k] for k in p.links)
        self.plant.AddForceElement(
            parts.LinearSpringDamper(first, a, second, b, free, p.stiffness, p.damping)
        )

    def _order(self) -> tuple[list[int], list[int]]:
        """Return the plant's indices of coordinates and rates, in the tree's order; a ball has three of each."""
        q: list[int] = [0] * self.tree.nv
        v: list[int] = [0] * self.tree.nv
        for joint, s in self.joints:
            for k in range(3 if s.kind == "ball" else 1):
                q[s.v + k] = joint.position_start() + k
                v[s.v + k] = joint.velocity_start() + k
        return q, v

    def solve(self) -> str:
        advance, plant, context = self.simulator.AdvanceTo, self.plant, self.context
        h = self.plan.h
        try:
            for i, k in enumerate(self.plan.kept[1:], start=1):
                advance(k * h)
                self.q[i] = plant.GetPositions(context)
                self.v[i] = plant.GetVelocities(context)
        except (RuntimeError, ValueError) as error:
            return " ".join(str(error).split())[:200]
        return ""

    def poses(self) -> Poses:
        x, v = self.q[:, self.q_of], self.v[:, self.v_of].copy()
        q = np.zeros((len(x), self.tree.nq))
        for _, s in self.joints:
            if s.kind == "ball":
                part = slice(s.v, s.v + 3)
                q[:, s.q : s.q + 4] = quaternions_of_angles(x[:, part])
                # Drake expresses the angular velocity in the parent's frame.
                R = turns_of(q[:, s.q : s.q + 4])
                v[:, part] = np.einsum("tji,tj->ti", R, v[:, part])
            else:
                q[:, s.q] = x[:, s.v]
        return self.tree.poses(q, v)


def _inertia(tree: Tree, link: int) -> Any:
    """Return mass and inertia of a link about its frame; zero for an intermediate frame between two steps."""
    if link == GROUND:
        return parts.SpatialInertia.Zero()
    own = tree.links[link]
    R = own.inertia
    about = parts.RotationalInertia(R[0, 0], R[1, 1], R[2, 2], R[0, 1], R[0, 2], R[1, 2])
    about = about.ShiftFromCenterOfMass(own.mass, -own.arm)
    unit = parts.UnitInertia().SetFromRotationalInertia(about, own.mass)
    return parts.SpatialInertia(own.mass, own.arm, unit, skip_validity_check=True)
