"""The manager dies after each of its writes in turn, and a new one takes over: what settles is the same."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.client import Client
from kinformer.client.config import endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario import Outcome, Scenario, replay

SCENARIOS = Path(__file__).parents[2] / "golden" / "scenarios"

CONTROLLER = "replicationcontroller"


class Fuse(Transport):
    """
    A connection over which so many writes are made. The answer to the last one never comes, and nothing is sent after.

    That is how it looks from the server's side when a process is killed between two writes.
    """

    def __init__(self, server: ApiServer, writes: float) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=server.clock)
        self._left = writes
        self.blown = anyio.Event()
        #: POSTs of pods that went through.
        self.pods_made = 0

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        if method == "GET":
            return await super().request(method, path, **request)
        if self._left <= 0:
            await anyio.sleep_forever()
        self._left -= 1
        last = self._left <= 0
        try:
            answer = await super().request(method, path, **request)
            self.pods_made += method == "POST" and path.endswith("/pods")
        finally:
            if last:
                self.blown.set()
                await anyio.sleep_forever()
        return answer


async def replay_with_a_crash(scenario: Scenario, writes: int) -> tuple[Outcome, bool, int]:
    """
    Replay, the first manager being killed after so many writes.

    :return: what came of it, whether it came to the crash, and how many pods were made in all
    """
    clock = scenario_clock()
    async with ApiServer(clock=clock) as server:
        first, second = Fuse(server, writes), Fuse(server, math.inf)
        successor = Manager(Client(second), controllers=[CONTROLLER], clock=clock)
        controller: Any = successor.controllers[CONTROLLER]

        async def managers() -> None:
            async with first, anyio.create_task_group() as tasks:
                tasks.start_soon(Manager(Client(first), controllers=[CONTROLLER], clock=clock).run)
                await first.blown.wait()
                tasks.cancel_scope.cancel()
            async with second:
                await successor.run()

        def is_taking_over() -> bool:
            return first.blown.is_set() and not controller.has_synced

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(managers)
            outcome = await replay(
                without_events(scenario), server.url, server.token, pace=TurnedPace(clock), is_busy=is_taking_over
            )
            tasks.cancel_scope.cancel()
        return outcome, first.blown.is_set(), first.pods_made + second.pods_made


def without_events(scenario: Scenario) -> Scenario:
    """An event that was not written yet is lost with the process: Kubernetes promises no more."""

    def strip(step: dict[str, Any]) -> dict[str, Any]:
        return {"snapshot": [kind for kind in step["snapshot"] if kind != "Event"]} if "snapshot" in step else step

    want = [{kind: state for kind, state in entry.items() if kind != "Event"} for entry in scenario.want]
    return Scenario(scenario.name, [strip(step) for step in scenario.steps], want)


@pytest.mark.parametrize(
    ("name", "pods"), [("rc_create", 3), ("rc_scale_up_down", 5), ("rc_adopt", 1), ("rc_release", 3)]
)
async def test_a_crash_between_any_two_writes_changes_nothing_and_makes_no_pod_too_many(name: str, pods: int) -> None:
    scenario = Scenario.read(SCENARIOS / f"{name}.json")
    problems: list[str] = []
    crashes = 0

    # How many writes there are differs from run to run by a status more or less: go on until none is left to crash at.
    for writes in itertools.count(1):
        outcome, crashed, made = await replay_with_a_crash(scenario, writes)
        crashes += crashed
        if outcome.problem:
            problems.append(f"killed after {writes} writes: {outcome.problem}")
        if made != pods:
            problems.append(f"killed after {writes} writes: {made} pods were made, want {pods}")
        if not crashed:
            break

    assert not problems, "\n".join(problems)
    assert crashes >= pods
