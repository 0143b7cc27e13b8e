"""`sarrus schema`: the JSON Schema of model files, for editors."""

from __future__ import annotations

import json

from ..mechanism.files import make_schema


def schema() -> None:
    """Print the JSON Schema of model files; editors complete and check with it."""
    print(json.dumps(make_schema(), indent=2, ensure_ascii=False))
