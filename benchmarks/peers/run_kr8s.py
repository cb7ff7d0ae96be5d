"""kr8s' watch: a stream of boxed dicts, no cache."""

from __future__ import annotations

import json
import os
import tempfile

import anyio
import kr8s.asyncio
from protocol import Run, kubeconfig


async def main(run: Run) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(kubeconfig(run.url), file)
        file.flush()
        os.environ["KUBECONFIG"] = file.name
        api = await kr8s.asyncio.api(kubeconfig=file.name)
        run.begin()
        async for _, pod in api.watch("pods", namespace=kr8s.ALL, since="1"):
            assert pod.metadata.resourceVersion
            run.count()


anyio.run(main, Run())
