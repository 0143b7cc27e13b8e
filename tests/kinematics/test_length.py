"""The mechanism's length: known arms, and how it goes with size, place and what is drawn or judged."""

import numpy as np
import pytest

from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.kinematics.pose import LINK, measure_length
from sarrus.model import make_model
from sarrus.scene import make_sketch
from sarrus.verdict.joint_equations import make_joint_equations


def four_bar(size=1.0, shift=(0.0, 0.0)):
    m = Mechanism("four-bar")
    at = size * np.array([(0, 0), (0, 1), (2, 1), (2, 0)]) + np.array(shift)
    for i, name in enumerate(("crank", "coupler", "rocker")):
        m.rod(name, at[i], at[i + 1], mass=1.0)
    for i, (a, b) in enumerate(
        ((m.ground, "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", m.ground))
    ):
        m.revolute(f"J{i}", a, b, at=at[i])
    return m


def test_the_mean_arm_of_a_four_bar():
    """Rods of 1, 2 and 1 m: arms of 0.5, 0.5, 1, 1, 0.5, 0.5 m."""
    assert measure_length(four_bar()) == pytest.approx(4.0 / 6.0, rel=1e-15)


@pytest.mark.parametrize("size", [1e-6, 0.125, 1e5])
def test_it_goes_with_the_size_and_not_with_the_place(size):
    """Ten times as large, ten times the length; the world's origin does not matter."""
    assert measure_length(four_bar(size)) == pytest.approx(size * measure_length(four_bar()))
    assert measure_length(four_bar(shift=(100.0, -30.0))) == pytest.approx(4.0 / 6.0)


def test_springs_and_links_hold_bodies_too():
    """A pendulum of arm 1 with a spring at 3 from its centre: the mean is 2."""
    m = Mechanism("held")
    m.body("mass", mass=1.0, center=(0, -1), inertia=0.0)
    m.revolute("A", m.ground, "mass", at=(0, 0))
    assert measure_length(m) == 1.0
    m.spring("S", m.ground, "mass", start=(5, 0), end=(3, -1), stiffness=1.0)
    assert measure_length(m) == 2.0


def test_without_arms_the_spread_of_the_mass_counts():
    """A disc on its centre: its radius of gyration; a free point: half a metre, a link of one."""
    m = Mechanism("disc")
    m.body("disc", mass=2.0, center=(1, 1), inertia=0.08)
    m.revolute("A", m.ground, "disc", at=(1, 1))
    assert measure_length(m) == pytest.approx(0.2)
    free = Mechanism("free")
    free.body("point", mass=2.0, center=(1, 1), inertia=0.0)
    assert LINK * measure_length(free) == 1.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_model_judge_and_sketch_have_one_length(dimension):
    """Links of the model and of the drawing are LINK arms of the judge."""
    for seed in range(5):
        m = random_mechanism(seed, dimension)
        length = measure_length(m)
        assert make_joint_equations(m).length == length
        assert make_model(m).units.length == LINK * length
        assert make_sketch(m).size == LINK * length
