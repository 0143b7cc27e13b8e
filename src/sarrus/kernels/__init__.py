"""Compiled functions over flat arrays: quadratic terms, L D L^T, projection, series."""
