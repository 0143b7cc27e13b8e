"""Random mechanisms under random loads and drives: many at once are what `simulate` finds one by one."""

import numpy as np
import pytest
from test_random_loads import add_loads

import sarrus
from random_mechanisms import random_mechanism
from sarrus import Polynomial, Sine, SmoothStep, Table

DURATION = 1.5
TIMES = np.linspace(0.0, DURATION, 16)
RUNS = 20
pytestmark = pytest.mark.usefixtures("few_runs_pay")


def random_motion(rng, start, size):
    """A motion from a start, with what of it varies."""
    kind = rng.integers(4)
    if kind == 0:
        return Polynomial((start, *(size * rng.normal(size=rng.integers(1, 4))))), "polynomial.1"
    if kind == 1:
        return Sine(size, rng.uniform(0.2, 2.0), 0.0, start), "sine.amplitude"
    if kind == 2:
        begin = rng.uniform(0.0, 0.6) * DURATION
        end = begin + rng.uniform(0.1, 0.5) * DURATION
        return SmoothStep(start, start + size * rng.normal(), begin, end), "step.end"
    times = np.linspace(0.0, DURATION, rng.integers(4, 12))
    values = start + 0.3 * size * np.cumsum(np.append(0.0, rng.normal(size=len(times) - 1)))
    return Table(tuple(times), tuple(values)), ""


def make_ensemble(seed):
    """Variants of a random mechanism with springs, dampers, torsions and up to two drives."""
    rng = np.random.default_rng(1000 + seed)
    m = random_mechanism(seed, 2 + seed % 2, crowded=seed % 5 == 1, sliding=seed % 5 == 2)
    if seed % 3:
        add_loads(m, seed)
    spread = rng.uniform(0.8, 1.2, RUNS)
    vary = {f"bodies.{m.bodies[0].name}.mass": m.bodies[0].mass * spread}
    if m.springs:
        vary[f"springs.{m.springs[0].name}.damping"] = rng.uniform(0.1, 2.0, RUNS)
    joints = [j for j in m.joints if j.kind.row.coordinate and len(j.bodies) == 2]
    for n in rng.permutation(len(joints))[: rng.integers(0, 3)].tolist():
        joint, angle = joints[n], joints[n].kind.row.coordinate == "angle"
        link = joint.kind.row.coordinate == "length"
        start = float(np.linalg.norm(np.subtract(*joint.places))) if link else 0.0
        motion, what = random_motion(rng, start, rng.uniform(0.1, 1.0) * (1.0 if angle else 0.2))
        m.drive(f"d {joint.name}", joint, motion)
        if what:
            path = f"drives.d {joint.name}.{what}"
            value = sarrus.mechanism.get_value(sarrus.mechanism.to_data(m), path)
            vary[path] = value * rng.uniform(0.8, 1.2, RUNS)
    return sarrus.Ensemble(m, vary)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(0, 3), pytest.param(range(3, 10), marks=pytest.mark.soak)], ids=str
)
def test_many_are_one_by_one(seeds):
    """Statuses, messages, notes, energies, places and velocities: the same bits."""
    fast = 0
    for seed in seeds:
        ensemble = make_ensemble(seed)
        names = [b.name for b in ensemble.base.bodies]
        runs = ensemble.simulate(DURATION, outputs=TIMES, points=names)
        fast += int(np.sum(~runs.fallback))
        for i in (0, 7):
            try:
                one = sarrus.simulate(ensemble.mechanism(i), DURATION, outputs=TIMES)
            except sarrus.MechanismError:
                assert runs.status[i] == "rejected"
                continue
            assert (runs.status[i], runs.message[i]) == (one.status, one.message)
            assert runs.notes(i) == one.outcome.notes
            assert runs.energy_drift[i] == one.energy_drift
            for name in names:
                n = len(one.times)
                assert np.array_equal(runs.position(name)[i, :n], one.position(name))
                assert np.array_equal(runs.velocity(name)[i, :n], one.velocity(name))
    # the others are rejected, immobile, blocked, or end at a singular configuration
    assert fast > 0.4 * RUNS * len(seeds)
