"""Clusters whose kubeconfigs are in Secrets, as Cluster API and multicluster-runtime keep them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import anyio

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import Client, ClientOptions, ConfigError, connect, parse_kubeconfig
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.informers.factory import Selection
from kinformer.logs import get_logger
from kinformer.manager.clusters import Cluster, Show
from kinformer.models import V1Secret

__all__ = ("KubeconfigSecrets",)

log = get_logger(__name__)

#: multicluster-runtime's label and key.
_SELECTOR: Final = "sigs.k8s.io/multicluster-runtime-kubeconfig=true"
_KEY: Final = "kubeconfig"


class KubeconfigSecrets:
    """
    The clusters of the Secrets that have a label, in one namespace of one cluster.

    A Secret that appears adds a cluster, one whose kubeconfig changes replaces its cluster, and one that is deleted
    takes its cluster away. While the Secrets cannot be read, the clusters stay. A kubeconfig of a Secret may not name
    files or programs (``exec``): whoever writes the Secret would read files and run programs in this process.

    For Cluster API: ``label_selector="cluster.x-k8s.io/cluster-name"``, ``key="value"`` and
    ``name_label="cluster.x-k8s.io/cluster-name"``.

    :param client: a client of the cluster that the Secrets are in. It needs to list and watch them
    :param namespace: the namespace of the Secrets
    :param label_selector: which Secrets
    :param key: where a Secret has the kubeconfig
    :param name_label: the label that has the name of the cluster; empty: the Secret's own name
    :param clock: for times
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        label_selector: str = _SELECTOR,
        key: str = _KEY,
        name_label: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._selection = Selection(label_selector=label_selector)
        self._key = key
        self._name_label = name_label
        self._clock = clock or client.clock
        #: The Secrets that are ignored, and why. Each is logged once.
        self._ignored: dict[str, str] = {}

    async def run(self, show: Show) -> None:
        """See :meth:`~kinformer.manager.clusters.ClusterSource.run`."""
        changed = anyio.Event()

        def tell(*_: object) -> None:
            changed.set()

        async with SharedInformerFactory(
            self._client, namespace=self._namespace, by_type={V1Secret: self._selection}, clock=self._clock
        ) as informers:
            secrets = informers.informer_for(V1Secret)
            secrets.add_event_handler(ResourceEventHandlerFuncs(add=tell, update=tell, delete=tell))
            informers.start()
            await secrets.wait_synced()
            while True:
                changed = anyio.Event()
                show(self._clusters(secrets.indexer.list()))
                await changed.wait()

    def _clusters(self, secrets: list[V1Secret]) -> list[Cluster]:
        found: dict[str, Cluster] = {}
        ignored: dict[str, str] = {}
        for secret in sorted(secrets, key=lambda it: it.metadata.name):
            if secret.metadata.deletion_timestamp is not None:
                continue
            where = f"Secret {secret.metadata.namespace}/{secret.metadata.name}"
            labels = secret.metadata.labels or {}
            name = labels.get(self._name_label, "") if self._name_label else secret.metadata.name
            if not name or name in found:
                why = f"it has no label {self._name_label}" if not name else f"another Secret has the cluster {name}"
                ignored[where] = why
                if self._ignored.get(where) != why:
                    log.error("cluster_ignored", secret=where, why=why)
                continue
            content = (secret.data or {}).get(self._key, "")
            found[name] = Cluster(name, partial(_open, where, self._key, content), content)
        self._ignored = ignored
        return list(found.values())


@asynccontextmanager
async def _open(where: str, key: str, content: str, *, options: ClientOptions, clock: Clock) -> AsyncIterator[Client]:
    try:
        kubeconfig = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{where}: its key {key} is not in base64") from None
    if not kubeconfig:
        raise ConfigError(f"{where}: it has no key {key}")
    endpoint = await parse_kubeconfig(kubeconfig, where=where, clock=clock)
    async with connect(endpoint=endpoint, options=options, clock=clock) as client:
        yield client
