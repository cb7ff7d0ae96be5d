"""``kinformer demo``: run a cluster in this process, and show what happens in it.

The command starts an embedded API server, fake nodes and the controllers, and applies manifests. Then it takes these
steps: every ReplicationController is scaled up, loses some pods, and is scaled down; every Deployment is rolled out,
and the roll-out is undone. A step is over when all of this is true:

* every ReplicationController has exactly the pods that it should have, all are ready, and its status says so
* all pods of every Deployment have its current template and are available
* the status of every ResourceQuota counts these pods
* the Endpoints of every Service have the pods' addresses

With the documentation's examples, the server also asks the quota webhook, if it is installed.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from kinformer.cli.demo_cluster import Cluster
from kinformer.cli.demo_steps import steps, take
from kinformer.cli.demo_view import DemoView
from kinformer.cli.demo_webhook import has_quota_webhook, quota_webhook
from kinformer.cli.manifests import ManifestError, read_manifests
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.manager import Manager
from kinformer.manager.selection import BUILTIN

__all__ = ("run",)

#: Seconds from one redraw to the next.
_FRAME = 0.1


async def run(*, manifests: Path | None, nodes: int, timeout: float) -> int:
    """
    Run the demo.

    :param manifests: the file or folder to apply; None for the documentation's examples
    :param nodes: the number of fake nodes
    :param timeout: the seconds that each step may take
    :return: 0 if every step converged, else 1
    :raises ManifestError: if a manifest cannot be read or applied
    :raises WebhookNotStarted: if the quota webhook is installed and ends before it serves
    """
    objects = read_manifests(manifests or _documented("examples"))
    view = DemoView()
    started = time.perf_counter()
    async with (
        ApiServer() as server,
        connect(url=server.url, token=server.token) as client,
        anyio.create_task_group() as tasks,
        AsyncExitStack() as stack,
    ):
        agent = FakeNodes(client, nodes)
        manager = Manager(client, controllers=[BUILTIN])
        cluster = Cluster(manager.context.informers, manager.controllers)
        tasks.start_soon(agent.run)
        tasks.start_soon(manager.run)
        await agent.wait_registered()
        await cluster.wait_synced()
        view.say(
            f"API server at {server.url}, {nodes} fake nodes and the controllers {', '.join(manager.controllers)} "
            f"are up after {time.perf_counter() - started:.2f} s"
        )
        if manifests is None and has_quota_webhook():
            await stack.enter_async_context(quota_webhook(server, client, _documented("quota-webhook")))
            await cluster.show_group_quotas()
            view.say(f"The quota webhook is asked after {time.perf_counter() - started:.2f} s")
        with view:
            tasks.start_soon(_show, view, cluster)
            results = [await take(step, cluster, view, timeout) for step in steps(client, cluster, objects)]
        tasks.cancel_scope.cancel()
    view.summary(results, server.storage.version - server.storage.first, time.perf_counter() - started)
    return 0 if all(result.converged for result in results) else 1


def _documented(name: str) -> Path:
    """A folder of the documentation. The wheel has it beside this module; a checkout has it under ``docs``."""
    here = Path(__file__).resolve()
    docs = here.parents[2] / "docs"
    for folder in (here.with_name(name), docs / name, docs / "controllers" / name):
        if folder.is_dir():
            return folder
    raise ManifestError("the examples of the documentation are not installed: name a file with --manifests")


async def _show(view: DemoView, cluster: Cluster) -> None:
    while True:
        view.draw(cluster.scene(), cluster.events)
        await cluster.wait_changed()
        await anyio.sleep(_FRAME)
