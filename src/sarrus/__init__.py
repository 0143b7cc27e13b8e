"""Sarrus: closed-loop mechanisms, simulated exactly and fast, with the truth about their rank."""

from . import formats, problems
from .assembly import Assembly, AssemblyError, assemble, assemble_branches
from .formats import load
from .inspect import inspect
from .mechanism import Mechanism, MechanismError, Polynomial, Sine, SmoothStep, Table
from .result import Result
from .simulate import simulate
from .statics import Equilibrium, Mode, Modes, equilibrium, modes
from .studies import sweep

__all__ = [
    "Assembly",
    "AssemblyError",
    "Equilibrium",
    "Mechanism",
    "MechanismError",
    "Mode",
    "Modes",
    "Polynomial",
    "Result",
    "Sine",
    "SmoothStep",
    "Table",
    "assemble",
    "assemble_branches",
    "equilibrium",
    "formats",
    "inspect",
    "load",
    "modes",
    "problems",
    "simulate",
    "sweep",
]
__version__ = "0.1.0"
