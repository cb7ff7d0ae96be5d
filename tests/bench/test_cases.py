"""Each benchmark once, so small that it says nothing but that it runs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.bench.cases import CASES
from kinformer.bench.informing import MODES
from kinformer.bench.pods import SIZES

SMALL: dict[str, list[dict[str, Any]]] = {
    "raw": [{"objects": 50, "events": 100}],
    "throughput": [
        *({"mode": mode, "objects": 50, "events": 100} for mode in MODES),
        *({**run, "objects": 50, "events": 100} for run in CASES["throughput"].runs if "setting" in run),
    ],
    "stages": [{"until": run["until"], "objects": 50, "events": 100} for run in CASES["stages"].runs],
    "versions": [{"mode": run["mode"], "objects": 50, "events": 100} for run in CASES["versions"].runs],
    "touch": [
        {"mode": "typed, a field of spec and one of status read", "objects": 50},
        {"mode": "typed, metadata read", "objects": 200, "cache": "compressed"},
    ],
    "sync": [
        {"mode": "typed, metadata read", "objects": 50},
        {"mode": "dicts, metadata read", "objects": 50, "way": "pages"},
    ],
    "sizes": [{"size": size, "mode": "typed, metadata read", "objects": 50, "events": 100} for size in SIZES],
    "hour": [{"mode": "typed, metadata read", "objects": 50, "rounds": 2}],
    "fresh": [{"gib": 0.001}],
    "memory": [
        {"mode": "dicts, metadata read", "objects": 50},
        {"mode": "typed, metadata read", "objects": 200, "pods": "no two alike", "cache": "compressed"},
    ],
    "fanout": [{"handlers": 10, "objects": 50, "events": 100}],
    "readers": [{"handlers": 5, "objects": 50, "events": 100}],
    "adding": [{"handlers": 10}],
    "indexes": [{"count": 5, "objects": 50, "events": 100}],
    "growth": [{"objects": 50, "events": 100}],
    "latency": [{"rate": 1_000, "objects": 50, "seconds": 0.1}],
    "slow": [{"objects": 50, "events": 100}],
    "loop": [{"during": during, "objects": 50, "events": 100} for during in ("sync", "flood")],
    "warm": [{"objects": 50}],
    "takeover": [{"how": run["how"], "objects": 50} for run in CASES["takeover"].runs],
    "workqueue": [{"operation": run["operation"], "count": 200} for run in CASES["workqueue"].runs],
}
RUNS = [pytest.param(name, run, id="-".join([name, *map(str, run.values())])) for name in SMALL for run in SMALL[name]]


def test_every_benchmark_is_tried() -> None:
    assert SMALL.keys() == CASES.keys()


@pytest.mark.parametrize(("name", "run"), RUNS)
async def test_a_benchmark_gives_the_figures_that_its_chart_shows(name: str, run: dict[str, Any]) -> None:
    case = CASES[name]
    with anyio.fail_after(60):
        figures = await case.measure(**run)

    assert set(case.chart) <= figures.keys()
    # What so few objects take in memory can be anything.
    assert all(isinstance(figures[figure], int | float) for figure in case.chart), figures


@pytest.mark.parametrize("name", CASES)
def test_small_and_large_runs_are_told_apart_by_the_same_argument(name: str) -> None:
    case = CASES[name]

    assert {next(iter(run), None) for run in case.runs} <= {*(next(iter(run), None) for run in case.quick), None}
