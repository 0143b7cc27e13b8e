from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import least_squares

import sarrus
from sarrus.formats import from_rational


class Numbers:
    """What the package calls a dual quaternion or a point: an object with array()."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def array(self):
        return np.array(self.numbers)


def step(length, twist):
    """Along x, then about it: from one hinge axis (z) to the next."""
    c, s = np.cos(twist), np.sin(twist)
    return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def bennett():
    """Bennett's linkage, a / sin(alpha) = b / sin(beta), as two factorizations of two hinges each.

    Its angles are found by closing the chain of four Denavit-Hartenberg steps.
    """
    a, alpha, beta, first = 0.3, 0.7, 1.2, 0.9
    b = a * np.sin(beta) / np.sin(alpha)

    def frames(angles):
        out = [turn(first)]
        for angle, size in zip(angles, ((a, alpha), (b, beta), (a, alpha)), strict=True):
            out.append(out[-1] @ step(*size) @ turn(angle))
        return out

    def misfit(angles):
        return (frames(angles)[-1] @ step(b, beta) - np.eye(4))[:3].ravel()

    guesses = ((-2, 1, -2), (2, 1, 2), (-2, -1, -2), (2, -1, 2))
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    best = min((least_squares(misfit, g, **tight) for g in guesses), key=lambda r: r.cost)
    assert best.cost < 1e-20
    found = frames(best.x)
    joints = []
    for frame in found:
        axis, place = frame[:3, 2], frame[:3, 3]
        points = [Numbers(1.0, *(place + s * axis)) for s in (-0.02, 0.02)]
        joints.append((Numbers(0.5, *axis, 0.0, 0, 0, 0), SimpleNamespace(points=points)))
    chains = [joints[:2], joints[:1:-1]]
    return SimpleNamespace(
        factorizations=[
            SimpleNamespace(dq_axes=[q for q, _ in c], linkage=[j for _, j in c]) for c in chains
        ]
    )


def test_bennett_moves_though_the_count_says_it_cannot():
    """Four real hinges: count -2, mobility 1, three equations redundant at every position."""
    m = from_rational(bennett())
    seen = sarrus.inspect(m)
    assert (seen.count, seen.mobility_motion, seen.redundant_motion) == (-2, 1, 3)
    result = sarrus.simulate(m, 1.0, output_step=0.1)
    assert result.status == "done"
    assert len(m.bodies) == 3
    assert all(j.kind.value == "revolute" for j in m.joints)


def test_points_near_the_axis_are_rejected():
    """A joint whose points do not lie on its axis is no hinge."""
    linkage = bennett()
    linkage.factorizations[0].linkage[0].points[0] = Numbers(1.0, 1.0, 1.0, 1.0)
    with pytest.raises(sarrus.MechanismError, match="off its axis"):
        from_rational(linkage)
    with pytest.raises(sarrus.MechanismError, match="0 factorizations"):
        from_rational(object())


def test_models_of_the_package():
    """The package's own Bennett and 6R linkages, where it is installed."""
    models = pytest.importorskip(
        "rational_linkages.models", reason="rational-linkages is not installed"
    )
    for make, redundant in ((models.bennett_ark24, 3), (models.collisions_free_6r, 1)):
        seen = sarrus.inspect(from_rational(make()))
        assert (seen.mobility_motion, seen.redundant_motion) == (1, redundant)
