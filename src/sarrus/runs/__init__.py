"""A run as files: its columns, its origin, its folder; used by everything that reads runs."""

from ..lazy import load_on_use

# Modules are loaded on first use.
__getattr__ = load_on_use(__name__)
