"""Studies: many runs of one mechanism on Dask, collected in a table; interrupted studies can be resumed.

    read (study file)  ->  samples (values)  ->  batches on workers  ->  parts on disk  ->  table, overview

Dask, pandas, pyarrow and pydantic are loaded by the first call that needs them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lazy import load_on_use
from ..names import describe_known
from .study import StudyError, StudyStopped

if TYPE_CHECKING:
    import pandas as pd

    from .session import Progress

__all__ = ["StudyError", "StudyStopped", "make_study_schema", "sweep"]

# Dask, pandas and pyarrow load slowly.
__getattr__ = _load = load_on_use(__name__)


def sweep(
    study: str | Path | dict[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    limit: int | None = None,
    fresh: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **keys: Any,
) -> pd.DataFrame:
    """Run a study and return its table, one row a run.

    Scripts must call this under `if __name__ == "__main__":`, because workers are new processes that import
    the script.

    Parameters
    ----------
    study
        A study file, or its keys as a dictionary. The keys can also be keyword arguments (`vary={...}`,
        `record=[...]`). In Python, `mechanism` may be a Mechanism, and a record may be a function of result and
        mechanism.
    out
        Folder of the results; the same call resumes a stopped study. Default: a temporary folder.
    workers
        Number of processes on this machine. Default: one per core.
    scheduler
        Address of a Dask scheduler to use instead.
    limit
        Largest number of runs in this call.
    fresh
        Set earlier results in the folder aside.
    progress
        Function that is called with a `Progress` while the study runs.
    **keys
        Keys of the study.

    Returns
    -------
    pandas.DataFrame
        One row per run. Failed runs are rows with a status and a message.

    Raises
    ------
    ModelFileError
        The study cannot be read.
    StudyError
        The study cannot be run or continued.

    Examples
    --------
    >>> import sarrus
    >>> table = sarrus.sweep("examples/crank_length.yaml", out="runs/crank")  # doctest: +SKIP
    """
    session = _load("session")
    session.check_extra()
    options: dict[str, Any] = {
        "workers": workers,
        "scheduler": scheduler,
        "limit": limit,
        "fresh": fresh,
        "progress": progress,
    }
    given = {**keys} if study is None else study
    if study is not None and keys:
        if not isinstance(study, dict):
            first = next(iter(keys))
            raise TypeError(
                f"sweep() has no argument '{first}' next to a study file, which has all keys of the study; "
                f"{describe_known(first, ['study', 'out', *options])}"
            )
        given = {**study, **keys}
    if out is not None:
        return session.run_to_table(given, Path(out), **options)
    with tempfile.TemporaryDirectory(prefix="sarrus-study-") as folder:
        return session.run_to_table(given, Path(folder), **options)


def make_study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file."""
    return _load("study_schema").make_study_schema()
