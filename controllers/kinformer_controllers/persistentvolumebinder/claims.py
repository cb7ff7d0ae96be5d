"""Syncing a claim: it is bound to a volume, or a volume is provisioned for it, or it waits, or it is lost.

In: a claim, and the existing volumes and classes. Out: writes of a :class:`.Binder`, Events, and operations of a
:class:`.Provisioner`. If a claim was once bound and its volume is deleted or belongs to another claim, the claim gets
the phase Lost. It is not bound to another volume, because its data would be replaced by an empty volume.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from kinformer.cache import Indexer
from kinformer.manager import SyncError
from kinformer.models import V1Pod, V1StorageClass
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.persistentvolumebinder.binding import Binder, Latest
from kinformer_controllers.persistentvolumebinder.matching import MODES_INDEX, best_match, mismatch
from kinformer_controllers.persistentvolumebinder.metrics import (
    RETROACTIVE_CLASS_ERRORS,
    RETROACTIVE_CLASSES,
    OperationTimes,
)
from kinformer_controllers.shared.volumes.facts import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    Claim,
    Volume,
    annotation_of,
    claim_key,
    class_of_claim,
    default_class,
    has_class,
    is_bound_to,
)
from kinformer_controllers.shared.volumes.pods import is_pod_done, pods_of_claim
from kinformer_controllers.shared.volumes.translation import migration_of_claim

__all__ = ("BindingError", "Claims")

_WAITS_FOR_POD = "WaitForFirstConsumer"


class BindingError(SyncError):
    """A claim cannot be bound, for a reason that may pass."""


@dataclass(eq=False, slots=True)
class Claims:
    """
    Syncs claims.

    :param groups: returns the values of the volumes' index by access modes
    :param provision: starts to provision a volume for a claim
    """

    binder: Binder
    volumes: Latest[Volume]
    groups: Callable[[], list[str]]
    classes: Indexer[V1StorageClass]
    pods: Indexer[V1Pod]
    recorder: EventRecorder
    times: OperationTimes
    provision: Callable[[Claim], None]

    async def sync(self, claim: Claim) -> None:
        """
        Sync one claim.

        :raises ClientError: if a write is refused
        :raises BindingError: if the claim or its class is invalid
        """
        if (annotations := migration_of_claim(claim.metadata.annotations)) is not None:
            claim = await self.binder.annotate_claim(claim, annotations)
        if annotation_of(claim, BIND_COMPLETED) is not None:
            await self._sync_bound(claim)
        elif claim.spec.volume_name:
            await self._sync_reserving(claim, claim.spec.volume_name)
        else:
            await self._sync_unbound(claim)

    async def _sync_unbound(self, claim: Claim) -> None:
        """Sync a claim that may be bound to any suitable volume."""
        delay = self._waits_for_pod(claim)
        try:
            volume = best_match(
                claim,
                self.groups(),
                lambda modes: self.volumes.by_index(MODES_INDEX, modes),
                delay_binding=delay,
            )
        except ValueError as error:
            raise BindingError(f"error finding PV for claim {claim_key(claim)!r}: {error}") from error
        if volume is not None:
            # A claim that got a new volume is provisioned when it is bound to it.
            with self.times.failures(claim_key(claim)):
                await self.binder.bind(volume, claim)
            self.times.end(claim_key(claim))
            return
        if await self._gave_class(claim):
            return
        if delay and annotation_of(claim, SELECTED_NODE) is None:
            self._tell_what_it_waits_for(claim)
        elif class_of_claim(claim):
            self.provision(claim)
            return
        else:
            self.recorder.event(
                claim,
                NORMAL,
                "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set",
            )
        await self.binder.set_claim_phase(claim, "Pending")

    async def _sync_reserving(self, claim: Claim, name: str) -> None:
        """Sync a claim that names a certain volume."""
        volume = self.volumes.get(name)
        if volume is None:
            await self.binder.set_claim_phase(claim, "Pending")
        elif volume.spec.claim_ref is None:
            if problem := mismatch(volume, claim):
                message = f'Cannot bind to requested volume "{name}": {problem}'
                self.recorder.event(claim, WARNING, "VolumeMismatch", message)
                await self.binder.set_claim_phase(claim, "Pending")
            else:
                await self.binder.bind(volume, claim)
        elif is_bound_to(volume, claim):
            await self.binder.bind(volume, claim)
        else:
            message = f'volume "{name}" already bound to a different claim.'
            self.recorder.event(claim, WARNING, "FailedBinding", message)
            if annotation_of(claim, BOUND_BY_CONTROLLER) is not None:
                # A user has removed the annotation `bind-completed` from a claim that the controller had bound.
                reference = volume.spec.claim_ref
                raise BindingError(
                    f"invalid binding of claim {claim_key(claim)!r} to volume {name!r}: volume already claimed by "
                    f"{reference.namespace}/{reference.name}"
                )
            await self.binder.set_claim_phase(claim, "Pending")

    async def _sync_bound(self, claim: Claim) -> None:
        """Sync a claim whose binding was completed."""
        name = claim.spec.volume_name
        volume = self.volumes.get(name) if name else None
        if not name:
            why = "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        elif volume is None:
            why = "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
            await self.binder.bind(volume, claim)
            return
        else:
            why = "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly"
        if claim.status is None or claim.status.phase != "Lost":
            await self.binder.set_claim_phase(claim, "Lost", event=(WARNING, *why))

    def _waits_for_pod(self, claim: Claim) -> bool:
        name = class_of_claim(claim)
        found = self.classes.get_by_key(name) if name else None
        if found is None:
            return False
        if found.volume_binding_mode is None:
            raise BindingError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return found.volume_binding_mode == _WAITS_FOR_POD

    async def _gave_class(self, claim: Claim) -> bool:
        """
        Set the default class of a claim that names none. (It was created before there was a default class.)

        :return: whether the claim was written
        """
        if has_class(claim) or (found := default_class(self.classes.list())) is None:
            return False
        written = copy.copy(claim)
        written.spec = copy.copy(claim.spec)
        written.spec.storage_class_name = found.metadata.name
        RETROACTIVE_CLASSES.inc()
        try:
            await self.binder.update_claim(written)
        except Exception:
            RETROACTIVE_CLASS_ERRORS.inc()
            raise
        return True

    def _tell_what_it_waits_for(self, claim: Claim) -> None:
        waiting = [
            pod.metadata.name
            for pod in pods_of_claim(self.pods, claim_key(claim))
            if not is_pod_done(pod) and not (pod.spec is not None and pod.spec.node_name)
        ]
        if not waiting:
            message = "waiting for first consumer to be created before binding"
            self.recorder.event(claim, NORMAL, "WaitForFirstConsumer", message)
            return
        pods = f"pod {waiting[0]}" if len(waiting) == 1 else f"pods {','.join(waiting)}"
        self.recorder.event(claim, NORMAL, "WaitForPodScheduled", f"waiting for {pods} to be scheduled")
