"""sarrus bench, submit and board."""

import csv
import io
import json
import sys

import pytest
from typer.testing import CliRunner

from sarrus.cli import app, main

runner = CliRunner()


@pytest.mark.slow
def test_bench_submit_board(tmp_path):
    """A short benchmark writes its report; its winner can be submitted and put on a board."""
    out = tmp_path / "bench"
    words = ["bench", "double-four-bar", "--method", "series", "--tolerances", "1e-2..1e-4"]
    answer = runner.invoke(app, [*words, "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "series" in answer.output
    report = (out / "report.md").read_text()
    assert "double-four-bar" in report
    assert "## Made with" in report
    assert (out / "work-precision-double-four-bar.png").read_bytes()[:4] == b"\x89PNG"
    run, *others = sorted((out / "winners" / "double-four-bar").iterdir())
    answer = runner.invoke(app, ["submit", str(run), "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    (packed,) = tmp_path.glob("*.zip")
    answer = runner.invoke(app, ["board", str(packed), str(out)])
    assert answer.exit_code == 0, answer.output
    # the packed run and its folder are one row
    assert answer.output.count("PASS") == 1 + len(others)
    check_formats([["board", str(packed)], [*words, "--out", str(out)]], tmp_path)


def check_formats(commands, folder):
    """The same tables as CSV, LaTeX and JSON, and nothing else on the screen; a paper stands next to ours."""
    paper = folder / "paper.yaml"
    paper.write_text("title: Doe 2021\nrows:\n  - {problem: double-four-bar, cpu: 0.25}\n")
    for words in commands:
        reported = {}
        for shape in ("csv", "latex", "json", "table"):
            answer = runner.invoke(app, [*words, "--format", shape, "--paper", str(paper)])
            assert answer.exit_code == 0, answer.output
            reported[shape] = answer.stdout
        rows = list(csv.DictReader(io.StringIO(reported["csv"])))
        assert all(float(row["Doe 2021: CPU [s]"]) == 0.25 for row in rows)
        assert [r["cpu"] for r in json.loads(reported["json"])["rows"]] == [
            float(r["CPU [s]"]) for r in rows
        ]
        assert reported["latex"].count(r"\\") == len(rows) + 1
        assert "Doe 2021" in reported["table"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("bench", "--method", "magic"), "series"),
        (("bench", "no-such-problem"), "double-four-bar"),
        (("bench", "--tolerances", "x"), "is not a ladder"),
        (("bench", "--repeat", "0"), "--repeat"),
        (("bench", "--format", "xml"), "--format xml: give one of table, csv, latex, json"),
        (("board", ".", "--paper", "no-such-file.yaml"), "no-such-file.yaml"),
        (("submit", "no-such-folder"), "no-such-folder"),
        (("board", "no-such-folder"), "no-such-folder"),
    ],
)
def test_wrong_words_give_one_message(words, expected, capsys, monkeypatch):
    """Errors of the user end with status 2 and one line."""
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    assert expected in capsys.readouterr().err
