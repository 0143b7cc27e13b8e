"""What a notebook shows as tables: crossings, reactions, modes, branches, verdicts; everything escaped."""

import re

import numpy as np
import pytest

import sarrus
from sarrus.notebook_display import html_table


@pytest.fixture(scope="module")
def result():
    """A four-bar that stops at its flat configuration."""
    problem = sarrus.problems.get("double-four-bar")
    return sarrus.simulate(problem.mechanism(), 2.0, 0.1, at_crossing="branches")


def rows(html):
    """The cells of a table, row by row, without its head."""
    found = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in found]


def test_crossings_are_a_table(result):
    """A row for each, with its time and both ranks; still a tuple."""
    assert isinstance(result.crossings, tuple)
    [row] = rows(result.crossings._repr_html_())
    crossing = result.crossings[0]
    assert float(row[0]) == pytest.approx(crossing.time)
    assert int(row[1]) > int(row[2]) == crossing.rank.rank


def test_branches_are_a_table(result):
    """A row for each branch."""
    assert len(rows(result.branches._repr_html_())) == len(result.branches)


def test_reactions_are_a_table(result):
    """A row for each body of each joint, with the largest force."""
    found = rows(result.reactions._repr_html_())
    joints = result.mechanism.joints
    assert len(found) == len([body for joint in joints for body in joint.bodies])
    for name, body, force, *_ in found:
        largest = result.reaction(name, body).largest
        if force == "unbounded":
            assert largest == np.inf
        else:
            assert float(force) == pytest.approx(largest, rel=1e-5)


def test_modes_are_a_table():
    """Frequencies and damping ratios."""
    m = sarrus.problems.get("four-bar-spring").mechanism()
    modes = sarrus.modes(m, sarrus.equilibrium(m))
    found = rows(modes._repr_html_())
    assert [float(row[1]) for row in found] == pytest.approx(modes.frequencies.tolist(), rel=1e-5)


def test_verdicts_show_themselves(result):
    """Sentences, as inspections do."""
    assert "<li>" in result.verdict._repr_html_()


def test_tables_are_escaped():
    """Names are those of strangers."""
    assert "<b>" not in html_table("<b>", ["<b>"], [["<b>"]])
