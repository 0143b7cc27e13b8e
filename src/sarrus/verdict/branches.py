"""The branches through a configuration, as records and in sentences; the mathematics is in `local`.

Drives are ignored unless they are to be locked: drives prescribe the speed, joints determine the branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import model as model_package
from .. import scene
from ..arrays import Floats, plain_sum
from ..kinematics.configuration import LINK, read_spins
from ..kinematics.constraints import Constraints
from ..names import warn_renamed
from ..notebook_display import Sentences, html_table
from ..thresholds import SAME_BRANCH, SHOWN_ZERO
from .joint_equations import JointEquations, make_joint_equations
from .local.analysis import Analysis, LocalBranch, analyse
from .local.continuation import close_near
from .local.reduced_system import LocalSystem
from .mobility import REGULAR
from .prestress import SelfStress, find_self_stress

if TYPE_CHECKING:
    from ..model import Model

TRANSVERSAL = "transversal crossing"
TANGENTIAL = "tangential bifurcation"
CUSP = "cusp"
ISOLATED = "isolated"
SHAKY = "infinitesimally mobile"
UNDECIDED = "undecided"
# largest number of branches listed
MOST = 2048
# largest number of point velocities, and of branches, in a sentence
MOST_WORDS = 8
MOST_LINES = 16
# larger mechanisms are not analysed, because their Jacobian is decomposed as a dense matrix
MOST_COORDINATES = 1500
# largest exponent of displacements normal to the tangent; with higher exponents they vanish nearby
MOST_POWER = 16.0


@dataclass(frozen=True, eq=False)
class BranchSite:
    """The configuration of a branch: coordinates of a model, and the current rates of the motion."""

    model: Model
    coordinates: Floats
    rates: Floats | None


@dataclass(frozen=True, eq=False)
class BranchMotions:
    """The directions of all branches as motions of points and bodies; read on first use, for all at once."""

    model: Model
    coordinates: Floats
    directions: Floats

    @cached_property
    def spins(self) -> Floats:
        """Angular velocities, shape (branches, bodies, 3)."""
        still = np.zeros_like(self.directions)
        q = np.tile(self.coordinates, (len(still), 1))
        return read_spins(self.model.body_rows, q, self.directions, still)[0]

    @cached_property
    def speeds(self) -> Floats:
        """Velocities of points [m/s], shape (branches, points, dimension)."""
        found = np.asarray(self.model.places @ self.directions.T).T
        return found.reshape(len(self.directions), -1, self.model.dimension)

    @cached_property
    def fastest(self) -> Floats:
        """The largest angular velocity, or velocity in lengths of the mechanism, of each branch."""
        centers = np.asarray(self.model.body_rows.centers @ self.directions.T).T
        moved = np.linalg.norm(centers.reshape(len(self.directions), -1, 3), axis=2)
        turned = np.linalg.norm(self.spins, axis=2)
        found = np.maximum(
            turned.max(axis=1, initial=0.0), moved.max(axis=1, initial=0.0) / self.length
        )
        return np.where(found > 0.0, found, 1.0)

    @property
    def length(self) -> float:
        """The length of the mechanism [m]: half of a typical link."""
        return self.model.units.length / LINK


@dataclass(frozen=True, eq=False)
class Branch:
    """One branch (motion mode) through a configuration.

    Attributes
    ----------
    dimension : int
        Finite mobility: the number of degrees of freedom of the mechanism on this branch.
    tangent : array, shape (coordinates, dimension)
        Orthonormal basis of the tangent space.
    direction : array, shape (coordinates,)
        Rates of the coordinates along the branch, scaled so that the fastest body rotates at 1 rad/s (or
        translates by one length of the mechanism per second).
    velocities, turning : dict
        The same motion as velocities of joints and named points [m/s] and angular velocities of bodies [rad/s].
    two_sided : bool
        Whether the branch can be followed in both directions. A cusp cannot: both of its ends leave along
        `direction`.
    contact : float
        Exponent p if another branch has the same tangent and separates from this one like s^p at a distance s; 0
        if there is no such branch.
    instantaneous : int
        Dimension of the null space of the Jacobian along the branch. It exceeds `dimension` where the mechanism is
        infinitesimally mobile along the whole branch.
    order : int
        Order of the Taylor terms that decided.
    residual : float
        Largest residual of the joint equations at the nearby configurations that confirm the branch, in link
        lengths.
    so_far : bool
        Whether a simulation arrived along its tangent.
    ahead, behind : array or None
        Displacements of the coordinates at these configurations.
    decided : bool
        Whether the Taylor terms and the nearby configurations agree.
    conical : bool
        Whether the tangents form a cone rather than a plane. `tangent` is then the tangent plane of the cone along
        `direction`.
    """

    dimension: int
    tangent: Floats = field(repr=False)
    two_sided: bool
    contact: float
    instantaneous: int
    order: int
    residual: float
    so_far: bool
    decided: bool
    ahead: Floats | None = field(repr=False)
    behind: Floats | None = field(repr=False)
    site: BranchSite = field(repr=False)
    motions: BranchMotions = field(repr=False)
    number: int = field(repr=False)
    sign: float = field(repr=False)
    conical: bool = False

    @cached_property
    def direction(self) -> Floats:
        """Rates of the coordinates along the branch."""
        return self.motions.directions[self.number] / self._scale

    @cached_property
    def velocities(self) -> dict[str, Floats]:
        """Velocities of joints and named points along the branch [m/s]."""
        bodies = {b.name for b in self.site.model.mechanism.bodies}
        return {n: v for n, v in self._speeds.items() if n not in bodies}

    @property
    def _speeds(self) -> dict[str, Floats]:
        """Velocities of joints, named points and centres of bodies [m/s]."""
        model = self.site.model
        moved = _clean(self.motions.speeds[self.number] / self._scale, self.motions.length)
        # joints on the ground never move
        free = np.diff(model.places.indptr[:: model.dimension]) > 0
        return {n: moved[i] for n, i in model.points.items() if free[i]}

    @cached_property
    def turning(self) -> dict[str, Floats]:
        """Angular velocities of bodies along the branch [rad/s]."""
        spins = _clean(self.motions.spins[self.number] / self._scale)
        planar, names = self.site.model.dimension == 2, self.site.model.body_rows.names
        return {n: s[2] if planar else s for n, s in zip(names, spins, strict=True)}

    @property
    def _scale(self) -> float:
        return self.sign * float(self.motions.fastest[self.number])

    def __str__(self) -> str:
        words = [f"{name} {_vector(v)}" for name, v in self.velocities.items() if np.any(v)]
        if not words:
            # no joint or named point moves
            words = [f"{name} {_vector(v)}" for name, v in self._speeds.items() if np.any(v)]
            words += [
                f"{name} turning {_vector(np.atleast_1d(w))} rad/s"
                for name, w in self.turning.items()
                if np.any(w)
            ]
        more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
        still = [name for name, v in self.velocities.items() if not np.any(v)]
        rest = f"; at rest: {', '.join(still[:MOST_WORDS])}" if words and still else ""
        along = "" if self.dimension == 1 else "for example "
        return f"{self._origin}{self.kind}; velocities {along}{', '.join(words[:MOST_WORDS])}{more}{rest}"

    def _repr_html_(self) -> str:
        rows = [(name, _vector(v)) for name, v in self.velocities.items()]
        return html_table(f"{self._origin}{self.kind}", ("point", "velocity [m/s]"), rows)

    @property
    def reversed(self) -> Branch:
        """The same branch in the opposite direction; a cusp is one-sided, so its two ends are swapped."""
        if not self.two_sided:
            return replace(self, ahead=self.behind, behind=self.ahead)
        return replace(self, sign=-self.sign, ahead=self.behind, behind=self.ahead)

    @property
    def kind(self) -> str:
        """The mobility and shape of the branch in words."""
        words = [f"mobility {self.dimension}"]
        if self.instantaneous > self.dimension:
            words.append(f"instantaneous mobility {self.instantaneous} all along")
        if self.conical:
            words.append("its tangents form a cone")
        if not self.two_sided:
            words.append("one-sided (a cusp)")
        if self.contact:
            words.append(f"separates as s^{self.contact:g} from a branch with the same tangent")
        if not self.decided:
            words.append("not decided")
        return ", ".join(words)

    @property
    def _origin(self) -> str:
        if not self.so_far:
            return ""
        return "along the motion so far: " if self.contact else "the motion so far: "

    def as_dict(self) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return {
            "dimension": self.dimension,
            "two_sided": self.two_sided,
            "contact": self.contact,
            "instantaneous": self.instantaneous,
            "conical": self.conical,
            "order": self.order,
            "residual": self.residual,
            "decided": self.decided,
            "so_far": self.so_far,
            "velocities": {name: v.tolist() for name, v in self.velocities.items()},
            "turning": {name: v.tolist() for name, v in self.turning.items()},
            "sentence": str(self),
        }


@dataclass(frozen=True, eq=False)
class Branches(Sentences):
    """The branches through a configuration; print it for sentences, `as_dict()` for the record.

    Attributes
    ----------
    branches : tuple of Branch
        The branches that are listed.
    classification : str
        "regular", "transversal crossing", "tangential bifurcation", "cusp", "isolated", "infinitesimally mobile"
        or "undecided". `classes` lists all that apply.
    order : int
        Order of the Taylor terms that decided, or the order up to which the analysis remained undecided.
    dof, dependences : int
        Number of first-order degrees of freedom of the coordinates, and of redundant equations.
    count : int
        Number of branches. `complete` states whether all of them are listed; otherwise the number is a lower
        bound.
    gap : int
        Exponent of the displacement with which the joints open along velocities that are infinitesimal only; 0 if
        there are none.
    self_stress : SelfStress or None
        Self-stress of an infinitesimally mobile configuration.
    misfit, holds_within : float
        Largest quantity treated as zero, and the limit up to which the result is valid [m].
    """

    name: str
    branches: tuple[Branch, ...]
    classes: tuple[str, ...]
    order: int
    dof: int
    dependences: int
    count: int
    complete: bool
    decided: bool
    gap: int
    self_stress: SelfStress | None
    misfit: float
    holds_within: float
    note: str = ""
    model: Model | None = field(default=None, repr=False)
    coordinates: Floats | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        least = "" if self.complete else "at least "
        return f"<Branches of '{self.name}': {self.classification}, {least}{self.count}>"

    @property
    def classification(self) -> str:
        """The first of the classes."""
        return self.classes[0]

    @property
    def infinitesimal_order(self) -> int:
        """Order of the infinitesimal mobility [Koiter]: joints open with the next power of the displacement."""
        return max(self.gap - 1, 0)

    @property
    def leads_nowhere(self) -> bool:
        """Whether the joints allow velocities, but all of them are infinitesimal only."""
        return self.decided and self.dof > 0 and not self.branches

    @property
    def freedoms(self) -> int:
        """The older name of `dof`, with a DeprecationWarning."""
        warn_renamed("branches.freedoms", "branches.dof")
        return self.dof

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The distinct finite mobilities of the branches."""
        return tuple(sorted({b.dimension for b in self.branches}))

    def __len__(self) -> int:
        return len(self.branches)

    def __iter__(self) -> Iterator[Branch]:
        return iter(self.branches)

    def __getitem__(self, index: int) -> Branch:
        return self.branches[index]

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        return self.sentences[0].rstrip(".")

    @property
    def sentences(self) -> list[str]:
        """The result without the list of branches."""
        return list(_sentences(self))

    def __str__(self) -> str:
        shown = [f"  {i}: {b}" for i, b in enumerate(self.branches[:MOST_LINES], 1)]
        if len(self.branches) > MOST_LINES:
            shown.append(f"  and {len(self.branches) - MOST_LINES} more")
        return "\n".join([" ".join(self.sentences), *shown])

    def path(self, branch: Branch, steps: int = 12) -> Floats:
        """Displacements of the coordinates along a branch, from `behind` over the configuration to `ahead`.

        Parameters
        ----------
        branch : Branch
            One of the branches.
        steps : int
            Number of steps on each side.

        Returns
        -------
        array, shape (2 steps + 1, coordinates)
            Displacements; there are fewer rows if an end was not reached.
        """
        assert self.model is not None
        assert self.coordinates is not None
        return trace(self.model, self.coordinates, branch, steps)

    def plot(self, *points: str) -> Any:
        """A matplotlib figure: the paths of points along each branch, in one colour each.

        Two or three points have a further panel, with the travel of each as a coordinate.

        Parameters
        ----------
        *points : str
            Names of joints, points or bodies. The default are two whose travels distinguish the branches.
        """
        assert self.model is not None
        assert self.coordinates is not None
        paths = [self.path(b) for b in self.branches[:MOST_LINES]]
        return scene.branch_figure.draw_branches(self.model, self.coordinates, paths, points)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{i}</td><td>{b.dimension}</td><td>{'both ways' if b.two_sided else 'cusp'}</td>"
            f"<td>{f's^{b.contact:g}' if b.contact else ''}</td><td>{b.order}</td><td>{escape(str(b))}</td></tr>"
            for i, b in enumerate(self.branches[:MOST_LINES], 1)
        )
        heads = ("", "mobility", "sides", "contact", "order", "")
        head = "".join(f"<th>{h}</th>" for h in heads)
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.sentences)
        table = f"<table><tr>{head}</tr>{rows}</table>" if rows else ""
        return f"<div><strong>{escape(self.classification)}</strong><ul>{lines}</ul>{table}</div>"

    def as_dict(self) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return {
            "classification": self.classification,
            "classes": list(self.classes),
            "order": self.order,
            "decided": self.decided,
            "dof": self.dof,
            "dependences": self.dependences,
            "count": self.count,
            "complete": self.complete,
            "gap": self.gap,
            "infinitesimal_order": self.infinitesimal_order,
            "self_stress": None if self.self_stress is None else self.self_stress.as_dict(),
            "misfit": self.misfit,
            "holds_within": self.holds_within,
            "sentences": self.sentences,
            "branches": [b.as_dict() for b in self.branches],
        }


def find_branches(
    model: Model,
    equations: JointEquations | None,
    q: Floats,
    v: Floats | None = None,
    *,
    most: int = MOST,
    hold_drives: bool = False,
    rounded: bool = False,
) -> Branches:
    """Find the branches through the configuration q.

    equations: joint equations, if they were made before; v: rates of the current motion, if there is one; most:
    largest number of branches listed; hold_drives: lock the drives at their present values; rounded: whether
    dimensions may have rounding errors. Linear relations that may result from them are then left out of the model,
    so that the branches may belong to another model than the given one.
    """
    if len(q) > MOST_COORDINATES:
        return _too_large(model, q)
    if rounded and model.structure.blueprint.doubtful and not np.any(q):
        model = model_package.build.make_rounded_model(model.mechanism)
        q = np.zeros(model.coordinates)
    joints = Constraints(model.form, joints=not hold_drives)
    found = analyse(joints, q, most)
    listed = _records(BranchSite(model, q, v), found.branches)
    listed.sort(key=lambda b: not b.so_far)
    note = ""
    if v is not None and np.any(v) and listed and not any(b.so_far for b in listed):
        note = "The motion so far is none of them."
    length = model.units.length
    stress = None
    if found.resting:
        equations = equations or make_joint_equations(model.mechanism)
        rows_used = equations if hold_drives else equations.undriven
        stress = find_self_stress(found.resting, rows_used, model, q)
    off = float(np.abs(joints.phi(q)).max(initial=0.0))
    return Branches(
        name=model.name,
        branches=tuple(listed),
        classes=_classify(found),
        order=found.order,
        dof=found.dof,
        dependences=found.dependences,
        count=found.count,
        complete=found.complete,
        decided=not found.undecided,
        gap=found.gap,
        self_stress=stress,
        misfit=max(found.left_out, off) * length,
        holds_within=found.zero * length,
        note=note,
        model=model,
        coordinates=q,
    )


def _too_large(model: Model, q: Floats) -> Branches:
    text = f"{len(q)} coordinates: branches are analysed up to {MOST_COORDINATES}."
    return Branches(
        model.name, (), (UNDECIDED,), 0, 0, 0, 0, False, False, 0, None, 0.0, 0.0, text, model, q
    )


def _classify(found: Analysis) -> tuple[str, ...]:
    """All classes that apply, the most degenerate first."""
    branches = found.branches
    groups = [b.group for b in branches]
    contained = len(branches) <= MOST_LINES and _share_tangents(branches)
    largest = max((b.dimension for b in branches), default=0)
    # branches that are not listed touch those with a contact, and cross the others
    hidden = found.count > len(branches)
    crossed = len(set(groups)) > 1 or (hidden and any(not b.contact for b in branches))
    touched = len(set(groups)) < len(groups) or (hidden and any(b.contact for b in branches))
    words = {
        UNDECIDED: found.undecided > 0,
        ISOLATED: found.dof == 0,
        CUSP: any(b.ways == 1 for b in branches),
        TANGENTIAL: touched or contained,
        TRANSVERSAL: (found.count > 1 and crossed) or any(b.curved for b in branches),
        SHAKY: found.dof > 0
        and (
            (not branches and not found.undecided)
            or max((b.nullity for b in branches), default=0) > largest
            or bool(found.resting)
        ),
    }
    out = [word for word, applies in words.items() if applies]
    if (
        CUSP not in out
        and TANGENTIAL not in out
        and TRANSVERSAL not in out
        and branches
        and SHAKY not in out
    ):
        one = branches[0]
        out.append(REGULAR if one.dimension == found.dof else SHAKY)
    return tuple(out) or (REGULAR,)


def _share_tangents(branches: tuple[LocalBranch, ...]) -> bool:
    """Whether the tangent space of a branch lies in that of a branch of larger dimension."""
    for a in branches:
        for b in branches:
            if a is b or a.dimension > b.dimension or a.group == b.group:
                continue
            angles = np.linalg.svd(a.tangent.T @ b.tangent, compute_uv=False)
            if angles[-1] > 1.0 - SAME_BRANCH**2 and not (a.curved or b.curved):
                return True
    return False


def _sentences(x: Branches) -> Iterator[str]:
    if x.note and not x.dof and x.classification == UNDECIDED:
        yield x.note
        return
    dof = f"{x.dof} first-order degree{'s' * (x.dof != 1)} of freedom"
    if not x.dof:
        yield "No first-order degree of freedom: an isolated configuration, rigid."
        return
    least = "" if x.complete else "at least "
    many = f"{least}{x.count} branch{'es' * (x.count != 1)}"
    meet = "passes" if x.count == 1 else "meet"
    if x.branches:
        text = f"{dof}; {many} {meet}{' through it' if x.count == 1 else ' here'}"
    else:
        text = f"{dof}; no branch {'passes through it' if x.decided else 'was confirmed'}"
    yield f"{text}: {', '.join(x.classes)}."
    yield from _branch_sentences(x)
    if x.gap and SHAKY in x.classes:
        yield (
            f"The joints open as s^{x.gap} along these velocities: infinitesimal mobility of order "
            f"{x.infinitesimal_order}."
        )
    if x.self_stress is not None:
        yield str(x.self_stress)
    if x.decided:
        yield f"Decided by terms of order {x.order}."
    else:
        yield f"Not decided up to order {x.order}."
    yield (
        f"The misfit of the configuration is {x.misfit:.1e} m; the result holds up to a misfit of "
        f"{x.holds_within:.1e} m."
    )
    if x.note:
        yield x.note


def _branch_sentences(x: Branches) -> Iterator[str]:
    cusps = int(plain_sum(not b.two_sided for b in x.branches))
    if cusps:
        one = "It is" if x.count == 1 else f"{cusps} of them {'is' if cusps == 1 else 'are'}"
        yield f"{one} one-sided: both ends leave along the same direction (a cusp)."
    if any(b.conical for b in x.branches):
        cones = int(plain_sum(b.conical for b in x.branches))
        one = "Its tangents form" if x.count == 1 else "The tangents of one form"
        shape = "a cone instead of a plane"
        if cones > 1:
            one, shape = f"The tangents of {cones} of them form", "cones instead of planes"
        yield f"{one} {shape}: the motion crosses itself here."
    touching = [b.contact for b in x.branches if b.contact]
    if touching:
        have, part = ("has", "separates") if len(touching) == 1 else ("have", "separate")
        yield (
            f"{len(touching)} {have} a common tangent with another one and {part} as s^{min(touching):g}"
            f"{f' to s^{max(touching):g}' if max(touching) > min(touching) else ''}."
        )
    if len(x.dimensions) > 1:
        yield f"Their mobilities are {' and '.join(str(d) for d in x.dimensions)}."
    if not x.complete:
        are = "is" if len(x.branches) == 1 else "are"
        yield f"{len(x.branches)} {are} listed; give a larger most= for more."


def _records(site: BranchSite, found: tuple[LocalBranch, ...]) -> list[Branch]:
    """The records of the branches through a configuration."""
    if not found:
        return []
    motions = BranchMotions(site.model, site.coordinates, np.array([b.direction for b in found]))
    return [_record(site, motions, i, b) for i, b in enumerate(found)]


def _record(site: BranchSite, motions: BranchMotions, number: int, found: LocalBranch) -> Branch:
    """The record of a branch."""
    w, v = found.direction, site.rates
    sign, so_far = 1.0, False
    if found.ways == 2:
        # the sign must not depend on the signs that the decomposition happens to return
        largest = np.abs(w) > (1.0 - SAME_BRANCH) * np.abs(w).max()
        sign = float(np.copysign(1.0, w[largest][0]))
    if v is not None and np.any(v):
        inside = found.tangent @ (found.tangent.T @ v)
        so_far = bool(np.linalg.norm(inside) > (1.0 - SAME_BRANCH**2) * np.linalg.norm(v))
        # orient the branch along the motion, not against it
        if found.ways == 2 and abs(float(w @ v)) > SAME_BRANCH * np.linalg.norm(w) * np.linalg.norm(
            v
        ):
            sign = float(np.copysign(1.0, w @ v))
    ends = (found.ahead, found.behind)
    ahead, behind = ends if sign > 0.0 else ends[::-1]
    return Branch(
        dimension=found.dimension,
        tangent=found.tangent,
        two_sided=found.ways == 2,
        contact=found.contact,
        instantaneous=found.nullity,
        order=found.order,
        residual=found.residual,
        so_far=so_far,
        decided=found.certain,
        ahead=ahead,
        behind=behind,
        site=site,
        motions=motions,
        number=number,
        sign=sign,
        conical=found.curved,
    )


def trace(model: Model, q: Floats, branch: Branch, steps: int) -> Floats:
    """Displacements along a branch with closed joints, from one end over the configuration to the other."""
    joints = Constraints(model.form, joints=True)
    system = LocalSystem(joints, q, np.arange(len(joints.kept)), np.arange(len(q)))
    sides = [
        [] if end is None else _trace_inwards(system, branch, end, steps)
        for end in (branch.behind, branch.ahead)
    ]
    return np.array([*sides[0], np.zeros(len(q)), *sides[1][::-1]])


def _trace_inwards(system: LocalSystem, branch: Branch, end: Floats, steps: int) -> list[Floats]:
    """Rows from an end of a branch towards the configuration.

    Each row is extrapolated from the last two: displacements normal to the tangent vary as powers of the
    displacement along it. These exponents are not integers at a cusp or a similar singularity.
    """
    rank, shaky = len(end) - branch.instantaneous, branch.instantaneous - branch.dimension
    # the ends of a cusp leave like t^2 along the tangent
    first = 1 if branch.two_sided else 2
    rows, powers = [end], np.full(len(end), (first + 1) / first)
    across = end - branch.tangent @ (branch.tangent.T @ end)
    for k in range(steps - 1, 0, -1):
        ratio = (k / (k + 1)) ** first
        along = ratio * (branch.tangent @ (branch.tangent.T @ rows[-1]))
        new = close_near(system, along + across * ratio**powers, rank, shaky)[0]
        moved = new - branch.tangent @ (branch.tangent.T @ new)
        seen = (np.abs(moved) > SHOWN_ZERO**2) & (across * moved > 0.0)
        shrunk = np.where(seen, moved / np.where(seen, across, 1.0), ratio**powers)
        powers = np.clip(np.log(shrunk) / np.log(ratio), 1.0, MOST_POWER)
        across = moved
        rows.append(new)
    return rows


def _clean(x: Floats, scale: float = 1.0) -> Floats:
    """Set rounding errors to zero."""
    return np.where(np.abs(x) < SHOWN_ZERO * scale, 0.0, x)


def _vector(v: Floats) -> str:
    return "(" + ", ".join(f"{round(c, 4) + 0.0:g}" for c in v) + ")"
