"""How many coordinates and equations a mechanism needs, however it stands in space."""

import numpy as np
import pytest

from builders import bricard, dense_jacobian, in_plane_of, n_four_bar, rank_of, rotation
from sarrus import Mechanism, simulate
from sarrus.model import make_model


def counts(m):
    """Coordinates and equations of the model."""
    model = make_model(m)
    return model.coordinates, model.equations


@pytest.mark.parametrize("windows", [1, 2, 3, 40])
def test_four_bar_counts(windows):
    """N windows have 2 N + 2 coordinates of the N + 1 top joints and 2 N + 1 rod lengths."""
    assert counts(n_four_bar(windows)) == (2 * windows + 2, 2 * windows + 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("windows", [1, 2, 10])
def test_planar_four_bar_in_space_counts(windows, seed):
    """In space, however tilted, the planar four-bar has the counts of the planar one."""
    R = np.eye(3) if seed is None else rotation(seed)
    m = n_four_bar(windows, plane_to_space=in_plane_of(R, (0.3, 0.2, 0.1)))
    assert counts(m) == (2 * windows + 2, 2 * windows + 1)


@pytest.mark.slow
@pytest.mark.parametrize("section", [0.0, 0.1])
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_bricard_counts(section, seed):
    """The Bricard linkage has 16 coordinates and 16 equations, however it stands in space."""
    R = np.eye(3) if seed is None else rotation(seed)
    assert counts(bricard(section, R)) == (16, 16)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("section", [0.0, 0.1])
def test_bricard_rank_all_along(section, seed):
    """The rank of J is 15 at every position: one equation is always redundant, one degree of freedom left."""
    m = bricard(section, None if seed is None else rotation(seed))
    model, result = make_model(m), simulate(m, 3.0, 0.05)
    for q in result.coordinates:
        rank, values = rank_of(dense_jacobian(model.form, q))
        assert rank == 15
        # a clear gap: the next value is of order one, the last is rounding
        assert values[14] > 1e-2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("thin rod on a ball", (3, 1)), ("plate on a ball", (9, 6)), ("point mass on a ball", (3, 1))],
)
def test_single_body_counts(kind, expected):
    """A thin rod or point mass on a ball needs one vector, a body with inertia three."""
    m = Mechanism(kind, gravity=(0, 0, -9.81))
    if kind == "thin rod on a ball":
        m.rod("body", (0, 0, 0), (1, 2, 2), 1.0)
    else:
        inertia = (0.1, 0.2, 0.25) if kind == "plate on a ball" else None
        m.body("body", 1.0, (1, 2, 2), inertia)
    m.spherical("ball", m.ground, "body", at=(0, 0, 0))
    assert counts(m) == expected


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_hinged_body_counts(seed):
    """A body on one hinge turns in a plane: two coordinates and one length, however tilted."""
    R = np.eye(3) if seed is None else rotation(seed)
    m = Mechanism("door", gravity=R @ (0, 0, -9.81))
    m.body("door", 1.0, R @ (0.5, 0.1, 0.3), R @ np.diag([0.1, 0.2, 0.25]) @ R.T)
    m.revolute("hinge", m.ground, "door", at=(0, 0, 0), axis=R @ (1.0, 2.0, 3.0))
    assert counts(m) == (2, 1)
