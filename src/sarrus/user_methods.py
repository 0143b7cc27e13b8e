"""Methods that users bring: a plain Python function, its name, and how it is found.

A step is a function `step(system, state, h)` that returns the next `State` (or `(q, v)`, or `(q, v, a)`); a
generator function of the same arguments that yields one state after another serves as well. What `system`
offers is in `methods/constrained_system.py`: M, Phi, J, Q, curvature, project, solve.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from .arrays import Floats
from .disk import read_file
from .names import short, shown
from .thresholds import LARGEST_NUMBER

GROUP = "sarrus.methods"
# a file of Python is not larger [bytes]
MOST_BYTES = 10_000_000
# a method of a higher order is a mistake
MOST_ORDER = 1000
COORDINATES = ("natural", "euler", "points")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class State:
    """Where a motion stands: time [s], coordinates, velocities.

    a, lam: accelerations and multipliers, if the method has them; memory: whatever it wants to have again in its
    next step.
    """

    t: float
    q: Floats
    v: Floats
    a: Floats | None = None
    lam: Floats | None = None
    memory: Any = None


@dataclass(frozen=True)
class OwnMethod:
    """A user's function and what is said of it.

    order: of the method, 0 if unknown; needs_step: it is given a step [s], else a tolerance, and chooses the
    times of its states itself; coordinates: "natural" (ours), "euler" or "points"; options: further parameters.
    """

    name: str
    function: Callable[..., Any]
    order: int = 0
    needs_step: bool = True
    coordinates: str = "natural"
    options: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.function) or "a method of one's own").splitlines()[0]

    @property
    def fingerprint(self) -> str:
        """Of the file that it stands in: what was measured with another text is measured again."""
        try:
            text = Path(inspect.getsourcefile(inspect.unwrap(self.function)) or "").read_bytes()
        except (OSError, TypeError):
            code = getattr(self.function, "__code__", None)
            text = code.co_code if code is not None else repr(self.function).encode()
        return hashlib.sha256(text).hexdigest()[:16]


# by name: those of this process, whatever file or package they come from
_KNOWN: dict[str, OwnMethod] = {}
_LOADED: dict[tuple[str, str], Any] = {}


def method(
    name: str,
    *,
    order: int = 0,
    needs_step: bool = True,
    coordinates: str = "natural",
    **options: float,
) -> Callable[[F], F]:
    """Give a function that advances a mechanism in time a name, by which it is found like any other method.

    order: its order, which `sarrus check-method` compares with what it measures. needs_step: it gets a step [s];
    else a tolerance, and it sets the time of its states. coordinates: "natural", "euler" (places and Euler
    parameters of bodies, in the plane an angle) or "points". options: further parameters with their defaults.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"method name {name!r}: give letters, digits, - and _, such as 'my-alpha'")
    if coordinates not in COORDINATES:
        raise ValueError(f"coordinates = {coordinates!r}; give one of {', '.join(COORDINATES)}")
    if not isinstance(order, int) or not 0 <= order <= MOST_ORDER:
        raise ValueError(f"order = {_show(order)}; give a whole number from 0 to {MOST_ORDER}")
    for option, value in options.items():
        if not isinstance(value, int | float) or not abs(value) <= LARGEST_NUMBER:
            raise ValueError(
                f"option {option} = {_show(value)}; give a number up to {LARGEST_NUMBER:g} as its default"
            )

    def tag(function: F) -> F:
        # what decorators put around a function may not keep notes on it: the registry does
        register(OwnMethod(name, function, order, needs_step, coordinates, dict(options)))
        return function

    return tag


def _show(value: object) -> str:
    """A value in a few characters."""
    return short(value) if isinstance(value, int | float) else shown(repr(value))[:30]


def register(own: OwnMethod) -> OwnMethod:
    """Make a method known by its name; of the same name the last one counts."""
    _KNOWN[own.name] = own
    return own


def of_function(function: Callable[..., Any]) -> OwnMethod:
    """The method that a function is: as decorated, else a step of unknown order under its own name."""
    for own in _KNOWN.values():
        if own.function is function:
            return own
    name = getattr(function, "__name__", "")
    return register(OwnMethod(name if NAME.fullmatch(name) else "own", function))


def find(name: str) -> OwnMethod | None:
    """The method of a name, a file ("my_alpha.py", "my_alpha.py:step") or an installed package, or None."""
    path, _, wanted = name.rpartition(":") if ".py:" in name else (name, "", "")
    if path.endswith(".py"):
        return _from_file(Path(path), wanted)
    if name not in _KNOWN:
        for entry in entry_points(group=GROUP):
            if entry.name == name:
                own = of_function(entry.load())
                _KNOWN[name] = own
    return _KNOWN.get(name)


def installed() -> list[str]:
    """Names of methods that installed packages bring."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def _from_file(path: Path, wanted: str) -> OwnMethod:
    """The function of a file: the named one, the only decorated one, or `step`."""
    module = load_file(path)
    here = [
        own for own in _KNOWN.values() if vars(module).get(own.function.__name__) is own.function
    ]
    if not wanted and len(here) == 1:
        return here[0]
    if not wanted and len(here) > 1:
        names = ", ".join(f"{path}:{own.function.__name__}" for own in here)
        raise ValueError(f"{path} has several methods; say which: {names}")
    function = vars(module).get(wanted or "step")
    if not callable(function):
        there = [
            n
            for n, x in vars(module).items()
            if inspect.isfunction(x) and x.__module__ == module.__name__
        ]
        known = ", ".join(there) or "none"
        raise ValueError(f"{path} has no function '{wanted or 'step'}'; its functions: {known}")
    own = next((o for o in here if o.function is function), None)
    # a bare `step` is called like its file
    return own or register(OwnMethod(_word(path.stem), function))


def load_file(path: Path) -> Any:
    """Run a Python file once, as a module of its own; a changed file is run again."""
    try:
        text = read_file(path, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from error
    key = (str(path.resolve()), hashlib.sha256(text).hexdigest())
    if key not in _LOADED:
        name = f"sarrus_own_{_word(path.stem).replace('-', '_').replace('.', '_')}_{key[1][:8]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # what Numba caches and what dataclasses look up ask for the module by its name
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise ValueError(f"{path}: {type(error).__name__}: {error}") from error
        _LOADED[key] = module
    return _LOADED[key]


def _word(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "own"
