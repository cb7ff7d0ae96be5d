"""Watching a whole server: when something last changed in which namespace, for many scenarios at once.

Each scenario would otherwise list all its kinds ten times a second. One watch a kind tells all of them. An embedded
server in this process is asked without any request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp
import anyio
import msgspec

from kinformer.envtest.storage import Storage
from tests.golden.api import path_of

__all__ = ("Changes", "Stored", "Telling", "watching")

#: All but Events: those of a workload that is refused again and again never end.
_KINDS = (
    "CertificateSigningRequest",
    "ClusterRole",
    "ConfigMap",
    "ControllerRevision",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "EndpointSlice",
    "Endpoints",
    "HorizontalPodAutoscaler",
    "Job",
    "Lease",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
    "ValidatingAdmissionPolicy",
    "VolumeAttachment",
)


class _Metadata(msgspec.Struct):
    namespace: str = ""
    resourceVersion: str = ""  # noqa: N815
    labels: dict[str, str] = {}


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Event(msgspec.Struct):
    type: str
    object: _Object


class Telling(Protocol):
    def of(self, namespace: str) -> object:
        """Something that is another whenever anything may have changed there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How often something but Events and Leases has changed in an embedded server that has one scenario."""

    storage: Storage

    def of(self, namespace: str) -> dict[str, int]:
        return {
            str(resource): log.end
            for resource, log in self.storage.logs()
            if resource.resource not in ("events", "leases")
        }


class Changes:
    """
    How often something has changed, by namespace.

    Objects of the cluster count for the one in their label `set`, and those in a second namespace `-x` for the first.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._breaks = 0

    def of(self, namespace: str) -> tuple[int, int]:
        """Something that is another whenever anything may have changed there."""
        return self._breaks, self._seen[namespace]

    async def follow(self, session: aiohttp.ClientSession, path: str) -> None:
        """Watch one kind for ever. What a broken watch has missed counts as a change of everything."""
        decode = msgspec.json.Decoder(_Event).decode
        while True:
            self._breaks += 1
            try:
                async with session.get(path, params={"limit": "1"}) as response:
                    version = (await response.json(content_type=None))["metadata"]["resourceVersion"]
                params = {"watch": "1", "resourceVersion": version}
                async with session.get(path, params=params, timeout=aiohttp.ClientTimeout(None)) as response:
                    async for line in response.content:
                        metadata = decode(line).object.metadata
                        where = metadata.namespace.removesuffix("-x") or metadata.labels.get("set", "")
                        self._seen[where] += 1
            except (aiohttp.ClientError, ValueError, KeyError):
                await anyio.sleep(0.2)


@asynccontextmanager
async def watching(session: aiohttp.ClientSession, kinds: Sequence[str] = _KINDS) -> AsyncIterator[Changes]:
    """The changes of all namespaces of a server, from now on."""
    changes = Changes()
    async with anyio.create_task_group() as tasks:
        for kind in kinds:
            # Of all namespaces.
            path = path_of(kind, namespace="-").replace("/namespaces/-", "")
            tasks.start_soon(changes.follow, session, path)
        await anyio.sleep(0.5)
        yield changes
        tasks.cancel_scope.cancel()
