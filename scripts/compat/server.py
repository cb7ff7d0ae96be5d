"""A server like ``kinformer apiserver --system-pods``, where commands in containers run on this machine.

    python -m scripts.compat.server KUBECONFIG

``make compat`` runs it for suites whose tests need the output of commands such as ``ls`` or ``date``. Do not use it for
anything else: its clients can run any command on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.containers import FakeProcess
from kinformer.envtest.nodes import FakeNodes
from kinformer.models import V1Pod

__all__ = ("serve",)

_NODES: Final = 3


async def serve(kubeconfig: Path) -> None:
    """Serve until cancelled, for a manager beside it."""
    async with ApiServer(tls=True, system_pods=True, controllers=("kubelet",)) as server:
        assert server.authority is not None
        async with connect(url=server.url, token=server.token, ca_data=server.authority.certificate) as client:

            async def run(process: FakeProcess) -> int:
                return await _run(client, process)

            server.containers.command("*", run)
            server.write_kubeconfig(kubeconfig, certificate=True)
            await FakeNodes(client, _NODES).run()


async def _run(client: Client, process: FakeProcess) -> int:
    """Run a command with the environment of its container, and return its exit code."""
    pod = await client.resource(V1Pod).get(process.pod, process.namespace)
    container = next(it for it in pod.spec.containers if it.name == process.container)
    own = {it.name: it.value or "" for it in container.env or ()}
    environment = {"PATH": os.environ["PATH"], **own}
    async with (
        await anyio.open_process(process.command, stdin=subprocess.PIPE, env=environment) as running,
        anyio.create_task_group() as reading,
    ):
        stdin, stdout, stderr = running.stdin, running.stdout, running.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None

        async def feed() -> None:
            while piece := await process.read():
                await stdin.send(piece)
            await stdin.aclose()

        async def tell_errors() -> None:
            async for piece in stderr:
                await process.write_error(piece)

        reading.start_soon(feed)
        async with anyio.create_task_group() as telling:
            telling.start_soon(tell_errors)
            async for piece in stdout:
                await process.write(piece)
        code = await running.wait()
        reading.cancel_scope.cancel()
    return code


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]))
