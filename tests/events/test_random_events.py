"""None missed: events of random mechanisms against a brute-force search of the same motion."""

from itertools import pairwise

import numpy as np
import pytest

import sarrus
from sarrus import when

# times at which the motion is searched
GRID = 2000


def random_mechanism(rng):
    """A double pendulum with a spring, a four-bar, a driven slider-crank or a rotating rod."""
    m = sarrus.Mechanism("random")
    kind = rng.integers(4)
    if kind == 0:
        length = float(rng.uniform(0.5, 1.5))
        m.rod("a", (0, 0), (length, 0), mass=1)
        m.revolute("A", m.ground, "a", at=(0, 0))
        m.rod("b", (length, 0), (length + 1, 0.3), mass=float(rng.uniform(0.2, 2)))
        m.revolute("B", "a", "b", at=(length, 0))
        m.point("P", "b", (length + 1, 0.3))
        m.spring("s", "b", m.ground, start=(length + 1, 0.3), end=(0.3, -1.5),
                 stiffness=float(rng.uniform(5, 80)), free_length=0.5, damping=0.1 * rng.integers(2))  # fmt: skip
    elif kind == 1:
        coupler, rocker = rng.uniform(0.8, 1.0), rng.uniform(0.7, 0.9)
        m.four_bar(
            crank=0.3,
            coupler=coupler,
            rocker=rocker,
            ground=1.0,
            angle=rng.uniform(0.3, 2.5),
            mass=1.0,
        )
        m.point("P", "coupler", m.joints[1].at)
    elif kind == 2:
        m.slider_crank(crank=0.1, rod=rng.uniform(0.2, 0.4), angle=rng.uniform(0.3, 2.5), mass=1.0)
        m.drive("motor", "O", sarrus.Polynomial((0.0, float(rng.uniform(3, 20)))))
        m.point("P", "rod", m.joints[1].at)
    else:
        m.rod("a", (0, 0), (1, 0), mass=1)
        m.revolute("A", m.ground, "a", at=(0, 0))
        m.point("P", "a", (1, 0))
        m.set_angular_velocity("a", rng.uniform(-12, 12))
    return m


def quantities(result):
    """What can be read in a run: arguments of `when`, and the same by methods of results."""
    found = {
        what: ({"coordinate": what}, lambda r, what=what: r.quantity(what).values)
        for what in ("P.x", "P.y", "P.vx", "P.vy")
    }
    found["speed"] = {"speed": "P"}, lambda r: np.linalg.norm(r.velocity("P"), axis=1)
    found["energy"] = {"energy": "kinetic"}, lambda r: r.kinetic_energy
    body = result.mechanism.bodies[-1].name
    found["distance"] = (
        {"distance": ("P", body)},
        lambda r: np.linalg.norm(r.position("P") - r.position(body), axis=1),
    )
    for joint in (j for j, rows in result.model.readings.angles.items() if rows.is_pair):
        found["angle"] = {"angle": joint}, lambda r, joint=joint: r.angle(joint)
    for joint in result.model.readings.travels:
        found["travel"] = {"travel": joint}, lambda r, joint=joint: r.travel(joint)
    for spring in result.model.readings.springs:
        found["force"] = {"force": spring}, lambda r, spring=spring: r.force(spring)
    found["function"] = {"quantity": product}, product
    return found


def product(result):
    """A function of a user."""
    return result.position("P")[:, 0] * result.velocity("P")[:, 1]


def random_events(rng, probe):
    """Values that quantities reach, some of them shortly before their extremes, and extremes."""
    events = []
    for what, (given, read) in quantities(probe).items():
        values = read(probe)
        low, high = float(values.min()), float(values.max())
        # a smaller range would be within what events distinguish: 1e-9 of the size, with a fixed step 1e-8
        if high - low < 1e-2 * max(1.0, abs(low), abs(high)):
            continue
        share = rng.random() if rng.random() < 0.7 else 1.0 - 10.0 ** rng.uniform(-6, -2)
        events.append((when(**given, equals=low + share * (high - low), name=what), read))
        events.append((when(**given, extreme=True, name=f"{what} extreme"), read))
    return events


def search(times, values, event):
    """Intervals in which a fine grid shows an event: changes of sign, or of the direction."""
    if event.equals is not None:
        off = values - event.equals
        found = np.flatnonzero(off[:-1] * off[1:] < 0)
        return [(times[k], times[k + 1]) for k in found]
    steps = np.diff(values)
    # smaller changes may be within the error of the run
    clear = 1e-8 * max(1.0, np.abs(values).max())
    found = np.flatnonzero(
        (steps[:-1] * steps[1:] < 0) & (np.minimum(abs(steps[:-1]), abs(steps[1:])) > clear)
    )
    return [(times[k], times[k + 2]) for k in found]


def compare(seed, **method):
    """How many events a brute-force search finds in a random run; all of them must have been located."""
    rng = np.random.default_rng(seed)
    m, duration = random_mechanism(rng), float(rng.uniform(0.5, 4))
    probe = sarrus.simulate(m, duration, duration / 200, **method)
    if not probe.success:
        return 0
    events = random_events(rng, probe)
    given = [event for event, _ in events]
    result = sarrus.simulate(m, duration, duration / 200, dense=True, events=given, **method)
    # the sum of many equal steps is the duration to rounding
    grid = np.linspace(0.0, duration * (1.0 - 1e-12), GRID + 1)
    motion, count = result.at(grid), 0
    for event, read in events:
        located = [e for e in result.events if e.name == event.name]
        at = np.array([e.time for e in located])
        shown = search(grid, read(motion), event)
        for first, last in shown:
            assert ((at >= first - 1e-9) & (at <= last + 1e-9)).any(), (seed, event.name, first)
        count += len(shown)
        # and none invented: values are there, and directions alternate
        kinds = [e.kind for e in located if e.kind != "tangent"]
        assert all(a != b for a, b in pairwise(kinds)), (seed, event.name)
        if event.equals is not None:
            there = np.array([read(e.state)[0] for e in located])
            turns = np.pi if "angle" in event.name else np.inf
            # rounding of the value itself, and of the time times the rate; turns are not counted from one state
            assert np.remainder(there - event.equals + 1e-9, 2.0 * turns) == pytest.approx(
                np.full(len(at), 1e-9), abs=1e-11 * max(1.0, abs(event.equals))
            ), (seed, event.name)
    return count


def test_none_is_missed():
    """A few random runs."""
    assert sum(compare(seed) for seed in range(6)) > 100


@pytest.mark.parametrize("method", ["generalized-alpha", "energy-momentum", "multipliers"])
def test_none_is_missed_with_a_fixed_step(method):
    """The polynomials between the ends of steps are the motion; their zeros are the events."""
    assert sum(compare(seed, method=method, step=0.01) for seed in range(4)) > 100


@pytest.mark.slow
def test_none_is_missed_in_many_runs():
    """More of them."""
    assert sum(compare(seed) for seed in range(100, 160)) > 2000
