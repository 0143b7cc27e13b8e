"""Axes that are almost parallel: taken as parallel or made so, with a note, and the linkage moves."""

import numpy as np
import pytest

from builders import in_plane_of, rotation
from crossing_families import any_four_bar
from sarrus import simulate


def tilted(seed, angle):
    """A random four-bar in space, one of whose ground hinges is tilted by an angle [rad]."""
    R = rotation(seed)
    place = in_plane_of(R, (0.3, -0.2, 0.1)), {"axis": R[:, 2]}
    rng = np.random.default_rng(seed)
    flat = any_four_bar(rng)
    m = type(flat)("tilted", gravity=place[0]((0.0, -9.81)) - place[0]((0.0, 0.0)))
    for body in flat.bodies:
        ends = [j.places[0] for j in flat.joints if body.name in j.bodies]
        m.rod(body.name, *(place[0](p) for p in ends), mass=body.mass)
    way = rng.uniform(0.0, 2 * np.pi)
    off = angle * (np.cos(way) * R[:, 0] + np.sin(way) * R[:, 1])
    for joint in flat.joints:
        axis = R[:, 2] + (off if joint.name == "B" else 0.0)
        m.revolute(joint.name, *joint.bodies, at=place[0](joint.places[0]), axis=axis)
    return m


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("angle", [1e-13, 8e-13, 3e-12, 1e-11, 1e-10, 1e-9])
def test_a_tilted_axis_is_reported_and_the_linkage_moves(seed, angle):
    """Up to what is bridged the motion is that of parallel axes, whatever the misalignment, and a note says so."""
    straight = simulate(tilted(seed, 0.0), 0.5, 0.1)
    result = simulate(tilted(seed, angle), 0.5, 0.1)
    assert np.ptp(straight.position("P"), axis=0).max() > 0.05
    # on a slender linkage a tilt moves points by some of its size times the length
    np.testing.assert_allclose(
        result.position("P"), straight.position("P"), atol=1e-8 + 100 * angle
    )
    assert any("taken as parallel" in n or "axes by up to" in n for n in result.notes)
    assert not any("Nothing can move" in n for n in result.notes)
    assert not any("parallel" in n for n in straight.notes)
