"""Memory: estimated before a run and rejected with a sentence; what grows with the length of a run is bounded."""

import tracemalloc

import numpy as np
import pytest

from sarrus import memory, problems, simulate
from sarrus.cli import app
from sarrus.export import save_csv
from sarrus.methods import monitor, recorder


@pytest.fixture
def mechanism():
    return problems.get("double-four-bar").mechanism()


def test_outputs_that_do_not_fit_are_rejected(mechanism, monkeypatch):
    """With what they take, what is free, and a step that fits: with that one it runs."""
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    with pytest.raises(
        ValueError, match=r"GB of memory are free; give an output_step of"
    ) as reported:
        simulate(mechanism, 1.0, 1e-5)
    step = float(str(reported.value).split("at least ")[1].split(" s")[0])
    # it is reported with two digits
    assert simulate(mechanism, 1.0, 1.05 * step).status == "done"


def test_the_estimate_is_above_what_a_run_takes(mechanism, monkeypatch):
    """Measured: the run, and everything that is read of its outputs."""
    reported = []
    monkeypatch.setattr("sarrus.run_single.check_memory", lambda *given: reported.append(given))
    _ = simulate(mechanism, 0.1).energy_drift
    tracemalloc.start()
    try:
        result = simulate(mechanism, 5.0, 1e-4)
        _ = result.energy_drift, result.violation("acceleration").max()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    outputs, numbers, _ = reported[-1]
    assert outputs == 50_001
    assert 0.3 * peak < 8 * outputs * numbers < 3 * peak


def test_the_command_counts_its_columns(tmp_path, monkeypatch, capsys):
    """A run that would fit, with files that would not, is rejected before it is made."""
    path = tmp_path / "four_bar.yaml"
    app(["export", "double-four-bar", str(path)], standalone_mode=False)
    monkeypatch.setattr(memory, "free_memory", lambda: 2e8)
    with pytest.raises(ValueError, match="output_step of at least"):
        app(
            ["simulate", str(path), "--output-step", "1e-5", "--out", str(tmp_path / "run")],
            standalone_mode=False,
        )
    assert not (tmp_path / "run").exists()


def test_free_memory_is_that_of_this_machine():
    """Between a megabyte and a petabyte."""
    assert 1e6 < memory.free_memory() < 1e15


def test_the_watch_ends_when_it_has_kept_enough(mechanism, monkeypatch):
    """The run goes on; verdict and notes state up to when crossings are known."""
    whole = simulate(mechanism, 20.0)
    monkeypatch.setattr(monitor, "MOST_NUMBERS", 0)
    monkeypatch.setattr(monitor, "AT_ONCE", 32)
    result = simulate(mechanism, 20.0)
    np.testing.assert_array_equal(result.position("B0"), whole.position("B0"))
    assert any("crossings are reported up to t = " in note for note in result.notes)
    until = result.verdict.watched_until
    assert 0 < until < 15
    before = [c.time for c in whole.crossings if c.time < until]
    assert [c.time for c in result.crossings] == pytest.approx(before, abs=1e-9)


def test_polynomials_that_do_not_fit_are_reported(mechanism, monkeypatch):
    """Of a run that keeps them all."""
    monkeypatch.setattr(recorder, "MOST_NUMBERS", 1000)
    with pytest.raises(MemoryError, match="leave `dense` out"):
        simulate(mechanism, 20.0, dense=True)


def test_text_is_written_in_pieces(tmp_path, monkeypatch):
    """The same file as at once; and no name of a column is a formula."""
    columns = {"=cmd|' /C calc'!A0": np.arange(7.0), "\x1b[31mB0.x [m]": np.arange(7.0) / 3}
    whole = save_csv(tmp_path / "whole.csv", columns).read_text()
    monkeypatch.setattr("sarrus.export.ROWS_AT_ONCE", 3)
    assert save_csv(tmp_path / "pieces.csv", columns).read_text() == whole
    head = whole.splitlines()[0]
    assert head.startswith("'=cmd")
    assert "\x1b" not in head
    assert len(whole.splitlines()) == 8
