"""The judge on files that are right, spoilt, mistaken, or on another branch."""

from dataclasses import replace

import numpy as np
import pytest

from result_files import G, exact_columns, on_another_branch, one_angle, problem_cases, write
from sarrus import problems, simulate
from sarrus.bench import judge, judge_columns, load_columns
from sarrus.mechanism.mechanism import vary
from sarrus.problems.bricard import path_distance, path_points

# together they take several seconds
pytestmark = pytest.mark.slow

ALL = problem_cases()


def reported(judged):
    """All findings as one text."""
    return "\n".join(judged.findings)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("fmt", "digits"), [("%.14e", 14), ("%.8f", 8)])
def test_the_exact_motion_has_no_error(tmp_path, name, fmt, digits):
    """A file of the exact motion is right to its digits, and there is no remark."""
    problem = problems.get(name)
    path = write(tmp_path / "r.txt", exact_columns(problem), fmt)
    judged = judge_columns(problem, load_columns(path, problem))
    # half of the last digit, and of that of the time at 7 m/s; the reference itself has 5e-13
    assert judged.position_error <= 4 * 10.0**-digits * (600 if name == "a04-bricard" else 20)
    assert judged.passed
    assert judged.findings == ()


@pytest.mark.parametrize("name", ALL)
def test_a_file_and_its_result_are_judged_alike(tmp_path, name):
    """Our own results go through the door of the files: same errors to the 15 digits of a file."""
    problem = problems.get(name)
    # the step of the source divides 4 s, and 0.1 s of the fast ones
    problem = replace(problem, duration=min(problem.duration, 4.0, 400 * problem.output_step))
    result = simulate(problem.mechanism(), problem.duration, problem.output_step, tolerance=1e-3)
    columns = problem.result_columns(result)
    path = write(tmp_path / "r.txt", {n: columns[n] for n in problem.columns})
    ours, theirs = judge(problem, result), judge_columns(problem, load_columns(path, problem))
    for key in ("energy_drift", "position_error"):
        assert getattr(ours, key) == pytest.approx(getattr(theirs, key), rel=1e-9, abs=1e-13)
    assert ours.passed == theirs.passed
    assert [c.what for c in ours.checks] == [c.what for c in theirs.checks]


@pytest.mark.parametrize("name", ["double-four-bar", "n-four-bar", "rectangular-bricard"])
def test_one_spoilt_row_is_named(name):
    """One wrong number fails its limits and is found with its row; it makes no other branch."""
    problem = problems.get(name)
    columns = exact_columns(problem)
    columns["x"] = columns["x"].copy()
    columns["x"][123] += 0.7
    judged = judge_columns(problem, columns)
    assert not judged.passed
    assert judged.left_at is None
    assert "x in row 124" in reported(judged)
    assert "off by 0.7 m" in reported(judged)


def test_a_spoilt_energy_is_named():
    """One wrong energy fails the limit on the drift at that time."""
    problem = problems.get("rectangular-bricard")
    columns = exact_columns(problem)
    columns["energy"][500] = 0.5
    judged = judge_columns(problem, columns)
    check = judged.checks[0]
    assert (check.what, check.value, check.time) == ("energy drift", 0.5, 5.0)
    assert not check.passed
    assert "energy in row 501" in reported(judged)


@pytest.mark.parametrize(
    ("name", "a", "b", "numbers"),
    [
        ("double-four-bar", "x", "vx", "2 and 3"),
        ("double-four-bar", "x", "energy", "2 and 4"),
        ("n-four-bar", "x", "y", "2 and 3"),
        ("n-four-bar", "vx", "vy", "4 and 5"),
        ("rectangular-bricard", "y", "z", "3 and 4"),
        ("a04-bricard", "x", "z", "2 and 4"),
    ],
)
def test_exchanged_columns_are_recognised(name, a, b, numbers):
    """Two columns in each other's place fail, with their numbers and names."""
    problem = problems.get(name)
    columns = exact_columns(problem)
    columns[a], columns[b] = columns[b], columns[a]
    judged = judge_columns(problem, columns)
    assert not judged.passed
    assert f"columns {numbers} ({a} and {b}) look exchanged" in reported(judged)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: {**c, "y": -c["y"]}, "column 3 (y) has the wrong sign"),
        (lambda c: {**c, **{n: 1000 * c[n] for n in "xyz"}}, "lengths look like millimetres"),
    ],
)
def test_signs_and_units_are_recognised(change, expected):
    """A mirrored axis and millimetres fail with their name."""
    problem = problems.get("rectangular-bricard")
    judged = judge_columns(problem, change(exact_columns(problem)))
    assert not judged.passed
    assert expected in reported(judged)


@pytest.mark.parametrize(
    ("name", "made_with", "expected"),
    [
        ("double-four-bar", {"windows": 40}, "--windows 40"),
        ("n-four-bar", {"windows": 2}, "--windows 2"),
        ("double-four-bar", {"speed": 2.5}, "--speed 2.5"),
        ("double-four-bar", {"speed": -1.0}, "--speed -1"),
        ("double-four-bar", {"windows": 7, "speed": 1.5}, "--windows 7 --speed 1.5"),
        ("rectangular-bricard", {"section": 0.0}, "--section 0"),
    ],
)
def test_data_of_another_problem_get_a_hint(name, made_with, expected):
    """A file made with other options is recognised by the motion it fits."""
    judged = judge_columns(problems.get(name), exact_columns(problems.get(name, **made_with)))
    assert expected in reported(judged)
    # thin rods are within the limits of the IFToMM problem: the hint alone states them
    assert judged.passed == ("section" in made_with)


def simulated_columns(problem, mechanism):
    """What a program writes that simulates this mechanism in place of the problem's."""
    columns = problem.result_columns(simulate(mechanism, problem.duration, problem.output_step))
    return {name: columns[name] for name in problem.columns}


def heavier(mechanism, name, factor):
    """One body with another mass, its inertia in proportion."""
    k = [body.name for body in mechanism.bodies].index(name)
    body = mechanism.bodies[k]
    mechanism.bodies[k] = replace(body, mass=factor * body.mass, inertia=factor * body.inertia)
    return mechanism


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-4])
@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("double-four-bar", {"gravity": 9.6 / 9.81}, "gravity is 9.6 m/s^2"),
        ("n-four-bar", {"gravity": -1.0}, "gravity is -9.81 m/s^2"),
        ("double-four-bar", {"gravity": 9.0 / 9.81}, "gravity is 9 m/s^2"),
        ("double-four-bar", {"gravity": -1.0}, "gravity is -9.81 m/s^2"),
        ("double-four-bar", {"gravity": 0.0}, "gravity is 0 m/s^2"),
        ("double-four-bar", {"size": 0.9}, "the lengths are 0.9 times"),
        ("simple-pendulum", {"gravity": 9.0 / 9.81}, "gravity is 9 m/s^2"),
        ("simple-pendulum", {"size": 1.2}, "the lengths are 1.2 times"),
        ("rectangular-bricard", {"gravity": 10.0 / 9.81}, "gravity is 10 m/s^2"),
        ("heavy-top", {"speed": 1.1}, "the start velocities are 1.1 times"),
        ("four-bar-spring", {"gravity": 9.5 / 9.81}, "gravity is 9.5 m/s^2"),
    ],
)
def test_a_wrong_number_is_named(name, change, expected, noise):
    """Gravity, lengths or speed of a file are fitted: a fact to its digits, else what it looks like; no branch."""
    problem = problems.get(name)
    columns = simulated_columns(problem, vary(problem.mechanism(), **change))
    for i, letter in enumerate(sorted(set(columns) & set("xyz"))):
        wave = np.sin(3.0 * columns["t"] + i)
        columns[letter] = columns[letter] + noise * np.abs(columns[letter]).max() * wave
    judged = judge_columns(problem, columns)
    assert expected in reported(judged)
    assert ("looks like" in reported(judged)) == (noise > 0.0)
    assert judged.left_at is None
    assert "windows" not in reported(judged)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        # velocities jump where the pole turns round
        ("light-cart-pole", {"size": 0.36}, "the lengths are 0.36 times"),
        ("light-cart-pole", {"gravity": 18.0 / 9.81}, "gravity is 18 m/s^2"),
        # a thousand periods with four rows each
        ("simple-pendulum-a01", {"gravity": 18.0 / 9.81}, "gravity is 18 m/s^2"),
        ("simple-pendulum-a01", {"size": 0.92}, "the lengths are 0.92 times"),
        ("andrews-squeezer-a03", {"size": 0.5}, "the lengths are 0.5 times"),
    ],
)
def test_a_wrong_number_of_a_long_or_jerky_motion_is_named(name, change, expected):
    """The rows that are fitted grow from the first few, so that no period is skipped."""
    problem = problems.get(name)
    columns = simulated_columns(problem, vary(problem.mechanism(), **change))
    assert expected in reported(judge_columns(problem, columns))


@pytest.mark.slow
def test_a_wrong_mass_is_named():
    """One that is twice as large, of bodies that have the same effect; standard gravity has its digits."""
    problem = problems.get("double-four-bar")
    columns = simulated_columns(problem, heavier(problem.mechanism(), "coupler 1", 2.0))
    found = reported(judge_columns(problem, columns))
    assert "the mass of 'coupler 0', or of a body like it, is 2 kg" in found
    columns = simulated_columns(problem, vary(problem.mechanism(), gravity=9.80665 / 9.81))
    assert "gravity is 9.80665 m/s^2" in reported(judge_columns(problem, columns))


@pytest.mark.slow
def test_a_mass_that_the_first_rows_hide_is_named():
    """With four digits the first rows show no mass; one mass that has the effect of another is named with it."""
    problem = problems.get("double-four-bar")
    columns = simulated_columns(problem, heavier(problem.mechanism(), "crank 1", 3.0))
    columns = {n: np.array([float(f"{x:.4g}") for x in c]) for n, c in columns.items()}
    rounding = {n: 5e-4 * np.abs(c).max() for n, c in columns.items()}
    found = reported(judge_columns(problem, columns, rounding))
    # three cranks have 1 kg m^2 and 3/2 kg, two couplers 2 kg m^2 and 2 kg: 4.5 / (3 + 2/3) = (2.5 + c) / (2 + c)
    assert "the mass of 'crank 0', or of a body like it, is 3 kg" in found
    assert "the mass of 'coupler 0', or of a body like it, is 0.2 kg" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: (m.springs, "stiffness", 2.0), "the stiffness of 'spring' is 9060 N/m"),
        (lambda m: (m.torques, "vector", 0.5), "the magnitude of 'motor' is 0.0165 N m"),
    ],
)
def test_a_wrong_spring_or_motor_is_named(change, expected):
    """Numbers of springs, dampers and motors are fitted, too."""
    problem = problems.get("andrews-squeezer")
    mechanism = problem.mechanism()
    parts, number, factor = change(mechanism)
    parts[0] = replace(parts[0], **{number: factor * getattr(parts[0], number)})
    columns = simulated_columns(problem, mechanism)
    assert expected in reported(judge_columns(problem, columns))


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("double-four-bar", lambda c: {**c, "x": 1000 * c["x"]}, "millimetres, velocities do not"),
        (
            "heavy-top",
            lambda c: {**c, "z": 1000 * c["z"]},
            "column 4 (z) alone looks like millimetres",
        ),
        (
            "light-cart-pole",
            lambda c: {**c, "angle": np.degrees(c["angle"])},
            "column 3 (angle) looks like degrees",
        ),
        (
            "spatial-slider-crank",
            lambda c: {**c, "angle": -np.degrees(c["angle"])},
            "column 3 (angle) looks like degrees with the wrong sign",
        ),
        (
            "light-cart-pole",
            lambda c: {**c, "angle": c["rate"], "rate": c["angle"]},
            "columns 3 and 5 (angle and rate) look exchanged",
        ),
        # a constant energy in place of x: not a run that stands still
        (
            "spatial-slider-crank",
            lambda c: {**c, "x": c["energy"], "energy": c["x"]},
            "columns 2 and 4 (x and energy) look exchanged",
        ),
    ],
)
def test_mistakes_of_single_columns(name, change, expected):
    """A unit or place that only some columns have wrong is named; no branch is blamed."""
    problem = problems.get(name)
    judged = judge_columns(problem, change(exact_columns(problem)))
    assert expected in reported(judged)
    assert judged.left_at is None


def test_an_option_of_the_problem_is_named():
    """A damper of 1.5 N s/m in place of 1 N s/m."""
    problem = problems.get("four-bar-spring")
    judged = judge_columns(problem, exact_columns(problems.get("four-bar-spring", damping=1.5)))
    assert "option damping is 1.5 N s/m, that of the problem 1 N s/m" in reported(judged)


MISTAKES = {
    "gravity is": lambda m, s, rng: vary(m, gravity=s),
    "the start velocities are": lambda m, s, rng: vary(m, speed=s),
    "the lengths are": lambda m, s, rng: vary(m, size=s),
    "the mass of": lambda m, s, rng: heavier(m, rng.choice([b.name for b in m.bodies]), s),
}
FALSE = (
    "left the parallelogram",
    "data of windows",
    "spoilt",
    "exchanged",
    "sign",
    "millimetres",
    "degrees",
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_mistakes_have_their_cause_a_likeness_or_nothing(seed):
    """One wrong number of two digits, sometimes two of them, in files of 6 or 12 digits: no false fact."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(["spatial-slider-crank", "four-bar-spring", "double-four-bar"]))
    problem = problems.get(name)
    mechanism, causes = problem.mechanism(), []
    for _ in range(1 + seed % 2):
        cause = str(rng.choice([c for c in MISTAKES if c not in causes]))
        factor = float(np.round(rng.choice([rng.uniform(0.5, 0.95), rng.uniform(1.05, 2.0)]), 2))
        mechanism = MISTAKES[cause](mechanism, factor, rng)
        causes.append(cause)
    columns = simulated_columns(problem, mechanism)
    digits = int(rng.choice([6, 12]))
    columns = {n: np.array([float(f"{x:.{digits}g}") for x in c]) for n, c in columns.items()}
    rounding = {n: 0.5 * 10.0 ** (1 - digits) * np.abs(c).max() for n, c in columns.items()}
    judged = judge_columns(problem, columns, rounding)
    facts = [f for f in judged.findings if "of the problem" in f and "looks like" not in f]
    if len(causes) == 1:
        assert all(causes[0] in f or "--speed" in f for f in facts), judged.findings
    else:
        assert not facts, judged.findings
    # with other lengths the point is not on its circle, which is a fact
    assert judged.left_at is None or "the circle of" in judged.branch, judged.findings
    stated = [f for f in judged.findings if "looks like" not in f]
    assert not any(word in f for word in FALSE for f in stated), judged.findings


@pytest.mark.slow
def test_two_wrong_numbers_are_not_taken_for_one():
    """What no single number explains is not stated: a likeness at most."""
    problem = problems.get("rectangular-bricard")
    mechanism = heavier(problem.mechanism(), "rod 5", 1.5)
    judged = judge_columns(problem, simulated_columns(problem, vary(mechanism, gravity=0.9)))
    assert not judged.passed
    assert all("looks like" in f for f in judged.findings if "of the problem" in f)


def test_results_of_our_own_are_judged_without_fits(monkeypatch):
    """A benchmark judges thousands of runs, and none of them needs a simulation for that."""
    problem = problems.get("double-four-bar")
    result = simulate(vary(problem.mechanism(), gravity=0.9), problem.duration, problem.output_step)
    monkeypatch.setattr("sarrus.bench.hypotheses.simulate", None)
    assert not judge(problem, result).passed


@pytest.mark.parametrize("name", ["double-four-bar", "n-four-bar"])
@pytest.mark.parametrize("flat", [0, 1])
def test_another_branch_is_named(name, flat):
    """A motion that closes all loops and keeps its energy on another branch fails, with its time."""
    problem = problems.get(name, windows=2)
    columns, change = on_another_branch(problem, flat)
    judged = judge_columns(problem, columns)
    assert judged.energy_drift == 0.0
    assert not judged.passed
    assert judged.left_at == pytest.approx(change, abs=1e-12)
    assert (
        f"left the parallelogram branch at the flat configuration at t = {change:.4g} s"
        in reported(judged)
    )
    assert judged.branch in judged.findings


def test_a_branch_left_at_the_very_end_fails_by_its_recomputed_energy():
    """Too late to be far away, but the energy of x and vx is not that of the branch."""
    problem = problems.get("double-four-bar")
    columns, _ = on_another_branch(problem, 1)
    short = {name: c[:136] for name, c in columns.items()}
    judged = judge_columns(replace(problem, duration=1.35), short)
    by_name = {check.what: check for check in judged.checks}
    assert by_name["energy drift"].passed
    assert not by_name["energy drift, recomputed"].passed


def test_a_return_to_the_branch_is_reported():
    """Rows off the branch for a while, then exact ones: both times are reported."""
    problem = problems.get("n-four-bar", windows=2)
    good = exact_columns(problem)
    columns, change = on_another_branch(problem, 1)
    for name in columns:
        columns[name] = np.where(good["t"] < 10.0, columns[name], good[name])
    judged = judge_columns(problem, columns)
    assert judged.left_at == pytest.approx(change, abs=1e-12)
    assert "back on it from t = 10 s" in reported(judged)


@pytest.mark.parametrize("name", ["double-four-bar", "n-four-bar"])
def test_phase_drift_is_not_another_branch(name):
    """A motion that loses energy on the branch, and says so, is late but never elsewhere."""
    problem = problems.get(name, windows=2)
    columns = exact_columns(problem)
    inertia, weight = 3.0, 3.5 * G
    angle, rate = one_angle(columns["t"], 0.0, 0.0, 1.0, inertia, weight, loss=5e-4)
    columns["x"], columns["vx"] = np.sin(angle), rate * np.cos(angle)
    if "y" in columns:
        columns["y"], columns["vy"] = np.cos(angle), -rate * np.sin(angle)
    energy = inertia / 2 * (rate**2 - 1) - weight * (1 - np.cos(angle))
    columns["energy"] = energy
    judged = judge_columns(problem, columns)
    assert not judged.passed
    assert judged.left_at is None
    assert "stays on the parallelogram branch, but is" in reported(judged)
    assert "late at the end" in reported(judged)
    # rows near flat are left out where only x and vx are given
    assert judged.recomputed_drift == pytest.approx(np.abs(energy).max(), rel=0.02)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("double-four-bar", "0.03 s early throughout"),
        # as late by the rest of a period
        ("simple-pendulum-a01", "1.5 s early throughout"),
        # less than the distance of the delays that are tried for phases
        ("andrews-squeezer-a03", "0.00075 s early throughout"),
    ],
)
def test_shifted_rows_are_reported(name, expected):
    """Right times next to the motion of three rows earlier: the same delay at all times."""
    problem = problems.get(name)
    columns = exact_columns(problem)
    early = replace(problem, duration=problem.duration + 3 * problem.output_step)
    for column, values in exact_columns(early).items():
        if column != "t":
            columns[column] = values[3 : 3 + len(columns["t"])]
    judged = judge_columns(problem, columns, fit=False)
    assert expected in reported(judged)
    assert judged.left_at is None


@pytest.mark.parametrize("name", ["rectangular-bricard", "a04-bricard"])
def test_a_bricard_whose_hinges_open_left_its_path(name):
    """From 3 s on P2 flies like a stone: the time is named to a row."""
    problem = replace(problems.get(name), duration=10.0)
    columns = exact_columns(problem)
    t = columns["t"]
    start = problem.reference([3.0])[0]
    fall = np.maximum(t - 3.0, 0.0)
    for i, letter in enumerate("xyz"):
        flown = start[i] + start[3 + i] * fall - (G / 2 * fall**2 if letter == "y" else 0.0)
        columns[letter] = np.where(fall > 0, flown, columns[letter])
    judged = judge_columns(problem, columns)
    assert not judged.passed
    # a fall of 1 cm lasts 0.045 s; then a row
    assert 3.0 < judged.left_at <= 3.1 + problem.output_step
    assert "left the path of the Bricard motion at t = 3." in reported(judged)


def test_a_late_bricard_is_still_on_its_path():
    """The exact motion run slower by a thousandth is late at the end, and on its path."""
    problem = problems.get("a04-bricard")
    columns = exact_columns(problem)
    slow = problem.reference(columns["t"] * 0.999)
    columns |= {letter: slow[:, i] for i, letter in enumerate("xyz")}
    judged = judge_columns(problem, columns)
    assert not judged.passed
    assert judged.left_at is None
    # 0.6 s at the end, 0.57 to 0.6 s over the rows looked at
    assert "s late at the end" in reported(judged)


def test_an_energy_that_starts_elsewhere_is_reported():
    """The rule of the source is 0 at the start; the drift is counted from the first value."""
    problem = problems.get("double-four-bar")
    columns = exact_columns(problem)
    columns["energy"] = columns["energy"] + 35.835
    judged = judge_columns(problem, columns)
    assert judged.passed
    assert judged.energy_drift == 0.0
    assert "the energy starts with 35.835 J" in reported(judged)


def test_a_wrong_energy_column_is_not_another_branch():
    """The exact motion next to a false energy: the column fails, the motion does not."""
    problem = problems.get("double-four-bar")
    columns = exact_columns(problem)
    columns["energy"] = 3.0 * np.sin(columns["t"])
    judged = judge_columns(problem, columns)
    assert not judged.passed
    assert judged.left_at is None
    assert judged.recomputed_drift < 1e-11
    assert "the energy column says" in reported(judged)


def test_a_false_energy_column_does_not_hide_a_drift():
    """Zeros in the energy column; the energy of x and vx fails the limit by itself."""
    problem = problems.get("double-four-bar")
    columns = exact_columns(problem)
    angle, rate = one_angle(columns["t"], 0.0, 0.0, 0.95, 3.0, 3.5 * G)
    columns["x"], columns["vx"] = np.sin(angle), rate * np.cos(angle)
    judged = judge_columns(problem, columns)
    assert [c.passed for c in judged.checks[:2]] == [True, False]


def test_huge_numbers_fail_and_warn_not(recwarn):
    """Numbers too large to square are wrong like others."""
    problem = problems.get("n-four-bar")
    columns = exact_columns(problem)
    columns["x"] = np.full(len(columns["t"]), 1e300)
    assert not judge_columns(problem, columns).passed
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_columns_that_end_early_are_not_complete():
    """Half of the exact motion keeps every limit and fails; so does one row less than all."""
    problem = problems.get("double-four-bar")
    for rows in (501, 1000):
        short = {name: c[:rows] for name, c in exact_columns(problem).items()}
        judged = judge_columns(problem, short)
        assert all(check.passed for check in judged.checks)
        assert not judged.complete
        assert not judged.passed


def test_a_start_at_rest_has_no_branch_to_tell():
    """At speed 0 the exact motion stands still: judged by its errors alone."""
    problem = problems.get("n-four-bar", windows=2, speed=0.0)
    judged = judge_columns(problem, exact_columns(problem))
    assert judged.passed
    assert judged.recomputed_drift is None


def test_columns_without_the_observed_point_or_energy_say_nothing():
    """A time alone cannot be judged."""
    problem = problems.get("double-four-bar")
    with pytest.raises(ValueError, match="needs t and some of x, vx"):
        judge_columns(problem, {"t": exact_columns(problem)["t"]})


def test_distance_from_the_bricard_path_is_a_distance():
    """Moved along a normal of the path by d, a point is at distance d."""
    path = path_points(997)
    x, y, z = path.T
    # gradients of y^2 + z^2 and x^2 - 2 z are normal to the path
    normal = np.column_stack([np.zeros_like(x), y, z]) + 0.3 * np.column_stack(
        [x, 0 * x, 0 * x - 1]
    )
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    for d in (0.0, 1e-3, 0.05):
        moved = path + d * normal
        found = path_distance(dict(zip("xyz", moved.T, strict=True)))
        # samples 2 mm apart: chord error 1e-6, curvature adds d times the step squared
        np.testing.assert_allclose(found, d, atol=2e-6)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rows", [0, 1, 2, 4])
def test_few_wrong_rows_are_judged(name, rows):
    """However little there is, and however wrong: a verdict, not an exception."""
    problem = problems.get(name)
    columns = {n: np.full(rows, 7.0) for n in problem.columns}
    columns["t"] = np.arange(rows) * problem.output_step
    assert not judge_columns(problem, columns).passed


@pytest.mark.parametrize("name", ["double-four-bar", "simple-pendulum", "rectangular-bricard"])
def test_a_run_that_stands_still_is_named(name):
    """From its start or from some time on, with what is the same; it is no other branch and no wrong number."""
    problem = problems.get(name)
    columns = exact_columns(problem)
    for begin, expected in ((0, "nothing moves: x"), (437, "nothing moves from t = 4.37 s on: x")):
        frozen = {n: np.where(np.arange(len(c)) < begin, c, c[begin]) for n, c in columns.items()}
        judged = judge_columns(problem, {**frozen, "t": columns["t"]})
        assert not judged.passed
        assert judged.findings[0].startswith(expected)
        assert judged.left_at is None


@pytest.mark.parametrize("name", ["simple-pendulum", "n-four-bar", "heavy-top"])
def test_the_initial_state_is_part_of_the_problem(name):
    """A file that begins with the state after one step fails, whatever the other limits are; few digits do not."""
    problem = problems.get(name)
    columns = exact_columns(problem)
    shifted = problem.reference_columns(columns["t"] + problem.output_step)
    late = {n: shifted.get(n, c) for n, c in columns.items()}
    judged = judge_columns(problem, late | {"t": columns["t"]})
    assert not judged.passed
    assert [c.what for c in judged.checks if not c.passed][-1].startswith("first row")
    rounded = {n: np.round(c, 3) for n, c in columns.items()}
    judged = judge_columns(problem, rounded, dict.fromkeys(columns, 5e-4))
    assert not [c for c in judged.checks if c.what.startswith("first row")]
