from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.client import Resource
from kinformer.manager import LeaderElection
from kinformer.manager.inspection import Answer, Snapshot, explain, search
from kinformer.manager.inspection.rates import Rates
from kinformer.manager.inspection.views import ControllerView, InformerView, QueueView
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1ResourceQuota, V1ResourceQuotaSpec, V1ResourceQuotaStatus
from tests.manager.inspection.worlds import World, world
from tests.turning import eventually, quiet, turn


def informer(snapshot: Snapshot, name: str) -> InformerView:
    return next(it for it in snapshot.informers if it.name == name)


def queue(snapshot: Snapshot, name: str) -> QueueView:
    return next(it for it in snapshot.queues if it.name == name)


def controller(snapshot: Snapshot, name: str) -> ControllerView:
    return next(it for it in snapshot.controllers if it.name == name)


async def look(here: World) -> Snapshot:
    """What there is to see once the last snapshot does not serve any more."""
    await turn(here.clock, 0.5)
    return here.manager.inspector.snapshot()


async def test_informers_are_shown_with_what_they_hold() -> None:
    async with world() as here:
        await here.create("a")
        await here.create("b")
        await here.until_synced("a", "b")
        seen = informer(await look(here), "configmaps")

    assert (seen.state, seen.objects, seen.api_version, seen.kind) == ("following", 2, "v1", "V1ConfigMap")
    assert seen.bytes is not None
    assert 600 < seen.bytes < 2000
    assert seen.version.isdecimal()
    assert (seen.relists, seen.failing_seconds, seen.waiting) == (0, 0.0, 0)


async def test_an_informer_that_was_not_started_says_so() -> None:
    async with world(runs=False) as here:
        seen = informer(here.manager.inspector.snapshot(), "configmaps")

    assert (seen.state, seen.objects, seen.bytes, seen.heard_seconds) == ("not started", 0, 0, None)


async def test_a_list_after_the_first_one_is_a_relist() -> None:
    async with world() as here:
        watched = here.manager.context.informers.informer_for(V1ConfigMap)
        assert watched.lists == 1
        # All that it remembered of changes is gone: only a list can go on.
        await here.server.restart(keep_data=False)
        await eventually(lambda: watched.lists == 2, here.clock)

        assert informer(await look(here), "configmaps").relists == 1


async def test_events_a_second_are_those_of_the_last_ten() -> None:
    async with world() as here:
        for second in range(20):
            await here.create(f"c{second}")
            await here.until_synced(f"c{second}")
            here.manager.inspector.snapshot()
            await turn(here.clock, 1)
        # A little less than one: the time that each took to be synced comes on top.
        assert informer(await look(here), "configmaps").events_per_second == pytest.approx(0.9, abs=0.11)

        for _ in range(12):
            await look(here)
            await look(here)
        assert informer(await look(here), "configmaps").events_per_second == 0


def test_a_rate_needs_something_to_compare_with() -> None:
    rates = Rates()
    assert rates.per_second("a", 5, 1.0) is None
    rates.read(1.0, {"a": 5})
    assert rates.per_second("a", 5, 1.0) is None
    assert rates.per_second("b", 5, 3.0) is None
    assert rates.per_second("a", 9, 3.0) == 2.0


async def test_queues_are_shown_with_what_waits_in_them() -> None:
    async with world() as here:
        here.takes.update({"default/a": 30.0, "default/b": 30.0})
        for name in ("a", "b", "c"):  # two workers
            await here.create(name)
        await eventually(lambda: len(here.controller.queue) == 1, here.clock, 5)
        await turn(here.clock, 7)
        seen = queue(await look(here), "printer")

    assert (seen.depth, seen.delayed, seen.retries, seen.latency_median) == (1, 0, 0, None)
    assert 7 <= seen.oldest_seconds <= 13


async def test_latency_is_how_long_keys_lay_in_the_queue() -> None:
    async with world() as here:
        here.takes.update({"default/a": 4.0, "default/b": 4.0})
        for name in ("a", "b", "c"):
            await here.create(name)
        await here.until_synced("a", "b", "c")
        seen = queue(await look(here), "printer")

    assert seen.latency_median is not None
    assert seen.latency_99 is not None
    assert (seen.latency_median, seen.latency_99 > 3) == (0.0, True)


async def test_a_queue_with_a_name_of_its_own_is_shown_with_both() -> None:
    async with world() as here:
        seen = queue(await look(here), "counts")

    assert seen.controller == "counter"


async def test_a_failing_key_is_shown_with_its_error_and_next_try() -> None:
    async with world() as here:
        here.refuse["default/bad"] = "no room"
        await here.create("bad")
        await here.create("good")
        await here.until_synced("bad", "good")
        await turn(here.clock, 30)
        snapshot = await look(here)
        seen = controller(snapshot, "printer")

    assert [key.key for key in seen.failed] == ["default/bad"]
    assert (seen.failed[0].error, seen.failing) == ("no room", 1)
    assert seen.failed[0].due_seconds is not None
    assert seen.errors > 5
    assert queue(snapshot, "printer").delayed == 1


async def test_the_slowest_keys_are_shown_the_slowest_first() -> None:
    async with world() as here:
        here.takes.update({"default/a": 2.0, "default/b": 9.0})
        for name in ("a", "b", "c"):
            await here.create(name)
        await here.until_synced("a", "b", "c")
        seen = controller(await look(here), "printer")

        await here.client.resource(V1ConfigMap).delete("a", "default")
        indexer = here.manager.context.informers.informer_for(V1ConfigMap).indexer
        await eventually(lambda: indexer.get_by_key("default/a") is None, here.clock)
        left = controller(await look(here), "printer")

    assert [key.key for key in seen.slowest[:2]] == ["default/b", "default/a"]
    assert seen.slowest[0].seconds == pytest.approx(9.0, abs=0.1)
    assert (seen.state, seen.workers) == ("running", 2)
    assert [key.key for key in left.slowest] == ["default/b", "default/c"]


async def test_a_sync_under_way_is_shown_with_how_long_it_has_been() -> None:
    async with world() as here:
        here.takes["default/a"] = 100.0
        await here.create("a")
        await eventually(lambda: here.controller.history.active, here.clock, 5)
        await turn(here.clock, 20)
        seen = controller(await look(here), "printer")

    assert seen.running == 1
    assert 20 <= seen.longest_seconds < 26


def quota(**used: str) -> V1ResourceQuota:
    hard = {"pods": "10", "requests.cpu": "2"}
    return V1ResourceQuota(
        metadata=V1ObjectMeta(name="q", namespace="default"),
        spec=V1ResourceQuotaSpec(hard=hard),
        status=V1ResourceQuotaStatus(hard=hard, used=used),
    )


async def test_quotas_are_shown_the_fullest_limit_first() -> None:
    async with world() as here:
        quotas: Resource[V1ResourceQuota] = here.client.resource(V1ResourceQuota)
        made = await quotas.create(quota())
        made.status = quota(**{"pods": "3", "requests.cpu": "1500m"}).status
        await quotas.update_status(made)
        await eventually(lambda: here.manager.inspector._quotas.fullest()[1] == 2, here.clock)
        snapshot = await look(here)

    shown = [(it.kind, it.name, it.resource, it.used, it.hard, it.share) for it in snapshot.quotas]
    assert shown == [
        ("ResourceQuota", "default/q", "requests.cpu", "1500m", "2", 0.75),
        ("ResourceQuota", "default/q", "pods", "3", "10", 0.3),
    ]
    assert snapshot.quotas_total == 2


@pytest.mark.parametrize(
    ("used", "hard", "share"),
    [("5", "0", 1.0), ("0", "0", 0.0), ("3", "2", 1.5), (f"1{'0' * 600}", "1n", 1e6)],
)
async def test_a_share_is_a_number_whatever_the_amounts(used: str, hard: str, share: float) -> None:
    from kinformer.manager.inspection.quotas import _limits

    obj = {"status": {"hard": {"pods": hard}, "used": {"pods": used}}}

    assert [limit.share for limit in _limits("ResourceQuota", "q", obj)] == [share]


@pytest.mark.parametrize("status", [None, {"hard": {"pods": "many"}}, {"hard": 5}, {"hard": {"pods": "1"}}, 7])
def test_a_quota_that_cannot_be_understood_is_left_out(status: Any) -> None:
    from kinformer.manager.inspection.quotas import _limits

    assert _limits("ResourceQuota", "q", {"status": status}) == []


async def test_a_snapshot_serves_all_who_ask_within_half_a_second() -> None:
    async with world() as here:
        first = here.manager.inspector.snapshot()
        assert here.manager.inspector.snapshot() is first
        await turn(here.clock, 0.5)
        assert here.manager.inspector.snapshot() is not first


async def test_a_snapshot_has_a_form_in_json_and_can_be_read_back() -> None:
    async with world() as here:
        here.refuse["default/<script>alert(1)</script>"] = "no"
        await here.create("a")
        await here.until_synced("a")
        snapshot = await look(here)

    written = msgspec.json.encode(snapshot)
    assert b'"oldestSeconds":' in written
    assert msgspec.json.decode(written, type=Snapshot) == snapshot


async def test_who_leads_is_shown() -> None:
    async with world(election=LeaderElection(identity="me")) as here:
        assert here.manager.inspector.snapshot().leader is not None
        await eventually(lambda: here.controller.has_synced, here.clock)
        leader = (await look(here)).leader

    assert leader is not None
    assert (leader.lease, leader.identity, leader.holder, leader.leads) == (
        "kube-system/kinformer-manager",
        "me",
        "me",
        True,
    )


# --- why


async def answer(here: World, key: str, controller: str = "") -> Answer:
    await quiet()
    return explain(here.manager.inspector, key, controller)


async def test_a_key_that_was_synced_is_explained() -> None:
    async with world() as here:
        await here.create("a")
        await here.until_synced("a")
        await turn(here.clock, 5)
        found = await answer(here, "default/a")

    (why,) = found.controllers
    assert (why.controller, why.state, why.failures, why.due_seconds) == ("printer", "idle", 0, None)
    (run,) = why.runs
    assert (run.trigger.event, run.trigger.informer, run.trigger.object) == ("added", "configmaps", "default/a")
    assert (run.error, run.seconds) == ("", 0.0)
    assert 5 <= run.ago_seconds < 7
    assert run.began.endswith("Z")
    assert [(it.informer, it.version) for it in found.objects] == [("configmaps", run.trigger.version)]
    assert found.nearest == []


async def test_a_key_that_failed_is_explained_with_when_it_is_tried_again() -> None:
    async with world() as here:
        here.refuse["default/a"] = "no room"
        await here.create("a")
        await eventually(lambda: here.controller.queue.num_requeues("default/a") == 12, here.clock)
        (why,) = (await answer(here, "default/a")).controllers

    assert (why.state, why.failures) == ("delayed", 12)
    assert why.due_seconds == pytest.approx(0.005 * 2**11, abs=0.01)
    assert [run.error for run in why.runs] == ["no room"] * 4
    assert [run.trigger.event for run in why.runs] == ["retry"] * 4


async def test_a_running_key_is_explained_with_what_comes_after_it() -> None:
    async with world() as here:
        here.takes["default/a"] = 100.0
        await here.create("a")
        await eventually(lambda: here.controller.history.active, here.clock, 5)
        (why,) = (await answer(here, "default/a")).controllers
        assert (why.state, why.is_queued, why.running_seconds) == ("running", False, 0.0)
        here.controller.queue.add("default/a")
        (why,) = (await answer(here, "default/a")).controllers

    assert (why.state, why.is_queued) == ("running", True)
    assert why.trigger is not None
    assert why.trigger.event == "added"


async def test_another_controllers_knowledge_can_be_left_out() -> None:
    async with world() as here:
        await here.create("a")
        await here.until_synced("a")

        assert len((await answer(here, "default/a", "printer")).controllers) == 1
        assert (await answer(here, "default/a", "counter")).controllers == []


@pytest.mark.parametrize("asked", ["default/frontent", "other/frontend", "frontend", "default/front"])
async def test_a_key_that_nobody_knows_is_answered_with_those_like_it(asked: str) -> None:
    async with world() as here:
        for name in ("frontend", "backend"):
            await here.create(name)
        await here.until_synced("frontend", "backend")
        found = await answer(here, asked)

    assert (found.controllers, found.objects) == ([], [])
    assert found.nearest[0] == "default/frontend"


async def test_a_search_finds_keys_that_contain_a_text_however_it_is_written() -> None:
    async with world() as here:
        for name in ("frontend", "frontier", "backend"):
            await here.create(name)
        await here.until_synced("frontend", "frontier", "backend")

        assert sorted(search(here.manager.inspector, "FRONT")) == ["default/frontend", "default/frontier"]
        assert len(search(here.manager.inspector, "front", 1)) == 1
        assert search(here.manager.inspector, "front", 0) == []
