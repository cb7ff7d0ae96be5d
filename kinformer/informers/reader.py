"""Reader: gets and lists objects from caches, and from the server for types that are not cached.

It is the counterpart of controller-runtime's delegating client. Reading a type costs no request if its informer has
synced and holds the requested namespace. The result is then the cache's own object, which is shared and must not be
changed. For other types the server is asked if `ask_server` allows it. Otherwise an error is raised, so that a cache is
never bypassed unnoticed.

A read shows what the caller has written itself: in a sync of a ``consistent`` controller, and in a block of
:func:`kinformer.client.noting_writes`, it waits until the cache has these writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import Client
from kinformer.informers.factory import SharedInformerFactory
from kinformer.informers.lister import not_found
from kinformer.meta import parse_selector
from kinformer.models import resource_for

__all__ = ("NotCached", "Reader")

T = TypeVar("T")


class NotCached(LookupError):
    """No synced cache holds the requested objects, and the server may not be asked."""


class Reader:
    """
    :param informers: the factory whose caches are read
    :param ask_server: the types for which to ask the server if no synced cache holds the objects; True for all types
    """

    def __init__(
        self, client: Client, informers: SharedInformerFactory, *, ask_server: bool | tuple[type[Any], ...] = False
    ) -> None:
        self._client = client
        self._informers = informers
        self._ask_server = ask_server

    async def get(self, type_: type[T], name: str, namespace: str = "") -> T:
        """
        Return one object.

        :raises NotFound: if there is no object with that name
        :raises NotCached: if no synced cache holds the objects, and the server may not be asked
        :raises CacheBehind: if the cache does not show own writes within ten seconds
        """
        informer = self._cache_of(type_, namespace)
        if informer is None:
            return await self._client.resource(type_).get(name, namespace)
        await informer.wait_for_own_writes(namespace=namespace)
        found = informer.indexer.get_by_key(f"{namespace}/{name}" if namespace else name)
        if found is None:
            raise not_found(resource_for(type_).gvr.group_resource, name)
        return found

    async def list(
        self,
        type_: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        index: Mapping[str, str] | None = None,
    ) -> list[T]:
        """
        List objects.

        :param index: the value to look for, by the name of an index of the informer. With several, all must match. Only
            caches have indexes.
        :raises IndexNotFound: if the informer has no index with that name
        :raises NotCached: if no synced cache holds the objects, and the server may not be asked or `index` is given
        :raises CacheBehind: if the cache does not show own writes within ten seconds
        :raises ValueError: if the selector cannot be parsed
        """
        informer = self._cache_of(type_, namespace)
        if informer is None:
            if index:
                raise NotCached(f"{type_.__qualname__} is in no cache, and the server has no index {', '.join(index)}")
            listed = await self._client.resource(type_).list(namespace, label_selector=label_selector)
            return listed.items
        await informer.wait_for_own_writes(namespace=namespace)
        lookups = dict(index or {})
        if namespace:
            lookups[NAMESPACE_INDEX] = namespace
        found = _looked_up(informer, lookups)
        if not label_selector:
            return found
        selector = parse_selector(label_selector)
        labels = informer.accessor.labels
        return [obj for obj in found if selector.matches(labels(obj))]

    def _cache_of(self, type_: type[T], namespace: str) -> SharedIndexInformer[T] | None:
        informer = self._informers.informers.get(resource_for(type_).gvr)
        if informer is None or informer.type is not type_ or not informer.has_synced:
            missing = f"{type_.__qualname__} is in no cache that has synced: ask for its informer"
        elif namespace and informer.namespaces and namespace not in informer.namespaces:
            missing = (
                f"{type_.__qualname__} of the namespace {namespace} is in no cache, only that of "
                f"{', '.join(informer.namespaces)}: give the factory that namespace, too"
            )
        else:
            return informer
        if self._ask_server is True or (self._ask_server and type_ in self._ask_server):
            return None
        raise NotCached(f"{missing}, or let the reader ask the server")


def _looked_up(informer: SharedIndexInformer[T], lookups: Mapping[str, str]) -> list[T]:
    if not lookups:
        return informer.indexer.list()
    (name, value), *others = lookups.items()
    found = informer.indexer.by_index(name, value)
    for other, wanted in others:
        keys = set(informer.indexer.index_keys(other, wanted))
        found = [obj for obj in found if informer.accessor.key(obj) in keys]
    return found
