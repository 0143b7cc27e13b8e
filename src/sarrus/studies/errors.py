"""The exceptions of this room."""


class StudyError(ValueError):
    """A study cannot be run or go on; the message says why and what to do."""


class StudyStopped(StudyError):  # noqa: N818
    """A study was stopped before its end; its finished runs are kept."""

    def __init__(self, message: str, done: int, runs: int) -> None:
        super().__init__(message)
        self.done = done
        self.runs = runs
