"""Code of a structure's own: the general kernels once more, written out for the mechanism at hand.

Tables of indices, sizes and the order of elimination are the same in all mechanisms of a structure. With them
known, the translator writes loops out, reads tables itself, and decides what they decide. Every sum keeps its
order and its roundings, so both codes give the same bits, and either may run: own code is made beside the runs,
when they have taken long enough for it to pay, is kept on disk, and serves from the moment it is there.
"""

from __future__ import annotations

import hashlib
import logging
import operator
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from ..arrays import Floats, Ints, plain_sum
from .arguments import find_layout, kind_of_argument, pack
from .compiler import CHECKED, COMPILES, LETTERS, STORE, WRONG, Kernel, make_caller
from .language.kinds import INT, ArrayType, TupleType
from .language.module import Module
from .layout import Form, StepPolynomials, Workspace
from .recording import LaneWorkspace, Outputs
from .series_step import StepperState

log = logging.getLogger("sarrus")

# integers in the tables of a structure; with more it stays with the general code: own code takes half a minute to
# compile then, and leaves the cache of instructions
MOST_INTEGERS = 6000
# seconds to make own code: some, and some an integer in the tables (double four-bar 0.8 s, N = 40 8 s)
FIRST_SECONDS, SECONDS_EACH = 0.5, 0.0015
# own code is made when runs have taken this share of that; looked for on the disk when they have taken so long [s]
SHARE = 0.05
LOOK_SECONDS = 1e-3
# level of the passes: a twentieth faster than with level 1, for half a second more
PASSES = 2
# runs until tables that are seen again are kept, and have code
WARM = 3

# what is done about own code: nothing yet, looked for on the disk, made
NOTHING, LOOK, MAKE = 0, 1, 2

# the integers of a form
tables_of = operator.itemgetter(
    *(n for n, name in enumerate(Form._fields) if "Ints" in str(Form.__annotations__[name]))
)

Caller = Callable[[bytes], Any]


class Codes:
    """Code specialised for the integer tables of a form, as far as it is made, and what runs have taken [s]."""

    def __init__(self, form: Form) -> None:
        self.integers = plain_sum(map(len, tables_of(form)))
        self.codes: dict[Any, Caller] = {}
        self._spent: dict[Any, float] = {}
        self._tried: dict[Any, int] = {}

    @property
    def is_large(self) -> bool:
        """Whether the form stays with the generic code."""
        return self.integers > MOST_INTEGERS

    def spend(self, kernel: Kernel, kinds: Any, args: tuple[Any, ...], seconds: float) -> None:
        """Count what a run took by general code; makes own code beside if it is time for it."""
        key = kernel, kinds
        spent = self._spent[key] = self._spent.get(key, 0.0) + seconds
        pays = spent >= SHARE * (FIRST_SECONDS + SECONDS_EACH * self.integers)
        wanted = MAKE if pays else LOOK if spent >= LOOK_SECONDS else NOTHING
        if wanted > self._tried.get(key, NOTHING):
            self._tried[key] = wanted
            own = tuple(own_kind(x) for x in args)
            thread = threading.Thread(target=self._make, args=(key, own, pays), name="own code")
            _THREADS.append(thread)
            thread.start()

    def _make(self, key: Any, kinds: tuple[Any, ...], pays: bool) -> None:
        """Own code, from the disk, or compiled if that pays."""
        try:
            with _MAKING:
                code = make_code(key[0], kinds, compiles=pays)
            if code is not None:
                self.codes[key] = code
        except Exception as error:
            # the general code goes on
            log.warning(f"no code of its own for '{key[0].__name__}': {error}")
        finally:
            _THREADS.remove(threading.current_thread())


_THREADS: list[threading.Thread] = []
_MAKING = threading.Lock()


class Structured(Protocol):
    """What code is specialised for, and where it is kept: the structure of models."""

    codes: Any


def codes_of(structure: Structured, form: Form) -> Codes:
    """The code of a structure, given the form of one of its models."""
    found: Codes | None = structure.codes
    if found is None:
        found = structure.codes = Codes(form)
    return found


def run(structure: Structured, kernel: Any, *args: Any) -> Any:
    """Call a kernel whose first argument is a form: by code that is specialised for it, if there is some yet."""
    codes = codes_of(structure, args[0])
    if codes.is_large or not COMPILES:
        return kernel(*args)
    kinds, words, keep = pack(args)
    code = codes.codes.get((kernel, kinds))
    if code is not None:
        found = code(words)
        if found is not WRONG:
            del keep
            return found
    # the first call compiles the general code
    counts, begin = kernel.has_code(kinds), time.thread_time()
    found = kernel(*args)
    if counts:
        codes.spend(kernel, kinds, args, time.thread_time() - begin)
    return found


def wait() -> None:
    """Until all own code that is being made is there."""
    for thread in list(_THREADS):
        thread.join()


def warm_up(run: Callable[[], Any], longest: float = float("inf"), compiles: bool = True) -> None:
    """Run until a structure is kept and has its own code, whatever that takes; not again after so long [s].

    compiles: whether code that is not on the disk is made.
    """
    with _bounds(0.0 if compiles else float("inf"), 0.0):
        for _ in range(WARM):
            begin = time.perf_counter()
            run()
            long = time.perf_counter() - begin > longest
            wait()
            if long:
                break


def keep_code() -> AbstractContextManager[None]:
    """While it lasts every structure keeps the code it has, so that times of two codes are not mixed."""
    wait()
    return _bounds(float("inf"), float("inf"))


@contextmanager
def _bounds(share: float, look_seconds: float) -> Iterator[None]:
    global SHARE, LOOK_SECONDS
    before, (SHARE, LOOK_SECONDS) = (SHARE, LOOK_SECONDS), (share, look_seconds)
    try:
        yield
    finally:
        SHARE, LOOK_SECONDS = before


def make_code(kernel: Kernel, kinds: tuple[Any, ...], compiles: bool = True) -> Caller | None:
    """Code of a kernel for types with known structure; None if it would have to be compiled and should not."""
    from .native import NativeCode, compile_kernel, describe_host

    layout = find_layout()
    digest = hashlib.sha256(repr((kinds, layout, describe_host())).encode()).hexdigest()[:32]
    name = kernel.__name__
    place, symbol = f"own.{name}-{digest}", f"own_{name}_{digest}"
    kept = STORE.read(place)
    if kept is None:
        if not compiles or _ends():
            return None
        text, found = Module(unrolls=True, checked=CHECKED).entry(symbol, kernel, kinds, layout)
        if _ends():
            return None
        kept = "".join(LETTERS[x] for x in found).encode() + b"\n" + compile_kernel(text, PASSES)
        STORE.write(place, kept)
    results, code = kept.split(b"\n", 1)
    engine = NativeCode()
    return make_caller(results.decode(), engine.load(code, symbol), engine)


def _ends() -> bool:
    """Whether the process waits to end."""
    return not threading.main_thread().is_alive()


def own_kind(value: Any) -> Any:
    """The type of an argument with all that its structure tells."""
    made = type(value)
    if made not in _KNOWN:
        return kind_of_argument(value)
    fields = zip(made._fields, value, strict=True)
    return TupleType.of(made._fields, tuple(_own_rank(made.__name__, *field) for field in fields))


# tuples whose sizes are known; or which of their arrays have a last size that is: others differ from run to run
_KNOWN: dict[type, tuple[str, ...] | None] = {
    Form: None,
    Workspace: None,
    LaneWorkspace: None,
    StepperState: None,
    StepPolynomials: ("coefficients",),
    Outputs: ("q", "v", "a"),
}


def _own_rank(owner: str, name: str, values: Floats | Ints) -> ArrayType:
    rank = kind_of_argument(values)
    last = _KNOWN[_BY_NAME[owner]]
    sizes = [str(n) for n in values.shape]
    if last is not None:
        sizes[:-1] = [""] * (len(sizes) - 1)
        sizes[-1] = sizes[-1] if name in last else ""
    entries = tuple(values.tolist()) if owner == Form.__name__ and rank.kind == INT else None
    return ArrayType(rank.kind, rank.axes, f"{owner}.{name}", tuple(sizes), entries)


_BY_NAME = {made.__name__: made for made in _KNOWN}
