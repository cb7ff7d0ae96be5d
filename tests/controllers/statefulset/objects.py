"""StatefulSets, their pods and claims, as tests need them."""

from __future__ import annotations

from typing import Any

from kinformer.clock import FakeClock
from kinformer.models import V1PersistentVolumeClaim, V1Pod, V1StatefulSet, from_dict

__all__ = ("NOW", "make_claim", "make_pod", "make_set", "reference", "stamp")

NOW = FakeClock().now()


def stamp(moment: Any = NOW) -> str:
    return str(moment.isoformat().replace("+00:00", "Z"))


def make_set(
    replicas: int = 3,
    *,
    name: str = "web",
    image: str = "img",
    volumes: tuple[str, ...] = (),
    status: dict[str, Any] | None = None,
    policy: tuple[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> V1StatefulSet:
    """
    A StatefulSet as the server has it.

    :param volumes: the names of its claim templates
    :param policy: what becomes of claims when it is scaled, and when it is deleted
    :param spec: further fields, under JSON's names
    """
    if policy is not None:
        spec["persistentVolumeClaimRetentionPolicy"] = {"whenScaled": policy[0], "whenDeleted": policy[1]}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    templates = [{"metadata": {"name": volume}, "spec": claim} for volume in volumes]
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "generation": 1, "resourceVersion": "1"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": meta | (metadata or {}),
        "spec": {
            "replicas": replicas,
            "serviceName": "svc",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "podManagementPolicy": "OrderedReady",
            "revisionHistoryLimit": 10,
            **({"volumeClaimTemplates": templates} if templates else {}),
            **spec,
        },
    }
    if status is not None:
        body["status"] = {"replicas": 0, **status}
    return from_dict(V1StatefulSet, body)


def reference(obj: Any, *, uid: str | None = None, controller: bool = True) -> dict[str, Any]:
    """An owner reference to a StatefulSet or a pod."""
    is_pod = isinstance(obj, V1Pod)
    found = {
        "apiVersion": "v1" if is_pod else "apps/v1",
        "kind": "Pod" if is_pod else "StatefulSet",
        "name": obj.metadata.name,
        "uid": obj.metadata.uid if uid is None else uid,
    }
    return found | ({"controller": True, "blockOwnerDeletion": True} if controller else {})


def make_pod(
    ordinal: int | str = 0,
    owner: V1StatefulSet | None = None,
    *,
    revision: str = "r1",
    phase: str = "Running",
    ready: bool = True,
    ready_since: str = "",
    deleting: bool = False,
    uid: str | None = None,
    name: str = "",
    volumes: list[dict[str, Any]] | None = None,
    **metadata: Any,
) -> V1Pod:
    """
    A pod of ``web``.

    :param ready_since: when it became ready; long ago if not said
    """
    name = name or f"web-{ordinal}"
    labels = {
        "app": "web",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    meta: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}" if uid is None else uid,
        "labels": labels,
        "resourceVersion": "1",
        "ownerReferences": [reference(owner)] if owner is not None else [],
    }
    if deleting:
        meta["deletionTimestamp"] = stamp()
    since = ready_since or "2020-01-01T00:00:00Z"
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}] if ready else []
    status = {"phase": phase, "conditions": conditions} if phase else {}
    spec = {"containers": [{"name": "c", "image": "img"}], **({"volumes": volumes} if volumes else {})}
    return from_dict(V1Pod, {"metadata": meta | metadata, "spec": spec, "status": status})


def make_claim(name: str = "data-web-0", *references: dict[str, Any], **metadata: Any) -> V1PersistentVolumeClaim:
    meta = {"name": name, "namespace": "ns", "ownerReferences": list(references), "resourceVersion": "1"}
    return from_dict(V1PersistentVolumeClaim, {"metadata": meta | metadata, "spec": {}})
