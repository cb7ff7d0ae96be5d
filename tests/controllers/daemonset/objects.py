"""DaemonSets, nodes and daemon pods, as tests need them."""

from __future__ import annotations

from typing import Any

from kinformer.clock import FakeClock
from kinformer.models import V1DaemonSet, V1Node, V1Pod, from_dict

__all__ = ("NOW", "make_daemonset", "make_node", "make_pod", "rolling", "stamp")

NOW = FakeClock().now()


def stamp(moment: Any = NOW) -> str:
    return str(moment.isoformat().replace("+00:00", "Z"))


def rolling(**update: Any) -> dict[str, Any]:
    """A strategy: one node at a time unless said otherwise."""
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0, **update}}


def make_daemonset(
    *,
    name: str = "agent",
    template: dict[str, Any] | None = None,
    strategy: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> V1DaemonSet:
    """
    :param template: further fields of the pods' spec, under JSON's names
    :param spec: further fields of the DaemonSet's spec, under JSON's names
    """
    counts = {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}
    return from_dict(
        V1DaemonSet,
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"uid-{name}",
                "generation": 1,
                "resourceVersion": "1",
                **({"annotations": annotations} if annotations else {}),
            },
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "c", "image": "img"}], **(template or {})},
                },
                "updateStrategy": strategy or rolling(),
                "revisionHistoryLimit": 10,
                **spec,
            },
            **({"status": counts | status} if status is not None else {}),
        },
    )


def make_node(
    name: str = "n1",
    labels: dict[str, str] | None = None,
    taints: list[tuple[str, str]] | None = None,
    **spec: Any,
) -> V1Node:
    """
    :param taints: keys and effects
    """
    tainted = [{"key": key, "effect": effect} for key, effect in taints or ()]
    meta = {"name": name, "labels": labels or {}, "resourceVersion": "1"}
    return from_dict(V1Node, {"metadata": meta, "spec": {**({"taints": tainted} if tainted else {}), **spec}})


def make_pod(
    node: str = "n1",
    *,
    name: str = "",
    hash_: str = "new",
    phase: str = "Running",
    ready: bool = True,
    ready_since: str = "2020-01-01T00:00:00Z",
    deleting: bool = False,
    created: str = "2020-01-01T00:00:00Z",
    bound: bool = True,
    owner: V1DaemonSet | None = None,
    **metadata: Any,
) -> V1Pod:
    """A daemon pod on a node, or meant for it."""
    meta: dict[str, Any] = {
        "name": name or f"agent-{node}-{hash_}",
        "namespace": "ns",
        "uid": f"uid-{name or node}-{hash_}",
        "resourceVersion": "1",
        "labels": {"app": "agent", "controller-revision-hash": hash_},
        "creationTimestamp": created,
    }
    if deleting:
        meta["deletionTimestamp"] = stamp()
    if owner is not None:
        reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": owner.metadata.name}
        meta["ownerReferences"] = [reference | {"uid": owner.metadata.uid, "controller": True}]
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "img"}], "affinity": affinity}
    if bound:
        spec["nodeName"] = node
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready_since}] if ready else []
    return from_dict(
        V1Pod, {"metadata": meta | metadata, "spec": spec, "status": {"phase": phase, "conditions": conditions}}
    )
