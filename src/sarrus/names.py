"""Names: the error for unknown names, and the display of names from untrusted sources."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# longer lists are truncated
MOST_SHOWN = 12
# minimum similarity of two words, from 0 to 1
ALIKE = 0.5
# minimum similarity of the beginning, where a name abbreviates a longer word
BEGINS_ALIKE = 0.7


# other words for parts of mechanisms, in calls and in files (with - and in the plural)
SYNONYMS = {
    **dict.fromkeys(("pin", "hinge", "pivot"), "revolute"),
    **dict.fromkeys(("slider", "slide", "translational"), "prismatic"),
    **dict.fromkeys(("slot", "pin_in_slot"), "point_on_line"),
    **dict.fromkeys(("ball", "ball_joint"), "spherical"),
    **dict.fromkeys(("fixed", "rigid", "clamp"), "weld"),
    **dict.fromkeys(("bar", "beam", "link"), "rod"),
    **dict.fromkeys(("motor", "actuator"), "drive"),
    **dict.fromkeys(("gear", "belt", "pulley", "transmission"), "coupling"),
    "cylinder": "dyad",
}


def shown(text: object) -> str:
    """Untrusted text in one printable line: control characters, which affect terminals, as their codes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def short(number: float) -> str:
    """A number, with an exponent if it would be long otherwise; also integers beyond the range of floats."""
    try:
        return f"{number:.15g}"
    except OverflowError:
        return f"{'-' if number < 0 else ''}1e{len(str(abs(int(number)))) - 1}"


def counted(n: int, one: str, more: str | None = None) -> str:
    """A number with its noun in the singular or plural: `1 body`, `2 bodies`."""
    return f"{n} {one if n == 1 else more or one + 's'}"


def suggests(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: for an unknown keyword argument, the TypeError suggests the one probably meant.

    Python itself does so from 3.13 on, without the list.
    """

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except TypeError:
            known = [n for n in inspect.signature(function).parameters if n not in ("self", "cls")]
            wrong = next((n for n in named if n not in known), None)
            if wrong is None:
                raise
            called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
            raise TypeError(
                f"{called}() has no argument '{wrong}'; {describe_known(wrong, known)}"
            ) from None

    return call


def all_suggest(cls: type[T]) -> type[T]:
    """Class decorator: applies `suggests` to all public methods."""
    done: set[str] = set()
    for base in cls.__mro__[:-1]:
        for name, call in list(vars(base).items()):
            public = name == "__init__" or not name.startswith("_")
            if name not in done and public and inspect.isfunction(call):
                setattr(cls, name, suggests(call))
            elif name not in done and public and isinstance(call, classmethod):
                setattr(cls, name, classmethod(suggests(call.__func__)))
            done.add(name)
    return cls


class UnknownNameError(KeyError, ValueError):
    """An unknown name; the message lists the known names. Both a KeyError and a ValueError."""

    # a KeyError would show the quoted repr of its message
    __str__ = Exception.__str__


def unknown(sentence: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """The error for an unknown name; sentence: what is wrong, without a full stop."""
    return UnknownNameError(f"{sentence}; {describe_known(name, known)}")


def pick(known: Mapping[str, T], name: str, what: str) -> T:
    """The value of a name; raises UnknownNameError if there is none; what: such as "spring"."""
    if not isinstance(name, str) or name not in known:
        raise unknown(f"no {what} is called '{name}'", name, known)
    return known[name]


def describe_known(name: object, known: Iterable[str]) -> str:
    """The known names and the one probably meant: "known: 'B0', 'B1'; did you mean 'B1'?"."""
    names = [str(n) for n in known]
    if not names:
        return "known: none"
    first = ", ".join(f"'{n}'" for n in names[:MOST_SHOWN])
    more = ", ..." if len(names) > MOST_SHOWN else ""
    meant = find_meant(name, names)
    return f"known: {first}{more}" + (f"; did you mean '{meant}'?" if meant else "")


def find_meant(name: object, known: Iterable[str]) -> str:
    """The known word that is most similar to a name, or begins most similarly; empty if none is similar."""
    word, names = str(name), list(known)
    if same := SYNONYMS.get(word.lower().replace("-", "_").removesuffix("s")):
        spelled = {n.replace("-", "_").removesuffix("s"): n for n in names}
        if same in spelled:
            return spelled[same]
    alike = difflib.get_close_matches(word, names, n=1, cutoff=ALIKE)
    if alike or len(word) < 3:
        return next(iter(alike), "")
    begins = {n[: len(word)]: n for n in reversed(names)}
    return next(
        (begins[b] for b in difflib.get_close_matches(word, begins, n=1, cutoff=BEGINS_ALIKE)), ""
    )


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller's caller that a public name has changed; the old name works for one version."""
    warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=3)


class RenamedKeys(dict[str, Any]):
    """A dictionary in which older keys still find their values, with a warning."""

    older: ClassVar[Mapping[str, str]] = {}

    def __missing__(self, key: str) -> Any:
        if key not in self.older:
            raise KeyError(key)
        warn_renamed(f"'{key}'", f"'{self.older[key]}'")
        return self[self.older[key]]
