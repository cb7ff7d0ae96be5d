"""``kinformer apiserver``: an API server until somebody interrupts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import click

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes

__all__ = ("serve",)


async def serve(*, kubeconfig_out: Path | None, fake_nodes: int, with_manager: bool = False, **options: Any) -> int:
    """
    Serve until cancelled.

    :param with_manager: leave to a manager what a manager can do
    :param options: those of :class:`~kinformer.envtest.ApiServer`
    :raises ServerError: if the port is taken, or the data cannot be used
    :raises OSError: if the kubeconfig cannot be written
    """
    if with_manager and options.get("controllers", True):
        options["controllers"] = ("kubelet",)
    async with ApiServer(**options) as server:
        if kubeconfig_out is not None:
            server.write_kubeconfig(kubeconfig_out)
            click.echo(f"serving on {server.url} for whoever has {kubeconfig_out}")
        else:
            click.echo(f"serving on {server.url} with bearer token {server.token}")
        if fake_nodes:
            ca = server.authority.certificate if server.authority is not None else None
            async with connect(url=server.url, token=server.token, ca_data=ca) as client:
                await FakeNodes(client, fake_nodes).run()
        await anyio.sleep_forever()
    return 0
