"""Runs in segments: their outcomes joined to one, and results of single segments to read forces from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arrays import Floats, plain_sum
from ..mechanism import MechanismError
from ..mechanism.active_parts import ActiveParts
from ..methods import Run
from ..methods.outcome import (
    DERIVED,
    LocatedEvents,
    Outcome,
    Record,
    RunSegment,
    StepHistory,
    join_records,
)
from ..methods.status import Ending
from ..model import Model, make_model
from ..thresholds import SAME_MODEL
from ..verdict.crossings import ListedMoments
from ..verdict.joint_equations import JointEquations, make_joint_equations
from ..verdict.reactions import Reactions

if TYPE_CHECKING:
    from ..methods.monitor import Watch

# a `Result`, whose module imports this one
Result = Any


class Acted(Protocol):
    """What an event did; energy: change of the total energy, in model units."""

    words: str
    kind: str
    energy: float


def join_outcomes(
    problem: Run,
    titles: Sequence[str],
    segments: Sequence[tuple[ActiveParts, Outcome]],
    found: Sequence[Mapping[int, Acted]],
    end: Ending | None,
) -> Outcome:
    """One outcome of a run in segments.

    problem: the run; titles: of all events; found: effects of events at the end of each segment, perhaps not of
    the last, by the numbers of the events; end: how the run ended, if its last segment does not state it.
    """
    model, kept, parts = problem.model, [], []
    rows, work, restored = 0, 0.0, 0.0
    for number, (active, outcome) in enumerate(segments):
        record = outcome.record
        record.restored[:] += restored
        if not record.model.loaded:
            # such a model does not count work; that of earlier segments remains
            record.work[:] = work
        if len(record):
            work, restored = float(record.work[-1]), float(record.restored[-1])
        # the first output of a later segment is its start; the last one before an event is the state there
        own = slice(int(number > 0), len(record))
        is_last = number == len(segments) - 1
        if not is_last and len(record) and record.times[-1] not in problem.times:
            own = slice(own.start, len(record) - 1)
        parts.append(record[own])
        begin = replace(outcome, record=record[:1], events=None, segments=())
        first = float(record.times[0]) if len(record) else problem.duration
        kept.append(RunSegment(active.text, first, rows, len(parts[-1]), begin))
        rows += len(parts[-1])
    outcomes = [outcome for _, outcome in segments]
    last = outcomes[-1]
    status, message = end or Ending(last.status, last.message)
    return replace(
        last,
        status=status,
        message=message,
        record=join_derived(model, parts),
        counters=_summed([o.counters for o in outcomes]),
        timings=_summed([o.timings for o in outcomes]),
        notes=[*dict.fromkeys(note for outcome in outcomes for note in outcome.notes)],
        steps=StepHistory(
            *(
                np.concatenate([getattr(o.steps, f.name) for o in outcomes])
                for f in fields(StepHistory)
            )
        ),
        watch=_watch(model, outcomes),
        motion=None,
        lost=plain_sum(o.lost for o in outcomes),
        events=_events(problem, titles, outcomes, found),
        segments=tuple(kept),
    )


def join_derived(model: Model, parts: Sequence[Record]) -> Record:
    """The outputs of segments in sequence, in the model of the run, with what only the segments determine."""
    joined = replace(join_records(model, [*parts]), model=model, law=None)
    known = vars(joined)
    known["a"] = np.concatenate([part.a for part in parts])
    known["norms"] = np.concatenate([part.norms for part in parts])
    known["energies"] = np.concatenate([part.energies for part in parts], axis=1)
    known["drive_forces"] = np.concatenate([_drive_forces(model, part) for part in parts])
    return joined


def _drive_forces(model: Model, part: Record) -> Floats:
    """Forces of the drives of the run; 0 where a drive is released."""
    forces, acting = np.zeros((len(part), len(model.readings.drives))), part.model.readings.drives
    for name, drive in model.readings.drives.items():
        if name in acting:
            forces[:, drive.number] = part.drive_forces[:, acting[name].number]
    return forces


def _summed(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: plain_sum(table.get(name, 0) for table in tables) for name in names}


def _watch(model: Model, outcomes: Sequence[Outcome]) -> Watch | None:
    """Monitoring data of the whole run: only how far it was monitored; candidates are those of the segments."""
    first, last = outcomes[0].watch, outcomes[-1].watch
    if first is None or last is None:
        return None
    none = np.zeros(model.equations)
    return replace(
        first, stretches=(), start=none, reference_pivots=none, until=last.until, left=last.left
    )


def _events(
    problem: Run,
    titles: Sequence[str],
    outcomes: Sequence[Outcome],
    found: Sequence[Mapping[int, Acted]],
) -> LocatedEvents:
    """All events of the run, with what those at the ends of segments did."""
    located = [o.events for o in outcomes]
    units = next((list(e.units) for e in located if e is not None), [""] * len(titles))
    listed = [
        (n, e, i) for n, e in enumerate(located) if e is not None for i in range(len(e.kinds))
    ]
    # the last occurrences in a segment are those that ended it
    acted = {
        (n, int(np.flatnonzero(e.which == which)[-1])): effect
        for n, (e, effects) in enumerate(zip(located, found, strict=False))
        if e is not None
        for which, effect in effects.items()
    }
    did = [acted.get((n, i)) for n, _, i in listed]
    changes = np.array([0.0 if x is None else x.energy for x in did])
    records = [e.record[i : i + 1] for _, e, i in listed]
    return LocatedEvents(
        names=[*titles],
        units=units,
        which=np.array([e.which[i] for _, e, i in listed], dtype=np.int64),
        kinds=[
            (x.kind if x is not None else "") or e.kinds[i]
            for (_, e, i), x in zip(listed, did, strict=True)
        ],
        values=np.array([e.values[i] for _, e, i in listed]),
        gaps=np.array([e.gaps[i] for _, e, i in listed]),
        record=replace(join_records(problem.model, records), model=problem.model, law=None),
        segments=np.array([n for n, _, _ in listed], dtype=np.int64),
        energies=changes,
        actions=["" if x is None else x.words for x in did],
    )


# results of segments


def segment_model(model: Model, text: str) -> Model:
    """The model of a segment; model: of the run, text: what acts in it.

    Raises MechanismError if it had other coordinates than the run, which does not depend on the user.
    """
    own = make_model(ActiveParts.read(text).apply(model.mechanism))
    same = model.coordinates == own.coordinates and np.array_equal(
        model.place_rows.col, own.place_rows.col
    )
    if not same or not np.allclose(
        model.place_rows.val, own.place_rows.val, SAME_MODEL, SAME_MODEL
    ):
        raise MechanismError(
            f"'{model.name}': what an event changes needs other coordinates; please report this mechanism"
        )
    return own


def segment_results(result: Result) -> tuple[Result, ...]:
    """One result per segment, with its outputs, its mechanism and its model; empty if nothing changed."""
    return tuple(
        _segment_result(
            result, segment, result.record[segment.first : segment.first + segment.count]
        )
        for segment in result.outcome.segments
    )


def _segment_result(result: Result, segment: RunSegment, rows: Record) -> Result:
    model = segment.outcome.record.model
    record = replace(rows, model=model, law=segment.outcome.record.law)
    for name in DERIVED:
        if name in vars(rows) and name != "drive_forces":
            vars(record)[name] = vars(rows)[name]
    error = result.outcome.error
    own = slice(segment.first, segment.first + segment.count)
    outcome = replace(
        segment.outcome, record=record, error=None if error is None else error[own], segments=()
    )
    start = segment.outcome.record
    return replace(result, mechanism=model.mechanism, model=model, start=start, outcome=outcome)


def state_at(result: Result, number: int, row: Record) -> Result:
    """A result with one state of a segment."""
    segment = result.outcome.segments[number]
    return _segment_result(result, replace(segment, first=0, count=len(row)), row)


def result_at(result: Result, times: Floats) -> Result:
    """The same run at other times; each segment reads its own polynomials, an event the state before it."""
    parts, segments, first = [], [], 0
    starts = np.array([segment.begin for segment in result.outcome.segments])
    owner = np.maximum(np.searchsorted(starts, times, side="left") - 1, 0)
    for number, segment in enumerate(result.outcome.segments):
        wanted = times[owner == number]
        motion = segment.outcome.motion
        assert motion is not None
        parts.append(motion.at(wanted))
        segments.append(replace(segment, first=first, count=len(wanted)))
        first += len(wanted)
    record = join_derived(result.model, parts)
    return replace(
        result,
        outcome=replace(result.outcome, record=record, error=None, segments=tuple(segments)),
    )


def join_values(parts: Iterable[Result], read: Callable[[Result], Floats]) -> Floats:
    """A quantity that each segment determines, over the whole run."""
    return np.concatenate([read(part) for part in parts])


def all_drives(result: Result) -> dict[str, Any]:
    """Drives, locks and stops that act in some segment, by name, with their rows in the first such segment."""
    found = dict(result.model.readings.drives)
    for part in result.segments:
        found = {**part.model.readings.drives, **found}
    return found


def join_moments(parts: Iterable[Result]) -> tuple[Any, Any]:
    """Crossings and near misses of all segments."""
    moments = [part._moments for part in parts]
    return tuple(ListedMoments(x for pair in moments for x in pair[i]) for i in (0, 1))  # type: ignore[return-value]


def join_reactions(result: Result, found: Sequence[Reactions]) -> Reactions:
    """Reactions of all segments, in rows of all joints and of all drives, locks and stops."""
    mechanism = result.mechanism.copy()
    named = {d.name: d for part in result.segments for d in part.mechanism.drives}
    mechanism.drives = [*named.values()]
    equations = make_joint_equations(mechanism)
    columns = [_columns_of(equations, reactions.equations) for reactions in found]

    def spread(values: Floats, at: Floats, axis: int) -> Floats:
        shape = [*values.shape]
        shape[axis] = equations.rows
        out = np.zeros(shape)
        out[(slice(None),) * axis + (at,)] = values
        return out

    return Reactions(
        equations=equations,
        values=np.concatenate(
            [spread(r.values, c, 1) for r, c in zip(found, columns, strict=True)]
        ),
        directions=np.concatenate(
            [spread(r.directions, c, 1) for r, c in zip(found, columns, strict=True)]
        ),
        offsets=np.concatenate([r.offsets for r in found]),
        self_stress=[
            spread(s, c, 0) for r, c in zip(found, columns, strict=True) for s in r.self_stress
        ],
        smallest=np.concatenate([r.smallest for r in found]),
        imbalance=np.concatenate([r.imbalance for r in found]),
        sharing=found[0].sharing,
        unresolved=np.concatenate([r.unresolved for r in found]),
        poles=(),
        at_pole=np.concatenate([np.full(len(r.values), -1) for r in found]),
    )


def _columns_of(whole: JointEquations, part: JointEquations) -> Any:
    """The rows of all equations that the equations of a segment are."""
    names = [_row_keys(equations) for equations in (whole, part)]
    number = {key: n for n, key in enumerate(names[0])}
    return np.array([number[key] for key in names[1]], dtype=np.int64)


def _row_keys(equations: JointEquations) -> list[tuple[Any, ...]]:
    """What identifies a row: its pair, type, direction and drive."""
    drives = (*equations.drives, "")
    return [
        (int(pair), bool(about), int(direction), drives[int(drive)])
        for pair, about, direction, drive in zip(
            equations.row_pair,
            equations.row_about,
            equations.row_direction,
            equations.row_drive,
            strict=True,
        )
    ]
