"""Whether a mechanism can be simulated; every reason why not, as sentences.

Each message names the body or joint, gives the number and says what to do. Each part reports its own problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import ROUNDED_AXIS, SAME_FEATURE
from .elements import (
    Element,
    MechanismError,
    NameRegistry,
    gravity_problems,
    turning_problems,
    velocity_problems,
)
from .forces import LOADS
from .joints import find_gap
from .mechanism import STRUCTURE, Mechanism
from .motion import Table, make_pieces
from .part_arrays import PartArrays, known_parts, read_parts
from .quick_checks import parts_to_check

# most joints for which the axes of bodies are compared
MOST_COMPARED = 2000

# number of times at which a driven length is checked
SAMPLES = 4097
# a spline that overshoots the range of its table by more than this fraction is reported
OVERSHOOT = 0.5


def check_mechanism(mechanism: Mechanism, *, closed: bool = True) -> None:
    """Raise MechanismError with every problem found; closed: joints that are apart count as a problem."""
    problems = find_problems(mechanism)
    if closed and not problems:
        problems = find_gaps(mechanism)
    if problems:
        _raise(mechanism, problems)


def _raise(mechanism: Mechanism, problems: list[str]) -> NoReturn:
    if len(problems) == 1:
        raise MechanismError(problems[0])
    lines = "\n".join(f"  - {line}" for line in problems)
    raise MechanismError(f"{len(problems)} problems in mechanism '{mechanism.name}':\n{lines}")


def find_problems(mechanism: Mechanism) -> list[str]:
    """All reasons why this mechanism cannot be simulated, in the order of its definition."""
    m = mechanism
    if wrong := list(gravity_problems(m.name, m.gravity)):
        return wrong
    if not m.bodies:
        return [f"mechanism '{m.name}' has no bodies; add one with rod() or body()"]
    known, arrays = NameRegistry(m), read_parts(m)
    return [
        *_names(m, arrays),
        *_of_parts(m, STRUCTURE, known, arrays),
        *_of_velocities(m, known),
        *_load_names(m),
        *_of_parts(m, LOADS, known, arrays),
        *(line for event in m.events for line in event.problems(m)),
    ]


def check_velocities(mechanism: Mechanism) -> None:
    """Raise MechanismError for impossible initial velocities; everything else was checked before."""
    if problems := list(_of_velocities(mechanism, NameRegistry(mechanism))):
        _raise(mechanism, problems)


def _of_velocities(m: Mechanism, known: NameRegistry) -> Iterator[str]:
    for given in m.velocities:
        yield from velocity_problems(given, known)
    for given in m.angular_velocities:
        yield from turning_problems(given, known)


def find_gaps(mechanism: Mechanism) -> list[str]:
    """The joints of an otherwise valid mechanism that are apart, as sentences."""
    arrays = known_parts(mechanism)
    apart = [arrays.joints[i] for i in np.flatnonzero(~arrays.is_one).tolist()]
    if not apart:
        return []
    known = NameRegistry(mechanism)
    return [
        line + _where(mechanism, "joints", joint)
        for joint in apart
        for line in find_gap(joint, known)
    ]


def _of_parts(
    m: Mechanism, blocks: Iterable[str], known: NameRegistry, arrays: PartArrays
) -> Iterator[str]:
    for block in blocks:
        for part in parts_to_check(block, getattr(m, block), arrays):
            for line in part.problems(known):
                yield line + _where(m, block, part)


def _where(m: Mechanism, block: str, part: Element) -> str:
    """Where the user added a part, if it was in Python."""
    file, line = m.added.get((block, part.name), ("", 0))
    return f" (added by line {line} of {Path(file).name})" if line else ""


def check_drive_times(mechanism: Mechanism, duration: float) -> None:
    """Raise MechanismError if a drive's table ends before the run, or a length is driven to zero during it."""
    if not mechanism.drives:
        return
    lengths = {joint.name for joint in mechanism.joints if joint.kind.row.is_link}
    for drive in mechanism.drives:
        pieces = make_pieces(drive.motion)
        end = pieces.end
        # the last time of a table may equal the duration up to rounding
        if duration > end * (1.0 + 1e-12):
            raise MechanismError(
                f"drive '{drive.name}': its table ends at {end:g} s, but the run lasts {duration:g} s; "
                "add rows, or shorten the run"
            )
        if drive.joint in lengths:
            times = np.union1d(np.linspace(0.0, duration, SAMPLES), pieces.breaks)
            for t in times[(times >= 0.0) & (times <= duration)].tolist():
                if not pieces.value(t) > 0.0:
                    raise MechanismError(
                        f"drive '{drive.name}': it drives the length of joint '{drive.joint}' to "
                        f"{pieces.value(t):.6g} m at t = {t:.6g} s; a length is more than zero: give another "
                        "motion, or drive a prismatic joint, whose travel has a sign"
                    )


def find_remarks(mechanism: Mechanism) -> list[str]:
    """Notes from its origin, and possible mistakes: bodies that no joint connects to the ground."""
    arrays = known_parts(mechanism)
    if arrays.remarks is None:
        arrays.remarks = [*_almost_parallel(mechanism), *_unconnected(mechanism, arrays)]
    return [*mechanism.remarks, *_overshooting(mechanism), *arrays.remarks]


def _unconnected(mechanism: Mechanism, arrays: PartArrays) -> Iterator[str]:
    """Bodies that no joint connects to the ground."""
    free = _free_groups(len(arrays.bodies), arrays.counts.tobytes(), arrays.body.tobytes())
    for group in free:
        body = mechanism.bodies[group[0]]
        if len(group) == 1:
            yield f"{body.what}: no joint reaches it, it moves freely"
        else:
            shown = ", ".join(f"'{mechanism.bodies[n].name}'" for n in group[1:9])
            shown += ", ..." if len(group) > 9 else ""
            yield f"{body.what}: joined to {shown} but not to the ground, all move freely"


@lru_cache(maxsize=8)
def _free_groups(bodies: int, counts: bytes, ends: bytes) -> tuple[tuple[int, ...], ...]:
    """Connected bodies that no joint connects to the ground; ends: bodies of all ends, counts: ends per joint.

    It depends on the topology alone, which callers often simulate with other numbers.
    """
    free: dict[int, list[int]] = {}
    joined = _first_joined(bodies, np.frombuffer(counts, np.int64), np.frombuffer(ends, np.int64))
    for n in np.flatnonzero(joined).tolist():
        free.setdefault(int(joined[n]), []).append(n - 1)
    return tuple(map(tuple, free.values()))


def _first_joined(bodies: int, counts: Ints, ends: Ints) -> Ints:
    """For the ground (0) and every body, the smallest number in its connected component."""
    count = 1 + bodies
    # there the ground comes after all bodies, here before them
    other = (ends + 1) % count
    # a joint without bodies has no ends
    counts = counts[counts > 0]
    one = np.repeat(other[np.cumsum(counts) - counts], counts)
    first = np.arange(count)
    while True:
        # both ends of a joint get the smaller of their two numbers, then each follows the chain to its first
        least = np.minimum(first[one], first[other])
        before = first.copy()
        np.minimum.at(first, before[one], least)
        np.minimum.at(first, before[other], least)
        first = first[first]
        if (first == before).all():
            return first


def _almost_parallel(m: Mechanism) -> Iterator[str]:
    """The two axes of a body that are treated as parallel but differ by more than rounding; the worst ones."""
    if m.dimension == 2 or len(m.joints) > MOST_COMPARED:
        return
    axes: dict[str, list[tuple[str, Floats]]] = {}
    for joint in m.joints:
        for end in joint.ends:
            given = joint.axis if end.axis is None else end.axis
            if given is not None and end.body != m.GROUND:
                axis = np.asarray(given, dtype=float) / np.linalg.norm(given)
                axes.setdefault(end.body, []).append((joint.name, axis))
    worst, sentence = ROUNDED_AXIS, ""
    for body, directions in axes.items():
        for (one, a), (other, b) in combinations(directions, 2):
            apart = float(min(np.linalg.norm(a - b), np.linalg.norm(a + b)))
            if worst < apart <= SAME_FEATURE:
                worst = apart
                sentence = (
                    f"body '{body}': the axes of '{one}' and '{other}' are {apart:.1e} rad apart and are taken as "
                    "parallel, which they are to 12 digits"
                )
    if sentence:
        yield sentence


def _overshooting(m: Mechanism) -> Iterator[str]:
    for drive in m.drives:
        if not isinstance(drive.motion, Table):
            continue
        pieces, values = make_pieces(drive.motion), np.array(drive.motion.values)
        times = np.linspace(drive.motion.times[:-1], drive.motion.times[1:], 16).ravel()
        path = np.array([pieces.value(t) for t in times.tolist()])
        low, high = float(values.min()), float(values.max())
        beyond = np.maximum(path - high, low - path)
        n = int(np.argmax(beyond))
        if beyond[n] > OVERSHOOT * (high - low):
            yield (
                f"drive '{drive.name}': the values of its table lie between {low:g} and {high:g}, but the cubic "
                f"spline through them goes to {path[n]:.4g} at t = {times[n]:.4g} s; add rows where it bends, or "
                "use a SmoothStep"
            )


def _names(m: Mechanism, arrays: PartArrays) -> Iterator[str]:
    bodies = arrays.names
    points = arrays.joint_names + [p.name for p in m.markers]
    for what, names in (("bodies", bodies), ("joints or points", points)):
        if len(set(names)) == len(names):
            continue
        for name, count in Counter(names).items():
            if count > 1:
                yield f"{count} {what} are called '{name}'; give each a different name"
    if m.GROUND in bodies:
        yield f"a body is called '{m.GROUND}', the name of the fixed frame; choose another name"


def _load_names(m: Mechanism) -> Iterator[str]:
    for name, count in Counter(load.name for load in m.loads()).items():
        if count > 1:
            yield f"{count} forces or drives are called '{name}'; give each a different name"
    links = {j.name for j in m.joints if j.kind.row.is_link} if m.springs else set()
    for spring in m.springs:
        # both have a length that is read by name
        if spring.name in links:
            yield f"a spring and a distance joint are both called '{spring.name}'; rename one of them"
