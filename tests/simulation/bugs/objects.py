"""Custom resources of the operators in this folder, and what the operators make for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kinformer.meta import GroupVersionResource
from kinformer.models import V1ConfigMap, V1Pod, V1StatefulSet, from_dict
from tests.definitions import FREE, definition

__all__ = (
    "NAMESPACE",
    "Kind",
    "annotation_of",
    "generation_of",
    "is_going",
    "meta_of_child",
    "name_of",
    "ordinal_of",
    "owner_uid",
    "pod",
    "statefulset",
    "uid_of",
    "volume",
)

NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Kind:
    """A custom resource: what users ask an operator for."""

    group: str
    kind: str

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, "v1", self.plural)

    def definition(self, **schema: Any) -> dict[str, Any]:
        """:param schema: more about its spec: properties, rules"""
        properties = {"spec": {**FREE, **schema}, "status": FREE}
        whole = {"type": "object", "properties": properties}
        return definition(self.plural, self.kind, self.group, schema=whole, subresources={"status": {}})

    def new(self, name: str, **spec: Any) -> dict[str, Any]:
        meta = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": f"{self.group}/v1", "kind": self.kind, "metadata": meta, "spec": spec}


def meta_of_child(
    cluster: dict[str, Any], name: str, annotations: Mapping[str, str] | None = None, **labels: str
) -> dict[str, Any]:
    """Of whom a child is, and for whom: the garbage collector takes it away once the custom resource is gone."""
    owner = {
        "apiVersion": cluster["apiVersion"],
        "kind": cluster["kind"],
        "name": name_of(cluster),
        "uid": uid_of(cluster),
        "controller": True,
    }
    return {
        "name": name,
        "namespace": NAMESPACE,
        "labels": {"cluster": name_of(cluster), **labels},
        "annotations": dict(annotations or {}),
        "ownerReferences": [owner],
    }


def pod(cluster: dict[str, Any], ordinal: int, node: str | None = None, **annotations: str) -> V1Pod:
    """:param node: where it is. A pod on a node takes its time to end, any other goes at once"""
    return from_dict(
        V1Pod,
        {
            "metadata": meta_of_child(cluster, f"{name_of(cluster)}-{ordinal}", annotations, ordinal=str(ordinal)),
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "db"}]},
        },
    )


def volume(cluster: dict[str, Any], ordinal: int, size: str = "10Gi", **labels: str) -> V1ConfigMap:
    """What holds the data of one pod."""
    meta = meta_of_child(cluster, f"data-{name_of(cluster)}-{ordinal}", None, ordinal=str(ordinal), **labels)
    return from_dict(V1ConfigMap, {"metadata": meta, "data": {"size": size}})


def statefulset(cluster: dict[str, Any], replicas: int, **annotations: str) -> V1StatefulSet:
    """A StatefulSet that nobody runs: only what operators make of it counts here."""
    name = name_of(cluster)
    return from_dict(
        V1StatefulSet,
        {
            "metadata": meta_of_child(cluster, name, annotations),
            "spec": {
                "replicas": replicas,
                "serviceName": name,
                "selector": {"matchLabels": {"cluster": name}},
                "template": {
                    "metadata": {"labels": {"cluster": name}},
                    "spec": {"containers": [{"name": "c", "image": "db"}]},
                },
            },
        },
    )


def name_of(obj: Any) -> str:
    name: str = obj["metadata"]["name"] if isinstance(obj, Mapping) else obj.metadata.name
    return name


def annotation_of(obj: Any, name: str) -> str:
    """What a child was given as an annotation."""
    text: str = obj.metadata.annotations[name]
    return text


def ordinal_of(obj: Any) -> int:
    """Which of the pods it is, or whose volume."""
    return int(obj.metadata.labels["ordinal"])


def generation_of(cluster: dict[str, Any]) -> int:
    """How often its spec was changed."""
    generation: int = cluster["metadata"]["generation"]
    return generation


def uid_of(obj: Any) -> str:
    uid: str = obj["metadata"]["uid"] if isinstance(obj, Mapping) else obj.metadata.uid
    return uid


def owner_uid(obj: Any) -> str:
    """The uid of the custom resource that a child was made for."""
    [owner] = obj.metadata.owner_references
    uid: str = owner.uid
    return uid


def is_going(obj: Any) -> bool:
    """Whether somebody has deleted it."""
    if isinstance(obj, Mapping):
        return "deletionTimestamp" in obj["metadata"]
    return obj.metadata.deletion_timestamp is not None
