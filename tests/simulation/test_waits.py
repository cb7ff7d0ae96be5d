"""gather, wait_for and as_completed of a run do what asyncio's own do, whichever Python it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kinformer.simulation import waits
from kinformer.simulation.loop import SimulatedLoop

GATHERS = [pytest.param(asyncio.gather, id="asyncio"), pytest.param(waits.gather, id="simulated")]
WAITS = [pytest.param(asyncio.wait_for, id="asyncio"), pytest.param(waits.wait_for, id="simulated")]
COMPLETED = [pytest.param(asyncio.as_completed, id="asyncio"), pytest.param(waits.as_completed, id="simulated")]


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return SimulatedLoop(1).run_and_close(main)


async def fails(after: float = 0) -> None:
    await asyncio.sleep(after)
    raise KeyError("this one")


async def done(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A task that has ended."""
    task = asyncio.create_task(coroutine)
    await asyncio.wait([task])
    return task


@pytest.mark.parametrize("gather", GATHERS)
class TestGather:
    def test_results_are_in_the_order_of_the_arguments(self, gather: Any) -> None:
        async def main() -> Any:
            early = await done(asyncio.sleep(0, "early"))
            return await gather(asyncio.sleep(2, "slow"), early, asyncio.sleep(1, "fast"), early)

        assert run(main) == ["slow", "early", "fast", "early"]

    def test_what_has_ended_before_is_known_at_once(self, gather: Any) -> None:
        async def main() -> Any:
            return await gather(await done(asyncio.sleep(0, 1)), await done(asyncio.sleep(0, 2)))

        assert run(main) == [1, 2]

    def test_of_nothing_there_is_nothing(self, gather: Any) -> None:
        async def main() -> Any:
            return await gather()

        assert run(main) == []

    def test_an_error_is_raised_whether_it_came_before_or_comes_later(self, gather: Any) -> None:
        async def main() -> None:
            before = await done(fails())
            for one in (before, fails(1)):
                with pytest.raises(KeyError, match="this one"):
                    await gather(asyncio.sleep(5), one)

        run(main)

    def test_errors_can_be_results(self, gather: Any) -> None:
        async def main() -> Any:
            return await gather(await done(fails()), fails(), asyncio.sleep(1, "well"), return_exceptions=True)

        one, other, well = run(main)
        assert isinstance(one, KeyError)
        assert isinstance(other, KeyError)
        assert well == "well"

    def test_who_was_cancelled_before_cancels_it(self, gather: Any) -> None:
        async def main() -> None:
            task = asyncio.create_task(asyncio.sleep(1))
            task.cancel()
            await asyncio.wait([task])
            with pytest.raises(asyncio.CancelledError):
                await gather(task, asyncio.sleep(1))

        run(main)

    def test_to_cancel_it_is_to_cancel_all(self, gather: Any) -> None:
        async def main() -> Any:
            tasks = [asyncio.create_task(asyncio.sleep(5)) for _ in range(2)]
            future = gather(*tasks)
            await asyncio.sleep(1)
            future.cancel()
            await asyncio.wait(tasks)
            return [task.cancelled() for task in tasks]

        assert run(main) == [True, True]


@pytest.mark.parametrize("wait_for", WAITS)
class TestWaitFor:
    def test_the_result_is_that_of_what_is_awaited(self, wait_for: Any) -> None:
        async def main() -> Any:
            return await wait_for(asyncio.sleep(1, "well"), 2), await wait_for(asyncio.sleep(1, "well"), None)

        assert run(main) == ("well", "well")

    @pytest.mark.parametrize("seconds", [1, 0, -1])
    def test_what_takes_longer_is_cancelled(self, wait_for: Any, seconds: float) -> None:
        async def main() -> bool:
            task = asyncio.create_task(asyncio.sleep(5))
            with pytest.raises(TimeoutError):
                await wait_for(task, seconds)
            return task.cancelled()

        assert run(main)

    def test_what_has_ended_needs_no_time(self, wait_for: Any) -> None:
        async def main() -> Any:
            return await wait_for(await done(asyncio.sleep(0, "well")), 0)

        assert run(main) == "well"

    def test_an_error_is_raised(self, wait_for: Any) -> None:
        async def main() -> None:
            with pytest.raises(KeyError, match="this one"):
                await wait_for(fails(1), 2)
            with pytest.raises(KeyError, match="this one"):
                await wait_for(await done(fails()), 0)

        run(main)


@pytest.mark.parametrize("as_completed", COMPLETED)
class TestAsCompleted:
    def test_results_come_in_the_order_in_which_they_are_ready(self, as_completed: Any) -> None:
        async def main() -> Any:
            return [await one for one in as_completed([asyncio.sleep(2, "slow"), asyncio.sleep(1, "fast")], timeout=3)]

        assert run(main) == ["fast", "slow"]

    def test_after_the_timeout_each_missing_result_is_an_error(self, as_completed: Any) -> None:
        async def main() -> None:
            first, *others = as_completed([asyncio.sleep(1, "fast"), asyncio.sleep(5), asyncio.sleep(6)], timeout=2)
            assert await first == "fast"
            for one in others:
                with pytest.raises(TimeoutError):
                    await one

        run(main)


async def test_awaitables_of_a_set_start_in_the_order_of_their_arguments() -> None:
    started: list[str] = []

    async def start(name: str) -> None:
        started.append(name)

    for one in waits.as_completed({start(name) for name in "hgfedcba"}):
        await one

    assert started == list("abcdefgh")
