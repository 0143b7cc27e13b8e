"""The verdict on a mechanism as it stands: mobility and redundancy, in sentences with the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import model as model_package
from .. import verdict
from .. import verdict as verdict_package
from ..notebook_display import Sentences
from .inspection_text import print_lines, state_freedom, write_sentences

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .branches import Branches
    from .joint_equations import JointEquations
    from .locked import Locked
    from .mobility import Driven, Mobility
    from .nearby_configurations import Nearby
    from .redundancy import Dependence, Redundancy

# branches that an inspection lists; larger mechanisms are left to the rank
LISTED = 64
MOST_COLUMNS = 600


@dataclass(frozen=True)
class Inspection(Sentences):
    """What `inspect` found; print it for sentences, `as_dict()` for the record.

    count: Gruebler's; mobility_here; mobility_motion: of the motion; redundant_here, redundant_motion:
    joint equations that depend on others; classification: one word, classes: all that apply; mobility
    and redundancy: the whole records; equations: those of the joints. All of these are of the joints
    alone; driven: what drives leave of the freedoms, None without drives. locked: of a mechanism that is
    locked in truth but almost moves; branches: through this configuration, where equations depend on each other
    here and it is not too large; opening: what was done with joints that are apart, a sentence.
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
        """Gruebler's count."""
        return self.mobility.count

    @property
    def mobility_here(self) -> int:
        """Mobility at this pose."""
        return self.mobility.here

    @property
    def mobility_motion(self) -> int:
        """Mobility of the motion."""
        return self.mobility.motion

    @property
    def redundant_here(self) -> int:
        """Joint equations that depend on others at this pose."""
        return self.mobility.redundant_here

    @property
    def redundant_motion(self) -> int:
        """Joint equations that depend on others everywhere on the motion."""
        return self.mobility.redundant_motion

    @property
    def classification(self) -> str:
        """The weightiest word."""
        return self.mobility.classification

    @property
    def classes(self) -> tuple[str, ...]:
        """All words that apply, the weightiest first."""
        return self.mobility.classes

    @cached_property
    def poses(self) -> tuple[Nearby, ...]:
        """Random poses of the mechanism further away with their rank, where equations depend here."""
        if not (self.mobility_motion and self.redundant_here):
            return ()
        return tuple(verdict.nearby_configurations.wander(self.equations, self.equations.start()))

    @property
    def freedom(self) -> str:
        """The degrees of freedom in a clause: "1 degree of freedom, driven by 'motor'; not singular"."""
        return state_freedom(self)

    @property
    def sentences(self) -> list[str]:
        """The verdict without the list of dependent sets."""
        return list(write_sentences(self))

    def __repr__(self) -> str:
        return f"<Inspection '{self.mechanism}': {', '.join(self.classes)}>"

    def __str__(self) -> str:
        return "\n".join(print_lines(self))

    def as_dict(self) -> dict[str, Any]:
        """The record as plain numbers, words and lists, for JSON."""
        m, r = self.mobility, self.redundancy
        return {
            "mechanism": self.mechanism,
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
    """The inspection of a mechanism and its joint equations at their start; given: velocities to follow first."""
    # SciPy's solvers load slowly: only an inspection pays for them
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
        driven = replace(driven, held=_branches_of(mechanism, whole, hold_drives=True))
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
    """The branches, where equations depend on each other and something is free; None elsewhere."""
    if not (mobility.here and mobility.redundant_here):
        return None
    return _branches_of(mechanism, whole, hold_drives=False)


def _branches_of(mechanism: Mechanism, whole: JointEquations, hold_drives: bool) -> Branches | None:
    if whole.columns > MOST_COLUMNS:
        return None
    # only where it is needed: the model takes longer to load than a small inspection
    model = model_package.make_model(mechanism)
    q = np.zeros(model.coordinates)
    return verdict_package.branches.find_branches(
        model, whole, q, most=LISTED, hold_drives=hold_drives
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
        "held": None if d.held is None else d.held.as_dict(),
    }
