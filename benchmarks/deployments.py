"""The cost of the Deployment and ReplicaSet controllers: ``python -m benchmarks.deployments``.

The embedded API server and its fake nodes run in another process. The figures are wall time, and the CPU time of this
process, which has the client, the informers and the controllers.

- ``up`` and ``down``: one object is scaled from 0 to many replicas and back, without nodes. First this is a
  ReplicationController with its controller, then a Deployment with the two controllers;
- ``make`` and ``roll``: many Deployments of three pods are made. Then all get a new template at once, until each
  roll-out is complete.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import structlog

from benchmarks.replication import NAMESPACE, manifest, measured
from benchmarks.servers import api_server
from kinformer.client import PatchType, connect
from kinformer.manager import Manager
from kinformer.models import V1Deployment, from_dict

#: The number of Deployments that are written at the same time.
_AT_ONCE = 50


def deployment(name: str, replicas: int, image: str = "img:1") -> V1Deployment:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}}
    return from_dict(
        V1Deployment,
        {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {**spec, "template": {"metadata": {"labels": labels}, "spec": pod}},
        },
    )


class Watching:
    """Waits until the manager's cache shows that objects of a kind are as they should be."""

    def __init__(self, manager: Manager, type_: type[Any]) -> None:
        self._waiting: set[str] = set()
        self._done = anyio.Event()
        self._is_done: Callable[[Any], bool] = lambda obj: True
        manager.context.informers.informer_for(type_).add_event_handler(self)

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.on_update(obj, obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        name = new.metadata.name
        if name not in self._waiting or new.status is None:
            return
        if new.status.observed_generation == new.metadata.generation and self._is_done(new):
            self._waiting.discard(name)
            if not self._waiting:
                self._done.set()

    def on_delete(self, obj: Any, /) -> None:
        """No object is deleted while this runs."""

    @asynccontextmanager
    async def until(self, names: Sequence[str], is_done: Callable[[Any], bool]) -> AsyncIterator[None]:
        """At the end of the block, wait until all these objects are done and their statuses are about their spec."""
        self._waiting, self._is_done, self._done = set(names), is_done, anyio.Event()
        yield
        await self._done.wait()


@asynccontextmanager
async def managed(kubeconfig: Path, type_: type[Any], *controllers: str) -> AsyncIterator[tuple[Any, Watching]]:
    async with connect(kubeconfig=kubeconfig) as client, anyio.create_task_group() as tasks:
        manager = Manager(client, controllers=controllers)
        watching = Watching(manager, type_)
        tasks.start_soon(manager.run)
        yield client.resource(type_), watching
        tasks.cancel_scope.cancel()


async def up_and_down(kubeconfig: Path, make: Callable[..., Any], controllers: Sequence[str], replicas: int) -> float:
    """CPU seconds for one object."""
    one = make("web", replicas)

    def has(count: int) -> Callable[[Any], bool]:
        return lambda obj: (obj.status.replicas or 0) == count

    async with managed(kubeconfig, type(one), *controllers) as (resource, watching):
        began = time.process_time()
        with measured(f"{controllers[0][:8]} up", replicas):
            async with watching.until(["web"], has(replicas)):
                await resource.create(one)
        with measured(f"{controllers[0][:6]} down", replicas):
            async with watching.until(["web"], has(0)):
                await resource.patch("web", {"spec": {"replicas": 0}}, NAMESPACE)
        return time.process_time() - began


async def roll(kubeconfig: Path, count: int) -> None:
    names = [f"d-{index}" for index in range(count)]

    def complete(obj: Any) -> bool:
        status = obj.status
        return bool(status.updated_replicas == status.available_replicas == status.replicas == 3)

    async with managed(kubeconfig, V1Deployment, "deployment", "replicaset") as (resource, watching):
        limit = anyio.CapacityLimiter(_AT_ONCE)

        async def write(name: str, image: str) -> None:
            async with limit:
                if image == "img:1":
                    await resource.create(deployment(name, 3))
                else:
                    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
                    await resource.patch(name, patch, NAMESPACE, patch_type=PatchType.JSON)

        for what, image in (("make", "img:1"), ("roll", "img:2")):
            with measured(f"{what} {count}", 3 * count):
                async with watching.until(names, complete), anyio.create_task_group() as tasks:
                    for name in names:
                        tasks.start_soon(write, name, image)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=2000, help="for up and down; 0 to leave these out")
    parser.add_argument("--deployments", type=int, default=1000, help="for make and roll; 0 to leave these out")
    parser.add_argument("--profile", action="store_true", help="profile the run, which makes it slower")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    profile = cProfile.Profile(time.process_time)
    if arguments.replicas:
        spent = []
        for make, controllers in ((manifest, ["replicationcontroller"]), (deployment, ["deployment", "replicaset"])):
            with api_server(0) as kubeconfig:
                spent.append(anyio.run(up_and_down, kubeconfig, make, controllers, arguments.replicas))
        print(f"through a Deployment: {spent[1] / spent[0]:.2f} times the CPU of a ReplicationController")
    if arguments.deployments:
        with api_server(10) as kubeconfig:
            if arguments.profile:
                profile.enable()
            anyio.run(roll, kubeconfig, arguments.deployments)
            profile.disable()
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
