"""``kinformer apiserver``: runs an embedded API server until it is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import click

from kinformer.client import ClientOptions, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.options import OptionError

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
    :param certificate: add a client certificate to the kubeconfig
    :param options: the parameters of :class:`~kinformer.envtest.ApiServer`
    :raises OptionError: if a certificate is asked for without TLS, or without a kubeconfig
    :raises ServerError: if the port is in use, or the data cannot be used
    :raises OSError: if the kubeconfig cannot be written
    """
    if certificate and not (options.get("tls") and kubeconfig_out):
        raise OptionError("--certificate needs --tls, and --kubeconfig-out for the file that it goes into")
    if with_manager and options.get("controllers", True):
        options["controllers"] = ("kubelet",)
    async with ApiServer(**options) as server:
        if kubeconfig_out is not None:
            server.write_kubeconfig(kubeconfig_out, certificate=certificate)
            access = f"for whoever has {kubeconfig_out}"
        else:
            access = f"with bearer token {server.token}"
        without_tls = "" if server.url.startswith("https:") else " (kubectl needs --tls: it sends no token over HTTP)"
        click.echo(f"serving on {server.url} {access}{without_tls}")
        if fake_nodes:
            ca = server.authority.certificate if server.authority is not None else None
            async with connect(
                url=server.url, token=server.token, ca_data=ca, options=ClientOptions(lazy=True)
            ) as client:
                await FakeNodes(client, fake_nodes).run()
        await anyio.sleep_forever()
    return 0
