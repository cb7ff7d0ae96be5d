"""Golden scenarios with one of the endpoint controllers; once as they are, once with its manager killed on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from kinformer.client import Client, connect
from kinformer.client.config import endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerFactory, Manager
from kinformer_controllers.shared.services.service import TRIGGER_TIME_ANNOTATION
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.run import same_json
from tests.golden.scenario import Outcome, Scenario, replay

__all__ = ("SCENARIOS", "replay_scenario", "replay_with_crashes")

SCENARIOS = Path(__file__).parents[3] / "golden" / "scenarios"


async def replay_scenario(file: Path, known: Mapping[str, ControllerFactory]) -> Outcome:
    clock = scenario_clock()
    async with (
        # Its own time goes on by itself: only then it marks a pod before it removes it, and that is seen.
        ApiServer() as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(Manager(client, known=known, clock=clock).run)
        outcome = await replay(Scenario.read(file), server.url, server.token, pace=TurnedPace(clock))
        tasks.cancel_scope.cancel()
    return outcome


class Fuse(Transport):
    """A connection over which so many writes are made. The last one is never answered, and nothing is sent after."""

    def __init__(self, server: ApiServer, writes: float, clock: Clock) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=clock)
        self._left = writes
        self.blown = anyio.Event()

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        if method == "GET":
            return await super().request(method, path, **request)
        if self._left <= 0:
            await anyio.sleep_forever()
        self._left -= 1
        last = self._left <= 0
        try:
            return await super().request(method, path, **request)
        finally:
            if last:
                self.blown.set()
                await anyio.sleep_forever()


async def replay_with_crashes(file: Path, known: Mapping[str, ControllerFactory]) -> tuple[list[str], int]:
    """
    Replay a scenario again and again, the manager being killed after one write more each time.

    :return: what differed, and how often it came to the crash
    """
    scenario = _of_what_converges(Scenario.read(file))
    problems: list[str] = []
    crashes = tried = 0
    while crashes == tried:
        tried += 1
        outcome, crashed = await _replay_with_a_crash(scenario, known, tried)
        crashes += crashed
        if outcome.problem:
            problems.append(f"killed after {tried} writes: {outcome.problem}")
    return problems, crashes


async def _replay_with_a_crash(
    scenario: Scenario, known: Mapping[str, ControllerFactory], writes: int
) -> tuple[Outcome, bool]:
    clock = scenario_clock()
    async with ApiServer() as server:
        first, second = Fuse(server, writes, clock), Fuse(server, math.inf, clock)
        successor = Manager(Client(second), known=known, clock=clock)
        [controller] = successor.controllers.values()

        async def managers() -> None:
            async with first, anyio.create_task_group() as tasks:
                tasks.start_soon(Manager(Client(first), known=known, clock=clock).run)
                await first.blown.wait()
                tasks.cancel_scope.cancel()
            async with second:
                await successor.run()

        def is_taking_over() -> bool:
            return first.blown.is_set() and not getattr(controller, "has_synced", True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(managers)
            outcome = await replay(
                scenario,
                server.url,
                server.token,
                pace=TurnedPace(clock),
                is_busy=is_taking_over,
                same=_same_in_the_end,
            )
            tasks.cancel_scope.cancel()
        return outcome, first.blown.is_set()


def _of_what_converges(scenario: Scenario) -> Scenario:
    """Without Events: those that were not written yet are lost with the process. Kubernetes promises no more."""

    def step_of(step: dict[str, Any]) -> dict[str, Any]:
        return {"snapshot": [kind for kind in step["snapshot"] if kind != "Event"]} if "snapshot" in step else step

    want = [{kind: state for kind, state in entry.items() if kind != "Event"} for entry in scenario.want]
    return Scenario(scenario.name, [step_of(step) for step in scenario.steps], want)


def _same_in_the_end(got: Any, want: Any) -> bool:
    """Trigger times and generations tell how a state came about: with whoever takes over, in another way."""
    return same_json(_without_history(got), _without_history(want))


def _without_history(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_history(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_history(item)
        for key, item in value.items()
        if key != "generation" and not (key == "annotations" and set(item) == {TRIGGER_TIME_ANNOTATION})
    }
