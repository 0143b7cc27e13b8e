"""Derivatives of event times, of replayed models, and the reference values of the double four-bar."""

import numpy as np
import pytest
from scipy.special import ellipkinc

import sarrus
from sarrus import problems
from sarrus.kernels.dual import RATES
from sarrus.model.structure import forget
from sarrus.sensitivities import dual_model
from sarrus.sensitivities.run_parameters import DrawnParameters

# position and velocity x of B0 at 10 s, after ten crossings, by parameter (an independent program, 3e-12)
REFERENCE = {
    "speed": (4.6026103113, 9.69933452825),
    "g": (0.490718878225, 1.00785852276),
    "couplers": (-0.458471637656, -0.941627819837),
    "cranks": (0.458471637656, 0.941627819837),
    "crank": (0.1528238792186, 0.3138759399457),
}


def test_reference_values_at_the_default_tolerance():
    """All reference values of the double four-bar to 1e-8, from a run at the default tolerance."""
    m = problems.get("double-four-bar").build()
    names = [body.name for body in m.bodies]
    cranks = [name for name in names if "crank" in name or name.startswith("A")] or names[:3]
    couplers = [name for name in names if name not in cranks]
    assert (len(cranks), len(couplers)) == (3, 2)
    wrt = {
        "speed": "velocities.B0.0",
        "g": {"gravity.1": -1.0},
        "couplers": {f"bodies.{name}.mass": 1.0 for name in couplers},
        "cranks": {f"bodies.{name}.mass": 1.0 for name in cranks},
        "crank": f"bodies.{cranks[0]}.mass",
    }
    run = sarrus.simulate(m, 10.0, outputs=[0.0, 10.0], dense=True)
    found = dict(zip(wrt, run.sensitivity("B0", list(wrt.values())), strict=True))
    assert len(wrt) > RATES
    for name, (position, velocity) in REFERENCE.items():
        assert found[name].position[-1, 0] == pytest.approx(position, abs=1e-8), name
        assert found[name].velocity[-1, 0] == pytest.approx(velocity, abs=1e-8), name


def test_time_of_an_event_of_a_pendulum():
    """Time to an angle a from the bottom: t = F(asin(sin(a/2) / k), k) / w, k = v / (2 w l)."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    bob = m.body("bob", mass=1.0, center=(0, -1), inertia=0.0)
    m.revolute("A", m.ground, bob, at=(0, 0))
    m.point("tip", bob, at=(0, -1))
    m.set_velocity("tip", (3.0, 0.0))
    event = sarrus.when(angle="A", equals=0.5, rising=True)
    run = sarrus.simulate(m, 1.0, events=[event])
    found = run.sensitivity(event, ["velocities.tip.0", "gravity.1"])

    def time(v, g):
        w = np.sqrt(g)
        k = v / (2 * w)
        return ellipkinc(np.arcsin(np.sin(0.25) / k), k * k) / w

    h = 1e-5
    assert found[0].times[0] == pytest.approx(time(3.0, 9.81), abs=1e-10)
    expected = (time(3.0 + h, 9.81) - time(3.0 - h, 9.81)) / (2 * h)
    # readings are differentiated by differences, which leaves 1e-9
    assert found[0].values[0] == pytest.approx(expected, abs=1e-8)
    expected = -(time(3.0, 9.81 + h) - time(3.0, 9.81 - h)) / (2 * h)
    assert found[1].values[0] == pytest.approx(expected, abs=1e-8)
    with pytest.raises(ValueError, match="extreme"):
        run.sensitivity(sarrus.when("tip.x", extreme=True), "gravity.1")


@pytest.mark.parametrize("name", ["double-four-bar", "rectangular-bricard", "flyball-governor"])
def test_replayed_derivatives_equal_traced_ones(name, monkeypatch):
    """Derivatives of a model by the tape on complex numbers, and by building it of numbers with derivatives."""
    forget()
    m = problems.get(name).build()
    joint = next(j.name for j in m.joints if j.at is not None)
    wrt = [f"bodies.{m.bodies[0].name}.mass", f"joints.{joint}.at.0"]
    for _ in range(3):
        run = sarrus.simulate(m, 0.01)
    source = DrawnParameters(run.mechanism, wrt)
    traced, count = source.trace([0, 1])
    replayed = dual_model.make_dual_model(traced, run.model, count)
    assert replayed.drawing is not None
    monkeypatch.setattr(dual_model, "_replay", lambda *_: None)
    built = dual_model.make_dual_model(traced, run.model, count)
    # both are exact to rounding of a few operations
    np.testing.assert_allclose(replayed.slopes, built.slopes, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(replayed.numbers, built.numbers)
    assert replayed.slopes.any()


def test_derivatives_until_an_event_changes_the_mechanism():
    """A pendulum that hits a stop: its derivatives, and that of the time of the impact, are those without it."""

    def pendulum(**stop):
        m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
        bob = m.body("bob", mass=1.0, center=(0, -1), inertia=0.0)
        m.revolute("A", m.ground, bob, at=(0, 0))
        m.point("tip", bob, at=(0, -1))
        m.set_velocity("tip", (3.0, 0.0))
        if stop:
            m.limit("stop", "A", **stop)
        return m

    event = sarrus.when(angle="A", equals=0.5, then=[sarrus.lock("A")])
    free = sarrus.simulate(pendulum(), 1.0, events=[sarrus.when(angle="A", equals=0.5)])
    first = free.sensitivity(sarrus.when(angle="A", equals=0.5), "velocities.tip.0")
    points = free.sensitivity("tip", "velocities.tip.0")
    before = free.times < first.times[0]
    stopped = sarrus.simulate(pendulum(upper=0.5, restitution=0.7), 1.0)
    locked = sarrus.simulate(pendulum(), 1.0, events=[event])
    for run in (stopped, locked):
        found = run.sensitivity("tip", "velocities.tip.0")
        assert found.validity.until == pytest.approx(first.times[0], abs=1e-10)
        assert "changes the mechanism" in str(found.validity)
        assert found.values.shape == (len(run.times), 2)
        # two runs at the default tolerance, whose steps differ
        np.testing.assert_allclose(found.values[before], points.values[before], atol=1e-9)
        assert np.isnan(found.velocity[~before]).all()
    # the event's own time is known, that of the free pendulum at 0.5 rad
    times = locked.sensitivity(event, "velocities.tip.0")
    assert times.values == pytest.approx(first.values[:1], abs=1e-8)
