"""Compiled functions over flat arrays: quadratic terms, L D L^T, projection, series."""

from ..lazy import load_on_use

# modules load when they are used
__getattr__ = load_on_use(__name__)
