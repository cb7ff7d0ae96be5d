"""Warnings of pods that share a volume and want it with different SELinux labels, or with different policies.

In: pods, claims, PersistentVolumes and CSIDrivers. Out: Events on the pods, and a metric. Nothing else is written. Pods
count wherever they run: whether two of them come to the same node is not known. A pod counts until it has ended. The
plug-ins whose volumes count are those that can mount with a label: CSI with the migrated in-tree volumes, iSCSI and
Fibre Channel. On the volumes of others, pods never conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.manager import Controller, ControllerContext, Group, SyncError
from kinformer.meta import split_key
from kinformer.models import V1CSIDriver, V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1Volume
from kinformer.record import NORMAL, WARNING
from kinformer_controllers.selinuxwarning.users import Conflict, VolumeUsers, labels_by_volume, use_of
from kinformer_controllers.shared.gauges import LiveGauge
from kinformer_controllers.shared.volumes.facts import claimed_key
from kinformer_controllers.shared.volumes.pods import CLAIM_INDEX, add_claim_index
from kinformer_controllers.shared.volumes.specs import (
    CSI,
    NotBound,
    VolumeSpec,
    bound_volume,
    spec_of_inline,
    spec_of_volume,
)
from kinformer_controllers.shared.volumes.translation import Untranslatable

__all__ = ("COMPONENT", "SELinuxWarning")

#: The source component of its Events, and the name of its queue.
COMPONENT: Final = "selinux_warning"

_CONFLICTS: Final = LiveGauge(
    "selinux_warning_controller_selinux_volume_conflict",
    "Conflict between two Pods using the same volume",
    (
        *("property", "pod1_namespace", "pod1_name", "pod1_value"),
        *("pod2_namespace", "pod2_name", "pod2_value"),
    ),
)


class SELinuxWarning(Group):
    """Syncs pods."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        pods, claims = informers.informer_for(V1Pod), informers.informer_for(V1PersistentVolumeClaim)
        volumes, drivers = informers.informer_for(V1PersistentVolume), informers.informer_for(V1CSIDriver)
        add_claim_index(pods)
        self._pods, self._claims = pods.indexer, claims.indexer
        self._volumes, self._drivers = volumes.indexer, drivers.indexer
        self._recorder = context.recorder(COMPONENT)
        #: Who uses which volume.
        self.users = VolumeUsers()
        #: The uid of each pod that is known.
        self._uids: dict[str, str] = {}
        self.controller = Controller("selinux-warning", self.sync, queue_name=COMPONENT, clock=context.clock)
        self.controller.watch(pods, _comes_ends_or_goes)
        self.controller.watch_mapped(claims, self._pods_of_claim, _is_claim_bound)
        self.controller.watch_mapped(volumes, self._pods_of_volume, _is_volume_bound)
        self.controller.watch_mapped(drivers, lambda it: self.users.pods_of(it.metadata.name), _mounts_otherwise)
        super().__init__(self.controller)

    async def run(self) -> None:
        """Work until cancelled. Meanwhile, the metric shows the conflicts."""
        with _shown_conflicts(self.users.conflicts):
            await super().run()

    async def sync(self, key: str) -> None:
        """
        Note which volumes a pod uses, and tell of the conflicts that are new.

        :raises SyncError: if a volume is not bound yet, or is mounted with several labels in the pod
        """
        pod = self._pods.get_by_key(key)
        uid = pod.metadata.uid or "" if pod is not None and not is_pod_terminal(pod) else ""
        if self._uids.get(key, uid) != uid or not uid:
            self.users.remove(key)
            self._uids.pop(key, None)
        if pod is None or not uid:
            return
        self._uids[key] = uid
        problems = []
        labels = labels_by_volume(pod)
        for volume in pod.spec.volumes or ():
            try:
                if volume.name in labels:
                    self._note(key, pod, volume, labels[volume.name])
            except (NotBound, Untranslatable, _ManyLabels) as error:
                problems.append(str(error))
        if problems:
            raise SyncError("; ".join(problems))

    def _note(self, key: str, pod: V1Pod, volume: V1Volume, labels: set[str]) -> None:
        found = self._spec(pod, volume)
        if len(labels) > 1:
            what = f'Volume "{volume.name}" is mounted twice with different SELinux labels inside this pod'
            self._recorder.event(pod, WARNING, "MultipleSELinuxLabels", what)
            raise _ManyLabels(f"volume {volume.name} has several SELinux labels: {', '.join(sorted(labels))}")
        if found is not None:
            use = use_of(pod, next(iter(labels), ""), is_mounted_with_label=self._can_mount_with_label(found))
            self._tell(self.users.add(found.unique_name, found.driver, key, use))

    def _spec(self, pod: V1Pod, volume: V1Volume) -> VolumeSpec | None:
        bound = bound_volume(pod, volume, self._claims.get_by_key, self._volumes.get_by_key)
        return spec_of_volume(bound) if bound is not None else spec_of_inline(volume, pod.metadata.namespace or "")

    def _can_mount_with_label(self, volume: VolumeSpec) -> bool:
        if volume.plugin != CSI:
            return True
        driver = self._drivers.get_by_key(volume.driver)
        return driver is not None and _mounts_with_label(driver)

    def _tell(self, conflicts: Iterable[Conflict]) -> None:
        for conflict in conflicts:
            pod = self._pods.get_by_key(conflict.pod)
            if pod is not None:
                self._recorder.event(pod, NORMAL, conflict.reason, conflict.message)

    def _pods_of_claim(self, claim: V1PersistentVolumeClaim) -> list[str]:
        return self._pods.index_keys(CLAIM_INDEX, f"{claim.metadata.namespace}/{claim.metadata.name}")

    def _pods_of_volume(self, volume: V1PersistentVolume) -> list[str]:
        key = claimed_key(volume)
        return self._pods.index_keys(CLAIM_INDEX, key) if key else []


class _ManyLabels(Exception):
    """A volume is mounted with several labels in one pod."""


def _comes_ends_or_goes(old: Any, new: Any) -> bool:
    if old is None or new is None or old.metadata.uid != new.metadata.uid:
        return True
    return is_pod_terminal(new) and not is_pod_terminal(old)


def _is_claim_bound(old: Any, new: Any) -> bool:
    """Whether a claim is bound, and was not or is not known to have been."""
    return new is not None and bool(new.spec.volume_name) and (old is None or _binding(old) != _binding(new))


def _binding(claim: V1PersistentVolumeClaim) -> tuple[str | None, str | None]:
    status: Any = claim.status
    return claim.spec.volume_name, status.phase if status is not None else None


def _is_volume_bound(old: Any, new: Any) -> bool:
    """Whether a PersistentVolume is bound, and was not, or was to another claim."""
    uid = _claim_uid(new)
    return bool(uid) and uid != _claim_uid(old)


def _claim_uid(volume: V1PersistentVolume | None) -> str:
    claim = volume.spec.claim_ref if volume is not None else None
    return (claim.uid if claim is not None else None) or ""


def _mounts_otherwise(old: Any, new: Any) -> bool:
    """Whether a driver has begun or ceased to mount with labels. One without a CSIDriver does not."""
    return _mounts_with_label(old) != _mounts_with_label(new)


def _mounts_with_label(driver: V1CSIDriver | None) -> bool:
    return driver is not None and driver.spec.se_linux_mount is True


def _shown_conflicts(read: Callable[[], set[Conflict]]) -> AbstractContextManager[None]:
    """
    Show conflicts.

    :param read: returns the present ones; any thread may call it
    """

    def count() -> dict[tuple[str, ...], float]:
        return {(it.what, *split_key(it.pod), it.value, *split_key(it.other), it.other_value): 1 for it in read()}

    return _CONFLICTS.shown(count)
