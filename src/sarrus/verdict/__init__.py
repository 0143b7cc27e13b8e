"""The truth about rank: mobility, redundancy in joint language, and which reactions can be trusted."""

from ..lazy import load_on_use
from .inspection import Inspection, inspect_equations

__all__ = ["Inspection", "inspect_equations"]

# modules load when they are used
__getattr__ = load_on_use(__name__)
