"""Random mechanisms against the independent simulator for a long time: `make soak`.

    python tests/soak.py [--minutes 30] [--count 300] [--first 1000]

Each seed makes one mechanism, planar or in space, with plain, crowded or sliding joints. It is simulated here
and in absolute coordinates (absolute_coordinates.py), and again in a motion slower or faster by a power of two
between 1e-6 and 1e6, which must be the same motion. A linkage of a random family has the same crossings at other
tolerances, outputs and methods and in an ensemble, and random loops have all of theirs; the branches at its
first crossing are those of the way back. Methods without a certificate of their branch do not leave it without a
note where branches touch. The invariants of `sarrus.audit` hold of both. Small motions about the
equilibrium of the mechanism are its modes; a small push shows which equilibria are stable. Every failure prints
its seed; it is run again by `--first SEED --count 1`.
"""

import argparse
import sys
import time
import traceback

import numpy as np

import sarrus
from agreement.test_independent_simulation import DURATION, check_same_motion, with_random_start
from crossing_families import FAMILIES
from equilibrium_checks import at_equilibrium, check_equilibrium, with_springs
from random_mechanisms import random_mechanism
from sarrus import MechanismError, equilibrium, modes, simulate, simulate_many
from singular.test_common_tangents import double_watt
from singular.test_crossing_counts import check_loops, check_same_crossings
from time_scale import in_time

# the tolerance, grown over the run: places of two runs whose roundings differ
SAME_IN_TIME = 1e-8


def make(seed):
    """The mechanism of a seed."""
    kind = seed % 6
    return random_mechanism(seed, 2 + kind % 2, crowded=kind // 2 == 1, sliding=kind // 2 == 2)


def check_time_scale(seed):
    """The same motion in another time."""
    m = make(seed)
    _, twists = with_random_start(m, seed)
    if twists is None:
        return
    s = 2.0 ** np.random.default_rng(seed).integers(-19, 20)
    want = simulate(m, DURATION, DURATION / 6, misfit=0.0)
    got = simulate(in_time(m, s), s * DURATION, s * DURATION / 6, misfit=0.0)
    assert got.status == want.status, f"in time times {s:g}: {got.message}"
    np.testing.assert_allclose(got.coordinates, want.coordinates, atol=SAME_IN_TIME, rtol=0)


def check_crossings(seed):
    """The number of crossings depends on the motion alone."""
    rng = np.random.default_rng([28, seed])
    m = FAMILIES[rng.choice(list(FAMILIES))](rng)
    check_same_crossings(m)
    check_loops(seed)
    # in an ensemble, and up to the first of them with its branches
    alone, together = simulate(m, 2.0, 0.1), simulate_many([m, m], 2.0, 0.1, crossings=True)
    assert [len(times) for times in together.crossings] == [len(alone.crossings)] * 2
    found = sarrus.audit(simulate(m, 2.0, 0.1, at_crossing="branches"))
    assert found.holds, str(found)


def check_touching_branches(seed):
    """Where branches touch, a method stays on its own, or the run is reported."""
    rng = np.random.default_rng([30, seed])
    case = (
        -rng.uniform(0.2, 0.9),
        rng.uniform(0.5, 2),
        rng.uniform(0.3, 1.0),
        rng.uniform(0.05, 0.5),
    )
    both, one = double_watt(*case)
    alone = simulate(one, 1.5, 0.05, tolerance=1e-12)
    for method in ("radau", "multipliers-dop853"):
        tolerance = 10.0 ** rng.uniform(-10, -6)
        run = simulate(both, 1.5, 0.05, method=method, tolerance=tolerance)
        off = np.abs(run.position("P0") - alone.position("P0")[: len(run.times)]).max()
        reported = any("may be on another branch" in n or "is not certain" in n for n in run.notes)
        # the method's own error, grown over the run; branches part by more
        assert off < max(1e-4, 1e3 * tolerance) or reported, (method, tolerance, off)


def check_statics(seed):
    """Let go along a mode of its equilibrium a mechanism has the opposite velocities after half a period."""
    m = make(seed)
    rest = equilibrium(m)
    if not (rest.stable and rest.order == 2) or m.torsions:
        return 0
    m = at_equilibrium(m, rest)
    names = [f"centre of {body.name}" for body in m.bodies]
    for body, name in zip(m.bodies, names, strict=True):
        m.point(name, body, body.center)
    try:
        found = modes(m)
    except MechanismError:
        # singular there
        return 0
    swinging = [mode for mode in found if abs(mode.eigenvalue.real) < 1e-9 < mode.frequency]
    for mode in swinging:
        one = m.copy()
        sizes = {name: mode.shape(name) for name in names}
        largest = max(np.abs(v).max() for v in sizes.values())
        if largest < 1e-3:
            continue
        for name, v in sizes.items():
            # so slow that it moves by a few 1e-5 of a length
            one.set_velocity(name, 1e-5 * m.size * mode.frequency * np.real(v) / largest)
        run = simulate(one, 0.5 / mode.frequency, 0.25 / mode.frequency, misfit=0.0)
        assert run.success, run.message
        for name in names:
            v = run.velocity(name)
            assert np.abs(v[-1] + v[0]).max() < 1e-2 * np.abs(v).max() + 1e-3 * 1e-5 * m.size
    return len(swinging)


def check_equilibria(seed):
    """Equilibria are left by a small push if and only if they are not stable; the search ends in a stable one."""
    m = with_springs(seed)
    rest = equilibrium(m)
    assert rest.kind != "unstable", rest.message
    # those next to the start: a long list takes minutes
    for one in ((rest,) if rest.found else ()) + sarrus.equilibria(m, 0.1):
        check_equilibrium(m, one, seed)


def check_invariants(seed):
    """Newton-Euler of every body, powers, energy, constraints and crossings."""
    rng = np.random.default_rng([29, seed])
    for m in (make(seed), FAMILIES[rng.choice(list(FAMILIES))](rng)):
        _, twists = with_random_start(m, seed) if not (m.velocities or m.drives) else (None, ())
        if twists is None:
            continue
        found = sarrus.audit(simulate(m, 2.0, 0.05))
        assert found.holds, str(found)


def soak(first, count, minutes):
    """Failures by seed; stops after so many seeds or minutes."""
    begin, failures = time.monotonic(), {}
    for seed in range(first, first + count):
        if time.monotonic() - begin > 60.0 * minutes:
            print(f"{seed - first} of {count} seeds in {minutes:g} minutes", flush=True)
            break
        for check in (
            lambda k: check_same_motion(k, make(k)),
            check_time_scale,
            check_crossings,
            check_touching_branches,
            check_invariants,
            check_statics,
            check_equilibria,
        ):
            try:
                check(seed)
            except Exception:
                failures[seed] = traceback.format_exc(limit=-2)
                print(f"seed {seed} fails\n{failures[seed]}", flush=True)
        if (seed - first) % 20 == 19:
            print(f"seeds {first} to {seed}: {len(failures)} failures", flush=True)
    return failures


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=1000)
    requested = parser.parse_args()
    failures = soak(requested.first, requested.count, requested.minutes)
    print(f"failed seeds: {sorted(failures) or 'none'}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
