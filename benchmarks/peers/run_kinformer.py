"""This project's own informer, measured as the others are."""

from __future__ import annotations

import anyio
from protocol import Run

from kinformer.cache import NAMESPACE_INDEX, ListWatch, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.index import namespace_index_func
from kinformer.client import connect
from kinformer.meta import accessor_for
from kinformer.models import V1Pod


async def main(run: Run) -> None:
    def update(_: V1Pod, new: V1Pod) -> None:
        assert new.metadata.resource_version
        run.count()

    async with connect(url=run.url) as client, anyio.create_task_group() as tasks:
        indexers = {NAMESPACE_INDEX: namespace_index_func(accessor_for(V1Pod))}
        informer = SharedIndexInformer(ListWatch(client.resource(V1Pod)), V1Pod, indexers=indexers)
        handler = informer.add_event_handler(ResourceEventHandlerFuncs(update=update))
        run.list_begins()
        tasks.start_soon(informer.run)
        await handler.wait_synced()
        run.synced()
        run.begin()


anyio.run(main, Run())
