"""Code specialised for a topology: the generic kernels, unrolled for the mechanism at hand.

Index tables, sizes and the elimination order are the same for all mechanisms of a structure. With these known, the
translator unrolls loops, reads tables at compile time, and resolves the decisions that depend on them. Every sum
keeps its order and its rounding, so both codes give the same bits, and either may run. Specialised code is
compiled in a background thread once the runs have taken long enough for it to pay, is cached on disk, and is used
as soon as it is available.
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

from .. import kernels
from ..arrays import Floats, Ints, plain_sum
from .arguments import find_layout, kind_of_argument, pack
from .compiler import CHECKED, COMPILES, LETTERS, STORE, WRONG, Kernel, make_caller
from .language.kinds import INT, ArrayType, TupleType
from .language.module import Module
from .layout import Form, StepPolynomials, Workspace
from .recording import LaneWorkspace, Outputs
from .series_step import StepperState

log = logging.getLogger("sarrus")

# Largest number of integers in the tables of a structure; larger ones use the generic code. Their specialised code
# would take half a minute to compile and would not fit into the instruction cache.
MOST_INTEGERS = 6000
# Time to compile specialised code [s]: a constant, and a part per integer in the tables (double four-bar 0.8 s, N
# = 40 8 s).
FIRST_SECONDS, SECONDS_EACH = 0.5, 0.0015
# Specialised code is compiled when runs have taken this share of that time; it is looked up on disk when they have
# taken this long [s].
SHARE = 0.05
LOOK_SECONDS = 1e-3
# Optimisation level: a twentieth faster than level 1, for half a second more.
PASSES = 2
# Runs until recurring tables are cached and have code.
WARM = 3

# State of the specialised code: nothing done yet, looked up on disk, compiled.
NOTHING, LOOK, MAKE = 0, 1, 2

# Integer fields of a form.
tables_of = operator.itemgetter(
    *(n for n, name in enumerate(Form._fields) if "Ints" in str(Form.__annotations__[name]))
)

Caller = Callable[[bytes], Any]


class Codes:
    """Code specialised for the integer tables of a form, if available, and the time that runs have taken [s]."""

    def __init__(self, form: Form) -> None:
        self.integers = plain_sum(map(len, tables_of(form)))
        self.codes: dict[Any, Caller] = {}
        self._spent: dict[Any, float] = {}
        self._tried: dict[Any, int] = {}

    @property
    def is_large(self) -> bool:
        """Whether the form uses the generic code."""
        return self.integers > MOST_INTEGERS

    def spend(self, kernel: Kernel, kinds: Any, args: tuple[Any, ...], seconds: float) -> None:
        """Count the time of a run of the generic code; start to compile specialised code when worthwhile."""
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
        """Get specialised code from disk, or compile it if that pays."""
        try:
            with _MAKING:
                code = make_code(key[0], kinds, compiles=pays)
            if code is not None:
                self.codes[key] = code
        except Exception as error:
            # The generic code continues to be used.
            log.warning(f"no specialised code for '{key[0].__name__}': {error}")
        finally:
            _THREADS.remove(threading.current_thread())


_THREADS: list[threading.Thread] = []
_MAKING = threading.Lock()


class Structured(Protocol):
    """Object that code is specialised for and stored with: the structure of models."""

    codes: Any


def codes_of(structure: Structured, form: Form) -> Codes:
    """Code of a structure, given the form of one of its models."""
    found: Codes | None = structure.codes
    if found is None:
        found = structure.codes = Codes(form)
    return found


def run(structure: Structured, kernel: Any, *args: Any) -> Any:
    """Call a kernel whose first argument is a form, by its specialised code if that is available."""
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
    # The first call compiles the generic code, so its time does not count.
    counts, begin = kernel.has_code(kinds), time.thread_time()
    found = kernel(*args)
    if counts:
        codes.spend(kernel, kinds, args, time.thread_time() - begin)
    return found


def wait() -> None:
    """Wait until all specialised code under compilation is available."""
    for thread in list(_THREADS):
        thread.join()


def warm_up(run: Callable[[], Any], longest: float = float("inf"), compiles: bool = True) -> None:
    """Run until a structure is cached and has its specialised code; stop after a run longer than `longest` [s].

    compiles: whether code that is not on disk is compiled.
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
    """Context in which every structure keeps its current code, so that timings of two codes are not mixed."""
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
    """Code of a kernel for types with known structure; None if it is not on disk and must not be compiled."""
    layout = find_layout()
    digest = hashlib.sha256(
        repr((kinds, layout, kernels.native.describe_host())).encode()
    ).hexdigest()[:32]
    name = kernel.__name__
    place, symbol = f"own.{name}-{digest}", f"own_{name}_{digest}"
    kept = STORE.read(place)
    if kept is None:
        if not compiles or _ends():
            return None
        text, found = Module(unrolls=True, checked=CHECKED).entry(symbol, kernel, kinds, layout)
        if _ends():
            return None
        kept = (
            "".join(LETTERS[x] for x in found).encode()
            + b"\n"
            + kernels.native.compile_kernel(text, PASSES)
        )
        STORE.write(place, kept)
    results, code = kept.split(b"\n", 1)
    engine = kernels.native.NativeCode()
    return make_caller(results.decode(), engine.load(code, symbol), engine)


def _ends() -> bool:
    """Whether the process is about to end."""
    return not threading.main_thread().is_alive()


def own_kind(value: Any) -> Any:
    """Type of an argument, with everything that its structure determines."""
    made = type(value)
    # a tuple of dual numbers has a class of its own
    known = next((base for base in made.__mro__ if base in _KNOWN), None)
    if known is None:
        return kind_of_argument(value)
    fields = zip(made._fields, value, strict=True)
    ranks = tuple(_own_rank(known, made.__name__, *field) for field in fields)
    return TupleType.of(made._fields, ranks)


# Tuples whose sizes are known (None), or names of those of their arrays whose last size is known; all other sizes
# vary from run to run.
_KNOWN: dict[type, tuple[str, ...] | None] = {
    Form: None,
    Workspace: None,
    LaneWorkspace: None,
    StepperState: None,
    StepPolynomials: ("coefficients",),
    Outputs: ("q", "v", "a"),
}


def _own_rank(known: type, owner: str, name: str, values: Floats | Ints) -> ArrayType:
    rank = kind_of_argument(values)
    last = _KNOWN[known]
    sizes = [str(n) for n in values.shape]
    if last is not None:
        sizes[:-1] = [""] * (len(sizes) - 1)
        sizes[-1] = sizes[-1] if name in last else ""
    entries = tuple(values.tolist()) if known is Form and rank.kind == INT else None
    return ArrayType(rank.kind, rank.axes, f"{owner}.{name}", tuple(sizes), entries)
