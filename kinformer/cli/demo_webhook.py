"""The quota webhook in the demo: the command ``quota-webhook`` in its own process, asked by the embedded server.

The command belongs to another package and needs certificates. If that package or cryptography is not installed, the
demo runs without the webhook.
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
    """The webhook's process ended before it served requests. The text has the last line of its log."""


def has_quota_webhook() -> bool:
    """Whether the webhook can run here: the command and cryptography are installed."""
    installed = any(entry.name == _NAME for entry in entry_points(group="kinformer.commands"))
    return installed and importlib.util.find_spec("cryptography") is not None


@asynccontextmanager
async def quota_webhook(server: ApiServer, client: Client, manifests: Path) -> AsyncIterator[None]:
    """
    Run the webhook while the block runs, and make the server call it.

    :param manifests: the folder with its CustomResourceDefinition, its configuration, and an example of a quota
    :raises ManifestError: if one of these cannot be read or applied
    :raises WebhookNotStarted: if its process ends before it serves
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
        # The webhook charges a quota when it admits a request. It gives the charge back after this time if the object
        # has not appeared by then. One second is enough here; a real cluster takes longer to store an object.
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
    """Wait until the webhook serves; returns its URL."""
    assert process.stdout is not None
    lines = BufferedByteReceiveStream(process.stdout)
    try:
        words = (await lines.receive_until(b"\n", _LONGEST_LINE)).decode().split()
    except anyio.IncompleteRead:
        last = (await anyio.Path(log).read_text()).rstrip().rpartition("\n")[2]
        raise WebhookNotStarted(f"{_NAME} has not started: {last}") from None
    return next(word for word in words if word.startswith("https://"))


def _pointed_at(configuration: Manifest, url: str, ca: bytes) -> Manifest:
    """The configuration with a URL on this machine in place of a service of the cluster."""
    client_config: dict[str, Any] = {"url": url, "caBundle": base64.b64encode(ca).decode()}
    webhooks = [{**webhook, "clientConfig": client_config} for webhook in configuration.obj["webhooks"]]
    return Manifest(configuration.source, {**configuration.obj, "webhooks": webhooks})
