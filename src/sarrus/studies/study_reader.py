"""Reads a study from its file or from plain data; every error names its key, and its line if it has one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import problems
from ..mechanism import Mechanism, MechanismError, ModelFileError, from_data, load_data, to_data
from ..mechanism.files import units
from ..mechanism.files.model_reader import Document, Where, load_document
from ..mechanism.files.paths import find_overlap, nearest
from ..mechanism.files.units import UnitError, shorten
from . import study_schema
from .changes import apply_change, build_mechanism, change_kind, check_value, read_vector
from .entries import (
    MOST_RUNS,
    find_wrong_name,
    find_wrong_point,
    given_numbers,
    given_values,
    in_si,
    make_parameter,
    make_record,
    name_quantities,
)
from .records import RecordError
from .runs import FIRST_COLUMNS, LAST_COLUMNS
from .sampling import count_runs
from .study import (
    Base,
    Change,
    ChangeKind,
    Study,
    StudyParameter,
    StudyPlan,
    StudyRecord,
    digest,
    make_identity,
)
from .study_schema import validate_study


def load_study(path: str | Path) -> Study:
    """Read and check a study file."""
    document = load_document(path)
    return read_study(document, Path(path).parent)


def make_study(data: dict[str, Any]) -> Study:
    """Make a study from plain data, in which a mechanism and functions may be Python objects."""
    return read_study(Document("study", {"sarrus_study": study_schema.VERSION, **data}), Path())


def read_study(document: Document, folder: Path) -> Study:
    """Read the study of a document; all errors in it raise one ModelFileError."""
    file = validate_study(document)
    reader = _Reader(document, file, folder)
    study = reader.read()
    if reader.problems:
        raise ModelFileError(document.source, reader.problems)
    assert study is not None
    return study


class _Reader:
    """Builds a study from a validated file and collects the errors."""

    def __init__(self, document: Document, file: study_schema.StudyFile, folder: Path) -> None:
        self.document = document
        self.file = file
        self.folder = folder
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self.parameters: list[StudyParameter] = []
        self.changes: list[Change] = []

    def problem(self, where: Where, why: object) -> None:
        self.problems.append(self.document.message(where, str(why)))

    def read(self) -> Study | None:
        base = self.base()
        if base is None:
            return None
        for name, entry in self.file.variables.items():
            if name in (*FIRST_COLUMNS, *LAST_COLUMNS):
                self.problem(("variables", name), f"{_taken(name)}; give it another name")
            self.parameter(("variables", name), name, entry)
        base = self.fixed(base)
        for path, entry in self.file.vary.items():
            self.variation(base, path, entry)
        self.check_apart("set", self.file.set)
        self.check_apart("vary", [*self.file.vary, *self.file.variables])
        records = tuple(self.records())
        settings = self.settings(base)
        samples = self.samples()
        if self.problems:
            return None
        trajectory: tuple[str, ...] | None = None
        if isinstance(self.file.trajectory, study_schema.TrajectoryEntry):
            trajectory = tuple(self.file.trajectory.points or ())
        elif self.file.trajectory:
            trajectory = ()
        if trajectory is not None and settings is None:
            self.problem(
                ("trajectory",), "there is none without a simulation; leave one of the two out"
            )
        identity = make_identity(self.document.data, self.file, base, self.changes, records)
        plan = StudyPlan(
            base=base,
            changes=tuple(self.changes),
            columns=tuple(p.column for p in self.parameters),
            settings=settings,
            records=records,
            trajectory=trajectory,
            time_limit=self.file.time_limit,
            digest=digest({k: v for k, v in identity.items() if k != "sampling"}),
        )
        study = Study(
            name=self.file.name,
            plan=plan,
            parameters=tuple(self.parameters),
            combine=self.file.combine,
            sampling=self.file.sampling,
            samples=samples,
            seed=self.file.seed,
            attempts=self.file.attempts,
            identity=identity,
            remarks=tuple(self.remarks),
        )
        self.check_size(study)
        self.check_first(study)
        return study

    # Mechanism.

    def base(self) -> Base | None:
        given, problem = self.file.mechanism, self.file.problem
        if (given is None) == (problem is None):
            self.problem((), "give either `mechanism: my.yaml` or `problem: double-four-bar`")
            return None
        if problem is not None:
            if problem not in problems.names():
                self.problem(
                    ("problem",),
                    f"there is none called '{problem}'; {nearest(problem, problems.names())}",
                )
                return None
            return Base(problem, {}, None, problem)
        try:
            if isinstance(given, Mechanism):
                return Base("", {}, to_data(given), given.name)
            if isinstance(given, dict):
                from_data(given, "mechanism", check=False)
                return Base("", {}, given, "mechanism")
            if not isinstance(given, str | Path):
                self.problem(("mechanism",), f"{shorten(given)} is not a model file; give its name")
                return None
            return Base("", {}, load_data(self.folder / given), Path(given).name)
        except MechanismError as error:
            lines = error.problems if isinstance(error, ModelFileError) else [str(error)]
            self.problems += [self.document.message(("mechanism",), line) for line in lines]
            return None

    def fixed(self, base: Base) -> Base:
        """Return the base with the values of `set`, which apply to all runs."""
        options, data = dict(base.options), base.data
        kinds = {}
        for path, value in self.file.set.items():
            try:
                kinds[path] = change_kind(base, path)
                if kinds[path] is ChangeKind.SETTING:
                    raise MechanismError("write it under simulate")
                if kinds[path] is ChangeKind.OPTION:
                    options[path] = units.in_si(value, units.NUMBER)
            except (MechanismError, UnitError, ValueError) as error:
                self.problem(("set", path), _short(error, path))
        paths = [
            path
            for path, kind in kinds.items()
            if kind not in (ChangeKind.OPTION, ChangeKind.SETTING)
        ]
        varied = [path for path in self.file.vary if "." not in path]
        if base.problem and varied:
            if paths:
                self.problem(
                    ("set", paths[0]),
                    f"paths cannot be set while the option '{varied[0]}' varies; vary them too",
                )
            return Base(base.problem, options, None, base.source)
        if data is None:
            try:
                data = to_data(problems.get(base.problem, **options).mechanism())
            except ValueError as error:
                self.problem(("set",), error)
                return base
        for path in paths:
            value, change = self.file.set[path], Change(kinds[path], path, (path,))
            try:
                check_value(data, change, value)
                data = apply_change(data, change, [in_si(value)])
            except (MechanismError, UnitError, ValueError) as error:
                self.problem(("set", path), _short(error, path))
        return Base(base.problem, options, data, base.source)

    def check_apart(self, block: str, paths: Iterable[str]) -> None:
        """Reject two paths to one number: the second would overwrite the first, and duplicate its column."""
        with suppress(MechanismError):
            if both := find_overlap(paths):
                why = f"'{both[0]}' gives this number too; leave one of the two out"
                self.problem((block, both[1]), why)

    # Parameters.

    def variation(self, base: Base, path: str, entry: Any) -> None:
        where: Where = ("vary", path)
        try:
            kind = change_kind(base, path)
            data = self.example(base)
            if isinstance(entry, study_schema.TiltEntry):
                self.tilt(where, data, path, entry)
                return
            if kind is ChangeKind.SETTING and self.file.simulate is False:
                raise MechanismError("nothing is simulated, so there are no settings")
            change = Change(kind, path, (path,))
            # All numbers of an entry have the kind of its path.
            parameter = self.parameter(where, path, entry)
            if parameter is None:
                return
            for value in given_values(entry, self.file.variables):
                check_value(data, change, value, parameter.distribution == "normal")
            self.changes.append(change)
        except (MechanismError, UnitError, ValueError) as error:
            self.problem(where, _short(error, path))

    def tilt(
        self, where: Where, data: dict[str, Any], path: str, entry: study_schema.TiltEntry
    ) -> None:
        vector = read_vector(data, path)
        if not any(vector):
            raise MechanismError("the direction is zero, so it cannot be turned")
        for value in given_values(entry.tilt, self.file.variables):
            units.in_si(value, units.ANGLE)
        about = None if entry.about is None else tuple(float(x) for x in entry.about)
        if about is not None and (len(vector) != 3 or len(about) != 3 or not any(about)):
            raise MechanismError("about: give 3 numbers, not all zero; only in space")
        columns = [f"{path}.tilt"]
        if self.parameter((*where, "tilt"), columns[0], entry.tilt) is None:
            return
        if len(vector) == 3 and about is None:
            columns.append(f"{path}.toward")
            self.parameters.append(
                StudyParameter(columns[1], distribution="uniform", numbers=(0.0, 2.0 * math.pi))
            )
        self.changes.append(Change(ChangeKind.TILT, path, tuple(columns), about))

    def example(self, base: Base) -> dict[str, Any]:
        """Return the data of one mechanism of the study, for checking paths and units."""
        if base.data is not None:
            return base.data
        options = dict(base.options)
        for path, entry in self.file.vary.items():
            if "." not in path:
                options[path] = next(given_numbers(entry), options.get(path, 1.0))
        return to_data(problems.get(base.problem, **options).mechanism())

    def parameter(self, where: Where, column: str, entry: Any) -> StudyParameter | None:
        """Return an entry as a parameter; None if it cannot be read."""
        try:
            made = make_parameter(column, entry, self.parameters, self.file.variables)
        except (MechanismError, UnitError, ValueError) as error:
            self.problem(where, error)
            return None
        self.parameters.append(made)
        return made

    # Everything else.

    def settings(self, base: Base) -> dict[str, Any] | None:
        if self.file.simulate is False:
            return None
        given = {k: v for k, v in self.file.simulate.model_dump().items() if v is not None}
        written: dict[str, Any] = {}
        if base.data is not None:
            written = dict(from_data(base.data, check=False).defaults)
        if base.problem:
            problem = problems.get(base.problem)
            written = {"duration": problem.duration, "output_step": problem.output_step, **written}
            if "duration" in given:
                written.pop("output_step", None)
        # A step replaces a tolerance, and vice versa.
        if "step" in given:
            written.pop("tolerance", None)
        if "tolerance" in given:
            written.pop("step", None)
        settings = {**written, **given}
        if "duration" not in settings and "simulate.duration" not in self.file.vary:
            self.problem(("simulate",), "how long? Give duration, like {duration: 10 s}")
        return settings

    def samples(self) -> int:
        random = [p for p in self.parameters if p.distribution]
        samples = self.file.samples
        if samples is not None and samples < 1:
            self.problem(("samples",), f"{samples} samples; give at least 1")
        elif random and samples is None:
            self.problem(
                (), f"'{random[0].column}' is random; say how many samples, like samples: 1000"
            )
        elif samples is not None and not random:
            self.problem(("samples",), "nothing is random, so there are no samples; leave it out")
        elif samples and self.file.sampling == study_schema.SOBOL and samples & (samples - 1):
            self.remarks.append(
                f"sobol: {samples} samples are not a power of 2, so they are spread less evenly than "
                f"{2 ** samples.bit_length()} would be"
            )
        if self.file.combine == study_schema.LIST:
            lengths = {p.column: len(p.values) for p in self.parameters if p.values is not None}
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{column} has {n}" for column, n in lengths.items())
                self.problem(("combine",), f"row by row needs lists of one length, but {counts}")
        return samples or 1

    def records(self) -> Iterator[StudyRecord]:
        given = self.file.record
        if isinstance(given, dict):
            items: list[tuple[Where, str | None, Any]] = [
                (("record", name), name, what) for name, what in given.items()
            ]
        else:
            items = [(("record", i), None, what) for i, what in enumerate(given)]
        taken = {*FIRST_COLUMNS, *LAST_COLUMNS, *(p.column for p in self.parameters)}
        for where, name, what in items:
            try:
                record = make_record(name, what, self.file.simulate is not False, self.folder)
            except (RecordError, MechanismError, UnitError, OSError) as error:
                self.problem(where, error)
                continue
            # Vectors have one column per component.
            ends = {c: re.sub(r"(\.[0-9]+)+$", "", c) for c in record.columns}
            twice = next((c for c, end in ends.items() if c in taken or end in taken), None)
            if twice is not None:
                self.problem(where, f"{_taken(twice)}; give it another name")
                continue
            taken.update(record.columns)
            yield record

    def check_size(self, study: Study) -> None:
        runs = count_runs(study)
        if runs > MOST_RUNS:
            self.problem((), f"this study has {runs} runs; at most {MOST_RUNS} are possible")

    def check_first(self, study: Study) -> None:
        """Check for errors of every mechanism of the study: unknown names in records and trajectories."""
        plan = study.plan
        if self.problems or any(c.kind is ChangeKind.OPTION for c in plan.changes):
            return
        mechanism = build_mechanism(plan.base, (), {})[0]
        names = name_quantities(mechanism)
        for record in plan.records:
            if why := find_wrong_name(record, mechanism, names):
                self.problem(("record",), why)
        for name in plan.trajectory or ():
            if why := find_wrong_point(name, mechanism):
                self.problem(("trajectory",), why)


def _taken(column: str) -> str:
    return f"column '{column}' stands there already"


def _short(error: Exception, path: str) -> str:
    """Return a message about a value, without the part that its key already states."""
    lines = error.problems if isinstance(error, ModelFileError) else [str(error)]
    text = lines[0].removeprefix(": ")
    for part in (path, path.rpartition(".")[0]):
        text = text.removeprefix(f"{part}: ").removeprefix(f"path '{part}': ")
    return text
