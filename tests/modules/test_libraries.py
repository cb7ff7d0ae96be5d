"""What of other libraries is used: what they document."""

from __future__ import annotations

import pytest

from tests.modules.reading import Module, read


def test_no_private_module_or_name_of_a_library_is_imported(modules: list[Module]) -> None:
    assert [f"{module.name}: {name}" for module in modules for name in module.private] == []


@pytest.mark.parametrize(
    "text", ["import anyio._core", "from anyio import _core", "from anyio._core import tasks", "anyio._core"]
)
def test_a_private_name_of_a_library_is_found_however_it_is_used(text: str) -> None:
    assert read("module", text).private != []
