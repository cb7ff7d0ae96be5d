"""``kinformer apiserver``: runs an embedded API server until it is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import click

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes

__all__ = ("serve",)


async def serve(
    *,
    kubeconfig_out: Path | None,
    fake_nodes: int,
    with_manager: bool = False,
    certificate: bool = False,
    **options: Any,
) -> int:
    """
    Serve until cancelled.

    :param kubeconfig_out: where to write a kubeconfig; None: print the token instead
    :param fake_nodes: the number of fake nodes
    :param with_manager: do not run the controllers that a manager can run
    :param certificate: put a client certificate into the kubeconfig, beside the token
    :param options: the parameters of :class:`~kinformer.envtest.ApiServer`
    :raises ServerError: if the port is in use, or the data cannot be used
    :raises OSError: if the kubeconfig cannot be written
    """
    if with_manager and options.get("controllers", True):
        options["controllers"] = ("kubelet",)
    async with ApiServer(**options) as server:
        if kubeconfig_out is not None:
            server.write_kubeconfig(kubeconfig_out, certificate=certificate)
            click.echo(f"serving on {server.url} for whoever has {kubeconfig_out}")
        else:
            click.echo(f"serving on {server.url} with bearer token {server.token}")
        if fake_nodes:
            ca = server.authority.certificate if server.authority is not None else None
            async with connect(url=server.url, token=server.token, ca_data=ca) as client:
                await FakeNodes(client, fake_nodes).run()
        await anyio.sleep_forever()
    return 0
