"""The examples run, and each has one number that is checked."""

import runpy
from pathlib import Path

import pytest

from sarrus.problems.n_four_bar.reference import four_bar_reference

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
