"""Sides of planar links: one is changed, the others stay; what the link carries goes along, loops are closed."""

import numpy as np
import pytest

import sarrus
from sarrus.mechanism.files import from_data, to_data
from sarrus.studies.changes import apply_change, change_kind
from sarrus.studies.side_lengths import find_sides, set_side
from sarrus.studies.study import Base, Change, ChangeKind


def polygon(corners):
    """A plate with a pin at every corner, one of them on the ground, and bars on the others."""
    m = sarrus.Mechanism("plate", gravity=(0, -9.81))
    m.body("plate", 1.0, np.mean(corners, axis=0), 0.1)
    for k, at in enumerate(corners):
        if k:
            m.rod(f"bar {k}", at, np.add(at, (0.1, 1.0)), mass=1)
        m.revolute(f"P{k}", m.ground if k == 0 else f"bar {k}", "plate", at=at)
    return to_data(m)


@pytest.mark.parametrize("seed", range(12))
def test_one_side_changes_and_the_others_stay(seed):
    """2 n - 3 sides of a random polygon; each in turn is longer by 3 percent, all others are as before."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    turn = np.sort(rng.uniform(0, 2 * np.pi, n)) + np.arange(n)
    reach = rng.uniform(0.5, 1.5, n)
    data = polygon(np.column_stack([reach * np.cos(turn), reach * np.sin(turn)]).tolist())
    before = find_sides(data, "plate")
    assert len(before) == 2 * n - 3
    changed, rejected = 0, 0
    for pair, length in before.items():
        path = f"bodies.plate.sides.{pair[0]}.{pair[1]}"
        try:
            new = set_side(data, path, 1.03 * length)
        except sarrus.MechanismError:
            # a triangle that was almost flat
            rejected += 1
            continue
        changed += 1
        # a triangle that is nearly flat loses digits
        after = find_sides(new, "plate")
        assert after == pytest.approx(before | {pair: 1.03 * length}, rel=1e-9)
    assert rejected < changed


def test_a_straight_link_stays_straight():
    """Three pins in line: two sides, and the last pin goes along when the first side grows."""
    data = polygon([(0, 0), (0.4, 0.3), (0.8, 0.6)])
    assert list(find_sides(data, "plate")) == [("P0", "P1"), ("P1", "P2")]
    new = set_side(data, "bodies.plate.sides.P0.P1", 1.0)
    places = [new["joints"][name]["at"][1] for name in ("P1", "P2")]
    np.testing.assert_allclose(places, [(0.8, 0.6), (1.2, 0.9)], rtol=1e-14)


def test_what_a_link_carries_goes_along():
    """The corners of a plate are its pins; a spring and a force between them keep their shares of the triangle."""
    corners = [(0, 0), (1, 0), (0.2, 0.8)]
    data = polygon(corners)
    data["bodies"]["plate"] = {"plate": [list(map(float, c)) for c in corners], "mass": 1.0}
    middle = np.mean(corners, axis=0).tolist()
    data["forces"] = {"F": {"body": "plate", "at": middle, "vector": [0.0, 1.0]}}
    new = set_side(data, "bodies.plate.sides.P0.P1", 1.2)
    new_corners = new["bodies"]["plate"]["plate"]
    np.testing.assert_allclose(new_corners[:2], [(0, 0), (1.2, 0)], atol=1e-15)
    # an affine map takes the centroid to the centroid
    np.testing.assert_allclose(new["forces"]["F"]["at"], np.mean(new_corners, axis=0), rtol=1e-13)
    assert new["assemble"] is True
    closed = sarrus.assemble(from_data(new, check=False)).mechanism
    at = {joint.name: joint.at for joint in closed.joints}
    assert np.linalg.norm(at["P1"] - at["P0"]) == pytest.approx(1.2, rel=1e-13)
    assert closed.bodies[1].length == pytest.approx(np.hypot(0.1, 1.0), rel=1e-13)


def test_studies_vary_sides():
    """The path is one of a study; what is no side, a rod and a negative length are rejected with a sentence."""
    data = polygon([(0, 0), (1, 0), (0.2, 0.8)])
    base = Base("", {}, data, "")
    path = "bodies.plate.sides.P1.P2"
    change = Change(change_kind(base, path), path, (path,))
    assert change.kind is ChangeKind.SIDE
    new = apply_change(data, change, [1.0])
    assert find_sides(new, "plate")["P1", "P2"] == pytest.approx(1.0, rel=1e-14)
    for bad, match in (
        ("bodies.plate.sides.P1.Q", "no side"),
        ("bodies.plate.sides.P1", "between two"),
        ("bodies.bar 1.sides.P1.P2", "is a rod"),
        ("bodies.plat.sides.P1.P2", "did you mean 'plate'"),
    ):
        with pytest.raises(sarrus.MechanismError, match=match):
            set_side(data, bad, 1.0)
    with pytest.raises(sarrus.MechanismError, match="positive"):
        set_side(data, path, -1.0)
    with pytest.raises(sarrus.MechanismError, match="make no triangle"):
        set_side(data, path, 5.0)
