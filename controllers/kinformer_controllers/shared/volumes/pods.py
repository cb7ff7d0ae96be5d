"""An index of pods by the claims that they use, including the claims of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.models import V1Pod
from kinformer_controllers.shared.partly import partly

__all__ = (
    "CLAIM_INDEX",
    "add_claim_index",
    "claims_of",
    "uses_ephemeral_volume",
    "has_only_local_volumes",
    "is_pod_done",
    "pods_of_claim",
)

CLAIM_INDEX: Final = "pod-pvc-index"


class _ClaimSource(msgspec.Struct, rename="camel", gc=False):
    claim_name: str


class _There(msgspec.Struct, gc=False):
    """A source of a volume: only its presence matters."""


class _Volume(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: _There | None = None
    config_map: _There | None = None
    downward_api: _There | None = msgspec.field(default=None, name="downwardAPI")
    empty_dir: _There | None = None
    host_path: _There | None = None
    image: _There | None = None
    projected: _There | None = None
    secret: _There | None = None


class _Spec(msgspec.Struct, gc=False):
    volumes: list[_Volume] | None = None


#: Every pod has a volume with its account's token, and few have a claim. So the volumes are not decoded for this.
_spec_of = partly(V1Pod, "spec", _Spec)


def add_claim_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by their claims. If the informer already has it, nothing happens."""
    if CLAIM_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({CLAIM_INDEX: lambda pod: tuple(claims_of(pod))})


def has_only_local_volumes(pod: V1Pod) -> bool:
    """Whether the kubelet makes all volumes of a pod itself, or there are none: none has a claim or is attached."""
    return all(
        volume.projected is not None
        or volume.config_map is not None
        or volume.secret is not None
        or volume.empty_dir is not None
        or volume.host_path is not None
        or volume.downward_api is not None
        or volume.image is not None
        for volume in _volumes_of(pod)
    )


def uses_ephemeral_volume(pod: V1Pod) -> bool:
    """Whether a pod has a volume whose claim is made for this pod."""
    return any(volume.ephemeral is not None for volume in _volumes_of(pod))


def _volumes_of(pod: V1Pod) -> Sequence[Any]:
    spec = _spec_of(pod)
    return () if spec is None else spec.volumes or ()


def claims_of(pod: V1Pod) -> Iterator[str]:
    """Return the keys of the claims that a pod uses. The claim of an ephemeral volume is named after pod and volume."""
    meta = pod.metadata
    for volume in _volumes_of(pod):
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
