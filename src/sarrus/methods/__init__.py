"""How time advances, one file a method; each is a function `run(model, start, ...)`."""

from collections.abc import Callable
from typing import Any

from . import series

METHODS: dict[str, Callable[..., Any]] = {"series": series.run}
