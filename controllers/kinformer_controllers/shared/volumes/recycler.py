"""Recycling by a pod: what Kubernetes does with host-path and NFS volumes whose policy is Recycle.

In: a volume. Out: a pod that mounts it and deletes what is in it; it is waited for, and deleted in the end. Promised:
the pod's name comes from the volume's, so that of two managers one finds the other's pod, and tries again later.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.client import ADDED, DELETED, MODIFIED, Client, DeleteOptions, ListOptions
from kinformer.client.errors import AlreadyExists, NotFound
from kinformer.models import V1Pod, from_dict
from kinformer_controllers.shared.volumes.facts import Volume, capacity_of

__all__ = ("PodRecycler", "RecycleError")

_IMAGE: Final = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6"
_SCRUB: Final = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_NAMESPACE: Final = "default"
_GIB: Final = 1 << 30


class RecycleError(Exception):
    """A volume could not be emptied."""


class PodRecycler:
    """
    A plug-in that empties volumes of one kind.

    :param source: the field of a volume's spec that has its source: ``host_path``, ``nfs``
    :param minimum_seconds: how long a pod may take at least
    :param seconds_for_gib: how much longer for each GiB of the volume
    """

    def __init__(
        self, client: Client, name: str, source: str, *, minimum_seconds: int = 60, seconds_for_gib: int = 30
    ) -> None:
        self.name = name
        self._pods = client.resource(V1Pod)
        self._source = source
        self._minimum, self._for_gib = minimum_seconds, seconds_for_gib

    def supports(self, volume: Volume) -> bool:
        return getattr(volume.spec, self._source) is not None

    async def recycle(self, volume: Volume) -> None:
        """
        Empty a volume.

        :raises RecycleError: if the pod failed, or was deleted, or an older one is there
        :raises ClientError: if the server refuses
        """
        name = f"recycler-for-{volume.metadata.name}"
        options = ListOptions(field_selector=f"metadata.name={name}")
        try:
            await self._pods.create(self._pod(name, volume))
        except AlreadyExists:
            await self._delete(name)
            raise RecycleError("old recycler pod found, will retry later") from None
        try:
            await self._wait(options)
        finally:
            await self._delete(name)

    async def _wait(self, options: ListOptions) -> None:
        async with self._pods.watch(_NAMESPACE, options) as events:
            async for batch in events:
                for event in batch:
                    if event.type == DELETED:
                        raise RecycleError("recycler pod was deleted")
                    if event.type in (ADDED, MODIFIED) and _has_succeeded(event.object):
                        return
        raise RecycleError("recycler pod watcher failed")

    async def _delete(self, name: str) -> None:
        try:
            await self._pods.delete(name, _NAMESPACE, DeleteOptions())
        except NotFound:
            return

    def _pod(self, name: str, volume: Volume) -> V1Pod:
        gib = -(-capacity_of(volume).value() // _GIB)
        mount = {"name": "vol", "mountPath": "/scrub"}
        container = {"name": "pv-recycler", "image": _IMAGE, "command": ["/bin/sh"], "args": ["-c", _SCRUB]}
        spec: dict[str, Any] = {
            "activeDeadlineSeconds": max(self._minimum, gib * self._for_gib),
            "restartPolicy": "Never",
            "containers": [{**container, "volumeMounts": [mount]}],
        }
        pod = from_dict(V1Pod, {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec})
        source: Any = {"name": "vol"}
        found = from_dict(V1Pod, {"metadata": {}, "spec": {"containers": [], "volumes": [source]}})
        mounted = found.spec.volumes[0]  # type: ignore[index]  # it was given one
        setattr(mounted, self._source, getattr(volume.spec, self._source))
        pod.spec.volumes = [mounted]
        return pod


def _has_succeeded(pod: V1Pod) -> bool:
    """
    Whether the pod has done its work.

    :raises RecycleError: if it has failed
    """
    status: Any = pod.status
    phase = status.phase if status is not None else ""
    if phase == "Failed":
        raise RecycleError(status.message or "pod failed, pod.Status.Message unknown")
    return phase == "Succeeded"
