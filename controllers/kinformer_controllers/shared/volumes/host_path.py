"""The host-path plug-in: volumes that are directories of one machine. For tests, and for clusters with a single node.

Volumes are always deleted, as in Kubernetes: one below ``/tmp`` is deleted, and any other is an error. On disk, only
directories that this plug-in made, below ``/tmp/hostpath_pv``, are removed: the manager rarely runs on the volume's
node. Volumes are made and expanded only with ``--enable-hostpath-provisioner``.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Final

import anyio.to_thread

from kinformer.meta import Quantity
from kinformer.models import V1HostPathVolumeSource, V1ObjectMeta, V1PersistentVolume, V1PersistentVolumeSpec
from kinformer_controllers.shared.volumes.facts import Volume, requested_storage
from kinformer_controllers.shared.volumes.plugins import ProvisionRequest

__all__ = ("HostPath", "HostPathDeleter")

_TMP: Final = Path("/tmp")
_NAME: Final = "kubernetes.io/host-path"


class HostPathDeleter:
    """
    Deletes host-path volumes.

    :param root: the directory below which volumes are made
    """

    name = _NAME

    def __init__(self, root: Path = _TMP / "hostpath_pv") -> None:
        self._root = root

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


class HostPath(HostPathDeleter):
    """Makes and expands host-path volumes, too."""

    supports_mount_options = False
    requires_file_system_expansion = False

    async def provision(self, request: ProvisionRequest) -> Volume:
        """
        Make a directory.

        :raises OSError: if the directory cannot be made
        :raises ValueError: if the claim asks for a block device
        """
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
