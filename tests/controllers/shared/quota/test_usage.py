from __future__ import annotations

from typing import Any

from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import dump, load
from kinformer.models import V1ConfigMap
from kinformer_controllers.shared.quota import Evaluator, calculate_usage, core_registry
from kinformer_controllers.shared.quota.evaluator import UsageStats, UsageStatsOptions
from kinformer_controllers.shared.quota.limits import scopes_of
from kinformer_controllers.shared.quota.registry import ALWAYS_THERE, MODELS, Registry, client_sources
from kinformer_controllers.shared.quota.sources import CacheNotReady, InformerSource, ObjectSource
from tests.controllers.shared.quota.serving import make_pod, quota_server


class Fixed(Evaluator):
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


async def test_only_limited_resources_are_told_by_only_their_evaluators() -> None:
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


async def test_what_is_stored_is_counted_by_asking_the_server_or_an_informer() -> None:
    hard = ["pods", "requests.cpu", "configmaps", "count/services", "persistentvolumeclaims", "secrets"]
    async with quota_server(enforce=False) as (_, client), SharedInformerFactory(client) as informers:
        pods: Any = client.resource(dict, ("", "v1", "pods"))
        for name in ("a", "b"):
            await pods.create(make_pod(name, cpu="1500m"))
        await client.resource(V1ConfigMap).create(V1ConfigMap(metadata={"name": "c", "namespace": "default"}))
        asked = client_sources(client)

        def cached(resource: GroupResource) -> ObjectSource:
            if resource not in ALWAYS_THERE:
                return asked(resource)
            return InformerSource(informers.informer_for(MODELS[resource]))

        asking, caching = core_registry(asked), core_registry(cached)
        want = {"pods": "2", "requests.cpu": "3", "configmaps": "1", "count/services": "0"}
        want |= {"persistentvolumeclaims": "0", "secrets": "0"}

        assert dump((await calculate_usage("default", (), hard, asking)).used) == want

        early = await calculate_usage("default", (), hard, caching)
        assert early.used == {}
        assert {type(error) for error in early.errors} == {CacheNotReady}
        informers.start()
        await informers.wait_for_cache_sync()
        usage = await calculate_usage("default", (), hard, caching)
        assert dump(usage.used) == want
        assert int(usage.versions["pods"]) > 0
        assert (await calculate_usage("default", scopes_of(["Terminating"]), hard, caching)).used["pods"].sign == 0
