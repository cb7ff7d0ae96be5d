"""An embedded API server that enforces quotas, and who asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.admission import AdmissionContext
from kinformer.envtest.plugins import StoredObjects
from kinformer_controllers.shared.quota.admission import QuotaPlugin

__all__ = ("make_namespace", "make_pod", "make_quota", "quota_server")


@asynccontextmanager
async def quota_server(
    *plugins: Any, enforce: bool = True, clock: FakeClock | None = None
) -> AsyncIterator[tuple[ApiServer, Client]]:
    """
    :param plugins: more admission plug-ins, which run after quota's
    :param enforce: whether it has the plug-in for ResourceQuotas
    :param clock: the server's time, and the client's; a new one if None
    """
    clock = clock or FakeClock()
    async with ApiServer(plugins=False, clock=clock) as server:
        if enforce:
            context = AdmissionContext(StoredObjects(server.operations), server.clock)
            server.admission.plugins.append(QuotaPlugin(context))
        server.admission.plugins.extend(plugins)
        async with connect(url=server.url, token=server.token, clock=clock) as client:
            yield server, client


def make_pod(name: str, namespace: str = "default", cpu: str = "1") -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": containers},
    }


def make_quota(name: str = "q", namespace: str = "default", **hard: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": {key.replace("__", "."): value for key, value in hard.items()}},
    }


def make_namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
