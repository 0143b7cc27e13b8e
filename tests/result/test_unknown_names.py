"""Unknown names: one error everywhere, with the names there are and the one that was probably meant."""

import pickle

import pytest

import sarrus
from sarrus import Mechanism, UnknownNameError, problems, simulate


@pytest.fixture(scope="module")
def result():
    """A crank on a hinge with a spring, a torsion and a point."""
    m = Mechanism("crank")
    m.rod("crank", (0, 0), (1, 0), mass=1.0)
    m.revolute("hinge", m.ground, "crank", at=(0, 0))
    m.point("tip", "crank", (1, 0))
    m.spring("strut", m.ground, "crank", start=(0, 1), end=(1, 0), stiffness=1.0)
    m.torsion("coil", "hinge", stiffness=1.0)
    return simulate(m, 0.1, 0.1)


ASKED = [
    (lambda r: r.position("tipp"), "tip"),
    (lambda r: r.velocity("hing"), "hinge"),
    (lambda r: r.acceleration("krank"), "crank"),
    (lambda r: r.length("strud"), "strut"),
    (lambda r: r.force("struts"), "strut"),
    (lambda r: r.torque("coils"), "coil"),
    (lambda r: r.angle("hinges"), "hinge"),
    (lambda r: r.orientation("crunk"), "crank"),
    (lambda r: r.angular_velocity("crunk"), "crank"),
    (lambda r: r.reaction("hingo"), "hinge"),
    (lambda r: r.reaction("hinge", "crunk"), "crank"),
    (lambda r: r.reaction("hinge", stiffness={"hingo": (1.0, 1.0)}), "hinge"),
    (lambda r: r.violation("velocities"), "velocity"),
    (lambda r: r.columns("tips"), "tip"),
    (lambda r: simulate(r.mechanism, 0.1, method="serie"), "series"),
    (lambda r: simulate(r.mechanism, 0.1, method="radau", long_step=1.0), "longest_step"),
    (lambda r: problems.get("double-fourbar"), "double-four-bar"),
    (lambda r: problems.get("n-four-bar", window=3), "windows"),
    (lambda r: sarrus.equilibrium(r.mechanism).position("tipp"), "tip"),
]


@pytest.mark.parametrize(("ask", "meant"), ASKED, ids=[str(i) for i in range(len(ASKED))])
def test_one_error_with_the_near_name(result, ask, meant):
    """A KeyError and a ValueError that reads as a sentence."""
    with pytest.raises(UnknownNameError) as caught:
        ask(result)
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert f"did you mean '{meant}'?" in text
    assert not text.startswith(("'", '"'))


def test_nothing_near_lists_what_there_is(result):
    """A name unlike all others gets no guess."""
    with pytest.raises(UnknownNameError) as caught:
        result.position("q")
    assert str(caught.value) == (
        "no joint, point or body is called 'q'; known: 'crank', 'tip', 'hinge'"
    )
    with pytest.raises(UnknownNameError, match="no drive is called 'motor'; known: none"):
        result.drive_force("motor")


def test_it_survives_the_way_between_processes():
    """Workers hand their errors over."""
    error = UnknownNameError("no joint is called 'x'; known: none")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (UnknownNameError, str(error))
