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

PAGE = Path(__file__).parents[2] / "docs" / "how-to.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
NAMES = [re.findall(r"^async def (\w+)\(client", block, re.MULTILINE)[-1] for block in BLOCKS]


@pytest.mark.parametrize(("name", "block"), [*zip(NAMES, BLOCKS, strict=True)], ids=NAMES)
async def test_a_recipe_works(name: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(f"how_to_{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))
    recipe = getattr(module, name)

    with anyio.fail_after(20):
        async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
            await recipe(*[client, server][: len(inspect.signature(recipe).parameters)])
