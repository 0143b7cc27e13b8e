"""Sarrus: closed-loop mechanisms, simulated exactly and fast, with the truth about their rank."""

from . import formats, problems
from .analysis import Design, design, kinematics
from .assembly import Assembly, AssemblyError, assemble, assemble_branches
from .audit import Audit, AuditCheck, audit
from .engines import simulate_with
from .ensemble import Ensemble, simulate_many
from .formats import load
from .inspect import inspect
from .local_analysis import branches
from .mechanism import (
    LockedError,
    Mechanism,
    MechanismError,
    ModelFileError,
    Polynomial,
    Sine,
    SmoothStep,
    Table,
)
from .names import UnknownNameError
from .own_method import State, method
from .result import Result, load_result
from .simulate import simulate
from .statics import Equilibrium, Mode, Modes, equilibria, equilibrium, modes
from .storage import SavedResultError
from .studies import StudyError, sweep
from .variants import Runs

__all__ = [
    "Assembly",
    "AssemblyError",
    "Audit",
    "AuditCheck",
    "Design",
    "Ensemble",
    "Equilibrium",
    "LockedError",
    "Mechanism",
    "MechanismError",
    "Mode",
    "ModelFileError",
    "Modes",
    "Polynomial",
    "Result",
    "Runs",
    "SavedResultError",
    "Sine",
    "SmoothStep",
    "State",
    "StudyError",
    "Table",
    "UnknownNameError",
    "assemble",
    "assemble_branches",
    "audit",
    "branches",
    "design",
    "equilibria",
    "equilibrium",
    "formats",
    "inspect",
    "kinematics",
    "load",
    "load_result",
    "method",
    "modes",
    "problems",
    "simulate",
    "simulate_many",
    "simulate_with",
    "sweep",
]
__version__ = "0.2.0.dev0"


def __dir__() -> list[str]:
    """The public names only."""
    return sorted([*__all__, "__version__"])
