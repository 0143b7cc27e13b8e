"""Tables for papers: CSV, LaTeX and JSON hold the same rows; tables of papers stand next to ours."""

import csv
import io
import json
import re

import pytest

from sarrus.report.data_tables import board_data, engine_data, join_papers, winner_data
from sarrus.report.engines_page import standings
from sarrus.report.papers import PaperError, load_paper

PAPER = """\
title: Doe & Roe 2021, table 3
source: a journal
rows:
  - {problem: double-four-bar, method: ali3, cpu: 0.35, drift: 0.09, note: h = 10 ms}
  - {problem: double-four-bar, cpu: 2.5}
  - {problem: another, method: theirs, cpu: 1.0e-7}
"""


def record(method, cpu, error=1.5e-5, problem="double-four-bar", passed=True):
    """The record of a run, as far as tables look at it."""
    checks = [{"what": "energy drift", "value": 0.0, "limit": 1.0, "unit": "J", "passed": passed}]
    judged = {"passed": passed, "complete": True, "checks": checks, "energy_drift": 0.012345678901,
              "position_error": error, "violation": 1e-12, "branch": None}  # fmt: skip
    return {
        "problem": {"id": problem, "title": "P", "version": 1}, "method": method, "step": 0.01,
        "tolerance": None, "status": "done", "message": "", "judgement": judged,
        "timings": {"solve": 0.5 * cpu, "cpu": cpu, "repeats": 7, "busy": False, "calibration": 0.5},
        "engine": {"id": method, "settings": {}, "why": ""}, "changed": {},
        "machine": {"processor": "a_b & 100 %", "cores": 1, "system": "s", "python": "3"},
        "versions": {"sarrus": "0"}, "command": "sarrus bench",
    }  # fmt: skip


def tables():
    records = [record("ali3", 1.0 / 3.0), record("series", 1e-5, error=float("inf"))]
    yield winner_data([("", r) for r in records])
    yield board_data(records, [("x.zip", "damaged")])
    yield engine_data(standings(records))


@pytest.mark.parametrize("table", list(tables()))
def test_csv_and_json_hold_the_same_numbers_with_all_digits(table):
    rows = list(csv.reader(io.StringIO(table.csv())))
    reported = json.loads(table.json())
    assert rows[0] == [c.title for c in table.columns]
    assert [c["key"] for c in reported["columns"]] == [c.key for c in table.columns]
    assert len({c.key for c in table.columns}) == len(table.columns)
    for text, named in zip(rows[1:], reported["rows"], strict=True):
        for cell, value in zip(text, named.values(), strict=True):
            if isinstance(value, float):
                assert float(cell) == value
            else:
                assert cell == ("" if value is None else str(value))


def test_numbers_that_are_not_finite_are_empty_cells():
    table = winner_data([("", record("series", 1e-5, error=float("inf")))])
    assert table.csv().splitlines()[1].endswith(",0.012345678901,")
    assert json.loads(table.json())["rows"][0]["error"] is None
    assert table.latex().count("--") == 1


@pytest.mark.parametrize("table", list(tables()))
def test_latex_has_a_cell_for_every_column_and_escapes_text(table):
    lines = table.latex().splitlines()
    body = [line for line in lines if line.endswith(r"\\")]
    shape = re.search(r"\\begin\{tabular\}\{([lr]+)\}", table.latex())[1]
    for line in body:
        assert len(re.split(r"(?<!\\)&", line)) == len(shape)
        # outside of formulas nothing is left that LaTeX takes for a command
        assert not re.search(r"(?<!\\)[%#_^]", re.sub(r"\$[^$]*\$", "", line))
    assert len(body) == 1 + len(table.rows)


def test_numbers_of_latex_have_three_digits():
    (row,) = winner_data([("", record("ali3", 1.0 / 3.0))]).latex().splitlines()[5:6]
    assert "$0.333$" in row
    assert r"$1.50 \times 10^{-5}$" in row


def test_a_paper_stands_near_ours(tmp_path):
    """By problem and method, else by problem alone; what ours do not have is a row of its own."""
    path = tmp_path / "doe.yaml"
    path.write_text(PAPER, encoding="utf-8")
    table = join_papers(next(tables()), [load_paper(path)])
    rows = {row["method"]: row for row in json.loads(table.json())["rows"]}
    assert rows["ali3"]["paper1_cpu"] == 0.35
    assert rows["ali3"]["paper1_note"] == "h = 10 ms"
    assert rows["series"]["paper1_cpu"] == 2.5
    assert rows["series"]["cpu"] == 1e-5
    assert (rows["theirs"]["cpu"], rows["theirs"]["paper1_cpu"]) == (None, 1e-7)
    assert table.columns[-3].title == "Doe & Roe 2021, table 3: CPU [s]"
    assert table.notes == ["Doe & Roe 2021, table 3: a journal"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title: A\nrows:\n  - {problem: p, cup: 1}\n", r"doe.yaml:3: rows\.0\.cup: unknown; known: problem"),
        ("title: A\nrows:\n  - {problem: p, cpu: -1}\n", r"doe.yaml:3: .*cpu.*greater than or equal to 0"),
        ("title: A\nrows: []\n", r"doe.yaml:2: rows: .*at least 1"),
        ("rows:\n  - {problem: p}\n", r"doe.yaml:1: title: Field required"),
        ("- 1\n", r"doe.yaml"),
    ],
)  # fmt: skip
def test_a_wrong_paper_is_named_with_its_line(tmp_path, text, sentence):
    path = tmp_path / "doe.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence) as caught:
        load_paper(path)
    assert isinstance(caught.value, PaperError)
