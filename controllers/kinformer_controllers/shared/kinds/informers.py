"""An informer of the metadata of any kind. All its users in the process share it.

If a controller already watches the whole objects, its informer is used. Otherwise the server is asked for metadata
only, and the cache keeps only the fields that name an object and its owners
(:class:`~kinformer.deletion.heads.Head`). So the garbage collector and the quota monitor share one watch of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kinformer.cache import NAMESPACE_INDEX, Indexers, namespace_index_func
from kinformer.client.discovery import ApiResource
from kinformer.deletion.heads import Head, compact, shows_heads
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import GroupVersionResource, accessor_for
from kinformer.models import PartialObjectMetadata, ResourceV1ResourceClaim, resource_for

__all__ = ("metadata_informer",)

#: Kinds of which some users need the whole objects. The informer of such a kind has them from the start, because its
#: first user does not know whether a later one will need them.
_WHOLE: Final[Mapping[GroupVersionResource, type[Any]]] = {
    resource_for(ResourceV1ResourceClaim).gvr: ResourceV1ResourceClaim
}


def metadata_informer(
    informers: SharedInformerFactory, kind: ApiResource, *, by_namespace: bool = False, with_labels: bool = False
) -> Borrowed:
    """
    Borrow the shared informer of a kind's metadata. The caller gives it back when it no longer needs it.

    :param by_namespace: whether the index by namespace is needed
    :param with_labels: whether labels are needed; a :class:`~kinformer.deletion.heads.Head` has none
    :raises RuntimeError: if the factory is not running
    """

    def indexers(type_: type[Any]) -> Indexers[Any]:
        return {NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))} if by_namespace else {}

    if kind.gvr in _WHOLE and kind.gvr not in informers.informers:
        informers.informer_for(_WHOLE[kind.gvr])
    if with_labels:
        return informers.borrow(
            PartialObjectMetadata, kind.gvr, namespaced=kind.namespaced, will_do=shows_heads, indexers=indexers
        )
    return informers.borrow(
        Head, kind.gvr, namespaced=kind.namespaced, will_do=shows_heads, indexers=indexers, transform=compact
    )
