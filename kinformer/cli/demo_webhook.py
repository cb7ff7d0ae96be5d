"""The quota webhook in the demo: the command ``quota-webhook`` in a process of its own, asked by the embedded server.

It is a command of another package and needs certificates, so it is there only where that package and cryptography are
installed; the demo goes on without it where they are not.
"""

from __future__ import annotations

import base64
import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from kinformer.cli.manifests import Manifest, apply_manifests, read_manifests
from kinformer.client import Client
from kinformer.envtest import ApiServer

__all__ = ("WebhookNotStarted", "has_quota_webhook", "quota_webhook")

_NAME = "quota-webhook"
_HOST = "127.0.0.1"
_LONGEST_LINE = 10_000


class WebhookNotStarted(Exception):
    """The process ended before it served."""


def has_quota_webhook() -> bool:
    """Whether the webhook can be run here."""
    installed = any(entry.name == _NAME for entry in entry_points(group="kinformer.commands"))
    return installed and importlib.util.find_spec("cryptography") is not None


@asynccontextmanager
async def quota_webhook(server: ApiServer, client: Client, manifests: Path) -> AsyncIterator[None]:
    """
    Have the server ask the webhook while the block runs.

    :param manifests: the folder with its CustomResourceDefinition, its configuration, and an example of a quota
    :raises ManifestError: if one of these cannot be read or applied
    :raises WebhookNotStarted: with the last that it said
    """
    from kinformer.envtest.certificates import Authority

    authority = Authority()
    await apply_manifests(client, read_manifests(manifests / "crd.yaml"))
    with TemporaryDirectory() as folder:
        here = Path(folder)
        pair = authority.issue(_HOST, hosts=(_HOST,))
        (here / "tls.crt").write_bytes(pair.certificate)
        (here / "tls.key").write_bytes(pair.key)
        server.write_kubeconfig(here / "kubeconfig")
        files = ("--tls-cert-file", here / "tls.crt", "--tls-private-key-file", here / "tls.key")
        # A charge of a request that came to nothing is given back after this; a real cluster takes longer to store.
        quick = ("--reservation", "1s")
        arguments = (_NAME, "--kubeconfig", here / "kubeconfig", "--host", _HOST, "--port", 0, *files, *quick)
        command = [sys.executable, "-u", "-c", "from kinformer.cli import main; main()", *map(str, arguments)]
        log = here / "log"
        with log.open("wb") as errors:
            process = await anyio.open_process(command, stderr=errors)
        async with process:
            try:
                url = await _serving(process, log)
                (configuration,) = read_manifests(manifests / "webhook.yaml")
                await apply_manifests(client, [_pointed_at(configuration, url, authority.certificate)])
                await apply_manifests(client, read_manifests(manifests / "example.yaml"))
                yield
            finally:
                process.terminate()
                with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                    await process.wait()


async def _serving(process: Process, log: Path) -> str:
    """Where it serves, once it does."""
    assert process.stdout is not None
    lines = BufferedByteReceiveStream(process.stdout)
    try:
        words = (await lines.receive_until(b"\n", _LONGEST_LINE)).decode().split()
    except anyio.IncompleteRead:
        last = (await anyio.Path(log).read_text()).rstrip().rpartition("\n")[2]
        raise WebhookNotStarted(f"{_NAME} has not started: {last}") from None
    return next(word for word in words if word.startswith("https://"))


def _pointed_at(configuration: Manifest, url: str, ca: bytes) -> Manifest:
    """The configuration with an address of this machine in place of a cluster's service."""
    client_config: dict[str, Any] = {"url": url, "caBundle": base64.b64encode(ca).decode()}
    webhooks = [{**webhook, "clientConfig": client_config} for webhook in configuration.obj["webhooks"]]
    return Manifest(configuration.source, {**configuration.obj, "webhooks": webhooks})
