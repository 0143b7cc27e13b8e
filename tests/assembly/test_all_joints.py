"""Assembly of sliding, universal and link joints."""

import numpy as np
import pytest

from disturbed import disturbed
from sarrus import Mechanism, assemble, simulate
from sarrus.verdict.joint_equations import make_joint_equations

# the verdict needs the rows of these joints
pytest.importorskip("sarrus.verdict.joint_frames")


def open_slider_crank():
    """Crank 1, rod of about 2, slider on the x axis; B, C and the guide are open."""
    m = Mechanism("slider-crank")
    m.rod("crank", (0, 0), (0, 1), mass=1)
    m.rod("rod", (0.1, 1), (2, 0.2), mass=1)
    m.body("slider", 1.0, (2.2, 0.1), 0.1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=[(0, 1), (0.1, 1)])
    m.revolute("C", "rod", "slider", at=[(2, 0.2), (2.2, 0.1)])
    m.prismatic("S", m.ground, "slider", at=[(0, 0), (2.2, 0.1)], axis=(1, 0))
    return m


def test_slider_crank():
    """The slider comes onto its line without turning, and pin C stands where Pythagoras puts it."""
    m = open_slider_crank()
    done = assemble(m)
    assert done.gap_after.metres < 1e-15
    at = {j.name: j.at for j in done.mechanism.joints}
    length = np.linalg.norm(np.array([1.9, -0.8]))
    assert np.isclose(np.linalg.norm(at["B"]), 1.0, atol=1e-14)
    assert np.isclose(at["C"][0], at["B"][0] + np.sqrt(length**2 - at["B"][1] ** 2), atol=1e-14)
    assert abs(at["C"][1]) < 1e-15
    assert simulate(m, 0.1, assemble=True).status == "done"


@pytest.mark.parametrize("seed", [0, 1])
def test_every_kind(seed):
    """A chain of every kind of joint, displaced by a fifth of its size, closes to rounding."""
    m = Mechanism("all", gravity=(0, 0, -9.81))
    for name, center in (("a", (0, 0, 0)), ("b", (1, 0, 0)), ("c", (1, 1, 0)), ("d", (0, 1, 0))):
        m.body(name, 1.0, center, (1, 1, 1))
    m.body("e", 1.0, (1, 1, 1), (1, 1, 1))
    m.rectangular("X", "c", "e", at=(1, 1, 0.5), normal=(0, 0, 1))
    m.universal("U", m.ground, "a", at=(0, 0, 0), axis=(1, 0, 0), second_axis=(0, 1, 0))
    m.cylindrical("Y", "a", "b", at=(0.5, 0, 0), axis=(1, 0, 0))
    m.planar("P", "b", "c", at=(1, 0.5, 0), normal=(0, 1, 0))
    m.prismatic("R", "c", "d", at=(0.5, 1, 0), axis=(1, 0, 0))
    m.distance("D", "d", m.ground, start=(0, 1, 0), end=(0, 2, 0))
    m.point_on_line("L", m.ground, "d", at=(0, 1, 0.3), axis=(0, 0, 1))
    m.point_on_plane("Q", m.ground, "c", at=(1, 1, 0.2), normal=(0, 0, 1))
    done = assemble(disturbed(m, 0.2, seed))
    done.mechanism.check()
    equations = make_joint_equations(done.mechanism)
    assert np.abs(equations.gaps(equations.start())).max() < 1e-14
    assert assemble(done.mechanism).unmoved
