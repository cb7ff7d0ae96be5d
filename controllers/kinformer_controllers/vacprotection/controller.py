"""The protection of VolumeAttributesClasses: a finalizer that stays while a claim or a volume uses the class.

In: VolumeAttributesClasses, PersistentVolumeClaims and PersistentVolumes. Out: the finalizer is added to classes, and
removed from classes that are being deleted and that nobody uses. Promised: before it is removed, claims and volumes are
listed from the server, because the caches may not have a claim that was just made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import SharedIndexInformer, last_state
from kinformer.controllerutil.finalizers import has_finalizer, is_finalizer_due, without_finalizers
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, V1VolumeAttributesClass

__all__ = ("FINALIZER", "ClassProtection", "classes_of_claim", "classes_of_volume", "make_controller")

FINALIZER: Final = "kubernetes.io/vac-protection"
_INDEX: Final = "volumeAttributesClassName"


def make_controller(context: ControllerContext) -> Controller:
    """The factory of ``volumeattributesclass-protection-controller``. It has no options."""
    return ClassProtection(context).controller


def classes_of_claim(claim: V1PersistentVolumeClaim) -> set[str]:
    """The classes that a claim uses: the one that it asks for, the one that it has, and the one it is changing to."""
    spec, status = claim.spec, claim.status
    changing = status.modify_volume_status if status is not None else None
    names = (
        spec.volume_attributes_class_name if spec is not None else None,
        status.current_volume_attributes_class_name if status is not None else None,
        changing.target_volume_attributes_class_name if changing is not None else None,
    )
    return {name for name in names if name}


def classes_of_volume(volume: V1PersistentVolume) -> set[str]:
    """The class that a volume has, if it has one."""
    name = volume.spec.volume_attributes_class_name if volume.spec is not None else None
    return {name} if name else set()


class ClassProtection:
    """Syncs VolumeAttributesClasses."""

    def __init__(self, context: ControllerContext) -> None:
        informers, client = context.informers, context.client
        self._server = client.resource(V1VolumeAttributesClass)
        self._claim_server, self._volume_server = (
            client.resource(V1PersistentVolumeClaim),
            client.resource(V1PersistentVolume),
        )
        classes = informers.informer_for(V1VolumeAttributesClass)
        claims, volumes = informers.informer_for(V1PersistentVolumeClaim), informers.informer_for(V1PersistentVolume)
        _add_index(claims, classes_of_claim)
        _add_index(volumes, classes_of_volume)
        self._cached, self._claims, self._volumes = classes.indexer, claims.indexer, volumes.indexer
        self.controller = Controller("vac-protection", self.sync, queue_name="vacprotection", clock=context.clock)
        self.controller.watch(classes, _needs_a_look)
        self.controller.handle(claims, _Freed(classes_of_claim, self.controller.queue.add))
        self.controller.handle(volumes, _Freed(classes_of_volume, self.controller.queue.add))

    async def sync(self, name: str) -> None:
        """
        Add the finalizer to a class, or remove it if the class may be deleted.

        :raises ClientError: if the server refuses a request
        """
        found = self._cached.get_by_key(name)
        if found is None or not is_finalizer_due(found, FINALIZER):
            return
        written = copy.copy(found)
        written.metadata = copy.copy(found.metadata)
        if not has_finalizer(found, FINALIZER):
            written.metadata.finalizers = [*(found.metadata.finalizers or ()), FINALIZER]
        elif not await self._is_used(name):
            written.metadata.finalizers = without_finalizers(found.metadata.finalizers, FINALIZER)
        else:
            return
        await self._server.update(written)

    async def _is_used(self, name: str) -> bool:
        if self._volumes.by_index(_INDEX, name) or self._claims.by_index(_INDEX, name):
            return True
        volumes = (await self._volume_server.list()).items
        if any(name in classes_of_volume(volume) for volume in volumes):
            return True
        return any(name in classes_of_claim(claim) for claim in (await self._claim_server.list()).items)


def _needs_a_look(old: Any, new: Any) -> bool:
    """Whether a class lacks the finalizer, or has it and is being deleted."""
    return new is not None and is_finalizer_due(new, FINALIZER)


def _add_index(informer: SharedIndexInformer[Any], classes_of: Callable[[Any], set[str]]) -> None:
    if _INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({_INDEX: classes_of})


class _Freed:
    """
    An event handler that queues the classes that a claim or a volume no longer uses.

    :param classes_of: the classes that such an object uses
    :param add: queues a class
    """

    def __init__(self, classes_of: Callable[[Any], set[str]], add: Callable[[str], object]) -> None:
        self._classes_of, self._add = classes_of, add

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Do nothing: a new object frees no class."""

    def on_update(self, old: Any, new: Any, /) -> None:
        for name in self._classes_of(old) - self._classes_of(new):
            self._add(name)

    def on_delete(self, obj: Any, /) -> None:
        obj = last_state(obj)
        if obj is not None:
            for name in self._classes_of(obj):
                self._add(name)
