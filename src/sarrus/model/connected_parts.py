"""Which coordinates of a model belong together: from the tables of its form alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..arrays import Ints
from ..kernels.applied_forces import Loads, acts
from ..kernels.layout import Form


def find_parts(form: Form) -> Ints:
    """For each coordinate the part of the mechanism that it belongs to: coordinates of one equation share a part.

    Parts are numbered in the order of their first coordinates.
    """
    # entries of J are in the order of equations
    same = np.flatnonzero(np.diff(form.J_eq) == 0)
    return _components(len(form.Q), form.J_col[same], form.J_col[same + 1])


def keeps_energy(form: Form, loads: Loads | None) -> bool:
    """Whether the energy is an invariant that may be corrected by scaling all velocities.

    There must be only constant forces: the strain energy of stiff springs has rounding errors that matter for slow
    motions. And all coordinates must belong to one part that cannot be translated freely. Otherwise the energy
    error of one part would be corrected in another, and a part that is not connected to the ground would lose its
    momentum, which is exact.
    """
    return not acts(loads) and is_one_part(form)


def is_one_part(form: Form) -> bool:
    """Whether masses and equations connect all coordinates, and none can be translated freely.

    A false negative (forms of several coordinates may constrain them, too) is harmless.
    """
    count = len(form.Q)
    rows = np.repeat(np.arange(count), np.diff(form.M_start))
    same = np.flatnonzero(np.diff(form.J_eq) == 0)
    one = np.concatenate([rows, form.J_col[same]])
    other = np.concatenate([form.M_col, form.J_col[same + 1]])
    if _components(count, one, other).any():
        return False
    # a form of an equation: of a single coordinate, which is fixed to the ground; of several, which move together
    used = np.zeros(len(form.e0), bool)
    used[np.concatenate([form.sq_form, form.bl_a, form.bl_b])] = True
    sizes = np.diff(form.D_start)
    first = form.D_col[np.repeat(form.D_start[:-1], sizes)]
    ends = np.where(np.repeat(sizes, sizes) == 1, count, form.D_col)
    inside = np.repeat(used, sizes)
    labels = _components(count + 1, first[inside], ends[inside])
    return bool((labels == labels[count]).all())


def _components(count: int, one: Ints, other: Ints) -> Ints:
    """For each of some nodes the number of its connected component, given the pairs that are connected."""
    graph = sparse.coo_array((np.ones(len(one), bool), (one, other)), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)
