"""Exudyn: every link is a separate body, every joint a constraint (index 3); generalized-alpha.

Planar mechanisms use its planar bodies and joints, spatial ones Euler parameters and generic joints.
"""

from __future__ import annotations

from typing import Any

import exudyn as exu
import numpy as np
from exudyn import itemInterface as item  # noqa: N813

from ..arrays import Floats, plain_sum
from ..kinematics.configuration import frame_about, turn_matrices
from ..mechanism import MechanismError
from ..thresholds import RIGHT_CROSS
from .engine import EnginePlan, World
from .tree import GROUND, Poses, TreeConnection, TreeLink, turns_of

# Constrained translations and rotations of each sequence of steps, whose axis is the third one.
GENERIC = {
    ("hinge",): (1, 1, 1, 1, 1, 0),
    ("slide",): (1, 1, 0, 1, 1, 1),
    ("slide", "hinge"): (1, 1, 0, 1, 1, 0),
    ("ball",): (1, 1, 1, 0, 0, 0),
    ("slide", "slide"): (0, 0, 1, 1, 1, 1),
    ("slide", "slide", "hinge"): (0, 0, 1, 1, 1, 0),
    ("slide", "ball"): (1, 1, 0, 0, 0, 0),
    ("slide", "slide", "ball"): (0, 0, 1, 0, 0, 0),
    # Universal joint: its axes are the first two; Exudyn rotates about them in this order.
    ("hinge", "hinge"): (1, 1, 1, 0, 0, 1),
}


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the system, assembled in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.world, self.tree, self.plan = world, world.tree, plan
        self.container = exu.SystemContainer()
        self.mbs: Any = self.container.AddSystem()
        self.ground = self.mbs.AddObject(item.ObjectGround())
        self.bodies: list[int] = []
        self.sensors: list[tuple[int, int]] = []
        speed, spin = self.tree.link_motion(world.velocities, world.spins)
        for i, link in enumerate(self.tree.links):
            self._add_body(link, speed[i], spin[i])
        for joint in self.tree.joints:
            self._add_joint(joint)
        self._add_loads()
        self.mbs.Assemble()
        self.settings = self._settings()

    def _add_body(self, link: TreeLink, speed: Floats, spin: Floats) -> None:
        mbs = self.mbs
        if self.tree.planar:
            node = mbs.AddNode(
                item.NodeRigidBody2D(
                    referenceCoordinates=[*link.center[:2], 0.0],
                    initialVelocities=[*speed[:2], spin[2]],
                )
            )
            body = mbs.AddObject(
                item.ObjectRigidBody2D(mass=link.mass, inertia=link.inertia[2, 2], nodeNumber=node)
            )
        else:
            node = mbs.AddNode(
                item.NodeRigidBodyEP(
                    referenceCoordinates=[*link.center, 1.0, 0.0, 0.0, 0.0],
                    initialVelocities=[*speed, 0.0, *(0.5 * spin)],
                )
            )
            order = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
            six = [link.inertia[k] for k in order]
            body = mbs.AddObject(item.ObjectRigidBody(mass=link.mass, inertia=six, nodeNumber=node))
        self.bodies.append(body)
        marker = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(
            item.LoadMassProportional(markerNumber=marker, loadVector=list(self.tree.gravity))
        )
        kinds = (exu.OutputVariableType.Coordinates, exu.OutputVariableType.Coordinates_t)
        self.sensors.append(
            tuple(
                mbs.AddSensor(
                    item.SensorNode(
                        nodeNumber=node, outputVariableType=k, storeInternal=True, writeToFile=False
                    )
                )
                for k in kinds
            )
        )

    def _marker(self, link: int, place: Floats, frame: Floats | None = None) -> int:
        """Add a marker at a point of a link; `frame`: axes there, as columns, if an orientation is needed."""
        body = self.ground if link == GROUND else self.bodies[link]
        local = place if link == GROUND else place - self.tree.links[link].center
        if frame is None:
            marker = item.MarkerBodyPosition(bodyNumber=body, localPosition=list(local))
        else:
            there = np.eye(4)
            there[:3, :3], there[:3, 3] = frame, local
            marker = item.MarkerBodyRigid(bodyNumber=body, localHT=there)
        return int(self.mbs.AddMarker(marker))

    def _add_joint(self, joint: TreeConnection) -> None:
        kinds = tuple(kind for kind, _ in joint.row)
        planar, pin = self.tree.planar, kinds == ("hinge",)
        frame = np.eye(3) if planar else _frame(joint)
        markers = [
            self._marker(link, joint.place, None if planar and pin else frame)
            for link in (joint.first, joint.second)
        ]
        if planar and pin:
            made = item.ObjectJointRevolute2D(markerNumbers=markers)
        elif planar:
            axis = joint.row[0][1]
            made = item.ObjectJointPrismatic2D(
                markerNumbers=markers,
                axisMarker0=list(axis),
                normalMarker1=[-axis[1], axis[0], 0.0],
                constrainRotation=kinds == ("slide",),
            )
        else:
            made = item.ObjectJointGeneric(
                markerNumbers=markers, constrainedAxes=list(GENERIC[kinds])
            )
        self.mbs.AddObject(made)
        damping = plain_sum(d.damping for d in self.tree.damped if d.joint == joint.name)
        if damping:
            rotations = np.diag([0.0, 0.0, 0.0, damping, damping, damping])
            self.mbs.AddObject(
                item.ObjectConnectorRigidBodySpringDamper(markerNumbers=markers, damping=rotations)
            )

    def _add_loads(self) -> None:
        mbs = self.mbs
        for p in self.tree.pulls:
            ends = [self._marker(link, at) for link, at in zip(p.links, p.places, strict=True)]
            mbs.AddObject(
                item.ObjectConnectorSpringDamper(
                    markerNumbers=ends,
                    stiffness=p.stiffness,
                    damping=p.damping,
                    referenceLength=p.free,
                    force=p.preload,
                )
            )
        for f in self.tree.forces:
            if f.link == GROUND:
                continue
            marker = self._marker(f.link, f.place, np.eye(3))
            for vector, load in (
                (f.force, item.LoadForceVector),
                (f.torque, item.LoadTorqueVector),
            ):
                if vector.any():
                    mbs.AddLoad(
                        load(markerNumber=marker, loadVector=list(vector), bodyFixed=f.turns)
                    )

    def _settings(self) -> Any:
        s, plan = self.plan.settings, self.plan
        out: Any = exu.SimulationSettings()
        out.timeIntegration.numberOfSteps = plan.count
        out.timeIntegration.endTime = plan.count * plan.h
        out.timeIntegration.verboseMode = 0
        out.timeIntegration.adaptiveStep = False
        out.timeIntegration.generalizedAlpha.spectralRadius = float(s["spectral_radius"])
        out.timeIntegration.generalizedAlpha.useIndex2Constraints = s["index"] == 2.0
        out.timeIntegration.generalizedAlpha.useNewmark = s["index"] == 2.0
        newton = out.timeIntegration.newton
        newton.relativeTolerance = newton.absoluteTolerance = float(s["tolerance"])
        newton.useModifiedNewton = bool(s["modified_newton"])
        out.linearSolver.solverType = getattr(exu.LinearSolverType, str(s["linear_solver"]))
        out.linearSolver.ignoreSingularJacobian = True
        out.solution.file.write = False
        out.solution.sensors.writePeriod = plan.every * plan.h
        out.parallel.numberOfThreads = 1
        return out

    def solve(self) -> str:
        try:
            self.mbs.SolveDynamic(self.settings, showHints=False, showCausingItems=False)
        except Exception as error:
            return " ".join(str(error).split())[:200] or type(error).__name__
        return ""

    def poses(self) -> Poses:
        wanted = np.array(self.plan.kept) * self.plan.h
        columns = []
        for pair in self.sensors:
            columns.append(
                [_rows(self.mbs.GetSensorStoredData(s), wanted, self.plan.h) for s in pair]
            )
        links = self.tree.links
        n = len(wanted)
        turns, places = np.zeros((len(links), n, 3, 3)), np.zeros((len(links), n, 3))
        spins, speeds = np.zeros_like(places), np.zeros_like(places)
        for i, (link, (x, v)) in enumerate(zip(links, columns, strict=True)):
            if self.tree.planar:
                turns[i] = turn_matrices(x[:, 2, None] * np.array([0.0, 0.0, 1.0]))
                spins[i, :, 2] = v[:, 2]
                places[i] = link.center + np.pad(x[:, :2], ((0, 0), (0, 1)))
                speeds[i, :, :2] = v[:, :2]
            else:
                e = x[:, 3:] + np.array([1.0, 0.0, 0.0, 0.0])
                turns[i] = turns_of(e)
                spins[i] = _spins(e, v[:, 3:])
                places[i] = link.center + x[:, :3]
                speeds[i] = v[:, :3]
            # From the centre of mass to the frame of the link.
            arm = turns[i] @ (link.origin - link.center)
            places[i] += arm
            speeds[i] += np.cross(spins[i], arm)
        return self.tree.body_poses(turns, places, spins, speeds)


def _rows(data: Floats, wanted: Floats, h: float) -> Floats:
    """Return the rows of a sensor at the wanted times, nan where there are none."""
    table = np.asarray(data, dtype=float)
    out = np.full((len(wanted), table.shape[1] - 1), np.nan)
    at = np.clip(np.searchsorted(table[:, 0], wanted - 0.25 * h), 0, len(table) - 1)
    there = np.abs(table[at, 0] - wanted) < 0.25 * h
    out[there] = table[at[there], 1:]
    return out


def _spins(e: Floats, rate: Floats) -> Floats:
    """Return angular velocities in world axes, twice rate times conjugate of quaternions (w, x, y, z)."""
    s, u = rate[:, :1], rate[:, 1:]
    return 2.0 * (u * e[:, :1] - s * e[:, 1:] - np.cross(u, e[:, 1:]))


def _frame(joint: TreeConnection) -> Floats:
    """Return the axes of a joint as columns: its axis is the third, those of a universal joint the first two."""
    kinds, axes = zip(*joint.row, strict=True)
    if kinds == ("hinge", "hinge"):
        if abs(float(axes[0] @ axes[1])) > RIGHT_CROSS:
            raise MechanismError(
                f"joint '{joint.name}' cannot be represented in Exudyn: the axes of its cross are not at "
                "right angles"
            )
        return np.column_stack([axes[0], axes[1], np.cross(axes[0], axes[1])])
    axis = np.cross(axes[0], axes[1]) if kinds[:2] == ("slide", "slide") else axes[0]
    return frame_about(axis)
