"""A binder whose caches the test fills, and a server that notes its writes."""

from __future__ import annotations

from typing import Any

from kinformer.models import (
    V1ObjectReference,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1Pod,
    V1StorageClass,
    from_dict,
)
from kinformer_controllers.persistentvolumebinder.controller import PersistentVolumeBinder
from kinformer_controllers.shared.volumes.plugins import VolumePlugins
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeRecorder

__all__ = ("BOUND", "COMPLETED", "World")

BOUND = "pv.kubernetes.io/bound-by-controller"
COMPLETED = "pv.kubernetes.io/bind-completed"


class World(Cluster):
    """
    :param plugins: the volume plug-ins that there are
    """

    def __init__(self, *plugins: Any, **options: Any) -> None:
        super().__init__()
        self.recorder = FakeRecorder()
        self.binder = PersistentVolumeBinder(
            FakeContext(self.client, self.informers, self.recorder, clock=self.clock, **options),
            VolumePlugins(plugins),
        )

    # Objects

    def volume(
        self,
        name: str = "v",
        size: str = "10Gi",
        *,
        phase: str = "Available",
        claim: tuple[str, str] | None = None,
        policy: str = "Retain",
        annotations: dict[str, str] | None = None,
        finalizers: list[str] | None = None,
        labels: dict[str, str] | None = None,
        deleting: bool = False,
        **spec: Any,
    ) -> V1PersistentVolume:
        """
        :param claim: name and uid (``""`` for none) of the claim in namespace ns that it points to
        """
        metadata: dict[str, Any] = {
            "name": name,
            "annotations": annotations,
            "finalizers": finalizers,
            "labels": labels,
        }
        if deleting:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": policy,
            **({"hostPath": {"path": f"/tmp/hostpath_pv/{name}"}} if "csi" not in spec else {}),
            **spec,
        }
        if claim is not None:
            spec["claimRef"] = {"namespace": "ns", "name": claim[0], "uid": claim[1] or None}
        obj = {"metadata": _clean(metadata), "spec": _clean(spec), "status": {"phase": phase} if phase else None}
        volume = from_dict(V1PersistentVolume, _clean(obj))
        if volume.spec.claim_ref is not None:
            assert isinstance(volume.spec.claim_ref, V1ObjectReference)
        self.put(volume)
        return volume

    def claim(
        self,
        name: str = "c",
        size: str = "5Gi",
        *,
        volume: str | None = None,
        phase: str = "Pending",
        annotations: dict[str, str] | None = None,
        status: dict[str, Any] | None = None,
        **spec: Any,
    ) -> V1PersistentVolumeClaim:
        metadata = _clean({"name": name, "namespace": "ns", "uid": f"uid-{name}", "annotations": annotations})
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "volumeName": volume,
            **spec,
        }
        found = {"metadata": metadata, "spec": _clean(spec), "status": {"phase": phase, **(status or {})}}
        claim = from_dict(V1PersistentVolumeClaim, found)
        self.put(claim)
        return claim

    def storage_class(self, name: str = "fast", provisioner: str = "example.com/x", **more: Any) -> V1StorageClass:
        metadata = {"name": name, **more.pop("metadata", {})}
        fields = {"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": "Immediate", **more}
        found = from_dict(V1StorageClass, fields)
        self.put(found)
        return found

    def pod(self, name: str, claim: str, *, node: str = "", phase: str = "Pending") -> V1Pod:
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
        spec = _clean({"containers": [], "volumes": [volume], "nodeName": node or None})
        metadata = {"name": name, "namespace": "ns"}
        pod = from_dict(V1Pod, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})
        self.put(pod)
        return pod

    # What a test does and looks at

    async def sync_claim(self, name: str = "c") -> None:
        await self.binder.sync_claim(f"ns/{name}")

    async def sync_volume(self, name: str = "v") -> None:
        await self.binder.sync_volume(name)

    def now(self, name: str = "v") -> V1PersistentVolume:
        """A volume as the server has it."""
        volume: V1PersistentVolume = self.on_server(V1PersistentVolume, name)
        return volume

    def claim_now(self, name: str = "c") -> V1PersistentVolumeClaim:
        """A claim as the server has it."""
        claim: V1PersistentVolumeClaim = self.on_server(V1PersistentVolumeClaim, f"ns/{name}")
        return claim

    @property
    def writes(self) -> list[str]:
        return [request for request in self.requests if not request.startswith("get")]

    def show(self) -> None:
        """Have the caches show what is on the server."""
        for type_ in (V1PersistentVolume, V1PersistentVolumeClaim):
            indexer = self.informers.informer_for(type_).indexer
            there = {key: obj for (kind, key), obj in self.stored.items() if kind is type_}
            for cached in indexer.list():
                if (cached.metadata.name not in there) and (f"ns/{cached.metadata.name}" not in there):
                    indexer.delete(cached)
            for obj in there.values():
                indexer.update(obj)


def _clean(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
