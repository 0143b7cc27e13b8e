"""The exceptions of this room."""


class StudyError(ValueError):
    """A study cannot be run or go on; the message says why and what to do."""


class StudyStopped(KeyboardInterrupt):
    """A study was stopped by Ctrl-C before its end; its finished runs are kept.

    done: of all runs, those that are finished.
    """

    def __init__(self, message: str, done: int, runs: int) -> None:
        super().__init__(message)
        self.done = done
        self.runs = runs
