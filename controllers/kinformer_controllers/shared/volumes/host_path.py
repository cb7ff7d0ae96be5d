"""The host-path plug-in: volumes that are directories of one machine. For tests, and for clusters with a single node.

Volumes are always deleted, as in Kubernetes: one below ``/tmp`` is deleted, and any other is an error. On disk, only
directories that this plug-in made, below ``/tmp/hostpath_pv``, are removed: the manager rarely runs on the volume's
node. Volumes are made and expanded only with ``--enable-hostpath-provisioner``.

Volumes whose policy is Recycle are emptied with a pod, as Kubernetes does for host-path and NFS volumes: a pod is
created that mounts the volume and deletes the content. The plug-in waits until the pod has ended, and deletes it. The
pod's name is made from the volume's name. So if two managers recycle the same volume, the second one finds the pod of
the first, and tries again later.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from kinformer.client import ADDED, DELETED, MODIFIED, Client, DeleteOptions, ListOptions
from kinformer.client.errors import AlreadyExists, NotFound
from kinformer.meta import Quantity
from kinformer.models import (
    V1HostPathVolumeSource,
    V1ObjectMeta,
    V1PersistentVolume,
    V1PersistentVolumeSpec,
    V1Pod,
    V1Volume,
    from_dict,
)
from kinformer_controllers.shared.volumes.facts import Volume, capacity_of, requested_storage
from kinformer_controllers.shared.volumes.plugins import ProvisioningDisabled, ProvisionRequest

__all__ = (
    "HostPath",
    "PodRecycler",
    "RecycleError",
)

_IMAGE: Final = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6"
_SCRUB: Final = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_NAMESPACE: Final = "default"
_GIB: Final = 1 << 30
#: The time limit of a pod for each GiB of its volume, if that is longer than the one for small volumes.
_SECONDS_FOR_GIB: Final = 30

_TMP: Final = Path("/tmp")
_NAME: Final = "kubernetes.io/host-path"


class RecycleError(Exception):
    """A volume could not be emptied."""


class PodRecycler:
    """
    A plug-in that empties volumes of one kind.

    :param source: the field of a volume's spec that has its source: ``host_path`` or ``nfs``
    :param minimum_seconds: the time limit of a pod for small volumes, in seconds
    """

    def __init__(self, client: Client, name: str, source: str, *, minimum_seconds: int = 60) -> None:
        self.name = name
        self._pods = client.resource(V1Pod)
        self._source = source
        self._minimum = minimum_seconds

    def supports(self, volume: Volume) -> bool:
        return getattr(volume.spec, self._source) is not None

    async def recycle(self, volume: Volume) -> None:
        """
        Empty a volume.

        :raises RecycleError: if the pod failed or was deleted, or if a pod of an earlier try still exists
        :raises ClientError: if the server refuses a request
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
            "activeDeadlineSeconds": max(self._minimum, gib * _SECONDS_FOR_GIB),
            "restartPolicy": "Never",
            "containers": [{**container, "volumeMounts": [mount]}],
        }
        pod = from_dict(V1Pod, {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec})
        mounted = V1Volume(name="vol")
        setattr(mounted, self._source, getattr(volume.spec, self._source))
        pod.spec.volumes = [mounted]
        return pod


def _has_succeeded(pod: V1Pod) -> bool:
    """
    Whether the pod has succeeded.

    :raises RecycleError: if it has failed
    """
    status: Any = pod.status
    phase = status.phase if status is not None else ""
    if phase == "Failed":
        raise RecycleError(status.message or "pod failed, pod.Status.Message unknown")
    return phase == "Succeeded"


class HostPath:
    """
    Deletes host-path volumes. If it may, it makes and expands them, too.

    :param root: the directory below which volumes are made
    :param makes_volumes: whether it may make any
    """

    name = _NAME
    supports_mount_options = False
    requires_file_system_expansion = False

    def __init__(self, root: Path = _TMP / "hostpath_pv", *, makes_volumes: bool = True) -> None:
        self._root = root
        self._makes_volumes = makes_volumes

    def supports(self, volume: Volume) -> bool:
        return volume.spec.host_path is not None

    async def delete(self, volume: Volume) -> None:
        """
        Delete a volume's directory, if this plug-in made it.

        :raises ValueError: if the directory is not below ``/tmp``
        """
        source = volume.spec.host_path
        path = Path(source.path if source is not None else "")
        if path == _TMP or not path.is_relative_to(_TMP) or ".." in path.parts:
            raise ValueError(f"host_path deleter only supports /tmp/.+ but received provided {path}")
        if path != self._root and path.is_relative_to(self._root):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(path, ignore_errors=True))

    async def provision(self, request: ProvisionRequest) -> Volume:
        """
        Make a directory.

        :raises ProvisioningDisabled: if it may not
        :raises OSError: if the directory cannot be made
        :raises ValueError: if the claim asks for a block device
        """
        if not self._makes_volumes:
            raise ProvisioningDisabled(f'provisioning in volume plugin "{_NAME}" is disabled')
        if request.claim.spec.volume_mode == "Block":
            raise ValueError(f"{_NAME} does not support block volume provisioning")
        # A second try uses the same directory, because the request's name comes from the claim's uid.
        folder = self._root / str(uuid.uuid5(uuid.NAMESPACE_OID, request.name))
        await anyio.to_thread.run_sync(lambda: folder.mkdir(0o750, parents=True, exist_ok=True))
        spec = V1PersistentVolumeSpec(
            access_modes=request.claim.spec.access_modes or ["ReadWriteOnce"],
            capacity={"storage": str(requested_storage(request.claim))},
            host_path=V1HostPathVolumeSource(path=str(folder)),
            persistent_volume_reclaim_policy=request.reclaim_policy,
        )
        annotations = {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}
        return V1PersistentVolume(metadata=V1ObjectMeta(name=request.name, annotations=annotations), spec=spec)

    async def expand(self, volume: Volume, to: Quantity, current: Quantity) -> Quantity:
        """Return the requested size. A directory has no size, so there is nothing to do."""
        return to
