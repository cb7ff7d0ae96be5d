from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from kinformer.client.errors import Conflict
from kinformer.clock import FakeClock
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import dump, load
from kinformer.models import V1ResourceQuota, from_dict
from kinformer_controllers.shared.quota import CREATE, Quota, Request, core_registry
from kinformer_controllers.shared.quota.admission import (
    EvaluationTimedOut,
    QuotaEvaluator,
    QuotaRefused,
    ResourceQuotaAccessor,
)
from kinformer_controllers.shared.quota.pods import PODS
from tests.controllers.objects import FakeInformers, conflict
from tests.controllers.shared.quota.serving import make_pod, make_quota, quota_server


class Accessor:
    """Quotas in memory; refuses writes that are told to be refused."""

    def __init__(self, *quotas: Quota) -> None:
        self.quotas = {quota.name: quota for quota in quotas}
        self.writes: list[str] = []
        self.reads = 0
        self.conflicts = 0
        self.gate = anyio.Event()
        self.gate.set()
        self.broken: Exception | None = None

    async def get(self, namespace: str) -> Sequence[Quota]:
        self.reads += 1
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        return list(self.quotas.values())

    async def update(self, quota: Quota) -> None:
        await anyio.lowlevel.checkpoint()
        if self.conflicts:
            self.conflicts -= 1
            raise conflict()
        self.quotas[quota.name] = quota
        self.writes.append(quota.name)


def quota(name: str = "q", pods: str = "3", used: str = "0") -> Quota:
    return Quota("ns", name, (), load({"pods": pods}), load({"pods": used}))


def create(name: str, *, dry_run: bool = False, namespace: str = "ns") -> Request:
    return Request(CREATE, PODS, namespace, name, make_pod(name), dry_run=dry_run)


@asynccontextmanager
async def evaluating(accessor: Any, **options: Any) -> AsyncIterator[QuotaEvaluator]:
    evaluator = QuotaEvaluator(accessor, core_registry(), **options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(evaluator.run)
        yield evaluator
        tasks.cancel_scope.cancel()


async def ask(evaluator: QuotaEvaluator, *requests: Request) -> list[Exception | None]:
    """Ask all at once; what each was told."""
    answers: list[Exception | None] = [None] * len(requests)

    async def one(index: int, request: Request) -> None:
        try:
            await evaluator.evaluate(request)
        except Exception as error:
            answers[index] = error

    async with anyio.create_task_group() as tasks:
        for index, request in enumerate(requests):
            tasks.start_soon(one, index, request)
    return answers


async def test_requests_of_one_namespace_are_written_together() -> None:
    accessor = Accessor(quota(), quota("other", "100"))
    async with evaluating(accessor) as evaluator:
        accessor.gate = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, evaluator, create("first"))
            await FakeClock().settle()
            assert accessor.reads == 1
            tasks.start_soon(ask, evaluator, create("a"), create("b"))
            await anyio.lowlevel.checkpoint()
            accessor.gate.set()

    assert dump(accessor.quotas["q"].used) == {"pods": "3"}
    assert sorted(accessor.writes) == ["other", "other", "q", "q"]


async def test_of_many_at_once_as_many_get_through_as_fit() -> None:
    accessor = Accessor(quota())
    async with evaluating(accessor) as evaluator:
        answers = await ask(evaluator, *(create(f"p{number}") for number in range(8)))

    assert answers.count(None) == 3
    assert all(isinstance(answer, QuotaRefused) for answer in answers if answer is not None)
    assert dump(accessor.quotas["q"].used) == {"pods": "3"}


async def test_a_write_that_meets_a_conflict_is_tried_three_times_more() -> None:
    accessor = Accessor(quota())
    async with evaluating(accessor) as evaluator:
        accessor.conflicts = 3
        assert await ask(evaluator, create("patient")) == [None]
        accessor.conflicts = 4
        [answer] = await ask(evaluator, create("unlucky"))

    assert isinstance(answer, Conflict)
    assert dump(accessor.quotas["q"].used) == {"pods": "1"}


async def test_after_a_conflict_only_what_was_not_written_is_charged_again() -> None:
    accessor = Accessor(quota("a"), quota("b"))
    async with evaluating(accessor) as evaluator:
        accessor.conflicts = 1
        assert await ask(evaluator, create("p")) == [None]

    assert accessor.writes == ["b", "a"]
    assert [dump(one.used) for one in accessor.quotas.values()] == [{"pods": "1"}, {"pods": "1"}]


async def test_a_dry_run_is_checked_and_charged_nothing() -> None:
    accessor = Accessor(quota(pods="1"))
    async with evaluating(accessor) as evaluator:
        assert await ask(evaluator, create("p", dry_run=True)) == [None]
        assert accessor.writes == []
        await ask(evaluator, create("q"))
        [answer] = await ask(evaluator, create("p", dry_run=True))

    assert isinstance(answer, QuotaRefused)


async def test_nobody_gets_through_while_quotas_cannot_be_read() -> None:
    accessor = Accessor()
    accessor.broken = OSError("away")
    async with evaluating(accessor) as evaluator:
        [answer] = await ask(evaluator, create("p"))

    assert str(answer) == "away"


async def test_a_request_that_waits_too_long_is_refused_and_charged_nothing() -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    async with evaluating(accessor, clock=clock, workers=1) as evaluator, anyio.create_task_group() as tasks:
        accessor.gate = anyio.Event()

        async def wait() -> None:
            answers = await ask(evaluator, create("p", namespace="busy"), create("late"))
            assert all(isinstance(answer, EvaluationTimedOut) for answer in answers)

        tasks.start_soon(wait)
        await clock.settle()
        assert accessor.reads == 1
        await clock.advance(10.0)
        accessor.gate.set()
        await clock.settle()
        assert not evaluator._waiting

    assert accessor.writes in ([], ["q"])


async def test_what_is_ignored_or_uses_nothing_is_let_through_unasked() -> None:
    accessor = Accessor(quota())
    async with evaluating(accessor) as evaluator:
        await evaluator.evaluate(Request(CREATE, GroupResource("", "events"), "ns", "e", {}))
        await evaluator.evaluate(Request("DELETE", PODS, "ns", "p", None))
        await evaluator.evaluate(Request(CREATE, GroupResource("example.com", "widgets"), "ns", "w", {"metadata": {}}))

    assert accessor.writes == []


async def test_requests_in_a_row_are_reckoned_from_what_was_written_and_not_from_a_cache_that_lags() -> None:
    async with quota_server(enforce=False) as (_, client):
        quotas: Any = client.resource(dict, ("", "v1", "resourcequotas"))
        created = await quotas.create(make_quota(pods="5"))
        created["status"] = {"hard": {"pods": "5"}, "used": {"pods": "0"}}
        await quotas.update_status(created)
        async with SharedInformerFactory(client) as informers:
            informer = informers.informer_for(V1ResourceQuota)
            informers.start()
            await informers.wait_for_cache_sync()
            async with evaluating(ResourceQuotaAccessor(client, informer)) as evaluator:
                for number in range(5):
                    await evaluator.evaluate(Request(CREATE, PODS, "default", f"p{number}", make_pod(f"p{number}")))
                with pytest.raises(QuotaRefused, match="used: pods=5"):
                    await evaluator.evaluate(Request(CREATE, PODS, "default", "p6", make_pod("p6")))
        assert (await quotas.get("q", "default"))["status"]["used"] == {"pods": "5"}


async def test_after_a_conflict_the_server_is_asked_rather_than_a_cache_that_lags() -> None:
    async with quota_server(enforce=False) as (_, client):
        quotas: Any = client.resource(dict, ("", "v1", "resourcequotas"))
        created = await quotas.create(make_quota(pods="5"))
        created["status"] = {"hard": {"pods": "5"}, "used": {"pods": "0"}}
        written = await quotas.update_status(created)
        silent: Any = FakeInformers().informer_for(V1ResourceQuota)
        silent._synced.set()
        silent.indexer.add(from_dict(V1ResourceQuota, written))
        written["status"]["used"]["pods"] = "3"
        await quotas.update_status(written)
        async with evaluating(ResourceQuotaAccessor(client, silent)) as evaluator:
            await evaluator.evaluate(Request(CREATE, PODS, "default", "p", make_pod("p")))
        assert (await quotas.get("q", "default"))["status"]["used"] == {"pods": "4"}
