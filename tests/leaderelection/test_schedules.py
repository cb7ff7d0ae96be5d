"""Many things going wrong with several managers at once, by seeds: one writes at a time, and what is asked for is done.

What goes wrong in processes and connections is drawn by the simulator. The scenario adds what has no place in a plan:
processes that are terminated, renewals that hang, clocks that are set or run too fast.
"""

from __future__ import annotations

import random
from dataclasses import replace

from kinformer.simulation import Faults, World, simulate
from kinformer.simulation.network import NetworkOptions
from kinformer.simulation.process import Process
from tests.leaderelection.worlds import OPTIONS, Candidates
from tests.simulation.ledger import CHECKS

TODO = 40
# Answers and events are late, and not by so much that a cache is behind for longer than a new leader waits for it.
SLOW = replace(OPTIONS, network=NetworkOptions(latency=(0.0002, 0.5)))
FAULTS = Faults.only(
    crash=0.01,
    pause=0.02,
    partition=0.02,
    jump=0.01,
    cut=0.02,
    refuse=0.005,
    restart_server=0.005,
    most=8,
    swarm=True,
)


def something_happens_to(process: Process) -> None:
    """What no plan has a word for."""
    match random.choice(("terminate", "calls hang", "answers hang", "time", "rate")):
        case "terminate":
            process.terminate()
        case "calls hang":
            process.lose_lease(random.uniform(0.1, 30))
        case "answers hang":
            process.lose_lease(random.uniform(0.1, 30), "answers")
        case "time":
            process.clock.skew = random.uniform(-1e6, 1e6)
        case "rate":
            process.clock.rate = random.uniform(0.95, 1.05)


@simulate(seeds=2, faults=FAULTS, checks=CHECKS, options=SLOW)
async def test_at_no_time_do_two_write_and_in_the_end_one_does(world: World) -> None:
    candidates = Candidates(world)
    processes = [candidates.start(name, restart_after=1.0) for name in "abc"]
    await candidates.ledger.open(TODO)
    for _ in range(4):
        await world.sleep(random.uniform(5, 15))
        leading = [process for process in processes if process.leads]
        something_happens_to(random.choice(leading if leading and random.random() < 0.6 else processes))
    await world.settled()
