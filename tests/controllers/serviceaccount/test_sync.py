"""Every active namespace has the accounts that it is to have."""

from __future__ import annotations

import pytest

from kinformer.models import V1ObjectMeta, V1ServiceAccount
from kinformer_controllers.serviceaccount.controller import ServiceAccountController
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, already_exists, forbidden, namespace_terminating


def account(name: str = "default") -> V1ServiceAccount:
    return V1ServiceAccount(metadata=V1ObjectMeta(name=name, namespace="ns"))


class World(Cluster):
    def __init__(self, *names: str, phase: str = "Active") -> None:
        super().__init__()
        self.accounts = ServiceAccountController(
            FakeContext(self.client, self.informers, clock=self.clock), names or ("default",)
        )
        self.put_namespace("ns", phase)

    async def sync(self) -> None:
        await self.accounts.sync("ns")


async def test_a_namespace_gets_every_account_that_it_lacks() -> None:
    world = World("default", "builder")

    await world.sync()

    assert world.requests == ["create ServiceAccount ns/default", "create ServiceAccount ns/builder"]


async def test_an_account_that_is_there_is_left_alone() -> None:
    world = World("default", "builder")
    world.put(account("default"))

    await world.sync()

    assert world.requests == ["create ServiceAccount ns/builder"]


async def test_a_namespace_that_is_on_its_way_out_or_gone_gets_none() -> None:
    terminating = World(phase="Terminating")

    await terminating.sync()
    await terminating.accounts.sync("gone")

    assert not terminating.requests


@pytest.mark.parametrize("error", [already_exists(), namespace_terminating()])
async def test_an_uncached_account_and_a_deleting_namespace_are_no_errors(
    error: Exception,
) -> None:
    world = World()
    world.errors["create ServiceAccount"] = [error]

    await world.sync()

    assert len(world.requests) == 1


async def test_what_cannot_be_made_is_an_error_after_the_others_were_made() -> None:
    world = World("a", "b", "c")
    world.errors["create ServiceAccount"] = [forbidden("not you"), forbidden("nor you")]

    with pytest.raises(ExceptionGroup, match="accounts of namespace ns") as caught:
        await world.sync()

    assert len(caught.value.exceptions) == 2
    assert world.requests[-1] == "create ServiceAccount ns/c"
