"""Random mechanisms under random loads against absolute coordinates that share no code with them."""

import numpy as np
import pytest

from absolute_coordinates import AbsoluteMechanism, in_space, unit
from random_mechanisms import random_mechanism
from sarrus import simulate
from sarrus.mechanism import JointKind

DURATION = 0.3
# Runge-Kutta at 1e-11 with constraint drift, mass matrices of condition up to 1e4
SAME = 1e-7


def has_spin(body):
    """Whether a body has inertia about every axis."""
    return np.linalg.eigvalsh(np.atleast_2d(body.inertia))[0] > 1e-6


def add_loads(m, seed):
    """Springs between centres and the ground, torsions in hinges, forces and torques of all kinds."""
    rng = np.random.default_rng(seed)
    d = m.dimension
    for n, body in enumerate(m.bodies):
        other = rng.choice([b.name for b in m.bodies if b is not body] + [m.GROUND])
        anchor = rng.normal(size=d)
        if other != m.GROUND:
            anchor = next(b.center for b in m.bodies if b.name == other)
        if np.linalg.norm(anchor - body.center) > 0.05:
            m.spring(
                f"spring {n}", other, body, start=anchor, end=body.center,
                stiffness=rng.uniform(5, 30), damping=rng.uniform(0, 2),
                free_length=rng.uniform(0, 1), preload=rng.normal(),
            )  # fmt: skip
        # a thin rod in space has no spin that turns a force, or that a torque could change
        spins = has_spin(body)
        fixed = "body" if spins and n % 2 else "world"
        m.force(f"force {n}", body, at=body.center, vector=rng.normal(size=d), fixed_in=fixed)
        if spins:
            vector = rng.normal() if d == 2 else rng.normal(size=3)
            m.torque(f"torque {n}", body, 0.3 * vector, fixed_in=fixed)
    for joint in m.joints:
        spins = all(has_spin(b) for b in m.bodies if b.name in joint.bodies)
        if joint.kind is JointKind.REVOLUTE and len(joint.bodies) == 2 and spins:
            m.torsion(
                f"coil {joint.name}", joint, stiffness=rng.uniform(0, 3), damping=rng.uniform(0, 0.3),
                free_angle=rng.normal(), torque=rng.normal(),
            )  # fmt: skip
        if joint.kind is JointKind.SPHERICAL and len(joint.bodies) == 2 and spins:
            m.ball_damper(f"grease {joint.name}", joint, damping=rng.uniform(0, 0.3))
    return m


class LoadedMechanism(AbsoluteMechanism):
    """Absolute coordinates with the loads of the mechanism, written for bodies and twists."""

    def __init__(self, mechanism):
        super().__init__(mechanism)
        self.mechanism = mechanism
        self.seen = {}

    def number(self, body):
        """Place of a body, -1 for the ground."""
        return -1 if body == "ground" else self.names.index(body)

    def point_of(self, body, at, x, R, v, w):
        """Place and velocity of a point."""
        i = self.number(body)
        if i < 0:
            return in_space(at), np.zeros(3)
        r = R[i] @ (in_space(at) - self.center[i])
        return x[i] + r, v[i] + np.cross(w[i], r)

    def loads(self, x, R, v, w):
        """All loads as wrenches about the centres."""
        out = np.zeros((self.n, 6))

        def push(body, place, force):
            i = self.number(body)
            if i >= 0:
                out[i, :3] += force
                out[i, 3:] += np.cross(place - x[i], force)

        m = self.mechanism
        for s in m.springs:
            (pa, va), (pb, vb) = (
                self.point_of(b, at, x, R, v, w) for b, at in zip(s.bodies, s.ends, strict=True)
            )
            e = unit(pb - pa)
            length = np.linalg.norm(pb - pa)
            pull = s.stiffness * (length - s.free_length) + s.damping * e @ (vb - va) + s.preload
            push(s.bodies[0], pa, pull * e)
            push(s.bodies[1], pb, -pull * e)
        for f in m.forces:
            i = self.number(f.body)
            force = in_space(f.vector)
            place, _ = self.point_of(f.body, f.at, x, R, v, w)
            push(f.body, place, R[i] @ force if f.fixed_in == "body" else force)
        for t in m.torques:
            i = self.number(t.body)
            torque = np.array([0, 0, float(t.vector)]) if self.planar else t.vector
            out[i, 3:] += R[i] @ torque if t.fixed_in == "body" else torque
        joints = {j.name: j for j in m.joints}
        for t in m.torsions:
            joint = joints[t.joint]
            a, b = (self.number(name) for name in joint.bodies)
            Ra, wa = (np.eye(3), np.zeros(3)) if a < 0 else (R[a], w[a])
            Rb, wb = (np.eye(3), np.zeros(3)) if b < 0 else (R[b], w[b])
            axis = np.array([0, 0, 1.0]) if joint.axis is None else unit(joint.axis)
            # rotation about the axis, from the trace and the skew part
            relative = Ra.T @ Rb
            skew = np.array([relative[2, 1], relative[0, 2], relative[1, 0]]) - np.array(
                [relative[1, 2], relative[2, 0], relative[0, 1]]
            )
            angle = np.arctan2(0.5 * axis @ skew, 0.5 * (np.trace(relative) - 1))
            # beyond half a turn it counts on from where it was last seen
            turns = np.rint((self.seen.get(t.name, 0.0) - angle) / (2 * np.pi))
            angle += 2 * np.pi * turns
            self.seen[t.name] = angle
            world = Ra @ axis
            rate = (wb - wa) @ world
            moment = t.torque - t.stiffness * (angle - t.free_angle) - t.damping * rate
            if a >= 0:
                out[a, 3:] -= moment * world
            if b >= 0:
                out[b, 3:] += moment * world
        for g in m.ball_dampers:
            a, b = (self.number(name) for name in joints[g.joint].bodies)
            moment = g.damping * ((w[b] if b >= 0 else 0.0) - (w[a] if a >= 0 else 0.0))
            if a >= 0:
                out[a, 3:] += moment
            if b >= 0:
                out[b, 3:] -= moment
        return out


def check_same_motion(seed, m):
    """From rest, in both ways: centres, velocities, and the energy balance."""
    add_loads(m, seed)
    result = simulate(m, DURATION, DURATION / 6, tolerance=1e-11)
    assert result.status == "done", result.message
    absolute = LoadedMechanism(m)
    x, _, v = absolute.run(np.zeros((absolute.n, 6)), result.times)
    for i, body in enumerate(m.bodies):
        found = result.position(body.name)
        np.testing.assert_allclose(found, x[:, i, : m.dimension], atol=SAME, rtol=0)
        np.testing.assert_allclose(
            result.velocity(body.name), v[:, i, : m.dimension], atol=10 * SAME, rtol=0
        )
    # some joules move
    assert result.energy_drift < 1e-7


@pytest.mark.parametrize(("seed", "dimension"), [(0, 2), (1, 2), (0, 3)])
def test_random_mechanism_under_loads(seed, dimension):
    """Springs, dampers, torsions, forces and torques move a random mechanism as they should."""
    check_same_motion(seed, random_mechanism(seed, dimension))


@pytest.mark.slow
@pytest.mark.parametrize("sliding", [False, True])
@pytest.mark.parametrize("seed", [4, 5, *(pytest.param(k, marks=pytest.mark.soak) for k in (6, 7))])
@pytest.mark.parametrize("dimension", [2, 3])
def test_more_random_mechanisms_under_loads(seed, dimension, sliding):
    """The same for more of them, with every kind of joint."""
    check_same_motion(seed, random_mechanism(seed, dimension, sliding=sliding))
