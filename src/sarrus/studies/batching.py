"""Vectorised runs of a batch by code specialised for the topology, where a study keeps the topology.

The dependence of a model's numbers on masses, locations, axes, stiffnesses, drive motions, gravity and initial
velocities is recorded once per plan, from its base alone, so that a row does not depend on its batch. All other
studies, and difficult runs, are executed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats
from ..ensemble.host import run_on_host
from ..ensemble.run_batch import EnsembleTable, NotTogetherError, Traced
from ..ensemble.variants import EnsembleResult, Variants
from ..mechanism import MechanismError, get_value, to_data
from ..mechanism.files.paths import split_path
from ..methods.extended_precision import wants_digits
from ..settings import RunSettings, default_settings
from . import changes
from .records import DRIFT, is_coordinate, split_coordinate
from .study import ChangeKind, StudyPlan, StudyRecord

# Settings that SIMD lanes support.
SETTINGS = {"duration", "output_step", "tolerance", "max_steps"}
# Records that need only positions, velocities and energies.
PLAIN = {"energy_drift", "time_reached", "steps"}
CURVES = {"maximum", "minimum", "span", "final"}
# Blocks of a file whose numbers do not affect the topology.
NUMBERS = {
    *("gravity", "velocities", "angular_velocities", "bodies", "joints", "points"),
    *("forces", "torques", "springs", "torsions", "ball_dampers", "rotors", "drives"),
}


class BatchRunner:
    """Runs many parameter sets of a plan at once on a worker."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan, self.points = plan, _points(plan)
        self.settings = _settings(plan)
        if wants_digits(self.settings.setting):
            raise NotTogetherError("SIMD lanes have no extended precision")
        self.columns = {change.path: change.columns[0] for change in plan.changes}
        mechanism, _ = changes.build_mechanism(plan.base, (), {})
        data = to_data(mechanism)
        base = {path: np.asarray(get_value(data, path), float) for path in self.columns}
        variants = Variants(mechanism, {path: value[None] for path, value in base.items()})
        self.dimension = mechanism.dimension
        self.base = base
        self.numbers = Traced(variants, self.settings, self.points, base)

    def run(self, values: list[list[Any]]) -> EnsembleResult | None:
        """Run some parameter sets; those with an empty status are left. None if lanes do not support them."""
        given = {}
        for path, column in self.columns.items():
            at = self.plan.columns.index(column)
            array = _numbers([row[at] for row in values])
            if array is None or array.shape[1:] != self.base[path].shape:
                return None
            given[path] = array
        group = self.numbers.group(given)
        table = EnsembleTable(len(values), self.dimension, self.settings, self.points, keep=True)
        if len(group.which):
            table.take(group, run_on_host(group.plan, group.numbers, self.settings))
        return table.runs()


def prepare_batch_runner(plan: StudyPlan) -> BatchRunner | None:
    """Return a batch runner for a plan; None if its parameter sets must be run one by one."""
    settings = plan.settings
    if settings is None or plan.trajectory is not None or plan.time_limit is not None:
        return None
    if not set(settings) <= SETTINGS or not plan.changes:
        return None
    if not all(_follows(record) for record in plan.records):
        return None
    for change in plan.changes:
        if change.kind is not ChangeKind.PATH or len(change.columns) != 1:
            return None
        if split_path(change.path)[0] not in NUMBERS:
            return None
    try:
        return BatchRunner(plan)
    except (NotTogetherError, MechanismError, ValueError, TypeError, KeyError):
        # Whatever the error is, the individual runs report it.
        return None


def _follows(record: StudyRecord) -> bool:
    """Return whether lanes compute what a record needs."""
    if record.what in PLAIN:
        return True
    if record.what not in CURVES:
        return False
    if record.argument == DRIFT:
        return True
    # Velocities are read with their rates, which lanes do not compute.
    return is_coordinate(record.argument) and len(split_coordinate(record.argument)[1]) == 1


def _points(plan: StudyPlan) -> tuple[str, ...]:
    named = [r.argument for r in plan.records if r.what in CURVES and r.argument != DRIFT]
    return tuple(dict.fromkeys(split_coordinate(what)[0] for what in named))


def _settings(plan: StudyPlan) -> RunSettings:
    settings = plan.settings or {}
    given = {name: settings[name] for name in SETTINGS & settings.keys()}
    return default_settings(**given)


def _numbers(values: list[Any]) -> Floats | None:
    """Return plain finite numbers as an array; None for others, such as text with a unit."""
    try:
        array = np.array(values)
    except ValueError:
        return None
    plain = array.dtype.kind in "if" and bool(np.isfinite(array).all())
    return array.astype(float) if plain else None
