"""Saves the document to its file: only on request, atomically, and never through a link."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..disk import read_file, write_file
from ..mechanism import MechanismError
from ..mechanism.files import to_text
from ..mechanism.files.model_reader import MOST_BYTES
from ..mechanism.files.paths import split_path
from .parameters import Data, drive_starts, with_values

REWRITTEN = "the file was rewritten: comments and units that it had are gone"


@dataclass
class OpenedFile:
    """The file of the workbench: its path (None: no file is open), its text as read, its data in SI."""

    path: Path | None
    text: str = ""
    data: Data | None = None

    def write(self, data: Data, values: Mapping[str, float], force: bool = False) -> list[str]:
        """Write a document into the file; force: also overwrite later changes by another program."""
        if self.path is None:
            raise MechanismError("no file is opened, so nothing is saved; download it instead")
        if self.path.is_symlink():
            raise MechanismError(
                f"{self.path.name} is a link; nothing is written through it: download it instead"
            )
        if not force and self._on_disk() != self.text:
            raise MechanismError(
                f"{self.path.name} was changed by another program since it was opened; save once more to "
                "replace what it holds"
            )
        whole = with_values(data, values)
        # Numbers that follow from the values are written with them.
        starts = drive_starts(whole) if values else {}
        moved = {p: x for p, x in starts.items() if drive_starts(data).get(p) != x}
        text = patched(self.text, {**values, **moved}) if data == self.data else None
        said = [] if text is not None or not self.text else [REWRITTEN]
        text = self._whole(whole) if text is None else text
        try:
            write_file(self.path, text)
        except OSError as error:
            raise MechanismError(f"{self.path.name} cannot be written: {error}") from None
        self.text, self.data = text, whole
        return [f"saved: {self.path.name}", *said]

    def _whole(self, data: Data) -> str:
        """Return the complete text of the file, regenerated: JSON stays JSON."""
        assert self.path is not None
        if self.path.suffix.lower() == ".json":
            return json.dumps(data, indent=2, allow_nan=False) + "\n"
        return to_text(data)

    def _on_disk(self) -> str:
        assert self.path is not None
        if not self.path.exists():
            return ""
        try:
            return read_file(self.path, MOST_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise MechanismError(f"{self.path.name} cannot be read: {error}") from None


def patched(text: str, values: Mapping[str, float]) -> str | None:
    """Return the text of a file with other numbers at paths, otherwise unchanged; None if a path has no number."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    spots = []
    for path, value in values.items():
        node: Any = root
        for part in split_path(path):
            node = _below(node, part)
        if not isinstance(node, yaml.ScalarNode) or node.style is not None:
            return None
        number = repr(float(value))
        # Older readers parse 1e-05 as text, but 1.0e-05 as a number.
        number = number if "." in number or "e" not in number else number.replace("e", ".0e")
        spots.append((node.start_mark.index, node.end_mark.index, number))
    for begin, end, number in sorted(spots, reverse=True):
        text = text[:begin] + number + text[end:]
    return text


def _below(node: Any, part: str) -> Any:
    """Return the child of a node at a key or an index."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
        return node.value[int(part)]
    return None
