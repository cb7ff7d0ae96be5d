"""Golden scenarios with any set of controllers, on an embedded server whose clock and theirs is turned.

Two ways: with the manager killed after so many writes and another one taking over; and with watches that are held back.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.manager import ControllerFactory, Manager, known_controllers
from tests.controllers.scenarios.transports import Fuse, HeldBack
from tests.golden.controllers import apis_for, controllers_for
from tests.golden.keys import key_flags
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.run import same_json
from tests.golden.scenario import Outcome, Scenario, replay

__all__ = ("Crash", "replay_crashed", "replay_held_back", "same_in_the_end", "what_converges")

#: Says what a scenario runs: installed controllers by name, or these.
Controllers = Sequence[str] | Mapping[str, ControllerFactory]


class Crash:
    """
    What came of a scenario whose manager was killed.

    :ivar happened: whether it came to that
    :ivar created: how many objects were created in all, by resource
    """

    def __init__(self, outcome: Outcome, first: Fuse, second: Fuse) -> None:
        self.outcome = outcome
        self.happened = first.blown.is_set()
        self.created = first.created + second.created


async def replay_crashed(
    scenario: Scenario,
    writes: float,
    controllers: Controllers | None = None,
    *,
    same: Callable[[Any, Any], bool] | None = None,
) -> Crash:
    """Replay what converges of a scenario, the manager being killed after so many writes, and another one following."""
    clock = scenario_clock()
    scenario = what_converges(scenario)
    async with _server(scenario, clock) as server:
        first, second = Fuse(server, writes), Fuse(server, math.inf)
        successor = _manager(scenario, second, clock, controllers)

        async def managers() -> None:
            async with first, anyio.create_task_group() as tasks:
                tasks.start_soon(_manager(scenario, first, clock, controllers).run)
                await first.blown.wait()
                tasks.cancel_scope.cancel()
            async with second:
                await successor.run()

        def is_taking_over() -> bool:
            return first.blown.is_set() and not all(
                getattr(controller, "has_synced", True) for controller in successor.controllers.values()
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(managers)
            outcome = await replay(
                scenario,
                server.url,
                server.token,
                pace=TurnedPace(clock),
                is_busy=is_taking_over,
                same=same or same_in_the_end,
            )
            tasks.cancel_scope.cancel()
        return Crash(outcome, first, second)


async def replay_held_back(
    scenario: Scenario, seed: int, resources: Collection[str] = ("pods",), controllers: Controllers | None = None
) -> tuple[Outcome, HeldBack]:
    """
    Replay what converges of a scenario, the events of some resources reaching the manager late, as the seed says.

    Between the steps it is waited until all was heard of: nobody can count pods that users made a moment ago.

    :param resources: whose watches are held back
    """
    clock = scenario_clock()
    scenario = what_converges(scenario)
    scenario = replace(scenario, steps=[each for step in scenario.steps for each in (step, {"settle": 0.5})])
    async with _server(scenario, clock) as server:
        transport = HeldBack(server, clock, random.Random(seed), resources)
        async with transport, anyio.create_task_group() as tasks:
            tasks.start_soon(_manager(scenario, transport, clock, controllers).run)
            outcome = await replay(
                scenario,
                server.url,
                server.token,
                pace=TurnedPace(clock),
                is_busy=transport.is_busy,
                same=same_in_the_end,
            )
            tasks.cancel_scope.cancel()
        return outcome, transport


def what_converges(scenario: Scenario) -> Scenario:
    """
    A scenario without its Events: one that was not written yet is lost with the process. Kubernetes promises no more.
    """

    def step_of(step: dict[str, Any]) -> dict[str, Any]:
        return {"snapshot": [kind for kind in step["snapshot"] if kind != "Event"]} if "snapshot" in step else step

    want = [{kind: state for kind, state in entry.items() if kind != "Event"} for entry in scenario.want]
    return replace(scenario, steps=[step_of(step) for step in scenario.steps], want=want)


def same_in_the_end(got: Any, want: Any) -> bool:
    """Whether two states are the same but for what tells how they came about, which is another way with a successor."""
    return same_json(_without_history(got), _without_history(want))


#: How often a spec was changed, and that of which the status tells.
_HISTORY = frozenset({"generation", "observedGeneration"})


def _without_history(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_history(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_history(item) for key, item in value.items() if key not in _HISTORY}


def _server(scenario: Scenario, clock: FakeClock) -> ApiServer:
    apis = apis_for(controllers_for(scenario.name, known_controllers()) or ())
    return ApiServer(clock=clock, controllers=WITHOUT_KUBELET, apis=apis)


def _manager(
    scenario: Scenario,
    transport: Any,
    clock: FakeClock,
    controllers: Controllers | None,
) -> Manager:
    if isinstance(controllers, Mapping):
        return Manager(Client(transport), known=controllers, clock=clock)
    names = controllers if controllers is not None else controllers_for(scenario.name, known_controllers()) or ()
    return Manager(
        Client(transport), controllers=names, flags=key_flags(), clock=clock, beside_kube_controller_manager=True
    )
