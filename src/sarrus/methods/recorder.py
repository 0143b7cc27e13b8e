"""Records a run: outputs sampled from the polynomials of steps, chunk by chunk, and the motion itself."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from ..kernels import recording as kernels
from ..kernels import return_codes
from ..kernels.applied_forces import make_loads
from ..kernels.layout import StepPolynomials, give_spare, make_workspace, take_spare
from ..kernels.specialise import run as run_specialised
from . import status
from .dead_centre import States
from .energy_balance import Judge
from .method import Run
from .outcome import AccelerationRule, Motion, MotionPart, Record
from .status import Ending

if TYPE_CHECKING:
    from .time_loop import Steps

# limit of the stored polynomial coefficients: four gigabytes
MOST_NUMBERS = 500_000_000
# kinds of the memory that finished runs leave to later ones
RECORDER_SPACE, LANE_SPACE = "recorder", "lanes"


def sample_unprojected(
    *, accelerations: bool, same: float = 0.0, points: int = 3
) -> kernels.Sampling:
    """Return a sampling without projection: constraint violations are part of the method's result.

    accelerations: whether the polynomials contain accelerations; same: outputs this close to the start of a step,
    in steps, are taken at that start; points: of Gauss quadrature for the work.
    """
    rule = np.polynomial.legendre.leggauss(points)
    return kernels.Sampling(False, accelerations, same, 0.0, 0, np.inf, 0.0, *rule)


@lru_cache(maxsize=16)
def sample_projected(
    *,
    corrections: int,
    near: float,
    damped: bool = False,
    limit: float = np.inf,
    same_factor: float = 0.0,
) -> kernels.Sampling:
    """Return a sampling with projection onto the constraints, as described in `kernels.Sampling`."""
    rule = np.polynomial.legendre.leggauss(3)
    return kernels.Sampling(
        True, False, 0.0, float(damped), corrections, float(limit), near, *rule, same_factor
    )


class Recorder:
    """Fills the outputs while a run advances.

    loads: of the model, with memory that is only in use within a call.
    """

    def __init__(self, problem: Run) -> None:
        self._problem = problem
        model = problem.model
        self._spare = model.structure.spare
        self._ws = take_spare(self._spare, RECORDER_SPACE, lambda: make_workspace(model.form, 0))
        self.loads = make_loads(model.loads, 0)
        self._record = Record.at(model, np.array(problem.times))
        self._done = 0
        # the latest sampling, and its work memory
        self._sampling: kernels.Sampling | None = None
        self._side: kernels.LaneWorkspace | None = None
        # angles of the torsions and work at the start of the next step
        self.carried = np.zeros(
            len(model.loads.torsions.first) + 1 if self.loads is not None else 0
        )
        if problem.start is not None:
            self.carried[:] = problem.start.carried
        # energy correction so far
        self._restored = 0.0
        self._kept: list[MotionPart] = []
        self._numbers = 0
        # the latest steps, and copies of the last one of them and of the steps before
        self._chunk: MotionPart | None = None
        self._tail: MotionPart | None = None
        self._before: MotionPart | None = None

    def take(self, steps: Steps, sampling: kernels.Sampling) -> MotionPart:
        """Sample the outputs within some steps; all remaining outputs if the run ends with them.

        If the steps have no series of angles and work, these are integrated here; returns the steps including
        them.
        """
        pieces, last = steps.pieces, steps.reason == return_codes.DONE
        if not pieces.angle_and_work_series.shape[2]:
            angle_and_work_series = np.zeros((len(pieces.orders), len(self.carried), 1))
            pieces = pieces._replace(angle_and_work_series=angle_and_work_series)
            if self.loads is not None:
                args = self._problem.model.form, self._ws, self.loads, sampling, pieces
                kernels.fill_sides(*args, self.carried)
        times, t = self._record.times, pieces.starts[-1]
        upto = len(times) if last else int(np.searchsorted(times, t, side="right"))
        restored = steps.put_back(self._restored)
        self._restored = restored[-1]
        chunk = MotionPart(pieces, sampling, steps.reference_pivots, restored[:-1])
        self._sample(chunk, self._record[self._done : max(upto, self._done)])
        self._done = max(self._done, upto)
        self._chunk = chunk
        if self._problem.stop is not None:
            # the next steps reuse the same buffers
            self._before, self._tail = self._tail, copy_part(chunk, max(len(pieces.starts) - 2, 0))
        if self._problem.dense:
            self._kept.append(copy_part(chunk, 0))
            self._numbers += self._kept[-1].pieces.coefficients.size
            if self._numbers > MOST_NUMBERS:
                raise MemoryError(
                    f"the polynomials up to t = {t:.9g} s take {8e-9 * self._numbers:.2g} GB; leave `dense` out, "
                    "or simulate less"
                )
        if steps.carried is not None:
            self.carried[:] = steps.carried
        return chunk

    def stop_at(self, t: float) -> None:
        """Remove the outputs after a time in the latest steps, and add one exactly there."""
        assert self._chunk is not None
        kept = self._record[: int(np.searchsorted(self._record.times, t))]
        more = Record.at(self._problem.model, np.array([t]))
        # a local minimum may have started in the last step before these
        early = t < self._chunk.pieces.starts[0]
        self._sample((self._before if early else None) or self._chunk, more)
        self._record, self._done = kept + more, len(kept) + 1

    def end_with(self, state: Record) -> None:
        """Remove the outputs after a state that was already sampled, and add that state."""
        kept = self._record[: int(np.searchsorted(self._record.times, state.times[0]))]
        self._record, self._done = kept + state, len(kept) + 1

    def cut(self, end: Ending, judge: Judge, tolerance: float | None) -> Ending:
        """Remove outputs after a large loss and final ones with an energy error; return how the run ended.

        tolerance: of the steps, None if the user chose the steps.
        """
        times = self._record.times[: self._done]
        kept = max(int(np.searchsorted(times, judge.good_until, side="right")), min(len(times), 1))
        if tolerance is not None and end.status is status.Status.NOT_CONVERGED:
            balanced = judge.are_balanced(self._record[:kept], tolerance)
            while kept > 1 and not balanced[kept - 1]:
                kept -= 1
                judge.good_until = float(times[kept - 1])
        dropped, self._done = self._done - kept, kept
        metres = judge.lost * self._problem.model.units.length
        return status.with_losses(end, metres, judge.good_until, dropped)

    def states(self, t: float, place: Floats) -> States:
        """Return the given final state together with the states at the outputs."""
        record = self._record[: self._done]
        return States((t, place), record.times, record.q)

    def record(self, law: AccelerationRule | None) -> Record:
        """Return the outputs so far."""
        record = self._record[: self._done]
        return record if law is None else replace(record, law=law)

    def motion(self, law: AccelerationRule | None) -> Motion | None:
        """Return all polynomials, if the run keeps them."""
        return Motion(self._problem.model, _join(self._kept), law) if self._problem.dense else None

    def release(self) -> None:
        """Leave the memory to later runs."""
        give_spare(self._spare, RECORDER_SPACE, self._ws)
        if self._side is not None:
            give_spare(self._spare, LANE_SPACE, self._side)

    def _make_side(self, sampling: kernels.Sampling) -> kernels.LaneWorkspace | None:
        form, loads = self._problem.model.form, self.loads
        if not kernels.uses_lanes(sampling):
            return None
        return take_spare(self._spare, LANE_SPACE, lambda: kernels.make_lane_workspace(form, loads))

    def _sample(self, part: MotionPart, rows: Record) -> None:
        self._ws.reference_pivots[:] = part.reference_pivots
        rows.restored[:] = part.put_back(rows.times)
        if part.sampling is not self._sampling:
            self._sampling = part.sampling
            self._side = self._make_side(part.sampling)
        model = self._problem.model
        run_specialised(
            model.structure, kernels.sample, model.form, self._ws, self.loads, self._side, part.sampling,
            part.pieces, len(part.pieces.orders), rows.outputs,
        )  # fmt: skip


def copy_part(part: MotionPart, first: int) -> MotionPart:
    """Return a compact copy of a part, starting at one of its steps."""
    p = part.pieces
    orders = p.orders[first:].copy()
    coefficients = p.coefficients[first:, : int(orders.max()) + 1].copy()
    pieces = StepPolynomials(
        p.starts[first:].copy(),
        orders,
        coefficients,
        p.angle_and_work_series[first:].copy(),
        p.reference_pivots[first:].copy(),
    )
    restored = part.restored[first:].copy()
    return replace(
        part, pieces=pieces, reference_pivots=part.reference_pivots.copy(), restored=restored
    )


def _join(chunks: list[MotionPart]) -> tuple[MotionPart, ...]:
    """Join chunks of steps to one part per method."""
    parts: list[MotionPart] = []
    methods = [
        [c for c in chunks if c.sampling is sampling]
        for sampling in {id(c.sampling): c.sampling for c in chunks}.values()
    ]
    for own in methods:
        moved = [c for c in own if len(c.pieces.starts) > 1] or own[:1]
        if len(moved) == 1:
            parts.append(moved[0])
            continue
        rows = max(c.pieces.coefficients.shape[1] for c in moved)
        columns: list[list[np.ndarray]] = [[], [], [], [], [], []]
        for number, chunk in enumerate(moved):
            # the entry for the end of a chunk is the start of the next
            count = None if number == len(moved) - 1 else len(chunk.pieces.starts) - 1
            starts, orders, coefficients, angle_and_work_series, reference_pivots = (
                x[:count] for x in chunk.pieces
            )
            restored = chunk.restored[:count]
            more = ((0, 0), (0, rows - coefficients.shape[1]), (0, 0))
            for column, values in zip(
                columns,
                (
                    starts,
                    orders,
                    np.pad(coefficients, more),
                    angle_and_work_series,
                    reference_pivots,
                    restored,
                ),
                strict=True,
            ):
                column.append(values)
        *arrays, restored = (np.concatenate(column) for column in columns)
        parts.append(
            MotionPart(
                StepPolynomials(*arrays), moved[-1].sampling, moved[-1].reference_pivots, restored
            )
        )
    return tuple(parts)
