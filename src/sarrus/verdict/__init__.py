"""The truth about rank: mobility, redundancy in joint language, and which reactions can be trusted."""

from .inspection import Inspection, inspect_equations
from .mending import LockedError

__all__ = ["Inspection", "LockedError", "inspect_equations"]
