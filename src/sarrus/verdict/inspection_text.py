"""An inspection in sentences, with the numbers that decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..thresholds import MISFIT

if TYPE_CHECKING:
    from .crossings import Crossing, NearMiss
    from .inspection import Inspection
    from .locked import Locked
    from .mobility import Driven
    from .redundancy import Redundancy

# longer lists are cut on the screen; the record is complete
MOST_LINES = 12


def tell_moments(crossings: Sequence[Crossing], misses: Sequence[NearMiss]) -> list[str]:
    """Crossings and near misses of a run, one line each."""
    lines = []
    if crossings:
        times = ", ".join(f"{c.time:.9g}" for c in crossings[:3])
        rises = {f"{c.mobility_motion} to {c.mobility_here}" for c in crossings}
        lines.append(
            f"{_many(len(crossings), 'crossing')} at t = {times}{', ...' if len(crossings) > 3 else ''} s: the "
            f"mobility rises from {' or '.join(sorted(rises))}"
        )
    if misses:
        least = min(misses, key=lambda c: c.value)
        lines.append(
            f"{_many(len(misses), 'near-singular moment')}, the closest at t = {least.time:.9g} s (smallest "
            f"singular value {least.value:.1e})"
        )
    return lines


def state_freedom(x: Inspection) -> str:
    """The degrees of freedom and their drives in a clause, worded identically everywhere."""
    m = x.mobility
    text = _many(m.motion, "degree of freedom", "degrees of freedom")
    if m.here != m.motion:
        text += f" ({m.here} instantaneously)"
    if m.idle_spins:
        text += f", {len(m.idle_spins)} of them the spin of a thin rod about itself"
    if x.driven:
        names = _names([f"'{name}'" for name in x.driven.drives])
        left = x.driven.free_motion
        text += f", {f'{m.motion - left} of them ' if left else ''}driven by {names}"
    words = [word for word in m.classes if word != "regular"]
    return f"{text}; {', '.join(words) or 'not singular'}"


def print_lines(x: Inspection) -> list[str]:
    """All printed lines, including the dependent sets and remedies."""
    kind = "planar" if x.dimension == 2 else "spatial"
    lines = [
        f"{x.mechanism}: {kind}, {_many(x.bodies, 'body', 'bodies')}, {_many(x.joints, 'joint')}",
        *x.sentences,
    ]
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
    """The verdict without the list of dependent sets."""
    m = x.mobility
    if x.opening:
        yield x.opening
    yield (
        f"Gruebler's count is {m.count}, the mobility here {m.here}, the mobility of the motion "
        f"{m.motion}: {', '.join(m.classes)}."
    )
    back = m.here - m.motion
    if "crossing" in m.classes:
        several = x.branches is None or len(x.branches) > 1
        yield (
            f"This is a singular configuration: the instantaneous mobility is {m.here}, that of the branches "
            f"through it {' or '.join(str(d) for d in m.dimensions)}"
            f"{'; only a velocity chooses between branches' if several else ''}."
        )
        if x.branches is None:
            yield "It is too large for the analysis of its branches: others than those found are not ruled out."
    elif back and "locked" in m.classes:
        yield (
            f"It is shaky: {_many(back, 'velocity', 'velocities')} that the joints allow here "
            f"lead{'s' if back == 1 else ''} back, so it can move by infinitesimal amounts only."
        )
    elif back:
        yield (
            f"Of the {m.here} velocities that the joints allow, here and nearby, {back} "
            f"lead{'s' if back == 1 else ''} back: infinitesimal motions only."
        )
    elif "locked" in m.classes and not (x.locked is not None and x.locked.nearly):
        yield "Nothing can move" + (" but idle spins" if m.idle_spins else "") + ": a structure."
    if x.branches is not None and x.branches.classification != "regular":
        yield f"Branches: {' '.join(x.branches.sentences)}"
    if x.locked is not None and x.locked.nearly:
        yield _play(x.locked)
    if "near-singular" in m.classes and x.locked is None:
        yield (
            f"A singular configuration is near: the smallest value that counts is {m.rank.smallest:.2e}, and "
            "reactions grow with its inverse."
        )
    if x.driven:
        yield from _driven(x.driven, m.motion)
    yield _redundant(x)
    if x.poses and m.rank.rows:
        yield _elsewhere(x)
    yield _decided(x)
    if m.free_bodies:
        yield f"Without any joint: {_names(m.free_bodies)}."
    if m.idle_spins:
        yield (
            f"{_many(len(m.idle_spins), 'freedom is', 'freedoms are')} the spin of a thin body about "
            f"its own axis, which moves nothing else: {_names(m.idle_spins)}."
        )


def _driven(d: Driven, mobility: int) -> Iterator[str]:
    names = _names([f"'{name}'" for name in d.drives])
    taken = mobility - d.free_motion
    if mobility == taken:
        nearby = " nearby" if d.free_here else ""
        yield f"{_many(mobility, 'freedom')}, driven by {names}: nothing is left free{nearby}."
    else:
        yield (
            f"{_many(mobility, 'freedom')}, {taken} of them driven by {names}: "
            f"{d.free_motion} left free."
        )
    if d.held is not None and d.idle_here:
        left = _many(
            d.held.freedoms, "first-order degree of freedom", "first-order degrees of freedom"
        )
        yield (
            f"At this configuration the drives held leave {left} "
            f"(a type II singularity of the drives). {' '.join(d.held.sentences)}"
        )
    if d.free_here > d.free_motion and not d.idle_here:
        yield (
            f"At this very position the drives leave {_many(d.free_here, 'freedom')}: they hold it nearby, but "
            "do not choose between the motions that meet here."
        )
    if d.idle_motion:
        yield (
            f"{_many(d.idle_motion, 'drive')} too many: what {_it(d.idle_motion)} prescribe"
            f"{'s' if d.idle_motion == 1 else ''} follows from the joints and the other drives."
        )
    elif d.idle_here:
        yield (
            "This is a dead position of the drives: "
            f"{_many(d.idle_here, 'drive has', 'drives have')} no hold on the motion here, and the "
            "force it would need grows beyond all bounds nearby."
        )


def _it(n: int) -> str:
    return "it" if n == 1 else "they"


def _play(locked: Locked) -> str:
    allowed = MISFIT * locked.length
    lead = (
        f"Of its {locked.exact + locked.freedoms} freedoms {locked.freedoms} "
        f"{'is' if locked.freedoms == 1 else 'are'} so almost only, in truth it has {locked.exact}"
        if locked.exact
        else "In truth it is locked"
    )
    velocity = "the velocity that is" if locked.freedoms == 1 else "each velocity that is"
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
        return f"None of the {rows} joint equations depends on others."
    text = f"{m.redundant_here} of the {rows} joint equations depend on others here"
    if m.redundant_here == 1:
        text = f"One of the {rows} joint equations depends on others here"
    if m.redundant_motion == m.redundant_here:
        text += f" and at all {len(m.nearby)} poses looked at nearby" if m.nearby else ""
    elif m.redundant_motion:
        text += f", {m.redundant_motion} nearby on the motion"
    else:
        text += ", none nearby on the motion"
    if m.motion > max(m.count, 0):
        text += "; so it moves more than the count says"
    return text + "."


def _elsewhere(x: Inspection) -> str:
    numbers = sorted({n.rank.rows - n.rank.rank for n in x.poses})
    many = (
        f"{numbers[0]} of them" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} of them"
    )
    many = "none of them" if numbers == [0] else many
    depend = "depends" if numbers in ([0], [1]) else "depend"
    far = max(n.distance for n in x.poses)
    return (
        f"At {_many(len(x.poses), 'random pose')} of the mechanism (up to {far:.2g} rad or lengths away) "
        f"{many} {depend} on others."
    )


def _decided(x: Inspection) -> str:
    r = x.mobility.rank
    text = f"Rank {r.rank} of {r.columns} columns, by {r.how}"
    if r.above:
        text += f": the smallest that counts is {r.smallest:.3g}"
    if r.below:
        text += f", the largest that does not {r.below[0]:.1e}"
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


def _many(n: int, one: str, more: str | None = None) -> str:
    return f"{n} {one if n == 1 else more or one + 's'}"
