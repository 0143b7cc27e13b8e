"""Every engine agrees with our own solution within its order: first of all the translation is right."""

import importlib
import re

import numpy as np
import pytest

from engines.machines import LOOPS, OPEN, double_pendulum, four_bar, spatial_four_bar, top
from sarrus import MechanismError, Sine, UnknownNameError, problems, simulate, simulate_with
from sarrus.engines import ENGINES

DURATION = 0.8
# steps of both runs; those of first order need more
STEPS = {1: (400, 800), 2: (100, 200), 3: (100, 200), 4: (100, 200)}
# [rad/s] of the fastest link: errors are (rate h)^order
RATE = 20.0
# Newton loses energy with every iteration on positions: first order, with a larger factor
FACTOR = {"newton": 5.0}

# SymPy derives formulas for seconds
ROWS = [pytest.param(e, marks=pytest.mark.slow) if e == "sympy" else e for e in ENGINES]


def needs(engine):
    row = ENGINES[engine]
    if not row.installed:
        pytest.skip(f"{row.title} is not installed; {row.install}")
    try:
        importlib.import_module(row.module)
    except ImportError as error:
        pytest.skip(f"{row.title} cannot be loaded together with the other engines: {error}")
    return row


def error(engine, mechanism, steps, **settings):
    result = simulate_with(
        engine, mechanism, DURATION, step=DURATION / steps, output_step=DURATION / 20, **settings
    )
    assert result.status == "done", result.message
    exact = simulate(mechanism, DURATION, outputs=result.times, tolerance=1e-12)
    return float(np.abs(result.position("end") - exact.position("end")).max()), result


def check_order(row, make, order):
    mechanism = make()
    (few, many), floor = STEPS[order], row.floor
    coarse, _ = error(row.id, mechanism, few)
    fine, result = error(row.id, mechanism, many)
    assert fine < max(FACTOR.get(row.id, 1.0) * (RATE * DURATION / many) ** order, floor)
    # half the step: at least half of the order's gain, unless rounding, softness or a tolerance is reached
    assert fine < 2.0 ** (-0.5 * order) * coarse + floor
    return result


@pytest.mark.slow
@pytest.mark.parametrize("make", OPEN)
@pytest.mark.parametrize("engine", ROWS)
def test_open_chains(engine, make):
    row = needs(engine)
    result = check_order(row, make, row.order)
    assert result.violation().max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("make", LOOPS)
@pytest.mark.parametrize("engine", ROWS)
def test_loops(engine, make):
    row = needs(engine)
    if "loops" not in row.does:
        with pytest.raises(MechanismError, match="has no loops"):
            simulate_with(engine, make(), DURATION, step=0.01)
        return
    if engine == "sympy" and make is spatial_four_bar:
        pytest.skip("SymPy derives the formulas of this loop in minutes")
    if engine == "newton" and make is spatial_four_bar:
        with pytest.raises(
            MechanismError, match=r"joint 'B' of .* cannot be represented in Newton"
        ):
            simulate_with(engine, make(), DURATION, step=0.01)
        return
    check_order(row, make, row.loop_order)


@pytest.mark.parametrize("engine", ROWS)
def test_springs_torsions_and_forces(engine):
    row = needs(engine)
    m = double_pendulum()
    m.spring(
        "spring",
        m.ground,
        "lower",
        start=(0, 1),
        end=(0.9, 0.4),
        stiffness=8,
        damping=0.3,
        preload=1,
    )
    m.torsion("torsion", "elbow", stiffness=3, damping=0.1, free_angle=0.2, torque=0.4)
    m.force("push", "lower", at=(0.9, 0.4), vector=(1.0, 2.0))
    m.force("jet", "upper", at=(0.6, 0), vector=(0.5, -1.0), fixed_in="body")
    m.torque("motor", "upper", 0.7)
    wanted = {
        "springs and dampers": "springs",
        "torsional springs": "torsions",
        "constant forces and torques": ("forces", "torques"),
    }
    for word, lists in wanted.items():
        if word not in row.does:
            for name in np.atleast_1d(lists):
                setattr(m, name, [])
    few, many = STEPS[row.order]
    coarse, _ = error(engine, m, few)
    fine, result = error(engine, m, many)
    factor = FACTOR.get(engine, 1.0)
    assert fine < max(factor * (RATE * DURATION / many) ** row.order, row.floor)
    assert fine < 0.8 * coarse + row.floor
    # the work that dampers and forces do is followed between outputs by cubics
    assert result.energy_drift < (0.05 if row.order > 1 else 1.0)


def geared():
    """Rotors in the tree and where a loop might be closed."""
    m = four_bar()
    m.rotor("motor", "A", inertia=0.3)
    m.rotor("brake", "C", inertia=0.1)
    return m


def coupled():
    m = double_pendulum()
    m.coupling("belt", "elbow", "pin", ratio=-0.5)
    return m


def driven():
    m = four_bar()
    m.drive("motor", "A", Sine(amplitude=0.3, frequency=0.7))
    return m


def greased():
    """Two balls with dampers, one of them with two."""
    m = top()
    m.body("tail", 0.7, (0.3, 0.5, 0.6), [0.01, 0.02, 0.02])
    m.spherical("neck", "top", "tail", at=(0.2, 0.4, 0.5))
    m.ball_damper("oil", "tip", damping=0.2)
    m.ball_damper("grease", "neck", damping=0.05)
    m.ball_damper("more grease", "neck", damping=0.05)
    return m


@pytest.mark.parametrize(
    ("make", "word"),
    [(geared, "rotors"), (coupled, "couplings"), (driven, "drives"), (greased, "ball dampers")],
)
@pytest.mark.parametrize("engine", ROWS)
def test_rotors_couplings_drives_and_ball_dampers(engine, make, word):
    """What an engine can represent agrees within its order, anything else is rejected by a sentence."""
    row = needs(engine)
    if word in row.does:
        check_order(row, make, row.loop_order)
        return
    with pytest.raises(MechanismError, match=f"{row.title} cannot simulate .*{word}"):
        simulate_with(engine, make(), 1.0, step=0.01)


def test_a_rotor_at_a_ball():
    """Three rates with one inertia."""
    row = needs("mujoco")

    def gyro():
        m = top()
        m.rotor("flywheel", "tip", inertia=0.1)
        return m

    check_order(row, gyro, row.order)


def test_drake_rejects_a_loop_closed_at_the_ground():
    """A damped ball stays in the tree, so a hinge of the ground closes the loop; that would end the process."""
    needs("drake")
    m = spatial_four_bar()
    m.ball_damper("grease", "C", damping=0.4)
    with pytest.raises(MechanismError, match=r"closed at the ground, by 'D'.*loops='bushings'"):
        simulate_with("drake", m, 0.1, step=0.01)


def test_words_that_are_wrong():
    m = double_pendulum()
    with pytest.raises(
        UnknownNameError, match=r"no engine is called 'mojoco'.*did you mean 'mujoco'"
    ):
        simulate_with("mojoco", m, 1.0, step=0.01)
    with pytest.raises(ValueError, match=r"no setting 'integrater'.*did you mean 'integrator'"):
        simulate_with("mujoco", m, 1.0, step=0.01, integrater="RK4")
    with pytest.raises(ValueError, match="integrator = 4; give a word"):
        simulate_with("mujoco", m, 1.0, step=0.01, integrator=4)
    with pytest.raises(ValueError, match="step = 2 s is longer than the duration"):
        simulate_with("mujoco", m, 1.0, step=2.0)


def test_an_engine_that_is_not_there_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("sarrus.engines.engine.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"MuJoCo is not installed; pip install '\.\[mujoco\]'"):
        simulate_with("mujoco", double_pendulum(), 1.0, step=0.01)


@pytest.mark.slow
def test_a_result_like_any_other(tmp_path):
    needs("mujoco")
    result = simulate_with("mujoco", four_bar(), 1.0, step=0.002)
    again = result.save(tmp_path / "run.h5")
    from sarrus import load_result

    loaded = load_result(again)
    np.testing.assert_array_equal(loaded.position("end"), result.position("end"))
    assert loaded.options["integrator"] == "RK4"
    assert result.times[-1] == 1.0
    assert result.reaction("A").force.shape == (len(result.times), 2)
    assert "mujoco" in result._repr_html_()


def test_a_run_that_breaks_down_is_cut_and_reported():
    needs("mujoco")
    m = double_pendulum()
    m.spring("stiff", m.ground, "lower", start=(0, 1), end=(0.9, 0.4), stiffness=1e9)
    result = simulate_with("mujoco", m, 1.0, step=0.01)
    assert result.status == "diverged"
    assert "MuJoCo" in result.message
    assert np.isfinite(result.position("end")).all()


def test_a_stopped_run_keeps_its_outputs_and_states_when():
    """CasADi stops at the first flat configuration of the double four-bar; rows before it are as they are."""
    needs("casadi")
    mechanism = problems.get("double-four-bar").mechanism()
    result = simulate_with("casadi", mechanism, 2.0, step=0.05, tolerance=1e-6)
    assert result.status == "not-converged"
    # it stops just before it, and the last output is the one before that
    assert 0.70 < float(re.search(r"At t = ([0-9.]+)", result.message)[1]) < 0.7144
    assert result.times[-1] == pytest.approx(0.7)
    exact = simulate(mechanism, float(result.times[-1]), outputs=result.times, tolerance=1e-12)
    assert np.abs(result.position("B0") - exact.position("B0")).max() < 1e-3
