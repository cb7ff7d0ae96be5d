"""The end of a manager: in order, and on a clock that is turned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, WrappedTransport, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1Lease, V1ObjectMeta
from kinformer.record import NORMAL
from tests.turning import eventually, quiet, turn


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(clock: FakeClock) -> AsyncIterator[Client]:
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        yield client


class Slow:
    """A controller whose syncs end when they are told to, and record an Event then."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.gate = anyio.Event()
        self.notes: list[str] = []

    def make(self, context: ControllerContext) -> Controller:
        configmaps = context.informers.informer_for(V1ConfigMap)
        recorder = context.recorder("slow")

        async def sync(key: str) -> None:
            self.began.set()
            try:
                await self.gate.wait()
                self.notes.append(f"synced {key}")
            except BaseException:
                self.notes.append(f"cancelled {key}")
                raise
            finally:
                recorder.event(configmaps.indexer.get_by_key(key), NORMAL, "Seen", "It is here")

        return Controller("slow", sync, clock=context.clock).watch(configmaps)


async def create(client: Client, name: str) -> None:
    await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default")))


async def seen(client: Client) -> list[str]:
    return [event.reason or "" for event in (await client.resource(CoreV1Event).list("default")).items]


async def test_a_stopped_manager_waits_for_its_syncs_and_their_events(client: Client, clock: FakeClock) -> None:
    slow = Slow()
    manager = Manager(client, known={"slow": slow.make}, clock=clock)
    with anyio.fail_after(60), capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await create(client, "one")
            await eventually(slow.began.is_set, clock)
            async with anyio.create_task_group() as stopping:
                stopping.start_soon(manager.stop, 30.0)
                await quiet()
                await create(client, "two")
                await turn(clock, 29)
                slow.gate.set()
        # run() has returned by itself.

    assert slow.notes == ["synced default/one"]
    assert await seen(client) == ["Seen"]
    told = [line["event"] for line in logs if line["log_level"] == "info"]
    assert told.index("manager_stopping") < told.index("controller_stopped") < told.index("manager_stopped")
    assert "controller_ended" not in [line["event"] for line in logs]


async def test_a_sync_beyond_the_grace_is_cancelled_and_its_event_written(client: Client, clock: FakeClock) -> None:
    slow = Slow()
    manager = Manager(client, known={"slow": slow.make}, clock=clock)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await create(client, "one")
            await eventually(slow.began.is_set, clock)
            async with anyio.create_task_group() as stopping:
                stopping.start_soon(manager.stop)  # 30 seconds, as a pod has
                await quiet()
                await turn(clock, 30)

    assert slow.notes == ["cancelled default/one"]
    assert await seen(client) == ["Seen"]


async def test_what_is_cancelled_ends_at_once(client: Client, clock: FakeClock) -> None:
    slow = Slow()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Manager(client, known={"slow": slow.make}, clock=clock).run)
            await create(client, "one")
            await eventually(slow.began.is_set, clock)
            tasks.cancel_scope.cancel()

    assert slow.notes == ["cancelled default/one"]


async def test_the_lease_is_released_after_the_last_sync_before_events(client: Client, clock: FakeClock) -> None:
    slow = Slow()
    leases = client.resource(V1Lease)

    async def holder() -> str:
        return (await leases.get("kinformer-manager", "kube-system")).spec.holder_identity or ""

    class Late(WrappedTransport):
        """Writes the controller's Events only after the Lease is nobody's."""

        async def request(self, method: str, path: str, **request: Any) -> Any:
            while path.endswith("/default/events") and await holder():  # noqa: ASYNC110  # a Lease has no event
                await anyio.sleep(0.01)
            return await self._transport.request(method, path, **request)

    election = LeaderElection(identity="me")
    manager = Manager(client.through(Late), known={"slow": slow.make}, clock=clock, leader_election=election)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await create(client, "one")
            await eventually(slow.began.is_set, clock)
            async with anyio.create_task_group() as stopping:
                stopping.start_soon(manager.stop, 30.0)
                await quiet()
                assert await holder() == "me"
                slow.gate.set()

    assert slow.notes == ["synced default/one"]
    assert await seen(client) == ["Seen"]
    assert await holder() == ""


async def test_who_stands_by_stops_at_once(client: Client, clock: FakeClock) -> None:
    leader, follower = (
        Manager(client, known={"slow": Slow().make}, clock=clock, leader_election=LeaderElection(identity=name))
        for name in ("leader", "follower")
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leader.run)
            await eventually(lambda: leader.election and leader.election.leads, clock)
            async with anyio.create_task_group() as standing_by:
                standing_by.start_soon(follower.run)
                await quiet()
                await follower.stop()
            assert leader.election
            assert leader.election.leads
            await leader.stop()


async def test_a_manager_may_be_stopped_twice_before_and_after_its_run(client: Client, clock: FakeClock) -> None:
    stopped_before = Manager(client, known={"slow": Slow().make}, clock=clock)
    await stopped_before.stop()
    with anyio.fail_after(60):
        await stopped_before.run()
        await stopped_before.stop()

        manager = Manager(client, known={"slow": Slow().make}, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await quiet()
            async with anyio.create_task_group() as stopping:
                stopping.start_soon(manager.stop)
                stopping.start_soon(manager.stop)
        await manager.stop()


async def test_what_is_no_controller_is_cancelled_when_the_others_are_drained(client: Client, clock: FakeClock) -> None:
    slow = Slow()
    ended = anyio.Event()

    class Looping:
        async def run(self) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                assert slow.notes
                ended.set()

    known: dict[str, Any] = {"slow": slow.make, "looping": lambda _: Looping()}
    manager = Manager(client, known=known, clock=clock)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await create(client, "one")
            await eventually(slow.began.is_set, clock)
            async with anyio.create_task_group() as stopping:
                stopping.start_soon(manager.stop)
                await quiet()
                slow.gate.set()

    assert ended.is_set()
