"""The event on the page takes the way that the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio

from kinformer.client import connect
from kinformer.envtest import ApiServer

PAGE = (Path(__file__).parents[2] / "docs" / "event.md").read_text()
SOURCE = Path(__file__).parents[2] / "kinformer"


async def test_the_trail_is_what_the_page_shows() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (wanted,) = re.findall(r"It returns:\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "event.md", "exec", dont_inherit=True), names)

    with anyio.fail_after(60):
        async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
            trail = await names["follow"](client)

    assert trail == wanted.splitlines()


def test_what_the_page_says_to_look_at_is_in_the_source() -> None:
    seen = set(re.findall(r"`((?:informer|workqueue|controller_runtime|watch)_\w+)`", PAGE))
    source = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))

    assert len(seen) > 5
    assert {name for name in seen if name not in source and name.removesuffix("_total") not in source} == set()
