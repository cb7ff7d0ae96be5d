"""Several replicas with the embedded server and a real election, one situation at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import yaml

from kinformer.client import Client, Forbidden
from kinformer.manager import LeaderElection
from kinformer.operator.webhooks.reviews import read_admission
from kinformer_controllers.groupquota.webhook import Decision, QuotaWebhook
from tests.controllers.groupquota.setting import CRD, Setting, group_quota, setting, through
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.shared.quota.serving import make_pod, quota_server


@asynccontextmanager
async def replicas(place: Setting, count: int = 3) -> AsyncIterator[list[tuple[QuotaWebhook, anyio.CancelScope]]]:
    """Webhooks that elect a leader, each with a connection of its own, and with what kills it."""
    running: list[tuple[QuotaWebhook, anyio.CancelScope]] = []

    async def run(client: Client, number: int) -> None:
        election = LeaderElection(name="quota", identity=f"replica-{number}", release_on_cancel=False)
        webhook = QuotaWebhook(client, election=election, reservation=30.0, clock=place.clock)
        with anyio.CancelScope() as scope:
            running.append((webhook, scope))
            await webhook.run()

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(run, place.client, number)
        await place.eventually(
            lambda: (
                len(running) == count
                and all(webhook.has_synced for webhook, _ in running)
                and any(webhook.controller.has_synced for webhook, _ in running)
            )
        )
        yield running
        tasks.cancel_scope.cancel()


async def decided(place: Setting, webhook: QuotaWebhook, name: str, **more: Any) -> Decision:
    pod = make_pod(name, "shop-1")
    pod["metadata"]["uid"] = f"uid-{name}"
    answers: list[Decision] = []

    async def ask() -> None:
        answers.append(await webhook.decide(read_admission(json.dumps(review("pods", "shop-1", pod, **more)).encode())))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await place.eventually(lambda: answers)
    return answers[0]


async def test_one_of_three_recounts_and_all_answer_from_what_all_have_charged() -> None:
    async with setting() as place, replicas(place) as running:
        assert sum(webhook.leads for webhook, _ in running) == 1
        await place.quotas.create(group_quota({"pods": "3"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        codes = [(await decided(place, running[number % 3][0], f"p{number}")).code for number in range(5)]

    assert codes == [200, 200, 200, 403, 403]


async def test_after_the_leaders_death_another_returns_what_was_never_stored() -> None:
    async with setting() as place, replicas(place) as running:
        await place.quotas.create(group_quota({"pods": "2"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        [leader] = [one for one in running if one[0].leads]
        others = [webhook for webhook, _ in running if webhook is not leader[0]]
        assert (await decided(place, leader[0], "of-the-leader")).code == 200
        leader[1].cancel()
        assert (await decided(place, others[0], "of-another")).code == 200
        assert (await decided(place, others[1], "too-many")).code == 403
        await place.turn(25)
        assert sum(webhook.leads for webhook in others) == 1
        assert place.used() == {"pods": "2"}
        await place.turn(25)
        assert (place.used(), place.reserved()) == ({"pods": "0"}, 0)
        assert (await decided(place, others[1], "late")).code == 200


async def test_a_leader_without_its_lease_recounts_nothing_and_still_answers() -> None:
    async with setting() as place, replicas(place) as running:
        await place.quotas.create(group_quota({"pods": "2"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        [leader] = [webhook for webhook, _ in running if webhook.leads]
        leases: Any = place.client.resource(dict, ("coordination.k8s.io", "v1", "leases"))
        await leases.patch("quota", {"spec": {"holderIdentity": "somebody-else"}}, "kube-system")
        await place.turn(5)
        assert not leader.leads
        assert (await decided(place, leader, "a")).code == 200
        await place.turn(60)
        assert sum(webhook.leads for webhook, _ in running) == 1


async def test_a_dry_run_is_checked_by_any_replica_and_writes_nothing() -> None:
    async with setting() as place, replicas(place) as running:
        await place.quotas.create(group_quota({"pods": "1"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        before = await place.quotas.get("g")
        for webhook, _ in running:
            assert (await decided(place, webhook, "p", dryRun=True)).code == 200
        assert await place.quotas.get("g") == before


async def test_an_older_versions_charges_are_kept_as_long_as_reservations() -> None:
    async with setting() as place:
        created = await place.quotas.create(group_quota({"pods": "3"}))
        created["status"] = {"hard": {"pods": "3"}, "used": {"pods": "2"}}
        await place.quotas.update_status(created)
        await place.client.resource(dict, ("", "v1", "pods")).create(make_pod("stored", "shop-1"))
        async with place.serving(reservation=20.0), through(place) as pods:
            await place.eventually(lambda: place.reserved() == 1)
            assert place.used() == {"pods": "2"}
            await pods.create(make_pod("fits", "shop-1"))
            with pytest.raises(Forbidden):
                await pods.create(make_pod("does-not", "shop-1"))
            await place.turn(30)
            assert (place.used(), place.reserved()) == ({"pods": "2"}, 0)


async def test_a_definition_that_drops_reservations_is_noticed_and_nothing_is_admitted() -> None:
    old = yaml.safe_load(CRD.read_text())
    properties = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    del properties["reservations"], properties["counted"]
    async with quota_server(enforce=False) as (server, client):
        definitions: Any = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        await definitions.create(old)
        namespaces: Any = client.resource(dict, ("", "v1", "namespaces"))
        await namespaces.create({"metadata": {"name": "shop-1", "labels": {"team": "shop"}}})
        place = Setting(server, client)
        async with place.serving() as webhook:
            await place.quotas.create(group_quota({"pods": "3"}))
            await place.eventually(lambda: place.used() == {"pods": "0"})
            decision = await decided(place, webhook, "p")
            trouble = await webhook.trouble()

    assert decision == Decision(403, "Forbidden", 'pods "p" is forbidden: status unknown for quota: g, resources: pods')
    assert "the server has stored no reservations: apply the CustomResourceDefinition of this version" in trouble
