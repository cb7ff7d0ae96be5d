from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.envtest.hostile.victim import Victim, victim


@pytest.fixture(scope="module")
def attacked() -> Iterator[Victim]:
    """A server in another process, the same for all attacks of a module: each of them has to leave it well."""
    with victim() as server:
        yield server
