"""Prints the digests of the histories of some seeds, ``python -m tests.simulation.digests FIRST LAST``, a line each."""

from __future__ import annotations

import sys

from kinformer.simulation import Faults, Plan, WorldOptions, run_world
from kinformer.simulation.faults import RATES
from tests.simulation.scenarios import one_pod

#: Everything that can go wrong, and more often than usual: the world is small.
FAULTS = Faults(**dict.fromkeys(RATES, 0.1), most=3, swarm=False)  # type: ignore[arg-type]


def digests(first: int, last: int) -> list[str]:
    """The plan as it happened and the digest, for each of the seeds."""
    lines = []
    for seed in range(first, last):
        result = run_world(one_pod, Plan(seed), faults=FAULTS, options=WorldOptions(plugins=False))
        lines.append(f"{result.history.digest()} {result.steps} {result.plan}")
    return lines


if __name__ == "__main__":
    print("\n".join(digests(int(sys.argv[1]), int(sys.argv[2]))))
