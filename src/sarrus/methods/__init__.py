"""How time advances: one file a method, registered here."""

from . import series
from .method import Method
from .outcome import Outcome

METHODS: dict[str, Method] = {
    method.id: method
    for method in (
        Method("series", "Taylor series, order chosen at each step", "tolerance", series.run),
    )
}

__all__ = ["METHODS", "Method", "Outcome"]
