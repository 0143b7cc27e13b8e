"""`sarrus.inspect`: mobility and redundant constraints of a mechanism at its initial configuration."""

from __future__ import annotations

from . import verdict
from .assembly import AssemblyError, assemble
from .mechanism import Mechanism, MechanismError, check_mechanism, find_gaps
from .names import suggests
from .verdict import Inspection, inspect_equations


@suggests
def inspect(mechanism: Mechanism) -> Inspection:
    """Determine mobility and redundant constraints of a mechanism at its initial configuration.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism. Open joints are closed first.

    Returns
    -------
    Inspection
        Prints as sentences with the decisive numbers; `as_dict()` gives them as data.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated, with every reason.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> print(sarrus.inspect(m).summary)
    1 degree of freedom; no redundant constraints; not singular here
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism, closed=False)
    opening, closed = "", True
    if find_gaps(mechanism):
        mechanism, opening, closed = _closed(mechanism)
    # SciPy's solvers load slowly, so only an inspection loads them
    equations = verdict.joint_equations.make_joint_equations(mechanism)
    given = verdict.mobility.given_velocity(equations, mechanism)
    return inspect_equations(mechanism, equations, given, opening=opening, closed=closed)


def _closed(mechanism: Mechanism) -> tuple[Mechanism, str, bool]:
    """The mechanism with its joints closed, or with the smallest gaps; a sentence; and whether it closes."""
    try:
        done = assemble(mechanism)
    except AssemblyError as error:
        why = f"Its joints contradict each other: {error.reason}."
        return error.nearest, f"{why} The following describes that configuration.", False
    return (
        done.mechanism,
        f"Its joints are apart and can be closed: bodies then move by up to {done.moved:.6g} m and turn by up to "
        f"{done.turned:.6g} rad. The following describes that configuration.",
        True,
    )
