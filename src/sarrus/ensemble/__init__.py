"""Ensembles: many runs of one topology, in SIMD lanes and threads of the host or on a GPU."""

from .front_end import Ensemble, simulate_many
from .variants import EnsembleResult, Variants

__all__ = ["Ensemble", "EnsembleResult", "Variants", "simulate_many"]
