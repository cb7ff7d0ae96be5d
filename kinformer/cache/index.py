"""Index functions: the strings by which objects can be found, besides their keys.

An index has a name and a function. The function gives each object's *indexed values*: one string, several, or none. For
every value, the store keeps the objects that have it. An index function must be pure: it must always give the same
values for the same object. It is called once for every change of an object, so it should be cheap and should read as
few fields as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeVar

from kinformer.cache.keys import KeyFunc
from kinformer.logs import error_text
from kinformer.meta import Accessor, accessor_of

__all__ = (
    "NAMESPACE_INDEX",
    "IndexFunc",
    "IndexFuncError",
    "IndexNotFound",
    "IndexerConflict",
    "Indexers",
    "index_func_to_key_func",
    "indexed_values",
    "meta_namespace_index_func",
    "namespace_index_func",
)

T = TypeVar("T")

#: Gives an object's indexed values. A single string is the fastest form; any collection of strings is allowed.
IndexFunc: TypeAlias = Callable[[T], str | Collection[str]]

#: Index functions by the names of their indexes.
Indexers: TypeAlias = Mapping[str, IndexFunc[T]]

#: The name of the index by namespace, which listers look for.
NAMESPACE_INDEX = "namespace"


class IndexNotFound(LookupError):
    """There is no index with that name."""

    def __init__(self, name: str):
        super().__init__(f"Index with name {name} does not exist")


class IndexerConflict(ValueError):
    """There is already an index with that name."""


class IndexFuncError(ValueError):
    """An index function failed for an object, or gave something other than strings."""

    def __init__(self, index: str, key: str, reason: Exception):
        super().__init__(f"unable to calculate an index entry for key {key!r} on index {index!r}: {error_text(reason)}")
        self.index = index
        self.key = key


def namespace_index_func(accessor: Accessor[T]) -> IndexFunc[T]:
    """The index function of :data:`NAMESPACE_INDEX`, for objects of one kind."""
    return accessor.namespace


def meta_namespace_index_func(obj: Any) -> str:
    """
    The index function of :data:`NAMESPACE_INDEX`, for objects of any kind. :func:`namespace_index_func` is faster.

    :raises TypeError: if the object has no metadata
    """
    return accessor_of(obj).namespace(obj)


def indexed_values(values: str | Collection[str]) -> Collection[str]:
    """The result of an index function as a collection, also if it was a single string."""
    return (values,) if isinstance(values, str) else values


def index_func_to_key_func(index_func: IndexFunc[T]) -> KeyFunc[T]:
    """
    Make a key function of an index function. It must give exactly one value for each object, different for each.

    The key function raises ValueError for an object that has no value or several.
    """

    def key(obj: T) -> str:
        values = indexed_values(index_func(obj))
        if len(values) != 1:
            raise ValueError(f"too many keys: {list(values)}" if values else "unexpected empty index keys")
        return next(iter(values))

    return key
