"""The report of an import or export: what was read, changed and dropped, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Report:
    """What was read from a file, in sentences.

    taken: number of each kind of element; changed: what is represented differently, with values; dropped: names of
    elements without an equivalent, by kind; closing: how open the authored configuration was and what closed it;
    believed: degrees of freedom of the joints minus closing equations, as the file's author would count them.
    """

    source: str
    format: str
    taken: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    dropped: dict[str, list[str]] = field(default_factory=dict)
    closing: list[str] = field(default_factory=list)
    believed: int | None = None
    # Bodies and joints by their paths in the file, if it has paths.
    paths: dict[str, str] = field(default_factory=dict)

    def drop(self, kind: str, *names: str) -> None:
        """Record elements that have no equivalent."""
        for name in names:
            known = self.dropped.setdefault(kind, [])
            if name not in known:
                known.append(name)

    @property
    def sentences(self) -> list[str]:
        """The whole report, one line per entry."""
        lines = [f"read from {self.source} ({self.format}): {', '.join(self.taken) or 'nothing'}"]
        lines += [f"changed: {line}" for line in self.changed]
        lines += [f"dropped: {kind}: {', '.join(names)}" for kind, names in self.dropped.items()]
        return lines + self.closing

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def believes(self, mobility: int) -> str:
        """Compare the file's own count of degrees of freedom with the computed mobility."""
        if self.believed is None:
            return ""
        count = f"degree{'s' * (self.believed != 1)} of freedom"
        same = (
            "as computed" if self.believed == mobility else f"the computed mobility is {mobility}"
        )
        return f"By its joints less its closing equations the file has {self.believed} {count}; {same}."

    def as_dict(self) -> dict[str, Any]:
        """Return the report as strings and lists, for JSON."""
        return {
            "source": self.source,
            "format": self.format,
            "taken": list(self.taken),
            "changed": list(self.changed),
            "dropped": {kind: list(names) for kind, names in self.dropped.items()},
            "closing": list(self.closing),
            "believed": self.believed,
        }
