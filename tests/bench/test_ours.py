"""The benchmarks that only a checkout has: they can be run, by the same names and arguments."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from benchmarks import quota_webhook
from benchmarks.__main__ import all_cases, changed, main
from kinformer.bench import cases
from kinformer.bench.results import BenchError
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
        ("compression", {"pods": 200}),
    ],
)
async def test_a_benchmark_without_a_server_gives_what_its_chart_shows(name: str, sizes: dict[str, int]) -> None:
    case = changed(all_cases()[name], sizes)

    figures = await case.measure(**case.quick[0])

    assert set(case.chart) <= figures.keys()


def test_the_benchmarks_of_users_are_not_among_them() -> None:
    assert not all_cases().keys() & cases.CASES.keys()


@pytest.mark.parametrize("options", [[], ["--profile"]])
def test_an_unknown_name_is_an_error_that_lists_all_names(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "job", *options])

    assert main() == 1

    assert capsys.readouterr().err == f"benchmarks: there is no benchmark 'job'; there are {', '.join(all_cases())}\n"


async def test_a_quota_that_stays_empty_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quotas:
        async def get(self, name: str) -> dict[str, Any]:
            return {"metadata": {"name": name}}

    monkeypatch.setattr(quota_webhook, "SETTLED", 0.0)

    with pytest.raises(BenchError, match="used is None, 0 reserved"):
        await quota_webhook.until_status(lambda status: "used" in status, Quotas())


def test_a_setting_of_another_type_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "jobs", "--set", "completions=x"])

    assert main() == 1
    assert capsys.readouterr().err == "benchmarks: --set completions=x: want a value like 1000\n"
