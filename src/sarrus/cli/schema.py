"""`sarrus schema`: the JSON Schema of model and study files, for editors."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..mechanism.files import make_schema
from ..studies import make_study_schema


def schema(
    study: Annotated[bool, typer.Option("--study", help="Of study files instead.")] = False,
) -> None:
    """Print the JSON Schema of model files; editors complete and check with it."""
    print(json.dumps(make_study_schema() if study else make_schema(), indent=2, ensure_ascii=False))
