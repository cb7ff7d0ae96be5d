"""Ten kinds of mistakes that operators make, each planted in a small controller, with a mended twin.

Seven are in the tests beside this module, among the public bugs, and in the tiny controller. Three are here:

- A controller makes a Secret for each ConfigMap with the label ``app``. The broken form lets the server choose its
  name. So it makes another one if it does not see the first.
- A controller counts what users have put into a ConfigMap. The broken form writes the count first, and then what it has
  counted.
- A controller gives numbers to ConfigMaps. The broken form takes from its cache which numbers are taken, and the cache
  may not show its own last write.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from kinformer.client import AlreadyExists, NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from kinformer.simulation import World
from kinformer.simulation.trial import Trial
from tests.simulation import test_away, test_planted_kinds
from tests.simulation.tiny import APP, broken_scenario, controller_of_apps, mended_scenario
from tests.simulation.worlds import trial_of_bug

__all__ = ("PLANTED", "Planted")

NUMBER, COUNT, COUNTED = "example.com/number", "example.com/count", "example.com/counted"


@dataclass(frozen=True, slots=True)
class Planted:
    """
    A kind of mistake.

    :param name: what the mistake is
    :param kind: the single faults that show it
    :param broken: makes the trial of the controller that has it
    :param mended: makes the trial of its twin
    """

    name: str
    kind: str
    broken: Callable[[], Trial]
    mended: Callable[[], Trial]

    def __str__(self) -> str:
        return self.name


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


def _planted(
    name: str, kind: str, scenario: Callable[..., Any], make: Callable[..., Controller], **mistake: Any
) -> Planted:
    return Planted(
        name,
        kind,
        lambda: Trial(partial(scenario, factory=partial(make, **mistake))),
        lambda: Trial(partial(scenario, factory=make)),
    )


_kinds = test_planted_kinds

PLANTED = (
    Planted(
        "a clean-up on deletion events alone",
        "away",
        lambda: Trial(test_away.broken_scenario),
        lambda: Trial(test_away.mended_scenario),
    ),
    _planted("a generated name made twice", "restart", one_app, make_secrets, generates=True),
    _planted("a counter and its note in two writes", "crash", one_app, make_counter, in_two_steps=True),
    _planted("an update lost by put", "hide", _kinds.counted, _kinds.make_counter, forgets_version=True),
    _planted("a finalizer taken off too early", "crash", _kinds.scenario, _kinds.make, lets_go_first=True),
    _planted("a retry forgotten", "cut", _kinds.scenario, _kinds.make, swallows_errors=True),
    _planted("a time by the wall clock", "jump", _kinds.watched, _kinds.make_watchman, clock="wall"),
    Planted(
        "what is owned found by name",
        "restart",
        lambda: trial_of_bug("cluster-operator-648", is_mended=False),
        lambda: trial_of_bug("cluster-operator-648", is_mended=True),
    ),
    Planted("a note written before the work", "crash", lambda: Trial(broken_scenario), lambda: Trial(mended_scenario)),
    _planted("a cache read after an own write", "hide", two_apps, make_numbers, from_cache=True),
)
