"""The verdict on a mechanism at its start: mobility and redundancy, in sentences with the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import model as model_package
from .. import verdict
from .. import verdict as verdict_package
from ..notebook_display import Sentences
from .inspection_text import print_lines, write_sentences, write_summary

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .branches import Branches
    from .joint_equations import JointEquations
    from .locked import Locked
    from .mobility import Driven, Mobility
    from .nearby_configurations import Nearby
    from .redundancy import Dependence, Redundancy

# largest number of branches listed by an inspection; larger mechanisms are classified by the rank alone
LISTED = 64
MOST_COLUMNS = 600


@dataclass(frozen=True)
class Inspection(Sentences):
    """What `inspect` found; print it for sentences, `as_dict()` for the record.

    Attributes
    ----------
    count : int
        Mobility by the Chebychev-Gruebler-Kutzbach formula.
    mobility_here, mobility_motion : int
        Instantaneous mobility, and finite mobility of the motion.
    redundant_here, redundant_motion : int
        Number of redundant joint equations, at this configuration and everywhere on the motion.
    classification : str
        One word; `classes` lists all that apply.
    mobility, redundancy : Mobility, Redundancy
        The complete records.
    equations : JointEquations
        The equations of the joints. This and everything above refers to the joints without drives.
    driven : Driven or None
        Degrees of freedom that the drives leave; None without drives.
    locked : Locked or None
        Record of a mechanism that is immobile but almost moves.
    branches : Branches or None
        Branches through this configuration, if equations depend on each other here and the mechanism is not too
        large.
    opening : str
        A sentence about the treatment of joints whose parts are initially apart.
    """

    mechanism: str
    dimension: int
    bodies: int
    joints: int
    mobility: Mobility = field(repr=False)
    redundancy: Redundancy = field(repr=False)
    equations: JointEquations = field(repr=False)
    driven: Driven | None = field(repr=False, default=None)
    locked: Locked | None = field(default=None, repr=False)
    opening: str = ""
    branches: Branches | None = field(default=None, repr=False)

    @property
    def count(self) -> int:
        """Mobility by the Chebychev-Gruebler-Kutzbach formula."""
        return self.mobility.count

    @property
    def mobility_here(self) -> int:
        """Instantaneous mobility at this configuration."""
        return self.mobility.here

    @property
    def mobility_motion(self) -> int:
        """Finite mobility of the motion."""
        return self.mobility.motion

    @property
    def redundant_here(self) -> int:
        """Number of redundant joint equations at this configuration."""
        return self.mobility.redundant_here

    @property
    def redundant_motion(self) -> int:
        """Number of joint equations that are redundant everywhere on the motion."""
        return self.mobility.redundant_motion

    @property
    def classification(self) -> str:
        """The most important class."""
        return self.mobility.classification

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes that apply, the most important first."""
        return self.mobility.classes

    @cached_property
    def poses(self) -> tuple[Nearby, ...]:
        """Random configurations further away with their rank, if equations depend on each other here."""
        if not (self.mobility_motion and self.redundant_here):
            return ()
        return tuple(verdict.nearby_configurations.wander(self.equations, self.equations.start()))

    @property
    def summary(self) -> str:
        """Degrees of freedom, redundant constraints, singularity, in the same words on all pages.

        For instance "1 degree of freedom, driven by 'motor'; no redundant constraints; not singular here".
        """
        return write_summary(self)

    @property
    def sentences(self) -> list[str]:
        """The summary and the numbers that decided, without the list of dependent sets."""
        return list(write_sentences(self))

    def __repr__(self) -> str:
        return f"<Inspection '{self.mechanism}': {', '.join(self.classes)}>"

    def __str__(self) -> str:
        return "\n".join(print_lines(self))

    def as_dict(self) -> dict[str, Any]:
        """The record as numbers, strings and lists, for JSON."""
        m, r = self.mobility, self.redundancy
        return {
            "mechanism": self.mechanism,
            "summary": self.summary,
            "dimension": self.dimension,
            "bodies": self.bodies,
            "joints": self.joints,
            "count": m.count,
            "mobility_here": m.here,
            "mobility_motion": m.motion,
            "dimensions": list(m.dimensions),
            "redundant_here": m.redundant_here,
            "redundant_motion": m.redundant_motion,
            "classification": m.classification,
            "classes": list(m.classes),
            "rank": m.rank.as_dict(),
            "nearby": [
                {"along": n.along, "distance": n.distance, "rank": n.rank.as_dict()}
                for n in m.nearby
            ],
            "random_poses": [
                {"distance": n.distance, "rank": n.rank.as_dict()} for n in self.poses
            ],
            "idle_spins": list(m.idle_spins),
            "free_bodies": list(m.free_bodies),
            "locked": None if self.locked is None else self.locked.as_dict(),
            "opening": self.opening,
            "branches": None if self.branches is None else self.branches.as_dict(),
            "sentences": self.sentences,
            "dependent_sets": [_set_record(s) for s in r.sets],
            "unnamed_dependences": r.unnamed,
            "replacements": [
                {"joint": x.joint, "by": x.by, "removes": x.removes} for x in r.replacements
            ],
            "driven": None if self.driven is None else _driven_record(self.driven),
        }


def inspect_equations(
    mechanism: Mechanism,
    whole: JointEquations,
    given: list[tuple[str, Any]],
    *,
    opening: str = "",
    closed: bool = True,
) -> Inspection:
    """The inspection of a mechanism and its joint equations at the start; given: velocities to follow first."""
    # modules of `verdict` load on use, because SciPy's solvers load slowly
    equations = whole.undriven
    mobility = verdict.mobility.measure_mobility(equations, given=given)
    locked = branches = None
    if closed:
        branches = _find_branches(mechanism, whole, mobility)
        if branches is not None:
            mobility = verdict.finite_mobility.decide_by_branches(equations, mobility, branches)
        mobility, locked = verdict.locked.decide_locked(equations, mobility)
    else:
        others = tuple(c for c in mobility.classes if c != verdict.mobility.REGULAR)
        mobility = replace(mobility, classes=(verdict.mobility.INCONSISTENT, *others))
    driven = verdict.mobility.measure_driven(whole, mobility) if whole.drives else None
    if driven is not None and driven.free_here > driven.free_motion and closed:
        driven = replace(driven, locked_branches=_branches_of(mechanism, whole, hold_drives=True))
    nearby = mobility.generic
    redundancy = verdict.redundancy.find_redundancy(
        equations, mobility.redundant_here, nearby=nearby.pose if nearby else None
    )
    return Inspection(
        mechanism=mechanism.name,
        dimension=equations.dimension,
        bodies=len(equations.bodies),
        joints=len(equations.joints),
        mobility=mobility,
        redundancy=redundancy,
        equations=equations,
        driven=driven,
        locked=locked,
        opening=opening,
        branches=branches,
    )


def _find_branches(
    mechanism: Mechanism, whole: JointEquations, mobility: Mobility
) -> Branches | None:
    """The branches, if equations depend on each other and something can move; else None."""
    if not (mobility.here and mobility.redundant_here):
        return None
    return _branches_of(mechanism, whole, hold_drives=False)


def _branches_of(mechanism: Mechanism, whole: JointEquations, hold_drives: bool) -> Branches | None:
    if whole.columns > MOST_COLUMNS:
        return None
    # made only when needed: the model takes longer to load than a small inspection
    model = model_package.make_model(mechanism)
    q = np.zeros(model.coordinates)
    return verdict_package.branches.find_branches(
        model, whole, q, most=LISTED, hold_drives=hold_drives, rounded=True
    )


def _set_record(s: Dependence) -> dict[str, Any]:
    return {
        "sentence": str(s),
        "loop": list(s.loop),
        "equations": [
            {
                "joint": e.joint,
                "drive": e.drive,
                "bodies": [e.first, e.second],
                "kind": e.kind,
                "direction": list(e.direction),
                "coefficient": c,
            }
            for e, c in zip(s.equations, s.coefficients, strict=True)
        ],
        "permanent": s.permanent,
    }


def _driven_record(d: Driven) -> dict[str, Any]:
    return {
        "drives": list(d.drives),
        "free_here": d.free_here,
        "free_motion": d.free_motion,
        "idle_here": d.idle_here,
        "idle_motion": d.idle_motion,
        "dependent_sets": [_set_record(s) for s in d.sets],
        "locked_branches": None if d.locked_branches is None else d.locked_branches.as_dict(),
    }
