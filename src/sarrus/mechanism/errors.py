"""The exceptions of this room."""

from collections.abc import Sequence

# a file may hold thousands of slips
MOST_PROBLEMS = 50


class MechanismError(ValueError):
    """The mechanism cannot be simulated; the message says why and what to do."""


class LockedError(MechanismError):
    """The mechanism is locked: no motion keeps all joints closed."""


class ModelFileError(MechanismError):
    """A model file or its data cannot be read; `problems` has a line for each reason.

    Each reads `file:line: key: what is wrong; what to do`.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(self.problems[0])
            return
        shown = [f"  {line}" for line in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            shown.append(f"  and {len(self.problems) - MOST_PROBLEMS} more")
        super().__init__(f"{len(self.problems)} problems in {source}:\n" + "\n".join(shown))
