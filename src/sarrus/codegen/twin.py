"""The operations with NumPy: the slow, obvious twin of `ir.py`, for tests and for reading.

A value is an array with a number a lane, a mask one with a truth a lane, an index a plain integer. Loops and
conditions are generators: their body runs as often as they yield, here, and is written once in `ir.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..kernels.rules import HIGHEST_ORDER


class Array:
    """Memory of values; reading makes a copy, so that a later write changes nothing that was read."""

    def __init__(self, shape: tuple[int, ...], lanes: int) -> None:
        self.values = np.zeros((*shape, lanes))

    def __getitem__(self, at: Any) -> Any:
        return self.values[at].copy()

    def __setitem__(self, at: Any, value: Any) -> None:
        self.values[at] = value


class Variable:
    """A value that changes."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        """What it is now."""
        return self.value

    def set(self, value: Any, where: Any = None) -> None:
        """Change it, in the lanes of a mask only if one is given."""
        self.value = value if where is None else np.where(where, value, self.value)


class Memory:
    """Room for arrays; in the twin every array has its own."""

    size = 0

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes

    def array(self, *shape: int) -> Array:
        """An array of values."""
        return Array(shape, self.lanes)


class Twin:
    """Operations on lanes, computed at once.

    numbers: what differs between the lanes, (slots, lanes); times: of outputs; results: (rows, columns, lanes),
    one row more than there are outputs.
    """

    highest_order = HIGHEST_ORDER
    looks_ahead = True

    def __init__(self, numbers: Any, times: Any, arguments: Sequence[float], columns: int) -> None:
        self.numbers = np.asarray(numbers, float)
        self.lanes = self.numbers.shape[1]
        self.times = np.asarray(times, float)
        self.arguments = [float(x) for x in arguments]
        self.results = np.zeros((len(self.times) + 1, columns, self.lanes))
        self.summaries: dict[int, Any] = {}

    def memory(self, name: str) -> Memory:
        """New memory."""
        return Memory(self.lanes)

    def number(self, slot: int) -> Any:
        """A number of the mechanism."""
        return self.numbers[slot].copy()

    def argument(self, n: int) -> Any:
        """A number that all lanes share."""
        return np.full(self.lanes, self.arguments[n])

    def constant(self, x: float) -> Any:
        """The same number in all lanes."""
        return np.full(self.lanes, float(x))

    def truth(self, x: bool) -> Any:
        """The same truth in all lanes."""
        return np.full(self.lanes, x)

    def variable(self, value: Any) -> Variable:
        """A value that changes."""
        return Variable(value)

    def value(self, index: Any) -> Any:
        """An index as a value."""
        return np.full(self.lanes, float(index))

    def most(self, value: Any) -> int:
        """The largest of the lanes, as an index."""
        return int(value.max())

    def index(self, value: Any) -> int:
        """What all lanes share, as an index."""
        return int(value[0])

    def table(self, name: str, values: Any, index: Any) -> Any:
        """An entry of a table of constants."""
        return np.full(self.lanes, values[index])

    def any(self, mask: Any) -> bool:
        """Whether it is true in any lane."""
        return bool(mask.any())

    def where(self, mask: Any, a: Any, b: Any) -> Any:
        """One or the other."""
        return np.where(mask, a, b)

    def maximum(self, a: Any, b: Any) -> Any:
        """The larger one."""
        return np.where(a > b, a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        """The smaller one."""
        return np.where(a < b, a, b)

    def abs(self, a: Any) -> Any:
        """The size."""
        return np.abs(a)

    def add_exactly(self, a: Any, b: Any) -> Any:
        """A sum that no other one is joined with: its rounding counts."""
        return a + b

    def subtract_exactly(self, a: Any, b: Any) -> Any:
        """The same of a difference."""
        return a - b

    def sqrt(self, a: Any) -> Any:
        """The root."""
        return np.sqrt(a)

    def log(self, a: Any) -> Any:
        """The natural logarithm of a positive number."""
        return np.log(a)

    def exp(self, a: Any) -> Any:
        """Its inverse, of -700 to 700."""
        return np.exp(a)

    def sine_cosine(self, a: Any) -> tuple[Any, Any]:
        """Sine and cosine."""
        return np.sin(a), np.cos(a)

    def loop(self, first: Any, last: Any, during: Callable[[], Any] | None = None) -> Iterator[Any]:
        """Indices from the first to before the last, while the condition holds."""
        for i in range(first, last):
            if during is not None and not during():
                return
            yield i

    def down(self, first: Any, last: Any) -> Iterator[Any]:
        """Indices from the first down to behind the last."""
        yield from range(first, last, -1)

    def repeat(self, during: Callable[[], Any]) -> Iterator[None]:
        """While the condition holds."""
        while during():
            yield

    def when(self, condition: Any) -> Iterator[None]:
        """Once, if the condition holds."""
        if condition:
            yield

    def call(self, function: Callable[..., None], program: Any, scratch: Any) -> None:
        """A routine of the program, with the memory it works in."""
        function(self, program, scratch)

    def output_time(self, number: Any) -> Any:
        """Time of the output that each lane is at, infinite behind the last."""
        times = np.append(self.times, np.inf)
        return times[np.minimum(number.astype(int), len(self.times))]

    def keeps(self) -> bool:
        """Whether anybody wants the outputs."""
        return True

    def rows(self, number: Any, where: Any) -> Any:
        """The row of the output that each lane is at; the one behind the last is for the others."""
        return np.where(where, number, len(self.times)).astype(int)

    def put(self, rows: Any, column: int, value: Any) -> None:
        """Write a column of these rows."""
        self.results[rows, column, np.arange(self.lanes)] = value

    def summarise(self, place: int, value: Any) -> None:
        """Write what is told of each lane at its end."""
        self.summaries[place] = value.copy()
