"""What pydantic finds wrong with a study file, as sentences with key and line."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ..mechanism import ModelFileError
from ..mechanism.files.paths import nearest
from ..mechanism.files.reading import Document, Where
from ..mechanism.files.schema import known_keys
from ..mechanism.files.units import shorten
from . import schema

SETTINGS = tuple(known_keys(schema.SettingsEntry))


def validate_study(document: Document) -> schema.StudyFile:
    """The file as pydantic read it; raises ModelFileError with a line for each slip."""
    data = document.data
    version = data.get("sarrus_study") if isinstance(data, dict) else None
    if not isinstance(data, dict) or "sarrus_study" not in data:
        why = f"there is no version; is this a study file? Begin it with 'sarrus_study: {schema.VERSION}'"
        raise ModelFileError(document.source, [document.message((), why)])
    if version != schema.VERSION or isinstance(version, bool):
        why = (
            f"version {shorten(version)} is not known; this program reads version {schema.VERSION}"
        )
        raise ModelFileError(document.source, [document.message(("sarrus_study",), why)])
    try:
        return schema.StudyFile.model_validate(data)
    except ValidationError as error:
        found = [document.message(*translate_slip(item, data)) for item in error.errors()]
        raise ModelFileError(document.source, list(dict.fromkeys(found))) from None


def translate_slip(error: Any, data: Any) -> tuple[Where, str]:
    """Path and sentence of one error of pydantic."""
    kind, context = error["type"], error.get("ctx", {})
    *above, last = error["loc"]
    where: list[str | int] = []
    place = data
    for part in above:
        # names of alternatives stand between the keys
        if isinstance(place, dict | list) and _has(place, part):
            where.append(part)
            place = place[part]
    if kind == "missing":
        return tuple(where), f"'{last}' is missing"
    if kind == "extra_forbidden":
        return (*where, last), f"unknown key; {nearest(str(last), _keys(where))}"
    if isinstance(place, dict | list) and _has(place, last):
        where.append(last)
    if kind == "value_error":
        return tuple(where), str(context["error"])
    given = shorten(error["input"])
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return tuple(where), (
            f"{given} is no variation; give a list, or one of {{range: ...}}, {{uniform: [low, high]}}, "
            "{normal: [mean, deviation]}, {tilt: ...}"
        )
    if kind in ("too_short", "too_long"):
        return tuple(where), f"{context['actual_length']} entries; {_wanted(where)}"
    if kind == "literal_error":
        return tuple(where), f"{given} is not possible; give {context['expected']}"
    if kind in ("bool_type", "int_type", "list_type", "dict_type", "model_type"):
        words = {"bool_type": "neither true nor false", "int_type": "no whole number"}
        words |= {"list_type": "no list", "dict_type": "no mapping", "model_type": "no mapping"}
        return tuple(where), f"{given} is {words[kind]}; {_wanted(where)}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return tuple(where), f"{given} is out of range; {error['msg'].lower()}"
    return tuple(where), f"{given} cannot be read: {error['msg']}"


def _has(place: Any, part: Any) -> bool:
    if isinstance(place, dict):
        return part in place
    return isinstance(part, int) and 0 <= part < len(place)


def _keys(where: list[str | int]) -> list[str]:
    """The keys that may stand at a place of a study."""
    if not where:
        return known_keys(schema.StudyFile)
    if where[0] == "simulate":
        return list(SETTINGS)
    if where[0] == "trajectory":
        return known_keys(schema.TrajectoryEntry)
    if where[-1] == "range":
        return known_keys(schema.RangeNumbers)
    return ["list", "range", "uniform", "normal", "tilt", "about"]


def _wanted(where: list[str | int]) -> str:
    """What to write at a place, by the example of its field."""
    models = (schema.StudyFile, schema.SettingsEntry, schema.RangeNumbers, schema.UniformEntry)
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    for model in (*models, schema.NormalEntry, schema.ListEntry, schema.TiltEntry):
        for name, item in model.model_fields.items():
            if (item.alias or name) == key:
                return f"give {item.description}"
    return "see docs/sweeps.md"
