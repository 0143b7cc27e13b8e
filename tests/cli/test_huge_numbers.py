"""Numbers of any size, typed or in mechanisms: one short sentence, no traceback, no hundred digits."""

import re
import shutil
import sys
from typing import get_args

import numpy as np
import pytest
from typer.utils import get_params_from_function

import sarrus
from run_folders import save_example
from sarrus import Mechanism, MechanismError
from sarrus.cli import app, main
from sarrus.names import short
from sarrus.settings import check_seconds
from sarrus.studies.session import _Session
from sarrus.thresholds import LARGEST_NUMBER
from sarrus.workbench.server import Workbench

MODEL = """\
sarrus: 1
name: pendulum
gravity: [0, -9.81]
bodies:
  rod: {rod: [[0, 0], [1, 0]], mass: 1}
joints:
  pin: {revolute: [ground, rod], at: [0, 0]}
simulate: {duration: 0.1, output_step: 0.05}
"""
STUDY = """\
sarrus_study: 1
mechanism: m.yaml
vary: {gravity: [[0, -9.8], [0, -9.9]]}
simulate: {duration: 0.1, output_step: 0.05}
"""
HUGE, WHOLE = "1e300", str(10**300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file, and a run."""
    path = tmp_path_factory.mktemp("huge")
    (path / "m.yaml").write_text(MODEL, encoding="utf-8")
    (path / "study.yaml").write_text(STUDY, encoding="utf-8")
    save_example(path / "run", duration=0.1)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "m.yaml", "--duration", HUGE),
        ("simulate", "m.yaml", "--duration", "inf"),
        ("simulate", "m.yaml", "--duration", "1e308"),
        ("simulate", "m.yaml", "--output-step", "5e-324"),
        ("run", "simple-pendulum", "--method", "ali3", "--step", "5e-324"),
        ("view", "m.yaml", "--duration", "nan", "--no-browser"),
        ("view", "m.yaml", "--duration", "0", "--no-browser"),
        ("design", "m.yaml", "--joint", "pin", "--speed", HUGE),
        ("design", "m.yaml", "--joint", "pin", "--speed", "1e-300"),
        ("bench", "double-four-bar", "--repeat", WHOLE),
        ("sweep", "study.yaml", "--workers", WHOLE),
        ("simulate", "m.yaml", "--output-step", "1e-300"),
        ("simulate", "m.yaml", "--tolerance", HUGE),
        ("simulate", "m.yaml", "--method", "ali3", "--step", HUGE),
        ("run", "double-four-bar", "--duration", HUGE),
        ("run", "double-four-bar", "--speed", HUGE, "--duration", "0.1"),
        ("run", "rectangular-bricard", "--section", HUGE, "--duration", "0.1"),
        ("run", "four-bar-spring", "--damping", HUGE, "--duration", "0.1"),
        ("run", "n-four-bar", "--windows", WHOLE),
        ("judge", "run/results.txt", "--problem", "double-four-bar", "--duration", HUGE),
        ("movie", "run", "m.gif", "--speed", "1e-300"),
        ("movie", "run", "m.gif", "--fps", "1e-300"),
        ("movie", "run", "m.gif", "--size", f"{WHOLE}x{WHOLE}"),
        ("view", "m.yaml", "--port", WHOLE, "--no-browser"),
        ("bench", "double-four-bar", "--repeat", f"-{WHOLE}"),
        ("sweep", "m.yaml", "--workers", f"-{WHOLE}"),
        ("inspect", "double-four-bar", "--speed", HUGE),
        ("modes", "simple-pendulum", "--length", HUGE),
    ],
    ids=lambda words: " ".join(words)[:50],
)
def test_commands_refuse_huge_numbers_shortly(folder, words, monkeypatch, capsys):
    """Status 2, a sentence that a person can read."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["sarrus", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2, said
    assert "fault of the program" not in said
    assert not re.search(r"[0-9]{25}", said)


# the words of each command before a number that is added: little work where the number is taken
WORDS = {
    "run": ("simple-pendulum", "--duration", "0.02", "--out", "out"),
    "simulate": ("m.yaml", "--duration", "0.02", "--out", "out"),
    "movie": ("run", "m.gif", "--size", "64x64", "--fps", "20", "--until", "0.1", "--force"),
    "view": ("m.yaml", "--no-browser"),
    "inspect": ("n-four-bar",),
    "branches": ("n-four-bar",),
    "modes": ("simple-pendulum",),
    "export": ("n-four-bar", "e.yaml", "--force"),
    "import": ("m.yaml", "i.yaml", "--force"),
    "judge": ("run/results.txt", "--problem", "double-four-bar"),
    "bench": (
        *("simple-pendulum", "--method", "series", "--tolerances", "1e-3", "--duration", "0.02"),
        *("--repeat", "1", "--out", "bench"),
    ),
    "problem": ("m.yaml", "--duration", "0.1", "--output-step", "0.05", "--out", "packed"),
    "sweep": ("study.yaml", "--out", "study", "--workers", "1"),
}


def numeric_options():
    """Every option of every command that is a number, by command."""
    return [
        (command.name, f"--{name.replace('_', '-')}")
        for command in app.registered_commands
        for name, parameter in get_params_from_function(command.callback).items()
        if {int, float} & {parameter.annotation, *get_args(parameter.annotation)}
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), numeric_options())
def test_every_number_of_every_command(folder, command, option, monkeypatch, capsys):
    """Whatever is typed: taken, or rejected by a short sentence; a new option is among them by itself."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Workbench, "serve", lambda bench: print(len(bench.page())))
    # studies take any limit; their runs have tests of their own
    monkeypatch.setattr(_Session, "run", lambda *_: None)
    for number in ("1e308", "nan", "5e-324", "-1", "9" * 400):
        words = list(WORDS[command])
        if option in words:
            at = words.index(option)
            words[at : at + 2] = []
        monkeypatch.setattr(sys, "argv", ["sarrus", command, *words, option, number])
        shutil.rmtree("packed", ignore_errors=True)
        with pytest.raises(SystemExit) as ended:
            main()
        out, said = capsys.readouterr()
        assert ended.value.code in (0, 1, 2), (number, said)
        assert ended.value.code != 2 or said, number
        assert "fault of the program" not in said, number
        assert not re.search(r"[0-9]{25}|[A-Za-z]+Error", out + said), number


def test_seconds_can_be_counted():
    """Quotients of two times are finite, so that steps and outputs have a number."""
    for bad in (5e-324, 1e-60, 1e60, 1e308, 10**400, np.inf, np.nan, 0.0, -1.0):
        with pytest.raises(ValueError, match="number of seconds") as caught:
            check_seconds("duration", bad)
        assert len(str(caught.value)) < 100
    assert (
        check_seconds("step", LARGEST_NUMBER) / check_seconds("step", 1 / LARGEST_NUMBER) < np.inf
    )


def test_any_number_of_branches_may_be_requested():
    """More than there can be gives all of them."""
    m = sarrus.problems.get("double-four-bar").mechanism()
    assert len(sarrus.branches(m, most=10**30).branches) == len(sarrus.branches(m).branches)


def test_numbers_are_short():
    """As they are, or with an exponent; whole ones of any length."""
    cases = {7: "7", 10_000_001: "10000001", 1e300: "1e+300", 0.25: "0.25", -(10**400): "-1e400"}
    assert {short(number): text for number, text in cases.items()} == {t: t for t in cases.values()}


def pendulum(**given):
    """A rod with a spring; given: numbers that replace the usual ones."""
    usual = dict.fromkeys(
        ("gravity", "place", "mass", "stiffness", "damping", "length", "speed"), 1.0
    )
    n = {**usual, "section": 0.0, "inertia": 1.0, **given}
    m = Mechanism("m", gravity=(0.0, -n["gravity"]))
    m.rod("rod", (0, 0), (n["place"], 0), mass=n["mass"], section=n["section"])
    m.body("bob", n["mass"], (0, 3), n["inertia"])
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    numbers = {"stiffness": n["stiffness"], "damping": n["damping"], "free_length": n["length"]}
    m.spring("spring", "rod", "bob", start=(n["place"], 0), end=(0, 3), **numbers)
    m.set_angular_velocity("rod", n["speed"])
    return m


@pytest.mark.parametrize("act", [sarrus.inspect, lambda m: sarrus.simulate(m, 0.01)])
@pytest.mark.parametrize("number", [1e308, 2.0 * LARGEST_NUMBER, -1e308, np.inf, np.nan])
@pytest.mark.parametrize(
    "what",
    [
        *("gravity", "place", "mass", "stiffness", "damping", "length", "speed", "section"),
        "inertia",
    ],
)
def test_mechanisms_refuse_numbers_that_overflow(what, number, act):
    """Whatever the number is of: one MechanismError that gives it, by every call."""
    with pytest.raises(
        MechanismError, match=r"larger than 1e\+50|negative|positive|section|is zero"
    ):
        act(pendulum(**{what: number}))


def test_the_largest_numbers_are_taken():
    """At the bound nothing overflows on the way to an answer."""
    assert sarrus.inspect(pendulum(gravity=LARGEST_NUMBER)).mobility_motion == 4
