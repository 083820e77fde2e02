"""What the tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """A process in the background of a shell inherits that SIGINT is ignored; the tests send it to themselves."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def command() -> Path:
    """The command `tidegate` of the same build; TIDEGATE names it."""
    named = os.environ.get("TIDEGATE")
    if named is None:
        pytest.fail("set TIDEGATE to the path of the command `tidegate` of the same build")
    return Path(named)
