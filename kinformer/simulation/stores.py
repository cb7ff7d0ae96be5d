"""What the informers of a world have in their stores, and what the server would list for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kinformer.cache import ListWatch, SharedIndexInformer
from kinformer.envtest.storage import Storage, Version
from kinformer.meta import parse_selector
from kinformer.models import decode
from kinformer.sharding.narrowing import RangesListWatch
from kinformer.simulation.oracles import Store
from kinformer.simulation.process import Process

__all__ = ("stores_of",)

#: Makes a resourceVersion one that is counted from the beginning of the run.
Relative: TypeAlias = Callable[[int | str | None], int]


def stores_of(processes: Iterable[Process], storage: Storage, relative: Relative) -> list[Store]:
    """
    The stores of the informers of those processes that run.

    For a process that shards the keys, only the objects of its shards count. Informers with a field selector, and those
    with a transform that removes the resourceVersion, are left out.
    """
    found = []
    for process in processes:
        if process.is_busy:
            continue
        for informer in process.informers:
            served = _served(informer, storage)
            if served is None or not informer.has_synced:
                continue
            found.append(
                Store(process.name, informer.name, _held(informer, relative), _relative(informer, served, relative))
            )
    return found


def _held(informer: SharedIndexInformer[Any], relative: Relative) -> dict[str, int]:
    accessor, indexer = informer.accessor, informer.indexer
    return {
        f"{_resource(informer)}/{indexer.key_of(obj)}": relative(accessor.resource_version(obj))
        for obj in indexer.list()
    }


def _served(informer: SharedIndexInformer[Any], storage: Storage) -> list[Version] | None:
    if informer.resource is None:
        return None
    log, served = storage.log(informer.resource.group_resource), []
    for source in informer.lister_watchers:
        shards = source if isinstance(source, RangesListWatch) else None
        whole = shards.inner if shards is not None else source
        if not isinstance(whole, ListWatch) or whole.field_selector:
            return None
        matches = parse_selector(whole.label_selector).matches
        found = (version for version in log.select(whole.namespace) if matches(version.labels))
        served += [version for version in found if shards is None or shards.is_ours(_decoded(informer, version))]
    return served


def _decoded(informer: SharedIndexInformer[Any], version: Version) -> Any:
    return version.decode() if informer.type is dict else decode(informer.type, version.raw)


def _relative(informer: SharedIndexInformer[Any], versions: list[Version], relative: Relative) -> dict[str, int]:
    return {f"{_resource(informer)}/{version.key}": relative(version.number) for version in versions}


def _resource(informer: SharedIndexInformer[Any]) -> str:
    assert informer.resource is not None
    return str(informer.resource.group_resource)
