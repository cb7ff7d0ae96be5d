"""The recipes work: each block's last function is run against a server."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from tests.ports import free_port

PAGE = Path(__file__).parents[2] / "docs" / "how-to.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
NAMES = [re.findall(r"^async def (\w+)\(client", block, re.MULTILINE)[-1] for block in BLOCKS]


@pytest.mark.parametrize(("name", "block"), [*zip(NAMES, BLOCKS, strict=True)], ids=NAMES)
async def test_a_recipe_works(name: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(f"how_to_{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))
    recipe = getattr(module, name)

    with anyio.fail_after(60):
        async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
            await recipe(*[client, server, free_port()][: len(inspect.signature(recipe).parameters)])


@pytest.mark.parametrize(
    "subject",
    [
        *("by a field", "some fields", "no class", "webhook", "several namespaces", "faults"),
        *("priority", "rate", "uvloop", "memory"),
    ],
)
def test_there_is_a_recipe_for(subject: str) -> None:
    headings = re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE)

    assert any(subject in heading.lower() for heading in headings)
