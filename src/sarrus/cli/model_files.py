"""Model files: `sarrus export`, `sarrus import` and `sarrus schema`, and how commands read model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from .. import problems
from ..disk import read_start
from ..formats import Imported, is_foreign, read, write_mjcf, write_osim, write_urdf
from ..formats.report import Report
from ..mechanism import Mechanism, find_remarks
from ..mechanism.files import load, load_file, make_schema, to_data, to_text
from ..mechanism.files.model_writer import save_text
from ..names import pick
from ..optimisation import make_optimisation_schema
from ..studies import make_study_schema
from .options import Force, Values, check_free, reject_options, with_problem_options
from .screen import Screen

ENDINGS = (".yaml", ".yml", ".json")
# Root elements of other programs' models, among the first bytes of an XML file.
ROOTS = (b"<mujoco", b"<robot")
WRITERS = {".xml": write_mjcf, ".mjcf": write_mjcf, ".urdf": write_urdf, ".osim": write_osim}


def is_model_file(word: str) -> bool:
    """Return whether an argument of the command line is a model file, ours or another program's."""
    return word not in problems.names() and (word.lower().endswith(ENDINGS) or is_imported(word))


def is_imported(word: str) -> bool:
    """Return whether a file is a model of another program; an XML file may also be a specification."""
    if not is_foreign(word) or not word.lower().endswith(".xml"):
        return is_foreign(word)
    try:
        begin = read_start(word, 65536)
    except (OSError, ValueError):
        return False
    return any(root in begin for root in ROOTS)


def load_imported(path: str, screen: Screen, *, close: bool = True) -> Imported:
    """Load a model of another program; prints what was imported, changed and dropped."""
    with screen.status(f"{Path(path).name}: reading"):
        imported = read(path, close=close)
    for line in imported.report.sentences:
        screen.print(Text(line), soft_wrap=True)
    return imported


def load_model(path: str, screen: Screen) -> Mechanism:
    """Load the mechanism of a file; prints remarks on it."""
    if path in problems.names():
        raise ValueError(
            f"'{path}' is a problem, not a file; run it with `sarrus run {path}`, or write its file "
            f"with `sarrus export {path} my.yaml`"
        )
    if is_imported(path):
        mechanism = load_imported(path, screen).mechanism
        for remark in find_remarks(mechanism)[len(mechanism.remarks) :]:
            screen.print(Text(remark), soft_wrap=True)
        return mechanism
    loaded = load_file(path)
    for remark in loaded.remarks:
        screen.print(Text(remark), soft_wrap=True)
    return loaded.mechanism


@with_problem_options
def export(
    problem: Annotated[str, typer.Argument(help="Id of a problem, or a model file.")],
    options: Values,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="File to write: .yaml model file, .xml MJCF, .urdf URDF, .osim OpenSim; the screen if left out."
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--format", help="mjcf, urdf, osim or yaml, whatever the ending.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the mechanism of a problem or a model file, in our format or another program's."""
    ending = "" if file is None else file.suffix.lower()
    if kind is not None:
        ending = "." + pick(
            {word: word for word in ("yaml", "mjcf", "urdf", "osim")}, kind, "format"
        )
    if file is not None and (is_model_file(problem) or ending in WRITERS):
        _check_free(file, ending, force)
        _export(problem, options, file, ending)
        return
    item = problems.get(problem, **options)
    mechanism = item.mechanism()
    mechanism.defaults = {"duration": item.duration, "output_step": item.output_step}
    text = f"# {item.title}\n# {item.source}\n{to_text(to_data(mechanism))}"
    if file is None:
        print(text, end="")
        return
    check_free(file, force)
    save_text(text, file)
    Screen().print(Text(f"written: {file}"), soft_wrap=True)


def _export(source: str, options: Values, file: Path, ending: str) -> None:
    """Write a problem or model file in a format; report what the format cannot represent."""
    screen = Screen(stderr=True)
    if is_model_file(source):
        reject_options(options, source)
        mechanism = load_model(source, screen)
    else:
        mechanism = problems.get(source, **options).mechanism()
    companion = file.with_suffix(".yaml")
    if ending == ".urdf" and companion.resolve() == Path(source).resolve():
        raise ValueError(
            f"the closures of {file} would be written over {source}; choose another name for the URDF"
        )
    written = _write(mechanism, file, None, ending)
    for line in [] if written is None else written.sentences:
        screen.print(Text(line), soft_wrap=True)
    with_closures = f", {companion}" if ending == ".urdf" and companion.exists() else ""
    Screen().print(Text(f"written: {file}{with_closures}"), soft_wrap=True)


def import_file(
    file: Annotated[
        str, typer.Argument(help="MJCF (.xml), URDF (.urdf) or ASMT (.asmt), or a model file.")
    ],
    out: Annotated[
        Path | None,
        typer.Argument(
            help="Model file to write; .xml is MJCF, .urdf URDF; NAME.yaml if left out."
        ),
    ] = None,
    closures: Annotated[
        str | None,
        typer.Option(help="URDF: YAML file with its closed_loop; else the one next to it."),
    ] = None,
    floating: Annotated[
        bool, typer.Option("--floating", help="URDF: the root link is free.")
    ] = False,
    keyframe: Annotated[str | None, typer.Option(help="MJCF: keyframe to start at.")] = None,
    misfit: Annotated[
        float | None,
        typer.Option(
            help="Largest gap that is bridged where a loop cannot be closed [m]; 1e-5 of the size by default."
        ),
    ] = None,
    as_authored: Annotated[
        bool, typer.Option("--as-authored", help="Leave loops open as in the file.")
    ] = False,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Read a model of another program, close its loops, and write our model file; report what changed."""
    target = Path(file).with_suffix(".yaml").name if out is None else str(out)
    goal = Path(target)
    _check_free(goal, goal.suffix.lower(), force)
    import_report: Report | None = None
    if file.lower().endswith(ENDINGS):
        mechanism = load(file)
    else:
        imported = read(
            file,
            close=not as_authored,
            misfit=misfit,
            closures=closures,
            floating=floating,
            keyframe=keyframe,
        )
        mechanism, import_report = imported.mechanism, imported.report
    written = _write(mechanism, goal, import_report)
    reports = [r for r in (import_report, written) if r is not None]
    if as_json:
        print(json.dumps([r.as_dict() for r in reports], indent=2))
        return
    screen = Screen()
    for report in reports:
        for line in report.sentences:
            screen.print(Text(line), soft_wrap=True)
    screen.print(Text(f"written: {goal}"), soft_wrap=True)


def _check_free(file: Path, ending: str, force: bool) -> None:
    """Raise an error instead of overwriting a file, or the closures next to a URDF, unless forced."""
    check_free(file, force)
    if ending == ".urdf":
        check_free(file.with_suffix(".yaml"), force)


def _write(
    mechanism: Mechanism, goal: Path, import_report: Report | None, ending: str = ""
) -> Report | None:
    """Write a file in the format of its ending, or of another one; return what the format cannot represent."""
    ending = ending or goal.suffix.lower()
    if ending in WRITERS:
        return WRITERS[ending](mechanism, goal)
    if ending not in ENDINGS:
        known = ", ".join((*ENDINGS, *WRITERS))
        raise ValueError(f"the ending of {goal} is not written; known: {known}")
    lines = [] if import_report is None else import_report.sentences
    save_text("".join(f"# {line}\n" for line in lines) + to_text(to_data(mechanism)), goal)
    return None


def schema(
    study: Annotated[bool, typer.Option("--study", help="Schema of study files.")] = False,
    optimize: Annotated[
        bool, typer.Option("--optimize", help="Schema of optimisation files.")
    ] = False,
) -> None:
    """Print the JSON Schema of model files, for completion and checks in editors."""
    if study and optimize:
        raise ValueError("give --study or --optimize, not both")
    make = make_study_schema if study else make_optimisation_schema if optimize else make_schema
    print(json.dumps(make(), indent=2, ensure_ascii=False))
