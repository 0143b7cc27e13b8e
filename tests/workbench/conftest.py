"""What tests of the workbench share."""

import pytest

from browser import open_browser


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file."""
    with open_browser() as found:
        yield found
