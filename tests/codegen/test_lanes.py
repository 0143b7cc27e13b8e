"""A model's own code: the twin, the lanes of the host, PTX, and what is kept on disk."""

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import sarrus
from builders import n_four_bar
from linkages import driven_slider_crank
from random_mechanisms import random_mechanism
from sarrus.assembly import solve_start_velocity
from sarrus.codegen import machine, series, watch
from sarrus.codegen.ir import Ir
from sarrus.codegen.lanes import Lanes, _aligned, local_tolerance
from sarrus.codegen.structure import PLACE, RATE, Column, make_structure, number_values
from sarrus.codegen.twin import Twin
from sarrus.codegen.watch import Watch
from sarrus.kernels.forms import eval_energy
from sarrus.kernels.loads import keeps_energy
from sarrus.kernels.native import make_host
from sarrus.kernels.reasons import DONE, UNCERTAIN
from sarrus.model import make_model

TOLERANCE = 1e-10
# values that vanish at a crossing
ZERO = 1e-8


def prepare(mechanism):
    """Structure and numbers of a mechanism, with all coordinates for columns."""
    model = make_model(mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    nq = model.coordinates
    columns = tuple(Column(level, (i,), False) for level in (PLACE, RATE) for i in range(nq))
    rows = [np.ones(1)] * (2 * nq)
    args = model.form, model.loads if model.loaded else None, velocity
    return make_structure(*args, columns, rows), number_values(*args, rows)


def run_twin(structure, numbers, times, watch=None, tolerance=TOLERANCE):
    local = local_tolerance(tolerance)
    shared = [times[-1], local, 1e6, ZERO]
    o = Twin(numbers, times, shared, len(structure.columns) + 1)
    series.write_run(o, structure, watch)
    return o


def four_bar(windows=2, speed=1.0):
    return sarrus.problems.get("n-four-bar", windows=windows, speed=speed).mechanism()


def test_twin_makes_the_steps_of_the_general_kernel():
    """The mathematics over operations is that of the compiled kernels: same steps, same states."""
    times = np.linspace(0.0, 0.8, 5)
    structure, numbers = prepare(four_bar())
    o = run_twin(structure, np.repeat(numbers[:, None], 2, 1), times)
    result = sarrus.simulate(four_bar(), times[-1], outputs=times)
    # rounding of the highest coefficients may choose another order
    assert np.abs(o.summaries[series.STEPS] - result.counters["steps"]).max() <= 1
    # a step holds 2e-12
    states = np.hstack([result.record.q, result.record.v])
    assert np.abs(o.results[:-1, :-1, 0] - states).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_lanes_are_their_twin(lanes):
    """Written as LLVM's language and compiled, lanes with numbers of their own make what NumPy makes."""
    times = np.linspace(0.0, 0.8, 4)
    runs = [prepare(four_bar(speed=1.0 + 0.1 * k)) for k in range(lanes)]
    structure, numbers = runs[0][0], np.array([x for _, x in runs]).T
    assert len({s.digest for s, _ in runs}) == 1
    o = run_twin(structure, numbers, times)
    found = Lanes(structure, lanes).run(numbers, times, times[-1], TOLERANCE)
    assert np.abs(found.summaries[series.STEPS] - o.summaries[series.STEPS]).max() <= 1
    # the fast ones meet a singular position, where rounding is divided by the distance to it
    assert np.abs(found.results - np.moveaxis(o.results[:-1], 2, 0)).max() < 1e-8


def energy_at_the_end(mechanism, summaries, lane):
    """Energy of the last state of a lane, by the general kernel."""
    form = make_model(mechanism).form
    nq = len(form.Q)
    state = [summaries[series.SUMMARY + i][lane] for i in range(2 * nq)]
    return sum(eval_energy(form, np.array(state[:nq]), np.array(state[nq:])))


def test_energy_is_held():
    """Loose steps lose energy, and it is put back: where they end it is that of the start, and the drift tells."""
    times, mechanism = np.array([0.0, 1.0]), four_bar()
    structure, numbers = prepare(mechanism)
    numbers = np.repeat(numbers[:, None], 2, 1)
    twin = run_twin(structure, numbers, times, tolerance=1e-5).summaries
    found = Lanes(structure, 2).run(numbers, times, 1.0, 1e-5).summaries
    result = sarrus.simulate(mechanism, 1.0, outputs=times, tolerance=1e-5)
    for told in (twin, found):
        first = told[series.FIRST_ENERGY][1]
        # rounding of the parts that it is a sum of, some joules; without it a step loses 1e-6
        assert abs(energy_at_the_end(mechanism, told, 1) - first) < 1e-13 * abs(first)
        assert 1e-9 < told[series.DRIFT][1] < 1e-4
        # both count what was put back as drift, in model units
        drift = np.abs(result.record.energy - result.record.energy[0]).max()
        assert told[series.DRIFT][1] == pytest.approx(drift, rel=1e-3)


@pytest.mark.parametrize("load", ["spring", "torsion", "torque", "damper", "speed"])
def test_energy_is_held_where_nothing_but_weight_acts(load):
    """As the general kernels do."""
    for mechanism, held in ((two_rods(load), False), (n_four_bar(2), True)):
        model = make_model(mechanism)
        assert prepare(mechanism)[0].keeps_energy == held
        assert keeps_energy(model.form, model.loads) == held


def crossings_of(structure, summaries, lane):
    """Times of the crossings of a lane."""
    first = series.first_of_crossings(structure)
    count = int(summaries[first][lane])
    return [summaries[first + 1 + n][lane] for n in range(count)]


@pytest.mark.slow
def test_watching_lanes_are_their_twin():
    """Both ways find the crossings of the general kernel, each lane its own; more than are kept are for others."""
    times = np.array([0.0, 3.0])
    runs = [prepare(four_bar(speed=speed)) for speed in (1.0, 2.0)]
    structure, numbers = runs[0][0], np.array([x for _, x in runs]).T
    o = run_twin(structure, numbers, times, Watch)
    found = Lanes(structure, 2, watches=True).run(numbers, times, 3.0, TOLERANCE, zero=ZERO)
    for lane, speed in enumerate((1.0, 2.0)):
        exact = [c.time for c in sarrus.simulate(four_bar(speed=speed), 3.0, 1.0).crossings]
        assert len(exact) > 2
        # rounding, divided by the distance to a singular position once or twice
        assert crossings_of(structure, o.summaries, lane) == pytest.approx(exact, abs=1e-9)
        assert crossings_of(structure, found.summaries, lane) == pytest.approx(exact, abs=1e-9)


@pytest.mark.slow
def test_more_crossings_than_are_kept(monkeypatch):
    """A run with more crossings than lanes keep is for the general kernels."""
    monkeypatch.setattr(watch, "MOST_CROSSINGS", 3)
    times = np.array([0.0, 3.0])
    structure, numbers = prepare(four_bar())
    o = run_twin(structure, np.repeat(numbers[:, None], 1, 1), times, Watch)
    assert o.summaries[series.REASON][0] == DONE
    structure, numbers = prepare(four_bar(speed=2.0))
    o = run_twin(structure, np.repeat(numbers[:, None], 1, 1), times, Watch)
    assert o.summaries[series.REASON][0] == UNCERTAIN


@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_agree_with_the_general_kernel(seed):
    """Planar and spatial mechanisms at random: outputs as of the general kernel, within the tolerance."""
    mechanism = random_mechanism(seed, 2 + seed % 2)
    times = np.linspace(0.0, 1.0, 6)
    result = sarrus.simulate(mechanism, 1.0, outputs=times, method="series")
    structure, numbers = prepare(mechanism)
    found = Lanes(structure, 2).run(np.repeat(numbers[:, None], 2, 1), times, 1.0, TOLERANCE)
    assert result.status == "done"
    assert (found.summaries[series.REASON] == 0).all()
    states = np.hstack([result.record.q, result.record.v])
    size = np.abs(states).max()
    assert np.abs(found.results[0, :, :-1] - states).max() < 1e-7 * max(size, 1.0)


MOTIONS = {
    "speed": ("pin", sarrus.Polynomial((0.0, 2.0, -0.3))),
    "sine": ("knee", sarrus.Sine(0.7, 0.8, 0.3, -0.7 * np.sin(0.3))),
    "step": ("pin", sarrus.SmoothStep(0.0, 1.5, 0.3, 1.1)),
    "table": ("knee", sarrus.Table((0.0, 0.5, 0.9, 1.5, 2.0), (0.0, 0.4, 0.5, -0.2, 0.1))),
}


def two_rods(load):
    """Two rods under gravity with a load, or one of them driven."""
    m = sarrus.Mechanism(load, gravity=(0, -9.81))
    m.rod("first", (0, 0), (1, 0), mass=1)
    m.rod("second", (1, 0), (1.5, 0.5), mass=0.7)
    m.revolute("pin", m.ground, "first", at=(0, 0))
    m.revolute("knee", "first", "second", at=(1, 0))
    if load == "spring":
        numbers = {"stiffness": 20.0, "free_length": 0.6, "preload": 1.5}
        m.spring("s", m.ground, "second", start=(0.3, 1.5), end=(1.5, 0.5), **numbers)
    elif load == "torsion":
        m.torsion("t", "knee", stiffness=5.0, free_angle=0.3, torque=0.4)
    elif load == "torque":
        m.torque("q", "second", 0.7)
    elif load == "damper":
        numbers = {"stiffness": 20.0, "free_length": 0.6, "damping": 3.0}
        m.spring("s", m.ground, "second", start=(0.3, 1.5), end=(1.5, 0.5), **numbers)
    elif load == "damped torsion":
        m.torsion("t", "knee", stiffness=5.0, damping=0.5, free_angle=0.3, torque=0.4)
    elif load in MOTIONS:
        m.drive("d", *MOTIONS[load])
    else:
        m.force("f", "first", at=(0.8, 0.0), vector=(3.0, 1.0), fixed_in="body")
    return m


def lift(motion):
    """A boom on a cylinder whose length is driven."""
    m = sarrus.Mechanism("lift", gravity=(0, -9.81))
    m.rod("boom", (0, 0), (2, 1), mass=3)
    m.revolute("pin", m.ground, "boom", at=(0, 0))
    m.distance("cylinder", m.ground, "boom", start=(1, -0.5), end=(1.6, 0.8))
    m.drive("d", "cylinder", motion(float(np.hypot(0.6, 1.3))))
    return m


def loaded(load):
    """A mechanism with a load or a drive."""
    if load == "length":
        return lift(lambda start: sarrus.Polynomial((start, 0.2)))
    if load == "driven length in pieces":
        return lift(lambda start: sarrus.SmoothStep(start, start + 0.3, 0.2, 1.3))
    if load == "travel":
        return driven_slider_crank(sarrus.Sine(0.1, 1.0), "D")
    return two_rods(load)


DAMPED_OR_DRIVEN = ["damper", "damped torsion", *MOTIONS, "travel", "length"]


@pytest.mark.parametrize(
    "load", ["spring", "torsion", "torque", "force", *DAMPED_OR_DRIVEN, "driven length in pieces"]
)
def test_loads_agree_with_the_general_kernel(load):
    """States and the energy balance with its work, over some turns."""
    mechanism, times = loaded(load), np.linspace(0.0, 2.0, 9)
    result = sarrus.simulate(mechanism, 2.0, outputs=times)
    structure, numbers = prepare(mechanism)
    found = Lanes(structure, 2).run(np.repeat(numbers[:, None], 2, 1), times, 2.0, TOLERANCE)
    assert (found.summaries[series.REASON] == 0).all()
    states = np.hstack([result.record.q, result.record.v])
    # a double pendulum multiplies what steps leave out, 2e-12, in two seconds by some hundreds
    assert np.abs(found.results[0, :, :-1] - states).max() < 1e-8
    energy = result.record.energy - result.record.energy[0]
    assert np.abs(found.results[0, :, -1] - found.results[0, 0, -1] - energy).max() < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("load", ["spring", "torsion", "force", *DAMPED_OR_DRIVEN])
def test_loads_have_a_twin(load):
    """As LLVM's language and with NumPy the same, in a tenth of a second."""
    times = np.linspace(0.0, 0.1, 3)
    structure, numbers = prepare(loaded(load))
    numbers = np.repeat(numbers[:, None], 2, 1)
    o = run_twin(structure, numbers, times)
    found = Lanes(structure, 2).run(numbers, times, times[-1], TOLERANCE)
    assert np.abs(found.results - np.moveaxis(o.results[:-1], 2, 0)).max() < 1e-11


def test_breaks_are_each_lanes_own():
    """Lanes whose motions change their polynomial at other times, beside each other and alone: the same bits."""
    runs = []
    for begin in (0.1, 0.3, 0.55, 0.8):
        m = two_rods("")
        m.drive("d", "pin", sarrus.SmoothStep(0.0, 1.0 + begin, begin, begin + 0.4))
        runs.append((m, *prepare(m)))
    structure, numbers = runs[0][1], np.array([x for *_, x in runs]).T
    assert len({s.digest for _, s, _ in runs}) == 1
    times = np.linspace(0.0, 1.5, 16)
    lanes = Lanes(structure, 4)
    together = lanes.run(numbers, times, 1.5, TOLERANCE)
    for n, (m, _, own) in enumerate(runs):
        alone = lanes.run(np.repeat(own[:, None], 4, 1), times, 1.5, TOLERANCE)
        assert (together.results[n] == alone.results[0]).all()
        result = sarrus.simulate(m, 1.5, outputs=times)
        states = np.hstack([result.record.q, result.record.v])
        assert np.abs(together.results[n, :, :-1] - states).max() < 1e-9


@pytest.mark.parametrize("load", ["damper", "damped torsion"])
def test_a_lane_at_its_end_changes_nothing(load):
    """Work of dampers goes on as alone where a neighbour has come to its end, after a third of the steps."""
    slow, fast = two_rods(load), two_rods(load)
    fast.set_angular_velocity("first", 30.0)
    (structure, quiet), (other, busy) = prepare(slow), prepare(fast)
    assert structure == other
    times, lanes = np.linspace(0.0, 2.0, 9), Lanes(structure, 2)
    alone = lanes.run(np.stack([busy, busy], 1), times, 2.0, TOLERANCE)
    beside = lanes.run(np.stack([busy, quiet], 1), times, 2.0, TOLERANCE)
    steps = beside.summaries[series.STEPS]
    assert steps[0] > 2 * steps[1]
    assert (alone.results[0] == beside.results[0]).all()


def test_sine_and_cosine():
    """To rounding of what they are, also after a hundred thousand turns."""
    rng = np.random.default_rng(0)
    angles = np.concatenate(
        [rng.uniform(-10, 10, 400), rng.uniform(-6e5, 6e5, 400), np.arange(-8, 8) * np.pi / 4]
    )

    def write(o):
        for place, x in enumerate(o.sine_cosine(o.number(0))):
            o.summarise(place, x)
        return {"state": 0}

    o = Ir(4)
    o.slots = 1
    o.entry(machine.ENTRY, (), write)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_host())
    data = machine.compile_host(o.module() + "\n!0 = !{}\n")
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    found = _aligned(2 * angles.size)
    given = _aligned(angles.size)
    given[:] = angles
    run = machine.SIGNATURE(engine.get_function_address(machine.ENTRY))
    run(given.ctypes.data, len(angles) // 4, None, None, 0, None, found.ctypes.data, None)
    sine, cosine = np.moveaxis(found.reshape(-1, 2, 4), 1, 0).reshape(2, -1)
    assert np.abs(sine - np.sin(angles)).max() < 3e-16
    assert np.abs(cosine - np.cos(angles)).max() < 3e-16


def test_lanes_beside_each_other_change_nothing():
    """The same run gives the same bits whatever its neighbours are, as long as none is refused a landing."""
    times = np.linspace(0.0, 2.0, 3)
    runs = [prepare(four_bar(speed=s)) for s in (1.0, 0.5, 2.0, 3.0)]
    structure, numbers = runs[0][0], np.array([x for _, x in runs]).T
    lanes = Lanes(structure, 4)
    together = lanes.run(numbers, times, 2.0, TOLERANCE)
    alone = lanes.run(np.repeat(numbers[:, :1], 4, 1), times, 2.0, TOLERANCE)
    assert (together.results[0] == alone.results[0]).all()


@pytest.mark.slow
def test_ptx_is_written():
    """The same text becomes PTX with one entry and no function of a library."""
    driven = two_rods("damper")
    driven.torsion("t", "pin", damping=0.1)
    driven.drive("d", "knee", MOTIONS["sine"][1])
    stepped = lift(lambda start: sarrus.SmoothStep(start, start + 0.3, 0.2, 1.3))
    plain = [(four_bar(), "sm_70", False), (four_bar(), "sm_90", True)]
    for mechanism, processor, watches in (
        *plain,
        (driven, "sm_90", False),
        (stepped, "sm_90", True),
    ):
        text, _ = machine.compile_ptx(prepare(mechanism)[0], processor, watches)
        assert f".target {processor}" in text
        assert text.count(".entry run(") == 1
        # all routines are inlined, none is missing
        assert ".func" not in text


def test_kept_code_is_checked_before_use(tmp_path, monkeypatch):
    """Whole entries are used; one that was changed is not, but made anew."""
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path))
    made = []

    def make():
        made.append(1)
        return b"code" * 100

    for _ in range(2):
        assert machine.load_or_make("text", make) == b"code" * 100
    assert len(made) == 1
    (path,) = (p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size > 400)
    good = path.read_bytes()
    for bad in (b"", good[:-1], good[:-1] + b"x", b"x" + good):
        path.write_bytes(bad)
        before = len(made)
        assert machine.load_or_make("text", make) == b"code" * 100
        assert len(made) == before + 1
        # what has not our header is not ours to replace
        assert path.read_bytes() == (bad if bad.startswith(b"x") else good)


@pytest.mark.slow
def test_needs_no_general_compiler():
    """What runs on a device needs NumPy, SciPy and llvmlite alone: a model, its text for a device, an ensemble."""
    code = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "h5py", "pydantic", "matplotlib", "yaml"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
import sarrus
from sarrus.codegen.machine import compile_ptx
from sarrus.codegen.structure import make_structure
from sarrus.model import make_model
form = make_model(sarrus.problems.get("simple-pendulum").mechanism()).form
text, _ = compile_ptx(make_structure(form, None, 0.0 * form.Q, (), []))
pendulum = sarrus.problems.get("simple-pendulum").mechanism()
(body, *_) = pendulum.bodies
runs = sarrus.Ensemble(pendulum, {f"bodies.{body.name}.mass": [1.0 + k for k in range(16)]}).simulate(1.0)
print("numba" in sys.modules, ".entry run(" in text, runs.parked.any(), *set(runs.status))
"""
    package = Path(sarrus.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "False True False done", done.stderr
