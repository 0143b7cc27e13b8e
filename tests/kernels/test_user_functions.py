"""User functions, compiled: they give what Python gives, or say why not; kept until something changes."""

import builtins
import gc
import linecache
import math

import numpy as np
import pytest

from sarrus import Mechanism, simulate
from sarrus.kernels.elements import user
from sarrus.kernels.elements.user import UserCall
from sarrus.kernels.language.kinds import TranslationError
from sarrus.kernels.language.small_arrays import translate_user_function

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
    """How often the compiler is requested."""
    requested = []
    compile_function = user._compile
    monkeypatch.setattr(user, "_compile", lambda *a: requested.append(a) or compile_function(*a))
    monkeypatch.setattr(user, "_KEPT", [])
    return requested


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


def test_a_failure_is_reported_to_the_call_of_now(count):
    """Kept code that gives no number requests the call that has it, not the one before."""

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


# laws of two points in space, each with something of the language

AXIS = np.array([0.0, 0.6, 0.8])
WEIGHTS = np.arange(6).reshape(2, 3)


def by_entries(t, x, v):
    """Entries, negative indices, parts, steps, unpacking, and a list as the result."""
    (a, b, c), last = x[0], x[-1]
    low, high = last[:2], last[::-1]
    return [[a - t, b * v[0, -1], c / 3], [low[1], high[0] + high[1], x[1, 1:][0] ** 2]]


def by_loops(t, x, v):
    """Loops over ranges and rows, sums in place, entries and rows that are set."""
    out, total = np.zeros(x.shape), 0
    for i in range(len(x)):
        for k in range(x.shape[1] - 1, -1, -1):
            out[i, k] += x[i, k] * (k + 1) ** 3 - i // 2
        out[i] -= v[i] * WEIGHTS[i]
    for row in x:
        total += row @ row
    out[1, :2] = total
    out *= 0.5
    return out


def by_decisions(t, x, v):
    """Branches, choices, comparisons in a row, truths that are kept, ways out."""
    fast = v[0, 0] > 0.0 and not x[0, 1] > 1.0
    if 0.0 < t <= 1.0 or fast:
        pull = 2.0 if x[1, 2] != 0.0 else -1.0
    elif t > 3.0:
        return -x
    else:
        pull = -3
    n = 0
    while n < 5 and n < t + 2.0:
        n += 1
    return (x if fast else v + pull) * n


def by_functions(t, x, v):
    """Functions of NumPy, entry by entry."""
    r = np.sqrt(x * x + 1.0)
    a = np.sin(x) + np.cos(v) * np.exp(-np.abs(x)) - np.log(r) + np.tan(0.1 * x) + np.tanh(v / 0.3)
    b = np.where(x > v, np.maximum(x, 0.2), np.minimum(v, [0.1, 0.2, 0.3])) + np.clip(v, -0.5, 0.4)
    c = np.arctan2(x, r) + np.hypot(x, v) + np.sign(x) + np.square(v) + np.floor(x) - np.ceil(v)
    return a + b * c + np.power(r, 1.7) + np.rint(10 * x)


def by_products(t, x, v):
    """Products of vectors and matrices, norms, arrays that are made."""
    turn = np.array(
        [[math.cos(t), -math.sin(t), 0.0], [math.sin(t), math.cos(t), 0.0], [0.0, 0.0, 1.0]]
    )
    way = x[1] - x[0]
    length = np.linalg.norm(way)
    pull = 5.0 * (length - 1.0) * way / length + np.cross(AXIS, v[0]) * np.dot(AXIS, v[1])
    moment = turn @ pull + turn.T @ AXIS + np.ones(3) * x.sum() + np.full(3, t)
    return np.array([pull, -moment]) @ turn + np.zeros_like(x) + AXIS.dot(way)


def by_numbers(t, x, v):
    """Functions of Python and `math`, powers, whole numbers that become others."""
    n = 1
    n = n + 0.5 if t > 0.5 else n
    r = np.hypot(x[0, 0], x[0, 1]) + math.sqrt(2.0) + abs(-t) + max(t, n, 0.1) - min(1, t)
    s = (
        math.exp(-t)
        + math.log(1.0 + t)
        + math.atan2(t, 2.0)
        + math.tanh(t)
        + math.pow(2.0, t)
        + math.pi
    )
    return np.full_like(x, r**-1 + float(n) ** 0.5) + s * (7 % 4 + 7 // 2)


LAWS = [by_entries, by_loops, by_decisions, by_functions, by_products, by_numbers]


def code_of(function, shape):
    """A function compiled by our own translator, of arrays; where it gives up, an error is raised."""

    def fail(*_):
        raise AssertionError("Python was called")

    plain = user.UserFunction(fail)
    code = user._translate(function, shape, plain)

    def call(t, x, v):
        out = np.zeros(shape)
        pointers = [a.ctypes.data_as(user.DOUBLES) for a in (x.copy(), v.copy(), out)]
        user.UserFunction(code.address)(t, *pointers)
        return out

    call.keep = code, plain
    return call


@pytest.mark.parametrize("law", LAWS, ids=lambda f: f.__name__)
def test_compiled_functions_give_what_python_gives(law):
    """On random states, within some units in the last place of what is summed."""
    rng = np.random.default_rng(26)
    call = code_of(law, (2, 3))
    for t in (0.0, 0.3, 0.9, 2.5, 4.0):
        for _ in range(20):
            x, v = rng.normal(size=(2, 2, 3))
            want = np.asarray(law(t, x.copy(), v.copy()), dtype=float)
            # sums of some ten terms of the size of the largest; tangents within 1e-14
            np.testing.assert_allclose(call(t, x, v), want, rtol=1e-13, atol=1e-13)


def test_two_lambdas_on_a_line_are_reported_apart():
    """Each is compiled from its own text."""
    pair = lambda t, x, v: -2.0 * x, lambda t, x, v: 3.0 * v
    x, v = np.ones((1, 2)), np.full((1, 2), 5.0)
    assert [code_of(f, (1, 2))(0.0, x, v)[0, 0] for f in pair] == [-2.0, 15.0]


def shared_memory(t, x, v):
    """A row is changed through another name of its array."""
    row = x[0]
    row[0] = 0.0
    return x


def shared_by_chain(t, x, v):
    """Two names of one array."""
    a = b = np.zeros(x.shape)
    a[0] = 1.0
    return b


def rows_changed(t, x, v):
    """Rows are changed in a loop over them."""
    for row in x:
        row[0] = 0.0
    return x


def value_of_or(t, x, v):
    """`or` gives a number."""
    return x * (t or 2.0)


def whole_quotient(t, x, v):
    """Python rounds down."""
    return x * (t // 2.0)


def other_shape(t, x, v):
    """A name of two arrays."""
    y = x
    if t > 1.0:
        y = x[0]
    return x + y


def index_of_time(t, x, v):
    """An index that depends on the state."""
    return x[int(t)] + 0.0 * x


def keeps_a_list(t, x, v):
    """Something outside is changed."""
    KEPT.append(t)
    return x


def named_argument(t, x, v):
    """Sums along an axis."""
    return x * np.sum(x, axis=0)


KEPT = []
UNKNOWN = [
    *(shared_memory, shared_by_chain, rows_changed, value_of_or, whole_quotient, other_shape),
    *(index_of_time, keeps_a_list, named_argument, np.negative, eval("lambda t, x, v: x")),
]


@pytest.mark.parametrize("law", UNKNOWN, ids=lambda f: f.__name__)
def test_what_would_be_another_function_is_not_translated(law):
    """What the translator would do otherwise than Python, or does not know, is left to others."""
    with pytest.raises(TranslationError):
        translate_user_function(law, (2, 2), 0)


RAISING = """
def law(t, x, v):
    assert t != 1.0, "one"
    if t == 2.0:
        raise ValueError("two")
    if t < 3.0:
        strength = 2.0
    if t < 4.0:
        return strength * x
"""


def function_of(path, text):
    """The function `law` of a file."""
    path.write_text(text)
    linecache.checkcache(str(path))
    space = {}
    exec(compile(text, str(path), "exec"), space)
    return space["law"]


def test_a_source_that_changed_is_not_used(tmp_path):
    """The text on the disk has to be that of the function."""
    path = tmp_path / "law.py"
    law = function_of(path, "def law(t, x, v):\n    return -x\n")
    assert "fneg" in translate_user_function(law, (1, 2), 0)
    function_of(path, "def law(t, x, v):\n    return +x\n")
    with pytest.raises(TranslationError, match="source"):
        translate_user_function(law, (1, 2), 0)


def test_what_raises_is_left_to_python(tmp_path):
    """`raise`, `assert`, a missing return, a variable that is not set: Python has the words."""
    law = function_of(tmp_path / "raising.py", RAISING)
    call = UserCall("law", law, (1, 2))
    assert call.how == "runs compiled"
    for t, words in (
        (0.5, ""),
        (1.0, "one"),
        (2.0, "two"),
        (3.0, "UnboundLocalError"),
        (4.0, "None"),
    ):
        call.failure = ""
        arrays = [np.ones((1, 2)) for _ in range(3)]
        user.UserFunction(call.address)(t, *(a.ctypes.data_as(user.DOUBLES) for a in arrays))
        assert bool(call.failure) == bool(words), t
        assert np.isnan(arrays[2]).all() == bool(words)
        if words not in ("", "None"):
            assert words in call.failure


@pytest.mark.parametrize("numba", [True, False], ids=["with-numba", "without"])
def test_notes_say_how_forces_run(numba, monkeypatch):
    """Compiled by us, by Numba where it is installed, else as Python, with the reason."""
    load = builtins.__import__

    def load_but_numba(name, *rest):
        if name == "numba" and not numba:
            raise ImportError("no numba")
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", load_but_numba)
    monkeypatch.setattr(user, "_KEPT", [])
    m = Mechanism("points", gravity=(0, 0))
    for name, law in (("a", spring), ("b", whole_quotient), ("c", keeps_a_list)):
        m.body(name, 1.0, (1.0, 0.0))
        m.user_force(name, [name], law)
    notes = simulate(m, 0.01, method="multipliers", step=0.01).notes
    a, b, c = (note for note in notes if note.startswith("user force"))
    assert a == "user force 'a' runs compiled"
    if numba:
        assert b == "user force 'b' runs compiled by Numba"
        assert "Numba does not compile it either" in c
    else:
        assert "runs as plain Python" in b
        assert "`t // 2.0`: // and % are not supported" in b
        assert "sarrus[numba]" in b
    assert c.startswith("user force 'c' runs as plain Python")
    assert "`KEPT.append`" in c
