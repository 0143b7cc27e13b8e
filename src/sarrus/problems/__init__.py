"""The benchmark problems: mechanisms with numbers, limits and exact references."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from .bricard.problem import make_a04_bricard, make_rectangular_bricard
from .n_four_bar.problem import make_double_four_bar, make_n_four_bar
from .problem import Branch, Figure, Limits, Panel, Problem

_MAKERS: dict[str, Callable[..., Problem]] = {
    "double-four-bar": make_double_four_bar,
    "n-four-bar": make_n_four_bar,
    "rectangular-bricard": make_rectangular_bricard,
    "a04-bricard": make_a04_bricard,
}

__all__ = ["Branch", "Figure", "Limits", "Panel", "Problem", "get", "names"]


def names() -> list[str]:
    """Ids of all problems."""
    return list(_MAKERS)


def get(problem: str, **options: float) -> Problem:
    """The problem with this id; options as the problem has them (windows, speed, section)."""
    if problem not in _MAKERS:
        raise ValueError(f"no problem is called '{problem}'; known: {', '.join(_MAKERS)}")
    maker = _MAKERS[problem]
    known = maker.__code__.co_varnames[: maker.__code__.co_argcount]
    for option in options:
        if option not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise ValueError(f"problem '{problem}' has no option '{option}'; {has}")
    return maker(**{option: _number(option, value) for option, value in options.items()})


def _number(option: str, value: float) -> float:
    if isinstance(value, bool | str) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{option} = {value!r}; give a finite number")
    return value
