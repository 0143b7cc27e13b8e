"""Almost spherical loops: of five revolute joints, one axis of which misses the centre."""

import numpy as np
import pytest

from sarrus import Mechanism, simulate


def almost_spherical_loop(seed, off):
    """Five axes through the origin, the third moved by about `off`: it cannot turn, the other four can."""
    rng = np.random.default_rng(seed)
    axes = []
    while len(axes) < 5:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        if all(abs(axis @ other) < 0.85 for other in axes):
            axes.append(axis)
    m = Mechanism("almost spherical", gravity=(0.0, 0.0, -9.81))
    bodies = [m.ground]
    for i in range(4):
        mass, inertia = rng.uniform(0.5, 2.0), np.diag(rng.uniform(0.05, 0.2, 3) + 0.1)
        bodies.append(m.body(f"body {i}", mass, 0.5 * (axes[i] + axes[i + 1]), inertia))
    for i, axis in enumerate(axes):
        at = axis * rng.uniform(0.8, 1.2)
        if i == 2:
            at += off * np.cross(axis, rng.normal(size=3))
        m.revolute(f"R{i}", bodies[i], bodies[(i + 1) % 5], at=at, axis=axis)
    return m


@pytest.mark.parametrize(
    ("seed", "off"), [(0, 1e-4), (30, 1e-4), (95, 1e-4), (95, 3e-5), (2, 1e-5)]
)
def test_what_moves_is_not_called_immobile(seed, off):
    """Pivots after the equation that almost depends on the others are rounding, and no further equation."""
    result = simulate(almost_spherical_loop(seed, off), 0.2, 0.05)
    assert result.status == "done", result.message
    assert np.ptp(result.position("body 0"), axis=0).max() > 1e-3
    assert not any("Nothing can move" in note for note in (result.message, *result.notes))
