"""Listers: read an informer's cache in the way that one reads a server, without requests.

A lister returns the cache's own objects. They are shared and must not be changed.
"""

from __future__ import annotations

import builtins
from typing import Generic, TypeVar

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import NotFound, Status, StatusDetails
from kinformer.meta import GroupResource, ObjectName, Selector

__all__ = ("Lister", "NamespaceLister", "not_found")

T = TypeVar("T")


class Lister(Generic[T]):
    """
    The objects of one resource, as an informer has them.

    :param resource: the resource's name in errors
    """

    __slots__ = ("_accessor", "_indexer", "_informer", "_resource")

    def __init__(self, informer: SharedIndexInformer[T], resource: GroupResource):
        self._informer = informer
        self._indexer = informer.indexer
        self._accessor = informer.accessor
        self._resource = resource

    async def wait_for_own_writes(self, *, namespace: str = "", timeout: float | None = None) -> None:
        """
        Return once the cache shows what this context has written; see
        :meth:`~kinformer.cache.SharedIndexInformer.wait_for_own_writes`. Reading itself never waits.

        :raises CacheBehind: if the cache does not show it in time
        """
        await self._informer.wait_for_own_writes(namespace=namespace, timeout=timeout)

    def list(self, selector: Selector | None = None) -> list[T]:
        """All objects, or those whose labels the selector matches."""
        return self._matching(self._indexer.list(), selector)

    def get(self, name: str) -> T:
        """
        Return an object that belongs to no namespace; use :meth:`namespace` for others.

        :raises NotFound: if the cache has no object with that name
        """
        return self._get(ObjectName("", name))

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """The objects of one namespace."""
        return NamespaceLister(self, namespace)

    def _get(self, name: ObjectName) -> T:
        obj = self._indexer.get_by_key(str(name))
        if obj is None:
            raise not_found(self._resource, name.name)
        return obj

    def _in_namespace(self, namespace: str, selector: Selector | None) -> builtins.list[T]:
        if not namespace:
            return self.list(selector)
        return self._matching(self._indexer.by_index(NAMESPACE_INDEX, namespace), selector)

    def _matching(self, objects: builtins.list[T], selector: Selector | None) -> builtins.list[T]:
        if selector is None or selector.is_empty:
            return objects
        matches, labels = selector.matches, self._accessor.labels
        return [obj for obj in objects if matches(labels(obj))]


class NamespaceLister(Generic[T]):
    """The objects of one namespace. ``""`` stands for all namespaces, as in a list."""

    __slots__ = ("_lister", "_namespace")

    def __init__(self, lister: Lister[T], namespace: str):
        self._lister = lister
        self._namespace = namespace

    def list(self, selector: Selector | None = None) -> list[T]:
        """The namespace's objects, or those whose labels the selector matches."""
        return self._lister._in_namespace(self._namespace, selector)

    def get(self, name: str) -> T:
        """
        Return the namespace's object with that name.

        :raises NotFound: if the cache has no such object
        """
        return self._lister._get(ObjectName(self._namespace, name))


def not_found(resource: GroupResource, name: str) -> NotFound:
    """The error that a server answers with if it does not have the object: caches raise the same."""
    return NotFound(
        Status(
            status="Failure",
            code=404,
            reason="NotFound",
            message=f'{resource} "{name}" not found',
            details=StatusDetails(name=name, group=resource.group, kind=resource.resource),
        )
    )
