"""Compiled user functions are kept for later runs, but never serve what has changed since."""

import gc

import numpy as np
import pytest

from sarrus.kernels.elements import user
from sarrus.kernels.elements.user import UserCall

STIFFNESS = 3.0
PLACES = np.zeros((1, 2))

# every call compiles; without the compiler there is nothing to keep
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not user.COMPILES, reason="needs the compiler"),
]


def spring(t, position, velocity):
    """A law with a number from outside."""
    return -STIFFNESS * position


def pull_to_places(t, position, velocity):
    """A law with an array from outside."""
    return PLACES - position


@pytest.fixture
def count(monkeypatch):
    """How often the compiler is asked."""
    asked = []
    compile_function = user._compile
    monkeypatch.setattr(user, "_compile", lambda *a: asked.append(a) or compile_function(*a))
    monkeypatch.setattr(user, "_KEPT", [])
    return asked


def value(call):
    """What the code at the address says of a place, after the check of a run's start."""
    call.check(np.ones((1, 2)), np.zeros((1, 2)))
    assert call.compiled
    arrays = [np.ones((1, 2)), np.zeros((1, 2)), np.zeros((1, 2))]
    pointers = [a.ctypes.data_as(user.DOUBLES) for a in arrays]
    user.UserFunction(call.address)(0.0, *pointers)
    return arrays[2][0, 0]


def test_the_same_function_is_compiled_once(count):
    """Run after run takes the code of the first; two calls at a time have one each."""
    found = [value(UserCall("k", spring, (1, 2))) for _ in range(3)]
    assert found == [-3.0] * 3
    assert len(count) == 1
    both = [UserCall("a", spring, (1, 2)), UserCall("b", spring, (1, 2))]
    assert len(count) == 2
    assert both[0].address != both[1].address
    # another number of points is another function
    UserCall("pair", spring, (2, 2))
    assert len(count) == 3


def test_what_changed_outside_is_compiled_again(count, monkeypatch):
    """A number that changed is seen; an array may change in place, so its function is never kept."""
    before = value(UserCall("k", spring, (1, 2)))
    monkeypatch.setitem(globals(), "STIFFNESS", 5.0)
    assert (before, value(UserCall("k", spring, (1, 2)))) == (-3.0, -5.0)
    assert len(count) == 2
    found = [value(UserCall("p", pull_to_places, (1, 2))) for _ in range(2)]
    assert found == [-1.0, -1.0]
    assert len(count) == 4


def test_a_failure_is_told_to_the_call_of_now(count):
    """Kept code that gives no number asks the call that has it, not the one before."""

    def root(t, position, velocity):
        return np.sqrt(position - 0.5)

    for name in ("first", "second"):
        call = UserCall(name, root, (1, 2))
        call.check(np.ones((1, 2)), np.zeros((1, 2)))
        assert call.compiled
        assert not call.failure
        arrays = [np.zeros((1, 2)) for _ in range(3)]
        pointers = [a.ctypes.data_as(user.DOUBLES) for a in arrays]
        with np.errstate(invalid="ignore"):
            user.UserFunction(call.address)(0.25, *pointers)
        assert f"user force '{name}' at t = 0.25 s" in call.failure
        assert np.isnan(arrays[2]).all()
        del call
        gc.collect()
    assert len(count) == 1
