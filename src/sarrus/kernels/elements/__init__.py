"""Force elements and drives: all applied loads except constant forces, one file per kind of element.

Elements act on linear forms f = F q + f0 of the coordinates: Q + F^T w(t, f, f') replaces Q. A file contains
everything about its element, in the model's units where they matter:

    the law             one formula for numbers and arrays, used by kernels, verdict and results
    its tuple           the arrays of all elements of the kind, and memory for their series
    list_entries        which entries of dw/df may be nonzero
    add_weights         w at a state
    add_derivatives     dw/df and dw/df' there, in the order of `list_entries`
    add_energy          potential energy
    add_power           power of non-conservative forces
    add_coefficient     Taylor coefficient k of w, from the forms up to k + 1
    add_work            Taylor coefficients of the work of non-conservative forces

A drive acts on equations instead; its w are their right-hand sides. Sums over all kinds: applied_forces.py.

Small kernels take the tuple of their kind. Kernels that are compiled separately (`noinline`) take all loads:
passing a part of a tuple copies it at every call, which is a tenth of the run time of a small mechanism.
"""

from ...lazy import load_on_use

# Modules are imported on first use.
__getattr__ = load_on_use(__name__)
