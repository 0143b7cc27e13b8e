"""The examples run, and each has one number that is checked."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from sarrus import load, simulate
from sarrus.mechanism import to_data
from sarrus.mechanism.files import to_text
from sarrus.mechanism.files.mechanism_builder import build_mechanism
from sarrus.mechanism.files.model_reader import read_document
from sarrus.problems.references.n_four_bar import four_bar_reference

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_four_bar_ends_where_the_exact_motion_does(capsys):
    """Example 1: B0 of one window after 10 s."""
    result = runpy.run_path(str(EXAMPLES / "01_four_bar.py"))["main"]()
    # required of every run at the default tolerance: 2e-5
    assert result.position("B0")[-1] == pytest.approx(
        four_bar_reference([10.0], 1)[0, :2], abs=2e-5
    )
    assert "done" in capsys.readouterr().out


def test_tilted_bricard_moves_as_the_upright_one():
    """Example 2: turning the world changes nothing but rounding, amplified over two periods."""
    assert runpy.run_path(str(EXAMPLES / "02_bricard.py"))["main"]() < 1e-9


def test_sprung_four_bar_has_the_published_eigenvalue(capsys):
    """Example 3: twelve digits of the four-bar with diagonal spring."""
    found = runpy.run_path(str(EXAMPLES / "04_small_motions.py"))["main"]()
    assert abs(found[0].eigenvalue - (-0.242385809311 + 2.133955028348j)) < 1e-12
    assert "at rest" in capsys.readouterr().out


def test_four_bar_file_is_the_mechanism_of_example_1(tmp_path):
    """The file and the Python text write the same mechanism."""
    written = runpy.run_path(str(EXAMPLES / "01_four_bar.py"))["make_four_bar"]()
    loaded = load(EXAMPLES / "four_bar.yaml")
    assert to_data(written) == {k: v for k, v in to_data(loaded).items() if k != "simulate"}


def test_slider_crank_file():
    """The piston is where the crank pin puts it: x = A_x + sqrt(l^2 - A_y^2); energy is kept."""
    m = load(EXAMPLES / "slider_crank.yaml")
    result = simulate(m, **m.defaults)
    assert result.status == "done"
    ax, ay = result.position("A").T
    x = ax + np.sqrt(0.1 - ay**2)
    # constraints hold to round-off; the root amplifies it by less than ten
    np.testing.assert_allclose(result.position("B")[:, 0], x, atol=1e-13)
    # 4 J of motion at the start, and what the tolerance 1e-10 leaves of it over five turns
    assert result.energy_drift < 1e-7


def test_the_file_of_the_docs_loads():
    """The example of docs/model-files.md, with the motions that it has in comments."""
    text = (EXAMPLES.parent / "docs" / "model-files.md").read_text(encoding="utf-8")
    example = text.split('```yaml title="everything.yaml"\n')[1].split("```")[0]
    # a joint takes one drive: each comment stands for the drive of the text in its turn
    lift = next(line for line in example.splitlines() if line.startswith("  lift:"))
    others = [line for line in example.splitlines() if line.startswith("  # ")]
    assert len(others) == 3
    for content in (
        example,
        *(example.replace(lift, line.replace("# ", "", 1)) for line in others),
    ):
        m = build_mechanism(read_document(content, "docs"))
        assert len(m.joints) == 6
        assert to_data(build_mechanism(read_document(to_text(to_data(m)), "again"))) == to_data(m)


@pytest.mark.slow
def test_report_example_writes_its_files(tmp_path):
    """Example 3: P2 goes from its start at x = 1 to its mirror image, which it reaches between outputs."""
    travel = runpy.run_path(str(EXAMPLES / "03_report.py"))["main"](tmp_path)
    # the turning point lies between two outputs 0.01 s apart: 1/2 a (0.005 s)^2 at most 1e-3 m
    assert travel == pytest.approx(2.0, abs=1e-3)
    assert {p.name for p in tmp_path.iterdir()} == {"moving.html", "figure.png", "p2.csv"}
