"""User-defined methods: a plain Python function, its name, and how it is found.

A step is a function `step(system, state, h)` that returns the next `State` (or `(q, v)`, or `(q, v, a)`), or a
generator function of the same arguments that yields one state after another. `methods/constrained_system.py`
documents `system`: M, Phi, J, Q, curvature, project, solve.
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
# limit of the size of a Python file [bytes]
MOST_BYTES = 10_000_000
# a higher order is taken as a mistake
MOST_ORDER = 1000
COORDINATES = ("natural", "euler", "points")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class State:
    """The state of a motion: time [s], coordinates, velocities.

    a, lam: accelerations and multipliers, if the method has them; memory: anything that the method needs in its
    next step.
    """

    t: float
    q: Floats
    v: Floats
    a: Floats | None = None
    lam: Floats | None = None
    memory: Any = None


@dataclass(frozen=True)
class UserMethod:
    """A user's function and its properties.

    order: of the method, 0 if unknown; needs_step: it gets a step [s]; otherwise it gets a tolerance and chooses
    the times of its states itself; coordinates: "natural" (default), "euler" or "points"; options: further
    parameters.
    """

    name: str
    function: Callable[..., Any]
    order: int = 0
    needs_step: bool = True
    coordinates: str = "natural"
    options: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.function) or "a user's method").splitlines()[0]

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its file: measurements are repeated when the file has changed."""
        try:
            text = Path(inspect.getsourcefile(inspect.unwrap(self.function)) or "").read_bytes()
        except (OSError, TypeError):
            code = getattr(self.function, "__code__", None)
            text = code.co_code if code is not None else repr(self.function).encode()
        return hashlib.sha256(text).hexdigest()[:16]


# methods of this process by name, from any file or package
_KNOWN: dict[str, UserMethod] = {}
_LOADED: dict[tuple[str, str], Any] = {}


def method(
    name: str,
    *,
    order: int = 0,
    needs_step: bool = True,
    coordinates: str = "natural",
    **options: float,
) -> Callable[[F], F]:
    """Register a function that advances a mechanism in time as a method of this name.

    Parameters
    ----------
    name : str
        Name of the method, for `simulate(..., method=name)`.
    order : int, optional
        Order of the method, which `sarrus check-method` compares with the measured order; 0 if unknown.
    needs_step : bool, optional
        True: the function gets a step [s]. False: it gets a tolerance, and sets the times of its states.
    coordinates : {"natural", "euler", "points"}, optional
        Coordinates of the system; "euler": positions and Euler parameters of bodies, in the plane an angle.
    **options : float
        Further parameters with their defaults.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> @sarrus.method("explicit-euler", order=1)
    ... def step(system, state, h):
    ...     a, lam = system.accelerations(state.q, state.v, state.t)
    ...     return system.project(state.q + h * state.v, state.v + h * a, state.t + h)
    >>> sarrus.simulate(m, 0.1, method=step, step=0.001).success
    True
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
        # other decorators may drop attributes of a function, so the registry stores its properties
        register(UserMethod(name, function, order, needs_step, coordinates, dict(options)))
        return function

    return tag


def _show(value: object) -> str:
    """A value in a few characters."""
    return short(value) if isinstance(value, int | float) else shown(repr(value))[:30]


def register(own: UserMethod) -> UserMethod:
    """Register a method by its name; a later method of the same name replaces it."""
    _KNOWN[own.name] = own
    return own


def of_function(function: Callable[..., Any]) -> UserMethod:
    """The method of a function: as decorated, otherwise a step of unknown order under the function's name."""
    for own in _KNOWN.values():
        if own.function is function:
            return own
    name = getattr(function, "__name__", "")
    return register(UserMethod(name if NAME.fullmatch(name) else "own", function))


def find(name: str) -> UserMethod | None:
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
    """Names of methods that installed packages provide."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def _from_file(path: Path, wanted: str) -> UserMethod:
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
    # an undecorated `step` is named after its file
    return own or register(UserMethod(_word(path.stem), function))


def load_file(path: Path) -> Any:
    """Run a Python file once, as a separate module; a changed file is run again."""
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
        # Numba's cache and dataclasses look up the module by its name
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
