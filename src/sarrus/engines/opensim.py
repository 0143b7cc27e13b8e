"""OpenSim (Simbody): the tree as pin, slider and ball joints, loops as point constraints, projected by Simbody."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import opensim as osim

from ..arrays import Floats
from ..kinematics.configuration import frame_about
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files.model_writer import save_text
from .engine import EnginePlan, World
from .tree import GROUND, Poses, Segment, Tree, make_tree

# OpenSim logs every call of its integrator, on the screen and in a file.
osim.Logger.setLevelString("error")
osim.Logger.removeFileSink()


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the model, initialised in its initial state."""
    return _Job(world, plan)


def save_model(mechanism: Mechanism, path: Path, velocities: Floats, spins: Floats) -> Tree:
    """Write a mechanism as an .osim file; return its tree.

    velocities, spins: initial velocities of the bodies; they become the default speeds of the coordinates.
    """
    tree = make_tree(mechanism)
    model = make_model(tree)[0]
    rates = tree.rates(velocities, spins)
    for joint in (model.getJointSet().get(i) for i in range(model.getJointSet().getSize())):
        for k in range(joint.numCoordinates()):
            coordinate = joint.upd_coordinates(k)
            number = int(coordinate.getName().removeprefix("rate_"))
            coordinate.setDefaultSpeedValue(float(rates[number]))
    with tempfile.TemporaryDirectory(prefix="sarrus-osim-") as folder:
        trial = Path(folder) / "model.osim"
        model.printToXML(str(trial))
        try:
            osim.Model(str(trial)).initSystem()
        except RuntimeError as error:
            why = " ".join(str(error).split())[:300]
            raise MechanismError(
                f"{path.name} was not written: OpenSim does not load it ({why})"
            ) from error
        save_text(trial.read_text(encoding="utf-8"), path)
    return tree


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        self.model, self.bodies = make_model(world.tree)
        self.state = self.model.initSystem()
        for k in range(world.tree.nv):
            coordinate = self.model.getCoordinateSet().get(f"rate_{k}")
            coordinate.setSpeedValue(self.state, float(world.rates[k]))
        self.manager = osim.Manager(self.model)
        s = plan.settings
        self.manager.setIntegratorMethod(
            getattr(osim.Manager, f"IntegratorMethod_{s['integrator']}")
        )
        self.manager.setIntegratorAccuracy(float(s["accuracy"]))
        self.manager.setIntegratorConstraintTolerance(float(s["constraint_tolerance"]))
        if s["fixed"]:
            self.manager.setIntegratorFixedStepSize(plan.h)
        self.manager.setPerformAnalyses(False)
        self.manager.setWriteToStorage(False)
        self.manager.setIntegratorInternalStepLimit(int(1e9))
        self.manager.initialize(self.state)
        self.rows: list[tuple[Floats, Floats]] = [_state(self.state)]

    def solve(self) -> str:
        manager, rows, h = self.manager, self.rows, self.plan.h
        try:
            for k in self.plan.kept[1:]:
                rows.append(_state(manager.integrate(k * h)))
        except RuntimeError as error:
            return " ".join(str(error).split())[:200]
        return ""

    def poses(self) -> Poses:
        count, n = len(self.plan.kept), len(self.tree.links)
        turns = np.full((n, count, 3, 3), np.nan)
        places, spins, speeds = (np.full((n, count, 3), np.nan) for _ in range(3))
        for t, (q, u) in enumerate(self.rows):
            if not (np.isfinite(q).all() and np.isfinite(u).all()):
                break
            self.state.setQ(osim.Vector.createFromMat(q))
            self.state.setU(osim.Vector.createFromMat(u))
            self.model.realizeVelocity(self.state)
            for i, body in enumerate(self.bodies):
                pose = body.getTransformInGround(self.state)
                turns[i, t] = [[pose.R().get(a, b) for b in range(3)] for a in range(3)]
                places[i, t] = [pose.p().get(a) for a in range(3)]
                twist = body.getVelocityInGround(self.state)
                spins[i, t] = [twist.get(0).get(a) for a in range(3)]
                speeds[i, t] = [twist.get(1).get(a) for a in range(3)]
        return self.tree.body_poses(turns, places, spins, speeds)


def _state(state: Any) -> tuple[Floats, Floats]:
    return np.array(state.getQ().to_numpy()), np.array(state.getU().to_numpy())


def make_model(tree: Tree) -> tuple[Any, list[Any]]:
    """Build the model; return it and the body of each link."""
    model = osim.Model()
    model.setName(_word(tree.name))
    model.setGravity(_vec(tree.gravity))
    frames: list[Any] = []
    bodies: list[Any] = [None] * len(tree.links)
    for n, segment in enumerate(tree.segments()):
        body = _body(tree, segment, n)
        above = model.getGround() if segment.above == GROUND else frames[segment.above]
        model.addBody(body)
        model.addJoint(_joint(segment, n, above, body))
        frames.append(body)
        if segment.link != GROUND:
            bodies[segment.link] = body
    for k, c in enumerate(tree.closures):
        ends = []
        for link in (c.first, c.second):
            frame = model.getGround() if link == GROUND else bodies[link]
            ends += [frame, _vec(tree.place(link, c.place))]
        point = osim.PointConstraint(*ends)
        point.setName(f"closure_{k}")
        model.addConstraint(point)
    _add_loads(tree, model, bodies)
    _add_ties(tree, model)
    model.finalizeConnections()
    return model, bodies


def _body(tree: Tree, segment: Segment, n: int) -> Any:
    if segment.link == GROUND:
        # Simbody accepts massless bodies inside a chain.
        return osim.Body(f"between_{n}", 0.0, _vec(np.zeros(3)), osim.Inertia(0.0, 0.0, 0.0))
    link = tree.links[segment.link]
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    six = [float(link.inertia[k]) for k in order]
    return osim.Body(f"link_{segment.link}", link.mass, _vec(link.arm), osim.Inertia(*six))


def _joint(segment: Segment, n: int, above: Any, body: Any) -> Any:
    s = segment.step
    make, along = {
        "hinge": (osim.PinJoint, 2),
        "slide": (osim.SliderJoint, 0),
        "ball": (osim.BallJoint, 2),
    }[s.kind]
    turn = _vec(_angles(_frame(s.axis, along)) if s.kind != "ball" else np.zeros(3))
    zero = _vec(np.zeros(3))
    joint = make(f"step_{n}", above, _vec(segment.offset), turn, body, zero, turn)
    for k in range(3 if s.kind == "ball" else 1):
        coordinate = joint.upd_coordinates(k)
        coordinate.setName(f"rate_{s.v + k}")
        # Ranges are displayed, not enforced; a wide range avoids misunderstandings by readers of the file.
        coordinate.setRangeMin(-1e6)
        coordinate.setRangeMax(1e6)
    return joint


def _add_loads(tree: Tree, model: Any, bodies: list[Any]) -> None:
    def frame(link: int) -> Any:
        return model.getGround() if link == GROUND else bodies[link]

    for n, p in enumerate(tree.pulls):
        names = [frame(link).getName() for link in p.links]
        places = [_vec(tree.place(k, at)) for k, at in zip(p.links, p.places, strict=True)]
        # Tension is positive.
        constant = p.preload - p.stiffness * p.free
        law = f"({constant!r})+({p.stiffness!r})*d+({p.damping!r})*ddot"
        force = osim.ExpressionBasedPointToPointForce(names[0], places[0], names[1], places[1], law)
        force.setName(f"pull_{n}")
        model.addForce(force)
    for n, t in enumerate(tree.turns):
        constant = t.torque + t.stiffness * t.free
        law = f"({constant!r})-({t.stiffness!r})*q-({t.damping!r})*qdot"
        force = osim.ExpressionBasedCoordinateForce(f"rate_{t.v}", law)
        force.setName(f"turn_{n}")
        model.addForce(force)
    for n, f in enumerate(tree.forces):
        if f.link == GROUND:
            continue
        force = osim.PrescribedForce(f"force_{n}", bodies[f.link])
        force.setForceIsInGlobalFrame(not f.turns)
        force.setPointIsInGlobalFrame(False)
        force.setForceFunctions(*(osim.Constant(float(x)) for x in f.force))
        force.setTorqueFunctions(*(osim.Constant(float(x)) for x in f.torque))
        place = tree.place(f.link, f.place)
        force.setPointFunctions(*(osim.Constant(float(x)) for x in place))
        model.addForce(force)


def _add_ties(tree: Tree, model: Any) -> None:
    """Add couplings and prescribed coordinates."""
    for t in tree.tied:
        names = osim.ArrayStr()
        names.append(f"rate_{t.v[1]}")
        coupler = osim.CoordinateCouplerConstraint()
        coupler.setName(_word(t.name))
        coupler.setIndependentCoordinateNames(names)
        coupler.setDependentCoordinateName(f"rate_{t.v[0]}")
        coupler.setFunction(osim.LinearFunction(float(t.ratio), 0.0))
        model.addConstraint(coupler)
    coordinates = {}
    for joint in (model.getJointSet().get(i) for i in range(model.getJointSet().getSize())):
        for k in range(joint.numCoordinates()):
            coordinates[joint.get_coordinates(k).getName()] = joint.upd_coordinates(k)
    for d in tree.driven:
        p = d.motion
        if len(p.breaks) > 1:
            raise MechanismError(
                f"drive '{d.name}' cannot be represented in OpenSim: its motion has {len(p.breaks)} "
                "pieces; its adapter "
                "writes polynomials and sines"
            )
        function: Any = osim.PolynomialFunction(osim.Vector.createFromMat(p.coefficients[0][::-1]))
        if p.amplitude:
            function = osim.Sine(p.amplitude, p.angular, p.phase, float(p.coefficients[0, 0]))
        coordinate = coordinates[f"rate_{d.v}"]
        coordinate.setPrescribedFunction(function)
        coordinate.set_prescribed(True)


def _frame(axis: Floats, along: int) -> Floats:
    """Return a rotation with one column along an axis; the identity if that is already the coordinate axis."""
    if axis[along] == 1.0:
        return np.eye(3)
    return np.roll(frame_about(axis), along - 2, axis=1)


def _angles(R: Floats) -> Floats:
    """Return the angles of a rotation about the body's x, y, z in this order."""
    y = np.arctan2(R[0, 2], np.hypot(R[0, 0], R[0, 1]))
    if np.hypot(R[0, 0], R[0, 1]) < 1e-12:
        return np.array([np.arctan2(R[2, 1], R[1, 1]), y, 0.0])
    return np.array([np.arctan2(-R[1, 2], R[2, 2]), y, np.arctan2(-R[0, 1], R[0, 0])])


def _vec(x: Floats) -> Any:
    return osim.Vec3(*(float(v) for v in x))


def _word(name: str) -> str:
    """Return a name in a form that OpenSim accepts."""
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in name) or "mechanism"
