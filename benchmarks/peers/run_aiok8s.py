"""aiok8s' SharedIndexInformer, over kubernetes_asyncio's client and watch."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aiok8s.cache import index, list_watch, shared_informer
from aiok8s.cache.controller import ResourceEventHandlerFuncs
from kubernetes_asyncio import client, watch
from protocol import Run

logging.basicConfig(level=logging.ERROR)


async def main(run: Run) -> None:
    async def update(_: client.V1Pod, new: client.V1Pod) -> None:
        assert new.metadata.resource_version
        run.count()

    async with client.ApiClient(client.Configuration(host=run.url)) as api:
        list_pods = client.CoreV1Api(api).list_pod_for_all_namespaces

        async def list_(options: dict[str, Any]) -> Any:
            return await list_pods(**options)

        async def watch_(options: dict[str, Any]) -> Any:
            return watch.Watch().stream(list_pods, **options)

        indexers = index.Indexers({index.NAMESPACE_INDEX: index.meta_namespace_index_func})
        informer = shared_informer.new_shared_index_informer(
            list_watch.ListWatch(list_, watch_), client.V1Pod, 0, indexers
        )
        await informer.add_event_handler(ResourceEventHandlerFuncs(update_func=update))
        run.list_begins()
        running = asyncio.ensure_future(informer.run())
        while not informer.has_synced():
            if running.done():
                running.result()
            await asyncio.sleep(0.005)
        run.synced()
        run.begin()
        await running


asyncio.run(main(Run()))
