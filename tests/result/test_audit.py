"""Invariants of results: they hold for random mechanisms, and what is wrong is found."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from builders import n_four_bar
from crossing_families import members
from random_mechanisms import random_mechanism
from sarrus import MechanismError, Polynomial, simulate
from sarrus.cli import app


@pytest.mark.parametrize(
    "family",
    [
        "two windows",
        "driven parallelogram",
        "parallelogram and damper",
        "five cranks",
        "kite",
        "parallelogram in space",
    ],
)
def test_invariants_of_families(family):
    """All invariants hold of linkages that pass singular configurations, loaded and driven."""
    (m,) = members(family, 1, seed=8)
    found = sarrus.audit(simulate(m, 2.0, 0.02))
    assert found.holds, str(found)
    assert len(found.checks) == 7
    assert "all invariants hold" in str(found)


@pytest.mark.slow
def test_invariants_of_random_mechanisms():
    """All invariants hold of random mechanisms, planar and in space, with every kind of joint."""
    rejected = {}
    for seed in range(30):
        try:
            m = random_mechanism(seed, 2 + seed % 2, sliding=seed % 3 > 0, crowded=seed % 3 == 0)
            result = simulate(m, 0.5, 0.1)
        except MechanismError as error:
            rejected[seed] = str(error)
            continue
        found = sarrus.audit(result)
        assert found.holds, f"seed {seed}: {found}"
    assert len(rejected) <= 3, rejected


def tampered(result, **changes):
    """The result with other numbers in its record."""
    return replace(
        result, outcome=replace(result.outcome, record=replace(result.record, **changes))
    )


def test_what_is_wrong_is_found():
    """A velocity, an acceleration and a work that do not belong to the motion are each found by their check."""
    m = n_four_bar(1)
    m.velocities.clear()
    m.drive("motor", "A0", Polynomial((0.0, 1.0)))
    result = simulate(m, 0.5, 0.1)
    record = result.record
    assert sarrus.audit(result).holds
    v = record.v.copy()
    v[3] *= 1.0 + 1e-4
    failed = {c.name for c in sarrus.audit(tampered(result, v=v)).checks if not c.holds}
    assert {"Constraints", "Energy"} <= failed
    own, kept = record.a.copy(), np.ones_like(record.kept)
    own[3] += 1e-3
    failed = {
        c.name for c in sarrus.audit(tampered(result, own=own, kept=kept)).checks if not c.holds
    }
    assert "Rate of energy" in failed
    work = record.work + 1e-3 * np.arange(len(record.work))
    found = sarrus.audit(tampered(result, work=work))
    assert [c.name for c in found.checks if not c.holds] == ["Energy"]
    assert "not all hold: Energy" in str(found)


def failed(result):
    """Names of the checks that fail."""
    return {check.name for check in sarrus.audit(result).checks if not check.holds}


@pytest.mark.parametrize("family", ["one window", "three cranks", "folding slider-crank"])
def test_planted_faults_are_found(family):
    """A reaction off by 1e-4, a crossing that is missing or invented, and a lost branch, each by its check."""
    (m,) = members(family, 1, seed=3)
    result = simulate(m, 2.0, 0.05)
    reactions, (first, *others) = result.reactions, result.crossings
    wrong = reactions.values.copy()
    n = int(np.argmax(reactions.smallest))
    wrong[n, 0] += 1e-4 * np.abs(wrong[n]).max()
    changed = {
        "Newton-Euler": {"reactions": replace(reactions, values=wrong)},
        "Second run": {"_moments": (tuple(others), result.near_singular)},
        "Crossings": {
            "_moments": (
                (first, *others, replace(first, coordinates=result.coordinates[n], time=1.99)),
                (),
            )
        },
    }
    for check, fields in changed.items():
        faulty = replace(result)
        faulty.__dict__.update(fields)
        assert check in failed(faulty)
    stopped = simulate(m, 2.0, 0.05, at_crossing="branches")
    assert not failed(stopped)
    listed = stopped.branches
    stopped.crossings[-1].__dict__["branches"] = replace(listed, branches=listed[1:])
    assert failed(stopped) == {"Branches"}


def test_another_motion_is_found():
    """Steps that are too long for their motion are found by the second run."""
    m = n_four_bar(1, speed=3.0)
    result = simulate(m, 3.0, 0.1, method="energy-momentum", step=0.05)
    assert result.success
    assert "Second run" in failed(result)


def test_audit_of_a_run(tmp_path):
    """The command reads a run folder or a saved result, and ends with 1 if something does not hold."""
    result = simulate(n_four_bar(2), 1.0, 0.05)
    good = result.save(tmp_path / "good.h5")
    run = CliRunner().invoke(app, ["audit", str(good)])
    assert run.exit_code == 0
    assert "Newton-Euler: holds; " in run.output
    bad = tampered(result, work=result.record.work + np.linspace(0.0, 1.0, 21)).save(
        tmp_path / "bad.h5"
    )
    run = CliRunner().invoke(app, ["audit", str(bad), "--json"])
    assert run.exit_code == 1
    assert '"holds": false' in run.output


def test_a_result_without_outputs():
    """There is nothing to audit."""
    result = simulate(n_four_bar(1), 1.0, 0.5)
    with pytest.raises(ValueError, match="has no outputs to audit"):
        sarrus.audit(replace(result, outcome=replace(result.outcome, record=result.record[:0])))
