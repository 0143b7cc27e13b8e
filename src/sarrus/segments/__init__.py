"""Runs whose events change the mechanism: impacts at events, and segments joined to one result."""

from ..lazy import load_on_use

# modules load when they are used
__getattr__ = load_on_use(__name__)
