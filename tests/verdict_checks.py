"""What several tests of the verdict look at."""

import numpy as np

from sarrus.verdict.joint_equations import make_joint_equations


def numbers(found):
    """Count, mobility here and of the motion, redundant here and on the motion, words."""
    return (
        found.count,
        found.mobility_here,
        found.mobility_motion,
        found.redundant_here,
        found.redundant_motion,
        found.classes,
    )


def named_matrix(mechanism):
    """W over scaled twists with unit rows, and the row number of each (joint, second body, words)."""
    equations = make_joint_equations(mechanism)
    W = equations.weighted(equations.start()).toarray()
    names = {
        (e.joint, e.second, e.words): i
        for i, e in enumerate(equations.equations(equations.start()))
    }
    return W / np.linalg.norm(W, axis=1)[:, None], names


def check_minimal(mechanism, found):
    """Each set is dependent, without any one of its equations independent; together they span all."""
    W, names = named_matrix(mechanism)
    picked = np.zeros((len(found.redundancy.sets), len(W)))
    for k, dependence in enumerate(found.redundancy.sets):
        rows = [names[e.joint, e.second, e.words] for e in dependence.equations]
        assert np.linalg.matrix_rank(W[rows], tol=1e-9) == len(rows) - 1
        for left_out in range(len(rows)):
            others = rows[:left_out] + rows[left_out + 1 :]
            assert np.linalg.matrix_rank(W[others], tol=1e-9) == len(others)
        picked[k, rows] = np.linalg.svd(W[rows])[0][:, -1]
    assert np.linalg.matrix_rank(picked, tol=1e-6) == found.redundant_here == len(picked)
