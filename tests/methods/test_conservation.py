"""What each method keeps, and what it does at the flat configuration."""

import numpy as np
import pytest

from builders import bricard, n_four_bar
from sarrus import Mechanism, Polynomial, problems, simulate
from sarrus.problems.references.n_four_bar import four_bar_reference


@pytest.mark.slow
def test_energy_momentum_keeps_energy_and_constraints():
    """Ten seconds, ten flat configurations: energy and loops to round-off at a coarse step."""
    r = simulate(n_four_bar(2), 10.0, 0.01, method="energy-momentum", step=0.01)
    assert r.status == "done"
    # each step rounds the energy by some 1e-14 J; the largest kinetic energy is 74 J
    assert r.energy_drift < 1e-10
    assert r.violation("position").max() < 2e-15
    # between constraints at the ends, velocities meet theirs only to second order
    assert 1e-4 < r.violation("velocity").max() < 1e-2


@pytest.mark.parametrize("step", [0.05, 0.02, 0.005])
def test_energy_momentum_at_any_step(step):
    """The energy does not depend on the step, however wrong the motion is."""
    r = simulate(n_four_bar(2), 10.0, step, method="energy-momentum", step=step)
    assert r.status == "done"
    assert r.energy_drift < 1e-10
    assert r.violation("position").max() < 2e-15


@pytest.mark.slow
@pytest.mark.parametrize("section", [0.1, 0.0])
def test_energy_momentum_with_dependent_equations(section):
    """Bricard's mechanism, also with thin rods, whose hinge axes have no mass."""
    r = simulate(bricard(section), 10.0, 0.02, method="energy-momentum", step=0.02)
    assert r.status == "done"
    assert r.energy_drift < 1e-11
    assert r.violation("position").max() < 2e-15
    assert any("depend" in note for note in r.notes)


def test_energy_momentum_keeps_momentum():
    """Without gravity the momentum and the moment of momentum of a free chain stay."""
    m = Mechanism("free chain", gravity=(0, 0))
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (1.6, 0.8), mass=2)
    m.rod("c", (1.6, 0.8), (2.6, 0.8), mass=1.5)
    m.revolute("P", "a", "b", at=(1, 0))
    m.revolute("Q", "b", "c", at=(1.6, 0.8))
    m.set_velocity("P", (0.3, 1.0))
    m.set_angular_velocity("c", 2.0)
    r = simulate(m, 4.0, 0.02, method="energy-momentum", step=0.02)
    momentum = sum(x * r.velocity(b) for b, x in (("a", 1), ("b", 2), ("c", 1.5)))
    assert np.abs(momentum - momentum[0]).max() < 1e-12
    # rods: m (r x v) of the centre, and m l^2/12 w from the motion of both ends
    spin = np.zeros(len(r.times))
    ends = {"a": ("a", "P"), "b": ("P", "Q"), "c": ("Q", "c")}
    for body, mass, length in (("a", 1.0, 1.0), ("b", 2.0, 1.0), ("c", 1.5, 1.0)):
        x, v = r.position(body), r.velocity(body)
        spin += mass * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])
        one, other = ends[body]
        d, w = r.position(other) - r.position(one), r.velocity(other) - r.velocity(one)
        # half the rod where one end is the centre
        part = 1.0 if body == "b" else 2.0
        d, w = d * part, w * part
        spin += mass * length**2 / 12 * (d[:, 0] * w[:, 1] - d[:, 1] * w[:, 0]) / length**2
    assert np.abs(spin - spin[0]).max() < 1e-12


@pytest.mark.slow
def test_ali3_passes_the_flat_positions():
    """Ten flat configurations at h = 0.01 s, on the right branch; the projections hold velocities."""
    r = simulate(n_four_bar(2), 10.0, 0.01, method="ali3", step=0.01)
    assert r.status == "done"
    error = np.abs(r.position("B0") - four_bar_reference(r.times, 2)[:, :2])
    # 0.046 m measured; the branch next to it is 1 m away
    assert error.max() < 0.06
    assert r.violation("position").max() < 1e-11
    assert r.violation("velocity").max() < 1e-6
    # second order as well: of 74 J, 0.09 J measured
    assert r.energy_drift < 0.1


def test_ali3_penalty_of_the_sources():
    """1e9: weak directions converge slowly near the flat configuration; that is reported and counted."""
    r = simulate(n_four_bar(2), 10.0, 0.01, method="ali3", step=0.005, penalty=1e9)
    assert r.status == "done"
    assert r.counters["relaxed_steps"] > 0
    assert any("ended early" in note for note in r.notes)
    error = np.abs(r.position("B0") - four_bar_reference(r.times, 2)[:, :2])
    assert error.max() < 0.02


@pytest.mark.parametrize("index", [2, 3])
def test_generalized_alpha_constraints(index):
    """Position level always, velocity level with index 2 only."""
    r = simulate(n_four_bar(2), 5.0, 0.01, method="generalized-alpha", step=0.01, index=index)
    assert r.status == "done"
    assert r.violation("position").max() < 2e-15
    if index == 2:
        # next to the flat configuration rounding is divided by the distance
        assert np.median(r.violation("velocity")) < 1e-14
        assert r.violation("velocity").max() < 1e-7
    else:
        assert r.violation("velocity").max() > 1e-4


def test_generalized_alpha_damps_by_its_radius():
    """What it takes out of the energy shrinks as the spectral radius nears one."""
    # before the first flat configuration
    drift = [
        abs(
            simulate(
                n_four_bar(1), 0.6, 0.02, method="generalized-alpha", step=0.02, spectral_radius=r
            ).energy_balance[-1]
        )
        for r in (0.2, 0.6, 1.0)
    ]
    assert drift[0] > drift[1] > drift[2]


@pytest.mark.slow
def test_baumgarte_holds_what_plain_multipliers_lose():
    """Without the terms the loops drift away over four periods; with them they stay."""
    held = simulate(bricard(), 20.0, 0.02, method="multipliers", step=0.02)
    lost = simulate(bricard(), 20.0, 0.02, method="multipliers", step=0.02, alpha=0, beta=0)
    assert lost.violation("position")[-1] > 10 * held.violation("position").max()


def test_baumgarte_is_limited_by_the_step():
    """Rates that the step cannot follow are lowered, and the result says so."""
    r = simulate(n_four_bar(1), 0.5, 0.1, method="multipliers", step=0.1)
    assert any("too fast" in note for note in r.notes)


def test_penalty_stays_soft():
    """Violations settle at lam / (penalty omega^2): they fall with the penalty."""
    size = [
        simulate(n_four_bar(1), 0.6, 0.01, method="penalty", step=0.001, penalty=p)
        .violation("position")
        .max()
        for p in (1e4, 1e6)
    ]
    assert size[0] / size[1] == pytest.approx(100, rel=0.1)


def test_penalty_tears_at_the_flat_position():
    """Textbook values do not pass ten flat configurations: it stops, and keeps what is finite."""
    r = simulate(n_four_bar(2), 10.0, 0.01, method="penalty", step=0.005)
    assert r.status == "diverged"
    assert "loops have opened" in r.message
    assert np.isfinite(r.coordinates).all()
    assert r.violation("position").max() < 1.0 * np.sqrt(5)


@pytest.mark.slow
def test_dop853_stops_at_the_flat_position():
    """Step control reads the pole of lam as a wall at tight tolerances, and says where."""
    r = simulate(n_four_bar(2), 10.0, 0.01, method="multipliers-dop853", tolerance=1e-12)
    assert r.status == "not-converged"
    assert "singular" in r.message
    error = np.abs(r.position("B0") - four_bar_reference(r.times, 2)[:, :2])
    assert error.max() < 1e-9


@pytest.mark.slow
def test_null_space_states_its_degrees_of_freedom():
    """How many velocities are independent is a rank decision: it is in the notes."""
    r = simulate(bricard(), 1.0, 0.01, method="null-space", step=0.01)
    assert r.status == "done"
    assert any("1 velocity is independent" in note for note in r.notes)
    # velocities lie in the null space by construction
    assert r.violation("velocity").max() < 1e-13


def test_null_space_several_degrees_of_freedom():
    """A double pendulum has two, a free rod three; both agree with the series method."""
    double = Mechanism("double pendulum")
    double.rod("a", (0, 0), (1, 0), mass=1)
    double.rod("b", (1, 0), (1, 1), mass=1)
    double.revolute("O", double.ground, "a", at=(0, 0))
    double.revolute("P", "a", "b", at=(1, 0))
    free = Mechanism("free rod")
    free.rod("a", (0, 0), (1, 0), mass=1)
    free.point("tip", "a", (1, 0))
    free.set_velocity("tip", (0.4, 1.5))
    for mechanism, point, count in ((double, "b", 2), (free, "tip", 3)):
        r = simulate(mechanism, 1.0, 0.1, method="null-space", step=0.001)
        exact = simulate(mechanism, 1.0, 0.1, tolerance=1e-12)
        assert any(f"{count} velocities are independent" in note for note in r.notes)
        assert np.abs(r.position(point) - exact.position(point)).max() < 1e-9


def test_null_space_of_a_mechanism_that_cannot_move():
    """A triangle of rods: skipped, with the sentence that says why."""
    m = Mechanism("triangle")
    m.rod("a", (0, 0), (1, 0.7), mass=1)
    m.rod("b", (1, 0.7), (2, 0), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(1, 0.7))
    m.revolute("C", "b", m.ground, at=(2, 0))
    r = simulate(m, 1.0, 0.1, method="null-space", step=0.01)
    assert r.status == "skipped"
    assert "no velocity is independent" in r.message
    assert len(r.times) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["energy-momentum", "ali3", "generalized-alpha", "multipliers", "null-space"]
)
@pytest.mark.parametrize("problem", ["rectangular-bricard", "a04-bricard"])
def test_redundant_mechanisms(method, problem):
    """Dependent equations, with and without massless axes: on the right path for two periods."""
    p = problems.get(problem)
    r = simulate(p.mechanism(), 10.0, 0.02, method=method, step=0.01)
    assert r.status == "done"
    half = p.reference(r.times)[:, :3]
    assert np.abs(r.position(p.observed) - half).max() < 2e-3


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("ali3", {"penalty": -1.0}),
        ("penalty", {"penalty": 0.0}),
        ("generalized-alpha", {"index": 1.0}),
        ("generalized-alpha", {"spectral_radius": 1.5}),
        ("null-space", {"project": 2.0}),
    ],
)
def test_rejects_nonsense(method, option):
    """Options outside their range are rejected with a sentence that names them."""
    with pytest.raises(ValueError, match=next(iter(option))):
        simulate(n_four_bar(1), 0.1, 0.01, method=method, **option)


def test_outputs_between_steps_are_reported():
    """Interpolated outputs converge like the method; the result says that they are interpolated."""
    errors = []
    for step in (0.02, 0.01, 0.005):
        r = simulate(n_four_bar(1), 0.6, 0.0037, method="multipliers", step=step)
        assert any("interpolated" in note for note in r.notes)
        error = r.position("B0") - four_bar_reference(r.times, 1)[:, :2]
        errors.append(np.abs(error).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.3)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4, abs=0.3)


def test_series_hold_the_energy_and_tell_what_they_put_back():
    """A pendulum at a loose tolerance: T + V stays within what one step loses, the balance has their sum."""
    r = simulate(problems.get("simple-pendulum-a01").mechanism(), 200.0, 0.1, tolerance=1e-6)
    held = r.total_energy - r.total_energy[0]
    assert np.abs(held).max() < 0.1 * r.energy_drift
    # differences of sums of some ten joules
    assert r.energy_balance == pytest.approx(held - r.restored_energy, abs=1e-13)
    assert r.restored_energy[0] == 0.0
    assert np.abs(r.restored_energy).max() == pytest.approx(r.energy_drift, rel=0.1)
    # as many polynomials of steps agree
    dense = simulate(
        problems.get("simple-pendulum-a01").mechanism(), 20.0, 0.1, tolerance=1e-6, dense=True
    )
    again = dense.at(dense.times[1:-1:7])
    assert again.restored_energy == pytest.approx(dense.restored_energy[1:-1:7], abs=1e-15)


def test_held_energy_keeps_long_runs_in_time():
    """Errors of the energy would add up twice: 2000 s of a pendulum were off by 6e-8 m without."""
    problem = problems.get("simple-pendulum-a01")
    r = simulate(problem.mechanism(), 2000.0, 2.0)
    error = np.abs(r.position("P1") - problem.reference(r.times)[:, :2]).max()
    # measured 2e-11
    assert error < 5e-10


@pytest.mark.parametrize("n", [1, 2, 3])
def test_velocities_behind_flat_positions(n):
    """Random starts through some ten flat configurations, at the default tolerance."""
    for speed in np.random.default_rng(n).uniform(0.5, 3.0, 30):
        r = simulate(n_four_bar(n, speed=speed), 10.0, 0.05)
        exact = four_bar_reference(r.times, n, speed)
        assert r.status == "done"
        # of 729 starts the worst has 2e-9; without the energy correction 16 were above 1e-7
        assert np.abs(r.position("B0") - exact[:, :2]).max() < 1e-8
        assert np.abs(r.velocity("B0") - exact[:, 2:]).max() < 2e-8


def test_energy_that_is_no_invariant_is_left_alone():
    """Dampers, torques and drives: nothing is put back."""
    for damping, torque, driven in ((0.2, 0.0, False), (0.0, 0.1, False), (0.0, 0.0, True)):
        m = n_four_bar(1)
        joint = m.joints[0].name
        if damping:
            m.torsion("damper", joint, damping=damping)
        if torque:
            m.torque("motor", "crank0", torque)
        if driven:
            m = Mechanism("crank", gravity=(0, -9.81))
            m.rod("crank", (0, 0), (1, 0), mass=1.0)
            m.revolute("A", m.ground, "crank", at=(0, 0))
            m.drive("drive", "A", Polynomial((0.0, 2.0)))
        r = simulate(m, 3.0, 0.1)
        assert not r.restored_energy.any()


def two_in_free_flight():
    """A body that tumbles about its middle axis, and one near it that flies straight on."""
    m = Mechanism("two in free flight", gravity=(0, 0, 0))
    m.body("tumbling", mass=1.0, center=(0, 0, 0), inertia=np.diag([1.0, 2.0, 3.0]))
    m.body("straight", mass=1.0, center=(9, 0, 0), inertia=np.diag([1.0, 1.0, 1.0]))
    m.point("p", "straight", at=(9, 0, 0))
    m.set_angular_velocity("tumbling", (0.01, 2.0, 0.3))
    m.set_velocity("p", (0.3, 0.2, 0.1))
    return m


def falling_chain():
    """Three rods that nothing holds."""
    m = Mechanism("falling chain", gravity=(0, -9.81))
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (1.6, 0.8), mass=2)
    m.rod("c", (1.6, 0.8), (2.6, 0.8), mass=1.5)
    m.revolute("P", "a", "b", at=(1, 0))
    m.revolute("Q", "b", "c", at=(1.6, 0.8))
    m.set_angular_velocity("c", 2.0)
    return m


def cart_and_pole():
    """What is on a rail can be shifted along it."""
    m = Mechanism("cart and pole", gravity=(0, -9.81))
    m.body("cart", mass=2.0, center=(0, 0), inertia=0.1)
    m.rod("pole", (0, 0), (0.3, 1.0), mass=1.0)
    m.prismatic("rail", m.ground, "cart", at=(0, 0), axis=(1, 0))
    m.revolute("pin", "cart", "pole", at=(0, 0))
    return m


def two_pendulums():
    """Two parts that have nothing in common but the ground."""
    m = Mechanism("two pendulums", gravity=(0, -9.81))
    for name, x in (("a", 0.0), ("b", 5.0)):
        m.rod(name, (x, 0), (x + 1, 0), mass=1.0)
        m.revolute(f"pin {name}", m.ground, name, at=(x, 0))
    return m


def preloaded_slider():
    """Slow between stiff springs: their energy is rounding next to what moves."""
    m = Mechanism("preloaded slider", gravity=(0, 0))
    m.body("b", mass=1.0, center=(0, 0), inertia=1.0)
    m.prismatic("rail", m.ground, "b", at=(0, 0), axis=(1, 0))
    for name, y in (("up", 1.0), ("down", -1.0)):
        m.spring(name, m.ground, "b", start=(0, y), end=(0, 0), stiffness=1e9, free_length=0.999)
    m.point("p", "b", at=(0, 0))
    m.set_velocity("p", (1e-4, 0))
    return m


@pytest.mark.parametrize(
    "make",
    [two_in_free_flight, falling_chain, cart_and_pole, two_pendulums, preloaded_slider],
)
def test_energy_is_not_taken_from_elsewhere(make):
    """Several parts, parts that can be shifted, springs: nothing is put back."""
    assert not simulate(make(), 2.0, 0.1, tolerance=1e-6).restored_energy.any()


def test_momentum_of_free_parts_is_exact():
    """Sums of masses times places: rounding, whatever the tolerance."""
    r = simulate(falling_chain(), 10.0, 0.1, tolerance=1e-4)
    masses = {"a": 1.0, "b": 2.0, "c": 1.5}
    momentum = sum(x * r.velocity(name) for name, x in masses.items())
    momentum[:, 1] += 9.81 * 4.5 * r.times
    # 440 kg m/s at the end
    assert np.abs(momentum - momentum[0]).max() < 1e-10


def test_slow_motion_near_heavy_weights():
    """A beam of two tons in balance turns slowly and evenly: what its weights do is rounding."""
    m = Mechanism("balance", gravity=(0, -9.81))
    m.body("beam", mass=2.0, center=(0, 0), inertia=1.0)
    m.revolute("pin", m.ground, "beam", at=(0, 0))
    for name, x in (("left", -1.0), ("right", 1.0)):
        m.body(name, mass=1000.0, center=(x, 0.0), inertia=0.0)
        m.revolute(f"{name} pin", "beam", name, at=(x, 0))
    m.set_angular_velocity("beam", 1e-4)
    r = simulate(m, 100.0, 1.0)
    x, y = np.cos(1e-4 * r.times), np.sin(1e-4 * r.times)
    assert np.abs(r.position("right") - np.stack([x, y], axis=1)).max() < 1e-11


def test_balance_at_the_ends_of_steps():
    """Polynomials requested just where a step ends: before anything is put back after it."""
    m = problems.get("simple-pendulum-a01").mechanism()
    dense = simulate(m, 5.0, 0.1, tolerance=1e-5, dense=True)
    ends = dense.step_times[:-1]
    around = np.sort(np.concatenate([ends - 1e-9, ends, ends + 1e-9]))
    balance = dense.at(around).energy_balance.reshape(-1, 3)
    # without a jump: what a step loses is 1e-8 J, what it loses in a nanosecond nothing
    assert np.ptp(dense.restored_energy) > 1e-8
    assert np.abs(np.diff(balance, axis=1)).max() < 1e-12
