"""A role that is made of others has their rules, each once, in a fixed order."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager, SyncError
from kinformer.models import V1ClusterRole, from_dict
from kinformer_controllers.clusterroleaggregation.controller import AggregationController
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeInformers, forbidden
from tests.turning import eventually

HAMMER, CHISEL, SAW = ({"apiGroups": [""], "resources": [it], "verbs": ["get"]} for it in ("hammer", "chisel", "saw"))


def role(name: str, *rules: dict[str, Any], labels: dict[str, str] | None = None, of: Any = None) -> V1ClusterRole:
    fields: dict[str, Any] = {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}
    if of is not None:
        fields["aggregationRule"] = {"clusterRoleSelectors": of}
    return from_dict(V1ClusterRole, fields)


def labelled(value: str) -> dict[str, Any]:
    return {"matchLabels": {"foo": value}}


class World(Cluster):
    def __init__(self, *roles: V1ClusterRole) -> None:
        super().__init__()
        self.applied: list[Any] = []
        self.apply_errors: list[Exception] = []
        self.client.resource = lambda _: self
        self.informers = FakeInformers()
        self.aggregation = AggregationController(FakeContext(self.client, self.informers, clock=self.clock))
        for each in roles:
            self.cache(each)

    async def apply(self, body: Any, *, field_manager: str, force: bool) -> None:
        assert (field_manager, force) == ("clusterrole-aggregation-controller", True)
        if self.apply_errors:
            raise self.apply_errors.pop(0)
        self.applied.append(body)


@pytest.mark.parametrize(
    ("roles", "rules"),
    [
        pytest.param([role("combined", HAMMER, of=[labelled("bar")])], [], id="remove dead rules"),
        pytest.param(
            [role("combined", HAMMER, CHISEL, of=[labelled("bar")]), role("hammer", HAMMER, labels={"foo": "bar"})],
            [HAMMER],
            id="strip rules",
        ),
        pytest.param(
            [
                role("combined", of=[labelled("bar")]),
                role("hammer", HAMMER, labels={"foo": "bar"}),
                role("chisel", CHISEL, labels={"foo": "bar"}),
                role("saw", SAW, labels={"foo": "not-bar"}),
            ],
            [CHISEL, HAMMER],
            id="select properly and put in order",
        ),
        pytest.param(
            [
                role("combined", of=[labelled("b"), labelled("a")]),
                role("hammer", HAMMER, labels={"foo": "a"}),
                role("saw", SAW, labels={"foo": "b"}),
            ],
            [SAW, HAMMER],
            id="select properly with multiple selectors",
        ),
        pytest.param(
            [
                role("combined", of=[labelled("bar")]),
                role("chisel", CHISEL, labels={"foo": "bar"}),
                role("other-chisel", CHISEL, labels={"foo": "bar"}),
            ],
            [CHISEL],
            id="select properly remove duplicates",
        ),
        pytest.param(
            [
                role("combined", CHISEL, of=[labelled("bar")], labels={"foo": "bar"}),
                role("chisel", CHISEL, labels={"foo": "bar"}),
            ],
            None,
            id="no diff skip",
        ),
    ],
)
async def test_a_role_gets_the_rules_of_those_that_its_selectors_find(
    roles: list[V1ClusterRole], rules: list[dict[str, Any]] | None
) -> None:
    world = World(*roles)

    await world.aggregation.sync("combined")

    assert [body.get("rules", []) for body in world.applied] == ([] if rules is None else [rules])


async def test_a_role_that_collects_nothing_gives_up_its_rules_only() -> None:
    # As applyClusterRoles() with no rules: server-side apply then removes what this manager owns, and nothing else.
    world = World(role("combined", HAMMER, of=[labelled("bar")]))

    await world.aggregation.sync("combined")

    [body] = world.applied
    assert "rules" not in body


async def test_other_roles_and_roles_that_are_gone_are_left_alone() -> None:
    world = World(role("plain", HAMMER))

    await world.aggregation.sync("plain")
    await world.aggregation.sync("gone")

    assert not world.applied


async def test_an_unreadable_selector_and_a_refusal_are_errors() -> None:
    unreadable = World(role("combined", of=[{"matchExpressions": [{"key": "a", "operator": "Near"}]}]))
    refused = World(role("combined", HAMMER, of=[labelled("bar")]))
    refused.apply_errors = [forbidden()]

    with pytest.raises(SyncError, match="ClusterRole combined"):
        await unreadable.aggregation.sync("combined")
    with pytest.raises(type(forbidden())):
        await refused.aggregation.sync("combined")


async def test_a_role_follows_the_roles_that_it_is_made_of() -> None:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        roles = client.resource(V1ClusterRole)
        await roles.create(role("combined", of=[labelled("bar")]))
        manager = Manager(client, known={"aggregation": AggregationController}, clock=clock)

        async def rules() -> list[str]:
            found = await roles.get("combined")
            return [rule.resources[0] for rule in found.rules or () if rule.resources]

        async def has(*names: str) -> bool:
            return await rules() == list(names)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await roles.create(role("hammer", HAMMER, labels={"foo": "bar"}))
            await eventually(lambda: has("hammer"), clock)
            await roles.create(role("chisel", CHISEL, labels={"foo": "bar"}))
            await eventually(lambda: has("chisel", "hammer"), clock)
            await roles.delete("hammer")
            await eventually(lambda: has("chisel"), clock)
            tasks.cancel_scope.cancel()
