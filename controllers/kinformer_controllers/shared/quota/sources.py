"""Sources: where evaluators have the objects of a namespace from.

From an informer's cache where there is one, which costs the server nothing, else from the server itself. What comes
from a cache may be old; a source tells how old, by the version that the cache has reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import Resource

__all__ = ("CacheNotReady", "ClientSource", "InformerSource", "NoSource", "ObjectSource")


class CacheNotReady(Exception):
    """An informer has not had its first list yet: what it has cannot be counted."""


class ObjectSource(Protocol):
    """Lists the objects of one resource."""

    async def list(self, namespace: str) -> Sequence[Any]:
        """
        A namespace's objects, which are not to be changed.

        :raises CacheNotReady: if they are not known yet
        :raises ClientError: if the server could not be asked
        """

    def version(self) -> str:
        """The version that the next list is at least as new as; empty if that cannot be said."""


class InformerSource:
    """The objects of an informer."""

    __slots__ = ("_informer",)

    def __init__(self, informer: SharedIndexInformer[Any]) -> None:
        self._informer = informer

    async def list(self, namespace: str) -> Sequence[Any]:
        """See :meth:`ObjectSource.list`."""
        if not self._informer.has_synced:
            raise CacheNotReady(f"{self._informer.name} not yet synced")
        return self._informer.indexer.by_index(NAMESPACE_INDEX, namespace)

    def find(self, namespace: str, name: str) -> Any | None:
        """The object of that name, None if the cache has none."""
        return self._informer.indexer.get_by_key(f"{namespace}/{name}")

    def version(self) -> str:
        """See :meth:`ObjectSource.version`."""
        # A batch of changes is worked in object by object, which is not the order in which they happened.
        return "" if self._informer.pending else self._informer.indexer.last_store_sync_resource_version()


class ClientSource:
    """The objects as the server has them at the moment of asking."""

    __slots__ = ("_resource",)

    def __init__(self, resource: Resource[Any]) -> None:
        self._resource = resource

    async def list(self, namespace: str) -> Sequence[Any]:
        """See :meth:`ObjectSource.list`."""
        return [obj async for page in self._resource.pages(namespace) for obj in page.items]

    def version(self) -> str:
        """Nothing: it is as new as can be, and has no version before it was asked."""
        return ""


class NoSource:
    """For evaluators of admission, which measure what they are given and list nothing."""

    async def list(self, namespace: str) -> Sequence[Any]:
        """
        :raises LookupError: always
        """
        raise LookupError("this evaluator measures single objects only: it was made without a source")

    def version(self) -> str:
        """Nothing."""
        return ""
