"""Loads on a mechanism at rest and their derivatives, for statics and small motions."""

from .compiler import entry
from .loads import eval_load_derivatives, eval_loads


@entry
def eval_static_loads(form, loads, t, q, v, Q, A, B):
    """Q_total at a state, and the entries of dw/df and dw/df' (see `eval_load_derivatives`)."""
    eval_loads(form, loads, t, q, v, Q)
    eval_load_derivatives(loads, t, q, v, A, B)
