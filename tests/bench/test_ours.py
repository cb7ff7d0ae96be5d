"""The benchmarks that only a checkout has: they can be run, by the same names and arguments."""

from __future__ import annotations

import inspect

import pytest

from benchmarks.__main__ import all_cases, changed
from kinformer.bench.runner import address_of, function_at


def test_each_run_has_arguments_that_its_function_takes() -> None:
    for name, case in all_cases().items():
        assert function_at(address_of(case.measure)) is case.measure, name
        for arguments in (*case.runs, *case.quick):
            inspect.signature(case.measure).bind(**arguments)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("jobs", {"completions": 20, "parallelism": 10}),
        ("nodes-pass", {"nodes": 5}),
        ("evictions", {"pods": 5}),
        ("garbage-updates", {"count": 10_000}),
    ],
)
async def test_a_benchmark_without_a_server_gives_what_its_chart_shows(name: str, sizes: dict[str, int]) -> None:
    case = changed(all_cases()[name], sizes)

    figures = await case.measure(**case.quick[0])

    assert set(case.chart) <= figures.keys()
