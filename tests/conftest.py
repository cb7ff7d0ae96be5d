"""What every test has: asyncio under anyio's plugin, and hypothesis without a stop-watch."""

from __future__ import annotations

import gc
import os
import sys

import pytest
from hypothesis import settings

# A property fails by what is found, never by how busy the machine is.
settings.register_profile("kinformer", deadline=None)
settings.load_profile("kinformer")

# CronJobs without a time zone follow the machine's.
os.environ["TZ"] = "UTC"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_runtest_logfinish() -> None:
    """
    Take back what a test has configured of structlog.

    capture_logs() and commands leave it configured. Then a later test's events would be on standard output, or in a
    file that is closed.
    """
    if (structlog := sys.modules.get("structlog")) is not None:
        structlog.reset_defaults()


# Nearly all that collecting makes stays. Looking for garbage in it costs a seventh of the CPU time of collecting, and a
# fifth in a fresh clone, where assertions are rewritten. Without it a process is 16 MB larger.
gc.disable()


def pytest_collection_finish() -> None:
    """
    Spare the garbage collector the objects that were imported and collected: they stay to the end.

    It looks at the others seldom. With Python's threshold of 700, it took 23 % of the CPU time of a sample of the tests
    of controllers, caches and golden cases, and 13 % with this one, most of it for freeing what it found.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()
