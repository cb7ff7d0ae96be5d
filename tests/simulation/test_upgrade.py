"""An upgrade halfway: the next version of a controller meets objects that the last one has not finished.

The last version notes that it has begun, and then makes a child. The next version deletes this child, and makes one
with another name. Its broken form does nothing if there is the note and no child.
"""

from __future__ import annotations

from contextlib import suppress

from kinformer.client import AlreadyExists, NotFound
from kinformer.manager import Controller, ControllerContext, ControllerFactory
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.simulation import Faults, Plan, World
from kinformer.simulation.explore import explore, systematic
from kinformer.simulation.plan import Upgrade
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP, BEGUN, controller_of_apps, make_mended


def _next(context: ControllerContext, *, is_mended: bool) -> Controller:
    resource = context.client.resource(V1ConfigMap)

    async def sync(app: V1ConfigMap) -> None:
        name, namespace = app.metadata.name, app.metadata.namespace or ""
        if BEGUN in (app.metadata.annotations or {}):
            try:
                await resource.delete(f"{name}-child", namespace)
            except NotFound:
                if not is_mended:
                    return
        with suppress(AlreadyExists):
            await resource.create(V1ConfigMap(metadata=V1ObjectMeta(name=f"{name}-next", namespace=namespace)))

    return controller_of_apps(context, "next", sync)


def make_broken_next(context: ControllerContext) -> Controller:
    return _next(context, is_mended=False)


def make_mended_next(context: ControllerContext) -> Controller:
    return _next(context, is_mended=True)


async def _scenario(world: World, next_version: ControllerFactory) -> None:
    process = world.manager(make_mended, next_controllers=next_version)
    await world.apply(APP)
    await world.settled()
    process.upgrade()
    await world.settled()
    assert sorted(found.metadata.name for found in await world.list(V1ConfigMap, "default")) == ["web", "web-next"]


async def broken(world: World) -> None:
    await _scenario(world, make_broken_next)


async def mended(world: World) -> None:
    await _scenario(world, make_mended_next)


def test_an_upgrade_between_two_writes_finds_a_version_that_expects_both() -> None:
    (failure,) = systematic(Trial(broken), kinds=["upgrade"]).failures

    assert failure.found == Plan(0, (Upgrade("manager", 1),))


def test_its_twin_is_clean_at_each_place_and_at_random() -> None:
    trial = Trial(mended)

    assert systematic(trial, kinds=["upgrade"]).is_clean
    assert explore(trial, range(3), faults=Faults.only(upgrade=0.5, crash=0.2)).is_clean
