"""Models of other programs: MJCF, URDF with closures, ASMT to a Mechanism; MJCF, URDF and .osim out again.

`read` gives the mechanism and a report of what was taken, changed and dropped. What a format needs beyond NumPy is
loaded by the first call that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..lazy import load_on_use
from ..mechanism import Mechanism, MechanismError
from ..mechanism import load as load_model_file
from ..names import suggests
from .rational import from_rational
from .report import Report

if TYPE_CHECKING:
    from .asmt import StoredSeries
    from .parts import Parts

__all__ = [
    "ENDINGS",
    "Imported",
    "Report",
    "from_rational",
    "is_foreign",
    "load",
    "read",
    "write_mjcf",
    "write_osim",
    "write_urdf",
]

# SciPy and the XML reader load slowly: only an import pays for them
__getattr__ = _load = load_on_use(__name__)

# endings of files that are read here; .xml may be something else
ENDINGS = (".xml", ".mjcf", ".urdf", ".asmt")


@dataclass(frozen=True, eq=False)
class Imported:
    """A file of another program: its mechanism, the report, and the stored motion of an ASMT file."""

    mechanism: Mechanism
    report: Report
    series: StoredSeries | None = None


def read(
    path: str | Path,
    *,
    close: bool = True,
    misfit: float | None = None,
    closures: str | Path | None = None,
    floating: bool = False,
    keyframe: str | None = None,
) -> Imported:
    """Read an MJCF, URDF or ASMT file.

    close: close its loops, telling the largest move; else they stay as authored. misfit [m]: gaps up to this are
    bridged where a loop cannot close; 1e-5 of the mechanism's size if left out, 0 for none. URDF: closures: the
    YAML file with its closed_loop, else the one beside it; floating: the root link is free. MJCF: keyframe: where
    it stands.

    Raises MechanismError with one sentence that names the file and the element that cannot be read, or the loop
    that cannot be closed.
    """
    file = Path(path)
    kind = _kind(file)
    if keyframe is not None and kind != "mjcf":
        raise _load("parts").FormatError(
            f"{file.name}: only MJCF has keyframes; leave '{keyframe}' out"
        )
    if (closures is not None or floating) and kind != "urdf":
        raise _load("parts").FormatError(
            f"{file.name}: closures and floating belong to URDF; leave them out"
        )
    series = None
    parts: Parts
    if kind == "mjcf":
        parts = _load("mjcf").read_mjcf(file, keyframe=keyframe)
    elif kind == "urdf":
        parts = _load("urdf").read_urdf(file, closures=closures, floating=floating)
    else:
        parts, series = _load("asmt").read_asmt(file)
    try:
        mechanism = _load("compose").compose(parts, close=close, misfit=misfit)
        mechanism.told = parts.report.sentences
        if close:
            mechanism.check()
    except MechanismError as error:
        # what a mechanism says of itself does not know the file
        if file.name not in str(error):
            error.args = (f"{file.name}: {error}",)
        raise
    return Imported(mechanism, parts.report, series)


@suggests
def load(path: str | Path, *, check: bool = True) -> Mechanism:
    """Read a mechanism from a model file (YAML), or from an MJCF, URDF or ASMT file.

    Raises MechanismError that lists every problem with file, line and key. check: also refuse a mechanism that
    cannot be simulated. `sarrus.formats.read` also tells what was taken, changed and dropped.
    """
    if is_foreign(path):
        return read(path).mechanism
    return load_model_file(path, check=check)


def is_foreign(path: str | Path) -> bool:
    """Whether the ending of a file is one that is read here."""
    return str(path).lower().endswith(ENDINGS)


def write_mjcf(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as MJCF: a tree of bodies, loops as equalities; the report says what it cannot hold."""
    return _load("writers").save_mjcf(mechanism, Path(path))


def write_urdf(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as URDF and its closures beside it (.yaml); the report says what they cannot hold."""
    return _load("writers").save_urdf(mechanism, Path(path))


def write_osim(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as an OpenSim model (extra `opensim`); the report says what it cannot hold."""
    return _load("writers").save_osim(mechanism, Path(path))


def _kind(file: Path) -> str:
    """mjcf, urdf or asmt; an XML file says so by its root."""
    ending = file.suffix.lower()
    if ending in (".mjcf", ".urdf", ".asmt"):
        return ending[1:]
    if ending != ".xml":
        raise _load("parts").FormatError(
            f"{file.name}: the ending '{ending}' is not read; known: {', '.join(ENDINGS)}"
        )
    root = _load("xml").load(file).root.name
    known = {"mujoco": "mjcf", "robot": "urdf"}
    if root not in known:
        raise _load("parts").FormatError(
            f"{file.name}: its root is <{root}>; <mujoco> (MJCF) and <robot> (URDF) are read"
        )
    return known[root]
