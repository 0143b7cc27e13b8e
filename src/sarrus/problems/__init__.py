"""The benchmark problems: mechanisms with numbers, limits and exact references."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ..names import unknown
from .andrews_squeezer import (
    make_andrews_squeezer,
    make_andrews_squeezer_a03,
    make_andrews_squeezer_ivp,
)
from .bricard import make_a04_bricard, make_rectangular_bricard
from .flyball_governor import (
    make_flyball_governor,
    make_flyball_governor_a05,
    make_flyball_governor_thin,
)
from .four_bar_spring import make_four_bar_spring
from .heavy_top import make_heavy_top
from .light_cart_pole import make_light_cart_pole
from .n_four_bar import make_double_four_bar, make_n_four_bar
from .packed import is_packed, load_packed
from .problem import (
    Angle,
    Figure,
    Limits,
    Maker,
    Option,
    Panel,
    Problem,
    RightBranch,
    SmallMotion,
    with_options,
)
from .simple_pendulum import make_simple_pendulum, make_simple_pendulum_a01
from .spatial_slider_crank import make_spatial_slider_crank, make_spatial_slider_crank_literal

_MAKERS: dict[str, Maker] = {
    "double-four-bar": make_double_four_bar,
    "n-four-bar": make_n_four_bar,
    "rectangular-bricard": make_rectangular_bricard,
    "a04-bricard": make_a04_bricard,
    "simple-pendulum": make_simple_pendulum,
    "simple-pendulum-a01": make_simple_pendulum_a01,
    "andrews-squeezer": make_andrews_squeezer,
    "andrews-squeezer-a03": make_andrews_squeezer_a03,
    "andrews-squeezer-ivp": make_andrews_squeezer_ivp,
    "flyball-governor": make_flyball_governor,
    "flyball-governor-thin": make_flyball_governor_thin,
    "flyball-governor-a05": make_flyball_governor_a05,
    "spatial-slider-crank": make_spatial_slider_crank,
    "spatial-slider-crank-literal": make_spatial_slider_crank_literal,
    "four-bar-spring": make_four_bar_spring,
    "light-cart-pole": make_light_cart_pole,
    "heavy-top": make_heavy_top,
}

__all__ = [
    "Angle",
    "Figure",
    "Limits",
    "Option",
    "Panel",
    "Problem",
    "RightBranch",
    "SmallMotion",
    "all_options",
    "get",
    "is_packed",
    "load_packed",
    "names",
    "options",
    "with_options",
]

# Entry point group of installed packages with problems: a function that makes one, or a `Maker`.
GROUP = "sarrus.problems"


def names() -> list[str]:
    """Return the ids of all problems: built-in ones, then those of installed packages."""
    return [*_MAKERS, *(name for name in _installed() if name not in _MAKERS)]


def get(problem: str, /, **options: float) -> Problem:
    """Return the problem with this id.

    Parameters
    ----------
    problem
        Id of the problem, one of `names()`.
    **options
        Values of its options; see `options(problem)`.

    Returns
    -------
    Problem
        The problem with these options; others have their defaults.

    Raises
    ------
    UnknownNameError
        If there is no such problem or option.
    """
    maker = _maker(problem)
    known = [option.name for option in maker.options]
    for name in options:
        if name not in known:
            raise unknown(f"problem '{problem}' has no option '{name}'", name, known)
    return maker(**options)


def options(problem: str) -> tuple[Option, ...]:
    """Return the options of a problem: name, default, unit, meaning, bounds."""
    return _maker(problem).options


def all_options() -> dict[str, Option]:
    """Return every option of any problem, by name; if several problems share one, that of the first."""
    found: dict[str, Option] = {}
    for maker in _MAKERS.values():
        for option in maker.options:
            found.setdefault(option.name, option)
    return found


def _maker(problem: str) -> Maker:
    if isinstance(problem, str) and problem not in _MAKERS and problem in _installed():
        found = _installed()[problem].load()
        return found if isinstance(found, Maker) else Maker(found, ())
    if problem not in _MAKERS:
        raise unknown(f"no problem is called '{problem}'", problem, names())
    return _MAKERS[problem]


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the problems of installed packages, by id."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def __dir__() -> list[str]:
    """The public names only."""
    return sorted(__all__)
