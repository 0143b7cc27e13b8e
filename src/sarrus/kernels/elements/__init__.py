"""What acts on a mechanism besides constant forces, one file a kind of element.

Elements act on linear forms f = F q + f0 of the coordinates: Q + F^T w(t, f, f') takes the place of Q. A file
holds all that is known of its element, in the model's units where it matters:

    the law             one formula for numbers and arrays: kernels, verdict and results use the same
    its tuple           the arrays of all elements of the kind, and memory for their series
    list_entries        where dw/df may differ from zero
    add_weights         w at a state
    add_derivatives     dw/df and dw/df' there, in the order of `list_entries`
    add_energy          potential energy
    add_power           power of what has no potential
    add_coefficient     Taylor coefficient k of w, from the forms up to k + 1
    add_work            Taylor coefficients of the work of what has no potential

A drive acts on equations instead, and has their right sides for w. Sums over all kinds: loads.py.

Small kernels take the tuple of their kind. What is compiled on its own (`block`) takes all loads: handing on
a part of a tuple copies it at every call, a tenth of the time of a small mechanism.
"""

from ...lazy import load_on_use

# modules load when they are used
__getattr__ = load_on_use(__name__)
