"""Compiled functions over flat arrays: quadratic terms, L D L^T, projection, series."""

from ..lazy import load_on_use

# Modules are imported on first use.
__getattr__ = load_on_use(__name__)
