"""Equilibria confirmed by the simulator: a small push leaves a stable one where it is, and an unstable one not."""

import numpy as np

from agreement.test_independent_simulation import with_random_start
from random_mechanisms import random_mechanism
from sarrus import simulate
from sarrus.assembly.loop_closing import moves_to
from sarrus.kinematics.configuration import read_poses
from sarrus.mechanism import move_bodies
from sarrus.model import make_model
from sarrus.verdict.joint_equations import make_joint_equations

# speed of the push [m/s, rad/s]; the fourth root of its energy is 1e-2, where a quartic minimum holds it
PUSH = 1e-4
# in typical lengths, or of a turn [rad]: what leaves an equilibrium moves farther
LEFT = 0.05
# how long unstable equilibria are given to be left [s]: each time is tried after the one before
PATIENCE = (4.0, 16.0, 64.0)


def with_springs(seed):
    """A random mechanism and up to three springs to the ground, stretched or compressed."""
    rng = np.random.default_rng([3, seed])
    m = random_mechanism(seed, 2 + seed % 2, sliding=seed % 3 == 2)
    for k in range(int(rng.integers(0, 4))):
        body = m.bodies[int(rng.integers(len(m.bodies)))]
        start = body.center + 1.2 * rng.normal(size=m.dimension)
        stiffness, free = rng.uniform(2.0, 60.0), rng.uniform(0.2, 2.0)
        ends = {"start": start, "end": body.center}
        m.spring(f"held {k}", m.ground, body, **ends, stiffness=stiffness, free_length=free)
    return m


def at_equilibrium(m, rest):
    """The mechanism moved to an equilibrium, at rest."""
    equations, model = make_joint_equations(m), make_model(m)
    pose = read_poses(equations.centers, model.body_rows, rest.coordinates[None])[0]
    moved = move_bodies(m, moves_to(m, equations, pose))
    moved.velocities.clear()
    moved.angular_velocities.clear()
    return moved


def largest_way(m, duration):
    """How far the mechanism gets from the start: coordinates in typical lengths, directions as numbers."""
    run = simulate(m, duration, duration / 100, misfit=0.0)
    assert run.success, run.message
    return np.abs(run.coordinates).max()


def check_equilibrium(m, rest, seed):
    """Push a mechanism that rests in a regular configuration; whether it could be pushed."""
    pushed = at_equilibrium(m, rest)
    if rest.kind == "indifferent" or "singular" in rest.message:
        return False
    _, twists = with_random_start(pushed, seed)
    if twists is None:
        return False
    slow = 0.5 * PUSH
    pushed.velocities[:] = [(name, slow * v) for name, v in pushed.velocities]
    pushed.angular_velocities[:] = [(name, slow * w) for name, w in pushed.angular_velocities]
    if rest.kind == "stable":
        assert largest_way(pushed, PATIENCE[0]) < LEFT, rest.message
    else:
        assert any(largest_way(pushed, time) > LEFT for time in PATIENCE), rest.message
    return True
