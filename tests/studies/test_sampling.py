"""Values of parameters over the runs: counts, orders, distributions, seeds."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import qmc

from sarrus.studies.sampling import count_runs, draw_samples
from sarrus.studies.study_reader import make_study


def samples_of(**keys):
    study = make_study({"problem": "double-four-bar", **keys})
    return draw_samples(study)


def test_lists_and_ranges_make_a_grid():
    """All combinations, the last parameter fastest; steps hit the end in spite of rounding."""
    drawn = samples_of(
        vary={
            "windows": [1, 2],
            "bodies.crank 0.mass": {"range": {"from": "100 g", "to": "300 g", "step": "100 g"}},
        }
    )
    assert drawn.runs == 6
    assert drawn.numbers["windows"].tolist() == [1, 1, 1, 2, 2, 2]
    mass = drawn.numbers["bodies.crank 0.mass"]
    np.testing.assert_allclose(mass, [0.1, 0.2, 0.3] * 2, rtol=1e-15)


def test_lists_row_by_row():
    """combine: list takes the first values together, then the second ones."""
    drawn = samples_of(combine="list", vary={"windows": [1, 2, 3], "speed": [0.5, 1, 2]})
    assert drawn.runs == 3
    assert [drawn.row(("windows", "speed"), i) for i in range(3)] == [[1, 0.5], [2, 1], [3, 2]]


def test_ranges_by_count_and_by_factor():
    """Equal steps, and equal factors."""
    drawn = samples_of(
        combine="list",
        vary={
            "speed": {"range": {"from": 1, "to": 2, "count": 5}},
            "simulate.tolerance": {
                "range": {"from": 1e-4, "to": 1e-8, "count": 5, "spacing": "log"}
            },
        },
    )
    np.testing.assert_array_equal(drawn.numbers["speed"], [1, 1.25, 1.5, 1.75, 2])
    # powers of ten by logarithms and back
    np.testing.assert_allclose(
        drawn.numbers["simulate.tolerance"], [1e-4, 1e-5, 1e-6, 1e-7, 1e-8], rtol=1e-12
    )


@pytest.mark.parametrize("sampling", ["random", "latin-hypercube", "sobol"])
def test_the_seed_decides_all_bits(sampling):
    """The same seed gives the same bits, another seed other ones; bounds are kept."""
    keys = {
        "vary": {"speed": {"uniform": [1, 3]}, "bodies.crank 0.mass": {"normal": [2, 0.1]}},
        "samples": 64,
        "sampling": sampling,
    }
    first, again, other = (samples_of(**keys, seed=s) for s in (5, 5, 6))
    for column in first.numbers:
        np.testing.assert_array_equal(first.numbers[column], again.numbers[column])
        assert not np.array_equal(first.numbers[column], other.numbers[column])
    speed, mass = first.numbers["speed"], first.numbers["bodies.crank 0.mass"]
    assert speed.min() >= 1
    assert speed.max() < 3
    # 64 samples: a mean is off by 0.1/8 in one of three cases, so by less than five times that
    assert abs(mass.mean() - 2) < 5 * 0.1 / 8


def test_latin_hypercube_has_one_sample_in_each_stratum():
    """Also of a normal distribution, counted in its own probabilities."""
    drawn = samples_of(
        vary={"speed": {"uniform": [1, 2]}, "bodies.crank 0.mass": {"normal": [2, 0.1]}},
        samples=50,
        sampling="latin-hypercube",
    )
    shares = (drawn.numbers["speed"] - 1, ndtr((drawn.numbers["bodies.crank 0.mass"] - 2) / 0.1))
    for share in shares:
        assert sorted(np.floor(share * 50).astype(int)) == list(range(50))


def test_sobol_is_evener_than_random():
    """The discrepancy of 256 points in 2 dimensions is far below that of random points."""
    found = {}
    for sampling in ("random", "sobol"):
        drawn = samples_of(
            vary={"speed": {"uniform": [0, 1]}, "bodies.crank 0.mass": {"uniform": [0, 1]}},
            samples=256,
            sampling=sampling,
        )
        points = np.column_stack([drawn.numbers["speed"], drawn.numbers["bodies.crank 0.mass"]])
        found[sampling] = qmc.discrepancy(points)
    assert found["sobol"] < 0.1 * found["random"]


def test_variables_scale_distributions():
    """A deviation may be a variable: each of its values has samples of its own."""
    drawn = samples_of(
        variables={"error": [0.01, 0.1]}, vary={"speed": {"normal": [1, "error"]}}, samples=400
    )
    assert drawn.runs == 800
    low, high = drawn.numbers["speed"][:400], drawn.numbers["speed"][400:]
    # a deviation from 400 samples is right to 1/sqrt(800), 4 %; five times that
    assert low.std() == pytest.approx(0.01, rel=0.2)
    assert high.std() == pytest.approx(0.1, rel=0.2)
    assert not np.allclose((low - 1) / 0.01, (high - 1) / 0.1)


def test_a_variable_at_two_paths_is_one_value():
    """Both cranks have the same random mass."""
    drawn = samples_of(
        variables={"mass": {"uniform": [1, 2]}},
        vary={"bodies.crank 0.mass": "mass", "bodies.crank 1.mass": "mass"},
        samples=5,
    )
    first, second = (drawn.numbers[f"bodies.crank {i}.mass"] for i in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) == 5


def test_counting_needs_no_drawing():
    """A billion runs are counted (and rejected) before they are made."""
    study = make_study({"problem": "double-four-bar", "vary": {"windows": [1, 2, 3]}})
    assert count_runs(study) == 3
    values = {"range": {"from": 0.5, "to": 2, "count": 100000}}
    with pytest.raises(ValueError, match="10000000000 runs"):
        make_study(
            {"problem": "double-four-bar", "vary": {"speed": values, "bodies.crank 0.mass": values}}
        )
