"""A tiny controller with a bug, and its mended twin: between its two writes it must not be killed.

For each ConfigMap with the label ``app`` it notes in an annotation that it has begun, and then makes a child. The
broken one takes the note for a proof that the child is there.
"""

from __future__ import annotations

from contextlib import suppress

from kinformer.client import AlreadyExists
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.simulation import World

__all__ = ("APP", "BEGUN", "broken_scenario", "make_broken", "make_mended", "mended_scenario")

BEGUN = "example.com/begun"
APP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web"}}}


def _controller(context: ControllerContext, *, believes_its_note: bool) -> Controller:
    informer = context.informers.informer_for(V1ConfigMap)
    resource = context.client.resource(V1ConfigMap)

    async def sync(key: str) -> None:
        app = informer.indexer.get_by_key(key)
        if app is None or "app" not in (app.metadata.labels or {}):
            return
        name = app.metadata.name
        if BEGUN not in (app.metadata.annotations or {}):
            await resource.patch(name, {"metadata": {"annotations": {BEGUN: "true"}}}, app.metadata.namespace)
        elif believes_its_note:
            return
        child = V1ConfigMap(metadata=V1ObjectMeta(name=f"{name}-child", namespace=app.metadata.namespace))
        with suppress(AlreadyExists):
            await resource.create(child)

    return Controller("tiny", sync, clock=context.clock).watch(informer)


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
