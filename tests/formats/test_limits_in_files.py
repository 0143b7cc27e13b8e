"""Limits of joints in files of other programs: written, read back, and acting."""

import numpy as np
import pytest

import sarrus


def slider_and_hinge():
    """A pendulum on a slider, both limited, in space."""
    m = sarrus.Mechanism("limited", gravity=(0, 0, -9.81))
    m.body("cart", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.body("bob", 1.0, (0.5, 0, 0), (0.01, 0.02, 0.02))
    m.prismatic("rail", m.ground, "cart", at=(0, 0, 0), axis=(1, 0, 0))
    m.revolute("pin", "cart", "bob", at=(0, 0, 0), axis=(0, 1, 0))
    m.limit("rail", lower=-0.2, upper=0.3)
    m.limit("pin", upper=0.5)
    return m


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["xml", "urdf"])
def test_limits_come_back(ending, tmp_path):
    """Stops keep their values and signs; a side without a stop gets one that is never reached."""
    if ending == "xml":
        pytest.importorskip("mujoco")
    path = tmp_path / f"limited.{ending}"
    write = sarrus.formats.write_mjcf if ending == "xml" else sarrus.formats.write_urdf
    write(slider_and_hinge(), path)
    again = sarrus.load(path)
    found = {x.joint: (x.lower, x.upper) for x in again.limits}
    assert found["rail"] == pytest.approx((-0.2, 0.3), abs=1e-12)
    assert found["pin"][1] == pytest.approx(0.5, abs=1e-12)
    assert found["pin"][0] <= -1e8
    one, other = (sarrus.simulate(m, 0.4, 0.01) for m in (slider_and_hinge(), again))
    # the same motion through the impact, read from bodies in another order
    assert other.position("bob") == pytest.approx(one.position("bob"), abs=1e-8)
    assert one.angle("pin").max() <= 0.5 + 1e-9
    assert one.events


def test_stops_beyond_the_start_are_reported(tmp_path):
    """A robot whose zero is outside its limits moves without them, and the report says so."""
    path = tmp_path / "beyond.urdf"
    path.write_text(
        """<robot name="r"><link name="base"/>
        <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
        </inertial></link>
        <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
        <limit lower="0.5" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    m = sarrus.load(path)
    assert not m.limits
    assert any("violates" in note for note in m.remarks)
    assert np.isfinite(sarrus.simulate(m, 0.1).times).all()
