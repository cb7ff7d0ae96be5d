"""``kinformer apiserver``: an API server until somebody interrupts it."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes

__all__ = ("serve",)


async def serve(*, host: str, port: int, token: str | None, kubeconfig_out: Path | None, fake_nodes: int) -> int:
    """
    Serve until cancelled.

    :raises ServerError: if the port is taken
    :raises OSError: if the kubeconfig cannot be written
    """
    async with ApiServer(host=host, port=port, token=token) as server:
        if kubeconfig_out is not None:
            server.write_kubeconfig(kubeconfig_out)
            click.echo(f"serving on {server.url}; kubectl --kubeconfig {kubeconfig_out} get namespaces")
        else:
            click.echo(f"serving on {server.url} with bearer token {server.token}")
        if fake_nodes:
            async with connect(url=server.url, token=server.token) as client:
                await FakeNodes(client, fake_nodes).run()
        await anyio.sleep_forever()
    return 0
