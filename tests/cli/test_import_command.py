"""`sarrus import`, and simulate and inspect of other programs' files."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from format_files import four_bar, mjcf, write
from sarrus.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(w) for w in words])


@pytest.mark.slow
def test_import_writes_a_model_file_that_moves_alike(tmp_path, run):
    """The YAML file holds the closed mechanism; the report is printed and stands in its head."""
    path = four_bar(tmp_path)
    done = run("import", path, "ours.yaml")
    assert done.exit_code == 0, done.output
    for word in (
        "read from bar.urdf",
        "dropped: dry friction of joints: a",
        "was assembled",
        "written: ours.yaml",
    ):
        assert word in done.output.replace("\n", " ")
    head = Path("ours.yaml").read_text().splitlines()[0]
    assert head.startswith("# read from bar.urdf (URDF): 3 bodies")
    a, b = (sarrus.simulate(sarrus.load(f), 0.3, output_step=0.1) for f in (path, "ours.yaml"))
    assert np.array_equal(a.position("rocker"), b.position("rocker"))
    again = run("import", path, "ours.yaml")
    assert again.exit_code != 0
    assert "exists already" in str(again.exception)


def test_import_to_other_formats_and_json(tmp_path, run):
    """A model file goes out as URDF; the report as JSON."""
    run("import", four_bar(tmp_path), "ours.yaml")
    done = run("import", "ours.yaml", "out.urdf", "--json")
    assert done.exit_code == 0, done.output
    (report,) = json.loads(done.output)
    assert report["format"] == "written as URDF"
    assert Path("out.yaml").is_file()
    done = run("import", "ours.yaml", "out.step")
    assert "the ending of out.step is not written" in str(done.exception)


def test_as_authored_leaves_loops_open(tmp_path, run):
    """An open file stays open, and simulate closes it by itself."""
    assert run("import", four_bar(tmp_path), "open.yaml", "--as-authored").exit_code == 0
    m = sarrus.load("open.yaml")
    assert m.assemble
    assert sarrus.simulate(m, 0.1).status == "done"


@pytest.mark.slow
def test_simulate_and_inspect_read_the_file_directly(tmp_path, run):
    """No step between: a second of motion, notes with the report, and the file's own count next to the
    mobility.
    """
    path = four_bar(tmp_path)
    done = run("simulate", path, "--no-figure", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert any(note.startswith("dropped: dry friction of joints: a") for note in record["notes"])
    assert record["status"] == "done"
    done = run("inspect", path)
    # the verdict is that of the mechanism that `import` makes
    assert "the authored pose is open" in done.output
    assert "was assembled" in done.output
    assert (
        "By its joints less its closing equations the file has 0 degrees of freedom; the computed mobility is 1."
        in done.output
    )
    found = json.loads(run("inspect", path, "--json").stdout)
    assert found["import"]["format"] == "URDF"


@pytest.mark.slow
def test_xml_may_be_either(tmp_path, run):
    """An XML file is identified by its root; a message reports any other root."""
    pytest.importorskip("mujoco", reason="mujoco is not installed (extra formats)")
    path = mjcf(
        tmp_path,
        "<body name='b'><joint/><inertial mass='1' pos='0 0 1' diaginertia='1 1 1'/></body>",
    )
    assert "1 degree of freedom; " in run("inspect", path).output
    done = run("simulate", write(tmp_path, "page.xml", "<html/>"), "--duration", "1")
    assert done.exit_code != 0
