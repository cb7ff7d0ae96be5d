from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Unpack

import anyio
import pytest

from kinformer.client import Client, NotFound
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext, ControllerOptions, Manager, RequeueAfter
from kinformer.models import CoreV1Event, V1ConfigMap, V1ObjectMeta
from kinformer.operator import Reconciler
from tests.operator.web_apps import WebApp, WebAppStatus, web_app


class WebApps(Reconciler[WebApp]):
    """Keeps a config map for each web app."""

    name = "web-apps"
    owns = (V1ConfigMap,)

    async def reconcile(self, obj: WebApp) -> None:
        app = await self.finalizer("example.com/dns").ensure(obj, self.clean_up)
        if app is None:
            return
        wanted = V1ConfigMap(metadata=V1ObjectMeta(name=app.metadata.name), data={"image": app.spec.image})
        written = await self.applier.ensure_owned(app, wanted)
        if written.changed:
            self.event(app, "Configured", f"{written.outcome.value} the config map")
        await self.update_status(app, WebAppStatus(ready_replicas=app.spec.replicas))

    async def clean_up(self, app: WebApp) -> None:
        self.event(app, "CleanedUp", "the record is gone", warning=True)


@asynccontextmanager
async def running(client: Client) -> AsyncIterator[Manager]:
    manager = Manager(client, known={"web-apps": WebApps.make_controller})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run)
        yield manager
        await manager.stop(0)
        tasks.cancel_scope.cancel()


async def settled(client: Client, image: str) -> WebApp:
    apps, maps = client.resource(WebApp), client.resource(V1ConfigMap)
    with anyio.fail_after(60):
        while True:
            app = await apps.get("shop", "default")
            try:
                config = await maps.get("shop", "default")
            except NotFound:
                continue
            if config.data == {"image": image} and app.status is not None and app.status.ready_replicas:
                return app


async def test_an_object_gets_what_it_owns_its_status_and_its_finalizer(client: Client) -> None:
    async with running(client):
        await client.resource(WebApp).create(web_app(replicas=2))

        app = await settled(client, "shop:1")

    assert app.status == WebAppStatus(ready_replicas=2)
    assert app.metadata.finalizers == ["example.com/dns"]
    config = await client.resource(V1ConfigMap).get("shop", "default")
    assert [found.name for found in config.metadata.owner_references or ()] == ["shop"]
    assert [found.manager for found in config.metadata.managed_fields or ()] == ["web-apps"]


async def test_it_is_woken_by_what_it_owns_and_by_its_spec(client: Client) -> None:
    apps, maps = client.resource(WebApp), client.resource(V1ConfigMap)
    async with running(client):
        await apps.create(web_app())
        await settled(client, "shop:1")

        await maps.delete("shop", "default")
        await settled(client, "shop:1")
        await apps.patch("shop", {"spec": {"image": "shop:2"}}, "default")
        await settled(client, "shop:2")


async def test_events_are_from_it_and_about_the_object(client: Client) -> None:
    apps = client.resource(WebApp)
    async with running(client) as manager:
        await apps.create(web_app())
        await settled(client, "shop:1")
        await apps.delete("shop", "default")
        with anyio.fail_after(60):
            while (await apps.list("default")).items:
                pass
        await manager.stop(5)

    events = (await client.resource(CoreV1Event).list("default")).items
    assert {(found.type, found.reason) for found in events} == {("Normal", "Configured"), ("Warning", "CleanedUp")}
    assert {found.source.component for found in events if found.source} == {"web-apps"}
    assert {found.involved_object.kind for found in events if found.involved_object} == {"WebApp"}


async def test_a_reconciler_runs_without_a_manager(client: Client) -> None:
    async with SharedInformerFactory(client) as informers, anyio.create_task_group() as tasks:
        tasks.start_soon(WebApps(ControllerContext(client, informers)).run)
        await anyio.lowlevel.checkpoint()
        informers.start()
        await client.resource(WebApp).create(web_app())
        await settled(client, "shop:1")
        tasks.cancel_scope.cancel()


async def test_a_reconciler_gives_its_controller_options(client: Client) -> None:
    class Limited(Reconciler[WebApp]):
        name = "limited"

        def __init__(self, context: ControllerContext) -> None:
            super().__init__(context)
            self.workers = context.option("limited_workers", 3)

        async def reconcile(self, obj: WebApp) -> RequeueAfter:
            return RequeueAfter(30)

        def controller(self, **options: Unpack[ControllerOptions]) -> Controller:
            return super().controller(starts_after=("web-apps",), **options)

    manager = Manager(client, known={"limited": Limited.make_controller})

    controller = manager.controllers["limited"]
    assert isinstance(controller, Controller)
    assert (controller.workers, controller.starts_after) == (3, ("web-apps",))


async def test_a_reconciler_that_says_nothing_of_workers_has_one(client: Client) -> None:
    assert WebApps(ControllerContext(client, SharedInformerFactory(client))).controller().workers == 1


def test_a_subclass_says_what_it_reconciles_and_what_it_is_called() -> None:
    with pytest.raises(TypeError, match=r"Nameless has no name: want a class attribute such as name = 'webapp'"):

        class Nameless(Reconciler[WebApp]):
            pass

    with pytest.raises(TypeError, match=r"Aimless does not say what it reconciles: want Reconciler\[SomeType\]"):

        class Aimless(Reconciler):  # type: ignore[type-arg]
            name = "aimless"
