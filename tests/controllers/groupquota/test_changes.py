"""What is stored, moved or freed without a charge is noticed at once, and only by the quotas that it concerns."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.client import DeleteOptions, Forbidden
from kinformer.models import V1Namespace, V1Pod
from kinformer.operator.webhooks.reviews import read_admission
from kinformer_controllers.groupquota.webhook import Decision, QuotaWebhook
from tests.controllers.groupquota.setting import Setting, group_quota, setting, through
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.shared.quota.serving import make_namespace, make_pod


def of_application(name: str, namespace: str, application: str) -> dict[str, Any]:
    pod = make_pod(name, namespace)
    pod["metadata"]["labels"] = {"app.kubernetes.io/part-of": application}
    return pod


async def limited(place: Setting, quota: dict[str, Any]) -> None:
    """Have a quota, counted."""
    await place.quotas.create(quota)
    name = quota["metadata"]["name"]
    await place.eventually(lambda: place.used(name) == {"pods": "0"})


async def relabel(place: Setting, namespace: str, team: str) -> None:
    await place.client.resource(V1Namespace).patch(namespace, {"metadata": {"labels": {"team": team}}})


def noted_recounts(webhook: QuotaWebhook) -> list[str]:
    """The names of the quotas that are recounted from now on."""
    recounted: list[str] = []
    recount = webhook.controller._recounter.recount

    async def noting(name: str, *began: Any) -> Any:
        recounted.append(name)
        return await recount(name, *began)

    webhook.controller._recounter.recount = noting  # type: ignore[method-assign]
    return recounted


async def test_what_a_namespace_brings_with_it_into_a_group_counts_at_once() -> None:
    async with setting() as place, place.serving(), through(place) as pods:
        await limited(place, group_quota({"pods": "3"}))
        for number in range(3):
            await pods.create(make_pod(f"o{number}", "other"))
        await relabel(place, "other", "shop")
        await place.turn(0)

        assert place.used() == {"pods": "3"}
        with pytest.raises(Forbidden, match=r"used: pods=3, limited: pods=3"):
            await pods.create(make_pod("s", "shop-1"))


async def test_a_namespace_leaving_a_group_frees_its_usage_at_once() -> None:
    async with setting() as place, place.serving(), through(place) as pods:
        await limited(place, group_quota({"pods": "2"}))
        for number in range(2):
            await pods.create(make_pod(f"s{number}", "shop-2"))
        await relabel(place, "shop-2", "other")
        await place.turn(0)

        assert place.used() == {"pods": "0"}
        await pods.create(make_pod("s", "shop-1"))


async def test_a_namespace_that_comes_with_its_objects_counts() -> None:
    async with setting() as place, place.serving():
        await limited(place, group_quota({"pods": "2"}))
        await place.client.resource(V1Namespace).create(
            V1Namespace(metadata=make_namespace("new", team="shop")["metadata"])
        )
        await place.client.resource(dict, ("", "v1", "pods")).create(make_pod("a", "new"))
        await place.turn(0)

        assert place.used() == {"pods": "1"}


@pytest.mark.parametrize("label", ["stock", None])
async def test_a_label_that_moves_an_object_frees_its_usage_at_once(label: str | None) -> None:
    async with setting() as place, place.serving(), through(place) as pods:
        await limited(place, group_quota({"pods": "1"}, application={"name": "till"}))
        await pods.create(of_application("a", "shop-1", "till"))
        patch = {"metadata": {"labels": {"app.kubernetes.io/part-of": label}}}
        await place.client.resource(V1Pod).patch("a", patch, "shop-1")
        await place.turn(0)

        assert place.used() == {"pods": "0"}
        await pods.create(of_application("b", "shop-1", "till"))


async def test_an_object_moved_in_without_the_webhook_counts_at_once() -> None:
    async with setting() as place, place.serving(), through(place) as pods:
        await limited(place, group_quota({"pods": "1"}, application={"name": "till"}))
        await pods.create(of_application("a", "shop-1", "stock"))
        patch = {"metadata": {"labels": {"app.kubernetes.io/part-of": "till"}}}
        await place.client.resource(V1Pod).patch("a", patch, "shop-1")
        await place.turn(0)

        assert place.used() == {"pods": "1"}
        with pytest.raises(Forbidden):
            await pods.create(of_application("b", "shop-1", "till"))


async def test_an_object_admitted_before_its_quota_counts_when_stored() -> None:
    async with setting() as place, place.serving(), aiohttp.ClientSession() as session:
        assert (await place.asked(session, review("pods", "shop-1", make_pod("early", "shop-1"))))["allowed"]
        await limited(place, group_quota({"pods": "1"}))
        await place.client.resource(dict, ("", "v1", "pods")).create(make_pod("early", "shop-1"))
        await place.turn(0)

        assert place.used() == {"pods": "1"}
        assert not (await place.asked(session, review("pods", "shop-1", make_pod("late", "shop-1"))))["allowed"]


async def test_nothing_is_admitted_between_an_uncharged_object_and_its_recount() -> None:
    async with setting() as place, place.serving() as webhook:
        await limited(place, group_quota({"pods": "1"}))
        recounter = webhook.controller._recounter
        measure, counting, go_on = recounter._measure, anyio.Event(), anyio.Event()

        async def slow(snapshot: Any) -> Any:
            counting.set()
            await go_on.wait()
            return await measure(snapshot)

        recounter._measure = slow  # type: ignore[method-assign]
        answers: list[Decision] = []

        async def ask() -> None:
            await counting.wait()
            late = read_admission(json.dumps(review("pods", "shop-1", make_pod("late", "shop-1"))).encode())
            answers.append(await webhook.decide(late))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await place.client.resource(dict, ("", "v1", "pods")).create(make_pod("uncharged", "shop-1"))
            await place.turn(1)
            assert counting.is_set()
            assert answers == []
            go_on.set()
            await place.eventually(lambda: answers)

    assert answers[0].code == 403


async def test_many_deletions_are_recounted_together_and_none_is_forgotten() -> None:
    async with setting() as place, place.serving() as webhook, through(place) as charged:
        await limited(place, group_quota({"pods": "20"}))
        for number in range(10):
            await charged.create(make_pod(f"p{number}", "shop-1"))
        await place.turn(1)
        recounted = noted_recounts(webhook)
        pods: Any = place.client.resource(dict, ("", "v1", "pods"))
        # These two are not charged. The second one is looked into before the time at which room is given back.
        for name in ("u0", "u1"):
            await pods.create(make_pod(name, "shop-1"))
            await place.turn(0)
        for number in range(9):
            await pods.delete(f"p{number}", "shop-1", DeleteOptions(grace_period_seconds=0))
            await place.turn(0.01)
        assert len(recounted) < 5
        await pods.delete("p9", "shop-1", DeleteOptions(grace_period_seconds=0))
        await place.turn(1)

        assert place.used() == {"pods": "2"}


async def test_a_deletion_concerns_only_the_quotas_that_were_about_the_object() -> None:
    async with setting() as place, place.serving() as webhook, through(place) as pods:
        await limited(place, group_quota({"pods": "2"}))
        await limited(place, group_quota({"pods": "2"}, "till", application={"name": "till"}))
        for namespace in ("shop-1", "other"):
            await pods.create(make_pod("a", namespace))
        await place.turn(1)
        recounted = noted_recounts(webhook)
        await pods.delete("a", "other", DeleteOptions(grace_period_seconds=0))
        await place.turn(1)
        assert recounted == []
        await pods.delete("a", "shop-1", DeleteOptions(grace_period_seconds=0))
        await place.turn(1)
        assert recounted == ["g"]


async def test_a_charged_object_that_is_stored_has_nothing_recounted() -> None:
    async with setting() as place, place.serving() as webhook, through(place) as pods:
        await limited(place, group_quota({"pods": "5"}))
        await place.turn(1)
        recounted = noted_recounts(webhook)
        for number in range(3):
            await pods.create(make_pod(f"p{number}", "shop-1"))
        await place.turn(6)

        assert (recounted, place.used(), place.reserved()) == ([], {"pods": "3"}, 0)


async def test_metadata_only_objects_belong_to_an_application_by_label() -> None:
    async with setting() as place, place.serving():
        quota = group_quota({"count/configmaps": "5"}, application={"name": "till"})
        await place.quotas.create(quota)
        await place.eventually(lambda: place.used() == {"count/configmaps": "0"})
        configmaps: Any = place.client.resource(dict, ("", "v1", "configmaps"))
        for name, labels in (("a", {"app.kubernetes.io/part-of": "till"}), ("b", {})):
            await configmaps.create({"metadata": {"name": name, "namespace": "shop-1", "labels": labels}})
        await place.turn(1)

        assert place.used() == {"count/configmaps": "1"}
