"""The Events of the taint eviction controller. They name the pod without its uid, as in Kubernetes."""

from __future__ import annotations

from typing import Final

from kinformer.meta import split_key
from kinformer.models import V1ObjectReference
from kinformer.record import NORMAL, EventRecorder

__all__ = ("COMPONENT", "EvictionEvents")

#: The source component of its Events.
COMPONENT: Final = "taint-eviction-controller"
_REASON: Final = "TaintManagerEviction"


class EvictionEvents:
    """Records that a pod is evicted, or that its eviction was cancelled."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def deleting(self, key: str) -> None:
        self._record(key, f"Marking for deletion Pod {key}")

    def cancelled(self, key: str) -> None:
        self._record(key, f"Cancelling deletion of Pod {key}")

    def _record(self, key: str, message: str) -> None:
        namespace, name = split_key(key)
        pod = V1ObjectReference(api_version="v1", kind="Pod", name=name, namespace=namespace)
        self._recorder.event(pod, NORMAL, _REASON, message)
