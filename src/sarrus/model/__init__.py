"""From a mechanism to its model: natural coordinates and the quadratic form in them.

Modules are loaded on first use: `structure` works without SciPy and the compiler.
"""

from typing import TYPE_CHECKING

from ..lazy import load_on_use

if TYPE_CHECKING:
    from .build import make_model
    from .model import Model

__all__ = ["Model", "make_model"]

__getattr__ = load_on_use(__name__, {"Model": "model", "make_model": "build"})
