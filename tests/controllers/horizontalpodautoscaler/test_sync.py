"""The autoscaler with a manager, against the embedded server. External metrics are custom resources here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.client import PatchType
from kinformer.meta import GroupVersionResource
from kinformer.models import V1Deployment, V1Pod, V2HorizontalPodAutoscaler, from_dict
from kinformer_controllers.horizontalpodautoscaler.controller import HorizontalPodAutoscalerController
from tests.controllers.nodes import Cluster, cluster
from tests.definitions import definition

QUEUE = GroupVersionResource("external.metrics.k8s.io", "v1beta1", "queue")
DEFINITION = definition("queue", "Queue", QUEUE.group, name=QUEUE.version, approved=True)
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[Cluster]:
    """A Deployment ``d`` of two pods, and a queue with forty entries."""
    async with cluster({"hpa": HorizontalPodAutoscalerController}, options) as there:
        await (await there.client.resource_for_object(DEFINITION)).create(DEFINITION)
        await there.turn(1)
        template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body = {
            "metadata": {"name": "d", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template},
        }
        await there.client.resource(V1Deployment).create(from_dict(V1Deployment, body))
        await there.client.resource(V1Deployment).patch(
            "d", {"status": {"replicas": 2}}, "default", subresource="status", patch_type=PatchType.MERGE
        )
        pod = {"metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}}, "spec": template["spec"]}
        await there.client.resource(V1Pod).create(from_dict(V1Pod, pod))
        await queue(there, "40")
        yield there


async def queue(world: Cluster, length: str) -> None:
    resource = world.client.resource(dict, QUEUE, namespaced=True, kind="Queue")
    body = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": "q"}, "value": length}
    if (await resource.list("default")).items:
        await resource.patch("q", {"value": length}, "default", patch_type=PatchType.MERGE)
    else:
        await resource.create(body, "default")


async def autoscale(world: Cluster, name: str = "h", **spec: Any) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    whole = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": [EXTERNAL], **spec}
    body = {"metadata": {"name": name, "namespace": "default"}, "spec": whole}
    await world.client.resource(V2HorizontalPodAutoscaler).create(from_dict(V2HorizontalPodAutoscaler, body))


async def replicas(world: Cluster) -> int:
    return (await world.client.resource(V1Deployment).get("d", "default")).spec.replicas or 0


async def conditions(world: Cluster, name: str = "h") -> dict[str, tuple[str, str | None]]:
    hpa = await world.client.resource(V2HorizontalPodAutoscaler).get(name, "default")
    return {one.type: (one.status, one.reason) for one in hpa.status.conditions or ()}


async def test_it_is_evaluated_once_in_a_period() -> None:
    async with world() as there:
        await autoscale(there)
        await there.turn(14)
        assert await replicas(there) == 2
        await there.turn(2)
        assert await replicas(there) == 4
        assert await there.events("SuccessfulRescale") == [
            "New size: 4; reason: external metric queue(nil) above target"
        ]

        await queue(there, "80")
        await there.turn(13)
        assert await replicas(there) == 4
        await there.turn(2)
        assert await replicas(there) == 8


async def test_it_is_scaled_down_after_the_stabilization_window() -> None:
    async with world() as there:
        await autoscale(there)
        await there.turn(16)
        await queue(there, "10")
        await there.turn(250)
        assert await replicas(there) == 4
        assert (await conditions(there))["AbleToScale"] == ("True", "ScaleDownStabilized")

        await there.turn(120)
        assert await replicas(there) == 1


async def test_two_autoscalers_of_the_same_pods_do_nothing() -> None:
    async with world() as there:
        await autoscale(there, "one")
        await autoscale(there, "two")
        await there.turn(31)

        assert (await conditions(there, "one"))["ScalingActive"] == ("False", "AmbiguousSelector")
        assert (await conditions(there, "two"))["ScalingActive"] == ("False", "AmbiguousSelector")
        text = "pods by selector app=a are controlled by multiple HPAs: [default/one default/two]"
        assert text in await there.events("AmbiguousSelector")


async def test_a_target_that_somebody_scaled_to_nothing_stays_so() -> None:
    async with world(feature_gates="HPAScaleToZero=true") as there:
        await autoscale(there)
        await there.client.resource(V1Deployment).patch("d", {"spec": {"replicas": 0}}, "default")
        await there.turn(31)

        assert await replicas(there) == 0
        assert (await conditions(there))["ScalingActive"] == ("False", "ScalingDisabled")


async def test_some_metrics_that_fail_do_not_let_it_scale_down() -> None:
    broken = {
        "type": "External",
        "external": {"metric": {"name": "nowhere"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    async with world(horizontal_pod_autoscaler_downscale_stabilization=0.0) as there:
        await autoscale(there, metrics=[EXTERNAL, broken])
        await queue(there, "10")
        await there.turn(16)
        assert await replicas(there) == 2
        assert (await conditions(there))["ScalingActive"] == ("False", "FailedGetExternalMetric")

        await queue(there, "50")
        await there.turn(16)
        assert await replicas(there) == 4  # at most doubled


async def test_a_target_kind_that_nobody_serves_is_named_as_in_kubernetes() -> None:
    async with world() as there:
        await autoscale(there, scaleTargetRef={"apiVersion": "apps/v1", "kind": "Nothing", "name": "d"})
        await there.turn(16)

        assert (await conditions(there))["AbleToScale"] == ("False", "FailedGetScale")
        assert await there.events("FailedGetScale") == ['no matches for kind "Nothing" in group "apps"']


async def test_a_failure_is_told_even_if_the_status_cannot_be_written() -> None:
    broken = {
        "type": "External",
        "external": {"metric": {"name": "nowhere"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    async with world() as there:
        await autoscale(there, metrics=[broken])
        there.server.faults.refuse(500, times=1000, matching=lambda call: call.verb == "update")
        await there.turn(16)

        assert await there.events("FailedUpdateStatus")
        assert len(await there.events("FailedComputeMetricsReplicas")) == 1
