"""Deployments and ReplicaSets as these tests need them."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1Deployment, V1ReplicaSet, from_dict
from kinformer_controllers.deployment.annotations import DESIRED_REPLICAS, MAX_REPLICAS

__all__ = ("make_deployment", "make_replica_set")


def make_deployment(
    replicas: int = 10,
    *,
    surge: Any = 0,
    unavailable: Any = 0,
    strategy: str = "RollingUpdate",
    image: str = "img:1",
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> V1Deployment:
    rolling = (
        {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}} if strategy == "RollingUpdate" else {}
    )
    return from_dict(
        V1Deployment,
        {
            "metadata": {
                "name": "web",
                "namespace": "ns",
                "uid": "uid-web",
                "generation": 1,
                "annotations": annotations or {},
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "strategy": {"type": strategy, **rolling},
                "template": template(image),
                **spec,
            },
            "status": status or {},
        },
    )


def make_replica_set(
    name: str,
    replicas: int,
    *,
    available: int = 0,
    age: int = 0,
    image: str = "img:1",
    of: int | None = None,
    surge: int = 0,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> V1ReplicaSet:
    """
    :param age: days before the second of January
    :param of: how large the Deployment was when it was scaled last
    """
    remembered = {DESIRED_REPLICAS: str(of), MAX_REPLICAS: str(of + surge)} if of is not None else {}
    return from_dict(
        V1ReplicaSet,
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": f"2026-01-{28 - age:02}T00:00:00Z",
                "annotations": {**remembered, **(annotations or {})},
                **metadata,
            },
            "spec": {"replicas": replicas, "template": template(image, {"pod-template-hash": name})},
            "status": {"replicas": replicas, "availableReplicas": available, "observedGeneration": 1, **(status or {})},
        },
    )


def template(image: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "web", **(labels or {})}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
