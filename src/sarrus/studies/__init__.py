"""Studies: many runs of one mechanism on Dask, in a table that survives whatever happens.

    read (study file)  ->  samples (values)  ->  batches on workers  ->  parts on disk  ->  table, overview

Dask, pandas, pyarrow and pydantic are loaded by the first call that needs them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lazy import load_on_use
from .study import StudyError, StudyStopped

if TYPE_CHECKING:
    import pandas as pd

    from .session import Progress

__all__ = ["StudyError", "StudyStopped", "make_study_schema", "sweep"]

# Dask, pandas and pyarrow load slowly
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

    study: a study file, or its keys as a dictionary or as keyword arguments (`vary={...}`, `record=[...]`); in
    Python `mechanism` may be a Mechanism and a record a function of result and mechanism. out: folder of the
    results; the same call goes on where it stopped; left out: a temporary one. workers: processes on this
    machine, one a core if left out; scheduler: address of a Dask scheduler instead. limit: most runs in
    this call. fresh: set earlier results in the folder aside.

    Scripts call it under `if __name__ == "__main__":`, because workers are new processes that import them.
    Raises ModelFileError for a study that cannot be read, StudyError for what stops it. Runs that fail are rows
    with a status and a sentence.
    """
    session = _load("session")
    session.check_extra()
    given = {**keys} if study is None else study
    if study is not None and keys:
        if not isinstance(study, dict):
            raise TypeError(
                f"the study file says '{next(iter(keys))}'; give a file or keys, not both"
            )
        given = {**study, **keys}
    options: dict[str, Any] = {
        "workers": workers,
        "scheduler": scheduler,
        "limit": limit,
        "fresh": fresh,
        "progress": progress,
    }
    if out is not None:
        return session.run_to_table(given, Path(out), **options)
    with tempfile.TemporaryDirectory(prefix="sarrus-study-") as folder:
        return session.run_to_table(given, Path(folder), **options)


def make_study_schema() -> dict[str, Any]:
    """The JSON Schema of a study file."""
    return _load("study_schema").make_study_schema()
