"""A controller with a planted bug, its mended twin, and the incident in which the bug shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kinformer.cache import InformerOptions
from kinformer.manager import Controller, ControllerContext, Manager
from kinformer.models import V1ConfigMap, V1Pod, from_dict
from kinformer.recording import Recording
from kinformer.simulation import Plan, World, run_world
from kinformer.simulation.process import Program
from kinformer.simulation.user import controllers_of
from kinformer.simulation.world import RunResult

__all__ = ("BROKEN", "MENDED", "SHOP", "broken", "mended", "record", "recorded_by", "scenario")

BROKEN, MENDED = "tests.simulation.incident.shops:broken", "tests.simulation.incident.shops:mended"
SHOP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "corner", "namespace": "default", "labels": {"shop": "yes"}},
    "data": {"text": "open"},
}


def broken(context: ControllerContext) -> Controller:
    """Each shop gets one pod. Whether there is one is read from the cache, which may not have it yet."""
    cached = context.informers.informer_for(V1Pod)

    async def pods_of(name: str) -> list[V1Pod]:
        return [pod for pod in cached.indexer.list() if (pod.metadata.labels or {}).get("shop") == name]

    return _controller(context, pods_of).wait_for(cached)


def mended(context: ControllerContext) -> Controller:
    """It asks the server."""
    pods = context.client.resource(V1Pod)

    async def pods_of(name: str) -> list[V1Pod]:
        return (await pods.list("default", label_selector=f"shop={name}")).items

    return _controller(context, pods_of).wait_for(context.informers.informer_for(V1Pod))


def _controller(context: ControllerContext, pods_of: Callable[[str], Awaitable[list[V1Pod]]]) -> Controller:
    shops, pods = context.informers.informer_for(V1ConfigMap), context.client.resource(V1Pod)

    async def sync(key: str) -> None:
        name = key.partition("/")[2]
        if shops.indexer.get_by_key(key) is not None and not await pods_of(name):
            await pods.create(_pod(name))

    return Controller("shops", sync, clock=context.clock).watch(shops, _is_shop)


def _is_shop(old: V1ConfigMap | None, new: V1ConfigMap | None) -> bool:
    shop = new or old
    return shop is not None and "shop" in (shop.metadata.labels or {})


def _pod(name: str) -> V1Pod:
    metadata = {"generateName": f"{name}-", "namespace": "default", "labels": {"shop": name}}
    return from_dict(V1Pod, {"metadata": metadata, "spec": {"containers": [{"name": "web", "image": "web"}]}})


def recorded_by(
    recording: Recording,
    factory: Callable[[ControllerContext], Controller] | list[str] = broken,
    *,
    streams: bool = True,
) -> Callable[[Program], Awaitable[None]]:
    """A program that runs a manager, and records it. Its informers ask for streaming or for plain lists."""

    async def main(program: Program) -> None:
        await Manager(
            program.client,
            known=controllers_of(factory),
            recording=recording,
            informer_options=InformerOptions(use_watch_list=streams),
            clock=program.clock,
            beside_kube_controller_manager=True,
        ).run()

    return main


async def scenario(world: World) -> None:
    """A user opens a shop, and changes it before the cache shows its pod."""
    await world.settled()
    await world.apply(SHOP)
    for text in ("closed", "open again", "closed again"):
        await world.apply({**SHOP, "data": {"text": text}})
    await world.settled()


def record(path: Path, plan: str = "seed=0", **options: Any) -> RunResult:
    """Record an incident in a simulated world."""

    async def played(world: World) -> None:
        world.program(recorded_by(Recording(path=path, **options)), "manager")
        await scenario(world)

    return run_world(played, Plan.parse(plan))
