"""A whole run as one kernel: steps, outputs and summary, for runs that need no Python in between.

The steps are those of series_step.py and the outputs those of recording.py, so the numbers are bitwise those of a
single run by `simulate`. Whatever `simulate` would decide in Python ends such a run as UNCERTAIN, and the run
falls back to `simulate`: a step that starts or ends near a singular configuration, whose branch has to be
certified; an energy balance that requires a note; dampers that may be stiff; drives that contradict each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import (
    CONTRADICTION,
    NO_PROGRESS_STEPS,
    SINGULAR_STEP_END,
)
from .applied_forces import eval_decay, eval_load_energy, eval_load_forms
from .compiler import entry, exact, kernel
from .elements.drive import drive_constraints
from .forms import eval_constraints, eval_energy
from .polynomials import cut_series, eval_series
from .recording import Sampling, sample_state, settle_angles
from .return_codes import DONE, FULL, UNCERTAIN
from .series_step import (
    END_ENERGY,
    EXCHANGED,
    FIRST_ENERGY,
    LOSS,
    MOVED,
    PIVOT_RATIO,
    REDUNDANT,
    RELAXED,
    RESTORED,
    STEPS,
    STRAIN,
    TERMS,
    TIME,
    StepRules,
    begin,
    look_ahead,
    take_step,
)
from .simd import shared
from .solve import count_redundant
from .step_control import CHECKED_AFTER, LEFT, STIFF, drift_at_rest, noted_drift

# Columns read from configurations and from velocities.
PLACE, RATE = 0, 1
# Indices of the summary: largest correction by a projection, sum of the possible accuracy losses of steps, sum of
# the energy corrections, energy at the start as computed for outputs, largest drift from it at the outputs, and of
# the energy balance: largest energy exchanged, largest term of the energy, strain energy at the start.
(MOST_MOVED, LOST, PUT_BACK, START_ENERGY, DRIFT, MOST_EXCHANGED, LARGEST_TERM, START_STRAIN) = (
    range(8)
)
# Time of the last check of the dampers.
SINCE = 8
SUMMARY = 9
# Indices of the counts: why the run ended, the next output, the number of the run.
REASON, NEXT, ME = 0, 1, 2
COUNTS = 3
# A run falls back to `simulate` slightly before `simulate` would write a note or try another method: the two
# evaluate at the same times but sum in different orders.
ALIKE = 0.9


class RunRules(NamedTuple):
    """Rules for all runs of a group: rules of steps and outputs, and where `simulate` has to decide.

    setting: the tolerance that the user gave. damped: whether there are dampers. most_steps: largest number of
    steps.
    """

    steps: StepRules
    sampling: Sampling
    setting: float
    damped: bool
    most_steps: int


class StepSeries(NamedTuple):
    """Memory of one step: series of the motion, of angles and work, and the record of its end (series_step.py)."""

    qc: Floats
    angle_and_work_series: Floats
    seen: Floats


class ReadingColumns(NamedTuple):
    """Columns to be read from a state: rows over coordinates or their rates, compressed, and an offset."""

    level: Ints
    start: Ints
    col: Ints
    val: Floats
    offset: Floats


class RunSummary(NamedTuple):
    """Data kept of a run: summary, counts; smallest, largest and final value of each column."""

    summary: Floats
    counts: Ints
    least: Floats
    largest: Floats
    final: Floats


class OutputArrays(NamedTuple):
    """Where outputs are stored.

    times: of the outputs [s], from 0 to the end of the run. counted: the first output requested, and the one after
    the last. stride: column c of output k of a run is at run stride[0] + k stride[1] + c stride[2], with k counted
    from the first one requested; stride[3]: 0 if outputs are not stored.
    """

    times: Floats
    counted: Ints
    values: Floats
    stride: Ints


def make_record(columns: int) -> RunSummary:
    """Memory for the data kept of a run."""
    return RunSummary(
        np.zeros(SUMMARY), np.zeros(COUNTS, np.int64), *(np.zeros(columns) for _ in range(3))
    )


@exact
def read_column(readings, c, q, v):
    """A column of a state: products are rounded before they are added, as in sparse matrices."""
    s = 0.0
    for n in range(readings.start[c], readings.start[c + 1]):
        x = q[readings.col[n]] if readings.level[c] == PLACE else v[readings.col[n]]
        s += readings.val[n] * x
    return readings.offset[c] + s if readings.level[c] == PLACE else s


@kernel
def eval_balance(form, out, loads, s, angle_and_work_series, restored):
    """Kinetic and potential energy minus work and energy corrections, s after the start of a step.

    out.q, out.v: the state there.
    """
    kinetic, potential = eval_energy(form, out.q, out.v)
    work = 0.0
    if loads is not None:
        na = len(loads.theta)
        last = angle_and_work_series.shape[1] - 1
        for i in range(na):
            loads.theta[i] = eval_series(angle_and_work_series[i], last, s)
        work = eval_series(angle_and_work_series[na], last, s)
        settle_angles(loads, out.q)
        potential += eval_load_energy(loads, loads.theta)
    return kinetic + potential - work - restored


@kernel
def keep_output(out, readings, record, output, k, energy):
    """Store columns and energy of output k, update the extremes, and store the values at the end."""
    if k == 0:
        record.summary[START_ENERGY] = energy
    wanted = output.counted[0] <= k < output.counted[1]
    if wanted:
        drift = abs(energy - record.summary[START_ENERGY])
        record.summary[DRIFT] = max(record.summary[DRIFT], drift)
    at = record.counts[ME] * output.stride[0] + (k - output.counted[0]) * output.stride[1]
    keeps = output.stride[3] > 0
    for c in range(len(record.least)):
        x = read_column(readings, c, out.q, out.v)
        if k == len(output.times) - 1:
            record.final[c] = x
        if wanted:
            record.least[c] = min(record.least[c], x)
            record.largest[c] = max(record.largest[c], x)
            if keeps:
                output.values[at + c * output.stride[2]] = x
    if wanted and keeps:
        output.values[at + len(record.least) * output.stride[2]] = energy


@kernel
def sample_outputs(form, out, loads, rules, readings, record, output, ends, t0, order, kept, step):
    """Outputs in the step just taken from t0; all remaining ones if the run ends with it."""
    t = kept.balance[TIME]
    k = record.counts[NEXT]
    restored = record.summary[PUT_BACK]
    while k < len(output.times):
        time = output.times[k]
        if time > t and not ends:
            break
        s = max(time - t0, 0.0)
        sample_state(form, out, loads, rules.sampling, step.qc, order, s, time, t - t0)
        energy = eval_balance(form, out, loads, s, step.angle_and_work_series, restored)
        keep_output(out, readings, record, output, k, energy)
        k += 1
    record.counts[NEXT] = k


@kernel
def start_record(loads, kept, record):
    """Initialise the quantities that are measured from the start on."""
    if loads is not None:
        eval_load_forms(loads, kept.state[0])
        record.summary[START_STRAIN] = eval_load_energy(loads, kept.carried)
    for c in range(len(record.least)):
        record.least[c] = np.inf
        record.largest[c] = -np.inf


@kernel
def is_balanced(ws, setting, kept, record):
    """Whether the energy balance after a step needs no note: see methods/energy_balance.py."""
    summary, step = record.summary, ws.step
    exchanged = max(step[EXCHANGED], abs(step[STRAIN] - summary[START_STRAIN]))
    summary[MOST_EXCHANGED] = max(summary[MOST_EXCHANGED], exchanged)
    summary[LARGEST_TERM] = max(summary[LARGEST_TERM], step[TERMS])
    allowed = noted_drift(setting) * summary[MOST_EXCHANGED]
    allowed += drift_at_rest(setting, summary[LARGEST_TERM])
    drift = abs(step[END_ENERGY] - summary[PUT_BACK] - kept.balance[FIRST_ENERGY])
    # Written so that nan gives False.
    return drift <= ALIKE * allowed


@kernel
def may_be_stiff(form, ws, loads, rules, kept, record):
    """Whether dampers may limit the steps, so that a trial of another method pays: see methods/auto.py.

    The sum of the decay rates is larger than each of them. It is checked once every CHECKED_AFTER steps.
    """
    t, since = kept.balance[TIME], record.summary[SINCE]
    if kept.counters[STEPS] % CHECKED_AFTER != 0:
        return False
    record.summary[SINCE] = t
    mean = (t - since) / CHECKED_AFTER
    if rules.t_end - t < ALIKE * LEFT * mean:
        return False
    return mean * eval_decay(form, ws, loads) >= ALIKE * STIFF


@kernel
def contradicts(form, ws, loads):
    """Whether drives contradict each other, or joints, at the projected end of a step."""
    left = eval_constraints(form, ws.e, ws.phi)
    return drive_constraints(form, loads, left, ws.phi) > CONTRADICTION


@kernel
def judge_step(form, ws, loads, rules, kept, seen, record):
    """Why the run has to fall back to `simulate` after a step; FULL if it continues."""
    if seen[PIVOT_RATIO] < SINGULAR_STEP_END or kept.counters[RELAXED] >= NO_PROGRESS_STEPS:
        return UNCERTAIN
    # The start was close to a singular configuration, which its pivots did not show.
    if count_redundant(ws.reference_pivots) < kept.counters[REDUNDANT]:
        return UNCERTAIN
    if not is_balanced(ws, rules.setting, kept, record):
        return UNCERTAIN
    if loads is not None:
        if len(loads.drives.equations) > 0 and contradicts(form, ws, loads):
            return UNCERTAIN
        if rules.damped and may_be_stiff(form, ws, loads, rules.steps, kept, record):
            return UNCERTAIN
    return FULL


@entry
def run(form, ws, out, loads, rules, readings, kept, step, record, output):
    """Run from the start to the end; record.counts[ME]: the number of the run.

    out: a workspace for outputs, whose reference pivots are those of ws. step: memory of one step. Outputs: kept,
    record, output.
    """
    begin(form, ws, loads, 0.0, kept)
    start_record(loads, kept, record)
    reason = FULL
    ahead = shared(0)
    while reason == FULL:
        t0 = kept.balance[TIME]
        reason, order, known = take_step(
            form,
            ws,
            loads,
            rules.steps,
            0,
            ahead,
            kept,
            step.qc,
            step.angle_and_work_series,
            step.seen,
        )
        if reason != FULL and reason != DONE:
            break
        ahead = shared(look_ahead(ws, known))
        summary = record.summary
        summary[MOST_MOVED] = max(summary[MOST_MOVED], step.seen[MOVED])
        summary[LOST] += step.seen[LOSS]
        judged = judge_step(form, ws, loads, rules, kept, step.seen, record)
        if judged != FULL:
            reason = judged
            break
        cut_series(step.qc, order)
        sample_outputs(
            form, out, loads, rules, readings, record, output, reason == DONE, t0, order, kept, step
        )
        summary[PUT_BACK] += step.seen[RESTORED]
        if reason == FULL and kept.counters[STEPS] >= rules.most_steps:
            reason = UNCERTAIN
    record.counts[REASON] = reason
