"""Reactions of every kind of joint on simulated motions: balance, power, the words at a crossing."""

import time
from dataclasses import replace

import numpy as np
import pytest

from builders import bricard, n_four_bar, rotation
from cpu_time import least
from linkages import door, slider_crank
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, Polynomial, simulate
from sarrus.kinematics.configuration import Pose
from sarrus.problems.references.n_four_bar import flat_times
from sarrus.verdict import joint_wrenches
from sarrus.verdict.joint_wrenches import inertia_forces, read_motion, row_stiffness

# accelerations carry the rounding of a solve, and random mechanisms may be close to singular configurations
ROUND_OFF = 1e-9


def joint_power(result):
    """Power of each joint on its two bodies [W], (n, pairs), from forces, places and velocities alone."""
    e = result.joint_equations
    states = result.coordinates, result.rates, result.accelerations
    motion = read_motion(e, result.model.body_rows, result.times, *states)
    # the ground is a body that rests
    n = len(result.times)
    still = np.zeros((n, 1, 3))
    centers = np.concatenate([motion.centers, still], axis=1)
    velocities = np.concatenate([motion.velocities, still], axis=1)
    spins = np.concatenate([motion.spins, still], axis=1)
    turns = np.concatenate([motion.turns, np.tile(np.eye(3), (n, 1, 1, 1))], axis=1)
    starts = np.concatenate([e.centers, np.zeros((1, 3))])
    out = np.zeros((n, len(e.pair_joint)))
    for p, (a, b) in enumerate(e.pair_bodies):
        reaction = result.reaction(e.joints[e.pair_joint[p]], e.body_name(b))
        force, moment = np.zeros((n, 3)), np.zeros((n, 3))
        force[:, : e.dimension] = reaction.force
        moment[:, 2 if e.dimension == 2 else slice(None)] = reaction.moment
        # the joint's point belongs to the second body, or to the first if the second is the ground
        own, at = (b, e.pair_other_place[p]) if b >= 0 else (a, e.pair_place[p])
        place = centers[:, own] + turns[:, own] @ (at - starts[own])
        for body, sign in ((a, -1.0), (b, 1.0)):
            v = velocities[:, body] + np.cross(spins[:, body], place - centers[:, body])
            out[:, p] += sign * np.sum(force * v + moment * spins[:, body], axis=1)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_mechanisms_with_every_joint(dimension):
    """Every body is balanced, and no joint does work."""
    kinds, rejected = set(), {}
    for seed in range(20):
        m = random_mechanism(seed, dimension, sliding=True)
        try:
            result = simulate(m, 0.2, 0.1)
        except MechanismError as error:
            # locked, or a body without inertia about an axis that no joint holds
            rejected[seed] = str(error)
            continue
        assert result.status == "done", f"seed {seed}: {result.message}"
        reactions = result.reactions
        assert reactions.imbalance.max(initial=0.0) < ROUND_OFF, f"seed {seed}"
        size = np.abs(reactions.values).max(initial=1.0) * max(1.0, np.abs(result.rates).max())
        assert np.abs(joint_power(result)).max(initial=0.0) < ROUND_OFF * size, f"seed {seed}"
        kinds |= {j.kind for j in m.joints}
    assert len(kinds) >= (4 if dimension == 2 else 9)
    assert len(rejected) <= 2, rejected


def test_bead_on_a_turning_rod():
    """A bead on a free rod: the rod pushes it across with m (r w' + 2 r' w), by hand."""
    m = Mechanism("bead", gravity=(0.0, 0.0))
    m.rod("rod", (0, 0), (2, 0), mass=1.5)
    m.body("bead", 0.7, (0.5, 0.0))
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point_on_line("bead on rod", "rod", "bead", at=(0.5, 0), axis=(1, 0))
    m.set_angular_velocity("rod", 3.0)
    result = simulate(m, 1.0, 0.05)
    x, v, a = (getattr(result, k)("bead") for k in ("position", "velocity", "acceleration"))
    force = result.reaction("bead on rod").force
    assert np.allclose(force, 0.7 * a, rtol=0, atol=1e-10)
    # across the rod: r w' + 2 r' w, with w' from the angular momentum 2 w + 0.7 r^2 w = const
    r = np.linalg.norm(x, axis=1)
    spin = (2.0 + 0.7 * 0.25) * 3.0 / (2.0 + 0.7 * r**2)
    rate = np.sum(x * v, axis=1) / r
    fall = -spin * 1.4 * r * rate / (2.0 + 0.7 * r**2)
    across = np.stack([-x[:, 1], x[:, 0]], axis=1) / r[:, None]
    expected = 0.7 * (r * fall + 2 * rate * spin)
    assert np.allclose(np.sum(force * across, axis=1), expected, rtol=0, atol=1e-9)
    # on the rod the opposite, at the bead: the pin carries the rest
    turned = np.sum(result.reaction("bead on rod", "rod").force * across, axis=1)
    assert np.allclose(turned * r, 2.0 * fall, rtol=0, atol=1e-9)


@pytest.mark.parametrize("R", [np.eye(3), rotation(7)])
def test_slider_on_a_slope(R):
    """A block sliding down: the guide bears the weight across it, and the moment of its offset."""
    g = R @ (0.0, 0.0, -9.81)
    axis = R @ np.array([0.8, 0.0, -0.6])
    m = Mechanism("slope", gravity=g)
    m.body("block", 2.0, R @ (0.1, 0.2, 0.3), R @ np.diag([0.1, 0.2, 0.3]) @ R.T)
    m.prismatic("guide", m.ground, "block", at=(0, 0, 0), axis=axis)
    result = simulate(m, 0.5, 0.1)
    down = 9.81 * 0.6 * axis
    assert np.allclose(result.acceleration("block"), down, rtol=0, atol=1e-11)
    reaction = result.reaction("guide")
    across = 2.0 * (down - g)
    assert np.allclose(reaction.force, across, rtol=0, atol=1e-10)
    # about the joint's point, which slides with the block
    arm = R @ (0.1, 0.2, 0.3)
    assert np.allclose(reaction.moment, np.cross(arm, across), rtol=0, atol=1e-10)
    assert [c.kind for c in reaction.components] == ["along"] * 2 + ["about"] * 3
    assert reaction.force_unique.all()


def test_output_at_a_crossing():
    """At the flat configuration the forces along the cranks are unbounded; next to it they are unique."""
    # the first flat configuration by elliptic functions, to rounding
    crossing = flat_times(2, 1.0)[0]
    result = simulate(n_four_bar(2), 2 * crossing, crossing, tolerance=1e-13)
    reactions = result.reactions
    assert reactions.smallest.shape == (3,)
    assert [len(s.T) > 0 for s in reactions.self_stress] == [False, False, False]
    foot = result.reaction("A0")
    assert foot.force_words[:, 0].tolist() == ["unique", "unbounded", "unique"]
    assert foot.force_unbounded[:, 0].tolist() == [False, True, False]
    assert "unbounded at 1 of 3 outputs" in str(foot)


def test_outputs_close_to_a_crossing():
    """Close to the flat configuration the smallest value falls like the distance, and the text says so."""
    crossing = flat_times(2, 1.0)[0]
    step = crossing * (1 - 1e-5)
    result = simulate(n_four_bar(2), 2 * step, step)
    foot = result.reaction("A0")
    assert foot.force_unique.all()
    assert foot.smallest[1] < 1e-4 < 0.1 < foot.smallest[0]
    assert "close to a singular configuration at 1 of 3 outputs" in str(foot)


def test_stiffness_of_a_result():
    """The same answer from result.reaction and result.solve_reactions; the sum stays what it was."""
    result = simulate(door(), 0.2, 0.1)
    stiffness = {"H0": (1e6, 1e3), "H1": (2e6, 1e3), "H2": (3e6, 1e3)}
    found = result.solve_reactions(stiffness)
    assert found.sharing == "stiffness"
    assert result.reactions.sharing == "least norm"
    shares = np.array([found.of(f"H{i}").force[:, 2] for i in range(3)])
    assert np.allclose(shares, 20 * 9.81 * np.array([[1], [2], [3]]) / 6, rtol=1e-10)
    one = result.reaction("H2", stiffness=stiffness)
    assert np.array_equal(one.force[:, 2], shares[2])
    assert one.sharing == "stiffness"


def test_slider_crank_in_motion():
    """Falling slider-crank: the pin of the piston carries m (a - g), but for the guide's part."""
    m = slider_crank(0.9)
    m.drives.clear()
    m.gravity[:] = (0.0, -9.81)
    result = simulate(m, 1.0, 0.05)
    push = result.reaction("C").force
    assert np.allclose(push[:, 0], 1.5 * result.acceleration("piston")[:, 0], rtol=0, atol=1e-9)
    guide = result.reaction("P").force
    assert np.allclose(guide[:, 0], 0.0, atol=1e-12)
    assert np.allclose(guide[:, 1] + push[:, 1], 1.5 * 9.81, rtol=0, atol=1e-9)
    assert result.reactions.imbalance.max() < 1e-11


def pose_by_pose(result, stiffness=None):
    """The slow, obvious way: at each output alone, by the singular vectors of the scaled joint equations."""
    e = result.joint_equations
    states = result.coordinates, result.rates, result.accelerations
    motion = read_motion(e, result.model.body_rows, result.times, *states)
    forces = inertia_forces(e, motion) - result._loads.wrenches(motion)
    weights = np.where(e.row_about, e.length, 1.0)
    values, stress, smallest = [], [], []
    for t in range(len(result.times)):
        pose = Pose(motion.centers[t], motion.turns[t])
        scaled = e.scaled(pose)
        U, sizes, V = np.linalg.svd(scaled.matrix.toarray())
        rank = int((sizes > e.tolerance).sum())
        side = e.scaled_forces(pose, forces[t])
        some = U[:, :rank] @ ((V[:rank] @ side) / sizes[:rank])
        z = scaled.named(some[:, None])[:, 0] / weights
        free = np.linalg.qr(scaled.named(U[:, rank:]) / weights[:, None])[0]
        z = z - free @ (free.T @ z)
        if stiffness is not None:
            soft = weights / np.sqrt(row_stiffness(e, stiffness))
            soft /= soft.max()
            z = z - free @ (np.linalg.pinv(soft[:, None] * free, rcond=1e-12) @ (soft * z))
        values.append(z * weights)
        stress.append(free)
        smallest.append(sizes[rank - 1] if rank else 1.0)
    return np.array(values), stress, np.array(smallest)


def driven_parallelogram():
    """A bar on three cranks with hinges in space, a motor and two springs with dampers: seven self-stresses."""
    m = Mechanism("driven parallelogram", gravity=(0.0, 0.0, -9.81))
    m.body("bar", 2.0, (1.3, 0.0, 0.4), np.diag([0.02, 0.5, 0.5]))
    for i in range(3):
        m.body(f"c{i}", 1.0, (i + 0.15, 0.0, 0.2), np.diag([0.02, 0.03, 0.02]))
        m.revolute(f"A{i}", m.ground, f"c{i}", at=(i, 0.0, 0.0), axis=(0, 1, 0))
        m.revolute(f"B{i}", f"c{i}", "bar", at=(i + 0.3, 0.0, 0.4), axis=(0, 1, 0))
    for i, k in ((0, 50.0), (2, 20.0)):
        ends = {"start": (i, 0.0, 2.0), "end": (i + 0.3, 0.0, 0.4)}
        m.spring(f"s{i}", m.ground, "bar", **ends, stiffness=k, damping=1.0, free_length=1.0)
    m.drive("motor", "A0", Polynomial((0.0, 3.0)))
    return m


def stacked_cases():
    """Planar and spatial, redundant or not, through a crossing, driven, with elastic joints, random."""
    flat = flat_times(2, 3.0)[0]
    times = np.sort(np.append(np.linspace(0.0, 2.0, 30), flat))
    yield simulate(n_four_bar(2), 2.0, outputs=times), None
    yield simulate(bricard(), 1.0, 0.05), None
    yield simulate(door(), 1.0, 0.1), {"H0": (1e6, 1e3), "H1": (2e6, 2e3), "H2": (5e5, 1e3)}
    driven = simulate(driven_parallelogram(), 3.0, 0.03)
    yield driven, None
    yield driven, {"A1": (1e6, 1e4), "B1": (1e6, 1e4), "A2": (2e6, 1e4)}
    for seed, dimension in ((1, 2), (2, 3), (5, 3), (7, 3)):
        try:
            yield simulate(random_mechanism(seed, dimension, sliding=True), 0.2, 0.1), None
        except MechanismError:
            continue


@pytest.mark.slow
def test_all_outputs_at_once_are_each_alone():
    """Values, self-stresses, flags and smallest singular values of the stack / pose by pose."""
    compared = 0
    for result, stiffness in stacked_cases():
        found = result.solve_reactions(stiffness)
        values, stress, smallest = pose_by_pose(result, stiffness)
        name = result.name
        # close to a crossing values grow with the inverse of the smallest singular value, and so does rounding
        room = 1e-11 / smallest.min() * np.abs(values).max(initial=1.0)
        # at crossings they are limits along the motion, which one pose does not determine
        away = ~result._near_crossings
        assert np.abs(found.values - values)[away].max() < room, name
        np.testing.assert_allclose(found.smallest[away], smallest[away], rtol=0, atol=1e-13)
        stress = [
            s if a else own for s, own, a in zip(stress, found.self_stress, away, strict=True)
        ]
        for one, other in zip(found.self_stress, stress, strict=True):
            # the same space, whatever vectors span it
            assert one.shape == other.shape, name
            np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-9)
        slow = replace(found, self_stress=stress)
        for joint in (*found.equations.joints, *found.equations.drives):
            for a, b in zip(found.of(joint).components, slow.of(joint).components, strict=True):
                assert (a.words == b.words).all(), (name, joint)
        compared += 1
    assert compared >= 8


@pytest.mark.slow
def test_poses_that_an_order_does_not_suit_are_solved_in_another_way(monkeypatch):
    """Lanes / singular vectors at each pose: whatever an order may be, answers and flags are the same."""
    for result, stiffness in stacked_cases():
        fast = result.solve_reactions(stiffness)
        # no order suits; then only the first one is tried
        for name, value in (("WEAK_ORDER", 0.5), ("ORDERS", 1), ("ORDERS", 0)):
            with monkeypatch.context() as patch:
                patch.setattr(joint_wrenches, name, value)
                slow = result.solve_reactions(stiffness)
            smallest = fast.smallest[fast.smallest > 0.0].min()
            room = 1e-11 / smallest * np.abs(fast.values).max(initial=1.0)
            assert np.abs(fast.values - slow.values).max() < room, result.name
            np.testing.assert_allclose(fast.smallest, slow.smallest, rtol=0, atol=1e-13)
            for joint in (*fast.equations.joints, *fast.equations.drives):
                a, b = fast.of(joint), slow.of(joint)
                assert (a.force_words == b.force_words).all(), (result.name, joint)
                assert (a.moment_words == b.moment_words).all(), (result.name, joint)


@pytest.mark.parametrize(
    ("make", "bound"),
    [(lambda: n_four_bar(2), 0.06), (bricard, 0.12), (driven_parallelogram, 0.15)],
    ids=["double four-bar", "bricard", "driven parallelogram"],
)
def test_a_thousand_outputs_are_quick(make, bound):
    """1001 outputs, all joints: some 15, 30 and 40 ms of CPU, on shared cores up to three times that."""
    result = simulate(make(), 10.0, 0.01)
    assert len(result.accelerations) == 1001
    result.solve_reactions()

    def measure():
        start = time.process_time()
        found = result.solve_reactions()
        for joint in result.joint_equations.joints:
            found.of(joint)
        return time.process_time() - start

    assert least(measure, bound) < bound
