"""docs/api.md has a line for everything public, with the arguments in their order."""

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import sarrus

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)
# values and things that stand for themselves: how they are made is reported elsewhere
PLAIN = (
    *("Assembly", "Audit", "AuditCheck", "Design", "Equilibrium", "Mode", "Modes", "Result"),
    "EnsembleResult",
)


def rows(heading):
    """The first cells of the table below a heading, with their lines."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(ROW.findall(text))


def call(name, thing):
    """A name with its arguments as a user writes them: `simulate(mechanism, duration, *, method)`."""
    words, keyword = [], False
    for p in inspect.signature(thing).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keyword:
            words.append("*")
        keyword |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(star + p.name)
    return f"{name}({', '.join(w for w in words if w != 'self')})"


def members(cls):
    """Everything public of a class: properties by name, methods with their arguments."""
    kept = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    for name in {*dir(cls), *kept}:
        if name.startswith("_") or name.isupper():
            continue
        member = getattr(cls, name, None)
        yield call(name, member) if callable(member) else name


def names():
    """Everything that `from sarrus import *` brings."""
    for name in sarrus.__all__:
        thing = getattr(sarrus, name)
        error = inspect.isclass(thing) and issubclass(thing, Exception)
        plain = error or inspect.ismodule(thing) or name in PLAIN
        yield name if plain else call(name, thing)


@pytest.mark.parametrize(
    ("heading", "wanted"),
    [
        ("sarrus", names),
        ("Mechanism", lambda: members(sarrus.Mechanism)),
        ("Result", lambda: members(sarrus.Result)),
    ],
    ids=["sarrus", "Mechanism", "Result"],
)
def test_the_table_is_complete_and_right(heading, wanted):
    """No name is missing, none is there too many, and arguments stand in their order."""
    assert set(rows(heading)) == set(wanted())


def test_every_line_says_something():
    """A sentence each, in one line of a page."""
    for heading in ("sarrus", "Mechanism", "Result"):
        for name, line in rows(heading).items():
            assert 5 < len(line) <= 110, name
