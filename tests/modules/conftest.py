from __future__ import annotations

from pathlib import Path

import pytest

import kinformer
import kinformer_controllers
from tests.modules.reading import Module, read


@pytest.fixture(scope="session")
def modules() -> list[Module]:
    """All modules of the project. To parse them takes 2 s of CPU."""
    found = []
    for package in (kinformer, kinformer_controllers):
        root = Path(package.__path__[0])
        for path in root.rglob("*.py"):
            parts = (root.name, *path.relative_to(root).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found.append(read(name, path.read_text(encoding="utf-8"), is_package=is_package))
    assert len(found) > 500
    return found
