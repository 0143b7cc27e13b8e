"""What is printed is shown and not obeyed: escape sequences, markup and formulas in names of files."""

import io
import json
from contextlib import suppress

import pytest
from rich.table import Table
from rich.text import Text

from sarrus.cli import main
from sarrus.cli.screen import Screen

# sets a title, clears the screen, turns text around, goes back to the start of the line
STEERING = "\x1b]0;title\x07 \x1b[2J \u202e \x9b31m \r"
MARKUP = "[/x] [red]no[/red] :smile:"


def harmless(text):
    return all(c.isprintable() or c == "\n" for c in text)


def test_names_are_shown_as_they_are(capsys):
    """As text, in tables, as Text, in a line that waits."""
    screen = Screen(width=200)
    table = Table()
    table.add_column(f"head {MARKUP}")
    table.add_row(f"{STEERING} {MARKUP}")
    for thing in (f"{STEERING} {MARKUP}", Text(f"{STEERING} {MARKUP}"), table):
        screen.print(thing)
        said = capsys.readouterr().out
        assert harmless(said)
        assert MARKUP in said
        assert "\\x1b[2J" in said
    with screen.status(f"{STEERING} {MARKUP}"):
        pass
    assert harmless(capsys.readouterr().out)


def test_styles_of_our_own_are_kept(capsys):
    """Colours are sent where a terminal takes them; text next to them is clean."""
    screen = Screen(force_terminal=True, color_system="standard", width=80)
    screen.print(Text.assemble(("PASS", "green"), "\x1b[2J"))
    assert capsys.readouterr().out.startswith("\x1b[32mPASS\x1b[0m\\x1b[2J")


MODEL = """\
sarrus: 1
name: {name}
gravity: [0, -9.81]
bodies:
  {body}: {{rod: [[0, 0], [1, 0]], mass: 1}}
joints:
  {joint}: {{revolute: [ground, {body}], at: [0, 0]}}
simulate: {{duration: 0.1, output_step: 0.05}}
"""


@pytest.mark.slow
def test_a_hostile_model_is_simulated_and_looked_at(tmp_path, capsys):
    """Its names are in every table, file and message, in a folder whose name is markup."""
    folder = tmp_path / "[" / "x]"
    folder.mkdir(parents=True)
    words = [f"{STEERING}{MARKUP} {i}" for i in range(2)]
    names = dict(zip(("name", "body"), map(json.dumps, words), strict=True))
    names["joint"] = json.dumps("=cmd|' /C calc'!A0")
    path = folder / "m.yaml"
    path.write_text(MODEL.format(**names), encoding="utf-8")
    out = folder / "run"
    for command in (["simulate", str(path), "--out", str(out), "--report"], ["inspect", str(path)]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["sarrus", *command])
            # such names may be rejected; then the message is what is printed
            with suppress(SystemExit):
                main()
        reported = capsys.readouterr()
        assert harmless(reported.out)
        assert harmless(reported.err)
    if out.exists():
        head = (out / "columns.csv").read_text().splitlines()[0]
        assert not any(cell.startswith("=") for cell in head.split(","))


def test_tables_are_stacked_where_a_terminal_is_narrow(monkeypatch):
    """At 40 columns every cell is there and no line is cut; a file gets a line a row."""
    # others are taken to be 80 columns wide
    monkeypatch.setenv("TERM", "xterm")

    def shown(terminal):
        table = Table("name", "what", "how")
        table.add_row("first", "a sentence of several words", "by another one of them")
        table.add_row("second", "", "alone")
        screen = Screen(file=io.StringIO(), width=40, force_terminal=terminal, color_system=None)
        screen.show_table(table)
        return screen.file.getvalue().splitlines()

    stacked = [line.rstrip() for line in shown(True)]
    assert all(len(line) <= 40 for line in stacked)
    assert stacked == [
        "first",
        "  what: a sentence of several words",
        "  how: by another one of them",
        "second",
        "  how: alone",
    ]
    assert any("several words" in line and "another one of them" in line for line in shown(False))
