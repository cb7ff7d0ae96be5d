"""A tiny controller with a bug, and its mended twin: between its two writes it must not be killed.

For each ConfigMap with the label ``app`` it notes in an annotation that it has begun, and then makes a child. The
broken one makes no child if the note is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from kinformer.client import AlreadyExists
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.simulation import World

__all__ = ("APP", "BEGUN", "broken_scenario", "controller_of_apps", "make_broken", "make_mended", "mended_scenario")

BEGUN = "example.com/begun"
APP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web"}}}


def controller_of_apps(
    context: ControllerContext, name: str, sync: Callable[[V1ConfigMap], Awaitable[float | None]]
) -> Controller:
    """A controller that calls `sync` with each ConfigMap that has the label ``app``, and again when `sync` says."""
    informer = context.informers.informer_for(V1ConfigMap)

    async def sync_key(key: str) -> float | None:
        app = informer.indexer.get_by_key(key)
        if app is not None and "app" in (app.metadata.labels or {}):
            return await sync(app)
        return None

    return Controller(name, sync_key, clock=context.clock).watch(informer)


def _controller(context: ControllerContext, *, believes_its_note: bool) -> Controller:
    resource = context.client.resource(V1ConfigMap)

    async def sync(app: V1ConfigMap) -> None:
        name = app.metadata.name
        if BEGUN not in (app.metadata.annotations or {}):
            await resource.patch(name, {"metadata": {"annotations": {BEGUN: "true"}}}, app.metadata.namespace)
        elif believes_its_note:
            return
        child = V1ConfigMap(metadata=V1ObjectMeta(name=f"{name}-child", namespace=app.metadata.namespace))
        with suppress(AlreadyExists):
            await resource.create(child)

    return controller_of_apps(context, "tiny", sync)


def make_broken(context: ControllerContext) -> Controller:
    return _controller(context, believes_its_note=True)


def make_mended(context: ControllerContext) -> Controller:
    return _controller(context, believes_its_note=False)


async def broken_scenario(world: World) -> None:
    world.manager(make_broken)
    await world.apply(APP)
    await world.settled()


async def mended_scenario(world: World) -> None:
    world.manager(make_mended)
    await world.apply(APP)
    await world.settled()
