"""Its place lets every test import the helpers near it; terminal and patience are the same for all."""

import pytest
from hypothesis import HealthCheck, settings

# a busy machine takes long for any example, or for making one; what failed can be run again by its blob
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("patient")

# they colour and wrap what is printed, and come from the terminal or the service that runs the tests
OF_TERMINALS = (
    "FORCE_COLOR",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)


@pytest.fixture
def few_runs_pay(monkeypatch):
    """Code is compiled for the smallest groups of runs: else it takes a thousand."""
    monkeypatch.setattr("sarrus.ensemble.host.FEWEST_RUNS", 1)


@pytest.fixture(scope="session", autouse=True)
def plain_terminal():
    """No colours, 80 columns, whatever the terminal is; programs that tests start inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*OF_TERMINALS, "GITHUB_ACTIONS", "PY_COLORS", "LINES"):
            patch.delenv(name, raising=False)
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "dumb")
        yield
