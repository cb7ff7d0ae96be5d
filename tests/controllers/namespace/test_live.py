"""The namespace controller against a server: what it deletes in which order, and what it says meanwhile."""

from __future__ import annotations

import pytest

from kinformer.client import DeleteOptions
from tests.controllers.namespace.world import emptying, refusal
from tests.turning import eventually

FINALIZERS = "Some content in the namespace has finalizers remaining"

ALL_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


async def test_what_is_in_a_namespace_goes_and_then_the_namespace() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        await world.make("Secret", "s")
        await world.namespaces.delete("ns")

        await world.goes()
        assert not (await world.of("configmaps").list("ns")).items
        assert not (await world.of("secrets").list("ns")).items


async def test_nothing_is_deleted_in_the_first_five_seconds() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        await world.namespaces.delete("ns")
        await world.after(4.9)
        assert not [what for what in world.line.asked if what.startswith("DELETE")]

        await world.after(0.2)
        assert await world.is_gone()


async def test_a_namespace_that_is_not_deleted_is_left_alone() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        world.line.asked.clear()
        await world.namespaces.patch("ns", {"metadata": {"labels": {"a": "b"}}})

        await world.after(600.0)
        assert world.line.asked == []


async def test_pods_go_first_and_all_else_waits_until_their_grace_is_over() -> None:
    async with emptying() as world:
        await world.make_pod("p", grace=40)
        await world.make("ConfigMap", "c")
        await world.namespaces.delete("ns")

        await world.after(30.0)
        pod = await world.of("pods").get("p", "ns")
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 40
        assert "deletionTimestamp" not in (await world.of("configmaps").get("c", "ns"))["metadata"]
        assert await world.conditions() == ALL_WELL

        await world.end_pod("p")
        await world.goes()


async def test_the_longest_grace_of_a_pod_says_when_to_look_again() -> None:
    async with emptying() as world:
        await world.make_pod("short", grace=10)
        await world.make_pod("long", grace=100)
        await world.namespaces.delete("ns")
        await world.after(11.0)
        for name in ("short", "long"):
            await world.end_pod(name)

        # It was looked at five seconds after the deletion, and five after its own writing of the conditions; it is
        # looked at next after half of the grace and a second.
        await world.after(49.0)
        assert not await world.is_gone()
        await world.after(2.0)
        assert await world.is_gone()


async def test_a_namespace_waits_at_most_an_hour_for_a_pods_grace() -> None:
    async with emptying() as world:
        await world.make_pod("ages", grace=2**63 - 1)
        await world.namespaces.delete("ns")
        await world.after(11.0)
        await world.end_pod("ages")
        await world.after(3601.0)
        assert await world.is_gone()


async def test_pods_beyond_their_grace_are_reported() -> None:
    async with emptying() as world:
        await world.make_pod("p", grace=20)
        await world.namespaces.delete("ns")
        await world.after(60.0)

        text = "unexpected items still remain in namespace: ns for gvr: /v1, Resource=pods"
        assert (await world.conditions())["NamespaceDeletionContentFailure"] == (
            "True",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, 1 remaining: {text}",
        )
        await world.end_pod("p")
        await world.goes()


async def test_what_finalizers_hold_is_said_in_the_conditions_until_they_are_gone() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "a", finalizers=["example.com/x", "example.com/y"])
        await world.make("ConfigMap", "b", finalizers=["example.com/x"])
        await world.make("Secret", "s", finalizers=["example.com/y"])
        await world.namespaces.delete("ns")
        await world.after(10.0)

        assert await world.conditions() == {
            **ALL_WELL,
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                f"{FINALIZERS}: example.com/x in 2 resource instances, example.com/y in 2 resource instances",
            ),
        }
        found = await world.get()
        assert found is not None
        assert found["status"]["phase"] == "Terminating"

        for plural, name in (("configmaps", "a"), ("configmaps", "b"), ("secrets", "s")):
            await world.of(plural).patch(name, {"metadata": {"finalizers": None}}, "ns")
        await world.goes()


async def test_a_condition_says_since_when_it_is_so() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "a", finalizers=["example.com/x"])
        await world.namespaces.delete("ns")

        async def since() -> str:
            found = await world.get()
            assert found is not None
            conditions = {one["type"]: one for one in found["status"]["conditions"]}
            return str(conditions["NamespaceContentRemaining"]["lastTransitionTime"])

        await world.after(10.0)
        first = await since()
        await world.after(60.0)
        assert await since() == first


@pytest.mark.parametrize(
    ("refused", "answer", "emptied", "says"),
    [
        ("GET secrets", refusal(500, "InternalError", "the disk is full"), "configmaps", "the disk is full"),
        ("DELETE configmaps", refusal(403, "Forbidden", "not these"), "secrets", "not these"),
    ],
    ids=["listed", "deleted"],
)
async def test_a_kind_that_cannot_be_emptied_stops_no_other_and_is_said(
    refused: str, answer: Exception, emptied: str, says: str
) -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        await world.make("Secret", "s")
        world.line.refused[refused] = answer
        await world.namespaces.delete("ns")
        await world.after(10.0)

        assert not (await world.of(emptied).list("ns")).items
        assert (await world.conditions())["NamespaceDeletionContentFailure"] == (
            "True",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, 1 remaining: {says}",
        )

        world.line.refused.clear()
        await world.goes()


@pytest.mark.parametrize(("code", "reason"), [(405, "MethodNotAllowed"), (404, "NotFound")])
async def test_kinds_without_collection_deletion_are_listed_and_deleted_singly(code: int, reason: str) -> None:
    async with emptying() as world:
        for number in range(25):
            await world.make("ConfigMap", f"c-{number}")
        world.line.refused["DELETE configmaps"] = refusal(code, reason)
        world.line.asked.clear()
        await world.namespaces.delete("ns")

        await world.goes()
        assert world.line.asked.count("DELETE configmaps/c-7") == 1


async def test_a_kind_whose_server_says_that_it_is_not_there_is_empty() -> None:
    async with emptying() as world:
        await world.make("Secret", "s")
        for method in ("GET", "DELETE"):
            world.line.refused[f"{method} leases"] = refusal(404, "NotFound", "the server could not find it")
        await world.namespaces.delete("ns")

        await world.goes()


async def test_a_kind_of_which_nothing_is_there_costs_one_request() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        world.line.asked.clear()
        await world.namespaces.delete("ns")
        await world.goes()

        assert [what for what in world.line.asked if what.endswith(" secrets")] == ["GET secrets"]
        assert [what for what in world.line.asked if what.endswith(" configmaps")] == [
            "GET configmaps",
            "DELETE configmaps",
            "GET configmaps",
        ]


async def test_a_group_that_cannot_be_asked_keeps_the_namespace_and_is_said() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c")
        world.line.refused["GET /apis"] = refusal(503, "ServiceUnavailable", "come back later")
        await world.namespaces.delete("ns")
        await world.after(10.0)

        assert (await world.conditions())["NamespaceDeletionDiscoveryFailure"] == (
            "True",
            "DiscoveryFailed",
            "come back later",
        )
        world.line.refused.clear()
        await world.goes()


async def test_another_finalizer_of_the_namespace_keeps_it() -> None:
    async with emptying() as world:
        found = await world.get()
        assert found is not None
        found["spec"]["finalizers"] = ["kubernetes", "example.com/own"]
        finalize = world.namespaces.subresource("finalize", dict)
        await finalize.update("ns", found)
        await world.namespaces.delete("ns")

        async def is_left_to_others() -> bool:
            now = await world.get()
            return now is not None and now["spec"]["finalizers"] == ["example.com/own"]

        await eventually(is_left_to_others, world.clock)
        world.line.asked.clear()
        await world.after(310.0)
        assert "GET secrets" in world.line.asked  # others may make something there
        assert not [what for what in world.line.asked if not what.startswith("GET")]

        now = await world.get()
        assert now is not None
        now["spec"]["finalizers"] = []
        await finalize.update("ns", now)
        await world.goes()


async def test_nothing_is_orphaned() -> None:
    async with emptying() as world:
        await world.make("ConfigMap", "c", finalizers=["example.com/hold"])
        await world.of("configmaps").delete("c", "ns", DeleteOptions(propagation_policy="Orphan"))
        found = await world.of("configmaps").get("c", "ns")
        assert "orphan" in found["metadata"]["finalizers"]
        await world.namespaces.delete("ns")
        await world.after(6.0)

        found = await world.of("configmaps").get("c", "ns")
        assert found["metadata"]["finalizers"] == ["example.com/hold"]


async def test_a_final_conflict_is_retried_with_the_present_object() -> None:
    async with emptying() as world:
        await world.namespaces.delete("ns")
        conflicts = 0
        plain = world.line.request

        async def request(method: str, path: str, **request: object) -> bytes:
            nonlocal conflicts
            if path.endswith("/finalize") and conflicts < 3:
                conflicts += 1
                raise refusal(409, "Conflict")
            return await plain(method, path, **request)

        world.line.request = request  # type: ignore[method-assign]
        await world.after(5.1)

        assert await world.is_gone()
        assert conflicts == 3
