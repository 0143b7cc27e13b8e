"""Numbers of any size, typed or in mechanisms: one short sentence, no traceback, no hundred digits."""

import re
import sys

import numpy as np
import pytest

import sarrus
from run_folders import save_example
from sarrus import Mechanism, MechanismError
from sarrus.cli import main
from sarrus.names import short
from sarrus.thresholds import LARGEST_NUMBER

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
HUGE, WHOLE = "1e300", str(10**300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file, and a run."""
    path = tmp_path_factory.mktemp("huge")
    (path / "m.yaml").write_text(MODEL, encoding="utf-8")
    save_example(path / "run", duration=0.1)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "m.yaml", "--duration", HUGE),
        ("simulate", "m.yaml", "--duration", "inf"),
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
