"""What wakes a StatefulSet besides itself and its pods: a claim that is gone, for which a pod had to wait."""

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

    kube-controller-manager has none. There, a pod that waits for the end of an old claim is made with the next change
    of the StatefulSet or of one of its pods, whenever that comes.

    :param add: takes a key; a queue's ``add``
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, obj: V1PersistentVolumeClaim, is_in_initial_list: bool, /) -> None:
        """A new claim lets nobody do what could not be done before."""

    def on_update(self, old: V1PersistentVolumeClaim, new: V1PersistentVolumeClaim, /) -> None:
        """Nor does a changed one."""

    def on_delete(self, obj: Deleted[V1PersistentVolumeClaim], /) -> None:
        claim = last_state(obj)
        if claim is None:
            return
        for reference in claim.metadata.owner_references or ():
            if reference.kind == "Pod":
                parent, _ = parent_and_ordinal(reference.name)
                self._add(f"{claim.metadata.namespace}/{parent}")


def selects(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the StatefulSet would adopt the pod, going by its labels."""
    try:
        selector = label_selector_as_selector(statefulset.spec.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(pod.metadata.labels)
