"""A run as files: its columns, where and with what it was made, its folder; below all that read runs."""

from ..lazy import load_on_use

# modules load when they are used
__getattr__ = load_on_use(__name__)
