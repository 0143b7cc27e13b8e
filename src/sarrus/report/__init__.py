"""Reports for users: tables and figures."""

from ..lazy import load_on_use
from .figures import save_figures
from .tables import judgement_table, library_error, problem_table, run_table

__all__ = ["judgement_table", "library_error", "problem_table", "run_table", "save_figures"]

# modules load when they are used
__getattr__ = load_on_use(__name__)
