"""Locked or mobile: paradoxical linkages with wrong dimensions, and the misfit that lets them move."""

import numpy as np
import pytest

from builders import BRICARD_AXES, BRICARD_POINTS, bricard, rotation
from disturbed import disturbed, long_bricard, three_cranks
from linkages import bennett, copy_of, goldberg, sarrus_linkage, stewart, triangle
from sarrus import Mechanism, MechanismError, inspect, run_single, simulate
from sarrus.kinematics.configuration import read_poses
from sarrus.model import structure
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.locked import find_locked
from sarrus.verdict.misfit_repair import repair_geometry
from sarrus.verdict.mobility import measure_mobility

# together they take several seconds
pytestmark = pytest.mark.slow


def longer_bricard(longer, section=0.1):
    """Bricard's linkage with a rod longer by so many metres."""
    return long_bricard(longer, BRICARD_POINTS, BRICARD_AXES, section)


@pytest.mark.parametrize("build", [bricard, bennett, goldberg, sarrus_linkage, three_cranks])
def test_exact_linkages_are_not_doubted(build):
    """What moves to rounding is called mobile without a word about misfits."""
    m = build(0.0) if build is three_cranks else build()
    found = inspect(m)
    assert found.locked is None
    assert (found.mobility_motion, found.classes) == (1, ("permanently redundant",))


@pytest.mark.parametrize(
    ("build", "longer", "word", "mobility"),
    [
        pytest.param(longer_bricard, 1e-12, "mobile within tolerance", 1, marks=pytest.mark.slow),
        (longer_bricard, 1e-9, "mobile within tolerance", 1),
        (longer_bricard, 1e-6, "locked", 0),
        pytest.param(longer_bricard, 1e-3, "locked", 0, marks=pytest.mark.slow),
        pytest.param(three_cranks, 1e-12, "mobile within tolerance", 1, marks=pytest.mark.slow),
        pytest.param(three_cranks, 1e-9, "mobile within tolerance", 1, marks=pytest.mark.slow),
        (three_cranks, 1e-6, "locked", 0),
        pytest.param(three_cranks, 1e-3, "locked", 0, marks=pytest.mark.slow),
    ],
)
def test_longer_by(build, longer, word, mobility):
    """The misfit is proportional to the error of the link, and it, not the rank, decides."""
    found = inspect(build(longer))
    assert found.classification == word
    assert found.mobility_motion == mobility
    share = found.locked.misfit / longer
    # measured: 0.0964 of the extra length for Bricard, 0.434 for three cranks
    assert np.isclose(share, 0.0964 if build is longer_bricard else 0.434, rtol=0.01)
    text = str(found)
    assert "Strictly, it is locked" in text
    assert f"{found.locked.misfit:.2e} m" in text
    record = found.as_dict()["locked"]
    assert record["misfit"] == found.locked.misfit
    assert record["tolerance"] == pytest.approx(1e-8 * found.locked.length)


def test_misfit_by_hand():
    """Three cranks, the middle one longer by d, turned by t: the largest gap is d (1 - cos t) / 3.

    The outer cranks put the middle top d (1 - cos t) too near to its foot. A force of 1 along the middle crank is
    held by 1/2 along each outer one; least squares share the gap over all pins like these forces, so with
    1 at two pins and 1/2 at four it is divided by 2 + 4/4.
    """
    longer = 1e-6
    locked = find_locked(make_joint_equations(three_cranks(longer)))
    # the coupler goes along a circle of 1 m: its distance from the start is a chord
    turn = 2 * np.arcsin(0.5 * locked.reach * locked.length)
    assert np.isclose(locked.misfit, longer * (1 - np.cos(turn)) / 3, rtol=1e-4)


def test_verdict_in_other_units():
    """In millimetres the misfit is a thousand times the number, and the words are the same."""
    m = three_cranks(1e-6)
    found, other = (
        find_locked(make_joint_equations(x)) for x in (m, copy_of(m, length=1000.0, mass=1e-3))
    )
    assert np.isclose(other.misfit, 1000.0 * found.misfit, rtol=1e-6)
    assert np.isclose(other.reach, found.reach, rtol=1e-6)


def test_structures_stay_structures():
    """A triangle, a platform, also at its shaky position: no play of a reasonable size lets them move."""
    for m in (triangle(), stewart(0.3), stewart(np.pi / 2)):
        locked = find_locked(make_joint_equations(m))
        assert locked is None or not locked.nearly


@pytest.mark.parametrize("longer", [pytest.param(1e-12, marks=pytest.mark.slow), 1e-9])
def test_simulation_within_the_misfit(longer):
    """Typed digits: it moves, exactly and with a note, and as near to the exact linkage as its error is."""
    result = simulate(longer_bricard(longer), 1.0, 0.1)
    exact = simulate(bricard(), 1.0, 0.1)
    assert result.status == "done"
    assert len(result.notes) == 1
    assert "strictly locked, mobile within a misfit of" in result.notes[0]
    # features closer than 1e-12 are one feature to the model
    assert result.violation().max() < 1e-12
    assert np.abs(result.position("P2") - exact.position("P2")).max() < 10 * longer + 1e-11


@pytest.mark.slow
def test_simulation_rejected_or_allowed():
    """Beyond the tolerance it is rejected with the numbers; more may be allowed; 0 takes it as it is."""
    m = longer_bricard(1e-6)
    with pytest.raises(
        MechanismError, match=r"'Bricard' is locked.*misfit of 9.64e-08 m, and 5e-09 m"
    ):
        simulate(m, 1.0)
    result = simulate(m, 1.0, 0.1, misfit=1e-6)
    exact = simulate(bricard(), 1.0, 0.1)
    assert result.status == "done"
    assert result.violation().max() < 1e-11
    assert 1e-8 < np.abs(result.position("P2") - exact.position("P2")).max() < 1e-5
    still = simulate(longer_bricard(1e-3), 0.1, misfit=0.0)
    assert np.ptp(still.position("P2"), axis=0).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "m", [longer_bricard(1e-3), longer_bricard(1e-6, 0.0), three_cranks(1e-6)], ids=lambda m: m.name
)
def test_mended_dimensions_move_exactly(m):
    """The nearest dimensions found have one degree of freedom and one dependent equation all along a run."""
    locked = find_locked(make_joint_equations(m))
    repaired = repair_geometry(m, locked)
    assert repaired.left < 1e-12
    # of the size of the misfit, not larger
    assert repaired.metres < 10 * locked.misfit
    assert repaired.radians * locked.length < 10 * locked.misfit
    result = simulate(repaired.mechanism, 2.0, 0.2)
    assert result.status == "done"
    equations = result.joint_equations
    for pose in read_poses(equations.centers, result.model.body_rows, result.coordinates):
        found = measure_mobility(equations, pose)
        assert found.here == 1
        assert found.rank.below[0] < 1e-12


@pytest.mark.slow
def test_velocity_is_fitted_to_mended_dimensions():
    """A velocity along the motion of the exact linkage is allowed after the repair, with a note."""
    m = longer_bricard(1e-6)
    speed = simulate(bricard(), 0.1).velocity("P2")[0]
    m.set_velocity("P2", speed)
    at_rest = simulate(m, 0.1, misfit=1e-6)
    assert at_rest.status == "done"
    m = three_cranks(1e-6)
    m.set_velocity("B0", (np.sqrt(0.75), -0.5))
    result = simulate(m, 0.5, misfit=1e-5)
    assert result.status == "done"
    assert np.allclose(np.linalg.norm(result.velocity("B0")[0]), 1.0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("longer", [1e-12, 1e-9])
def test_assembled_and_bridged(longer):
    """A linkage with wrong dimensions whose joints are apart: closed, then bridged, both said."""
    opened = disturbed(longer_bricard(longer), 0.01, 2)
    result = simulate(opened, 1.0, 0.1, assemble=True)
    assert result.status == "done"
    assert "assembled" in result.notes[0]
    assert "strictly locked" in result.notes[1]
    exact = simulate(disturbed(bricard(), 0.01, 2), 1.0, 0.1, assemble=True)
    # the least motion ends where the error and its own tolerance let it
    assert np.abs(result.position("P2") - exact.position("P2")).max() < 1e-5


def test_bad_input_gets_a_verdict():
    """A free body, a body welded twice, a body with no degree of freedom: words, not an exception."""
    m = Mechanism("odd", gravity=(0, 0, -9.81))
    m.body("stone", 1.0, (0, 0, 0), (1, 1, 1))
    assert inspect(m).classification == "regular"
    m.weld("W", m.ground, "stone")
    m.weld("V", m.ground, "stone", at=(1, 0, 0))
    assert inspect(m).classes == ("locked", "over-constrained")


def parallel_cranks(seed):
    """A coupler on three to five parallel cranks anywhere in the plane, with all the rounding that brings."""
    rng = np.random.default_rng(seed)
    m = Mechanism("parallel cranks")
    lean, along, base = rng.uniform(0.3, 2.0, 2), rng.normal(size=2), 3 * rng.normal(size=2)
    m.body("coupler", 1.0, base + lean, 0.3)
    for i, share in enumerate(rng.uniform(-1, 1, 3 + seed % 3)):
        foot = base + share * along
        m.rod(f"crank{i}", foot, foot + lean, mass=1)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=foot)
        m.revolute(f"B{i}", f"crank{i}", "coupler", at=foot + lean)
    return m


def test_rounding_is_no_misfit():
    """Paradoxical linkages at random places, with rounded numbers, are exactly mobile."""
    for seed in range(6):
        assert find_locked(make_joint_equations(parallel_cranks(seed))) is None
    for seed in range(2):
        for m in (bennett(0.9), goldberg(0.7)):
            turned = copy_of(m, R=rotation(seed), offset=float(seed))
            assert find_locked(make_joint_equations(turned)) is None


@pytest.mark.parametrize("seed", range(6))
def test_axes_that_are_parallel_stay_so(seed):
    """Three parallel cranks of unequal length: their lengths are at fault, and nothing is tilted.

    Axes tilted by some 1e-8 would close the loops too, and leave equations that hold only to the other half of
    the digits.
    """
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    m = Mechanism("three cranks", gravity=9.81 * turn[:, 1])
    feet = [np.array([x, y, rng.normal() * 0.1]) for x, y in ((0, 0), (1, 0), (0.4, 0.7))]
    m.body("plate", 1.0, turn @ (0.5, 0.5, 0), (0.1, 0.1, 0.15))
    for k, foot in enumerate(feet):
        head = foot + np.array([0.3, 0.6, 0]) + 3e-7 * np.array([*rng.normal(size=2), 0])
        m.rod(f"crank {k}", turn @ foot, turn @ head, mass=1.0, section=0.1)
        m.revolute(f"foot {k}", "ground", f"crank {k}", at=turn @ foot, axis=turn[:, 2])
        m.revolute(f"head {k}", f"crank {k}", "plate", at=turn @ head, axis=turn[:, 2])
    result = simulate(m, 0.3, 0.1, misfit=1e-5)
    assert any("strictly locked" in note and "axes" not in note for note in result.notes)
    assert result.success
    # it falls: a crank of 0.67 m turns by a good part of a radian
    assert np.linalg.norm(result.position("plate")[-1] - result.position("plate")[0]) > 0.05
    assert result.violation().max() < 1e-14


def test_a_linkage_that_moves_is_followed_once(monkeypatch):
    """Not again when nothing of it changed; one of other dimensions is looked at again."""
    followed = []
    bridge = run_single.bridge_misfit

    def follow(mechanism, equations, misfit):
        followed.append(mechanism.name)
        return bridge(mechanism, equations, misfit)

    structure.forget()
    monkeypatch.setattr(run_single, "bridge_misfit", follow)
    first = simulate(bricard(), 0.1)
    again = simulate(bricard(), 0.1, tolerance=1e-8)
    assert len(followed) == 1
    assert first.notes == again.notes
    # strictly locked: bridged each time, with a note
    for count in (2, 3):
        assert any("strictly locked" in note for note in simulate(longer_bricard(1e-9), 0.1).notes)
        assert len(followed) == count
