"""`sarrus simulate`, `export`, `schema`, and `inspect` of a file, in a temporary folder."""

import csv
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from builders import n_four_bar
from sarrus import Mechanism, load, problems, simulate
from sarrus.cli import app, main

runner = CliRunner()

PENDULUM = """\
sarrus: 1
name: pendulum $ [red]
gravity: [0, -9.81]
bodies:
  bob: {mass: 2 kg, center: "[300, -400] mm"}
joints:
  pin: {revolute: [ground, bob], at: [0, 0]}
points:
  "a,b": {body: bob, at: [0.3, -0.4]}
simulate: {duration: 1 s, output_step: 100 ms}
"""


def call(*words):
    """The answer of the command line."""
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path):
    """A pendulum whose names are traps for CSV, markup and formulas."""
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    return path


@pytest.mark.slow
def test_simulate_writes_columns_record_model_and_figure(file, tmp_path):
    """Units in the headers, numbers as the library has them, versions and settings in run.json."""
    out = tmp_path / "out"
    answer = call("simulate", file, "--out", out)
    assert answer.exit_code == 0, answer.output
    # text of a file is no markup, and the summary is short
    assert "pendulum $ [red]" in answer.output
    assert "done: simulated 1 s" in answer.output
    assert ".sarrus-files" not in answer.output
    assert len(answer.output.splitlines()) < 10
    assert {p.name for p in out.iterdir()} == {
        ".sarrus-files",
        "columns.csv",
        "run.json",
        "model.yaml",
        "motion.png",
        "result.h5",
    }
    with open(out / "columns.csv", newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    assert head[:4] == ["t [s]", "pin.x [m]", "pin.y [m]", "pin.vx [m/s]"]
    table = np.array(rows, dtype=float)
    result = simulate(load(file), 1.0, 0.1)
    # the same columns as in Python, to the last bit
    assert head == list(result.columns())
    np.testing.assert_array_equal(table, np.column_stack(list(result.columns().values())))
    x, y = (table[:, head.index(f"a,b.{axis} [m]")] for axis in "xy")
    # the length of the pendulum is 0.5 m: rounding of a few additions
    np.testing.assert_allclose(np.hypot(x, y), 0.5, rtol=1e-14)
    record = json.loads((out / "run.json").read_text())
    assert (record["status"], record["duration"], record["outputs"]) == ("done", 1.0, 11)
    assert record["model"]["file"] == "pendulum.yaml"
    assert record["columns"] == head
    assert {"versions", "machine", "counters", "timings", "notes", "command"} <= set(record)
    assert (out / "motion.png").read_bytes()[:4] == b"\x89PNG"
    again = load(out / "model.yaml")
    np.testing.assert_array_equal(simulate(again, 1.0, 0.1).coordinates, result.coordinates)


def test_options_win_over_the_file(file, tmp_path):
    """Duration and output step, here with units, tolerance, method and points of the command line."""
    words = (
        "--duration",
        "500 ms",
        "--output-step",
        "250ms",
        "--tolerance",
        "1e-6",
        "--point",
        "bob",
    )
    answer = call("simulate", file, *words, "--out", tmp_path / "out", "--json", "--no-figure")
    record = json.loads(answer.stdout)
    assert (record["duration"], record["outputs"], record["tolerance"]) == (0.5, 3, 1e-6)
    assert record["points"] == ["bob"]
    assert record == json.loads((tmp_path / "out" / "run.json").read_text())


def test_a_time_with_a_wrong_unit_is_rejected(file, tmp_path):
    """The message names the option and a unit that would do."""
    answer = call("simulate", file, "--duration", "5 mm", "--out", tmp_path / "out")
    assert answer.exit_code == 2
    text = " ".join(answer.output.split())
    assert "'--duration': '5 mm' is a length; give a time, like 10 s" in text


def test_a_body_that_no_joint_reaches_is_reported(file, tmp_path):
    """With file, line and key; the run is good, and the record has the note."""
    text = PENDULUM.replace("joints:", "  stone: {mass: 1, center: [9, 9]}\njoints:")
    file.write_text(text)
    answer = call("simulate", file, "--out", tmp_path / "out", "--no-figure")
    assert answer.exit_code == 0, answer.output
    line = f"{file}:6: bodies.stone: no joint reaches it, it moves freely"
    assert answer.output.count("no joint reaches it") == 1
    assert line in answer.output
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert "body 'stone': no joint reaches it, it moves freely" in record["notes"]
    assert line in call("inspect", file).output


@pytest.mark.slow
def test_a_run_that_ends_early_exits_with_1(file, tmp_path):
    """A fixed step far too long: what is good is written, and the status says why it ended."""
    fast = PENDULUM + "angular_velocities: {bob: 1e5 rpm}\n"
    file.write_text(fast)
    words = (
        "--method",
        "energy-momentum",
        "--step",
        "0.1",
        "--no-figure",
        "--out",
        tmp_path / "out",
    )
    answer = call("simulate", file, *words)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["status"] != "done"
    assert answer.exit_code == 1, answer.output
    assert record["message"] in answer.output.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize("name", problems.names())
def test_export_gives_the_problem(name, tmp_path):
    """The file holds the mechanism, its duration and its output step; screen and file are the same."""
    path = tmp_path / "my.yaml"
    assert call("export", name, path).exit_code == 0
    m, item = load(path), problems.get(name)
    assert m.defaults == {"duration": item.duration, "output_step": item.output_step}
    assert [b.name for b in m.bodies] == [b.name for b in item.mechanism().bodies]
    assert call("export", name).stdout == path.read_text(encoding="utf-8")


def test_export_takes_options_and_keeps_existing_files(tmp_path):
    """--windows counts; a file that exists is only replaced by --force."""
    path = tmp_path / "my.yaml"
    assert call("export", "n-four-bar", path, "--windows", 3).exit_code == 0
    assert len(load(path).bodies) == 7
    answer = call("export", "a04-bricard", path)
    assert isinstance(answer.exception, ValueError)
    assert "--force" in str(answer.exception)
    assert call("export", "a04-bricard", path, "--force").exit_code == 0
    assert len(load(path).bodies) == 5


def test_an_exported_problem_moves_like_the_problem(tmp_path):
    """simulate of the file and of the problem: the same numbers to the last bit."""
    path = tmp_path / "my.yaml"
    call("export", "double-four-bar", path)
    words = ("--duration", "1", "--out", tmp_path / "out", "--point", "B0", "--no-figure")
    answer = call("simulate", path, *words)
    assert answer.exit_code == 0, answer.output
    table = np.loadtxt(tmp_path / "out" / "columns.csv", delimiter=",", skiprows=1)
    result = simulate(problems.get("double-four-bar").mechanism(), 1.0, 0.01)
    np.testing.assert_array_equal(table[:, 1:3], result.position("B0"))


def test_schema_is_one_json_document():
    """With the version, so that editors can complete it."""
    schema = json.loads(call("schema").stdout)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["properties"]["sarrus"]["const"] == 1
    assert {"bodies", "joints", "springs", "drives"} <= set(schema["properties"])


@pytest.mark.slow
def test_inspect_takes_a_file(tmp_path):
    """The same verdict as for the problem."""
    path = tmp_path / "my.yaml"
    call("export", "rectangular-bricard", path)
    assert call("inspect", path).stdout == call("inspect", "rectangular-bricard").stdout


def test_branches_of_a_file(tmp_path):
    """The command prints what the function finds, as sentences and as a record."""
    path = tmp_path / "flat.yaml"
    m = n_four_bar(2, speed=0.0, lean=np.pi / 2)
    m.save(path)
    answer = call("branches", path)
    assert answer.exit_code == 0, answer.output
    assert "3 branches meet here: transversal crossing" in answer.stdout
    record = json.loads(call("branches", path, "--json", "--most", 2).stdout)
    assert (len(record["branches"]), record["complete"]) == (2, False)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("branches", "missing.yaml"), "missing.yaml: cannot be read"),
        (("simulate", "missing.yaml"), "missing.yaml: cannot be read: No such file"),
        (("simulate", "double-four-bar"), "sarrus run double-four-bar"),
        (("simulate", "FILE", "--duration", "-1"), "duration = -1"),
        (("simulate", "FILE", "--method", "magic"), "series"),
        (("simulate", "FILE", "--point", "nowhere"), "'nowhere'"),
        (("simulate", "."), "this is a folder"),
        (("inspect", "missing.yaml"), "missing.yaml: cannot be read"),
        (("inspect", "FILE", "--windows", "3"), "--windows"),
        (("run", "FILE"), "sarrus simulate"),
        (("export", "no-such"), "double-four-bar"),
        (("export", "double-four-bar", "no-such-folder/x.yaml"), "cannot be written"),
    ],
)
def test_wrong_words_give_one_message(words, expected, file, capsys, monkeypatch, tmp_path):
    """Errors of the user end with status 2 and one message, without a traceback."""
    monkeypatch.chdir(tmp_path)
    words = [str(file) if word == "FILE" else word for word in words]
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert "Traceback" not in shown


def test_a_bad_file_is_reported_line_by_line(file, capsys, monkeypatch):
    """All problems, each with file, line and key; brackets of a file are no markup."""
    file.write_text(PENDULUM.replace("2 kg", "'2 [red]'").replace("at: [0, 0]", "ta: [0, 0]"))
    monkeypatch.setattr(sys, "argv", ["sarrus", "simulate", str(file)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    shown = capsys.readouterr().err
    assert f"error: 2 problems in {file}:" in shown
    assert f"{file}:5: bodies.bob.mass: '2 [red]' is not a number" in shown
    assert f"{file}:7: joints.pin.ta: unknown key" in shown


def test_without_a_duration_the_command_asks_for_it(file, capsys, monkeypatch):
    """Neither the file nor the command line says how long."""
    file.write_text(PENDULUM.replace("simulate: {duration: 1 s, output_step: 100 ms}\n", ""))
    monkeypatch.setattr(sys, "argv", ["sarrus", "simulate", str(file)])
    with pytest.raises(SystemExit):
        main()
    assert "--duration" in capsys.readouterr().err


def test_save_and_load_are_methods(tmp_path):
    """As the docs show them."""
    m = Mechanism("one")
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.save(tmp_path / "one.yaml")
    assert Mechanism.load(tmp_path / "one.yaml").name == "one"


def test_method_that_cannot_do_it_is_an_error(tmp_path, monkeypatch, capsys):
    """A driven pendulum by a method without drives: one sentence that names those that can, no files."""
    path = tmp_path / "driven.yaml"
    path.write_text(PENDULUM + "drives:\n  d: {joint: pin, polynomial: [0, 60 rpm]}\n")
    words = ["sarrus", "simulate", path, "--method", "penalty", "--out", tmp_path / "out"]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "'penalty' cannot do drives; use" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_simulate_stops_at_a_crossing_if_requested(tmp_path):
    """--at-crossing: the run ends there, lists the motions, and that is no failure."""
    path = tmp_path / "window.yaml"
    problems.get("n-four-bar", windows=1).mechanism().save(path)
    words = ("simulate", path, "--duration", 1, "--no-figure", "--out", tmp_path / "out")
    answer = call(*words)
    assert answer.exit_code == 0, answer.output
    assert "1 crossing at t = 0.70845" in answer.output
    answer = call(*words, "--at-crossing", "branches")
    assert answer.exit_code == 0, answer.output
    assert "2 branches meet here" in answer.output
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["status"] == "stopped"
    assert len(record["verdict"]["crossings"]) == 1
    assert "nan" not in record["verdict"]["crossings"][0]["sentence"]
    # the run of a problem too; a part of it passes no judgement
    run = call(
        "run",
        "double-four-bar",
        "--at-crossing",
        "stop",
        "--duration",
        1,
        "--out",
        tmp_path,
        "--json",
    )
    assert run.exit_code == 1
    assert json.loads(run.stdout)["status"] == "stopped"
    wrong = call(*words, "--at-crossing", "jump")
    assert wrong.exit_code != 0
