"""A user's force as something that kernels can call: compiled if it can be, else through Python.

    void(t, position, velocity, force):      arrays (points, dimension) in m, m/s and N

Whatever fails is remembered with its reason, and the force is then not a number: the run stops.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .forces import DOUBLES, UserFunction

Floats = NDArray[np.float64]

# compiled and plain values may differ by the rounding of another order of operations
SAME = 1e-9


class UserCall:
    """The function of one user force, with its address for the kernels.

    compiled: whether it runs compiled; failure: what went wrong first, in words.
    """

    def __init__(self, name: str, function: Callable[..., Any], shape: tuple[int, int]) -> None:
        self.name = name
        self.function = function
        self.shape = shape
        self.failure = ""
        self.interrupt: BaseException | None = None
        self._plain = UserFunction(self._call)
        self._compiled: Any = None if numba.config.DISABLE_JIT else self._compile()
        self.compiled = self._compiled is not None

    @property
    def address(self) -> int:
        """Where kernels find the function."""
        if self.compiled:
            return int(self._compiled.address)
        return int(ctypes.cast(self._plain, ctypes.c_void_p).value or 0)

    def evaluate(self, t: float, position: Floats, velocity: Floats) -> Floats:
        """The forces by plain Python; not a number, with `failure` set, if that fails."""
        if self.failure:
            return np.full(self.shape, np.nan)
        where = f"user force '{self.name}' at t = {t:.9g} s"
        try:
            values = np.asarray(self.function(t, position.copy(), velocity.copy()), dtype=float)
        except Exception as error:
            self.failure = f"{where} raised {type(error).__name__}: {error}"
        except BaseException as error:
            # no exception passes through compiled code: it is raised again after the run
            self.failure, self.interrupt = f"{where} was interrupted", error
        else:
            if values.shape != self.shape:
                self.failure = (
                    f"{where} returned shape {values.shape}; it has to return forces of the shape "
                    f"{self.shape} of its points"
                )
            elif not np.isfinite(values).all():
                self.failure = f"{where} returned {values.tolist()}, which is not finite"
            else:
                return values
        return np.full(self.shape, np.nan)

    def check(self, position: Floats, velocity: Floats) -> None:
        """Evaluate at the start; a compiled function that says something else is not used."""
        plain = self.evaluate(0.0, position, velocity)
        if self.compiled and not self.failure:
            arrays = [np.array(x, dtype=float, order="C") for x in (position, velocity, plain)]
            self._compiled.ctypes(0.0, *(x.ctypes.data_as(DOUBLES) for x in arrays))
            size = SAME * (1e-300 + np.abs(plain).max(initial=0.0))
            self.compiled = bool(np.all(np.abs(arrays[2] - plain) <= size))

    def _call(self, t: float, position: Any, velocity: Any, force: Any) -> None:
        x, v, out = (np.ctypeslib.as_array(p, self.shape) for p in (position, velocity, force))
        out[...] = self.evaluate(t, x, v)

    def _compile(self) -> Any:
        """The function compiled for the kernels, or None if the compiler does not take it."""
        user = numba.njit(error_model="numpy", boundscheck=True)(self.function)
        plain = self._plain
        shape = self.shape
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
            # what went wrong is said by Python
            if not good or not np.isfinite(out).all():
                plain(t, position, velocity, force)

        try:
            return numba.cfunc(signature)(call)
        except Exception:
            # whatever the reason: plain Python does it, and the result says so
            return None
