"""A blueprint: a model without its numbers. It states where each array of the model is in one block of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..kernels.layout import Form
from ..mechanism import Mechanism
from ..tracing import Scalar
from .model import Model
from .quadratic import Scalars, as_array
from .rows import Rows, Units

if TYPE_CHECKING:
    from .structure import Structure

# numbers per cache line
LINE = 8
# arrays of a form that depend on masses or gravity
OF_MASSES = ("M_val", "K_M_val", "Q", "rho", "eps")


class BlockPart(tuple[int, int, tuple[int, ...]]):
    """A part of the block of numbers: begin, end, shape."""


class NumberBlock:
    """All numbers of a model in one block; every list begins on a new cache line."""

    def __init__(self) -> None:
        self._parts: list[Scalars] = [np.zeros(0)]
        self._count = 0

    def take(self, values: Sequence[Scalar] | Scalars, *shape: int) -> BlockPart:
        """Append scalars; shape: of the array that they form."""
        array = values if isinstance(values, np.ndarray) else as_array(values)
        first, last = self._count, self._count + len(array)
        self._parts += [array, np.zeros(-len(array) % LINE)]
        self._count += len(array) + len(self._parts[-1])
        return BlockPart((first, last, shape or (len(array),)))

    @property
    def values(self) -> Scalars:
        """All numbers of the block."""
        return np.concatenate(self._parts)


@dataclass(frozen=True)
class Blueprint:
    """A model without its numbers: integers, and the positions of all floats in the block."""

    dimension: int
    units: BlockPart
    form: Form
    form_parts: tuple[tuple[int, BlockPart], ...]
    loads: Any
    loaded: bool
    points: dict[str, int]
    place_rows: tuple[Ints, Ints, BlockPart]
    origins: BlockPart
    spun: dict[str, tuple[Ints, Ints, BlockPart, BlockPart]]
    drive_rates: BlockPart
    user_calls: tuple[Any, ...]
    # whether linear relations may result from rounding of the dimensions
    doubtful: bool = False

    @cached_property
    def digest(self) -> bytes:
        """A digest that is equal for equal blueprints."""
        digest = hashlib.sha256()
        _feed(digest, [x for name, x in vars(self).items() if name != "user_calls"])
        return digest.digest()

    def without_masses(self, count: int) -> Flags:
        """Which numbers of the block do not depend on masses or gravity, as M, Q and their scales do."""
        out = np.ones(count, dtype=bool)
        length, after, _ = self.units
        out[length + 1 : after] = False
        for n, (first, last, _) in self.form_parts:
            if Form._fields[n] in OF_MASSES:
                out[first:last] = False
        return out

    def make(self, mechanism: Mechanism, values: Any, structure: Structure) -> Model:
        """The model with these numbers."""
        block = aligned(len(values))
        block[:] = values
        fields = list(self.form)
        for n, (first, last, _) in self.form_parts:
            fields[n] = block[first:last]
        form = Form._make(fields)
        start, col, part = self.place_rows
        nq = len(form.Q)
        return Model(
            mechanism=mechanism,
            dimension=self.dimension,
            units=Units(*take_part(block, self.units).tolist()),
            form=form,
            loads=fill(self.loads, block) if self.loaded else self.loads,
            points=self.points,
            place_rows=Rows(start, col, take_part(block, part), nq),
            origins=take_part(block, self.origins),
            spun={
                name: (Rows(start, col, take_part(block, val), nq), take_part(block, starts))
                for name, (start, col, val, starts) in self.spun.items()
            },
            drive_rates=take_part(block, self.drive_rates),
            structure=structure,
            user_calls=self.user_calls,
            numbers=block,
        )


def _feed(digest: Any, x: Any) -> None:
    """Update a digest with any content of a blueprint; arrays by their bytes."""
    if isinstance(x, np.ndarray):
        digest.update(f"{x.dtype}{x.shape}".encode() + x.tobytes())
    elif isinstance(x, dict):
        _feed(digest, list(x.items()))
    elif isinstance(x, tuple | list) and not isinstance(x, BlockPart):
        digest.update(f"{len(x)}(".encode())
        for y in x:
            _feed(digest, y)
    else:
        digest.update(repr(x).encode())


def aligned(count: int) -> Floats:
    """Memory for `count` numbers that begins on a cache line."""
    block = np.empty(count + LINE)
    first = (-block.__array_interface__["data"][0] % (8 * LINE)) // 8
    return block[first : first + count]


def take_part(block: Floats, part: BlockPart) -> Floats:
    """An array of the block."""
    first, last, shape = part
    found = block[first:last]
    return found if len(shape) == 1 else found.reshape(shape)


def fill(loads: Any, block: Floats) -> Any:
    """Loads with arrays in place of block parts."""
    if not isinstance(loads, tuple):
        return loads
    if isinstance(loads, BlockPart):
        return take_part(block, loads)
    return type(loads)(*(fill(x, block) for x in loads))
