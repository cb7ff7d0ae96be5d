"""Running the command as a user does: in a process of its own, where its event loop and its signals are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
from anyio.abc import Process

__all__ = ("Done", "kinformer", "output_until", "running")

_COMMAND = (sys.executable, "-u", "-c", "from kinformer.cli import main; main()")


class Done(NamedTuple):
    status: int
    out: str
    err: str


async def kinformer(*arguments: object, **environment: str) -> Done:
    """Run it to its end."""
    with anyio.fail_after(60):
        done = await anyio.run_process(
            [*_COMMAND, *map(str, arguments)], check=False, env={**os.environ, **environment, "COLUMNS": "200"}
        )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@asynccontextmanager
async def running(*arguments: object) -> AsyncIterator[Process]:
    """Have it run while the block does; the block is expected to end it."""
    async with await anyio.open_process([*_COMMAND, *map(str, arguments)], stderr=subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def output_until(process: Process, text: str) -> str:
    """What it prints, up to and with `text`."""
    assert process.stdout is not None
    printed = b""
    with anyio.fail_after(60):
        while text.encode() not in printed:
            printed += await process.stdout.receive()
    return printed.decode()
