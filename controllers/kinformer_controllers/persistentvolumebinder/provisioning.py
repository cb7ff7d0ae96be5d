"""Provisioning volumes for claims, with a plug-in of this process or by an external provisioner that watches claims.

In: a claim without a volume, whose class names a provisioner. Out: the annotation that external provisioners wait for;
or a volume that a plug-in has made, bound to the claim. Promised: the volume's name is made from the claim's uid, so
that a second try finds the volume of the first; if the volume cannot be saved, its storage is deleted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.client.errors import AlreadyExists, ClientError, NotFound
from kinformer.clock import Clock
from kinformer.manager import SyncError
from kinformer.models import V1Node, V1PersistentVolume, V1StorageClass
from kinformer.record import NORMAL, WARNING, EventRecorder, reference_to
from kinformer_controllers.persistentvolumebinder.binding import Binder
from kinformer_controllers.persistentvolumebinder.metrics import OperationTimes
from kinformer_controllers.persistentvolumebinder.operations import Operations
from kinformer_controllers.persistentvolumebinder.volumes import DELETION_FINALIZER
from kinformer_controllers.shared.volumes.facts import (
    BETA_STORAGE_PROVISIONER,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    Claim,
    Volume,
    annotation_of,
    claim_key,
    class_of_claim,
)
from kinformer_controllers.shared.volumes.plugins import (
    DeleterPlugin,
    NoPlugin,
    ProvisionerPlugin,
    ProvisioningDisabled,
    ProvisionRequest,
    VolumePlugins,
)
from kinformer_controllers.shared.volumes.timing import timed_operation
from kinformer_controllers.shared.volumes.translation import MIGRATED, migration_of_claim

__all__ = ("Provisioner", "ProvisioningError")

_FAILED: Final = "ProvisioningFailed"
#: The number of tries to save a volume, and the seconds between them, as in Kubernetes.
_TRIES: Final = 5
_BETWEEN: Final = 10.0


class ProvisioningError(SyncError):
    """A volume could not be provisioned. It is tried again later."""


@dataclass(eq=False)
class Provisioner:
    """
    Provisions volumes.

    :param classes: the cache of storage classes
    """

    client: Client
    binder: Binder
    classes: Indexer[V1StorageClass]
    plugins: VolumePlugins
    operations: Operations
    times: OperationTimes
    recorder: EventRecorder
    clock: Clock

    def __post_init__(self) -> None:
        self._volumes, self._nodes = self.client.resource(V1PersistentVolume), self.client.resource(V1Node)

    def provision(self, claim: Claim) -> None:
        """Start to provision a volume for a claim, unless this is already running."""
        name = class_of_claim(claim)
        found = self.classes.get_by_key(name)
        if found is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self.recorder.event(claim, WARNING, _FAILED, message)
            return
        try:
            plugin = self.plugins.provisioner(found.provisioner)
        except NoPlugin as error:
            self.recorder.event(claim, WARNING, _FAILED, str(error))
            return

        key = claim_key(claim)

        async def make() -> None:
            self.times.begin(key, found.provisioner if plugin is None else plugin.name, "provision")
            with self.times.failures(key):
                if plugin is None:
                    await self._leave_to_others(claim, found)
                else:
                    await self._make(claim, found, plugin)

        self.operations.start(f"provision-{key}[{claim.metadata.uid}]", make)

    async def _leave_to_others(self, claim: Claim, storage_class: V1StorageClass) -> None:
        provisioner = MIGRATED.get(storage_class.provisioner, storage_class.provisioner)
        try:
            await self._name_provisioner(claim, provisioner)
        except ClientError as error:
            self.recorder.event(claim, WARNING, _FAILED, f"Error saving claim: {error}")
            raise
        self.recorder.event(
            claim,
            NORMAL,
            "ExternalProvisioning",
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered.",
        )

    async def _name_provisioner(self, claim: Claim, provisioner: str) -> Claim:
        """Set the annotations of a claim that name the provisioner of its volume."""
        if annotation_of(claim, STORAGE_PROVISIONER) == provisioner:
            return claim
        annotations = dict(claim.metadata.annotations or {})
        annotations |= {BETA_STORAGE_PROVISIONER: provisioner, STORAGE_PROVISIONER: provisioner}
        return await self.binder.annotate_claim(claim, migration_of_claim(annotations) or annotations)

    async def _make(self, claim: Claim, storage_class: V1StorageClass, plugin: ProvisionerPlugin) -> None:
        name = storage_class.metadata.name
        if claim.spec.data_source is not None:
            raise self._failed(
                claim,
                f'plugin "{plugin.name}" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource',
            )
        claim = await self._name_provisioner(claim, storage_class.provisioner)
        volume_name = f"pvc-{claim.metadata.uid}"
        if await self._is_there(volume_name):
            return
        mount_options = storage_class.mount_options or []
        if mount_options and not plugin.supports_mount_options:
            raise self._failed(
                claim,
                f'Mount options are not supported by the provisioner but StorageClass "{name}" has mount options '
                f"[{' '.join(mount_options)}]",
            )
        request = ProvisionRequest(
            name=volume_name,
            claim=claim,
            reclaim_policy=storage_class.reclaim_policy or "Delete",
            node=await self._selected_node(claim),
            mount_options=mount_options,
            parameters=storage_class.parameters or {},
            allowed_topologies=storage_class.allowed_topologies or (),
        )
        try:
            with timed_operation(self.clock, plugin.name, "volume_provision"):
                volume = await plugin.provision(request)
        except ProvisioningDisabled as error:
            raise self._failed(claim, f"Failed to create provisioner: {error}") from error
        except Exception as error:
            await self._have_rescheduled(claim)
            raise self._failed(claim, f'Failed to provision volume with StorageClass "{name}": {error}') from error
        await self._save(_bound(volume, volume_name, claim, plugin.name), claim, plugin)

    async def _is_there(self, name: str) -> bool:
        try:
            await self._volumes.get(name)
        except NotFound:
            return False
        return True

    async def _selected_node(self, claim: Claim) -> V1Node | None:
        name = annotation_of(claim, SELECTED_NODE)
        if name is None:
            return None
        # A list of one, because Kubernetes' role of this controller lets it list nodes, and not get one.
        found = await self._nodes.list(field_selector=f"metadata.name={name}")
        if not found.items:
            await self._have_rescheduled(claim)
            raise self._failed(claim, f'Failed to get target node: node "{name}" not found')
        return found.items[0]

    async def _have_rescheduled(self, claim: Claim) -> None:
        """Remove the selected node from a claim, so that the scheduler chooses another one."""
        if annotation_of(claim, SELECTED_NODE) is None:
            return
        annotations = {key: value for key, value in (claim.metadata.annotations or {}).items() if key != SELECTED_NODE}
        await self.binder.annotate_claim(claim, annotations)

    async def _save(self, volume: Volume, claim: Claim, plugin: ProvisionerPlugin) -> None:
        name, problem = volume.metadata.name, None
        for _ in range(_TRIES):
            try:
                await self._volumes.create(volume)
                problem = None
            except AlreadyExists:
                problem = None
            except ClientError as error:
                problem = error
                await self.clock.sleep(_BETWEEN)
                continue
            break
        if problem is None:
            message = f"Successfully provisioned volume {name} using {plugin.name}"
            self.recorder.event(claim, NORMAL, "ProvisioningSucceeded", message)
            return
        key = claim_key(claim)
        message = f"Error creating provisioned PV object for claim {key}: {problem}. Deleting the volume."
        self.recorder.event(claim, WARNING, _FAILED, message)
        await self._clean_up(volume, claim, plugin)

    async def _clean_up(self, volume: Volume, claim: Claim, plugin: ProvisionerPlugin) -> None:
        if not isinstance(plugin, DeleterPlugin):
            why: Exception = NoPlugin(f"{plugin.name} is not deletable")
        else:
            for _ in range(_TRIES):
                try:
                    with timed_operation(self.clock, plugin.name, "volume_delete"):
                        await plugin.delete(volume)
                except Exception as error:
                    why = error
                    await self.clock.sleep(_BETWEEN)
                else:
                    return
        key = claim_key(claim)
        message = f"Error cleaning provisioned volume for claim {key}: {why}. Please delete manually."
        self.recorder.event(claim, WARNING, "ProvisioningCleanupFailed", message)

    def _failed(self, claim: Claim, message: str) -> ProvisioningError:
        self.recorder.event(claim, WARNING, _FAILED, message)
        return ProvisioningError(message)


def _bound(volume: Volume, name: str, claim: Claim, plugin: str) -> Volume:
    """Complete a volume that a plug-in has made, for saving: its name, annotations, finalizer, claim and class."""
    meta = volume.metadata
    meta.name = meta.name or name
    meta.annotations = {**(meta.annotations or {}), BOUND_BY_CONTROLLER: "yes", PROVISIONED_BY: plugin}
    if volume.spec.persistent_volume_reclaim_policy == "Delete":
        meta.finalizers = [DELETION_FINALIZER]
    volume.spec.claim_ref = reference_to(claim)
    volume.spec.storage_class_name = class_of_claim(claim)
    return volume
