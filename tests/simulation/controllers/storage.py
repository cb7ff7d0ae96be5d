"""A storage system outside of the cluster, and a binder that makes volumes on it.

What is on the shelf stays there whatever happens to processes, as with a real one. In the end each piece of it has its
volume, and each volume its piece: nothing was made twice, and nothing was left behind.
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from kinformer.manager import ControllerContext
from kinformer.models import V1HostPathVolumeSource, V1ObjectMeta, V1PersistentVolume, V1PersistentVolumeSpec
from kinformer.simulation.world import World
from kinformer_controllers.persistentvolumebinder.controller import PersistentVolumeBinder
from kinformer_controllers.shared.volumes.facts import Volume, requested_storage
from kinformer_controllers.shared.volumes.plugins import ProvisionRequest, VolumePlugins

__all__ = ("PROVISIONER", "begin", "make_binder")

PROVISIONER: Final = "kubernetes.io/shelf"

#: What is there, by the names of the volumes. One world is played at a time.
_shelf: set[str] = set()


class Shelf:
    """A plug-in. Each of its answers takes a second."""

    name = PROVISIONER
    supports_mount_options = False

    def supports(self, volume: Volume) -> bool:
        return volume.spec.host_path is not None

    async def provision(self, request: ProvisionRequest) -> Volume:
        _shelf.add(request.name)
        await anyio.sleep(1)
        spec = V1PersistentVolumeSpec(
            access_modes=request.claim.spec.access_modes,
            capacity={"storage": str(requested_storage(request.claim))},
            host_path=V1HostPathVolumeSource(path="/shelf"),
            persistent_volume_reclaim_policy=request.reclaim_policy,
        )
        return V1PersistentVolume(metadata=V1ObjectMeta(name=request.name), spec=spec)

    async def delete(self, volume: Volume) -> None:
        await anyio.sleep(1)
        _shelf.discard(volume.metadata.name)


def make_binder(context: ControllerContext) -> PersistentVolumeBinder:
    """The binder, with this plug-in and no other."""
    return PersistentVolumeBinder(context, VolumePlugins([Shelf()]))


def begin(world: World) -> None:
    """Empty the shelf, and demand that nothing is left on it in the end that has no volume."""
    _shelf.clear()

    def every_piece_has_its_volume(state: Any) -> None:
        volumes = {obj["metadata"]["name"] for obj in state.list("persistentvolumes")}
        assert _shelf == volumes, f"without a volume: {_shelf - volumes}, without storage: {volumes - _shelf}"

    world.assert_eventually(every_piece_has_its_volume)
