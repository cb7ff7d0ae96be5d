"""An index of pods by the claims that they use, including the claims of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.models import V1Pod

__all__ = ("CLAIM_INDEX", "add_claim_index", "claims_of", "is_pod_done", "pods_of_claim")

CLAIM_INDEX: Final = "pod-pvc-index"


def add_claim_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by their claims. If the informer already has it, nothing happens."""
    if CLAIM_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({CLAIM_INDEX: lambda pod: tuple(claims_of(pod))})


def claims_of(pod: V1Pod) -> Iterator[str]:
    """Return the keys of the claims that a pod uses. The claim of an ephemeral volume is named after pod and volume."""
    meta = pod.metadata
    for volume in (pod.spec.volumes if pod.spec is not None else None) or ():
        if volume.persistent_volume_claim is not None:
            yield f"{meta.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            yield f"{meta.namespace}/{meta.name}-{volume.name}"


def pods_of_claim(pods: Indexer[V1Pod], key: str) -> list[V1Pod]:
    """Return the pods in a cache that use a claim."""
    return pods.by_index(CLAIM_INDEX, key)


def is_pod_done(pod: V1Pod) -> bool:
    """Whether a pod has ended, or is being deleted and has no running container."""
    if is_pod_terminal(pod):
        return True
    status: Any = pod.status
    if pod.metadata.deletion_timestamp is None or status is None:
        return False
    lists = (status.init_container_statuses, status.container_statuses, status.ephemeral_container_statuses)
    return not any(_may_run(container) for containers in lists for container in containers or ())


def _may_run(container: Any) -> bool:
    state = container.state
    return state is None or (state.terminated is None and state.waiting is None)
