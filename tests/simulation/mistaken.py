"""Small controllers, each with one or two mistakes that can be switched on, and the scenarios that show them.

- A controller makes a Secret for each ConfigMap with the label ``app``. The broken form lets the server choose its
  name. So it makes another one if it does not see the first.
- A controller counts what users have put into a ConfigMap. The broken form writes the count first, and then what it has
  counted.
- A controller gives numbers to ConfigMaps. The broken form takes from its cache which numbers are taken, and the cache
  may not show its own last write.
- A controller makes a Secret for each ConfigMap, and deletes it with the ConfigMap by a finalizer. One broken form
  removes the finalizer before it deletes the Secret. The other one swallows errors, and so does not try again.
- A controller counts the Secrets in an annotation of the ConfigMap. The broken form writes the whole object from its
  cache, without the version that it has read: a change of the user is lost.
- A controller marks a ConfigMap as expired if its ``beat`` was not changed for half an hour. One broken form measures
  the time by the wall clock. The other one, which writes down when the time is over, does so in local time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from msgspec.structs import replace

from kinformer.client import AlreadyExists, ClientError, NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from kinformer.simulation import World
from tests.simulation.tiny import APP, controller_of_apps

__all__ = (
    "COUNT",
    "EXPIRED",
    "NUMBER",
    "counted",
    "made_and_deleted",
    "make_counter",
    "make_finalized",
    "make_numbers",
    "make_secrets",
    "make_tally",
    "make_watchman",
    "one_app",
    "two_apps",
    "watched",
)

NUMBER, COUNT, COUNTED = "example.com/number", "example.com/count", "example.com/counted"
FINALIZER, SECRETS = "example.com/secret", "example.com/secrets"
SEEN, UNTIL, EXPIRED = "example.com/seen", "example.com/until", "example.com/expired"
HALF_AN_HOUR = 1800.0


def make_secrets(context: ControllerContext, *, generates: bool = False) -> Controller:
    informer = context.informers.informer_for(V1Secret)
    secrets = context.client.resource(V1Secret)

    async def sync(app: V1ConfigMap) -> None:
        labels = {"of": app.metadata.name}
        if any(secret.metadata.labels == labels for secret in informer.indexer.list()):
            return
        name = {"generate_name": f"{app.metadata.name}-"} if generates else {"name": app.metadata.name}
        with suppress(AlreadyExists):
            await secrets.create(V1Secret(metadata=V1ObjectMeta(namespace="default", labels=labels, **name)))

    return controller_of_apps(context, "secrets", sync)


async def one_app(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"planted": factory})
    await world.apply({**APP, "data": {"color": "red"}})
    await world.settled()


def make_counter(context: ControllerContext, *, in_two_steps: bool = False) -> Controller:
    configmaps = context.client.resource(V1ConfigMap)

    async def sync(cached: V1ConfigMap) -> None:
        try:
            app = await configmaps.get(cached.metadata.name, "default")  # the cache may be old after a restart
        except NotFound:
            return
        annotations, color = app.metadata.annotations or {}, app.data["color"]
        if annotations.get(COUNTED) == color:
            return
        for step in ({COUNT: str(int(annotations.get(COUNT, 0)) + 1)}, {COUNTED: color}):
            annotations = {**annotations, **step}
            if in_two_steps:
                app = await configmaps.update(replace(app, metadata=replace(app.metadata, annotations=annotations)))
        if not in_two_steps:
            await configmaps.update(replace(app, metadata=replace(app.metadata, annotations=annotations)))

    return controller_of_apps(context, "counter", sync)


def make_numbers(context: ControllerContext, *, from_cache: bool = False) -> Controller:
    cache = context.informers.informer_for(V1ConfigMap).indexer
    configmaps = context.client.resource(V1ConfigMap)

    async def sync(_: V1ConfigMap) -> None:
        there = cache.list() if from_cache else (await configmaps.list("default")).items
        apps = sorted((each for each in there if "app" in (each.metadata.labels or {})), key=lambda each: _name(each))
        taken = {(app.metadata.annotations or {}).get(NUMBER) for app in apps}
        for app in apps:
            if NUMBER not in (app.metadata.annotations or {}):
                number = next(str(number) for number in range(1, len(apps) + 1) if str(number) not in taken)
                taken.add(number)
                await configmaps.patch(_name(app), {"metadata": {"annotations": {NUMBER: number}}}, "default")

    return controller_of_apps(context, "numbers", sync)


def _name(app: V1ConfigMap) -> str:
    return app.metadata.name or ""


async def two_apps(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"planted": factory})
    for name in ("a", "b"):
        metadata: dict[str, Any] = {"name": name, "labels": {"app": name}}
        await world.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await world.sleep(2)


def make_finalized(
    context: ControllerContext, *, lets_go_first: bool = False, swallows_errors: bool = False
) -> Controller:
    configmaps, secrets = context.client.resource(V1ConfigMap), context.client.resource(V1Secret)

    async def let_go(name: str) -> None:
        with suppress(NotFound):
            await configmaps.patch(name, {"metadata": {"finalizers": None}}, "default")

    async def end(name: str) -> None:
        if lets_go_first:
            await let_go(name)
        with suppress(NotFound):
            await secrets.delete(name, "default")
        if not lets_go_first:
            await let_go(name)

    async def do(cached: V1ConfigMap) -> None:
        name = cached.metadata.name
        try:
            app = await configmaps.get(name, "default")  # the cache may be one of long ago, after a restart
        except NotFound:
            return
        if app.metadata.deletion_timestamp is not None:
            await end(name)
            return
        if FINALIZER not in (app.metadata.finalizers or ()):
            await configmaps.patch(name, {"metadata": {"finalizers": [FINALIZER]}}, "default")
        with suppress(AlreadyExists):
            await secrets.create(V1Secret(metadata=V1ObjectMeta(name=name, namespace="default")))

    async def sync(app: V1ConfigMap) -> None:
        try:
            await do(app)
        except ClientError:
            if not swallows_errors:
                raise

    return controller_of_apps(context, "secrets", sync)


async def made_and_deleted(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"secrets": factory})
    await world.apply(APP)
    await world.settled()
    await world.delete(V1ConfigMap, "web")
    await world.settled()


def make_tally(context: ControllerContext, *, forgets_version: bool = False) -> Controller:
    configmaps = context.client.resource(V1ConfigMap)
    secrets = context.informers.informer_for(V1Secret)

    async def sync(app: V1ConfigMap) -> None:
        count = str(len(secrets.indexer.list()))
        annotations = app.metadata.annotations or {}
        if annotations.get(SECRETS) == count:
            return
        version = None if forgets_version else app.metadata.resource_version
        metadata = replace(app.metadata, annotations={**annotations, SECRETS: count}, resource_version=version)
        await configmaps.update(replace(app, metadata=metadata))

    controller = controller_of_apps(context, "tally", sync)
    return controller.watch_mapped(secrets, lambda _: ["default/web"])


async def counted(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"tally": factory})
    await world.apply(APP)
    await world.settled()
    await world.patch(V1ConfigMap, "web", {"data": {"color": "blue"}})
    await world.sleep(2)
    await world.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "first"}})
    await world.settled()


def make_watchman(context: ControllerContext, *, clock: str = "monotonic", zone: tzinfo | None = UTC) -> Controller:
    configmaps = context.client.resource(V1ConfigMap)
    beats: dict[str, tuple[str, float]] = {}

    def seconds_now() -> float:
        return context.clock.monotonic() if clock == "monotonic" else datetime.now(UTC).timestamp()

    async def mark(app: V1ConfigMap, annotations: dict[str, str]) -> None:
        await configmaps.patch(app.metadata.name, {"metadata": {"annotations": annotations}}, "default")

    async def sync_by_memory(app: V1ConfigMap) -> float | None:
        beat, since = beats.get(app.metadata.name, ("", 0.0))
        if beat != app.data["beat"]:
            seen_at = seconds_now()
            await mark(app, {SEEN: app.data["beat"]})
            beats[app.metadata.name] = app.data["beat"], seen_at
            return HALF_AN_HOUR
        if (left := since + HALF_AN_HOUR - seconds_now()) > 0:
            return left
        await mark(app, {EXPIRED: "true"})
        return None

    async def sync_by_note(cached: V1ConfigMap) -> float | None:
        app = await configmaps.get(cached.metadata.name, "default")  # after a restart, the note in the cache may be old
        annotations, now = app.metadata.annotations or {}, datetime.now(zone)
        if annotations.get(SEEN) != app.data["beat"]:
            until = now + timedelta(seconds=HALF_AN_HOUR)
            await mark(app, {SEEN: app.data["beat"], UNTIL: until.isoformat()})
            return HALF_AN_HOUR
        if (left := (datetime.fromisoformat(annotations[UNTIL]) - now).total_seconds()) > 0:
            return left
        await mark(app, {EXPIRED: "true"})
        return None

    return controller_of_apps(context, "watchman", sync_by_note if clock == "note" else sync_by_memory)


async def watched(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"watchman": factory})
    for beat in range(4):
        await world.apply({**APP, "data": {"beat": str(beat)}})
        await world.sleep(1200)
