"""The verdict on linkages with sliders, crosses, links and drives."""

import json

import numpy as np
import pytest

from builders import n_four_bar, rotation
from linkages import copy_of, linked_stewart, shafts, slider_crank, trammel, triangle, wedges
from sarrus import Mechanism, inspect
from verdict_checks import check_minimal, numbers

# together they take several seconds
pytestmark = pytest.mark.slow

BUILDS = {
    "wedges": wedges,
    "wedges in space": lambda: wedges(rotation(2)),
    "shafts": shafts,
    "links": lambda: linked_stewart(0.3),
    "shaky links": lambda: linked_stewart(np.pi / 2),
    "trammel": trammel,
    "slider-crank": lambda: slider_crank(0.7),
}


def test_wedges():
    """Three wedges: count 0, mobility 1; in space redundant by 3 more."""
    assert numbers(inspect(wedges())) == (0, 1, 1, 1, 1, ("permanently redundant",))
    found = inspect(wedges(rotation(2)))
    assert numbers(found) == (-3, 1, 1, 4, 4, ("permanently redundant",))
    (only,) = inspect(wedges()).redundancy.sets
    assert str(only) == "loop P-Q-S: the equations about z at P, Q and S depend on each other"
    words = {r.by for r in inspect(wedges()).redundancy.replacements}
    assert words == {"a pin in a slot along the slider's axis"}


def test_shafts():
    """A cross between two shafts: count -2, mobility 1, and the cross may be a ball joint."""
    found = inspect(shafts())
    assert numbers(found) == (-2, 1, 1, 3, 3, ("permanently redundant",))
    # a ball in place of the cross would let the shafts turn each on its own
    words = {(r.joint, r.by) for r in found.redundancy.replacements}
    assert ("A", "a ball joint") in words
    assert ("X", "a ball joint") not in words


def test_stewart_platform_on_links():
    """Six links hold a platform; at a quarter turn it is shaky, if similar it moves."""
    assert numbers(inspect(linked_stewart(0.3))) == (0, 0, 0, 0, 0, ("locked",))
    found = inspect(linked_stewart(np.pi / 2))
    assert (found.count, found.mobility_here, found.mobility_motion) == (0, 1, 0)
    assert "locked" in found.classes
    similar = inspect(linked_stewart(0.3, top=0.25))
    assert (similar.mobility_here, similar.mobility_motion, similar.redundant_here) == (3, 1, 3)


def test_trammel():
    """A rod on two lines has one degree of freedom, also where one end is at the corner."""
    for angle in (0.4, 0.0, np.pi / 2):
        assert numbers(inspect(trammel(angle))) == (1, 1, 1, 0, 0, ("regular",))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_verdict_of_a_copy(name):
    """In millimetres and tonnes, turned and moved, in another order: the same words."""
    m = BUILDS[name]()
    found = inspect(m)
    R = rotation(8) if m.dimension == 3 else np.array([[0.6, -0.8], [0.8, 0.6]])
    for other in (
        copy_of(m, length=1000.0, mass=1e-3),
        copy_of(m, R=R, offset=0.7),
        copy_of(m, seed=1),
    ):
        again = inspect(other)
        assert numbers(again) == numbers(found)
        assert np.allclose(again.mobility.rank.above, found.mobility.rank.above, rtol=1e-9)
        assert again.driven == found.driven


@pytest.mark.parametrize("name", BUILDS)
def test_sets_are_minimal_and_complete(name):
    """Every set is a minimal dependent one, and there are as many as redundant equations."""
    m = BUILDS[name]()
    m.drives.clear()
    check_minimal(m, inspect(m))


@pytest.mark.parametrize(
    ("name", "joint", "rows"),
    [("wedges", "Q", 2), ("wedges in space", "P", 5), ("shafts", "X", 4), ("links", "L0", 1)],
)
def test_doubled_joint(name, joint, rows):
    """A joint written twice adds its equations to the redundancy."""
    m = BUILDS[name]()
    found, other = inspect(m), inspect(copy_of(m, double=joint))
    assert other.redundant_here == found.redundant_here + rows
    assert other.mobility_motion == found.mobility_motion


def test_driven_slider_crank():
    """One degree of freedom, driven; the mobility is that of the joints, what drives leave is reported near it."""
    found = inspect(slider_crank(0.7))
    assert numbers(found) == (1, 1, 1, 0, 0, ("regular",))
    assert (found.driven.free_here, found.driven.free_motion, found.driven.idle_here) == (0, 0, 0)
    assert "With 'motor' prescribed, no degree of freedom is left." in str(found)
    record = json.loads(json.dumps(found.as_dict()))
    assert record["driven"]["drives"] == ["motor"]
    assert record["driven"]["free_motion"] == 0
    assert inspect(triangle()).as_dict()["driven"] is None


def test_one_drive_too_many():
    """Two drives for one degree of freedom depend on each other, named in the loop."""
    m = slider_crank(0.7)
    m.drive("ram", "P", 0.0)
    found = inspect(m)
    assert (found.driven.idle_here, found.driven.idle_motion) == (1, 1)
    (only,) = found.driven.sets
    assert {e.joint for e in only.equations if e.drive} == {"motor", "ram"}
    assert only.loop == ("A", "B", "C", "P")
    assert "1 drive too many" in str(found)
    # the joints alone are sound
    assert found.redundant_here == 0
    assert "drive motor" in str(only)


def test_dead_position_of_a_drive():
    """With the crank in line the piston cannot drive it."""
    m = slider_crank(0.0)
    m.drives.clear()
    m.drive("ram", "P", 0.0)
    found = inspect(m)
    assert numbers(found) == (1, 1, 1, 0, 0, ("regular",))
    assert (found.driven.free_here, found.driven.free_motion) == (1, 0)
    assert (found.driven.idle_here, found.driven.idle_motion) == (1, 0)
    assert "dead centre" in str(found)
    assert not found.driven.sets[0].permanent


def test_some_degrees_of_freedom_driven():
    """A driven double pendulum has one degree of freedom left; a driven link is none of the joints' equations."""
    m = Mechanism("double pendulum")
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (2, 0), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0))
    m.drive("motor", "A", 0.0)
    found = inspect(m)
    assert (found.mobility_motion, found.driven.free_motion) == (2, 1)
    assert "With 'motor' prescribed, 1 degree of freedom is left, of 'b'." in str(found)
    m.distance("jack", m.ground, "b", start=(1, 1), end=(2, 0))
    assert inspect(m).mobility_motion == 1
    m.drive("lift", "jack", np.sqrt(2.0))
    found = inspect(m)
    assert (found.mobility_motion, found.driven.free_motion) == (2, 0)


def test_drives_of_a_large_mechanism():
    """N = 300 with a drive: one degree of freedom, driven, found body by body."""
    m = n_four_bar(300, lean=0.2)
    m.drive("motor", "A0", 0.0)
    found = inspect(m)
    assert (found.mobility_motion, found.driven.free_here) == (1, 0)
