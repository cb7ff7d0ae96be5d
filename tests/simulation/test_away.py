"""A process that is away while the user writes: what it was not told of has to be in the objects.

A controller makes a Secret for each ConfigMap with the label ``app``. The Secret has no owner, as if it were outside
the cluster. The broken controller deletes it when it is told that the ConfigMap is gone; its twin has a finalizer.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from kinformer.client import AlreadyExists, NotFound
from kinformer.controllerutil.finalizers import Finalizer
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import split_key
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from kinformer.simulation import Faults, Plan, World
from kinformer.simulation.explore import explore, replay, systematic
from kinformer.simulation.plan import Away
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP


def _controller(context: ControllerContext, *, has_finalizer: bool) -> Controller:
    informer = context.informers.informer_for(V1ConfigMap)
    finalizer = Finalizer("example.com/secret", context.client)
    secrets = context.client.resource(V1Secret)

    async def delete(name: str, namespace: str) -> None:
        with suppress(NotFound):
            await secrets.delete(name, namespace)

    async def clean_up(app: V1ConfigMap) -> None:
        await delete(app.metadata.name, app.metadata.namespace or "")

    async def sync(key: str) -> None:
        namespace, name = split_key(key)
        app = informer.indexer.get_by_key(key)
        if app is None:
            if not has_finalizer:
                await delete(name, namespace)
            return
        if "app" not in (app.metadata.labels or {}):
            return
        if has_finalizer and await finalizer.ensure(app, clean_up) is None:
            return
        with suppress(AlreadyExists):
            await secrets.create(V1Secret(metadata=V1ObjectMeta(name=name, namespace=namespace)))

    return Controller("secrets", sync, clock=context.clock).watch(informer)


def make_broken(context: ControllerContext) -> Controller:
    return _controller(context, has_finalizer=False)


def make_mended(context: ControllerContext) -> Controller:
    return _controller(context, has_finalizer=True)


async def _scenario(world: World) -> None:
    await world.apply(APP)
    await world.settled()
    await world.delete(V1ConfigMap, "web")
    await world.settled()


async def broken_scenario(world: World) -> None:
    world.manager(make_broken)
    await _scenario(world)


async def mended_scenario(world: World) -> None:
    world.manager(make_mended)
    await _scenario(world)


def test_cleaning_up_on_deletion_events_alone_is_found_one_by_one() -> None:
    (failure,) = systematic(Trial(broken_scenario), kinds=["away"]).failures

    assert failure.found == Plan(0, (Away("manager", before=2),))
    assert [str(violation) for violation in failure.violations] == [
        "final-state: secrets/default/web: is there, and is not without faults"
    ]


def test_random_seeds_find_it_if_they_are_told_to() -> None:
    (failure,) = explore(Trial(broken_scenario), range(50), faults=Faults.only(away=0.5)).failures

    assert [type(deviation) for deviation in failure.plan.deviations] == [Away]


def test_its_twin_with_a_finalizer_is_clean_one_by_one() -> None:
    report = systematic(Trial(mended_scenario))

    assert report.is_clean
    assert report.happened["Away"] == 3


@pytest.mark.parametrize(
    ("back", "seconds", "gone"),
    [(1, 60.0, [False, False]), (2, 60.0, [True, False]), (3, 60.0, [True, True]), (3, 15.0, [True, False])],
)
def test_it_returns_after_so_many_writes_or_seconds(back: int, seconds: float, gone: list[bool]) -> None:
    found: list[bool] = []

    async def scenario(world: World) -> None:
        process = world.manager(make_mended)
        await world.settled()
        for number in range(2):
            await world.apply({**APP, "metadata": {"name": f"m{number}"}})
            await world.sleep(10)
            found.append(process.life is None)
        await world.settled()

    trial = Trial(scenario)
    assert trial.undisturbed.is_clean
    found.clear()
    assert replay(trial, Plan(0, (Away("manager", 1, back, seconds),))).is_clean
    assert found == gone
