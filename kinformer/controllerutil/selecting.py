"""Selecting: the objects of a namespace that a selector matches, without looking at all of them.

In: an informer's cache and a selector. Out: what the selector matches. With the index by namespace alone, which is all
that client-go's listers have, each selection looks at every object of the namespace. So many selectors in one namespace
cost their number times the number of objects. :func:`selected_by` looks only at the objects with a label that the
selector requires::

    for pod in selected_by(pods.indexer, "default", selector): ...

A key of labels gets an index of the cache when it is first needed. All users of the cache share these indexes.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from kinformer.cache import NAMESPACE_INDEX, Indexer, IndexFunc
from kinformer.meta import Selector

__all__ = ("selected_by",)

T = TypeVar("T")

_PREFIX: Final = "label:"
#: The most keys that get an index. Each costs a change of an object 0.3 us, and an object with that label 0.1 KB.
_MOST: Final = 8
#: If a label has no more objects than this, no other label is tried.
_FEW: Final = 100


def selected_by(indexer: Indexer[T], namespace: str, selector: Selector) -> list[T]:
    """
    Return the objects of a namespace that a selector matches. Call this in the event loop: it may add an index.

    :param indexer: an informer's cache of models, with its index by namespace
    """
    found: list[Any] = _candidates(indexer, namespace, selector)
    matches = selector.matches
    return [obj for obj in found if matches(obj.metadata.labels)]


def _candidates(indexer: Indexer[T], namespace: str, selector: Selector) -> list[T]:
    """Return as few objects as possible, among which are all that the selector matches."""
    there = indexer.get_indexers()
    fewest: list[T] | None = None
    # First those that have an index, so that another one is added only if they do not suffice.
    for key, value in sorted(selector.required_labels, key=lambda label: _PREFIX + label[0] not in there):
        name = _PREFIX + key
        if name not in there:
            if sum(known.startswith(_PREFIX) for known in there) >= _MOST:
                break
            indexer.add_indexers({name: _by_label(key)})
            there = indexer.get_indexers()
        found = indexer.by_index(name, f"{namespace}/{value}")
        if fewest is None or len(found) < len(fewest):
            fewest = found
        if len(fewest) <= _FEW:
            break
    return fewest if fewest is not None else indexer.by_index(NAMESPACE_INDEX, namespace)


def _by_label(key: str) -> IndexFunc[Any]:
    def values(obj: Any) -> str | tuple[str, ...]:
        meta = obj.metadata
        value = meta.labels.get(key) if meta.labels else None
        return f"{meta.namespace}/{value}" if value is not None else ()

    return values
