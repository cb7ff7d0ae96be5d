"""Scenarios in which the manager is killed after one of its writes, or sees its pods late."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from kinformer.client import Client
from kinformer.client.config import endpoint_from_url
from kinformer.client.transport import BodyStream, Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario import Scenario, replay

__all__ = ("Answers", "crash_points", "play", "without_events")

#: A snapshot after the other.
Answers = list[Any]


class Line(Transport):
    """
    A connection over which so many writes are made. The answer to the last one never comes, and nothing is sent after.

    That is how it looks from the server's side when a process is killed between two writes.

    :param late: gives for how many seconds what a watch of pods says is held back
    """

    def __init__(self, server: ApiServer, writes: float, late: Callable[[], float] | None = None) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=server.clock)
        self._left = writes
        self._late = late
        self._time: Clock = server.clock
        self.blown = anyio.Event()
        #: Creates that went through, by what was created.
        self.created: list[str] = []

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        if method == "GET":
            return await super().request(method, path, **request)
        if path.endswith("/events"):
            return await super().request(method, path, **request)  # what is told of a write is no write of the world
        if self._left <= 0:
            await anyio.sleep_forever()
        self._left -= 1
        last = self._left <= 0
        try:
            answer = await super().request(method, path, **request)
            if method == "POST":
                self.created.append(path.rpartition("/")[2])
        finally:
            if last:
                self.blown.set()
                await anyio.sleep_forever()
        return answer

    async def stream(self, path: str, **request: Any) -> BodyStream:
        body = await super().stream(path, **request)
        if self._late is None or not path.endswith("/pods"):
            return body
        return Late(body, self._late, self._time)  # type: ignore[return-value]  # all of one that a watch asks for


class Late:
    """A watch's body of which each piece is held back for a while."""

    def __init__(self, body: BodyStream, late: Callable[[], float], clock: Clock) -> None:
        self._body = body
        self._late = late
        self._clock = clock

    async def read(self) -> list[Any]:
        pieces = await self._body.read()
        await self._clock.sleep(self._late())
        return pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


async def play(
    scenario: Scenario,
    controllers: Sequence[str],
    *,
    writes: float = math.inf,
    late: random.Random | None = None,
) -> tuple[Answers, bool, list[str]]:
    """
    Replay, the first manager being killed after so many writes.

    :param late: whence the delays of the watch of pods are; None for a watch that is in time
    :return: what came of it, whether it came to the crash, and what was created in all
    """
    clock, answers = scenario_clock(), Answers()

    def keep(got: Answers, _: Any) -> bool:
        answers.extend(got)
        return True

    delay = (lambda: late.uniform(0, 5)) if late is not None else None
    async with ApiServer(clock=clock) as server:
        first, second = Line(server, writes, delay), Line(server, math.inf, delay)
        successor = Manager(Client(second), controllers=list(controllers), clock=clock)

        async def managers() -> None:
            async with first, anyio.create_task_group() as tasks:
                tasks.start_soon(Manager(Client(first), controllers=list(controllers), clock=clock).run)
                await first.blown.wait()
                tasks.cancel_scope.cancel()
            async with second:
                await successor.run()

        def is_taking_over() -> bool:
            controllers: Any = successor.controllers.values()
            return first.blown.is_set() and not all(controller.has_synced for controller in controllers)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(managers)
            pace = TurnedPace(clock)
            outcome = await replay(scenario, server.url, server.token, pace=pace, is_busy=is_taking_over, same=keep)
            tasks.cancel_scope.cancel()
    assert not outcome.problem, outcome.problem
    return answers, first.blown.is_set(), sorted((*first.created, *second.created))


async def crash_points(scenario: Scenario, controllers: Sequence[str]) -> tuple[list[str], int]:
    """
    Replay with a crash after each write in turn.

    :return: what was otherwise than without a crash, and how many crashes there were
    """
    want, _, wanted = await play(scenario, controllers)
    problems: list[str] = []
    # How many writes there are differs from run to run by a status more or less: go on until none is left to crash at.
    for writes in itertools.count(1):
        got, crashed, created = await play(scenario, controllers, writes=writes)
        if got != want:
            problems.append(f"killed after {writes} writes: {got}, want {want}")
        if created != wanted:
            problems.append(f"killed after {writes} writes: {created} were created, want {wanted}")
        if not crashed:
            return problems, writes - 1
    raise AssertionError("it ends when a run comes to its end")


def without_events(scenario: Scenario) -> Scenario:
    """An Event that was not written yet is lost with the process: Kubernetes promises no more."""

    def strip(step: dict[str, Any]) -> dict[str, Any]:
        return {"snapshot": [kind for kind in step["snapshot"] if kind != "Event"]} if "snapshot" in step else step

    return Scenario(scenario.name, [strip(step) for step in scenario.steps], scenario.want, scenario.watched)
