from __future__ import annotations

import copy
from typing import Any

import pytest

from kinformer.client.errors import Conflict
from kinformer.clock import FakeClock
from kinformer.manager import SyncError
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import load
from kinformer.models import V1ResourceQuota, from_dict
from kinformer_controllers.resourcequota.recount import Recounter
from kinformer_controllers.shared.quota import Evaluator
from kinformer_controllers.shared.quota.evaluator import UsageStats, UsageStatsOptions
from kinformer_controllers.shared.quota.registry import Registry
from tests.controllers.objects import conflict


class Quotas:
    """Where statuses are written."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.errors: list[Exception] = []

    async def update_status(self, quota: V1ResourceQuota) -> V1ResourceQuota:
        if self.errors:
            raise self.errors.pop()
        self.written.append((quota.status.hard, quota.status.used))
        stored = copy.deepcopy(quota)
        stored.metadata.resource_version = "11"
        return stored


class Counts(Evaluator):
    """Has counted something, at some version."""

    def __init__(self, version: str = "", *, also: str = "", **used: str) -> None:
        super().__init__(GroupResource("", "things"), [*used, also], lambda _: {})
        self.used, self.version = load(used), version
        self.broken = bool(also)
        self.asked = 0

    async def usage_stats(self, options: UsageStatsOptions) -> UsageStats:
        self.asked += 1
        if self.broken:
            raise OSError("no list")
        return UsageStats(self.used, self.version)


def quota(spec: dict[str, str], hard: dict[str, str] | None = None, used: dict[str, str] | None = None) -> Any:
    status = {} if hard is None else {"hard": hard, "used": used}
    metadata = {"name": "q", "namespace": "ns", "resourceVersion": "10"}
    return from_dict(V1ResourceQuota, {"metadata": metadata, "spec": {"hard": spec}, "status": status})


async def recount(obj: Any, cached: Counts, live: Counts | None = None) -> tuple[Any, Quotas]:
    quotas: Any = Quotas()
    recounter = Recounter(quotas, Registry([cached]), Registry([live]) if live is not None else None)
    return await recounter.recount(obj), quotas


async def test_a_new_quota_gets_limits_and_usage_and_is_checked_again() -> None:
    fresh, quotas = await recount(quota({"pods": "5"}), Counts(pods="2", cpu="9"))

    assert fresh
    assert quotas.written == [({"pods": "5"}, {"pods": "2"})]


async def test_nothing_is_written_that_says_the_same_in_other_words() -> None:
    known = quota({"cpu": "1"}, {"cpu": "1000m"}, {"cpu": "0.5"})

    fresh, quotas = await recount(known, Counts(cpu="500m"))

    assert not fresh
    assert quotas.written == []


@pytest.mark.parametrize(
    "known",
    [
        quota({}),
        quota({}, {}, {}),
        from_dict(V1ResourceQuota, {"metadata": {"name": "q", "namespace": "ns"}, "spec": {}}),
        from_dict(V1ResourceQuota, {"metadata": {"name": "q", "namespace": "ns"}}),
        quota({"unheard-of": "5"}, {"unheard-of": "5"}),
    ],
    ids=["nothing", "nothing in the status either", "no limits", "no spec", "nothing that is counted"],
)
async def test_a_quota_without_countable_limits_is_not_written_repeatedly(known: Any) -> None:
    again, quotas = await recount(known, Counts(pods="2"))

    assert not again
    assert quotas.written == []


async def test_the_last_limit_that_goes_leaves_the_status() -> None:
    again, quotas = await recount(quota({}, {"pods": "5"}, {"pods": "2"}), Counts(pods="2"))

    assert not again
    assert quotas.written == [({}, {})]


async def test_what_is_limited_no_more_leaves_the_status() -> None:
    known = quota({"pods": "5"}, {"pods": "5", "cpu": "1"}, {"pods": "2", "cpu": "1"})

    fresh, quotas = await recount(known, Counts(pods="2", cpu="1"))

    assert not fresh
    assert quotas.written == [({"pods": "5"}, {"pods": "2"})]


async def test_an_uncountable_resource_keeps_its_value_and_others_are_written() -> None:
    known = quota({"pods": "5", "cpu": "1"}, {"pods": "5", "cpu": "1"}, {"pods": "2", "cpu": "1"})
    quotas: Any = Quotas()
    broken = Counts(also="cpu")
    good = Counts(pods="3")
    good.group_resource = GroupResource("", "others")
    recounter = Recounter(quotas, Registry([broken, good]), None)

    with pytest.raises(SyncError, match="quota ns/q: counting things in ns: no list"):
        await recounter.recount(known)

    assert quotas.written == [({"pods": "5", "cpu": "1"}, {"pods": "3", "cpu": "1"})]


async def test_a_lower_usage_is_believed_from_a_newer_cache() -> None:
    live = Counts(pods="7")

    _, quotas = await recount(quota({"pods": "9"}, {"pods": "9"}, {"pods": "5"}), Counts("11", pods="4"), live)

    assert quotas.written == [({"pods": "9"}, {"pods": "4"})]
    assert live.asked == 0


@pytest.mark.parametrize("version", ["9", "10", "", "what"])
async def test_a_lower_usage_is_checked_on_the_server_for_older_caches(version: str) -> None:
    known = quota({"pods": "9"}, {"pods": "9"}, {"pods": "5"})

    _, quotas = await recount(known, Counts(version, pods="4"), Counts(pods="5"))

    assert quotas.written == []


async def test_more_than_was_charged_is_believed_at_once() -> None:
    live = Counts(pods="4")

    _, quotas = await recount(quota({"pods": "9"}, {"pods": "9"}, {"pods": "5"}), Counts("9", pods="6"), live)

    assert quotas.written == [({"pods": "9"}, {"pods": "6"})]
    assert live.asked == 0


async def test_a_limit_that_is_no_quantity_is_named() -> None:
    with pytest.raises(SyncError, match="quota ns/q: 'many' is not a quantity"):
        await recount(quota({"pods": "many"}), Counts(pods="2"))


async def test_a_charge_that_came_between_is_not_overwritten() -> None:
    quotas: Any = Quotas()
    quotas.errors = [conflict()]

    with pytest.raises(Conflict):
        await Recounter(quotas, Registry([Counts(pods="2")]), None).recount(quota({"pods": "5"}))


def at_version(obj: Any, version: str, uid: str = "") -> Any:
    other = copy.deepcopy(obj)
    other.metadata.resource_version, other.metadata.uid = version, uid or other.metadata.uid
    return other


async def test_a_quota_is_behind_until_the_cache_shows_what_was_written() -> None:
    known = quota({"pods": "5"})
    recounter = Recounter(Quotas(), Registry([Counts(pods="2")]), None)  # type: ignore[arg-type]

    assert not recounter.is_behind(known)
    await recounter.recount(known)

    assert recounter.is_behind(known)
    assert not recounter.is_behind(at_version(known, "11"))
    assert not recounter.is_behind(known), "what was once shown is waited for again"


async def test_another_quota_of_the_same_name_is_not_behind() -> None:
    known = quota({"pods": "5"})
    recounter = Recounter(Quotas(), Registry([Counts(pods="2")]), None)  # type: ignore[arg-type]
    await recounter.recount(known)

    assert not recounter.is_behind(at_version(known, "9", uid="another"))


async def test_a_cache_that_never_shows_it_is_believed_after_a_while() -> None:
    clock, known = FakeClock(), quota({"pods": "5"})
    recounter = Recounter(Quotas(), Registry([Counts(pods="2")]), None, clock=clock)  # type: ignore[arg-type]
    await recounter.recount(known)

    clock.turn(29)
    assert recounter.is_behind(known)
    clock.turn(2)
    assert not recounter.is_behind(known)


async def test_a_quota_that_is_gone_is_waited_for_no_more() -> None:
    known = quota({"pods": "5"})
    recounter = Recounter(Quotas(), Registry([Counts(pods="2")]), None)  # type: ignore[arg-type]
    await recounter.recount(known)

    recounter.forget("ns/q")

    assert not recounter.is_behind(known)
