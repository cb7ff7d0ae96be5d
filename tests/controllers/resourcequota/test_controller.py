"""The controller at work, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.client import Client, Forbidden
from kinformer.clock import FakeClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext, OptionError
from kinformer.meta import GroupKind, GroupVersionResource
from kinformer.models import V1ConfigMap, V1Pod, V1ResourceQuota, V1Secret
from kinformer_controllers.resourcequota.controller import ResourceQuotaController
from kinformer_controllers.shared.quota.monitor import DISCOVERY_PERIOD
from tests.controllers.objects import FakeContext
from tests.controllers.shared.quota.serving import make_namespace, make_pod, make_quota, quota_server
from tests.definitions import definition
from tests.turning import eventually, turn

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


@asynccontextmanager
async def controlling(
    client: Client, namespace: str = "", period: float = 300.0, **options: Any
) -> AsyncIterator[ResourceQuotaController]:
    informers = SharedInformerFactory(client, namespace=namespace, clock=client.clock)
    controller = ResourceQuotaController(
        FakeContext(client, informers, clock=client.clock, resource_quota_sync_period=period), **options
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informers.run)
        tasks.start_soon(controller.run)
        await eventually(lambda: controller.has_synced, client.clock)
        yield controller
        tasks.cancel_scope.cancel()


async def used(client: Client, name: str = "q") -> dict[str, str]:
    quota = await client.resource(V1ResourceQuota).get(name, "default")
    return (quota.status and quota.status.used) or {}


async def has(client: Client, **want: str) -> None:
    want = {key.replace("__", "/"): value for key, value in want.items()}

    async def is_so() -> bool:
        return await used(client) == want

    await eventually(is_so, client.clock)


async def pass_by(client: Client, seconds: float) -> None:
    assert isinstance(client.clock, FakeClock)
    await turn(client.clock, seconds)


@pytest.mark.parametrize("discovery", [True, False])
async def test_what_is_there_is_counted_and_what_goes_is_given_back(discovery: bool) -> None:
    async with quota_server() as (_, client):
        pods, configmaps = client.resource(dict, ("", "v1", "pods")), client.resource(V1ConfigMap)
        quotas = client.resource(dict, ("", "v1", "resourcequotas"))
        await pods.create(make_pod("early"))
        await configmaps.create(V1ConfigMap(metadata={"name": "c", "namespace": "default"}))
        async with controlling(client, discovery=discovery):
            await quotas.create(make_quota(pods="2", configmaps="3"))
            await has(client, pods="1", configmaps="1")
            await pods.create(make_pod("late"))
            assert await used(client) == {"pods": "2", "configmaps": "1"}
            with pytest.raises(Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"):
                await pods.create(make_pod("too-late"))
            await pods.delete("early", "default")
            await configmaps.delete("c", "default")
            await has(client, pods="1", configmaps="0")
            await pods.create(make_pod("just-in-time"))


async def test_a_kind_without_replenishment_is_logged_and_left_to_full_recounts() -> None:
    async with quota_server() as (_, client):
        kinds = [GroupKind("", "Pod"), GroupKind("batch", "Job")]
        async with controlling(client, discovery=False, group_kinds=kinds) as controller:
            secrets, quotas = client.resource(V1Secret), client.resource(dict, ("", "v1", "resourcequotas"))
            await secrets.create(V1Secret(metadata={"name": "s", "namespace": "default"}))
            await quotas.create(make_quota(secrets="3"))
            await has(client, secrets="1")
            await secrets.delete("s", "default")
            await eventually(lambda: controller.registry.get(WIDGETS.group_resource) is None, client.clock)
            controller.queues.add_all()
            await has(client, secrets="0")


async def test_custom_resources_can_be_limited_while_they_are_served() -> None:
    async with quota_server() as (_, client):
        definitions = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        quotas = client.resource(dict, ("", "v1", "resourcequotas"))
        widgets = client.resource(dict, WIDGETS)
        async with controlling(client) as controller:
            monitor = controller.monitor
            assert monitor is not None
            await definitions.create(definition("widgets", "Widget"))
            await quotas.create({**make_quota(), "spec": {"hard": {"count/widgets.example.com": "1"}}})

            async def created() -> bool:
                try:
                    await widgets.create(
                        {
                            "apiVersion": "example.com/v1",
                            "kind": "Widget",
                            "metadata": {"name": "w", "namespace": "default"},
                        }
                    )
                except Forbidden:  # the quota's usage is not known yet
                    return False
                return True

            await eventually(lambda: WIDGETS.group_resource in monitor.resources, client.clock, DISCOVERY_PERIOD)
            await eventually(created, client.clock)
            assert await used(client) == {"count/widgets.example.com": "1"}
            await widgets.delete("w", "default")

            async def is_free() -> bool:
                return await used(client) == {"count/widgets.example.com": "0"}

            await eventually(is_free, client.clock)
            await definitions.delete("widgets.example.com")
            await pass_by(client, DISCOVERY_PERIOD)
            assert WIDGETS.group_resource in monitor.resources
            await pass_by(client, DISCOVERY_PERIOD)
            assert WIDGETS.group_resource not in monitor.resources
            assert controller.registry.get(WIDGETS.group_resource) is None


async def test_devices_that_claims_ask_for_are_charged_by_class_and_given_back() -> None:
    def claim(name: str, count: int) -> dict[str, Any]:
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        meta = {"name": name, "namespace": "default"}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec}

    devices, number = "gpu.deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io"
    async with quota_server() as (_, client), controlling(client):
        claims = client.resource(dict, ("resource.k8s.io", "v1", "resourceclaims"))
        await claims.create(claim("early", 2))
        quota = {**make_quota(), "spec": {"hard": {devices: "5", number: "9"}}}
        await client.resource(dict, ("", "v1", "resourcequotas")).create(quota)
        await has(client, **{devices: "2", number: "1"})
        await claims.create(claim("late", 3))
        with pytest.raises(
            Forbidden, match=r'resourceclaims\.resource\.k8s\.io "more" .*exceeded quota: q, requested: gpu'
        ):
            await claims.create(claim("more", 1))
        await claims.delete("early", "default")
        await has(client, **{devices: "3", number: "1"})


async def test_other_namespaces_are_neither_fetched_nor_counted() -> None:
    async with quota_server() as (server, client):
        quotas = client.resource(dict, ("", "v1", "resourcequotas"))
        await client.resource(dict, ("", "v1", "namespaces")).create(make_namespace("other"))
        async with controlling(client, "default"):
            for namespace in ("default", "other"):
                configmap = V1ConfigMap(metadata={"name": "c", "namespace": namespace})
                await client.resource(V1ConfigMap).create(configmap)
                await quotas.create(make_quota(namespace=namespace, configmaps="3"))
            await has(client, configmaps="1")

            assert {watch._namespace for watch in server.watches.open if watch.resource.namespaced} == {"default"}
            assert not (await quotas.get("q", "other")).get("status")


async def test_after_each_period_everything_is_recounted() -> None:
    async with quota_server() as (_, client):
        configmaps = client.resource(V1ConfigMap)
        await configmaps.create(V1ConfigMap(metadata={"name": "c", "namespace": "default"}))
        async with controlling(client, discovery=False, group_kinds=()):
            await client.resource(dict, ("", "v1", "resourcequotas")).create(make_quota(configmaps="3"))
            await has(client, configmaps="1")
            # After the second look at limits that have just come into force.
            await pass_by(client, 5.0)
            await configmaps.delete("c", "default")
            await pass_by(client, 290.0)
            assert await used(client) == {"configmaps": "1"}
            await pass_by(client, 10.0)
            assert await used(client) == {"configmaps": "0"}


class StatusWrites:
    """An admission plug-in that counts writes of statuses of quotas."""

    def __init__(self) -> None:
        self.count = 0

    def admit(self, attributes: Any) -> None:
        """Nothing."""

    def validate(self, attributes: Any) -> None:
        self.count += attributes.resource.plural == "resourcequotas" and attributes.subresource == "status"


@pytest.mark.parametrize(
    ("spec", "writes"),
    [({}, 0), ({"hard": {}}, 0), ({"hard": {"count/widgets.example.com": "5"}}, 1)],
    ids=["none", "empty", "unknown"],
)
async def test_a_quota_without_countable_limits_is_not_written_repeatedly(spec: dict[str, Any], writes: int) -> None:
    written = StatusWrites()
    async with quota_server(written) as (_, client), controlling(client):
        quotas = client.resource(dict, ("", "v1", "resourcequotas"))
        await quotas.create({**make_quota(), "spec": spec})
        await pass_by(client, 60.0)

        assert written.count == writes
        assert (await quotas.get("q", "default")).get("status", {}).get("hard", {}) == spec.get("hard", {})


async def test_limits_that_change_are_in_force_at_once() -> None:
    async with quota_server() as (_, client):
        quotas = client.resource(V1ResourceQuota)
        async with controlling(client, period=0.0):
            await client.resource(dict, ("", "v1", "resourcequotas")).create(make_quota(pods="2"))
            await has(client, pods="0")
            await quotas.patch("q", {"spec": {"hard": {"pods": "3", "cpu": "1"}}}, "default")
            await has(client, pods="0", cpu="0")
            assert (await quotas.get("q", "default")).status.hard == {"pods": "3", "cpu": "1"}


async def test_the_entry_point_reads_its_options() -> None:
    async with quota_server() as (_, client):
        informers = SharedInformerFactory(client)
        options = {"concurrent_resource_quota_syncs": 2, "resource_quota_sync_period": 60.0}
        made = ResourceQuotaController(ControllerContext(client, informers, options))
        assert (made.primary.workers, made.priority.workers) == (2, 2)
        assert V1Pod in {informer.type for informer in informers.informers.values()}
        with pytest.raises(OptionError, match="resource_quota_sync_period"):
            ResourceQuotaController(ControllerContext(client, informers, {"resource_quota_sync_period": "soon"}))
