"""The garbage collector against a server: what goes, what stays, and what is told."""

from __future__ import annotations

import pytest

from kinformer.client import PatchType
from kinformer.meta import GroupResource
from kinformer_controllers.shared.kinds import DISCOVERY_PERIOD
from tests.controllers.garbagecollector.world import WIDGETS, collecting
from tests.definitions import definition
from tests.metrics import metric_value
from tests.turning import eventually, turn


async def test_owned_objects_go_after_their_owner_through_all_generations() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        child = await world.make("Secret", "child", owner)
        grandchild = await world.make("ConfigMap", "grandchild", child)
        stranger = await world.make("ConfigMap", "stranger")
        await world.knows(owner, child, grandchild)

        await world.delete(owner)
        await world.are_gone(child, grandchild)
        await world.stay(stranger)


async def test_changes_that_came_into_the_graph_are_counted_under_kubernetes_name() -> None:
    name = {"name": "garbage_collector_graph_changes"}
    async with collecting() as world:
        before = metric_value("workqueue_adds_total", name) or 0
        owner = await world.make("ConfigMap", "owner")
        await world.knows(owner)

        assert metric_value("workqueue_adds_total", name) == before + 1
        assert metric_value("workqueue_depth", name) == 0


async def test_an_object_with_another_owner_stays_and_drops_the_absent_one() -> None:
    async with collecting() as world:
        one, other = await world.make("ConfigMap", "one"), await world.make("ConfigMap", "other")
        child = await world.make("Secret", "child", one, other)
        await world.knows(one, other, child)

        await world.delete(one)
        await world.stay(child)
        found = await world.get(child)
        assert found is not None
        assert [owner["name"] for owner in found["metadata"]["ownerReferences"]] == ["other"]


async def test_an_owner_waits_to_be_orphaned_until_its_dependents_are_known() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        await world.knows(owner)
        over: list[bool] = []
        world.server.faults.refuse(
            503,
            times=10_000,
            matching=lambda call: call.resource == "secrets" and call.verb in ("list", "watch") and not over,
        )
        world.server.faults.cut_watches()
        child = await world.make("Secret", "child", owner)
        await world.delete(owner, "Orphan")
        await turn(world.clock, 20.0)
        assert await world.get(owner) is not None

        over.append(True)
        await turn(world.clock, 120.0)
        assert await world.get(owner) is None
        found = await world.get(child)
        assert found is not None
        assert "ownerReferences" not in found["metadata"]


async def test_what_was_owned_before_the_collector_came_goes_too() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        await world.delete(owner)
        child = await world.make("Secret", "child", owner)

        await world.are_gone(child)


async def test_a_foreground_owner_waits_for_its_blocking_dependents() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        holding = await world.make("Secret", "holding", owner, block=True, finalizers=["example.com/hold"])
        other = await world.make("Secret", "other", owner, finalizers=["example.com/hold"])
        await world.knows(owner, holding, other)

        await world.delete(owner, "Foreground")
        await turn(world.clock, 60.0)
        found = await world.get(owner)
        assert found is not None
        assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
        for dependent in (holding, other):
            found = await world.get(dependent)
            assert found is not None
            assert "deletionTimestamp" in found["metadata"]

        await world.of("Secret").patch("holding", {"metadata": {"finalizers": None}}, "default")
        await world.are_gone(holding, owner)
        assert await world.get(other)


async def test_foreground_deletion_goes_from_the_last_generation_up() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        child = await world.make("Secret", "child", owner, block=True)
        last = await world.make("ConfigMap", "last", child, block=True, finalizers=["example.com/hold"])
        await world.knows(owner, child, last)

        await world.delete(owner, "Foreground")
        await turn(world.clock, 10.0)
        found = await world.get(child)
        assert found is not None
        assert found["metadata"]["finalizers"] == ["foregroundDeletion"]

        await world.of("ConfigMap").patch("last", {"metadata": {"finalizers": None}}, "default")
        await world.are_gone(last, child, owner)


async def test_an_owner_stops_waiting_for_a_dependent_that_stops_blocking() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        child = await world.make("Secret", "child", owner, block=True, finalizers=["example.com/hold"])
        await world.knows(owner, child)
        await world.delete(owner, "Foreground")
        await turn(world.clock, 5.0)
        assert await world.get(owner)

        references = [world.reference(owner, block=False)]
        patch = {"metadata": {"ownerReferences": references}}
        await world.of("Secret").patch("child", patch, "default", patch_type=PatchType.MERGE)
        await world.are_gone(owner)


async def test_orphans_stay_without_their_owner() -> None:
    async with collecting() as world:
        owner, other = await world.make("ConfigMap", "owner"), await world.make("ConfigMap", "other")
        children = [await world.make("Secret", f"child-{number}", owner, other) for number in range(30)]
        await world.knows(owner, other, *children)

        await world.delete(owner, "Orphan")
        await world.are_gone(owner)
        await world.stay(*children)
        for child in children:
            found = await world.get(child)
            assert found is not None
            assert [one["name"] for one in found["metadata"]["ownerReferences"]] == ["other"]


async def test_objects_that_own_each_other_go_together_in_the_foreground() -> None:
    async with collecting() as world:
        one = await world.make("ConfigMap", "one")
        two = await world.make("ConfigMap", "two", one, block=True)
        three = await world.make("ConfigMap", "three", two, block=True)
        patch = {"metadata": {"ownerReferences": [world.reference(three, block=True)]}}
        await world.of("ConfigMap").patch("one", patch, "default", patch_type=PatchType.MERGE)
        await world.knows(one, two, three)

        await world.stay(one, two, three)
        await world.delete(one, "Foreground")
        await world.are_gone(one, two, three)


async def test_a_circle_deleted_in_the_foreground_at_once_does_not_wait() -> None:
    async with collecting() as world:
        one = await world.make("ConfigMap", "one")
        two = await world.make("ConfigMap", "two", one, block=True)
        patch = {"metadata": {"ownerReferences": [world.reference(two, block=True)]}}
        await world.of("ConfigMap").patch("one", patch, "default", patch_type=PatchType.MERGE)
        await world.knows(one, two)

        await world.delete(one, "Foreground")
        await world.delete(two, "Foreground")
        await world.are_gone(one, two)


async def test_a_virtual_owners_owners_are_searched_in_its_true_namespace() -> None:
    """A dependent of some namespace names a cluster-wide owner before that one is seen."""
    async with collecting() as world:
        hidden = await world.make("ConfigMap", "hidden")
        owner = await world.make("ClusterRole", "owner", hidden)
        graph = world.collector.graph
        await world.knows(hidden, owner)
        uid = owner["metadata"]["uid"]
        # As if the watch of cluster roles had not told of it yet.
        graph.gone(graph.nodes[uid].kind, "", "owner", uid)
        await world.make("Namespace", "elsewhere")
        child = await world.make("Secret", "child", owner, namespace="elsewhere")

        await world.stay(owner, child, hidden)


async def test_objects_that_own_each_other_go_when_one_is_deleted() -> None:
    async with collecting() as world:
        one = await world.make("ConfigMap", "one")
        two = await world.make("ConfigMap", "two", one)
        patch = {"metadata": {"ownerReferences": [world.reference(two)]}}
        await world.of("ConfigMap").patch("one", patch, "default", patch_type=PatchType.MERGE)
        await world.knows(one, two)

        await world.delete(two)
        await world.are_gone(one, two)


@pytest.mark.parametrize("owner_first", [True, False])
async def test_an_owner_in_another_namespace_is_none_and_an_event_says_so(owner_first: bool) -> None:
    async with collecting() as world:
        await world.make("Namespace", "elsewhere")
        owner = await world.make("ConfigMap", "owner", namespace="elsewhere")
        if owner_first:
            await world.knows(owner)
        child = await world.make("Secret", "child", owner)

        await world.are_gone(child)
        uid = owner["metadata"]["uid"]
        want = (
            f"OwnerRefInvalidNamespace child: ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] "
            'does not exist in namespace "default"'
        )

        async def told() -> bool:
            return want in await world.events()

        await eventually(told, world.clock)
        await world.stay(owner)


async def test_an_owner_without_a_namespace_is_one_for_all() -> None:
    async with collecting() as world:
        owner = await world.make("ClusterRole", "owner")
        child = await world.make("Secret", "child", owner)
        await world.stay(owner, child)

        await world.delete(owner)
        await world.are_gone(child)


async def test_a_cluster_wide_object_that_names_an_owner_of_some_namespace_stays() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        cluster_wide = await world.make("ClusterRole", "child", owner)
        good = await world.make("Secret", "good", owner)
        await world.knows(owner, cluster_wide, good)
        await world.stay(owner, cluster_wide, good)

        await world.delete(owner)
        await world.are_gone(good)


async def test_an_object_with_a_wrong_owner_kind_goes_and_others_stay() -> None:
    async with collecting() as world:
        owner = await world.make("ConfigMap", "owner")
        good = await world.make("Secret", "good", owner)
        bad = await world.make("Secret", "bad", {**owner, "kind": "Secret"})

        await world.are_gone(bad)
        await world.stay(owner, good)


async def test_an_object_made_again_owns_nothing_of_the_one_before() -> None:
    async with collecting() as world:
        first = await world.make("ConfigMap", "owner")
        child = await world.make("Secret", "child", first)
        await world.knows(first, child)

        await world.delete(first)
        again = await world.make("ConfigMap", "owner")
        await world.are_gone(child)
        await world.stay(again)


async def test_an_owner_of_a_kind_that_nobody_serves_may_be_there() -> None:
    async with collecting() as world:
        unknown = {"apiVersion": "nobody.example.com/v1", "kind": "Ghost", "metadata": {"name": "g", "uid": "g-1"}}
        child = await world.make("Secret", "child", unknown)

        await world.stay(child, seconds=20 * DISCOVERY_PERIOD)


async def test_custom_resources_are_followed_while_served_and_patched_by_their_means() -> None:
    definitions = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
    async with collecting() as world:
        monitor = world.collector.monitor
        resource = world.client.resource(dict, (definitions.group, "v1", definitions.resource))
        await resource.create(definition("widgets", "Widget"))
        await eventually(lambda: WIDGETS.group_resource in monitor.resources, world.clock, DISCOVERY_PERIOD)
        owner, other = await world.make("Widget", "owner"), await world.make("Widget", "other")
        shared = await world.make("Widget", "shared", owner, other, block=True)
        child = await world.make("Widget", "child", owner)
        orphan = await world.make("Widget", "orphan", other)
        await world.knows(owner, other, shared, child, orphan)

        await world.delete(owner, "Foreground")
        await world.are_gone(owner, child)
        await world.delete(other, "Orphan")
        await world.are_gone(other)
        await world.stay(shared, orphan)
        found = await world.get(shared)
        assert found is not None
        assert "ownerReferences" not in found["metadata"]

        await resource.delete("widgets.example.com")
        await turn(world.clock, 3 * DISCOVERY_PERIOD)
        assert WIDGETS.group_resource not in monitor.resources
        assert not [watch for watch in world.server.watches.open if watch.resource.plural == "widgets"]


async def test_collector_and_quota_monitor_share_one_watch_for_each_kind() -> None:
    async with collecting("resourcequota") as world:
        await turn(world.clock, 5.0)
        before = list(world.server.watches.open)
        watched = [watch.resource.plural for watch in before]
        assert {"configmaps", "secrets", "pods", "clusterroles"} <= set(watched)
        assert sorted(watched) == sorted(set(watched))

        await turn(world.clock, 3 * DISCOVERY_PERIOD)
        assert {id(watch) for watch in world.server.watches.open} == {id(watch) for watch in before}


async def test_events_are_no_objects_of_the_graph() -> None:
    async with collecting() as world:
        assert not [watch for watch in world.server.watches.open if watch.resource.plural == "events"]


async def test_where_there_is_to_be_no_collector_nothing_is_collected() -> None:
    async with collecting(enable_garbage_collector=False) as world:
        owner = await world.make("ConfigMap", "owner")
        child = await world.make("Secret", "child", owner)
        await world.delete(owner)
        await world.stay(child)
