"""An inspection in sentences, with the numbers that decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..names import counted
from ..thresholds import MISFIT

if TYPE_CHECKING:
    from .crossings import Crossing, NearMiss
    from .inspection import Inspection
    from .locked import Locked
    from .mobility import Driven
    from .redundancy import Redundancy

# longer lists are cut on the screen; the record is complete
MOST_LINES = 12
# classes as the summary words them; redundancy has its own clause
SUMMARY_WORDS = {
    "inconsistent": "the joints contradict each other",
    "mobile within tolerance": "mobile only within tolerance",
    "locked": "locked",
    "crossing": "singular here",
    "near-singular": "close to a singular configuration",
}


def describe_moments(crossings: Sequence[Crossing], misses: Sequence[NearMiss]) -> list[str]:
    """Crossings and near misses of a run, one line each."""
    lines = []
    if crossings:
        times = ", ".join(f"{c.time:.9g}" for c in crossings[:3])
        rises = {f"{c.mobility_motion} to {c.mobility_here}" for c in crossings}
        lines.append(
            f"{counted(len(crossings), 'crossing')} at t = {times}{', ...' if len(crossings) > 3 else ''} s: the "
            f"mobility rises from {' or '.join(sorted(rises))}"
        )
    if misses:
        least = min(misses, key=lambda c: c.value)
        lines.append(
            f"{counted(len(misses), 'near-singular moment')}, the closest at t = {least.time:.9g} s (smallest "
            f"singular value {least.value:.1e})"
        )
    return lines


def write_summary(x: Inspection) -> str:
    """Degrees of freedom, redundant constraints and singularity: three clauses, the same on all pages."""
    return "; ".join([state_dof(x), _state_redundancy(x), _state_singularity(x)])


def state_dof(x: Inspection) -> str:
    """The degrees of freedom, their drives, and idle spins."""
    m = x.mobility
    idle = len(m.idle_spins)
    number = m.motion - idle
    text = counted(number, "degree of freedom", "degrees of freedom")
    if m.here != m.motion:
        text += f" ({m.here - idle} instantaneously)"
    prescribed = number - _left_by(x) if x.driven else 0
    if x.driven and prescribed:
        names = _names([f"'{name}'" for name in x.driven.drives])
        text += f", {f'{prescribed} of them ' if prescribed < number else ''}driven by {names}"
    if idle:
        names = _names([f"'{name}'" for name in m.idle_spins])
        spins, axes = ("spin", "its axis") if idle == 1 else ("spins", "their axes")
        text += f", plus the idle {spins} of {names} about {axes}"
    return text


def _left_by(x: Inspection) -> int:
    """Degrees of freedom that the drives leave, without idle spins."""
    assert x.driven is not None
    return max(x.driven.free_motion - len(x.mobility.idle_spins), 0)


def _state_redundancy(x: Inspection) -> str:
    here, motion = x.mobility.redundant_here, x.mobility.redundant_motion
    if not here:
        return "no redundant constraints"
    text = counted(here, "redundant constraint")
    if motion == here:
        return text
    return f"{text} here, {motion or 'none'} nearby"


def _state_singularity(x: Inspection) -> str:
    words = [SUMMARY_WORDS[word] for word in x.mobility.classes if word in SUMMARY_WORDS]
    return ", ".join(words) or "not singular here"


def print_lines(x: Inspection) -> list[str]:
    """All printed lines, including the dependent sets and remedies."""
    kind = "planar" if x.dimension == 2 else "spatial"
    size = f"{kind}, {counted(x.bodies, 'body', 'bodies')}, {counted(x.joints, 'joint')}"
    summary, *sentences = x.sentences
    lines = [summary, f"{x.mechanism}: {size}", *sentences]
    if x.redundancy.sets:
        lines.append("Dependent sets, each minimal:")
        lines += _cut([f"  {s}" for s in x.redundancy.sets])
    if x.redundancy.unnamed:
        lines.append(
            f"  and {x.redundancy.unnamed} more that no single loop shows (the mechanism is too "
            "large to look at several loops at once)"
        )
    if x.driven and x.driven.sets:
        lines.append("Drives and joints that depend on each other:")
        lines += _cut([f"  {s}" for s in x.driven.sets])
    remedies = _remedies(x.redundancy)
    if remedies:
        lines.append("Without a new degree of freedom, one of these removes redundant equations:")
        lines += _cut([f"  {line}" for line in remedies])
    return lines


def write_sentences(x: Inspection) -> Iterator[str]:
    """The summary and the numbers that decided, without the list of dependent sets."""
    m = x.mobility
    yield f"{x.summary}."
    if x.opening:
        yield x.opening
    yield (
        f"Mobility {m.count} by the Gruebler-Kutzbach formula, {m.here} instantaneous, {m.motion} finite: "
        f"{', '.join(m.classes)}."
    )
    yield from _describe_motions(x)
    if x.locked is not None and x.locked.nearly:
        yield _play(x.locked)
    if "near-singular" in m.classes and x.locked is None:
        yield (
            f"A singular configuration is near: the smallest nonzero value is {m.rank.smallest:.2e}, and "
            "reactions grow with its inverse."
        )
    if x.driven:
        yield from _driven(x.driven, _left_by(x))
    yield _redundant(x)
    if x.poses and m.rank.rows:
        yield _elsewhere(x)
    yield _decided(x)
    if m.free_bodies:
        yield f"Without any joint: {_names(m.free_bodies)}."
    if m.idle_spins:
        spins = counted(len(m.idle_spins), "idle spin")
        yield f"The mobilities include {spins} of thin bodies about their axes: {_names(m.idle_spins)}."


def _describe_motions(x: Inspection) -> Iterator[str]:
    """What is finite motion, and what infinitesimal."""
    m = x.mobility
    back = m.here - m.motion
    if "crossing" in m.classes:
        several = x.branches is None or len(x.branches) > 1
        yield (
            f"This is a singular configuration: the instantaneous mobility is {m.here}, that of the branches "
            f"through it {' or '.join(str(d) for d in m.dimensions)}"
            f"{'; only a velocity selects one of them' if several else ''}."
        )
        if x.branches is None:
            yield "It is too large for the analysis of its branches: further branches are not ruled out."
    elif back and "locked" in m.classes:
        yield (
            f"It is shaky: {counted(back, 'velocity', 'velocities')} that the joints allow "
            f"{'is' if back == 1 else 'are'} infinitesimal only; no finite motion follows."
        )
    elif back:
        yield (
            f"Of the {m.here} velocities that the joints allow, here and nearby, {back} "
            f"{'is' if back == 1 else 'are'} infinitesimal only."
        )
    elif "locked" in m.classes and not (x.locked is not None and x.locked.nearly):
        yield "Nothing can move" + (" but idle spins" if m.idle_spins else "") + ": a structure."
    if x.branches is not None and x.branches.classification != "regular":
        yield f"Branches: {' '.join(x.branches.sentences)}"


def _driven(d: Driven, left: int) -> Iterator[str]:
    names = _names([f"'{name}'" for name in d.drives])
    remain = (
        counted(left, "degree of freedom is", "degrees of freedom are")
        if left
        else "no degree of freedom is"
    )
    where = " nearby" if not left and d.free_here > d.free_motion else ""
    if left and d.moving:
        where = ", of " + _names([f"'{name}'" for name in d.moving])
    yield f"With {names} prescribed, {remain} left{where}."
    if d.locked_branches is not None and d.idle_here:
        first = counted(
            d.locked_branches.dof, "first-order degree of freedom", "first-order degrees of freedom"
        )
        yield (
            f"In this configuration the drives, when locked, leave {first} "
            f"(a type II singularity of the drives). {' '.join(d.locked_branches.sentences)}"
        )
    if d.free_here > d.free_motion and not d.idle_here:
        here = counted(d.free_here, "degree of freedom", "degrees of freedom")
        yield (
            f"In this very configuration the drives leave {here}: nearby they determine the motion, but they do "
            "not select one of the branches that meet here."
        )
    if d.idle_motion:
        yield (
            f"{counted(d.idle_motion, 'drive')} too many: what {_it(d.idle_motion)} prescribe"
            f"{'s' if d.idle_motion == 1 else ''} follows from the joints and the other drives."
        )
    elif d.idle_here:
        yield (
            f"This is a dead centre of the drives: {counted(d.idle_here, 'drive')} cannot move the mechanism "
            "here, and the force needed grows without bound nearby."
        )


def _it(n: int) -> str:
    return "it" if n == 1 else "they"


def _play(locked: Locked) -> str:
    allowed = MISFIT * locked.length
    lead = "Strictly, it is locked"
    if locked.exact:
        exact = counted(locked.exact, "degree of freedom", "degrees of freedom")
        lead = f"Strictly, it has {exact}, and {locked.dof} more only with joint play"
    velocity = "the velocity that is" if locked.dof == 1 else "each velocity that is"
    text = (
        f"{lead} (smallest singular value {locked.value:.1e}): along {velocity} almost free its joints open by "
        f"up to {locked.misfit:.2e} m within {locked.reach:.2g} radians or lengths. "
    )
    if locked.within(allowed):
        return text + f"Up to {allowed:.2e} m count as mobile: it is mobile within that tolerance."
    return text + f"Only up to {allowed:.2e} m count as mobile."


def _redundant(x: Inspection) -> str:
    m = x.mobility
    rows = m.rank.rows
    if rows == 0:
        return "There are no joint equations."
    if m.redundant_here == 0:
        return f"All {rows} joint equations are independent." if rows > 1 else "One joint equation."
    text = f"{m.redundant_here} of the {rows} joint equations {'is' if m.redundant_here == 1 else 'are'} redundant"
    if m.redundant_motion == m.redundant_here:
        text += (
            f", here and in all {len(m.nearby)} configurations examined nearby" if m.nearby else ""
        )
    elif m.redundant_motion:
        text += f" here, {m.redundant_motion} nearby on the motion"
    else:
        text += " here, none nearby on the motion"
    if m.motion > max(m.count, 0):
        text += "; so the mobility exceeds that of the formula"
    return text + "."


def _elsewhere(x: Inspection) -> str:
    numbers = sorted({n.rank.rows - n.rank.rank for n in x.poses})
    many = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    verb = "is" if numbers in ([0], [1]) else "are"
    far = max(n.distance for n in x.poses)
    return (
        f"In {counted(len(x.poses), 'random configuration')} (up to {far:.2g} rad or lengths away) "
        f"{'none' if numbers == [0] else many} of them {verb} redundant."
    )


def _decided(x: Inspection) -> str:
    r = x.mobility.rank
    text = f"Rank {r.rank} of {r.columns} columns, by {r.how}"
    if r.above:
        text += f": the smallest nonzero is {r.smallest:.3g}"
    if r.below:
        text += f", the largest that counts as zero {r.below[0]:.1e}"
    text += f", the tolerance {r.tolerance:g}."
    if not r.clear:
        text += " The gap is narrow: take the rank with care."
    return text


def _remedies(r: Redundancy) -> list[str]:
    """Equivalent replacements of joints, in one line."""
    alike: dict[tuple[str, int], list[str]] = {}
    for x in r.replacements:
        alike.setdefault((x.by, x.removes), []).append(x.joint)
    return [
        f"{by + ' instead of' if by else 'leaving out'} "
        f"{'joint ' if len(joints) == 1 else 'one of '}{_names(joints)}: removes {removes}"
        for (by, removes), joints in alike.items()
    ]


def _names(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:MOST_LINES])
    return shown + (f" and {len(names) - MOST_LINES} more" if len(names) > MOST_LINES else "")


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"  and {len(lines) - MOST_LINES} more"]
