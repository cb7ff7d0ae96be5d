"""A server with two of a team's namespaces and another one, GroupQuotas, and a webhook to try."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import yaml

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.plugins import StoredObjects
from kinformer_controllers.groupquota.group_quota import GROUP_QUOTAS
from kinformer_controllers.groupquota.server import WebhookServer
from kinformer_controllers.groupquota.webhook import QuotaWebhook
from tests.controllers.groupquota.webhook_proxy import GivenUids, proxy
from tests.controllers.shared.quota.serving import make_namespace, quota_server
from tests.turning import eventually, turn

__all__ = ("CRD", "Setting", "group_quota", "setting", "through")

CRD = Path(__file__).parents[3] / "docs" / "controllers" / "quota-webhook" / "crd.yaml"


def group_quota(hard: dict[str, str], name: str = "g", **spec: Any) -> dict[str, Any]:
    selector = {} if "application" in spec else {"namespaceSelector": {"matchLabels": {"team": "shop"}}}
    return {
        "apiVersion": "quota.kinformer.dev/v1",
        "kind": "GroupQuota",
        "metadata": {"name": name},
        "spec": {**selector, "hard": hard, **spec},
    }


class Setting:
    """A server with two of a team's namespaces and another one, and a webhook for it."""

    def __init__(self, server: ApiServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.clock = client.clock
        self.url = ""
        self.quotas: Any = client.resource(dict, GROUP_QUOTAS, namespaced=False, kind="GroupQuota")
        self.stored = StoredObjects(server.operations)

    @asynccontextmanager
    async def serving(self, **options: Any) -> AsyncIterator[QuotaWebhook]:
        webhook = QuotaWebhook(self.client, clock=self.clock, **options)
        endpoint = WebhookServer(webhook, None, "127.0.0.1", 0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(webhook.run)
            tasks.start_soon(endpoint.run)
            await endpoint.listening.wait()
            self.url = f"http://127.0.0.1:{endpoint.port}"
            await self.eventually(lambda: webhook.controller.has_synced)
            yield webhook
            tasks.cancel_scope.cancel()

    async def asked(self, session: aiohttp.ClientSession, asked: dict[str, Any], query: str = "") -> dict[str, Any]:
        """What the webhook answers, turning the clock meanwhile."""
        found: list[dict[str, Any]] = []

        async def ask() -> None:
            async with session.post(f"{self.url}/validate{query}", json=asked) as answered:
                found.append((await answered.json())["response"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.eventually(lambda: found)
        return found[0]

    async def eventually(self, true: Callable[[], object]) -> None:
        """Turn the clock until something is true."""
        await eventually(true, self.clock)

    async def turn(self, seconds: float) -> None:
        """Let so many seconds pass."""
        assert isinstance(self.clock, FakeClock)
        await turn(self.clock, seconds)

    def used(self, name: str = "g") -> dict[str, str]:
        found = self.stored.get(GROUP_QUOTAS.group, GROUP_QUOTAS.resource, "", name)
        return ((found or {}).get("status") or {}).get("used") or {}

    def reserved(self, name: str = "g") -> int:
        """How many reservations there are."""
        found = self.stored.get(GROUP_QUOTAS.group, GROUP_QUOTAS.resource, "", name)
        return len(((found or {}).get("status") or {}).get("reservations") or ())

    def pods(self) -> int:
        return sum(len(self.stored.list("", "pods", namespace)) for namespace in ("shop-1", "shop-2"))


@asynccontextmanager
async def setting() -> AsyncIterator[Setting]:
    async with quota_server(GivenUids(), enforce=False) as (server, client):
        definitions: Any = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        await definitions.create(yaml.safe_load(CRD.read_text()))
        namespaces: Any = client.resource(dict, ("", "v1", "namespaces"))
        for name, team in (("shop-1", "shop"), ("shop-2", "shop"), ("other", "other")):
            await namespaces.create(make_namespace(name, team=team))
        yield Setting(server, client)


@asynccontextmanager
async def through(place: Setting) -> AsyncIterator[Any]:
    """Pods, as they are created through API servers that ask the webhook."""
    async with (
        proxy(place.server.url, place.server.token, lambda: place.url) as url,
        connect(url=url, token="any", clock=place.clock) as client,
    ):
        yield client.resource(dict, ("", "v1", "pods"))
