"""Problems of users: references that converge, files as references, packages that others install."""

import json
import subprocess
import sys

import numpy as np
import pytest

import sarrus
from sarrus.bench import judge, user_problem
from sarrus.bench.method_check import _four_bar as four_bar
from sarrus.problems import load_packed

SECONDS, EVERY = 0.5, 0.01


def make(**given):
    """The four-bar as a problem."""
    return user_problem.make_user_problem(
        four_bar(), "My four-bar", duration=SECONDS, output_step=EVERY, **given
    )


def test_a_converged_reference():
    """Two methods agree to 1e-11; the observed point and the limits are reported; a good run passes, a bad one
    not.
    """
    own, notes = make()
    problem = own.problem
    assert problem.id == "my-four-bar"
    assert any("reference: converged, series and multipliers-dop853 agree" in n for n in notes)
    assert any("which moves farthest" in n for n in notes)
    assert judge(problem, sarrus.simulate(problem.mechanism(), SECONDS, EVERY)).passed
    rough = sarrus.simulate(problem.mechanism(), SECONDS, EVERY, method="ali3", step=0.05)
    assert not judge(problem, rough).passed


def test_a_reference_that_does_not_converge_is_reported(monkeypatch):
    """With two rough methods the sentence says how far they are apart, and the limit is no finer."""
    monkeypatch.setattr(user_problem, "OTHERS", (("multipliers-dop853", 1e-4),))
    own, notes = make(point="B")
    assert any("NOT converged" in n for n in notes)
    apart = float(next(n for n in notes if "NOT" in n).split("agree to ")[1].split()[0])
    assert own.numbers["limits"]["end_error"] >= 5.0 * apart
    monkeypatch.setattr(user_problem, "OTHERS", ())
    _, notes = make(point="B")
    assert any("series alone, no second method" in n for n in notes)


def test_a_file_as_reference(tmp_path):
    """The exact solution of a file is the reference; what is missing of it is reported."""
    problem = sarrus.problems.get("simple-pendulum")
    times = np.arange(51) * 0.02
    exact = problem.reference(times)
    path = tmp_path / "exact.txt"
    np.savetxt(path, np.column_stack([times, exact[:, :2]]), "%.16e", header="t x y")
    own, notes = user_problem.make_user_problem(
        problem.mechanism(), "swing", duration=1.0, output_step=0.02, point="P1", reference=path
    )
    assert any("our own series is at most" in n for n in notes)
    assert any("vx is not in the file" in n for n in notes)
    np.testing.assert_allclose(own.problem.reference(times)[:, :2], exact[:, :2], atol=1e-15)


def test_packed_and_read_back(tmp_path):
    """The same problem from its folder, to the last bit; smooth between the outputs."""
    own, _ = make(point="B")
    own.save(tmp_path / "p")
    problem, again = own.problem, load_packed(tmp_path / "p")
    times = np.linspace(0.0, SECONDS, 173)
    assert again.version == problem.version
    assert np.array_equal(again.reference(times), problem.reference(times))
    result = sarrus.simulate(problem.mechanism(), SECONDS, outputs=times[1:])
    # quintics every 0.01 s: h^6 / 46080 of the sixth derivative, of its rate some hundred times as much
    wanted = np.hstack([result.position("B"), result.velocity("B")])
    apart = np.abs(again.reference(times[1:]) - wanted).max(axis=0)
    assert apart[:2].max() < 1e-7
    assert apart[2:].max() < 1e-4
    # the folder of the package that `sarrus problem` writes
    own.save(tmp_path / "package" / "src" / "sarrus_problem_p")
    assert load_packed(tmp_path / "package").version == problem.version
    (tmp_path / "p" / "problem.json").write_text(json.dumps({"id": "x"}))
    with pytest.raises(ValueError, match="title is missing; observed is missing"):
        load_packed(tmp_path / "p")
    with pytest.raises(ValueError, match="no problem there"):
        load_packed(tmp_path)


@pytest.mark.slow
def test_an_installed_package_brings_a_problem_and_a_method(tmp_path):
    """Entry points of a package, found by a fresh interpreter: `problems.get` and `method="..."`."""
    own, _ = make(point="B")
    module = user_problem.pack_problem(own, tmp_path / "package")
    with pytest.raises(ValueError, match="holds a package already"):
        user_problem.pack_problem(own, tmp_path / "package")
    site = tmp_path / "package" / "src"
    # what an installer writes
    info = site / f"{module}-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(
        f"[sarrus.problems]\nmy-four-bar = {module}:problem\n"
        "[sarrus.methods]\nplain-euler = plain_euler:step\n"
    )
    (site / "plain_euler.py").write_text(
        "def step(system, state, h):\n"
        "    a, _ = system.accelerations(state.q, state.v, state.t)\n"
        "    return system.project(state.q + h * state.v, state.v + h * a, state.t + h)\n"
    )
    code = (
        "import sarrus; p = sarrus.problems.get('my-four-bar'); "
        "assert 'my-four-bar' in sarrus.problems.names(); "
        "r = sarrus.simulate(p.mechanism(), 0.02, 0.01, method='plain-euler', step=0.001); "
        "print(r.success, r.message)"
    )
    import os

    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("True"), done.stdout + done.stderr
    text = (tmp_path / "package" / "pyproject.toml").read_text()
    assert f'my-four-bar = "{module}:problem"' in text


ODD = (None, True, -1, 0.0, 1e999, "", "../x", [], {}, {"speed": 1.0}, 10**400)


def test_mutated_problems_are_rejected_or_read(tmp_path):
    """Every key of problem.json deleted or replaced: a ValueError with a sentence, or a problem."""
    own, _ = make(point="B")
    folder = tmp_path / "p"
    own.save(folder)
    good = json.loads((folder / "problem.json").read_text())
    rejected = 0
    for key in [*good, "new"]:
        for value in ("deleted", *ODD):
            numbers = {k: v for k, v in good.items() if k != key}
            if value != "deleted":
                numbers[key] = value
            (folder / "problem.json").write_text(json.dumps(numbers))
            try:
                problem = load_packed(folder)
            except ValueError as error:
                assert str(folder) in str(error)  # noqa: PT017
                rejected += 1
            else:
                # it names folders
                assert "/" not in problem.id
    assert rejected > 40


@pytest.mark.parametrize("text", ["", "t\n", "t,x\n0,1\n1,2\n", "a,b\n1,x\n", "\x00", "t\nnan\n"])
def test_damaged_references_are_rejected(tmp_path, text):
    """A reference without rows, of other columns or no numbers is one sentence."""
    own, _ = make(point="B")
    own.save(tmp_path / "p")
    (tmp_path / "p" / "reference.csv").write_text(text)
    with pytest.raises(ValueError, match=r"reference\.csv|no problem there"):
        load_packed(tmp_path / "p")
