"""Consistent initial conditions: loops closed from approximate positions, and velocities that the joints allow."""

from ..lazy import load_on_use
from .assemble import Assembly, AssemblyError, assemble, assemble_branches
from .velocities import fit_velocities, solve_start, solve_start_velocity

__all__ = [
    "Assembly",
    "AssemblyError",
    "assemble",
    "assemble_branches",
    "fit_velocities",
    "solve_start",
    "solve_start_velocity",
]

# modules load when they are used
__getattr__ = load_on_use(__name__)
