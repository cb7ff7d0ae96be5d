"""What an API server said of its storage versions is forgotten when its Lease is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from kinformer.client.errors import Conflict, InternalError
from kinformer.clock import FakeClock
from kinformer.manager import ControllerDisabled
from kinformer.models import V1alpha1ServerStorageVersion, V1alpha1StorageVersion, V1Lease, from_dict
from kinformer_controllers.storageversiongc.controller import (
    ALL_EQUAL,
    StorageVersionCollector,
    status_with,
)
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext, FakeInformers

MAKE = {"storageversion-garbage-collector-controller": StorageVersionCollector}
ON = {"feature_gates": "StorageVersionAPI=true"}
APIS = ("internal.apiserver.k8s.io/v1alpha1",)
NOW = FakeClock().now()


def entries(**versions: str) -> list[dict[str, Any]]:
    """What API servers say: the version that each writes, by the name of its Lease."""
    return [
        {"apiServerID": server, "encodingVersion": version, "decodableVersions": [version]}
        for server, version in versions.items()
    ]


async def make_lease(world: Cluster, name: str, identity: str = "kube-apiserver") -> None:
    labels = {"apiserver.kubernetes.io/identity": identity}
    lease = {"metadata": {"name": name, "namespace": "kube-system", "labels": labels}, "spec": {"holderIdentity": name}}
    await world.client.resource(V1Lease).create(from_dict(V1Lease, lease))


async def make_version(world: Cluster, name: str, common: str | None = None, **versions: str) -> None:
    server = world.client.resource(V1alpha1StorageVersion)
    made = await server.create(from_dict(V1alpha1StorageVersion, {"metadata": {"name": name}, "spec": {}}))
    status = {"storageVersions": entries(**versions), "commonEncodingVersion": common}
    said = {"metadata": {"name": name, "resourceVersion": made.metadata.resource_version}, "spec": {}, "status": status}
    await server.update_status(from_dict(V1alpha1StorageVersion, said))


async def versions(world: Cluster) -> dict[str, dict[str, str]]:
    found = (await world.client.resource(V1alpha1StorageVersion).list()).items
    return {
        one.metadata.name: {it.api_server_id: it.encoding_version for it in one.status.storage_versions or ()}
        for one in found
    }


@asynccontextmanager
async def with_controller(*leases: str) -> AsyncIterator[Cluster]:
    async with cluster(MAKE, ON, apis=APIS) as world:
        for name in leases:
            await make_lease(world, name)
        await world.turn(1)
        yield world


async def test_the_entries_of_a_server_go_with_its_lease() -> None:
    async with with_controller("a", "b", "c") as world:
        await make_version(world, "apps.deployments", "v1", a="v1", b="v2", c="v2")
        await make_version(world, "apps.daemonsets", a="v1", b="v2")
        await make_version(world, "batch.jobs", a="v1")
        await make_version(world, "batch.cronjobs", b="v1")
        await world.turn(1)
        before = await versions(world)
        assert before["apps.deployments"] == {"a": "v1", "b": "v2", "c": "v2"}

        await world.client.resource(V1Lease).delete("a", "kube-system")
        await world.turn(1)

        assert await versions(world) == {
            "apps.deployments": {"b": "v2", "c": "v2"},
            "apps.daemonsets": {"b": "v2"},
            "batch.cronjobs": {"b": "v1"},
        }
        found = await world.client.resource(V1alpha1StorageVersion).get("apps.deployments")
        assert found.status.common_encoding_version == "v2"
        assert [(it.type, it.status) for it in found.status.conditions or ()] == [(ALL_EQUAL, "True")]


async def test_an_entry_without_a_lease_of_an_api_server_goes() -> None:
    async with with_controller("a", "b") as world:
        await make_lease(world, "scheduler", "kube-scheduler")
        await world.turn(1)
        await make_version(world, "apps.deployments", a="v1", b="v2", gone="v2", scheduler="v2")
        await world.turn(1)

        assert await versions(world) == {"apps.deployments": {"a": "v1", "b": "v2"}}
        found = await world.client.resource(V1alpha1StorageVersion).get("apps.deployments")
        assert found.status.common_encoding_version is None
        assert [(it.type, it.status) for it in found.status.conditions or ()] == [(ALL_EQUAL, "False")]


async def test_another_servers_lease_that_goes_changes_nothing() -> None:
    async with with_controller("a", "b", "c") as world:
        await make_version(world, "apps.deployments", "v1", a="v1", b="v2")
        await world.turn(1)
        before = await world.client.resource(V1alpha1StorageVersion).get("apps.deployments")
        await world.client.resource(V1Lease).delete("c", "kube-system")
        await world.turn(1)

        assert await world.client.resource(V1alpha1StorageVersion).get("apps.deployments") == before


def behind(world: Cluster) -> StorageVersionCollector:
    """The controller with caches that have nothing."""
    informers: Any = FakeInformers()
    return StorageVersionCollector(
        FakeContext(world.client, informers, clock=world.clock, feature_gates="StorageVersionAPI=true")
    )


async def test_a_server_whose_lease_only_the_server_knows_is_not_forgotten() -> None:
    async with cluster({}, apis=APIS) as world:
        await make_lease(world, "a")
        await make_version(world, "apps.deployments", a="v1")
        controller = behind(world)
        await controller.check("apps.deployments")
        await controller.forget_server("a")
        await controller.check("there.is.none")

        assert await versions(world) == {"apps.deployments": {"a": "v1"}}


async def test_a_server_whose_lease_cannot_be_read_is_not_forgotten() -> None:
    async with cluster({}, apis=APIS) as world:
        await make_version(world, "apps.deployments", a="v1")
        world.server.faults.refuse(500, times=20, matching=lambda call: call.name == "a")
        with pytest.raises(InternalError):
            await behind(world).check("apps.deployments")

        assert await versions(world) == {"apps.deployments": {"a": "v1"}}


async def test_an_object_that_a_new_server_writes_meanwhile_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster({}, apis=APIS) as world:
        await make_version(world, "apps.deployments", a="v1")
        await make_version(world, "batch.jobs", a="v1")
        controller = behind(world)
        listed = await controller._server.list()
        await make_lease(world, "b")
        server = world.client.resource(V1alpha1StorageVersion)
        found = await server.get("apps.deployments")
        found.status.storage_versions = [from_dict(V1alpha1ServerStorageVersion, entries(b="v1")[0])]
        await server.update_status(found)

        async def old_list() -> Any:
            return listed

        with monkeypatch.context() as patch:
            patch.setattr(controller._server, "list", old_list)
            with pytest.raises(Conflict):
                await controller.forget_server("a")

        assert await versions(world) == {"apps.deployments": {"b": "v1"}}


def about(common: str | None, *conditions: dict[str, Any]) -> V1alpha1StorageVersion:
    status = {"commonEncodingVersion": common, "conditions": list(conditions)}
    return from_dict(V1alpha1StorageVersion, {"metadata": {"name": "x"}, "spec": {}, "status": status})


def condition(status: str) -> dict[str, Any]:
    return {
        "type": ALL_EQUAL,
        "status": status,
        "reason": "R",
        "message": "m",
        "lastTransitionTime": (NOW - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


@pytest.mark.parametrize(
    ("found", "left", "common", "status", "since"),
    [
        pytest.param(about(None), {"a": "v1", "b": "v1"}, "v1", "True", NOW, id="new"),
        pytest.param(about("v1", condition("True")), {"a": "v1"}, "v1", "True", NOW - timedelta(hours=1), id="same"),
        pytest.param(about("v1", condition("True")), {"a": "v2"}, "v2", "True", NOW, id="another version"),
        pytest.param(about(None, condition("False")), {"a": "v2"}, "v2", "True", NOW, id="agreed"),
        pytest.param(about("v1", condition("True")), {"a": "v1", "b": "v2"}, None, "False", NOW, id="disagreed"),
    ],
)
def test_the_condition_says_whether_and_since_when_all_write_one_version(
    found: V1alpha1StorageVersion, left: dict[str, str], common: str | None, status: str, since: datetime
) -> None:
    servers = [from_dict(V1alpha1ServerStorageVersion, entry) for entry in entries(**left)]
    made = status_with(found, servers, NOW)

    assert made.common_encoding_version == common
    [only] = made.conditions or ()
    word = "Unset" if common is None else "Set"
    assert (only.status, only.reason) == (status, f"CommonEncodingVersion{word}")
    assert only.last_transition_time == since


@pytest.mark.parametrize("gates", ["", "StorageVersionAPI=false", "AllAlpha=false"])
def test_without_its_gate_the_controller_does_not_run(gates: str) -> None:
    with pytest.raises(ControllerDisabled, match="the feature gate StorageVersionAPI is off"):
        StorageVersionCollector(FakeContext(None, None, feature_gates=gates))
