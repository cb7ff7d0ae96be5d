"""The protection of PodGroups: a finalizer that stays while a pod of the group has not ended.

In: PodGroups and pods. Out: the finalizer is removed from PodGroups that are being deleted and have no such pod. The
API server adds it to each new PodGroup (its admission plug-in PodGroupProtection). Promised: before the finalizer is
removed, the pods of the namespace are listed from the server, because the cache may not have a pod that was just made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import last_state
from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import has_finalizer, with_finalizers, without_finalizers
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1alpha2PodGroup, V1Pod
from kinformer_controllers.shared.devices import GROUP_INDEX, add_group_index, group_of_pod
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions

__all__ = ("FINALIZER", "PodGroupProtection", "PodHandler", "make_controller")

FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"


def make_controller(context: ControllerContext) -> Controller:
    """
    The factory of ``podgroup-protection-controller``.

    :raises ControllerDisabled: if the feature gate GenericWorkload is off
    """
    Gates(context.read(GateOptions).feature_gates).require("GenericWorkload")
    return PodGroupProtection(context).controller


class PodGroupProtection:
    """Syncs PodGroups that are being deleted."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        self._server, self._pod_server = context.client.resource(V1alpha2PodGroup), context.client.resource(V1Pod)
        groups, pods = informers.informer_for(V1alpha2PodGroup), informers.informer_for(V1Pod)
        add_group_index(pods)
        self._cached, self._cached_pods = groups.indexer, pods.indexer
        self.controller = Controller(
            "podgroup-protection", self.sync, queue_name="podgroupprotection", clock=context.clock
        )
        self.controller.watch(groups, _is_waiting)
        self.controller.handle(pods, PodHandler(self.controller.queue.add))

    async def sync(self, key: str) -> None:
        """
        Remove the finalizer from a PodGroup, if nothing needs the PodGroup any more.

        :raises ClientError: if the server refuses a request
        """
        group = self._cached.get_by_key(key)
        if group is None or not _is_waiting(None, group) or await self._is_used(key):
            return
        try:
            await self._server.update(with_finalizers(group, without_finalizers(group.metadata.finalizers, FINALIZER)))
        except NotFound:
            return  # it is gone

    async def _is_used(self, key: str) -> bool:
        if not all(map(is_pod_terminal, self._cached_pods.by_index(GROUP_INDEX, key))):
            return True
        pods = (await self._pod_server.list(key.partition("/")[0])).items
        return any(group_of_pod(pod) == key and not is_pod_terminal(pod) for pod in pods)


def _is_waiting(old: Any, group: Any) -> bool:
    """Whether a PodGroup is being deleted and has the finalizer."""
    return group is not None and group.metadata.deletion_timestamp is not None and has_finalizer(group, FINALIZER)


class PodHandler:
    """
    An event handler for pods. It queues the PodGroups that a pod no longer keeps.

    :param add: queues a PodGroup by its key
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        if is_pod_terminal(pod):
            self._freed(pod)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if is_pod_terminal(new):
            self._freed(new)
        if old.metadata.uid != new.metadata.uid:
            self._freed(old)  # there is no event for its deletion

    def on_delete(self, obj: Any, /) -> None:
        pod = last_state(obj)
        if pod is not None:
            self._freed(pod)

    def _freed(self, pod: V1Pod) -> None:
        if group := group_of_pod(pod):
            self._add(group)
