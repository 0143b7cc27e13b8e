"""Rank of the joint equations: mobility, redundancy by joints, and uniqueness of reactions."""

from ..lazy import load_on_use
from .inspection import Inspection, inspect_equations

__all__ = ["Inspection", "inspect_equations"]

# modules load when they are used
__getattr__ = load_on_use(__name__)
