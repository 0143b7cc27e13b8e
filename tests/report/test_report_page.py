"""The page of a run: what stands in it, that nothing comes from outside, that names are only text."""

import re
from dataclasses import replace
from html import unescape

import h5py
import numpy as np
import pytest

from run_folders import HOSTILE, save_example, save_stopped, with_hostile_names
from sarrus.problems.references.n_four_bar import flat_times
from sarrus.report.plots import thin
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import RunFolderError, find_runs, load_run
from sarrus.scene.player import inline_json, scene_payload

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of 3 s."""
    return save_example(tmp_path_factory.mktemp("run") / "good")


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A run that diverges at a crossing."""
    path = tmp_path_factory.mktemp("run") / "bad"
    return save_example(path, method="penalty", duration=10.0, step=0.01)


def without_bundle(page):
    """The page without plotly's own text."""
    from plotly.offline import get_plotlyjs

    assert page.count(get_plotlyjs()) == 1
    return page.replace(get_plotlyjs(), "")


@pytest.mark.slow
def test_page_shows_the_branches_at_a_crossing(folder):
    """A moving picture for each of the three branches of the flat configuration, drawn without a script."""
    page = without_bundle(make_report([load_run(folder)]))
    start = page.index("Branches at the first crossing")
    shown = page[start : page.index("</div>", start)]
    assert "3 branches meet here" in shown
    assert shown.count("<svg") == shown.count("<figcaption>") == 3
    # five rods each, in grey where the branches meet and moving in colour
    assert shown.count("<animate") == 15
    assert shown.count("<polyline") == 30
    assert "<script" not in shown


def test_page_states_everything(folder):
    """What, with what, verdict, limits, figures, crossings, counters, machine, command."""
    run = load_run(folder)
    page = without_bundle(make_report([run]))
    for words in (
        "Double four-bar mechanism",
        "PASS",
        "series with tol 1e-10",
        "energy drift",
        "Mobility 1 by the Gruebler-Kutzbach formula",
        "Point 1: x and its derivative",
        "Distance from the exact motion",
        "factorisations",
        "calibration workload",
        "numpy",
        "sarrus run double-four-bar",
    ):
        assert words in page, words
    # three flat configurations in three seconds, by the closed form
    flat = flat_times(2, 3.0)
    assert page.count("data-time=") == len(flat) == 3
    np.testing.assert_allclose([m.time for m in run.scene.marks], flat, atol=1e-9)
    assert page.count('class="plot"') == 8


def test_page_loads_nothing_from_outside(folder):
    """No address, no source, no import; and a policy that would forbid them."""
    page = without_bundle(make_report([load_run(folder)]))
    assert "default-src 'none'" in page
    assert not re.search(r"https?://", page)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)""", page)
    assert "@import" not in page
    assert "fetch(" not in page


def test_size_is_bounded(folder):
    """A short run with the bundle stays far below 8 MB; the data of any run is bounded."""
    assert len(make_report([load_run(folder)]).encode()) < 8 * MEGABYTE


def test_hostile_names_are_only_text(folder):
    """Names with HTML, script ends and line separators appear escaped everywhere."""
    page = without_bundle(make_report([with_hostile_names(folder)]))
    assert "<img" not in page
    assert "<script>document" not in page
    assert "\u2028" not in page.split('id="data">')[1]
    assert HOSTILE in unescape(page)


def test_inline_json_cannot_end_its_element():
    """No angle bracket survives, and the text is still the same JSON."""
    import json

    text = inline_json({"name": HOSTILE})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"name": HOSTILE}


@pytest.mark.slow
def test_failed_run_says_where_and_why(failed):
    """Status, time and reason come first; the plots show what is missing."""
    run = load_run(failed)
    page = without_bundle(make_report([run]))
    assert "FAIL" in page
    assert "diverged" in page
    assert f"at t = {run.scene.end:.6g} s of 10 s" in page
    assert run.record["message"] in unescape(page)
    # the stretch that was not reached is marked in every plot over time
    assert page.count('"fillcolor"') == page.count('class="plot"')


def test_run_stopped_at_a_crossing_says_so(tmp_path):
    """The crossing is listed, the picture ends there, the rest of the time is marked as missing."""
    run = load_run(save_stopped(tmp_path / "stopped"))
    page = without_bundle(make_report([run]))
    assert "<b>stopped</b> at t = 0.71" in page
    assert "One crossing" in page
    assert '"fillcolor"' in page
    assert run.scene.end == pytest.approx(flat_times(2, 1.0)[0], abs=0.011)


def test_a_method_that_does_not_watch_is_named(folder):
    """Not having looked for crossings is not the same as having met none."""
    run = load_run(folder)
    verdict = {**run.record["verdict"], "crossings": None}
    run = replace(run, record={**run.record, "verdict": verdict})
    assert "does not monitor crossings" in make_report([run])


@pytest.mark.slow
def test_runs_side_by_side(folder, failed):
    """One figure for both, one column each in the tables, each with its own picture."""
    page = without_bundle(make_report([load_run(folder), load_run(failed)]))
    assert "2 runs side by side" in page
    assert 'id="picture-1"' in page
    assert "PASS" in page
    assert "FAIL" in page
    assert ">penalty</th>" in page


@pytest.mark.slow
def test_long_mechanism_is_thinned_and_says_so():
    """300 windows over 20 s: fewer frames than wanted, and sentences about it."""
    import sarrus

    problem = sarrus.problems.get("n-four-bar", windows=300)
    scene = sarrus.simulate(problem.mechanism(), 20.0, 0.1, tolerance=1e-4).scene
    payload = scene_payload(scene.observing("B0"))
    assert len(payload["data"]) < 3 * MEGABYTE
    assert any("thinned out" in line for line in payload["said"])
    assert any("part around B0" in line for line in payload["said"])


def test_thinned_curves_keep_their_extremes():
    """A single spike among 100 000 points survives."""
    times = np.linspace(0, 1, 100_000)
    values = np.sin(50 * times)
    values[54_321] = 7.0
    x, y = thin(times, values, 1000)
    assert len(x) <= 1002
    assert y.max() == 7.0
    assert y.min() == values.min()
    assert (np.diff(x) > 0).all()


@pytest.mark.slow
def test_bad_folders_are_rejected_in_words(tmp_path, folder):
    """No folder, no record, no data, broken data: one sentence each, naming the file."""
    with pytest.raises(RunFolderError, match="no folder"):
        find_runs(tmp_path / "none")
    with pytest.raises(RunFolderError, match="holds no run"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"run\.json cannot be read"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": 1}')
    with pytest.raises(RunFolderError, match="method is missing"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    with pytest.raises(RunFolderError, match=r"result\.h5 is missing"):
        load_run(tmp_path)
    for content in (b"", b"\x89HDF nonsense", (folder / "result.h5").read_bytes()[:5000]):
        (tmp_path / "result.h5").write_bytes(content)
        with pytest.raises(RunFolderError, match=r"result\.h5 cannot be read"):
            load_run(tmp_path)
    # what is not a plain number is rejected
    path = tmp_path / "result.h5"
    path.write_bytes((folder / "result.h5").read_bytes())
    with h5py.File(path, "a") as file:
        del file.attrs["sealed"]
        name = file["pictures/0"].attrs["name"]
        del file["pictures/0"]
        file["pictures/0"] = "some text"
        file["pictures/0"].attrs["name"] = name
    with pytest.raises(RunFolderError, match="holds no plain numbers"):
        load_run(tmp_path)


def test_the_whole_result_is_in_the_folder(folder):
    """What was simulated can be requested anything later: the columns are those of the result."""
    found = load_run(folder)
    assert found.result.success
    np.testing.assert_array_equal(found.result.times, found.times)
    np.testing.assert_array_equal(found.result.energy_balance, found.columns["energy"])
    assert len(found.result.crossings) == len(found.scene.marks)
