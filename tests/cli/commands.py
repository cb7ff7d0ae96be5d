"""Running the command as a user does: in a process of its own, where its event loop and its signals are its own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
from anyio.abc import Process

from tests.forked import Ended, Started, start

__all__ = ("Done", "kinformer", "output_until", "running")


Done = Ended


async def kinformer(*arguments: object, **environment: str) -> Done:
    """Run it to its end."""
    # The first start waits until the command is imported, which a busy machine may need minutes for.
    process = start("kinformer", [*map(str, arguments)], {**os.environ, **environment, "COLUMNS": "200"})
    with anyio.fail_after(60):
        return await process.to_its_end()


@asynccontextmanager
async def running(*arguments: object, **environment: str) -> AsyncIterator[Started]:
    """Have it run while the block does; the block is expected to end it."""
    whole = {**os.environ, **environment}
    async with aclosing(start("kinformer", [*map(str, arguments)], whole, one_stream=True)) as process:
        yield process


async def output_until(process: Process | Started, text: str) -> str:
    """What it prints, up to and with `text`."""
    assert process.stdout is not None
    printed = b""
    with anyio.fail_after(60):
        while text.encode() not in printed:
            printed += await process.stdout.receive()
    return printed.decode()
