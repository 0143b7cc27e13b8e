"""User forces: w is what a user's function of time, positions and velocities of some points returns.

The function is compiled by Sarrus's translator if it supports everything that the function uses (small_arrays.py),
else by Numba if that is installed. Otherwise it is called through Python:

    void(t, position, velocity, force):      arrays (points, dimension) in m, m/s and N

If the function fails, the reason is stored and the force becomes nan, which stops the run. A user force has no
Taylor series and no known potential, so all of its power counts as work.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints
from ...thresholds import SAME_VALUE
from ..compiler import COMPILES, at_address, kernel
from ..language.small_arrays import ENTRY, translate_user_function
from ..layout import NONE, list_block

DOUBLES = ctypes.POINTER(ctypes.c_double)
UserFunction = ctypes.CFUNCTYPE(None, ctypes.c_double, DOUBLES, DOUBLES, DOUBLES)

# Number of compiled functions that are cached for later runs.
MOST_KEPT = 32
# Compilers of user functions.
SARRUS, NUMBA = "sarrus", "Numba"


@at_address
def call_user(address: int, t: float, x: Floats, v: Floats, force: Floats) -> None:
    """Call the function at an address."""
    pointers = (a.ctypes.data_as(DOUBLES) for a in (x, v, force))
    UserFunction(int(address))(t, *pointers)


def find_fault(values: Floats, shape: tuple[int, int]) -> str:
    """Describe what is wrong with the forces that a user's function returned; empty if nothing is."""
    if values.shape != shape:
        return (
            f"returned shape {values.shape}; it has to return forces of the shape {shape} of its "
            "points"
        )
    if not np.isfinite(values).all():
        return f"returned {values.tolist()}, which is not finite"
    return ""


class UserCall:
    """The function of one user force, with its address for the kernels.

    compiled: whether it runs compiled. how: text that states what runs it. failure: text of the first failure.
    """

    def __init__(self, name: str, function: Callable[..., Any], shape: tuple[int, int]) -> None:
        self.name = name
        self.function = function
        self.shape = shape
        self.failure = ""
        self.interrupt: BaseException | None = None
        self._entry, self._why = (
            _take_compiled(self) if COMPILES else (None, "kernels run as Python")
        )
        self._plain = UserFunction(_forward(weakref.ref(self)))
        self.compiled = self._entry is not None

    @property
    def how(self) -> str:
        """Text that states what runs the function, and why."""
        if not self.compiled or self._entry is None:
            return f"runs as plain Python ({self._why})"
        return "runs compiled" + (f" by {NUMBA}" if self._entry.code.compiler == NUMBA else "")

    @property
    def address(self) -> int:
        """Address of the function for the kernels."""
        if self.compiled and self._entry is not None:
            return int(self._entry.code.address)
        return int(ctypes.cast(self._plain, ctypes.c_void_p).value or 0)

    def evaluate(self, t: float, position: Floats, velocity: Floats) -> Floats:
        """Evaluate the forces in plain Python; nan, with `failure` set, if that fails."""
        if self.failure:
            return np.full(self.shape, np.nan)
        where = f"user force '{self.name}' at t = {t:.9g} s"
        try:
            values = np.asarray(self.function(t, position.copy(), velocity.copy()), dtype=float)
        except Exception as error:
            self.failure = f"{where} raised {type(error).__name__}: {error}"
        except BaseException as error:
            # Exceptions must not pass through compiled code: this one is raised again after the run.
            self.failure, self.interrupt = f"{where} was interrupted", error
        else:
            wrong = find_fault(values, self.shape)
            if not wrong:
                return values
            self.failure = f"{where} {wrong}"
        return np.full(self.shape, np.nan)

    def check(self, position: Floats, velocity: Floats) -> None:
        """Evaluate at the start; a compiled function whose result differs is not used."""
        plain = self.evaluate(0.0, position, velocity)
        if self.compiled and self._entry is not None and not self.failure:
            arrays = [np.array(x, dtype=float, order="C") for x in (position, velocity, plain)]
            pointers = (x.ctypes.data_as(DOUBLES) for x in arrays)
            UserFunction(self._entry.code.address)(0.0, *pointers)
            size = SAME_VALUE * (1e-300 + np.abs(plain).max(initial=0.0))
            self.compiled = bool(np.all(np.abs(arrays[2] - plain) <= size))
            self._why = "compiled it gives another force at the start"

    def call(self, t: float, position: Any, velocity: Any, force: Any) -> None:
        """Evaluate the forces in plain Python, from and to pointers."""
        x, v, out = (np.ctypeslib.as_array(p, self.shape) for p in (position, velocity, force))
        out[...] = self.evaluate(t, x, v)


class _Compiled:
    """A compiled function; on failure it calls the UserCall that currently owns it.

    constants: values from outside the function, frozen into the code; None if they cannot be compared.
    """

    def __init__(self, function: Callable[..., Any], shape: tuple[int, int]) -> None:
        self.function = function
        self.shape = shape
        self.constants = _constants(function)
        self.owner: Callable[[], UserCall | None] = lambda: None
        self.plain = UserFunction(_forward(lambda: self.owner()))
        code, self.why = _compile(function, shape, self.plain)
        # Entries without code are not cached.
        self.code: Any = code

    def fits(self, call: UserCall) -> bool:
        """Whether this is the code for a call: the same function with the same constants."""
        same = self.function is call.function and self.shape == call.shape
        return same and self.constants is not None and self.constants == _constants(call.function)


# Most recent first.
_KEPT: list[_Compiled] = []


def _take_compiled(call: UserCall) -> tuple[_Compiled | None, str]:
    """Compiled function for a call, new or from an earlier run; None and the reason if it cannot be compiled."""
    fitting = [kept for kept in _KEPT if kept.fits(call)]
    if fitting and all(kept.owner() is not None for kept in fitting):
        # The call of an earlier run may not have been garbage collected yet.
        gc.collect()
    entry = next((kept for kept in fitting if kept.owner() is None), None)
    if entry is None:
        entry = _Compiled(call.function, call.shape)
    else:
        _KEPT.remove(entry)
    if entry.code is None:
        return None, entry.why
    _KEPT.insert(0, entry)
    del _KEPT[MOST_KEPT:]
    entry.owner = weakref.ref(call)
    return entry, ""


def _constants(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Numbers that a function takes from outside, by name; None if it uses anything else that may change."""
    try:
        seen = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return None
    # Nested functions may use further names.
    if any(inspect.iscode(x) for x in function.__code__.co_consts):
        return None
    found = {**seen.globals, **seen.nonlocals}
    for name in [name for name, value in found.items() if value is np or value is math]:
        del found[name]
    if any(type(x) not in (bool, int, float) for x in found.values()):
        return None
    return {name: (type(x), x) for name, x in found.items()}


def _forward(owner: Callable[[], UserCall | None]) -> Callable[..., None]:
    def call(t: float, position: Any, velocity: Any, force: Any) -> None:
        user = owner()
        if user is not None:
            user.call(t, position, velocity, force)

    return call


class ForceCode(NamedTuple):
    """Compiled code of a function: its compiler, its address, and the object that must stay alive with it."""

    compiler: str
    address: int
    owner: Any


def _compile(
    function: Callable[..., Any], shape: tuple[int, int], plain: Any
) -> tuple[ForceCode | None, str]:
    """Compile the function, by Sarrus's translator, else by Numba; if neither does, return None and the reason."""
    why = []
    for compile_function in (_translate, _compile_by_numba):
        try:
            return compile_function(function, shape, plain), ""
        except Exception as error:
            # For any failure, try the next compiler, and at last plain Python; the result reports the reason.
            why.append(str(error) or type(error).__name__)
    return None, "; ".join(why)


def _translate(function: Callable[..., Any], shape: tuple[int, int], plain: Any) -> ForceCode:
    address = ctypes.cast(plain, ctypes.c_void_p).value or 0
    text = translate_user_function(function, shape, address)
    engine = kernels.native.NativeCode()
    return ForceCode(SARRUS, engine.load(kernels.native.compile_kernel(text), ENTRY), engine)


def _compile_by_numba(
    function: Callable[..., Any], shape: tuple[int, int], plain: Any
) -> ForceCode:
    try:
        import numba
    except ImportError:
        raise NotImplementedError(
            "Numba, which compiles more (sarrus[numba]), is not installed"
        ) from None
    user = numba.njit(error_model="numpy", boundscheck=True)(function)
    doubles = numba.types.CPointer(numba.types.float64)
    signature = numba.types.void(numba.types.float64, doubles, doubles, doubles)

    def call(t, position, velocity, force):
        x = numba.carray(position, shape)
        v = numba.carray(velocity, shape)
        out = numba.carray(force, shape)
        good = True
        try:
            out[:, :] = user(t, x.copy(), v.copy())
        except Exception:
            good = False
        # Python reports what went wrong.
        if not good or not np.isfinite(out).all():
            plain(t, position, velocity, force)

    try:
        code = numba.cfunc(signature)(call)
    except Exception:
        # Numba's messages fill pages.
        raise NotImplementedError("Numba does not compile it either") from None
    return ForceCode(NUMBA, int(code.address or 0), code)


# Columns of the calls.
ADDRESS, FIRST, POINTS, DIMENSION = 0, 1, 2, 3

# Step of the differences, relative to 1 + |x|: their error affects only a Newton matrix.
DIFFERENCE = 1e-6
# If the difference to one side exceeds that to the other by this factor, it contains a jump.
JUMP = 10.0


class User(NamedTuple):
    """One row per force: address, first form, points, dimension; factor from newtons to model units; scratch."""

    calls: Ints
    factor: Floats
    middle: Floats = NONE


def count_forms(user: User) -> int:
    """Number of load forms that are coordinates of the points of user forces."""
    return int(np.sum(user.calls[:, POINTS] * user.calls[:, DIMENSION]))


def list_entries(user: User) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df."""
    return [
        entry
        for _, a, points, dimension in user.calls
        for entry in list_block(a, points * dimension)
    ]


def make_scratch(user: User, forms: int) -> User:
    """The user forces with scratch memory for all load forms."""
    return user._replace(middle=np.zeros(forms))


@kernel
def add_weights(user, t, f, df, w):
    """Evaluate the user functions; each form belongs to one function only."""
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        b = a + user.calls[n, POINTS] * user.calls[n, DIMENSION]
        call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], w[a:b])
        for i in range(a, b):
            w[i] *= user.factor[n]


@kernel
def add_derivatives(user, t, f, df, scratch, at, A, B):
    """Entries of each force, row by row, by central differences; returns the next index.

    scratch: array of the length of f. If the two one-sided differences disagree, as near a jump, the smaller one
    is used.
    """
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        size = user.calls[n, POINTS] * user.calls[n, DIMENSION]
        b = a + size
        call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], user.middle[a:b])
        for j in range(size):
            for level in range(2):
                x = f if level == 0 else df
                D = A if level == 0 else B
                kept = x[a + j]
                step = DIFFERENCE * (1.0 + abs(kept))
                x[a + j] = kept + step
                call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
                for i in range(size):
                    D[at + i * size + j] = scratch[a + i]
                x[a + j] = kept - step
                call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
                x[a + j] = kept
                for i in range(size):
                    up = D[at + i * size + j] - user.middle[a + i]
                    down = user.middle[a + i] - scratch[a + i]
                    slope = 0.5 * (up + down)
                    if abs(up) > JUMP * abs(down):
                        slope = down
                    elif abs(down) > JUMP * abs(up):
                        slope = up
                    D[at + i * size + j] = slope * user.factor[n] / step
        at += size * size
    return at


@kernel
def add_power(user, df, w, total):
    """Add the power of user forces, from their values w."""
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        for i in range(a, a + user.calls[n, POINTS] * user.calls[n, DIMENSION]):
            total += w[i] * df[i]
    return total
