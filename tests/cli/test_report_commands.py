"""sarrus run --report, report, movie and view."""

import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import sarrus
from run_folders import save_example
from sarrus.cli import app, main

runner = CliRunner()


def call(*words):
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of one second."""
    return save_example(tmp_path_factory.mktemp("cli") / "run", duration=1.0)


@pytest.mark.slow
def test_run_with_report_and_report_later(tmp_path):
    """--report writes the page next to the record; `sarrus report` writes the same one later."""
    words = ("run", "double-four-bar", "--duration", "1", "--report", "--out", tmp_path)
    answer = call(*words)
    assert answer.exit_code == 0, answer.output
    folder = tmp_path / "double-four-bar"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Double four-bar mechanism" in page
    answer = call("report", folder, "--out", tmp_path / "later.html")
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "later.html").read_text(encoding="utf-8") == page


@pytest.mark.slow
def test_several_folders_and_a_folder_of_folders(tmp_path, folder, monkeypatch):
    """Two runs side by side, by name or by the folder above them."""
    monkeypatch.chdir(tmp_path)
    other = save_example(tmp_path / "runs" / "b", "rectangular-bricard", duration=1.0)
    answer = call("report", folder, other)
    assert answer.exit_code == 0, answer.output
    assert "2 runs side by side" in (tmp_path / "report.html").read_text(encoding="utf-8")
    answer = call("report", tmp_path / "runs")
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "runs" / "report.html").is_file()


@pytest.mark.slow
def test_report_of_a_benchmark(tmp_path):
    """Winners, diagrams, failures with reasons, machine, command; written by bench and by report."""
    words = ("bench", "double-four-bar", "--method", "series", "--tolerances", "1e-1..1e-3")
    answer = call(*words, "--repeat", "1", "--duration", "2", "--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in (
        "Winners",
        "Work and precision",
        "alone",
        "What did not keep its limits",
        "numpy",
    ):
        assert words in page
    assert call("report", tmp_path, "--out", tmp_path / "again.html").exit_code == 0
    again = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert again.count("double-four-bar") == page.count("double-four-bar")


@pytest.mark.slow
def test_report_of_a_model_file(tmp_path):
    """A mechanism of a user, with a hostile name: no limits to keep, the same page otherwise."""
    mechanism = sarrus.Mechanism("<b>pendulum</b>")
    mechanism.rod("rod", (0, 0), (1, 0), mass=1)
    mechanism.revolute("pin", mechanism.ground, "rod", at=(0, 0))
    mechanism.point("end", "rod", (1, 0))
    mechanism.save(tmp_path / "pendulum.yaml")
    out = tmp_path / "run"
    words = ("simulate", tmp_path / "pendulum.yaml", "--duration", "1", "--report", "--out", out)
    answer = call(*words)
    assert answer.exit_code == 0, answer.output
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;pendulum&lt;/b&gt;" in page
    assert "<b>pendulum" not in page
    assert "The red line is the path of end." in page
    assert ">done</span>" in page


@pytest.mark.slow
def test_movie_of_a_folder(tmp_path, folder):
    """Frames of the size and number requested."""
    out = tmp_path / "frames"
    answer = call("movie", folder, out, "--fps", "4", "--size", "160x120", "--speed", "2")
    assert answer.exit_code == 0, answer.output
    assert len(list(out.glob("*.png"))) == 2


def test_view_opens_files_problems_folders_and_an_empty_plane(tmp_path, folder, monkeypatch):
    """The workbench gets the data, the file that it saves, and how long; here it ends at once."""
    from sarrus.workbench import server

    made, of = [], []

    class Silent:
        opening = SimpleNamespace(path=tmp_path / "open.html")

        def __init__(self, data, opened, duration, port, problem):
            made.append((data, opened, duration))
            of.append(problem)

        def serve(self):
            raise KeyboardInterrupt

        def close(self):
            pass

    monkeypatch.setattr(server, "Workbench", Silent)
    path, empty = tmp_path / "my.yaml", tmp_path / "empty.yaml"
    assert call("export", "double-four-bar", path).exit_code == 0
    empty.touch()
    for words in (
        (folder,),
        ("double-four-bar", "--windows", "1", "--duration", "3"),
        (path,),
        (empty,),
        ("--new",),
        (tmp_path / "new.yaml", "--new"),
    ):
        answer = call("view", *words, "--no-browser")
        assert answer.exit_code == 0, answer.output
    counts = [len(data["bodies"]) for data, _, _ in made]
    assert counts == [5, 3, 5, 0, 0, 0]
    assert [duration for _, _, duration in made] == [1.0, 3.0, None, None, None, None]
    # options of a problem become sliders
    assert of == [None, ("double-four-bar", {"windows": 1}), None, None, None, None]
    files = [opened.path for _, opened, _ in made]
    assert files == [None, None, path, empty, None, tmp_path / "new.yaml"]
    assert made[2][1].text == path.read_text()
    # a file that is there is not begun again
    assert "leave out --new" in str(call("view", path, "--new", "--no-browser").exception)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("report", "no-such-folder"), "no folder no-such-folder"),
        (("movie", "no-such-folder", "a.mp4"), "no-such-folder"),
        (("movie", ".", "a.mp4", "--size", "big"), "'big' is not a size"),
        (("view", "no-such-problem"), "double-four-bar"),
    ],
)
def test_wrong_words_give_one_message(words, expected, capsys, monkeypatch, tmp_path):
    """Errors of the user end with status 2 and one line, without a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    shown = capsys.readouterr().err
    assert expected in shown
    assert "Traceback" not in shown
