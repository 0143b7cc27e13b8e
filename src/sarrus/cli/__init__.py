"""The command line: one command a file. Only this room prints."""

from .main import main

__all__ = ["main"]
