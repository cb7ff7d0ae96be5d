"""The protection of VolumeAttributesClasses: a finalizer that stays while a claim or a volume uses the class.

In: VolumeAttributesClasses, PersistentVolumeClaims and PersistentVolumes. Out: the finalizer is added to classes, and
removed from classes that are being deleted and that nobody uses. Promised: before it is removed, claims and volumes are
listed from the server, because the caches may not have a claim that was just made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.manager import ControllerContext
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, V1VolumeAttributesClass
from kinformer_controllers.shared.protection import FreedHandler, Protection

__all__ = ("FINALIZER", "ClassProtection")

FINALIZER: Final = "kubernetes.io/vac-protection"
_INDEX: Final = "volumeAttributesClassName"


def _classes_of_claim(claim: V1PersistentVolumeClaim) -> set[str]:
    """The classes that a claim uses: the one that it asks for, the one that it has, and the one it is changing to."""
    spec, status = claim.spec, claim.status
    changing = status.modify_volume_status if status is not None else None
    names = (
        spec.volume_attributes_class_name if spec is not None else None,
        status.current_volume_attributes_class_name if status is not None else None,
        changing.target_volume_attributes_class_name if changing is not None else None,
    )
    return {name for name in names if name}


def _classes_of_volume(volume: V1PersistentVolume) -> set[str]:
    """The class that a volume has, if it has one."""
    name = volume.spec.volume_attributes_class_name if volume.spec is not None else None
    return {name} if name else set()


class ClassProtection(Protection[V1VolumeAttributesClass]):
    """Syncs VolumeAttributesClasses."""

    kind, name, finalizer = V1VolumeAttributesClass, "vac-protection", FINALIZER

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        informers, client = context.informers, context.client
        self._claim_server = client.resource(V1PersistentVolumeClaim)
        self._volume_server = client.resource(V1PersistentVolume)
        claims, volumes = informers.informer_for(V1PersistentVolumeClaim), informers.informer_for(V1PersistentVolume)
        self._claims, self._volumes = claims.indexer, volumes.indexer
        self._follow(claims, _classes_of_claim)
        self._follow(volumes, _classes_of_volume)

    def _follow(self, users: SharedIndexInformer[Any], classes_of: Callable[[Any], set[str]]) -> None:
        if _INDEX not in users.indexer.get_indexers():
            users.add_indexers({_INDEX: classes_of})
        self.controller.handle(users, FreedHandler(self.controller.queue.add, classes_of, lets_go=True))

    async def is_used(self, found: V1VolumeAttributesClass) -> bool:
        name = found.metadata.name
        if self._volumes.by_index(_INDEX, name) or self._claims.by_index(_INDEX, name):
            return True
        volumes = (await self._volume_server.list()).items
        if any(name in _classes_of_volume(volume) for volume in volumes):
            return True
        return any(name in _classes_of_claim(claim) for claim in (await self._claim_server.list()).items)
