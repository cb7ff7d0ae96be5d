"""Controllers that cannot start: what is told of them, and what it costs the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, connect
from kinformer.client.config import endpoint_from_url
from kinformer.client.impersonation import Impersonation
from kinformer.client.transport import Transport
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, ControllerNotStarted, Manager, UnknownControllerError
from kinformer.manager.rbac import manifests
from kinformer.meta import GroupVersionResource
from kinformer.models import V1ConfigMap, V1Secret
from kinformer.permissions import allow
from tests.turning import eventually, turn

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


def watching(name: str, type_: type[Any], resource: GroupVersionResource | None = None) -> Any:
    def make(context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            pass

        kind = "Widget" if resource is not None else ""
        informer = context.informers.informer_for(type_, resource, kind=kind)
        return Controller(name, sync, clock=context.clock).watch(informer)

    return make


KNOWN = {
    "configmaps": watching("configmaps", V1ConfigMap),
    "secrets": watching("secrets", V1Secret),
    "widgets": watching("widgets", dict, WIDGETS),
}


class World:
    """A server, and the client of somebody who may list nothing but ConfigMaps and widgets."""

    def __init__(self, admin: Client, client: Client, clock: FakeClock) -> None:
        self.admin = admin
        self.client = client
        self.clock = clock

    async def allow(self, name: str, *resources: str) -> None:
        group = "rbac.authorization.k8s.io"
        role = manifests({name: [allow("list watch", *resources)]})[0]
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"kinformer:{name}"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "me"}],
        }
        for plural, manifest in (("clusterroles", role), ("clusterrolebindings", binding)):
            gvr = GroupVersionResource(group, "v1", plural)
            await self.admin.resource(dict, gvr, namespaced=False).create(manifest)

    @asynccontextmanager
    async def running(self, manager: Manager) -> AsyncIterator[list[Any]]:
        with anyio.fail_after(60), capture_logs() as logs:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager.run)
                yield logs
                tasks.cancel_scope.cancel()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as admin:
        endpoint = endpoint_from_url(server.url, token=server.token)
        async with Transport(
            type(endpoint)(
                server=endpoint.server, credentials=endpoint.credentials, impersonation=Impersonation(user="me")
            ),
            clock=clock,
        ) as transport:
            world = World(admin, Client(transport), clock)
            await world.allow("some", "configmaps", "widgets.example.com")
            yield world


def started(manager: Manager, name: str) -> bool:
    controller: Any = manager.controllers[name]
    return bool(controller.has_synced)


async def test_a_missing_permission_or_kind_is_one_line_and_others_run(world: World) -> None:
    manager = Manager(world.client, known=KNOWN, clock=world.clock)
    async with world.running(manager) as logs:
        await eventually(lambda: started(manager, "configmaps") and len(manager.lacking) == 2, world.clock)

        assert not started(manager, "secrets")
        assert not started(manager, "widgets")
        told = {line["controller"]: line["lacks"] for line in logs if line["event"] == "controller_not_started"}
        assert told == manager.lacking
        assert told["secrets"].startswith("the permission to list and watch secrets (secrets is forbidden: ")
        assert told["widgets"] == "a server that serves widgets.example.com"


async def test_it_starts_once_it_can_and_reports_less_often_until_then(world: World) -> None:
    manager = Manager(world.client, known=KNOWN, controllers=["secrets"], clock=world.clock)
    async with world.running(manager) as logs:
        await eventually(lambda: manager.lacking, world.clock)
        await turn(world.clock, 100)
        told = [line for line in logs if line["event"] == "controller_not_started"]
        assert 5 <= len(told) <= 8

        await world.allow("secrets", "secrets")
        await eventually(lambda: started(manager, "secrets"), world.clock)
        assert not manager.lacking


@pytest.mark.parametrize("required", [["secrets"], ["*"]])
async def test_a_controller_that_must_start_and_cannot_ends_the_manager(world: World, required: list[str]) -> None:
    manager = Manager(
        world.client, known=KNOWN, controllers=["configmaps", "secrets"], required=required, clock=world.clock
    )
    ended: list[Exception] = []

    async def run() -> None:
        try:
            await manager.run()
        except ControllerNotStarted as error:
            ended.append(error)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await eventually(lambda: ended, world.clock)

    assert str(ended[0]).startswith(
        "controller secrets has not started: the permission to list and watch secrets (secrets is forbidden"
    )


async def test_those_that_must_start_may_do_so_while_others_cannot(world: World) -> None:
    manager = Manager(world.client, known=KNOWN, required=["configmaps"], clock=world.clock)
    async with world.running(manager):
        await eventually(lambda: started(manager, "configmaps") and len(manager.lacking) == 2, world.clock)


async def test_one_that_must_start_has_to_be_selected(world: World) -> None:
    with pytest.raises(UnknownControllerError, match="'secrets'"):
        Manager(world.client, known={}, required=["secrets"])
