"""The truth about rank: mobility, redundancy in joint language, and which reactions can be trusted."""

from .inspection import Inspection, inspect_equations

__all__ = ["Inspection", "inspect_equations"]
