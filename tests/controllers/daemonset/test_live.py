"""DaemonSets against the embedded server, from being made to being updated and rolled back.

The most pods that one sync makes, and what is told when several things fail in it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinformer.client import Client, PatchType
from kinformer.client.types import DeleteOptions
from kinformer.clock import FakeClock
from kinformer.models import V1DaemonSet, V1Node, to_dict
from kinformer_controllers.daemonset.controller import DaemonSetController
from kinformer_controllers.daemonset.template import HASH_LABEL, target_node
from kinformer_controllers.shared.history.revisions import template_patch
from tests.controllers.cluster import Cluster
from tests.controllers.daemonset.objects import make_daemonset, make_node, rolling
from tests.controllers.objects import FakeContext, FakeInformers
from tests.controllers.refusing import refusing_client
from tests.controllers.workloads import WorkloadWorld, is_pending


class World(WorkloadWorld):
    type, controller, name = V1DaemonSet, "daemonset", "agent"

    def __init__(self, client: Client, clock: FakeClock) -> None:
        super().__init__(client, clock)
        self.nodes = client.resource(V1Node)

    async def add_nodes(self, *nodes: V1Node) -> None:
        for node in nodes:
            body = to_dict(node)
            body["metadata"].pop("resourceVersion")
            await self.nodes.create(body)
            # The server taints a new node as not ready, until somebody takes that off.
            taints = body["spec"].get("taints")
            await self.nodes.patch(node.metadata.name, {"spec": {"taints": taints}}, patch_type=PatchType.MERGE)
        await self.settle()

    async def run(self, *, ready: bool = True, phase: str = "Running") -> None:
        """All pods that are pending run."""
        await self.run_where(is_pending, lambda pod: target_node(pod) or "", ready=ready, phase=phase)

    async def shown(self) -> list[str]:
        """The pods: ``node image``, with ``!`` after one that is being deleted, by node."""
        return sorted(
            f"{target_node(pod)} {pod.spec.containers[0].image if pod.spec else ''}"
            f"{'!' if pod.metadata.deletion_timestamp else ''}"
            for pod in (await self.pods.list("default")).items
        )


@asynccontextmanager
async def running(*nodes: str) -> AsyncIterator[World]:
    async with World.running() as world:
        await world.add_nodes(*map(make_node, nodes))
        yield world


async def test_a_revisions_keys_are_sorted_as_kubectl_and_kubernetes_do() -> None:
    async with running() as world:
        await world.apply(make_daemonset())
        (revision,) = (await world.revisions.list("default")).items

        assert json.dumps(revision.data) == json.dumps(revision.data, sort_keys=True)


async def test_a_taint_that_forbids_scheduling_leaves_the_pod_and_counts_it_misscheduled() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        await world.run()
        await world.nodes.patch("n1", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
        await world.sets.patch("agent", {"metadata": {"labels": {"wake": "up"}}}, "default")
        await world.settle()
        assert await world.shown() == ["n1 img"]
        assert (await world.status())["numberMisscheduled"] == 1

        await world.nodes.patch("n1", {"spec": {"taints": None}}, patch_type=PatchType.MERGE)
        await world.settle()

        assert (await world.status())["numberMisscheduled"] == 0


async def test_failed_pods_are_replaced_later_each_time() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        first = (await world.pods.list("default")).items[0].metadata.name
        await world.run(phase="Failed", ready=False)
        await world.remove()
        second = (await world.pods.list("default")).items[0].metadata.name
        assert second != first

        await world.settle(60)
        for seconds in (2, 4):
            await world.run(phase="Failed", ready=False)
            await world.remove()
            await world.settle(seconds)
        assert len(await world.shown()) == 1


async def test_an_update_replaces_one_node_after_the_other() -> None:
    async with running("n1", "n2") as world:
        await world.apply(make_daemonset())
        await world.run()
        await world.image("new")
        assert sorted(each.endswith("!") for each in await world.shown()) == [False, True]
        await world.remove()
        assert sorted(each.split()[1] for each in await world.shown()) == ["img", "new"]
        await world.run()
        await world.remove()
        await world.run()

        assert await world.shown() == ["n1 new", "n2 new"]
        assert (await world.status())["updatedNumberScheduled"] == 2


async def test_with_surge_the_new_pod_is_there_before_the_old_one_goes() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset(strategy=rolling(maxUnavailable=0, maxSurge=1)))
        await world.run()
        await world.image("new")
        assert await world.shown() == ["n1 img", "n1 new"]

        await world.run()
        assert await world.shown() == ["n1 img!", "n1 new"]
        await world.remove()

        assert await world.shown() == ["n1 new"]


async def test_on_delete_a_pod_is_updated_when_somebody_deletes_it() -> None:
    async with running("n1", "n2") as world:
        await world.apply(make_daemonset(strategy={"type": "OnDelete"}))
        await world.run()
        await world.image("new")
        assert await world.shown() == ["n1 img", "n2 img"]

        pod = next(pod for pod in (await world.pods.list("default")).items if target_node(pod) == "n1")
        await world.pods.delete(pod.metadata.name, "default", DeleteOptions(grace_period_seconds=0))
        await world.settle()

        assert await world.shown() == ["n1 new", "n2 img"]


async def test_a_rollback_makes_the_old_revision_the_newest_again() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        await world.run()
        await world.image("new")
        assert await world.history() == [(1, "img"), (2, "new")]

        await world.image("img")

        assert await world.history() == [(2, "new"), (3, "img")]


async def test_the_oldest_revisions_that_no_pod_has_go_beyond_the_limit() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset(revisionHistoryLimit=1, strategy={"type": "OnDelete"}))
        await world.run()
        for image in ("two", "three", "four"):
            await world.image(image)

        # The pod is still of the first template.
        assert await world.history() == [(1, "img"), (4, "four")]


async def test_two_revisions_of_one_template_become_one_and_pods_are_labelled_anew() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        await world.run()
        (revision,) = (await world.revisions.list("default")).items
        twin = copy.copy(revision)
        twin.metadata = copy.copy(revision.metadata)
        twin.metadata.name, twin.metadata.resource_version, twin.revision = "agent-twin", None, 7  # type: ignore[assignment]
        twin.metadata.labels = {**(revision.metadata.labels or {}), HASH_LABEL: "twin"}
        await world.revisions.create(twin)
        await world.sets.patch("agent", {"metadata": {"labels": {"wake": "up"}}}, "default")
        await world.settle()

        (left,) = (await world.revisions.list("default")).items
        (pod,) = (await world.pods.list("default")).items
        assert left.metadata.name == "agent-twin"
        assert (pod.metadata.labels or {})[HASH_LABEL] == "twin"


async def test_an_orphan_revision_is_adopted_and_given_its_hash() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        daemonset = await world.sets.get("agent", "default")
        data = template_patch(daemonset.spec.template)
        data["spec"]["template"]["spec"]["containers"][0]["image"] = "ancient"
        meta = {"name": "agent-ancient", "namespace": "default", "labels": {"app": "agent"}}
        await world.revisions.create({"metadata": meta, "data": data, "revision": 1})
        await world.settle()

        adopted = await world.revisions.get("agent-ancient", "default")
        assert [one.name for one in adopted.metadata.owner_references or ()] == ["agent"]
        assert (adopted.metadata.labels or {})[HASH_LABEL] == "agent-ancient"
        assert max(await world.history()) == (2, "img")


async def test_a_hash_that_another_template_has_is_counted_and_another_one_taken() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        (revision,) = (await world.revisions.list("default")).items
        name = revision.metadata.name
        await world.sets.delete("agent", "default", DeleteOptions(propagation_policy="Orphan"))
        await world.settle()
        await world.revisions.delete(name, "default")
        data = {"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"name": "c", "image": "x"}]}}}}
        await world.revisions.create({"metadata": {"name": name, "namespace": "default"}, "data": data, "revision": 1})

        await world.sets.patch("agent", {"metadata": {"finalizers": None}}, "default", patch_type=PatchType.MERGE)
        await world.settle()
        await world.apply(make_daemonset())
        await world.settle(10)

        assert (await world.status())["collisionCount"] == 1
        assert len((await world.revisions.list("default")).items) == 2


async def test_a_selector_that_selects_everything_is_refused_by_the_server() -> None:
    async with running("n1") as world:
        body = to_dict(make_daemonset())
        body["metadata"] = {"name": "agent", "namespace": "default"}
        with pytest.raises(Exception, match="empty selector is invalid"):
            await world.sets.create({**body, "spec": {**body["spec"], "selector": {}}})


async def test_one_that_is_being_deleted_makes_nothing() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        await world.run()
        await world.sets.patch("agent", {"metadata": {"finalizers": ["example.com/wait"]}}, "default")
        await world.sets.delete("agent", "default")
        for pod in (await world.pods.list("default")).items:
            await world.pods.delete(pod.metadata.name, "default", DeleteOptions(grace_period_seconds=0))
        await world.settle()

        assert await world.shown() == []


async def test_a_pod_is_available_after_min_ready_seconds_by_the_clock() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset(minReadySeconds=30))
        await world.run()
        assert (await world.status())["numberReady"] == 1
        assert (await world.status()).get("numberAvailable", 0) == 0

        await world.settle(31)

        assert (await world.status())["numberAvailable"] == 1


async def test_pods_are_adopted_and_released_by_their_labels() -> None:
    async with running("n1") as world:
        await world.apply(make_daemonset())
        await world.run()
        (pod,) = (await world.pods.list("default")).items
        await world.pods.patch(pod.metadata.name, {"metadata": {"labels": {"app": "other"}}}, "default")
        await world.settle()
        assert await world.shown() == ["n1 img", "n1 img"]
        released = await world.pods.get(pod.metadata.name, "default")
        assert not released.metadata.owner_references

        await world.pods.patch(pod.metadata.name, {"metadata": {"labels": {"app": "agent"}}}, "default")
        await world.settle()

        # The older one, which is bound, stays.
        (left,) = [one for one in (await world.pods.list("default")).items if not one.metadata.deletion_timestamp]
        assert left.metadata.name == pod.metadata.name


async def test_a_refused_pod_is_the_syncs_error_despite_a_refused_status() -> None:
    informers = FakeInformers()
    informers.informer_for(V1DaemonSet).indexer.add(make_daemonset())
    informers.informer_for(V1Node).indexer.add(make_node())
    controller = DaemonSetController(FakeContext(refusing_client(V1DaemonSet), informers))

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/agent")


async def test_one_sync_makes_250_pods_at_most() -> None:
    world = Cluster()
    world.put(make_daemonset())
    for number in range(260):
        world.put(make_node(f"n{number}"))

    await DaemonSetController(FakeContext(world.client, world.informers, clock=world.clock)).sync("ns/agent")

    assert sum(request.startswith("create Pod") for request in world.requests) == 250
