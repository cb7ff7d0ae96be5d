"""An informer of the metadata of any kind, one for all in the process who follow it.

Where a controller has the whole objects anyhow, those do; else the server is asked for metadata only, of which the few
fields are kept that say whose an object is (:class:`~kinformer.deletion.heads.Head`). The garbage collector and the
quota monitor so have one watch of a kind between them.
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

#: Kinds of which some followers need more than the metadata. Whoever comes first does not know who comes later.
_WHOLE: Final[Mapping[GroupVersionResource, type[Any]]] = {
    resource_for(ResourceV1ResourceClaim).gvr: ResourceV1ResourceClaim
}


def metadata_informer(
    informers: SharedInformerFactory, kind: ApiResource, *, by_namespace: bool = False, with_labels: bool = False
) -> Borrowed:
    """
    :param by_namespace: whether the index by namespace is needed
    :param with_labels: whether labels are needed, which heads have not
    :raises RuntimeError: if the factory does not run
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
