"""Equilibrium and small motions about it, in independent degrees of freedom."""

from .equilibrium import Equilibrium, equilibria, equilibrium
from .modes import Mode, Modes, modes

__all__ = ["Equilibrium", "Mode", "Modes", "equilibria", "equilibrium", "modes"]
