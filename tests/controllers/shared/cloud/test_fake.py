"""The fake cloud does what a test tells it, and what scenarios were recorded with."""

from __future__ import annotations

import anyio
import pytest

from kinformer.clock import FakeClock
from kinformer_controllers.shared.cloud.fake import FakeCloud
from kinformer_controllers.shared.cloud.interface import Route
from tests.controllers.servicelb.test_sync import node, service
from tests.turning import turn


async def test_load_balancers_have_the_address_of_the_documentation_and_are_forgotten_when_told() -> None:
    cloud = FakeCloud()
    status = await cloud.ensure_load_balancer("c", service(), [node("n")])

    assert [ingress.ip for ingress in status.ingress or ()] == ["192.0.2.7"]
    assert await cloud.get_load_balancer("c", service()) == status
    assert cloud.calls == {"ensure_load_balancer": 1, "get_load_balancer": 1}
    cloud.forget()
    assert await cloud.get_load_balancer("c", service()) is None


async def test_routes_are_there_at_once() -> None:
    cloud = FakeCloud()
    await cloud.create_route("c", "uid", Route("", "n", "10.0.0.0/24"))

    (route,) = await cloud.list_routes("c")
    assert (route.target_node, route.destination_cidr) == ("n", "10.0.0.0/24")
    await cloud.delete_route("c", route)
    assert not await cloud.list_routes("c")


@pytest.mark.parametrize(
    ("name", "exists", "off"), [("a", True, False), ("a-gone", False, False), ("a-off", True, True)]
)
async def test_names_say_what_became_of_an_instance(name: str, exists: bool, off: bool) -> None:
    cloud = FakeCloud()

    assert await cloud.instance_exists(node(name)) == exists
    assert await cloud.instance_shutdown(node(name)) == off


async def test_it_is_slow_and_fails_when_told() -> None:
    clock = FakeClock()
    cloud = FakeCloud(clock)
    cloud.seconds = 5.0
    cloud.errors["list_routes"] = [OSError("down")]
    failed: list[BaseException] = []

    async def ask() -> None:
        try:
            await cloud.list_routes("c")
        except OSError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await turn(clock, 4.0)
        assert not failed
        await turn(clock, 1.0)
    assert str(failed[0]) == "down"
