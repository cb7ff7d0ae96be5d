from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kinformer.client import Client
from kinformer.envtest import Budget, eventually, running
from kinformer.manager import Controller, ControllerContext, Manager
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret


def make_controller(context: ControllerContext) -> Controller:
    """Reads each config map once, writes it twice, and lists the secrets of the cluster."""
    maps = context.client.resource(V1ConfigMap)
    secrets = context.informers.informer_for(V1Secret)

    async def sync(key: str) -> None:
        found = await maps.get("a", "default")
        if not found.data:
            for number in ("1", "2"):
                await maps.patch("a", {"data": {"n": number}}, "default")

    return Controller("dear", sync).watch(context.informers.informer_for(V1ConfigMap)).wait_for(secrets)


@pytest.fixture
async def spent(kinformer_client: Client) -> Budget:
    """What it has cost to bring one config map to where it should be, with two secrets in the cluster."""
    client, budget = kinformer_client, Budget()
    for name in "xy":
        await client.resource(V1Secret).create(V1Secret(metadata=V1ObjectMeta(name=name, namespace="default")))
    manager = Manager(budget.client(client), known={"dear": make_controller})
    budget.watch(manager)
    async with running(manager):
        await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default")))

        async def is_done() -> bool:
            return (await client.resource(V1ConfigMap).get("a", "default")).data == {"n": "2"}

        await eventually(is_done)
    return budget


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            {"requests": 3, "writes": 2, "objects": {"configmaps": 1, "secrets": 2}, "object_bytes": {"secrets": 9999}},
            "",
        ),
        (
            {"requests": 2},
            r"^a sync of default/a by dear made 3 requests, the budget is 2: GET \S+/a, PATCH \S+/a \(2 times\)$",
        ),
        ({"writes": 1}, "made 2 writes, the budget is 1: PATCH"),
        ({"objects": {"configmaps": 1}}, "^the informer of secrets held 2 objects, the budget is 0$"),
        ({"object_bytes": {"secrets": 10}}, "an object of secrets has .* bytes on average, the budget is 10"),
        (
            {"objects": {"pods": 1, "configmaps": 1, "secrets": 2}},
            "there is no informer of pods: want one of configmaps",
        ),
    ],
    ids=["enough", "requests", "writes", "objects", "bytes", "misspelt"],
)
async def test_what_costs_more_than_its_budget_is_named(spent: Budget, limits: Mapping[str, Any], said: str) -> None:
    if not said:
        spent.check(**limits)
        return
    with pytest.raises(AssertionError, match=said):
        spent.check(**limits)


async def test_a_budget_that_measured_nothing_fails(kinformer_client: Client) -> None:
    with pytest.raises(AssertionError, match=r"nothing was measured: call budget\.watch\(manager\)"):
        Budget().check(requests=1)
    budget = Budget()
    budget.watch(Manager(kinformer_client, known={"dear": make_controller}))
    with pytest.raises(AssertionError, match=r"make the manager with budget\.client\(client\)"):
        budget.check(requests=1)
