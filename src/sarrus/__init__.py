"""Sarrus: exact and fast simulation of closed-loop mechanisms, with their mobility and redundant constraints."""

from importlib import import_module

from . import formats, problems
from .analysis import Design, design, kinematics
from .assembly import Assembly, AssemblyError, assemble, assemble_branches
from .audit import Audit, AuditCheck, audit
from .engines import simulate_with
from .ensemble.front_end import Ensemble, simulate_many
from .ensemble.variants import EnsembleResult
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
from .mechanism.actions import engage, lock, release, set_number, switch_off, switch_on
from .mechanism.event_requests import when
from .names import UnknownNameError, warn_renamed
from .optimisation import optimize, tolerances
from .result import Result, load_result
from .sensitivities import sensitivity
from .simulate import simulate
from .statics import Equilibrium, Mode, Modes, equilibria, equilibrium, modes
from .storage import SavedResultError
from .studies import StudyError, sweep
from .user_methods import State, method

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
    "EnsembleResult",
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
    "engage",
    "equilibria",
    "equilibrium",
    "formats",
    "inspect",
    "kinematics",
    "load",
    "load_result",
    "lock",
    "method",
    "modes",
    "optimize",
    "problems",
    "release",
    "sensitivity",
    "set_number",
    "simulate",
    "simulate_many",
    "simulate_with",
    "sweep",
    "switch_off",
    "switch_on",
    "tolerances",
    "when",
]
__version__ = "0.2.0.dev0"


def __getattr__(name: str) -> object:
    """Modules that are loaded on first use, and public names of earlier versions."""
    if name in ("bench", "jax", "torch"):
        return import_module(f"{__name__}.{name}")
    if name == "Runs":
        warn_renamed("sarrus.Runs", "sarrus.EnsembleResult")
        return EnsembleResult
    raise AttributeError(f"module 'sarrus' has no attribute '{name}'")


def __dir__() -> list[str]:
    """The public names only."""
    return sorted([*__all__, "__version__"])
