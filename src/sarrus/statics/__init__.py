"""Equilibrium, and small motions about it, in the motion's own freedoms."""

from .equilibrium import Equilibrium, equilibria, equilibrium
from .modes import Mode, Modes, modes

__all__ = ["Equilibrium", "Mode", "Modes", "equilibria", "equilibrium", "modes"]
