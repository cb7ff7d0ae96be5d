"""What controllers do while the server is gone: keys that failed for it are synced at once when it is back."""

from __future__ import annotations

import anyio
from structlog.testing import capture_logs

from kinformer.client import OutageOptions, Reachability, ServerUnreachable
from kinformer.clock import FakeClock
from kinformer.manager import Controller


async def test_keys_that_failed_in_an_outage_are_synced_when_it_ends() -> None:
    clock = FakeClock()
    reachability = Reachability("http://h", _no_probe, clock, OutageOptions(probe_interval=0))
    gone = ServerUnreachable("http://h", "refused")
    gone.reachability = reachability
    synced: list[tuple[str, float]] = []

    async def sync(key: str) -> None:
        if not reachability.is_up:
            raise gone
        synced.append((key, clock.monotonic()))

    controller = Controller("test", sync, clock=clock)
    reachability.lost(gone)
    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(controller.run)
            controller.queue.add("a")
            controller.queue.add("b")
            # Long enough for the next try of both to be minutes away.
            await clock.advance(600)
            began = clock.monotonic()
            reachability.found()
            await clock.advance(1)

            assert sorted(key for key, _ in synced) == ["a", "b"]
            assert max(at for _, at in synced) <= began + 1
            assert controller.queue.num_requeues("a") == 0
            tasks.cancel_scope.cancel()
    assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []


async def _no_probe() -> None:
    raise AssertionError("nobody waits here")
