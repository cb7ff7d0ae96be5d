"""Marking the pods of nodes that are not ready as not ready, so that no Service sends them requests."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from kinformer.client import Client
from kinformer.client.errors import ClientError, NotFound
from kinformer.clock import Clock
from kinformer.controllerutil.pods import pod_condition, pod_condition_patch
from kinformer.logs import get_logger
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod
from kinformer.record import WARNING, EventRecorder

__all__ = ("PodReadiness",)

log = get_logger(__name__)


class PodReadiness:
    """Writes the Ready condition of pods whose node is not ready."""

    def __init__(self, client: Client, recorder: EventRecorder, clock: Clock) -> None:
        self._server = client.resource(V1Pod)
        self._recorder = recorder
        self._clock = clock

    async def mark_not_ready(self, pods: Iterable[V1Pod]) -> list[ClientError]:
        """
        Set the Ready condition of these pods to False, one after the other. Pods without this condition are skipped.

        :return: the errors of the pods that could not be written; a pod that is gone is no error
        """
        errors = []
        for pod in pods:
            try:
                await self._mark(pod)
            except ClientError as error:
                log.warning("pod_not_marked_not_ready", pod=meta_namespace_key(pod), error=str(error))
                errors.append(error)
        return errors

    async def _mark(self, pod: V1Pod) -> None:
        ready = pod_condition(pod, "Ready")
        if ready is None or ready.status == "False":
            return
        condition = copy.copy(ready)
        condition.status = "False"
        patch = pod_condition_patch(pod, condition, self._clock.now())
        try:
            await self._server.patch(pod.metadata.name, patch, pod.metadata.namespace, subresource="status")
        except NotFound:
            return
        self._recorder.event(pod, WARNING, "NodeNotReady", "Node is not ready")
