"""Mechanism to Model: natural coordinates, the quadratic form, inertia, elimination order."""

from .build import make_model
from .model import Model

__all__ = ["Model", "make_model"]
