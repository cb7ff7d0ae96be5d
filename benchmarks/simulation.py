"""The cost of simulated runs.

- seeds a second: a ReplicationController is scaled to three pods and back to none, with two faults: the manager is
  killed after a write, and an event is hidden from it;
- events a second: an informer sees a ConfigMap that is changed again and again, every five seconds of virtual time;
- memory of a world: the peak of a run, and what is left after it, by tracemalloc;
- virtual time: an hour in which a manager has no work.

All times are CPU time of this process, on one core. This does not include the time in which other processes ran, but
they slow this one down, because they share the caches and the cores. So beside each figure is the time of a loop of a
million additions, measured between the runs. On the machine of the documented figures it takes 40 ms if no other
process runs.
"""

from __future__ import annotations

import gc
import random
import statistics
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any

import anyio.to_thread

from kinformer.bench.measure import Stopwatch
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1Pod, V1ReplicationController
from kinformer.simulation import Plan, RunResult, World, run_world
from kinformer.simulation.oracles import Reference

EVENTS = 500
CONTROLLER: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"app": "web"},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web"}]},
        },
    },
}


async def up_and_down(world: World) -> None:
    world.manager("replicationcontroller")
    await world.apply(CONTROLLER)
    await world.settled()
    assert len(await world.list(V1Pod)) == 3
    await world.patch(V1ReplicationController, "web", {"spec": {"replicas": 0}})
    await world.settled()
    assert not await world.list(V1Pod)


@cache
def undisturbed() -> Reference:
    """The run without faults, with which the others are compared."""
    return checked(run_world(up_and_down)).reference


def with_two_faults(seed: int) -> RunResult:
    draw = random.Random(seed)
    kill = f"crash(manager,write={draw.randint(1, 6)},lost)"
    hide = f"hide(manager,replicationcontrollers/default/web,event={draw.randint(1, 3)})"
    plan = Plan.parse(f"seed={seed} {kill} {hide}")
    return checked(run_world(up_and_down, plan, reference=undisturbed()))


def many_events(seed: int) -> RunResult:
    def looker(context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            """Do nothing: only the events are counted."""

        return Controller("looker", sync, clock=context.clock).watch(context.informers.informer_for(V1ConfigMap))

    async def scenario(world: World) -> None:
        world.manager(looker)
        await world.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        for number in range(EVENTS):
            await world.patch(V1ConfigMap, "a", {"data": {"number": str(number)}})
            await world.sleep(5)

    return checked(run_world(scenario, Plan(seed)))


def an_hour(seed: int) -> RunResult:
    async def scenario(world: World) -> None:
        world.manager("replicationcontroller")
        await world.sleep(3600)

    return checked(run_world(scenario, Plan(seed)))


def checked(result: RunResult) -> RunResult:
    if result.error is not None:
        raise result.error
    if result.violations:
        raise AssertionError(str(result.violations[0]))
    return result


async def cost(what: str, runs: int) -> Figures:
    """The figures of the median of some runs."""
    return await anyio.to_thread.run_sync(_cost, what, runs)


def _cost(what: str, runs: int) -> Figures:
    run = _RUNS[what]
    result = run(0)  # imports modules and fills caches, which is not to be measured
    seconds, loops = [], []
    for seed in range(runs):
        watch = Stopwatch()
        result = run(seed)
        seconds.append(watch.cpu)
        loops.append(_loop())
    middle = statistics.median(seconds)
    return {
        "ms CPU/run": round(middle * 1e3, 1),
        "steps": result.steps,
        "events/CPU-s": round(sum(record.what == "event" for record in result.history) / middle),
        "virtual s/CPU-s": round(result.seconds / middle),
        "loop ms": round(statistics.median(loops) * 1e3, 1),
        **_memory(run),
    }


def _loop() -> float:
    watch, total = Stopwatch(), 0
    for number in range(1_000_000):
        total += number
    return watch.cpu


def _memory(run: Callable[[int], RunResult]) -> Figures:
    """The peak of a run, and what is left when its result is dropped and garbage is collected."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    run(1)
    _, peak = tracemalloc.get_traced_memory()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"MiB at the peak": round((peak - before) / 2**20, 1), "MiB left": round((after - before) / 2**20, 2)}


_RUNS = {
    "3 pods up and down, two faults": with_two_faults,
    "an object that changes again and again": many_events,
    "an hour without work": an_hour,
}

CASES = {
    "simulation": Case(
        "Simulated runs",
        cost,
        each("what", tuple(_RUNS), runs=20),
        each("what", tuple(_RUNS), runs=2),
        ("ms CPU/run",),
        lower_is_better=True,
    )
}
