"""The problems as users get them."""

import numpy as np
import pytest

from sarrus import problems, simulate
from sarrus.bench import judge

ALL = problems.names()


@pytest.mark.parametrize("name", ALL)
def test_reference_starts_where_the_mechanism_starts(name):
    """At t = 0 the reference is the observed point of the mechanism and its start velocity."""
    problem = problems.get(name)
    result = simulate(problem.mechanism(), duration=1e-6, output_step=1e-6)
    start = np.hstack([result.position(problem.observed), result.velocity(problem.observed)])[0]
    # the references are good to 1e-13
    np.testing.assert_allclose(start, problem.reference(np.zeros(1))[0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bound"),
    # required: 1e-6 for position and velocity of the double four-bar, 1e-8 for P2 of the Bricard; A02
    # and A04 as far as their limits require, with a margin
    [
        ("double-four-bar", 1e-6),
        ("n-four-bar", 1e-5),
        ("rectangular-bricard", 1e-8),
        ("a04-bricard", 1e-5),
        ("simple-pendulum", 1e-8),
        ("heavy-top", 1e-8),
    ],
)
def test_default_tolerance_follows_the_exact_motion(name, bound):
    """At the default tolerance every seed problem stays within its bound over the whole duration."""
    problem = problems.get(name)
    result = simulate(problem.mechanism(), problem.duration, problem.output_step)
    assert result.status == "done"
    found = np.hstack([result.position(problem.observed), result.velocity(problem.observed)])
    assert np.abs(found - problem.reference(result.times)).max() < bound
    # recorded states are projected: what is left is rounding of sums of some dozen terms of order
    # ten (squared speeds of 7 m/s). A few, where a pivot vanishes (a flat configuration; a Bricard where the
    # redundancy passes from one equation to another), come from the series alone, with its local
    # tolerance of 2e-12 and up to a thousand times that per time derivative
    for level, rounding, series in (
        ("position", 1e-14, 1e-11),
        ("velocity", 1e-13, 1e-9),
        ("acceleration", 1e-11, 1e-6),
    ):
        assert np.quantile(result.violation(level), 0.9) < rounding
        assert result.violation(level).max() < series


@pytest.mark.parametrize(
    ("name", "bound"),
    # requested: A01 1e-6 m over 2000 s; F of the squeezer 1e-10 m; the height of the governor 1e-7 m;
    # the others by their own limits
    [
        pytest.param("simple-pendulum-a01", 1e-6, marks=pytest.mark.slow),
        ("andrews-squeezer", 1e-10),
        pytest.param("andrews-squeezer-a03", 1e-7, marks=pytest.mark.slow),
        ("andrews-squeezer-ivp", 1e-10),
        ("flyball-governor", 1e-7),
        pytest.param("flyball-governor-thin", 1e-7, marks=pytest.mark.slow),
        ("spatial-slider-crank", 1e-8),
        ("spatial-slider-crank-literal", 1e-8),
        ("four-bar-spring", 1e-10),
        ("light-cart-pole", 1e-5),
    ],
)
def test_default_setting_passes_the_judge(name, bound):
    """Without any setting the observed point stays within its bound, and the judge passes the run."""
    problem = problems.get(name)
    result = simulate(problem.mechanism(), problem.duration, problem.output_step)
    assert result.status == "done"
    judged = judge(problem, result)
    assert judged.position_error < bound
    assert judged.passed
    assert judged.findings == ()


@pytest.mark.slow
def test_governor_a05_passes_the_judge():
    """The first 50 of the 350 s of the stiff governor."""
    problem = problems.get("flyball-governor-a05")
    result = simulate(problem.mechanism(), 50.0, problem.output_step)
    assert judge(problem, result).passed


def test_squeezer_reaches_the_digits_of_the_test_set():
    """Nine digits of the published beta at 0.03 s, read from the joint F beyond its turns."""
    problem = problems.get("andrews-squeezer-ivp")
    result = simulate(problem.mechanism(), problem.duration, problem.output_step)
    x, y = result.position("F").T
    beta = np.unwrap(np.arctan2(y, x))[-1]
    assert abs(beta - 15.81077119629904) < 5e-9


@pytest.mark.parametrize(
    ("name", "x"),
    # reduced model by quadrature; an earlier one had 0.211721768 and 0.236362827
    [("spatial-slider-crank", 0.211721661), ("spatial-slider-crank-literal", 0.236362856)],
)
def test_slider_after_a_second(name, x):
    """Slider position at 1 s for both readings of the rod's inertia, and the unwrapped crank angle."""
    problem = problems.get(name)
    result = simulate(problem.mechanism(), 1.0, 0.01)
    assert result.position("C")[-1, 0] == pytest.approx(x, abs=1e-9)
    angle, rate = problem.angle.read(result.position, result.velocity)
    exact = problem.reference_columns(result.times)
    np.testing.assert_allclose(angle, exact["angle"], atol=1e-8)
    np.testing.assert_allclose(rate, exact["rate"], atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_output_grid_is_that_of_the_source(name):
    """The duration is a whole number of output steps, as many as the source has."""
    problem = problems.get(name)
    steps = problem.duration / problem.output_step
    expected = {
        "n-four-bar": 400,
        "a04-bricard": 3000,
        "simple-pendulum-a01": 4000,
        "andrews-squeezer": 200,
        "andrews-squeezer-a03": 2000,
        "andrews-squeezer-ivp": 120,
        "flyball-governor": 100,
        "flyball-governor-thin": 100,
        "flyball-governor-a05": 3500,
        "spatial-slider-crank": 500,
        "spatial-slider-crank-literal": 500,
    }.get(name, 1000)
    assert steps == pytest.approx(expected, rel=1e-12)


def test_options_reach_the_mechanism():
    """Windows, speed and section change what is built."""
    five = problems.get("n-four-bar", windows=5, speed=2.0)
    assert len(five.mechanism().bodies) == 11
    assert five.mechanism().velocities[0][1][0] == 2.0
    thick = problems.get("a04-bricard", section=0.3).mechanism()
    assert thick.bodies[0].section == 0.3


@pytest.mark.parametrize(
    ("name", "options", "fragment"),
    [
        ("nothing", {}, "double-four-bar"),
        ("n-four-bar", {"section": 1}, "windows"),
        ("n-four-bar", {"windows": 2.5}, "2.5"),
        ("a04-bricard", {"section": float("nan")}, "nan"),
        ("flyball-governor", {"section": -1}, "0 for thin rods"),
        ("four-bar-spring", {"damping": -1.0}, "at least 0"),
        ("n-four-bar", {"windows": 10_001}, "windows = 10001; give a whole number from 1 to 10000"),
        ("simple-pendulum", {"speed": 1.0}, "known: none"),
    ],
)
def test_wrong_options_are_named(name, options, fragment):
    """An unknown problem or option lists what there is."""
    with pytest.raises(ValueError, match=fragment):
        problems.get(name, **options)


@pytest.mark.parametrize("name", problems.names())
def test_options_are_declared_with_their_bounds(name):
    """Defaults are what a problem has unasked; just outside of its bounds a value is rejected in their words."""
    declared = problems.options(name)
    assert {o.name: o.default for o in declared} == problems.get(name).options
    for option in declared:
        for bound in (option.least, option.most):
            if np.isfinite(bound):
                assert option.check(bound) == bound
                outside = bound + (1 if bound == option.most else -1)
                with pytest.raises(ValueError, match=f"{option.name} = .*{option.wanted}"):
                    problems.get(name, **{option.name: outside})
        assert option.meaning
        # one name means one thing, whichever problem has it
        assert option.meaning == problems.all_options()[option.name].meaning


@pytest.mark.parametrize("section", [0.0, 0.03, 0.25])
def test_bricard_of_any_section_follows_its_reference(section):
    """The closed form and the simulator agree for sections that no library uses."""
    problem = problems.get("rectangular-bricard", section=section)
    result = simulate(problem.mechanism(), duration=6, output_step=0.05)
    assert np.abs(result.position("P2") - problem.reference(result.times)[:, :3]).max() < 1e-8
