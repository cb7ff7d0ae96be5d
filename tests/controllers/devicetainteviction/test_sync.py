"""The controller with a manager, against the embedded server: pods go, wait and stay as taints come and go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.client import DeleteOptions, PatchType
from kinformer.manager import ControllerDisabled
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1beta2DeviceTaintRule,
    V1Condition,
    V1ObjectMeta,
    V1Pod,
    V1ResourceSlice,
    from_dict,
)
from kinformer_controllers.devicetainteviction.controller import DeviceTaintEviction
from tests.controllers.nodes import Cluster, cluster, toleration
from tests.controllers.objects import FakeContext

EVICTED = "DeviceTaintManagerEviction"
RULES = "DRADeviceTaintRules=true"


@asynccontextmanager
async def world(*tainted: str, **options: Any) -> AsyncIterator[Cluster]:
    """A slice with the device ``dev``, which has these taints."""
    make = {"device-taint-eviction-controller": DeviceTaintEviction}
    async with cluster(make, options, apis=("resource.k8s.io/v1beta2",)) as found:
        await found.client.resource(V1ResourceSlice).create(slice_("s", 1, *tainted))
        await found.turn(0)
        yield found


def slice_(name: str, generation: int, *tainted: str) -> V1ResourceSlice:
    pool = {"name": "p", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices(*tainted)}
    return from_dict(V1ResourceSlice, {"metadata": {"name": name}, "spec": spec})


def devices(*tainted: str) -> list[dict[str, Any]]:
    return [{"name": "dev", "taints": [{"key": key, "effect": "NoExecute"} for key in tainted]}]


async def taint(found: Cluster, *tainted: str) -> None:
    """Give the device these taints and no others."""
    body = {"spec": {"devices": devices(*tainted)}}
    await found.client.resource(V1ResourceSlice).patch("s", body, patch_type=PatchType.MERGE)


async def make_pod(found: Cluster, name: str, *tolerations: dict[str, Any], node: str = "n") -> None:
    """A pod with a claim of its own for the device."""
    claims = found.client.resource(ResourceV1ResourceClaim)
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claim = {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": {"requests": [request]}}}
    await claims.create(from_dict(ResourceV1ResourceClaim, claim))
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "d"}]}}
    spec = {"containers": [container], "resourceClaims": [{"name": "d", "resourceClaimName": name}]}
    pod = {"metadata": {"name": name, "namespace": "default"}, "spec": spec | ({"nodeName": node} if node else {})}
    made = await found.client.resource(V1Pod).create(from_dict(V1Pod, pod))
    device = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev", "tolerations": [*tolerations]}
    status = {
        "allocation": {"devices": {"results": [device]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": made.metadata.uid}],
    }
    await claims.patch(name, {"status": status}, "default", subresource="status")


async def make_rule(found: Cluster, effect: str) -> None:
    spec = {"deviceSelector": {"driver": "d.example.com"}, "taint": {"key": "a", "effect": effect}}
    rule = from_dict(V1beta2DeviceTaintRule, {"metadata": {"name": "r"}, "spec": spec})
    await found.client.resource(V1beta2DeviceTaintRule).create(rule)


async def condition(found: Cluster) -> V1Condition:
    rule = await found.client.resource(V1beta2DeviceTaintRule).get("r")
    [only] = list(rule.status.conditions or ())
    assert only.type == "EvictionInProgress"
    assert only.observed_generation == rule.metadata.generation
    return only


async def test_pods_go_when_the_tolerations_of_their_claims_say() -> None:
    async with world() as found:
        await make_pod(found, "none")
        await make_pod(found, "some", toleration("a", 60), toleration("a", 90))
        await make_pod(found, "ever", toleration("a"))
        await make_pod(found, "other", {"key": "a", "operator": "Exists"})  # it has to name the effect
        await make_pod(found, "waits", node="")
        await taint(found, "a")
        await found.turn(1)
        assert await found.staying() == ["ever", "some", "waits"]

        await found.turn(58)
        assert await found.staying() == ["ever", "some", "waits"]
        await found.turn(2)
        assert await found.staying() == ["ever", "waits"]


async def test_a_pod_says_first_why_it_goes() -> None:
    async with world("a") as found:
        await make_pod(found, "p")
        await found.turn(1)

        pod = await found.pod("p")
        assert pod.metadata.deletion_timestamp is not None
        target = next(it for it in pod.status.conditions or () if it.type == "DisruptionTarget")
        assert (target.status, target.reason) == ("True", "DeletionByDeviceTaintManager")
        assert target.message == "Device Taint manager: deleting due to NoExecute taint"
        assert await found.events(EVICTED) == ["Marking for deletion"]


async def test_a_pod_that_waits_stays_if_the_taint_goes() -> None:
    async with world() as found:
        await make_pod(found, "p", toleration("a", 60))
        await taint(found, "a")
        await found.turn(30)
        await taint(found)
        await found.turn(60)

        assert await found.staying() == ["p"]
        assert await found.events(EVICTED) == ["Cancelling deletion"]


async def test_a_pod_stays_if_only_the_cache_has_taint_or_reservation() -> None:
    async with world() as found:
        for name in ("taint", "claim"):
            await make_pod(found, name, toleration("a", 60), *[toleration("b", 90)] * (name == "taint"))
        await taint(found, "a")
        await found.turn(30)
        found.server.faults.stall_watches()
        await taint(found, "b")
        await found.client.resource(ResourceV1ResourceClaim).patch(
            "claim", {"status": {"reservedFor": None}}, "default", patch_type=PatchType.MERGE, subresource="status"
        )
        await found.turn(31)
        assert await found.staying() == ["claim", "taint"]
        assert await found.events(EVICTED) == ["Cancelling deletion"]

        await found.turn(60)
        assert await found.staying() == ["claim"]


async def test_a_pod_with_a_waiting_pods_name_is_left_alone() -> None:
    async with world() as found:
        await make_pod(found, "p", toleration("a", 60))
        await taint(found, "a")
        await found.turn(30)
        found.server.faults.stall_watches()
        pods = found.client.resource(V1Pod)
        spec = (await pods.get("p", "default")).spec
        await pods.delete("p", "default", DeleteOptions(grace_period_seconds=0))
        await pods.create(V1Pod(metadata=V1ObjectMeta(name="p", namespace="default"), spec=spec))
        await found.turn(60)

        assert await found.staying() == ["p"]
        assert await found.events(EVICTED) == []


async def test_slices_of_the_newest_generation_count() -> None:
    async with world("a") as found:
        server = found.client.resource(V1ResourceSlice)
        await server.create(slice_("t", 2))
        await make_pod(found, "p")
        await found.turn(1)
        assert await found.staying() == ["p"]

        await server.delete("t")
        await found.turn(1)
        assert await found.staying() == []


async def test_a_pod_stays_if_a_newer_slice_is_not_cached() -> None:
    async with world("a") as found:
        await make_pod(found, "p", toleration("a", 60))
        await found.turn(30)
        found.server.faults.stall_watches()
        await found.client.resource(V1ResourceSlice).create(slice_("t", 2))
        await found.turn(31)

        assert await found.staying() == ["p"]
        assert await found.events(EVICTED) == ["Cancelling deletion"]


async def test_a_deletion_that_fails_is_tried_again() -> None:
    async with world("a") as found:
        found.server.faults.refuse(
            500, times=5, matching=lambda call: call.verb == "delete" and call.resource == "pods"
        )
        await make_pod(found, "p")
        await found.turn(60)

        assert await found.staying() == []


async def test_the_status_of_a_rule_says_how_many_pods_go() -> None:
    async with world(feature_gates=RULES) as found:
        await make_pod(found, "one", toleration("a", 15))
        await make_pod(found, "two", toleration("a", 40))
        await make_pod(found, "three", toleration("a"))
        await make_rule(found, "NoExecute")
        await found.turn(1)
        said = await condition(found)
        assert (said.status, said.reason) == ("True", "PodsPendingEviction")
        assert said.message == "2 pods need to be evicted in 1 namespace."

        await found.turn(30)
        assert await found.staying() == ["three", "two"]
        said = await condition(found)
        expected = "1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller."
        assert (said.status, said.message) == ("True", expected)
        await found.turn(60)
        said = await condition(found)
        assert (said.status, said.reason) == ("False", "Completed")
        assert said.message == "2 pods evicted since starting the controller."


WOULD = (
    "1 published device selected. 2 allocated devices selected. 1 pod would be evicted in 1 namespace if the effect "
    "was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
)


@pytest.mark.parametrize(
    ("effect", "reason", "message"),
    [
        ("None", "NoEffect", WOULD),
        ("NoSchedule", "OtherEffect", "Eviction only happens for the NoExecute effect."),
    ],
)
async def test_a_rule_with_another_effect_drives_nobody_off(effect: str, reason: str, message: str) -> None:
    async with world(feature_gates=RULES) as found:
        await make_pod(found, "one")
        await make_pod(found, "two", toleration("a"))
        await make_rule(found, effect)
        await found.turn(60)

        assert await found.staying() == ["one", "two"]
        said = await condition(found)
        assert (said.status, said.reason, said.message) == ("False", reason, message)


async def test_without_its_gate_the_controller_does_not_run() -> None:
    with pytest.raises(ControllerDisabled, match="the feature gate DRADeviceTaints is off"):
        DeviceTaintEviction(FakeContext(None, None, feature_gates="DRADeviceTaints=false"))


async def test_rules_do_not_count_while_their_gate_is_off() -> None:
    async with world() as found:
        await make_pod(found, "p")
        await make_rule(found, "NoExecute")
        await found.turn(60)

        assert await found.staying() == ["p"]
        rule = await found.client.resource(V1beta2DeviceTaintRule).get("r")
        assert not (rule.status and rule.status.conditions)
