"""Problems and mechanisms of the gallery through MJCF, URDF and .osim: the same motion, or a sentence why not."""

import contextlib
import io
import runpy
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus import formats, problems
from sarrus.engines import ENGINES

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SECONDS, OUTPUTS = 0.1, 5
# of the size: thin rods and point masses are written with 1e-9 of their largest inertia
SAME = 1e-8
NOT_WRITTEN = {"distance", "point-on-line", "point-on-plane"}
# what a file cannot hold is reported by name; anything else comes back
LOST = {"torques", "springs", "drives", "forces", "user forces"}
URDF_LOST = {"initial velocities (URDF has none)", "gravity (URDF has none)"}

pytestmark = pytest.mark.slow


def mechanisms():
    for name in problems.names():
        # 40 windows take long and say no more than 4
        few = {"windows": 4} if name == "n-four-bar" else {}
        yield pytest.param(lambda n=name, o=few: problems.get(n, **o).mechanism(), id=name)
    yield from (
        pytest.param(lambda f=f: gallery(f), id=f.stem) for f in sorted(GALLERY.glob("*.py"))
    )


def gallery(file):
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(file))["result"].mechanism


def motion(mechanism, names):
    times = np.linspace(0.0, SECONDS, OUTPUTS)
    result = sarrus.simulate(mechanism, SECONDS, outputs=times, tolerance=1e-12)
    places = [result.position(name) for name in names]
    return np.array([np.pad(p, ((0, 0), (0, 3 - p.shape[1]))) for p in places])


@pytest.mark.parametrize("make", list(mechanisms()))
def test_mjcf_and_urdf(make, tmp_path):
    """MJCF also holds initial velocities, as a keyframe; URDF neither these nor gravity, which are put back."""
    pytest.importorskip("mujoco")
    m = make()
    path = tmp_path / "model.xml"
    if {j.kind.value for j in m.joints} & NOT_WRITTEN:
        with pytest.raises(
            sarrus.MechanismError, match="cannot be written: MJCF has no equivalent"
        ):
            formats.write_mjcf(m, path)
        return
    reported = formats.write_mjcf(m, path)
    moving = bool(m.velocities or m.angular_velocities or m.drives)
    back = formats.read(path, keyframe="start" if moving else None).mechanism
    assert set(reported.dropped) <= LOST
    other = formats.write_urdf(m, tmp_path / "robot.urdf")
    assert set(other.dropped) == set(reported.dropped) | {
        name for name in URDF_LOST if moving - bool(m.drives) or "gravity" in name
    }
    if reported.dropped:
        return
    names = [b.name for b in m.bodies if b.name in {x.name for x in back.bodies}]
    assert names
    apart = np.abs(motion(back, names) - motion(m, names)).max()
    assert apart < SAME * m.size
    # at rest, with its gravity, a URDF moves as the mechanism does
    robot = formats.read(tmp_path / "robot.urdf").mechanism
    rest = m.copy()
    rest.velocities, rest.angular_velocities = [], []
    robot.gravity = np.append(m.gravity, 0.0)[:3]
    assert np.abs(motion(robot, names) - motion(rest, names)).max() < SAME * m.size


def run_osim(osim, path):
    """Centre of mass and kinetic energy after the time, by OpenSim from the file alone."""
    osim.Logger.setLevelString("error")
    model = osim.Model(str(path))
    state = model.initSystem()
    model.realizeVelocity(state)
    start = model.calcKineticEnergy(state)
    manager = osim.Manager(model)
    manager.setIntegratorMethod(osim.Manager.IntegratorMethod_RungeKuttaMerson)
    manager.setIntegratorAccuracy(1e-9)
    manager.setIntegratorConstraintTolerance(1e-10)
    manager.initialize(state)
    state = manager.integrate(SECONDS)
    model.realizeVelocity(state)
    center = model.calcMassCenterPosition(state)
    return start, np.array([center.get(k) for k in range(3)]), model.calcKineticEnergy(state)


@pytest.mark.parametrize("make", list(mechanisms()))
def test_osim(make, tmp_path):
    """OpenSim moves a file as we move the mechanism, initial velocities included; or a sentence why not."""
    if not ENGINES["opensim"].installed:
        pytest.skip("OpenSim is not installed")
    osim = pytest.importorskip("opensim")
    m = make()
    path = tmp_path / "model.osim"
    why = ""
    try:
        told = formats.write_osim(m, path)
    except sarrus.MechanismError as error:
        why = str(error)
    if why:
        assert "cannot simulate" in why
        assert not path.exists()
        return
    assert set(told.dropped) <= {"points"}
    start, center, energy = run_osim(osim, path)
    result = sarrus.simulate(m, SECONDS, tolerance=1e-12)
    masses = np.array([b.mass for b in m.bodies])
    places = np.array([result.position(b.name)[-1] for b in m.bodies])
    mean = masses @ places / masses.sum()
    # thin rods are written with 1e-9 of their inertia about their axis, and so is OpenSim's accuracy
    assert np.abs(center[: m.dimension] - mean).max() < 1e-6 * m.size
    largest = max(result.kinetic_energy.max(), energy, 1e-12)
    assert start == pytest.approx(result.kinetic_energy[0], abs=1e-6 * largest)
    assert energy == pytest.approx(result.kinetic_energy[-1], abs=1e-5 * largest)
