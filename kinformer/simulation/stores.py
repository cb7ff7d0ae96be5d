"""What the informers of a world hold, beside what the server would give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinformer.cache import ListWatch, SharedIndexInformer
from kinformer.envtest.storage import Storage, Version
from kinformer.meta import parse_selector
from kinformer.simulation.oracles import Store

if TYPE_CHECKING:
    from kinformer.simulation.world import World

__all__ = ("stores_of",)


def stores_of(world: World) -> list[Store]:
    """
    The stores of all informers of processes that run.

    Left out are those with a field selector, those of a process that holds a share of the objects, and those with a
    transform that leaves no version.
    """
    storage, found = world.server.storage, []
    for process in world.processes.values():
        if process.is_busy:
            continue
        for informer in process.informers:
            served = _served(informer, storage)
            if served is None or not informer.has_synced:
                continue
            found.append(Store(process.name, informer.name, _held(world, informer), _relative(world, informer, served)))
    return found


def _held(world: World, informer: SharedIndexInformer[Any]) -> dict[str, int]:
    accessor, indexer = informer.accessor, informer.indexer
    return {
        f"{_resource(informer)}/{indexer.key_of(obj)}": world.relative(accessor.resource_version(obj))
        for obj in indexer.list()
    }


def _served(informer: SharedIndexInformer[Any], storage: Storage) -> list[Version] | None:
    if informer.resource is None:
        return None
    log, served = storage.log(informer.resource.group_resource), []
    for source in informer.lister_watchers:
        if not isinstance(source, ListWatch) or source.field_selector:
            return None
        matches = parse_selector(source.label_selector).matches
        served += [version for version in log.select(source.namespace) if matches(version.labels)]
    return served


def _relative(world: World, informer: SharedIndexInformer[Any], versions: list[Version]) -> dict[str, int]:
    return {f"{_resource(informer)}/{version.key}": world.relative(version.number) for version in versions}


def _resource(informer: SharedIndexInformer[Any]) -> str:
    assert informer.resource is not None
    return str(informer.resource.group_resource)
