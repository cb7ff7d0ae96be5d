"""kubernetes_asyncio's Watch: a stream of typed objects, no cache."""

from __future__ import annotations

import asyncio

from kubernetes_asyncio import client, watch
from protocol import Run


async def main(run: Run) -> None:
    async with client.ApiClient(client.Configuration(host=run.url)) as api:
        list_pods = client.CoreV1Api(api).list_pod_for_all_namespaces
        run.begin()
        async for event in watch.Watch().stream(list_pods, resource_version="1"):
            assert event["object"].metadata.resource_version
            run.count()


asyncio.run(main(Run()))
