"""What became of a file: what was taken, changed and dropped, each by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Report:
    """What was read from a file, in sentences.

    taken: how much of each thing; changed: what is now told differently, with the number; dropped: what has no
    equal here, every thing by name, under its kind; closing: how open the authored pose was and what
    closed it; believed: freedoms less closing equations, as the file's author would count them.
    """

    source: str
    format: str
    taken: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    dropped: dict[str, list[str]] = field(default_factory=dict)
    closing: list[str] = field(default_factory=list)
    believed: int | None = None
    # bodies and joints by their paths in the file, where it has paths
    paths: dict[str, str] = field(default_factory=dict)

    def drop(self, kind: str, *names: str) -> None:
        """Remember things that have no equal here."""
        for name in names:
            known = self.dropped.setdefault(kind, [])
            if name not in known:
                known.append(name)

    @property
    def sentences(self) -> list[str]:
        """All of it, a line each."""
        lines = [f"taken from {self.source} ({self.format}): {', '.join(self.taken) or 'nothing'}"]
        lines += [f"changed: {line}" for line in self.changed]
        lines += [f"dropped: {kind}: {', '.join(names)}" for kind, names in self.dropped.items()]
        return lines + self.closing

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def believes(self, mobility: int) -> str:
        """The file's own count beside the mobility that was found."""
        if self.believed is None:
            return ""
        same = "as found" if self.believed == mobility else f"found are {mobility}"
        return f"The file counts {self.believed} freedoms (of its joints, less its closing equations): {same}."

    def as_dict(self) -> dict[str, Any]:
        """The record as plain words and lists, for JSON."""
        return {
            "source": self.source,
            "format": self.format,
            "taken": list(self.taken),
            "changed": list(self.changed),
            "dropped": {kind: list(names) for kind, names in self.dropped.items()},
            "closing": list(self.closing),
            "believed": self.believed,
        }
