"""Drake: the tree as its joints; open ones continuous, loops by ball constraints (discrete, SAP) or bushings."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody import tree as parts
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

from ..mechanism import MechanismError
from .engine import Plan, World
from .tree import GROUND, Poses, Pull, Tree, quaternions_of_angles, turns_of

SAP, BUSHINGS = "sap", "bushings"


def build(world: World, plan: Plan) -> _Job:
    """The plant and its simulator, standing at its start."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: Plan) -> None:
        self.tree, self.plan = world.tree, plan
        s = plan.settings
        if s["loops"] not in (SAP, BUSHINGS):
            raise ValueError(f"loops = {s['loops']!r}; give '{SAP}' or '{BUSHINGS}'")
        # without loops there is nothing for SAP to hold
        discrete = s["loops"] == SAP and bool(world.tree.closures)
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
            integrator.set_fixed_step_mode(True)
        self.simulator.Initialize()
        rows = len(plan.kept)
        self.q = np.full((rows, self.plant.num_positions()), np.nan)
        self.v = np.full((rows, self.plant.num_velocities()), np.nan)
        self.q[0], self.v[0] = (
            self.plant.GetPositions(self.context),
            self.plant.GetVelocities(self.context),
        )

    def _add(self, tree: Tree) -> list[Any]:
        plant = self.plant
        plant.mutable_gravity_field().set_gravity_vector(tree.gravity)
        made: list[Any] = []
        bodies: list[Any] = [None] * len(tree.links)
        joints = []
        for n, segment in enumerate(tree.segments()):
            s = segment.step
            inertia = parts.SpatialInertia.Zero()
            if segment.link != GROUND:
                link = tree.links[segment.link]
                R = link.inertia
                about = parts.RotationalInertia(
                    R[0, 0], R[1, 1], R[2, 2], R[0, 1], R[0, 2], R[1, 2]
                ).ShiftFromCenterOfMass(link.mass, -link.arm)
                unit = parts.UnitInertia().SetFromRotationalInertia(about, link.mass)
                inertia = parts.SpatialInertia(link.mass, link.arm, unit, skip_validity_check=True)
            body = plant.AddRigidBody(f"body {n}", inertia)
            above = plant.world_body() if segment.above == GROUND else made[segment.above]
            frame = plant.AddFrame(
                parts.FixedOffsetFrame(
                    f"before {n}", above.body_frame(), RigidTransform(segment.offset)
                )
            )
            ends = (f"step {n}", frame, body.body_frame())
            joint = {
                "hinge": lambda e=ends, a=s.axis: parts.RevoluteJoint(*e, a),
                "slide": lambda e=ends, a=s.axis: parts.PrismaticJoint(*e, a),
                "ball": lambda e=ends, a=s.axis: parts.BallRpyJoint(*e),
            }[s.kind]()
            joints.append((plant.AddJoint(joint), s))
            made.append(body)
            if segment.link != GROUND:
                bodies[segment.link] = body

        def body_of(link: int) -> Any:
            return plant.world_body() if link == GROUND else bodies[link]

        for n, c in enumerate(tree.closures):
            ends = [(body_of(k), tree.place(k, c.place)) for k in (c.first, c.second)]
            if plant.time_step() > 0.0:
                plant.AddBallConstraint(*ends[0], *ends[1])
            else:
                self._add_bushing(n, ends)
        for pull in tree.pulls:
            self._add_spring(tree, pull, body_of)
        return joints

    def _add_bushing(self, n: int, ends: list[tuple[Any, Any]]) -> None:
        frames = [
            self.plant.AddFrame(
                parts.FixedOffsetFrame(f"closure {n} {k}", body.body_frame(), RigidTransform(at))
            )
            for k, (body, at) in enumerate(ends)
        ]
        stiff = float(self.plan.settings["stiffness"]) * np.ones(3)
        damping = float(self.plan.settings["damping"]) * np.ones(3)
        self.plant.AddForceElement(
            parts.LinearBushingRollPitchYaw(*frames, np.zeros(3), np.zeros(3), stiff, damping)
        )

    def _add_spring(self, tree: Tree, p: Pull, body_of: Any) -> None:
        # Drake has no preload, and wants a free length above zero
        free = p.free - p.preload / p.stiffness if p.stiffness else p.free
        if not free > 0.0 or (p.preload and not p.stiffness):
            raise MechanismError(
                f"a spring of '{tree.name}' is not given to Drake: its free length with preload is {free:g} m, "
                "which has to be above zero"
            )
        ends = [(body_of(k), tree.place(k, at)) for k, at in zip(p.links, p.places, strict=True)]
        self.plant.AddForceElement(
            parts.LinearSpringDamper(*ends[0], *ends[1], free, p.stiffness, p.damping)
        )

    def _order(self) -> tuple[list[int], list[int]]:
        """Where the tree's rates stand in the plant's, and positions counted like rates."""
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
                # Drake tells the spin in directions of the parent
                R = turns_of(q[:, s.q : s.q + 4])
                v[:, part] = np.einsum("tji,tj->ti", R, v[:, part])
            else:
                q[:, s.q] = x[:, s.v]
        return self.tree.poses(q, v)
