"""Which ReplicationController a pod belongs to: by its owner reference, or by its labels.

By reference is how Kubernetes does it. By labels is how it was done before there were owner references, and is done
still where the garbage collector is switched off (``--enable-garbage-collector=false``): a pod is counted by every
controller whose selector it matches, and its coming and going is expected by the oldest of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import structlog

from controllers.pods.index import pods_of_owner
from controllers.pods.owner import controller_of
from controllers.replication.kind import KIND
from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.models import V1Pod, V1ReplicationController

__all__ = ("ByLabels", "ByReference", "PodOwnership", "selects")

log = structlog.get_logger(__name__)


def selects(rc: V1ReplicationController, pod: V1Pod) -> bool:
    """Whether a ReplicationController's selector, which is a set of labels, matches. An empty one matches nothing."""
    selector, labels = rc.spec.selector, pod.metadata.labels
    return bool(selector and labels) and selector.items() <= labels.items()


class PodOwnership(Protocol):
    """One of the two ways."""

    def owner_of(self, pod: V1Pod) -> V1ReplicationController | None:
        """The one whose pod it is."""

    def candidates_for(self, pod: V1Pod) -> list[V1ReplicationController]:
        """Those that might want it, as it is nobody's."""

    def pods_for(self, rc: V1ReplicationController) -> Iterable[V1Pod]:
        """The pods that its sync has to look at."""


class ByReference:
    """By owner reference; what has none is offered to all that match."""

    def __init__(self, rcs: Indexer[V1ReplicationController], pods: Indexer[V1Pod]) -> None:
        self._rcs = rcs
        self._pods = pods

    def owner_of(self, pod: V1Pod) -> V1ReplicationController | None:
        """See :meth:`PodOwnership.owner_of`."""
        reference = controller_of(pod)
        if reference is None or reference.kind != KIND.kind:
            return None
        rc = self._rcs.get_by_key(f"{pod.metadata.namespace}/{reference.name}")
        # One that was made anew under the name is another one.
        return rc if rc is not None and rc.metadata.uid == reference.uid else None

    def candidates_for(self, pod: V1Pod) -> list[V1ReplicationController]:
        """See :meth:`PodOwnership.candidates_for`."""
        candidates = _selecting(self._rcs, pod)
        if len(candidates) > 1:
            names = sorted(rc.metadata.name for rc in candidates)
            log.warning("selectors_overlap", pod=pod.metadata.name, namespace=pod.metadata.namespace, selecting=names)
        return candidates

    def pods_for(self, rc: V1ReplicationController) -> Iterable[V1Pod]:
        """See :meth:`PodOwnership.pods_for`."""
        meta = rc.metadata
        return pods_of_owner(self._pods, meta.namespace, KIND.kind, meta.name, meta.uid)


class ByLabels:
    """By selector alone."""

    def __init__(self, rcs: Indexer[V1ReplicationController], pods: Indexer[V1Pod]) -> None:
        self._rcs = rcs
        self._pods = pods

    def owner_of(self, pod: V1Pod) -> V1ReplicationController | None:
        """See :meth:`PodOwnership.owner_of`."""
        return min(_selecting(self._rcs, pod), key=_age, default=None)

    def candidates_for(self, pod: V1Pod) -> list[V1ReplicationController]:
        """See :meth:`PodOwnership.candidates_for`."""
        return []

    def pods_for(self, rc: V1ReplicationController) -> Iterable[V1Pod]:
        """See :meth:`PodOwnership.pods_for`."""
        return [pod for pod in self._pods.by_index(NAMESPACE_INDEX, rc.metadata.namespace) if selects(rc, pod)]


def _selecting(rcs: Indexer[V1ReplicationController], pod: V1Pod) -> list[V1ReplicationController]:
    return [rc for rc in rcs.by_index(NAMESPACE_INDEX, pod.metadata.namespace) if selects(rc, pod)]


def _age(rc: V1ReplicationController) -> tuple[float, str]:
    created = rc.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, rc.metadata.name)
