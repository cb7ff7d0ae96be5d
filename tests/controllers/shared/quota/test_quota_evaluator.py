from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
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
from kinformer_controllers.shared.quota import CREATE, Request, core_registry
from kinformer_controllers.shared.quota.admission import (
    EvaluationTimedOut,
    Holder,
    NoRoom,
    QuotaEvaluator,
    QuotaRefused,
    ResourceQuotaAccessor,
)
from kinformer_controllers.shared.quota.admission.evaluator import SPARE, TIMEOUT
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.pods import PODS
from tests.controllers.objects import FakeInformers, conflict
from tests.controllers.shared.quota.serving import make_pod, make_quota, quota_server
from tests.turning import eventually


class Accessor:
    """Quotas in memory; refuses writes that are told to be refused."""

    longest_pause = 0.5

    def __init__(self, *quotas: Quota) -> None:
        self.quotas = {quota.name: quota for quota in quotas}
        self.writes: list[str] = []
        self.reads = 0
        self.conflicts = 0
        self.gate = anyio.Event()
        self.gate.set()
        self.writing = anyio.Event()
        self.writing.set()
        self.refusal: Exception | None = None
        self.broken: Exception | None = None
        self.pauses: dict[str, float] = {}
        self.patience: list[float] = []
        self.their_turn_ends = anyio.Event()

    async def get(self, namespace: str) -> Sequence[Quota]:
        self.reads += 1
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        return list(self.quotas.values())

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        return True

    def pause(self, quota: Quota, patience: float, waiting: int) -> float:
        self.patience.append(patience)
        return self.pauses.get(quota.name, 0.0)

    async def wait(self, seconds: float) -> None:
        await self.their_turn_ends.wait()

    async def update(self, quota: Quota) -> None:
        await anyio.lowlevel.checkpoint()
        await self.writing.wait()
        if self.conflicts:
            self.conflicts -= 1
            raise self.refusal or conflict()
        self.quotas[quota.name] = quota
        self.writes.append(quota.name)


class Notes:
    """Reservations: who has charged, and who has taken it back."""

    def __init__(self) -> None:
        self.reserved: list[Holder] = []
        self.withdrawn: list[Holder] = []
        self.full = False
        self.charged: set[str] = set()

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        yield

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        return quota.name in self.charged

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        if self.full:
            raise NoRoom("full")
        holder.kept = "noted"
        self.reserved.append(holder)

    def withdraw(self, holder: Holder) -> None:
        self.withdrawn.append(holder)


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


async def test_a_conflicting_write_is_retried_until_the_time_is_nearly_over() -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    async with evaluating(accessor, clock=clock, random=lambda: 0.5) as evaluator, anyio.create_task_group() as tasks:
        accessor.conflicts = 12
        answers: list[Exception | None] = []

        async def patient() -> None:
            answers.extend(await ask(evaluator, create("patient")))

        tasks.start_soon(patient)
        await clock.advance(TIMEOUT - SPARE)
        assert answers == [None]
        accessor.conflicts = 10_000
        began = clock.monotonic()
        unlucky = anyio.Event()

        async def ask_in_vain() -> None:
            answers.extend(await ask(evaluator, create("unlucky")))
            unlucky.set()

        tasks.start_soon(ask_in_vain)
        while not unlucky.is_set():
            await clock.advance(0.01)
        assert isinstance(answers[-1], Conflict)
        assert TIMEOUT - SPARE - 1 < clock.monotonic() - began < TIMEOUT

    assert dump(accessor.quotas["q"].used) == {"pods": "1"}


async def test_a_request_that_has_less_time_is_refused_while_others_go_on() -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    answers: dict[str, Exception | None] = {}
    async with evaluating(accessor, clock=clock, random=lambda: 1.0) as evaluator, anyio.create_task_group() as tasks:
        accessor.conflicts = 10_000

        async def one(name: str, seconds: float) -> None:
            try:
                await evaluator.evaluate(create(name), seconds)
            except Exception as error:
                answers[name] = error
            else:
                answers[name] = None

        tasks.start_soon(one, "hasty", 1.0)
        tasks.start_soon(one, "patient", 5.0)
        await clock.advance(1.0)
        assert isinstance(answers.pop("hasty"), Conflict)
        assert answers == {}
        accessor.conflicts = 0
        await clock.advance(1.0)

    assert answers == {"patient": None}
    assert dump(accessor.quotas["q"].used) == {"pods": "1"}


async def test_a_failure_other_than_conflict_is_retried_three_times() -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    async with evaluating(accessor, clock=clock) as evaluator:
        for failures in (3, 4):
            accessor.conflicts, accessor.refusal = failures, OSError("away")
            answers: list[Exception | None] = []

            async def one(into: list[Exception | None] = answers) -> None:
                into.extend(await ask(evaluator, create("p")))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one)
                await clock.advance(1.0)
            assert [type(answer) for answer in answers] == [type(None) if failures == 3 else OSError]


@asynccontextmanager
async def several_evaluators(
    rng: random.Random, hard: str, count: int = 4
) -> AsyncIterator[tuple[Any, list[QuotaEvaluator], Any]]:
    """Evaluators of one quota, each with its own cache, as the API servers of a cluster; quotas, and the client."""
    async with quota_server(enforce=False) as (_, client), anyio.create_task_group() as tasks:
        quotas: Any = client.resource(dict, ("", "v1", "resourcequotas"))
        created = await quotas.create(make_quota(pods=hard))
        created["status"] = {"hard": {"pods": hard}, "used": {"pods": "0"}}
        await quotas.update_status(created)
        evaluators = []
        for _ in range(count):
            informers = SharedInformerFactory(client, clock=client.clock)
            accessor = ResourceQuotaAccessor(client, informers.informer_for(V1ResourceQuota))
            evaluator = QuotaEvaluator(accessor, core_registry(), clock=client.clock, random=rng.random)
            tasks.start_soon(informers.run)
            tasks.start_soon(evaluator.run)
            evaluators.append(evaluator)
        yield client, evaluators, quotas
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("seed", range(3))
async def test_several_evaluators_of_one_quota_let_through_all_that_fit(seed: int) -> None:
    rng = random.Random(seed)
    refused: list[Exception] = []
    async with several_evaluators(rng, "60") as (client, evaluators, quotas), anyio.create_task_group() as tasks:
        answered = 0

        async def one(number: int) -> None:
            nonlocal answered
            await client.clock.sleep(rng.random())
            name = f"p{number}"
            try:
                await evaluators[number % 4].evaluate(Request(CREATE, PODS, "default", name, make_pod(name)))
            except Exception as error:
                refused.append(error)
            answered += 1

        for number in range(60):
            tasks.start_soon(one, number)
        await eventually(lambda: answered == 60, client.clock)
        assert (await quotas.get("q", "default"))["status"]["used"] == {"pods": "60"}

    assert refused == []


@pytest.mark.parametrize("seed", range(4))
async def test_several_evaluators_whose_callers_go_away_admit_no_more_than_is_charged(seed: int) -> None:
    rng = random.Random(seed)
    admitted, ended = 0, 0
    refused: list[Exception] = []
    async with several_evaluators(rng, "20") as (client, evaluators, quotas), anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            nonlocal admitted, ended
            await client.clock.sleep(rng.randrange(20) * 0.001)
            name = f"p{number}"
            with anyio.CancelScope() as scope:
                timer = client.clock.call_later(rng.choice([0.0, 0.002, 0.01, 60.0, 60.0]), scope.cancel)
                try:
                    await evaluators[number % 4].evaluate(Request(CREATE, PODS, "default", name, make_pod(name)))
                    admitted += 1
                except Exception as error:
                    refused.append(error)
                finally:
                    timer.cancel()
            ended += 1

        for number in range(80):
            tasks.start_soon(one, number)
        await eventually(lambda: ended == 80, client.clock)
        used = int((await quotas.get("q", "default"))["status"]["used"]["pods"])

    assert 0 < admitted <= used <= 20
    assert all(isinstance(error, QuotaRefused) for error in refused)


@pytest.mark.parametrize("moment", ["before its turn", "while quotas are read", "between two tries"])
async def test_a_request_whose_caller_has_gone_is_not_charged(moment: str) -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    async with evaluating(accessor, clock=clock, workers=1) as evaluator, anyio.create_task_group() as tasks:
        if moment == "between two tries":
            accessor.conflicts = 1
        else:
            accessor.gate = anyio.Event()
        scope = anyio.CancelScope()

        async def call(request: Request) -> None:
            with scope:
                await evaluator.evaluate(request)

        if moment == "before its turn":
            tasks.start_soon(evaluator.evaluate, create("first"))
            await clock.settle()
        tasks.start_soon(call, create("gone"))
        await clock.settle()
        tasks.start_soon(evaluator.evaluate, create("last"))
        await clock.settle()
        scope.cancel()
        accessor.gate.set()
        await clock.advance(1.0)

    assert dump(accessor.quotas["q"].used) == {"pods": "2" if moment == "before its turn" else "1"}


async def test_a_reservation_is_withdrawn_if_its_caller_goes_meanwhile() -> None:
    clock, accessor, notes = FakeClock(), Accessor(quota()), Notes()
    async with evaluating(accessor, clock=clock, reservations=notes) as evaluator, anyio.create_task_group() as tasks:
        accessor.writing = anyio.Event()
        scope = anyio.CancelScope()

        async def call() -> None:
            with scope:
                await evaluator.evaluate(create("gone"))

        tasks.start_soon(call)
        await clock.settle()
        assert (len(notes.reserved), notes.withdrawn) == (1, [])
        scope.cancel()
        await clock.settle()
        accessor.writing.set()
        await clock.settle()

    assert notes.withdrawn == notes.reserved


async def test_a_write_beyond_everybodys_patience_is_dropped_for_the_next() -> None:
    clock, accessor, notes = FakeClock(), Accessor(quota()), Notes()
    async with evaluating(accessor, clock=clock, reservations=notes, workers=1) as evaluator:
        accessor.writing = anyio.Event()
        answers: list[Exception | None] = []

        async def one() -> None:
            answers.extend(await ask(evaluator, create("slow")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            await clock.advance(TIMEOUT)
        assert isinstance(answers[0], EvaluationTimedOut)
        assert notes.withdrawn == notes.reserved
        accessor.writing.set()
        assert await ask(evaluator, create("next")) == [None]


async def test_after_a_conflict_only_what_was_not_written_is_charged_again() -> None:
    accessor = Accessor(quota("a"), quota("b"))
    async with evaluating(accessor) as evaluator:
        accessor.conflicts = 1
        assert await ask(evaluator, create("p")) == [None]

    assert accessor.writes == ["b", "a"]
    assert [dump(one.used) for one in accessor.quotas.values()] == [{"pods": "1"}, {"pods": "1"}]


async def test_what_was_written_though_the_answer_was_lost_is_not_charged_again() -> None:
    clock, accessor, notes = FakeClock(), Accessor(quota()), Notes()
    async with evaluating(accessor, clock=clock, reservations=notes) as evaluator, anyio.create_task_group() as tasks:
        accessor.conflicts, accessor.refusal = 1, OSError("the connection was cut")
        answers: list[Exception | None] = []

        async def one() -> None:
            answers.extend(await ask(evaluator, create("p")))

        tasks.start_soon(one)
        await clock.settle()
        notes.charged = {"q"}
        await clock.advance(1.0)

    assert (answers, accessor.writes, len(notes.reserved)) == ([None], [], 1)


async def test_a_request_without_room_for_its_note_waits_nearly_its_time() -> None:
    clock, accessor, notes = FakeClock(), Accessor(quota()), Notes()
    answers: list[Exception | None] = []

    async def one(evaluator: QuotaEvaluator) -> None:
        answers.extend(await ask(evaluator, create("p")))

    async with evaluating(accessor, clock=clock, reservations=notes) as evaluator, anyio.create_task_group() as tasks:
        notes.full = True
        tasks.start_soon(one, evaluator)
        await clock.advance(TIMEOUT)
        tasks.start_soon(one, evaluator)
        await clock.advance(1.0)
        notes.full = False
        await clock.advance(1.0)

    assert [type(answer) for answer in answers] == [NoRoom, type(None)]
    assert accessor.writes == ["q"]


async def test_nobody_is_refused_by_what_a_cache_tells_late() -> None:
    accessor = Accessor(quota(used="3"))
    looked_at: list[list[str]] = []

    async def is_current(quotas: Sequence[Quota]) -> bool:
        looked_at.append([one.name for one in quotas])
        accessor.quotas["q"] = quota(used="1")
        return len(looked_at) > 1

    accessor.is_current = is_current  # type: ignore[method-assign]
    async with evaluating(accessor) as evaluator:
        answers = await ask(evaluator, *(create(f"p{number}") for number in range(3)))

    assert (answers.count(None), looked_at) == (2, [["q"]])


async def test_who_comes_while_a_write_meets_conflicts_is_written_with_the_others() -> None:
    clock, accessor = FakeClock(), Accessor(quota())
    async with (
        evaluating(accessor, clock=clock, random=lambda: 0.5) as evaluator,
        anyio.create_task_group() as tasks,
    ):
        accessor.conflicts = 1
        tasks.start_soon(ask, evaluator, create("first"))
        await clock.settle()
        tasks.start_soon(ask, evaluator, create("second"))
        await clock.advance(1.0)

    assert accessor.writes == ["q"]
    assert dump(accessor.quotas["q"].used) == {"pods": "2"}


async def test_a_request_during_others_turn_is_written_with_those_waiting() -> None:
    clock, accessor, notes = FakeClock(), Accessor(quota()), Notes()
    accessor.pauses["q"] = 0.1
    async with (
        evaluating(accessor, clock=clock, reservations=notes) as evaluator,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ask, evaluator, create("first"))
        await clock.advance(TIMEOUT / 4)
        tasks.start_soon(ask, evaluator, create("second"))
        await clock.settle()
        assert (accessor.writes, notes.reserved) == ([], [])
        accessor.pauses.clear()
        accessor.their_turn_ends.set()

    assert (accessor.writes, len(notes.reserved)) == (["q"], 2)
    assert accessor.patience == [1.0, 0.75]


async def test_a_request_at_its_turn_does_not_wait_for_another_quota() -> None:
    clock = FakeClock()
    accessor = Accessor(
        replace(quota("theirs"), selects=_named("theirs")), replace(quota("mine"), selects=_named("mine"))
    )
    accessor.pauses["theirs"] = 0.1
    async with evaluating(accessor, clock=clock) as evaluator, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, evaluator, create("theirs"), create("mine"))
        await clock.settle()
        assert accessor.writes == ["mine"]
        accessor.pauses.clear()
        accessor.their_turn_ends.set()

    assert accessor.writes == ["mine", "theirs"]


def _named(name: str) -> Callable[[str, Any], bool]:
    return lambda _, pod: bool(pod["metadata"]["name"] == name)


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


async def test_successive_requests_count_from_the_write_and_not_the_cache() -> None:
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


async def test_after_a_conflict_the_server_is_asked_and_not_the_cache() -> None:
    async with quota_server(enforce=False) as (_, client):
        quotas: Any = client.resource(dict, ("", "v1", "resourcequotas"))
        created = await quotas.create(make_quota(pods="5"))
        created["status"] = {"hard": {"pods": "5"}, "used": {"pods": "0"}}
        written = await quotas.update_status(created)
        silent: Any = FakeInformers().informer_for(V1ResourceQuota)
        silent._synced.sync()
        silent.indexer.add(from_dict(V1ResourceQuota, written))
        written["status"]["used"]["pods"] = "3"
        await quotas.update_status(written)
        async with evaluating(ResourceQuotaAccessor(client, silent)) as evaluator:
            await evaluator.evaluate(Request(CREATE, PODS, "default", "p", make_pod("p")))
        assert (await quotas.get("q", "default"))["status"]["used"] == {"pods": "4"}
