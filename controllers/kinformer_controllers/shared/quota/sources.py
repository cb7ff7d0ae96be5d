"""Sources list the objects of a namespace for evaluators.

A source lists from an informer's cache if there is one, which costs the server nothing, and otherwise from the server.
Objects from a cache may be old. The source's version says how old: it is the resource version that the cache has
reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import Resource

__all__ = ("CacheNotReady", "ClientSource", "InformerSource", "NoSource", "ObjectSource")


class CacheNotReady(Exception):
    """An informer's cache has not synced yet, so its objects cannot be counted."""


class ObjectSource(Protocol):
    """Lists the objects of one resource."""

    async def list(self, namespace: str) -> Sequence[Any]:
        """
        Return a namespace's objects. They must not be changed.

        :raises CacheNotReady: if the cache has not synced yet
        :raises ClientError: if the server could not be read
        """

    def version(self) -> str:
        """Return a resource version; the next list is at least as new. Empty if it is not known."""


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
        """Return the object with that name; None if it is not in the cache."""
        return self._informer.indexer.get_by_key(f"{namespace}/{name}")

    def version(self) -> str:
        """See :meth:`ObjectSource.version`."""
        # While changes of a batch are still pending, the cache has some of them and not others, in any order.
        return "" if self._informer.queued else self._informer.indexer.last_store_sync_resource_version()


class ClientSource:
    """The objects on the server."""

    __slots__ = ("_resource",)

    def __init__(self, resource: Resource[Any]) -> None:
        self._resource = resource

    async def list(self, namespace: str) -> Sequence[Any]:
        """See :meth:`ObjectSource.list`."""
        return [obj async for page in self._resource.pages(namespace) for obj in page.items]

    def version(self) -> str:
        """Return an empty text: the version of a list is not known before the request."""
        return ""


class NoSource:
    """The source of evaluators for admission, which measure single objects and never list."""

    async def list(self, namespace: str) -> Sequence[Any]:
        """
        Never return.

        :raises LookupError: always
        """
        raise LookupError("this evaluator cannot list objects: it was made without a source")

    def version(self) -> str:
        """Return an empty text."""
        return ""
