"""The controller with a manager, against the embedded server: claims are made, reserved, released and deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from kinformer.client import DeleteOptions, PatchType
from kinformer.models import ResourceV1ResourceClaim, V1alpha2PodGroup, V1Pod, V1ResourceClaimTemplate, from_dict
from kinformer.options import OptionError
from kinformer_controllers.resourceclaim.controller import ResourceClaimController
from kinformer_controllers.resourceclaim.decision import FINALIZER
from kinformer_controllers.resourceclaim.releasing import Users
from kinformer_controllers.shared.devices import Claimant
from kinformer_controllers.shared.gates import Gates
from tests.controllers.nodes import Cluster, cluster

REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}
ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev"}]}}
NOW = DeleteOptions(grace_period_seconds=0)


@asynccontextmanager
async def world(*apis: str, **options: Any) -> AsyncIterator[Cluster]:
    async with cluster({"resource-claim-controller": ResourceClaimController}, options, apis=apis) as found:
        yield found


async def make_template(found: Cluster, request: Any = REQUEST) -> None:
    spec = {"metadata": {"annotations": {"a": "b"}}, "spec": {"devices": {"requests": [request]}}}
    template = from_dict(V1ResourceClaimTemplate, {"metadata": {"name": "t", "namespace": "default"}, "spec": spec})
    await found.client.resource(V1ResourceClaimTemplate).create(template)


async def make_pod(
    found: Cluster, name: str, entries: dict[str, dict[str, str]], node: str = "", group: str = ""
) -> V1Pod:
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": entry} for entry in entries]}}],
        "resourceClaims": [{"name": entry, **source} for entry, source in entries.items()],
    }
    if node:
        spec["nodeName"] = node
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    pod = from_dict(V1Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    return await found.client.resource(V1Pod).create(pod)


async def make_allocated_claim(found: Cluster, **status: Any) -> None:
    """The claim ``shared``, as the scheduler leaves it."""
    claims = found.client.resource(ResourceV1ResourceClaim)
    meta = {"name": "shared", "namespace": "default", "finalizers": [FINALIZER]}
    claim = {"metadata": meta, "spec": {"devices": {"requests": [REQUEST]}}}
    await claims.create(from_dict(ResourceV1ResourceClaim, claim))
    await claims.patch("shared", {"status": {"allocation": ALLOCATION, **status}}, "default", subresource="status")


async def end_pod(found: Cluster, name: str) -> None:
    await found.client.resource(V1Pod).patch(name, {"status": {"phase": "Succeeded"}}, "default", subresource="status")


async def claims(found: Cluster) -> list[ResourceV1ResourceClaim]:
    return (await found.client.resource(ResourceV1ResourceClaim).list("default")).items


async def users(found: Cluster) -> list[str] | None:
    """The names of those for whom the claim ``shared`` is reserved; None if it has no devices."""
    [claim] = [it for it in await claims(found) if it.metadata.name == "shared"]
    if claim.status.allocation is None:
        assert not claim.status.reserved_for
        assert not claim.metadata.finalizers
        return None
    return [it.name for it in claim.status.reserved_for or ()]


async def names(found: Cluster, pod: str = "p") -> dict[str, str]:
    status = (await found.pod(pod)).status
    return {it.name: it.resource_claim_name or "" for it in status.resource_claim_statuses or ()}


def _in(cached: dict[str, Claimant], kind: str, key: str) -> Claimant | None:
    return cached.get(key)


TEMPLATE = {"resourceClaimTemplateName": "t"}
SHARED = {"resourceClaimName": "shared"}


async def test_each_entry_gets_one_claim_with_its_name_in_the_status() -> None:
    async with world() as found:
        await make_pod(found, "p", {"a": TEMPLATE, "b": TEMPLATE})
        await found.turn(1)
        said = 'PodResourceClaim a: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found'
        assert set(await found.events("FailedResourceClaimCreation")) == {said}
        await make_template(found)
        await found.turn(1)

        made = {
            (it.metadata.annotations or {})["resource.kubernetes.io/pod-claim-name"]: it for it in await claims(found)
        }
        assert await names(found) == {entry: claim.metadata.name for entry, claim in made.items()}
        assert sorted(made) == ["a", "b"]
        for entry, claim in made.items():
            assert claim.metadata.name.startswith(f"p-{entry}-")
            assert (claim.metadata.annotations or {})["a"] == "b"


async def test_a_claim_that_was_deleted_is_made_again_and_the_others_stay() -> None:
    async with world() as found:
        await make_template(found)
        await make_pod(found, "p", {"a": TEMPLATE, "b": TEMPLATE})
        await found.turn(1)
        before = await names(found)
        await found.client.resource(ResourceV1ResourceClaim).delete(before["a"], "default")
        await found.turn(60)

        after = await names(found)
        assert after["a"] != before["a"]
        assert after["b"] == before["b"]
        assert sorted(it.metadata.name for it in await claims(found)) == sorted(after.values())
        version = (await found.pod("p")).metadata.resource_version
        await found.turn(600)
        assert (await found.pod("p")).metadata.resource_version == version


async def test_a_claim_is_found_again_if_its_name_could_not_be_written() -> None:
    async with world() as found:
        await make_template(found)
        found.server.faults.refuse(500, times=3, matching=lambda call: call.verb == "patch" and call.resource == "pods")
        await make_pod(found, "p", {"a": TEMPLATE})
        await found.turn(60)

        [claim] = await claims(found)
        assert await names(found) == {"a": claim.metadata.name}


async def test_a_claim_loses_its_devices_with_its_last_user() -> None:
    async with world() as found:
        await make_allocated_claim(found)
        await make_pod(found, "one", {"d": SHARED}, "n")
        await make_pod(found, "two", {"d": SHARED}, "n")
        await found.turn(1)
        assert sorted(await users(found) or ()) == ["one", "two"]

        await end_pod(found, "one")
        await found.turn(60)
        assert await users(found) == ["two"]
        version = (await claims(found))[0].metadata.resource_version
        await found.turn(600)  # nothing is reserved for a pod that has ended
        assert (await claims(found))[0].metadata.resource_version == version

        await found.client.resource(V1Pod).delete("two", "default", NOW)
        await found.turn(1)
        assert await users(found) is None


async def test_a_claim_made_for_a_pod_goes_when_the_pod_has_ended() -> None:
    async with world() as found:
        await make_template(found)
        await make_pod(found, "p", {"a": TEMPLATE})
        await found.turn(1)
        await end_pod(found, "p")
        await found.turn(600)

        assert await claims(found) == []


async def test_a_deleted_unused_claim_returns_its_devices() -> None:
    async with world() as found:
        await make_allocated_claim(found)
        await found.turn(1)
        await found.client.resource(ResourceV1ResourceClaim).delete("shared", "default")
        await found.turn(1)

        assert await claims(found) == []


async def test_the_claim_for_extended_resources_is_released_with_its_pod() -> None:
    async with world() as found:
        pod = await make_pod(found, "p", {}, "n")
        extended = {"resourceClaimName": "shared", "requestMappings": []}
        await found.client.resource(V1Pod).patch(
            "p", {"status": {"extendedResourceClaimStatus": extended}}, "default", subresource="status"
        )
        await make_allocated_claim(found, reservedFor=[{"resource": "pods", "name": "p", "uid": pod.metadata.uid}])
        await found.turn(1)
        assert await users(found) == ["p"]
        await end_pod(found, "p")
        await found.turn(1)

        assert await users(found) is None


async def test_the_server_is_asked_about_an_uncached_or_differing_pod() -> None:
    async with world() as found:
        pod = await make_pod(found, "p", {"d": SHARED})
        uid = pod.metadata.uid or ""
        for cached in ({}, {"default/p": Claimant("Pod", "default", "p", "older")}):
            users_ = Users(found.client, partial(_in, cached))
            assert not await users_.has_ended("Pod", "default/p", uid)
            assert await users_.has_ended("Pod", "default/p", "oldest")
        await found.client.resource(V1Pod).delete("p", "default", NOW)
        assert await users_.has_ended("Pod", "default/p", uid)


async def test_users_of_another_kind_keep_their_reservations() -> None:
    async with world() as found:
        other = {"apiGroup": "example.com", "resource": "things", "name": "x", "uid": "1"}
        gone = {"resource": "pods", "name": "x", "uid": "2"}
        await make_allocated_claim(found, reservedFor=[other, gone])
        await found.turn(1)

        assert await users(found) == ["x"]


async def test_prioritized_lists_can_be_switched_off() -> None:
    async with world(feature_gates="DRAPrioritizedList=false") as found:
        await make_template(found, {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]})
        await make_pod(found, "p", {"a": TEMPLATE})
        await found.turn(1)

        said = "template includes a prioritized list of subrequests, but the feature is disabled"
        assert set(await found.events()) == {f"PodResourceClaim a: {said}"}
        assert await claims(found) == []


async def test_a_pod_deleted_before_scheduling_needs_no_claim() -> None:
    async with world() as found:
        pods = found.client.resource(V1Pod)
        await make_template(found)
        for name in ("stays", "goes"):
            await make_pod(found, name, {"a": TEMPLATE})
        kept = {"metadata": {"finalizers": ["example.com/wait"]}}
        await pods.patch("stays", kept, "default", patch_type=PatchType.MERGE)
        await found.turn(1)
        assert len(await claims(found)) == 2
        for name in ("stays", "goes"):
            await pods.delete(name, "default", NOW)
        await found.turn(1)

        assert [pod.metadata.name for pod in (await pods.list("default")).items] == ["stays"]
        assert await claims(found) == []


async def test_a_gone_pods_claim_is_left_to_the_garbage_collector() -> None:
    async with world() as found:
        await make_template(found)
        await make_pod(found, "p", {"a": TEMPLATE}, node="n1")
        await found.turn(1)
        await found.client.resource(V1Pod).delete("p", "default", NOW)
        await found.turn(1)

        assert len(await claims(found)) == 1


async def test_pods_of_a_group_share_the_claim_that_the_group_asks_for() -> None:
    gates = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
    async with world("scheduling.k8s.io/v1alpha2", feature_gates=gates) as found:
        await make_template(found)
        groups = found.client.resource(V1alpha2PodGroup)
        spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": [{"name": "a", **TEMPLATE}]}
        group = from_dict(V1alpha2PodGroup, {"metadata": {"name": "g", "namespace": "default"}, "spec": spec})
        group = await groups.create(group)
        await make_pod(found, "one", {"a": TEMPLATE}, "n", "g")
        await make_pod(found, "two", {"a": TEMPLATE, "b": TEMPLATE}, "n", "g")
        await found.turn(60)

        of = {(it.metadata.owner_references or [])[0].name: it.metadata.name for it in await claims(found)}
        assert sorted(of) == ["g", "two"]
        assert await names(found, "one") == {"a": of["g"]}
        assert await names(found, "two") == {"a": of["g"], "b": of["two"]}
        status = (await groups.get("g", "default")).status
        assert [(it.name, it.resource_claim_name) for it in status.resource_claim_statuses or ()] == [("a", of["g"])]

        server = found.client.resource(ResourceV1ResourceClaim)
        await server.patch(of["g"], {"status": {"allocation": ALLOCATION}}, "default", subresource="status")
        await found.turn(1)
        users_ = (await server.get(of["g"], "default")).status.reserved_for or ()
        assert [(it.resource, it.uid) for it in users_] == [("podgroups", group.metadata.uid)]
        await groups.delete("g", "default")
        await found.turn(1)
        assert not (await server.get(of["g"], "default")).status.reserved_for


async def test_a_gate_without_the_one_that_it_needs_is_refused() -> None:
    with pytest.raises(OptionError, match="DRAWorkloadResourceClaims on and GenericWorkload off"):
        Gates("DRAWorkloadResourceClaims=true")
