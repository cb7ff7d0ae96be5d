"""Planted bugs of kinds that no public bug here has, each with a mended twin: one fault finds the bug.

A controller makes a Secret for each ConfigMap with the label ``app``, and deletes it with the ConfigMap by a finalizer.
One broken form removes the finalizer before it deletes the Secret. The other one swallows errors, and so does not try
again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from kinformer.client import AlreadyExists, ClientError, NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from kinformer.simulation import World
from kinformer.simulation.explore import systematic
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP, controller_of_apps

FINALIZER = "example.com/secret"


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

    async def do(app: V1ConfigMap) -> None:
        name = app.metadata.name
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
    [("lets_go_first", "crash", "crash(manager,write=3)"), ("swallows_errors", "cut", "cut(manager,request=5)")],
)
def test_a_planted_bug_is_found_by_one_fault_and_its_twin_clean(bug: str, kind: str, found: str) -> None:
    (failure,) = systematic(Trial(partial(scenario, factory=partial(make, **{bug: True}))), kinds=[kind]).failures

    assert str(failure.found.deviations[0]) == found
    assert systematic(Trial(partial(scenario, factory=make)), kinds=[kind]).is_clean
