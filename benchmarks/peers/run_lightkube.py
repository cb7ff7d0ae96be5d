"""lightkube's watch: a stream of objects that decode themselves when they are read, no cache."""

from __future__ import annotations

import asyncio

from lightkube import AsyncClient, KubeConfig
from lightkube.resources.core_v1 import Pod
from protocol import Run, kubeconfig


async def main(run: Run) -> None:
    client = AsyncClient(KubeConfig.from_dict(kubeconfig(run.url)))
    run.begin()
    async for _, pod in client.watch(Pod, namespace="*", resource_version="1"):
        assert pod.metadata.resourceVersion
        run.count()


asyncio.run(main(Run()))
