"""The persistent volume binder: two controllers, one for claims and one for volumes.

In: PersistentVolumes, PersistentVolumeClaims, storage classes and pods. Out: claims are bound to volumes, volumes are
provisioned for claims, and released volumes are reclaimed. Each controller has one worker, because two claims that are
bound at the same time could choose the same volume.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from kinformer.cache import ResourceEventHandlerFuncs, deletion_handling_key, last_state
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.meta import meta_namespace_key
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1StorageClass
from kinformer_controllers.persistentvolumebinder.binding import Binder, Latest
from kinformer_controllers.persistentvolumebinder.claims import Claims
from kinformer_controllers.persistentvolumebinder.matching import (
    CLAIMED_INDEX,
    MODES_INDEX,
    WAITING_INDEX,
    add_indexes,
    is_free,
)
from kinformer_controllers.persistentvolumebinder.metrics import OperationTimes, counted_volumes
from kinformer_controllers.persistentvolumebinder.operations import Operations
from kinformer_controllers.persistentvolumebinder.provisioning import Provisioner
from kinformer_controllers.persistentvolumebinder.reclaiming import Reclaimer
from kinformer_controllers.persistentvolumebinder.spec import BinderOptions
from kinformer_controllers.persistentvolumebinder.volumes import Volumes
from kinformer_controllers.shared.volumes.facts import Claim, Volume, claimed_key, class_of_volume
from kinformer_controllers.shared.volumes.host_path import HostPath, PodRecycler
from kinformer_controllers.shared.volumes.plugins import VolumePlugins, installed_plugins
from kinformer_controllers.shared.volumes.pods import add_claim_index

__all__ = ("PersistentVolumeBinder", "make_controller")

#: The source component of its Events.
COMPONENT = "persistentvolume-controller"


def make_controller(context: ControllerContext) -> PersistentVolumeBinder:
    """The entry point of the binder; its options are :class:`.BinderOptions`."""
    plugins = [
        *installed_plugins(),
        HostPath(makes_volumes=context.read(BinderOptions).enable_hostpath_provisioner),
        PodRecycler(context.client, "kubernetes.io/host-path (recycler)", "host_path", minimum_seconds=60),
        PodRecycler(context.client, "kubernetes.io/nfs (recycler)", "nfs", minimum_seconds=300),
    ]
    return PersistentVolumeBinder(context, VolumePlugins(plugins))


class PersistentVolumeBinder(Group):
    """Syncs claims and volumes."""

    def __init__(self, context: ControllerContext, plugins: VolumePlugins) -> None:
        client, informers, options = context.client, context.informers, context.read(BinderOptions)
        recorder = context.recorder(COMPONENT)
        self._clock = clock = context.clock
        self._period = options.pvclaimbinder_sync_period
        volumes, claims = informers.informer_for(V1PersistentVolume), informers.informer_for(V1PersistentVolumeClaim)
        classes, pods = informers.informer_for(V1StorageClass), informers.informer_for(V1Pod)
        add_indexes(volumes, claims)
        add_claim_index(pods)
        self._cached_volumes, self._cached_claims = volumes.indexer, claims.indexer
        self._volumes, self._claims = Latest[Volume](volumes.indexer), Latest[Claim](claims.indexer)
        self.operations, self._times = Operations(clock), OperationTimes(clock)
        binder = Binder(client, self._volumes, self._claims, recorder)
        provisioner = Provisioner(
            client, binder, classes.indexer, plugins, self.operations, self._times, recorder, clock
        )
        reclaimer = Reclaimer(
            client,
            binder,
            self._claims,
            pods.indexer,
            plugins,
            self.operations,
            self._times,
            classes.indexer,
            recorder,
            clock,
        )
        self.claims = Controller("persistentvolume-binder-claims", self.sync_claim, queue_name="claims", clock=clock)
        self.volumes = Controller(
            "persistentvolume-binder-volumes", self.sync_volume, queue_name="volumes", clock=clock
        )
        self._claim_rules = Claims(
            binder,
            self._volumes,
            lambda: volumes.indexer.list_index_func_values(MODES_INDEX),
            classes.indexer,
            pods.indexer,
            recorder,
            self._times,
            provisioner.provision if options.enable_dynamic_provisioning else _leave,
        )
        self._volume_rules = Volumes(
            binder,
            self._claims,
            client.resource(V1PersistentVolumeClaim),
            recorder,
            self.claims.queue.add,
            reclaimer.reclaim,
        )
        self.claims.handle(claims, _handler(self.claims.queue.add, self._claim_gone))
        self.volumes.handle(volumes, _handler(self.volumes.queue.add, self._volume_gone))
        self.volumes.handle(volumes, ResourceEventHandlerFuncs(update=self._volume_changed))
        for controller, other in ((self.claims, volumes), (self.volumes, claims)):
            controller.wait_for(other).wait_for(classes).wait_for(pods)
        super().__init__(self.operations, self.claims, self.volumes)

    async def run(self) -> None:
        """Work until cancelled."""
        with counted_volumes(self._cached_volumes, self._cached_claims):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._resync)
                await super().run()

    async def sync_claim(self, key: str) -> None:
        """See :meth:`.Claims.sync`."""
        claim = self._claims.get(key)
        if claim is not None and not self._claims.is_behind(key):
            await self._claim_rules.sync(claim)

    async def sync_volume(self, key: str) -> None:
        """See :meth:`.Volumes.sync`."""
        volume = self._volumes.get(key)
        if volume is not None and not self._volumes.is_behind(key):
            await self._volume_rules.sync(volume)

    async def _resync(self) -> None:
        """Queue everything periodically, because a claim may wait for something that causes no event."""
        while True:
            await self._clock.sleep(self._period)
            for cached, controller in ((self._cached_claims, self.claims), (self._cached_volumes, self.volumes)):
                for key in cached.list_keys():
                    controller.queue.add(key)

    def _claim_gone(self, key: str, claim: Claim | None) -> None:
        self._times.forget(key)
        claim = self._claims.forget(key, claim) if claim is not None else None
        if claim is not None and claim.spec.volume_name:
            self.volumes.queue.add(claim.spec.volume_name)
        # A claim that was deleted while it was being bound may not name its volume yet. Its volume names the claim.
        for name in self._cached_volumes.index_keys(CLAIMED_INDEX, key):
            self.volumes.queue.add(name)

    def _volume_changed(self, old: Volume, new: Volume) -> None:
        """Queue the claims that wait for a volume of this class, when it becomes available."""
        if is_free(new) and not is_free(old):
            for key in self._cached_claims.index_keys(WAITING_INDEX, class_of_volume(new)):
                self.claims.queue.add(key)

    def _volume_gone(self, key: str, volume: Volume | None) -> None:
        self._times.end(key)
        volume = self._volumes.forget(key, volume) if volume is not None else None
        if volume is not None and (claimed := claimed_key(volume)) is not None:
            self.claims.queue.add(claimed)


def _handler(add: Callable[[str], object], gone: Callable[[str, Any], object]) -> ResourceEventHandlerFuncs[Any]:
    """An event handler that queues changed objects, and calls `gone` for deleted ones."""
    return ResourceEventHandlerFuncs(
        lambda obj: add(meta_namespace_key(obj)),
        lambda old, new: add(meta_namespace_key(new)),
        lambda obj: gone(deletion_handling_key(obj), last_state(obj)),
    )


def _leave(claim: Claim) -> None:
    """Do nothing: dynamic provisioning is switched off."""
