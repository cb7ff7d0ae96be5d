from __future__ import annotations

from typing import Any

from controllers.quota import GenericEvaluator, Registry, UsageStats, UsageStatsOptions, calculate_usage
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import dump, load


class Fixed(GenericEvaluator):
    """Says what it was told to, or raises it."""

    def __init__(self, name: str, used: dict[str, str] | Exception, *also: str) -> None:
        names = [*used, *also] if isinstance(used, dict) else also
        super().__init__(GroupResource("", name), names, lambda _: {})
        self.used = used
        self.asked: list[UsageStatsOptions] = []

    async def usage_stats(self, options: UsageStatsOptions) -> UsageStats:
        self.asked.append(options)
        if isinstance(self.used, Exception):
            raise self.used
        return UsageStats(load(self.used), "5")


async def calculate(hard: Any, *evaluators: Fixed) -> Any:
    return await calculate_usage("ns", (), hard, Registry(evaluators))


async def test_only_what_the_quota_limits_is_told_and_only_who_measures_it_is_asked() -> None:
    pods, services = Fixed("pods", {"pods": "3", "cpu": "7"}), Fixed("services", {"services": "1"})

    usage = await calculate(["cpu", "unheard.of"], pods, services)

    assert dump(usage.used) == {"cpu": "7"}
    assert pods.asked[0].resources == ["cpu"]
    assert services.asked == []
    assert usage.versions == {"cpu": "5"}


async def test_what_two_evaluators_measure_adds_up() -> None:
    usage = await calculate(["cpu"], Fixed("pods", {"cpu": "1"}), Fixed("claims", {"cpu": "250m"}))

    assert dump(usage.used) == {"cpu": "1250m"}


async def test_an_evaluator_that_fails_takes_out_its_own_names_and_no_others() -> None:
    broken = Fixed("pods", OSError("no list"), "pods", "cpu")

    usage = await calculate(["cpu", "pods", "services"], broken, Fixed("services", {"services": "2"}))

    assert dump(usage.used) == {"services": "2"}
    assert [str(error) for error in usage.errors] == ["no list"]
