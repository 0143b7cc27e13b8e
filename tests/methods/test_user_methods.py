"""User methods: a Python function with the same interface as built-in methods, in three kinds of coordinates."""

import numpy as np
import pytest

import sarrus
from builders import bricard, n_four_bar
from sarrus import problems
from sarrus.assembly import solve_start_velocity
from sarrus.bench.method_check import _four_bar as four_bar
from sarrus.methods import Run, get_method
from sarrus.methods.constrained_system import System
from sarrus.methods.user_method import make_system
from sarrus.model import make_model


def rk4(system, s, h):
    """Runge-Kutta of order four, projected."""

    def f(q, v, t):
        return system.accelerations(q, v, t)[0]

    k1 = f(s.q, s.v, s.t)
    v2 = s.v + h / 2 * k1
    k2 = f(s.q + h / 2 * s.v, v2, s.t + h / 2)
    v3 = s.v + h / 2 * k2
    k3 = f(s.q + h / 2 * v2, v3, s.t + h / 2)
    v4 = s.v + h * k3
    k4 = f(s.q + h * v3, v4, s.t + h)
    q = s.q + h / 6 * (s.v + 2 * v2 + 2 * v3 + v4)
    return system.project(q, s.v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), s.t + h)


for kind in ("natural", "euler", "points"):
    sarrus.method(f"rk4-{kind}", order=4, coordinates=kind)(
        lambda system, state, h: rk4(system, state, h)
    )


def driven():
    """A four-bar whose crank is driven."""
    m = four_bar()
    m.velocities.clear()
    m.drive("motor", "A", sarrus.Sine(amplitude=0.3, frequency=1.0))
    return m


MECHANISMS = {
    "four-bar": four_bar,
    "driven": driven,
    "bricard": bricard,
    **{
        name: problems.get(name).mechanism
        for name in ("spatial-slider-crank", "andrews-squeezer", "heavy-top", "flyball-governor")
    },
}


def system_of(kind, mechanism):
    """The system that a method would see."""
    model = make_model(mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    return make_system(kind, Run(model, velocity, np.zeros(1), 1.0, 0.1, mechanism=mechanism))


@pytest.mark.parametrize("kind", ["natural", "euler", "points"])
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_systems_are_what_they_say(name, kind):
    """J is the derivative of Phi, rate and curvature its rates along a curve; the start holds."""
    system = system_of(kind, MECHANISMS[name]())
    rng = np.random.default_rng(1)
    assert np.abs(system.Phi(system.q0)).max() < 1e-14
    assert np.abs(system.rate(system.q0, system.v0)).max() < 1e-12
    q, v = system.q0 + 1e-2 * rng.normal(size=system.n), rng.normal(size=system.n)
    t, h = 0.3, 1e-4

    def along(s):
        return system.Phi(q + s * v, t + s)

    # central differences: h^2 and rounding / h^2, of functions whose derivatives are some tens
    slope = (along(h) - along(-h)) / (2 * h)
    assert np.abs(system.rate(q, v, t) - slope).max() < 1e-4
    bend = (along(h) - 2 * along(0.0) + along(-h)) / h**2
    assert np.abs(system.curvature(q, v, t) - bend).max() < 1e-3
    step = 1e-6 * v
    change = system.Phi(q + step, t) - system.Phi(q - step, t)
    assert np.abs(2 * system.J(q) @ step - change).max() < 1e-13
    M = system.M(q)
    assert np.abs(M - M.T).max() < 1e-12 * np.abs(M).max()


@pytest.mark.parametrize("kind", ["euler", "points"])
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_all_coordinates_give_the_same_accelerations(name, kind):
    """Two sets of equations, one motion: also with springs, torques, drives and redundant joints."""
    mechanism = MECHANISMS[name]()
    ours, theirs = system_of("natural", mechanism), system_of(kind, mechanism)
    a, _ = theirs.accelerations(theirs.q0, theirs.v0, 0.0)
    q, v, same = theirs.natural(theirs.q0, theirs.v0, a)
    expected, _ = ours.accelerations(ours.q0, ours.v0, 0.0)
    assert np.abs(q).max() < 1e-14
    assert np.abs(v - ours.v0).max() < 1e-12
    assert np.abs(same - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["natural", "euler", "points"])
def test_order_in_all_coordinates(kind):
    """Runge-Kutta has its order, and its outputs meet the constraints."""
    mechanism = four_bar()
    exact = sarrus.simulate(mechanism, 0.4, 0.1, tolerance=1e-13).position("B")
    errors = []
    for h in (0.005, 0.0025):
        result = sarrus.simulate(mechanism, 0.4, 0.1, method=f"rk4-{kind}", step=h)
        assert result.success, result.message
        assert result.violation().max() < 1e-12
        errors.append(np.abs(result.position("B") - exact).max())
    # the next order counts a few percent at these steps
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


def test_bare_matrices_whatever_the_rank():
    """Dependent equations and coordinates without mass: x is unique, and so is what lam does."""
    rng = np.random.default_rng(3)
    n = 9
    J = rng.normal(size=(4, n))
    J = np.vstack([J, J[0] + J[1], 2 * J[2]])
    M = np.diag([1.0] * (n - 2) + [0.0, 0.0])
    force, right = rng.normal(size=n), J @ rng.normal(size=n)
    x, lam = System.solve_matrices(M, J, force, right)
    K = np.block([[M, J.T], [J, np.zeros((6, 6))]])
    expected = np.linalg.lstsq(K, np.concatenate([force, right]), rcond=1e-12)[0]
    # eps = 1e-12 refined twice, times the condition of the matrix
    np.testing.assert_allclose(x, expected[:n], atol=1e-10)
    np.testing.assert_allclose(J.T @ lam, J.T @ expected[n:], atol=1e-10)


def test_projecting_twice_changes_nothing():
    """A projection is on the constraints, and stays where it is."""
    system = system_of("natural", bricard())
    rng = np.random.default_rng(5)
    q, v = system.project(system.q0 + 1e-4 * rng.normal(size=system.n), rng.normal(size=system.n))
    # rounding, and what dependent equations contradict each other by
    assert np.abs(system.Phi(q)).max() < 1e-13
    assert np.abs(system.J(q) @ v).max() < 1e-11
    again, same = system.project(q, v)
    assert np.abs(again - q).max() < 1e-12
    assert np.abs(same - v).max() < 1e-10


def test_generators_and_methods_with_a_tolerance():
    """Both kinds of function give the same states; a method may choose its own times."""

    @sarrus.method("rk4-generator", order=4)
    def generator(system, state, h):
        t, q, v = state.t, state.q, state.v
        while True:
            q, v = rk4(system, sarrus.State(t, q, v), h)
            t += h
            yield q, v

    @sarrus.method("rk4-own-times", order=4, needs_step=False)
    def own_times(system, state, tolerance):
        h = min(0.01 * (1.0 + 0.5 * np.sin(40 * state.t)), system.duration - state.t)
        q, v = rk4(system, state, h)
        return sarrus.State(state.t + h, q, v)

    m = four_bar()
    one = sarrus.simulate(m, 0.3, 0.1, method=generator, step=0.01)
    two = sarrus.simulate(m, 0.3, 0.1, method="rk4-natural", step=0.01)
    assert np.array_equal(one.coordinates, two.coordinates)
    assert one.settings.method == "rk4-generator"
    assert any("is a Python function" in note for note in one.notes)
    free = sarrus.simulate(m, 0.3, 0.1, method=own_times, tolerance=1e-6)
    assert free.success, free.message
    assert np.abs(free.position("B") - one.position("B")).max() < 1e-5


@pytest.mark.slow
def test_compiled_inside():
    """A function may hand its arrays to compiled specialised code."""
    import numba

    @numba.njit
    def euler(q, v, a, h):
        v = v + h * a
        return q + h * v, v

    def symplectic(system, state, h):
        a, _ = system.accelerations(state.q, state.v, state.t)
        return euler(state.q, state.v, a, h)

    result = sarrus.simulate(n_four_bar(1), 0.1, method=symplectic, step=0.001)
    assert result.success, result.message
    assert result.energy_drift < 0.05


def raises(system, state, h):
    """Breaks down in its third step."""
    if state.t > 1.5 * h:
        raise ZeroDivisionError("no luck")
    return state.q, state.v


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (raises, "method 'raises', raises line"),
        (lambda system, state, h: (state.q[:-1], state.v), "returned q of shape"),
        (lambda system, state, h: None, "returned NoneType; return a sarrus.State"),
        (lambda system, state, h: (state.q * np.nan, state.v), "not finite any more"),
        (lambda system, state, h: (state.q + 100.0, state.v), "loops have opened"),
        (lambda system, state, h: iter([(state.q, state.v)]), "returned list_iterator"),
    ],
)
def test_what_is_wrong_with_a_function_is_reported(function, expected):
    """No traceback: a status, a sentence, and the good outputs before it."""
    result = sarrus.simulate(four_bar(), 0.1, 0.01, method=function, step=0.01)
    assert not result.success
    assert expected in result.message


def test_a_generator_that_ends_early_is_reported():
    """It has to go on to the duration."""

    @sarrus.method("short")
    def short(system, state, h):
        yield state.q, state.v

    result = sarrus.simulate(four_bar(), 0.1, 0.01, method=short, step=0.01)
    assert "before the duration" in result.message


def test_names(tmp_path):
    """Files, functions in files, decorated names; errors list the known names."""
    path = tmp_path / "my_step.py"
    path.write_text("def step(system, state, h):\n    return state.q + h * state.v, state.v\n")
    assert get_method(str(path)).id == "my_step"
    assert get_method(f"{path}:step").fingerprint
    with pytest.raises(ValueError, match="has no function 'other'; its functions: step"):
        get_method(f"{path}:other")
    with pytest.raises(ValueError, match="cannot be read"):
        get_method(str(tmp_path / "none.py"))
    with pytest.raises(sarrus.UnknownNameError, match=r"no method is called 'sries'.*'series'"):
        get_method("sries")
    with pytest.raises(ValueError, match="method name 'a b'"):
        sarrus.method("a b")
    for order in (-1, 10**30, 2.5, "two"):
        with pytest.raises(ValueError, match=r"order = .*; give a whole number from 0"):
            sarrus.method("x", order=order)
    for value in (10**400, float("nan"), "a", None):
        with pytest.raises(ValueError, match=r"option rho = .*; give a number up to"):
            sarrus.method("x", rho=value)
    with pytest.raises(ValueError, match="one of natural, euler, points"):
        sarrus.method("a", coordinates="polar")
    sarrus.method("ali3")(lambda system, state, h: None)
    # ours keep their names
    assert get_method("ali3").compiled
    path.write_text("import nothing_of_that_name\n")
    with pytest.raises(ValueError, match=r"my_step\.py: ModuleNotFoundError"):
        get_method(str(path))


def test_rotors_are_rejected_in_absolute_coordinates():
    """With a sentence, as a method that cannot do something."""
    m = four_bar()
    m.rotor("motor", "A", inertia=0.1)
    result = sarrus.simulate(m, 0.1, method="rk4-euler", step=0.01)
    assert result.status == "skipped"
    assert "rotor 'motor'" in result.message
