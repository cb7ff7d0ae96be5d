"""Functions of listers: select objects of a store by labels, in all namespaces or in one.

The objects are those of the cache, not copies. Copy an object before you change it.
"""

from __future__ import annotations

from typing import TypeVar

from kinformer.cache.index import NAMESPACE_INDEX, IndexNotFound
from kinformer.cache.store import Indexer, Store
from kinformer.logs import get_logger
from kinformer.meta import Accessor, accessor_of
from kinformer.meta.selectors import Nothing, Selector

__all__ = ("list_all", "list_all_by_namespace")

T = TypeVar("T")

log = get_logger(__name__)


def list_all(store: Store[T], selector: Selector | None = None, *, accessor: Accessor[T] | None = None) -> list[T]:
    """
    The objects of a store that a selector matches.

    :param selector: None matches all
    :param accessor: the accessor of the store's kind; None to find it for each object, which is slower
    """
    if selector is Nothing:
        return []
    return _picked(store.list(), selector, accessor)


def list_all_by_namespace(
    indexer: Indexer[T], namespace: str, selector: Selector | None = None, *, accessor: Accessor[T] | None = None
) -> list[T]:
    """
    The objects of one namespace that a selector matches. Without an index by namespace, all objects are examined.

    :param namespace: empty for all namespaces
    :param selector: None matches all
    :param accessor: the accessor of the store's kind; None to find it for each object, which is slower
    """
    if not namespace:
        return list_all(indexer, selector, accessor=accessor)
    if selector is Nothing:
        return []
    try:
        objects = indexer.by_index(NAMESPACE_INDEX, namespace)
    except IndexNotFound as exc:
        log.warning("list_by_namespace_without_index", error=str(exc))
        objects = [obj for obj in indexer.list() if (accessor or accessor_of(obj)).namespace(obj) == namespace]
    return _picked(objects, selector, accessor)


def _picked(objects: list[T], selector: Selector | None, accessor: Accessor[T] | None) -> list[T]:
    if selector is None or selector.is_empty or not objects:
        return objects
    matches = selector.matches
    if accessor is not None:
        labels_of = accessor.labels
        return [obj for obj in objects if matches(labels_of(obj))]
    return [obj for obj in objects if matches(accessor_of(obj).labels(obj))]
