"""Planted bugs of kinds that no public bug here has, each with a mended twin: one fault finds the bug.

- A controller makes a Secret for each ConfigMap with the label ``app``, and deletes it with the ConfigMap by a
  finalizer. One broken form removes the finalizer before it deletes the Secret. The other one swallows errors, and so
  does not try again.
- A controller counts the Secrets in an annotation of the ConfigMap. The broken form writes the whole object from its
  cache, without the version that it has read: a change of the user is lost.
- A controller marks a ConfigMap as expired if its ``beat`` was not changed for half an hour. One broken form measures
  the time by the wall clock. The other one, which writes down when the time is over, does so in local time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from kinformer.client import AlreadyExists, ClientError, NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from kinformer.simulation import World
from kinformer.simulation.explore import systematic
from kinformer.simulation.plan import Hide
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP, controller_of_apps

FINALIZER = "example.com/secret"
SECRETS = "example.com/secrets"
SEEN, UNTIL, EXPIRED = "example.com/seen", "example.com/until", "example.com/expired"
HALF_AN_HOUR = 1800.0


def make(context: ControllerContext, *, lets_go_first: bool = False, swallows_errors: bool = False) -> Controller:
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


async def scenario(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"secrets": factory})
    await world.apply(APP)
    await world.settled()
    await world.delete(V1ConfigMap, "web")
    await world.settled()


@pytest.mark.parametrize(
    ("bug", "kind", "found"),
    [("lets_go_first", "crash", "crash(manager,write=3)"), ("swallows_errors", "cut", "cut(manager,request=8)")],
)
def test_a_planted_bug_is_found_by_one_fault_and_its_twin_clean(bug: str, kind: str, found: str) -> None:
    (failure,) = systematic(Trial(partial(scenario, factory=partial(make, **{bug: True}))), kinds=[kind]).failures

    assert str(failure.found.deviations[0]) == found
    assert systematic(Trial(partial(scenario, factory=make)), kinds=[kind]).is_clean


def make_counter(context: ControllerContext, *, forgets_version: bool = False) -> Controller:
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

    controller = controller_of_apps(context, "counter", sync)
    return controller.watch_mapped(secrets, lambda _: ["default/web"])


async def counted(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"counter": factory})
    await world.apply(APP)
    await world.settled()
    await world.patch(V1ConfigMap, "web", {"data": {"color": "blue"}})
    await world.sleep(2)
    await world.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "first"}})
    await world.settled()


def test_an_update_lost_by_put_is_found_and_its_twin_clean() -> None:
    broken = Trial(partial(counted, factory=partial(make_counter, forgets_version=True)))

    (failure,) = systematic(broken, kinds=["hide"]).failures

    assert failure.found.deviations == (Hide("manager", "configmaps/default/web", 3),)
    assert "data" in failure.violations[0].text
    assert systematic(Trial(partial(counted, factory=make_counter)), kinds=["hide"]).is_clean


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
        return await mark(app, {EXPIRED: "true"})

    async def sync_by_note(cached: V1ConfigMap) -> float | None:
        app = await configmaps.get(cached.metadata.name, "default")  # after a restart, the note in the cache may be old
        annotations, now = app.metadata.annotations or {}, datetime.now(zone)
        if annotations.get(SEEN) != app.data["beat"]:
            until = now + timedelta(seconds=HALF_AN_HOUR)
            await mark(app, {SEEN: app.data["beat"], UNTIL: until.isoformat()})
            return HALF_AN_HOUR
        if (left := (datetime.fromisoformat(annotations[UNTIL]) - now).total_seconds()) > 0:
            return left
        return await mark(app, {EXPIRED: "true"})

    return controller_of_apps(context, "watchman", sync_by_note if clock == "note" else sync_by_memory)


async def watched(world: World, factory: Callable[[ControllerContext], Controller]) -> None:
    world.manager({"watchman": factory})
    for beat in range(4):
        await world.apply({**APP, "data": {"beat": str(beat)}})
        await world.sleep(1200)


@pytest.mark.parametrize(
    ("broken", "mended", "kind", "found"),
    [
        ({"clock": "wall"}, {}, "jump", "jump(manager,write=1)"),
        ({"clock": "note", "zone": None}, {"clock": "note"}, "zone", "zone(manager,write=1)"),
    ],
    ids=["clock", "zone"],
)
def test_a_bug_of_clocks_and_zones_is_found_and_its_twin_clean(
    broken: dict[str, Any], mended: dict[str, Any], kind: str, found: str
) -> None:
    (failure,) = systematic(Trial(partial(watched, factory=partial(make_watchman, **broken))), kinds=[kind]).failures

    assert str(failure.found.deviations[0]) == found
    assert EXPIRED in failure.violations[0].text
    assert systematic(Trial(partial(watched, factory=partial(make_watchman, **mended))), kinds=[kind]).is_clean
