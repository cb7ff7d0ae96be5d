"""An event handler that queues a StatefulSet when a claim is gone, because a pod may wait for this."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.cache import Deleted, last_state
from kinformer.meta import SelectorError, label_selector_as_selector
from kinformer.models import V1PersistentVolumeClaim, V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.identity import parent_and_ordinal

__all__ = ("ClaimHandler", "selects")


class ClaimHandler:
    """
    An event handler for claims.

    kube-controller-manager has no such handler. There, a pod that waits for the deletion of an old claim is created
    only after the next change of the StatefulSet or of one of its pods.

    :param add: called with the key; usually a queue's ``add``
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, obj: V1PersistentVolumeClaim, is_in_initial_list: bool, /) -> None:
        """Do nothing: no pod waits for a new claim."""

    def on_update(self, old: V1PersistentVolumeClaim, new: V1PersistentVolumeClaim, /) -> None:
        """Do nothing: no pod waits for a change of a claim."""

    def on_delete(self, obj: Deleted[V1PersistentVolumeClaim], /) -> None:
        claim = last_state(obj)
        if claim is None:
            return
        for reference in claim.metadata.owner_references or ():
            if reference.kind == "Pod":
                parent, _ = parent_and_ordinal(reference.name)
                self._add(f"{claim.metadata.namespace}/{parent}")


def selects(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the StatefulSet's selector matches the pod. An empty or an invalid selector matches nothing."""
    try:
        selector = label_selector_as_selector(statefulset.spec.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(pod.metadata.labels)
