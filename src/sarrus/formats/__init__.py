"""Models of other programs: MJCF, URDF with closures, ASMT to a Mechanism; MJCF, URDF and .osim out again.

`read` returns the mechanism and a report of what was read, changed and dropped. Packages that a format needs
beyond NumPy are loaded by the first call that needs them.
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

# SciPy and the XML reader load slowly, so they are loaded on first use.
__getattr__ = _load = load_on_use(__name__)

# File name extensions of the formats read here; .xml may also be something else.
ENDINGS = (".xml", ".mjcf", ".urdf", ".asmt")


@dataclass(frozen=True, eq=False)
class Imported:
    """The content of another program's file: the mechanism, the report, and the stored motion of an ASMT file."""

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

    Parameters
    ----------
    path
        The file to read.
    close
        Whether to close the loops and report the largest displacement; otherwise bodies stay as authored.
    misfit
        Largest gap [m] that is bridged where a loop cannot close; default: 1e-5 of the mechanism's size; 0: none.
    closures
        URDF only: the YAML file with its closed_loop; default: the one next to the URDF file.
    floating
        URDF only: whether the root link is free.
    keyframe
        MJCF only: the keyframe that gives the initial configuration.

    Returns
    -------
    Imported
        The mechanism, the report and, for ASMT, the stored motion.

    Raises
    ------
    MechanismError
        If an element cannot be read or a loop cannot be closed; the message names the file and the cause.
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
        mechanism.remarks = parts.report.sentences
        if close:
            mechanism.check()
    except MechanismError as error:
        # Errors of the mechanism do not name the file.
        if file.name not in str(error):
            error.args = (f"{file.name}: {error}",)
        raise
    return Imported(mechanism, parts.report, series)


@suggests
def load(path: str | Path, *, check: bool = True) -> Mechanism:
    """Read a mechanism from a model file (YAML), or from an MJCF, URDF or ASMT file.

    Parameters
    ----------
    path
        The file to read.
    check
        Whether to reject a mechanism that cannot be simulated (model files only).

    Returns
    -------
    Mechanism
        `sarrus.formats.read` also returns a report of what was read, changed and dropped.

    Raises
    ------
    MechanismError
        If the file is invalid; lists every problem with file, line and key.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> m.save("four_bar.yaml")
    >>> sarrus.load("four_bar.yaml").bodies[0].name
    'crank 0'
    """
    if is_foreign(path):
        return read(path).mechanism
    return load_model_file(path, check=check)


def is_foreign(path: str | Path) -> bool:
    """Return whether the file name extension is one of `ENDINGS`."""
    return str(path).lower().endswith(ENDINGS)


def write_mjcf(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as MJCF, loops as equalities; the report lists what MJCF cannot represent."""
    return _load("writers").save_mjcf(mechanism, Path(path))


def write_urdf(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as URDF with a closure file (.yaml); the report lists what they cannot represent."""
    return _load("writers").save_urdf(mechanism, Path(path))


def write_osim(mechanism: Mechanism, path: str | Path) -> Report:
    """Write a mechanism as an OpenSim model (extra `opensim`); the report lists what it cannot represent."""
    return _load("writers").save_osim(mechanism, Path(path))


def _kind(file: Path) -> str:
    """Return mjcf, urdf or asmt, from the extension; for XML files from the root element."""
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


def __dir__() -> list[str]:
    """The public names only."""
    return sorted(__all__)
