"""The commands, called as functions in a temporary folder."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from sarrus import problems
from sarrus.cli import app, main
from sarrus.cli.options import METHODS
from sarrus.methods import CHOICES
from sarrus.methods.method import DRIVES, USER_FORCES
from sarrus.progress import listening

# together they take several seconds
pytestmark = pytest.mark.slow

runner = CliRunner()


def call(*words):
    return runner.invoke(app, list(words))


def test_list_shows_a_line_for_each_problem():
    """Every id stands in a line of its own, with its source."""
    lines = call("list").output.splitlines()
    for name, source in (
        ("double-four-bar", "IFToMM"),
        ("n-four-bar", "A02"),
        ("rectangular-bricard", "IFToMM"),
        ("a04-bricard", "A04"),
    ):
        assert sum(name in line and source in line for line in lines) == 1


def test_commands_have_the_options_of_all_problems():
    """What problems declare is an option of each command that builds them, with its meaning and unit."""
    for command in ("run", "judge", "export", "inspect", "modes"):
        shown = " ".join(call(command, "--help").output.split())
        for name, option in problems.all_options().items():
            assert f"--{name} " in shown
            assert option.meaning[1:] in shown
            assert option.unit in shown


def test_list_shows_the_options_of_each_problem():
    """With the value that holds if none is given."""
    lines = {line.split()[0]: line for line in call("list").output.splitlines() if line.split()}
    for name in problems.names():
        for option in problems.options(name):
            assert f"{option.name} {option.default:g}" in lines[name]


def test_methods_are_listed_with_what_they_can_do():
    """A line each: what steers it, what it can simulate, its options with their defaults."""
    lines = {line.split()[0]: line for line in call("methods").output.splitlines() if line.split()}
    for name, method in CHOICES.items():
        assert method.title in lines[name]
        assert f" {method.setting} " in lines[name]
        assert (" user forces" in lines[name]) == (USER_FORCES in method.does)
        assert (" drives" in lines[name]) == (DRIVES in method.does)
        for option, value in method.options.items():
            assert f"{option}={value:g}" in lines[name]


def test_run_writes_files_figures_and_record(tmp_path):
    """A run leaves results.txt, run.json and PNG figures, and exits with 0."""
    answer = call("run", "double-four-bar", "--out", str(tmp_path))
    assert answer.exit_code == 0, answer.output
    assert "PASS" in answer.output
    assert str(tmp_path.name) in answer.output.replace("\n", "")
    folder = tmp_path / "double-four-bar"
    names = {path.name for path in folder.iterdir()}
    assert {"results.txt", "run.json"} <= names
    assert sum(name.endswith(".png") for name in names) == 2
    assert all((folder / n).read_bytes()[:4] == b"\x89PNG" for n in names if n.endswith(".png"))
    record = json.loads((folder / "run.json").read_text())
    assert record["status"] == "done"
    assert {"import", "compile", "set_up", "solve"} <= set(record["timings"])
    assert {"problem", "method", "tolerance", "versions", "machine", "threads", "counters"} <= set(
        record
    )


def test_result_file_has_the_columns_of_its_source(tmp_path):
    """Seven columns, 0 to 10 s by 0.01 s, 15 significant digits, one header line."""
    call("run", "double-four-bar", "--out", str(tmp_path))
    path = tmp_path / "double-four-bar" / "results.txt"
    lines = path.read_text().splitlines()
    assert lines[0].startswith("#")
    assert not lines[1].startswith("#")
    # 15 significant digits: one before the point, 14 after it
    assert len(lines[2].split()[1].lstrip("-").split("e")[0].replace(".", "")) == 15
    table = np.loadtxt(path)
    assert table.shape == (1001, 7)
    # decimal text of k / 100 is read back to the last bit or the one near it
    np.testing.assert_allclose(table[:, 0], np.arange(1001) / 100, rtol=3e-16)
    assert table[0, 1:3] == pytest.approx([0.0, 1.0], abs=1e-15)


@pytest.mark.parametrize(
    ("problem", "columns"), [("n-four-bar", 6), ("rectangular-bricard", 7), ("a04-bricard", 7)]
)
def test_other_result_files(tmp_path, problem, columns):
    """Each problem writes as many columns as its source requires."""
    answer = call("run", problem, "--duration", "2", "--out", str(tmp_path))
    assert answer.exit_code == 0, answer.output
    assert np.loadtxt(tmp_path / problem / "results.txt").shape[1] == columns


def test_json_is_the_record_alone(tmp_path):
    """With --json the standard output is one JSON document, the same as run.json."""
    answer = call(
        "run", "rectangular-bricard", "--section", "0.2", "--json", "--out", str(tmp_path)
    )
    record = json.loads(answer.stdout)
    assert record == json.loads((tmp_path / "rectangular-bricard" / "run.json").read_text())
    assert record["problem"]["options"] == {"section": 0.2}


def test_a_failed_limit_is_named_and_sets_the_exit_status(tmp_path):
    """A loose tolerance misses the high precision class of A02: FAIL, exit 1, the number shown."""
    answer = call("run", "n-four-bar", "--tolerance", "1e-2", "--out", str(tmp_path))
    assert answer.exit_code == 1
    assert "FAIL" in answer.output
    assert "high precision" in answer.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "no-such"), "double-four-bar"),
        (("run", "a04-bricard", "--windows", "3"), "section"),
        (("run", "n-four-bar", "--windows", "0"), "windows = 0"),
        (("run", "--windows", "3"), "--windows"),
        (("run", "double-four-bar", "--duration", "-1"), "duration = -1"),
        (("run", "double-four-bar", "--tolerance", "5"), "tolerance = 5"),
        (("run", "double-four-bar", "--method", "magic"), "series"),
        (("run", "rectangular-bricard", "--section", "-1"), "section = -1"),
    ],
)
def test_wrong_words_give_one_message(words, expected, capsys, monkeypatch):
    """Errors of the user end with status 2 and one line, without a traceback."""
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert "Traceback" not in shown


def test_a_folder_that_cannot_be_written_gives_one_message(tmp_path, capsys, monkeypatch):
    """--out below a file is an error of the user."""
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / "runs")
    monkeypatch.setattr(sys, "argv", ["sarrus", "run", "double-four-bar", "--out", out])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_version():
    """The package's own, on one line."""
    shown = call("--version")
    assert shown.exit_code == 0
    assert shown.output == f"sarrus {sarrus.__version__}\n"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_digit_is_lost_on_a_narrow_screen(width, tmp_path, monkeypatch):
    """Lines fit, and the numbers that matter stand there whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    shown = call("run", "spatial-slider-crank-literal", "--duration", "0.1", "--out", str(tmp_path))
    record = json.loads((tmp_path / "spatial-slider-crank-literal" / "run.json").read_text())
    assert "…" not in shown.output
    assert f"{record['judgement']['energy_drift']:.1e}" in shown.output
    assert f"{record['judgement']['position_error']:.1e}" in shown.output
    assert "PASS" in shown.output
    table = shown.output.split("files and figures")[0].splitlines()
    assert all(len(line.rstrip()) <= width for line in table)


def test_list_as_json():
    """Every problem with its options, as data."""
    found = json.loads(call("list", "--json").stdout)
    assert [item["id"] for item in found] == problems.names()
    windows = next(i for i in found if i["id"] == "n-four-bar")["options"][0]
    assert windows["name"] == "windows"
    assert windows["default"] == 40


def test_help_names_all_choices():
    """Methods, problems, and what to do at a crossing; the names of methods are those there are."""
    assert tuple(CHOICES) == METHODS
    # lines are broken within words
    text = "".join(call("run", "--help").stdout.split())
    for word in (*METHODS, *problems.names(), "continue|stop|branches"):
        assert word in text


@pytest.mark.parametrize(
    "words", [["spec", "write", "n-four-bar", "--out"], ["export", "n-four-bar"]]
)
def test_commands_that_write_say_where(words, tmp_path):
    """The path of the file, in one line."""
    goal = tmp_path / ("a.xml" if words[0] == "spec" else "a.yaml")
    out = call(*words, str(goal))
    assert f"written: {goal}" in out.stdout.replace("\n", "")
    assert goal.is_file()


def test_ctrl_c_is_a_word_and_a_status(monkeypatch, capsys):
    """Stopped by its user a command ends with 130, without a traceback."""

    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(problems, "names", stop)
    monkeypatch.setattr(sys, "argv", ["sarrus", "list"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130
    assert capsys.readouterr().err.strip() == "stopped"


def test_a_run_states_how_far_it_is():
    """Simulated seconds of all, growing to the end."""
    reported = []
    with listening(lambda done, total: reported.append((done, total))):
        sarrus.simulate(problems.get("simple-pendulum").mechanism(), 4000.0, 1.0)
    times = [done for done, _ in reported]
    assert times == sorted(times)
    assert len(times) > 3
    assert reported[-1] == (4000.0, 4000.0)
