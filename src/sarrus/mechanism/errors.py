"""The one exception of this room."""


class MechanismError(ValueError):
    """The mechanism cannot be simulated; the message says why and what to do."""
