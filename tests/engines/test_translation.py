"""The tree of a mechanism: poses and rates by identities, no engine needed."""

import numpy as np
import pytest

from engines.machines import LOOPS, OPEN, double_pendulum, four_bar
from sarrus import Mechanism, MechanismError, Polynomial, simulate
from sarrus.engines.running import fit_coordinates
from sarrus.engines.tree import CUTS, GROUND, Poses, make_tree
from sarrus.kinematics.configuration import in_space, read_rows, read_spins, read_turns


def chain_of_everything():
    """An open chain with a joint of every kind that a tree holds."""
    m = Mechanism("chain", gravity=(0.0, 0.0, -9.81))
    calls = [
        lambda a, b, p: m.revolute(f"j{b}", a, b, at=p, axis=(1, 2, 3)),
        lambda a, b, p: m.spherical(f"j{b}", a, b, at=p),
        lambda a, b, p: m.prismatic(f"j{b}", a, b, at=p, axis=(0, 1, 2)),
        lambda a, b, p: m.cylindrical(f"j{b}", b, a, at=p, axis=(1, 0, 2)),
        lambda a, b, p: m.universal(f"j{b}", a, b, at=p, axis=(1, 0, 0), second_axis=(0, 0, 1)),
        lambda a, b, p: m.planar(f"j{b}", b, a, at=p, normal=(1, 1, 0)),
        lambda a, b, p: m.rectangular(f"j{b}", a, b, at=p, normal=(0, 1, 0)),
        lambda a, b, p: m.point_on_line(f"j{b}", b, a, at=p, axis=(0, 0, 1)),
        lambda a, b, p: m.point_on_plane(f"j{b}", a, b, at=p, normal=(1, 0, 0)),
        lambda a, b, p: m.weld(f"j{b}", a, b, at=p),
    ]
    before = m.GROUND
    for k, join in enumerate(calls):
        name = str(k)
        m.body(name, 1.0 + k, (k, 0.3 * k, 0.1), [0.2, 0.3, 0.4])
        join(before, name, (k - 0.5, 0.2, 0.1 * k))
        before = name
    return m


def random_state(tree, seed):
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=(1, tree.nq)), rng.normal(size=(1, tree.nv))
    for s in tree.balls:
        q[0, s.q : s.q + 4] /= np.linalg.norm(q[0, s.q : s.q + 4])
    return q, v


def moved(tree, q, v, h):
    """Coordinates after a short time at rates v."""
    out = q.copy()
    for link in tree.links:
        for s in link.steps:
            if s.kind == "ball":
                w, u = q[0, s.q], q[0, s.q + 1 : s.q + 4]
                x = v[0, s.v : s.v + 3]
                rate = np.concatenate([[-u @ x], w * x + np.cross(u, x)]) / 2
                out[0, s.q : s.q + 4] += h * rate
            else:
                out[0, s.q] += h * v[0, s.v]
    return out


@pytest.mark.parametrize("seed", range(5))
def test_velocities_are_the_rates_of_the_poses(seed):
    tree = make_tree(chain_of_everything())
    q, v = random_state(tree, seed)
    here, h = tree.poses(q, v), 1e-6
    after, before = (tree.poses(moved(tree, q, v, s), v) for s in (h, -h))
    # central differences: h^2 and rounding / h
    np.testing.assert_allclose(
        (after.centers - before.centers) / (2 * h),
        here.velocities,
        atol=1e-7 * np.ptp(here.centers),
    )
    turning = np.einsum("tbij,tbkj->tbik", (after.turns - before.turns) / (2 * h), here.turns)
    spins = np.stack([turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]], axis=-1)
    np.testing.assert_allclose(spins, here.spins, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_rates_of_a_start_are_found_again(seed):
    tree = make_tree(chain_of_everything())
    _, v = random_state(tree, seed)
    poses = tree.poses(tree.start()[None], v)
    found = tree.rates(poses.velocities[0], poses.spins[0])
    again = tree.poses(tree.start()[None], found[None])
    # a ball after its own slider leaves its spin to be read either way: velocities count
    np.testing.assert_allclose(again.velocities, poses.velocities, atol=1e-12)
    np.testing.assert_allclose(again.spins, poses.spins, atol=1e-12)


@pytest.mark.parametrize("make", [*OPEN, *LOOPS])
def test_natural_coordinates_of_our_own_poses_are_our_own(make):
    result = simulate(make(), 0.5, 0.1)
    rows, record = result.model.body_rows, result.record
    start = np.array([in_space(b.center) for b in result.mechanism.bodies])
    poses = Poses(
        start + read_rows(rows.centers, record.q),
        read_turns(rows, record.q),
        read_rows(rows.centers, record.v),
        read_spins(rows, record.q, record.v, record.a)[0],
    )
    q, v = fit_coordinates(result.model, start, poses)
    # rounding, and what a run at tolerance 1e-10 leaves open
    np.testing.assert_allclose(q, result.record.q, atol=1e-12)
    np.testing.assert_allclose(v, result.record.v, atol=1e-11)


def test_mass_is_kept_where_a_body_is_cut():
    m = four_bar()
    for joint in "ABCD":
        m.torsion(f"spring {joint}", joint, stiffness=1.0)
    tree = make_tree(m)
    halves = [link for link in tree.links if link.whole != GROUND]
    assert len(halves) == 1
    assert sum(link.mass for link in tree.links) == pytest.approx(sum(b.mass for b in m.bodies))
    assert len(tree.turns) == 4


@pytest.mark.parametrize("cut", CUTS)
def test_joints_that_close_loops_can_be_chosen(cut):
    tree = make_tree(four_bar(), cut)
    assert [c.name for c in tree.closures] == {"last": ["D"], "inside": ["C"], "none": []}[cut]
    assert len(tree.joints) == 4


def test_links_without_mass_are_rejected():
    m = double_pendulum()
    m.distance("rope", m.ground, "lower", start=(0, 1), end=(0.9, 0.4))
    with pytest.raises(MechanismError, match=r"'rope' .distance. is a link without mass"):
        make_tree(m)


def test_a_drive_is_on_a_coordinate_of_the_tree():
    m = four_bar()
    m.drive("motor", "D", Polynomial((0.0, 1.0)))
    tree = make_tree(m)
    assert [c.name for c in tree.closures] != ["D"]
    assert tree.driven[0].motion.rate(0.0) == 1.0
