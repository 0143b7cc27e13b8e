"""From a mechanism to its model: natural coordinates and the quadratic form in them.

The names here are loaded when they are used: `structure` works without SciPy and the compiler.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build import make_model
    from .model import Model

__all__ = ["Model", "make_model"]


def __getattr__(name: str) -> Any:
    """Load what a name needs."""
    if name == "Model":
        from .model import Model

        return Model
    if name == "make_model":
        from .build import make_model

        return make_model
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
