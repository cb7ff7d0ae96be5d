"""Index functions: by which strings objects can be found, other than by their keys.

An index has a name and a function that gives each object's *indexed values*: the one string, or several, or none. The
store keeps, for every value, the objects that have it. Functions must be pure: what they give for an object now is
what they give for it later. They are called once for every change of an object, so they should be cheap, and should
read as little of it as they can.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeVar

from kinformer.cache.keys import KeyFunc
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

#: Gives an object's indexed values: a string where there is always one (the fast way), else any collection of them.
IndexFunc: TypeAlias = Callable[[T], str | Collection[str]]

#: Index functions by the names of their indexes.
Indexers: TypeAlias = Mapping[str, IndexFunc[T]]

#: The name of the index by namespace, which listers look for.
NAMESPACE_INDEX = "namespace"


class IndexNotFound(LookupError):
    """There is no index of that name."""

    def __init__(self, name: str):
        super().__init__(f"Index with name {name} does not exist")


class IndexerConflict(ValueError):
    """An index of that name is there already."""


class IndexFuncError(ValueError):
    """An index function failed for an object, or gave something that is not a string or strings."""

    def __init__(self, index: str, key: str, reason: object):
        super().__init__(f"unable to calculate an index entry for key {key!r} on index {index!r}: {reason}")
        self.index = index
        self.key = key


def namespace_index_func(accessor: Accessor[T]) -> IndexFunc[T]:
    """The function of :data:`NAMESPACE_INDEX` for objects of one kind."""
    return accessor.namespace


def meta_namespace_index_func(obj: Any) -> str:
    """
    The function of :data:`NAMESPACE_INDEX` for objects of any kind; :func:`namespace_index_func` is the faster one.

    :raises TypeError: if the object has no metadata
    """
    return accessor_of(obj).namespace(obj)


def indexed_values(values: str | Collection[str]) -> Collection[str]:
    """What an index function gave, as a collection whatever it was."""
    return (values,) if isinstance(values, str) else values


def index_func_to_key_func(index_func: IndexFunc[T]) -> KeyFunc[T]:
    """
    A key function of an index function that gives exactly one value for each object, and another for every one.

    The key function raises ValueError for an object with none or several.
    """

    def key(obj: T) -> str:
        values = indexed_values(index_func(obj))
        if len(values) != 1:
            raise ValueError(f"too many keys: {list(values)}" if values else "unexpected empty index keys")
        return next(iter(values))

    return key
