"""kubectl, against an embedded server with a manager beside it; for tests that run where there is a kubectl."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.manager import Manager

__all__ = ("Kubectl", "kubectl_beside", "needs_kubectl")

#: Runs kubectl with these arguments; what it said.
Kubectl = Callable[..., Awaitable[str]]

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")


@asynccontextmanager
async def kubectl_beside(folder: Path, *controllers: str) -> AsyncIterator[Kubectl]:
    """
    A kubectl for a server with one fake node.

    :param folder: for its kubeconfig, and its home
    :param controllers: what runs beside the server
    """
    config = folder / "config"
    async with ApiServer(tls=True) as server:
        server.write_kubeconfig(config)

        async def run(*arguments: str, stdin: str = "") -> str:
            home = {"HOME": str(folder), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin:/usr/local/bin"}
            done = await anyio.run_process(["kubectl", *arguments], input=stdin.encode(), check=False, env=home)
            return (done.stdout + done.stderr).decode()

        async with connect(kubeconfig=config) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(FakeNodes(client, 1).run)
            tasks.start_soon(Manager(client, controllers=list(controllers)).run)
            yield run
            tasks.cancel_scope.cancel()
