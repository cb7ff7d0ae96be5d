"""The host-path plug-in: directories of one machine as volumes. For tests, and for clusters of a single node.

Deleting one is always possible, as in Kubernetes: a volume below ``/tmp`` goes, any other is a failure. On the disk,
only directories that were made here are removed, below ``/tmp/hostpath_pv``: the manager is seldom on the node.
Making and enlarging them is allowed by ``--enable-hostpath-provisioner``.
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
    :param root: the directory below which volumes are made
    """

    name = _NAME

    def __init__(self, root: Path = _TMP / "hostpath_pv") -> None:
        self._root = root

    def supports(self, volume: Volume) -> bool:
        return volume.spec.host_path is not None

    async def delete(self, volume: Volume) -> None:
        """
        Delete a volume's directory, if it was made here.

        :raises ValueError: if it is not below ``/tmp``
        """
        source = volume.spec.host_path
        path = Path(source.path if source is not None else "")
        if path == _TMP or not path.is_relative_to(_TMP) or ".." in path.parts:
            raise ValueError(f"host_path deleter only supports /tmp/.+ but received provided {path}")
        if path != self._root and path.is_relative_to(self._root):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(path, ignore_errors=True))


class HostPath(HostPathDeleter):
    """Makes and enlarges directories, too."""

    supports_mount_options = False
    requires_file_system_expansion = False

    async def provision(self, request: ProvisionRequest) -> Volume:
        """
        Make a directory.

        :raises OSError: if that cannot be done
        :raises ValueError: if a block device is asked for
        """
        if request.claim.spec.volume_mode == "Block":
            raise ValueError(f"{_NAME} does not support block volume provisioning")
        # The same for a second try, since the name comes from the claim's uid.
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
        """A directory has no size of its own: whatever is asked for is there."""
        return to
