"""The controller against a server, with the ReplicaSet controller and a clock that is turned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1Deployment, V1ObjectMeta, V1Pod, V1ReplicaSet, V1ResourceQuota, from_dict
from kinformer_controllers.deployment.annotations import REVISION, ROLLBACK_TO
from kinformer_controllers.deployment.controller import DeploymentController
from kinformer_controllers.deployment.rollout import replica_set_name, template_hash
from tests.controllers.deployment.making import make_deployment
from tests.controllers.objects import FakeContext, FakeInformers
from tests.turning import eventually, quiet, turn

NAMESPACE = "default"


class World:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock
        self.deployments = client.resource(V1Deployment)
        self.replica_sets = client.resource(V1ReplicaSet)
        self.pods = client.resource(V1Pod)

    async def create(self, replicas: int = 2, **options: Any) -> V1Deployment:
        made = make_deployment(replicas, surge=1, **options)
        made.metadata = V1ObjectMeta(name="web", namespace=NAMESPACE, annotations=made.metadata.annotations)
        made.status = None
        return await self.deployments.create(made)

    async def patch(self, **spec: Any) -> None:
        await self.deployments.patch("web", {"spec": spec}, NAMESPACE)

    async def set_image(self, image: str) -> None:
        await self.patch(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    async def run_pods(self) -> None:
        """What a kubelet does, those that are to end included."""
        for pod in (await self.pods.list(NAMESPACE)).items:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
            status = {"phase": "Running", "conditions": [ready]}
            await self.pods.subresource("status", V1Pod).patch(pod.metadata.name, {"status": status}, NAMESPACE)

    async def get(self) -> V1Deployment:
        return await self.deployments.get("web", NAMESPACE)

    async def sets(self) -> dict[str, int]:
        """The sizes of the ReplicaSets, by their images."""
        found = (await self.replica_sets.list(NAMESPACE)).items
        return {each.spec.template.spec.containers[0].image: each.spec.replicas for each in found}

    async def until(self, holds: Callable[[V1Deployment], bool]) -> None:
        async def is_so() -> bool:
            found = await self.get()
            return found.status is not None and holds(found)

        await eventually(is_so, self.clock)

    async def rolled_out(self) -> None:
        async def is_so() -> bool:
            await self.run_pods()
            await quiet()
            found = await self.get()
            counts, wanted = found.status, found.spec.replicas
            return bool(
                counts
                and counts.observed_generation == found.metadata.generation
                and counts.updated_replicas == counts.available_replicas == counts.replicas == wanted
            )

        await eventually(is_so, self.clock)

    async def events(self) -> set[str]:
        return {f"{it.reason}: {it.message}" for it in (await self.client.resource(CoreV1Event).list(NAMESPACE)).items}


@asynccontextmanager
async def world(*controllers: str) -> AsyncIterator[World]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        manager = Manager(client, controllers=controllers or ["deployment", "replicaset"], clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            yield World(client, clock)
            tasks.cancel_scope.cancel()


async def test_recreate_waits_until_the_last_old_pod_is_gone() -> None:
    async with world() as it:
        await it.create(2, strategy="Recreate")
        await it.rolled_out()
        for pod in (await it.pods.list(NAMESPACE)).items:
            await it.pods.bind(pod.metadata.name, "n1", NAMESPACE)
        await it.set_image("img:2")
        await turn(it.clock, 5)
        # They have half a minute to end, and nothing new runs beside them.
        assert await it.sets() == {"img:1": 0}
        assert len((await it.pods.list(NAMESPACE)).items) == 2

        await it.rolled_out()
        assert await it.sets() == {"img:1": 0, "img:2": 2}


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
async def test_old_replica_sets_stay_within_the_history_and_the_oldest_go(strategy: str) -> None:
    async with world() as it:
        await it.create(1, strategy=strategy, revisionHistoryLimit=1)
        for number in (2, 3, 4):
            await it.rolled_out()
            await it.set_image(f"img:{number}")
        await it.rolled_out()

        async def two_are_left() -> bool:
            return await it.sets() == {"img:3": 0, "img:4": 1}

        await eventually(two_are_left, it.clock)


async def test_a_deployment_rolls_back_as_annotated_and_the_annotation_goes() -> None:
    async with world() as it:
        await it.create(1, annotations={"note": "first"})
        await it.rolled_out()
        await it.deployments.patch("web", {"metadata": {"annotations": {"note": "second"}}}, NAMESPACE)
        await it.set_image("img:2")
        await it.rolled_out()

        await it.deployments.patch("web", {"metadata": {"annotations": {ROLLBACK_TO: "0"}}}, NAMESPACE)
        await it.rolled_out()

        found = await it.get()
        assert found.spec.template.spec.containers[0].image == "img:1"
        assert ROLLBACK_TO not in found.metadata.annotations
        assert found.metadata.annotations[REVISION] == "3"
        assert 'DeploymentRollback: Rolled back deployment "web" to revision 1' in await it.events()


async def test_a_missing_or_equal_revision_is_reported_and_the_annotation_goes() -> None:
    async with world() as it:
        await it.create(1)
        await it.rolled_out()
        for wish in ("0", "9", "1"):
            await it.deployments.patch("web", {"metadata": {"annotations": {ROLLBACK_TO: wish}}}, NAMESPACE)
            await it.until(lambda found: ROLLBACK_TO not in found.metadata.annotations)

        unchanged = 'The rollback revision contains the same template as current deployment "web"'

        async def are_told() -> bool:
            return {
                "DeploymentRollbackRevisionNotFound: Unable to find last revision.",
                "DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to.",
                f"DeploymentRollbackTemplateUnchanged: {unchanged}",
            } <= await it.events()

        await eventually(are_told, it.clock)


async def test_anothers_replica_set_of_that_name_leads_to_a_new_name() -> None:
    async with world() as it:
        name = replica_set_name("web", template_hash((await it.create(1, paused=True)).spec.template, None))
        squatter = from_dict(
            V1ReplicaSet,
            {
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "x"}]},
                    },
                },
            },
        )
        await it.replica_sets.create(squatter)
        await it.patch(paused=None)

        await it.rolled_out()

        assert (await it.get()).status.collision_count == 1
        assert len(await it.sets()) == 2


async def test_a_matching_orphan_is_adopted_and_a_changed_one_released() -> None:
    async with world() as it:
        await it.create(1)
        await it.rolled_out()
        (made,) = (await it.replica_sets.list(NAMESPACE)).items
        await it.replica_sets.patch(made.metadata.name, {"metadata": {"ownerReferences": None}}, NAMESPACE)

        async def is_owned() -> bool:
            return bool((await it.replica_sets.get(made.metadata.name, NAMESPACE)).metadata.owner_references)

        await eventually(is_owned, it.clock)
        await it.replica_sets.patch(made.metadata.name, {"metadata": {"labels": {"app": "other"}}}, NAMESPACE)

        async def is_free() -> bool:
            return not await is_owned()

        await eventually(is_free, it.clock)


async def test_a_deployment_that_is_being_deleted_only_tells() -> None:
    async with world() as it:
        made = await it.create(1, paused=True)
        await it.until(lambda found: found.status.observed_generation == made.metadata.generation)
        await it.deployments.patch("web", {"metadata": {"finalizers": ["example.com/keep"]}}, NAMESPACE)
        await it.deployments.delete("web", NAMESPACE)
        await it.patch(paused=None, replicas=3)
        await it.until(lambda found: found.status.observed_generation == found.metadata.generation)

        assert await it.sets() == {}


async def test_a_failed_replica_set_is_reported_by_condition_and_event() -> None:
    async with world() as it:
        quota = from_dict(
            V1ResourceQuota,
            {
                "metadata": {"name": "none", "namespace": NAMESPACE},
                "spec": {"hard": {"count/replicasets.apps": "0"}},
            },
        )
        made = await it.client.resource(V1ResourceQuota).create(quota)
        made.status = from_dict(V1ResourceQuota, {"status": {"hard": quota.spec.hard, "used": quota.spec.hard}}).status
        await it.client.resource(V1ResourceQuota).update_status(made)
        await it.create(1, progressDeadlineSeconds=600)

        def failed(found: V1Deployment) -> bool:
            return any(each.reason == "ReplicaSetCreateError" for each in found.status.conditions or ())

        await it.until(failed)

        async def is_told() -> bool:
            return any(each.startswith("ReplicaSetCreateError: Failed to create") for each in await it.events())

        await eventually(is_told, it.clock)


async def test_one_that_cannot_be_understood_is_logged_once_and_holds_up_nobody() -> None:
    async with world("deployment") as it:
        informers = FakeInformers()
        broken = DeploymentController(FakeContext(it.client, informers, clock=it.clock))
        informers.informer_for(V1Deployment).indexer.add(make_deployment(1, surge="x%"))

        with capture_logs() as logs:
            assert await broken.sync("ns/web") is None

    errors = [log for log in logs if log["log_level"] == "error"]
    assert [(log["event"], log["key"]) for log in errors] == [("deployment_not_understood", "ns/web")]
    assert "maxSurge is 'x%'" in errors[0]["error"]
