"""``python -m tests.controllers.garbagecollector``: many more random lives than the tests have time for."""

from __future__ import annotations

import argparse
import sys

import anyio
import structlog

from tests.controllers.garbagecollector.lives import live


def main() -> int:
    """Live them one after the other, and tell the seeds of those that went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many lives")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    wrong = collected = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        life = anyio.run(live, seed)
        collected += life.collected
        if life.problems:
            wrong += 1
            print(f"seed {seed}: {'; '.join(life.problems)}", flush=True)
    print(f"{arguments.seeds} lives, {collected} objects collected, {wrong} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
