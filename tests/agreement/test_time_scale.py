"""In slow or fast motion a mechanism takes the same steps: no number of a method is a time of its own.

With time longer by s, gravity and forces / s^2, velocities and damping / s, every place stays, at times s t.
"""

import numpy as np
import pytest

from builders import bricard, n_four_bar
from sarrus import Mechanism, Polynomial, problems, simulate
from sarrus.methods import METHODS
from sarrus.methods.method import LOADS
from time_scale import in_time

# steps are found by logarithms, whose rounding is some 1e-15 of a step. In the governor, which is stiff, the high
# coefficients are what rounding leaves of parts that have died out, and where single steps end is rounding too:
# times of its 190 steps move by 6e-4 of the run, its places by 3e-15
SAME_STEPS = 1e-7
SAME_STIFF_STEPS = 1e-2
# the error of a step of radau is the difference of two motions that agree to 1e-9: its rounding is seen
SAME_RADAU_STEPS = 1e-6
# and what this does to places: far below the tolerance of 1e-10
SAME_PLACES = 1e-11

# beyond 1e-4 and 1e4; powers of two scale every number exactly, so that rounding has no part in it
FAST, SLOW = 2.0**-14, 2.0**14
BOTH = pytest.mark.parametrize("s", [FAST, SLOW], ids=["fast", "slow"])


def driven_crank():
    """A crank that a motor turns, with a rod that swings on it."""
    m = Mechanism("driven crank")
    m.rod("crank", (0, 0), (0.3, 0), mass=1)
    m.rod("rod", (0.3, 0), (1.1, -0.4), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=(0.3, 0))
    m.torsion("bearing", "B", stiffness=2.0, damping=0.3)
    m.drive("motor", "A", Polynomial((0.0, 0.0, 2.0)))
    return m


MECHANISMS = {
    "pendulum": (lambda: problems.get("simple-pendulum-a01").mechanism(), 2.0),
    "bricard": (lambda: bricard(0.1), 2.0),
    "spring": (lambda: problems.get("four-bar-spring").mechanism(), 1.0),
    "governor": (lambda: problems.get("flyball-governor").mechanism(), 0.1),
    "squeezer": (lambda: problems.get("andrews-squeezer").mechanism(), 0.02),
    "slider-crank": (lambda: problems.get("spatial-slider-crank").mechanism(), 1.0),
    "driven": (driven_crank, 1.0),
}


def run(mechanism, duration, s, method="series"):
    """The run in time s, with twenty outputs."""
    chosen = METHODS[method]
    more = {k: chosen.options[k] * s**power for k, power in OPTIONS.get(method, {}).items()}
    if chosen.setting == "step":
        more["step"] = s * duration / 400
    result = simulate(in_time(mechanism, s), s * duration, s * duration / 20, method=method, **more)
    assert result.status == "done", result.message
    return result


def check_same(mechanism, duration, s, method="series"):
    """Steps, their times and all places are those of the mechanism in its own time."""
    want, got = run(mechanism, duration, 1.0, method), run(mechanism, duration, s, method)
    for what in ("steps", "rejected", "relaxed_steps"):
        assert got.counters[what] == want.counters[what], what
    same = SAME_RADAU_STEPS if method == "radau" else SAME_STEPS
    if "governor" in mechanism.name:
        same = SAME_STIFF_STEPS
    np.testing.assert_allclose(got.step_times / s, want.step_times, atol=same * duration)
    size = np.abs(want.coordinates).max()
    np.testing.assert_allclose(got.coordinates, want.coordinates, atol=SAME_PLACES * size, rtol=0)


@BOTH
@pytest.mark.parametrize("name", MECHANISMS)
def test_series_takes_the_same_steps(name, s):
    """In time that runs more than ten thousand times faster or slower."""
    build, duration = MECHANISMS[name]
    check_same(build(), duration, s)


@pytest.mark.parametrize("power", [-47, -34, 27, 40])
@pytest.mark.parametrize("name", MECHANISMS)
def test_series_in_the_fastest_and_slowest_motion(name, power):
    """In picoseconds, and in millennia: coefficients, 1/s^30, leave the range of numbers, the order falls.

    Places are as good as the tolerance of 1e-10, times what the slider-crank makes of it; there are at most twice
    as many steps.
    """
    build, duration = MECHANISMS[name]
    want, got = run(build(), duration, 1.0), run(build(), duration, 2.0**power)
    assert got.counters["steps"] <= 2 * want.counters["steps"]
    assert not got.notes
    size = np.abs(want.coordinates).max()
    np.testing.assert_allclose(got.coordinates, want.coordinates, atol=1e-8 * size, rtol=0)


# options of methods with a unit of time, as powers of it; their values in seconds are a user's choice
OPTIONS = {
    "multipliers": {"alpha": -1, "beta": -1},
    "multipliers-dop853": {"alpha": -1, "beta": -1},
    "penalty": {"omega": -1},
    "ali3": {"penalty": -2},
}


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("method", [name for name in METHODS if name != "series"])
def test_other_methods_take_the_same_steps(method, s):
    """The same for methods of any kind; those with a fixed step get one that fits."""
    name = "spring" if LOADS in METHODS[method].does else "pendulum"
    build, duration = MECHANISMS[name]
    check_same(build(), duration, s, method)


@BOTH
def test_the_same_crossings(s):
    """Next to a crossing rounding has its say in the steps, but the crossings stay where they are."""
    want, got = run(n_four_bar(2), 3.0, 1.0), run(n_four_bar(2), 3.0, s)
    assert len(want.crossings) == 3
    assert [c.mobility_here for c in got.crossings] == [c.mobility_here for c in want.crossings]
    times = [[c.time for c in r.crossings] for r in (got, want)]
    np.testing.assert_allclose(np.array(times[0]) / s, times[1], rtol=1e-8)
    # near the unstable upright the tolerance, 1e-10, grows a hundredfold
    np.testing.assert_allclose(got.coordinates, want.coordinates, atol=1e-8)
