from __future__ import annotations

import pytest

from kinformer.client import ClientOptions, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.leaderelection import EventGuard, Guard, WriteRefused, guarded_client
from kinformer.models import V1ConfigMap, V1ObjectMeta


async def test_an_open_guard_passes_writes_and_a_closed_one_only_reads() -> None:
    clock = FakeClock()
    guard = Guard("kube-system/x", clock.monotonic)
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        maps = guarded_client(client, guard).resource(V1ConfigMap)
        guard.open_until(10)
        await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="one", namespace="default")))
        clock.turn(10)

        with pytest.raises(WriteRefused, match="does not hold the lease kube-system/x"):
            await maps.delete("one", "default")
        assert (await maps.get("one", "default")).metadata.name == "one"
        assert guard.refused == 1


async def test_a_waiting_write_is_not_sent_after_the_guard_has_closed() -> None:
    clock = FakeClock()
    guard = Guard("kube-system/x", clock.monotonic)
    guard.open_until(10)

    class Paused:
        """A limiter at which the process is stopped for longer than its lease."""

        async def accept(self) -> float:
            clock.turn(100)
            return 0.0

    async with ApiServer() as server, connect(url=server.url, token=server.token) as reader:
        async with connect(url=server.url, token=server.token, options=ClientOptions(rate_limiter=Paused())) as client:
            maps = guarded_client(client, guard).resource(V1ConfigMap)
            with pytest.raises(WriteRefused):
                await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="late", namespace="default")))
        assert not [m for m in (await reader.resource(V1ConfigMap).list("default")).items if m.metadata.name == "late"]


def test_events_may_be_written_until_some_seconds_after_the_release() -> None:
    clock = FakeClock()
    guard = Guard("kube-system/x", clock.monotonic)
    events = EventGuard(guard)
    assert not events.is_open

    guard.open_until(10)
    assert events.is_open
    guard.close()
    assert not events.is_open

    events.open_for(5)
    assert events.is_open
    assert not guard.is_open
    clock.turn(5)
    assert not events.is_open
