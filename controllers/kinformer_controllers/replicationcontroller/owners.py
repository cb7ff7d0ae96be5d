"""The two ways in which ReplicationControllers have pods: by owner reference, and by labels alone.

By reference is how Kubernetes does it. By labels is how it was done before there were owner references, and is done
still where the garbage collector is switched off (``--enable-garbage-collector=false``): a pod is counted by every
controller whose selector it matches, and its coming and going is expected by the oldest of them.
"""

from __future__ import annotations

from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod, V1ReplicationController
from kinformer_controllers.replicationcontroller.kind import KIND
from kinformer_controllers.shared.owning.owners import OwnersByReference

__all__ = ("OwnersByLabels", "owners_by_reference", "selects")


def selects(rc: V1ReplicationController, pod: V1Pod) -> bool:
    """Whether a ReplicationController's selector, which is a set of labels, matches. An empty one matches nothing."""
    selector, labels = rc.spec.selector, pod.metadata.labels
    return bool(selector and labels) and selector.items() <= labels.items()


def owners_by_reference(rcs: Indexer[V1ReplicationController]) -> OwnersByReference[V1ReplicationController]:
    """By owner reference."""
    return OwnersByReference(V1ReplicationController, KIND, rcs, selects, lambda rc: rc.spec.min_ready_seconds)


class OwnersByLabels:
    """By selector alone: the oldest that matches."""

    def __init__(self, rcs: Indexer[V1ReplicationController]) -> None:
        self._rcs = rcs

    def owner_of(self, pod: V1Pod) -> str | None:
        """See :meth:`kinformer_controllers.shared.owning.owners.PodOwners.owner_of`."""
        rcs = self._rcs.by_index(NAMESPACE_INDEX, pod.metadata.namespace)
        owner = min((rc for rc in rcs if selects(rc, pod)), key=_age, default=None)
        return meta_namespace_key(owner) if owner is not None else None

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """Nobody adopts."""
        return []

    def min_ready_seconds(self, owner: str) -> int:
        """See :meth:`kinformer_controllers.shared.owning.owners.PodOwners.min_ready_seconds`."""
        rc = self._rcs.get_by_key(owner)
        return (rc.spec.min_ready_seconds or 0) if rc is not None else 0


def _age(rc: V1ReplicationController) -> tuple[float, str]:
    created = rc.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, rc.metadata.name)
