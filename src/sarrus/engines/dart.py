"""DART: the tree with DART's joints, one body per step, loops as ball joint constraints in its impulse solver."""

from __future__ import annotations

from typing import Any

import dartpy
import numpy as np

from ..thresholds import LEAST_MASS
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Tree, quaternions


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the world in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        self.world = dartpy.simulation.World()
        self.world.setTimeStep(plan.h)
        self.world.setGravity(world.tree.gravity)
        self.skeleton = dartpy.dynamics.Skeleton("tree")
        self.bodies = _add_bodies(world.tree, self.skeleton)
        self.world.addSkeleton(self.skeleton)
        solver = self.world.getConstraintSolver()
        # Keep references: the solver only points to the constraints.
        self.closures = []
        for c in world.tree.closures:
            ends = [self.bodies[link] for link in (c.first, c.second) if link != GROUND]
            closure = dartpy.constraint.BallJointConstraint(*ends, c.place)
            closure.setErrorReductionParameter(float(plan.settings["error_reduction"]))
            closure.setConstraintForceMixing(float(plan.settings["force_mixing"]))
            solver.addConstraint(closure)
            self.closures.append(closure)
        self.skeleton.setVelocities(world.rates)
        rows = len(plan.kept)
        # Coordinates and rates have the same number of entries: a ball's coordinate is a rotation vector.
        self.x = np.full((rows, world.tree.nv), np.nan)
        self.v = np.full((rows, world.tree.nv), np.nan)
        self.x[0], self.v[0] = self.skeleton.getPositions(), self.skeleton.getVelocities()

    def solve(self) -> str:
        step, skeleton = self.world.step, self.skeleton
        for i, stride in enumerate(self.plan.strides, start=1):
            for _ in range(stride):
                step()
            self.x[i] = skeleton.getPositions()
            self.v[i] = skeleton.getVelocities()
            if not np.isfinite(self.v[i]).all():
                return ""
        return ""

    def poses(self) -> Poses:
        q = np.zeros((len(self.x), self.tree.nq))
        for link in self.tree.links:
            for s in link.steps:
                if s.kind == "ball":
                    q[:, s.q : s.q + 4] = quaternions(self.x[:, s.v : s.v + 3])
                else:
                    q[:, s.q] = self.x[:, s.v]
        return self.tree.poses(q, self.v)


def _add_bodies(tree: Tree, skeleton: Any) -> list[Any]:
    """Add a body for each step; return the bodies of the links."""
    dynamics = dartpy.dynamics
    made: list[Any] = []
    links: list[Any] = [None] * len(tree.links)
    kinds = {
        "hinge": (dynamics.RevoluteJointProperties, skeleton.createRevoluteJointAndBodyNodePair),
        "slide": (dynamics.PrismaticJointProperties, skeleton.createPrismaticJointAndBodyNodePair),
        "ball": (dynamics.BallJointProperties, skeleton.createBallJointAndBodyNodePair),
    }
    damping = tree.ball_damping()
    for n, segment in enumerate(tree.segments()):
        properties, create = kinds[segment.step.kind]
        joint = properties()
        joint.mName = f"step {n}"
        if segment.step.kind != "ball":
            joint.mAxis = segment.step.axis
        else:
            joint.mDampingCoefficients = np.full(3, damping.get(segment.step.v, 0.0))
        place = dartpy.math.Isometry3()
        place.set_translation(segment.offset)
        joint.mT_ParentBodyToJoint = place
        about = dynamics.BodyNodeAspectProperties()
        about.mName = f"body {n}"
        about.mIsCollidable = False
        if segment.link == GROUND:
            # DART does not accept massless bodies.
            small = LEAST_MASS * min(link.mass for link in tree.links)
            inertia = small * tree.size**2 * np.eye(3)
            about.mInertia = dynamics.Inertia(small, np.zeros(3), inertia)
        else:
            link = tree.links[segment.link]
            about.mInertia = dynamics.Inertia(link.mass, link.arm, link.inertia)
        above = None if segment.above == GROUND else made[segment.above]
        _, body = create(above, joint, dynamics.BodyNodeProperties(about))
        made.append(body)
        if segment.link != GROUND:
            links[segment.link] = body
    return links
