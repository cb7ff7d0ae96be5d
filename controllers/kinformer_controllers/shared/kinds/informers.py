"""An informer of the metadata of any kind, one for all in the process who follow it.

Where a controller has the whole objects anyhow, those do; else the server is asked for metadata only, of which the few
fields are kept that say whose an object is (:class:`~kinformer.deletion.heads.Head`). The garbage collector and the
quota monitor so have one watch of a kind between them.
"""

from __future__ import annotations

from typing import Any

from kinformer.cache import NAMESPACE_INDEX, Indexers, namespace_index_func
from kinformer.client.discovery import ApiResource
from kinformer.deletion.heads import Head, compact, shows_heads
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import accessor_for

__all__ = ("metadata_informer",)


def metadata_informer(informers: SharedInformerFactory, kind: ApiResource, *, by_namespace: bool = False) -> Borrowed:
    """
    :param by_namespace: whether the index by namespace is needed
    :raises RuntimeError: if the factory does not run
    """

    def indexers(type_: type[Any]) -> Indexers[Any]:
        return {NAMESPACE_INDEX: namespace_index_func(accessor_for(type_))} if by_namespace else {}

    return informers.borrow(
        Head, kind.gvr, namespaced=kind.namespaced, will_do=shows_heads, indexers=indexers, transform=compact
    )
