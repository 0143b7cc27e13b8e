"""Rotational dampers at ball joints: closed form, methods, lanes, derivatives, files."""

import numpy as np
import pytest

import sarrus
from sarrus import Mechanism, MechanismError, simulate
from sarrus.mechanism.files.model_writer import to_data

DAMPING = 0.3


def chain(damping=DAMPING):
    """Two oblique bodies on balls, both damped."""
    m = Mechanism("chain", gravity=(0.0, 0.0, -9.81))
    m.body("a", 1.2, (0.3, 0.1, 0.2), [[0.06, 0.01, 0], [0.01, 0.05, 0.005], [0, 0.005, 0.03]])
    m.body("b", 0.7, (0.8, 0.2, 0.1), [[0.03, -0.004, 0], [-0.004, 0.04, 0.003], [0, 0.003, 0.02]])
    m.spherical("base", m.ground, "a", at=(0, 0, 0))
    m.spherical("elbow", "a", "b", at=(0.5, 0.2, 0.3))
    m.ball_damper("lower", "base", damping=damping)
    m.ball_damper("upper", "elbow", damping=0.5 * damping)
    m.set_angular_velocity("a", (1, 2, 3))
    m.set_angular_velocity("b", (-2, 1, 4))
    return m


@pytest.mark.slow
def test_a_ball_slows_down_exponentially():
    """A sphere on a ball at its centre: J w' = -c w about every axis."""
    m = Mechanism("sphere", gravity=(0.0, 0.0, -9.81))
    m.body("ball", 2.0, (0, 0, 0), (0.05, 0.05, 0.05))
    m.spherical("socket", m.ground, "ball", at=(0, 0, 0))
    m.ball_damper("grease", "socket", damping=0.1)
    start = np.array([3.0, -2.0, 5.0])
    m.set_angular_velocity("ball", start)
    result = simulate(m, 1.0, 0.1)
    exact = start * np.exp(-0.1 / 0.05 * result.times)[:, None]
    np.testing.assert_allclose(result.angular_velocity("ball"), exact, atol=1e-9)


@pytest.mark.slow
def test_methods_and_the_audit_agree():
    """Series, Radau and Runge-Kutta; Newton-Euler by wrenches of the bodies, which share no kernel."""
    result = simulate(chain(), 1.0, 0.05)
    assert result.status == "done"
    assert sarrus.audit(result).holds
    assert result.work[-1] < 0.0
    for method in ("radau", "multipliers-dop853"):
        other = simulate(chain(), 1.0, 0.05, method=method)
        np.testing.assert_allclose(other.position("b"), result.position("b"), atol=1e-7)


@pytest.mark.slow
def test_lanes_and_derivatives():
    """Many dampings at once are those of single runs; their derivative is that of central differences."""
    path = "ball_dampers.lower.damping"
    values = np.array([0.0, 0.1, 0.3, 1.0])
    runs = sarrus.Ensemble(chain(), {path: values}).simulate(0.5, 0.1, points=["b"])
    for n, value in enumerate(values):
        m = chain()
        m.ball_dampers[0] = type(m.ball_dampers[0])("lower", "base", float(value))
        alone = simulate(m, 0.5, 0.1)
        np.testing.assert_allclose(runs.position("b")[n], alone.position("b"), atol=1e-9)
    result = simulate(chain(), 0.5, 0.1)
    found = result.sensitivity("b", wrt=path)
    h = 1e-4
    ends = sarrus.Ensemble(chain(), {path: np.array([DAMPING - h, DAMPING + h])})
    ends = ends.simulate(0.5, 0.1, points=["b"])
    slope = (ends.position("b")[1] - ends.position("b")[0]) / (2 * h)
    # central differences with 1e-4: error of second order
    np.testing.assert_allclose(found.values, slope, atol=1e-7)


def test_files_and_mistakes(tmp_path):
    """A file holds it to the last bit; what cannot carry it is an error with its name."""
    m = chain()
    m.save(tmp_path / "chain.yaml")
    assert to_data(sarrus.load(tmp_path / "chain.yaml")) == to_data(m)
    with pytest.raises(MechanismError, match="ball damper 'x': damping -1 is negative"):
        m.ball_damper("x", "base", damping=-1)
    m.body("door", 1.0, (1, 1, 1), (0.1, 0.1, 0.1))
    m.revolute("hinge", m.ground, "door", at=(1, 1, 0), axis=(0, 0, 1))
    with pytest.raises(MechanismError, match="joint 'hinge' is revolute; it has to be spherical"):
        m.ball_damper("x", "hinge", damping=1)
    with pytest.raises(MechanismError, match="there is no joint 'bse'"):
        m.ball_damper("x", "bse", damping=1)
