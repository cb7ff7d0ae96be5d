from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.meta import GroupResource
from kinformer.models import V1PersistentVolumeClaim, V1Pod, V1Secret, V1Service, from_dict
from kinformer_controllers.shared.quota.counting import CLAIMS, SERVICES
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.replenishment import (
    ReplenishmentHandler,
    default_update_filter,
)

KINDS: Any = {PODS: V1Pod, SERVICES: V1Service, CLAIMS: V1PersistentVolumeClaim}


def handled(resource: GroupResource, old: Any, new: Any, *, clock: Any = None) -> list[Any]:
    """What is replenished when an object has changed."""
    heard: list[Any] = []
    handler = ReplenishmentHandler(
        resource, lambda *what: heard.append(what), default_update_filter(PodEvaluator(clock=clock))
    )
    model = KINDS.get(resource, V1Secret)

    def made(data: dict[str, Any], version: str) -> Any:
        metadata = {"name": "x", "namespace": "ns", "uid": "1", "resourceVersion": version, **data.get("metadata", {})}
        return from_dict(model, {**data, "metadata": metadata})

    handler.on_update(made(old, "1"), made(new, "2"))
    return heard


def pod(cpu: str = "1", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"spec": {"containers": containers, **spec}, "status": {"phase": phase}}


def test_a_pod_that_ends_gives_back_what_it_used() -> None:
    assert handled(PODS, pod(), pod(phase="Succeeded")) == [(PODS, "ns")]
    assert handled(PODS, pod(phase="Pending"), pod()) == []
    assert handled(PODS, pod(phase="Failed"), pod(phase="Succeeded")) == []


def test_a_pod_that_should_have_been_gone_gives_back_what_it_used() -> None:
    clock = FakeClock(datetime(2026, 1, 1, 0, 1, tzinfo=UTC))
    going = pod()
    going["metadata"] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    assert handled(PODS, pod(), going, clock=clock) == [(PODS, "ns")]


def test_a_pod_that_is_resized_or_gets_a_deadline_is_counted_anew() -> None:
    assert handled(PODS, pod(), pod("2")) == [(PODS, "ns")]
    assert handled(PODS, pod(), pod(activeDeadlineSeconds=3)) == [(PODS, "ns")]


def test_a_service_that_changes_its_type_or_its_ports_is_counted_anew() -> None:
    def service(type_: str, ports: int = 1) -> dict[str, Any]:
        return {"spec": {"type": type_, "ports": [{"port": number} for number in range(1, ports + 1)]}}

    assert handled(SERVICES, service("NodePort"), service("ClusterIP")) == [(SERVICES, "ns")]
    assert handled(SERVICES, service("NodePort", 2), service("NodePort")) == [(SERVICES, "ns")]
    assert handled(SERVICES, service("ClusterIP", 2), service("ClusterIP")) == []


def test_a_claim_that_changes_its_size_or_class_is_counted_anew() -> None:
    def claim(storage: str, name: str = "") -> dict[str, Any]:
        return {"spec": {"resources": {"requests": {"storage": storage}}, "volumeAttributesClassName": name}}

    assert handled(CLAIMS, claim("2Gi"), claim("1Gi")) == [(CLAIMS, "ns")]
    assert handled(CLAIMS, claim("1Gi", "gold"), claim("1Gi", "silver")) == [(CLAIMS, "ns")]
    assert handled(CLAIMS, claim("1Gi"), claim("1024Mi")) == []


def test_other_kinds_use_the_same_as_long_as_they_are_there() -> None:
    secrets = GroupResource("", "secrets")
    assert handled(secrets, {"data": {"a": "MQ=="}}, {"data": {}}) == []
    assert handled(secrets, {}, {"metadata": {"uid": "2"}}) == [(secrets, "ns")]


def test_a_delete_is_told_whether_it_was_seen_or_not() -> None:
    heard: list[Any] = []
    handler = ReplenishmentHandler(PODS, lambda *what: heard.append(what), default_update_filter())
    gone = from_dict(V1Pod, {"metadata": {"name": "x", "namespace": "ns"}})

    handler.on_add(gone, False)
    handler.on_delete(gone)
    handler.on_delete(DeletedFinalStateUnknown("other/y", gone))

    assert heard == [(PODS, "ns"), (PODS, "other")]
